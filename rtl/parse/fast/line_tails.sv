// Finds the tails of request lines of more than 64 bytes, see line_scan. Latency 1, initiation interval 1.

module line_tails
  import lib_pkg::*;
  import parse_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Lines of received bytes: what may begin and end there.
  input  logic   s_valid_i,
  output logic   s_ready_o,
  input  found_t s_found_i,
  /// Their places.
  output logic   m_valid_o,
  input  logic   m_ready_i,
  output marks_t m_marks_o
);

  /// Lines of a request line with a key of 250 bytes behind the one in which it begins; in Redis' protocol of one with
  /// the longest value that options follow.
  localparam logic [4:0] TailLines = 5'd5;
  localparam logic [4:0] RespLines = 5'd31;

  /// The lanes below the lowest bit that is set, or all.
  function automatic logic [63:0] below(input logic [63:0] bits);
    return (bits - 64'd1) & ~bits;
  endfunction
  /// The lanes from the highest bit that is set on, or all.
  function automatic logic [63:0] from_last(input logic [63:0] bits);
    logic [63:0] behind;
    behind = bits >> 1;
    for (int i = 0; i < 6; i++) behind |= behind >> (1 << i);
    return ~behind;
  endfunction

  logic take, valid_q;
  found_t found_q;
  logic [63:0]
      before_q, from_q;  // lanes before the first line that begins here, from the last one on
  assign s_ready_o = !valid_q || m_ready_i;
  assign take      = valid_q && m_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (s_ready_o) valid_q <= s_valid_i;
    if (s_ready_o) begin
      found_q  <= s_found_i;
      before_q <= below(s_found_i.begins);
      from_q   <= from_last(s_found_i.begins);
    end
  end

  // A request line has begun that may have one, whether a second key stands in the head's window; the lanes from its
  // beginning on, as long as that is in the line before; lines behind that one.
  logic open_q, open, keyed_q, keyed, begins;
  logic [63:0]
      own_q, tail, lengths, behind;  // of lengths those that are far enough behind the head
  logic [4:0] lines_q;
  logic ends;  // as far as there may be one
  // What no key has, in the line before; in those before that.
  logic [63:0] was_dirt_q;
  logic dirty_q;
  always_comb begin
    begins = found_q.begins != '0;
    ends   = lines_q == (found_q.resp ? RespLines : TailLines);
    keyed  = keyed_q || (found_q.keys & ~own_q) != '0;
    // A length of up to three digits ends in the head's window if it begins before lane 58 of that, which may be here.
    behind = '0;
    for (int i = 58; i < 64; i++)
    behind[i] = (found_q.begins & ((64'd2 << (i - 58)) - 64'd1)) != '0;
    behind &= found_q.lengths;
    lengths = found_q.lengths & {6'h3f, own_q[63:6]} & before_q;
    if (found_q.resp) begin
      tail = (lowest(lengths) & {64{open_q}}) | (lowest(behind) & {64{lengths == '0}});
      open = begins || (open_q && lengths == '0);
    end else begin
      tail = lowest(found_q.ends) & own_q & {64{open_q && !keyed && !found_q.binary}};
      open = !found_q.binary &&
          (begins ? (found_q.ends & from_q) == '0 : open_q && found_q.ends == '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || (take && found_q.last)) begin
      open_q     <= 1'b0;
      keyed_q    <= 1'b0;
      dirty_q    <= 1'b0;
      was_dirt_q <= '0;
      own_q      <= '1;
      lines_q    <= '0;
    end else if (take && begins) begin
      open_q     <= open;
      keyed_q    <= (found_q.keys & from_q) != '0;
      dirty_q    <= 1'b0;
      was_dirt_q <= '0;
      own_q      <= from_q;
      lines_q    <= 5'd1;
    end else if (take) begin
      open_q     <= open && !ends;
      keyed_q    <= keyed;
      dirty_q    <= dirty_q || was_dirt_q != '0;
      was_dirt_q <= found_q.dirt & own_q;
      own_q      <= '1;
      lines_q    <= lines_q + 5'd1;
    end
  end

  assign m_valid_o = valid_q;
  assign m_marks_o = '{
          places: (found_q.begins | tail | found_q.keys | found_q.inlines) & ~found_q.given,
          line: found_q.begins | tail,
          tail: tail,
          clean: !dirty_q && (was_dirt_q & (below(found_q.ends) | lowest(found_q.ends))) == '0,
          goes_on: open_q && open && !begins && !ends,
          last: found_q.last,
          binary: found_q.binary,
          resp: found_q.resp
      };

endmodule
