// Registers of known activity, and RAMs of three kinds, for test_power.py.
module saif_tb (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [71:0] data_o,
  output logic [71:0] wide_o,
  output logic [7:0]  small_o,
  output logic [2:0]  state_o
);

  logic       every_q;   // toggles each clock
  logic [1:0] fourth_q;  // toggles twice in four clocks, both bits together
  logic       never_q;   // stands at 1
  logic [1:0] count_q;

  assign state_o = {fourth_q, never_q};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      every_q  <= 1'b0;
      fourth_q <= '0;
      never_q  <= 1'b1;
      count_q  <= '0;
    end else begin
      every_q  <= !every_q;
      count_q  <= count_q + 1'b1;
      fourth_q <= {2{count_q[1]}};
    end
  end

  // Written every second clock, read in each.
  lib_ram #(
    .Width(72),
    .Depth(512)
  ) u_block (
    .clk_i,
    .we_i   (every_q),
    .waddr_i('0),
    .wbe_i  (1'b1),
    .wdata_i('0),
    .re_i   (1'b1),
    .raddr_i('0),
    .rdata_o(data_o)
  );

  // Read every fourth clock.
  lib_ram #(
    .Width(72),
    .Depth(4096),
    .Ultra(1)
  ) u_ultra (
    .clk_i,
    .we_i   (1'b0),
    .waddr_i('0),
    .wbe_i  (1'b1),
    .wdata_i('0),
    .re_i   (&count_q),
    .raddr_i('0),
    .rdata_o(wide_o)
  );

  // Of distributed RAM: its output is a register of 8 bits, which never changes.
  lib_ram #(
    .Width(8),
    .Depth(16)
  ) u_small (
    .clk_i,
    .we_i   (1'b1),
    .waddr_i('0),
    .wbe_i  (1'b1),
    .wdata_i('0),
    .re_i   (1'b1),
    .raddr_i('0),
    .rdata_o(small_o)
  );

endmodule
