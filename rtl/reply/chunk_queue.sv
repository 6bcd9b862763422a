// Chunks wait here for the head of their reply. What has at most 16 bytes is brought to lane 0,
// where compose expects values that stand in one line with their head. Latency 2, initiation
// interval 1.
module chunk_queue
  import wirekv_pkg::*;
  import result_pkg::*;
  import reply_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   s_valid_i,
  output logic   s_ready_o,
  input  chunk_t s_i,
  output logic   m_valid_o,
  input  logic   m_ready_i,
  output chunk_t m_o
);

  // A register behind the RAM that the bytes come from.
  logic valid_q, room;
  chunk_t chunk_q, moved;
  assign s_ready_o = !valid_q || room;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (s_ready_o) valid_q <= s_valid_i;
    if (s_valid_i && s_ready_o) chunk_q <= s_i;
  end

  logic [30:0][7:0] by16;
  logic [15:0][7:0] by1;
  lib_shift #(
    .Lanes(16)
  ) u_shift (
    .data_i (by16),
    .lanes_i(chunk_q.start[3:0]),
    .data_o (by1)
  );
  always_comb begin
    for (int unsigned i = 0; i < 31; i++)
    by16[i] = chunk_q.data[8*((16*32'(chunk_q.start[5:4])+i)%64)+:8];
    moved = chunk_q;
    if (chunk_q.len <= 7'(InnerMax)) begin
      moved.data[127:0] = by1;
      moved.start       = '0;
    end
  end

  logic [4:0] unused_level;
  lib_fifo #(
    .T    (chunk_t),
    .Depth(16)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid_q),
    .s_ready_o(room),
    .s_data_i (moved),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_o),
    .level_o  (unused_level)
  );

endmodule
