// The way back: results of the store become reply text, which goes to transmit rings (TCP) or
// into datagrams (UDP); command lines for the host program leave by the punt queue.
module egress
  import wirekv_pkg::*;
  import net_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import reply_pkg::*;
  import config_pkg::Config;
(
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// One-clock pulse each millisecond.
  input  logic                  tick_i,
  /// The card's ports.
  input  net_cfg_t              cfg_i,
  /// Where the transmit ring of connection 0 is.
  input  laddr_t                tx_base_i,
  /// The time.
  input  msec_t                 now_i,
  /// Results, keys of values (lines), bytes of values.
  input  logic                  res_valid_i,
  output logic                  res_ready_o,
  input  res_t                  res_i,
  input  logic                  rkey_valid_i,
  output logic                  rkey_ready_o,
  input  line_t                 rkey_i,
  input  logic                  chunk_valid_i,
  output logic                  chunk_ready_o,
  input  chunk_t                chunk_i,
  /// Whom UDP jobs answer.
  input  logic                  uctx_valid_i,
  output logic                  uctx_ready_o,
  input  uctx_t                 uctx_i,
  /// Executed requests for the host program, and their text.
  input  logic                  hreq_valid_i,
  output logic                  hreq_ready_o,
  input  hreq_t                 hreq_i,
  input  logic                  hkey_valid_i,
  output logic                  hkey_ready_o,
  input  beat_t                 hkey_i,
  /// Pieces of the host's answers, to the scheduler.
  output logic                  hpiece_valid_o,
  input  logic                  hpiece_ready_i,
  output hpiece_t               hpiece_o,
  /// Punt queue.
  output logic [511:0]          m_axis_exc_tdata,
  output logic [63:0]           m_axis_exc_tkeep,
  output logic                  m_axis_exc_tvalid,
  input  logic                  m_axis_exc_tready,
  output logic                  m_axis_exc_tlast,
  input  logic [511:0]          s_axis_exc_tdata,
  input  logic [63:0]           s_axis_exc_tkeep,
  input  logic                  s_axis_exc_tvalid,
  output logic                  s_axis_exc_tready,
  input  logic                  s_axis_exc_tlast,
  /// Writes to the transmit rings. A line that is taken can be read.
  output logic                  wr_valid_o,
  input  logic                  wr_ready_i,
  output line_write_t           wr_o,
  /// With a write: it is of the request port's ring, which is not in memory; which line of it.
  output logic                  wr_host_o,
  output logic [9:0]            wr_line_o,
  /// Datagrams to send.
  output logic                  txdgram_valid_o,
  input  logic                  txdgram_ready_i,
  output dgram_t                txdgram_o,
  output beat_t                 txdgram_beat_o,
  /// What the last request of a TCP job has left for its connection's next one.
  output logic                  kept_valid_o,
  output conn_t                 kept_conn_o,
  output ctx_t                  kept_o,
  /// TCP jobs that are over.
  output logic                  done_valid_o,
  input  logic                  done_ready_i,
  output done_t                 done_o,
  /// Pulse: a datagram's job has ended.
  output logic        udp_end_o,
  /// Events, see egress_count_e.
  output logic [EgressCounts-1:0] count_o,
  /// Nothing is in flight.
  output logic                  idle_o,
  /// Ticks are needed.
  output logic                  timer_o
);

  logic hline_valid, hline_ready;
  line_t hline;
  logic punt_idle;

  punt_queue u_punt (
    .clk_i,
    .rst_ni,
    .hreq_valid_i,
    .hreq_ready_o,
    .hreq_i,
    .hkey_valid_i,
    .hkey_ready_o,
    .hkey_i,
    .m_axis_exc_tdata,
    .m_axis_exc_tkeep,
    .m_axis_exc_tvalid,
    .m_axis_exc_tready,
    .m_axis_exc_tlast,
    .s_axis_exc_tdata,
    .s_axis_exc_tkeep,
    .s_axis_exc_tvalid,
    .s_axis_exc_tready,
    .s_axis_exc_tlast,
    .hpiece_valid_o,
    .hpiece_ready_i,
    .hpiece_o,
    .hline_valid_o(hline_valid),
    .hline_ready_i(hline_ready),
    .hline_o      (hline),
    .req_o        (count_o[EgressCountHostReqs]),
    .piece_o      (count_o[EgressCountHostPieces]),
    .bad_o        (count_o[EgressCountHostBad]),
    .idle_o       (punt_idle)
  );

  logic stand_ready, text_valid, text_ready;
  text_t text;
  text_job_t job;

  encode u_encode (
    .clk_i,
    .rst_ni,
    .now_i,
    .res_valid_i,
    .res_ready_o,
    .res_i,
    .rkey_valid_i,
    .rkey_ready_o,
    .rkey_i,
    .chunk_valid_i,
    .chunk_ready_o,
    .chunk_i,
    .hline_valid_i(hline_valid),
    .hline_ready_o(hline_ready),
    .hline_i      (hline),
    .kept_valid_o,
    .kept_ready_i (stand_ready),
    .kept_conn_o,
    .kept_o,
    .text_valid_o (text_valid),
    .text_ready_i (text_ready),
    .text_o       (text),
    .job_o        (job),
    .value_o      (count_o[EgressCountValues]),
    .reply_o      (count_o[EgressCountReplies]),
    .number_o     (count_o[EgressCountNumbers]),
    .wait_chunk_o (count_o[EgressCountWaitChunk])
  );

  logic ring_valid, ring_ready, dgram_valid, dgram_ready, meta_valid, meta_ready;
  ring_line_t ring;
  dgram_line_t dgram;
  dgram_meta_t meta;
  text_lines u_lines (
    .clk_i,
    .rst_ni,
    .text_valid_i (text_valid),
    .text_ready_o (text_ready),
    .text_i       (text),
    .job_i        (job),
    .ring_valid_o (ring_valid),
    .ring_ready_i (ring_ready),
    .ring_o       (ring),
    .dgram_valid_o(dgram_valid),
    .dgram_ready_i(dgram_ready),
    .dgram_o      (dgram),
    .meta_valid_o (meta_valid),
    .meta_ready_i (meta_ready),
    .meta_o       (meta)
  );

  ring_writer u_ring (
    .clk_i,
    .rst_ni,
    .tx_base_i,
    .line_valid_i (ring_valid),
    .line_ready_o (ring_ready),
    .line_i       (ring),
    .stand_valid_i(kept_valid_o),
    .stand_ready_o(stand_ready),
    .stand_i      (stand_of(kept_o)),
    .wr_valid_o,
    .wr_ready_i,
    .wr_o,
    .wr_host_o,
    .wr_line_o,
    .done_valid_o,
    .done_ready_i,
    .done_o
  );

  logic udp_job;
  assign udp_end_o = udp_job;
  if (Config.udp) begin : gen_udp
    udp_reply u_udp (
      .clk_i,
      .rst_ni,
      .tick_i,
      .cfg_i,
      .line_valid_i(dgram_valid),
      .line_ready_o(dgram_ready),
      .line_i      (dgram),
      .meta_valid_i(meta_valid),
      .meta_ready_o(meta_ready),
      .meta_i      (meta),
      .uctx_valid_i,
      .uctx_ready_o,
      .uctx_i,
      .txdgram_valid_o,
      .txdgram_ready_i,
      .txdgram_o,
      .txdgram_beat_o,
      .job_o       (udp_job),
      .dgram_o     (count_o[EgressCountDatagrams]),
      .limited_o   (count_o[EgressCountErrorLimit]),
      .service_o   (count_o[EgressCountErrorService]),
      .timer_o
    );
  end else begin : gen_no_udp
    assign {dgram_ready, meta_ready, uctx_ready_o} = '1;
    assign {txdgram_valid_o, txdgram_o, txdgram_beat_o, udp_job, timer_o} = '0;
    assign count_o[EgressCountDatagrams] = 1'b0;
    assign count_o[EgressCountErrorLimit] = 1'b0;
    assign count_o[EgressCountErrorService] = 1'b0;
  end

  // ---------------------------------------------------------------- counts
  logic job_begin, tcp_job;
  logic [9:0] jobs_q;  // begun and not over
  assign job_begin = res_valid_i && res_ready_o && res_i.first;
  assign tcp_job   = done_valid_o && done_ready_i;

  assign count_o[EgressCountLines]    = wr_valid_o && wr_ready_i;
  assign count_o[EgressCountWaitRing] = text_valid && !job.udp && !text_ready;
  assign count_o[EgressCountWaitUdp]  = text_valid && job.udp && !text_ready;

  logic job_q;
  assign count_o[EgressCountJobs] = job_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      jobs_q <= '0;
      job_q  <= 1'b0;
      idle_o <= 1'b1;
    end else begin
      jobs_q <= jobs_q + 10'(job_begin) - 10'(tcp_job) - 10'(udp_job);
      job_q  <= job_begin;
      idle_o <= jobs_q == '0 && !job_begin && !res_valid_i && !txdgram_valid_o && punt_idle;
    end
  end

endmodule
