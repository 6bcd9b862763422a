// The RISC-V machine behind a cache: frames of the wire pass rtl/aside, which answers what it can, and its core drives it by
// custom instructions. Without the cache all frames go to the machine.
module machine_top
  import wirekv_pkg::*;
  import net_pkg::*;
  import machine_pkg::*;
#(
  /// As the machine's.
  parameter int unsigned RamBytes = 8 << 20,
  parameter int unsigned RomBytes = 65536,
  parameter int unsigned WatchdogClocks = 1 << 22,
  /// The cache: lines of 64 bytes, a power of two.
  parameter int unsigned Lines = 16384,
  /// Frequency of clk_i in Hz, by which the cache knows how old a fill is.
  parameter int unsigned ClockHz = 50_000_000
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// The same clock, for the cache. In a simulation it may stand while the cache has been idle for 64 clocks.
  input  logic               clk_aside_i,
  output logic               aside_idle_o,
  /// See machine.
  input  logic               run_i,
  input  logic               load_valid_i,
  output logic               load_ready_o,
  input  line_addr_t         load_addr_i,
  input  line_t              load_data_i,
  input  machine_cfg_t       cfg_i,
  input  logic        [31:0] time_i,
  /// The cache answers, and software finds it. Steady, from reset on.
  input  logic               aside_i,
  /// Secrets of its hash, see there; the second ones are odd. Steady.
  input  logic [31:0][31:0]  nh_key_i,
  input  logic  [1:0][63:0]  mix_key_i,
  /// Frames from the wire, which are taken at once, and to it.
  input  line_t              s_axis_rx_tdata,
  input  strb_t              s_axis_rx_tkeep,
  input  logic               s_axis_rx_tvalid,
  input  logic               s_axis_rx_tlast,
  output line_t              m_axis_tx_tdata,
  output strb_t              m_axis_tx_tkeep,
  output logic               m_axis_tx_tvalid,
  input  logic               m_axis_tx_tready,
  output logic               m_axis_tx_tlast,
  /// See machine.
  output logic               console_valid_o,
  output logic         [7:0] console_o,
  output logic        [31:0] restarts_o,
  output logic        [31:0] dropped_o,
  /// Datagrams that the cache has answered.
  output logic        [31:0] answered_o,
  output logic               idle_o
);

  logic cmd_valid, cmd_ready, rsp_valid, rsp_ready, core_rst, tick, machine_idle;
  logic [9:0] cmd_function;
  logic [31:0] cmd_a, cmd_b, rsp;
  logic down_valid, up_valid, up_ready;
  axis_t rx, down, up, tx;
  net_cfg_t net_cfg;
  always_comb begin
    net_cfg          = '0;
    net_cfg.mac      = cfg_i.mac;
    net_cfg.ip       = cfg_i.ip;
    net_cfg.udp_port = cfg_i.port;
    net_cfg.mtu      = 16'd1500;
  end

  lib_millisecond #(
    .ClockHz(ClockHz)
  ) u_millisecond (
    .clk_i,
    .rst_ni,
    .tick_o(tick)
  );

  assign rx = '{data: s_axis_rx_tdata, keep: s_axis_rx_tkeep, last: s_axis_rx_tlast};
  aside #(
    .Lines(Lines)
  ) u_aside (
    .clk_i         (clk_aside_i),
    .rst_ni,
    .tick_i        (tick),
    .seconds_i     (time_i),
    .enable_i      (aside_i),
    .cfg_i         (net_cfg),
    .nh_key_i,
    .mix_key_i,
    .s_valid_i     (s_axis_rx_tvalid),
    .s_data_i      (rx),
    .m_valid_o     (down_valid),
    .m_ready_i     (1'b1),
    .m_data_o      (down),
    .up_valid_i    (up_valid),
    .up_ready_o    (up_ready),
    .up_i          (up),
    .wire_valid_o  (m_axis_tx_tvalid),
    .wire_ready_i  (m_axis_tx_tready),
    .wire_o        (tx),
    .core_rst_i    (core_rst),
    .cmd_valid_i   (cmd_valid),
    .cmd_ready_o   (cmd_ready),
    .cmd_function_i(cmd_function),
    .cmd_a_i       (cmd_a),
    .cmd_b_i       (cmd_b),
    .rsp_valid_o   (rsp_valid),
    .rsp_ready_i   (rsp_ready),
    .rsp_o         (rsp),
    .answered_o,
    .idle_o        (aside_idle_o)
  );
  assign m_axis_tx_tdata = tx.data;
  assign m_axis_tx_tkeep = tx.keep;
  assign m_axis_tx_tlast = tx.last;

  machine #(
    .RamBytes      (RamBytes),
    .RomBytes      (RomBytes),
    .WatchdogClocks(WatchdogClocks)
  ) u_machine (
    .clk_i,
    .rst_ni,
    .run_i,
    .load_valid_i,
    .load_ready_o,
    .load_addr_i,
    .load_data_i,
    .cfg_i,
    .time_i,
    .s_axis_rx_tdata   (down.data),
    .s_axis_rx_tkeep   (down.keep),
    .s_axis_rx_tvalid  (down_valid),
    .s_axis_rx_tlast   (down.last),
    .m_axis_tx_tdata   (up.data),
    .m_axis_tx_tkeep   (up.keep),
    .m_axis_tx_tvalid  (up_valid),
    .m_axis_tx_tready  (up_ready),
    .m_axis_tx_tlast   (up.last),
    .accel_i           (aside_i ? AccelAside : '0),
    .cfu_cmd_valid_o   (cmd_valid),
    .cfu_cmd_ready_i   (cmd_ready),
    .cfu_cmd_function_o(cmd_function),
    .cfu_cmd_a_o       (cmd_a),
    .cfu_cmd_b_o       (cmd_b),
    .cfu_rsp_valid_i   (rsp_valid),
    .cfu_rsp_ready_o   (rsp_ready),
    .cfu_rsp_i         (rsp),
    .core_rst_o        (core_rst),
    .console_valid_o,
    .console_o,
    .restarts_o,
    .dropped_o,
    .idle_o            (machine_idle)
  );
  assign idle_o = machine_idle && aside_idle_o;

endmodule
