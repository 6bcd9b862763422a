// Reads the SACK option of a segment (RFC 2018) and its timestamps (RFC 7323). Options stand at the front of
// its first beat; what they say is kept until the segment comes out of the lookup: in order, one for each
// with options. Latency 4, initiation interval 1.
//
// They are read where systems put them: the SACK option first, or behind two NOPs, or those behind NOP, NOP,
// timestamps; timestamps first, or behind two NOPs.
// Blocks that tell what is acknowledged (D-SACK, RFC 2883), touch a later one, or are nowhere near are
// left out; the others come in ascending order.
`include "lib_assert.svh"

module tcp_blocks
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Segments with options that can be in the lookup: a power of two.
  parameter int unsigned Depth = 32
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A segment with options goes into the lookup.
  input  logic         s_valid_i,
  input  logic [319:0] s_opts_i,
  input  logic [5:0]   s_len_i,
  input  logic [31:0]  s_ack_i,
  /// One comes out: what it told. Not before it is here.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output sacked_t      m_sacked_o,
  output times_t       m_times_o
);

  // ---------------------------------------------------------------- in
  logic in_valid_q;
  logic [319:0] opts_q;
  logic [5:0] len_q;
  logic [31:0] ack_q;
  always_ff @(posedge clk_i) begin
    in_valid_q <= rst_ni && s_valid_i;
    if (s_valid_i) begin
      opts_q <= s_opts_i;
      len_q  <= s_len_i;
      ack_q  <= s_ack_i;
    end
  end

  // ---------------------------------------------------------------- find it
  localparam logic [7:0] Sack = 8'd5;
  localparam logic [15:0] Times = 16'h0a08;  // with its length
  localparam logic [15:0] Nops = 16'h0101;
  typedef logic [Spans-1:0][63:0] edges_t;

  // Each place is looked at by itself; which of them the option is in comes last.
  edges_t edges;
  logic first, nops, behind;  // where it is
  logic [Spans-1:0] there;
  // The blocks of an option of `size` bytes that begins at `from`. Of a length that is none, or goes beyond
  // the header, nothing is believed.
  function automatic logic [Spans-1:0] blocks_of(input logic [7:0] size, input logic [5:0] from,
                                                 input logic [5:0] len);
    for (int unsigned i = 0; i < Spans; i++) begin
      blocks_of[i] = size[7:6] == '0 && size[2:0] == 3'd2 && 32'(size[5:3]) > i &&
          7'(size[5:0]) + 7'(from) <= 7'(len);
    end
  endfunction
  always_comb begin
    first  = opts_q[7:0] == Sack;
    nops   = opts_q[23:0] == {Sack, Nops};
    behind = opts_q[31:0] == {Times, Nops} && opts_q[12*8+:24] == {Sack, Nops};
    edges  = first ? opts_q[2*8+:64*Spans] : nops ? opts_q[4*8+:64*Spans] :
        {64'd0, opts_q[16*8+:64*(Spans-1)]};
    there  = ({Spans{first}} & blocks_of(opts_q[8+:8], 6'd0, len_q)) |
        ({Spans{nops}} & blocks_of(opts_q[3*8+:8], 6'd2, len_q)) |
        ({Spans{behind}} & blocks_of(opts_q[15*8+:8], 6'd14, len_q));
  end

  function automatic logic [31:0] wire4(input logic [31:0] lanes);
    return {lanes[7:0], lanes[15:8], lanes[23:16], lanes[31:24]};
  endfunction
  times_t times, times_q;
  logic times_first;
  always_comb begin
    times_first = opts_q[15:0] == Times;
    times.valid = times_first ? len_q >= 6'd10 :
        opts_q[31:0] == {Times, Nops} && len_q >= 6'(TimesBytes);
    times.value = wire4(times_first ? opts_q[2*8+:32] : opts_q[4*8+:32]);
    times.echo  = wire4(times_first ? opts_q[6*8+:32] : opts_q[8*8+:32]);
  end

  // Edges as near_t. Which of two pages of 2^18 numbers the higher bits have to name for it to be near the
  // acknowledged number, at most 2^17 away, depends on the side of that on which it lies.
  function automatic near_t edge_of(input logic [31:0] lanes);
    return {lanes[9:8], lanes[23:16], lanes[31:24]};
  endfunction
  function automatic logic [13:0] page_of(input logic [31:0] lanes);
    return {lanes[7:0], lanes[15:10]};
  endfunction
  typedef struct packed {
    logic above;
    logic below;
  } near_if_t;

  logic valid_q;
  logic [13:0] page, next;  // the ACK's page, and the one that is closer to it
  near_if_t [Spans-1:0][1:0] near_if, near_if_q;
  near_t una_q;
  spans_t raw, raw_q;
  assign page = ack_q[31:18];
  assign next = ack_q[17] ? page + 14'd1 : page - 14'd1;
  always_comb begin
    for (int unsigned i = 0; i < Spans; i++) begin
      for (int unsigned k = 0; k < 2; k++) begin
        logic in_page, in_next;
        in_page = page_of(edges[i][32*k+:32]) == page;
        in_next = page_of(edges[i][32*k+:32]) == next;
        // Bit 17 of both: on another side of the page's middle.
        near_if[i][k] = '{
            above: (ack_q[17] && !edges[i][32*k+9]) ? in_next : in_page,
            below: (!ack_q[17] && edges[i][32*k+9]) ? in_next : in_page
        };
      end
      raw[i].valid = there[i];
      raw[i].from  = edge_of(edges[i][31:0]);
      raw[i].to    = edge_of(edges[i][63:32]);
    end
  end
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni && in_valid_q;
    if (in_valid_q) begin
      near_if_q <= near_if;
      una_q     <= near_t'(ack_q);
      raw_q     <= raw;
      times_q   <= times;
    end
  end

  // ---------------------------------------------------------------- which of them count
  logic [Spans-1:0] above_from, above_to, close, good;
  logic [Spans-1:0][Spans-1:0] ahead;  // i ends before k begins, with a gap
  always_comb begin
    for (int unsigned i = 0; i < Spans; i++) begin
      for (int unsigned k = 0; k < Spans; k++) ahead[i][k] = near_lt(raw_q[i].to, raw_q[k].from);
      above_from[i] = near_lt(una_q, raw_q[i].from);
      above_to[i]   = near_lt(una_q, raw_q[i].to);
      close[i]      = raw_q[i].valid &&
          (above_from[i] ? near_if_q[i][0].above : near_if_q[i][0].below) &&
          (above_to[i] ? near_if_q[i][1].above : near_if_q[i][1].below);
    end
    for (int unsigned i = 0; i < Spans; i++) begin
      // All three comparisons, or else an edge too far for 18 bits would seem to be before what was sent.
      good[i] = close[i] && above_from[i] && above_to[i] && near_lt(raw_q[i].from, raw_q[i].to);
      for (int unsigned k = i + 1; k < Spans; k++) begin
        if (close[k] && !ahead[i][k] && !ahead[k][i]) good[i] = 1'b0;
      end
    end
  end

  // ---------------------------------------------------------------- in order
  logic sort_valid_q;
  logic [Spans-1:0] good_q;
  logic [Spans-1:0][Spans-1:0] ahead_q;
  spans_t sort_q;
  times_t sort_times_q;
  logic [Spans-1:0][$clog2(Spans)-1:0] rank;  // so many are before it
  sacked_t sorted;
  logic told_q, twice_q;
  always_ff @(posedge clk_i) begin
    sort_valid_q <= rst_ni && valid_q;
    if (valid_q) begin
      good_q       <= good;
      ahead_q      <= ahead;
      sort_q       <= raw_q;
      sort_times_q <= times_q;
      told_q       <= |close;
      twice_q      <= close[0] && !above_to[0];
    end
  end
  always_comb begin
    sorted.told  = told_q;
    sorted.twice = twice_q;
    for (int unsigned i = 0; i < Spans; i++) begin
      rank[i] = '0;
      for (int unsigned k = 0; k < Spans; k++) begin
        if (k != i && good_q[k] && ahead_q[k][i]) rank[i] = rank[i] + 1'b1;
      end
    end
    // Where nobody has a rank, anybody's edges.
    for (int unsigned r = 0; r < Spans; r++) begin
      logic [$clog2(Spans)-1:0] who;
      who = '0;
      sorted.spans[r].valid = 1'b0;
      for (int unsigned i = 0; i < Spans; i++) begin
        if (good_q[i] && 32'(rank[i]) == r) begin
          sorted.spans[r].valid = 1'b1;
          who |= ($clog2(Spans))'(i);
        end
      end
      sorted.spans[r].from = sort_q[who].from;
      sorted.spans[r].to   = sort_q[who].to;
    end
  end

  // ---------------------------------------------------------------- keep
  typedef struct packed {
    sacked_t sacked;
    times_t  times;
  } told_t;
  told_t kept;
  assign m_sacked_o = kept.sacked;
  assign m_times_o  = kept.times;
  logic unused_ready;
  // verilator lint_off PINCONNECTEMPTY
  lib_fifo #(
    .T    (told_t),
    .Depth(Depth)
  ) u_kept (
    .clk_i,
    .rst_ni,
    .s_valid_i(sort_valid_q),
    .s_ready_o(unused_ready),
    .s_data_i ('{sacked: sorted, times: sort_times_q}),
    .m_valid_o,
    .m_ready_i,
    .m_data_o (kept),
    .level_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY
  `ASSERT(fits_room, !sort_valid_q || unused_ready)
  `ASSERT(is_there, !m_ready_i || m_valid_o)

endmodule
