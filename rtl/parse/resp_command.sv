// What the name of a command of Redis' protocol means, with so many arguments, if gates run it. Combinational.
module resp_command
  import request_pkg::*;
  import front_pkg::*;
(
  /// Its first characters, in upper or lower case; how many it has in all, at most 64.
  input  logic [127:0]  head_i,
  input  logic [6:0]    len_i,
  /// Arguments, the name among them.
  input  resp_count_t   count_i,
  output resp_command_t command_o,
  /// Of a word behind the value of a `SET`: it is stored only if the key has none, or has one.
  output logic          nx_o,
  output logic          xx_o
);

  typedef struct packed {
    logic [63:0]   text;   // first character at lane 0
    logic [6:0]    len;
    logic [2:0]    count;  // 0: two or more
    resp_command_t means;
  } row_t;

  function automatic row_t row(input logic [63:0] text, input logic [2:0] count, input cmd_e cmd,
                               input resp_form_e form);
    row = '{count: count, means: '{cmd: cmd, form: form, default: '0}, default: '0};
    row.means.found = 1'b1;
    row.means.array = count == '0;
    for (int i = 7; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        row.text[8*row.len+:8] = text[8*i+:8];
        row.len                = row.len + 7'd1;
      end
    end
  endfunction

  localparam int unsigned RowsNum = 19;
  localparam row_t [RowsNum-1:0] Rows = {
    row("GET", 3'd2, CmdGet, RfBulk),
    row("MGET", 3'd0, CmdGet, RfBulk),
    row("EXISTS", 3'd2, CmdGet, RfInteger),
    row("STRLEN", 3'd2, CmdGet, RfLength),
    row("SET", 3'd3, CmdSet, RfStatus),
    row("SET", 3'd4, CmdSet, RfStatus),  // with NX or XX
    row("MSET", 3'd3, CmdSet, RfStatus),
    row("SETNX", 3'd3, CmdAdd, RfInteger),
    row("APPEND", 3'd3, CmdAppend, RfLength),
    row("DEL", 3'd2, CmdDelete, RfInteger),
    row("UNLINK", 3'd2, CmdDelete, RfInteger),
    row("INCR", 3'd2, CmdIncr, RfInteger),
    row("DECR", 3'd2, CmdDecr, RfInteger),
    row("INCRBY", 3'd3, CmdIncr, RfInteger),
    row("DECRBY", 3'd3, CmdDecr, RfInteger),
    row("PING", 3'd1, CmdNoop, RfStatus),
    row("FLUSHALL", 3'd1, CmdFlush, RfStatus),
    row("FLUSHDB", 3'd1, CmdFlush, RfStatus),
    row("MSETNX", 3'd3, CmdAdd, RfInteger)
  };

  // In upper case; no other character becomes a letter.
  logic [63:0] head;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) head[8*i+:8] = head_i[8*i+:8] & 8'hdf;
    command_o = '0;
    for (int unsigned r = 0; r < RowsNum; r++) begin
      logic same;
      same = len_i == Rows[r].len &&
             (Rows[r].count == '0 ? count_i >= resp_count_t'(2)
                                  : count_i == resp_count_t'(Rows[r].count));
      for (int unsigned i = 0; i < 8; i++)
      if (7'(i) < Rows[r].len) same &= head[8*i+:8] == Rows[r].text[8*i+:8];
      if (same) command_o |= Rows[r].means;
    end
    nx_o = len_i == 7'd2 && head[15:0] == "XN";
    xx_o = len_i == 7'd2 && head[15:0] == "XX";
  end

endmodule
