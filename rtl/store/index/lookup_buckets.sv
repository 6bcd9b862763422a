// A request's buckets, from its hash: acquires both, and keeps the request until what is behind it takes them. Latency
// 3, initiation interval 1.

module lookup_buckets
  import store_pkg::*;
#(
  /// Requests that wait.
  parameter int unsigned Waiting = 256
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  /// Of a bucket's line in its bank.
  input  line_no_t       mask_i,
  /// Hashed requests; their lines are found here.
  input  logic           s_valid_i,
  output logic           s_ready_o,
  input  look_t          s_look_i,
  /// Caches of the even and the odd buckets: acquire.
  output logic [1:0]     acq_valid_o,
  input  logic [1:0]     acq_ready_i,
  output line_no_t [1:0] acq_line_o,
  /// Requests with their lines, all of which are acquired.
  output logic           m_valid_o,
  input  logic           m_ready_i,
  output look_t          m_look_o
);

  logic [26:0] first;
  line_no_t second;
  look_t entering, hashed;
  logic hashed_valid, hashed_ready, room;
  logic [1:0] acquired, acquired_q;
  logic [$clog2(Waiting+1)-1:0] unused_wait;

  assign first  = s_look_i.hash[26:0] & {mask_i, 1'b1};
  assign second = first[26:1] ^ (other_line(s_look_i.hash[63:50]) & mask_i);
  always_comb begin
    entering      = s_look_i;
    entering.line = {first[0] ? first[26:1] : second, first[0] ? second : first[26:1]};
  end

  lib_skid_buffer #(
    .T(look_t)
  ) u_hashed (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (entering),
    .m_valid_o(hashed_valid),
    .m_ready_i(hashed_ready),
    .m_data_o (hashed)
  );

  assign acquired     = acquired_q | acq_ready_i | {2{!hashed.lookup}};
  assign acq_valid_o  = {2{hashed_valid && hashed.lookup && room}} & ~acquired_q;
  assign acq_line_o   = hashed.line;
  assign hashed_ready = room && (&acquired);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) acquired_q <= '0;
    else if (hashed_valid && hashed_ready) acquired_q <= '0;
    else if (hashed_valid && room) acquired_q <= acquired_q | acq_ready_i;
  end

  lib_fifo #(
    .T    (look_t),
    .Depth(Waiting)
  ) u_wait (
    .clk_i,
    .rst_ni,
    .s_valid_i(hashed_valid && (&acquired)),
    .s_ready_o(room),
    .s_data_i (hashed),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (m_look_o),
    .level_o  (unused_wait)
  );

endmodule
