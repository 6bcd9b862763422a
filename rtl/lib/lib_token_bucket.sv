// Token bucket: how often something may happen, whatever the clock. Full after reset.
`include "lib_assert.svh"

module lib_token_bucket #(
  /// Tokens that it holds: what may happen at once after a pause; 1 or more.
  parameter int unsigned Burst = 50,
  /// Ticks after which it holds one token more: 1 is 1,000 a second where a tick is a millisecond.
  parameter int unsigned Ticks = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// One-clock pulse for each unit of time.
  input  logic tick_i,
  /// It happens: takes a token. Only beside ok_o.
  input  logic take_i,
  /// There is a token.
  output logic ok_o,
  /// Tokens are missing: ticks must be delivered.
  output logic timer_o
);

  if (Burst < 1 || Ticks < 1) begin : gen_misuse
    $error("%m: Burst and Ticks must be 1 or more");
  end

  localparam int unsigned CountBits = $clog2(Burst + 1);
  localparam int unsigned TickBits = $clog2(Ticks + 1);
  logic [CountBits-1:0] tokens_q;
  logic [TickBits-1:0] ticks_q;
  logic more;

  assign ok_o    = tokens_q != '0;
  assign timer_o = tokens_q != CountBits'(Burst);
  assign more    = tick_i && timer_o && ticks_q == TickBits'(Ticks - 1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tokens_q <= CountBits'(Burst);
      ticks_q  <= '0;
    end else begin
      tokens_q <= tokens_q + CountBits'(more) - CountBits'(take_i);
      if (more || !timer_o) ticks_q <= '0;
      else if (tick_i) ticks_q <= ticks_q + 1'b1;
    end
  end

  `ASSERT(TakeWhatIsThere, !take_i || ok_o)
  `ASSERT(NeverMore, tokens_q <= CountBits'(Burst))

endmodule
