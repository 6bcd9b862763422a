// Cuts headers and padding off received frames, moves the payload to lane 0 and gives a verdict on
// each frame. Latency 5 (a beat leaves only when its successor or the frame's end is known),
// initiation interval 1; never stalls. A frame never gives more beats than it had.
module rx_cut
  import wirekv_pkg::*;
  import net_pkg::*;
  import lib_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// From rx_parse.
  input  logic       valid_i,
  input  logic       first_i,
  input  logic       load_i,
  input  beat_t      beat_i,
  input  rx_ctl_t    ctl_i,
  /// A beat of the payload (of the whole frame for RxReply and RxHost).
  output logic       valid_o,
  output beat_t      beat_o,
  /// Steady through a frame.
  output rx_dest_e   dest_o,
  output logic       vlan_o,
  output reply_e     reply_o,
  /// The frame ends: with its last beat or, where padding followed, after it.
  output logic       end_o,
  /// Beside end_o: what is wrong with the frame, if anything.
  output logic       bad_o,
  output net_count_e cause_o,
  /// A beat is inside.
  output logic       busy_o
);

  // ---------------------------------------------------------------- left: bytes of the packet
  logic left_valid_q, left_first_q, left_load_q, part_last_q, cut_short;
  beat_t left_beat_q;
  rx_ctl_t left_ctl_q;
  logic [16:0] left_q, left_d;
  logic [6:0] part_q;  // bytes of this beat that belong to the packet

  assign left_d = first_i ? ctl_i.bytes :
      part_last_q ? '0 : {left_q[16:6] - 11'd1, left_q[5:0]};
  assign cut_short       = left_beat_q.last && left_q > 17'(left_beat_q.len) &&
      (left_ctl_q.trim || left_ctl_q.sum_check);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_valid_q <= 1'b0;
    else left_valid_q <= valid_i;
    if (valid_i) begin
      left_beat_q  <= beat_i;
      left_first_q <= first_i;
      left_load_q  <= load_i;
      left_q       <= left_d;
      part_q       <= left_d <= 17'd64 ? left_d[6:0] : 7'd64;
      part_last_q  <= left_d <= 17'd64;
      if (load_i) left_ctl_q <= ctl_i;
    end
  end

  logic sum_valid, two_valid_q, sum_ok_q;
  word_t [2:0] sum;
  word_t [1:0] two_q;

  checksum u_checksum (
    .clk_i,
    .rst_ni,
    .valid_i(left_valid_q),
    .first_i(left_first_q),
    .last_i (left_beat_q.last),
    .data_i (left_beat_q.data),
    .lanes_i(lanes_below(part_q) & lanes_from(left_first_q ? left_ctl_q.sum_from : '0)),
    .init_i (left_ctl_q.sum_init),
    .valid_o(sum_valid),
    .sum_o  (sum)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) two_valid_q <= 1'b0;
    else two_valid_q <= sum_valid;
    if (sum_valid) two_q <= sum3(sum);
    if (two_valid_q) sum_ok_q <= &fold(two_q);
  end

  // ---------------------------------------------------------------- turn: payload to lane 0
  typedef struct packed {
    line_t      data;
    logic [6:0] len;
    logic       first;
    logic       last;   // of the packet
    logic       eof;    // of the frame
    logic       cut_short;  // the frame is shorter than its packet
  } turn_t;

  logic turn_valid_q, turn_load_q, hold_valid_q, fire;
  turn_t turn_q, hold_q;
  rx_ctl_t turn_ctl_q, hold_ctl_q;

  line_t turned;
  lib_rotate u_rotate (
    .data_i (left_beat_q.data),
    .lanes_i(-left_ctl_q.skip[5:0]),
    .data_o (turned)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_valid_q <= 1'b0;
      hold_valid_q <= 1'b0;
    end else begin
      turn_valid_q <= left_valid_q;
      hold_valid_q <= turn_valid_q || (hold_valid_q && !fire);
    end
    if (left_valid_q) begin
      turn_q.data  <= turned;
      turn_q.len   <= left_ctl_q.trim ? part_q : left_beat_q.len;
      turn_q.first <= left_first_q;
      turn_load_q  <= left_load_q;
      turn_q.last  <= left_ctl_q.trim ? part_last_q : left_beat_q.last;
      turn_q.eof   <= left_beat_q.last;
      turn_q.cut_short <= cut_short;
      if (left_load_q) turn_ctl_q <= left_ctl_q;
    end
    if (turn_valid_q) begin
      hold_q <= turn_q;
      if (turn_load_q) hold_ctl_q <= turn_ctl_q;
    end
  end

  // ---------------------------------------------------------------- hold: join with the successor
  // The line is the rest of the held beat behind `skip` and the front of its successor. The held
  // beat of a frame that has not ended waits for that successor.
  logic [5:0] skip;
  logic [6:0] rest, front;
  logic headers, line_valid, line_last, done_q;

  function automatic line_t join_lines(input line_t low, input line_t high, input logic [6:0] n);
    line_t mask;
    mask = bits_below(n);
    return (low & mask) | (high & ~mask);
  endfunction

  assign skip      = hold_ctl_q.skip[5:0];
  assign headers   = hold_q.first && hold_ctl_q.skip[6] && !hold_q.last;  // nothing but headers
  assign fire      = hold_valid_q && (hold_q.eof || turn_valid_q);
  assign rest      = hold_q.len > 7'(skip) ? hold_q.len - 7'(skip) : '0;
  assign front     = hold_q.last ? '0 : turn_q.len < 7'(skip) ? turn_q.len : 7'(skip);
  assign line_last = hold_q.last || (!headers && turn_q.last && turn_q.len <= 7'(skip));
  assign line_valid = fire && !headers && !done_q;

  logic line_valid_q, line_end_q, line_short_q;
  beat_t line_q;
  rx_ctl_t line_ctl_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q       <= 1'b0;
      line_valid_q <= 1'b0;
      line_end_q   <= 1'b0;
      valid_o      <= 1'b0;
      end_o        <= 1'b0;
    end else begin
      // What follows the packet's last line is padding.
      if (fire) done_q <= !hold_q.eof && (done_q || (line_valid && line_last));
      line_valid_q <= line_valid;
      line_end_q   <= fire && hold_q.eof;
      valid_o      <= line_valid_q;
      end_o        <= line_end_q;
    end
    if (line_valid) begin
      line_q.data <= join_lines(hold_q.data, turn_q.data, 7'd64 - 7'(skip));
      line_q.len  <= rest + front;
      line_q.last <= line_last;
    end
    if (fire) begin
      line_ctl_q   <= hold_ctl_q;
      line_short_q <= hold_q.cut_short;
    end
    if (line_valid_q) beat_o <= line_q;
  end

  // ---------------------------------------------------------------- verdict
  // One clock behind the line, when the sum is known.
  rx_ctl_t ctl_q;
  logic short_q;

  always_ff @(posedge clk_i) begin
    if (line_valid_q || line_end_q) begin
      ctl_q   <= line_ctl_q;
      short_q <= line_short_q;
    end
  end

  assign dest_o = ctl_q.dest;
  assign vlan_o = ctl_q.vlan;
  assign reply_o = ctl_q.reply;

  always_comb begin
    bad_o = 1'b1;
    if (ctl_q.disabled) cause_o = NetCountRxDisabled;
    else if (ctl_q.bad_ip) cause_o = NetCountRxBadIp;
    else if (ctl_q.bad_length || short_q) cause_o = NetCountRxBadLength;
    else if (ctl_q.martian) cause_o = ctl_q.martian_why;
    else begin
      bad_o = ctl_q.sum_check && !sum_ok_q;
      unique case (ctl_q.dest)
        RxTcp:   cause_o = ctl_q.icmp ? NetCountRxBadIcmp : NetCountRxBadTcp;
        RxUdp:   cause_o = NetCountRxBadUdp;
        default: cause_o = NetCountRxBadIcmp;
      endcase
    end
  end

  assign busy_o = left_valid_q || turn_valid_q || hold_valid_q || line_valid_q || line_end_q ||
      valid_o || end_o;

  logic unused;
  assign unused = ^{left_ctl_q, ctl_q};

endmodule
