// Holds the core in reset until its program is there, and resets it when it has not shown for `Clocks` clocks that it is
// alive. A core that waits for work is alive.
module machine_watchdog #(
  /// Clocks, from 2^10: more than the longest time between two signs of life.
  parameter int unsigned Clocks = 1 << 22
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The program is there.
  input  logic        run_i,
  /// The core is alive.
  input  logic        alive_i,
  /// The core's reset, high; a clock is enough for the core, and 16 for what it has begun on its bus.
  output logic        core_rst_o,
  /// How often it was reset; stays at its highest value.
  output logic [31:0] restarts_o
);

  if (Clocks < 1024) begin : gen_bad_clocks
    $error("%m: Clocks must be 1,024 or more");
  end
  localparam int unsigned W = $clog2(Clocks + 1);
  logic [W-1:0] left_q;
  logic [3:0] hold_q;
  assign core_rst_o = hold_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hold_q     <= '1;
      left_q     <= W'(Clocks);
      restarts_o <= '0;
    end else if (!run_i) begin
      hold_q <= '1;
    end else if (core_rst_o) begin
      hold_q <= hold_q - 1'b1;
      left_q <= W'(Clocks);
    end else if (alive_i) left_q <= W'(Clocks);
    else if (left_q != '0) left_q <= left_q - 1'b1;
    else begin
      hold_q <= '1;
      if (restarts_o != '1) restarts_o <= restarts_o + 1'b1;
    end
  end

endmodule
