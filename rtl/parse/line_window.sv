// Keeps lines of received bytes and gives any 64 bytes of them in a row. Latency 1, initiation
// interval 1; the last levels of the rotation stand behind the register.
module line_window
  import wirekv_pkg::*;
  import front_pkg::*;
(
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
  line_t by16_q;
  logic [3:0] turn_q;
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      logic own;
      own          = 6'(i) >= place_i.lane;
      both[8*i+:8] = (own == place_i.line[0]) ? odd[8*i+:8] : even[8*i+:8];
      if (!own && alone_i) both[8*i+:8] = '0;
    end
    unique case (place_i.lane[5:4])
      2'd0: by16 = both;
      2'd1: by16 = {both[127:0], both[511:128]};
      2'd2: by16 = {both[255:0], both[511:256]};
      2'd3: by16 = {both[383:0], both[511:384]};
    endcase
  end
  always_ff @(posedge clk_i) begin
    by16_q <= by16;
    turn_q <= place_i.lane[3:0];
  end
  always_comb begin
    unique case (turn_q[3:2])
      2'd0: by4 = by16_q;
      2'd1: by4 = {by16_q[31:0], by16_q[511:32]};
      2'd2: by4 = {by16_q[63:0], by16_q[511:64]};
      2'd3: by4 = {by16_q[95:0], by16_q[511:96]};
    endcase
    unique case (turn_q[1:0])
      2'd0: data_o = by4;
      2'd1: data_o = {by4[7:0], by4[511:8]};
      2'd2: data_o = {by4[15:0], by4[511:16]};
      2'd3: data_o = {by4[23:0], by4[511:24]};
    endcase
  end

endmodule
