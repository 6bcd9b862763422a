// The core's buses, the NIC's AXI4 port and the loader on one small RAM.
module memory_tb
  import wirekv_pkg::*;
  import machine_pkg::*;
#(
  parameter int unsigned RamBytes = 65536,
  parameter int unsigned RomBytes = 4096
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  line_addr_t  load_addr_i,
  input  line_t       load_data_i,
  input  logic        i_stb_i,
  input  logic [29:0] i_adr_i,
  output logic        i_ack_o,
  output logic        i_err_o,
  input  logic        d_stb_i,
  input  logic        d_we_i,
  input  logic [29:0] d_adr_i,
  input  logic [3:0]  d_sel_i,
  input  logic [31:0] d_dat_i,
  input  logic        d_more_i,
  output logic        d_ack_o,
  output logic        d_err_o,
  output logic [31:0] dat_o,
  output logic        io_valid_o,
  output logic [43:0] io_o,
  input  logic        io_ready_i,
  input  logic [31:0] io_rdata_i,
  input  logic [2:0]  s_axi_awid,
  input  logic [31:0] s_axi_awaddr,
  input  logic [7:0]  s_axi_awlen,
  input  logic [2:0]  s_axi_awsize,
  input  logic [1:0]  s_axi_awburst,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  line_t       s_axi_wdata,
  input  strb_t       s_axi_wstrb,
  input  logic        s_axi_wlast,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  output logic [2:0]  s_axi_bid,
  output logic [1:0]  s_axi_bresp,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  input  logic [5:0]  s_axi_arid,
  input  logic [31:0] s_axi_araddr,
  input  logic [7:0]  s_axi_arlen,
  input  logic [2:0]  s_axi_arsize,
  input  logic [1:0]  s_axi_arburst,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  output logic [5:0]  s_axi_rid,
  output line_t       s_axi_rdata,
  output logic [1:0]  s_axi_rresp,
  output logic        s_axi_rlast,
  output logic        s_axi_rvalid,
  input  logic        s_axi_rready,
  output logic        written_o,
  output logic        idle_o
);

  logic core_re, core_we, dma_re, dma_rready, dma_we, dma_wready;
  line_addr_t core_raddr, dma_raddr;
  ram_write_t core_write, dma_write;
  line_t ram_rdata;
  io_req_t io;
  assign io_o = io;

  machine_bus #(
    .RamBytes(RamBytes),
    .RomBytes(RomBytes)
  ) u_bus (
    .re_o   (core_re),
    .raddr_o(core_raddr),
    .rdata_i(ram_rdata),
    .we_o   (core_we),
    .write_o(core_write),
    .io_o   (io),
    .*
  );
  machine_dma #(
    .RamBytes(RamBytes),
    .RomBytes(RomBytes)
  ) u_dma (
    .s_axi_awaddr(64'(s_axi_awaddr)),
    .s_axi_araddr(64'(s_axi_araddr)),
    .re_o        (dma_re),
    .rready_i    (dma_rready),
    .raddr_o     (dma_raddr),
    .rdata_i     (ram_rdata),
    .we_o        (dma_we),
    .wready_i    (dma_wready),
    .write_o     (dma_write),
    .*
  );
  machine_ram #(
    .Bytes(RamBytes)
  ) u_ram (
    .clk_i,
    .core_re_i   (core_re),
    .core_raddr_i(core_raddr),
    .core_we_i   (core_we),
    .core_write_i(core_write),
    .dma_re_i    (dma_re),
    .dma_rready_o(dma_rready),
    .dma_raddr_i (dma_raddr),
    .dma_we_i    (dma_we),
    .dma_wready_o(dma_wready),
    .dma_write_i (dma_write),
    .rdata_o     (ram_rdata)
  );

endmodule
