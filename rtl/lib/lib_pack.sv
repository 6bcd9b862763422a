// Concatenates byte chunks of up to 64 bytes into 64-byte lines; the core of lib_join. Latency 3,
// initiation interval 1; one clock more only for a chunk that ends beyond its line right behind a
// packet whose end overflowed into a line of its own.
`include "lib_assert.svh"

module lib_pack
  import lib_pkg::*;
#(
  /// A register stage behind it. Without one latency is 2, and a ready of the line comes to the chunks in the
  /// same clock.
  parameter bit Register = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Chunks: len bytes, 0..64, from lane start of data on; lane 0 follows lane 63.
  input  logic         s_valid_i,
  output logic         s_ready_o,
  input  logic [511:0] s_data_i,
  input  logic [5:0]   s_start_i,
  input  logic [6:0]   s_len_i,
  /// First chunk of a packet: its first byte goes to lane s_offset_i.
  input  logic         s_first_i,
  input  logic [5:0]   s_offset_i,
  /// Last chunk of a packet.
  input  logic         s_last_i,
  /// Lines: valid lanes are those of strb; end is the lane behind the last of them.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output logic [511:0] m_data_o,
  output logic [63:0]  m_strb_o,
  output logic [6:0]   m_end_o,
  output logic         m_last_o
);

  typedef struct packed {
    logic [511:0] data;
    logic [63:0]  strb;
    logic [6:0]   stop;
    logic         last;
  } line_t;

  logic advance;
  assign s_ready_o = advance;

  // ------------------------------------------------ place: where in its line the chunk goes
  logic         place_valid_q;
  logic [511:0] place_data_q;
  logic [5:0] place_turn_q, place_lane_q;
  logic [6:0] place_stop_q;
  logic place_first_q, place_last_q;

  logic [5:0] lane_q, lane;
  logic [6:0] stop;
  assign lane = s_first_i ? s_offset_i : lane_q;
  assign stop = {1'b0, lane} + s_len_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) place_valid_q <= 1'b0;
    else if (advance) place_valid_q <= s_valid_i;
    if (advance && s_valid_i) begin
      lane_q        <= stop[5:0];
      place_data_q  <= s_data_i;
      place_turn_q  <= lane - s_start_i;
      place_lane_q  <= lane;
      place_stop_q  <= stop;
      place_first_q <= s_first_i;
      place_last_q  <= s_last_i;
    end
  end

  // ------------------------------------------------ turn: every byte to its lane
  logic         turn_valid_q;
  logic [511:0] turn_data_q;
  logic [5:0]   turn_lane_q;
  logic [63:0] turn_strb_q, turn_over_strb_q;
  logic [6:0] turn_stop_q;
  logic turn_first_q, turn_last_q;
  logic         turn_fills_q;  // reaches lane 63
  logic         turn_over_q;   // and goes on in the next line

  logic [511:0] turned;
  lib_rotate u_rotate (
    .data_i (place_data_q),
    .lanes_i(place_turn_q),
    .data_o (turned)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_valid_q <= 1'b0;
    else if (advance) turn_valid_q <= place_valid_q;
    if (advance && place_valid_q) begin
      turn_data_q      <= turned;
      turn_lane_q      <= place_lane_q;
      turn_stop_q      <= place_stop_q;
      turn_strb_q      <= lanes_from(place_lane_q) & lanes_below(place_stop_q);
      turn_over_strb_q <= place_stop_q[6] ? lanes_below({1'b0, place_stop_q[5:0]}) : '0;
      turn_fills_q     <= place_stop_q[6];
      turn_over_q      <= place_stop_q[6] && place_stop_q[5:0] != '0;
      turn_first_q     <= place_first_q;
      turn_last_q      <= place_last_q;
    end
  end

  // ------------------------------------------------ merge: with the line begun earlier
  line_t merged, acc_q;
  logic full_q;  // acc_q is complete and waits for its turn at the output
  logic take, out_valid, out_ready;
  line_t out;

  // While acc_q is being sent, it can take a new line's beginning or all of it, but not two lines.
  assign advance   = out_ready && !(full_q && turn_valid_q && turn_over_q);
  assign take      = advance && turn_valid_q;
  assign out_valid = full_q || (turn_valid_q && (turn_fills_q || turn_last_q));
  assign out       = full_q ? acc_q : merged;

  logic [63:0] fresh;  // lanes from the chunk
  assign fresh = lanes_from(turn_lane_q);
  assign merged.data = merge_lanes(fresh, turn_data_q, acc_q.data);
  // Written lane by lane, so that the register needs no multiplexer: of a line begun by what went
  // beyond the last one only the lanes of strb matter.
  always_ff @(posedge clk_i) begin
    if (take) begin
      if (!full_q && turn_fills_q) acc_q.data <= turn_data_q;
      else for (int b = 0; b < 64; b++) if (fresh[b]) acc_q.data[b*8+:8] <= turn_data_q[b*8+:8];
    end
  end
  assign merged.strb = ((turn_first_q || full_q) ? '0 : acc_q.strb) | turn_strb_q;
  assign merged.stop = turn_fills_q ? 7'd64 : turn_stop_q;
  assign merged.last = turn_last_q && !turn_over_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q <= 1'b0;
    end else if (take) begin
      full_q <= turn_over_q ? turn_last_q : full_q && (turn_fills_q || turn_last_q);
    end else if (out_ready) begin
      full_q <= 1'b0;
    end
    if (take) begin
      acc_q.last <= turn_last_q;
      if (turn_fills_q && !full_q) begin
        acc_q.strb <= turn_over_strb_q;
        acc_q.stop <= {1'b0, turn_stop_q[5:0]};
      end else begin
        acc_q.strb <= merged.strb;
        acc_q.stop <= merged.stop;
      end
    end else if (full_q && out_ready) begin
      acc_q.strb <= '0;  // sent: what follows in this packet begins a new line
    end
  end

  line_t m_line;
  if (Register) begin : gen_register
    lib_skid_buffer #(
      .T(line_t)
    ) u_out (
      .clk_i,
      .rst_ni,
      .s_valid_i(out_valid),
      .s_ready_o(out_ready),
      .s_data_i (out),
      .m_valid_o,
      .m_ready_i,
      .m_data_o (m_line)
    );
  end else begin : gen_none
    assign m_valid_o = out_valid;
    assign out_ready = m_ready_i || !out_valid;
    assign m_line    = out;
  end
  assign m_data_o = m_line.data;
  assign m_strb_o = m_line.strb;
  assign m_end_o  = m_line.stop;
  assign m_last_o = m_line.last;

  `ASSERT(InRange, !s_valid_i || s_len_i <= 7'd64)

endmodule
