// FIFO whose words stay invisible until they are committed, and can be taken back instead.
// Latency from the commit 1 (Depth <= 32) or 2 (block RAM), initiation interval 1.
`include "lib_assert.svh"

module lib_commit_fifo #(
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

  // waddr_q runs ahead of start_q, the first word that a rollback takes back. There is room for free_q
  // words, and behind a rollback for spare_q. open_q says that these differ, room_q that free_q is not
  // 0, any_q that a committed word waits to be read; everything waits for the last two.
  addr_t waddr_q, waddr_d, start_q, raddr_q;
  count_t free_q, spare_q, spare_next, free_d;
  logic open_q, room_q, any_q;
  logic push, pop, read;
  logic last;  // one committed word waits

  assign s_ready_o  = room_q;
  assign free_o     = free_q;
  assign push       = s_valid_i && room_q;
  assign pop        = m_valid_o && m_ready_i;
  assign waddr_d    = push ? next(waddr_q) : waddr_q;
  assign last       = next(raddr_q) == start_q;
  assign spare_next = spare_q + 1'b1;

  // That a word leaves is known late, so it chooses.
  always_comb begin
    if (pop) free_d = rollback_i ? spare_next : push ? free_q : free_q + 1'b1;
    else free_d = rollback_i ? spare_q : push ? free_q - 1'b1 : free_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waddr_q <= '0;
      start_q <= '0;
      raddr_q <= '0;
      free_q  <= count_t'(Depth);
      spare_q <= count_t'(Depth);
      open_q  <= 1'b0;
      room_q  <= 1'b1;
      any_q   <= 1'b0;
    end else begin
      if (rollback_i) waddr_q <= start_q;
      else if (push) waddr_q <= next(waddr_q);
      if (commit_i) start_q <= waddr_d;
      free_q <= free_d;
      if (commit_i || rollback_i) spare_q <= free_d;
      else if (pop) spare_q <= spare_next;
      open_q <= !commit_i && !rollback_i && (open_q || push);
      room_q <= pop || (room_q && (free_q != count_t'(1) || !push)) ||
                (rollback_i && (room_q || open_q));
      any_q  <= (any_q && (!last || !read)) || (commit_i && (push || open_q));
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
  `ASSERT(FlagsMatch, room_q == (free_q != '0) && open_q == (spare_q != free_q))
  `ASSERT(CommitXorRollback, !(commit_i && rollback_i))

endmodule
