// Results to reply text: merge (what each says), the number formatter, compose (pieces of text),
// and what waits between them. Latency 14 from a result to its text, initiation interval 1 a piece.
`include "lib_assert.svh"

module encode
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  input  msec_t     now_i,
  /// Results and, beside RsValue, the key (if head) in lines, and the value's bytes.
  input  logic      res_valid_i,
  output logic      res_ready_o,
  input  res_t      res_i,
  input  logic      rkey_valid_i,
  output logic      rkey_ready_o,
  input  line_t     rkey_i,
  input  logic      chunk_valid_i,
  output logic      chunk_ready_o,
  input  chunk_t    chunk_i,
  /// Bytes of the host's answers: full lines but for a piece's last.
  input  logic      hline_valid_i,
  output logic      hline_ready_o,
  input  line_t     hline_i,
  /// The last result of a TCP job is taken: what it leaves, if there is room for that much of it which is told with
  /// the job's end.
  output logic      kept_valid_o,
  input  logic      kept_ready_i,
  output conn_t     kept_conn_o,
  output ctx_t      kept_o,
  /// Reply text, and whose it is.
  output logic      text_valid_o,
  input  logic      text_ready_i,
  output text_t     text_o,
  output text_job_t job_o,
  /// One-clock pulses: value, fixed reply, number; a value waits for its bytes.
  output logic      value_o,
  output logic      reply_o,
  output logic      number_o,
  output logic      wait_chunk_o
);

  // Records between here and compose: memory may take 100 clocks to bring the value of the first of them.
  localparam int unsigned Records = 64;
  // Jobs, and keys of values.
  localparam int unsigned Depth = 32;

  // ---------------------------------------------------------------- results in
  // A result, but for its context, stands in a register, and beside it whether meta_line makes a line of it, or drops its
  // key.
  res_t res_q;
  logic res_valid_q, numbers_q, line_q, drop_q, take, accept, issue, job_ready, load, rec_ready;
  logic room, line_ready, lent;
  assign res_ready_o = (!res_valid_q || accept) && job_ready && kept_ready_i;
  assign take        = res_valid_i && res_ready_o;
  assign accept      = res_valid_q && room && (!(line_q || drop_q) || line_ready) &&
      !(numbers_q && lent);
  assign kept_valid_o = take && res_i.last && !res_i.udp;
  assign kept_conn_o  = res_i.conn;
  assign kept_o       = res_i.ctx;
  assign value_o     = accept && res_q.kind == RsValue && res_q.head;
  assign reply_o     = accept && res_q.kind == RsReply && res_q.reply != RpNone;
  assign number_o    = accept && res_q.kind == RsNumber;

  // An error has no flags; NS is no fixed text.
  logic worded, asks;
  assign worded = res_i.kind inside {RsValue, RsNumber} || (res_i.kind == RsReply &&
      res_i.reply inside {RpStored, RpDeleted, RpFound, RpNotStored, RpExists, RpNotFound});
  assign asks   = res_i.keyed || (res_i.kind == RsNumber) ||
      (res_i.kind == RsReply && res_i.reply == RpNotStored) ||
      ((res_i.meta.show != '0 || res_i.wins || res_i.marks.won || res_i.marks.stale) &&
       (res_i.kind == RsReply || (res_i.kind == RsValue && res_i.head)));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) res_valid_q <= 1'b0;
    else if (take) res_valid_q <= 1'b1;
    else if (accept) res_valid_q <= 1'b0;
    if (take) begin
      res_q <= res_i;
      // The number of such a value is its length, in bytes.
      if (res_i.kind == RsValue && (res_i.resp.is || res_i.meta.is)) res_q.num <= 64'(res_i.vlen);
      numbers_q <= res_i.kind inside {RsValue, RsNumber} && !(res_i.meta.is && asks);
      line_q    <= res_i.meta.is && asks && worded;
      drop_q    <= res_i.meta.is && res_i.keyed && !worded;
    end
  end

  text_job_t job_in;
  // Only the assertions look at these.
  // verilator lint_off UNUSEDSIGNAL
  logic job_valid, rec_valid, rec_room, numbers_room, key_room;
  // verilator lint_on UNUSEDSIGNAL
  logic [5:0] unused_job_level;
  assign job_in = '{udp: res_i.udp, conn: res_i.conn, tx_ptr: res_i.tx_ptr};
  lib_fifo #(
    .T    (text_job_t),
    .Depth(Depth)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(take && res_i.first),
    .s_ready_o(job_ready),
    .s_data_i (job_in),
    .m_valid_o(job_valid),
    .m_ready_i(text_valid_o && text_ready_i && text_o.last),
    .m_data_o (job_o),
    .level_o  (unused_job_level)
  );

  rec_t rec_in, rec_q;
  drop_turn_t to_drop_q;
  header_t header_in, header_q;
  logic issue_q;
  merge u_merge (
    .clk_i,
    .rst_ni,
    .next_i     (take),
    .next_res_i (res_i),
    .take_i     (accept),
    .res_i      (res_q),
    .line_i     (line_q),
    .rec_valid_o(issue),
    .rec_o      (rec_in),
    .header_o   (header_in)
  );

  // The numbers leave time to add lengths, in two clocks.
  typedef struct packed {
    rec_t  rec;
    lens_t lens;
    header_t header;
  } shaped_t;
  shaped_t shaped_in, shaped;
  logic [6:0] own_len_q;
  logic [4:0] ahead_len_q;
  logic parted_q;
  rec_t parted_rec_q;
  header_t parted_header_q;
  parts_t parts_q;
  always_comb begin
    shaped_in = '{
        rec: parted_rec_q,
        lens: lens_of(parted_rec_q, parts_q),
        header: parted_header_q
    };
    shaped_in.header.body = parted_header_q.body + 22'(parts_q.body_len);
  end
  always_ff @(posedge clk_i) begin
    issue_q  <= rst_ni && issue;
    rec_q    <= rec_in;
    rec_q.drops <= to_drop_q;
    header_q <= header_in;
    own_len_q   <= Length[rec_in.own];
    ahead_len_q <= AheadLength[rec_in.ahead];
    parted_q        <= rst_ni && issue_q;
    parted_rec_q    <= rec_q;
    parted_header_q <= header_q;
    parts_q         <= parts_of(rec_q, own_len_q, ahead_len_q, header_q.extra);
  end

  logic [6:0] unused_rec_level;
  lib_fifo #(
    .T    (shaped_t),
    .Depth(Records)
  ) u_recs (
    .clk_i,
    .rst_ni,
    .s_valid_i(parted_q),
    .s_ready_o(rec_room),
    .s_data_i (shaped_in),
    .m_valid_o(rec_valid),
    .m_ready_i(load),
    .m_data_o (shaped),
    .level_o  (unused_rec_level)
  );

  // ---------------------------------------------------------------- numbers
  // meta_line has its numbers converted in clocks in which no record is made that has one.
  logic [63:0] lent_num;
  logic [19:0][3:0] lent_digit;
  logic [19:0] lent_shown;
  logic [4:0] lent_count;
  numbers_t numbers_in, numbers, numbers_or_header;
  logic numbers_in_valid, numbers_valid;
  logic [6:0] unused_numbers_level;
  value_line u_line (
    .clk_i,
    .rst_ni,
    .here_i   (res_valid_q),
    .valid_i  (issue),
    .line_i   (res_q.kind == RsValue && !res_q.resp.is && !res_q.meta.is),
    .has_num_i(res_q.kind == RsNumber || res_q.cas_out || res_q.resp.is || res_q.meta.is),
    .flags_i  (res_q.flags),
    .bulk_i   (res_q.resp.is && res_q.kind == RsValue),
    .meta_i   (res_q.meta.is && res_q.kind == RsValue),
    .behind_i (rec_in.joins),
    .wanted_i (rec_in.numbers),
    .thousands_i(res_q.resp.is && res_q.kind == RsNumber && !res_q.negative &&
                 res_q.resp.form inside {RfTtl, RfExpiretime}),
    .bytes_i  (res_q.vlen),
    .num_i    (res_q.num),
    .lent_i   (lent),
    .lent_num_i(lent_num),
    .digit_o  (lent_digit),
    .shown_o  (lent_shown),
    .count_o  (lent_count),
    .valid_o  (numbers_in_valid),
    .text_o   (numbers_in.text),
    .len_o    (numbers_in.len)
  );
  lib_fifo #(
    .T    (numbers_t),
    .Depth(Records),
    .Block(1'b0)
  ) u_numbers (
    .clk_i,
    .rst_ni,
    .s_valid_i(numbers_in_valid),
    .s_ready_o(numbers_room),
    .s_data_i (numbers_in),
    .m_valid_o(numbers_valid),
    .m_ready_i(load),
    .m_data_o (numbers),
    .level_o  (unused_numbers_level)
  );
  // A meta command's reply is so long as its line, which is there before it. A key belongs to the next record when those
  // before it that nobody shows are gone.
  logic line_valid, load_valid, dropped;
  logic [9:0] line_len;
  rec_t load_rec;
  drop_turn_t dropped_q;
  assign load_valid = numbers_valid && (!shaped.rec.meta || line_valid) &&
      (shaped.rec.klen == '0 || shaped.rec.drops == dropped_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      to_drop_q <= '0;
      dropped_q <= '0;
    end else begin
      if (accept && drop_q) to_drop_q <= to_drop_q + 1'b1;
      if (dropped) dropped_q <= dropped_q + 1'b1;
    end
  end
  assign load = load_valid && rec_ready;
  always_comb begin
    load_rec = shaped.rec;
    if (shaped.rec.meta) load_rec.host_len = piece_t'(line_len);
  end
  // Who counts records is in no hurry.
  logic load_q;
  always_ff @(posedge clk_i) load_q <= rst_ni && load;

  header_text u_header (
    .header_i (shaped.header),
    .numbers_i(numbers),
    .numbers_o(numbers_or_header)
  );

  lib_credit #(
    .Depth(Records)
  ) u_room (
    .clk_i,
    .rst_ni,
    .take_i(issue),
    .give_i(load_q),
    .ok_o  (room),
    // verilator lint_off PINCONNECTEMPTY
    .left_o()
    // verilator lint_on PINCONNECTEMPTY
  );

  // ---------------------------------------------------------------- keys and values
  logic key_valid, key_pop, line_key_pop, chunk_valid, chunk_pop;
  line_t key_q, key;
  chunk_t chunk;
  // That a key comes is known late: it stands in a register first. There is room for it, for the one that comes
  // now, and for one more.
  logic key_in_q, key_room_q;
  logic [5:0] key_level;
  assign rkey_ready_o = key_room_q;
  always_ff @(posedge clk_i) begin
    key_in_q   <= rst_ni && rkey_valid_i && key_room_q;
    key_room_q <= rst_ni && key_level <= 6'(Depth - 3);
    key_q      <= {rkey_i[8*KeyRoom-1:0], rkey_i[511:8*KeyRoom]};
  end
  lib_fifo #(
    .T    (line_t),
    .Depth(Depth)
  ) u_keys (
    .clk_i,
    .rst_ni,
    .s_valid_i(key_in_q),
    .s_ready_o(key_room),
    .s_data_i (key_q),
    .m_valid_o(key_valid),
    .m_ready_i(key_pop || line_key_pop),
    .m_data_o (key),
    .level_o  (key_level)
  );
  chunk_queue u_chunks (
    .clk_i,
    .rst_ni,
    .s_valid_i(chunk_valid_i),
    .s_ready_o(chunk_ready_o),
    .s_i      (chunk_i),
    .m_valid_o(chunk_valid),
    .m_ready_i(chunk_pop),
    .m_o      (chunk)
  );

  // ---------------------------------------------------------------- lines of meta commands
  logic mline_valid, mline_ready;
  line_t mline;
  key_turn_t issued_q, taken_q;  // lines of keys that compose is to take, and has
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      issued_q <= '0;
      taken_q  <= '0;
    end else begin
      if (issue) issued_q <= issued_q + key_turn_t'((9'(rec_in.klen) + 9'd63) >> 6);
      if (key_pop) taken_q <= taken_q + 1'b1;
    end
  end
  meta_line u_meta (
    .clk_i,
    .rst_ni,
    .now_i,
    .valid_i     (accept && (line_q || drop_q)),
    .ready_o     (line_ready),
    .res_i       (res_q),
    .drop_i      (drop_q),
    .turn_i      (issued_q),
    .taken_i     (taken_q),
    .key_valid_i (key_valid),
    .key_pop_o   (line_key_pop),
    .dropped_o   (dropped),
    .number_valid_o(lent),
    .number_o    (lent_num),
    .digit_i     (lent_digit),
    .shown_i     (lent_shown),
    .count_i     (lent_count),
    .key_i       (key),
    .len_valid_o (line_valid),
    .len_ready_i (load && shaped.rec.meta),
    .len_o       (line_len),
    .line_valid_o(mline_valid),
    .line_ready_i(mline_ready),
    .line_o      (mline)
  );

  compose u_compose (
    .clk_i,
    .rst_ni,
    .rec_valid_i  (load_valid),
    .rec_ready_o  (rec_ready),
    .rec_i        (load_rec),
    .lens_i       (shaped.lens),
    .numbers_i    (numbers_or_header),
    .join_text_i  (numbers.text),
    .join_len_i   (numbers.len),
    .key_valid_i  (key_valid),
    .key_ready_o  (key_pop),
    .key_i        (key),
    .chunk_valid_i(chunk_valid),
    .chunk_ready_o(chunk_pop),
    .chunk_i      (chunk),
    .hline_valid_i,
    .hline_ready_o,
    .hline_i,
    .mline_valid_i(mline_valid),
    .mline_ready_o(mline_ready),
    .mline_i      (mline),
    .text_valid_o,
    .text_ready_i,
    .text_o,
    .wait_chunk_o
  );

  `ASSERT(CreditHolds, (!parted_q || rec_room) && (!numbers_in_valid || numbers_room))
  `ASSERT(RoomForKeys, !key_in_q || key_room)
  `ASSERT(RecordAheadOfNumbers, !load || rec_valid)
  `ASSERT(JobKnown, !text_valid_o || job_valid)

endmodule
