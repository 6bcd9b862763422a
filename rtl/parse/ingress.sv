// The way in of the protocol: decides which connection is served next, gets its bytes and turns
// them into requests. A UDP request reaches the store 13 clocks after its datagram; a `get` of one
// short key takes a clock in a row of requests and 2 in a datagram of its own.
module ingress
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import parse_pkg::*;
#(
  /// Connections; a power of two, 16..16384.
  parameter int unsigned Conns = 1024
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  /// Largest item as memcached counts it (-I), in bytes.
  input  logic [20:0] item_max_i,
  input  now_t        now_i,
  /// First line of the receive rings.
  input  laddr_t  rx_base_i,
  /// From and to tcp.
  input  logic    ev_valid_i,
  output logic    ev_ready_o,
  input  ev_t     ev_i,
  output logic    app_valid_o,
  input  logic    app_ready_i,
  output app_t    app_o,
  /// Receive rings in memory: a line, and which of its lanes are wanted.
  output logic    rd_valid_o,
  input  logic    rd_ready_i,
  output laddr_t  rd_addr_o,
  output lanes_t  rd_lanes_o,
  input  logic    rdat_valid_i,
  output logic    rdat_ready_o,
  input  line_t   rdat_i,
  input  logic    rdat_bad_i,
  /// The same of the request port's connection, and that it holds the store: see request_port.
  output logic    host_rd_valid_o,
  input  logic    host_rd_ready_i,
  output logic [9:0] host_rd_line_o,
  input  logic    host_line_valid_i,
  output logic    host_line_ready_o,
  input  line_t   host_line_i,
  input  logic    hold_i,
  /// What peers that speak Redis' protocol may do: see scheduler.
  input  logic    guard_i,
  input  logic    pause_i,
  /// What is no plain GET is for host software: see parser.
  input  logic    upstream_i,
  /// The log has copied much: connections whose jobs copy wait.
  input  logic    late_i,
  /// Pulse: a datagram's job has ended.
  input  logic    udp_end_i,
  output logic    about_valid_o,
  output about_t  about_o,
  /// Memory could not read bytes of this connection's job: see fetch.
  output logic    bad_valid_o,
  output conn_t   bad_conn_o,
  input  logic    job_over_i,
  input  conn_t   job_over_conn_i,
  /// Pulse, to be counted: memory refused a write to a ring.
  input  logic    wr_bad_i,
  /// Likewise: a datagram for host software found no room.
  input  logic    lost_i,
  /// UDP datagrams, memcached's frame header included; meta data stands beside every beat.
  input  logic    dgram_valid_i,
  output logic    dgram_ready_o,
  input  dgram_t  dgram_i,
  input  beat_t   dgram_beat_i,
  /// Those that become jobs, as they are taken.
  output logic    taken_o,
  output dgram_t  taken_dgram_o,
  output beat_t   taken_beat_o,
  /// Whom UDP jobs answer, one a job.
  output logic    uctx_valid_o,
  input  logic    uctx_ready_i,
  output uctx_t   uctx_o,
  /// Requests, and their keys; a record's key beats are there no later than the record.
  output logic    req_valid_o,
  input  logic    req_ready_i,
  output req_t    req_o,
  output logic    key_valid_o,
  input  logic    key_ready_i,
  output beat_t   key_o,
  /// Items, and further parts of them, for the log, which answers each in the same clock or later, in order: a
  /// start by its place.
  output logic    put_valid_o,
  input  logic    put_ready_i,
  output put_t    put_o,
  input  logic    put_off_valid_i,
  input  off_t    put_off_i,
  output logic    putk_valid_o,
  input  logic    putk_ready_i,
  output beat_t   putk_o,
  output logic    putb_valid_o,
  input  logic    putb_ready_i,
  output beat_t   putb_o,
  /// What the last request of a TCP job has left for its connection's next one; before that job is finished.
  input  logic    kept_valid_i,
  input  conn_t   kept_conn_i,
  input  ctx_t    kept_i,
  /// Finished jobs, and pieces of the host's answers.
  input  logic    done_valid_i,
  output logic    done_ready_o,
  input  done_t   done_i,
  input  logic    hpiece_valid_i,
  output logic    hpiece_ready_o,
  input  hpiece_t hpiece_i,
  /// Events: ingress_count_e.
  output logic [IngressCounts-1:0] count_o,
  /// Nothing in flight here.
  output logic    idle_o
);

  logic tcp_valid, tcp_ready, job_valid, job_ready, raw_valid, raw_ready;
  turn_t turn;
  job_t job;
  logic ctx_rd;
  conn_t ctx_conn;
  ctx_t ctx;
  raw_t raw;
  logic scheduler_idle, fetch_idle, parser_idle;
  logic press, close, udp, udp_bad, wait_bytes, wait_room, line, error, rollback, host, bad_read;

  scheduler #(
    .Conns(Conns)
  ) u_scheduler (
    .clk_i,
    .rst_ni,
    .ev_valid_i,
    .ev_ready_o,
    .ev_i,
    .app_valid_o,
    .app_ready_i,
    .app_o,
    .done_valid_i,
    .done_ready_o,
    .done_i,
    .hpiece_valid_i,
    .hpiece_ready_o,
    .hpiece_i,
    .hold_i,
    .guard_i,
    .pause_i,
    .late_i,
    .udp_begin_i(udp),
    .udp_end_i,
    .press_o     (press),
    .about_valid_o,
    .about_o,
    .job_valid_o(tcp_valid),
    .job_ready_i(tcp_ready),
    .job_o      (turn),
    .close_o    (close),
    .idle_o     (scheduler_idle)
  );

  contexts #(
    .Conns(Conns)
  ) u_contexts (
    .clk_i,
    .rst_ni,
    .wr_valid_i(kept_valid_i),
    .wr_conn_i (kept_conn_i),
    .wr_i      (kept_i),
    .rd_i      (ctx_rd),
    .rd_conn_i (ctx_conn),
    .ctx_o     (ctx)
  );

  fetch u_fetch (
    .clk_i,
    .rst_ni,
    .rx_base_i,
    .job_valid_i (tcp_valid),
    .job_ready_o (tcp_ready),
    .job_i       (turn),
    .ctx_rd_o    (ctx_rd),
    .ctx_conn_o  (ctx_conn),
    .ctx_i       (ctx),
    .rd_valid_o,
    .rd_ready_i,
    .rd_addr_o,
    .rd_lanes_o,
    .rdat_valid_i,
    .rdat_ready_o,
    .rdat_i,
    .rdat_bad_i,
    .host_rd_valid_o,
    .host_rd_ready_i,
    .host_rd_line_o,
    .host_line_valid_i,
    .host_line_ready_o,
    .host_line_i,
    .hold_i,
    .bad_valid_o,
    .bad_conn_o,
    .job_over_i,
    .job_over_conn_i,
    .bad_read_o  (bad_read),
    .dgram_valid_i,
    .dgram_ready_o,
    .dgram_i,
    .dgram_beat_i,
    .taken_o,
    .taken_dgram_o,
    .taken_beat_o,
    .uctx_valid_o,
    .uctx_ready_i,
    .uctx_o,
    .job_valid_o (job_valid),
    .job_ready_i (job_ready),
    .job_o       (job),
    .raw_valid_o (raw_valid),
    .raw_ready_i (raw_ready),
    .raw_o       (raw),
    .udp_o       (udp),
    .udp_bad_o   (udp_bad),
    .wait_o      (wait_bytes),
    .idle_o      (fetch_idle)
  );

  parser u_parser (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .now_i,
    .upstream_i,
    .job_valid_i (job_valid),
    .job_ready_o (job_ready),
    .job_i       (job),
    .press_i     (press),
    .raw_valid_i (raw_valid),
    .raw_ready_o (raw_ready),
    .raw_i       (raw),
    .req_valid_o,
    .req_ready_i,
    .req_o,
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .put_valid_o,
    .put_ready_i,
    .put_o,
    .put_off_valid_i,
    .put_off_i,
    .putk_valid_o,
    .putk_ready_i,
    .putk_o,
    .putb_valid_o,
    .putb_ready_i,
    .putb_o,
    .line_o      (line),
    .error_o     (error),
    .rollback_o  (rollback),
    .host_o      (host),
    .wait_o      (wait_room),
    .idle_o      (parser_idle)
  );

  always_comb begin
    count_o                      = '0;
    count_o[IngressCountJobs]      = tcp_valid && tcp_ready;
    count_o[IngressCountUdpJobs]   = udp;
    count_o[IngressCountUdpBad]    = udp_bad;
    count_o[IngressCountLines]     = line;
    count_o[IngressCountErrors]    = error;
    count_o[IngressCountRollbacks] = rollback;
    count_o[IngressCountSetBytes]  = putb_valid_o && putb_ready_i;
    count_o[IngressCountHost]      = host;
    count_o[IngressCountCloses]    = close;
    count_o[IngressCountWaitRoom]  = wait_room;
    count_o[IngressCountWaitBytes] = wait_bytes;
    count_o[IngressCountBadReads]  = bad_read;
    count_o[IngressCountBadWrites] = wr_bad_i;
    count_o[IngressCountLostDatagrams] = lost_i;
  end

  assign idle_o = scheduler_idle && fetch_idle && parser_idle;

endmodule
