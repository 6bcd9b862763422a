// rx_cut, seen through one lane of its output: the payload bytes of a frame that belong there come
// out there, each once, in order, with their value and inside their own frame, however the beats
// arrive; headers and padding do not; lines inside a payload are whole, every frame ends once, and
// its payload has ended by then. A byte is one bit wide: rx_cut moves all its bits alike.
`include "fv.svh"
`include "lib_assert.svh"

module rx_cut_fv
  import wirekv_pkg::*;
  import net_pkg::*;
#(
  parameter int Lane = 0
) (
  input logic        clk_i,
  input logic        valid_i,
  input logic [63:0] bits_i,
  input logic [6:0]  len_i,
  input logic        last_i,
  input rx_ctl_t     ctl_i,
  input logic        more_i,
  input logic        choose_i
);
  `FV_RESET

  // ------------------------------------------------ frames
  logic open_q, second_q;  // inside a frame; the next beat is its second
  beat_t beat;
  rx_ctl_t ctl_q, ctl;
  logic [16:0] left_q, left;  // bytes of the packet from this beat on
  logic valid, first, load;
  assign valid = rst_ni && valid_i;
  assign first = !open_q;
  // The second beat of a frame whose first one is all headers may say how much of it is, too.
  assign load  = first || (second_q && ctl_q.skip[6] && more_i);
  assign ctl   = load ? ctl_i : ctl_q;
  rx_ctl_t same;
  always_comb begin
    same      = ctl_q;
    same.skip = ctl_i.skip;
  end
  `FV_ASSUME(More, !load || first || (ctl_i == same && ctl_i.skip[6]))
  assign left = first ? ctl_i.bytes : left_q;
  always_comb begin
    beat.len  = last_i ? len_i : 7'd64;
    beat.last = last_i;
    for (int i = 0; i < 64; i++) beat.data[8*i+:8] = 8'(bits_i[i]);
  end
  `FV_ASSUME(Len, !last_i || (len_i != '0 && len_i <= 7'd64))
  // A frame that is shorter than its packet or than its headers is bad: what it gives is dropped.
  `FV_ASSUME(Whole, !(ctl.trim && last_i) || left <= 17'(beat.len))
  // Headers of Ethernet, of IPv4 or IPv6, and of what that carries. What goes on whole has none to
  // cut.
  logic known;
  assign known = ctl_i.skip inside {7'd0, 7'd42, 7'd46, 7'd54, 7'd58, 7'd62, 7'd66, 7'd70, 7'd74,
                                    7'd78};
  `FV_ASSUME(Headers, known)
  `FV_ASSUME(Skip, !first || (ctl_i.trim ? ctl_i.bytes >= 17'(ctl_i.skip) : ctl_i.skip == '0))
  `FV_ASSUME(SkipMore, !load || ctl_i.bytes >= 17'(ctl_i.skip))

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (valid) begin
      open_q   <= !last_i;
      second_q <= first;
      ctl_q    <= ctl;
      left_q   <= (left > 17'd64) ? left - 17'd64 : '0;
    end
  end

  logic out_valid, out_end, out_vlan, out_bad, busy;
  answer_e out_reply;
  beat_t out;
  rx_dest_e out_dest;
  net_count_e out_cause;
  rx_cut dut (
    .clk_i,
    .rst_ni,
    .valid_i(valid),
    .first_i(first),
    .load_i (load),
    .beat_i (beat),
    .ctl_i,
    .valid_o(out_valid),
    .beat_o (out),
    .dest_o (out_dest),
    .vlan_o (out_vlan),
    .reply_o(out_reply),
    .end_o  (out_end),
    .bad_o  (out_bad),
    .cause_o(out_cause),
    .busy_o (busy)
  );

  // ------------------------------------------------ the lane's bytes
  logic [5:0] from;  // where the lane's byte is in a beat
  logic [6:0] part;  // bytes of this beat that belong to the packet
  logic past, in_any, out_any;
  assign from   = 6'(Lane) + ctl.skip[5:0];
  assign part   = !ctl.trim ? beat.len : (left < 17'd64) ? left[6:0] : 7'd64;
  assign past   = first ? !ctl.skip[6] && from >= ctl.skip[5:0]
                        : !(second_q && ctl.skip[6]) || from >= ctl.skip[5:0];
  assign in_any = valid && past && 7'(from) < part;
  assign out_any = out_valid && 7'(Lane) < out.len;

  // A byte chosen by the prover, and what is before it.
  logic [3:0] bytes_q, frames_q, bytes_ahead_q, frames_ahead_q;
  logic [2:0] quiet_q;  // clocks without a beat
  logic seen_q, value_q, begun_q, finished_q;
  rx_dest_e dest_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bytes_q    <= '0;
      frames_q   <= '0;
      quiet_q    <= '0;
      seen_q     <= 1'b0;
      begun_q    <= 1'b0;
      finished_q <= 1'b0;
    end else begin
      bytes_q  <= bytes_q + 4'(in_any) - 4'(out_any);
      frames_q <= frames_q + 4'(valid && last_i) - 4'(out_end);
      if (valid) quiet_q <= '0;
      else if (quiet_q != '1) quiet_q <= quiet_q + 1'b1;
      begun_q <= !out_end && (begun_q || out_valid);
      if (out_end) finished_q <= 1'b0;
      else if (out_valid && out.last) finished_q <= 1'b1;
      if (in_any && choose_i && !seen_q) begin
        seen_q         <= 1'b1;
        value_q        <= bits_i[from];
        dest_q         <= ctl.dest;
        bytes_ahead_q  <= bytes_q - 4'(out_any);
        frames_ahead_q <= frames_q - 4'(out_end);
      end else if (seen_q) begin
        if (out_any) begin
          seen_q        <= bytes_ahead_q != '0;
          bytes_ahead_q <= bytes_ahead_q - 1'b1;
        end
        if (out_end) frames_ahead_q <= frames_ahead_q - 1'b1;
      end
    end
  end

  logic due;
  assign due = seen_q && out_any && bytes_ahead_q == '0;
  `ASSERT(Value, !due || out.data[8*Lane] == value_q)
  `ASSERT(Frame, !due || (frames_ahead_q == '0 && out_dest == dest_q))
  `ASSERT(NotLate, !(seen_q && out_end && frames_ahead_q == '0) || due)
  `ASSERT(NothingInvented, !out_any || bytes_q != '0)
  `ASSERT(EndsOnce, !out_end || frames_q != '0)
  `ASSERT(Lines, !out_valid || (out.len == 7'd64) || (out.last && (out.len != '0 || !begun_q)))
  `ASSERT(FinishedOnce, !out_valid || !finished_q)
  `ASSERT(Finished, !out_end || (out_valid ? out.last : finished_q))
  `ASSERT(Late, quiet_q < 3'd5 || open_q || (bytes_q == '0 && frames_q == '0))
  `ASSERT(Busy, busy || (bytes_q == '0 && frames_q == '0))

  // Reached
  `FV_COVER(Cuts, due && ctl_q.skip != '0)
  `FV_COVER(More, due && load && !first)
  `FV_COVER(Long, valid && open_q && !second_q && last_i && seen_q)
  `FV_COVER(Next, due && frames_q == 4'd2)
  `FV_COVER(NothingLeft, out_end && !out_valid && finished_q)
  `FV_COVER(Rests, !busy && quiet_q == 3'd6)
  `FV_COVER(Pads, valid && ctl.trim && left == '0)
endmodule
