// Reply text of UDP jobs to datagrams as memcached cuts them: each reply (each VALUE of a get with
// several keys is one) starts a sequence of its own, of up to 1,392 bytes a datagram behind the
// 8-byte frame header. Latency 6 from the last text of a datagram to its first beat, initiation
// interval 1 (one clock more where a piece crosses the end of a datagram).
`include "lib_assert.svh"

module udp_reply
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Reply text.
  input  logic   text_valid_i,
  output logic   text_ready_o,
  // Some fields are TCP's alone.
  // verilator lint_off UNUSEDSIGNAL
  input  text_t  text_i,
  // verilator lint_on UNUSEDSIGNAL
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

  localparam logic [10:0] Payload = 11'd1392;
  localparam logic [6:0] Header = 7'd8;

  // ------------------------------------------------ cut: text to datagrams
  logic [10:0] fill_q, room_q;  // bytes in the datagram begun; bytes that still fit
  logic [5:0] cut_q;             // bytes of this piece that went into the datagram before
  logic [15:0] seq_q;
  logic [6:0] left, len;
  logic [5:0] start;
  logic crosses, ends, first, move, meta_ready, join_ready, cut_valid;

  assign left    = text_i.len - 7'(cut_q);
  assign start   = text_i.start + cut_q;
  assign crosses = 11'(left) > room_q;
  assign len     = crosses ? room_q[6:0] : left;
  assign ends    = crosses || text_i.reply_last;
  assign first   = fill_q == '0;
  // An empty piece that only ends a job makes no datagram.
  logic silent;
  assign silent  = text_i.len == '0 && !text_i.reply_last;
  assign cut_valid    = text_valid_i && !silent && meta_ready;
  assign move         = text_valid_i && meta_ready && (join_ready || silent);
  assign text_ready_o = meta_ready && (join_ready || silent) && !crosses;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      room_q <= Payload;
      cut_q  <= '0;
      seq_q  <= '0;
    end else if (move) begin
      fill_q <= ends ? '0 : fill_q + 11'(len);
      room_q <= ends ? Payload : room_q - 11'(len);
      cut_q  <= crosses ? cut_q + 6'(len) : '0;
      if (ends) seq_q <= crosses ? seq_q + 16'd1 : '0;
    end
  end

  // ------------------------------------------------ total: datagrams of this reply
  // Known from the VALUE line on: the first datagram is not full before. x / 1392 = x / 16 / 87 by
  // multiplication with the reciprocal, exact below 2**18 * 16.
  logic [17:0] size_q;  // in units of 16
  logic [36:0] product_q;
  logic [1:0] sized_q;
  logic [15:0] total_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      total_q <= 16'd1;
      sized_q <= '0;
    end else begin
      sized_q <= {sized_q[0], move && text_i.sized && !crosses};
      if (move && ends && text_i.reply_last && !crosses) total_q <= 16'd1;
      else if (sized_q[1]) total_q <= 16'(product_q >> 25);
    end
    if (move && text_i.sized)
      size_q <= 18'((22'(fill_q) + 22'(len) + text_i.rest + 22'(Payload) - 22'd1) >> 4);
    if (sized_q[0]) product_q <= 37'(size_q) * 37'd385684;
  end

  // ------------------------------------------------ lines, and beside them what the header says
  line_t line;
  strb_t unused_strb;
  logic line_valid, line_ready, line_last;
  lib_join u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (cut_valid),
    .s_ready_o (join_ready),
    .s_data_i  (text_i.data),
    .s_start_i (start),
    .s_len_i   (len),
    .s_first_i (first),
    .s_offset_i(Header[5:0]),
    .s_last_i  (ends),
    .m_valid_o (line_valid),
    .m_ready_i (line_ready),
    .m_data_o  (line),
    .m_strb_o  (unused_strb),
    .m_last_o  (line_last)
  );

  typedef struct packed {
    line_t data;
    logic  last;
  } out_line_t;
  out_line_t line_in, out_line;
  logic out_line_valid, out_line_pop;
  logic [5:0] unused_line_level;
  assign line_in = '{data: line, last: line_last};
  // A datagram leaves when all of it is here: room for one and the next one's beginning.
  lib_fifo #(
    .T    (out_line_t),
    .Depth(32)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_valid),
    .s_ready_o(line_ready),
    .s_data_i (line_in),
    .m_valid_o(out_line_valid),
    .m_ready_i(out_line_pop),
    .m_data_o (out_line),
    .level_o  (unused_line_level)
  );

  typedef struct packed {
    logic        empty;  // no datagram, only the end of a job
    logic        last;   // of its job
    logic        bad;    // has bytes that nobody may get: dropped
    logic [10:0] len;    // with the header
    logic [15:0] seq;
    logic [15:0] total;
  } meta_t;
  logic bad_q, bad;
  assign bad = text_i.bad || bad_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) bad_q <= 1'b0;
    else if (move) bad_q <= bad && !ends;
  end

  meta_t meta_in, meta;
  logic meta_valid, meta_pop;
  logic [4:0] unused_meta_level;
  assign meta_in = '{
          empty: silent,
          last: text_i.last && !crosses,
          bad: bad,
          len: fill_q + 11'(len) + 11'(Header),
          seq: seq_q,
          total: total_q
      };
  lib_fifo #(
    .T    (meta_t),
    .Depth(16)
  ) u_metas (
    .clk_i,
    .rst_ni,
    .s_valid_i(move && (ends || text_i.last)),
    .s_ready_o(meta_ready),
    .s_data_i (meta_in),
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

  // Division done before the first datagram's end asks for its result.
  `ASSERT(TotalInTime, !(move && ends && |sized_q && (crosses || seq_q != '0)))
  `ASSERT(SizedFits, !(move && text_i.sized && crosses))

endmodule
