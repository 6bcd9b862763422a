// ACKs of one connection that wait for each other become one. Two events of a connection are some
// clocks apart in the table (see tcp_tcb), in which everybody waits; a peer that sends ACKs faster
// than that would take the table from all others. Latency 1, initiation interval 1.
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
  output found_t m_found_o
);

  localparam int unsigned NearW = $bits(near_t);

  found_t held_q;
  logic valid_q, bare_q;

  // An ACK and nothing else.
  logic bare;
  assign bare = s_found_i.hit && !s_found_i.fresh && !s_found_i.seg.too_big &&
      s_found_i.seg.len == '0 && s_found_i.seg.flags.ack &&
      !(s_found_i.seg.flags.syn || s_found_i.seg.flags.fin || s_found_i.seg.flags.rst);

  // As much or more, of numbers with the same higher bits: everybody behind waits for this. At the next
  // multiple of 2^18 they are not merged.
  logic merges, same, same_ack;
  assign same_ack = s_found_i.seg.ack == held_q.seg.ack;
  assign same   = same_ack && s_found_i.seg.wnd == held_q.seg.wnd;
  assign merges = valid_q && bare_q && bare &&
      s_found_i.seg.ack[31:NearW] == held_q.seg.ack[31:NearW] &&
      s_found_i.seg.ack[NearW-1:0] >= held_q.seg.ack[NearW-1:0] &&
      s_found_i.seg.peer == held_q.seg.peer && s_found_i.seg.seq == held_q.seg.seq;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= s_valid_i || (valid_q && !m_ready_i);
    if (s_valid_i && s_ready_o) begin
      bare_q      <= bare;
      held_q      <= s_found_i;
      held_q.dups <= '0;
      // What the peer has behind a hole it need not repeat.
      if (!m_ready_i && merges && same_ack && !s_found_i.sacked.told) begin
        held_q.sacked <= held_q.sacked;
      end
      if (!m_ready_i && merges && same) begin
        held_q.dups <= (held_q.dups == '1) ? held_q.dups : held_q.dups + 1'b1;
      end
    end
  end

  assign s_ready_o = !valid_q || m_ready_i || merges;
  assign m_valid_o = valid_q;
  assign m_found_o = held_q;

endmodule
