// Finds the entries that requests ask for: hash, then ways and sketch at once; an entry that is there is ordered from the
// chains. What the core changes passes in between, the guard beside the ways: a write opens and its entry is out in one clock,
// and none comes in until it is closed, so who asks for an entry need not ask whether a write is open.
// Latency 12 from a key's last beat to what was found, initiation interval 2 for a GET, 1 for what is none.
`include "lib_assert.svh"

module aside_lookup
  import wirekv_pkg::*;
  import request_pkg::*;
  import aside_pkg::*;
#(
  /// Lines of the chains, a power of two; entries, as many, in sets of so many ways.
  parameter int unsigned Lines = 16384,
  parameter int unsigned Ways = 8,
  localparam int unsigned NumberW = $clog2(Lines)
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  /// One-clock pulse each millisecond.
  input  logic                        tick_i,
  /// Secrets of the hash, see there.
  input  logic    [       31:0][31:0] nh_key_i,
  input  logic    [        1:0][63:0] mix_key_i,
  /// Requests of datagrams, and their keys.
  input  logic                        req_valid_i,
  output logic                        req_ready_o,
  input  req_t                        req_i,
  input  logic                        key_valid_i,
  output logic                        key_ready_o,
  input  beat_t                       key_i,
  /// What is known of each, what was found, and of the plain GETs their keys' beats.
  output logic                        ask_valid_o,
  input  logic                        ask_ready_i,
  output ask_t                        ask_o,
  output logic                        found_valid_o,
  input  logic                        found_ready_i,
  output found_t                      found_o,
  output logic                        beat_valid_o,
  input  logic                        beat_ready_i,
  output beat_t                       beat_o,
  /// What is done to the chains.
  output logic                        chain_valid_o,
  input  logic                        chain_ready_i,
  output chain_e                      chain_op_o,
  output logic    [NumberW-1:0]       chain_number_o,
  /// A key of the core's, whose beats come without a gap; its hash, for one clock.
  input  logic                        own_valid_i,
  output logic                        own_ready_o,
  input  beat_t                       own_i,
  output logic                        own_hashed_o,
  output logic    [       63:0]       own_hash_o,
  /// A change of the core's.
  input  logic                        change_valid_i,
  output logic                        change_ready_o,
  input  change_t                     change_i,
  input  logic    [       63:0]       change_hash_i,
  input  logic    [NumberW-1:0]       change_number_i,
  input  logic    [   Ways-1:0]       change_ways_i,
  input  ticket_t                     change_ticket_i,
  /// Three clocks later: what the guard says; an entry came out.
  output logic                        changed_o,
  output logic                        changed_ok_o,
  output ticket_t                     changed_ticket_o,
  output logic                        changed_out_o,
  output logic    [NumberW-1:0]       changed_number_o,
  /// Something to be done to the chains behind what was ordered before.
  input  logic                        own_chain_valid_i,
  output logic                        own_chain_ready_o,
  input  chain_e                      own_chain_op_i,
  input  logic    [NumberW-1:0]       own_chain_number_i,
  /// The sketch's: see there.
  input  logic    [        7:0]       hot_i,
  input  logic                        age_i,
  output logic                        idle_o
);

  // Requests inside: for what is found of each there is room, so those that nobody looks at are not in the core's way.
  localparam int unsigned Inside = 24;
  localparam int unsigned Depth = 32;
  localparam int unsigned Stages = 3;
  typedef logic [$clog2(Inside+1)-1:0] level_t;
  typedef logic [NumberW-1:0] number_t;

  // ---------------------------------------------------------------- in: a request, or a key of the core's
  logic plain, keyed, last_beat, enter, own_turn, wire_begun_q, hash_ready, asks_room, beats_room;
  level_t asks_level;
  ask_t   ask;
  assign plain = is_plain(req_i);
  assign keyed = brings_key(req_i.op, req_i.key_stored);
  assign last_beat = !keyed || key_i.last;
  assign own_turn = own_valid_i && !wire_begun_q;
  assign enter     = req_valid_i && (!keyed || key_valid_i) && hash_ready && asks_room &&
      beats_room && !own_turn;
  assign req_ready_o = enter && last_beat;
  assign key_ready_o = enter && keyed;
  assign own_ready_o = own_turn && hash_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) wire_begun_q <= 1'b0;
    else if (enter) wire_begun_q <= !last_beat;
  end

  always_comb begin
    ask = '{
        plain: plain,
        first: req_i.first,
        ends: req_i.op == OpEnd || req_i.last,
        whole: req_i.mode == MdLine && req_i.rem == '0,
        nothing: req_i.op == OpEnd,
        six: req_i.tx_ptr[0],
        binary: req_i.binary,
        meta: req_i.meta,
        opaque: req_i.opaque,
        cas_out: req_i.cas_out,
        last_key: req_i.last_key,
        klen: req_i.klen
    };
  end

  lib_fifo #(
    .T    (ask_t),
    .Depth(Inside),
    .Block(1'b1)
  ) u_asks (
    .clk_i,
    .rst_ni,
    .s_valid_i(enter && last_beat),
    .s_ready_o(asks_room),
    .s_data_i (ask),
    .m_valid_o(ask_valid_o),
    .m_ready_i(ask_ready_i),
    .m_data_o (ask_o),
    .level_o  (asks_level)
  );

  // A key has four beats at most.
  logic [$clog2(4*Inside+1)-1:0] unused_beats;
  lib_fifo #(
    .T    (beat_t),
    .Depth(4 * Inside)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .s_valid_i(enter && plain),
    .s_ready_o(beats_room),
    .s_data_i (key_i),
    .m_valid_o(beat_valid_o),
    .m_ready_i(beat_ready_i),
    .m_data_o (beat_o),
    .level_o  (unused_beats)
  );

  // ---------------------------------------------------------------- hash
  typedef struct packed {
    logic own;
    logic plain;
  } who_t;
  who_t who;
  logic hashed_valid, hashed_ready;
  logic [63:0] hashed;
  hash #(
    .T(who_t)
  ) u_hash (
    .clk_i,
    .rst_ni,
    .nh_key_i,
    .mix_key_i,
    .s_valid_i(own_turn || (enter && (plain || last_beat))),
    .s_ready_o(hash_ready),
    .s_beat_i (own_turn ? own_i : key_i),
    .known_i  (!own_turn && !plain),
    .hash_i   ('0),
    .db_i     ('0),
    .info_i   ('{own: own_turn, plain: plain}),
    .m_valid_o(hashed_valid),
    .m_ready_i(hashed_ready),
    .m_hash_o (hashed),
    .m_info_o (who)
  );
  assign own_hashed_o = hashed_valid && who.own;
  assign own_hash_o   = hashed;

  // ---------------------------------------------------------------- look, unless the core changes something
  logic
      wire_turn,
      looks,
      passes,
      change,
      go_ready,
      back_ready,
      ways_ready,
      go_done,
      back_done,
      go_ok,
      back_ok;
  logic way_done, way_hit, way_out, hot, unused_hot_valid, ageing, guard_clears, ways_clear;
  logic [7:0] unused_estimate;
  ticket_t ticket;
  number_t way_number;
  logic [$clog2(Depth+1)-1:0] unused_founds, unused_chains;

  assign wire_turn = hashed_valid && !who.own && !change_valid_i;
  assign looks = wire_turn && who.plain && ways_ready;
  assign passes = wire_turn && !who.plain;
  assign hashed_ready = who.own || looks || passes;
  assign change         = change_valid_i && (!change_i.go || go_ready) &&
      (!change_i.back || back_ready) && (!change_i.way || ways_ready);
  assign change_ready_o = change;

  guard u_guard (
    .clk_i,
    .rst_ni,
    .tick_i,
    .go_valid_i   (change && change_i.go),
    .go_ready_o   (go_ready),
    .go_op_i      (change_i.go_op),
    .go_index_i   (change_hash_i[63:50]),
    .go_done_o    (go_done),
    .go_ok_o      (go_ok),
    .go_ticket_o  (ticket),
    .back_valid_i (change_valid_i && change_i.back),
    .back_ready_o (back_ready),
    .back_op_i    (change_i.back_op),
    .back_index_i (change_hash_i[63:50]),
    .back_ticket_i(change_ticket_i),
    .back_done_o  (back_done),
    .back_ok_o    (back_ok),
    .clearing_o   (guard_clears)
  );

  ways #(
    .Sets   (Lines / Ways),
    .Ways   (Ways),
    .NumberW(NumberW)
  ) u_ways (
    .clk_i,
    .rst_ni,
    .clear_i   (change && change_i.forget),
    .clearing_o(ways_clear),
    .valid_i   (looks || (change && change_i.way)),
    .ready_o   (ways_ready),
    .op_i      (change_valid_i ? change_i.way_op : WayLook),
    .hash_i    (change_valid_i ? change_hash_i : hashed),
    .number_i  (change_number_i),
    .ways_i    (change_ways_i),
    .done_o    (way_done),
    .hit_o     (way_hit),
    .out_o     (way_out),
    .number_o  (way_number)
  );

  sketch #(
    .Width((Lines > 65536) ? 65536 : Lines)
  ) u_sketch (
    .clk_i,
    .rst_ni,
    .threshold_i(hot_i),
    .age_i,
    .ageing_o   (ageing),
    .valid_i    (looks),
    .hash_i     (hashed),
    .valid_o    (unused_hot_valid),
    .estimate_o (unused_estimate),
    .hot_o      (hot)
  );

  // ---------------------------------------------------------------- found
  logic [Stages-1:0] looks_q, passes_q, change_q;
  logic gives, chains_room, found_room;
  found_t found;
  always_ff @(posedge clk_i) begin
    looks_q  <= rst_ni ? {looks_q[Stages-2:0], looks} : '0;
    passes_q <= rst_ni ? {passes_q[Stages-2:0], passes} : '0;
    change_q <= rst_ni ? {change_q[Stages-2:0], change} : '0;
  end
  assign gives            = looks_q[Stages-1] && way_hit;
  assign found            = '{there: gives, hot: looks_q[Stages-1] && hot};

  assign changed_o        = change_q[Stages-1];
  assign changed_ok_o     = go_done ? go_ok : back_ok;
  assign changed_ticket_o = ticket;
  assign changed_out_o    = way_done && way_out;
  assign changed_number_o = way_number;

  lib_fifo #(
    .T    (found_t),
    .Depth(Depth)
  ) u_founds (
    .clk_i,
    .rst_ni,
    .s_valid_i(looks_q[Stages-1] || passes_q[Stages-1]),
    .s_ready_o(found_room),
    .s_data_i (found),
    .m_valid_o(found_valid_o),
    .m_ready_i(found_ready_i),
    .m_data_o (found_o),
    .level_o  (unused_founds)
  );

  // ---------------------------------------------------------------- to the chains, in the order in which they came out
  typedef struct packed {
    chain_e  op;
    number_t number;
  } order_t;
  order_t order, order_in;
  assign order_in = '{
          op: gives ? ChainGive : own_chain_op_i,
          number: gives ? way_number : own_chain_number_i
      };
  assign own_chain_ready_o = !gives && chains_room;
  lib_fifo #(
    .T    (order_t),
    .Depth(Depth)
  ) u_chains (
    .clk_i,
    .rst_ni,
    .s_valid_i(gives || own_chain_valid_i),
    .s_ready_o(chains_room),
    .s_data_i (order_in),
    .m_valid_o(chain_valid_o),
    .m_ready_i(chain_ready_i),
    .m_data_o (order),
    .level_o  (unused_chains)
  );
  assign chain_op_o = order.op;
  assign chain_number_o = order.number;
  assign idle_o         = asks_level == '0 && !req_valid_i && !own_valid_i && !change_valid_i &&
      change_q == '0 && !chain_valid_o && !guard_clears && !ways_clear && !ageing;

  logic unused;
  assign unused = back_done ^ found_room;

  `ASSERT(Together, !looks_q[Stages-1] || way_done)
  `ASSERT(ChangeAnswered, !changed_o || go_done || back_done || way_done)
  `ASSERT(FoundRoom, !(looks_q[Stages-1] || passes_q[Stages-1]) || found_room)
  `ASSERT(ChainsRoom, !gives || chains_room)

endmodule
