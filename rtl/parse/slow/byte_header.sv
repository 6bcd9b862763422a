// Reads a request of memcached's binary protocol byte by byte: header, extras, key. Numbers are shifted in as
// they come; lengths that do not fit the opcode are known with the header's last byte, and nothing behind it
// is read then. Latency 1 from a byte, initiation interval 1.
module byte_header
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  /// A request begins, or goes on where the job before has left it (MdValue).
  input  logic       begin_i,
  input  logic       old_i,
  /// It comes by the host's request port.
  input  logic       port_i,
  input  ctx_t       ctx_i,
  /// Its next byte.
  input  logic       valid_i,
  input  logic [7:0] byte_i,
  /// With a byte: it is the header's; the key's, and the first one; the key's last; the last one of a request
  /// without a key.
  output logic       header_o,
  output logic       key_o,
  output logic       key_begin_o,
  output logic       key_end_o,
  output logic       end_o,
  /// What was read says this.
  output line_info_t line_o,
  output numbers_t   numbers_o,
  output logic       flags_o,
  output binary_t    binary_o
);


  // What an opcode means, and how many extras it has; of `set` and its relatives a value may follow.
  typedef enum logic [2:0] {
    LnNone,    // nothing behind the header
    LnKey,
    LnValue,   // key and value
    LnFlush,   // 4 bytes of extras, or none
    LnStat,    // a key, perhaps
    LnSkip     // whatever: it is not known
  } lengths_e;

  logic [8:0] pos_q;  // up to 24 + 20 + KeyMax
  logic [15:0] klen_q;
  logic [7:0] opcode_q;
  logic [31:0] opaque_q;
  logic [7:0] extras_q, want;
  logic [31:0] body_q;
  logic [63:0] unique_q;
  logic [159:0] extra_q;
  logic magic_q, is_q, port_q;
  logic [5:0] opcode;
  logic quiet, sasl, right;
  cmd_e cmd;
  lengths_e lengths;

  // ---------------------------------------------------------------- where
  // Where the key begins and ends is known long before it is read.
  logic [8:0] key_at_q, key_last_q, before_key_q;
  logic in_header, header_end, has_key, keyed_q, over_q, wrong_q;
  always_ff @(posedge clk_i) begin
    key_at_q     <= 9'(BinaryHeader) + 9'(extras_q);
    before_key_q <= 9'(BinaryHeader - 1) + 9'(extras_q);
    key_last_q   <= before_key_q + 9'(klen_q[7:0]);
    // So is, when the last byte of the header comes, whether nothing more is read: there is nothing, it is wrong, or
    // not known.
    keyed_q      <= has_key;
    over_q       <= !right || lengths == LnSkip || (!has_key && extras_q == '0);
  end
  assign in_header  = pos_q < 9'(BinaryHeader);
  assign header_end = pos_q == 9'(BinaryHeader - 1);
  assign has_key    = klen_q != '0 && lengths != LnSkip;
  assign key_o      = !in_header && pos_q >= key_at_q;
  assign header_o   = in_header;
  assign key_begin_o = pos_q == key_at_q && !in_header;
  assign key_end_o  = valid_i && key_o && pos_q == key_last_q;
  assign end_o      = valid_i && (header_end ? over_q : !keyed_q && pos_q == before_key_q);

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      pos_q   <= '0;
      magic_q <= 1'b1;
      wrong_q <= 1'b0;
    end else if (valid_i) begin
      pos_q <= pos_q + 9'd1;
      if (pos_q == '0) magic_q <= byte_i == BinaryRequest;
      if (header_end) wrong_q <= !right;
      if (pos_q == 9'd1) opcode_q <= byte_i;
      if (pos_q inside {9'd2, 9'd3}) klen_q <= {klen_q[7:0], byte_i};
      if (pos_q == 9'd4) extras_q <= byte_i;
      if (pos_q inside {[9'd8 : 9'd11]}) body_q <= {body_q[23:0], byte_i};
      if (pos_q inside {[9'd12 : 9'd15]}) opaque_q <= {byte_i, opaque_q[31:8]};
      if (pos_q inside {[9'd16 : 9'd23]}) unique_q <= {unique_q[55:0], byte_i};
      if (!in_header && !key_o) extra_q <= {extra_q[151:0], byte_i};
    end
    if (begin_i && old_i) begin
      opcode_q <= ctx_i.binary.opcode;
      opaque_q <= ctx_i.binary.opaque;
      klen_q   <= 16'(ctx_i.klen);
    end
    if (begin_i) is_q <= ctx_i.binary.is;
    if (begin_i) port_q <= port_i;
  end
  assign binary_o = '{
          is: is_q,
          key: is_q && binary_key(opcode_q),
          opcode: opcode_q,
          opaque: opaque_q
      };

  // ---------------------------------------------------------------- what
  logic fills;  // what is stored has the CAS unique that the request names
  assign opcode = opcode_q[5:0];
  assign fills  = opcode_q == BinaryFill && port_q;
  always_comb begin
    cmd     = CmdUnknown;
    lengths = LnSkip;
    want    = 8'd0;
    quiet   = 1'b0;
    if (fills) begin
      cmd = CmdSet;
    end else if (opcode_q == BinaryWalk && port_q) begin
      cmd = CmdWalk;
    end else if (opcode_q == BinaryVersion && port_q) begin
      cmd = CmdKeyVersion;
    end else if (opcode_q[7:6] == '0) begin
      // begin commands: Made by spec/gen.py from spec/commands.toml: `make spec`.
      unique case (opcode)
        6'h00, 6'h09, 6'h0c, 6'h0d: cmd = CmdGets;
        6'h1d, 6'h1e, 6'h23, 6'h24: cmd = CmdGats;
        6'h1c: cmd = CmdTouch;
        6'h01, 6'h11: cmd = CmdSet;
        6'h02, 6'h12: cmd = CmdAdd;
        6'h03, 6'h13: cmd = CmdReplace;
        6'h0e, 6'h19: cmd = CmdAppend;
        6'h0f, 6'h1a: cmd = CmdPrepend;
        6'h04, 6'h14: cmd = CmdDelete;
        6'h05, 6'h15: cmd = CmdIncr;
        6'h06, 6'h16: cmd = CmdDecr;
        6'h08, 6'h18: cmd = CmdFlush;
        6'h0a: cmd = CmdNoop;
        6'h0b: cmd = CmdVersion;
        6'h10: cmd = CmdHost;
        6'h07, 6'h17: cmd = CmdQuit;
        default: ;
      endcase
      quiet = opcode inside {6'h09, 6'h0d, [6'h11 : 6'h1a], 6'h1e, 6'h24};
      // end commands
    end
    // begin lengths: Made by spec/gen.py from spec/commands.toml: `make spec`.
    unique case (cmd)
      CmdGets, CmdDelete, CmdKeyVersion: lengths = LnKey;
      CmdGats, CmdTouch: begin
        lengths = LnKey;
        want    = 8'd4;
      end
      CmdSet, CmdAdd, CmdReplace: begin
        lengths = LnValue;
        want    = 8'd8;
      end
      CmdAppend, CmdPrepend: lengths = LnValue;
      CmdIncr, CmdDecr: begin
        lengths = LnKey;
        want    = 8'd20;
      end
      CmdFlush: lengths = LnFlush;
      CmdNoop, CmdVersion, CmdQuit, CmdWalk: lengths = LnNone;
      CmdHost: lengths = LnStat;
      default: ;
    endcase
    // end lengths
  end

  // ---------------------------------------------------------------- lengths
  // Of unknown ones memcached skips as many bytes as the body has behind extras and key.
  logic [31:0] value;
  logic [16:0] head_q;
  logic fits_q, none_q, rest_q, key_ok_q;
  assign sasl = opcode_q inside {[8'h20 : 8'h22]};
  always_ff @(posedge clk_i) begin
    head_q   <= 17'(klen_q) + 17'(extras_q);
    value    <= body_q - 32'(head_q);
    fits_q   <= body_q >= 32'(head_q);
    none_q   <= body_q == '0;
    rest_q   <= body_q != 32'(head_q);
    key_ok_q <= klen_q <= 16'(KeyMax);
  end
  always_comb begin
    unique case (lengths)
      LnNone:  right = none_q;
      LnKey:   right = extras_q == want && klen_q != '0 && !rest_q;
      LnValue: right = extras_q == want && klen_q != '0;
      LnFlush: right = klen_q == '0 && !rest_q && extras_q inside {8'd0, 8'd4};
      LnStat:  right = extras_q == '0;
      default:
      right = !sasl || (opcode_q == 8'h20 ? none_q : extras_q == '0 && klen_q != '0);
    endcase
    if (!magic_q || !fits_q || !key_ok_q) right = 1'b0;
  end

  always_comb begin
    line_o         = '0;
    line_o.cmd     = cmd;
    line_o.wrong   = wrong_q;
    line_o.klen    = klen_q[7:0];
    line_o.length  = (lengths != LnSkip) ? value : sasl ? body_q : body_q + 32'(head_q);
    line_o.noreply = quiet;
    line_o.unique_no  = unique_q;
    line_o.initial_no = extra_q[95:32];
    line_o.creates    = extra_q[31:0] != '1;
    // Whoever does not begin with the magic byte gets no answer.
    if (magic_q) line_o.fault = fits_q ? RpBadFormat : RpError;
    if (cmd inside {CmdSet, CmdAdd, CmdReplace} && unique_q != '0 && !fills) line_o.cmd = CmdCas;
    line_o.meta.chosen = fills;
    line_o.chosen_no   = unique_q;
    // Of the extras the bytes that came last.
    numbers_o         = '0;
    numbers_o.flags   = (extras_q == 8'd8) ? extra_q[63:32] : '0;
    numbers_o.exptime = (extras_q != '0) ? extra_q[31:0] : '0;
    numbers_o.number  = (extras_q == 8'd20) ? extra_q[159:96] : unique_q;
    flags_o           = numbers_o.flags != '0;
  end

endmodule
