// ACKs of one connection that wait for each other become one. Two events of a connection are some
// clocks apart in the table (see tcp_tcb), in which everybody waits; a peer that sends ACKs faster
// than that would take the table from all others. Latency 2, initiation interval 1.
//
// What waits here is replaced by the next segment if both are bare ACKs of the same peer with the
// same sequence number, and the next one acknowledges as much or more: it says all that the first one
// did. Where they are equal they may be duplicate ACKs, which are counted.
module tcp_merge
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Segments and whose they are.
  input  logic   s_valid_i,
  output logic   s_ready_o,
  input  found_t s_found_i,
  /// The same, some of them merged. What is offered may change until it is taken.
  output logic   m_valid_o,
  input  logic   m_ready_i,
  output found_t m_found_o,
  /// Nothing inside.
  output logic   idle_o
);

  localparam int unsigned NearW = $bits(near_t);

  typedef struct packed {
    found_t found;
    logic   bare;      // an ACK and nothing else
    // Than the segment before: says all that it did; and no more; and has the same window.
    logic   follows;
    logic   same_ack;
    logic   same;
  } known_t;

  // Everybody waits for what is merged, and for the table's choice, so it is compared before.
  known_t in, known;
  logic known_valid, known_ready, same_ack;
  // verilator lint_off UNUSEDSIGNAL
  seg_t last_q;  // the segment before, that is what is held when this one comes there
  // verilator lint_on UNUSEDSIGNAL
  always_ff @(posedge clk_i) if (s_valid_i && s_ready_o) last_q <= s_found_i.seg;
  assign same_ack = s_found_i.seg.ack == last_q.ack;
  // As much or more, of numbers with the same higher bits. At the next multiple of 2^18 they are not merged.
  assign in = '{
          follows: s_found_i.seg.ack[31:NearW] == last_q.ack[31:NearW] &&
              s_found_i.seg.ack[NearW-1:0] >= last_q.ack[NearW-1:0] &&
              s_found_i.seg.peer == last_q.peer && s_found_i.seg.seq == last_q.seq,
          same_ack: same_ack,
          same: same_ack && s_found_i.seg.wnd == last_q.wnd,
          found: s_found_i,
          bare: s_found_i.hit && !s_found_i.fresh && !s_found_i.seg.too_big &&
              s_found_i.seg.len == '0 && s_found_i.seg.flags.ack && !(
              s_found_i.seg.flags.syn || s_found_i.seg.flags.fin || s_found_i.seg.flags.rst)
      };
  lib_skid_buffer #(
    .T(known_t)
  ) u_known (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i (in),
    .m_valid_o(known_valid),
    .m_ready_i(known_ready),
    .m_data_o (known)
  );

  found_t next, held_q;
  logic valid_q, bare_q;
  assign next = known.found;

  logic merges;
  assign merges = valid_q && bare_q && known.bare && known.follows;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= known_valid || (valid_q && !m_ready_i);
    if (known_valid && known_ready) begin
      bare_q      <= known.bare;
      held_q      <= next;
      held_q.dups <= '0;
      // What the peer has behind a hole it need not repeat.
      if (!m_ready_i && merges && known.same_ack && !next.sacked.told) begin
        held_q.sacked <= held_q.sacked;
      end
      if (!m_ready_i && merges && known.same) begin
        held_q.dups <= (held_q.dups == '1) ? held_q.dups : held_q.dups + 1'b1;
      end
    end
  end

  assign known_ready = !valid_q || m_ready_i || merges;
  assign m_valid_o   = valid_q;
  assign m_found_o   = held_q;
  assign idle_o      = !known_valid && !valid_q;

endmodule
