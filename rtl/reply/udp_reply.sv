// Lines of reply text to datagrams, each behind its 8-byte frame header. A datagram leaves when all
// of it is here. Latency 3 from its last line to its first beat, initiation interval 1.
`include "lib_assert.svh"

module udp_reply
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
  import reply_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Lines, lane DgramHeader first; what each datagram's header says.
  input  logic        line_valid_i,
  output logic        line_ready_o,
  input  dgram_line_t line_i,
  input  logic        meta_valid_i,
  output logic        meta_ready_o,
  input  dgram_meta_t meta_i,
  /// Whom to answer: one a job, in order.
  input  logic   uctx_valid_i,
  output logic   uctx_ready_o,
  input  uctx_t  uctx_i,
  /// Datagrams.
  output logic   txdgram_valid_o,
  input  logic   txdgram_ready_i,
  output dgram_t txdgram_o,
  output beat_t  txdgram_beat_o,
  /// One-clock pulses: a job is over; a datagram is out.
  output logic   job_o,
  output logic   dgram_o
);

  // Room for one datagram and the next one's beginning.
  dgram_line_t out_line;
  logic out_line_valid, out_line_pop;
  logic [5:0] unused_line_level;
  lib_fifo #(
    .T    (dgram_line_t),
    .Depth(32)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_valid_i),
    .s_ready_o(line_ready_o),
    .s_data_i (line_i),
    .m_valid_o(out_line_valid),
    .m_ready_i(out_line_pop),
    .m_data_o (out_line),
    .level_o  (unused_line_level)
  );

  dgram_meta_t meta;
  logic meta_valid, meta_pop;
  logic [4:0] unused_meta_level;
  lib_fifo #(
    .T    (dgram_meta_t),
    .Depth(16)
  ) u_metas (
    .clk_i,
    .rst_ni,
    .s_valid_i(meta_valid_i),
    .s_ready_o(meta_ready_o),
    .s_data_i (meta_i),
    .m_valid_o(meta_valid),
    .m_ready_i(meta_pop),
    .m_data_o (meta),
    .level_o  (unused_meta_level)
  );

  // As many as there can be UDP jobs between the front and here.
  uctx_t uctx;
  logic uctx_valid;
  logic [8:0] unused_uctx_level;
  lib_fifo #(
    .T    (uctx_t),
    .Depth(256)
  ) u_uctxs (
    .clk_i,
    .rst_ni,
    .s_valid_i(uctx_valid_i),
    .s_ready_o(uctx_ready_o),
    .s_data_i (uctx_i),
    .m_valid_o(uctx_valid),
    .m_ready_i(job_o),
    .m_data_o (uctx),
    .level_o  (unused_uctx_level)
  );

  // ------------------------------------------------ out
  typedef struct packed {
    dgram_t dgram;
    beat_t  beat;
  } out_t;
  out_t out_in, out;
  logic out_valid, out_ready, out_first_q;
  logic [4:0] beats_q;   // full beats sent of this datagram
  logic [63:0] header;

  function automatic logic [15:0] net16(input logic [15:0] x);
    return {x[7:0], x[15:8]};
  endfunction
  assign header = {16'h0000, net16(meta.total), net16(meta.seq), net16(uctx.reqid)};

  logic line_there;
  assign line_there   = meta_valid && uctx_valid && !meta.empty && out_line_valid;
  assign out_valid    = line_there && !meta.bad;
  assign out_line_pop = line_there && (out_ready || meta.bad);
  assign meta_pop     = meta_valid && uctx_valid &&
                        (meta.empty || (out_line_pop && out_line.last));
  assign job_o        = meta_pop && meta.last;
  assign dgram_o      = meta_pop && !meta.empty && !meta.bad;

  assign out_in.dgram     = '{peer: uctx.peer, len: 16'(meta.len)};
  assign out_in.beat.data = {out_line.data[511:64], out_first_q ? header : out_line.data[63:0]};
  assign out_in.beat.last = out_line.last;
  assign out_in.beat.len  = out_line.last ? 7'(meta.len - {beats_q, 6'd0}) : 7'd64;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_first_q <= 1'b1;
      beats_q     <= '0;
    end else if (out_line_pop) begin
      out_first_q <= out_line.last;
      beats_q     <= out_line.last ? '0 : beats_q + 5'd1;
    end
  end

  lib_reg #(
    .T(out_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i (out_in),
    .m_valid_o(txdgram_valid_o),
    .m_ready_i(txdgram_ready_i),
    .m_data_o (out)
  );
  assign txdgram_o      = out.dgram;
  assign txdgram_beat_o = out.beat;

  `ASSERT_STABLE(DgramStable, txdgram_valid_o, txdgram_ready_i, txdgram_beat_o)

endmodule
