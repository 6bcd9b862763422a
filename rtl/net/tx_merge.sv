// Merges the frames of three sources, whole frames in turn, and pads short ones. Latency 1,
// initiation interval 1.

module tx_merge
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Frames: 0 built here (kind_i says what), 1 replies, 2 from the host.
  input  logic  [2:0]         s_valid_i,
  output logic  [2:0]         s_ready_o,
  input  beat_t [2:0]         s_beat_i,
  input  tx_kind_e            kind_i,
  /// Frames to the wire, at least 60 bytes; lanes behind the end are zero.
  output logic [511:0]        m_axis_tdata,
  output logic [63:0]         m_axis_tkeep,
  output logic                m_axis_tvalid,
  input  logic                m_axis_tready,
  output logic                m_axis_tlast,
  /// Event pulses, see net_count_e.
  output logic [NetCounts-1:0] count_o
);

  localparam int FrameMin = 60;

  logic valid, ready, first_q;
  logic [1:0] idx;
  logic [63:0] below;  // the frame's lanes
  beat_t beat;
  axis_t padded;

  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(beat_t),
    .N(3)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (s_beat_i),
    .s_last_i ({s_beat_i[2].last, s_beat_i[1].last, s_beat_i[0].last}),
    .m_valid_o(valid),
    .m_ready_i(ready),
    .m_data_o (beat),
    .m_last_o (),
    .m_idx_o  (idx)
  );
  // verilator lint_on PINCONNECTEMPTY

  lib_lanes u_lanes (
    .n_i    (beat.last ? beat.len : 7'd64),
    .below_o(below)
  );

  always_comb begin
    padded.data = beat.data & lib_pkg::bytes_of(below);
    for (int i = 0; i < 64; i++) padded.keep[i] = below[i] || (first_q && i < FrameMin);
    padded.last = beat.last;
  end

  // Ready is not cut here: it goes no further than to what the sources keep their frames in.
  lib_half_buffer #(
    .T(axis_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid),
    .s_ready_o(ready),
    .s_data_i (padded),
    .m_valid_o(m_axis_tvalid),
    .m_ready_i(m_axis_tready),
    .m_data_o ({m_axis_tdata, m_axis_tkeep, m_axis_tlast})
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (valid && ready) first_q <= beat.last;

    count_o <= '0;
    if (rst_ni && valid && ready && beat.last) begin
      count_o[NetCountTxFrames] <= 1'b1;
      unique case (idx)
        2'd0: begin
          unique case (kind_i)
            TxTcp:   count_o[NetCountTxTcp] <= 1'b1;
            TxUdp:   count_o[NetCountTxUdp] <= 1'b1;
            default: count_o[NetCountTxReply] <= 1'b1;
          endcase
        end
        2'd1:    count_o[NetCountTxReply] <= 1'b1;
        default: count_o[NetCountTxHost] <= 1'b1;
      endcase
    end
  end

endmodule
