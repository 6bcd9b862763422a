// A connection's share of the table's time. While a segment waits for an earlier event of its connection (see
// tcp_pick), all others wait, too. A burst of them is served one after the other. But where segments have
// stood in line for long, those of a connection may hold up the line for so many clocks in each span of time,
// and more of them are dropped, to be sent again: they come faster than they can be served, and would be
// lost all the same, and others' with them, where segments come in. It does not matter whose stand in line now:
// where all are that connection's, others' find no place there when they come. Latency 0.
//
// Connections whose ids end alike share one account.
module tcp_share
  import wirekv_pkg::*;
#(
  /// So many clocks in a span of so many: powers of two.
  parameter int unsigned Most = 16,
  parameter int unsigned Span = 1024,
  /// Segments stood in line in so many clocks more than they did not: a power of two.
  parameter int unsigned Patience = 2048
) (
  input  logic  clk_i,
  input  logic  rst_ni,
  /// A segment stands in line.
  input  logic  line_i,
  /// A connection; whether one of its segments makes those in line wait in this clock.
  input  conn_t conn_i,
  input  logic  wait_i,
  /// Another connection, or this one; it has done so for too long.
  input  conn_t ask_i,
  output logic  over_o
);

  localparam int unsigned Accounts = 64;
  localparam int unsigned AccountW = $clog2(Accounts);
  localparam int unsigned MostW = $clog2(Most);

  // What is known late counts a clock later.
  logic [$clog2(Patience):0] line_q;
  logic stands_q, wait_q;
  logic [AccountW-1:0] conn_q;
  always_ff @(posedge clk_i) begin
    stands_q <= line_i;
    wait_q   <= rst_ni && wait_i;
    conn_q   <= conn_i[AccountW-1:0];
    if (!rst_ni) line_q <= '0;
    else if (stands_q && line_q != '1) line_q <= line_q + 1'b1;
    else if (!stands_q && line_q != '0) line_q <= line_q - 1'b1;
  end

  // Spans have numbers: an account of another one is empty. By the time that a number comes again, an account
  // that was not used meanwhile may be taken for a present one, for that span.
  typedef struct packed {
    logic [3:0]     span;
    logic [MostW:0] clocks;
  } account_t;

  logic [$clog2(Span)-1:0] clock_q;
  logic [3:0] span_q;
  logic cleared_q;  // all accounts are, in the first clocks
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {span_q, clock_q} <= '0;
    else {span_q, clock_q} <= {span_q, clock_q} + 1'b1;
    if (!rst_ni) cleared_q <= 1'b0;
    else if (clock_q[AccountW]) cleared_q <= 1'b1;
  end

  // What an account says now.
  function automatic logic [MostW:0] clocks_of(input account_t account, input logic [3:0] span,
                                               input logic cleared);
    return (cleared && account.span == span) ? account.clocks : '0;
  endfunction

  (* ram_style = "distributed" *) account_t account_q[Accounts];
  logic [AccountW-1:0] number;
  logic [MostW:0] clocks, asked;
  assign number = cleared_q ? conn_q : clock_q[AccountW-1:0];
  assign clocks = clocks_of(account_q[number], span_q, cleared_q);
  assign asked  = clocks_of(account_q[ask_i[AccountW-1:0]], span_q, cleared_q);
  assign over_o = asked[MostW] && line_q[$clog2(Patience)];
  always_ff @(posedge clk_i) begin
    if (!cleared_q) account_q[number] <= '0;
    else if (wait_q && !clocks[MostW])
      account_q[number] <= '{span: span_q, clocks: clocks + 1'b1};
  end

  logic unused;
  assign unused = ^{conn_i, ask_i};

endmodule
