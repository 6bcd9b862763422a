// Byte concatenator: appends the bytes of each chunk and gives them out as 64-byte lines. Latency 3,
// initiation interval 1; at most one clock more where a last chunk overflows into a second line.
//
// A line comes out as soon as its lane 63 is filled, and the rest at the last chunk. A packet of 0
// bytes gives one line without a valid lane; so does a last chunk of 0 bytes behind a full line.
module lib_join #(
  /// As lib_pack's.
  parameter bit Register = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Chunks: len bytes, 0..64, from lane start of data on; lane 0 follows lane 63.
  input  logic         s_valid_i,
  output logic         s_ready_o,
  input  logic [511:0] s_data_i,
  input  logic [5:0]   s_start_i,
  input  logic [6:0]   s_len_i,
  /// First chunk of a packet: its first byte goes to lane s_offset_i.
  input  logic         s_first_i,
  input  logic [5:0]   s_offset_i,
  /// Last chunk of a packet.
  input  logic         s_last_i,
  /// Lines; strb marks the valid lanes.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output logic [511:0] m_data_o,
  output logic [63:0]  m_strb_o,
  output logic         m_last_o
);

  logic [6:0] unused_end;

  lib_pack #(
    .Register(Register)
  ) u_pack (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .s_start_i,
    .s_len_i,
    .s_first_i,
    .s_offset_i,
    .s_last_i,
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .m_strb_o,
    .m_end_o(unused_end),
    .m_last_o
  );

endmodule
