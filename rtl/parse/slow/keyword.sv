// What a word is by its spelling: a command, a keyword. Combinational.
module keyword
  import parse_pkg::*;
(
  /// Its first characters; how many it has in all, at most 64.
  input  logic [127:0] head_i,
  input  logic [6:0]   len_i,
  output word_t        word_o
);

  typedef struct packed {
    logic [6:0]   len;
    logic [127:0] text;  // first character at lane 0
    logic [127:0] lanes;
  } text_t;

  typedef struct packed {
    cmd_e  cmd;
    text_t text;
  } command_t;

  function automatic text_t spelled(input logic [127:0] text);
    text_t w;
    w = '0;
    for (int i = 15; i >= 0; i--) begin
      if (text[8*i+:8] != '0) begin
        w.text[8*w.len+:8]  = text[8*i+:8];
        w.lanes[8*w.len+:8] = '1;
        w.len               = w.len + 7'd1;
      end
    end
    return w;
  endfunction

  // begin command words: Made by spec/gen.py from spec/commands.toml: `make spec`.
  localparam int unsigned Commands = 33;
  localparam command_t [Commands-1:0] CommandWords = {
    {CmdGet, spelled("get")},
    {CmdGet, spelled("bget")},
    {CmdGets, spelled("gets")},
    {CmdGat, spelled("gat")},
    {CmdGats, spelled("gats")},
    {CmdSet, spelled("set")},
    {CmdAdd, spelled("add")},
    {CmdReplace, spelled("replace")},
    {CmdCas, spelled("cas")},
    {CmdAppend, spelled("append")},
    {CmdPrepend, spelled("prepend")},
    {CmdDelete, spelled("delete")},
    {CmdIncr, spelled("incr")},
    {CmdDecr, spelled("decr")},
    {CmdTouch, spelled("touch")},
    {CmdFlush, spelled("flush_all")},
    {CmdVerbosity, spelled("verbosity")},
    {CmdVersion, spelled("version")},
    {CmdQuit, spelled("quit")},
    {CmdHost, spelled("stats")},
    {CmdHost, spelled("shutdown")},
    {CmdHost, spelled("slabs")},
    {CmdHost, spelled("lru")},
    {CmdHost, spelled("lru_crawler")},
    {CmdHost, spelled("watch")},
    {CmdHost, spelled("cache_memlimit")},
    {CmdHost, spelled("refresh_certs")},
    {CmdMetaNoop, spelled("mn")},
    {CmdMetaGet, spelled("mg")},
    {CmdMetaSet, spelled("ms")},
    {CmdMetaDelete, spelled("md")},
    {CmdMetaSum, spelled("ma")},
    {CmdHost, spelled("me")}
  };
  // end command words

  localparam text_t Noreply = spelled("noreply");
  localparam text_t Zero = spelled("0");

  function automatic logic is_text(input logic [127:0] head, input logic [6:0] chars,
                                   input text_t w);
    return chars == w.len && ((head ^ w.text) & w.lanes) == '0;
  endfunction

  logic [4:0] cmd;
  always_comb begin
    cmd = '0;
    for (int unsigned i = 0; i < Commands; i++)
    if (is_text(head_i, len_i, CommandWords[i].text)) cmd |= CommandWords[i].cmd;
    word_o.cmd     = cmd_e'(cmd);
    word_o.noreply = is_text(head_i, len_i, Noreply);
    word_o.zero    = is_text(head_i, len_i, Zero);
    word_o.http    = len_i >= 7'd5 && head_i[39:0] == {"/PTTH"};
    // memcached has an answer for each of these letters, and for m with one more.
    word_o.foreign = len_i >= 7'd2 && !(head_i[7:0] inside {"g", "s", "a", "c", "i", "d", "t"}) &&
                     !(len_i == 7'd2 && head_i[7:0] == "m");
  end

endmodule
