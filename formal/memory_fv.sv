// Memory as a harness sees it: it knows one bit, that of lane 0 of line 0. Any latency, answers in order.
// It may say anything of it while a write of it is not acknowledged, and of all other lines. The
// inputs that are the prover's to choose say when it goes on, and what "anything" is.
`include "fv.svh"
`include "lib_assert.svh"

module memory_fv
  import wirekv_pkg::*;
#(
  /// Reads outstanding at most.
  parameter int unsigned Reads = 4,
  /// A write of other lanes, too, makes it say anything: more than memory does.
  parameter bit Whole = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        wr_valid_i,
  input  logic        wr_ready_i,
  // verilator lint_off UNUSEDSIGNAL
  input  line_write_t wr_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic        wr_done_o,
  input  logic        rd_valid_i,
  input  logic        rd_ready_i,
  input  laddr_t      rd_addr_i,
  output logic        rdat_valid_o,
  output line_t       rdat_o,
  /// The prover's.
  input  logic        done_i,
  input  logic        answer_i,
  input  logic        anything_i,
  /// What memory knows; whether an answer may be old; nothing is outstanding.
  output logic        bit_o,
  output logic        old_o,
  output logic        idle_o
);

  typedef logic [$clog2(Reads+2)-1:0] count_t;
  logic bit_q;
  logic [3:0] writes_q, unsafe_q;  // outstanding; of these up to the last of the line
  count_t reads_q;
  logic [Reads-1:0] good_q;  // of the outstanding reads, the oldest first
  logic take, put, ask, pop, answer;
  assign wr_done_o    = done_i && writes_q != '0;
  assign rdat_valid_o = reads_q != '0 && answer_i;
  assign take         = wr_valid_i && wr_ready_i;
  assign put          = take && wr_i.addr == '0 && (Whole || wr_i.strb[0]);
  assign ask          = rd_valid_i && rd_ready_i;
  assign pop          = rdat_valid_o;
  assign answer       = good_q[0] ? bit_q : anything_i;
  assign rdat_o       = line_t'(answer);
  assign bit_o        = bit_q;
  assign old_o        = pop && !good_q[0] && writes_q != '0;
  assign idle_o       = writes_q == '0 && reads_q == '0;

  always_ff @(posedge clk_i) begin
    count_t n;
    logic [Reads-1:0] good;
    n    = reads_q - count_t'(pop);
    good = pop ? good_q >> 1 : good_q;
    for (int i = 0; i < Reads; i++)
    if (ask && n == count_t'(i)) good[i] = rd_addr_i == '0 && unsafe_q == '0;
    good_q <= put ? '0 : good;
    if (!rst_ni) begin
      writes_q <= '0;
      unsafe_q <= '0;
      reads_q  <= '0;
    end else begin
      writes_q <= writes_q + 4'(take) - 4'(wr_done_o);
      reads_q  <= n + count_t'(ask);
      if (put) unsafe_q <= writes_q + 4'd1 - 4'(wr_done_o);
      else if (wr_done_o && unsafe_q != '0) unsafe_q <= unsafe_q - 1'b1;
      if (put && wr_i.strb[0]) bit_q <= wr_i.data[0];
    end
  end
  `ASSERT(KeepsUp, writes_q != '1 && reads_q <= count_t'(Reads))
endmodule
