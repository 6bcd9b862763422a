// Reply text to lines, for both ways out: of transmit rings (TCP), or of datagrams (UDP) as
// memcached cuts them: each reply (each VALUE of a get with several keys is one) starts a sequence
// of its own, of up to 1,392 bytes a datagram behind the 8-byte frame header. Over IPv6, where no router
// fragments, these are 1,216: with all headers no more than every link takes. Latency 3, initiation interval 1
// (one clock more where a piece crosses the end of a datagram).
`include "lib_assert.svh"

module text_lines
  import wirekv_pkg::*;
  import reply_pkg::*;
  import config_pkg::Config;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Reply text, and whose it is.
  input  logic        text_valid_i,
  output logic        text_ready_o,
  input  text_t       text_i,
  input  text_job_t   job_i,
  /// Lines of rings.
  output logic        ring_valid_o,
  input  logic        ring_ready_i,
  output ring_line_t  ring_o,
  /// Lines of datagrams, and what their headers say.
  output logic        dgram_valid_o,
  input  logic        dgram_ready_i,
  output dgram_line_t dgram_o,
  output logic        meta_valid_o,
  input  logic        meta_ready_i,
  output dgram_meta_t meta_o
);

  // Multiples of 16, and the reciprocal of a 16th of each.
  localparam logic [10:0] Payload4 = 11'd1392;
  localparam logic [10:0] Payload6 = 11'd1216;
  localparam int unsigned Shift = 25;
  localparam logic [18:0] Inverse4 = 19'(((1 << Shift) + 86) / 87);
  localparam logic [18:0] Inverse6 = 19'(((1 << Shift) + 75) / 76);
  logic [10:0] payload;
  // Behind queues synthesis does not see that there is no datagram.
  logic udp, to_udp;
  assign udp = Config.udp && job_i.udp;

  logic six;
  assign six     = Config.ipv6 && job_i.tx_ptr[0];
  assign payload = six ? Payload6 : Payload4;

  // ------------------------------------------------ cut: text to datagrams, or to jobs
  // Nothing but a whole datagram is longer than a piece, so the rest of one that was cut fits. Until it is out
  // both of these are as if all of the piece came.
  logic [10:0] room, room4_q, room6_q;  // bytes that still fit into the datagram
  logic [10:0] size_so_far_q;           // of the datagram, with its header
  logic [5:0] cut_q;             // bytes of this piece that went into the datagram before
  logic [15:0] seq_q;
  logic [6:0] left, len;
  logic crosses, ends, first, move, side_ready, join_ready, packet_ready, end_ready, open_q, silent;
  assign left    = text_i.len - 7'(cut_q);
  assign room    = six ? room6_q : room4_q;
  // Both comparisons at once: which one it is is known as late as the length.
  assign crosses = udp && (six ? 11'(text_i.len) > room6_q : 11'(text_i.len) > room4_q);
  assign len     = crosses ? room[6:0] : left;
  assign ends    = udp ? crosses || text_i.reply_last : text_i.last;
  assign first   = !open_q;
  // An empty piece that only ends a job makes no datagram.
  assign silent  = udp && text_i.len == '0 && !text_i.reply_last;

  assign side_ready   = packet_ready && (udp ? meta_ready_i : end_ready);
  assign move         = text_valid_i && side_ready && (join_ready || silent);
  assign text_ready_o = side_ready && (join_ready || silent) && !crosses;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      size_so_far_q <= 11'(DgramHeader);
      room4_q <= Payload4;
      room6_q <= Payload6;
      cut_q  <= '0;
      seq_q  <= '0;
      open_q <= 1'b0;
    end else if (move) begin
      if (!silent) open_q <= !ends;
      cut_q <= crosses ? room[5:0] : '0;
      if (udp) begin
        size_so_far_q <= crosses ? 11'(DgramHeader) - room :
            text_i.reply_last ? 11'(DgramHeader) : size_so_far_q + 11'(text_i.len);
        room4_q <= crosses ? Payload4 + room :
            text_i.reply_last ? Payload4 : room4_q - 11'(text_i.len);
        room6_q <= crosses ? Payload6 + room :
            text_i.reply_last ? Payload6 : room6_q - 11'(text_i.len);
        if (ends) seq_q <= crosses ? seq_q + 16'd1 : '0;
      end
    end
  end

  // ------------------------------------------------ total: datagrams of this reply
  // Known from its first piece on: the first datagram is not full before. x / 1392 = x / 16 / 87 by
  // multiplication with the reciprocal, exact below 2**18 * 16; likewise x / 1216 = x / 16 / 76.
  logic [17:0] size_q;  // in units of 16
  logic [36:0] product_q;
  logic six_q;
  logic [1:0] sized_q;
  logic [15:0] total_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      total_q <= 16'd1;
      sized_q <= '0;
    end else begin
      sized_q <= {sized_q[0], move && udp && text_i.sized};
      if (move && ends && text_i.reply_last && !crosses) total_q <= 16'd1;
      else if (sized_q[1]) total_q <= 16'(product_q >> Shift);
    end
    if (move && text_i.sized) begin
      size_q <= 18'((text_i.size + 22'(payload) - 22'd1) >> 4);
      six_q  <= six;
    end
    if (sized_q[0]) product_q <= 37'(size_q) * 37'(six_q ? Inverse6 : Inverse4);
  end

  // ------------------------------------------------ beside the text: where it goes and ends
  typedef struct packed {
    logic       udp;
    conn_t      conn;
    logic [9:0] line;
  } packet_t;
  packet_t packet_in, packet;
  logic pop, line_valid, line_ready, line_last;
  // Only the assertions look at these.
  // verilator lint_off UNUSEDSIGNAL
  logic packet_valid, end_valid;
  // verilator lint_on UNUSEDSIGNAL
  logic [3:0] unused_packet_level;
  assign to_udp    = Config.udp && packet.udp;
  assign packet_in = '{udp: udp, conn: job_i.conn, line: job_i.tx_ptr[15:6]};
  lib_fifo #(
    .T    (packet_t),
    .Depth(8)
  ) u_packets (
    .clk_i,
    .rst_ni,
    .s_valid_i(move && first && !silent),
    .s_ready_o(packet_ready),
    .s_data_i (packet_in),
    .m_valid_o(packet_valid),
    .m_ready_i(pop),
    .m_data_o (packet),
    .level_o  (unused_packet_level)
  );

  typedef struct packed {
    logic [31:0] ptr;
    logic        bad;
  } end_t;
  logic [31:0] ptr_q, ptr;
  logic bad_q, bad;
  end_t end_in, ring_end;
  logic [3:0] unused_end_level;
  assign bad    = text_i.bad || bad_q;
  assign ptr    = (first ? job_i.tx_ptr : ptr_q) + 32'(text_i.len);
  assign end_in = '{ptr: ptr, bad: bad};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) bad_q <= 1'b0;
    else if (move) bad_q <= bad && !ends;
    if (move) ptr_q <= ptr;
  end
  lib_fifo #(
    .T    (end_t),
    .Depth(8)
  ) u_ends (
    .clk_i,
    .rst_ni,
    .s_valid_i(move && !udp && text_i.last),
    .s_ready_o(end_ready),
    .s_data_i (end_in),
    .m_valid_o(end_valid),
    .m_ready_i(pop && !to_udp),
    .m_data_o (ring_end),
    .level_o  (unused_end_level)
  );

  assign meta_valid_o = move && udp && (ends || text_i.last);
  assign meta_o = '{
          empty: silent,
          last: text_i.last && !crosses,
          bad: bad,
          len: crosses ? payload + 11'(DgramHeader) : size_so_far_q + 11'(text_i.len),
          seq: seq_q,
          total: total_q
      };

  // ------------------------------------------------ lines
  line_t line;
  strb_t strb;
  logic join_valid;
  assign join_valid = text_valid_i && side_ready && !silent;
  lib_join u_join (
    .clk_i,
    .rst_ni,
    .s_valid_i (join_valid),
    .s_ready_o (join_ready),
    .s_data_i  (text_i.data),
    .s_start_i (text_i.start + cut_q),
    .s_len_i   (len),
    .s_first_i (first),
    .s_offset_i(udp ? 6'(DgramHeader) : job_i.tx_ptr[5:0]),
    .s_last_i  (ends),
    .m_valid_o (line_valid),
    .m_ready_i (line_ready),
    .m_data_o  (line),
    .m_strb_o  (strb),
    .m_last_o  (line_last)
  );

  logic line_first_q;
  assign ring_valid_o  = line_valid && !to_udp;
  assign dgram_valid_o = line_valid && to_udp;
  assign line_ready    = to_udp ? dgram_ready_i : ring_ready_i;
  assign pop           = line_valid && line_ready && line_last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_first_q <= 1'b1;
    else if (line_valid && line_ready) line_first_q <= line_last;
  end
  assign ring_o = '{data: line, strb: strb, first: line_first_q, last: line_last, conn: packet.conn,
                    line: packet.line, ptr: ring_end.ptr, bad: ring_end.bad};
  assign dgram_o = '{data: line, last: line_last};

  // Division done before the first datagram's end asks for its result.
  `ASSERT(TotalInTime, !(move && udp && ends && |sized_q && (crosses || seq_q != '0)))
  `ASSERT(SizedFits, !(move && udp && text_i.sized && crosses))
  `ASSERT(PacketKnown, !line_valid || packet_valid)
  `ASSERT(EndKnown, !(pop && !to_udp) || end_valid)

endmodule
