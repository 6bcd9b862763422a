// The header of a binary reply in the place of a text reply's numbers: 24 bytes, and flags or a number behind
// them; numbers are big endian. Combinational.
module header_text
  import request_pkg::*;
  import reply_pkg::*;
(
  input  header_t  header_i,
  /// What stands there otherwise.
  input  numbers_t numbers_i,
  output numbers_t numbers_o
);

  typedef logic [NumberLanes-1:0][7:0] lanes_t;

  // First byte at lane 0.
  function automatic logic [63:0] swapped(input logic [63:0] number);
    for (int unsigned i = 0; i < 8; i++) swapped[8*i+:8] = number[8*(7-i)+:8];
  endfunction

  logic [BinaryHeader-1:0][7:0] head;
  logic [63:0] number;
  lanes_t plain, flags, whole;
  always_comb begin
    head        = '0;
    head[0]     = BinaryReply;
    head[1]     = header_i.opcode;
    head[3]     = header_i.klen;
    head[4]     = (header_i.extra == ExFlags) ? 8'd4 : 8'd0;
    head[7]     = header_i.status;
    head[9]     = 8'(header_i.body[21:16]);
    head[10]    = header_i.body[15:8];
    head[11]    = header_i.body[7:0];
    head[15:12] = header_i.opaque;
    head[23:16] = swapped(header_i.unique_no);

    // The end is at the highest lane.
    number = swapped(header_i.number);
    plain  = {head, {8 * (NumberLanes - BinaryHeader) {1'b0}}};
    flags  = {number[63:32], head, {8 * (NumberLanes - BinaryHeader - 4) {1'b0}}};
    whole  = {number, head, {8 * (NumberLanes - BinaryHeader - 8) {1'b0}}};

    unique case (header_i.extra)
      ExNone:   numbers_o = '{text: plain, len: 6'(BinaryHeader)};
      ExFlags:  numbers_o = '{text: flags, len: 6'(BinaryHeader + 4)};
      ExNumber: numbers_o = '{text: whole, len: 6'(BinaryHeader + 8)};
      default:  numbers_o = numbers_i;
    endcase
  end

endmodule
