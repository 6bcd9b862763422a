// Reads a command of Redis' protocol byte by byte: `*` and how many arguments, then of each `$`, its length, and so
// many bytes. Of a command that gates run the name, the key, an increment and a `SET`'s option are words; it ends
// where its value begins, or with the last word. Any other is `odd`: it is read again, now `whole`, and all of it is
// text for host software, up to its end or to where it breaks the protocol. So is a line that begins otherwise, a
// command for people. Latency 1 from a byte, initiation interval 1.
module byte_resp
  import request_pkg::*;
  import front_pkg::*;
#(
  /// Longest key.
  parameter int unsigned KeyMax = 250
) (
  input  logic        clk_i,
  /// Largest item: no argument is longer.
  input  logic [20:0] item_max_i,
  /// A command begins, or goes on where the job before has left it (MdKeys, MdValue); all of it is text.
  input  logic        begin_i,
  input  logic        old_i,
  // verilator lint_off UNUSEDSIGNAL
  input  ctx_t        ctx_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic        whole_i,
  /// Its next byte; the word before it has ended, which is this, as a number and by its spelling.
  input  logic        valid_i,
  input  logic [7:0]  byte_i,
  input  logic        word_i,
  // verilator lint_off UNUSEDSIGNAL
  input  num_t        num_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [127:0] head_i,
  input  logic [6:0]  len_i,
  /// With a byte: it is text, or a word's; a word's; a word ends with it; nothing more of the command is read here; a value
  /// begins behind it, and the command goes on behind that; no command that gates run.
  output logic        put_o,
  output logic        data_o,
  output logic        word_end_o,
  output logic        end_o,
  output logic        value_o,
  output logic        odd_o,
  /// An argument has begun. The word that has ended is the last one; is a key; says that so many replies follow. Its length; arguments that are not complete.
  output logic        any_o,
  output logic        last_o,
  output logic        key_o,
  output logic        array_o,
  output logic [7:0]  chars_o,
  output resp_count_t left_o,
  /// What was read says this.
  output line_info_t  line_o,
  output numbers_t    numbers_o,
  output resp_t       resp_o
);


  typedef enum logic [3:0] {
    PhStart,
    PhCount,
    PhCountLf,
    PhDollar,
    PhLength,
    PhLengthLf,
    PhData,
    PhCr,
    PhLf,
    PhBroken,   // a line that should begin with `$`
    PhBrokenLf,
    PhInline
  } phase_e;

  phase_e phase_q;
  logic whole_q, bad_q, zero_q, any_q, number_bad_q;
  logic [31:0] number_q;      // 9 digits; with more it is bad
  logic [3:0] digits_q;
  resp_count_t left_q;        // arguments that are not complete
  logic [20:0] bulk_q;        // bytes of this one that are still to come
  logic [20:0] length_q, value_q;
  logic [1:0] arg_q;          // which it is: the name, the key, ...; 3: or a later one
  resp_command_t command;
  cmd_e cmd_q;
  resp_form_e form_q;
  resp_t resp_q;
  logic nx, xx;
  logic [7:0] klen_q;

  resp_command u_command (
    .head_i,
    .len_i,
    .count_i  (left_q + resp_count_t'(1)),  // the name is complete
    .command_o(command),
    .nx_o     (nx),
    .xx_o     (xx)
  );

  // ---------------------------------------------------------------- framing
  logic digit, too_long, broken, many, value;
  assign digit    = byte_i inside {[8'h30 : 8'h39]};
  assign too_long = number_q > 32'(item_max_i);
  assign many     = cmd_q == CmdGet;
  assign value    = !whole_q && phase_q == PhLengthLf && arg_q == 2'd2 && is_store(cmd_q);
  // Here the protocol is broken, or there are no arguments.
  assign broken   = (phase_q == PhCountLf && (bad_q || number_q == '0)) ||
      (phase_q == PhLengthLf && (bad_q || too_long)) || phase_q == PhBrokenLf;

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      phase_q <= old_i ? PhDollar : PhStart;
      whole_q <= whole_i;
      arg_q   <= 2'(old_i);
      left_q  <= resp_count_t'(ctx_i.num);
      any_q   <= 1'b0;
    end else if (valid_i) begin
      any_q <= 1'b1;
      unique case (phase_q)
        PhStart:  phase_q <= (byte_i == "*") ? PhCount : PhInline;
        PhCount:  if (byte_i == 8'h0d) phase_q <= PhCountLf;
        PhCountLf: begin
          phase_q <= PhDollar;
          left_q  <= number_q[$bits(resp_count_t)-1:0];
          any_q   <= 1'b0;
        end
        PhDollar: phase_q <= (byte_i == "$") ? PhLength : PhBroken;
        PhLength: if (byte_i == 8'h0d) phase_q <= PhLengthLf;
        PhLengthLf: begin
          phase_q  <= (number_q == '0) ? PhCr : PhData;
          bulk_q   <= number_q[20:0];
          length_q <= number_q[20:0];
          if (value) begin
            phase_q <= PhDollar;
            value_q <= number_q[20:0];
            arg_q   <= 2'd3;
            left_q  <= left_q - resp_count_t'(1);
            any_q   <= 1'b0;
          end
        end
        PhData: begin
          bulk_q <= bulk_q - 21'd1;
          if (bulk_q == 21'd1) phase_q <= PhCr;
        end
        PhCr: phase_q <= PhLf;
        PhLf: begin
          phase_q <= PhDollar;
          left_q  <= left_q - resp_count_t'(1);
          any_q   <= 1'b0;
          if (arg_q != 2'd3) arg_q <= arg_q + 2'd1;
        end
        PhBroken: if (byte_i == 8'h0d) phase_q <= PhBrokenLf;
        default: ;
      endcase
    end
    if (valid_i) begin
      if (phase_q inside {PhCount, PhLength} && byte_i != 8'h0d) begin
        number_q <= {number_q[28:0], 3'b0} + {number_q[30:0], 1'b0} + 32'(byte_i[3:0]);
        digits_q <= (&digits_q) ? digits_q : digits_q + 4'd1;
        bad_q    <= !digit || zero_q || digits_q >= 4'd9 || (digits_q != '0 && bad_q);
        zero_q   <= byte_i == "0" && digits_q == '0;
      end else if (phase_q inside {PhStart, PhDollar}) begin
        number_q <= '0;
        digits_q <= '0;
        bad_q    <= 1'b1;  // no digits
        zero_q   <= 1'b0;
      end
    end
  end

  // ---------------------------------------------------------------- words
  logic length_odd, name_ends, number_ends, option_ends, first, word_odd;
  assign name_ends   = word_i && arg_q == 2'd1;  // its place is already that of the next one
  assign number_ends = word_i && arg_q == 2'd3 && cmd_q inside {CmdIncr, CmdDecr};
  assign option_ends = word_i && arg_q == 2'd3 && is_store(cmd_q);
  assign first       = bulk_q == length_q;
  always_comb begin
    unique case (arg_q)
      2'd0:    length_odd = number_q == '0 || number_q > 32'd16;
      2'd1:    length_odd = number_q == '0 || number_q > 32'(KeyMax);
      default:
      length_odd = !value && (number_q == '0 || number_q > (many ? 32'(KeyMax) : 32'd20));
    endcase
    word_odd = (name_ends && !command.found) || (option_ends && !nx && !xx) ||
        (number_ends && (number_bad_q || !num_i.ok_signed ||
                         (cmd_q == CmdDecr && num_i.neg && num_i.value[63])));
    odd_o = 1'b0;
    if (valid_i) begin
      unique case (phase_q)
        PhStart:             odd_o = byte_i != "*";
        PhCountLf:           odd_o = broken;
        PhDollar:            odd_o = byte_i != "$";
        PhLengthLf:          odd_o = broken || length_odd;
        default: ;
      endcase
    end
    odd_o = !whole_q && (odd_o || word_odd);
  end

  // An increment is written as Redis writes numbers: no plus, no zero in front.
  always_ff @(posedge clk_i) begin
    if (valid_i && phase_q == PhLengthLf) number_bad_q <= 1'b0;
    if (valid_i && phase_q == PhData &&
        ((!digit && !(byte_i == "-" && first)) || (byte_i == "0" && length_q != 21'd1 &&
         (first || (num_i.neg && bulk_q + 21'd1 == length_q)))))
      number_bad_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      cmd_q     <= (old_i && ctx_i.mode == MdKeys) ? CmdGet : CmdUnknown;
      form_q    <= (ctx_i.mode == MdKeys) ? RfBulk : ctx_i.resp.form;
      resp_q    <= ctx_i.resp;
      klen_q    <= ctx_i.klen;
      numbers_o <= '{number: 64'd1, default: '0};
    end else if (word_i && !whole_q) begin
      if (name_ends) begin
        cmd_q  <= command.cmd;
        form_q <= command.form;
      end
      if (name_ends && command.array) numbers_o.number <= 64'(left_q);
      if (arg_q == 2'd2) klen_q <= chars_o;
      if (number_ends) numbers_o.number <= num_i.neg ? -num_i.value : num_i.value;
      if (option_ends) cmd_q <= nx ? CmdAdd : CmdReplace;
    end
  end

  assign put_o      = valid_i && (whole_q || phase_q == PhData);
  assign word_end_o = valid_i && !whole_q && phase_q == PhLf;
  assign value_o    = valid_i && value && left_q != resp_count_t'(1);
  assign end_o      = valid_i &&
      (whole_q ? broken || (phase_q == PhLf && left_q == resp_count_t'(1)) ||
                 (phase_q inside {PhStart, PhInline} && byte_i == 8'h0a)
               : value && left_q == resp_count_t'(1));
  assign data_o     = valid_i && phase_q == PhData;
  assign any_o      = any_q;
  assign last_o     = left_q == '0;
  assign key_o      = !whole_q && (arg_q == 2'd2 || (many && arg_q == 2'd3));
  assign array_o    = !whole_q && name_ends && command.found && command.array;
  assign chars_o    = length_q[7:0];
  assign left_o     = left_q;
  always_comb begin
    resp_o        = resp_q;
    resp_o.form   = form_q;
    line_o        = '0;
    line_o.cmd    = whole_q ? CmdHost : cmd_q;
    line_o.klen   = klen_q;
    line_o.length = 32'(value_q);
  end

endmodule
