// link_unframe, seen through one lane of its output: a frame's bytes come out there in order, each once, with their value
// and inside their own frame; beats inside a frame are whole, and every frame ends once. A byte is one bit wide.
`include "fv.svh"
`include "lib_assert.svh"

module link_unframe_fv
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  parameter int Lane = 0
) (
  input logic        clk_i,
  input logic        s_valid_i,
  input logic [63:0] s_bits_i,
  input bytes_t      bytes_i,
  input logic        room_i,
  input logic        m_ready_i,
  input logic        choose_i
);
  `FV_RESET

  // Slots of frames: the first one has the length, and as many follow as it needs.
  logic [8:0] left_q;  // slots that follow
  bytes_t at_q, bytes_q;  // the first byte's place in the frame, minus 60 in the first slot
  logic first, accept, s_ready;
  line_t slot;
  assign first  = left_q == '0;
  assign accept = rst_ni && s_valid_i && s_ready;
  `FV_ASSUME(Lengths, bytes_i != '0 && bytes_i <= 14'd260)
  always_comb begin
    for (int i = 0; i < 64; i++) slot[8*i+:8] = 8'(s_bits_i[i]);
    if (first) slot[31:0] = {18'd0, bytes_i};
  end

  logic m_valid, idle;
  axis_t m;
  link_unframe dut (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && rst_ni),
    .s_ready_o(s_ready),
    .s_data_i (slot),
    .room_i,
    .m_valid_o(m_valid),
    .m_ready_i,
    .m_data_o (m),
    .idle_o   (idle)
  );

  // The bytes of a slot that belong to the lane: those whose place in the frame is Lane modulo 64. In a first slot that
  // is at lane Lane + 4 if there is one; in others the byte of the beat before, or of this one.
  localparam int unsigned From = (Lane + 4) % 64;
  bytes_t place;  // in the frame, of the slot's byte that goes to the lane
  logic in_any, out_any, out_end;
  assign place   = first ? bytes_t'(From) - 14'd4 : at_q + bytes_t'(From);
  assign in_any  = accept && !(first && From < 4) && place < (first ? bytes_i : bytes_q);
  assign out_any = rst_ni && m_valid && m_ready_i && m.keep[Lane];
  assign out_end = rst_ni && m_valid && m_ready_i && m.last;

  logic [3:0] count_q, frames_q, ahead_q, frames_ahead_q;
  logic [2:0] quiet_q;
  logic seen_q, value_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q   <= '0;
      count_q  <= '0;
      frames_q <= '0;
      quiet_q  <= '0;
      seen_q   <= 1'b0;
    end else begin
      if (accept) begin
        left_q <= first ? more_slots(bytes_i) : left_q - 1'b1;
        at_q   <= first ? 14'd60 : at_q + 14'd64;
        if (first) bytes_q <= bytes_i;
      end
      count_q  <= count_q + 4'(in_any) - 4'(out_any);
      frames_q <= frames_q + 4'(accept && first) - 4'(out_end);
      if (s_valid_i) quiet_q <= '0;
      else if (m_ready_i && quiet_q != '1) quiet_q <= quiet_q + 1'b1;
      if (in_any && choose_i && !seen_q) begin
        seen_q         <= 1'b1;
        value_q        <= s_bits_i[From];
        ahead_q        <= count_q - 4'(out_any);
        frames_ahead_q <= frames_q - 4'(out_end) - 4'(!first);
      end else if (seen_q) begin
        if (out_any) begin
          seen_q  <= ahead_q != '0;
          ahead_q <= ahead_q - 1'b1;
        end
        if (out_end) frames_ahead_q <= frames_ahead_q - 1'b1;
      end
    end
  end

  logic due;
  assign due = seen_q && out_any && ahead_q == '0;
  `ASSERT(Value, !due || m.data[8*Lane] == value_q)
  `ASSERT(Frame, !due || frames_ahead_q == '0)
  `ASSERT(NotLate, !(seen_q && out_end && frames_ahead_q == '0) || due)
  `ASSERT(NothingInvented, !out_any || count_q != '0)
  `ASSERT(EndsOnce, !out_end || frames_q != '0)
  `ASSERT(Lines, !m_valid || (m.keep[0] && (m.last || m.keep[63])))
  `ASSERT(Late, quiet_q < 3'd4 || left_q != '0 || (count_q == '0 && frames_q == '0 && idle))

  // Reached
  `FV_COVER(Long, due && !first)
  `FV_COVER(Next, due && frames_q == 4'd2)
  `FV_COVER(Waits, m_valid && !m_ready_i && !s_ready)
  `FV_COVER(NoRoom, s_valid_i && first && !s_ready && m_ready_i)
  `FV_COVER(Rests, quiet_q == 3'd5 && left_q == '0)
endmodule
