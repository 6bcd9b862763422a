// lib_align, seen through one lane of its output: the bytes of a packet behind those that are
// stripped come out there, each once, in order, with their value and inside their own packet; beats
// inside a packet are whole, every packet ends once, and nothing stays inside. A byte is one bit
// wide: lib_align moves all its bits alike.
`include "fv.svh"
`include "lib_assert.svh"

module lib_align_fv #(
  parameter int Lane = 0
) (
  input logic        clk_i,
  input logic        s_valid_i,
  input logic [63:0] s_bits_i,
  input logic [6:0]  s_len_i,
  input logic        s_last_i,
  input logic [5:0]  s_skip_i,
  input logic        m_ready_i,
  input logic        choose_i
);
  `FV_RESET
  `FV_ASSUME(Beats, s_len_i == 7'd64 || (s_last_i && s_len_i < 7'd64))

  logic s_ready, m_valid, m_last;
  logic [511:0] s_data, m_data;
  logic [6:0] m_len;
  always_comb for (int i = 0; i < 64; i++) s_data[8*i+:8] = 8'(s_bits_i[i]);
  lib_align dut (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && rst_ni),
    .s_ready_o(s_ready),
    .s_data_i (s_data),
    .s_len_i,
    .s_last_i,
    .s_skip_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m_data),
    .m_len_o  (m_len),
    .m_last_o (m_last)
  );

  // ------------------------------------------------ the lane's bytes
  logic open_q;  // inside a packet
  logic [5:0] skip_q, skip, from;  // where the lane's byte is in a beat
  logic accept, out, in_any, out_any, out_end;
  assign skip    = open_q ? skip_q : s_skip_i;
  assign from    = 6'(Lane) + skip;
  assign accept  = rst_ni && s_valid_i && s_ready;
  assign out     = rst_ni && m_valid && m_ready_i;
  assign in_any  = accept && (open_q || from >= skip) && 7'(from) < s_len_i;
  assign out_any = out && 7'(Lane) < m_len;
  assign out_end = out && m_last;

  // A byte chosen by the prover, and what is before it.
  logic [3:0] bytes_q, packets_q, bytes_ahead_q, packets_ahead_q;
  logic [2:0] quiet_q;  // clocks without a beat, and with room for what comes out
  logic seen_q, value_q, begun_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      bytes_q   <= '0;
      packets_q <= '0;
      quiet_q   <= '0;
      seen_q    <= 1'b0;
      begun_q   <= 1'b0;
    end else begin
      if (accept) begin
        open_q <= !s_last_i;
        skip_q <= skip;
      end
      bytes_q   <= bytes_q + 4'(in_any) - 4'(out_any);
      packets_q <= packets_q + 4'(accept && s_last_i) - 4'(out_end);
      if (s_valid_i) quiet_q <= '0;
      else if (m_ready_i && quiet_q != '1) quiet_q <= quiet_q + 1'b1;
      if (out) begun_q <= !m_last;
      if (in_any && choose_i && !seen_q) begin
        seen_q          <= 1'b1;
        value_q         <= s_bits_i[from];
        bytes_ahead_q   <= bytes_q - 4'(out_any);
        packets_ahead_q <= packets_q - 4'(out_end);
      end else if (seen_q) begin
        if (out_any) begin
          seen_q        <= bytes_ahead_q != '0;
          bytes_ahead_q <= bytes_ahead_q - 1'b1;
        end
        if (out_end) packets_ahead_q <= packets_ahead_q - 1'b1;
      end
    end
  end

  logic due;
  assign due = seen_q && out_any && bytes_ahead_q == '0;
  `ASSERT(Value, !due || m_data[8*Lane] == value_q)
  `ASSERT(Packet, !due || packets_ahead_q == '0)
  `ASSERT(NotLate, !(seen_q && out_end && packets_ahead_q == '0) || due)
  `ASSERT(NothingInvented, !out_any || bytes_q != '0)
  `ASSERT(EndsOnce, !out_end || packets_q != '0)
  `ASSERT(Lines, !m_valid || m_len == 7'd64 || (m_last && m_len < 7'd64))
  `ASSERT(OneEmpty, !m_valid || m_len != '0 || !begun_q)
  `ASSERT(Late, quiet_q < 3'd5 || open_q || (bytes_q == '0 && packets_q == '0))

  // Reached
  `FV_COVER(Cuts, due && skip_q != '0)
  `FV_COVER(Long, open_q && accept && s_last_i && seen_q)
  `FV_COVER(CutsAll, out_end && m_len == '0)
  `FV_COVER(Next, due && packets_q == 4'd2)
  `FV_COVER(Waits, m_valid && !m_ready_i && !s_ready)
  `FV_COVER(Rests, quiet_q == 3'd6 && !open_q)
endmodule
