// Decides by the headers of a received frame where it goes, what of it is cut off and what is wrong with
// it. Latency 3, initiation interval 1; never stalls.
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
  /// The same beats. ctl_o is new beside those with load_o; of a frame's two the second one says more,
  /// but where to, how many bytes and what is summed stays.
  output logic         valid_o,
  output logic         first_o,
  output logic         load_o,
  output beat_t        beat_o,
  output rx_ctl_t      ctl_o,
  /// Once a frame, with its first beat or its second.
  output logic         meta_valid_o,
  output rx_meta_t     meta_o,
  /// A beat is inside.
  output logic         busy_o
);

  // ---------------------------------------------------------------- fields
  logic fields_valid, fields_first, fields_more, fields_busy;
  beat_t fields_beat;
  fields_t fields;

  rx_fields u_fields (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .enable_i,
    .s_axis_tdata,
    .s_axis_tkeep,
    .s_axis_tvalid,
    .s_axis_tlast,
    .valid_o (fields_valid),
    .first_o (fields_first),
    .more_o  (fields_more),
    .beat_o  (fields_beat),
    .fields_o(fields),
    .busy_o  (fields_busy)
  );

  // ---------------------------------------------------------------- class
  rx_ctl_t ctl_d;
  rx_meta_t meta_d;
  tcp_hdr_t tcp;
  l3_fields_t l3;
  l4_fields_t l4;
  logic [6:0] l2_len, l3_len, tcp_hdr;  // of headers
  logic [15:0] l4_len;
  logic [7:0] proto;
  logic ip_ok, ip_us, to_us, local_ip;
  logic is_tcp, is_udp, is_echo, is_too_big, is_arp, is_solicit;
  source_t source;
  assign tcp = fields.tcp;
  assign l3  = fields.l3;
  assign l4  = fields.l4;

  always_comb begin
    l2_len  = l3.vlan ? 7'd18 : 7'd14;
    l3_len  = l3.six ? 7'd40 : 7'd20;
    l4_len  = l3.rest[15:0];
    tcp_hdr = {1'b0, tcp.offset, 2'b00};
    // Folded once: ten words cannot make it carry again and come to ffff. IPv6 has none.
    ip_ok   = l3.six || 17'(l3.ip_sum[15:0]) + 17'(l3.ip_sum[19:16]) == 17'h0ffff;
    ip_us   = l3.six ? fields.to.us : l3.ip4_us;

    to_us    = l3.etype_ip && l3.mac_us && !l3.runt;
    local_ip = to_us && l3.ihl5 && !l3.fragment && ip_us;
    is_tcp   = local_ip && l3.proto_tcp && (l4.port_tcp || l4.port_redis);
    is_udp   = local_ip && l3.proto_udp && l4.port_udp;
    is_echo  = local_ip && l3.proto_icmp && l4.echo;
    // What IPv6's quotes is known too late to have it go anywhere else.
    is_too_big = local_ip && l3.proto_icmp && l4.too_big && (l3.six || l3.quote_ours);
    is_solicit = l3.etype_ip && l3.version_ok && l3.proto_icmp && l4.solicit &&
        l3.hops_all && (local_ip || l3.solicits != '0);
    is_arp   = l3.etype_arp && (l3.mac_us || l3.mac_all) && l3.arp_ask && l3.arp_fits;

    ctl_d.dest      = (is_tcp || is_too_big) ? RxTcp : is_udp ? RxUdp :
        is_solicit ? RxNeighbour : (is_echo || is_arp) ? RxReply : RxHost;
    ctl_d.vlan      = l3.vlan;
    ctl_d.reply     = is_arp ? ReplyArp : l3.six ? ReplyEcho6 : ReplyEcho;
    ctl_d.trim      = is_tcp || is_udp || is_too_big;
    ctl_d.icmp      = is_echo || is_too_big || is_solicit;
    // What a packet has behind its datagram is padding, as in Linux.
    ctl_d.bytes     = 17'(l2_len + l3_len) + 17'(is_udp ? l4.udp_len : l4_len);
    ctl_d.sum_check = is_tcp || ctl_d.icmp || (is_udp && (l3.six || !l4.udp_no_sum));
    // The sum begins at the IP addresses, which the pseudo header repeats. IPv4's ICMP has none.
    proto           = is_tcp ? ProtoTcp : is_udp ? ProtoUdp : ProtoIcmp6;
    ctl_d.sum_from  = 6'(l2_len) + (l3.six ? 6'd8 : ctl_d.icmp ? 6'd20 : 6'd12);
    ctl_d.sum_init  = (ctl_d.icmp && !l3.six) ? '0 :
        17'(swap16(is_udp ? l4.udp_len : l4_len)) + 17'({proto, 8'd0});
    ctl_d.disabled  = !fields.enable;
    // A header with options is the host's affair.
    ctl_d.bad_ip    = to_us && (!l3.version_ok || l3.ihl_short || (l3.ihl5 && !ip_ok));

    // Who is about to take an address asks in the name of 0.0.0.0 (RFC 5227), or of :: (RFC 4862).
    source = (local_ip || is_solicit) ? l3.ip_source : is_arp ? l3.arp_source : '0;
    if ((is_arp || (is_solicit && l3.solicits != '0)) && source.zero) source = '0;
    ctl_d.martian     = 1'b1;
    ctl_d.martian_why = NetCountRxFromGroupMac;
    if (l3.vlan_other) ctl_d.martian_why = NetCountRxVlan;
    else if (l3.from_group) ctl_d.martian_why = NetCountRxFromGroupMac;
    else if (l3.mac_group && l3.etype_ip && ip_us) ctl_d.martian_why = NetCountRxToGroupMac;
    else if (source.us != '0) ctl_d.martian_why = NetCountRxFromUs;
    else if (source.all) ctl_d.martian_why = NetCountRxFromBroadcast;
    else if (source.multicast) ctl_d.martian_why = NetCountRxFromMulticast;
    else if (source.reserved) ctl_d.martian_why = NetCountRxFromReserved;
    else if (source.loopback) ctl_d.martian_why = NetCountRxFromLoopback;
    else if (source.zero_net) ctl_d.martian_why = NetCountRxFromZero;
    else if ((is_tcp || is_udp) && l4.from_port0) ctl_d.martian_why = NetCountRxFromPort0;
    else if (is_tcp && l4.bad_flags) ctl_d.martian_why = NetCountRxBadFlags;
    else if (is_udp && l3.six && l4.udp_no_sum) ctl_d.martian_why = NetCountRxBadUdp;
    else if (is_solicit && !fields.target.us) ctl_d.martian_why = NetCountRxNeighbour;
    else if (is_too_big && l3.six && !l4.quote6_tcp) ctl_d.martian_why = NetCountRxQuote;
    else ctl_d.martian = 1'b0;

    meta_d.peer      = fields.peer;
    meta_d.peer.ours = !l3.six ? OursIp4 : is_solicit ? fields.target.ours : fields.to.ours;
    meta_d.peer.redis = is_tcp && l4.port_redis && !l4.port_tcp;
    meta_d.peer.port = tcp.sport;
    meta_d.seq       = tcp.seq;
    meta_d.ack       = tcp.ack;
    meta_d.flags     = tcp.flags;
    meta_d.wnd       = tcp.wnd;
    meta_d.len       = '0;
    meta_d.opt_len   = '0;
    meta_d.too_big   = 1'b0;
    ctl_d.skip       = '0;
    ctl_d.bad_length = l3.runt;
    if (is_tcp) begin
      // Options stay in front of the payload.
      ctl_d.skip       = l2_len + l3_len + 7'd20;
      ctl_d.bad_length = l3.rest[16] || tcp.offset < 4'd5 || l4_len < 16'(tcp_hdr);
      meta_d.len       = tcp.flags.syn ? '0 : l4_len - 16'(tcp_hdr);
      meta_d.opt_len   = 6'(tcp_hdr - 7'd20);
    end else if (is_udp) begin
      ctl_d.skip       = l2_len + l3_len + 7'd8;
      ctl_d.bad_length = l3.rest[16] || l4.udp_len > l4_len || l4.udp_len < 16'd9;
      meta_d.len       = l4.udp_len - 16'd8;
    end else if (is_too_big) begin
      // Of IPv6's header the addresses are left.
      ctl_d.skip       = l2_len + (l3.six ? 7'd56 : 7'd28);
      ctl_d.bad_length = l3.rest[16] ||
          l4_len < (l3.six ? 16'd8 + 16'(QuoteBytes6) : 16'd8 + 16'(QuoteBytes));
      meta_d.too_big   = 1'b1;
      meta_d.flags     = '0;
      meta_d.wnd       = l3.six ? path_mtu6(l4.next_mtu) - 16'd60 :
          path_mtu(l4.next_mtu[15:0], l3.quote_total) - 16'd40;
    end else if (is_echo) begin
      ctl_d.bad_length = l3.rest[16] || l4_len < 16'd8;
    end else if (is_solicit) begin
      ctl_d.bad_length = l4_len < 16'd24;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= fields_valid;
    if (fields_valid) begin
      beat_o  <= fields_beat;
      first_o <= fields_first;
      load_o  <= fields_first || fields_more;
      meta_valid_o <= fields_more ||
          (fields_first && (!l3.six || fields_beat.last));
    end
    if (fields_valid && (fields_first || fields_more)) begin
      ctl_o  <= ctl_d;
      meta_o <= meta_d;
    end
  end

  assign busy_o = fields_busy || fields_valid || valid_o;

  logic unused;
  assign unused = ^tcp;

endmodule
