// What net/ exchanges with tcp/ and the UDP side of parse/ and reply/.
package net_pkg;

  /// Addresses that the card answers to. `mtu` is the largest IP packet sent.
  typedef struct packed {
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] tcp_port;
    logic [15:0] udp_port;  // 0: UDP off
    logic [15:0] mtu;
  } net_cfg_t;

  /// The other end, as its frames name it.
  typedef struct packed {
    logic [47:0] mac;
    logic        vlan_valid;
    logic [15:0] vlan_tci;
    logic [31:0] ip;
    logic [15:0] port;
  } peer_t;

  /// TCP header flags, the order of RFC 9293's header.
  typedef struct packed {
    logic cwr;
    logic ece;
    logic urg;
    logic ack;
    logic psh;
    logic rst;
    logic syn;
    logic fin;
  } tcp_flags_t;

  /// A sequence number that is near others that are known, so that its low bits say all.
  typedef logic [17:0] near_t;

  /// Bytes that are kept though some before them are missing: from .. to - 1.
  typedef struct packed {
    logic  valid;
    near_t from;
    near_t to;
  } span_t;
  localparam int unsigned Spans = 4;

  /// A received segment whose checksums are right; travels beside every beat of its payload.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;        // as in the header, unscaled
    logic [15:0] len;        // payload bytes
    logic        mss_valid;  // options of a SYN
    logic [15:0] mss;
    logic        ws_valid;
    logic [3:0]  ws;
    logic        sack_ok;    // SACK-permitted
    logic [5:0]  opt_len;    // of one with neither SYN nor payload: bytes of options, in its beat
    // No segment: a router says that one of ours, to this peer and with the sequence number `ack`,
    // is too big for the path, which takes `mss` bytes of payload.
    logic        too_big;
  } seg_t;

  /// A segment to send; travels beside every beat of its payload.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;
    logic [15:0] len;
    logic        mss_valid;  // send an MSS option (SYN only)
    logic [15:0] mss;
    logic        ws_valid;   // send a window-scale option (SYN only)
    logic [3:0]  ws;
    logic        sack_ok;    // send a SACK-permitted option (SYN only)
    span_t [Spans-1:0] sack;  // send a SACK option with the first ones, which are valid
    logic        narrow;     // routers may fragment it: no path takes less without that
  } txseg_t;

  /// A UDP datagram in either direction; `len` counts UDP payload bytes (1..mtu-28).
  typedef struct packed {
    peer_t       peer;
    logic [15:0] len;
  } dgram_t;

  /// Counters of net: one-clock pulses on `count_o`, bit = value.
  typedef enum logic [4:0] {
    NetCountRxFrames,     // frames from the wire
    NetCountRxTcp,        // segments, and what routers say of ours, given to tcp
    NetCountRxUdp,        // datagrams given to parse
    NetCountRxReply,      // ARP and echo requests taken for an answer
    NetCountRxHost,       // frames given to the host
    NetCountRxBadIp,      // dropped: IPv4 version, header length below 5 or header checksum
    NetCountRxBadTcp,     // dropped: TCP checksum
    NetCountRxBadUdp,     // dropped: UDP checksum
    NetCountRxBadIcmp,    // dropped: checksum of an echo request or of "fragmentation needed"
    NetCountRxBadLength,  // dropped: lengths that contradict each other or the frame
    NetCountRxFullTcp,    // dropped: no room, tcp was too slow
    NetCountRxFullUdp,    // dropped: no room, parse was too slow
    NetCountRxFullReply,  // dropped: no room, the wire was too slow for the answers
    NetCountRxFullHost,   // dropped: no room, the host was too slow
    NetCountRxDisabled,   // dropped: came before `enable`
    NetCountTxFrames,     // frames to the wire
    NetCountTxTcp,        // of these: segments
    NetCountTxUdp,        // of these: datagrams
    NetCountTxReply,      // of these: ARP and echo replies
    NetCountTxHost,       // of these: from the host
    NetCountTxHostLong,   // dropped: frame from the host longer than 9,088 bytes
    NetCountRxFromUs,         // dropped: source is the card's own address
    NetCountRxFromBroadcast,  // dropped: source 255.255.255.255
    NetCountRxFromMulticast,  // dropped: source in 224.0.0.0/4
    NetCountRxFromReserved,   // dropped: source in 240.0.0.0/4
    NetCountRxFromZero,       // dropped: source in 0.0.0.0/8
    NetCountRxFromLoopback,   // dropped: source in 127.0.0.0/8
    NetCountRxFromPort0,      // dropped: source port 0
    NetCountRxFromGroupMac,   // dropped: source MAC is a group's
    NetCountRxToGroupMac,     // dropped: for the card's address, but to a group's MAC
    NetCountRxBadFlags,       // dropped: SYN with FIN or RST, or none of SYN, ACK and RST
    NetCountRxEchoLimit       // dropped: echo requests beyond 1,000 a second
  } net_count_e;
  localparam int unsigned NetCounts = 32;

  // ---------------------------------------------------------------- inside net

  /// IPv4 header without options, in the order of the wire.
  typedef struct packed {
    logic [3:0]  version;
    logic [3:0]  ihl;
    logic [7:0]  tos;
    logic [15:0] total;
    logic [15:0] id;
    logic [2:0]  frag_flags;
    logic [12:0] frag_offset;
    logic [7:0]  ttl;
    logic [7:0]  proto;
    logic [15:0] sum;
    logic [31:0] src;
    logic [31:0] dst;
  } ipv4_t;

  /// TCP header as far as the window.
  typedef struct packed {
    logic [15:0] sport;
    logic [15:0] dport;
    logic [31:0] seq;
    logic [31:0] ack;
    logic [3:0]  offset;
    logic [3:0]  unused;
    tcp_flags_t  flags;
    logic [15:0] wnd;
  } tcp_hdr_t;

  /// ARP for IPv4 over Ethernet.
  typedef struct packed {
    logic [63:0] kind;  // hardware and protocol type, address lengths, operation
    logic [47:0] smac;
    logic [31:0] sip;
    logic [47:0] tmac;
    logic [31:0] tip;
  } arp_t;
  localparam logic [63:0] ArpRequest = 64'h0001_0800_0604_0001;
  localparam logic [63:0] ArpReply = 64'h0001_0800_0604_0002;

  localparam logic [15:0] IcmpEcho = 16'h0800;  // type and code
  localparam logic [15:0] IcmpTooBig = 16'h0304;  // "fragmentation needed"

  /// Packets are not made smaller than this for any router (Linux' min_pmtu).
  localparam logic [15:0] MtuMin = 16'd552;

  /// Largest packet for the path, as told by a router that could not send one of `total` bytes on.
  /// One that knows nothing of RFC 1191 says 0: then it is the next size in use (section 7.1).
  function automatic logic [15:0] path_mtu(input logic [15:0] told, input logic [15:0] total);
    if (told != '0) return (told < MtuMin) ? MtuMin : told;
    if (total > 16'd8166) return 16'd8166;
    if (total > 16'd4352) return 16'd4352;
    if (total > 16'd2002) return 16'd2002;
    if (total > 16'd1492) return 16'd1492;
    if (total > 16'd1006) return 16'd1006;
    return MtuMin;
  endfunction

  localparam logic [7:0] ProtoIcmp = 8'd1;
  localparam logic [7:0] ProtoTcp = 8'd6;
  localparam logic [7:0] ProtoUdp = 8'd17;

  /// Where a received frame goes.
  typedef enum logic [1:0] {
    RxTcp,
    RxUdp,
    RxReply,  // ARP and echo requests
    RxHost
  } rx_dest_e;

  /// What the header says about a received frame.
  typedef struct packed {
    rx_dest_e    dest;
    logic        vlan;
    logic        arp;
    logic [6:0]  skip;        // bytes to cut off the front
    logic [16:0] bytes;       // Ethernet and IP length: what follows is padding
    logic        trim;        // cut the padding off
    logic        sum_check;   // the payload of IP has a checksum
    logic        icmp;        // ... ICMP's
    logic [5:0]  sum_from;    // first byte that it covers
    logic [16:0] sum_init;    // the part of the pseudo header that is not in the frame
    logic        bad_ip;
    logic        bad_length;
    logic        martian;     // nobody can have sent this, or nobody may
    net_count_e  martian_why;
    logic        disabled;
  } rx_ctl_t;

  /// What of a router's "fragmentation needed" is kept: the headers of our packet that it quotes.
  localparam int unsigned QuoteBytes = 28;

  /// Fields of a received segment or datagram.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;
    logic [15:0] len;
    logic [5:0]  opt_len;  // of a SYN, or without payload: bytes of options, its payload here
    logic        too_big;  // "fragmentation needed": the quote is its payload here, wnd what fits
  } rx_meta_t;

  /// One's-complement sum of 16-bit words folded to 16 bits. Both candidates are added at once,
  /// so that the carry selects and does not ripple again.
  function automatic logic [15:0] fold(input logic [31:0] sum);
    logic [16:0] plain;
    logic [15:0] carried;
    plain   = 17'(sum[31:16]) + 17'(sum[15:0]);
    carried = sum[31:16] + sum[15:0] + 16'd1;
    return plain[16] ? carried : plain[15:0];
  endfunction

  function automatic logic [15:0] swap16(input logic [15:0] word);
    return {word[7:0], word[15:8]};
  endfunction

  /// Bytes in a beat whose `tkeep` is contiguous from lane 0.
  function automatic logic [6:0] keep_len(input logic [63:0] keep);
    logic [62:0] rest;
    logic [5:0] len;
    rest = keep[62:0];
    for (int i = 5; i >= 0; i--) begin
      len[i] = rest[(1<<i)-1];
      if (len[i]) rest = rest >> (1 << i);
    end
    return keep[63] ? 7'd64 : {1'b0, len};
  endfunction

  /// Bits of the lanes 0 .. n-1; n is 0..64.
  function automatic logic [511:0] bits_below(input logic [6:0] n);
    return ~({512{1'b1}} << {n, 3'b000});
  endfunction

endpackage
