// Byte-lane arithmetic of 64-byte lines; the first of several; digits; binary to decimal.
package lib_pkg;

  /// `data` rotated towards higher lanes by `n` bytes: three levels of four-way multiplexers.
  function automatic logic [511:0] rotl_bytes(input logic [511:0] data, input logic [5:0] n);
    logic [511:0] by32, by16, by8, by4, by2;
    by32 = n[5] ? {data[255:0], data[511:256]} : data;
    by16 = n[4] ? {by32[383:0], by32[511:384]} : by32;
    by8  = n[3] ? {by16[447:0], by16[511:448]} : by16;
    by4  = n[2] ? {by8[479:0], by8[511:480]} : by8;
    by2  = n[1] ? {by4[495:0], by4[511:496]} : by4;
    return n[0] ? {by2[503:0], by2[511:504]} : by2;
  endfunction

  /// Lanes n, n+1, .. 63.
  function automatic logic [63:0] lanes_from(input logic [5:0] n);
    return {64{1'b1}} << n;
  endfunction

  /// Lanes 0 .. n-1; n is 0..64.
  function automatic logic [63:0] lanes_below(input logic [6:0] n);
    return ~({64{1'b1}} << n);
  endfunction

  /// The lowest bit that is set, alone. Of fewer than 64 bits: N'(lowest(64'(bits))).
  function automatic logic [63:0] lowest(input logic [63:0] bits);
    return bits & (~bits + 64'd1);
  endfunction

  /// Bit b is set in the numbers of these lanes.
  typedef logic [5:0][63:0] lane_bits_t;
  function automatic lane_bits_t lane_bits();
    for (int unsigned b = 0; b < 6; b++)
    for (int unsigned i = 0; i < 64; i++) lane_bits[b][i] = 1'((i >> b) & 1);
  endfunction
  localparam lane_bits_t LaneBit = lane_bits();
  /// The number of the one lane that is set.
  function automatic logic [5:0] lane_of(input logic [63:0] hot);
    for (int unsigned b = 0; b < 6; b++) lane_of[b] = |(hot & LaneBit[b]);
  endfunction

  /// A decimal digit's character.
  function automatic logic is_digit(input logic [7:0] char);
    return char inside {[8'h30 : 8'h39]};
  endfunction

  typedef struct packed {
    logic [79:0] bcd;
    logic [63:0] bin;
  } double_dabble_t;
  /// A digit of 5 or more with 3 added, bit by bit: one LUT each. Of a table of numbers synthesis made a comparison, a
  /// carry chain for each digit.
  function automatic logic [3:0] dabbled(input logic [3:0] digit);
    logic a, b, c, d;
    {d, c, b, a} = digit;
    return {
      d || (c && (a || b)),
      (c && !a && !b) || (d && a),
      (b && (!c || a)) || (d && !a),
      (a && !c && !d) || (b && c && !a) || (d && !a)
    };
  endfunction
  /// Four steps of shift-and-add-3: four more bits of `value.bin` are in the digits of `value.bcd`.
  function automatic double_dabble_t double_dabble(input double_dabble_t value);
    for (int s = 0; s < 4; s++) begin
      for (int d = 0; d < 20; d++) value.bcd[4*d+:4] = dabbled(value.bcd[4*d+:4]);
      value = value << 1;
    end
    return value;
  endfunction

endpackage
