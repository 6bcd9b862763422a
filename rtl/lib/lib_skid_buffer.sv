// Register stage of a stream that cuts both directions: no output depends combinationally on an
// input. Latency 1, initiation interval 1.
`include "lib_assert.svh"

module lib_skid_buffer #(
  /// Type of a beat.
  parameter type T = logic
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Stream in.
  input  logic s_valid_i,
  output logic s_ready_o,
  input  T     s_data_i,
  /// Stream out.
  output logic m_valid_o,
  input  logic m_ready_i,
  output T     m_data_o
);

  // Two places, written and read in turn. In distributed RAM they take half the LUTs of a multiplexer
  // before a register, and no flip-flops.
  logic valid_q, room_q, head_q, tail, push, pop, write;

  assign s_ready_o = room_q;
  assign m_valid_o = valid_q;
  assign push      = s_valid_i && room_q;
  assign pop       = valid_q && m_ready_i;
  assign tail      = head_q ^ valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      room_q  <= 1'b1;
      head_q  <= 1'b0;
    end else begin
      if (push != pop) begin
        valid_q <= push || !room_q;
        room_q  <= pop || !valid_q;
      end
      head_q <= head_q ^ pop;
    end
  end

  // A free place may be written whether a beat comes or not, as in lib_fifo.
`ifdef VERILATOR
  assign write = push;
`else
  assign write = room_q;
`endif

  (* ram_style = "distributed" *) T mem_q[2];
  always_ff @(posedge clk_i) if (write) mem_q[tail] <= s_data_i;
  assign m_data_o = mem_q[head_q];

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)
  `ASSERT(ValidOrRoom, valid_q || room_q)

endmodule
