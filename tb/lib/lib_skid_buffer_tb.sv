// lib_skid_buffer of plain words.
module lib_skid_buffer_tb #(
  parameter int unsigned Width = 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             s_valid_i,
  output logic             s_ready_o,
  input  logic [Width-1:0] s_data_i,
  output logic             m_valid_o,
  input  logic             m_ready_i,
  output logic [Width-1:0] m_data_o
);
  typedef logic [Width-1:0] word_t;
  lib_skid_buffer #(.T(word_t)) u_dut (.*);
endmodule
