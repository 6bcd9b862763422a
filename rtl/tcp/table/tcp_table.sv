// The connection table: the words of a connection, one RAM each, which tcp_tcb alone owns. Latency
// 1, initiation interval 1. A word must not be read in the clock in which it is written.
`include "lib_assert.svh"

module tcp_table
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// The table is cleared after reset.
  output logic                     ready_o,
  input  logic                     read_i,
  input  logic [$clog2(Conns)-1:0] read_id_i,
  output tcb_t                     tcb_o,
  output peer_t                    peer_o,
  output silence_t                 silence_o,
  /// finish: the word. Zeros until the table is cleared: it is these that are written.
  input  logic                     write_i,
  input  logic [$clog2(Conns)-1:0] write_id_i,
  input  tcb_t                     tcb_i,
  /// Where the connection's segments go: to the sender of the last one that fitted.
  input  logic                     write_peer_i,
  input  peer_t                    peer_i,
  /// How long nothing was heard. Written before the connection leaves the pipe.
  input  logic                     write_silence_i,
  input  logic [$clog2(Conns)-1:0] silence_id_i,
  input  silence_t                 silence_i
);

  localparam int unsigned IdW = $clog2(Conns);

  logic [IdW:0] clear_q;
  assign ready_o = clear_q[IdW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!ready_o) clear_q <= clear_q + 1'b1;
  end

  lib_ram #(
    .Width($bits(tcb_t)),
    .Depth(Conns)
  ) u_tcb (
    .clk_i,
    .we_i   (write_i || !ready_o),
    .waddr_i(ready_o ? write_id_i : clear_q[IdW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i(tcb_i),
    .re_i   (read_i),
    .raddr_i(read_id_i),
    .rdata_o(tcb_o)
  );

  lib_ram #(
    .Width($bits(peer_t)),
    .Depth(Conns)
  ) u_peer (
    .clk_i,
    .we_i   (write_peer_i),
    .waddr_i(write_id_i),
    .wbe_i  (1'b1),
    .wdata_i(peer_i),
    .re_i   (read_i),
    .raddr_i(read_id_i),
    .rdata_o(peer_o)
  );

  lib_ram #(
    .Width($bits(silence_t)),
    .Depth(Conns)
  ) u_silence (
    .clk_i,
    .we_i   (write_silence_i),
    .waddr_i(silence_id_i),
    .wbe_i  (1'b1),
    .wdata_i(silence_i),
    .re_i   (read_i),
    .raddr_i(read_id_i),
    .rdata_o(silence_o)
  );

  `ASSERT(Clears, ready_o || tcb_i == '0)

endmodule
