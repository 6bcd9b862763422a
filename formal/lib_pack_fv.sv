// lib_pack, the core of lib_join, seen through one lane that the prover chooses: the bytes that
// belong there come out there, each once, in order and with their value; as many packets end as
// began; a line inside a packet is filled to its last lane.
`include "fv.svh"
`include "lib_assert.svh"

module lib_pack_fv
  import lib_pkg::*;
#(
  /// The lane, whose values are then proved too; -1: any lane, without values.
  parameter int Lane = -1
) (
  input logic         clk_i,
  input logic         s_valid_i,
  input logic [511:0] s_data_i,
  input logic [5:0]   s_start_i,
  input logic [6:0]   s_len_i,
  input logic [5:0]   s_offset_i,
  input logic         s_last_i,
  input logic         m_ready_i,
  input logic         choose_i
);
  `FV_RESET

  logic open_q;  // inside a packet
  logic s_ready, m_valid, m_last;
  logic [511:0] m_data;
  logic [63:0] m_strb;
  logic [6:0] m_end;
  lib_pack dut (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o (s_ready),
    .s_data_i,
    .s_start_i,
    .s_len_i,
    .s_first_i (!open_q),
    .s_offset_i,
    .s_last_i,
    .m_valid_o (m_valid),
    .m_ready_i,
    .m_data_o  (m_data),
    .m_strb_o  (m_strb),
    .m_end_o   (m_end),
    .m_last_o  (m_last)
  );
  `FV_ASSUME(Legal, s_len_i <= 7'd64)

  // ------------------------------------------------ the chosen lane
  logic [5:0] any_q, lane_q;
  always_ff @(posedge clk_i) any_q <= any_q;
  assign lane_q = (Lane < 0) ? any_q : 6'(Lane);

  function automatic logic [7:0] byte_of(input logic [511:0] data, input logic [5:0] lane);
    return 8'(data >> {lane, 3'b000});
  endfunction

  // Its byte, if the chunk at the input has one: in the first line or in the next.
  logic in_one, in_two, in_any;
  logic [5:0] in_lane;
  logic [6:0] in_stop;
  logic [7:0] in_byte;
  assign in_lane = open_q ? dut.lane_q : s_offset_i;
  assign in_stop = {1'b0, in_lane} + s_len_i;
  assign in_one  = lane_q >= in_lane && {1'b0, lane_q} < in_stop;
  assign in_two  = {1'b1, lane_q} < in_stop;
  assign in_any  = in_one || in_two;
  assign in_byte = byte_of(rotl_bytes(s_data_i, in_lane - s_start_i), lane_q);

  // The two lines that the output register can hold.
  typedef struct packed {
    logic [511:0] data;
    logic [63:0]  strb;
    logic [6:0]   stop;
    logic         last;
  } line_t;
  line_t head, second;
  assign head   = dut.gen_register.u_out.mem_q[dut.gen_register.u_out.head_q];
  assign second = dut.gen_register.u_out.mem_q[!dut.gen_register.u_out.head_q];

  // Where bytes for the lane are, the oldest first.
  logic [5:0] there;
  logic [5:0][7:0] bytes;
  logic live_q;  // the line in acc_q goes on
  assign there[0] = dut.gen_register.u_out.valid_q && head.strb[lane_q];
  assign there[1] = !dut.gen_register.u_out.room_q && second.strb[lane_q];
  assign there[2] = (dut.full_q || live_q) && dut.acc_q.strb[lane_q];
  assign there[3] = dut.turn_valid_q && dut.turn_strb_q[lane_q];
  assign there[4] = dut.turn_valid_q && dut.turn_over_strb_q[lane_q];
  assign there[5] = dut.place_valid_q &&
                    ((lane_q >= dut.place_lane_q && {1'b0, lane_q} < dut.place_stop_q) ||
                     {1'b1, lane_q} < dut.place_stop_q);
  assign bytes[0] = byte_of(head.data, lane_q);
  assign bytes[1] = byte_of(second.data, lane_q);
  assign bytes[2] = byte_of(dut.acc_q.data, lane_q);
  assign bytes[3] = byte_of(dut.turn_data_q, lane_q);
  assign bytes[4] = bytes[3];
  assign bytes[5] = byte_of(rotl_bytes(dut.place_data_q, dut.place_turn_q), lane_q);

  // ------------------------------------------------ a byte chosen by the prover, and counts
  logic [3:0] bytes_q, packets_q;  // in flight
  logic seen_q;
  logic [7:0] byte_q;
  logic [3:0] ahead_q;
  logic push, pop, out;
  assign push = s_valid_i && s_ready;
  assign pop  = m_valid && m_ready_i;
  assign out  = pop && m_strb[lane_q];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      live_q    <= 1'b0;
      seen_q    <= 1'b0;
      bytes_q   <= '0;
      packets_q <= '0;
    end else begin
      if (push) open_q <= !s_last_i;
      if (dut.take) live_q <= !dut.turn_last_q;
      bytes_q   <= bytes_q + 4'(push && in_any) - 4'(out);
      packets_q <= packets_q + 4'(push && s_last_i) - 4'(pop && m_last);
      if (push && in_any && choose_i && !seen_q) begin
        seen_q  <= 1'b1;
        byte_q  <= in_byte;
        ahead_q <= bytes_q - 4'(out);
      end else if (seen_q && out) begin
        seen_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
    end
  end

  `ASSERT(Lines, !m_valid || m_last || m_strb[63])
  `ASSERT(End, !(m_valid && m_strb[lane_q]) || {1'b0, lane_q} < m_end)

  // ------------------------------------------------ invariants
  logic [5:0][3:0] older;
  assign older[0] = '0;
  for (genvar i = 1; i < 6; i++) begin : gen_before
    assign older[i] = older[i-1] + 4'(there[i-1]);
  end
  if (Lane >= 0) begin : gen_values
    logic due;
    assign due = seen_q && m_valid && m_strb[lane_q] && ahead_q == '0;
    `ASSERT(Value, !due || byte_of(m_data, lane_q) == byte_q)
    for (genvar i = 0; i < 6; i++) begin : gen_held
      `ASSERT(Held, !(seen_q && there[i] && ahead_q == older[i]) || bytes[i] == byte_q)
    end
  end
  `ASSERT(Bytes, bytes_q == older[5] + 4'(there[5]))
  `ASSERT(Seen, !seen_q || ahead_q < bytes_q)
  logic [4:0] ends;  // of packets, in the stages
  assign ends[0] = dut.gen_register.u_out.valid_q && head.last;
  assign ends[1] = !dut.gen_register.u_out.room_q && second.last;
  assign ends[2] = dut.full_q && dut.acc_q.last;
  assign ends[3] = dut.turn_valid_q && dut.turn_last_q;
  assign ends[4] = dut.place_valid_q && dut.place_last_q;
  `ASSERT(Packets, packets_q == 4'($countones(ends)))
  `ASSERT(Second, dut.gen_register.u_out.room_q || dut.gen_register.u_out.valid_q)
  `ASSERT(LineOut, !dut.gen_register.u_out.valid_q || head.last || head.strb[63])
  `ASSERT(LineSecond, dut.gen_register.u_out.room_q || second.last || second.strb[63])
  `ASSERT(LineFull, !dut.full_q || dut.acc_q.last || dut.acc_q.strb[63])
  `ASSERT(StopFull, !dut.full_q || dut.acc_q.last || dut.acc_q.stop == 7'd64)
  `ASSERT(EndOut, !there[0] || {1'b0, lane_q} < head.stop)
  `ASSERT(EndSecond, !there[1] || {1'b0, lane_q} < second.stop)
  `ASSERT(EndAcc, !there[2] || {1'b0, lane_q} < dut.acc_q.stop)
  // Which chunk is a packet's first, and where a chunk begins, follow from the one before it.
  logic turn_open;
  logic [5:0] turn_next;
  assign turn_open = dut.turn_valid_q ? !dut.turn_last_q : live_q;
  assign turn_next = dut.turn_valid_q ? dut.turn_stop_q[5:0] : dut.acc_q.stop[5:0];
  `ASSERT(FirstTurn, !dut.turn_valid_q || dut.turn_first_q == !live_q)
  `ASSERT(FirstPlace, !dut.place_valid_q || dut.place_first_q == !turn_open)
  `ASSERT(FirstIn, open_q == (dut.place_valid_q ? !dut.place_last_q : turn_open))
  `ASSERT(LaneTurn, !(dut.turn_valid_q && live_q) || dut.turn_lane_q == dut.acc_q.stop[5:0])
  `ASSERT(LanePlace, !(dut.place_valid_q && turn_open) || dut.place_lane_q == turn_next)
  logic [5:0] place_next;
  assign place_next = dut.place_valid_q ? dut.place_stop_q[5:0] : turn_next;
  `ASSERT(LaneIn, !open_q || dut.lane_q == place_next)
  `ASSERT(FullOrLive, !(dut.full_q && live_q) || !dut.acc_q.last)
  `ASSERT(FullLast, !(dut.full_q && !live_q) || dut.acc_q.last)
  // A line that was sent whole leaves nothing behind.
  `ASSERT(Sent, !(live_q && !dut.full_q && dut.acc_q.stop[6]) || !dut.acc_q.strb[lane_q])
  `ASSERT(StopRange, dut.acc_q.stop <= 7'd64 || !(live_q || dut.full_q))
  // What the stages have worked out.
  logic turn_one, turn_two;
  assign turn_one = lane_q >= dut.turn_lane_q && {1'b0, lane_q} < dut.turn_stop_q;
  assign turn_two = {1'b1, lane_q} < dut.turn_stop_q;
  `ASSERT(StrobeOne, !dut.turn_valid_q || dut.turn_strb_q[lane_q] == turn_one)
  `ASSERT(StrobeTwo, !dut.turn_valid_q || dut.turn_over_strb_q[lane_q] == turn_two)
  `ASSERT(StrobeFills, !dut.turn_valid_q || dut.turn_strb_q[63] == dut.turn_fills_q)
  `ASSERT(Fills, !dut.turn_valid_q || dut.turn_fills_q == dut.turn_stop_q[6])
  `ASSERT(Over, !dut.turn_valid_q || dut.turn_over_q == (dut.turn_stop_q > 7'd64))
  logic [6:0] place_len, turn_len;
  assign place_len = dut.place_stop_q - {1'b0, dut.place_lane_q};
  assign turn_len  = dut.turn_stop_q - {1'b0, dut.turn_lane_q};
  `ASSERT(PlaceShort, !dut.place_valid_q || place_len <= 7'd64)
  `ASSERT(TurnShort, !dut.turn_valid_q || turn_len <= 7'd64)

  // ------------------------------------------------ reached
  `FV_COVER(TwoLines, push && in_two && !in_one && open_q)
  `FV_COVER(Waits,
            !dut.gen_register.u_out.room_q && dut.full_q && dut.turn_valid_q && dut.place_valid_q)
  `FV_COVER(ComesOut, seen_q && out && ahead_q == '0 && open_q)
  `FV_COVER(ManyBefore, seen_q && ahead_q == 4'd2)
  `FV_COVER(Ends, pop && m_last && m_strb[63])
  `FV_COVER(ShortEnd, pop && m_last && m_strb != '0 && !m_strb[63])
endmodule
