// Which form a request has: a row of the table for each first word. Combinational.
module decode_form
  import request_pkg::*;
  import parse_pkg::*;
  import config_pkg::Config;
(
  /// A key of a line of keys starts here; else a line.
  input  logic        key_i,
  input  logic [63:0] head_i,
  output what_t       what_o,
  /// Of the first lanes those where the key may be, or what is behind it.
  output logic [8:0]  from_o
);

  typedef struct packed {
    logic [63:0] text;
    logic [3:0]  len;
    logic [3:0]  key;      // lane where the key starts
    form_e       form;
    op_e         op;
    logic        cas_out;
    logic        touch;
  } row_t;

  // A command and the blank behind it, of at most 8 characters: the blank of the longest is the first
  // that ends the word.
  function automatic row_t row(input logic [63:0] text, input form_e form, input op_e op,
                               input logic cas_out = 1'b0);
    row_t r;
    r = '{form: form, op: op, cas_out: cas_out, touch: form == FmGat, default: '0};
    for (int i = 7; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        r.text[8*r.len+:8] = text[8*i+:8];
        r.len              = r.len + 4'd1;
      end
    end
    // In front of the number of a gat an empty key, so that the number is a.
    r.key = (form == FmGat) ? r.len - 4'd1 : r.len;
    return r;
  endfunction

  // begin rows: Made by spec/gen.py from spec/commands.toml: `make spec`.
  localparam int unsigned RowsNum = 19;
  localparam row_t [RowsNum-1:0] Rows = {
    row("get ", FmKey, OpGet),
    row("gets ", FmKey, OpGet, 1'b1),
    row("gat ", FmGat, OpGet),
    row("gats ", FmGat, OpGet, 1'b1),
    row("set ", FmStore, OpSet),
    row("add ", FmStore, OpAdd),
    row("replace ", FmStore, OpReplace),
    row("cas ", FmCas, OpCas),
    row("append ", FmStore, OpAppend),
    row("prepend ", FmStore, OpPrepend),
    row("delete ", FmDelete, OpDelete),
    row("incr ", FmNumber, OpIncr),
    row("decr ", FmNumber, OpDecr),
    row("touch ", FmTouch, OpTouch),
    row("mg ", FmMetaGet, OpGet),
    row("ms ", FmMetaSet, OpSet),
    row("md ", FmMetaGet, OpDelete),
    row("ma ", FmMetaGet, OpIncr),
    row("", FmKey, OpGet)  // a key of a line of keys
  };
  // end rows
  localparam int unsigned RowKey = 0;

  always_comb begin
    what_o = '0;
    from_o = '1;
    for (int unsigned r = 0; r < RowsNum; r++) begin
      logic same;
      same = (r == RowKey) ? key_i : !key_i;
      if (!Config.fast_meta && Rows[r].form inside {FmMetaGet, FmMetaSet}) same = 1'b0;
      for (int unsigned i = 0; i < 8; i++) begin
        if (4'(i) < Rows[r].len) same &= head_i[8*i+:8] == Rows[r].text[8*i+:8];
      end
      if (same) begin
        what_o.key |= Rows[r].key;
        for (int unsigned i = 0; i < 9; i++) if (4'(i) < Rows[r].key) from_o[i] = 1'b0;
        what_o.form = form_e'(what_o.form | Rows[r].form);
        what_o.op = op_e'(what_o.op | Rows[r].op);
        what_o.cas_out |= Rows[r].cas_out;
        what_o.touch |= Rows[r].touch;
      end
    end
  end

endmodule
