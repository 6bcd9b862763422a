// Keeps lines of received bytes and gives any 64 bytes of them in a row. Latency 1, initiation
// interval 1; the last levels of the rotation stand behind the register.
module line_window
  import wirekv_pkg::*;
  import lib_pkg::*;
  import parse_pkg::*;
#(
  /// Only the last one does, not the last two.
  parameter bit Early = 1
) (
  input  logic     clk_i,
  /// A line.
  input  logic     we_i,
  input  logic [KeptW-1:0] wline_i,
  input  line_t    wdata_i,
  /// Where the 64 bytes start. `alone`: zeros stand for the line behind.
  input  place_t   place_i,
  input  logic     alone_i,
  /// A clock later.
  output line_t    data_o
);

  // Even and odd lines apart, so that two neighbours are read at once.
  localparam int unsigned Rows = KeptLines / 2;
  typedef logic [KeptW-2:0] row_t;

  row_t even_row, odd_row;
  line_t even, odd;
  assign odd_row  = place_i.line[KeptW-1:1];
  assign even_row = odd_row + row_t'(place_i.line[0]);

  (* ram_style = "distributed" *) line_t even_q[Rows];
  (* ram_style = "distributed" *) line_t odd_q[Rows];
  always_ff @(posedge clk_i) begin
    if (we_i && !wline_i[0]) even_q[wline_i[KeptW-1:1]] <= wdata_i;
    if (we_i && wline_i[0]) odd_q[wline_i[KeptW-1:1]] <= wdata_i;
  end
  assign even = even_q[even_row];
  assign odd  = odd_q[odd_row];

  // A lane below the first one is of the line behind. Then the first one goes to lane 0.
  line_t both, by16, by4;
  always_comb begin
    logic [63:0] own;
    own  = lanes_from(place_i.lane);
    both = merge_lanes(own ^ {64{!place_i.line[0]}}, odd, even);
    if (alone_i) both &= bytes_of(own);
  end
  lib_mux4 #(
    .Step(128)
  ) u_by16 (
    .data_i ({both[383:0], both}),
    .steps_i(place_i.lane[5:4]),
    .data_o (by16)
  );

  line_t by4_in, by1_in;
  logic [1:0] steps4, steps1_q;
  always_ff @(posedge clk_i) steps1_q <= place_i.lane[1:0];
  if (Early) begin : gen_early
    assign steps4 = place_i.lane[3:2];
    assign by4_in = by16;
    always_ff @(posedge clk_i) by1_in <= by4;
  end else begin : gen_late
    always_ff @(posedge clk_i) steps4 <= place_i.lane[3:2];
    always_ff @(posedge clk_i) by4_in <= by16;
    assign by1_in = by4;
  end
  lib_mux4 #(
    .Step(32)
  ) u_by4 (
    .data_i ({by4_in[95:0], by4_in}),
    .steps_i(steps4),
    .data_o (by4)
  );
  lib_mux4 #(
    .Step(8)
  ) u_by1 (
    .data_i ({by1_in[23:0], by1_in}),
    .steps_i(steps1_q),
    .data_o
  );

endmodule
