// Reads the headers of received frames, all in the first beat, and decides where each frame goes.
// Latency 3, initiation interval 1; never stalls.
module rx_parse
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  net_cfg_t     cfg_i,
  /// Frames that begin while this is low are marked `disabled`.
  input  logic         enable_i,
  /// Frames from the wire.
  input  logic [511:0] s_axis_tdata,
  input  logic [63:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  input  logic         s_axis_tlast,
  /// The same beats; ctl_o and meta_o mean something beside the first beat of a frame.
  output logic         valid_o,
  output logic         first_o,
  output beat_t        beat_o,
  output rx_ctl_t      ctl_o,
  output rx_meta_t     meta_o,
  /// A beat is inside.
  output logic         busy_o
);

  localparam int unsigned L3Bytes = 36;  // IPv4 and TCP as far as the window

  // ---------------------------------------------------------------- in
  logic in_valid_q, in_first_q, in_vlan_q, in_enable_q, next_first_q;
  beat_t in_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_valid_q   <= 1'b0;
      next_first_q <= 1'b1;
    end else begin
      in_valid_q <= s_axis_tvalid;
      if (s_axis_tvalid) next_first_q <= s_axis_tlast;
    end
    if (s_axis_tvalid) begin
      // Zeros behind the end: what becomes of a torn frame depends on the frame alone.
      for (int i = 0; i < 64; i++) begin
        in_q.data[i*8+:8] <= s_axis_tkeep[i] ? s_axis_tdata[i*8+:8] : '0;
      end
      in_q.len    <= keep_len(s_axis_tkeep);
      in_q.last   <= s_axis_tlast;
      in_first_q  <= next_first_q;
      in_vlan_q   <= s_axis_tdata[12*8+:16] == swap16(16'h8100);
      in_enable_q <= enable_i;
    end
  end

  // ---------------------------------------------------------------- fields
  typedef logic [L3Bytes*8-1:0] l3_t;

  /// What can be wrong with an address that asks for an answer.
  typedef struct packed {
    logic us;
    logic all;
    logic multicast;
    logic reserved;
    logic loopback;
    logic zero_net;
    logic zero;
  } source_t;

  /// What the headers say, each item at most a compare away from the wire.
  typedef struct packed {
    logic        mac_group;
    logic        from_group;
    source_t     ip_source;
    source_t     arp_source;
    logic        from_port0;
    logic        bad_flags;
    logic        mac_us;
    logic        mac_all;
    logic        etype_ip;
    logic        etype_arp;
    logic        arp_ask;    // an ARP request for our address
    logic        version_ok;
    logic        ihl_short;
    logic        ihl5;
    logic        fragment;
    logic        ip_us;
    logic        proto_tcp;
    logic        proto_udp;
    logic        proto_icmp;
    logic        port_tcp;
    logic        port_udp;
    logic        echo;
    logic        too_big;    // "fragmentation needed", with a segment of ours
    logic        udp_no_sum;
    logic        runt;
    logic        arp_fits;
    logic        vlan;
    logic [15:0] total;
    logic [15:0] udp_len;
    logic [15:0] next_mtu;
    logic [15:0] quote_total;
    logic [3:0]  offset;
    logic [19:0] ip_sum;
  } fields_t;

  // Functions, so that the simulator works only when there is a first beat. The headers have more
  // fields than are read.
  // verilator lint_off UNUSEDSIGNAL
  function automatic l3_t l3_lanes(input line_t data, input logic vlan);
    return vlan ? data[18*8+:L3Bytes*8] : data[14*8+:L3Bytes*8];
  endfunction

  /// In the order of the wire, that is first byte on top.
  function automatic l3_t l3_wire(input l3_t lanes);
    for (int i = 0; i < L3Bytes; i++) l3_wire[(L3Bytes-1-i)*8+:8] = lanes[i*8+:8];
  endfunction

  /// The IP header that an ICMP message quotes, as far as the source.
  function automatic logic [127:0] quote_wire(input line_t data, input logic vlan);
    logic [127:0] lanes;
    lanes = vlan ? data[46*8+:128] : data[42*8+:128];
    for (int i = 0; i < 16; i++) quote_wire[(15-i)*8+:8] = lanes[i*8+:8];
  endfunction

  function automatic logic [47:0] mac_wire(input logic [47:0] lanes);
    for (int i = 0; i < 6; i++) mac_wire[(5-i)*8+:8] = lanes[i*8+:8];
  endfunction

  function automatic source_t read_source(input logic [31:0] ip);
    read_source.us        = ip == cfg_i.ip;
    read_source.all       = &ip;
    read_source.multicast = ip[31:28] == 4'he;
    read_source.reserved  = ip[31:28] == 4'hf;
    read_source.loopback  = ip[31:24] == 8'd127;
    read_source.zero_net  = ip[31:24] == 8'd0;
    read_source.zero      = ip == '0;
  endfunction

  function automatic fields_t read_fields(input beat_t beat, input logic vlan);
    l3_t lanes, l3;
    logic [47:0] dst;
    logic [15:0] etype;
    ipv4_t ip;
    tcp_hdr_t tcp;
    arp_t arp;
    logic [4:0][16:0] pairs;
    logic [127:0] quote;

    lanes = l3_lanes(beat.data, vlan);
    quote = quote_wire(beat.data, vlan);
    l3    = l3_wire(lanes);
    dst   = mac_wire(beat.data[47:0]);
    etype = swap16(vlan ? beat.data[16*8+:16] : beat.data[12*8+:16]);
    ip    = l3[L3Bytes*8-1-:160];
    tcp   = l3[127:0];
    arp   = l3[L3Bytes*8-1-:224];

    read_fields.mac_group  = dst[40];
    read_fields.from_group = beat.data[48];
    read_fields.ip_source  = read_source(ip.src);
    read_fields.arp_source = read_source(arp.sip);
    read_fields.from_port0 = tcp.sport == '0;
    // Linux' TCP drops these silently when it listens, and so here always.
    read_fields.bad_flags  = (tcp.flags.syn && (tcp.flags.fin || tcp.flags.rst)) ||
        !(tcp.flags.syn || tcp.flags.ack || tcp.flags.rst);
    read_fields.mac_us     = dst == cfg_i.mac;
    read_fields.mac_all    = &dst;
    read_fields.etype_ip   = etype == 16'h0800;
    read_fields.etype_arp  = etype == 16'h0806;
    read_fields.arp_ask    = arp.kind == ArpRequest && arp.tip == cfg_i.ip;
    read_fields.version_ok = ip.version == 4'd4;
    read_fields.ihl_short  = ip.ihl < 4'd5;
    read_fields.ihl5       = ip.ihl == 4'd5;
    read_fields.fragment   = ip.frag_flags[0] || ip.frag_offset != '0;
    read_fields.ip_us      = ip.dst == cfg_i.ip;
    read_fields.proto_tcp  = ip.proto == ProtoTcp;
    read_fields.proto_udp  = ip.proto == ProtoUdp;
    read_fields.proto_icmp = ip.proto == ProtoIcmp;
    read_fields.port_tcp   = tcp.dport == cfg_i.tcp_port;
    read_fields.port_udp   = tcp.dport == cfg_i.udp_port && cfg_i.udp_port != '0;
    read_fields.echo       = l3[127-:16] == IcmpEcho;
    // All that we send has a header without options.
    read_fields.too_big    = l3[127-:16] == IcmpTooBig && quote[127-:8] == 8'h45 &&
        quote[127-72-:8] == ProtoTcp && quote[31:0] == cfg_i.ip;
    read_fields.next_mtu   = l3[127-48-:16];
    read_fields.quote_total = quote[127-16-:16];
    read_fields.udp_no_sum = l3[127-48-:16] == '0;
    read_fields.runt       = beat.len < 7'd14;
    read_fields.arp_fits   = beat.len >= (vlan ? 7'd46 : 7'd42);
    read_fields.vlan       = vlan;
    read_fields.total      = ip.total;
    read_fields.udp_len    = l3[127-32-:16];
    read_fields.offset     = tcp.offset;
    // The ten words of the header.
    for (int i = 0; i < 5; i++) begin
      pairs[i] = 17'(lanes[32*i+:16]) + 17'(lanes[32*i+16+:16]);
    end
    read_fields.ip_sum = (20'(pairs[0]) + 20'(pairs[1])) + (20'(pairs[2]) + 20'(pairs[3])) +
        20'(pairs[4]);
  endfunction

  function automatic rx_meta_t read_meta(input line_t data, input logic vlan);
    l3_t l3;
    ipv4_t ip;
    tcp_hdr_t tcp;
    l3  = l3_wire(l3_lanes(data, vlan));
    ip  = l3[L3Bytes*8-1-:160];
    tcp = l3[127:0];
    read_meta.peer = '{
        mac: mac_wire(data[95:48]),
        vlan_valid: vlan,
        vlan_tci: swap16(data[14*8+:16]),
        ip: ip.src,
        port: tcp.sport
    };
    read_meta.seq     = tcp.seq;
    read_meta.ack     = tcp.ack;
    read_meta.flags   = tcp.flags;
    read_meta.wnd     = tcp.wnd;
    read_meta.len     = '0;
    read_meta.opt_len = '0;
    read_meta.too_big = 1'b0;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  fields_t fields_q;
  rx_meta_t meta_q;
  logic fields_valid_q, fields_first_q, fields_enable_q;
  beat_t fields_beat_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fields_valid_q <= 1'b0;
    else fields_valid_q <= in_valid_q;
    if (in_valid_q) begin
      fields_beat_q  <= in_q;
      fields_first_q <= in_first_q;
    end
    if (in_valid_q && in_first_q) begin
      fields_q        <= read_fields(in_q, in_vlan_q);
      meta_q          <= read_meta(in_q.data, in_vlan_q);
      fields_enable_q <= in_enable_q;
    end
  end

  // ---------------------------------------------------------------- class
  rx_ctl_t ctl_d;
  rx_meta_t meta_d;
  logic [6:0] l2, tcp_hdr;
  logic [15:0] l4_len;
  logic ip_ok, to_us, local_ip, is_tcp, is_udp, is_echo, is_too_big, is_arp, keep_opts;
  source_t source;

  always_comb begin
    l2      = fields_q.vlan ? 7'd18 : 7'd14;
    l4_len  = fields_q.total - 16'd20;
    tcp_hdr = {1'b0, fields_q.offset, 2'b00};
    keep_opts = meta_q.flags.syn || l4_len == 16'(tcp_hdr);
    // Folded once: ten words cannot make it carry again and come to ffff.
    ip_ok   = 17'(fields_q.ip_sum[15:0]) + 17'(fields_q.ip_sum[19:16]) == 17'h0ffff;

    to_us    = fields_q.etype_ip && fields_q.mac_us && !fields_q.runt;
    local_ip = to_us && fields_q.ihl5 && !fields_q.fragment && fields_q.ip_us;
    is_tcp   = local_ip && fields_q.proto_tcp && fields_q.port_tcp;
    is_udp   = local_ip && fields_q.proto_udp && fields_q.port_udp;
    is_echo  = local_ip && fields_q.proto_icmp && fields_q.echo;
    is_too_big = local_ip && fields_q.proto_icmp && fields_q.too_big;
    is_arp   = fields_q.etype_arp && (fields_q.mac_us || fields_q.mac_all) &&
        fields_q.arp_ask && fields_q.arp_fits;

    ctl_d.dest      = (is_tcp || is_too_big) ? RxTcp : is_udp ? RxUdp :
        (is_echo || is_arp) ? RxReply : RxHost;
    ctl_d.vlan      = fields_q.vlan;
    ctl_d.arp       = is_arp;
    ctl_d.trim      = is_tcp || is_udp || is_too_big;
    ctl_d.icmp      = is_echo || is_too_big;
    // What a packet has behind its datagram is padding, as in Linux.
    ctl_d.bytes     = 17'(l2) + (is_udp ? 17'(fields_q.udp_len) + 17'd20 : 17'(fields_q.total));
    ctl_d.sum_check = is_tcp || ctl_d.icmp || (is_udp && !fields_q.udp_no_sum);
    // With TCP and UDP the sum begins at the IP addresses, which the pseudo header repeats.
    ctl_d.sum_from  = 6'(l2) + (ctl_d.icmp ? 6'd20 : 6'd12);
    ctl_d.sum_init  = ctl_d.icmp ? '0 :
        17'(swap16(is_udp ? fields_q.udp_len : l4_len)) +
        17'({is_tcp ? ProtoTcp : ProtoUdp, 8'd0});
    ctl_d.disabled  = !fields_enable_q;
    // A header with options is the host's affair.
    ctl_d.bad_ip    = to_us && (!fields_q.version_ok || fields_q.ihl_short ||
        (fields_q.ihl5 && !ip_ok));

    // An ARP probe asks in the name of 0.0.0.0 (RFC 5227).
    source = local_ip ? fields_q.ip_source : is_arp ? fields_q.arp_source : '0;
    if (is_arp && source.zero) source = '0;
    ctl_d.martian     = 1'b1;
    ctl_d.martian_why = NetCountRxFromGroupMac;
    if (fields_q.from_group) ctl_d.martian_why = NetCountRxFromGroupMac;
    else if (fields_q.mac_group && fields_q.etype_ip && fields_q.ip_us)
      ctl_d.martian_why = NetCountRxToGroupMac;
    else if (source.us) ctl_d.martian_why = NetCountRxFromUs;
    else if (source.all) ctl_d.martian_why = NetCountRxFromBroadcast;
    else if (source.multicast) ctl_d.martian_why = NetCountRxFromMulticast;
    else if (source.reserved) ctl_d.martian_why = NetCountRxFromReserved;
    else if (source.loopback) ctl_d.martian_why = NetCountRxFromLoopback;
    else if (source.zero_net) ctl_d.martian_why = NetCountRxFromZero;
    else if ((is_tcp || is_udp) && fields_q.from_port0) ctl_d.martian_why = NetCountRxFromPort0;
    else if (is_tcp && fields_q.bad_flags) ctl_d.martian_why = NetCountRxBadFlags;
    else ctl_d.martian = 1'b0;

    meta_d     = meta_q;
    ctl_d.skip = '0;
    ctl_d.bad_length = fields_q.runt;
    if (is_tcp) begin
      // The options of a SYN stay in front of its payload, and those of a bare ACK in its place.
      ctl_d.skip       = l2 + (keep_opts ? 7'd40 : 7'd20 + tcp_hdr);
      ctl_d.bad_length = fields_q.offset < 4'd5 || fields_q.total < 16'd20 + 16'(tcp_hdr);
      meta_d.len       = meta_q.flags.syn ? '0 : l4_len - 16'(tcp_hdr);
      meta_d.opt_len   = keep_opts ? 6'(tcp_hdr - 7'd20) : '0;
    end else if (is_udp) begin
      ctl_d.skip       = l2 + 7'd28;
      ctl_d.bad_length = fields_q.udp_len > l4_len || fields_q.udp_len < 16'd9 ||
          fields_q.total < 16'd29;
      meta_d.len       = fields_q.udp_len - 16'd8;
    end else if (is_too_big) begin
      ctl_d.skip       = l2 + 7'd28;
      ctl_d.bad_length = fields_q.total < 16'd28 + 16'(QuoteBytes);
      meta_d.too_big   = 1'b1;
      meta_d.flags     = '0;
      meta_d.wnd       = path_mtu(fields_q.next_mtu, fields_q.quote_total) - 16'd40;
    end else if (is_echo) begin
      ctl_d.bad_length = fields_q.total < 16'd28;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= fields_valid_q;
    if (fields_valid_q) begin
      beat_o  <= fields_beat_q;
      first_o <= fields_first_q;
    end
    if (fields_valid_q && fields_first_q) begin
      ctl_o  <= ctl_d;
      meta_o <= meta_d;
    end
  end

  assign busy_o = in_valid_q || fields_valid_q || valid_o;

  logic unused;
  assign unused = ^cfg_i.mtu;

endmodule
