// The beats of a job, with their delimiters, two of them side by side; the one behind is in sight.
// Latency 1, initiation interval 1.
module token_window
  import wirekv_pkg::*;
  import front_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  input  logic    beat_valid_i,
  output logic    beat_ready_o,
  input  beat_t   beat_i,
  /// The window is used up: what is behind belongs to another job. The first beat is.
  input  logic    drop_i,
  input  logic    shift_i,
  /// The window's beats: the second is the first one's follower in the job.
  output logic    w0_valid_o,
  output marked_t w0_o,
  output logic    w1_valid_o,
  output marked_t w1_o,
  /// There is a beat behind them, and it begins with a LF.
  output logic    next_valid_o,
  output logic    next_lf_o
);

  marked_t in, next;
  logic next_ready;

  always_comb begin
    logic [63:0] lanes;
    lanes   = beat_i.len[6] ? '1 : ~({64{1'b1}} << beat_i.len[5:0]);
    in.data = beat_i.data;
    in.len  = beat_i.len;
    in.last = beat_i.last;
    in.hard = '0;
    in.lf   = '0;
    in.cr   = '0;
    in.nul  = '0;
    in.stop = beat_i.last ? 65'(1) << beat_i.len : '0;
    if (beat_valid_i) begin
      for (int unsigned i = 0; i < 64; i++) begin
        in.hard[i] = beat_i.data[8*i+:8] inside {8'h20, 8'h0a, 8'h00};
        in.lf[i]   = beat_i.data[8*i+:8] == 8'h0a;
        in.cr[i]   = beat_i.data[8*i+:8] == 8'h0d;
        in.nul[i]  = beat_i.data[8*i+:8] == 8'h00;
      end
      in.hard &= lanes;
      in.lf &= lanes;
      in.cr &= lanes;
      in.nul &= lanes;
    end
  end

  lib_reg #(
    .T(marked_t)
  ) u_in (
    .clk_i,
    .rst_ni,
    .s_valid_i(beat_valid_i),
    .s_ready_o(beat_ready_o),
    .s_data_i (in),
    .m_valid_o(next_valid_o),
    .m_ready_i(next_ready),
    .m_data_o (next)
  );

  assign next_lf_o = next.lf[0];

  // Beats move up as they are used.
  logic w0_free, w1_free, fill0, fill1;
  assign w0_free    = !w0_valid_o || drop_i || (shift_i && !w1_valid_o);
  assign w1_free    = !w1_valid_o || drop_i || shift_i;
  assign fill0      = w0_free;
  assign fill1      = !w0_free && w1_free && !((shift_i && w1_valid_o) ? w1_o.last : w0_o.last);
  assign next_ready = fill0 || fill1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w0_valid_o <= 1'b0;
      w1_valid_o <= 1'b0;
    end else begin
      w0_valid_o <= !w0_free || next_valid_o;
      w1_valid_o <= fill1 ? next_valid_o : !w1_free;
    end
    if (fill0) begin
      if (next_valid_o) w0_o <= next;
    end else if (shift_i) begin
      w0_o <= w1_o;
    end
    if (fill1 && next_valid_o) w1_o <= next;
  end

endmodule
