// The machine's RAM as the memory of rtl/link: an AXI4 slave with a burst of reads and one of writes at a time, of which the
// master takes every beat and answer at once. Before the core runs, its program is written here. Latency 2 from an address
// to the first beat, a beat each clock that the core leaves.
module machine_dma
  import wirekv_pkg::*;
  import machine_pkg::*;
#(
  /// Bytes of RAM; of these the first are the program's and are not written by a NIC.
  parameter int unsigned RamBytes = 8 << 20,
  parameter int unsigned RomBytes = 65536
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// A line of a program.
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  line_addr_t  load_addr_i,
  input  line_t       load_data_i,
  /// AXI4, see link.sv.
  input  logic [2:0]  s_axi_awid,
  input  logic [63:0] s_axi_awaddr,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  line_t       s_axi_wdata,
  input  logic        s_axi_wlast,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  output logic [2:0]  s_axi_bid,
  output logic [1:0]  s_axi_bresp,
  output logic        s_axi_bvalid,
  input  logic [5:0]  s_axi_arid,
  input  logic [63:0] s_axi_araddr,
  input  logic [7:0]  s_axi_arlen,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  output logic [5:0]  s_axi_rid,
  output line_t       s_axi_rdata,
  output logic [1:0]  s_axi_rresp,
  output logic        s_axi_rlast,
  output logic        s_axi_rvalid,
  /// RAM.
  output logic        re_o,
  input  logic        rready_i,
  output line_addr_t  raddr_o,
  input  line_t       rdata_i,
  output logic        we_o,
  input  logic        wready_i,
  output ram_write_t  write_o,
  /// A burst was written.
  output logic        written_o,
  /// Nothing is under way.
  output logic        idle_o
);

  function automatic logic outside(input logic [63:0] addr, input logic write);
    return addr >= 64'(RamBytes) || (write && addr < 64'(RomBytes));
  endfunction

  // ---------------------------------------------------------------- reads
  logic reading_q, read_bad_q;
  logic [7:0] left_q;
  assign s_axi_arready = !reading_q;
  assign re_o          = reading_q;
  assign s_axi_rdata   = rdata_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q    <= 1'b0;
      s_axi_rvalid <= 1'b0;
    end else begin
      reading_q    <= reading_q ? !(rready_i && left_q == '0) : s_axi_arvalid;
      s_axi_rvalid <= reading_q && rready_i;
    end
    if (!reading_q) begin
      raddr_o    <= s_axi_araddr[30:6];
      left_q     <= s_axi_arlen;
      read_bad_q <= outside(s_axi_araddr, 1'b0);
    end else if (rready_i) begin
      raddr_o <= raddr_o + 1'b1;
      left_q  <= left_q - 1'b1;
    end
    // The id stands for the burst, which ends a clock behind its last read.
    if (reading_q) begin
      s_axi_rlast <= left_q == '0;
      s_axi_rresp <= {read_bad_q, 1'b0};
    end
  end
  logic [5:0] rid_q;
  always_ff @(posedge clk_i) begin
    if (!reading_q) rid_q <= s_axi_arid;
    s_axi_rid <= rid_q;
  end

  // ---------------------------------------------------------------- writes
  // A program's lines come when no burst is there: the core, which sets up the NIC, does not run yet.
  logic writing_q, write_bad_q, beat;
  logic [24:0] waddr_q;
  assign s_axi_awready = !writing_q && !load_valid_i;
  assign s_axi_wready  = writing_q && wready_i;
  assign load_ready_o  = !writing_q && wready_i;
  assign beat          = s_axi_wvalid && s_axi_wready;
  assign we_o          = writing_q ? s_axi_wvalid && !write_bad_q : load_valid_i;
  assign write_o.addr  = writing_q ? waddr_q : load_addr_i;
  assign write_o.data  = writing_q ? s_axi_wdata : load_data_i;
  assign write_o.strb  = '1;
  assign s_axi_bresp   = {write_bad_q, 1'b0};
  assign written_o     = s_axi_bvalid;
  assign idle_o        = !writing_q && !reading_q && !s_axi_bvalid && !s_axi_rvalid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q    <= 1'b0;
      s_axi_bvalid <= 1'b0;
    end else begin
      writing_q    <= writing_q ? !(beat && s_axi_wlast) : s_axi_awvalid && s_axi_awready;
      s_axi_bvalid <= beat && s_axi_wlast;
    end
    if (!writing_q) begin
      waddr_q <= s_axi_awaddr[30:6];
      if (s_axi_awvalid && s_axi_awready) begin
        s_axi_bid   <= s_axi_awid;
        write_bad_q <= outside(s_axi_awaddr, 1'b1);
      end
    end else if (beat) waddr_q <= waddr_q + 1'b1;
  end

endmodule
