// lib_commit_fifo of plain words.
module lib_commit_fifo_tb #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       s_valid_i,
  output logic                       s_ready_o,
  input  logic [Width-1:0]           s_data_i,
  input  logic                       commit_i,
  input  logic                       rollback_i,
  output logic                       m_valid_o,
  input  logic                       m_ready_i,
  output logic [Width-1:0]           m_data_o,
  output logic [$clog2(Depth+1)-1:0] free_o
);
  typedef logic [Width-1:0] word_t;
  lib_commit_fifo #(
    .T    (word_t),
    .Depth(Depth)
  ) u_dut (
    .*
  );
endmodule
