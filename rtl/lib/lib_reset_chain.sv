// One copy of a reset, see lib_reset_tree: registers that synthesis neither merges with those of another copy nor makes a
// shift register of. Apart for synthesis, as Yosys merges equal registers whatever their attributes. Latency Depth.
(* keep_hierarchy = "yes" *)
module lib_reset_chain #(
  /// Registers, 1 or more.
  parameter int unsigned Depth = 2
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no
);

  (* keep = "true", dont_touch = "true", shreg_extract = "no" *) logic [Depth-1:0] rst_q;
  initial rst_q = '0;
  always_ff @(posedge clk_i) rst_q <= Depth'({rst_q, rst_ni});
  assign rst_no = rst_q[Depth-1];

endmodule
