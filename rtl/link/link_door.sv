// An index that the host moves by a doorbell. It goes forward by what there is, and no further. Latency 2, interval 2.
module link_door
  import link_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Back to 0.
  input  logic   clear_i,
  /// The host writes it.
  input  logic   we_i,
  input  index_t value_i,
  /// It may go so far; at most as far as two clocks ago.
  input  index_t room_i,
  output index_t index_o,
  /// The host said what cannot be: the index stays.
  output logic   bad_o
);

  logic we_q, fits;
  index_t value_q, room_q;
  assign fits  = index_t'(value_q - index_o) <= room_q;
  assign bad_o = we_q && !fits;

  always_ff @(posedge clk_i) begin
    value_q <= value_i;
    room_q  <= room_i;
    we_q    <= rst_ni && !clear_i && we_i;
    if (!rst_ni || clear_i) index_o <= '0;
    else if (we_q && fits) index_o <= value_q;
  end

endmodule
