// Tags of line_cache: finds a request's line, or gives it a way. Latency 2 (stages look and decide),
// initiation interval 1.
//
// Each entry has a ticket for every class: the number of the class's last acquisition of the line.
// The class pins the line while its releases have not come so far. So a request writes one field of
// an entry that it finds, and a release writes none. Numbers are compared by their difference, so a
// ticket must not become old: where a set is renewed, tickets of those that do not pin are written
// anew.
`include "lib_assert.svh"

module line_cache_tags
  import lib_pkg::*;
  import store_pkg::*;
#(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 4,
  parameter int unsigned Classes = 2,
  parameter logic [Classes-1:0][Ways-1:0] OwnWays = '1,
  parameter logic [Classes-1:0][Ways-1:0] Avoid = '0,
  parameter logic [Ways-1:0] Spare = '0,
  parameter logic [Ways-1:0] HintWays = '0,
  parameter int unsigned Rams = 1,
  parameter int unsigned NumberBits = 14,
  parameter int unsigned TicketBits = 18,
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned WayBits = $clog2(Ways),
  localparam int unsigned ClassBits = $clog2(Classes)
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  /// A request, and whether it comes from its class's queue; or a set to renew, or to clear.
  input  logic                                    valid_i,
  input  logic      [ClassBits-1:0]               class_i,
  input  line_acq_t                               acq_i,
  input  logic                                    again_i,
  input  logic      [SetBits-1:0]                 set_i,
  input  logic                                    sweep_i,
  input  logic                                    clear_i,
  /// Other requests of the class wait: the request must follow them.
  input  logic      [Classes-1:0]                 queued_i,
  /// The last ticket of each class that pins nothing any more.
  input  logic      [Classes-1:0][TicketBits-1:0] past_i,
  /// Numbers of the next fill of each data RAM, and of the next that arrives.
  input  logic      [Rams-1:0][NumberBits-1:0]    fill_next_i,
  input  logic      [Rams-1:0][NumberBits-1:0]    fill_done_i,
  /// The request two clocks later: it has a slot (ok), which is filled by the fill of this number;
  /// its line must be fetched for that.
  output logic                                    tried_o,
  output logic      [ClassBits-1:0]               class_o,
  output line_acq_t                               acq_o,
  output logic                                    again_o,
  output logic                                    ok_o,
  output logic                                    fetch_o,
  output logic      [SetBits+WayBits-1:0]         slot_o,
  output logic      [NumberBits-1:0]              fill_o,
  /// Nothing is here, and everything is released.
  output logic                                    idle_o
);

  localparam int unsigned TagBits = $bits(line_no_t) - SetBits;
  typedef logic [TicketBits-1:0] ticket_t;
  typedef logic [NumberBits-1:0] number_t;
  typedef logic [SetBits-1:0] set_t;
  typedef logic [TagBits-1:0] tag_t;
  typedef logic [WayBits-1:0] way_no_t;
  typedef logic [ClassBits-1:0] class_t;

  typedef struct packed {
    logic    valid;
    tag_t    tag;
    number_t fill;   // number of the fetch, of its RAM, that fills it
  } entry_t;

  /// Ticket `a` comes after ticket `b`: the difference that is its sign. A comparison takes two thirds of a
  /// subtraction's LUTs.
  function automatic logic later(input ticket_t a, input ticket_t b);
    return a[TicketBits-1] ^ b[TicketBits-1] ^ (b[TicketBits-2:0] < a[TicketBits-2:0]);
  endfunction

  /// There are one or more, two or more, three or more.
  function automatic logic [2:0] several(input logic [Ways-1:0] ways);
    several = '0;
    for (int w = 0; w < Ways; w++) if (ways[w]) several = {several[1:0], 1'b1};
  endfunction

  // Stages: look, decide; done is behind them, and known to the two requests behind.
  logic look_valid_q, look_sweep_q, look_clear_q, look_again_q;
  logic decide_valid_q, decide_sweep_q, decide_clear_q, decide_again_q, done_ok_q;
  class_t look_class_q, decide_class_q, done_class_q;
  line_acq_t look_q, decide_q;
  line_no_t done_line_q;
  set_t look_set_q, decide_set_q, done_set_q;
  always_ff @(posedge clk_i) begin
    look_valid_q   <= rst_ni && valid_i;
    look_sweep_q   <= rst_ni && sweep_i;
    look_clear_q   <= clear_i;
    look_class_q   <= class_i;
    look_q         <= acq_i;
    look_again_q   <= again_i;
    look_set_q     <= set_i;
    decide_valid_q <= rst_ni && look_valid_q;
    decide_sweep_q <= rst_ni && look_sweep_q;
    decide_clear_q <= look_clear_q;
    decide_class_q <= look_class_q;
    decide_q       <= look_q;
    decide_again_q <= look_again_q;
    decide_set_q   <= look_set_q;
    done_ok_q      <= rst_ni && ok_o;
    done_class_q   <= decide_class_q;
    done_line_q    <= decide_q.line;
    done_set_q     <= decide_set_q;
  end

  // Ways that the request before has: pinned, taken, left.
  logic [Ways-1:0] way, victim, away, done_way_q, done_put_q, done_gone_q;
  logic hit, pin;
  always_ff @(posedge clk_i) begin
    done_way_q  <= pin ? way : '0;
    done_put_q  <= (ok_o && !hit) ? victim : '0;
    done_gone_q <= ok_o ? away : '0;
  end

  // ---------------------------------------------------------------- look: tags, pins
  // The entry of a way that the request two before wrote was read before that; what the request
  // right before does is not known yet.
  ticket_t [Classes-1:0] issued_q, last_q;  // numbers of the next acquisition and of the last
  logic [Ways-1:0][Classes-1:0] pins, pins_q;
  way_no_t way_no;
  logic [Ways-1:0] found_q, pinned_q, from_q, spare_0, own_q, avoid_q;
  number_t [Ways-1:0] fill_q;
  logic near, same, near_q, same_q, same_two_q, roomy_q;
  assign near = done_set_q == look_set_q;
  assign same = done_line_q == look_q.line;

  way_no_t last_victim;
  lib_ram #(
    .Width(WayBits),
    .Depth(Sets)
  ) u_victim (
    .clk_i,
    .we_i   (ok_o && !hit),
    .waddr_i(decide_set_q),
    .wbe_i  (1'b1),
    .wdata_i(way_no),
    .re_i   (valid_i),
    .raddr_i(set_i),
    .rdata_o(last_victim)
  );

  for (genvar w = 0; w < Ways; w++) begin : gen_way
    entry_t entry;
    ticket_t [Classes-1:0] tickets, new_tickets;
    logic [Classes-1:0] renew, mine, put;
    lib_ram #(
      .Width($bits(entry_t)),
      .Depth(Sets)
    ) u_tag (
      .clk_i,
      .we_i   (decide_clear_q || (ok_o && (away[w] || (way[w] && !hit)))),
      .waddr_i(decide_set_q),
      .wbe_i  (1'b1),
      .wdata_i({ok_o && way[w], decide_q.line[$bits(line_no_t)-1:SetBits], fill_o}),
      .re_i   (valid_i || sweep_i),
      .raddr_i(set_i),
      .rdata_o(entry)
    );
    lib_ram #(
      .Width    (Classes * TicketBits),
      .Depth    (Sets),
      .ByteWidth(TicketBits)
    ) u_tickets (
      .clk_i,
      .we_i   (decide_sweep_q || (ok_o && way[w])),
      .waddr_i(decide_set_q),
      .wbe_i  (decide_sweep_q ? renew : put),
      .wdata_i(new_tickets),
      .re_i   (valid_i || sweep_i),
      .raddr_i(set_i),
      .rdata_o(tickets)
    );
    for (genvar c = 0; c < Classes; c++) begin : gen_class
      assign pins[w][c] = !Avoid[c][w] && ((entry.valid && later(tickets[c], past_i[c])) ||
          (near && done_way_q[w] && done_class_q == class_t'(c)));
      assign renew[c]   = !pins_q[w][c] &&
          !(near_q && done_way_q[w] && done_class_q == class_t'(c));
      assign mine[c]    = decide_class_q == class_t'(c) && !decide_q.hint;
      assign put[c]     = !hit || mine[c];
      assign new_tickets[c] = (decide_valid_q && mine[c]) ? issued_q[c] : past_i[c];
    end
    assign spare_0[w] = Spare[w] && !pins[w][0];
    always_ff @(posedge clk_i) begin
      found_q[w]  <= (near && done_put_q[w]) ? same : !(near && done_gone_q[w]) && entry.valid &&
          entry.tag == look_q.line[$bits(line_no_t)-1:SetBits];
      fill_q[w]   <= entry.fill;
      pins_q[w]   <= pins[w];
      pinned_q[w] <= |pins[w];
      own_q[w]    <= look_q.hint ? HintWays[w] : OwnWays[look_class_q][w];
      avoid_q[w]  <= Avoid[look_class_q][w];
    end
  end

  always_ff @(posedge clk_i) begin
    near_q     <= decide_valid_q && decide_set_q == look_set_q;
    same_q     <= decide_q.line == look_q.line;
    same_two_q <= done_ok_q && same;
    // Class 0 takes a spare way only where three are not pinned by it.
    roomy_q    <= several(spare_0)[2];
    from_q     <= {Ways{1'b1}} << last_victim << 1;
  end

  // ---------------------------------------------------------------- decide: hit, or a way to fill
  logic [Ways-1:0] found, pinned, pinned_0, hit_way, spare_free, own, upper;
  logic leave, crowded, roomy, ram;
  number_t fill_hit, done_fill_q, older_fill_q;
  for (genvar w = 0; w < Ways; w++) begin : gen_near
    assign found[w]    = (near_q && done_put_q[w]) ? same_q :
        !(near_q && done_gone_q[w]) && found_q[w];
    assign pinned[w]   = pinned_q[w] || (near_q && done_way_q[w]);
    assign pinned_0[w] = pins_q[w][0] || (near_q && done_way_q[w] && done_class_q == '0);
  end
  // The request right before may have taken a spare way.
  assign roomy   = roomy_q && !near_q;
  assign away    = found & avoid_q;
  assign hit_way = found & ~avoid_q;
  assign hit     = |hit_way;
  assign leave   = (away & pinned) != '0;  // must move, but cannot yet
  assign spare_free = Spare & ~hit_way & ~pinned_0;
  assign crowded = decide_class_q == '0 && (hit_way & Spare & ~pinned_0) != '0 &&
      !several(spare_free)[1];
  assign own     = own_q & ~pinned & ((decide_class_q == '0 && !roomy) ? ~Spare : '1);
  // Those behind the set's last victim first: what nobody pins stays as long as any other does.
  assign upper   = own & from_q;
  assign victim  = Ways'((upper != '0) ? lowest(64'(upper)) : lowest(64'(own)));
  assign way     = hit ? hit_way : victim;
  assign ok_o    = decide_valid_q && !leave && !crowded && (hit || own != '0) &&
      (decide_again_q || !queued_i[decide_class_q]);

  assign pin     = ok_o && !decide_q.hint;

  assign ram = (Rams > 1) && decide_set_q[0];
  always_comb begin
    way_no   = '0;
    fill_hit = '0;
    for (int w = 0; w < Ways; w++) begin
      if (way[w]) way_no |= way_no_t'(w);
      if (hit_way[w]) fill_hit |= fill_q[w];
    end
    if (same_two_q) fill_hit = older_fill_q;
    if (same_q && done_ok_q) fill_hit = done_fill_q;
    // A number outside the window: there at once.
    fill_o = hit ? fill_hit : fill_next_i[ram];
    if (!hit && decide_q.fresh)
      fill_o = {!fill_done_i[ram][NumberBits-1], fill_done_i[ram][NumberBits-2:0]};
  end

  assign tried_o = decide_valid_q;
  assign class_o = decide_class_q;
  assign acq_o   = decide_q;
  assign again_o = decide_again_q;
  assign fetch_o = ok_o && !hit && !decide_q.fresh;
  assign slot_o  = {decide_set_q, way_no};

  always_ff @(posedge clk_i) begin
    done_fill_q  <= fill_o;
    older_fill_q <= done_fill_q;
    if (!rst_ni) begin
      for (int c = 0; c < int'(Classes); c++) begin
        issued_q[c] <= '0;
        last_q[c]   <= '1;
      end
    end else if (pin) begin
      issued_q[decide_class_q] <= issued_q[decide_class_q] + 1'b1;
      last_q[decide_class_q]   <= issued_q[decide_class_q];
    end
  end

  assign idle_o = !look_valid_q && !decide_valid_q && last_q == past_i;

  `ASSERT(OneHit, !decide_valid_q || (found & (found - 1'b1)) == '0)

endmodule
