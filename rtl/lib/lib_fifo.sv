// First-word fall-through FIFO. Latency 1 (Depth <= 32) or 2 (block RAM), initiation interval 1.
module lib_fifo #(
  /// Type of a word.
  parameter type T = logic,
  /// Words stored; 2 or more. Up to 32 use distributed RAM.
  parameter int unsigned Depth = 16
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Stream in.
  input  logic                       s_valid_i,
  output logic                       s_ready_o,
  input  T                           s_data_i,
  /// Stream out.
  output logic                       m_valid_o,
  input  logic                       m_ready_i,
  output T                           m_data_o,
  /// Words stored, the one at the output included.
  output logic [$clog2(Depth+1)-1:0] level_o
);

  logic [$clog2(Depth+1)-1:0] free;
  assign level_o = $clog2(Depth + 1)'(Depth) - free;

  // Every word is committed as it is pushed.
  lib_cfifo #(
    .T    (T),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .commit_i  (1'b1),
    .rollback_i(1'b0),
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .free_o    (free)
  );

endmodule
