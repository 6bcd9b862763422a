// Builds Ethernet frames around TCP segments and UDP datagrams, and neighbour advertisements. A packet
// is kept until its checksum is known. Latency 6 from the last beat of a packet, initiation interval 1 a
// beat of the frame.
`include "lib_assert.svh"

module tx_build
  import wirekv_pkg::*;
  import net_pkg::*;
  import lib_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  input  net_cfg_t cfg_i,
  /// Segments; one with options (mss_valid, ws_valid, sack_ok or sack) but timestamps has no payload.
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
  /// Who has solicited a neighbour that is `ours`.
  input  logic     solicit_valid_i,
  output logic     solicit_ready_o,
  input  peer_t    solicit_i,
  /// Frames, unpadded; lanes behind the end are undefined. kind_o says what is inside.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output beat_t    m_beat_o,
  output tx_kind_e m_kind_o,
  /// Nothing inside.
  output logic     idle_o
);

  localparam int unsigned DataDepth = 256;  // 16 KiB: more than the largest packet
  localparam int unsigned PacketsMax = 32;  // packets waiting for their checksum or for the wire

  // ---------------------------------------------------------------- merge
  typedef struct packed {
    tx_head_t head;
    beat_t beat;
  } item_t;

  // Apart: the beat of one kind of head is made here.
  item_t seg_item, dgram_item;
  tx_head_t in_head;
  beat_t in_beat;
  tx_head_t adv_head;
  logic [1:0] source;
  logic item_valid, item_ready, item_fire, item_first_q;
  logic [15:0] id_q;
  tx_head_t item_head;
  logic [6:0] opt_len;
  logic [15:0] l4_bare;  // of the header, with timestamps
  localparam int unsigned OptWords = 1 + 2 * Spans;
  logic [OptWords-1:0][31:0] opts;  // in the order of the wire, the first one on top
  logic [13:0] above, above_next;  // the part of numbers near `ack` that they do not say

  always_comb begin
    // Options travel as if they were payload, but for timestamps, which belong to the header.
    above      = seg_i.ack[31:18];
    above_next = above + 14'd1;
    l4_bare    = seg_i.times.valid ? 16'd20 + 16'(TimesBytes) : 16'd20;
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

    seg_item.head.kind         = TxTcp;
    seg_item.head.bad          = seg_bad_i;
    seg_item.head.peer         = seg_i.peer;
    seg_item.head.seq          = seg_i.seq;
    seg_item.head.ack          = seg_i.ack;
    seg_item.head.offset_flags = {
      4'd5 + opt_len[5:2] + (seg_i.times.valid ? 4'(TimesBytes / 4) : '0), 4'd0, seg_i.flags
    };
    seg_item.head.wnd          = seg_i.wnd;
    seg_item.head.times        = seg_i.times;
    seg_item.head.l4_len       = seg_i.len + l4_bare;
    seg_item.head.df           = !seg_i.narrow;
    seg_item.head.id           = '0;
    seg_item.beat              = seg_beat_i;
    if (opt_len != '0) begin
      seg_item.head.l4_len = 16'(opt_len) + l4_bare;
      seg_item.beat.len    = opt_len;
      for (int unsigned i = 0; i < OptWords; i++) begin
        for (int unsigned b = 0; b < 4; b++) begin
          seg_item.beat.data[(i*4+b)*8+:8] = opts[OptWords-1-i][(3-b)*8+:8];
        end
      end
    end

    dgram_item             = '0;
    dgram_item.head.kind   = TxUdp;
    dgram_item.head.peer   = dgram_i.peer;
    dgram_item.head.l4_len = dgram_i.len + 16'd8;
    // Nobody is told that a datagram was too big; what some path may not take routers may fragment.
    dgram_item.head.df     = ours_of(dgram_i.peer) != OursIp4 || dgram_i.len <= MtuMin - 16'd28;
    dgram_item.beat        = dgram_beat_i;

    // An advertisement is all header. Who has no address yet hears it with everybody. The flags stand
    // where a peer's port does: this is an answer, if to somebody; it holds, whatever was known.
    adv_head           = '0;
    adv_head.kind      = TxNeighbour;
    adv_head.peer      = solicit_i;
    adv_head.peer.port = 16'h6000;
    adv_head.l4_len    = 16'(AdvertBytes);
    adv_head.df        = 1'b1;
    if (solicit_i.ip == '0) begin
      adv_head.peer.mac  = group_mac(AllNodes[31:0]);
      adv_head.peer.ip   = AllNodes;
      adv_head.peer.port = 16'h2000;
    end
  end

  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(tx_head_t),
    .N(3)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i({solicit_valid_i, dgram_valid_i, seg_valid_i}),
    .s_ready_o({solicit_ready_o, dgram_ready_o, seg_ready_o}),
    .s_data_i ({adv_head, dgram_item.head, seg_item.head}),
    .s_last_i ({1'b1, dgram_beat_i.last, seg_beat_i.last}),
    .m_valid_o(item_valid),
    .m_ready_i(item_ready),
    .m_data_o (in_head),
    .m_last_o (),
    .m_idx_o  (source)
  );
  always_comb begin
    in_beat = (source == 2'd0) ? seg_item.beat : dgram_item.beat;
    if (in_head.kind == TxNeighbour) begin
      in_beat.len  = '0;
      in_beat.last = 1'b1;
    end
  end

  // ---------------------------------------------------------------- keep
  function automatic logic [6:0] headers_len(input tx_kind_e kind, input logic times,
                                             input logic six, input logic vlan);
    return (kind == TxTcp ? (times ? 7'd34 + 7'(TimesBytes) : 7'd34) :
            kind == TxUdp ? 7'd22 : 7'd14 + 7'(AdvertBytes)) +
        (six ? 7'd40 : 7'd20) + (vlan ? 7'd4 : 7'd0);
  endfunction

  logic data_room, head_room, data_valid, data_pop, head_valid, head_pop, sums_valid;
  beat_t data;
  // verilator lint_off UNUSEDSIGNAL
  tx_head_t head;  // `bad` is in the checksum
  // verilator lint_on UNUSEDSIGNAL
  logic [6:0] item_len, head_len;  // of its headers: what turns the payload begins with it

  assign item_ready = data_room && head_room;
  assign item_fire  = item_valid && item_ready;

  // What may be fragmented has a number, so that parts of two packets are not put together (RFC 6864).
  always_comb begin
    item_head    = in_head;
    item_head.id = in_head.df ? '0 : id_q;
    item_len     = headers_len(in_head.kind, in_head.times.valid, ours_of(in_head.peer) != OursIp4,
                               in_head.peer.vlan_valid);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      item_first_q <= 1'b1;
      id_q         <= '0;
    end else if (item_fire) begin
      item_first_q <= in_beat.last;
      if (in_beat.last && !in_head.df) id_q <= id_q + 16'd1;
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
    .s_data_i (in_beat),
    .m_valid_o(data_valid),
    .m_ready_i(data_pop),
    .m_data_o (data),
    .level_o  ()
  );

  lib_fifo #(
    .T    (logic [$bits(tx_head_t)+6:0]),
    .Depth(PacketsMax),
    .Ultra(1'b1)
  ) u_head (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_fire && in_beat.last),
    .s_ready_o(head_room),
    .s_data_i ({item_len, item_head}),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o ({head_len, head}),
    .level_o  ()
  );

  // ---------------------------------------------------------------- sum
  logic sum_valid_q, sum_first_q, sum_last_q, payload_valid;
  line_t sum_data_q;
  logic [63:0] sum_lanes_q;
  word_t l4_head, ip_sum_head;
  word_t [2:0] payload;

  typedef struct packed {
    logic [15:0] ip;
    logic [15:0] l4;
  } sums_t;
  sums_t sums_d, sums;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sum_valid_q <= 1'b0;
    else sum_valid_q <= item_fire;
    if (item_fire) begin
      sum_data_q  <= in_beat.data;
      sum_lanes_q <= lanes_below(in_beat.len);
      sum_first_q <= item_first_q;
      sum_last_q  <= in_beat.last;
    end
  end

  checksum u_checksum (
    .clk_i,
    .rst_ni,
    .valid_i(sum_valid_q),
    .first_i(sum_first_q),
    .last_i (sum_last_q),
    .data_i (sum_data_q),
    .lanes_i(sum_lanes_q),
    .init_i ('0),
    .valid_o(payload_valid),
    .sum_o  (payload)
  );

  // The headers' words beside the payload's: three clocks as well.
  tx_sums u_head_sums (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .valid_i(item_fire && in_beat.last),
    .head_i (item_head),
    .ip_o   (ip_sum_head),
    .l4_o   (l4_head)
  );

  assign sums_d.ip = ip_sum_head;
  assign sums_d.l4 = ~fold(sum3(sum6({
    word_t'(0), word_t'(0), l4_head, swap16(payload[2]), swap16(payload[1]), swap16(payload[0])
  })));

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
  // Those of IPv6 are 20 bytes longer, timestamps take 12. A line holds the four shortest, those of IPv4 without
  // timestamps, and the next one.
  localparam int unsigned HeadBytes = 18 + 40 + AdvertBytes;

  typedef struct packed {
    line_t       data;  // payload, `headers` lanes up; what leaves at the top is at the bottom
    logic [63:0] bottom;  // those lanes
    logic [6:0]  len;
    logic        last;
    logic        first;
    tx_kind_e    kind;
    logic [6:0]  headers;
  } turn_t;

  turn_t turn_q;
  logic turn_valid_q, turn_ready, first_q, six, take;
  tx_kind_e kind_q, kind;
  logic [6:0] len_q, len;  // of the headers
  logic [HeadBytes*8-1:0] headers_q;

  /// All headers, the first byte in lane 0.
  function automatic logic [HeadBytes*8-1:0] headers();
    logic [127:0] ours;
    logic [15:0] etype;
    logic [7:0] next;
    logic [AdvertBytes*8-1:0] l4;
    logic [(40+AdvertBytes)*8-1:0] l3, l3_lanes;
    logic [18*8-1:0] l2, l2_lanes;
    ours  = our_ip(cfg_i, ours_of(head.peer));
    etype = six ? EtherIp6 : EtherIp4;
    unique case (head.kind)
      TxTcp: begin
        next = ProtoTcp;
        l4 = {
          our_tcp_port(cfg_i, head.peer), head.peer.port, head.seq, head.ack, head.offset_flags,
          head.wnd, sums.l4, 16'd0, TimesHead, head.times.value, head.times.echo
        };
      end
      TxUdp: begin
        next = ProtoUdp;
        l4 = {
          cfg_i.udp_port, head.peer.port, head.l4_len, sums.l4 == '0 ? 16'hffff : sums.l4, 192'd0
        };
      end
      default: begin
        next = ProtoIcmp6;
        l4 = {Icmp6Advertise, sums.l4, head.peer.port, 16'd0, ours, LinkOption, cfg_i.mac};
      end
    endcase
    l3 = six ? {
      32'h6000_0000, head.l4_len, next, head.kind == TxNeighbour ? 8'd255 : 8'd64,
      ours, head.peer.ip, l4
    } : {
      16'h4500, head.l4_len + 16'd20, head.id, 1'b0, head.df, 14'd0, 8'd64, next,
      sums.ip, ours[31:0], head.peer.ip[31:0], l4, 160'd0
    };
    l2 = {
      head.peer.mac, cfg_i.mac,
      head.peer.vlan_valid ? {EtherVlan, head.peer.vlan_tci, etype} : {etype, 32'd0}
    };
    for (int i = 0; i < 18; i++) l2_lanes[i*8+:8] = l2[(17-i)*8+:8];
    for (int i = 0; i < HeadBytes - 18; i++) l3_lanes[i*8+:8] = l3[(HeadBytes-19-i)*8+:8];
    return head.peer.vlan_valid ? {l3_lanes, l2_lanes} : {32'd0, l3_lanes, l2_lanes[111:0]};
  endfunction

  // All lengths are two more than a multiple of four: two levels of four-way multiplexers.
  line_t turned;
  lib_rotate u_rotate (
    .data_i (data.data),
    .lanes_i({len[5:2], 2'd2}),
    .data_o (turned)
  );

  logic [63:0] bottom;
  lib_lanes u_bottom (
    .n_i    ({1'b0, len[5:0]}),
    .below_o(bottom)
  );

  assign kind     = first_q ? head.kind : kind_q;
  assign six      = ours_of(head.peer) != OursIp4;
  assign len      = first_q ? head_len : len_q;
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
      turn_q.data    <= turned;
      turn_q.bottom  <= bottom;
      turn_q.len     <= data.len;
      turn_q.last    <= data.last;
      turn_q.first   <= first_q;
      turn_q.kind    <= kind;
      turn_q.headers <= len;
    end
    if (head_pop) begin
      headers_q <= headers();
      kind_q    <= head.kind;
      len_q     <= len;
    end
  end

  // ---------------------------------------------------------------- join
  // Each beat of the frame: what was left over (at first the headers), then the payload. Headers of
  // more than a line begin with one of their own. If the last beat overflows, a tail follows.
  typedef struct packed {
    beat_t    beat;
    tx_kind_e kind;
  } frame_t;

  frame_t frame;
  logic frame_valid, frame_ready, tail_q, fits, lead, led_q;
  tx_kind_e tail_kind_q;
  line_t left_q;
  logic [7:0] sum_len;
  logic [6:0] tail_len_q;

  assign lead        = turn_q.first && turn_q.headers[6] && !led_q;
  assign sum_len     = 8'(turn_q.headers[5:0]) + 8'(turn_q.len);
  assign fits        = sum_len <= 8'd64;
  assign frame_valid = turn_valid_q || tail_q;
  assign turn_ready  = frame_ready && !tail_q && !lead;

  always_comb begin
    line_t front;
    logic [63:0] fresh;  // lanes of the payload
    front = left_q;
    if (turn_q.first && !tail_q) begin
      front = headers_q[511:0];
      if (led_q) front[HeadBytes*8-513:0] = headers_q[HeadBytes*8-1:512];
    end
    fresh = (tail_q || lead) ? '0 : ~turn_q.bottom;
    frame.kind      = tail_kind_q;
    frame.beat.data = merge_lanes(fresh, turn_q.data, front);
    frame.beat.len  = tail_len_q;
    frame.beat.last = 1'b1;
    if (turn_valid_q && !tail_q) begin
      frame.kind      = turn_q.kind;
      frame.beat.len  = (fits && !lead) ? sum_len[6:0] : 7'd64;
      frame.beat.last = turn_q.last && fits && !lead;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= 1'b0;
      led_q  <= 1'b0;
    end else if (frame_ready) begin
      tail_q <= !tail_q && turn_valid_q && !lead && turn_q.last && !fits;
      led_q  <= !tail_q && turn_valid_q && lead;
    end
    if (turn_valid_q && turn_ready && !(turn_q.last && fits)) begin
      left_q      <= turn_q.data;
      tail_len_q  <= 7'(sum_len - 8'd64);
      tail_kind_q <= turn_q.kind;
    end
  end

  frame_t out;
  lib_skid_buffer #(
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
  assign m_kind_o = out.kind;

  assign idle_o = !item_valid && !head_valid && !data_valid && !turn_valid_q && !tail_q &&
      !m_valid_o;

  logic unused;
  assign unused = ^{cfg_i.mtu, cfg_i.vlan};

  `ASSERT(OptionsWithoutPayload, !(seg_valid_i && opt_len != '0) || seg_beat_i.last)

endmodule
