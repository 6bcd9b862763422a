// Turns ARP and ICMP echo requests into their answers: only the first beat of a frame changes.
// Latency 1, initiation interval 1.
module responder
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  input  net_cfg_t cfg_i,
  /// Whole frames with requests; arp and vlan steady through a frame.
  input  logic     s_valid_i,
  output logic     s_ready_o,
  input  logic     s_arp_i,
  input  logic     s_vlan_i,
  input  beat_t    s_beat_i,
  /// Whole frames with answers, tagged as the request was.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output beat_t    m_beat_o
);

  localparam int unsigned L3Bytes = 28;  // an ARP packet, or IPv4 and ICMP headers

  /// The IPv4 and ICMP headers of an echo request.
  typedef struct packed {
    ipv4_t       ip;
    logic [15:0] kind;
    logic [15:0] sum;
    logic [31:0] id;
  } echo_t;

  typedef logic [L3Bytes*8-1:0] l3_t;

  /// Bytes in reverse: the order of the wire <-> lanes.
  function automatic l3_t reverse(input l3_t bytes);
    for (int i = 0; i < L3Bytes; i++) reverse[i*8+:8] = bytes[(L3Bytes-1-i)*8+:8];
  endfunction

  function automatic arp_t arp_answer(input arp_t ask);
    arp_answer      = ask;
    arp_answer.kind = ArpReply;
    {arp_answer.tmac, arp_answer.tip} = {ask.smac, ask.sip};
    {arp_answer.smac, arp_answer.sip} = {cfg_i.mac, cfg_i.ip};
  endfunction

  // Both checksums change by the words that changed (RFC 1624, equation 3). Swapping the
  // addresses changes no sum.
  function automatic echo_t echo_answer(input echo_t ask);
    echo_answer        = ask;
    echo_answer.ip.src = ask.ip.dst;
    echo_answer.ip.dst = ask.ip.src;
    echo_answer.ip.ttl = 8'd64;
    echo_answer.ip.sum = ~fold(32'({1'b0, ~ask.ip.sum}) + 32'({1'b0, ~ask.ip.ttl, 8'hff}) +
                               32'(16'd64 << 8));
    echo_answer.kind   = 16'h0000;
    echo_answer.sum    = ~fold(32'({1'b0, ~ask.sum}) + 32'(17'h0f7ff));
  endfunction

  logic first_q;
  l3_t ask, answer;
  beat_t beat;

  always_comb begin
    ask    = '0;
    answer = '0;
    beat   = s_beat_i;
    if (s_valid_i && first_q) begin
      ask    = reverse(s_vlan_i ? s_beat_i.data[18*8+:L3Bytes*8] : s_beat_i.data[14*8+:L3Bytes*8]);
      answer = reverse(s_arp_i ? arp_answer(ask) : echo_answer(ask));
      beat.data[47:0] = s_beat_i.data[95:48];
      for (int i = 0; i < 6; i++) beat.data[48+i*8+:8] = cfg_i.mac[(5-i)*8+:8];
      if (s_vlan_i) beat.data[18*8+:L3Bytes*8] = answer;
      else beat.data[14*8+:L3Bytes*8] = answer;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (s_valid_i && s_ready_o) first_q <= s_beat_i.last;
  end

  lib_reg #(
    .T(beat_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (beat),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_beat_o)
  );

  logic unused;
  assign unused = ^{cfg_i.tcp_port, cfg_i.udp_port, cfg_i.mtu};

endmodule
