// What was read of a ring, in order again: lines come at any place and leave in the ring's order, frame by frame. A frame
// leaves when all of it is here and nothing of it is wrong. Latency 5 from its last line, interval 1.
//
// A line's place in both RAMs is its number modulo `Lines`. The narrow RAM has its preamble and of which lap it is, so a
// walker that polls the next line sees when it has come; no list of what has come is kept.
`include "lib_assert.svh"

module link_order
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// Lines: a power of two, 256 or more.
  parameter int unsigned Lines = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     clear_i,
  /// A line is made one of an earlier lap; all are, before the channel runs.
  input  logic                     sweep_i,
  input  logic [$clog2(Lines)-1:0] sweep_line_i,
  /// Frames are taken.
  input  logic                     run_i,
  /// How far the host has produced.
  input  index_t                   producer_i,
  /// Lines that were read, in any order; of a bad one the content is not known.
  input  logic                     line_valid_i,
  input  index_t                   line_index_i,
  input  line_t                    line_i,
  input  logic                     line_bad_i,
  /// Lines of whole frames, in order.
  output logic                     m_valid_o,
  input  logic                     m_ready_i,
  output line_t                    m_data_o,
  /// So many have left the RAM; all that may.
  output index_t                   index_o,
  output logic                     idle_o,
  /// A frame may leave, with its bytes.
  output logic                     frame_o,
  output bytes_t                   bytes_o,
  /// No frame leaves from now on: for a clock.
  output fault_t                   fault_o,
  output index_t                   place_o
);

  localparam int unsigned AddrW = $clog2(Lines);
  typedef logic [AddrW-1:0] addr_t;
  typedef struct packed {
    logic      lap;
    logic      bad;
    preamble_t front;
  } mark_t;

  // ---------------------------------------------------------------- walk: has the next line come?
  mark_t word;
  index_t walk_q, walk;
  logic look_q, stop_q, arrived, first, last;
  logic [8:0] left_q, left;

  assign arrived = look_q && word.lap == walk_q[AddrW];
  assign walk    = walk_q + index_t'(arrived);
  assign first   = left_q == '0;
  assign left    = first ? more_slots(word.front.bytes) : left_q - 1'b1;
  assign last    = left == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      walk_q <= '0;
      left_q <= '0;
      look_q <= 1'b0;
    end else begin
      walk_q <= walk;
      look_q <= run_i && !stop_q;
      if (arrived) left_q <= left;
    end
  end

  lib_ram #(
    .Width($bits(mark_t)),
    .Depth(Lines)
  ) u_marks (
    .clk_i,
    .we_i   (sweep_i || line_valid_i),
    .waddr_i(sweep_i ? sweep_line_i : line_index_i[AddrW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i({!sweep_i ? line_index_i[AddrW] : 1'b1, line_bad_i, line_i[31:0]}),
    .re_i   (1'b1),
    .raddr_i(walk[AddrW-1:0]),
    .rdata_o(word)
  );

  // ---------------------------------------------------------------- judge: what has come
  logic seen_q, seen_first_q, seen_last_q, seen_bad_q;
  index_t seen_index_q, commit_q;
  logic [8:0] seen_left_q;
  preamble_t front_q;
  fault_t fault;

  always_comb begin
    fault = '0;
    if (seen_bad_q) fault.read = 1'b1;
    else if (seen_first_q) begin
      fault.bytes    = front_q.bytes == '0 || front_q.bytes > bytes_t'(MaxFrame);
      fault.reserved = front_q.reserved != '0;
      fault.past     = index_t'(seen_left_q) >= index_t'(producer_i - seen_index_q);
    end
  end
  assign fault_o = (seen_q && !stop_q) ? fault : '0;
  assign place_o = seen_index_q;
  assign frame_o = seen_q && !stop_q && fault == '0 && seen_last_q;
  assign bytes_o = front_q.bytes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      seen_q   <= 1'b0;
      stop_q   <= 1'b0;
      commit_q <= '0;
    end else begin
      seen_q <= arrived;
      if (!run_i || fault_o != '0) stop_q <= 1'b1;
      if (frame_o) commit_q <= seen_index_q + 1'b1;
    end
    seen_index_q <= walk_q;
    seen_first_q <= first;
    seen_last_q  <= last;
    seen_left_q  <= left;
    seen_bad_q   <= word.bad;
    if (first) front_q <= word.front;
  end

  // ---------------------------------------------------------------- give: lines of whole frames
  logic valid_q, read;
  index_t read_q;
  assign read      = read_q != commit_q && (!valid_q || m_ready_i);
  assign m_valid_o = valid_q;
  assign index_o   = read_q;
  assign idle_o    = read_q == commit_q && !valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      valid_q <= 1'b0;
      read_q  <= '0;
    end else begin
      valid_q <= read || (valid_q && !m_ready_i);
      if (read) read_q <= read_q + 1'b1;
    end
  end

  lib_ram #(
    .Width(512),
    .Depth(Lines),
    .Ultra(1'b1)
  ) u_lines (
    .clk_i,
    .we_i   (line_valid_i),
    .waddr_i(line_index_i[AddrW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i(line_i),
    .re_i   (read),
    .raddr_i(read_q[AddrW-1:0]),
    .rdata_o(m_data_o)
  );

  `ASSERT(Room, !line_valid_i || index_t'(line_index_i - read_q) < index_t'(Lines))
  `ASSERT(Whole, index_t'(commit_q - read_q) <= index_t'(Lines))
  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)

endmodule
