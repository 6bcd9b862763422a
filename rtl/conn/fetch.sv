// Gets the bytes of jobs: reads the receive ring for TCP jobs, takes UDP datagrams without memcached's
// frame header, and gives both out as jobs and the lines that hold their bytes, wherever they begin. What
// begins as a reply does is none: a server's answer to an answer would have one itself, and so for ever. A
// job's reads go out while earlier ones stream. Latency 2 from datagram, 1 from memory to line,
// initiation interval 1.
module fetch
  import wirekv_pkg::*;
  import net_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import config_pkg::Config;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// First line of the receive rings.
  input  laddr_t rx_base_i,
  /// TCP jobs; the context of one stands at ctx_i from a clock after ctx_rd_o on.
  input  logic   job_valid_i,
  output logic   job_ready_o,
  input  turn_t  job_i,
  output logic   ctx_rd_o,
  output conn_t  ctx_conn_o,
  input  ctx_t   ctx_i,
  /// Receive ring: a line, and which of its lanes are the job's.
  output logic   rd_valid_o,
  input  logic   rd_ready_i,
  output laddr_t rd_addr_o,
  output lanes_t rd_lanes_o,
  input  logic   rdat_valid_i,
  output logic   rdat_ready_o,
  input  line_t  rdat_i,
  input  logic   rdat_bad_i,
  /// The same of the request port's connection: a line of its own ring.
  output logic   host_rd_valid_o,
  input  logic   host_rd_ready_i,
  output logic [9:0] host_rd_line_o,
  input  logic   host_line_valid_i,
  output logic   host_line_ready_o,
  input  line_t  host_line_i,
  /// That port holds the store: no datagram begins.
  input  logic   hold_i,
  /// A job of this connection has bytes that memory could not read. What they are taken for must
  /// have no effect.
  output logic   bad_valid_o,
  output conn_t  bad_conn_o,
  /// Pulse: the last record of this connection's job has gone where that counts. Its lines may still come, if
  /// it ended in front of them.
  input  logic   job_over_i,
  input  conn_t  job_over_conn_i,
  /// Pulse: a line that memory could not read.
  output logic   bad_read_o,
  /// UDP datagrams, frame header included.
  input  logic   dgram_valid_i,
  output logic   dgram_ready_o,
  input  dgram_t dgram_i,
  input  beat_t  dgram_beat_i,
  /// Those that become jobs, as they are taken.
  output logic   taken_o,
  output dgram_t taken_dgram_o,
  output beat_t  taken_beat_o,
  /// Whom the UDP jobs answer.
  output logic   uctx_valid_o,
  input  logic   uctx_ready_i,
  output uctx_t  uctx_o,
  /// Jobs, and the lines of each.
  output logic   job_valid_o,
  input  logic   job_ready_i,
  output job_t   job_o,
  output logic   raw_valid_o,
  input  logic   raw_ready_i,
  output raw_t   raw_o,
  /// Pulses: a UDP job begins, a datagram is ignored, a TCP job waits for its bytes.
  output logic   udp_o,
  output logic   udp_bad_o,
  output logic   wait_o,
  /// Nothing in flight here.
  output logic   idle_o
);

  // ---------------------------------------------------------------- read the ring
  localparam int unsigned LineW = $clog2(RingLines);

  // Lines that `len` bytes from lane `start` on touch.
  function automatic logic [8:0] lines(input logic [5:0] start, input logic [13:0] len);
    return (len == '0) ? '0 : 9'((15'(start) + 15'(len) + 15'd63) >> 6);
  endfunction

  typedef struct packed {
    turn_t      turn;
    logic       host;   // the request port's
    logic       empty;
    logic [8:0] lines;
    logic [5:0] tail;   // bytes in the last line, 0: all
  } wait_t;

  logic wait_valid, wait_ready, wait_take, next_valid, next_ready;
  wait_t wait_in, wait_next, wait_out;
  turn_t wait_turn;
  logic [7:0] wait_level;

  logic reading_q, host_q;
  laddr_t ring_q;
  logic rd_ready, line_valid, line_take;  // of either ring
  line_t line;
  logic [LineW-1:0] line_q;
  logic [8:0] left_q;
  logic [5:0] first_q, last_q;  // lanes: of the line that is next, of the last one

  // Where so many lines wait for their turn here, further jobs stay in the scheduler: there they still
  // grow, and longer jobs are less work.
  localparam int unsigned Ahead = 64;
  logic [8:0] ahead_q;
  logic ahead_ok_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ahead_q <= '0;
    else ahead_q <= ahead_q + ((job_valid_i && job_ready_o) ? wait_in.lines : '0) - 9'(line_take);
    ahead_ok_q <= ahead_q < 9'(Ahead) || (wait_o && !ahead_q[8]);
  end

  assign job_ready_o = wait_ready && ahead_ok_q && (!reading_q || (left_q == 9'd1 && rd_ready));
  assign wait_in.turn  = job_i;
  assign wait_in.host  = job_i.visit.conn == HostConn;
  assign wait_in.empty = job_i.visit.len == '0;
  assign wait_in.lines = lines(job_i.rx_ptr[5:0], job_i.visit.len);
  assign wait_in.tail  = job_i.rx_ptr[5:0] + job_i.visit.len[5:0];
  assign wait_turn     = wait_out.turn;

  assign rd_valid_o  = reading_q && !host_q;
  assign host_rd_valid_o = reading_q && host_q;
  assign host_rd_line_o  = line_q;
  assign rd_ready    = host_q ? host_rd_ready_i : rd_ready_i;
  assign rd_addr_o   = ring_q + laddr_t'(line_q);
  assign rd_lanes_o  = '{first: first_q, last: (left_q == 9'd1) ? last_q : '1};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
    end else begin
      if (reading_q && rd_ready) begin
        line_q <= line_q + 1'b1;  // wraps with the ring
        left_q <= left_q - 1'b1;
        first_q <= '0;
        if (left_q == 9'd1) reading_q <= 1'b0;
      end
      if (job_valid_i && job_ready_o) begin
        ring_q    <= rx_base_i + (laddr_t'(job_i.visit.conn) << LineW);
        line_q    <= job_i.rx_ptr[6+:LineW];
        left_q    <= wait_in.lines;
        first_q   <= job_i.rx_ptr[5:0];
        last_q    <= wait_in.tail - 6'd1;
        reading_q <= job_i.visit.len != '0;
        host_q    <= wait_in.host;
      end
    end
  end

  lib_fifo #(
    .T    (wait_t),
    .Depth(128)
  ) u_wait (
    .clk_i,
    .rst_ni,
    .s_valid_i(job_valid_i && job_ready_o),
    .s_ready_o(wait_ready),
    .s_data_i (wait_in),
    .m_valid_o(next_valid),
    .m_ready_i(next_ready),
    .m_data_o (wait_next),
    .level_o  (wait_level)
  );

  // Bytes come later than their job, so this costs no time, nor does the RAM's, in which its context is read.
  assign ctx_rd_o   = next_valid && next_ready;
  assign ctx_conn_o = wait_next.turn.visit.conn;
  lib_half_buffer #(
    .T(wait_t)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(next_valid),
    .s_ready_o(next_ready),
    .s_data_i (wait_next),
    .m_valid_o(wait_valid),
    .m_ready_i(wait_take),
    .m_data_o (wait_out)
  );

  // ---------------------------------------------------------------- datagrams
  typedef struct packed {
    dgram_t dgram;
    beat_t  beat;
    logic   good;  // one that is a request begins: many things wait for that
    logic   binary;
  } wire_t;

  /// Whether a byte may begin a reply: a capital, a digit, or the binary protocol's.
  function automatic logic of_reply(input logic [7:0] char);
    return char inside {["A" : "Z"], ["0" : "9"], BinaryReply};
  endfunction

  wire_t wire_in, wire_;
  logic wire_valid, wire_ready, udp_good;
  logic [15:0] reqid, total;
  assign total         = {dgram_beat_i.data[39:32], dgram_beat_i.data[47:40]};
  assign wire_in.dgram = dgram_i;
  assign wire_in.beat  = dgram_beat_i;
  assign wire_in.good  = dgram_i.len > 16'd8 && total == 16'd1 &&
      !of_reply(dgram_beat_i.data[64+:8]);
  assign wire_in.binary = dgram_beat_i.data[64+:8] == BinaryRequest;

  if (Config.udp) begin : gen_wire
    lib_half_buffer #(
      .T(wire_t)
    ) u_wire (
      .clk_i,
      .rst_ni,
      .s_valid_i(dgram_valid_i),
      .s_ready_o(dgram_ready_o),
      .s_data_i (wire_in),
      .m_valid_o(wire_valid),
      .m_ready_i(wire_ready),
      .m_data_o (wire_)
    );
  end else begin : gen_no_wire
    assign dgram_ready_o = 1'b1;
    assign {wire_valid, wire_} = '0;
  end
  assign reqid    = {wire_.beat.data[7:0], wire_.beat.data[15:8]};
  assign udp_good = wire_.good;

  // ---------------------------------------------------------------- one packet after another
  typedef enum logic [1:0] {
    StFree,
    StTcp,
    StUdp,
    StIgnore  // the rest of a datagram that is no request
  } state_e;

  state_e state_q;
  logic turn_q, turn;  // TCP had its turn
  // A datagram may begin: it is its turn, or no job's bytes were there a clock before. That these come is
  // known late, and all datagrams wait for this.
  logic udp_turn_q;
  logic [8:0] seen_q;

  logic in_valid, in_ready, in_last;
  line_t in_data;
  logic [6:0] in_len;
  logic [5:0] in_skip;
  logic out_ready, uctx_ready, begin_ok;
  logic tcp_ok, tcp_turn, pick_tcp, pick_udp, ignore;
  logic [8:0] tcp_at;
  logic dgram_ok;
  logic beginning;
  job_t tcp_job, udp_job;

  // One such job at a time.
  logic other_bad, line_ok, bad_q, over_q, gone, gone_q;
  conn_t bad_conn_q;
  assign line_valid = wait_out.host ? host_line_valid_i : rdat_valid_i;
  assign line       = wait_out.host ? host_line_i : rdat_i;
  assign other_bad  = rdat_bad_i && bad_q && bad_conn_q != wait_turn.visit.conn && !gone_q;
  assign line_ok    = line_valid && (wait_out.host || !other_bad);
  assign tcp_ok    = wait_valid && (wait_out.empty || line_ok);
  assign begin_ok  = out_ready && uctx_ready;

  assign dgram_ok  = wire_valid && !hold_i;

  always_comb begin
    pick_udp  = 1'b0;
    tcp_turn  = 1'b0;
    ignore    = 1'b0;
    beginning = state_q == StFree;
    unique case (state_q)
      StFree: begin
        ignore   = dgram_ok && !udp_good && udp_turn_q;
        pick_udp = dgram_ok && udp_good && udp_turn_q && begin_ok;
        tcp_turn = wait_valid && !(dgram_ok && udp_turn_q) && begin_ok;
      end
      StTcp:    tcp_turn = 1'b1;
      StUdp:    pick_udp = wire_valid;
      default:  ignore = wire_valid;
    endcase

    pick_tcp = tcp_turn && (wait_out.empty || line_ok);
    tcp_at   = beginning ? 9'd1 : seen_q + 9'd1;
    in_valid = pick_tcp || pick_udp;
    if (pick_tcp) begin
      in_data = line;
      in_last = tcp_at >= wait_out.lines;
      in_len  = (wait_out.empty) ? 7'd0 :
                (in_last && wait_out.tail != '0) ? {1'b0, wait_out.tail} : 7'd64;
      in_skip = (wait_out.empty) ? 6'd0 : wait_turn.rx_ptr[5:0];
    end else begin
      in_data = wire_.beat.data;
      in_last = wire_.beat.last;
      in_len  = wire_.beat.len;
      in_skip = 6'd8;
    end

    tcp_job              = '{udp: 1'b0, visit: wait_turn.visit, ctx: wait_turn.fresh ? '0 : ctx_i};
    tcp_job.ctx.rx_ptr   = wait_turn.rx_ptr;
    tcp_job.ctx.known    = wait_turn.known;
    tcp_job.ctx.resp.is  = wait_turn.redis;
    tcp_job.ctx.resp.all = wait_turn.all;

    udp_job     = '0;
    udp_job.udp = 1'b1;
    // What only goes on with an earlier job's request is not looked at.
    udp_job.ctx.opaque     = tcp_job.ctx.opaque;
    udp_job.ctx.cont_start = tcp_job.ctx.cont_start;
    udp_job.ctx.klen       = tcp_job.ctx.klen;
    udp_job.ctx.vlen       = tcp_job.ctx.vlen;
    udp_job.ctx.expiry     = tcp_job.ctx.expiry;
    udp_job.ctx.num        = tcp_job.ctx.num;
    udp_job.ctx.hash       = tcp_job.ctx.hash;
    udp_job.ctx.off        = tcp_job.ctx.off;
    udp_job.visit.tx_ptr   = 32'(ours_of(wire_.dgram.peer) != OursIp4);
    udp_job.visit.len      = 14'(wire_.dgram.len - 16'd8);
  end

  assign line_take     = pick_tcp && in_ready && !wait_out.empty;
  // Whether it is there is not asked: the ring's reader waits for this.
  assign rdat_ready_o  = tcp_turn && in_ready && !wait_out.empty && !wait_out.host && !other_bad;
  assign host_line_ready_o = line_take && wait_out.host;
  assign wire_ready    = (pick_udp && in_ready) || ignore;
  assign wait_take     = pick_tcp && in_ready && in_last;

  assign turn = ignore ? 1'b0 : (in_valid && in_ready) ? pick_tcp : turn_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StFree;
      turn_q     <= 1'b0;
      udp_turn_q <= 1'b0;
    end else begin
      turn_q     <= turn;
      udp_turn_q <= turn || !tcp_ok;
      if (in_valid && in_ready) begin
        state_q <= in_last ? StFree : pick_tcp ? StTcp : StUdp;
        seen_q  <= tcp_at;
      end
      if (ignore) state_q <= wire_.beat.last ? StFree : StIgnore;
    end
  end

  // That a job is over is known late; the connection's next one comes much later. Of the one whose lines come now,
  // what is left then counts for nothing: nobody would see to it.
  logic spoils;
  conn_t over_conn_q;
  assign gone   = gone_q || (over_q && over_conn_q == wait_turn.visit.conn);
  assign spoils = bad_read_o && !gone;
  always_ff @(posedge clk_i) begin
    over_q      <= rst_ni && job_over_i;
    over_conn_q <= job_over_conn_i;
    gone_q      <= rst_ni && wait_valid && !wait_take && gone;
    if (!rst_ni) bad_q <= 1'b0;
    else if (spoils) bad_q <= 1'b1;
    else if (over_q && over_conn_q == bad_conn_q) bad_q <= 1'b0;
    if (spoils) bad_conn_q <= wait_turn.visit.conn;
  end
  assign bad_read_o  = line_take && !wait_out.host && rdat_bad_i;
  assign bad_valid_o = bad_q;
  assign bad_conn_o  = bad_conn_q;

  assign taken_o       = pick_udp && in_ready;
  assign taken_dgram_o = wire_.dgram;
  assign taken_beat_o  = wire_.beat;
  assign udp_o     = beginning && pick_udp && in_ready;
  assign udp_bad_o = beginning && ignore;
  assign wait_o    = state_q inside {StFree, StTcp} && wait_valid && !wait_out.empty &&
                     !line_valid;

  // A connection's first byte, and each datagram's, decides on the protocol; of the request port's it is known.
  // Which of the two it is is known late.
  job_t job;
  logic magic;
  logic [5:0] magic_at;
  always_comb begin
    magic_at = wait_out.empty ? '0 : wait_turn.rx_ptr[5:0];
    magic    = 1'b0;
    for (int unsigned i = 0; i < 64; i++)
    magic |= magic_at == 6'(i) && rdat_i[8*i+:8] == BinaryRequest;
    magic = wait_turn.known ? wait_turn.binary : magic && !wait_turn.redis;
    job = pick_tcp ? tcp_job : udp_job;
    job.ctx.binary.is = pick_tcp ? magic : wire_.binary;
  end

  logic [3:0] out_level;
  lib_fifo #(
    .T    (job_t),
    .Depth(8)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(beginning && in_valid && in_ready),
    .s_ready_o(out_ready),
    .s_data_i (job),
    .m_valid_o(job_valid_o),
    .m_ready_i(job_ready_i),
    .m_data_o (job_o),
    .level_o  (out_level)
  );

  uctx_t uctx;
  assign uctx.peer  = wire_.dgram.peer;
  assign uctx.reqid = reqid;

  // As many as UDP requests that may be on their way through the store.
  logic [8:0] uctx_level;
  if (Config.udp) begin : gen_uctx
    lib_fifo #(
      .T    (uctx_t),
      .Depth(256)
    ) u_uctx (
      .clk_i,
      .rst_ni,
      .s_valid_i(udp_o),
      .s_ready_o(uctx_ready),
      .s_data_i (uctx),
      .m_valid_o(uctx_valid_o),
      .m_ready_i(uctx_ready_i),
      .m_data_o (uctx_o),
      .level_o  (uctx_level)
    );
  end else begin : gen_no_uctx
    assign uctx_ready = 1'b1;
    assign {uctx_valid_o, uctx_o, uctx_level} = '0;
  end

  raw_t raw;
  assign raw = '{
          binary: job.ctx.binary.is,
          resp: job.ctx.resp.is,
          data: in_data,
          start: beginning ? in_skip : 6'd0,
          stop: in_len,
          first: beginning,
          last: in_last
      };

  lib_half_buffer #(
    .T(raw_t)
  ) u_raw (
    .clk_i,
    .rst_ni,
    .s_valid_i(in_valid),
    .s_ready_o(in_ready),
    .s_data_i (raw),
    .m_valid_o(raw_valid_o),
    .m_ready_i(raw_ready_i),
    .m_data_o (raw_o)
  );

  assign idle_o = !job_valid_i && !dgram_valid_i && !wire_valid && !reading_q &&
                  wait_level == '0 && !wait_valid && state_q == StFree && out_level == '0 &&
                  !raw_valid_o && uctx_level == '0;

endmodule
