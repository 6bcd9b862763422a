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
  import lib_pkg::*;
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
  logic [2:0][6:0] bytes_q;  // of the beat
  logic [15:0][31:0] word, added_q;
  assign word = s_beat_i.data & bytes_of(lanes_below(s_beat_i.len));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beat_q <= '0;
    else if (s_valid_i && advance) beat_q <= (s_beat_i.last || known_i) ? '0 : beat_q + 1'b1;
    if (advance) begin
      if (s_valid_i) begin
        for (int i = 0; i < 16; i++)
        added_q[i] <= word[i] + (beat_q[0] ? nh_key_i[16+i] : nh_key_i[i]);
        number_q[0] <= beat_q;
        last_q[0]   <= s_beat_i.last || known_i;
        bytes_q[0]  <= s_beat_i.len;
      end
      for (int s = 1; s < 3; s++)
      if (valid_q[s-1]) begin
        number_q[s] <= number_q[s-1];
        last_q[s]   <= last_q[s-1];
        bytes_q[s]  <= bytes_q[s-1];
      end
    end
  end

  // ---------------------------------------------------------------- products and their sum
  // A DSP multiplies limbs of 17 bits. What comes of them is summed by its weight, and put together once
  // for all eight products.
  logic [7:0][33:0] low_part_q, high_part_q;
  logic [15:0][33:0] middle_part_q;
  logic [7:0][36:0] low_terms;
  logic [15:0][35:0] middle_terms;
  logic [7:0][29:0] high_terms;
  logic [36:0] low_sum, low_sum_q;
  logic [35:0] middle_sum, middle_sum_q;
  logic [29:0] high_sum, high_sum_q;
  logic [63:0] low_q, high_q, earlier, total;
  logic [6:0] low_bytes;

  for (genvar i = 0; i < 8; i++) begin : gen_term
    assign low_terms[i]        = 37'(low_part_q[i]);
    assign middle_terms[2*i]   = 36'(middle_part_q[2*i]);
    assign middle_terms[2*i+1] = 36'(middle_part_q[2*i+1]);
    assign high_terms[i]       = high_part_q[i][29:0];
  end

  lib_sum #(
    .N    (8),
    .Width(37)
  ) u_low (
    .terms_i(low_terms),
    .sum_o  (low_sum)
  );

  lib_sum #(
    .N    (16),
    .Width(36)
  ) u_middle (
    .terms_i(middle_terms),
    .sum_o  (middle_sum)
  );

  lib_sum #(
    .N    (8),
    .Width(30)
  ) u_high (
    .terms_i(high_terms),
    .sum_o  (high_sum)
  );

  // Beats 0 and 1 bring what they add to the length where the middle sum has nothing.
  assign low_bytes = number_q[2][1] ? '0 : bytes_q[2];
  assign earlier = !number_q[2][0] ? '0 : number_q[2][1] ? high_q : low_q;

  lib_sum #(
    .N    (4),
    .Width(64)
  ) u_total (
    .terms_i({earlier, {high_sum_q, low_sum_q[33:0]}, {27'd0, low_sum_q[36:34], 34'd0},
              {11'd0, middle_sum_q, 10'd0, low_bytes}}),
    .sum_o  (total)
  );

  always_ff @(posedge clk_i) begin
    if (advance && valid_q[0]) begin
      for (int i = 0; i < 8; i++) begin
        low_part_q[i]        <= 34'(added_q[i][16:0]) * 34'(added_q[i+8][16:0]);
        middle_part_q[2*i]   <= 34'(added_q[i][16:0]) * 34'(added_q[i+8][31:17]);
        middle_part_q[2*i+1] <= 34'(added_q[i][31:17]) * 34'(added_q[i+8][16:0]);
        high_part_q[i]       <= 34'(added_q[i][31:17]) * 34'(added_q[i+8][31:17]);
      end
    end
    if (advance && valid_q[1]) begin
      low_sum_q    <= low_sum;
      middle_sum_q <= middle_sum;
      high_sum_q   <= high_sum;
    end
    if (advance && valid_q[2]) begin
      if (number_q[2][1]) begin
        low_q  <= low_q + 64'(bytes_q[2]);
        high_q <= total;
      end else begin
        low_q  <= total;
        high_q <= '0;
      end
    end
  end

  // ---------------------------------------------------------------- finaliser
  // 64-bit products in two clocks: those of limbs, then their sum with their weights.
  typedef logic [3:0][16:0] limbs_t;
  typedef logic [3:0][3:0][33:0] parts_t;

  function automatic limbs_t limbs(input logic [63:0] n);
    return {17'(n[63:51]), n[50:34], n[33:17], n[16:0]};
  endfunction
  function automatic parts_t parts(input limbs_t a, input limbs_t b);
    parts = '0;
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4 - i; j++) parts[i][j] = 34'(a[i]) * 34'(b[j]);
  endfunction

  logic [63:0] mixed, mixed_high_q, second, high2_q, result_q;
  parts_t [1:0] parts_q;  // what is beyond 64 bits is lost
  logic [1:0][63:0] product;
  assign mixed  = low_q ^ (low_q >> 32);
  assign second = mixed_high_q ^ (mixed_high_q >> 29);

  for (genvar n = 0; n < 2; n++) begin : gen_product
    parts_t p;
    logic [63:0] sum;
    logic [29:0] upper;
    assign p = parts_q[n];

    lib_sum #(
      .N    (4),
      .Width(64)
    ) u_sum (
      .terms_i({{p[0][2][29:0], p[0][0]}, {p[0][3][12:0], p[0][1], 17'd0},
                {p[3][0][12:0], p[1][0], 17'd0}, (n == 0) ? high2_q : 64'd0}),
      .sum_o  (sum)
    );

    lib_sum #(
      .N    (4),
      .Width(30)
    ) u_upper (
      .terms_i({p[1][1][29:0], p[2][0][29:0], {p[1][2][12:0], 17'd0}, {p[2][1][12:0], 17'd0}}),
      .sum_o  (upper)
    );
    assign product[n] = {sum[63:34] + upper, sum[33:0]};
  end

  always_ff @(posedge clk_i) begin
    if (advance && valid_q[3]) begin
      parts_q[0] <= parts(limbs(mixed), limbs(mix_key_i[0]));
      high2_q    <= high_q;
    end
    if (advance && valid_q[4]) mixed_high_q <= product[0];
    if (advance && valid_q[5]) parts_q[1] <= parts(limbs(second), limbs(mix_key_i[1]));
    if (advance && valid_q[6]) result_q <= product[1];
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
