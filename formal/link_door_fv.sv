// link_door: the host moves an index forward only, and never past what there is, whatever it writes and whenever.
`include "fv.svh"
`include "lib_assert.svh"

module link_door_fv
  import link_pkg::*;
(
  input logic   clk_i,
  input logic   we_i,
  input index_t value_i,
  input logic   grow_i,
  input index_t grown_i
);
  `FV_RESET

  // What there is: it grows by any number, and is never more than a ring ahead of the index.
  localparam int unsigned Size = 32768;
  index_t limit_q, index;
  logic bad, we_q, grow;
  assign grow = grow_i && 17'(index_t'(limit_q - index)) + 17'(grown_i) <= 17'(Size);

  // The registers take a write each second clock at most.
  always_ff @(posedge clk_i) we_q <= rst_ni && we_i;
  `FV_ASSUME(apart, !we_i || !we_q)

  link_door dut (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .we_i,
    .value_i,
    .room_i (index_t'(limit_q - index)),
    .index_o(index),
    .bad_o  (bad)
  );

  // Numbers that do not wrap; the index as it was.
  logic [31:0] far_limit_q, far_index_q, far_index;
  index_t was_q;
  assign far_index = far_index_q + 32'(index_t'(index - was_q));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      limit_q     <= '0;
      far_limit_q <= '0;
      far_index_q <= '0;
      was_q       <= '0;
    end else begin
      if (grow) begin
        limit_q     <= limit_q + grown_i;
        far_limit_q <= far_limit_q + 32'(grown_i);
      end
      far_index_q <= far_index;
      was_q       <= index;
    end
  end
  `FV_ASSUME(no_wrap, far_limit_q < 32'h8000_0000)

  `ASSERT(NotPast, far_limit_q - far_index <= 32'(Size))
  `ASSERT(Forward, far_index - far_index_q <= 32'(Size))

  // Invariants
  `ASSERT(Same, index_t'(far_limit_q) == limit_q)
  `ASSERT(SameIndex, index_t'(far_index_q) == was_q)
  `ASSERT(Write, dut.we_q == we_q)
  `ASSERT(Late, !dut.we_q || dut.room_q <= index_t'(limit_q - index))

  // Reached
  `FV_SEEN(refused, bad)
  `FV_COVER(Refuses, bad)
  `FV_COVER(GoesAll, refused && index == limit_q && index != '0)
  `FV_COVER(Wraps, far_index > 32'd65536)
endmodule
