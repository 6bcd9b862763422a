// FIFO whose words stay invisible until they are committed, and can be taken back instead.
// Latency from the commit 1 (Depth <= 32) or 2 (block RAM), initiation interval 1.
`include "lib_assert.svh"

module lib_cfifo #(
  /// Type of a word.
  parameter type T = logic,
  /// Words stored, uncommitted ones included; 2 or more. Up to 32 use distributed RAM.
  parameter int unsigned Depth = 16
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Stream in.
  input  logic                       s_valid_i,
  output logic                       s_ready_o,
  input  T                           s_data_i,
  /// Everything pushed so far, this clock included, becomes visible.
  input  logic                       commit_i,
  /// Everything not committed, this clock's word included, vanishes. Never with commit_i.
  input  logic                       rollback_i,
  /// Stream out.
  output logic                       m_valid_o,
  input  logic                       m_ready_i,
  output T                           m_data_o,
  /// Words that still fit.
  output logic [$clog2(Depth+1)-1:0] free_o
);

  if (Depth < 2) begin : gen_bad_depth
    $error("%m: Depth must be 2 or more");
  end

  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam int unsigned AddrW = $clog2(Depth);
  typedef logic [CountW-1:0] count_t;
  typedef logic [AddrW-1:0] addr_t;

  function automatic addr_t next(input addr_t addr);
    return (addr == addr_t'(Depth - 1)) ? '0 : addr + 1'b1;
  endfunction

  // waddr_q runs ahead of start_q, the first word that a rollback takes back.
  addr_t waddr_q, waddr_d, start_q, raddr_q;
  // free_q + pending_q (uncommitted) + ready_q (committed, to be read) + the word at a registered
  // output make up Depth. room_q and any_q say that free_q and ready_q are not 0; they are kept
  // beside them because everything waits for these two.
  count_t free_q, pending_q, ready_q, free_d, ready_d;
  logic room_q, any_q;
  logic push, pop, read;

  assign s_ready_o = room_q;
  assign free_o    = free_q;
  assign push      = s_valid_i && room_q;
  assign pop       = m_valid_o && m_ready_i;
  assign waddr_d   = push ? next(waddr_q) : waddr_q;
  assign free_d    = free_q + (rollback_i ? pending_q : -count_t'(push));
  assign ready_d   = ready_q + (commit_i ? pending_q + count_t'(push) : '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waddr_q   <= '0;
      start_q   <= '0;
      raddr_q   <= '0;
      free_q    <= count_t'(Depth);
      pending_q <= '0;
      ready_q   <= '0;
      room_q    <= 1'b1;
      any_q     <= 1'b0;
    end else begin
      if (rollback_i) waddr_q <= start_q;
      else if (push) waddr_q <= next(waddr_q);
      if (commit_i) start_q <= waddr_d;
      if (push || commit_i || rollback_i)
        pending_q <= (commit_i || rollback_i) ? '0 : pending_q + count_t'(push);
      // That a word leaves is known late, so it chooses.
      if (push || rollback_i || pop) free_q <= pop ? free_d + 1'b1 : free_d;
      if (commit_i || read) ready_q <= read ? ready_d - 1'b1 : ready_d;
      room_q    <= pop || (room_q && (free_q != count_t'(1) || !push)) ||
                   (rollback_i && (room_q || pending_q != '0));
      any_q     <= (any_q && (ready_q != count_t'(1) || !read)) ||
                   (commit_i && (push || pending_q != '0));
      if (read) raddr_q <= next(raddr_q);
    end
  end

  if (Depth <= 32) begin : gen_small
    (* ram_style = "distributed" *) T mem_q[Depth];
    always_ff @(posedge clk_i) if (push) mem_q[waddr_q] <= s_data_i;
    assign m_valid_o = any_q;
    assign m_data_o  = mem_q[raddr_q];
    assign read      = pop;
  end else begin : gen_large
    // The RAM's output register holds the head word.
    logic head_q;
    assign read      = any_q && (!head_q || m_ready_i);
    assign m_valid_o = head_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) head_q <= 1'b0;
      else head_q <= read || (head_q && !m_ready_i);
    end
    lib_ram #(
      .Width($bits(T)),
      .Depth(Depth)
    ) u_ram (
      .clk_i,
      .we_i   (push),
      .waddr_i(waddr_q),
      .wbe_i  (1'b1),
      .wdata_i(s_data_i),
      .re_i   (read),
      .raddr_i(raddr_q),
      .rdata_o(m_data_o)
    );
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)
  `ASSERT(FlagsMatch, room_q == (free_q != '0) && any_q == (ready_q != '0))
  `ASSERT(CommitXorRollback, !(commit_i && rollback_i))

endmodule
