// Time of the TCP part: counts ticks and brings every connection that waits back to the table, in
// one of three delay queues. Nothing is scanned and nothing depends on the clock's frequency.
module tcp_timers
  import wirekv_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two.
  parameter int unsigned Conns = 1024,
  /// Ticks in a second, at whose ends there are slow visits: up to 1000.
  parameter int unsigned SlowTicks = 1000
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// One-clock pulse each millisecond.
  input  logic        tick_i,
  /// Ticks that have passed beside that; both together no more than a second.
  input  logic [9:0]  slept_i,
  input  logic [15:0] time_wait_i,
  /// Ids are short: end the oldest TIME_WAIT.
  input  logic        low_i,
  /// Slow visits each RareSeconds are enough.
  input  logic        rare_i,
  /// Ticks since reset.
  output logic [19:0] now_o,
  /// The same in units of 65,536.
  output logic [15:0] epoch_o,
  /// Seconds since reset.
  output seconds_t    second_o,
  /// A connection wants a visit: 0 fast, 1 slow, 2 wait.
  input  logic [2:0]  push_i,
  input  conn_t       push_conn_i,
  /// Visits.
  output logic [2:0]  valid_o,
  input  logic [2:0]  ready_i,
  output conn_t [2:0] conn_o,
  /// The visit of queue 2 is early: the id is wanted.
  output logic        hurry_o,
  /// Some connection waits for a tick.
  output logic        waits_o,
  /// ... for less than the end of a second.
  output logic        short_o
);

  // A second ends for all at once: so what waits for it loses nothing when ticks come late, but in time
  // for each second.
  logic [31:0] ticks_q;
  seconds_t second_q;
  logic [10:0] part_q, part;  // ticks of the present second
  assign part = part_q + 11'(slept_i) + 11'(tick_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ticks_q  <= '0;
      second_q <= '0;
      part_q <= '0;
    end else begin
      ticks_q  <= ticks_q + 32'(slept_i) + 32'(tick_i);
      part_q <= part;
      if (part >= 11'(SlowTicks)) begin
        part_q <= part - 11'(SlowTicks);
        second_q <= second_q + 1'b1;
      end
    end
  end
  assign now_o   = ticks_q[19:0];
  assign epoch_o = ticks_q[31:16];
  assign second_o = second_q;

  // At most one early end in 4 clocks: the id needs some of them to come back, and no new connection
  // comes sooner.
  logic [1:0] pace_q;
  logic [2:0] empty;
  logic [1:0] unused_hurry;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) pace_q <= '0;
    else pace_q <= low_i ? pace_q + 2'd1 : '0;
  end

  tcp_delay #(
    .Conns(Conns)
  ) u_fast (
    .clk_i,
    .rst_ni,
    .now_i  (now_o[15:0]),
    .delay_i(16'(FastTicks)),
    .hurry_i(1'b0),
    .push_i (push_i[0]),
    .conn_i (push_conn_i),
    .valid_o(valid_o[0]),
    .ready_i(ready_i[0]),
    .conn_o (conn_o[0]),
    .hurry_o(unused_hurry[0]),
    .empty_o(empty[0])
  );

  tcp_delay #(
    .Conns(Conns)
  ) u_slow (
    .clk_i,
    .rst_ni,
    .now_i  (second_q),
    .delay_i(rare_i ? 16'(RareSeconds) : 16'd1),
    .hurry_i(1'b0),
    .push_i (push_i[1]),
    .conn_i (push_conn_i),
    .valid_o(valid_o[1]),
    .ready_i(ready_i[1]),
    .conn_o (conn_o[1]),
    .hurry_o(unused_hurry[1]),
    .empty_o(empty[1])
  );

  tcp_delay #(
    .Conns(Conns)
  ) u_wait (
    .clk_i,
    .rst_ni,
    .now_i  (now_o[15:0]),
    .delay_i(time_wait_i),
    .hurry_i(&pace_q),
    .push_i (push_i[2]),
    .conn_i (push_conn_i),
    .valid_o(valid_o[2]),
    .ready_i(ready_i[2]),
    .conn_o (conn_o[2]),
    .hurry_o(hurry_o),
    .empty_o(empty[2])
  );

  assign waits_o = empty != '1;
  assign short_o = !empty[0] || !empty[2];

endmodule
