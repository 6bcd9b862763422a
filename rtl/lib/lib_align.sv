// Strips the first bytes of each packet and moves the rest to lane 0. Latency 3, initiation
// interval 1.
//
// A packet that becomes empty gives one beat of length 0.
module lib_align (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Packets; len is 64 in every beat but the last.
  input  logic         s_valid_i,
  output logic         s_ready_o,
  input  logic [511:0] s_data_i,
  input  logic [6:0]   s_len_i,
  input  logic         s_last_i,
  /// Bytes to strip, taken with the first beat.
  input  logic [5:0]   s_skip_i,
  /// Packets.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output logic [511:0] m_data_o,
  output logic [6:0]   m_len_o,
  output logic         m_last_o
);

  logic first_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (s_valid_i && s_ready_o) first_q <= s_last_i;
  end

  logic [5:0] start;
  logic [6:0] len;
  assign start = first_q ? s_skip_i : '0;
  assign len   = (s_len_i > {1'b0, start}) ? s_len_i - {1'b0, start} : '0;

  logic [63:0] unused_strb;

  lib_pack u_pack (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .s_start_i (start),
    .s_len_i   (len),
    .s_first_i (first_q),
    .s_offset_i('0),
    .s_last_i,
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .m_strb_o  (unused_strb),
    .m_end_o   (m_len_o),
    .m_last_o
  );

endmodule
