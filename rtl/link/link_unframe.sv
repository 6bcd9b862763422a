// Takes preambles off: slots of whole frames in, frames out. Latency 2, interval 1.
//
// Frames stand four lanes too high, always: to move them is wiring, and a beat is made of the line that is held and
// the first lanes of the next one.
`include "lib_assert.svh"

module link_unframe
  import wirekv_pkg::*;
  import link_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  /// Slots.
  input  logic  s_valid_i,
  output logic  s_ready_o,
  input  line_t s_data_i,
  /// A frame may begin.
  input  logic  room_i,
  /// Frames.
  output logic  m_valid_o,
  input  logic  m_ready_i,
  output axis_t m_data_o,
  output logic  idle_o
);

  logic hold_valid_q, alone_q, ends_q;  // what is held is the end, or is with what follows it
  logic [479:0] hold_q;
  bytes_t left_q, left;  // bytes that were not given
  logic out_valid, out_ready, fire, first, take;
  logic [6:0] lanes;
  axis_t out;

  assign out_valid = hold_valid_q && (alone_q || s_valid_i);
  assign fire      = out_valid && out_ready;
  assign first     = !hold_valid_q || alone_q;
  assign s_ready_o = (!hold_valid_q || out_ready) && (!first || room_i);
  assign take      = s_valid_i && s_ready_o;
  assign left      = first ? s_data_i[13:0] : left_q - 14'd64;
  assign idle_o    = !hold_valid_q && !m_valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) hold_valid_q <= 1'b0;
    else if (take) hold_valid_q <= first || !ends_q;
    else if (fire) hold_valid_q <= 1'b0;
    if (take) begin
      hold_q  <= s_data_i[511:32];
      left_q  <= left;
      alone_q <= left <= 14'd60;
      ends_q  <= left <= 14'd64;
    end
  end

  assign lanes    = ends_q ? left_q[6:0] : 7'd64;
  assign out.data = {s_data_i[31:0], hold_q};
  assign out.last = ends_q;
  lib_lanes u_keep (
    .n_i    (lanes),
    .below_o(out.keep)
  );

  lib_half_buffer #(
    .T(axis_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i (out),
    .m_valid_o,
    .m_ready_i,
    .m_data_o
  );

endmodule
