// The RISC-V machine: what its modules tell each other, and the registers that software sees (docs/MACHINE.md).
package machine_pkg;
  import wirekv_pkg::*;

  /// A line of RAM by its number.
  typedef logic [24:0] line_addr_t;

  /// A read or a write of RAM, of the lanes in `strb`.
  typedef struct packed {
    line_addr_t addr;
    line_t      data;
    strb_t      strb;
  } ram_write_t;

  /// An access of the core to a register: of the link, or else of the machine.
  typedef struct packed {
    logic        link;
    logic        we;
    logic [9:0]  word;
    logic [31:0] data;
  } io_req_t;

  /// What the machine is told of its surroundings.
  typedef struct packed {
    logic [47:0] mac;   // the first byte on the wire is the highest
    logic [31:0] ip;    // likewise
    logic [15:0] port;  // of memcached over UDP
    logic        pio;   // frames go through registers, and not by DMA
  } machine_cfg_t;

  // Registers of 32 bits, by word.
  localparam logic [9:0] RegId = 10'd0;
  localparam logic [9:0] RegRamBytes = 10'd1;
  localparam logic [9:0] RegClocks = 10'd2;
  localparam logic [9:0] RegTime = 10'd3;
  localparam logic [9:0] RegConsole = 10'd4;
  localparam logic [9:0] RegWatchdog = 10'd5;
  localparam logic [9:0] RegRestarts = 10'd6;
  localparam logic [9:0] RegAccel = 10'd7;
  localparam logic [9:0] RegMacHigh = 10'd8;
  localparam logic [9:0] RegMacLow = 10'd9;
  localparam logic [9:0] RegIp = 10'd10;
  localparam logic [9:0] RegNet = 10'd11;
  localparam logic [9:0] RegWait = 10'd12;
  localparam logic [9:0] RegDropped = 10'd13;
  localparam logic [9:0] RegRxStatus = 10'd16;
  localparam logic [9:0] RegRxPop = 10'd17;
  localparam logic [9:0] RegTxPush = 10'd18;
  localparam logic [9:0] RegTxRoom = 10'd19;
  // A line of sixteen words each.
  localparam logic [9:0] RegRxLine = 10'd32;
  localparam logic [9:0] RegTxLine = 10'd48;
  localparam logic [31:0] MachineId = 32'h4B4D_0001;
  /// In RegAccel: the co-processor is rtl/aside.
  localparam logic [31:0] AccelAside = 32'h4153_0001;

  /// Bytes of a line from its lanes, which are the low ones.
  function automatic logic [6:0] lanes(input strb_t keep);
    logic [6:0] count;
    count = '0;
    for (int unsigned n = 0; n < 64; n++) if (keep[n]) count = 7'(n + 1);
    return count;
  endfunction
endpackage
