// Keyed hash of a peer, linear: bit i is the parity of its port and address under bits i .. i+143
// of a key, which a feedback shift register draws out of the secret (Toeplitz). Latency 1,
// initiation interval 1.
//
// Each byte of port and address has a table of what its values give, which are added. When the
// secret is new, the tables are written one after the other, in 4,608 clocks.
module tcp_toeplitz (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] secret_i,
  /// The tables are written. Nothing is to be asked before.
  output logic         ready_o,
  /// A peer; an IPv4 address stands in the low bits.
  input  logic         valid_i,
  input  logic [127:0] ip_i,
  input  logic [15:0]  port_i,
  /// A clock later: what the address and the port give. The hash is the sum of both.
  output logic [31:0]  ip_o,
  output logic [31:0]  port_o
);

  // Of the port, and of an address.
  localparam int unsigned Tables = 2 + (config_pkg::Config.ipv6 ? 16 : 4);
  localparam int unsigned HashW = 32;

  // ---------------------------------------------------------------- write
  // The key, from the first bit on that the table's byte meets.
  logic [127:0] secret_q, key_q;
  logic [7:0] value_q, write_value_q;
  logic [$clog2(Tables+1)-1:0] table_q;
  logic [Tables-1:0] write_q;
  logic [HashW-1:0] sum, sum_q;
  logic [7:0] drawn;  // the next bits of the key

  always_comb begin
    sum = '0;
    for (int b = 0; b < 8; b++) sum ^= value_q[b] ? key_q[b+:HashW] : '0;
    for (int b = 0; b < 8; b++) drawn[b] = key_q[b] ^ key_q[b+1] ^ key_q[b+2] ^ key_q[b+7];
  end

  always_ff @(posedge clk_i) begin
    write_q       <= '0;
    write_value_q <= value_q;
    sum_q         <= sum;
    if (!rst_ni || secret_q != secret_i) begin
      secret_q <= secret_i;
      key_q    <= {secret_i[63:0], secret_i[127:64]};
      value_q  <= '0;
      table_q  <= '0;
    end else if (32'(table_q) != Tables) begin
      write_q[table_q] <= 1'b1;
      value_q          <= value_q + 1'b1;
      if (value_q == '1) begin
        table_q <= table_q + 1'b1;
        key_q   <= {drawn, key_q[127:8]};
      end
    end
    ready_o <= rst_ni && secret_q == secret_i && 32'(table_q) == Tables && write_q == '0;
  end

  // ---------------------------------------------------------------- read
  logic [Tables-1:0][7:0] bytes;
  logic [Tables-1:0][HashW-1:0] shares;
  assign bytes = (8 * Tables)'({ip_i, port_i});

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    lib_ram #(
      .Width(HashW),
      .Depth(256)
    ) u_ram (
      .clk_i,
      .we_i   (write_q[t]),
      .waddr_i(write_value_q),
      .wbe_i  (1'b1),
      .wdata_i(sum_q),
      .re_i   (valid_i),
      .raddr_i(bytes[t]),
      .rdata_o(shares[t])
    );
  end

  always_comb begin
    ip_o = '0;
    for (int t = 2; t < Tables; t++) ip_o ^= shares[t];
    port_o = shares[0] ^ shares[1];
  end

endmodule
