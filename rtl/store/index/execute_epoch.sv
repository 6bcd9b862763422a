// Epochs. A bucket has the one in which it was renewed last, and is empty unless that is the present
// one or, while nothing was flushed, the one before. Who writes a way into a bucket renews it first, and
// clears what it holds no more.
//
// flush_all begins an epoch. At once; or later: when the second before the flush's time begins, and
// once more when it is over, so that items stored within it go too.
//
// Else one begins every 64 laps of the log. So no way is older than 130 laps: a way's lap has 8 bits,
// and after 255 laps it would take for its item what is in that place then. (Laps that are left out
// when memory fails are not counted here; there the lap in an item's header tells.)
module execute_epoch
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  input  msec_t   now_i,
  /// Bit 6 of the log's lap.
  input  logic    lap_i,
  /// A flush, and its time; 0: at once.
  input  logic    flush_i,
  input  msec_t   expiry_i,
  /// No more requests may look at their buckets; none has: an epoch begins.
  output logic    hold_o,
  /// Pulse: what was stored in epochs before is flushed.
  output logic    flushed_o,
  input  logic    idle_i,
  output epochs_t epochs_o
);

  localparam msec_t Second = 48'd1000;

  epochs_t epochs_q;
  epoch_t next;
  msec_t at_q;
  logic [1:0] wait_q;
  logic lap_q, flush_due_q, hold_q, lap_due, flush_due, flush_now, go;

  assign hold_o    = hold_q;
  assign go        = hold_q && idle_i && !flush_i;
  assign lap_due   = lap_q != lap_i && !go;
  assign flush_due = wait_q != '0 && now_i >= at_q && !flush_i && !go;
  assign flush_now = flush_i && expiry_i == '0;
  assign flushed_o = flush_now || (go && flush_due_q);
  assign next      = epochs_q.now + 1'b1;
  assign epochs_o  = epochs_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      epochs_q    <= '0;
      wait_q      <= '0;
      lap_q       <= 1'b0;
      flush_due_q <= 1'b0;
      hold_q      <= 1'b0;
    end else begin
      if (flush_now || go)
        epochs_q <= '{now: next, last: (flush_now || flush_due_q) ? next : epochs_q.now};
      if (go) lap_q <= lap_i;
      // A time that is past only calls a pending flush off.
      if (flush_i) wait_q <= (expiry_i > now_i) ? 2'd2 : 2'd0;
      else if (go && flush_due_q) wait_q <= wait_q - 2'd1;
      flush_due_q <= flush_due;
      hold_q      <= lap_due || flush_due;
    end
    if (flush_i) at_q <= expiry_i - Second;
    else if (go && flush_due_q) at_q <= at_q + Second;
  end

endmodule
