// flush_all: buckets of another epoch are empty. At once: the epoch moves on. Later: when the
// second before the flush's time begins, and once more when it is over, so that items stored within
// it go too.
module execute_flush
  import wirekv_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  msec_t       now_i,
  /// A flush, and its time; 0: at once.
  input  logic        flush_i,
  input  msec_t       expiry_i,
  /// No request has looked at its buckets: a later flush may come due.
  input  logic        idle_i,
  output logic [31:0] epoch_o
);

  localparam msec_t Second = 48'd1000;

  logic [31:0] epoch_q;
  msec_t at_q;
  logic [1:0] wait_q;
  logic due;

  assign due     = now_i >= at_q && idle_i;
  assign epoch_o = epoch_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      epoch_q <= '0;
      wait_q  <= '0;
    end else if (flush_i) begin
      // A time that is past only calls a pending flush off.
      if (expiry_i == '0) epoch_q <= epoch_q + 1'b1;
      wait_q <= (expiry_i > now_i) ? 2'd2 : 2'd0;
    end else if (wait_q != '0 && due) begin
      epoch_q <= epoch_q + 1'b1;
      wait_q  <= wait_q - 2'd1;
    end
    if (flush_i) at_q <= expiry_i - Second;
    else if (wait_q == 2'd2 && due) at_q <= at_q + Second;
  end

endmodule
