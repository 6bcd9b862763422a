// Reads what begins a command of Redis' protocol at once, `*n $n NAME $n`, or `$n` of a key of MGET, if it is one
// that gates run: GET, STRLEN and EXISTS, TTL and PTTL, SET, SETNX and APPEND, DEL and UNLINK, INCR and DECR, MGET of
// up to 99 keys, PING; with a number behind the key INCRBY and DECRBY, EXPIRE, SETEX and PSETEX; SET with words behind
// the value. Latency 1 for what it is, 2 for where its key is, initiation interval 1.
//
// It reads what begins an inline command, too, NAME in front of a blank or the line's end: of the same names those with
// nothing behind them but a key, or a key and a value.
module decode_resp
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  /// A key of MGET starts here; else a command.
  input  logic       valid_i,
  input  logic       key_i,
  input  line_t      data_i,  // 64 bytes from there, of which it needs the first ones
  /// An inline command's form, and where its key starts, or its end; 0 if it is none.
  output what_t      inline_o,
  /// A clock later: what it is, and the lane of its key, but for an inline command's.
  input  logic       valid1_i,
  output resp_what_t what_o,
  output logic [4:0] key_at_o,
  /// A clock later: length of the key, 0 if it is none or has over 250 bytes; the lane behind it.
  output logic [7:0] klen_o,
  output logic [8:0] key_end_o
);

  typedef struct packed {
    logic [47:0] text;   // first character at lane 0
    logic [2:0]  len;
    logic [2:0]  count;  // arguments; 0: any
    resp_what_t  what;
  } row_t;

  function automatic row_t row(input logic [47:0] text, input logic [2:0] count, input op_e op,
                               input resp_form_e form, input logic store = 1'b0,
                               input logic number = 1'b0, input logic seconds = 1'b0,
                               input logic [1:0] options = 2'd0);
    row = '{count: count, what: '{op: op, form: form, default: '0}, default: '0};
    for (int i = 5; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        row.text[8*row.len+:8] = text[8*i+:8];
        row.len                = row.len + 3'd1;
      end
    end
    row.what.found = 1'b1;
    row.what.store = store;
    row.what.number  = number;
    row.what.seconds = seconds;
    row.what.options = options;
    row.what.array = count == '0;
    row.what.keyed = !(count inside {3'd0, 3'd1});
    row.what.at    = row.len - 3'd2;  // names have 3 to 6 letters
  endfunction

  // begin rows: Made by spec/gen.py from spec/commands.toml: `make spec`.
  localparam int unsigned RowsNum = 21;
  localparam row_t [RowsNum-1:0] Rows = {
    row("GET", 3'd2, OpGet, RfBulk),
    row("MGET", 3'd0, OpReply, RfArray),
    row("STRLEN", 3'd2, OpGet, RfLength),
    row("SET", 3'd3, OpSet, RfStatus, 1'b1),
    row("SET", 3'd4, OpSet, RfStatus, 1'b1, 1'b0, 1'b0, 2'd1),
    row("SET", 3'd5, OpSet, RfStatus, 1'b1, 1'b0, 1'b0, 2'd2),
    row("SETEX", 3'd4, OpSet, RfStatus, 1'b1, 1'b1, 1'b1),
    row("PSETEX", 3'd4, OpSet, RfStatus, 1'b1, 1'b1),
    row("SETNX", 3'd3, OpAdd, RfInteger, 1'b1),
    row("APPEND", 3'd3, OpAppend, RfLength, 1'b1),
    row("INCR", 3'd2, OpIncr, RfInteger),
    row("DECR", 3'd2, OpDecr, RfInteger),
    row("INCRBY", 3'd3, OpIncr, RfInteger, 1'b0, 1'b1),
    row("DECRBY", 3'd3, OpDecr, RfInteger, 1'b0, 1'b1),
    row("EXISTS", 3'd2, OpGet, RfInteger),
    row("TTL", 3'd2, OpGet, RfTtl),
    row("PTTL", 3'd2, OpGet, RfPttl),
    row("DEL", 3'd2, OpDelete, RfInteger),
    row("UNLINK", 3'd2, OpDelete, RfInteger),
    row("EXPIRE", 3'd3, OpTouch, RfInteger, 1'b0, 1'b1, 1'b1),
    row("PING", 3'd1, OpReply, RfStatus)
  };
  // end rows

  // ---------------------------------------------------------------- the name
  // Only MGET may have a count of two digits, which moves everything by a lane. So its row is looked for in both
  // places, the others in one.
  localparam int unsigned HeadBytes = 18;
  logic [HeadBytes-1:0][7:0] bytes;
  logic two, begins;
  logic [1:0] frame_ok;  // with one digit, with two
  logic [6:0] count_q;
  resp_what_t what, what_q;

  // Letters of both cases are taken.
  function automatic logic is_name(input row_t r, input logic [5:0][7:0] letters);
    is_name = 1'b1;
    for (int unsigned i = 0; i < 6; i++)
    if (3'(i) < r.len) is_name &= (letters[i] & 8'hdf) == r.text[8*i+:8];
  endfunction

  function automatic logic is_row(input row_t r,
                                  input logic [HeadBytes-2:0][7:0] head);  // some of it
    is_row = head[5] == {5'b00110, r.len} && is_name(r, head[13:8]);
    for (int unsigned i = 3; i <= 6; i++)
    if (r.len == 3'(i))
      is_row &= head[8+i] == 8'h0d && head[9+i] == 8'h0a && (head[10+i] == "$" || !r.what.keyed);
  endfunction

  function automatic logic is_inline_row(input row_t r, input logic [6:0][7:0] head);
    is_inline_row = is_name(r, head[5:0]) &&
        (r.count inside {3'd1, 3'd2} || (r.count == 3'd3 && r.what.store && !r.what.number));
    for (int unsigned i = 3; i <= 6; i++)
    if (r.len == 3'(i)) is_inline_row &= head[i] == " " || !r.what.keyed;
  endfunction

  always_comb begin
    bytes  = data_i[8*HeadBytes-1:0];
    two    = bytes[2] != 8'h0d;
    begins = bytes[0] == "*" && bytes[1] inside {[8'h31 : 8'h39]};
    frame_ok[0] = begins && bytes[4:2] == {"$", 16'h0a0d} && bytes[7:6] == 16'h0a0d;
    frame_ok[1] = begins && bytes[2] inside {[8'h30 : 8'h39]} && bytes[5:3] == {"$", 16'h0a0d} &&
                  bytes[8:7] == 16'h0a0d;
    what     = '0;
    inline_o = '0;
    for (int unsigned r = 0; r < RowsNum; r++) begin
      logic same;
      same = frame_ok[0] && is_row(Rows[r], bytes[HeadBytes-2:0]) &&
          (Rows[r].what.array ? bytes[1][3:1] != '0 : bytes[1][3:0] == 4'(Rows[r].count));
      if (Rows[r].what.array) same |= frame_ok[1] && is_row(Rows[r], bytes[HeadBytes-1:1]);
      if (is_inline_row(Rows[r], bytes[6:0])) begin
        same = 1'b1;
        inline_o.key |= 4'(Rows[r].len) + 4'(Rows[r].what.keyed);
        inline_o.form = form_e'(inline_o.form | (Rows[r].what.store ? FmInlineSet :
                                                 Rows[r].what.keyed ? FmInlineKey : FmInline));
      end
      if (same) what |= Rows[r].what;
    end
    // Its key has no length in front.
    if (inline_o.key != '0) what.keyed = 1'b0;
    if (key_i) begin
      what       = '0;
      what.found = bytes[0] == "$";
      what.keyed = 1'b1;
      what.op    = OpGet;
      what.form  = RfBulk;
    end
    // Behind the name's line.
    what.len = (what.array && two) ? 4'd15 : 4'd14;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      what_q  <= what;
      count_q <= (two ? Tens[bytes[1][3:0]] + 7'(bytes[2][3:0]) : 7'(bytes[1][3:0])) - 7'd1;
    end
  end
  always_comb begin
    what_o       = what_q;
    what_o.count = what_q.array ? count_q : '0;
  end

  // ---------------------------------------------------------------- the key
  // `$` of its length stands in one of these lanes.
  localparam int unsigned Places = 5;
  localparam logic [Places-1:0][4:0] Dollar = {5'd16, 5'd15, 5'd14, 5'd13, 5'd0};
  logic [Places-1:0] long_q, three_q;  // a second digit, and a third one, for each of them
  logic [Places-1:0][4:0][7:0] after_q;  // what stands behind it
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      for (int unsigned p = 0; p < Places; p++) begin
        long_q[p]  <= data_i[8*(Dollar[p]+2)+:8] != 8'h0d;
        three_q[p] <= data_i[8*(Dollar[p]+2)+:8] != 8'h0d && data_i[8*(Dollar[p]+3)+:8] != 8'h0d;
        after_q[p] <= data_i[8*(Dollar[p]+1)+:40];
      end
    end
  end

  logic [4:0][7:0] after;
  logic is_long, is_three, good;
  logic [1:0] more;
  logic [8:0] klen;
  assign is_long  = long_q[what_o.at];
  assign is_three = three_q[what_o.at];
  assign more     = 2'(is_long) + 2'(is_three);
  assign after   = after_q[what_o.at];
  always_comb begin
    // Of which only the lowest bits hang on the length.
    key_at_o = {what_o.at != '0, 1'b0, ((what_o.at == '0) ? 3'd4 : what_o.at) + 3'(more)};
    good     = what_o.keyed && after[0] inside {[8'h31 : 8'h39]} &&
               (!is_long || after[1] inside {[8'h30 : 8'h39]}) &&
               (!is_three || after[2] inside {[8'h30 : 8'h39]}) &&
               (is_three ? after[4:3] == 16'h0a0d :
                is_long ? after[3:2] == 16'h0a0d : after[2:1] == 16'h0a0d);
    // Of one to three digits; of three up to 299.
    klen     = is_three ? 9'(TenTens[{2'd0, after[0][1:0]}]) + 9'(Tens[after[1][3:0]]) +
                          9'(after[2][3:0]) :
        is_long ? 9'(Tens[after[0][3:0]]) + 9'(after[1][3:0]) : 9'(after[0][3:0]);
    if (is_three && after[0][3:0] > 4'd2) klen = 9'd511;
  end
  always_ff @(posedge clk_i) begin
    if (valid1_i) begin
      klen_o    <= (good && klen <= 9'(KeyMax)) ? klen[7:0] : '0;
      key_end_o <= 9'(key_at_o) + klen;
    end
  end

endmodule
