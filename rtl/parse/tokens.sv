// The scanner: cuts the bytes of a job into words of request lines, item data and bytes to
// discard, one piece a clock, and puts each piece at lane 0. Latency 5 from beat to piece.
//
// A window of two beats makes a piece independent of where beats end: 64 bytes are always in
// reach. A line end counts as delimiter of 1 or 2 bytes, so words never hold its CR. After a line
// that may be followed by data (any but the commonest commands) the scanner waits for decode.
// Pieces cannot be stalled: `room_i` must promise space for what is on its way.
module tokens
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Jobs, and their bytes as one packet each, from this lane of the first beat on.
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  job_t        job_i,
  input  logic [5:0]  lane_i,
  input  logic        beat_valid_i,
  output logic        beat_ready_o,
  input  beat_t       beat_i,
  /// There is room for the results of 8 more pieces; for 16 beats of item data.
  input  logic        room_i,
  input  logic        item_room_i,
  /// Answer to a slow line, from words or decode.
  input  resume_t     words_verdict_i,
  input  resume_t     decode_verdict_i,
  /// Pieces, and the numbers they may be; the value comes two clocks later.
  output logic        piece_valid_o,
  output piece_t      piece_o,
  output num_t        num_o,
  output logic [63:0] value_o,
  /// The job of the pieces: stands from before its first piece until taken with it.
  input  logic        job_pop_i,
  output job_t        job_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  // ---------------------------------------------------------------- scan
  typedef enum logic [2:0] {
    ScLine,
    ScValue,
    ScSkip,
    ScWait,  // for the verdict on a slow line
    ScDrop   // throw away the rest of the job
  } scan_e;

  scan_e scan_q;
  logic active_q, sof_q, final_q;
  logic [6:0] p_q;        // place in the window; over 63: the first beat is used up
  logic [13:0] base_q;   // place of the window in the job
  logic [13:0] left_q, job_len_q;
  logic first_word_q;     // no word of this line seen yet
  logic fast_q;           // a command whose lines need no verdict
  logic long_q;           // the line has a word of more than one piece
  logic [1:0] gap_q;

  // Bit b is set in the numbers of these places.
  typedef logic [7:0][129:0] places_t;
  function automatic places_t place_bits();
    for (int unsigned b = 0; b < 8; b++) begin
      for (int unsigned i = 0; i < 130; i++) place_bits[b][i] = 1'((i >> b) & 1);
    end
  endfunction
  localparam places_t PlaceBit = place_bits();

  // The window. The first beat goes when `far`, or when p is beyond it; both with the job.
  marked_t w0, w1;
  logic w0_valid, w1_valid, next_valid, next_lf, drop, shift, beyond;
  token_window u_window (
    .clk_i,
    .rst_ni,
    .beat_valid_i,
    .beat_ready_o,
    .beat_i,
    .drop_i      (drop),
    .shift_i     (shift),
    .w0_valid_o  (w0_valid),
    .w0_o        (w0),
    .w1_valid_o  (w1_valid),
    .w1_o        (w1),
    .next_valid_o(next_valid),
    .next_lf_o   (next_lf)
  );

  // Places in the window (two beats) from p on, up to 64 bytes and a delimiter behind them.
  logic [127:0] lf_all, crlf_all, hard_all, near, delim, onehot, others;
  logic [129:0] behind;
  logic [129:1] window_hot;
  logic [63:0] from_p;
  logic [7:0] place_idx, behind_idx, window_stop;  // place behind the last byte, if window_end
  logic window_ok, window_end, found, at_end, at_p;
  line_t shifted;
  always_comb begin
    window_ok   = w0_valid && !p_q[6] && (w0.last || (w1_valid && (w1.last || next_valid)));
    window_end  = w0.last || w1.last;
    window_stop = w0.last ? 8'(w0.len) : 8'd64 + 8'(w1.len);
    window_hot  = w0.last ? 129'(w0.stop[64:1]) : {1'b0, w1.stop, 63'd0};
    at_end      = window_end && window_stop <= 8'(p_q[5:0]) + 8'd64;
    at_p        = window_stop == 8'(p_q[5:0]);

    from_p   = {64{1'b1}} << p_q[5:0];
    near     = {~(from_p << 1), from_p};
    lf_all   = {w0.last ? 64'd0 : w1.lf, w0.lf};
    hard_all = {w0.last ? 64'd0 : w1.hard, w0.hard};
    crlf_all = {w0.last ? 64'd0 : w1.cr, w0.cr} &
               {next_lf && !w0.last && !w1.last, lf_all[127:1]};
    delim    = (hard_all | crlf_all) & near;
    onehot   = delim & (~delim + 128'd1);
    found    = delim != '0;
    // The place behind the delimiter.
    behind = {1'b0, onehot & ~crlf_all, 1'b0} | {onehot & crlf_all, 2'b00};
    for (int unsigned b = 0; b < 8; b++) begin
      place_idx[b]  = |(onehot & PlaceBit[b][127:0]);
      behind_idx[b] = |(behind & PlaceBit[b]);
    end
    // Delimiters but for the one that ends the job.
    others  = ((hard_all & ~window_hot[128:1]) | (crlf_all & ~window_hot[129:2])) & near;
    shifted = '0;
    if (w0_valid) shifted = 512'({w1.data, w0.data} >> {p_q[5:0], 3'b000});
  end

  logic emit, eol, slow, last_part, any_bytes, consume_all, far;
  logic [7:0] value_stop, take, window_left;
  logic [7:0] stop, p_next, full;  // places behind the piece, and behind its delimiter
  resume_t verdict;
  assign verdict = words_verdict_i.valid ? words_verdict_i : decode_verdict_i;
  logic word1_q, fast1, fast_now;  // the piece behind is a line's first word, and a fast one
  always_comb begin
    // The store may want all of an item before it takes another request: item data waits for no more
    // than room of its own. There is room for its record since its line, or its job, began.
    emit      = active_q && window_ok && ((scan_q == ScValue) ? item_room_i : room_i) &&
                gap_q == '0 && scan_q != ScWait;
    eol       = |(onehot & (lf_all | crlf_all));
    last_part = left_q <= 14'd64;
    // Item data: bytes to take with this piece, CRLF included.
    value_stop  = 8'(p_q[5:0]) + (last_part ? left_q[7:0] : 8'd64);
    take        = !last_part ? 8'd64 : left_q[7:0] + ((final_q && scan_q == ScValue) ? 8'd2 : 8'd0);
    window_left = window_stop - 8'(p_q[5:0]);
    full      = at_end ? window_stop : 8'(p_q[5:0]) + 8'd64;
    slow      = 1'b0;
    unique case (scan_q)
      ScLine: begin
        stop        = found ? place_idx : full;
        p_next      = found ? behind_idx : full;
        slow        = eol && (first_word_q || !fast_now || long_q);
        consume_all = window_end && others == '0 && (found || at_end);
        far         = !(|delim[61:0] || (delim[62] && !crlf_all[62]));
      end
      ScValue, ScSkip: begin
        stop        = value_stop;
        p_next      = 8'(p_q[5:0]) + take;
        consume_all = window_end && take >= window_left;
        far         = p_next[7:6] != '0;
      end
      default: begin
        stop        = full;
        p_next      = full;
        consume_all = at_end;
        far         = 1'b1;
      end
    endcase
    // PcText only: there is something before the delimiter.
    any_bytes = !(|(delim & near &{64'd0, ~(from_p << 1)})) && !at_p;
  end

  assign beyond = w0_valid && p_q[6] && w1_valid;
  assign drop   = emit && consume_all;
  assign shift  = (emit && far) || beyond;

  // A value piece of the job ends with the job unless its final byte is in it.
  logic start, queue_ready;
  assign start = !active_q && gap_q[1] == 1'b0 && job_valid_i && queue_ready && room_i;
  assign job_ready_o = start;

  logic [31:0] job_rem;
  assign job_rem = job_i.ctx.rem;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      gap_q    <= '0;
      scan_q   <= ScLine;
      p_q      <= '0;
    end else begin
      if (gap_q != '0) gap_q <= gap_q - 1'b1;
      if (start) begin
        active_q     <= 1'b1;
        sof_q        <= 1'b1;
        p_q          <= {1'b0, lane_i};
        base_q       <= -14'(lane_i);
        first_word_q <= job_i.ctx.mode != MdKeys;
        fast_q       <= 1'b1;
        long_q       <= 1'b0;
        final_q      <= 32'(job_i.len) >= job_rem;
        job_len_q    <= job_i.len;
        scan_q       <= ScLine;
        if (!job_i.udp && !job_i.host && !job_i.ctx.cont) begin
          if (job_i.ctx.mode == MdValue) begin
            scan_q <= ScValue;
            left_q <= (32'(job_i.len) >= job_rem) ? job_rem[13:0] - 14'd2 : job_i.len;
          end
          if (job_i.ctx.mode == MdSwallow) begin
            scan_q <= ScSkip;
            left_q <= (32'(job_i.len) >= job_rem) ? job_rem[13:0] : job_i.len;
          end
        end
      end
      if (verdict.valid && scan_q == ScWait) begin
        left_q  <= verdict.count;
        final_q <= verdict.final_;
        unique case (verdict.kind)
          VdLine:  scan_q <= ScLine;
          VdValue: scan_q <= ScValue;
          VdSkip:  scan_q <= ScSkip;
          default: scan_q <= ScDrop;
        endcase
      end
      if (emit) begin
        sof_q <= 1'b0;
        if (far) base_q <= base_q + 14'd64;
        p_q <= consume_all ? '0 : (p_next[7:6] == '0) ? p_next[6:0] : {p_next[7], p_next[5:0]};
        if (consume_all) begin
          active_q <= 1'b0;
          // Time for decode to end the job, and to finish a slow line before.
          gap_q    <= slow ? 2'd3 : 2'd1;
        end
        unique case (scan_q)
          ScLine: begin
            if (eol) begin
              first_word_q <= 1'b1;
              long_q       <= 1'b0;
              if (slow) scan_q <= ScWait;
            end else begin
              if (any_bytes) first_word_q <= 1'b0;
              if (!found && !consume_all) long_q <= 1'b1;
            end
          end
          ScValue: begin
            left_q <= last_part ? '0 : left_q - 14'd64;
            if (last_part) scan_q <= final_q ? ScLine : ScDrop;
          end
          ScSkip: begin
            left_q <= last_part ? '0 : left_q - 14'd64;
            if (last_part) scan_q <= final_q ? ScLine : ScDrop;
          end
          default: ;
        endcase
      end else if (beyond) begin
        p_q    <= {1'b0, p_q[5:0]};
        base_q <= base_q + 14'd64;
      end
      if (word1_q) fast_q <= fast1;
    end
  end

  // The job waits beside its pieces.
  logic unused_valid;
  logic [2:0] queue_level;
  lib_fifo #(
    .T    (job_t),
    .Depth(4)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(start),
    .s_ready_o(queue_ready),
    .s_data_i (job_i),
    .m_valid_o(unused_valid),
    .m_ready_i(job_pop_i),
    .m_data_o (job_o),
    .level_o  (queue_level)
  );

  // ---------------------------------------------------------------- piece at lane 0
  logic valid1_q, valid2_q, valid3_q;
  piece_t piece1_q, piece2_q, piece3_q;
  logic [7:0] start1_q, stop1_q, next1_q;
  logic [13:0] base1_q;
  chars_t chars1_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      word1_q  <= 1'b0;
    end else begin
      valid1_q <= emit && (scan_q != ScDrop || consume_all);
      word1_q  <= emit && scan_q == ScLine && first_word_q && any_bytes;
    end
    if (emit) begin
      piece1_q.data   <= shifted;
      piece1_q.kind   <= (scan_q == ScValue) ? PcValue : (scan_q == ScLine) ? PcText : PcSkip;
      start1_q        <= {1'b0, p_q};
      stop1_q         <= stop;
      next1_q         <= p_next;
      base1_q         <= base_q;
      piece1_q.sof    <= sof_q;
      piece1_q.eof    <= consume_all;
      piece1_q.ends   <= found;
      piece1_q.eol    <= eol;
      piece1_q.nul    <= |(onehot & {w1.nul, w0.nul});
      piece1_q.slow   <= slow;
      piece1_q.last   <= last_part || consume_all;
      piece1_q.final_ <= last_part && final_q;
      piece1_q.crlf   <= crlf_all[value_stop[6:0]];
      {piece1_q.n, piece1_q.pos, piece1_q.left, piece1_q.word} <= '0;  // the next stage's
      for (int unsigned i = 0; i < 33; i++) begin
        logic [7:0] c;
        c = shifted[8*i+:8];
        chars1_q.low[i]   <= c[3:0];
        chars1_q.digit[i] <= c inside {[8'h30:8'h39]};
        chars1_q.space[i] <= c inside {8'h09, 8'h0b, 8'h0c, 8'h0d};
        chars1_q.ender[i] <= c inside {8'h00, [8'h09:8'h0d], 8'h20};
        chars1_q.minus[i] <= c == 8'h2d;
        chars1_q.plus[i]  <= c == 8'h2b;
      end
    end
  end

  // ---------------------------------------------------------------- its place; what it is as a word
  word_t word1;
  logic [6:0] n1;
  logic [13:0] pos1;
  assign n1    = 7'(stop1_q - start1_q);
  assign pos1  = base1_q + 14'(next1_q);
  assign fast1 = word1.cmd inside {CmdGet, CmdGets, CmdGat, CmdGats, CmdDelete, CmdIncr, CmdDecr,
                                   CmdTouch};

  keyword u_keyword (
    .text_i(valid1_q && piece1_q.kind == PcText),
    .head_i(piece1_q.data[127:0]),
    .n_i   (n1),
    .ends_i(piece1_q.ends),
    .word_o(word1)
  );
  assign fast_now = word1_q ? fast1 : fast_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid2_q <= 1'b0;
      valid3_q <= 1'b0;
    end else begin
      valid2_q <= valid1_q;
      valid3_q <= valid2_q;
    end
    if (valid1_q) begin
      piece2_q      <= piece1_q;
      piece2_q.n    <= n1;
      piece2_q.pos  <= pos1;
      piece2_q.left <= job_len_q - pos1;
      piece2_q.word <= word1;
    end
    if (valid2_q) piece3_q <= piece2_q;
  end

  number u_number (
    .clk_i,
    .valid_i(valid1_q),
    .chars_i(chars1_q),
    .num_o,
    .value_o
  );

  assign piece_valid_o = valid3_q;
  assign piece_o       = piece3_q;
  assign idle_o        = !beat_valid_i && !job_valid_i && !next_valid && !w0_valid && !active_q &&
                         !valid1_q && !valid2_q && !valid3_q && queue_level == '0 && gap_q == '0;

endmodule
