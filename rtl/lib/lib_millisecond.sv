// A pulse each millisecond, from a clock of known frequency, for tops of boards. If the frequency is no multiple of 1 kHz,
// pulses are a clock earlier or later, and right on average. Latency 1.
module lib_millisecond #(
  /// Frequency of clk_i in Hz, 2,000 or more.
  parameter int unsigned ClockHz = 250_000_000
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// For one clock.
  output logic tick_o
);

  if (ClockHz < 2_000 || ClockHz >= 2 ** 31) begin : gen_bad_clock
    $error("%m: ClockHz must be from 2,000 to 2^31 - 1");
  end

  // Thousandths of a clock's period times ClockHz since the last pulse, minus ClockHz: the sign tells.
  typedef logic signed [$clog2(ClockHz):0] phase_t;
  localparam phase_t Step = phase_t'(1_000);
  localparam phase_t Back = phase_t'(1_000) - phase_t'(ClockHz);
  phase_t phase_q;
  logic over;
  assign over = !phase_q[$bits(phase_t)-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= Back;
      tick_o  <= 1'b0;
    end else begin
      phase_q <= phase_q + (over ? Back : Step);
      tick_o  <= over;
    end
  end

endmodule
