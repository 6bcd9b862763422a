// lib_arb of plain words; the data of all sources side by side in one port.
module lib_arb_tb #(
  parameter int unsigned N = 3
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [N-1:0]         s_valid_i,
  output logic [N-1:0]         s_ready_o,
  input  logic [N*32-1:0]      s_data_i,
  input  logic [N-1:0]         s_last_i,
  output logic                 m_valid_o,
  input  logic                 m_ready_i,
  output logic [31:0]          m_data_o,
  output logic                 m_last_o,
  output logic [$clog2(N)-1:0] m_idx_o
);
  typedef logic [31:0] word_t;
  lib_arb #(
    .T(word_t),
    .N(N)
  ) u_dut (
    .*
  );
endmodule
