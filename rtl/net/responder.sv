// Turns ARP requests and echo requests of both families into their answers: only the first beat of a
// frame changes. Latency 2, initiation interval 1.

module responder
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  input  net_cfg_t cfg_i,
  /// Whole frames with requests; kind and vlan steady through a frame.
  input  logic     s_valid_i,
  output logic     s_ready_o,
  input  answer_e  s_kind_i,
  input  logic     s_vlan_i,
  input  beat_t    s_beat_i,
  /// A beat is inside, behind which m_valid_o comes.
  output logic     busy_o,
  /// Whole frames with answers, tagged as the request was.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output beat_t    m_beat_o
);

  localparam int unsigned L3Bytes = 44;  // IPv6's header, and of ICMPv6's what changes

  /// The IPv4 and ICMP headers of an echo request.
  typedef struct packed {
    ipv4_t       ip;
    logic [15:0] kind;
    logic [15:0] sum;
    logic [31:0] id;
  } echo_t;

  /// The same of IPv6, without what follows the checksum.
  typedef struct packed {
    ipv6_t       ip;
    logic [15:0] kind;
    logic [15:0] sum;
  } echo6_t;

  typedef logic [L3Bytes*8-1:0] l3_t;

  /// Bytes in reverse: the order of the wire <-> lanes.
  function automatic l3_t reverse(input l3_t bytes);
    for (int i = 0; i < L3Bytes; i++) reverse[i*8+:8] = bytes[(L3Bytes-1-i)*8+:8];
  endfunction

  // The headers have more fields than are read.
  /// What follows the Ethernet header.
  function automatic l3_t l3_of(input logic [511:0] data, input logic vlan);
    return reverse(vlan ? data[18*8+:L3Bytes*8] : data[14*8+:L3Bytes*8]);
  endfunction

  localparam int unsigned ArpW = $bits(arp_t);
  localparam int unsigned EchoW = $bits(echo_t);

  function automatic arp_t arp_answer(input arp_t ask);
    arp_answer      = ask;
    arp_answer.kind = ArpReply;
    {arp_answer.tmac, arp_answer.tip} = {ask.smac, ask.sip};
    {arp_answer.smac, arp_answer.sip} = {cfg_i.mac, cfg_i.ip};
  endfunction

  // ---------------------------------------------------------------- sums
  // Checksums change by the words that changed (RFC 1624, equation 3). Swapping the addresses changes
  // none. They are kept with their carries, which are added when the answer is made.
  typedef struct packed {
    logic [17:0] ip;     // of IPv4's header
    logic [17:0] icmp;
    logic [17:0] icmp6;
  } sums_t;

  logic held_valid_q, held_first_q, held_vlan_q, held_ready, out_ready, first_q;
  answer_e held_kind_q;
  beat_t held_q;
  sums_t sums_q;

  function automatic logic [17:0] changed(input logic [15:0] sum, input logic [15:0] from,
                                          input logic [15:0] to);
    return 18'(16'(~sum)) + 18'(16'(~from)) + 18'(to);
  endfunction

  function automatic sums_t new_sums(input l3_t l3);
    echo_t echo;
    echo6_t echo6;
    echo  = l3[$bits(l3)-1-:EchoW];
    echo6 = l3;
    return
    '{
        ip: changed(echo.ip.sum, {echo.ip.ttl, 8'h00}, {8'd64, 8'h00}),
        icmp: changed(echo.sum, IcmpEcho, 16'h0000),
        icmp6: changed(echo6.sum, Icmp6Echo, Icmp6EchoReply)
    }
    ;
  endfunction

  assign held_ready = !held_valid_q || out_ready;
  assign s_ready_o  = held_ready;
  assign busy_o     = held_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_valid_q <= 1'b0;
      first_q      <= 1'b1;
    end else if (held_ready) begin
      held_valid_q <= s_valid_i;
      if (s_valid_i) first_q <= s_beat_i.last;
    end
    if (held_ready && s_valid_i) begin
      held_q       <= s_beat_i;
      held_first_q <= first_q;
      held_vlan_q  <= s_vlan_i;
      held_kind_q  <= s_kind_i;
      if (first_q) sums_q <= new_sums(l3_of(s_beat_i.data, s_vlan_i));
    end
  end

  // ---------------------------------------------------------------- answer
  function automatic echo_t echo_answer(input echo_t ask, input sums_t sums);
    echo_answer        = ask;
    echo_answer.ip.src = ask.ip.dst;
    echo_answer.ip.dst = ask.ip.src;
    echo_answer.ip.ttl = 8'd64;
    echo_answer.ip.sum = ~fold(32'(sums.ip));
    echo_answer.kind   = 16'h0000;
    echo_answer.sum    = ~fold(32'(sums.icmp));
  endfunction

  function automatic echo6_t echo6_answer(input echo6_t ask, input sums_t sums);
    echo6_answer         = ask;
    echo6_answer.ip.src  = ask.ip.dst;
    echo6_answer.ip.dst  = ask.ip.src;
    echo6_answer.ip.hops = 8'd64;
    echo6_answer.kind    = Icmp6EchoReply;
    echo6_answer.sum     = ~fold(32'(sums.icmp6));
  endfunction


  l3_t ask, answer;
  beat_t beat;

  always_comb begin
    ask    = '0;
    answer = '0;
    beat   = held_q;
    if (held_valid_q && held_first_q) begin
      ask = l3_of(held_q.data, held_vlan_q);
      unique case (held_kind_q)
        ReplyArp: answer = {arp_answer(ask[$bits(ask)-1-:ArpW]), ask[$bits(ask)-ArpW-1:0]};
        ReplyEcho:
        answer = {echo_answer(ask[$bits(ask)-1-:EchoW], sums_q), ask[$bits(ask)-EchoW-1:0]};
        default: answer = echo6_answer(ask, sums_q);
      endcase
      answer = reverse(answer);
      beat.data[47:0] = held_q.data[95:48];
      for (int i = 0; i < 6; i++) beat.data[48+i*8+:8] = cfg_i.mac[(5-i)*8+:8];
      if (held_vlan_q) beat.data[18*8+:L3Bytes*8] = answer;
      else beat.data[14*8+:L3Bytes*8] = answer;
    end
  end

  lib_half_buffer #(
    .T(beat_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(held_valid_q),
    .s_ready_o(out_ready),
    .s_data_i (beat),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_beat_o)
  );

  logic unused;
  assign unused = ^{cfg_i.ip6, cfg_i.tcp_port, cfg_i.redis_port, cfg_i.udp_port, cfg_i.mtu,
                    cfg_i.vlan};

endmodule
