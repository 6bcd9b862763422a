// A cache between a network port and a NIC: answers datagrams whose requests are plain GETs of entries that it has. All else
// passes, in both directions. Software puts entries into it and takes them out, by custom instructions. A frame passes when it is
// known that it is no request, or is not answered; docs/rtl/ASIDE.md has the clocks.
//
// Frames come twice: aside_frames keeps them, and the card's own receive side, parser and reply builder see whether they can be
// answered. In the store's place are guard, ways, chains.
`include "lib_assert.svh"

module aside
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
  import host_pkg::*;
  import aside_pkg::*;
#(
  /// 64-byte lines of the table, a power of two from 4,096 on; as many entries at most, in sets of so many ways.
  parameter int unsigned Lines = 16384,
  parameter int unsigned Ways = 8
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// One-clock pulse each millisecond.
  input  logic               tick_i,
  /// Unix time in seconds.
  input  logic [31:0]        seconds_i,
  /// Datagrams are looked at: else all passes.
  input  logic               enable_i,
  /// Addresses and the port of the datagrams; steady.
  input  net_cfg_t           cfg_i,
  /// Secrets of the hash, see there; steady.
  input  logic [31:0][31:0]  nh_key_i,
  input  logic  [1:0][63:0]  mix_key_i,
  /// Frames from the wire: taken at once.
  input  logic               s_valid_i,
  input  axis_t              s_data_i,
  /// Frames to the NIC.
  output logic               m_valid_o,
  input  logic               m_ready_i,
  output axis_t              m_data_o,
  /// Frames from the NIC.
  input  logic               up_valid_i,
  output logic               up_ready_o,
  input  axis_t              up_i,
  /// Frames to the wire.
  output logic               wire_valid_o,
  input  logic               wire_ready_i,
  output axis_t              wire_o,
  /// Custom instructions: see aside_core.
  input  logic               core_rst_i,
  input  logic               cmd_valid_i,
  output logic               cmd_ready_o,
  input  logic         [9:0] cmd_function_i,
  input  logic        [31:0] cmd_a_i,
  input  logic        [31:0] cmd_b_i,
  output logic               rsp_valid_o,
  input  logic               rsp_ready_i,
  output logic        [31:0] rsp_o,
  /// Datagrams that were answered.
  output logic        [31:0] answered_o,
  /// Nothing is inside, and nothing is being forgotten or counted down: the clock may stop until something comes.
  output logic               idle_o
);

  localparam int unsigned NumberW = $clog2(Lines);
  typedef logic [NumberW-1:0] number_t;

  // ---------------------------------------------------------------- in: frames that wait, and datagrams
  logic [9:0] requests;
  logic
      asked,
      pressed,
      ended,
      ended_dgram,
      verdict,
      verdict_answered,
      lost,
      lost_request,
      frames_idle,
      rx_idle,
      unused_timer;
  logic dgram_valid, dgram_ready;
  dgram_t dgram;
  beat_t dgram_beat;
  aside_frames u_frames (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_data_i,
    .ended_i           (ended),
    .ended_asks_i      (ended_dgram),
    .requests_o        (requests),
    .asked_o           (asked),
    .pressed_o         (pressed),
    .verdict_i         (verdict),
    .verdict_answered_i(verdict_answered),
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .lost_o            (lost),
    .lost_request_o    (lost_request),
    .idle_o            (frames_idle)
  );

  // Where so many requests wait for their turn, those behind them are not looked at: their frames pass in their order. As many
  // hits take 128 clocks, in which a wire brings a quarter of the beats that can wait.
  localparam int unsigned Waiting = 64;
  logic wanted_q;
  always_ff @(posedge clk_i) wanted_q <= requests < 10'(Waiting);

  // What the card would answer by itself is the software's affair.
  // verilator lint_off PINCONNECTEMPTY
  rx u_rx (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .enable_i,
    .tick_i,
    .s_axis_tdata   (s_data_i.data),
    .s_axis_tkeep   (s_data_i.keep),
    .s_axis_tvalid  (s_valid_i),
    .s_axis_tlast   (s_data_i.last),
    .ended_o        (ended),
    .ended_dgram_o  (ended_dgram),
    .dgram_wanted_i (wanted_q),
    .room_o         (),
    .syn_room_o     (),
    .seg_valid_o    (),
    .seg_ready_i    (1'b1),
    .seg_o          (),
    .seg_beat_o     (),
    .dgram_valid_o  (dgram_valid),
    .dgram_ready_i  (dgram_ready),
    .dgram_o        (dgram),
    .dgram_beat_o   (dgram_beat),
    .reply_valid_o  (),
    .reply_ready_i  (1'b1),
    .reply_kind_o   (),
    .reply_vlan_o   (),
    .reply_beat_o   (),
    .solicit_valid_o(),
    .solicit_ready_i(1'b1),
    .solicit_o      (),
    .host_valid_o   (),
    .host_ready_i   (1'b1),
    .host_beat_o    (),
    .count_o        (),
    .idle_o         (rx_idle),
    .timer_o        (unused_timer)
  );

  // ---------------------------------------------------------------- requests
  logic
      uctx_valid,
      uctx_ready,
      job_valid,
      job_ready,
      raw_valid,
      raw_ready,
      taken,
      ignored,
      fetch_idle,
      parser_idle;
  uctx_t uctx;
  job_t job;
  raw_t raw;
  fetch u_fetch (
    .clk_i,
    .rst_ni,
    .rx_base_i        ('0),
    .job_valid_i      (1'b0),
    .job_ready_o      (),
    .job_i            ('0),
    .ctx_rd_o         (),
    .ctx_conn_o       (),
    .ctx_i            ('0),
    .rd_valid_o       (),
    .rd_ready_i       (1'b0),
    .rd_addr_o        (),
    .rd_lanes_o       (),
    .rdat_valid_i     (1'b0),
    .rdat_ready_o     (),
    .rdat_i           ('0),
    .rdat_bad_i       (1'b0),
    .host_rd_valid_o  (),
    .host_rd_ready_i  (1'b0),
    .host_rd_line_o   (),
    .host_line_valid_i(1'b0),
    .host_line_ready_o(),
    .host_line_i      ('0),
    .hold_i           (1'b0),
    .bad_valid_o      (),
    .bad_conn_o       (),
    .job_over_i       (1'b0),
    .job_over_conn_i  ('0),
    .bad_read_o       (),
    .dgram_valid_i    (dgram_valid),
    .dgram_ready_o    (dgram_ready),
    .dgram_i          (dgram),
    .dgram_beat_i     (dgram_beat),
    .taken_o          (),
    .taken_dgram_o    (),
    .taken_beat_o     (),
    .uctx_valid_o     (uctx_valid),
    .uctx_ready_i     (uctx_ready),
    .uctx_o           (uctx),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_o            (job),
    .raw_valid_o      (raw_valid),
    .raw_ready_i      (raw_ready),
    .raw_o            (raw),
    .udp_o            (taken),
    .udp_bad_o        (ignored),
    .wait_o           (),
    .idle_o           (fetch_idle)
  );

  // What would be stored is read, and goes nowhere.
  logic req_valid, req_ready, key_valid, key_ready, put_valid;
  req_t req;
  beat_t key;
  put_t put;
  parser u_parser (
    .clk_i,
    .rst_ni,
    .item_max_i     ('1),
    .now_i          ('0),
    .upstream_i     (1'b0),
    .job_valid_i    (job_valid),
    .job_ready_o    (job_ready),
    .job_i          (job),
    .press_i        (1'b0),
    .raw_valid_i    (raw_valid),
    .raw_ready_o    (raw_ready),
    .raw_i          (raw),
    .req_valid_o    (req_valid),
    .req_ready_i    (req_ready),
    .req_o          (req),
    .key_valid_o    (key_valid),
    .key_ready_i    (key_ready),
    .key_o          (key),
    .put_valid_o    (put_valid),
    .put_ready_i    (1'b1),
    .put_o          (put),
    .put_off_valid_i(put_valid && put.start),
    .put_off_i      ('0),
    .putk_valid_o   (),
    .putk_ready_i   (1'b1),
    .putk_o         (),
    .putb_valid_o   (),
    .putb_ready_i   (1'b1),
    .putb_o         (),
    .line_o         (),
    .error_o        (),
    .rollback_o     (),
    .host_o         (),
    .wait_o         (),
    .idle_o         (parser_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  // ---------------------------------------------------------------- the table
  logic
      ask_valid,
      ask_ready,
      found_valid,
      found_ready,
      beat_valid,
      beat_ready,
      look_chain_valid,
      look_chain_ready;
  logic
      own_valid,
      own_ready,
      own_hashed,
      change_valid,
      change_ready,
      changed,
      changed_ok,
      changed_out;
  logic core_chain_valid, core_chain_ready, lookup_idle, age;
  logic [7:0] threshold;
  logic [63:0] own_hash, change_hash;
  ask_t ask;
  found_t found;
  beat_t beat, own;
  chain_e look_chain_op, core_chain_op;
  number_t look_chain_number, core_chain_number, change_number, changed_number;
  change_t change;
  logic [Ways-1:0] change_ways;
  ticket_t change_ticket, changed_ticket;
  aside_lookup #(
    .Lines(Lines),
    .Ways (Ways)
  ) u_lookup (
    .clk_i,
    .rst_ni,
    .tick_i,
    .nh_key_i,
    .mix_key_i,
    .req_valid_i       (req_valid),
    .req_ready_o       (req_ready),
    .req_i             (req),
    .key_valid_i       (key_valid),
    .key_ready_o       (key_ready),
    .key_i             (key),
    .ask_valid_o       (ask_valid),
    .ask_ready_i       (ask_ready),
    .ask_o             (ask),
    .found_valid_o     (found_valid),
    .found_ready_i     (found_ready),
    .found_o           (found),
    .beat_valid_o      (beat_valid),
    .beat_ready_i      (beat_ready),
    .beat_o            (beat),
    .chain_valid_o     (look_chain_valid),
    .chain_ready_i     (look_chain_ready),
    .chain_op_o        (look_chain_op),
    .chain_number_o    (look_chain_number),
    .own_valid_i       (own_valid),
    .own_ready_o       (own_ready),
    .own_i             (own),
    .own_hashed_o      (own_hashed),
    .own_hash_o        (own_hash),
    .change_valid_i    (change_valid),
    .change_ready_o    (change_ready),
    .change_i          (change),
    .change_hash_i     (change_hash),
    .change_number_i   (change_number),
    .change_ways_i     (change_ways),
    .change_ticket_i   (change_ticket),
    .changed_o         (changed),
    .changed_ok_o      (changed_ok),
    .changed_ticket_o  (changed_ticket),
    .changed_out_o     (changed_out),
    .changed_number_o  (changed_number),
    .own_chain_valid_i (core_chain_valid),
    .own_chain_ready_o (core_chain_ready),
    .own_chain_op_i    (core_chain_op),
    .own_chain_number_i(core_chain_number),
    .hot_i             (threshold),
    .age_i             (age),
    .idle_o            (lookup_idle)
  );

  logic
      chains_idle,
      line_valid,
      line_ready,
      line_last,
      entry_valid,
      entry_ready,
      entry_last,
      made,
      made_ok;
  line_t line, entry_line;
  number_t made_number;
  logic [$clog2(Lines+1)-1:0] free;
  chains #(
    .Lines(Lines)
  ) u_chains (
    .clk_i,
    .rst_ni,
    .cmd_valid_i  (look_chain_valid),
    .cmd_ready_o  (look_chain_ready),
    .cmd_op_i     (look_chain_op),
    .cmd_number_i (look_chain_number),
    .m_valid_o    (line_valid),
    .m_ready_i    (line_ready),
    .m_line_o     (line),
    .m_last_o     (line_last),
    .s_valid_i    (entry_valid),
    .s_ready_o    (entry_ready),
    .s_line_i     (entry_line),
    .s_last_i     (entry_last),
    .made_o       (made),
    .made_ok_o    (made_ok),
    .made_number_o(made_number),
    .free_o       (free),
    .idle_o       (chains_idle)
  );

  logic
      res_valid,
      res_ready,
      rkey_valid,
      rkey_ready,
      chunk_valid,
      chunk_ready,
      told,
      told_answered,
      hot_valid,
      hot_ready;
  logic hit, hot_lost, answer_idle;
  res_t res;
  line_t rkey;
  chunk_t chunk;
  candidate_t hot;
  aside_answer u_answer (
    .clk_i,
    .rst_ni,
    .seconds_i,
    .ask_valid_i  (ask_valid),
    .ask_ready_o  (ask_ready),
    .ask_i        (ask),
    .found_valid_i(found_valid),
    .found_ready_o(found_ready),
    .found_i      (found),
    .key_valid_i  (beat_valid),
    .key_ready_o  (beat_ready),
    .key_i        (beat),
    .line_valid_i (line_valid),
    .line_ready_o (line_ready),
    .line_i       (line),
    .line_last_i  (line_last),
    .res_valid_o  (res_valid),
    .res_ready_i  (res_ready),
    .res_o        (res),
    .rkey_valid_o (rkey_valid),
    .rkey_ready_i (rkey_ready),
    .rkey_o       (rkey),
    .chunk_valid_o(chunk_valid),
    .chunk_ready_i(chunk_ready),
    .chunk_o      (chunk),
    .gives_up_i   (owed_q != '0),
    .verdict_o    (told),
    .answered_o   (told_answered),
    .hot_valid_o  (hot_valid),
    .hot_ready_i  (hot_ready),
    .hot_o        (hot),
    .hit_o        (hit),
    .hot_lost_o   (hot_lost),
    .idle_o       (answer_idle)
  );

  // ---------------------------------------------------------------- the core
  // Counts, by the numbers by which InStat asks for them.
  logic [7:0][31:0] stat;
  logic [31:0] answered_q, passed_q, hot_lost_q, lost_q, hits_q;
  assign stat       = {hits_q, lost_q, 32'(Ways), 32'(Lines / Ways), hot_lost_q, passed_q,
      answered_q, 32'(free)};
  assign answered_o = answered_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {answered_q, passed_q, hot_lost_q, lost_q, hits_q} <= '0;
    end else begin
      answered_q <= answered_q + 32'(verdict && verdict_answered);
      passed_q   <= passed_q + 32'(verdict && !verdict_answered);
      hot_lost_q <= hot_lost_q + 32'(hot_lost);
      lost_q     <= lost_q + 32'(lost) + 32'(lost_request);
      hits_q     <= hits_q + 32'(hit);
    end
  end

  logic core_idle;
  aside_core #(
    .Lines(Lines),
    .Ways (Ways)
  ) u_core (
    .clk_i,
    .rst_ni,
    .core_rst_i,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_function_i,
    .cmd_a_i,
    .cmd_b_i,
    .rsp_valid_o,
    .rsp_ready_i,
    .rsp_o,
    .key_valid_o     (own_valid),
    .key_ready_i     (own_ready),
    .key_o           (own),
    .hashed_i        (own_hashed),
    .hash_i          (own_hash),
    .change_valid_o  (change_valid),
    .change_ready_i  (change_ready),
    .change_o        (change),
    .change_hash_o   (change_hash),
    .change_number_o (change_number),
    .change_ways_o   (change_ways),
    .change_ticket_o (change_ticket),
    .changed_i       (changed),
    .changed_ok_i    (changed_ok),
    .changed_ticket_i(changed_ticket),
    .changed_out_i   (changed_out),
    .changed_number_i(changed_number),
    .chain_valid_o   (core_chain_valid),
    .chain_ready_i   (core_chain_ready),
    .chain_op_o      (core_chain_op),
    .chain_number_o  (core_chain_number),
    .line_valid_o    (entry_valid),
    .line_ready_i    (entry_ready),
    .line_o          (entry_line),
    .line_last_o     (entry_last),
    .made_i          (made),
    .made_ok_i       (made_ok),
    .made_number_i   (made_number),
    .free_i          (free),
    .hot_valid_i     (hot_valid),
    .hot_ready_o     (hot_ready),
    .hot_i           (hot),
    .threshold_o     (threshold),
    .age_o           (age),
    .stat_i          (stat),
    .idle_o          (core_idle)
  );

  // ---------------------------------------------------------------- verdicts, in the order of the datagrams
  // A request that is read byte by byte may take as many clocks, and all frames behind it wait. Before there is no room for
  // them, the oldest requests are given up: their frames pass now, and what comes of them later is not answered.
  logic known, gives_up;
  logic [9:0] owed_q;  // verdicts that were given before they were known
  logic turn_valid, turn_ignored, turn_room;
  logic [9:0] turns;
  lib_fifo #(
    .T    (logic),
    .Depth(512)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .s_valid_i(taken || ignored),
    .s_ready_o(turn_room),
    .s_data_i (ignored),
    .m_valid_o(turn_valid),
    .m_ready_i(known),
    .m_data_o (turn_ignored),
    .level_o  (turns)
  );
  // Of jobs, until those before them have theirs.
  logic said_valid, said_answered, said_room;
  logic [9:0] unused_said;
  lib_fifo #(
    .T    (logic),
    .Depth(512),
    .Early(1'b1)
  ) u_said (
    .clk_i,
    .rst_ni,
    .s_valid_i(told),
    .s_ready_o(said_room),
    .s_data_i (told_answered),
    .m_valid_o(said_valid),
    .m_ready_i(known && !turn_ignored),
    .m_data_o (said_answered),
    .level_o  (unused_said)
  );
  assign known            = turn_valid && (turn_ignored || said_valid);
  assign gives_up         = pressed && asked && !known && !told;
  assign verdict          = gives_up || (known && owed_q == '0);
  assign verdict_answered = known && !turn_ignored && said_answered;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + 10'(gives_up) - 10'(known && owed_q != '0);
  end

  // ---------------------------------------------------------------- replies
  logic
      text_valid,
      text_ready,
      line_valid_out,
      line_ready_out,
      meta_valid,
      meta_ready,
      udp_timer,
      over;
  text_t text;
  text_job_t text_job;
  dgram_line_t dgram_line;
  dgram_meta_t dgram_meta;
  logic
      txdgram_valid,
      txdgram_ready,
      built_valid,
      built_ready,
      build_idle,
      nic_valid,
      nic_ready,
      unused_ready;
  dgram_t txdgram;
  beat_t txdgram_beat, built_beat, nic_beat;
  tx_kind_e built_kind;
  // verilator lint_off PINCONNECTEMPTY
  encode u_encode (
    .clk_i,
    .rst_ni,
    .now_i        ('0),
    .res_valid_i  (res_valid),
    .res_ready_o  (res_ready),
    .res_i        (res),
    .rkey_valid_i (rkey_valid),
    .rkey_ready_o (rkey_ready),
    .rkey_i       (rkey),
    .chunk_valid_i(chunk_valid),
    .chunk_ready_o(chunk_ready),
    .chunk_i      (chunk),
    .hline_valid_i(1'b0),
    .hline_ready_o(),
    .hline_i      ('0),
    .kept_valid_o (),
    .kept_ready_i (1'b1),
    .kept_conn_o  (),
    .kept_o       (),
    .text_valid_o (text_valid),
    .text_ready_i (text_ready),
    .text_o       (text),
    .job_o        (text_job),
    .value_o      (),
    .reply_o      (),
    .number_o     (),
    .wait_chunk_o ()
  );

  text_lines u_lines (
    .clk_i,
    .rst_ni,
    .text_valid_i (text_valid),
    .text_ready_o (text_ready),
    .text_i       (text),
    .job_i        (text_job),
    .ring_valid_o (),
    .ring_ready_i (1'b1),
    .ring_o       (),
    .dgram_valid_o(line_valid_out),
    .dgram_ready_i(line_ready_out),
    .dgram_o      (dgram_line),
    .meta_valid_o (meta_valid),
    .meta_ready_i (meta_ready),
    .meta_o       (dgram_meta)
  );

  udp_reply u_udp (
    .clk_i,
    .rst_ni,
    .tick_i,
    .cfg_i,
    .line_valid_i   (line_valid_out),
    .line_ready_o   (line_ready_out),
    .line_i         (dgram_line),
    .meta_valid_i   (meta_valid),
    .meta_ready_o   (meta_ready),
    .meta_i         (dgram_meta),
    .uctx_valid_i   (uctx_valid),
    .uctx_ready_o   (uctx_ready),
    .uctx_i         (uctx),
    .txdgram_valid_o(txdgram_valid),
    .txdgram_ready_i(txdgram_ready),
    .txdgram_o      (txdgram),
    .txdgram_beat_o (txdgram_beat),
    .job_o          (over),
    .dgram_o        (),
    .limited_o      (),
    .service_o      (),
    .timer_o        (udp_timer)
  );

  // ---------------------------------------------------------------- out: answers, and the NIC's frames
  tx_build u_build (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .seg_valid_i    (1'b0),
    .seg_ready_o    (),
    .seg_i          ('0),
    .seg_beat_i     ('0),
    .seg_bad_i      (1'b0),
    .dgram_valid_i  (txdgram_valid),
    .dgram_ready_o  (txdgram_ready),
    .dgram_i        (txdgram),
    .dgram_beat_i   (txdgram_beat),
    .solicit_valid_i(1'b0),
    .solicit_ready_o(),
    .solicit_i      ('0),
    .m_valid_o      (built_valid),
    .m_ready_i      (built_ready),
    .m_beat_o       (built_beat),
    .m_kind_o       (built_kind),
    .idle_o         (build_idle)
  );

  tx_host u_nic (
    .clk_i,
    .rst_ni,
    .s_axis_tdata (up_i.data),
    .s_axis_tkeep (up_i.keep),
    .s_axis_tvalid(up_valid_i),
    .s_axis_tready(up_ready_o),
    .s_axis_tlast (up_i.last),
    .m_valid_o    (nic_valid),
    .m_ready_i    (nic_ready),
    .m_beat_o     (nic_beat),
    .long_o       ()
  );

  tx_merge u_merge (
    .clk_i,
    .rst_ni,
    .s_valid_i    ({nic_valid, 1'b0, built_valid}),
    .s_ready_o    ({nic_ready, unused_ready, built_ready}),
    .s_beat_i     ({nic_beat, beat_t'('0), built_beat}),
    .kind_i       (built_kind),
    .m_axis_tdata (wire_o.data),
    .m_axis_tkeep (wire_o.keep),
    .m_axis_tvalid(wire_valid_o),
    .m_axis_tready(wire_ready_i),
    .m_axis_tlast (wire_o.last),
    .count_o      ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // Jobs whose end is not out yet.
  logic [9:0] jobs_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) jobs_q <= '0;
    else jobs_q <= jobs_q + 10'(taken) - 10'(over);
  end
  assign idle_o = frames_idle && rx_idle && fetch_idle && parser_idle && lookup_idle &&
      chains_idle && answer_idle && core_idle && jobs_q == '0 && turns == '0 && owed_q == '0 &&
      !udp_timer && build_idle && !nic_valid && !up_valid_i && !wire_valid_o;

  `ASSERT(OwedNotAnswered, !known || owed_q == '0 || turn_ignored || !said_answered)

  logic unused;
  assign unused = ^{put, turn_room, said_room};

endmodule
