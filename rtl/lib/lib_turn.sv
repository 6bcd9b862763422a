// Rotates the bytes of a line towards lower lanes by 0 to 3 steps of some lanes: a level of four-way multiplexers,
// of one LUT a bit. Combinational.
//
// A module of its own for the same reason as lib_rotate.
(* keep_hierarchy = "yes" *)
module lib_turn #(
  /// Lanes of a step, 1 to 21.
  parameter int unsigned Step = 1
) (
  input  logic [511:0] data_i,
  input  logic [1:0]   steps_i,
  output logic [511:0] data_o
);

  localparam int unsigned Bits = 8 * Step;
  always_comb begin
    unique case (steps_i)
      2'd0: data_o = data_i;
      2'd1: data_o = {data_i[Bits-1:0], data_i[511:Bits]};
      2'd2: data_o = {data_i[2*Bits-1:0], data_i[511:2*Bits]};
      2'd3: data_o = {data_i[3*Bits-1:0], data_i[511:3*Bits]};
    endcase
  end

endmodule
