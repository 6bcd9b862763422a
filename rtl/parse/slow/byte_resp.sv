// Reads a command of Redis' protocol byte by byte: `*` and how many arguments, then of each `$`, its length, and so
// many bytes. Of a command that gates run the name, the key, numbers and options are words; it ends
// where its value begins, or with the last word. Any other is `odd`: it is read again, now `whole`, and all of it is
// text for host software, up to its end or to where it breaks the protocol. So is a line that begins otherwise, a
// command for people. Latency 1 from a byte, initiation interval 1.
module byte_resp
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
#(
  /// Most arguments, and bytes of one, of a client that has not told the password.
  parameter int unsigned StrangerArgs = 10,
  parameter int unsigned StrangerBytes = 16384
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item: no argument is longer.
  input  logic [20:0] item_max_i,
  /// A command begins, for the first time, or goes on where the job before has left it (MdKeys, MdValue); all of
  /// it is text.
  input  logic        begin_i,
  input  logic        fresh_i,
  input  logic        old_i,
  input  ctx_t        ctx_i,
  input  logic        whole_i,
  /// It has keys and values by turns, and was read once: each value ends what is read now.
  input  logic        sure_i,
  /// Its next byte; the word before it has ended, which is this, as a number and by its spelling.
  input  logic        valid_i,
  input  logic [7:0]  byte_i,
  input  logic        word_i,
  /// So many bytes of an argument are passed unread, up to its end or to that of the job.
  input  logic        jump_i,
  input  logic        jump_all_i,
  input  logic [13:0] jump_len_i,
  input  num_t        num_i,
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
  output resp_t       resp_o,
  output resp_place_t place_o,
  /// The command, also if it is read again, takes the connection back to database 0.
  output logic        reset_o,
  /// So far it has more arguments, or a longer one, than a stranger may send.
  output logic        large_o
);

  resp_phase_e phase_q;
  logic whole_q, sure_q, bad_q, zero_q, any_q, number_bad_q;
  logic [29:0] number_q;      // 9 digits; with more it is bad
  logic [3:0] digits_q;
  resp_count_t left_q;        // arguments that are not complete
  logic [2:0] count_q;        // arguments in all, for resp_command
  logic odd_q;
  logic [20:0] bulk_q;        // bytes of this one that are still to come
  logic [20:0] length_q, value_q;
  logic [1:0] arg_q;  // which it is: the name, the key, ...; 3: or a later one
  resp_command_t spelled, command;
  cmd_e cmd_q;
  resp_form_e form_q;
  // No state machine: synthesis that looks for one here tries all conditions of all commands.
  (* fsm_encoding = "none" *) resp_args_e args_q;
  logic many_q;               // all behind the name are keys
  resp_option_t spells, option, seen_q;  // that the word is; that there were
  resp_unit_t unit_q;
  logic time_next_q;             // the next word is a time
  reply_e fault_q;               // of the last one
  resp_t resp_q;
  logic [7:0] klen_q;

  resp_command u_command (
    .head_i,
    .len_i,
    .count_i  (count_q),
    .odd_i    (odd_q),
    .command_o(spelled),
    .option_o (spells)
  );
  // A word stands for two clocks, those of its CR and its LF, before it counts.
  always_ff @(posedge clk_i) begin
    command <= spelled;
    option  <= spells;
  end

  // ---------------------------------------------------------------- framing
  logic digit, too_long, broken, takes, value, last_value, text;  // text: goes on
  // What a number says is known while its CR passes.
  logic count_bad_q, length_bad_q, length_odd_q, count_far_q, length_far_q;
  resp_place_t told;
  assign text     = old_i && ctx_i.resp.form == RfText;
  assign told     = $bits(resp_place_t)'({ctx_i.expiry, ctx_i.num});
  assign digit    = byte_i inside {[8'h30 : 8'h39]};
  assign too_long = number_q > 30'(item_max_i);
  assign takes    = !whole_q &&
      ((args_q inside {RaValue, RaPairs} && arg_q == 2'd2) ||
       (args_q == RaTimeValue && arg_q == 2'd3));
  assign value    = phase_q == PhLengthLf && takes;
  assign last_value = (args_q == RaPairs) ? sure_q : left_q == resp_count_t'(1);
  // Here the protocol is broken, or there are no arguments.
  assign broken   = (phase_q == PhCountLf && count_bad_q) ||
      (phase_q == PhLengthLf && length_bad_q) || phase_q == PhBrokenLf;

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      phase_q <= text ? told.phase : old_i ? PhDollar : PhStart;
      whole_q <= whole_i;
      sure_q  <= sure_i;
      arg_q   <= 2'(old_i);
      left_q  <= told.left;
      bulk_q  <= told.bulk;
      any_q   <= 1'b0;
    end else if (valid_i) begin
      any_q <= 1'b1;
      unique case (phase_q)
        PhStart:  phase_q <= (byte_i == "*") ? PhCount : PhInline;
        PhCount:  if (byte_i == 8'h0d) phase_q <= PhCountLf;
        PhCountLf: begin
          phase_q <= PhDollar;
          left_q  <= number_q;
          count_q <= (number_q[29:3] != '0) ? '1 : number_q[2:0];
          odd_q   <= number_q[0];
          any_q   <= 1'b0;
        end
        PhDollar:
        phase_q <= (byte_i == "$") ? PhLength : (byte_i == 8'h0d) ? PhBrokenLf : PhBroken;
        PhLength: if (byte_i == 8'h0d) phase_q <= PhLengthLf;
        PhLengthLf: begin
          phase_q  <= (number_q == '0) ? PhCr : PhData;
          bulk_q   <= number_q[20:0];
          length_q <= number_q[20:0];
          if (value) begin
            phase_q <= PhDollar;
            value_q <= number_q[20:0];
            arg_q   <= (args_q == RaPairs) ? 2'd1 : 2'd3;
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
    end else if (jump_i) begin
      bulk_q <= bulk_q - 21'(jump_len_i);
      if (jump_all_i) phase_q <= PhCr;
    end
    if (begin_i) begin
      {bad_q, zero_q, digits_q, number_q} <= {told.bad, told.zero, told.digits, told.number};
    end else if (valid_i) begin
      if (phase_q inside {PhCount, PhLength} && byte_i != 8'h0d) begin
        number_q <= {number_q[26:0], 3'b0} + {number_q[28:0], 1'b0} + 30'(byte_i[3:0]);
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
  // What it is that ends with word_i. Behind the name, whose place is that of the next one already: increment or
  // time, option, database.
  logic length_odd, is_name, is_select, is_more, is_number, is_expiry, is_option, first;
  logic others_q, word_odd, option_ok, last;
  logic number_ok_q, positive_q, small_q, least_q, far_q, low_q;
  reply_e fault;
  resp_option_t seen;
  assign last      = left_q == '0;
  assign is_name   = arg_q == 2'd1;
  assign is_select = arg_q == 2'd2 && args_q == RaSelect;
  assign is_more   = arg_q == 2'd3 && !many_q;
  assign is_number = is_more && args_q == RaIncrement;
  assign is_expiry = is_more && (args_q == RaTimeValue || time_next_q);
  assign is_option = is_more && !is_number && !is_expiry;
  assign first     = bulk_q == length_q;

  // A time: what is more than 2^47 milliseconds, or about so, is left to host software; so is what has no sum. The
  // number is complete some clocks before it is a word.
  always_ff @(posedge clk_i) begin
    number_ok_q <= !number_bad_q && num_i.ok_signed;
    positive_q  <= !num_i.neg && num_i.value != '0;
    small_q     <= !num_i.neg && num_i.value < 64'd16;
    least_q     <= num_i.neg && num_i.value[63];
    far_q       <= !num_i.neg &&
        (unit_q.millis ? num_i.value[63:47] != '0 : num_i.value[63:37] != '0);
    low_q       <= num_i.neg && !unit_q.millis && num_i.value[63:53] != '0;
  end

  always_comb begin
    fault = is_expiry ? RpNone : fault_q;
    if (is_expiry && !number_ok_q) fault = RpNonNumeric;
    else if (is_expiry && !positive_q) fault = RpBadExpire;
    else if (is_expiry && far_q) fault = RpTooLarge;  // too far

    seen = seen_q | option;
    if (!option.timed) seen.unit = seen_q.unit;
    unique case (args_q)
      RaValue:
      option_ok = option.get || (option.nx && !seen_q.xx) || (option.xx && !seen_q.nx) ||
          (option.keep && !seen_q.timed);
      RaTime:
      option_ok = (option.nx || option.xx || option.gt || option.lt) &&
          !(seen.nx && (seen.xx || seen.gt || seen.lt)) && !(seen.gt && seen.lt);
      default: option_ok = option.persist && !seen_q.timed;
    endcase
    if (args_q inside {RaValue, RaOptions} && option.timed && !seen_q.keep && !seen_q.persist &&
        (!seen_q.timed || option.unit == seen_q.unit) && !last)
      option_ok = 1'b1;
  end

  always_comb begin
    unique case (arg_q)
      2'd0:    length_odd = number_q == '0 || number_q > 30'd16;
      2'd1:    length_odd = number_q == '0 || number_q > 30'(KeyMax);
      default:
      length_odd = !takes && (args_q == RaOptions ? number_q > 30'd64 :
          number_q == '0 || number_q > (many_q ? 30'(KeyMax) : 30'd20));
    endcase
  end

  always_ff @(posedge clk_i) begin
    count_far_q  <= number_q > 30'(StrangerArgs);
    length_far_q <= number_q > 30'(StrangerBytes);
    count_bad_q  <= bad_q || number_q == '0;
    length_bad_q <= bad_q || too_long;
    length_odd_q <= length_odd;
  end

  always_comb begin
    word_odd = (is_name && (!command.found || (command.one_db && others_q))) ||
        (is_option && !option_ok) ||
        (is_select && !(number_ok_q && small_q)) ||
        (is_number && (!number_ok_q || (cmd_q == CmdDecr && least_q)));
    unique case (args_q)
      RaTime:      word_odd |= is_expiry && (!number_ok_q || far_q || low_q);
      RaTimeValue: word_odd |= is_expiry && fault != RpNone;
      RaValue:     word_odd |= is_more && last && fault != RpNone;
      RaOptions:   word_odd |= is_more && last && fault == RpTooLarge;
      default:     ;
    endcase
    odd_o = 1'b0;
    if (valid_i) begin
      unique case (phase_q)
        PhStart:             odd_o = byte_i != "*";
        PhCount, PhLength:   odd_o = &digits_q;
        PhCountLf:           odd_o = broken;
        PhDollar:            odd_o = byte_i != "$";
        PhLengthLf:          odd_o = broken || length_odd_q;
        default: ;
      endcase
    end
    odd_o = !whole_q && (odd_o || (word_i && word_odd));
  end

  // Once a connection has chosen another database than 0 there may be items in it.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) others_q <= 1'b0;
    else if (word_i && is_select && !word_odd && num_i.value[3:0] != '0) others_q <= 1'b1;
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
      cmd_q       <= !(old_i && ctx_i.mode == MdKeys) ? CmdUnknown :
          (ctx_i.op == OpDelete) ? CmdDelete : CmdGet;
      form_q      <= text ? RfStatus :
          (ctx_i.mode == MdKeys && ctx_i.resp.form != RfSum) ? RfBulk : ctx_i.resp.form;
      many_q      <= old_i && ctx_i.mode == MdKeys && !text;
      args_q      <= RaNone;
      seen_q      <= '0;
      time_next_q <= 1'b0;
      fault_q     <= RpNone;
      resp_q    <= ctx_i.resp;
      klen_q    <= ctx_i.klen;
      numbers_o <= '{number: 64'd1, default: '0};
    end else if (word_i && !whole_q) begin
      if (is_name) begin
        cmd_q       <= command.cmd;
        form_q      <= command.form;
        args_q      <= command.args;
        many_q      <= command.many;
        unit_q      <= command.unit;
        time_next_q <= command.args == RaTime;
        // PERSIST
        if (command.args == RaNone) numbers_o.flags <= 32'(resp_when_t'{xx: 1'b1, default: '0});
      end
      if (is_name && command.array) numbers_o.number <= 64'(left_q);
      if (arg_q == 2'd2) klen_q <= chars_o;
      if (is_number || is_select) numbers_o.number <= num_i.neg ? -num_i.value : num_i.value;
      if (is_option) begin
        seen_q      <= seen;
        unit_q      <= option.unit;
        time_next_q <= option.timed;
        if (option.nx && args_q == RaValue) cmd_q <= CmdAdd;
        if (option.xx && args_q == RaValue) cmd_q <= CmdReplace;
        if (option.get) form_q <= RfBulk;
        if (args_q == RaTime)
          numbers_o.flags <= 32'({seen.lt, seen.gt, seen.xx, seen.nx});  // resp_when_t
      end
      if (is_expiry) begin
        time_next_q        <= 1'b0;
        fault_q            <= fault;
        // A thousand is 1024 - 16 - 8. What is over is long over.
        numbers_o.relative <= !unit_q.date && positive_q;
        numbers_o.expiry   <= !positive_q ? 48'd1 : unit_q.millis ? 48'(num_i.value[46:0]) :
            (48'(num_i.value[36:0]) << 10) - (48'(num_i.value[36:0]) << 4) -
            (48'(num_i.value[36:0]) << 3);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (begin_i && fresh_i) reset_o <= 1'b0;
    else if (word_i && is_name && !whole_q && command.reset) reset_o <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) large_o <= 1'b0;
    else if (valid_i && ((phase_q == PhCountLf && count_far_q) ||
                         (phase_q == PhLengthLf && length_far_q)))
      large_o <= 1'b1;
  end

  assign put_o      = valid_i && !whole_q && phase_q == PhData;
  assign word_end_o = valid_i && !whole_q && phase_q == PhLf;
  assign value_o    = valid_i && value && !last_value;
  assign end_o      = valid_i &&
      (whole_q ? broken || (phase_q == PhLf && left_q == resp_count_t'(1)) ||
                 (phase_q inside {PhStart, PhInline} && byte_i == 8'h0a)
               : value && last_value);
  assign data_o     = valid_i && phase_q == PhData;
  assign any_o      = any_q;
  assign last_o     = last;
  assign key_o      = !whole_q && args_q != RaSelect &&
      (arg_q == 2'd2 || (many_q && arg_q == 2'd3));
  assign array_o    = !whole_q && word_i && is_name && command.found && command.array;
  assign chars_o    = length_q[7:0];
  assign left_o     = left_q;
  assign place_o    = '{
          phase: phase_q,
          bad: bad_q,
          zero: zero_q,
          digits: digits_q,
          number: number_q,
          bulk: bulk_q,
          left: left_q
      };
  always_comb begin
    resp_o        = resp_q;
    resp_o.form   = form_q;
    line_o        = '0;
    line_o.cmd    = whole_q ? CmdHost : cmd_q;
    line_o.klen   = klen_q;
    line_o.keeps  = seen_q.keep;
    line_o.many   = many_q;
    line_o.pairs  = args_q == RaPairs;
    line_o.noreply = args_q == RaPairs && !last;
    line_o.fault  = fault_q;
    line_o.length = 32'(value_q);
  end

endmodule
