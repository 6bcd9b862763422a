// Reads the fields of a received frame's headers, once for both families: in the first beat where it has
// IPv4 or ARP, in the first two where it has IPv6. Each item is at most a compare away from the wire.
// Latency 2, initiation interval 1; never stalls.
module rx_fields
  import wirekv_pkg::*;
  import net_pkg::*;
  import config_pkg::Config;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  net_cfg_t     cfg_i,
  input  logic         enable_i,
  /// Frames from the wire.
  input  logic [511:0] s_axis_tdata,
  input  logic [63:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  input  logic         s_axis_tlast,
  /// The same beats. The fields are new beside a frame's first one, and complete beside the second one
  /// if more_o says so: what the transport's header has there.
  output logic         valid_o,
  output logic         first_o,
  output logic         more_o,
  output beat_t        beat_o,
  output fields_t      fields_o,
  /// A beat is inside, before valid_o.
  output logic         busy_o
);

  localparam int unsigned L3Bytes = 36;  // IPv4, and what it carries as far as l4_t goes
  localparam int unsigned L4Bytes = 16;  // TCP as far as the window
  // Of the latter are in the first beat, where the network's header is that of IPv6:
  localparam int unsigned L4First = 64 - 54;
  localparam int unsigned L4FirstTagged = 64 - 58;

  // ---------------------------------------------------------------- in
  logic in_valid_q, in_first_q, in_more_q, in_vlan_q, in_six_q, in_enable_q;
  logic next_first_q, next_second_q;
  beat_t in_q;
  logic [15:0] etype_at_12, etype_at_16;
  assign etype_at_12 = swap16(s_axis_tdata[12*8+:16]);
  assign etype_at_16 = swap16(s_axis_tdata[16*8+:16]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_valid_q    <= 1'b0;
      next_first_q  <= 1'b1;
      next_second_q <= 1'b0;
    end else begin
      in_valid_q <= s_axis_tvalid;
      if (s_axis_tvalid) begin
        next_first_q  <= s_axis_tlast;
        next_second_q <= next_first_q && !s_axis_tlast;
      end
    end
    if (s_axis_tvalid) begin
      // Zeros behind the end: what becomes of a torn frame depends on the frame alone.
      in_q.data  <= s_axis_tdata & lib_pkg::bytes_of(s_axis_tkeep);
      in_q.len   <= keep_len(s_axis_tkeep);
      in_q.last  <= s_axis_tlast;
      in_first_q <= next_first_q;
      in_more_q  <= next_second_q && in_six_q;
    end
    if (s_axis_tvalid && next_first_q) begin
      in_vlan_q   <= etype_at_12 == EtherVlan;
      in_six_q    <= Config.ipv6 &&
          (etype_at_12 == EtherVlan ? etype_at_16 : etype_at_12) == EtherIp6;
      in_enable_q <= enable_i;
    end
  end

  // ---------------------------------------------------------------- fields
  typedef logic [L3Bytes*8-1:0] l3_t;
  typedef logic [L4Bytes*8-1:0] l4_t;

  // Functions, so that the simulator works only when there is a header. The headers have more fields
  // than are read.

  /// Bytes in reverse: lanes <-> the order of the wire, that is first byte on top.
  function automatic l3_t l3_wire(input l3_t lanes);
    for (int i = 0; i < L3Bytes; i++) l3_wire[(L3Bytes-1-i)*8+:8] = lanes[i*8+:8];
  endfunction
  function automatic logic [127:0] wire16(input logic [127:0] lanes);
    for (int i = 0; i < 16; i++) wire16[(15-i)*8+:8] = lanes[i*8+:8];
  endfunction
  function automatic logic [47:0] mac_wire(input logic [47:0] lanes);
    for (int i = 0; i < 6; i++) mac_wire[(5-i)*8+:8] = lanes[i*8+:8];
  endfunction

  function automatic logic [11:0] vlan_of(input line_t data);
    return {data[14*8+:4], data[15*8+:8]};
  endfunction

  function automatic l3_t l3_lanes(input line_t data, input logic vlan);
    return vlan ? data[18*8+:L3Bytes*8] : data[14*8+:L3Bytes*8];
  endfunction

  /// The transport's header; of IPv6's first beat as much as is there.
  function automatic l4_t l4_first(input line_t data, input logic vlan, input logic six);
    unique case ({
      six, vlan
    })
      2'b00:   return wire16(data[34*8+:128]);
      2'b01:   return wire16(data[38*8+:128]);
      2'b10:   return wire16(128'(data[54*8+:L4First*8]));
      default: return wire16(128'(data[58*8+:L4FirstTagged*8]));
    endcase
  endfunction

  /// The same with what the second beat has of it.
  function automatic l4_t l4_more(input line_t data, input logic vlan, input l4_t first);
    l4_t lanes;
    lanes = wire16(first);
    return wire16(
        vlan ? {data[0+:(L4Bytes-L4FirstTagged)*8], lanes[L4FirstTagged*8-1:0]} :
                         {data[0+:(L4Bytes-L4First)*8], lanes[L4First*8-1:0]}
    );
  endfunction

  /// IPv6: who is spoken to, in the first beat; whose address is asked for, in the second.
  function automatic logic [127:0] addressed(input line_t data, input logic vlan, input logic more,
                                             input l4_t first);
    unique case ({
      more, vlan
    })
      2'b00:   return wire16(data[38*8+:128]);
      2'b01:   return wire16(data[42*8+:128]);
      2'b10:   return {first[63-:16], 112'(wire16(data[0+:128]) >> 16)};
      default: return wire16(data[2*8+:128]);
    endcase
  endfunction

  /// The IP header that an ICMP message quotes, as far as the source.
  function automatic logic [127:0] quote_wire(input line_t data, input logic vlan);
    return wire16(vlan ? data[46*8+:128] : data[42*8+:128]);
  endfunction

  function automatic source_t read_source(input logic [31:0] ip);
    read_source.us        = Ip6s'(ip == cfg_i.ip);
    read_source.all       = &ip;
    read_source.multicast = ip[31:28] == 4'he;
    read_source.reserved  = ip[31:28] == 4'hf;
    read_source.loopback  = ip[31:24] == 8'd127;
    read_source.zero_net  = ip[31:24] == 8'd0;
    read_source.zero      = ip == '0;
  endfunction

  function automatic source_t read_source6(input logic [127:0] ip);
    read_source6 = '0;
    for (int unsigned i = 0; i < Ip6s; i++)
    read_source6.us[i] = ip == cfg_i.ip6[i] && cfg_i.ip6[i][127:112] != '0;
    read_source6.multicast = &ip[127:120];
    // IPv4 addresses in IPv6's forms.
    read_source6.reserved  = ip[127:48] == '0 && ip[31:1] != '0 &&
        (ip[47:32] == '0 || ip[47:32] == '1);
    read_source6.loopback  = ip == 128'd1;
    read_source6.zero_net  = ip == '0;
    read_source6.zero      = ip == '0;
  endfunction

  function automatic l3_fields_t read_l3(input beat_t beat, input logic vlan, input logic six);
    l3_t lanes, l3;
    logic [47:0] dst;
    logic [15:0] etype;
    ipv4_t ip;
    ipv6_t ip6;
    arp_t arp;
    logic [4:0][16:0] pairs;
    logic [127:0] quote;
    logic [7:0] proto;
    logic to_group;

    lanes = l3_lanes(beat.data, vlan);
    quote = quote_wire(beat.data, vlan);
    l3    = l3_wire(lanes);
    dst   = mac_wire(beat.data[47:0]);
    etype = swap16(vlan ? beat.data[16*8+:16] : beat.data[12*8+:16]);
    ip    = l3[L3Bytes*8-1-:160];
    ip6   = {l3, 32'd0};
    ip6.dst = addressed(beat.data, vlan, 1'b0, '0);
    arp   = l3[L3Bytes*8-1-:224];
    proto = six ? ip6.proto : ip.proto;

    read_l3.mac_group  = dst[40];
    read_l3.from_group = beat.data[48];
    read_l3.ip_source  = six ? read_source6(ip6.src) : read_source(ip.src);
    read_l3.arp_source = read_source(arp.sip);
    read_l3.mac_us     = dst == cfg_i.mac;
    read_l3.mac_all    = &dst;
    read_l3.etype_ip   = etype == (six ? EtherIp6 : EtherIp4);
    read_l3.etype_arp  = etype == EtherArp;
    read_l3.arp_ask    = arp.kind == ArpRequest && arp.tip == cfg_i.ip;
    read_l3.six        = six;
    read_l3.version_ok = ip.version == (six ? 4'd6 : 4'd4);
    read_l3.ihl_short  = !six && ip.ihl < 4'd5;
    read_l3.ihl5       = six || ip.ihl == 4'd5;
    read_l3.fragment   = !six && (ip.frag_flags[0] || ip.frag_offset != '0);
    to_group           = ip6.dst[127:24] == SolicitedNode && dst == group_mac(ip6.dst[31:0]);
    for (int unsigned i = 0; i < Ip6s; i++)
    read_l3.solicits[i] = to_group && ip6.dst[23:0] == cfg_i.ip6[i][23:0] &&
        cfg_i.ip6[i][127:112] != '0;
    read_l3.ip4_us     = ip.dst == cfg_i.ip;
    read_l3.proto_tcp  = proto == ProtoTcp;
    read_l3.proto_udp  = proto == ProtoUdp;
    read_l3.proto_icmp = proto == (six ? ProtoIcmp6 : ProtoIcmp);
    read_l3.hops_all   = &ip6.hops;
    // All that we send has a header without options.
    read_l3.quote_ours = quote[127-:8] == 8'h45 && quote[127-72-:8] == ProtoTcp &&
        quote[31:0] == cfg_i.ip;
    read_l3.quote_total = quote[127-16-:16];
    read_l3.runt       = beat.len < 7'd14;
    read_l3.arp_fits   = beat.len >= (vlan ? 7'd46 : 7'd42);
    read_l3.vlan       = vlan;
    // VLAN 0 is no VLAN, only a priority (IEEE 802.1Q, table 9-2).
    read_l3.vlan_other = vlan && vlan_of(beat.data) != '0 && vlan_of(beat.data) != cfg_i.vlan;
    read_l3.rest       = six ? 17'(ip6.len) : 17'(ip.total) - 17'd20;
    // The ten words of IPv4's header.
    for (int i = 0; i < 5; i++) begin
      pairs[i] = 17'(lanes[32*i+:16]) + 17'(lanes[32*i+16+:16]);
    end
    read_l3.ip_sum = (20'(pairs[0]) + 20'(pairs[1])) + (20'(pairs[2]) + 20'(pairs[3])) +
        20'(pairs[4]);
  endfunction

  function automatic l4_fields_t read_l4(input l4_t l4, input logic six);
    tcp_hdr_t tcp;
    logic [15:0] kind;
    tcp  = l4;
    kind = l4[127-:16];
    read_l4.from_port0 = tcp.sport == '0;
    // Linux' TCP drops these silently when it listens, and so here always.
    read_l4.bad_flags  = (tcp.flags.syn && (tcp.flags.fin || tcp.flags.rst)) ||
        !(tcp.flags.syn || tcp.flags.ack || tcp.flags.rst);
    read_l4.port_tcp   = tcp.dport == cfg_i.tcp_port;
    read_l4.port_redis = tcp.dport == cfg_i.redis_port && cfg_i.redis_port != '0;
    read_l4.port_udp   = Config.udp && tcp.dport == cfg_i.udp_port && cfg_i.udp_port != '0;
    read_l4.echo       = kind == (six ? Icmp6Echo : IcmpEcho);
    read_l4.solicit    = six && kind == Icmp6Solicit;
    read_l4.too_big    = kind == (six ? Icmp6TooBig : IcmpTooBig);
    read_l4.quote6_tcp = l4[63-:4] == 4'd6 && l4[15:8] == ProtoTcp;
    read_l4.next_mtu   = l4[127-32-:32];
    read_l4.udp_no_sum = l4[127-48-:16] == '0;
    read_l4.udp_len    = l4[127-32-:16];
  endfunction

  function automatic peer_t read_peer(input line_t data, input logic vlan, input logic six);
    logic [127:0] src;
    src = wire16(vlan ? data[26*8+:128] : data[22*8+:128]);  // IPv4's begins four bytes later
    read_peer = '{
        mac: mac_wire(data[95:48]),
        vlan_valid: vlan,
        vlan_tci: swap16(data[14*8+:16]),
        ours: OursIp4,
        redis: 1'b0,
        ip: six ? src : 128'(src[95:64]),
        port: '0
    };
  endfunction

  l4_t l4;
  match_t match;

  always_comb begin
    l4    = '0;
    match = '0;
    if (in_valid_q && in_first_q) l4 = l4_first(in_q.data, in_vlan_q, in_six_q);
    else if (in_valid_q && in_more_q) l4 = l4_more(in_q.data, in_vlan_q, fields_o.tcp);
    if (in_valid_q && in_six_q && (in_first_q || in_more_q)) begin
      match = match_ip6(cfg_i, addressed(in_q.data, in_vlan_q, in_more_q, fields_o.tcp));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= in_valid_q;
    if (in_valid_q) begin
      beat_o  <= in_q;
      first_o <= in_first_q;
      more_o  <= in_more_q;
    end
    if (in_valid_q && in_first_q) begin
      fields_o.l3     <= read_l3(in_q, in_vlan_q, in_six_q);
      fields_o.peer   <= read_peer(in_q.data, in_vlan_q, in_six_q);
      fields_o.to     <= match;
      fields_o.enable <= in_enable_q;
    end
    if (in_valid_q && (in_first_q || in_more_q)) begin
      fields_o.tcp    <= l4;
      fields_o.l4     <= read_l4(l4, in_six_q);
      fields_o.target <= match;
    end
  end

  assign busy_o = in_valid_q;

  logic unused;
  assign unused = ^cfg_i.mtu;

endmodule
