// The machine's registers. A read of `WAIT` is answered when there is work: so software waits without a loop, and a
// simulation sees that it does. All others take 1 clock.
module machine_regs
  import machine_pkg::*;
#(
  /// Bytes of RAM.
  parameter int unsigned RamBytes = 8 << 20
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         core_rst_i,
  /// Accesses: each stands until it is answered.
  input  logic         valid_i,
  input  io_req_t      req_i,
  output logic         ready_o,
  output logic [31:0]  rdata_o,
  /// What is to be read.
  input  machine_cfg_t cfg_i,
  input  logic [31:0]  time_i,
  input  logic [31:0]  accel_i,
  input  logic [31:0]  restarts_i,
  input  logic [31:0]  pio_i,
  /// A frame of the wire has found no room; how many have, which wraps.
  input  logic         drop_i,
  output logic [31:0]  dropped_o,
  /// There may be something to do: for one clock, or as long as there is.
  input  logic         event_i,
  input  logic         frame_i,
  /// A register of the register-mapped NIC is written.
  output logic         pio_we_o,
  /// The core is alive; it waits; what it says.
  output logic         alive_o,
  output logic         waits_o,
  output logic         console_valid_o,
  output logic [7:0]   console_o
);

  logic event_q, waiting, work;
  logic [31:0] clocks_q;
  assign waiting         = valid_i && !req_i.we && req_i.word == RegWait;
  assign work            = event_q || frame_i || core_rst_i;
  assign ready_o         = valid_i && (!waiting || work);
  assign waits_o         = waiting && !work;
  assign alive_o         = waiting || (valid_i && req_i.we && req_i.word == RegWatchdog);
  assign pio_we_o        = valid_i && req_i.we;
  assign console_valid_o = valid_i && req_i.we && req_i.word == RegConsole;
  assign console_o       = req_i.data[7:0];

  always_ff @(posedge clk_i) begin
    clocks_q  <= rst_ni ? clocks_q + 1'b1 : '0;
    dropped_o <= rst_ni ? dropped_o + 32'(drop_i) : '0;
    event_q   <= rst_ni && (event_i || (event_q && !(waiting && work)));
  end

  always_comb begin
    unique case (req_i.word)
      RegId:       rdata_o = MachineId;
      RegRamBytes: rdata_o = RamBytes;
      RegClocks:   rdata_o = clocks_q;
      RegTime:     rdata_o = time_i;
      RegRestarts: rdata_o = restarts_i;
      RegAccel:    rdata_o = accel_i;
      RegMacHigh:  rdata_o = cfg_i.mac[47:16];
      RegMacLow:   rdata_o = {cfg_i.mac[15:0], 16'd0};
      RegIp:       rdata_o = cfg_i.ip;
      RegNet:      rdata_o = {15'd0, cfg_i.pio, cfg_i.port};
      RegWait:     rdata_o = 32'(frame_i);
      RegDropped:  rdata_o = dropped_o;
      default:     rdata_o = pio_i;
    endcase
  end

endmodule
