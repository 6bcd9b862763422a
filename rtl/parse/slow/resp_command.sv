// What the name of a command of Redis' protocol means, with so many arguments, if gates run it; what a word behind
// says if it is an option. Combinational.
module resp_command
  import request_pkg::*;
  import parse_pkg::*;
(
  /// Its first characters, in upper or lower case; how many it has in all, at most 64.
  input  logic [127:0]  head_i,
  input  logic [6:0]    len_i,
  /// Arguments, the name among them, 7 and more as 7; whether their number is odd.
  input  logic [2:0]    count_i,
  input  logic          odd_i,
  output resp_command_t command_o,
  output resp_option_t  option_o
);

  localparam int unsigned NameMax = 11;
  typedef logic [8*NameMax-1:0] name_t;

  typedef struct packed {
    name_t         text;   // first character at lane 0
    logic [6:0]    len;
    logic [2:0]    count;
    logic          more;   // or more
    resp_command_t means;
  } row_t;

  localparam resp_unit_t InSeconds = '{date: 1'b0, millis: 1'b0};
  localparam resp_unit_t InMillis = '{date: 1'b0, millis: 1'b1};
  localparam resp_unit_t AtSecond = '{date: 1'b1, millis: 1'b0};
  localparam resp_unit_t AtMilli = '{date: 1'b1, millis: 1'b1};

  function automatic row_t row(input name_t text, input logic [2:0] count, input cmd_e cmd,
                               input resp_form_e form, input resp_args_e args = RaNone,
                               input resp_unit_t unit = InSeconds, input logic more = 1'b0);
    row            = '0;
    row.count      = count;
    row.more       = more;
    row.means.cmd  = cmd;
    row.means.form = form;
    row.means.args = args;
    row.means.unit = unit;
    row.means.found = 1'b1;
    for (int i = NameMax - 1; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        row.text[8*row.len+:8] = text[8*i+:8];
        row.len                = row.len + 7'd1;
      end
    end
  endfunction
  function automatic row_t array(input row_t made);
    array = made;
    array.means.array = 1'b1;
    array.means.many  = 1'b1;
  endfunction
  /// Of nothing but keys.
  function automatic row_t many(input row_t made);
    many = made;
    many.means.many = 1'b1;
  endfunction
  /// Of the connection's database alone.
  function automatic row_t one_db(input row_t made);
    one_db = made;
    one_db.means.one_db = 1'b1;
  endfunction
  function automatic row_t reset(input row_t made);
    reset = made;
    reset.means.found = 1'b0;
    reset.means.reset = 1'b1;
  endfunction

  // begin rows: Made by spec/gen.py from spec/commands.toml: `make spec`.
  localparam int unsigned RowsNum = 42;
  localparam row_t [RowsNum-1:0] Rows = {
    row("GET", 3'd2, CmdGet, RfBulk),
    array(row("MGET", 3'd2, CmdGet, RfBulk, RaNone, InSeconds, 1'b1)),
    row("STRLEN", 3'd2, CmdGet, RfLength),
    row("GETEX", 3'd2, CmdGet, RfBulk),
    row("GETEX", 3'd3, CmdGat, RfBulk, RaOptions, InSeconds, 1'b1),
    row("SET", 3'd3, CmdSet, RfStatus, RaValue, InSeconds, 1'b1),
    row("MSET", 3'd3, CmdSet, RfStatus, RaValue),
    row("MSET", 3'd5, CmdSet, RfStatus, RaPairs, InSeconds, 1'b1),
    row("SETEX", 3'd4, CmdSet, RfStatus, RaTimeValue),
    row("PSETEX", 3'd4, CmdSet, RfStatus, RaTimeValue, InMillis),
    row("GETSET", 3'd3, CmdSet, RfBulk, RaValue),
    row("SETNX", 3'd3, CmdAdd, RfInteger, RaValue),
    row("MSETNX", 3'd3, CmdAdd, RfInteger, RaValue),
    row("APPEND", 3'd3, CmdAppend, RfLength, RaValue),
    row("GETDEL", 3'd2, CmdDelete, RfBulk),
    row("INCR", 3'd2, CmdIncr, RfInteger),
    row("DECR", 3'd2, CmdDecr, RfInteger),
    row("INCRBY", 3'd3, CmdIncr, RfInteger, RaIncrement),
    row("DECRBY", 3'd3, CmdDecr, RfInteger, RaIncrement),
    row("EXISTS", 3'd2, CmdGet, RfInteger),
    many(row("EXISTS", 3'd3, CmdGet, RfSum, RaNone, InSeconds, 1'b1)),
    row("TOUCH", 3'd2, CmdGet, RfInteger),
    many(row("TOUCH", 3'd3, CmdGet, RfSum, RaNone, InSeconds, 1'b1)),
    row("TYPE", 3'd2, CmdGet, RfType),
    row("TTL", 3'd2, CmdGet, RfTtl),
    row("PTTL", 3'd2, CmdGet, RfPttl),
    row("EXPIRETIME", 3'd2, CmdGet, RfExpiretime),
    row("PEXPIRETIME", 3'd2, CmdGet, RfPexpiretime),
    row("DEL", 3'd2, CmdDelete, RfInteger),
    many(row("DEL", 3'd3, CmdDelete, RfSum, RaNone, InSeconds, 1'b1)),
    row("UNLINK", 3'd2, CmdDelete, RfInteger),
    many(row("UNLINK", 3'd3, CmdDelete, RfSum, RaNone, InSeconds, 1'b1)),
    row("EXPIRE", 3'd3, CmdTouch, RfInteger, RaTime, InSeconds, 1'b1),
    row("PEXPIRE", 3'd3, CmdTouch, RfInteger, RaTime, InMillis, 1'b1),
    row("EXPIREAT", 3'd3, CmdTouch, RfInteger, RaTime, AtSecond, 1'b1),
    row("PEXPIREAT", 3'd3, CmdTouch, RfInteger, RaTime, AtMilli, 1'b1),
    row("PERSIST", 3'd2, CmdTouch, RfInteger),
    row("FLUSHALL", 3'd1, CmdFlush, RfStatus),
    one_db(row("FLUSHDB", 3'd1, CmdFlush, RfStatus)),
    row("SELECT", 3'd2, CmdSelect, RfStatus, RaSelect),
    row("PING", 3'd1, CmdNoop, RfStatus),
    reset(row("RESET", 3'd1, CmdUnknown, RfStatus))
  };
  // end rows

  // In upper case; no other character becomes a letter.
  name_t head;
  always_comb begin
    for (int unsigned i = 0; i < NameMax; i++) head[8*i+:8] = head_i[8*i+:8] & 8'hdf;
    command_o = '0;
    for (int unsigned r = 0; r < RowsNum; r++) begin
      logic same;
      same = len_i == Rows[r].len &&
             (Rows[r].more ? count_i >= Rows[r].count : count_i == Rows[r].count) &&
             (Rows[r].means.args != RaPairs || odd_i);
      for (int unsigned i = 0; i < NameMax; i++)
      if (7'(i) < Rows[r].len) same &= head[8*i+:8] == Rows[r].text[8*i+:8];
      if (same) command_o |= Rows[r].means;
    end
  end

  always_comb begin
    option_o         = '0;
    option_o.nx      = len_i == 7'd2 && head[15:0] == "XN";
    option_o.xx      = len_i == 7'd2 && head[15:0] == "XX";
    option_o.gt      = len_i == 7'd2 && head[15:0] == "TG";
    option_o.lt      = len_i == 7'd2 && head[15:0] == "TL";
    option_o.get     = len_i == 7'd3 && head[23:0] == "TEG";
    option_o.keep    = len_i == 7'd7 && head[55:0] == "LTTPEEK";
    option_o.persist = len_i == 7'd7 && head[55:0] == "TSISREP";
    option_o.unit    = '{date: len_i == 7'd4, millis: head[7:0] == "P"};
    option_o.timed   = (head[15:0] inside {"XE", "XP"}) &&
        (len_i == 7'd2 || (len_i == 7'd4 && head[31:16] == "TA"));
  end

endmodule
