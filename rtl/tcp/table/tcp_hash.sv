// Keyed hash of an address and some bits more: HalfSipHash-2-4 of the address' last four bytes and of
// the others, a stage a round; the first twelve, which IPv4 has not, are part of the state that it
// begins with, as Chaskey takes its whole block. Latency 10, initiation interval 1.
module tcp_hash (
  input  logic             clk_i,
  /// Secret, random at start; does not change.
  input  logic [63:0]      key_i,
  input  logic [95:0]      above_i,
  input  logic [1:0][31:0] words_i,
  input  logic [2:0]       rest_i,
  output logic [31:0]      hash_o
);

  typedef struct packed {logic [31:0] v0, v1, v2, v3;} sip_t;

  function automatic logic [31:0] rotl(input logic [31:0] x, input int unsigned n);
    return (x << n) | (x >> (32 - n));
  endfunction

  function automatic sip_t sip_round(input sip_t in);
    sip_t s;
    s = in;
    s.v0 = s.v0 + s.v1;
    s.v1 = rotl(s.v1, 5) ^ s.v0;
    s.v0 = rotl(s.v0, 16);
    s.v2 = s.v2 + s.v3;
    s.v3 = rotl(s.v3, 8) ^ s.v2;
    s.v0 = s.v0 + s.v3;
    s.v3 = rotl(s.v3, 7) ^ s.v0;
    s.v2 = s.v2 + s.v1;
    s.v1 = rotl(s.v1, 13) ^ s.v2;
    s.v2 = rotl(s.v2, 16);
    return s;
  endfunction

  // Two rounds for each word of the message, the last of which is its length and the rest; then four. A word is
  // mixed in before the first of its rounds, and again behind the second.
  localparam int unsigned Rounds = 10;
  sip_t in[Rounds];
  sip_t s_q[Rounds];
  logic [1:0][31:0] words_q[4];  // by round
  logic [2:0] rest_q[6];

  function automatic logic [31:0] tail(input logic [2:0] rest);
    return {8'd8, 21'd0, rest};
  endfunction

  always_comb begin
    in[0] = '{
        v0: key_i[31:0],
        v1: key_i[63:32],
        v2: 32'h6c79_6765 ^ key_i[31:0],
        v3: 32'h7465_6462 ^ key_i[63:32]
    };
    for (int unsigned r = 1; r < Rounds; r++) in[r] = s_q[r-1];
    in[0].v0 ^= above_i[95:64];
    in[0].v1 ^= above_i[63:32];
    in[0].v2 ^= above_i[31:0];
    in[0].v3 ^= words_i[0];
    in[2].v0 ^= words_q[1][0];
    in[2].v3 ^= words_q[1][1];
    in[4].v0 ^= words_q[3][1];
    in[4].v3 ^= tail(rest_q[3]);
    in[6].v0 ^= tail(rest_q[5]);
    in[6].v2 ^= 32'hff;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < Rounds; r++) s_q[r] <= sip_round(in[r]);
    words_q[0] <= words_i;
    for (int unsigned r = 1; r < 4; r++) words_q[r] <= words_q[r-1];
    rest_q[0] <= rest_i;
    for (int unsigned r = 1; r < 6; r++) rest_q[r] <= rest_q[r-1];
  end

  assign hash_o = s_q[Rounds-1].v1 ^ s_q[Rounds-1].v3;

endmodule
