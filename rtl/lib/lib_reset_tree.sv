// A synchronous reset for many places of a chip: each copy comes through registers of its own, which stay apart. All copies
// change in the same clock. Latency Depth.
//
// From configuration on the copies are active, until the reset has gone through.
module lib_reset_tree #(
  /// Registers from the reset to each copy, 1 or more: so many clocks it may travel.
  parameter int unsigned Depth = 2,
  /// Copies, 1 or more.
  parameter int unsigned Copies = 1
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  output logic [Copies-1:0] rst_no
);

  if (Depth < 1 || Copies < 1) begin : gen_bad_size
    $error("%m: Depth and Copies must be 1 or more");
  end

  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    lib_reset_chain #(
      .Depth(Depth)
    ) u_chain (
      .clk_i,
      .rst_ni,
      .rst_no(rst_no[c])
    );
  end

endmodule
