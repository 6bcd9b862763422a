// Registers of the link: an AXI4-Lite slave, one access at a time (4 clocks a write until it has an effect, 4 a read). In the
// 64 clocks after reset nothing is written or read.
//
// The map is in docs/rtl/LINK.md. A write to a read-only or unknown address does nothing; reading an unknown one gives 0.
// Responses are always OKAY.
module link_csr
  import link_pkg::*;
#(
  /// Reads at once, for software to read.
  parameter int unsigned Reads = 32
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  /// AXI4-Lite, AMBA AXI and ACE protocol specification, part B.
  input  logic [11:0]                 s_axil_awaddr,
  input  logic                        s_axil_awvalid,
  output logic                        s_axil_awready,
  input  logic [31:0]                 s_axil_wdata,
  input  logic [3:0]                  s_axil_wstrb,
  input  logic                        s_axil_wvalid,
  output logic                        s_axil_wready,
  output logic [1:0]                  s_axil_bresp,
  output logic                        s_axil_bvalid,
  input  logic                        s_axil_bready,
  input  logic [11:0]                 s_axil_araddr,
  input  logic                        s_axil_arvalid,
  output logic                        s_axil_arready,
  output logic [31:0]                 s_axil_rdata,
  output logic [1:0]                  s_axil_rresp,
  output logic                        s_axil_rvalid,
  input  logic                        s_axil_rready,
  /// All channels are disabled.
  input  logic                        flr_i,
  /// Settings.
  output link_cfg_t                   link_o,
  output channel_cfg_t [Channels-1:0] channel_o,
  /// Doorbells: the host moves an index, for a clock.
  output logic [Channels-1:0]         down_door_o,
  output logic [Channels-1:0]         up_door_o,
  output index_t                      door_o,
  /// State.
  input  told_t [Channels-1:0]        told_i,
  /// One-clock pulses, and the bytes of frames.
  input  event_t [Channels-1:0]       event_i,
  input  bytes_t [Channels-1:0]       down_bytes_i,
  input  bytes_t [Channels-1:0]       up_bytes_i
);

  localparam int unsigned Words = 64;

  logic we, write, read, clearing, counts_clear, unused_busy;
  logic [9:0] waddr, raddr;
  logic [3:0] wstrb;
  logic [31:0] wdata, rdata;

  lib_axil u_axil (
    .clk_i,
    .rst_ni,
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
    .hold_i (clearing),
    .we_o   (we),
    .write_o(write),
    .waddr_o(waddr),
    .wdata_o(wdata),
    .wstrb_o(wstrb),
    .re_o   (read),
    .raddr_o(raddr),
    .rdata_i(rdata),
    .busy_o (unused_busy)
  );

  // ---------------------------------------------------------------- settings
  // As in csr.sv: registers for the hardware, and a RAM of the same for what is read back.
  logic [31:0] reg_q[Words];
  logic here;  // the write is of one of these words
  logic [6:0] clear_q;
  logic [31:0] setting, written;
  assign here     = write && waddr[9:6] == '0;
  assign clearing = !clear_q[6];

  function automatic logic is_setting(input int unsigned word);
    int unsigned of;
    of = word % CsrChannel;
    if (word < CsrChannel)
      return word == CsrControl || word == CsrBatchSlots || word == CsrBatchClocks ||
          word == CsrStatusBase || word == CsrStatusBase + 1;
    return of <= CsrSizes;
  endfunction

  always_comb begin
    for (int b = 0; b < 4; b++) written[8*b+:8] = wstrb[b] ? wdata[8*b+:8] : setting[8*b+:8];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q <= '0;
      reg_q   <= '{default: '0};
    end else begin
      if (clearing) clear_q <= clear_q + 1'b1;
      if (here) begin
        for (int unsigned w = 0; w < Words; w++)
        if (is_setting(w) && waddr[5:0] == 6'(w)) reg_q[w] <= written;
      end
      if (flr_i) reg_q[CsrControl] <= '0;
    end
  end

  lib_ram #(
    .Width    (32),
    .Depth    (Words),
    .ByteWidth(8)
  ) u_settings (
    .clk_i,
    .we_i   ((here && is_setting(32'(waddr[5:0]))) || clearing),
    .waddr_i(clearing ? clear_q[5:0] : waddr[5:0]),
    .wbe_i  (clearing ? '1 : wstrb),
    .wdata_i(wdata),
    .re_i   (we || read),
    .raddr_i(read ? raddr[5:0] : waddr[5:0]),
    .rdata_o(setting)
  );

  assign link_o.batch_slots  = reg_q[CsrBatchSlots][15:0];
  assign link_o.batch_clocks = reg_q[CsrBatchClocks][15:0];
  assign link_o.status_base  = {reg_q[CsrStatusBase+1], reg_q[CsrStatusBase][31:6]};
  for (genvar c = 0; c < Channels; c++) begin : gen_cfg
    localparam int unsigned At = CsrChannel * (c + 1);
    assign channel_o[c].enable    = reg_q[CsrControl][c];
    assign channel_o[c].down_mask = reg_q[At+CsrSizes][15:0];
    assign channel_o[c].up_mask   = reg_q[At+CsrSizes][31:16];
    assign channel_o[c].down_base = {reg_q[At+CsrDownBase+1], reg_q[At+CsrDownBase][31:6]};
    assign channel_o[c].up_base   = {reg_q[At+CsrUpBase+1], reg_q[At+CsrUpBase][31:6]};
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned c = 0; c < Channels; c++) begin
      down_door_o[c] <= rst_ni && here && waddr[5:0] == 6'(CsrChannel * (c + 1) + CsrDownProducer);
      up_door_o[c]   <= rst_ni && here && waddr[5:0] == 6'(CsrChannel * (c + 1) + CsrUpConsumer);
    end
    door_o <= written[15:0];
  end

  // ---------------------------------------------------------------- counters
  logic [15:0] event_q;
  logic [31:0] count;
  logic [31:0] down_bytes_q[Channels];
  logic [31:0] up_bytes_q[Channels];
  always_ff @(posedge clk_i) begin
    event_q <= 16'(event_i);
    for (int unsigned c = 0; c < Channels; c++) begin
      if (!rst_ni) begin
        down_bytes_q[c] <= '0;
        up_bytes_q[c]   <= '0;
      end else begin
        if (event_i[c].down) down_bytes_q[c] <= down_bytes_q[c] + 32'(down_bytes_i[c]);
        if (event_i[c].up) up_bytes_q[c] <= up_bytes_q[c] + 32'(up_bytes_i[c]);
      end
    end
  end
  lib_counters #(
    .N    (16),
    .Width(32)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .event_i   (event_q),
    .re_i      (read && raddr[9:4] == 6'(CsrEvents / 16)),
    .index_i   (raddr[3:0]),
    .count_o   (count),
    .clearing_o(counts_clear)
  );
  logic unused_clear;
  assign unused_clear = counts_clear;

  // ---------------------------------------------------------------- reads
  // What is not asked for is 0, so an OR chooses.
  logic [1:0] chan;
  logic of_channel, count_asked_q, setting_asked_q;
  logic [3:0] at;
  logic [31:0] indices_q, fault_q, state_q, down_q, up_q, fixed_q;
  logic [Channels-1:0][2:0][31:0] told;
  assign told = told_i;
  assign chan = raddr[5:4] - 2'd1;
  assign at   = raddr[3:0];
  assign of_channel = raddr[9:6] == '0 && raddr[5:4] != '0;

  always_ff @(posedge clk_i) begin
    indices_q <= (of_channel && at == 4'(CsrIndices)) ? told[chan][0] : '0;
    fault_q   <= (of_channel && at == 4'(CsrFault)) ? told[chan][1] : '0;
    state_q   <= (of_channel && at == 4'(CsrState)) ? told[chan][2] : '0;
    down_q    <= (of_channel && at == 4'(CsrDownBytes)) ? down_bytes_q[chan] : '0;
    up_q      <= (of_channel && at == 4'(CsrUpBytes)) ? up_bytes_q[chan] : '0;
    unique case (raddr)
      10'(CsrId):      fixed_q <= IdValue;
      10'(CsrCaps):    fixed_q <= {16'(MaxFrame), 8'(Reads), 8'(Channels)};
      10'(CsrControl): fixed_q <= 32'(reg_q[CsrControl][Channels-1:0]);
      default:         fixed_q <= '0;
    endcase
    count_asked_q   <= raddr[9:4] == 6'(CsrEvents / 16);
    setting_asked_q <= raddr[9:6] == '0 && raddr != 10'(CsrControl);
  end
  assign rdata = indices_q | fault_q | state_q | down_q | up_q | fixed_q |
      (count_asked_q ? count : '0) | (setting_asked_q ? setting : '0);

endmodule
