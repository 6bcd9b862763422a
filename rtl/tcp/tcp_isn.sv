// Keyed hash of a peer for initial sequence numbers (RFC 6528): HalfSipHash-2-4. Latency 9,
// initiation interval 9.
module tcp_isn (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Secret, random at start.
  input  logic [63:0]  key_i,
  /// Starts; the peer need not stay stable.
  input  logic         start_i,
  input  logic [31:0]  ip_i,
  input  logic [15:0]  port_i,
  /// hash_o holds the result from done_o on until the next start.
  output logic         done_o,
  output logic [31:0]  hash_o
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

  // The message is one word (ip) and the closing word: length 6 and the port.
  logic [31:0] ip_q, tail_q;
  logic [3:0] round_q;  // rounds left
  logic run_q;
  sip_t s_q, in, out;

  always_comb begin
    in = s_q;
    if (round_q == 4'd8) in.v3 ^= ip_q;
    if (round_q == 4'd6) begin
      in.v0 ^= ip_q;
      in.v3 ^= tail_q;
    end
    if (round_q == 4'd4) begin
      in.v0 ^= tail_q;
      in.v2 ^= 32'hff;
    end
    out = sip_round(in);
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      ip_q   <= ip_i;
      tail_q <= {8'd6, 8'd0, port_i};
      s_q    <= '{
          v0: key_i[31:0],
          v1: key_i[63:32],
          v2: 32'h6c79_6765 ^ key_i[31:0],
          v3: 32'h7465_6462 ^ key_i[63:32]
      };
    end else if (run_q) begin
      s_q <= out;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q   <= 1'b0;
      round_q <= '0;
    end else if (start_i) begin
      run_q   <= 1'b1;
      round_q <= 4'd8;
    end else if (run_q) begin
      run_q   <= round_q != 4'd1;
      round_q <= round_q - 4'd1;
    end
  end

  assign done_o = !run_q;
  assign hash_o = s_q.v1 ^ s_q.v3;

endmodule
