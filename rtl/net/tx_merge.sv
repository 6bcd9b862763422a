// Merges the frames of three sources, whole frames in turn, and pads short ones. Latency 1,
// initiation interval 1.
module tx_merge
  import wirekv_pkg::*;
  import net_pkg::*;
  import lib_pkg::*;
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

  localparam logic [6:0] FrameMin = 7'd60;

  logic valid, ready, first_q;
  logic [1:0] idx;
  logic [6:0] len;
  beat_t beat;
  axis_t padded, out;

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

  assign len = (first_q && beat.len < FrameMin) ? FrameMin : beat.len;

  always_comb begin
    padded.data = beat.data;
    if (valid && beat.last) padded.data = beat.data & bits_below(beat.len);
    padded.keep = lanes_below(len);
    padded.last = beat.last;
  end

  lib_reg #(
    .T(axis_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid),
    .s_ready_o(ready),
    .s_data_i (padded),
    .m_valid_o(m_axis_tvalid),
    .m_ready_i(m_axis_tready),
    .m_data_o (out)
  );
  assign m_axis_tdata = out.data;
  assign m_axis_tkeep = out.keep;
  assign m_axis_tlast = out.last;

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
