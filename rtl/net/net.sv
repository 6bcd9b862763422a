// Ethernet, ARP, neighbour discovery, ICMP echo, IPv4 and IPv6, and the checksums of TCP and UDP: frames on
// one side, segments and datagrams on the other. Latency 10 clocks in, 11 for datagrams, and 7 out;
// initiation interval 1 a beat of a frame; no SYN holds others up.
module net
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  /// Static while enable_i is set, and for 40 clocks before; but for an address that is being set.
  input  net_cfg_t             cfg_i,
  /// Received frames count only while this is set.
  input  logic                 enable_i,
  /// One-clock pulse each millisecond.
  input  logic                 tick_i,
  /// Frames from the wire (no FCS). Always ready; a frame that finds no room is dropped whole.
  input  logic [511:0]         s_axis_rx_tdata,
  input  logic [63:0]          s_axis_rx_tkeep,
  input  logic                 s_axis_rx_tvalid,
  output logic                 s_axis_rx_tready,
  input  logic                 s_axis_rx_tlast,
  /// There is room for one more segment, the largest, and for one more SYN, see rx.
  output logic                 rx_room_o,
  output logic                 rx_syn_room_o,
  /// Frames to the wire, at least 60 bytes.
  output logic [511:0]         m_axis_tx_tdata,
  output logic [63:0]          m_axis_tx_tkeep,
  output logic                 m_axis_tx_tvalid,
  input  logic                 m_axis_tx_tready,
  output logic                 m_axis_tx_tlast,
  /// Frames that are not for the data path, whole and unchanged.
  output logic [511:0]         m_axis_host_tdata,
  output logic [63:0]          m_axis_host_tkeep,
  output logic                 m_axis_host_tvalid,
  input  logic                 m_axis_host_tready,
  output logic                 m_axis_host_tlast,
  /// Frames that the host sends.
  input  logic [511:0]         s_axis_host_tdata,
  input  logic [63:0]          s_axis_host_tkeep,
  input  logic                 s_axis_host_tvalid,
  output logic                 s_axis_host_tready,
  input  logic                 s_axis_host_tlast,
  /// Segments for our TCP port; the fields are steady beside every beat of the payload.
  output logic                 seg_valid_o,
  input  logic                 seg_ready_i,
  output seg_t                 seg_o,
  output beat_t                seg_beat_o,
  /// Datagrams for our UDP port, likewise.
  output logic                 dgram_valid_o,
  input  logic                 dgram_ready_i,
  output dgram_t               dgram_o,
  output beat_t                dgram_beat_o,
  /// Segments to send; one with options has no payload.
  input  logic                 txseg_valid_i,
  output logic                 txseg_ready_o,
  input  txseg_t               txseg_i,
  input  beat_t                txseg_beat_i,
  /// Beside a segment's last beat: what it carries is wrong, and so shall be its checksum.
  input  logic                 txseg_bad_i,
  /// Datagrams to send.
  input  logic                 txdgram_valid_i,
  output logic                 txdgram_ready_o,
  input  dgram_t               txdgram_i,
  input  beat_t                txdgram_beat_i,
  /// Event pulses, see net_count_e.
  output logic [NetCounts-1:0] count_o,
  /// Nothing inside.
  output logic                 idle_o,
  /// Ticks are needed.
  output logic                 timer_o
);

  logic request_valid, request_ready, request_vlan, solicit_valid, solicit_ready;
  logic rx_idle, build_idle, answer_busy;
  answer_e request_kind;
  tx_kind_e built_kind;
  peer_t solicit;
  logic host_valid, host_long;
  beat_t request_beat, host_beat;
  logic [2:0] frame_valid, frame_ready;
  beat_t [2:0] frame_beat;
  logic [NetCounts-1:0] rx_count, tx_count;

  assign s_axis_rx_tready = 1'b1;

  // verilator lint_off PINCONNECTEMPTY
  rx u_rx (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .enable_i,
    .tick_i,
    .s_axis_tdata (s_axis_rx_tdata),
    .s_axis_tkeep (s_axis_rx_tkeep),
    .s_axis_tvalid(s_axis_rx_tvalid),
    .s_axis_tlast (s_axis_rx_tlast),
    .room_o       (rx_room_o),
    .syn_room_o   (rx_syn_room_o),
    .ended_o      (),
    .ended_dgram_o(),
    .dgram_wanted_i(1'b1),
    .seg_valid_o,
    .seg_ready_i,
    .seg_o,
    .seg_beat_o,
    .dgram_valid_o,
    .dgram_ready_i,
    .dgram_o,
    .dgram_beat_o,
    .reply_valid_o(request_valid),
    .reply_ready_i(request_ready),
    .reply_kind_o (request_kind),
    .reply_vlan_o (request_vlan),
    .reply_beat_o (request_beat),
    .solicit_valid_o(solicit_valid),
    .solicit_ready_i(solicit_ready),
    .solicit_o    (solicit),
    .host_valid_o (host_valid),
    .host_ready_i (m_axis_host_tready),
    .host_beat_o  (host_beat),
    .count_o      (rx_count),
    .idle_o       (rx_idle),
    .timer_o
  );
  // verilator lint_on PINCONNECTEMPTY

  assign m_axis_host_tvalid = host_valid;
  assign m_axis_host_tdata  = host_beat.data;
  assign m_axis_host_tkeep  = lib_pkg::lanes_below(host_beat.len);
  assign m_axis_host_tlast  = host_beat.last;

  tx_build u_build (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .seg_valid_i  (txseg_valid_i),
    .seg_ready_o  (txseg_ready_o),
    .seg_i        (txseg_i),
    .seg_beat_i   (txseg_beat_i),
    .seg_bad_i    (txseg_bad_i),
    .dgram_valid_i(txdgram_valid_i),
    .dgram_ready_o(txdgram_ready_o),
    .dgram_i      (txdgram_i),
    .dgram_beat_i (txdgram_beat_i),
    .solicit_valid_i(solicit_valid),
    .solicit_ready_o(solicit_ready),
    .solicit_i    (solicit),
    .m_valid_o    (frame_valid[0]),
    .m_ready_i    (frame_ready[0]),
    .m_beat_o     (frame_beat[0]),
    .m_kind_o     (built_kind),
    .idle_o       (build_idle)
  );

  responder u_responder (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .s_valid_i(request_valid),
    .s_ready_o(request_ready),
    .s_kind_i (request_kind),
    .s_vlan_i (request_vlan),
    .s_beat_i (request_beat),
    .busy_o   (answer_busy),
    .m_valid_o(frame_valid[1]),
    .m_ready_i(frame_ready[1]),
    .m_beat_o (frame_beat[1])
  );

  tx_host u_host (
    .clk_i,
    .rst_ni,
    .s_axis_tdata (s_axis_host_tdata),
    .s_axis_tkeep (s_axis_host_tkeep),
    .s_axis_tvalid(s_axis_host_tvalid),
    .s_axis_tready(s_axis_host_tready),
    .s_axis_tlast (s_axis_host_tlast),
    .m_valid_o    (frame_valid[2]),
    .m_ready_i    (frame_ready[2]),
    .m_beat_o     (frame_beat[2]),
    .long_o       (host_long)
  );

  tx_merge u_merge (
    .clk_i,
    .rst_ni,
    .s_valid_i    (frame_valid),
    .s_ready_o    (frame_ready),
    .s_beat_i     (frame_beat),
    .kind_i       (built_kind),
    .m_axis_tdata (m_axis_tx_tdata),
    .m_axis_tkeep (m_axis_tx_tkeep),
    .m_axis_tvalid(m_axis_tx_tvalid),
    .m_axis_tready(m_axis_tx_tready),
    .m_axis_tlast (m_axis_tx_tlast),
    .count_o      (tx_count)
  );

  always_comb begin
    count_o = rx_count | tx_count;
    count_o[NetCountTxHostLong] = host_long;
  end

  assign idle_o = rx_idle && build_idle && !answer_busy && frame_valid == '0 && !m_axis_tx_tvalid;

endmodule
