// Lines of reply text to datagrams, each behind its 8-byte frame header. A datagram leaves when all
// of it is here. Latency 3 from its last line to its first beat, initiation interval 1.
//
// The sender's address may be a lie, and what is there may answer an error by an error. So errors,
// which are known by their first letters or their status, whoever made them, are limited, and none goes
// to a port where a service may be.
`include "lib_assert.svh"

module udp_reply
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import reply_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// One-clock pulse each millisecond.
  input  logic   tick_i,
  /// Where services are, beside all ports below 1,024.
  input  net_cfg_t cfg_i,
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
  output logic   dgram_o,
  /// An error is not sent: there were too many; a service's port.
  output logic   limited_o,
  output logic   service_o,
  /// Ticks are needed.
  output logic   timer_o
);

  // Errors at once; in the long run one a tick. As the echo replies of rx.
  localparam int unsigned ErrorBurst = 50;
  localparam logic [15:0] Memcached = 16'd11211;

  function automatic logic is_service(input logic [15:0] port);
    return port < 16'd1024 || port == Memcached || port == cfg_i.tcp_port ||
        port == cfg_i.redis_port || port == cfg_i.udp_port;
  endfunction

  /// Whether a reply begins as ERROR, CLIENT_ERROR, SERVER_ERROR do, or has a status that is no usual outcome.
  function automatic logic is_error(input line_t data);
    logic [15:0] letters;
    logic [7:0] status;
    letters = {data[8*DgramHeader+:8], data[8*(DgramHeader+1)+:8]};
    status  = data[8*(DgramHeader+7)+:8];
    return letters inside {"ER", "CL", "SE"} || (letters[15:8] == BinaryReply &&
        !(status inside {8'h00, 8'h01, 8'h02, 8'h05}));
  endfunction

  // Both are known before anybody waits for them.
  typedef struct packed {
    logic        error;
    dgram_line_t line;
  } marked_line_t;
  typedef struct packed {
    logic  service;
    uctx_t uctx;
  } marked_uctx_t;

  // Room for one datagram and the next one's beginning.
  marked_line_t out;
  dgram_line_t out_line;
  logic out_line_valid, out_line_pop;
  logic [5:0] unused_line_level;
  lib_fifo #(
    .T    (marked_line_t),
    .Depth(32)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_valid_i),
    .s_ready_o(line_ready_o),
    .s_data_i ('{error: is_error(line_i.data), line: line_i}),
    .m_valid_o(out_line_valid),
    .m_ready_i(out_line_pop),
    .m_data_o (out),
    .level_o  (unused_line_level)
  );

  assign out_line = out.line;

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

  // As many as there can be UDP jobs between the scheduler and here.
  marked_uctx_t whom;
  uctx_t uctx;
  logic uctx_valid;
  logic [8:0] unused_uctx_level;
  lib_fifo #(
    .T    (marked_uctx_t),
    .Depth(256)
  ) u_uctxs (
    .clk_i,
    .rst_ni,
    .s_valid_i(uctx_valid_i),
    .s_ready_o(uctx_ready_o),
    .s_data_i ('{service: is_service(uctx_i.peer.port), uctx: uctx_i}),
    .m_valid_o(uctx_valid),
    .m_ready_i(job_o),
    .m_data_o (whom),
    .level_o  (unused_uctx_level)
  );
  assign uctx = whom.uctx;

  // ------------------------------------------------ out
  typedef struct packed {
    dgram_t dgram;
    beat_t  beat;
  } out_t;
  out_t out_in, sent;
  logic out_valid, out_ready, out_first_q;
  logic [4:0] beats_q;   // full beats sent of this datagram
  logic [63:0] header;

  function automatic logic [15:0] net16(input logic [15:0] x);
    return {x[7:0], x[15:8]};
  endfunction
  assign header = {16'h0000, net16(meta.total), net16(meta.seq), net16(uctx.reqid)};

  // Whether a datagram goes is known with its first line, and holds for the others.
  logic line_there, error, token, drop, drop_q;
  assign line_there   = meta_valid && uctx_valid && !meta.empty && out_line_valid;
  assign error        = out.error && meta.seq == '0 && out_first_q;
  assign drop         = meta.bad || (error && (whom.service || !token)) || drop_q;
  assign out_valid    = line_there && !drop;
  assign out_line_pop = line_there && (out_ready || drop);
  assign meta_pop     = meta_valid && uctx_valid &&
                        (meta.empty || (out_line_pop && out_line.last));
  assign job_o        = meta_pop && meta.last;
  assign dgram_o      = meta_pop && !meta.empty && !drop;
  assign service_o    = line_there && error && !meta.bad && whom.service;
  assign limited_o    = line_there && error && !meta.bad && !whom.service && !token;

  lib_token_bucket #(
    .Burst(ErrorBurst)
  ) u_limit (
    .clk_i,
    .rst_ni,
    .tick_i,
    .take_i (out_valid && out_ready && error),
    .ok_o   (token),
    .timer_o
  );

  assign out_in.dgram     = '{peer: uctx.peer, len: 16'(meta.len)};
  assign out_in.beat.data = {out_line.data[511:64], out_first_q ? header : out_line.data[63:0]};
  assign out_in.beat.last = out_line.last;
  assign out_in.beat.len  = out_line.last ? 7'(meta.len - {beats_q, 6'd0}) : 7'd64;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_first_q <= 1'b1;
      drop_q      <= 1'b0;
      beats_q     <= '0;
    end else if (out_line_pop) begin
      drop_q      <= drop && !out_line.last;
      out_first_q <= out_line.last;
      beats_q     <= out_line.last ? '0 : beats_q + 5'd1;
    end
  end

  lib_skid_buffer #(
    .T(out_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i (out_in),
    .m_valid_o(txdgram_valid_o),
    .m_ready_i(txdgram_ready_i),
    .m_data_o (sent)
  );
  assign txdgram_o      = sent.dgram;
  assign txdgram_beat_o = sent.beat;

  logic unused;
  assign unused = ^{cfg_i.mac, cfg_i.ip, cfg_i.ip6, cfg_i.mtu, cfg_i.vlan};

  `ASSERT_STABLE(DgramStable, txdgram_valid_o, txdgram_ready_i, txdgram_beat_o)

endmodule
