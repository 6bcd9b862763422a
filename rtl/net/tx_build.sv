// Builds Ethernet frames around TCP segments and UDP datagrams. A packet is kept until its
// checksum is known. Latency 6 from the last beat of a packet, initiation interval 1 a beat of the
// frame.
`include "lib_assert.svh"

module tx_build
  import wirekv_pkg::*;
  import net_pkg::*;
  import lib_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  input  net_cfg_t cfg_i,
  /// Segments; one with options (mss_valid, ws_valid, sack_ok or sack) has no payload.
  input  logic     seg_valid_i,
  output logic     seg_ready_o,
  input  txseg_t   seg_i,
  input  beat_t    seg_beat_i,
  /// Beside the last beat: the payload is wrong, and so shall be the checksum. The peer drops such a
  /// segment, and is sent it again.
  input  logic     seg_bad_i,
  /// Datagrams.
  input  logic     dgram_valid_i,
  output logic     dgram_ready_o,
  input  dgram_t   dgram_i,
  input  beat_t    dgram_beat_i,
  /// Frames, unpadded; lanes behind the end are undefined. tcp_o says what is inside.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output beat_t    m_beat_o,
  output logic     m_tcp_o,
  /// Nothing inside.
  output logic     idle_o
);

  localparam int unsigned DataDepth = 256;  // 16 KiB: more than the largest packet
  localparam int unsigned PacketsMax = 32;  // packets waiting for their checksum or for the wire

  // ---------------------------------------------------------------- merge
  /// What a frame's headers are made of.
  typedef struct packed {
    logic        tcp;
    logic        bad;
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    logic [15:0] offset_flags;
    logic [15:0] wnd;
    logic [15:0] l4_len;
    logic        df;      // IP: don't fragment
    logic [15:0] id;      // ... or else the identification
  } head_t;

  typedef struct packed {
    head_t head;
    beat_t beat;
  } item_t;

  item_t seg_item, dgram_item, item;
  logic item_valid, item_ready, item_fire, item_first_q;
  logic [15:0] id_q;
  head_t item_head;
  logic [6:0] opt_len;
  localparam int unsigned OptWords = 1 + 2 * Spans;
  logic [OptWords-1:0][31:0] opts;  // in the order of the wire, the first one on top
  logic [13:0] above, above_next;  // the part of numbers near `ack` that they do not say

  always_comb begin
    // Options travel as if they were payload.
    above      = seg_i.ack[31:18];
    above_next = above + 14'd1;
    opt_len    = {2'd0, 3'(seg_i.mss_valid) + 3'(seg_i.ws_valid) + 3'(seg_i.sack_ok), 2'd0};
    opts = {
      16'h0204, seg_i.mss, seg_i.ws_valid ? {24'h010303, 4'd0, seg_i.ws} : 32'h01010402,
      32'h01010402, (32 * (OptWords - 3))'(0)
    };
    if (!seg_i.mss_valid) opts = opts << 32;
    if (seg_i.sack[0].valid) begin
      opt_len = 7'd4;
      for (int unsigned i = 0; i < Spans; i++) begin
        if (seg_i.sack[i].valid) opt_len = 7'(8 * i + 12);
        opts[OptWords-2-2*i] = {
          (seg_i.ack[17] && !seg_i.sack[i].from[17]) ? above_next : above, seg_i.sack[i].from
        };
        opts[OptWords-3-2*i] = {
          (seg_i.ack[17] && !seg_i.sack[i].to[17]) ? above_next : above, seg_i.sack[i].to
        };
      end
      opts[OptWords-1] = {24'h010105, 8'(opt_len - 7'd2)};
    end

    seg_item.head.tcp          = 1'b1;
    seg_item.head.bad          = seg_bad_i;
    seg_item.head.peer         = seg_i.peer;
    seg_item.head.seq          = seg_i.seq;
    seg_item.head.ack          = seg_i.ack;
    seg_item.head.offset_flags = {4'd5 + opt_len[5:2], 4'd0, seg_i.flags};
    seg_item.head.wnd          = seg_i.wnd;
    seg_item.head.l4_len       = seg_i.len + 16'd20;
    seg_item.head.df           = !seg_i.narrow;
    seg_item.head.id           = '0;
    seg_item.beat              = seg_beat_i;
    if (opt_len != '0) begin
      seg_item.head.l4_len = 16'(opt_len) + 16'd20;
      seg_item.beat.len    = opt_len;
      for (int unsigned i = 0; i < OptWords; i++) begin
        for (int unsigned b = 0; b < 4; b++) begin
          seg_item.beat.data[(i*4+b)*8+:8] = opts[OptWords-1-i][(3-b)*8+:8];
        end
      end
    end

    dgram_item             = '0;
    dgram_item.head.peer   = dgram_i.peer;
    dgram_item.head.l4_len = dgram_i.len + 16'd8;
    dgram_item.head.df     = 1'b1;
    dgram_item.beat        = dgram_beat_i;
  end

  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(item_t),
    .N(2)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i({dgram_valid_i, seg_valid_i}),
    .s_ready_o({dgram_ready_o, seg_ready_o}),
    .s_data_i ({dgram_item, seg_item}),
    .s_last_i ({dgram_beat_i.last, seg_beat_i.last}),
    .m_valid_o(item_valid),
    .m_ready_i(item_ready),
    .m_data_o (item),
    .m_last_o (),
    .m_idx_o  ()
  );

  // ---------------------------------------------------------------- keep
  logic data_room, head_room, data_valid, data_pop, head_valid, head_pop, sums_valid;
  beat_t data;
  // verilator lint_off UNUSEDSIGNAL
  head_t head;  // `bad` is in the checksum
  // verilator lint_on UNUSEDSIGNAL

  assign item_ready = data_room && head_room;
  assign item_fire  = item_valid && item_ready;

  // What may be fragmented has a number, so that parts of two packets are not put together (RFC 6864).
  always_comb begin
    item_head    = item.head;
    item_head.id = item.head.df ? '0 : id_q;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      item_first_q <= 1'b1;
      id_q         <= '0;
    end else if (item_fire) begin
      item_first_q <= item.beat.last;
      if (item.beat.last && !item.head.df) id_q <= id_q + 16'd1;
    end
  end

  lib_fifo #(
    .T    (beat_t),
    .Depth(DataDepth)
  ) u_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_fire),
    .s_ready_o(data_room),
    .s_data_i (item.beat),
    .m_valid_o(data_valid),
    .m_ready_i(data_pop),
    .m_data_o (data),
    .level_o  ()
  );

  lib_fifo #(
    .T    (head_t),
    .Depth(PacketsMax)
  ) u_head (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_fire && item.beat.last),
    .s_ready_o(head_room),
    .s_data_i (item_head),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o (head),
    .level_o  ()
  );

  // ---------------------------------------------------------------- sum
  // The headers' words beside the payload's: three clocks as well.
  typedef struct packed {
    logic [17:0] addresses;
    logic [17:0] ports;    // and protocol, length
    logic [17:0] seq_ack;
    logic [17:0] rest;     // of the TCP header; UDP's repeats the length
    logic [16:0] ip;       // the IP header without its addresses
  } words_t;

  words_t words_q;
  logic words_valid_q, total_valid_q, payload_valid;
  logic [20:0] l4_total_q;
  logic [18:0] ip_total_q;
  logic [15:0] l4_head_q, ip_sum_q, proto, our_port;
  logic [31:0] payload_sum;

  typedef struct packed {
    logic [15:0] ip;
    logic [15:0] l4;
  } sums_t;
  sums_t sums_d, sums;

  checksum u_checksum (
    .clk_i,
    .rst_ni,
    .valid_i(item_fire),
    .first_i(item_first_q),
    .last_i (item.beat.last),
    .data_i (item.beat.data),
    .from_i ('0),
    .below_i(item.beat.len),
    .init_i ('0),
    .valid_o(payload_valid),
    .sum_o  (payload_sum)
  );

  assign proto    = {7'd0, item.head.bad, item.head.tcp ? ProtoTcp : ProtoUdp};
  assign our_port = item.head.tcp ? cfg_i.tcp_port : cfg_i.udp_port;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      words_valid_q <= 1'b0;
      total_valid_q <= 1'b0;
    end else begin
      words_valid_q <= item_fire && item.beat.last;
      total_valid_q <= words_valid_q;
    end
    if (item_fire && item.beat.last) begin
      words_q.addresses <= (18'(cfg_i.ip[31:16]) + 18'(cfg_i.ip[15:0])) +
          (18'(item.head.peer.ip[31:16]) + 18'(item.head.peer.ip[15:0]));
      words_q.ports <= (18'(our_port) + 18'(item.head.peer.port)) +
          (18'(proto) + 18'(item.head.l4_len));
      words_q.seq_ack <= (18'(item.head.seq[31:16]) + 18'(item.head.seq[15:0])) +
          (18'(item.head.ack[31:16]) + 18'(item.head.ack[15:0]));
      words_q.rest <= item.head.tcp ?
          18'(item.head.offset_flags) + 18'(item.head.wnd) : 18'(item.head.l4_len);
      // 4500 and TTL 64 (version, length, TOS), DF or identification, protocol; total length.
      words_q.ip   <= (17'h8500 + 17'd20) + (17'(proto) + 17'(item.head.l4_len)) +
          17'({1'b0, item.head.df, 14'd0} | item_head.id);
    end
    if (words_valid_q) begin
      l4_total_q <= (21'(words_q.addresses) + 21'(words_q.ports)) +
          (21'(words_q.seq_ack) + 21'(words_q.rest));
      ip_total_q <= 19'(words_q.addresses) + 19'(words_q.ip);
    end
    if (total_valid_q) begin
      l4_head_q <= fold(32'(l4_total_q));
      ip_sum_q  <= ~fold(32'(ip_total_q));
    end
  end

  assign sums_d.ip = ip_sum_q;
  assign sums_d.l4 = ~fold(32'(swap16(fold(payload_sum))) + 32'(l4_head_q));

  // Never full: its packets are in u_head too.
  lib_fifo #(
    .T    (sums_t),
    .Depth(PacketsMax)
  ) u_sums (
    .clk_i,
    .rst_ni,
    .s_valid_i(payload_valid),
    .s_ready_o(),
    .s_data_i (sums_d),
    .m_valid_o(sums_valid),
    .m_ready_i(head_pop),
    .m_data_o (sums),
    .level_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // ---------------------------------------------------------------- turn: make room for headers
  // Headers have one of four lengths.
  function automatic logic [5:0] headers_len(input logic tcp, input logic vlan);
    return (tcp ? 6'd54 : 6'd42) + (vlan ? 6'd4 : 6'd0);
  endfunction

  localparam int unsigned L3Bytes = 40;

  typedef struct packed {
    line_t       data;  // payload, `headers` lanes up; what leaves at the top is at the bottom
    logic [6:0]  len;
    logic        last;
    logic        first;
    logic        tcp;
    logic [5:0]  headers;
  } turn_t;

  turn_t turn_q;
  logic turn_valid_q, turn_ready, first_q, tcp_q, vlan_q, tcp, vlan, take;
  logic [1:0] layout;  // of the headers in front
  logic [463:0] headers_q;

  /// All headers, the first byte in lane 0.
  function automatic logic [463:0] headers();
    logic [L3Bytes*8-1:0] l3, l3_lanes;
    logic [18*8-1:0] l2, l2_lanes;
    l3 = {
      16'h4500, head.l4_len + 16'd20, head.id, 1'b0, head.df, 14'd0,
      8'd64, head.tcp ? ProtoTcp : ProtoUdp,
      sums.ip, cfg_i.ip, head.peer.ip,
      head.tcp ? cfg_i.tcp_port : cfg_i.udp_port, head.peer.port,
      head.tcp ? {head.seq, head.ack, head.offset_flags, head.wnd, sums.l4, 16'd0} :
          {head.l4_len, sums.l4 == '0 ? 16'hffff : sums.l4, 96'd0}
    };
    l2 = {
      head.peer.mac, cfg_i.mac,
      head.peer.vlan_valid ? {16'h8100, head.peer.vlan_tci, 16'h0800} : {16'h0800, 32'd0}
    };
    for (int i = 0; i < 18; i++) l2_lanes[i*8+:8] = l2[(17-i)*8+:8];
    for (int i = 0; i < L3Bytes; i++) l3_lanes[i*8+:8] = l3[(L3Bytes-1-i)*8+:8];
    return head.peer.vlan_valid ? {l3_lanes, l2_lanes} : {32'd0, l3_lanes, l2_lanes[111:0]};
  endfunction

  assign tcp      = first_q ? head.tcp : tcp_q;
  assign vlan     = first_q ? head.peer.vlan_valid : vlan_q;
  assign layout   = {tcp, vlan};
  assign take     = data_valid && (!first_q || sums_valid) && (!turn_valid_q || turn_ready);
  assign data_pop = take;
  assign head_pop = take && first_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_valid_q <= 1'b0;
      first_q      <= 1'b1;
    end else begin
      if (!turn_valid_q || turn_ready) turn_valid_q <= take;
      if (take) first_q <= data.last;
    end
    if (take) begin
      unique case (layout)
        2'b00: turn_q.data <= {data.data[175:0], data.data[511:176]};
        2'b01: turn_q.data <= {data.data[143:0], data.data[511:144]};
        2'b10: turn_q.data <= {data.data[79:0], data.data[511:80]};
        default: turn_q.data <= {data.data[47:0], data.data[511:48]};
      endcase
      turn_q.len     <= data.len;
      turn_q.last    <= data.last;
      turn_q.first   <= first_q;
      turn_q.tcp     <= tcp;
      turn_q.headers <= headers_len(tcp, vlan);
    end
    if (head_pop) begin
      headers_q <= headers();
      tcp_q     <= head.tcp;
      vlan_q    <= head.peer.vlan_valid;
    end
  end

  // ---------------------------------------------------------------- join
  // Each beat of the frame: what was left over (at first the headers), then the payload. If the
  // last beat overflows, a tail follows.
  typedef struct packed {
    beat_t beat;
    logic  tcp;
  } frame_t;

  frame_t frame;
  logic frame_valid, frame_ready, tail_q, tail_tcp_q, fits;
  line_t left_q;
  logic [7:0] sum_len;
  logic [6:0] tail_len_q;

  assign sum_len     = 8'(turn_q.headers) + 8'(turn_q.len);
  assign fits        = sum_len <= 8'd64;
  assign frame_valid = turn_valid_q || tail_q;
  assign turn_ready  = frame_ready && !tail_q;

  always_comb begin
    line_t low;
    low = '0;
    frame.tcp       = tail_tcp_q;
    frame.beat.data = left_q;
    frame.beat.len  = tail_len_q;
    frame.beat.last = 1'b1;
    if (turn_valid_q && !tail_q) begin
      low             = bits_below(7'(turn_q.headers));
      frame.tcp       = turn_q.tcp;
      frame.beat.data = (turn_q.data & ~low) |
          ((turn_q.first ? {48'd0, headers_q} : left_q) & low);
      frame.beat.len  = fits ? sum_len[6:0] : 7'd64;
      frame.beat.last = turn_q.last && fits;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) tail_q <= 1'b0;
    else if (frame_ready) tail_q <= !tail_q && turn_valid_q && turn_q.last && !fits;
    if (turn_valid_q && turn_ready && !(turn_q.last && fits)) begin
      left_q     <= turn_q.data;
      tail_len_q <= 7'(sum_len - 8'd64);
      tail_tcp_q <= turn_q.tcp;
    end
  end

  frame_t out;
  lib_reg #(
    .T(frame_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(frame_valid),
    .s_ready_o(frame_ready),
    .s_data_i (frame),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (out)
  );
  assign m_beat_o = out.beat;
  assign m_tcp_o  = out.tcp;

  assign idle_o = !item_valid && !head_valid && !data_valid && !turn_valid_q && !tail_q &&
      !m_valid_o;

  logic unused;
  assign unused = ^cfg_i.mtu;

  `ASSERT(OptionsWithoutPayload, !(seg_valid_i && opt_len != '0) || seg_beat_i.last)

endmodule
