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
  output logic [15:0] ip_o,
  /// What the transport's checksum covers but for the payload, folded.
  output logic [15:0] l4_o
);

  typedef struct packed {
    logic [17:0] ip_high;  // words of the peer's address
    logic [17:0] ip_low;
    logic [17:0] ports;    // and protocol, our address
    logic [17:0] seq_ack;
    logic [17:0] times;    // the option
    logic [17:0] rest;     // of the header, and the length
    logic [17:0] ip4;      // the IPv4 header without the peer's address
  } words_t;

  function automatic logic [17:0] sum4(input logic [63:0] words);
    return (18'(words[63:48]) + 18'(words[47:32])) + (18'(words[31:16]) + 18'(words[15:0]));
  endfunction

  words_t words_q;
  logic words_valid_q, total_valid_q;
  logic [19:0] l4_total_q[2];
  logic [18:0] ip_total_q;
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
    unique case (head_i.kind)
      TxTcp:   {proto, our_port} = {7'd0, head_i.bad, ProtoTcp, cfg_i.tcp_port};
      TxUdp:   {proto, our_port} = {8'd0, ProtoUdp, cfg_i.udp_port};
      default: {proto, our_port} = {8'd0, ProtoIcmp6, Icmp6Advertise};
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      words_valid_q <= 1'b0;
      total_valid_q <= 1'b0;
    end else begin
      words_valid_q <= valid_i;
      total_valid_q <= words_valid_q;
    end
    if (valid_i) begin
      words_q.ip_high <= sum4(head_i.peer.ip[127:64]);
      words_q.ip_low  <= sum4(head_i.peer.ip[63:0]);
      words_q.ports   <= sum4({our_port, head_i.peer.port, proto,
                               our_sum_q[head_i.peer.ours]});
      words_q.seq_ack <= sum4({head_i.seq, head_i.ack});
      words_q.times   <= head_i.times.valid ? sum4({head_i.times.value, head_i.times.echo}) : '0;
      words_q.rest    <= 18'(head_i.l4_len) +
          (head_i.kind == TxTcp ? 18'(head_i.offset_flags) + 18'(head_i.wnd) +
               (head_i.times.valid ? 18'(TimesHead[31:16]) + 18'(TimesHead[15:0]) : '0) :
           head_i.kind == TxUdp ? 18'(head_i.l4_len) :
           18'(our_sum_q[head_i.peer.ours]) + 18'(our_link_q));
      // DF or identification, protocol; total length.
      words_q.ip4     <= sum4({our_ip4_q, {1'b0, head_i.df, 14'd0} | head_i.id, proto,
                               head_i.l4_len});
    end
    if (words_valid_q) begin
      l4_total_q[0] <= (20'(words_q.ip_high) + 20'(words_q.ip_low)) + 20'(words_q.rest);
      l4_total_q[1] <= (20'(words_q.ports) + 20'(words_q.seq_ack)) + 20'(words_q.times);
      ip_total_q    <= 19'(words_q.ip_low) + 19'(words_q.ip4);
    end
    if (total_valid_q) begin
      l4_o <= fold(32'(l4_total_q[0]) + 32'(l4_total_q[1]));
      ip_o <= ~fold(32'(ip_total_q));
    end
  end

  logic unused;
  assign unused = ^{cfg_i.mtu, head_i};

endmodule
