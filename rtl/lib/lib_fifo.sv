// First-word fall-through FIFO. Latency 1 (distributed RAM, Early) or 2 (block RAM, UltraRAM), initiation interval 1.
`include "lib_assert.svh"

module lib_fifo #(
  /// Type of a word.
  parameter type T = logic,
  /// Words stored; 2 or more.
  parameter int unsigned Depth = 16,
  /// In block RAM, else in distributed RAM, of which more words take more LUTs.
  parameter bit Block = Depth > 32,
  /// In UltraRAM, however few: what is as wide as a line takes no LUTs there.
  parameter bit Ultra = 0,
  /// Not in distributed RAM: the head word is in a register, and not out of the RAM, where it comes late. A word that
  /// finds an empty FIFO goes there at once.
  parameter bit Early = 0
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Stream in.
  input  logic                       s_valid_i,
  output logic                       s_ready_o,
  input  T                           s_data_i,
  /// Stream out.
  output logic                       m_valid_o,
  input  logic                       m_ready_i,
  output T                           m_data_o,
  /// Words stored, the one at the output included.
  output logic [$clog2(Depth+1)-1:0] level_o
);

  if (Depth < 2) begin : gen_bad_depth
    $error("%m: Depth must be 2 or more");
  end

  localparam int unsigned AddrW = $clog2(Depth);
  typedef logic [$clog2(Depth+1)-1:0] count_t;
  typedef logic [AddrW-1:0] addr_t;

  function automatic addr_t next(input addr_t addr);
    return (addr == addr_t'(Depth - 1)) ? '0 : addr + 1'b1;
  endfunction

  // room_q and any_q say that level_q is not Depth and that a word waits to be read; they are kept
  // beside it because everything waits for these two. What they become is told by the places, so that
  // without a reader of level_o there is no level.
  addr_t waddr_q, raddr_q;
  count_t level_q;
  logic room_q, any_q;
  logic push, pop, read;
  logic stays;  // it is pushed into the RAM
  logic fills;  // with one word more there is no room
  // One waits to be read. Kept by synthesis, or it begins to compare when it is known that a word goes.
  (* keep *) logic last;

  assign s_ready_o = room_q;
  assign level_o   = level_q;
  assign push      = s_valid_i && room_q;
  assign pop       = m_valid_o && m_ready_i;
  assign last      = next(raddr_q) == waddr_q;
  // Which of them it is comes late. Of two sums with level_q synthesis makes one, behind that.
  count_t more, less;
  assign more = level_q + 1'b1;
  assign less = ~(~level_q + 1'b1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waddr_q <= '0;
      raddr_q <= '0;
      level_q <= '0;
      room_q  <= 1'b1;
      any_q   <= 1'b0;
    end else if (push || pop || read) begin
      if (stays) waddr_q <= next(waddr_q);
      if (read) raddr_q <= next(raddr_q);
      if (push != pop) level_q <= push ? more : less;
      room_q <= pop || (room_q && !(push && fills));
      any_q  <= stays || (any_q && !(read && last));
    end
  end

  if (!Block && !Ultra) begin : gen_small
    // A free place may be written whether a word comes or not: that it comes, often known late, then
    // goes to the flags alone and not to the whole width of the RAM.
    logic write;
`ifdef VERILATOR
    assign write = push;  // the same, with nothing to do while none comes
`else
    assign write = room_q;
`endif
    (* ram_style = "distributed" *) T mem_q[Depth];
    always_ff @(posedge clk_i) if (write) mem_q[waddr_q] <= s_data_i;
    assign m_valid_o = any_q;
    assign m_data_o  = mem_q[raddr_q];
    assign read      = pop;
    assign stays     = push;
    assign fills     = next(waddr_q) == raddr_q;
    `ASSERT(AnyMatches, any_q == (level_q != '0))
  end else begin : gen_large
    // The RAM's output register holds the next word, which goes on if there is room.
    logic head_q, on;
    T head;
    assign read  = any_q && (!head_q || on);
    assign fills = level_q == count_t'(Depth - 1);  // with the word at the output
    always_ff @(posedge clk_i) begin
      if (!rst_ni) head_q <= 1'b0;
      else head_q <= read || (head_q && !on);
    end
    if (Early) begin : gen_early
      logic valid_q;
      assign on        = !valid_q || m_ready_i;
      assign stays     = push && !(on && !head_q && !any_q);
      assign m_valid_o = valid_q;
      always_ff @(posedge clk_i) begin
        if (!rst_ni) valid_q <= 1'b0;
        else if (on) valid_q <= head_q || (!any_q && push);
        if (on) m_data_o <= head_q ? head : s_data_i;
      end
      `ASSERT(AnyMatches, any_q == (level_q != count_t'(head_q) + count_t'(valid_q)))
    end else begin : gen_late
      assign on        = m_ready_i;
      assign stays     = push;
      assign m_valid_o = head_q;
      assign m_data_o  = head;
      `ASSERT(AnyMatches, any_q == (level_q != count_t'(head_q)))
    end
    lib_ram #(
      .Width($bits(T)),
      .Depth(Depth),
      .Ultra(Ultra)
    ) u_ram (
      .clk_i,
      .we_i   (push),
      .waddr_i(waddr_q),
      .wbe_i  (1'b1),
      .wdata_i(s_data_i),
      .re_i   (read),
      .raddr_i(raddr_q),
      .rdata_o(head)
    );
  end

  `ASSERT_STABLE(OutStable, m_valid_o, m_ready_i, m_data_o)
  `ASSERT(RoomMatches, room_q == (level_q != count_t'(Depth)))

endmodule
