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

  // What follows is wires and LUTs of each lane; it is written for all lanes at once, as a simulator goes lane by lane
  // through a loop.

  /// Each lane's bit as that of all bits of its byte.
  function automatic logic [511:0] bytes_of(input logic [63:0] lanes);
    for (int unsigned g = 0; g < 8; g++) begin
      logic [63:0] wide;
      wide = 64'(lanes[8*g+:8]);
      wide = (wide | wide << 28) & 64'h0000_000f_0000_000f;
      wide = (wide | wide << 14) & 64'h0003_0003_0003_0003;
      wide = (wide | wide << 7) & 64'h0101_0101_0101_0101;
      wide |= wide << 1;
      wide |= wide << 2;
      wide |= wide << 4;
      bytes_of[64*g+:64] = wide;
    end
  endfunction

  /// Of `lanes` the bytes of `data`, else those of `other`.
  function automatic logic [511:0] merge_lanes(input logic [63:0] lanes, input logic [511:0] data,
                                               input logic [511:0] other);
    logic [511:0] bytes;
    bytes = bytes_of(lanes);
    return (data & bytes) | (other & ~bytes);
  endfunction

  /// Bit b of all lanes' bytes stands in planes[b], by lane.
  typedef logic [7:0][63:0] planes_t;
  function automatic planes_t bit_planes(input logic [511:0] data);
    for (int unsigned g = 0; g < 8; g++) begin
      logic [63:0] square;  // of eight lanes, turned about its diagonal by bits, pairs, fours
      square = data[64*g+:64];
      square = (square & 64'haa55_aa55_aa55_aa55) | ((square & 64'h00aa_00aa_00aa_00aa) << 7) |
          ((square >> 7) & 64'h00aa_00aa_00aa_00aa);
      square = (square & 64'hcccc_3333_cccc_3333) | ((square & 64'h0000_cccc_0000_cccc) << 14) |
          ((square >> 14) & 64'h0000_cccc_0000_cccc);
      square = (square & 64'hf0f0_f0f0_0f0f_0f0f) | ((square & 64'h0000_0000_f0f0_f0f0) << 28) |
          ((square >> 28) & 64'h0000_0000_f0f0_f0f0);
      for (int unsigned b = 0; b < 8; b++) bit_planes[b][8*g+:8] = square[8*b+:8];
    end
  endfunction

  /// Lanes whose byte is `char`; of its bits those that `bits` has.
  function automatic logic [63:0] is_char(input planes_t planes, input logic [7:0] char,
                                          input logic [7:0] bits = 8'hff);
    is_char = '1;
    for (int unsigned b = 0; b < 8; b++) if (bits[b]) is_char &= char[b] ? planes[b] : ~planes[b];
  endfunction

  /// Lanes whose byte is one of `chars`; zeros in front of them are none.
  function automatic logic [63:0] is_of(input planes_t planes, input logic [9:0][7:0] chars);
    is_of = '0;
    for (int unsigned c = 0; c < 10; c++) if (chars[c] != '0) is_of |= is_char(planes, chars[c]);
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
