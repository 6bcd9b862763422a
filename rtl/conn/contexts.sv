// What each connection must know from one job to its next: written when the last request of a job is executed, read
// when the bytes of the next one are taken. Between the two the connection has no job on its way. Read latency 1,
// initiation interval 1.
`include "lib_assert.svh"

module contexts
  import wirekv_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
#(
  /// Connections; a power of two.
  parameter int unsigned Conns = 1024
) (
  input  logic  clk_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic  rst_ni,  // for the assertion
  // verilator lint_on UNUSEDSIGNAL
  /// A job leaves this context.
  input  logic  wr_valid_i,
  input  conn_t wr_conn_i,
  input  ctx_t  wr_i,
  /// The context stands at ctx_o from the next clock on, until another one is read.
  input  logic  rd_i,
  input  conn_t rd_conn_i,
  output ctx_t  ctx_o
);

  localparam int unsigned ConnW = $clog2(Conns);

  // The request port's has no place among the peers'.
  ctx_t peer, port_q;
  logic we;
  assign we = wr_valid_i && !wr_i.again;
  logic port_read_q;
  always_ff @(posedge clk_i) begin
    if (we && wr_conn_i == HostConn) port_q <= wr_i;
    if (rd_i) port_read_q <= rd_conn_i == HostConn;
  end

  lib_ram #(
    .Width($bits(ctx_t)),
    .Depth(Conns),
    .Ultra(1)
  ) u_peers (
    .clk_i,
    .we_i   (we && wr_conn_i != HostConn),
    .waddr_i(wr_conn_i[ConnW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i(wr_i),
    .re_i   (rd_i),
    .raddr_i(rd_conn_i[ConnW-1:0]),
    .rdata_o(peer)
  );
  assign ctx_o = port_read_q ? port_q : peer;

  `ASSERT(Apart, !(wr_valid_i && rd_i && wr_conn_i == rd_conn_i))

endmodule
