// Reads what begins an inline command of Redis' protocol, NAME in front of a blank or the line's end, if it is one that
// gates run: PING; GET, STRLEN, EXISTS, TTL, PTTL, DEL, UNLINK, INCR and DECR of one key; SET, SETNX and APPEND with
// one word as the value. Combinational.
module inline_form
  import request_pkg::*;
  import front_pkg::*;
(
  /// The first 8 bytes of a line.
  input  logic [63:0] head_i,
  /// Where its key starts, or its end; 0 if it is no such command.
  output what_t       what_o,
  output resp_what_t  resp_o
);

  typedef struct packed {
    logic [63:0] text;  // first character at lane 0
    logic [3:0]  len;
    form_e       form;
    resp_what_t  what;
  } row_t;

  function automatic row_t row(input logic [63:0] text, input form_e form, input op_e op,
                               input resp_form_e reply);
    row = '{form: form, what: '{found: 1'b1, op: op, form: reply, default: '0}, default: '0};
    for (int i = 7; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        row.text[8*row.len+:8] = text[8*i+:8];
        row.len                = row.len + 4'd1;
      end
    end
    row.what.store = form == FmInlineSet;
  endfunction

  localparam int unsigned RowsNum = 13;
  localparam row_t [RowsNum-1:0] Rows = {
    row("PING", FmInline, OpReply, RfStatus),
    row("GET ", FmInlineKey, OpGet, RfBulk),
    row("STRLEN ", FmInlineKey, OpGet, RfLength),
    row("EXISTS ", FmInlineKey, OpGet, RfInteger),
    row("TTL ", FmInlineKey, OpGet, RfTtl),
    row("PTTL ", FmInlineKey, OpGet, RfPttl),
    row("DEL ", FmInlineKey, OpDelete, RfInteger),
    row("UNLINK ", FmInlineKey, OpDelete, RfInteger),
    row("INCR ", FmInlineKey, OpIncr, RfInteger),
    row("DECR ", FmInlineKey, OpDecr, RfInteger),
    row("SET ", FmInlineSet, OpSet, RfStatus),
    row("SETNX ", FmInlineSet, OpAdd, RfInteger),
    row("APPEND ", FmInlineSet, OpAppend, RfLength)
  };

  // Letters of both cases are taken.
  always_comb begin
    {what_o, resp_o} = '0;
    for (int unsigned r = 0; r < RowsNum; r++) begin
      logic same;
      same = 1'b1;
      for (int unsigned i = 0; i < 8; i++) begin
        logic [7:0] letter;
        letter = Rows[r].text[8*i+:8];
        if (4'(i) < Rows[r].len)
          same &= (head_i[8*i+:8] & ((letter == " ") ? 8'hff : 8'hdf)) == letter;
      end
      if (same) begin
        what_o.key |= Rows[r].len;
        what_o.form = form_e'(what_o.form | Rows[r].form);
        resp_o |= Rows[r].what;
      end
    end
  end

endmodule
