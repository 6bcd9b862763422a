// The machine's RAM in lines of 64 bytes: a read and a write in each clock. The core comes first; it takes every other clock
// of a port at most, so nobody waits for long. Latency 1 from a read that is taken.
module machine_ram
  import wirekv_pkg::*;
  import machine_pkg::*;
#(
  /// Bytes, a power of two from 64 KiB to 1 GiB.
  parameter int unsigned Bytes = 8 << 20
) (
  input  logic       clk_i,
  /// Reads and writes of the core: taken at once.
  input  logic       core_re_i,
  input  line_addr_t core_raddr_i,
  input  logic       core_we_i,
  input  ram_write_t core_write_i,
  /// Those of the NIC.
  input  logic       dma_re_i,
  output logic       dma_rready_o,
  input  line_addr_t dma_raddr_i,
  input  logic       dma_we_i,
  output logic       dma_wready_o,
  input  ram_write_t dma_write_i,
  /// What was read.
  output line_t      rdata_o
);

  if (Bytes < 65536 || Bytes > 1 << 30 || 1 << $clog2(Bytes) != Bytes) begin : gen_bad_bytes
    $error("%m: Bytes must be a power of two from 65,536 to 2^30");
  end
  localparam int unsigned Lines = Bytes / 64;
  localparam int unsigned AddrW = $clog2(Lines);

  ram_write_t write;
  assign dma_rready_o = !core_re_i;
  assign dma_wready_o = !core_we_i;
  assign write        = core_we_i ? core_write_i : dma_write_i;

  lib_ram #(
    .Width    (512),
    .Depth    (Lines),
    .ByteWidth(8)
  ) u_ram (
    .clk_i,
    .we_i   (core_we_i || dma_we_i),
    .waddr_i(AddrW'(write.addr)),
    .wbe_i  (write.strb),
    .wdata_i(write.data),
    .re_i   (core_re_i || dma_re_i),
    .raddr_i(AddrW'(core_re_i ? core_raddr_i : dma_raddr_i)),
    .rdata_o
  );

endmodule
