// Cuts headers and padding off received frames, moves the payload to lane 0 and gives a verdict on
// each frame. Latency 5 (a beat leaves only when its successor or the frame's end is known),
// initiation interval 1; never stalls. A frame never gives more beats than it had.
`include "lib_assert.svh"

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
  output answer_e    reply_o,
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

  // ---------------------------------------------------------------- hold: a beat and its successor
  typedef struct packed {
    line_t      data;
    logic [6:0] len;
    logic       first;
    logic       last;   // of the packet
    logic       eof;    // of the frame
    logic       cut_short;  // the frame is shorter than its packet
  } cut_t;

  logic next_valid_q, next_load_q, hold_valid_q, fire;
  cut_t next_q, hold_q;
  rx_ctl_t next_ctl_q, hold_ctl_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_valid_q <= 1'b0;
      hold_valid_q <= 1'b0;
    end else begin
      next_valid_q <= left_valid_q;
      hold_valid_q <= next_valid_q || (hold_valid_q && !fire);
    end
    if (left_valid_q) begin
      next_q.data  <= left_beat_q.data;
      next_q.len   <= left_ctl_q.trim ? part_q : left_beat_q.len;
      next_q.first <= left_first_q;
      next_load_q  <= left_load_q;
      next_q.last  <= left_ctl_q.trim ? part_last_q : left_beat_q.last;
      next_q.eof   <= left_beat_q.last;
      next_q.cut_short <= cut_short;
      if (left_load_q) next_ctl_q <= left_ctl_q;
    end
    if (next_valid_q) begin
      hold_q <= next_q;
      if (next_load_q) hold_ctl_q <= next_ctl_q;
    end
  end

  // ---------------------------------------------------------------- cut: the payload to lane 0
  // A line is the rest of the held beat behind `skip` and the front of its successor: 64 bytes of
  // both, from `skip` on. The held beat of a frame that has not ended waits for that successor.
  //
  // Headers are 42 to 78 bytes, two more than a multiple of 4. Modulo 64 that is one of nine
  // numbers, or 0 where nothing is cut; each is one of four coarse steps and one of four fine ones,
  // a four-way multiplexer each.
  localparam int unsigned Coarse[4] = '{0, 12, 40, 52};
  localparam int unsigned Fine[4] = '{0, 2, 6, 10};
  typedef logic [(64+Fine[3])*8-1:0] coarse_t;
  logic [5:0] skip;
  logic [6:0] rest, front;
  logic [1:0] coarse, fine;
  logic headers, line_valid, line_last, done_q;

  function automatic coarse_t coarse_of(input logic [1023:0] bytes, input logic [1:0] step);
    coarse_t [3:0] steps;
    for (int i = 0; i < 4; i++) steps[i] = coarse_t'(bytes >> (8 * Coarse[i]));
    return step[1] ? (step[0] ? steps[3] : steps[2]) : (step[0] ? steps[1] : steps[0]);
  endfunction
  function automatic line_t fine_of(input coarse_t bytes, input logic [1:0] step);
    line_t [3:0] steps;
    for (int i = 0; i < 4; i++) steps[i] = line_t'(bytes >> (8 * Fine[i]));
    return step[1] ? (step[0] ? steps[3] : steps[2]) : (step[0] ? steps[1] : steps[0]);
  endfunction

  always_comb begin
    coarse = '0;
    for (int unsigned i = 1; i < 4; i++) if (skip >= 6'(Coarse[i])) coarse = 2'(i);
    fine = 2'((skip - 6'(Coarse[coarse]) + 6'd2) >> 2);
  end

  assign skip      = hold_ctl_q.skip[5:0];
  assign headers   = hold_q.first && hold_ctl_q.skip[6] && !hold_q.last;  // nothing but headers
  assign fire      = hold_valid_q && (hold_q.eof || next_valid_q);
  assign rest      = hold_q.len > 7'(skip) ? hold_q.len - 7'(skip) : '0;
  assign front     = hold_q.last ? '0 : next_q.len < 7'(skip) ? next_q.len : 7'(skip);
  assign line_last = hold_q.last || (!headers && next_q.last && next_q.len <= 7'(skip));
  assign line_valid = fire && !headers && !done_q;

  logic line_valid_q, line_end_q, line_short_q;
  coarse_t line_data_q;
  logic [6:0] line_len_q;
  logic line_last_q;
  logic [1:0] line_fine_q;
  rx_ctl_t line_ctl_q;

  `ASSERT(CutsWhatOccurs, !line_valid || 32'(skip) == Coarse[coarse] + Fine[fine])

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
      line_data_q <= coarse_of({next_q.data, hold_q.data}, coarse);
      line_fine_q <= fine;
      line_len_q  <= rest + front;
      line_last_q <= line_last;
    end
    if (fire) begin
      line_ctl_q   <= hold_ctl_q;
      line_short_q <= hold_q.cut_short;
    end
    if (line_valid_q) begin
      beat_o.data <= fine_of(line_data_q, line_fine_q);
      beat_o.len  <= line_len_q;
      beat_o.last <= line_last_q;
    end
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

  assign busy_o = left_valid_q || next_valid_q || hold_valid_q || line_valid_q || line_end_q ||
      valid_o || end_o;

  logic unused;
  assign unused = ^{left_ctl_q, ctl_q};

endmodule
