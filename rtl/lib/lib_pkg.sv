// Byte-lane arithmetic of 64-byte lines.
package lib_pkg;

  /// `data` rotated towards higher lanes by `n` bytes: three levels of four-way multiplexers.
  function automatic logic [511:0] rotl_bytes(input logic [511:0] data, input logic [5:0] n);
    logic [511:0] by16, by4;
    unique case (n[5:4])
      2'd0: by16 = data;
      2'd1: by16 = {data[383:0], data[511:384]};
      2'd2: by16 = {data[255:0], data[511:256]};
      default: by16 = {data[127:0], data[511:128]};
    endcase
    unique case (n[3:2])
      2'd0: by4 = by16;
      2'd1: by4 = {by16[479:0], by16[511:480]};
      2'd2: by4 = {by16[447:0], by16[511:448]};
      default: by4 = {by16[415:0], by16[511:416]};
    endcase
    unique case (n[1:0])
      2'd0: return by4;
      2'd1: return {by4[503:0], by4[511:504]};
      2'd2: return {by4[495:0], by4[511:496]};
      default: return {by4[487:0], by4[511:488]};
    endcase
  endfunction

  /// Lanes n, n+1, .. 63.
  function automatic logic [63:0] lanes_from(input logic [5:0] n);
    return {64{1'b1}} << n;
  endfunction

  /// Lanes 0 .. n-1; n is 0..64.
  function automatic logic [63:0] lanes_below(input logic [6:0] n);
    return ~({64{1'b1}} << n);
  endfunction

endpackage
