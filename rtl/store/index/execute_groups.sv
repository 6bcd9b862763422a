// Which groups of buckets may hold an item, for a walk that leaves out what is empty: a bit for each, set by who writes a
// way there and cleared for all at once by a flush. What else empties a group leaves its bit.
//
// A group is 64 buckets of a bank, or as many as leave `Groups` of a bank. A write counts 2 clocks later, interval 1.
// A search takes 5 clocks, and one for each further 64 groups. 2 x Groups bits of distributed RAM.
`include "lib_assert.svh"

module execute_groups
  import lib_pkg::*;
  import store_pkg::*;
#(
  /// Of a bank; a power of two from 128 on.
  parameter int unsigned Groups = 4096
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// log2 of the number of buckets.
  input  logic [4:0] index_bits_i,
  /// A way of this bucket is written.
  input  logic       write_i,
  input  logic       write_bank_i,
  input  line_no_t   write_line_i,
  /// All items are gone.
  input  logic       clear_i,
  /// Search from this bucket of a bank on: the first one from there on whose group may hold an item, or the one behind
  /// the bank's last.
  input  logic       seek_i,
  input  logic       bank_i,
  input  line_no_t   line_i,
  output logic       done_o,
  output line_no_t   line_o
);

  localparam int unsigned GroupW = $clog2(Groups);
  localparam int unsigned WordW = GroupW - 6;
  typedef logic [GroupW-1:0] group_t;

  function automatic group_t group_of(input line_no_t line, input logic [3:0] by);
    return group_t'(line >> 6 >> by);
  endfunction

  // log2 of a group's buckets is 6 and that; a bank's last bucket, the one behind it, the word of its last group.
  logic [3:0] shift_q;
  line_no_t mask_q, behind_q;
  logic [WordW-1:0] last_q;
  always_ff @(posedge clk_i) begin
    shift_q  <= (index_bits_i > 5'(GroupW + 7)) ? 4'(index_bits_i - 5'(GroupW + 7)) : '0;
    mask_q   <= line_mask(index_bits_i);
    behind_q <= mask_q + 26'd1;
    last_q   <= WordW'(group_of(mask_q, shift_q) >> 6);
  end

  (* ram_style = "distributed" *) logic [63:0] mem_q[2**(WordW+1)];
  // Which words were written since all were cleared: what others hold counts for nothing.
  logic [2**(WordW+1)-1:0] written_q;
  function automatic logic [63:0] valid_word(input logic [63:0] word, input logic written);
    return written ? word : '0;
  endfunction

  // ---------------------------------------------------------------- writes
  logic mark_q;
  logic [WordW:0] mark_word_q;
  logic [5:0] mark_bit_q;
  group_t write_group;
  logic [63:0] mark_word;
  assign mark_word = valid_word(mem_q[mark_word_q], written_q[mark_word_q]);
  assign write_group = group_of(write_line_i, shift_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mark_q    <= 1'b0;
      written_q <= '0;
    end else begin
      mark_q <= write_i;
      if (clear_i) written_q <= '0;
      else if (mark_q) written_q[mark_word_q] <= 1'b1;
    end
    mark_word_q <= {write_bank_i, write_group[GroupW-1:6]};
    mark_bit_q  <= write_group[5:0];
    if (mark_q) mem_q[mark_word_q] <= mark_word | (64'd1 << mark_bit_q);
  end

  // ---------------------------------------------------------------- the search
  // Word after word is read, looked at, and what it has parted into bits; what is behind the end is forgotten.
  logic begin_q, read_q, word_valid_q, first_q, hit_q, ends_q, bank_q, over;
  line_no_t line_q;
  logic [WordW-1:0] at_q, word_at_q;
  logic [63:0] word_q, from_q;
  group_t line_group, found_q;
  assign line_group = group_of(line_q, shift_q);
  assign over       = hit_q || ends_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begin_q      <= 1'b0;
      read_q       <= 1'b0;
      word_valid_q <= 1'b0;
      hit_q        <= 1'b0;
      ends_q       <= 1'b0;
      done_o       <= 1'b0;
    end else begin
      begin_q      <= seek_i;
      read_q       <= begin_q || (read_q && !over);
      word_valid_q <= read_q && !over;
      hit_q        <= word_valid_q && !over && word_q != '0;
      ends_q       <= word_valid_q && !over && word_at_q == last_q;
      done_o       <= over;
    end
    if (seek_i) begin
      bank_q <= bank_i;
      line_q <= line_i;
    end
    first_q   <= begin_q;
    from_q    <= ~64'd0 << line_group[5:0];
    at_q      <= begin_q ? line_group[GroupW-1:6] : at_q + 1'b1;
    word_at_q <= at_q;
    word_q    <= valid_word(mem_q[{bank_q, at_q}], written_q[{bank_q, at_q}]) &
                 (first_q ? from_q : '1);
    found_q   <= {word_at_q, lane_of(lowest(word_q))};
    // In the first group it is the bucket itself.
    line_o    <= !hit_q ? behind_q :
        (found_q == line_group) ? line_q : line_no_t'(found_q) << 6 << shift_q;
  end

  `ASSERT(Alone, !(seek_i && (begin_q || read_q || over || done_o)))

endmodule
