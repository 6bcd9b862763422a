// The card: frames in, frames out. Wires the folders together in the order that a request walks
// through them; holds no logic of its own but the idle flag.
module card
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import reply_pkg::*;
  import store_pkg::*;
  import csr_pkg::*;
  import trace_pkg::*;
#(
  /// Connections that can be open at once: a power of two, 16..16384.
  parameter int unsigned Conns = config_pkg::Config.conns,
  /// Memory ports: 0 index (even buckets), 1 index (odd), 2 log (even lines), 3 log (odd), 4 receive
  /// rings, 5 transmit rings.
  localparam int unsigned NumMem = 6
) (
  input  logic                     clk_i,
  /// Takes effect 2 clocks later: so long what is driven goes on.
  input  logic                     rst_ni,
  /// One-clock pulse each millisecond; every timer counts these, whatever the clock.
  input  logic                     tick_i,
  /// Frames from the wire (AXI4-Stream, no FCS). Always ready: a wire does not wait.
  input  logic [511:0]             s_axis_rx_tdata,
  input  logic [63:0]              s_axis_rx_tkeep,
  input  logic                     s_axis_rx_tvalid,
  output logic                     s_axis_rx_tready,
  input  logic                     s_axis_rx_tlast,
  /// There is room for one more segment, the largest: whoever can wait with a frame loses none. There is
  /// for one more SYN: a flood of them would have all others wait, so this is for simulations.
  output logic                     rx_room_o,
  output logic                     rx_syn_room_o,
  /// Frames to the wire, at least 60 bytes, no FCS.
  output logic [511:0]             m_axis_tx_tdata,
  output logic [63:0]              m_axis_tx_tkeep,
  output logic                     m_axis_tx_tvalid,
  input  logic                     m_axis_tx_tready,
  output logic                     m_axis_tx_tlast,
  /// Host port: frames that are not for the data path, and frames that the host sends.
  output logic [511:0]             m_axis_host_tdata,
  output logic [63:0]              m_axis_host_tkeep,
  output logic                     m_axis_host_tvalid,
  input  logic                     m_axis_host_tready,
  output logic                     m_axis_host_tlast,
  input  logic [511:0]             s_axis_host_tdata,
  input  logic [63:0]              s_axis_host_tkeep,
  input  logic                     s_axis_host_tvalid,
  output logic                     s_axis_host_tready,
  input  logic                     s_axis_host_tlast,
  /// Punt queue: requests that host software answers, and its answers.
  output logic [511:0]             m_axis_exc_tdata,
  output logic [63:0]              m_axis_exc_tkeep,
  output logic                     m_axis_exc_tvalid,
  input  logic                     m_axis_exc_tready,
  output logic                     m_axis_exc_tlast,
  input  logic [511:0]             s_axis_exc_tdata,
  input  logic [63:0]              s_axis_exc_tkeep,
  input  logic                     s_axis_exc_tvalid,
  output logic                     s_axis_exc_tready,
  input  logic                     s_axis_exc_tlast,
  /// Registers (AXI4-Lite).
  input  logic [11:0]              s_axil_awaddr,
  input  logic                     s_axil_awvalid,
  output logic                     s_axil_awready,
  input  logic [31:0]              s_axil_wdata,
  input  logic [3:0]               s_axil_wstrb,
  input  logic                     s_axil_wvalid,
  output logic                     s_axil_wready,
  output logic [1:0]               s_axil_bresp,
  output logic                     s_axil_bvalid,
  input  logic                     s_axil_bready,
  input  logic [11:0]              s_axil_araddr,
  input  logic                     s_axil_arvalid,
  output logic                     s_axil_arready,
  output logic [31:0]              s_axil_rdata,
  output logic [1:0]               s_axil_rresp,
  output logic                     s_axil_rvalid,
  input  logic                     s_axil_rready,
  /// AXI4 to memory, element p = port p. Every access is one whole line: len 0, size 6, one id,
  /// wlast 1; a board's top adds those constants. Responses keep the order of their port.
  output logic [NumMem-1:0]        m_axi_awvalid,
  input  logic [NumMem-1:0]        m_axi_awready,
  output logic [NumMem-1:0][39:0]  m_axi_awaddr,
  output logic [NumMem-1:0]        m_axi_wvalid,
  input  logic [NumMem-1:0]        m_axi_wready,
  output logic [NumMem-1:0][511:0] m_axi_wdata,
  output logic [NumMem-1:0][63:0]  m_axi_wstrb,
  input  logic [NumMem-1:0]        m_axi_bvalid,
  input  logic [NumMem-1:0][1:0]   m_axi_bresp,
  output logic [NumMem-1:0]        m_axi_bready,
  output logic [NumMem-1:0]        m_axi_arvalid,
  input  logic [NumMem-1:0]        m_axi_arready,
  output logic [NumMem-1:0][39:0]  m_axi_araddr,
  input  logic [NumMem-1:0]        m_axi_rvalid,
  output logic [NumMem-1:0]        m_axi_rready,
  input  logic [NumMem-1:0][511:0] m_axi_rdata,
  input  logic [NumMem-1:0][1:0]   m_axi_rresp,
  input  logic [NumMem-1:0]        m_axi_rlast,
  /// Nothing is in flight inside: the clock may stop until something comes in.
  output logic                     idle_o,
  /// A timer is running: ticks must be delivered.
  output logic                     timers_o,
  /// ... each when it is due. If not, those of a second may come at its end, together.
  output logic                     short_o
);

  // ---------------------------------------------------------------- resets
  // A copy for each part, all in the same clock.
  typedef struct packed {logic host, mem, ring, net, tcp, ingress, store, egress;} resets_t;
  resets_t rst_n;
  lib_reset_tree #(
    .Depth (2),
    .Copies($bits(resets_t))
  ) u_resets (
    .clk_i,
    .rst_ni,
    .rst_no(rst_n)
  );

  // ---------------------------------------------------------------- settings
  logic enable, enable_asked, zero_start, zero_busy, zero_refused;
  net_cfg_t net_cfg;
  store_cfg_t store_cfg;
  logic [127:0] secret;
  logic [14:0] conn_limit, conns;
  logic [15:0] time_wait_ms;
  tcp_pkg::seconds_t keep_alive_s, idle_s;
  logic [20:0] item_max;
  logic [23:0] hold_max;
  logic guard, pause, upstream, about_valid;
  about_t about;
  laddr_t rx_base, tx_base;
  logic [NetCounts-1:0] net_count;
  logic [TcpCounts-1:0] tcp_count;
  logic [IngressCounts-1:0] ingress_count;
  logic [EgressCounts-1:0] egress_count;
  logic [StoreCounts-1:0] store_count;
  logic csr_busy, time_said;
  logic [31:0] seconds;
  logic [9:0] milliseconds, slept;
  csr_trace_t trace_set;
  logic [5:0] trace_record;
  logic [31:0] trace_clock;
  csr_trace_points_t trace_points;
  trace_conn_t marked;
  trace_store_t store_taps;
  now_t now;

  csr #(
    .Conns(Conns)
  ) u_csr (
    .clk_i,
    .rst_ni(rst_n.host),
    .s_axil_awaddr,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_wdata,
    .s_axil_wstrb,
    .s_axil_wvalid,
    .s_axil_wready,
    .s_axil_bresp,
    .s_axil_bvalid,
    .s_axil_bready,
    .s_axil_araddr,
    .s_axil_arvalid,
    .s_axil_arready,
    .s_axil_rdata,
    .s_axil_rresp,
    .s_axil_rvalid,
    .s_axil_rready,
    .enable_o        (enable_asked),
    .net_o           (net_cfg),
    .store_o         (store_cfg),
    .secret_o        (secret),
    .conn_limit_o    (conn_limit),
    .time_wait_ms_o  (time_wait_ms),
    .keep_alive_s_o  (keep_alive_s),
    .idle_s_o        (idle_s),
    .hold_max_o      (hold_max),
    .guard_o         (guard),
    .pause_o         (pause),
    .upstream_o      (upstream),
    .item_max_o      (item_max),
    .trace_o         (trace_set),
    .trace_record_o  (trace_record),
    .time_o          (time_said),
    .seconds_o       (seconds),
    .milliseconds_o  (milliseconds),
    .slept_o         (slept),
    .zero_o          (zero_start),
    .rx_base_o       (rx_base),
    .tx_base_o       (tx_base),
    .idle_i          (idle_o),
    .timers_i        (timers_o),
    .short_i         (short_o),
    .zeroing_i       (zero_busy),
    .refused_i       (zero_refused),
    .conns_i         (conns),
    .about_valid_i   (about_valid),
    .about_i         (about),
    .trace_clock_i   (trace_clock),
    .trace_points_i  (trace_points),
    .net_count_i     (net_count),
    .tcp_count_i     (tcp_count),
    .ingress_count_i (ingress_count),
    .egress_count_i  (egress_count),
    .store_count_i   (store_count),
    .busy_o          (csr_busy)
  );

  lib_clock u_clock (
    .clk_i,
    .rst_ni(rst_n.host),
    .tick_i,
    .set_i         (time_said),
    .seconds_i     (seconds),
    .milliseconds_i(milliseconds),
    .now_o         (now)
  );

  // ---------------------------------------------------------------- memory ports
  line_write_t [NumMem-1:0] wr;
  laddr_t [NumMem-1:0] rd_addr;
  line_t [NumMem-1:0] rdat;
  logic [NumMem-1:0] wr_valid, wr_ready, wr_done, rd_valid, rd_ready, rdat_valid;
  logic [NumMem-1:0] wr_bad, rdat_bad;

  // The index' ports.
  logic zero, zero_valid;
  laddr_t [1:0] zero_addr;
  logic [NumMem-1:0] zero_bad, quiet;
  logic [2*(NumMem-2)-1:0] unused_zero;
  assign unused_zero = {zero_bad[NumMem-1:2], quiet[NumMem-1:2]};

  mem_zero u_zero (
    .clk_i,
    .rst_ni(rst_n.host),
    .start_i   (zero_start),
    .base_i    (store_cfg.index_base),
    .bits_i    (store_cfg.index_bits),
    .enable_i  (enable_asked),
    .enable_o  (enable),
    .busy_o    (zero_busy),
    .refused_o (zero_refused),
    .zero_o    (zero),
    .wr_valid_o(zero_valid),
    .wr_addr_o (zero_addr),
    .wr_ready_i(wr_ready[1:0]),
    .quiet_i   (quiet[1:0]),
    .bad_i     (zero_bad[1:0])
  );

  for (genvar p = 0; p < NumMem; p++) begin : gen_mem
    mem_axi u_axi (
      .clk_i,
      .rst_ni(rst_n.mem),
      .wr_valid_i   (wr_valid[p]),
      .wr_ready_o   (wr_ready[p]),
      .wr_i         (wr[p]),
      .wr_done_o    (wr_done[p]),
      .wr_bad_o     (wr_bad[p]),
      .zero_i       (p < 2 && zero),
      .zero_valid_i (p < 2 && zero_valid),
      .zero_addr_i  (p < 2 ? zero_addr[p%2] : '0),
      .zero_bad_o   (zero_bad[p]),
      .quiet_o      (quiet[p]),
      .rd_valid_i   (rd_valid[p]),
      .rd_ready_o   (rd_ready[p]),
      .rd_addr_i    (rd_addr[p]),
      .rdat_valid_o (rdat_valid[p]),
      .rdat_o       (rdat[p]),
      .rdat_bad_o   (rdat_bad[p]),
      .m_axi_awvalid(m_axi_awvalid[p]),
      .m_axi_awready(m_axi_awready[p]),
      .m_axi_awaddr (m_axi_awaddr[p]),
      .m_axi_wvalid (m_axi_wvalid[p]),
      .m_axi_wready (m_axi_wready[p]),
      .m_axi_wdata  (m_axi_wdata[p]),
      .m_axi_wstrb  (m_axi_wstrb[p]),
      .m_axi_bvalid (m_axi_bvalid[p]),
      .m_axi_bresp  (m_axi_bresp[p]),
      .m_axi_bready (m_axi_bready[p]),
      .m_axi_arvalid(m_axi_arvalid[p]),
      .m_axi_arready(m_axi_arready[p]),
      .m_axi_araddr (m_axi_araddr[p]),
      .m_axi_rvalid (m_axi_rvalid[p]),
      .m_axi_rready (m_axi_rready[p]),
      .m_axi_rdata  (m_axi_rdata[p]),
      .m_axi_rresp  (m_axi_rresp[p]),
      .m_axi_rlast  (m_axi_rlast[p])
    );
  end

  // The receive rings are written by tcp and read by ingress, the transmit rings written by egress
  // and read by tcp: one writer and one reader a port, so no port needs an arbiter.
  line_write_t [1:0] ring_wr;
  laddr_t [1:0] ring_rd_addr;
  lanes_t [1:0] ring_rd_lanes;
  line_t [1:0] ring_rdat;
  logic [1:0] ring_wr_valid, ring_wr_ready, ring_rd_valid, ring_rd_ready;
  logic [1:0] ring_rdat_valid, ring_rdat_ready, ring_rdat_bad, ring_idle;
  logic [1:0] refused_valid, refused_ready, ring_busy, ring_earlier;
  conn_t [1:0] refused_conn;
  laddr_t [1:0] ring_base;
  conn_t open_conn;
  logic [15:0] open_port;
  logic open, mark;
  assign ring_base = {tx_base, rx_base};

  for (genvar r = 0; r < 2; r++) begin : gen_ring
    ring_cache #(
      .Lines   (config_pkg::Config.ring_lines),
      .AddrBits($clog2(Conns * RingLines))
    ) u_cache (
      .clk_i,
      .rst_ni(rst_n.ring),
      .base_i          (ring_base[r]),
      .wr_valid_i      (ring_wr_valid[r]),
      .wr_ready_o      (ring_wr_ready[r]),
      .wr_i            (ring_wr[r]),
      .rd_valid_i      (ring_rd_valid[r]),
      .rd_ready_o      (ring_rd_ready[r]),
      .rd_addr_i       (ring_rd_addr[r]),
      .rd_lanes_i      (ring_rd_lanes[r]),
      .rdat_valid_o    (ring_rdat_valid[r]),
      .rdat_ready_i    (ring_rdat_ready[r]),
      .rdat_o          (ring_rdat[r]),
      .rdat_bad_o      (ring_rdat_bad[r]),
      .mem_wr_valid_o  (wr_valid[4+r]),
      .mem_wr_ready_i  (wr_ready[4+r]),
      .mem_wr_o        (wr[4+r]),
      .mem_wr_done_i   (wr_done[4+r]),
      .mem_wr_bad_i    (wr_bad[4+r]),
      .mem_rd_valid_o  (rd_valid[4+r]),
      .mem_rd_ready_i  (rd_ready[4+r]),
      .mem_rd_addr_o   (rd_addr[4+r]),
      .mem_rdat_valid_i(rdat_valid[4+r]),
      .mem_rdat_i      (rdat[4+r]),
      .mem_rdat_bad_i  (rdat_bad[4+r]),
      .refused_valid_o (refused_valid[r]),
      .refused_ready_i (refused_ready[r]),
      .refused_conn_o  (refused_conn[r]),
      .open_i          (open),
      .open_conn_i     (open_conn),
      .busy_o          (ring_busy[r]),
      .mark_i          (mark),
      .earlier_o       (ring_earlier[r]),
      .idle_o          (ring_idle[r])
    );
  end

  // ---------------------------------------------------------------- net
  logic seg_valid, seg_ready, dgram_valid, dgram_ready;
  logic txseg_valid, txseg_ready, txseg_bad, txdgram_valid, txdgram_ready;
  seg_t seg;
  txseg_t txseg;
  dgram_t dgram, txdgram;
  beat_t seg_beat, dgram_beat, txseg_beat, txdgram_beat;
  logic net_idle, tcp_idle, ingress_idle, store_idle, egress_idle, net_timer, tcp_timers, late;
  logic tcp_short;
  logic store_timer, egress_timer;

  net u_net (
    .clk_i,
    .rst_ni(rst_n.net),
    .cfg_i          (net_cfg),
    .enable_i       (enable),
    .tick_i,
    .s_axis_rx_tdata,
    .s_axis_rx_tkeep,
    .s_axis_rx_tvalid,
    .s_axis_rx_tready,
    .s_axis_rx_tlast,
    .rx_room_o,
    .rx_syn_room_o,
    .m_axis_tx_tdata,
    .m_axis_tx_tkeep,
    .m_axis_tx_tvalid,
    .m_axis_tx_tready,
    .m_axis_tx_tlast,
    .m_axis_host_tdata,
    .m_axis_host_tkeep,
    .m_axis_host_tvalid,
    .m_axis_host_tready,
    .m_axis_host_tlast,
    .s_axis_host_tdata,
    .s_axis_host_tkeep,
    .s_axis_host_tvalid,
    .s_axis_host_tready,
    .s_axis_host_tlast,
    .seg_valid_o    (seg_valid),
    .seg_ready_i    (seg_ready),
    .seg_o          (seg),
    .seg_beat_o     (seg_beat),
    .dgram_valid_o  (dgram_valid),
    .dgram_ready_i  (dgram_ready),
    .dgram_o        (dgram),
    .dgram_beat_o   (dgram_beat),
    .txseg_valid_i  (txseg_valid),
    .txseg_ready_o  (txseg_ready),
    .txseg_i        (txseg),
    .txseg_beat_i   (txseg_beat),
    .txseg_bad_i    (txseg_bad),
    .txdgram_valid_i(txdgram_valid),
    .txdgram_ready_o(txdgram_ready),
    .txdgram_i      (txdgram),
    .txdgram_beat_i (txdgram_beat),
    .count_o        (net_count),
    .idle_o         (net_idle),
    .timer_o        (net_timer)
  );

  // ---------------------------------------------------------------- tcp
  logic ev_valid, ev_ready, app_valid, app_ready;
  logic tcp_ev_valid, tcp_ev_ready, tcp_app_valid, tcp_app_ready;
  ev_t ev, tcp_ev;
  app_t app;

  tcp #(
    .Conns(Conns)
  ) u_tcp (
    .clk_i,
    .rst_ni(rst_n.tcp),
    .tick_i,
    .slept_i       (slept),
    .secret_i      (secret),
    .lport_i       (net_cfg.tcp_port),
    .mtu_i         (net_cfg.mtu),
    .conn_limit_i  (conn_limit),
    .time_wait_ms_i(time_wait_ms),
    .keep_alive_s_i(keep_alive_s),
    .idle_s_i      (idle_s),
    .rx_base_i     (rx_base),
    .tx_base_i     (tx_base),
    .seg_valid_i   (seg_valid),
    .seg_ready_o   (seg_ready),
    .seg_i         (seg),
    .seg_beat_i    (seg_beat),
    .txseg_valid_o (txseg_valid),
    .txseg_ready_i (txseg_ready),
    .txseg_o       (txseg),
    .txseg_beat_o  (txseg_beat),
    .txseg_bad_o   (txseg_bad),
    .ev_valid_o    (tcp_ev_valid),
    .ev_ready_i    (tcp_ev_ready),
    .ev_o          (tcp_ev),
    .app_valid_i   (tcp_app_valid),
    .app_ready_o   (tcp_app_ready),
    .app_i         (app),
    .wr_valid_o    (ring_wr_valid[0]),
    .wr_ready_i    (ring_wr_ready[0]),
    .wr_o          (ring_wr[0]),
    .rd_valid_o    (ring_rd_valid[1]),
    .rd_ready_i    (ring_rd_ready[1]),
    .rd_addr_o     (ring_rd_addr[1]),
    .rd_lanes_o    (ring_rd_lanes[1]),
    .rdat_valid_i  (ring_rdat_valid[1]),
    .rdat_ready_o  (ring_rdat_ready[1]),
    .rdat_i        (ring_rdat[1]),
    .rdat_bad_i    (ring_rdat_bad[1]),
    .refused_valid_i(refused_valid),
    .refused_ready_o(refused_ready),
    .refused_conn_i(refused_conn),
    .open_o        (open),
    .open_conn_o   (open_conn),
    .open_port_o   (open_port),
    .busy_i        (|ring_busy),
    .mark_o        (mark),
    .earlier_i     (|ring_earlier),
    .count_o       (tcp_count),
    .idle_o        (tcp_idle),
    .timers_o      (tcp_timers),
    .short_o       (tcp_short),
    .conns_o       (conns)
  );

  // ---------------------------------------------------------------- the host's request port
  logic hold, host_idle, host_rd_valid, host_rd_ready, host_line_valid, host_line_ready;
  logic [9:0] host_rd_line, host_wr_line;
  line_t host_line;
  logic egress_wr_valid, egress_wr_host;
  axis_t exc_in, exc_out, host_out;
  logic exc_in_valid, exc_in_ready, exc_out_valid, exc_out_ready, host_out_valid, host_out_ready;
  assign ring_wr_valid[1] = egress_wr_valid && !egress_wr_host;

  logic port_ev_valid, port_ev_ready, port_closed, port_app_valid, mux_idle;
  ev_t port_ev;
  request_port u_request_port (
    .clk_i,
    .rst_ni(rst_n.host),
    .hold_max_i     (hold_max),
    .s_axis_exc_tdata,
    .s_axis_exc_tkeep,
    .s_axis_exc_tvalid,
    .s_axis_exc_tready,
    .s_axis_exc_tlast,
    .m_axis_exc_tdata,
    .m_axis_exc_tkeep,
    .m_axis_exc_tvalid,
    .m_axis_exc_tready,
    .m_axis_exc_tlast,
    .in_valid_o     (exc_in_valid),
    .in_ready_i     (exc_in_ready),
    .in_o           (exc_in),
    .out_valid_i    (host_out_valid),
    .out_ready_o    (host_out_ready),
    .out_i          (host_out),
    .ev_valid_o     (port_ev_valid),
    .ev_ready_i     (port_ev_ready),
    .ev_o           (port_ev),
    .closed_i       (port_closed),
    .app_valid_i    (port_app_valid),
    .app_i          (app),
    .rd_valid_i     (host_rd_valid),
    .rd_ready_o     (host_rd_ready),
    .rd_line_i      (host_rd_line),
    .line_valid_o   (host_line_valid),
    .line_ready_i   (host_line_ready),
    .line_o         (host_line),
    .wr_valid_i     (egress_wr_valid && egress_wr_host),
    .wr_line_i      (host_wr_line),
    .wr_i           (ring_wr[1]),
    .hold_o         (hold),
    .idle_o         (host_idle)
  );

  // ---------------------------------------------------------------- conn, parse: bytes to requests
  conn_mux u_conn_mux (
    .clk_i,
    .rst_ni(rst_n.ingress),
    .tcp_ev_valid_i  (tcp_ev_valid),
    .tcp_ev_ready_o  (tcp_ev_ready),
    .tcp_ev_i        (tcp_ev),
    .port_ev_valid_i (port_ev_valid),
    .port_ev_ready_o (port_ev_ready),
    .port_ev_i       (port_ev),
    .ev_valid_o      (ev_valid),
    .ev_ready_i      (ev_ready),
    .ev_o            (ev),
    .port_closed_o   (port_closed),
    .app_valid_i     (app_valid),
    .app_ready_o     (app_ready),
    .app_i           (app),
    .tcp_app_valid_o (tcp_app_valid),
    .tcp_app_ready_i (tcp_app_ready),
    .port_app_valid_o(port_app_valid),
    .idle_o          (mux_idle)
  );

  logic uctx_valid, uctx_ready, req_valid, req_ready, key_valid, key_ready;
  logic put_valid, put_ready, put_off_valid, putk_valid, putk_ready, putb_valid, putb_ready;
  logic done_valid, done_ready, udp_end, kept_valid;
  conn_t kept_conn;
  ctx_t kept;
  logic bad_job_valid, job_over;
  conn_t bad_job_conn, job_over_conn;
  logic hpiece_valid, hpiece_ready;
  uctx_t uctx;
  req_t req;
  beat_t key, putk, putb;
  put_t put;
  off_t put_off;
  done_t done;
  hpiece_t hpiece;
  logic taken, dgrams_idle, dgram_lost;
  dgram_t taken_dgram;
  beat_t taken_beat;

  ingress #(
    .Conns(Conns)
  ) u_ingress (
    .clk_i,
    .rst_ni(rst_n.ingress),
    .item_max_i    (item_max),
    .now_i         (now),
    .rx_base_i     (rx_base),
    .ev_valid_i    (ev_valid),
    .ev_ready_o    (ev_ready),
    .ev_i          (ev),
    .app_valid_o   (app_valid),
    .app_ready_i   (app_ready),
    .app_o         (app),
    .rd_valid_o    (ring_rd_valid[0]),
    .rd_ready_i    (ring_rd_ready[0]),
    .rd_addr_o     (ring_rd_addr[0]),
    .rd_lanes_o    (ring_rd_lanes[0]),
    .rdat_valid_i  (ring_rdat_valid[0]),
    .rdat_ready_o  (ring_rdat_ready[0]),
    .rdat_i        (ring_rdat[0]),
    .rdat_bad_i    (ring_rdat_bad[0]),
    .host_rd_valid_o  (host_rd_valid),
    .host_rd_ready_i  (host_rd_ready),
    .host_rd_line_o   (host_rd_line),
    .host_line_valid_i(host_line_valid),
    .host_line_ready_o(host_line_ready),
    .host_line_i      (host_line),
    .hold_i        (hold),
    .guard_i       (guard),
    .pause_i       (pause),
    .upstream_i    (upstream),
    .late_i        (late),
    .udp_end_i     (udp_end),
    .about_valid_o (about_valid),
    .about_o       (about),
    .bad_valid_o   (bad_job_valid),
    .bad_conn_o    (bad_job_conn),
    .job_over_i    (job_over),
    .job_over_conn_i(job_over_conn),
    .wr_bad_i      (|wr_bad[5:4]),
    .lost_i        (dgram_lost),
    .dgram_valid_i (dgram_valid),
    .dgram_ready_o (dgram_ready),
    .dgram_i       (dgram),
    .dgram_beat_i  (dgram_beat),
    .taken_o       (taken),
    .taken_dgram_o (taken_dgram),
    .taken_beat_o  (taken_beat),
    .uctx_valid_o  (uctx_valid),
    .uctx_ready_i  (uctx_ready),
    .uctx_o        (uctx),
    .req_valid_o   (req_valid),
    .req_ready_i   (req_ready),
    .req_o         (req),
    .key_valid_o   (key_valid),
    .key_ready_i   (key_ready),
    .key_o         (key),
    .put_valid_o   (put_valid),
    .put_ready_i   (put_ready && enable),
    .put_o         (put),
    .put_off_valid_i(put_off_valid),
    .put_off_i     (put_off),
    .putk_valid_o  (putk_valid),
    .putk_ready_i  (putk_ready),
    .putk_o        (putk),
    .putb_valid_o  (putb_valid),
    .putb_ready_i  (putb_ready),
    .putb_o        (putb),
    .kept_valid_i  (kept_valid),
    .kept_conn_i   (kept_conn),
    .kept_i        (kept),
    .done_valid_i  (done_valid),
    .done_ready_o  (done_ready),
    .done_i        (done),
    .hpiece_valid_i(hpiece_valid),
    .hpiece_ready_o(hpiece_ready),
    .hpiece_i      (hpiece),
    .count_o       (ingress_count),
    .idle_o        (ingress_idle)
  );

  // ---------------------------------------------------------------- store
  logic res_valid, res_ready, chunk_valid, chunk_ready, hreq_valid, hreq_ready;
  logic hkey_valid, hkey_ready, rkey_valid, rkey_ready;
  res_t res;
  line_t rkey;
  chunk_t chunk;
  hreq_t hreq;
  beat_t hkey;

  store u_store (
    .clk_i,
    .rst_ni(rst_n.store),
    .cfg_i        (store_cfg),
    .now_i        (now.ms),
    .tick_i,
    .enable_i     (enable),
    .req_valid_i  (req_valid),
    .req_ready_o  (req_ready),
    .req_i        (req),
    .key_valid_i  (key_valid),
    .key_ready_o  (key_ready),
    .key_i        (key),
    .bad_valid_i  (bad_job_valid),
    .bad_conn_i   (bad_job_conn),
    .job_over_o   (job_over),
    .job_over_conn_o(job_over_conn),
    .put_valid_i  (put_valid && enable),
    .put_ready_o  (put_ready),
    .put_i        (put),
    .put_off_valid_o(put_off_valid),
    .put_off_o    (put_off),
    .putk_valid_i (putk_valid),
    .putk_ready_o (putk_ready),
    .putk_i       (putk),
    .putb_valid_i (putb_valid),
    .putb_ready_o (putb_ready),
    .putb_i       (putb),
    .res_valid_o  (res_valid),
    .res_ready_i  (res_ready),
    .res_o        (res),
    .rkey_valid_o (rkey_valid),
    .rkey_ready_i (rkey_ready),
    .rkey_o       (rkey),
    .chunk_valid_o(chunk_valid),
    .chunk_ready_i(chunk_ready),
    .chunk_o      (chunk),
    .hreq_valid_o (hreq_valid),
    .hreq_ready_i (hreq_ready),
    .hreq_o       (hreq),
    .hkey_valid_o (hkey_valid),
    .hkey_ready_i (hkey_ready),
    .hkey_o       (hkey),
    .wr_valid_o   (wr_valid[3:0]),
    .wr_ready_i   (wr_ready[3:0]),
    .wr_o         (wr[3:0]),
    .wr_done_i    (wr_done[3:0]),
    .rd_valid_o   (rd_valid[3:0]),
    .rd_ready_i   (rd_ready[3:0]),
    .rd_addr_o    (rd_addr[3:0]),
    .rdat_valid_i (rdat_valid[3:0]),
    .rdat_i       (rdat[3:0]),
    .wr_bad_i     (wr_bad[3:0]),
    .rdat_bad_i   (rdat_bad[3:0]),
    .count_o      (store_count),
    .marked_i     (marked),
    .trace_o      (store_taps),
    .idle_o       (store_idle),
    .late_o       (late),
    .timer_o      (store_timer)
  );

  // ---------------------------------------------------------------- reply: results to bytes
  egress u_egress (
    .clk_i,
    .rst_ni(rst_n.egress),
    .tick_i,
    .cfg_i          (net_cfg),
    .tx_base_i      (tx_base),
    .now_i          (now.ms),
    .res_valid_i    (res_valid),
    .res_ready_o    (res_ready),
    .res_i          (res),
    .rkey_valid_i   (rkey_valid),
    .rkey_ready_o   (rkey_ready),
    .rkey_i         (rkey),
    .chunk_valid_i  (chunk_valid),
    .chunk_ready_o  (chunk_ready),
    .chunk_i        (chunk),
    .uctx_valid_i   (uctx_valid),
    .uctx_ready_o   (uctx_ready),
    .uctx_i         (uctx),
    .hreq_valid_i   (hreq_valid),
    .hreq_ready_o   (hreq_ready),
    .hreq_i         (hreq),
    .hkey_valid_i   (hkey_valid),
    .hkey_ready_o   (hkey_ready),
    .hkey_i         (hkey),
    .hpiece_valid_o (hpiece_valid),
    .hpiece_ready_i (hpiece_ready),
    .hpiece_o       (hpiece),
    .m_axis_exc_tdata (exc_out.data),
    .m_axis_exc_tkeep (exc_out.keep),
    .m_axis_exc_tvalid(exc_out_valid),
    .m_axis_exc_tready(exc_out_ready),
    .m_axis_exc_tlast (exc_out.last),
    .s_axis_exc_tdata (exc_in.data),
    .s_axis_exc_tkeep (exc_in.keep),
    .s_axis_exc_tvalid(exc_in_valid),
    .s_axis_exc_tready(exc_in_ready),
    .s_axis_exc_tlast (exc_in.last),
    .wr_valid_o     (egress_wr_valid),
    .wr_ready_i     (egress_wr_host || ring_wr_ready[1]),
    .wr_o           (ring_wr[1]),
    .wr_host_o      (egress_wr_host),
    .wr_line_o      (host_wr_line),
    .txdgram_valid_o(txdgram_valid),
    .txdgram_ready_i(txdgram_ready),
    .txdgram_o      (txdgram),
    .txdgram_beat_o (txdgram_beat),
    .kept_valid_o   (kept_valid),
    .kept_conn_o    (kept_conn),
    .kept_o         (kept),
    .done_valid_o   (done_valid),
    .done_ready_i   (done_ready),
    .done_o         (done),
    .udp_end_o      (udp_end),
    .count_o        (egress_count),
    .idle_o         (egress_idle),
    .timer_o        (egress_timer)
  );

  // ---------------------------------------------------------------- datagrams that gates have not answered
  if (config_pkg::Config.upstream && config_pkg::Config.udp) begin : gen_dgrams
    dgram_queue u_dgrams (
      .clk_i,
      .rst_ni(rst_n.host),
      .enable_i      (upstream),
      .s_valid_i     (taken),
      .s_dgram_i     (taken_dgram),
      .s_beat_i      (taken_beat),
      .over_i        (res_valid && res_ready && res.last && res.udp),
      .over_ctx_i    (res.ctx),
      .s_axis_valid_i(exc_out_valid),
      .s_axis_ready_o(exc_out_ready),
      .s_axis_i      (exc_out),
      .m_axis_valid_o(host_out_valid),
      .m_axis_ready_i(host_out_ready),
      .m_axis_o      (host_out),
      .lost_o        (dgram_lost),
      .idle_o        (dgrams_idle)
    );
  end else begin : gen_no_dgrams
    assign host_out_valid = exc_out_valid;
    assign exc_out_ready  = host_out_ready;
    assign host_out       = exc_out;
    assign {dgrams_idle, dgram_lost} = 2'b10;
  end

  // ---------------------------------------------------------------- trace
  // Datagrams have no connection.
  if (config_pkg::Config.trace) begin : gen_trace
    trace_taps_t taps;
    assign taps = '{
            frame: '{
                s_axis_rx_tvalid && s_axis_rx_tready,
                s_axis_rx_tlast,
                frame_port(s_axis_rx_tdata, 0)
            },
            segment: '{seg_valid && seg_ready, seg_beat.last, seg.peer.port},
            arrived: '{tcp_ev_valid && tcp_ev_ready, tcp_ev.conn},
            closed: tcp_ev.closed,
            request: '{req_valid && req_ready && !req.udp, req.conn},
            log: '{put_valid && put_ready && enable && put.start && !put.udp, put.conn},
            store: store_taps,
            result: '{res_valid && res_ready && !res.udp, res.conn},
            chunk: chunk_valid && chunk_ready,
            chunk_last: chunk.last,
            reply: '{done_valid && done_ready, done.conn},
            send: '{tcp_app_valid && tcp_app_ready, app.conn},
            sent: '{txseg_valid && txseg_ready, txseg_beat.last, txseg.peer.port},
            framed: '{
                m_axis_tx_tvalid && m_axis_tx_tready,
                m_axis_tx_tlast,
                frame_port(m_axis_tx_tdata, 2)
            },
            open: open,
            open_conn: open_conn,
            open_port: open_port
        };
    trace u_trace (
      .clk_i,
      .rst_ni(rst_n.host),
      .on_i    (trace_set.on),
      .port_i  (trace_set.port),
      .taps_i  (taps),
      .marked_o(marked),
      .index_i (trace_record),
      .clock_o (trace_clock),
      .points_o(trace_points)
    );
  end else begin : gen_no_trace
    logic unused_trace;
    assign unused_trace = ^{trace_set, trace_record, store_taps, open_port};
    assign {marked, trace_clock, trace_points} = '0;
  end

  // ---------------------------------------------------------------- idle
  // Registered, and only after a run of idle clocks, so that a word between two folders that is in
  // neither one's flag is never missed.
  logic [3:0] quiet_q;
  logic all_idle;
  assign all_idle = net_idle && tcp_idle && ingress_idle && store_idle && egress_idle &&
      &ring_idle && host_idle && dgrams_idle && mux_idle && !csr_busy && !zero_busy && !tick_i &&
      !s_axis_rx_tvalid && !s_axis_host_tvalid && !s_axis_exc_tvalid;
  always_ff @(posedge clk_i) begin
    if (!rst_n.host || !all_idle) quiet_q <= '0;
    else if (quiet_q != '1) quiet_q <= quiet_q + 4'd1;
  end
  assign idle_o   = quiet_q == '1;
  assign timers_o = short_o || tcp_timers;
  assign short_o  = net_timer || tcp_short || store_timer || egress_timer;

endmodule
