// tcp_ooo, seen through a byte of the stream that the prover chooses: it is kept from when a segment
// with it was until it is in order; what becomes in order with a segment are bytes that came, and all
// of those up to the next hole. The intervals stay disjoint, apart, behind rcv_nxt and in the room.
`include "fv.svh"
`include "lib_assert.svh"

module tcp_ooo_fv
  import net_pkg::*;
  import tcp_pkg::*;
(
  input logic        clk_i,
  // An event: a segment, taken or kept if it can be; where the room ends by now.
  input logic        go_i,
  input near_t       from_i,
  input logic [15:0] len_i,
  input logic        fresh_i,
  input logic        accept_i,
  input near_t       edge_i
);
  `FV_RESET

  // One event at a time, as in tcp_tcb those of one connection are.
  logic [2:0] phase_q;  // 0: none; diff .. measure
  logic fetch;
  assign fetch = phase_q == '0 && go_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) phase_q <= '0;
    else if (phase_q == '0) phase_q <= 3'(go_i);
    else phase_q <= (phase_q == 3'd4) ? '0 : phase_q + 3'd1;
  end

  // The connection, and the event at hand.
  logic open_q, have_q, fresh_q, accept_q;
  near_t place_q, rcv_q, edge_q, from_q, to_q;
  always_ff @(posedge clk_i) place_q <= place_q;

  // Where things lie from rcv_nxt on: both segments and room, at most 65,536 bytes away.
  near_t from_off, to_off, room, end_off, place_off;
  logic in_order, early;
  assign from_off  = from_q - rcv_q;
  assign to_off    = to_q - rcv_q;
  assign room      = edge_q - rcv_q;
  assign in_order  = (from_off == '0 || from_off > 18'h30000) && !to_off[17];
  assign early     = from_off != '0 && from_off < room && to_q != from_q;
  assign end_off   = (to_off > room) ? room : to_off;
  assign place_off = place_q - rcv_q;
  `FV_ASSUME(Fresh, !fetch || open_q || fresh_i)
  near_t room_next;
  assign room_next = edge_i - rcv_q;
  `FV_ASSUME(Room, !fetch || fresh_i || (room_next <= 18'h10000 && room_next >= room))

  logic [16:0] jump;
  logic some, past, place, sack, take, keep, clear, now;
  spans_t spans;
  assign now   = phase_q == 3'd3;
  assign take  = now && accept_q && in_order;
  assign keep  = now && accept_q && early && place;
  assign clear = now && fresh_q;

  tcp_ooo #(
    .Conns(2)
  ) dut (
    .clk_i,
    .rst_ni,
    .valid_i  ({2'b11, phase_q == 3'd4, now, phase_q == 3'd2, phase_q == 3'd1}),
    .fetch_i  (fetch),
    .id_i     (1'b0),
    .from_i,
    .len_i,
    .fresh_i  (fresh_q),
    .sack_ok_i(1'b1),
    .edge_i   (edge_q),
    .rcv_nxt_i(rcv_q),
    .jump_o   (jump),
    .some_o   (some),
    .past_o   (past),
    .place_o  (place),
    .take_i   (take),
    .keep_i   (keep),
    .clear_i  (clear),
    .sack_o   (sack),
    .spans_o  (spans)
  );

  logic carried;  // the segment has the byte, and there is room for it
  assign carried = place_off < end_off &&
      (in_order || near_t'(place_off - from_off) < near_t'(to_off - from_off));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      have_q <= 1'b0;
    end else begin
      if (fetch) begin
        fresh_q  <= fresh_i;
        accept_q <= accept_i;
        from_q   <= from_i;
        to_q     <= from_i + near_t'(len_i);
        edge_q   <= fresh_i ? from_i + 18'h10000 : edge_i;
        if (fresh_i) begin
          open_q <= 1'b1;
          have_q <= 1'b0;
          rcv_q  <= from_i;
        end
      end
      if (keep && carried) have_q <= 1'b1;
      if (take) begin
        rcv_q <= rcv_q + near_t'(jump);
        if (place_off < near_t'(jump)) have_q <= 1'b0;
      end
    end
  end

  // ------------------------------------------------ what becomes in order
  `ASSERT(forward, !take || (18'(jump) >= end_off && 18'(jump) <= room))
  `ASSERT(told_came, !take || place_off >= near_t'(jump) || have_q || carried)
  `ASSERT(told_all, !take || place_off != near_t'(jump) || !have_q)
  `ASSERT(says_some, !now || fresh_q || !have_q || some)
  `ASSERT(says_past, !take || !have_q || place_off != end_off || past)

  // ------------------------------------------------ what is kept
  spans_t kept;
  logic known;
  logic [Spans-1:0] covers;
  assign kept  = dut.u_spans.mem_q[0][$bits(spans_t)-1:0];
  assign known = open_q && phase_q != 3'd4 && !(fresh_q && phase_q != '0);
  for (genvar i = 0; i < Spans; i++) begin : gen_span
    near_t from, to;
    assign from      = kept[i].from - rcv_q;
    assign to        = kept[i].to - rcv_q;
    assign covers[i] = kept[i].valid && place_off >= from && place_off < to;
    `ASSERT(in_room, !known || !kept[i].valid || (from != '0 && from < to && to <= room))
    for (genvar k = 0; k < i; k++) begin : gen_apart
      `ASSERT(apart,
              !known || !kept[i].valid || (kept[k].valid &&
          (to < near_t'(kept[k].from - rcv_q) || from > near_t'(kept[k].to - rcv_q))))
    end
  end
  `ASSERT(kept_is, !known || have_q == |covers)
  `ASSERT(room_left, !open_q || room <= 18'h10000)
  `ASSERT(phases, phase_q <= 3'd4 && (phase_q == '0 || open_q))

  // ------------------------------------------------ reached
  `FV_SEEN(kept_once, keep && carried)
  `FV_COVER(Keeps, now && have_q && !take)
  `FV_COVER(ComesInOrder, take && have_q && place_off < near_t'(jump) && !carried)
  `FV_COVER(StopsAtHole, take && have_q && place_off > near_t'(jump))
  `FV_COVER(AllSpans, kept[Spans-1].valid && known)
  `FV_COVER(NoPlace, now && accept_q && early && !place)
  `FV_COVER(Again, keep && carried && have_q)
  `FV_COVER(Fresh, clear && kept_once && open_q)

  logic unused;
  assign unused = ^{sack, spans};
endmodule
