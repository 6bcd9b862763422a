// Keyed 64-bit hash of a key: NH (RFC 4418, section 5.2.2) over the key's beats, finalised with
// secret odd multipliers. Latency 8 clocks from the last beat, initiation interval 1 beat.
//
// Beats 0 and 1 are summed with key words 0..15 and 16..31 into one sum, beats 2 and 3 with the
// same words into another, so that no key word counts twice in a sum. Message words are
// little-endian, short beats are padded with zeros:
//   sum += sum over i < 8 of (m[i] + k[i]) * (m[i + 8] + k[i + 8])    (32-bit sums, 64-bit product)
//   h = sum01 + length; h ^= h >> 32; h *= mix0; h += sum23; h ^= h >> 29; h *= mix1; h ^= h >> 32
//   h ^= database * 0x9e3779b97f4a7c15: one key's buckets and tags differ from database to database
module hash
  import wirekv_pkg::*;
  import request_pkg::*;
#(
  /// What accompanies a key through the pipeline.
  parameter type T = logic
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// NH key and finaliser.
  input  logic [31:0][31:0] nh_key_i,
  input  logic [1:0][63:0]  mix_key_i,
  /// Beats of a key of up to 256 bytes. With known_i the one beat says nothing and the hash is
  /// hash_i. info_i and db_i are taken with the last beat.
  input  logic              s_valid_i,
  output logic              s_ready_o,
  input  beat_t             s_beat_i,
  input  logic              known_i,
  input  logic [63:0]       hash_i,
  input  db_t               db_i,
  input  T                  info_i,
  /// Hash and info of each key.
  output logic              m_valid_o,
  input  logic              m_ready_i,
  output logic [63:0]       m_hash_o,
  output T                  m_info_o
);

  localparam int unsigned Stages = 8;

  typedef struct packed {
    logic        known;
    logic [63:0] hash;
    db_t         db;
    T            info;
  } side_t;

  logic advance;
  logic [2:0] last_q;           // last beat of its key, stages 0..2
  logic [Stages-1:0] valid_q;   // a beat (stages 0..2) or a whole key is here
  side_t [Stages-1:0] side_q;
  assign advance   = !valid_q[Stages-1] || m_ready_i;
  assign s_ready_o = advance;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance)
      valid_q <= {valid_q[Stages-2:3], valid_q[2] && last_q[2], valid_q[1:0], s_valid_i};
    if (advance) begin
      if (s_valid_i) side_q[0] <= '{known: known_i, hash: hash_i, db: db_i, info: info_i};
      for (int s = 1; s < int'(Stages); s++) if (valid_q[s-1]) side_q[s] <= side_q[s-1];
    end
  end

  // ---------------------------------------------------------------- key words added to the beat
  logic [1:0] beat_q;
  logic [2:0][1:0] number_q;
  logic [2:0][7:0] length_q;
  logic [15:0][31:0] word, added_q;
  line_t masked;

  always_comb begin
    for (int b = 0; b < 64; b++)
    masked[8*b+:8] = (7'(b) < s_beat_i.len && !known_i) ? s_beat_i.data[8*b+:8] : '0;
  end
  assign word = masked;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beat_q <= '0;
    else if (s_valid_i && advance) beat_q <= (s_beat_i.last || known_i) ? '0 : beat_q + 1'b1;
    if (advance) begin
      if (s_valid_i) begin
        for (int i = 0; i < 16; i++)
        added_q[i] <= word[i] + (beat_q[0] ? nh_key_i[16+i] : nh_key_i[i]);
        number_q[0] <= beat_q;
        last_q[0]   <= s_beat_i.last || known_i;
        length_q[0] <= {beat_q, 6'd0} + 8'(s_beat_i.len);
      end
      for (int s = 1; s < 3; s++)
      if (valid_q[s-1]) begin
        number_q[s] <= number_q[s-1];
        last_q[s]   <= last_q[s-1];
        length_q[s] <= length_q[s-1];
      end
    end
  end

  // ---------------------------------------------------------------- products and their sum
  logic [7:0][63:0] product_q;
  logic [63:0] sum_q, low_q, high_q, total;
  logic [7:0] len_q;

  assign total = ((number_q[2][0] ? ((number_q[2][1]) ? high_q : low_q) : '0)) + sum_q;

  always_ff @(posedge clk_i) begin
    if (advance && valid_q[0]) begin
      for (int i = 0; i < 8; i++) product_q[i] <= 64'(added_q[i]) * 64'(added_q[i+8]);
    end
    if (advance && valid_q[1]) begin
      sum_q <= ((product_q[0] + product_q[1]) + (product_q[2] + product_q[3])) +
          ((product_q[4] + product_q[5]) + (product_q[6] + product_q[7]));
    end
    if (advance && valid_q[2]) begin
      if (number_q[2][1]) high_q <= total;
      else begin
        low_q  <= total;
        high_q <= '0;
      end
      len_q <= length_q[2];
    end
  end

  // ---------------------------------------------------------------- finaliser
  // 64-bit products in two clocks: three 32-bit ones, then their sum.
  logic [63:0] mixed, mixed_high_q, first_low_q, second, second_low_q, result_q;
  logic [31:0] first_a_q, first_b_q, second_a_q, second_b_q;
  logic [63:0] start, high2_q;
  assign start  = low_q + 64'(len_q);
  assign mixed  = start ^ (start >> 32);
  assign second = mixed_high_q ^ (mixed_high_q >> 29);

  always_ff @(posedge clk_i) begin
    if (advance && valid_q[3]) begin
      first_low_q <= 64'(mixed[31:0]) * 64'(mix_key_i[0][31:0]);
      first_a_q   <= mixed[31:0] * mix_key_i[0][63:32];
      first_b_q   <= mixed[63:32] * mix_key_i[0][31:0];
      high2_q     <= high_q;
    end
    if (advance && valid_q[4])
      mixed_high_q <= first_low_q + {first_a_q + first_b_q, 32'd0} + high2_q;
    if (advance && valid_q[5]) begin
      second_low_q <= 64'(second[31:0]) * 64'(mix_key_i[1][31:0]);
      second_a_q   <= second[31:0] * mix_key_i[1][63:32];
      second_b_q   <= second[63:32] * mix_key_i[1][31:0];
    end
    if (advance && valid_q[6]) result_q <= second_low_q + {second_a_q + second_b_q, 32'd0};
  end

  logic [15:0][63:0] of_db;
  for (genvar d = 0; d < 16; d++) begin : gen_db
    assign of_db[d] = 64'(d) * 64'h9E37_79B9_7F4A_7C15;
  end
  assign m_valid_o = valid_q[Stages-1];
  assign m_hash_o  = side_q[Stages-1].known ? side_q[Stages-1].hash :
      result_q ^ (result_q >> 32) ^ of_db[side_q[Stages-1].db];
  assign m_info_o  = side_q[Stages-1].info;

endmodule
