// The card's clock: what the host says the time is, counted on by ticks. It never goes back: when the
// host says less, it stands until that time has come. Latency 4 clocks.
module lib_clock
  import wirekv_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// One-clock pulse each millisecond.
  input  logic        tick_i,
  /// The host says the time: UNIX seconds, and milliseconds, 0..999, of the present one.
  input  logic        set_i,
  input  logic [31:0] seconds_i,
  input  logic [9:0]  milliseconds_i,
  output now_t        now_o
);

  typedef struct packed {
    logic [31:0] seconds;
    logic [9:0]  ms;
  } time_t;

  time_t told_q, time_q;
  msec_t second_q;
  logic [9:0] ms_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      told_q   <= '0;
      time_q   <= '0;
      second_q <= '0;
      ms_q     <= '0;
      now_o    <= '0;
    end else begin
      if (set_i) begin
        told_q <= '{seconds: seconds_i, ms: milliseconds_i};
      end else if (tick_i) begin
        told_q.ms <= told_q.ms + 10'd1;
        if (told_q.ms == 10'd999) told_q <= '{seconds: told_q.seconds + 32'd1, ms: '0};
      end
      if (told_q > time_q) time_q <= told_q;
      // A second has 1024 - 16 - 8 milliseconds.
      second_q <= (msec_t'(time_q.seconds) << 10) - (msec_t'(time_q.seconds) << 4) -
                  (msec_t'(time_q.seconds) << 3);
      ms_q     <= time_q.ms;
      now_o    <= '{ms: second_q + msec_t'(ms_q), second: second_q};
    end
  end

endmodule
