// What net/ exchanges with tcp/ and the UDP side of parse/ and reply/.
package net_pkg;

  /// Which of the card's addresses.
  typedef enum logic [1:0] {
    OursIp4,
    OursLink,   // IPv6: link-local, made of the MAC address
    OursFixed,  // IPv6: as the user says
    OursAuto    // IPv6: in the network of which a router told (RFC 4862)
  } ours_e;
  localparam int unsigned Ip6s = 3;

  /// Addresses that the card answers to. `mtu` is the largest IP packet sent.
  typedef struct packed {
    logic [47:0] mac;
    logic [31:0] ip;
    logic [Ip6s-1:0][127:0] ip6;  // OursLink and on; the unspecified address: none
    logic [15:0] tcp_port;
    logic [15:0] redis_port;  // TCP, too; 0: off
    logic [15:0] udp_port;  // 0: UDP off
    logic [15:0] mtu;
    logic [11:0] vlan;  // of which it is a member beside the untagged network; 0: none
  } net_cfg_t;

  /// The other end, as its frames name it. An IPv4 address stands in the low bits, above it zeros: in
  /// a checksum of both addresses they are as good as none.
  typedef struct packed {
    logic [47:0]  mac;
    logic         vlan_valid;
    logic [15:0]  vlan_tci;
    ours_e        ours;  // to whom it speaks, which tells the family
    logic         redis;  // over TCP: to the port of Redis' protocol
    logic [127:0] ip;
    logic [15:0]  port;
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

  /// Timestamps of a segment (RFC 7323): TSval, TSecr.
  typedef struct packed {
    logic        valid;
    logic [31:0] value;
    logic [31:0] echo;
  } times_t;
  localparam int unsigned TimesBytes = 12;  // of the option, behind two NOPs

  /// A received segment whose checksums are right; travels beside every beat of its payload.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;        // of a SYN alone with times_ok: its TSval
    tcp_flags_t  flags;
    logic [15:0] wnd;        // as in the header, unscaled
    logic [15:0] len;        // payload bytes
    logic        mss_valid;  // options of a SYN
    logic [15:0] mss;
    logic        ws_valid;
    logic [3:0]  ws;
    logic        sack_ok;    // SACK-permitted
    logic        times_ok;   // timestamps
    logic [5:0]  opt_len;    // bytes of options in front of the payload; a SYN's are read
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
    times_t      times;      // send timestamps
    span_t [Spans-1:0] sack;  // send a SACK option with the first ones, which are valid
    logic        narrow;     // routers may fragment it: no path takes less without that
  } txseg_t;

  /// A UDP datagram in either direction; `len` counts UDP payload bytes (1..mtu-28).
  typedef struct packed {
    peer_t       peer;
    logic [15:0] len;
  } dgram_t;

  /// Counters of net: one-clock pulses on `count_o`, bit = value.
  // begin net_count_e: Made by spec/gen.py from spec/card.rdl: `make spec`.
  typedef enum logic [5:0] {
    NetCountRxFrames,         // frames from the wire
    NetCountRxTcp,            // segments, and what routers say of ours, given to tcp
    NetCountRxUdp,            // datagrams given to parse
    NetCountRxReply,          // ARP, echo requests and neighbour solicitations taken for an answer
    NetCountRxHost,           // frames given to the host
    NetCountRxBadIp,  // dropped: IP version; of IPv4 header length below 5 or header checksum
    NetCountRxBadTcp,         // dropped: TCP checksum
    NetCountRxBadUdp,         // dropped: UDP checksum; over IPv6 also none
    NetCountRxBadIcmp,        // dropped: checksum of what is read of ICMP and ICMPv6
    NetCountRxBadLength,      // dropped: lengths that contradict each other or the frame
    NetCountRxFullTcp,        // dropped: no room, tcp was too slow
    NetCountRxFullUdp,        // dropped: no room, parse was too slow
    NetCountRxFullReply,      // dropped: no room, the wire was too slow for the answers
    NetCountRxFullHost,       // dropped: no room, the host was too slow
    NetCountRxDisabled,       // dropped: came before `enable`
    NetCountTxFrames,         // frames to the wire
    NetCountTxTcp,            // of these: segments
    NetCountTxUdp,            // of these: datagrams
    NetCountTxReply,          // of these: ARP and echo replies, neighbour advertisements
    NetCountTxHost,           // of these: from the host
    NetCountTxHostLong,       // dropped: frame from the host longer than 9,088 bytes
    NetCountRxFromUs,         // dropped: source is the card's own address
    NetCountRxFromBroadcast,  // dropped: source 255.255.255.255
    NetCountRxFromMulticast,  // dropped: source in 224.0.0.0/4, or in ff00::/8
    NetCountRxFromReserved,   // dropped: source in 240.0.0.0/4, in ::/96 or ::ffff:0:0/96
    NetCountRxFromZero,       // dropped: source in 0.0.0.0/8, or ::
    NetCountRxFromLoopback,   // dropped: source in 127.0.0.0/8, or ::1
    NetCountRxFromPort0,      // dropped: source port 0
    NetCountRxFromGroupMac,   // dropped: source MAC is a group's
    NetCountRxToGroupMac,     // dropped: for the card's address, but to a group's MAC
    NetCountRxBadFlags,       // dropped: SYN with FIN or RST, or none of SYN, ACK and RST
    NetCountRxEchoLimit,      // dropped: echo requests beyond 1,000 a second
    NetCountRxNeighbour,      // dropped: solicits a neighbour whose address only ends like ours
    NetCountRxQuote,          // dropped: ICMPv6 "packet too big" that quotes no segment
    NetCountRxVlan            // dropped: from a VLAN of which the card is no member
  } net_count_e;
  localparam int unsigned NetCounts = 35;
  // end net_count_e

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

  /// IPv6 header, in the order of the wire.
  typedef struct packed {
    logic [3:0]   version;
    logic [27:0]  traffic;  // class and flow
    logic [15:0]  len;      // of what follows
    logic [7:0]   proto;
    logic [7:0]   hops;
    logic [127:0] src;
    logic [127:0] dst;
  } ipv6_t;

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

  localparam logic [15:0] EtherIp4 = 16'h0800;
  localparam logic [15:0] EtherArp = 16'h0806;
  localparam logic [15:0] EtherIp6 = 16'h86dd;
  localparam logic [15:0] EtherVlan = 16'h8100;

  localparam logic [15:0] IcmpEcho = 16'h0800;  // type and code
  localparam logic [15:0] Icmp6Echo = 16'h8000;
  localparam logic [15:0] Icmp6TooBig = 16'h0200;
  localparam logic [15:0] Icmp6EchoReply = 16'h8100;
  localparam logic [15:0] Icmp6Solicit = 16'h8700;  // neighbour solicitation (RFC 4861)
  localparam logic [15:0] Icmp6Advertise = 16'h8800;  // neighbour advertisement
  localparam logic [15:0] IcmpTooBig = 16'h0304;  // "fragmentation needed"

  /// Packets are not made smaller than this for any router (Linux' min_pmtu).
  localparam logic [15:0] MtuMin = 16'd552;
  /// ... nor, over IPv6, than what every link takes (RFC 8200, section 5).
  localparam logic [15:0] Mtu6Min = 16'd1280;

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

  /// The same over IPv6, where every router tells (RFC 8201).
  function automatic logic [15:0] path_mtu6(input logic [31:0] told);
    if (told[31:16] != '0) return '1;
    return (told[15:0] < Mtu6Min) ? Mtu6Min : told[15:0];
  endfunction

  localparam logic [7:0] ProtoIcmp = 8'd1;
  localparam logic [7:0] ProtoTcp = 8'd6;
  localparam logic [7:0] ProtoUdp = 8'd17;
  localparam logic [7:0] ProtoIcmp6 = 8'd58;

  /// Groups: ff02::1:ff00:0/104, of those whose address ends alike; ff02::1, of all on the link.
  localparam logic [127:24] SolicitedNode = 104'hff02_0000_0000_0000_0000_0001_ff;
  localparam logic [127:0] AllNodes = {16'hff02, 111'd0, 1'b1};

  /// Where a received frame goes.
  typedef enum logic [2:0] {
    RxTcp,
    RxUdp,
    RxReply,    // ARP and echo requests
    RxHost,
    RxNeighbour  // neighbour solicitations
  } rx_dest_e;
  localparam int unsigned RxDests = 5;

  /// What is built around a payload.
  typedef enum logic [1:0] {
    TxTcp,
    TxUdp,
    TxNeighbour  // a neighbour advertisement
  } tx_kind_e;

  /// What a frame's headers are made of.
  typedef struct packed {
    tx_kind_e    kind;
    logic        bad;
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    logic [15:0] offset_flags;
    logic [15:0] wnd;
    logic [15:0] l4_len;
    times_t      times;   // TCP: the option stands behind the header
    logic        df;      // IP: don't fragment
    logic [15:0] id;      // ... or else the identification
  } tx_head_t;
  localparam int unsigned AdvertBytes = 32;  // of ICMPv6, with the option that tells whose it is
  localparam logic [15:0] LinkOption = 16'h0201;
  localparam logic [31:0] TimesHead = 32'h0101_080a;  // of timestamps, behind two NOPs

  /// What becomes an answer in its own place.
  typedef enum logic [1:0] {
    ReplyArp,
    ReplyEcho,
    ReplyEcho6
  } answer_e;

  /// What the header says about a received frame.
  typedef struct packed {
    rx_dest_e    dest;
    logic        vlan;
    answer_e     reply;
    logic [6:0]  skip;        // bytes to cut off the front
    logic [16:0] bytes;       // Ethernet and IP length: what follows is padding
    logic        trim;        // cut the padding off
    logic        sum_check;   // the payload of IP has a checksum
    logic        icmp;        // ... ICMP's, or ICMPv6's
    logic [5:0]  sum_from;    // first byte that it covers
    logic [16:0] sum_init;    // the part of the pseudo header that is not in the frame
    logic        bad_ip;
    logic        bad_length;
    logic        martian;     // nobody can have sent this, or nobody may
    net_count_e  martian_why;
    logic        disabled;
  } rx_ctl_t;

  /// What can be wrong with an address that asks for an answer.
  typedef struct packed {
    logic [Ip6s-1:0] us;  // any of them
    logic all;
    logic multicast;
    logic reserved;
    logic loopback;
    logic zero_net;
    logic zero;
  } source_t;

  /// Which of our addresses, if any.
  typedef struct packed {
    logic  us;
    ours_e ours;
  } match_t;

  /// What the headers of link and network say, each item at most a compare away from the wire.
  typedef struct packed {
    logic        mac_group;
    logic        from_group;
    source_t     ip_source;
    source_t     arp_source;
    logic        mac_us;
    logic        mac_all;
    logic        etype_ip;   // of either version
    logic        etype_arp;
    logic        arp_ask;    // an ARP request for our address
    logic        six;
    logic        version_ok;
    logic        ihl_short;
    logic        ihl5;
    logic        fragment;
    logic [Ip6s-1:0] solicits;  // any: to the group of those whose address ends like this
    logic        ip4_us;
    logic        proto_tcp;
    logic        proto_udp;
    logic        proto_icmp;
    logic        hops_all;   // no router sent this on
    logic        quote_ours; // a header as in our segments stands where ICMP quotes one
    logic        runt;
    logic        arp_fits;
    logic        vlan;
    logic        vlan_other; // one of which the card is no member
    logic [16:0] rest;       // bytes behind the header, without options; below 0: cut short
    logic [15:0] quote_total;
    logic [19:0] ip_sum;
  } l3_fields_t;

  /// What the header of the transport says.
  typedef struct packed {
    logic        from_port0;
    logic        bad_flags;
    logic        port_tcp;
    logic        port_redis;
    logic        port_udp;
    logic        echo;
    logic        solicit;
    logic        too_big;    // "fragmentation needed", "packet too big"
    logic        quote6_tcp; // what "packet too big" quotes is TCP's
    logic        udp_no_sum;
    logic [15:0] udp_len;
    logic [31:0] next_mtu;   // of IPv4's the lower half
  } l4_fields_t;

  /// What rx_fields finds in a frame's headers.
  typedef struct packed {
    l3_fields_t  l3;
    l4_fields_t  l4;
    tcp_hdr_t    tcp;      // the transport's header, if that is TCP; of others the ports
    peer_t       peer;     // without port, and without `ours`
    match_t      to;       // IPv6: who is spoken to
    match_t      target;   // ... of a neighbour solicitation: whose address is asked for
    logic        enable;   // the frame came when frames counted
  } fields_t;

  /// What of a router's "fragmentation needed" is kept: the headers of our packet that it quotes.
  localparam int unsigned QuoteBytes = 28;
  localparam int unsigned QuoteBytes6 = 48;

  /// Fields of a received segment or datagram.
  typedef struct packed {
    peer_t       peer;
    logic [31:0] seq;
    logic [31:0] ack;
    tcp_flags_t  flags;
    logic [15:0] wnd;
    logic [15:0] len;
    logic [5:0]  opt_len;  // bytes of options, here in front of the payload
    logic        too_big;  // "fragmentation needed": the quote is its payload here, wnd what fits
  } rx_meta_t;

  /// Which of the card's addresses a peer speaks to, where that decides something.
  function automatic ours_e ours_of(input peer_t peer);
    return config_pkg::Config.ipv6 ? peer.ours : OursIp4;
  endfunction

  /// One of the card's addresses.
  function automatic logic [127:0] our_ip(input net_cfg_t cfg, input ours_e ours);
    unique case (ours)
      OursIp4:   return 128'(cfg.ip);
      OursLink:  return cfg.ip6[0];
      OursFixed: return cfg.ip6[1];
      default:   return cfg.ip6[2];
    endcase
  endfunction

  /// The card's end of a connection.
  function automatic logic [15:0] our_tcp_port(input net_cfg_t cfg, input peer_t peer);
    return peer.redis ? cfg.redis_port : cfg.tcp_port;
  endfunction

  /// Which of the card's IPv6 addresses it is, if any.
  function automatic match_t match_ip6(input net_cfg_t cfg, input logic [127:0] ip);
    match_ip6 = '{us: 1'b0, ours: OursLink};
    for (int unsigned i = 0; i < Ip6s; i++) begin
      if (ip == cfg.ip6[i] && cfg.ip6[i][127:112] != '0) begin
        match_ip6 = '{us: 1'b1, ours: ours_e'(2'(i + 1))};
      end
    end
  endfunction

  /// The link-local address of a MAC address (RFC 4291, appendix A).
  function automatic logic [127:0] link_local(input logic [47:0] mac);
    return {64'hfe80_0000_0000_0000, mac[47:24] ^ 24'h020000, 16'hfffe, mac[23:0]};
  endfunction

  /// The MAC address of a group (RFC 2464, section 7).
  function automatic logic [47:0] group_mac(input logic [31:0] low);
    return {16'h3333, low};
  endfunction

  /// One's-complement sum of 16-bit words folded to 16 bits. Both candidates are added at once,
  /// so that the carry selects and does not ripple again.
  function automatic logic [15:0] fold(input logic [31:0] sum);
    logic [16:0] plain;
    logic [15:0] carried;
    plain   = 17'(sum[31:16]) + 17'(sum[15:0]);
    carried = sum[31:16] + sum[15:0] + 16'd1;
    return plain[16] ? carried : plain[15:0];
  endfunction

  // Words of a one's-complement sum are added without carry chains, until two are left: a bit that a column
  // sends up goes to the next column, out of the last one to the first. What is not all zeros stays so.
  typedef logic [15:0] word_t;

  function automatic word_t majority(input word_t a, input word_t b, input word_t c);
    return (a & b) | (a & c) | (b & c);
  endfunction

  /// Two words with the sum of three.
  function automatic word_t [1:0] sum3(input word_t [2:0] words);
    word_t up;
    up = majority(words[0], words[1], words[2]);
    return {{up[14:0], up[15]}, words[0] ^ words[1] ^ words[2]};
  endfunction

  /// Three words with the sum of six: each of their bits is a function of six, which is a LUT.
  function automatic word_t [2:0] sum6(input word_t [5:0] words);
    word_t low, high, up0, up1, up2, twos, fours;
    low   = words[0] ^ words[1] ^ words[2];
    high  = words[3] ^ words[4] ^ words[5];
    up0   = majority(words[0], words[1], words[2]);
    up1   = majority(words[3], words[4], words[5]);
    up2   = low & high;
    twos  = up0 ^ up1 ^ up2;
    fours = majority(up0, up1, up2);
    return {{fours[13:0], fours[15:14]}, {twos[14:0], twos[15]}, low ^ high};
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

endpackage
