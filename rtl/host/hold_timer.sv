// How long the request port holds the store: from its turn on until all that was sent before its release is executed, or
// else so many clocks after it began, or after its commit, of which it has one. Between two holds others have as many
// clocks as were held. A hold that took too long goes on until its connection is known to be closed, as until then the
// scheduler may begin what it was told of before.
module hold_timer (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Most clocks from the beginning of a hold to its commit or end, and from there on. 0: there is no hold.
  input  logic [23:0] hold_max_i,
  /// Pulses: a packet asks for a hold, is its commit, its release.
  input  logic        ask_i,
  input  logic        commit_i,
  input  logic        release_i,
  /// The connection is open; what came for it is executed; pulse: the scheduler knows that it is closed.
  input  logic        open_i,
  input  logic        done_i,
  input  logic        told_i,
  /// A hold is asked for; the store is held.
  output logic        want_o,
  output logic        hold_o,
  /// Pulses: a hold begins, ends as it should. One takes too long.
  output logic        begins_o,
  output logic        ends_o,
  output logic        over_o
);

  logic want_q, hold_q, release_q, commit_q;
  logic [23:0] clocks_q;  // that are left
  logic [25:0] rest_q;    // that others have before the next one
  assign want_o   = want_q;
  assign hold_o   = hold_q;
  assign begins_o = want_q && rest_q == '0 && open_i;
  assign over_o   = hold_q && clocks_q == '0;
  assign ends_o   = hold_q && release_q && done_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      want_q <= 1'b0;
      hold_q <= 1'b0;
      rest_q <= '0;
    end else begin
      if (ask_i && !hold_q) want_q <= 1'b1;
      else if (begins_o || !open_i) want_q <= 1'b0;
      if (begins_o) hold_q <= 1'b1;
      else if (ends_o || told_i) hold_q <= 1'b0;
      if (hold_q) rest_q <= (&rest_q) ? rest_q : rest_q + 26'd1;
      else if (rest_q != '0) rest_q <= rest_q - 26'd1;
    end
    if (begins_o || (commit_i && !commit_q)) clocks_q <= hold_max_i;
    else clocks_q <= clocks_q - 24'd1;
    if (!hold_q) commit_q <= 1'b0;
    else if (commit_i) commit_q <= 1'b1;
    if (ends_o || !(hold_q || want_q)) release_q <= ask_i && release_i;
    else if (release_i) release_q <= 1'b1;
  end

endmodule
