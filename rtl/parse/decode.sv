// Decides request lines: steps in, request records, keys and item data out. One step a clock,
// answered in the same clock.
//
// Records and key beats of a line become visible at its end. A line that the job does not hold
// completely is taken back and read again by the connection's next job; a SET whose data exceeds
// a job goes to the log in parts, a `get` line beyond a job is left between two keys.
`include "lib_assert.svh"

module decode
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Steps and their job. A slow step stays until the next one.
  input  logic        step_valid_i,
  input  step_t       step_i,
  input  job_t        job_i,
  input  logic signed [21:0] value_max_i,
  /// The line's length field in full; two clocks after its step.
  input  logic [31:0] length_i,
  /// Pulse: the job's last record goes out.
  output logic        done_o,
  /// A slow line is over; the rest of the job does not count.
  output logic        line_end_o,
  output logic        dead_o,
  /// To the scanner.
  output resume_t     verdict_o,
  /// Requests, keys and item data.
  output out_t        out_o,
  /// Pulses.
  output logic        line_o,
  output logic        error_o,
  output logic        rollback_o,
  output logic        host_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  /// A `get` line goes on in parts when this many beats of its keys wait for its end.
  localparam int unsigned KeysMax = 384;

  // Short names; not every field is needed here.
  // verilator lint_off UNUSEDSIGNAL
  ctx_t ctx;
  piece_t piece;
  line_info_t line;
  // verilator lint_on UNUSEDSIGNAL
  assign ctx   = job_i.ctx;
  assign piece = step_i.piece;
  assign line  = step_i.line;

  logic text, value, get_key, cut;
  assign text    = step_valid_i && step_i.text;
  assign value   = step_valid_i && step_i.value;
  assign get_key = step_valid_i && step_i.get_key;
  assign cut     = text && piece.eof && !piece.eol;  // the line goes on beyond the job

  // ---------------------------------------------------------------- the line's end
  // Most lines are decided with their last piece; these need a clock in between: a bad `get` line
  // (its records are taken back first), host text (its last beat), a long number for a length.
  logic eol, late, late_q, late_go, decide;  // late: a slow line's end waits
  logic [1:0] late_step_q;

  assign eol     = text && piece.eol;
  assign late    = eol && piece.slow && ((line.cmd == CmdHost && !job_i.udp) || line.bad ||
                   (is_store(line.cmd) && line.length_ok && line.length_big));
  assign late_go = late_q && late_step_q == (is_store(line.cmd) ? 2'd2 : 2'd1);
  assign decide  = (eol && !late) || late_go;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) late_q <= 1'b0;
    else if (late) late_q <= 1'b1;
    else if (late_go) late_q <= 1'b0;
    late_step_q <= late ? 2'd1 : late_step_q + 2'd1;
  end

  order_t order;
  logic ended, text_beat_valid, text_fits;
  logic [7:0] text_len;
  line_t bytes;
  beat_t text_beat;
  assign bytes = piece.data & ~({512{1'b1}} << {piece.n, 3'b000});

  decode_gather u_gather (
    .clk_i,
    .rst_ni,
    .step_valid_i,
    .step_i,
    .bytes_i     (bytes),
    .end_i       (decide || ended),
    .beat_valid_o(text_beat_valid),
    .beat_o      (text_beat),
    .len_o       (text_len),
    .fits_o      (text_fits)
  );

  decode_line u_line (
    .step_i,
    .job_i,
    .value_max_i,
    .late_i     (late_q),
    .length_i,
    .text_fits_i(text_fits),
    .order_o    (order)
  );

  // ---------------------------------------------------------------- how it goes on
  end_t leaves, leaves_q;
  logic partial, partial_q, partial_now, line_over;  // a `get` line is committed in part
  logic [8:0] keys_q;  // key beats not committed

  // Once a part of the line is out, every key follows as soon as it is complete, so that the job's
  // end has nothing but a broken-off key to take back.
  assign partial     = partial_q || (line.old && is_get(line.cmd));
  assign partial_now = get_key && !piece.eol && (keys_q >= 9'(KeysMax) || line.eager || partial);

  decode_resume u_resume (
    .clk_i,
    .rst_ni,
    .step_valid_i,
    .step_i,
    .job_i,
    .decide_i   (decide),
    .order_i    (order),
    .partial_i  (partial || partial_now),
    .verdict_o,
    .dead_o,
    .line_over_o(line_over),
    .leaves_o   (leaves),
    .end_valid_o(ended),
    .end_o      (leaves_q)
  );

  // ---------------------------------------------------------------- what goes out
  queue_t rec_do, key_do, putb_do;
  beat_t key, putb;
  put_t put;
  logic put_push;

  always_comb begin
    rec_do  = '0;
    key_do  = '0;
    putb_do = '0;
    key     = '{data: bytes, len: piece.n, last: piece.ends};
    putb    = '{data: bytes, len: piece.n, last: value && piece.last};

    // A job without bytes, or the last record of one.
    if ((step_valid_i && step_i.empty_job) || ended) begin
      rec_do.push   = 1'b1;
      rec_do.commit = 1'b1;
    end

    if (text) begin
      key_do.push   = step_i.key_beat;
      putb_do.push  = step_i.key_beat && is_store(line.cmd);
      rec_do.push   = get_key;
      rec_do.commit = get_key && (piece.eol || partial_now);
      key_do.commit = rec_do.commit;
      rec_do.back   = step_i.key_too_long || (cut && !rec_do.commit);
      key_do.back   = rec_do.back;
      putb_do.back  = cut;
    end
    if (text_beat_valid) begin
      key_do.push = 1'b1;
      key         = text_beat;
    end

    if (decide) begin
      if (!get_key) begin
        rec_do.push   = order.action inside {AcReply, AcOp, AcSwallow, AcHost};
        rec_do.commit = 1'b1;
      end
      unique case (order.action)
        AcReply: begin
          // END goes with the keys before it; any other reply stands for the whole line.
          key_do.commit = order.reply == RpEnd;
          key_do.back   = order.reply != RpEnd;
          putb_do.back  = 1'b1;
        end
        AcOp: key_do.commit = 1'b1;
        AcSwallow: begin
          key_do.commit = order.op == OpTooBig;
          key_do.back   = order.op != OpTooBig;
          putb_do.back  = 1'b1;
        end
        AcStore, AcStorePart: putb_do.commit = 1'b1;
        AcHost: begin
          key_do.push   = 1'b1;
          key_do.commit = 1'b1;
          key           = text_beat;
        end
        AcBack: begin
          key_do.back  = 1'b1;
          putb_do.back = 1'b1;
        end
        default: ;
      endcase
    end

    if (value) begin
      putb_do.push   = piece.n != '0 || !line.old;
      putb_do.commit = 1'b1;
      rec_do.push    = piece.last;
      rec_do.commit  = piece.last;
      key_do.back    = piece.last && piece.final_ && !piece.crlf;
      key_do.commit  = piece.last && !key_do.back;
    end
  end

  always_comb begin
    put_push      = decide && order.action inside {AcStore, AcStorePart};
    put           = '0;
    put.start     = 1'b1;
    put.own_lines = order.action == AcStorePart;
    put.klen      = line.klen;
    put.vlen      = order.vlen[20:0];
    if (value) begin
      // Only the first piece of a later part announces it.
      put_push = piece.sof && ctx.rem != 32'd2;
      if (line.old) begin
        put.start     = 1'b0;
        put.own_lines = 1'b0;
        put.vlen      = ctx.vlen;
        put.off       = ctx.off;
        put.done      = ctx.vlen + 21'd2 - ctx.rem[20:0];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      partial_q <= 1'b0;
      keys_q    <= '0;
    end else begin
      if (line_over || ended) partial_q <= 1'b0;
      else if (partial_now) partial_q <= 1'b1;
      if (key_do.commit || key_do.back) keys_q <= '0;
      else if (key_do.push) keys_q <= keys_q + 9'd1;
    end
  end

  // The first record of a job stays the first until it can't be taken back any more.
  logic first_q, first_kept_q;
  logic [20:0] vlen_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || ended) begin
      first_q      <= 1'b1;
      first_kept_q <= 1'b1;
    end else begin
      if (rec_do.back) first_q <= first_kept_q;
      else if (rec_do.push) first_q <= 1'b0;
      if (rec_do.commit) first_kept_q <= first_q && !rec_do.push;
    end
    if (decide && put_push) vlen_q <= put.vlen;
  end

  record_t rec;
  decode_record u_record (
    .step_valid_i,
    .step_i,
    .job_i,
    .decide_i   (decide),
    .order_i    (order),
    .text_len_i (text_len),
    .vlen_i     (vlen_q),
    .first_i    (first_q),
    .leaves_i   (leaves),
    .end_valid_i(ended),
    .end_i      (leaves_q),
    .record_o   (rec)
  );

  assign out_o = '{
          rec_do: rec_do,
          rec: rec,
          key_do: key_do,
          key: key,
          putb_do: putb_do,
          putb: putb,
          put_push: put_push,
          put: put
      };

  assign done_o     = ended;
  assign line_end_o = decide && piece.slow && line_over;
  assign line_o     = line_over;
  assign error_o    = decide && order.action == AcReply && order.reply inside {RpError, RpBadFormat,
                      RpBadExptime, RpBadDelta, RpBadDelete};
  assign rollback_o = (decide && order.action == AcBack) || cut;
  assign host_o     = decide && order.action == AcHost;
  assign idle_o     = !step_valid_i && !late_q && !ended;

  `ASSERT(OneThingAtATime, !(step_valid_i && (ended || late_q)))

endmodule
