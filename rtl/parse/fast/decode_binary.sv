// Reads what begins a binary request at once, if it is of a form that is frequent: get and gat, set, add,
// replace, append and prepend, delete, touch, noop, quietly or not, for any item. Latency 2, initiation
// interval 1. What is missing at the job's end counts as zeros: no request is longer than it seems then.
module decode_binary
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
(
  input  logic        clk_i,
  /// Longest value that is taken.
  input  logic [10:0] value_max_i,
  /// 64 bytes from where it may start; a clock later go on.
  input  logic        valid_i,
  input  logic        valid1_i,
  input  line_t       data_i,  // its key is somebody else's
  /// After one clock: length of header, extras and key; of the key alone.
  output logic [8:0]  head_len_o,
  output logic [7:0]  klen_o,
  /// After two: what it is.
  output frame_t      frame_o
);


  typedef struct packed {
    logic       found;
    op_e        op;
    logic       store;
    logic       touch;
    logic       quiet;
    logic [7:0] extras;
    logic       none;    // no key, no body
  } row_t;

  function automatic row_t row(input logic [7:0] opcode);
    row = '{found: 1'b1, op: OpGet, default: '0};
    // begin rows: Made by spec/gen.py from spec/commands.toml: `make spec`.
    case (opcode)
      8'h00, 8'h09, 8'h0c, 8'h0d: row.op = OpGet;
      8'h1d, 8'h1e, 8'h23, 8'h24: begin
        row.op     = OpGet;
        row.touch  = 1'b1;
        row.extras = 8'd4;
      end
      8'h1c: begin
        row.op     = OpTouch;
        row.extras = 8'd4;
      end
      8'h01, 8'h11: begin
        row.op     = OpSet;
        row.store  = 1'b1;
        row.extras = 8'd8;
      end
      8'h02, 8'h12: begin
        row.op     = OpAdd;
        row.store  = 1'b1;
        row.extras = 8'd8;
      end
      8'h03, 8'h13: begin
        row.op     = OpReplace;
        row.store  = 1'b1;
        row.extras = 8'd8;
      end
      8'h0e, 8'h19: begin
        row.op    = OpAppend;
        row.store = 1'b1;
      end
      8'h0f, 8'h1a: begin
        row.op    = OpPrepend;
        row.store = 1'b1;
      end
      8'h04, 8'h14: row.op = OpDelete;
      8'h0a: begin
        row.op   = OpReply;
        row.none = 1'b1;
      end
      default: row.found = 1'b0;
    endcase
    row.quiet = opcode inside {8'h09, 8'h0d, [8'h11 : 8'h14], 8'h19, 8'h1a, 8'h1e, 8'h24};
    // end rows
  endfunction

  function automatic logic [31:0] swapped(input logic [31:0] number);
    return {number[7:0], number[15:8], number[23:16], number[31:24]};
  endfunction

  // ---------------------------------------------------------------- fields
  row_t row_q;
  logic [7:0] opcode_q;
  logic [31:0] opaque_q, first_q, second_q;
  logic [13:0] body_q;  // more is too much
  logic [7:0] klen_q, extras_q;
  logic [8:0] head_q;    // both
  logic plain_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      row_q      <= row(data_i[15:8]);
      opcode_q   <= data_i[15:8];
      klen_q     <= data_i[31:24];
      extras_q   <= data_i[39:32];
      head_q     <= 9'(data_i[31:24]) + 9'(data_i[39:32]);
      body_q     <= {data_i[85:80], data_i[95:88]};
      opaque_q   <= data_i[127:96];
      first_q    <= swapped(data_i[223:192]);
      second_q   <= swapped(data_i[255:224]);
      // The key is short, the body too; any CAS unique will do.
      plain_q    <= data_i[7:0] == BinaryRequest && data_i[23:16] == '0 && data_i[79:64] == '0 &&
                    data_i[87:86] == '0 && data_i[191:128] == '0;
    end
  end
  assign klen_o     = klen_q;
  assign head_len_o = 9'(BinaryHeader) + head_q;

  // ---------------------------------------------------------------- lengths
  logic [14:0] vlen;
  assign vlen = 15'(body_q) - 15'(head_q);
  always_ff @(posedge clk_i) begin
    if (valid1_i) begin
      frame_o.good <= row_q.found && plain_q && extras_q == row_q.extras &&
          (row_q.none ? klen_q == '0 : klen_q != '0) &&
          klen_q <= 8'(KeyMax) &&
          (row_q.store ? vlen <= 15'(value_max_i) : vlen == '0);
      frame_o.op      <= row_q.op;
      frame_o.store   <= row_q.store;
      frame_o.touch   <= row_q.touch;
      frame_o.quiet   <= row_q.quiet;
      frame_o.vlen    <= row_q.store ? vlen[10:0] : '0;
      frame_o.opcode  <= opcode_q;
      frame_o.opaque  <= opaque_q;
      frame_o.first   <= (row_q.extras != '0) ? first_q : '0;
      frame_o.second  <= (row_q.extras[3]) ? second_q : '0;
    end
  end

endmodule
