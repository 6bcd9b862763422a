// link_order: lines come at any place of the window that has room; they leave in order, each once and with its content, whole
// frames only, and nothing of a frame with a bad line or behind one that makes no sense.
`include "fv.svh"
`include "lib_assert.svh"

module link_order_fv
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  parameter int unsigned Lines = 4
) (
  input logic       clk_i,
  input logic       line_valid_i,
  input logic [2:0] line_ahead_i,
  input bytes_t     bytes_i,
  input logic       reserved_i,
  input logic       bit_i,
  input logic       line_bad_i,
  input logic       grow_i,
  input logic       m_ready_i,
  input index_t     chosen_i
);
  `FV_RESET

  localparam int unsigned AddrW = $clog2(Lines);
  typedef logic [AddrW-1:0] addr_t;

  // ------------------------------------------------ a start: all places are of the lap before
  logic [AddrW:0] sweep_q;
  logic sweep, run;
  assign sweep = !sweep_q[AddrW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) sweep_q <= '0;
    else if (sweep) sweep_q <= sweep_q + 1'b1;
  end
  assign run = !sweep;

  // ------------------------------------------------ reads: what was produced, and is not here yet
  index_t producer_q, index, line_index;
  logic line_valid, line_first, m_valid, idle, frame;
  bytes_t bytes;
  line_t line, m_data;
  fault_t fault;
  index_t place;
  logic [Lines-1:0] here_q;  // lines of the window that have come
  assign line_index = index + index_t'(line_ahead_i);
  assign line_valid = run && line_valid_i && 32'(line_ahead_i) < Lines &&
                      index_t'(producer_q - index) > index_t'(line_ahead_i) &&
                      !here_q[addr_t'(line_index)];
  `FV_ASSUME(Short, bytes_i <= 14'd190)
  always_comb begin
    line       = '0;
    line[31:0] = {17'd0, reserved_i, bytes_i};
    line[32]   = bit_i;
  end

  link_order #(
    .Lines(Lines)
  ) dut (
    .clk_i,
    .rst_ni,
    .clear_i     (sweep),
    .sweep_i     (sweep),
    .sweep_line_i(sweep_q[AddrW-1:0]),
    .run_i       (run),
    .producer_i  (producer_q),
    .line_valid_i(line_valid),
    .line_index_i(line_index),
    .line_i      (line),
    .line_bad_i,
    .m_valid_o   (m_valid),
    .m_ready_i,
    .m_data_o    (m_data),
    .index_o     (index),
    .idle_o      (idle),
    .frame_o     (frame),
    .bytes_o     (bytes),
    .fault_o     (fault),
    .place_o     (place)
  );

  // ------------------------------------------------ a line chosen by the prover
  index_t chosen_q, given_q;
  logic known_q, value_q, bad_q, take, faulty_q;
  index_t fault_place_q, border_q;
  bytes_t front_q;
  assign take = rst_ni && m_valid && m_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      chosen_q   <= chosen_i;
      known_q    <= 1'b0;
      given_q    <= '0;
      producer_q <= '0;
      here_q     <= '0;
      faulty_q   <= 1'b0;
      border_q   <= '0;
    end else begin
      if (run && grow_i && index_t'(producer_q - index) < 16'd12) producer_q <= producer_q + 1'b1;
      for (int unsigned n = 0; n < Lines; n++)
      if (line_valid && addr_t'(line_index) == addr_t'(n)) here_q[n] <= 1'b1;
      else if (dut.read && addr_t'(index) == addr_t'(n)) here_q[n] <= 1'b0;
      if (line_valid && line_index == chosen_q) begin
        known_q <= 1'b1;
        value_q <= bit_i;
        bad_q   <= line_bad_i;
        front_q <= bytes_i;
      end
      if (take) given_q <= given_q + 1'b1;
      if (fault != '0) begin
        faulty_q      <= 1'b1;
        fault_place_q <= place;
      end
      if (frame) border_q <= border_q + 1'b1 + index_t'(more_slots(bytes));
    end
  end

  logic due;
  assign due = take && given_q == chosen_q;
  `ASSERT(Came, !due || known_q)
  `ASSERT(Value, !due || m_data[32] == value_q)
  `ASSERT(NotBad, !due || !bad_q)
  `ASSERT(OnlyWhole,
          index_t'(border_q - given_q) <= index_t'(Lines + 1) && (given_q != border_q || !take))
  `ASSERT(Border, !frame || border_q + 16'd1 + index_t'(more_slots(bytes)) == place + 16'd1)
  `ASSERT(Produced, index_t'(producer_q - given_q) < 16'h8000)
  `ASSERT(NoneBehind, !faulty_q || index_t'(fault_place_q - given_q) < 16'h8000)
  `ASSERT(OneFault, !faulty_q || (fault == '0 && !frame))
  // The chosen line is a frame's first one, and its length is what the frame is given out for.
  logic begins;
  assign begins = known_q && chosen_q == border_q;
  `ASSERT(Length, !(frame && begins) || (bytes == front_q && bytes != '0))

  // Reached
  `FV_COVER(Wraps, due && chosen_q == 16'd5)
  `FV_COVER(Long, frame && bytes > 14'd130)
  `FV_COVER(Faults, faulty_q && given_q == 16'd3 && idle)
  `FV_COVER(Past, fault.past)
endmodule
