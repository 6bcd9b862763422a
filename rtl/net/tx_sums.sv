// Sums the headers of a packet that is built, for the checksums of IPv4 and of the transport. Latency 3,
// as checksum's, initiation interval 1.
module tx_sums
  import net_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  net_cfg_t    cfg_i,
  input  logic        valid_i,
  input  tx_head_t    head_i,
  /// IPv4's checksum.
  output word_t      ip_o,
  /// What the transport's checksum covers but for the payload, folded.
  output word_t      l4_o
);

  localparam int unsigned L4Words = 24;
  localparam int unsigned Ip4Words = 6;
  word_t [L4Words-1:0] l4_words;
  word_t [Ip4Words-1:0] ip4_words;
  word_t [1:0] l4_two_q, ip4_two_q;
  tx_head_t head_q;
  logic head_valid_q, two_valid_q;
  logic [15:0] proto, our_port;
  // Of our addresses, a word a clock: they change no oftener than the user's mind. Of IPv4's with
  // version, length, TOS, TTL 64 and the length of the header; of the option with our MAC address.
  logic [3:0][15:0] our_sum_q;
  logic [15:0] our_ip4_q, our_link_q, turn_sum_q, turn_word;
  logic [4:0] turn_count_q;
  logic [127:0] turn_ip;
  assign turn_ip   = our_ip(cfg_i, ours_e'(turn_count_q[4:3]));
  assign turn_word = turn_ip[{turn_count_q[2:0], 4'd0}+:16];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_count_q <= '0;
    else turn_count_q <= turn_count_q + 1'b1;
    turn_sum_q <= turn_count_q[2:0] == '0 ? turn_word : fold({turn_sum_q, turn_word});
    if (turn_count_q[2:0] == '0) our_sum_q[turn_count_q[4:3]-2'd1] <= turn_sum_q;
    our_ip4_q  <= fold({our_sum_q[OursIp4], 16'h8500 + 16'd20});
    our_link_q <= fold(32'(cfg_i.mac[47:32]) + 32'(cfg_i.mac[31:16]) + 32'(cfg_i.mac[15:0]) +
                       32'(LinkOption));
  end

  always_comb begin
    unique case (head_q.kind)
      TxTcp:   {proto, our_port} = {7'd0, head_q.bad, ProtoTcp, our_tcp_port(cfg_i, head_q.peer)};
      TxUdp:   {proto, our_port} = {8'd0, ProtoUdp, cfg_i.udp_port};
      default: {proto, our_port} = {8'd0, ProtoIcmp6, Icmp6Advertise};
    endcase
  end

  always_comb begin
    l4_words = {
      head_q.peer.ip,
      our_sum_q[ours_of(head_q.peer)],
      proto,
      our_port,
      head_q.peer.port,
      head_q.seq,
      head_q.ack,
      head_q.l4_len,
      {7 * $bits(word_t) {1'b0}}
    };
    unique case (head_q.kind)
      TxTcp:   l4_words[6:5] = {head_q.offset_flags, head_q.wnd};
      TxUdp:   l4_words[6] = head_q.l4_len;
      default: l4_words[6:5] = {our_sum_q[ours_of(head_q.peer)], our_link_q};
    endcase
    if (head_q.kind == TxTcp && head_q.times.valid) begin
      l4_words[4:0] = {head_q.times.value, head_q.times.echo, TimesHead[31:16] + TimesHead[15:0]};
    end
    // DF or identification, protocol; total length.
    ip4_words = {
      head_q.peer.ip[31:0], our_ip4_q, {1'b0, head_q.df, 14'd0} | head_q.id, proto, head_q.l4_len
    };
  end

  // 24 words as six, three, two.
  function automatic word_t [1:0] two_of(input word_t [L4Words-1:0] words);
    return sum3(
        sum6(
            {
              sum6({sum6(words[23:18]), sum6(words[17:12])}),
              sum6({sum6(words[11:6]), sum6(words[5:0])})
            })
    );
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_valid_q <= 1'b0;
      two_valid_q  <= 1'b0;
    end else begin
      head_valid_q <= valid_i;
      two_valid_q  <= head_valid_q;
    end
    if (valid_i) head_q <= head_i;
    if (head_valid_q) begin
      l4_two_q  <= two_of(l4_words);
      ip4_two_q <= sum3(sum6(ip4_words));
    end
    if (two_valid_q) begin
      l4_o <= fold(l4_two_q);
      ip_o <= ~fold(ip4_two_q);
    end
  end

  logic unused;
  assign unused = ^{cfg_i.mtu, cfg_i.vlan, head_q};

endmodule
