// A part of a row of bits, from one of four places on that are equally far apart: a level of four-way multiplexers,
// of one LUT a bit. Combinational. Of these all rotations and shifts of lines are made.
//
// A module of its own because a mapper that has levels to spare, or sees several levels together, takes up to five
// LUTs a bit for three: synthesis keeps it apart.
(* keep_hierarchy = "yes" *)
module lib_mux4 #(
  /// Bits that come out.
  parameter int unsigned Width = 512,
  /// Bits from one place to the next.
  parameter int unsigned Step = 8
) (
  input  logic [Width+3*Step-1:0] data_i,
  input  logic [1:0]              steps_i,
  output logic [Width-1:0]        data_o
);

  always_comb begin
    unique case (steps_i)
      2'd0: data_o = data_i[0+:Width];
      2'd1: data_o = data_i[Step+:Width];
      2'd2: data_o = data_i[2*Step+:Width];
      2'd3: data_o = data_i[3*Step+:Width];
    endcase
  end

endmodule
