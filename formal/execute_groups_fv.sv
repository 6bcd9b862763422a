// A search never goes beyond a bucket that was written since the last clear, and ends at the bucket that it began with,
// where a group begins that was written, or behind the bank; it ends in time. Groups grow with the index.
`include "fv.svh"
`include "lib_assert.svh"

module execute_groups_fv
  import store_pkg::*;
(
  input logic       clk_i,
  input logic [4:0] bits_i,
  input logic       write_i,
  input logic       write_bank_i,
  input line_no_t   write_line_i,
  input logic       clear_i,
  input logic       seek_i,
  input logic       bank_i,
  input line_no_t   line_i,
  // A bucket.
  input logic       some_bank_i,
  input line_no_t   some_i
);
  `FV_RESET

  localparam int unsigned Groups = 128;

  // These stand.
  logic [4:0] bits_q;
  logic some_bank_q, stands_q = 1'b0;
  line_no_t some_q, mask;
  always_ff @(posedge clk_i) begin
    stands_q <= 1'b1;
    if (stands_q) assume (bits_q == bits_i && some_bank_q == some_bank_i && some_q == some_i);
    bits_q      <= bits_i;
    some_bank_q <= some_bank_i;
    some_q      <= some_i;
  end
  assign mask = line_mask(bits_i);
  `FV_ASSUME(Bits, bits_i inside {[5'd4 : 5'd11], 5'd14, 5'd15, 5'd17, 5'd26})
  `FV_ASSUME(Within, some_i <= mask && write_line_i <= mask && line_i <= mask)

  // One search at a time.
  logic done, busy_q, written_q, was_q;
  line_no_t line, from_q;
  logic from_bank_q;
  logic [2:0] clocks_q;
  `FV_ASSUME(Alone, !(seek_i && busy_q) && !(seek_i && !rst_ni))

  execute_groups #(
    .Groups(Groups)
  ) dut (
    .clk_i,
    .rst_ni,
    .index_bits_i(bits_i),
    .write_i,
    .write_bank_i,
    .write_line_i,
    .clear_i,
    .seek_i,
    .bank_i,
    .line_i,
    .done_o      (done),
    .line_o      (line)
  );

  // A write counts two clocks later; who is alone has waited so long, and is not cleared meanwhile.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {busy_q, written_q, was_q, clocks_q} <= '0;
    else begin
      busy_q    <= seek_i || (busy_q && !done);
      clocks_q  <= seek_i ? '0 : clocks_q + 3'(busy_q && clocks_q != '1);
      was_q     <= write_i && write_bank_i == some_bank_i && write_line_i == some_i;
      written_q <= !clear_i && (written_q || was_q);
    end
    if (seek_i) {from_q, from_bank_q} <= {line_i, bank_i};
  end
  `FV_ASSUME(Quiet, !(busy_q || seek_i) || (!write_i && !was_q && !clear_i))

  logic ahead;
  assign ahead = written_q && from_bank_q == some_bank_i && some_i >= from_q;
  `ASSERT(Finds, !(busy_q && done && ahead) || line <= some_i)
  `ASSERT(Onward, !(busy_q && done) || (line >= from_q && line <= mask + 26'd1))
  `ASSERT(Begins, !(busy_q && done) || line == from_q || line[5:0] == '0 || line == mask + 26'd1)
  `ASSERT(Ends, !busy_q || clocks_q < 3'd6)
  `ASSERT(NotDone, busy_q || !done)

  `FV_COVER(Jump, busy_q && done && ahead && line == some_i && from_q < some_i && bits_i == 5'd17)
  `FV_COVER(None, busy_q && done && written_q && line == mask + 26'd1)
  `FV_SEEN(cleared, clear_i && written_q)
  `FV_COVER(Again, cleared && busy_q && done && line == some_i && from_q < some_i)
endmodule
