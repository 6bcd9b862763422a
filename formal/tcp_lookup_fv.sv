// tcp_lookup, seen through a tag that the prover chooses, that is a peer, or those whose IPv6 addresses
// have one name: a segment with that tag finds exactly the connection that was given to it and is not
// over, by the id it was given; no second one is made beside it; no id is given to two connections, and
// none is lost.
`include "fv.svh"
`include "lib_assert.svh"

// In place of the module in rtl/tcp: any answers, in order, a clock behind the question or later.
module tcp_cookie
  import net_pkg::*;
  import tcp_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] key_i,
  input  logic [15:0] epoch_i,
  input  logic [13:0] own_mss_i,
  input  logic        valid_i,
  input  seg_t        seg_i,
  output logic        valid_o,
  output cookie_t     cookie_o
);
  logic [3:0] asked_q;  // and not answered
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= '0;
    else asked_q <= asked_q + 4'(valid_i) - 4'(valid_o);
  end
  assign valid_o  = asked_q != '0 && tcp_lookup_fv.answer_i;
  assign cookie_o = tcp_lookup_fv.cookie_i;
endmodule

// In place of the module in rtl/tcp: any sums. What matters of them is assumed below.
module tcp_toeplitz (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] secret_i,
  output logic         ready_o,
  input  logic         valid_i,
  input  logic [127:0] ip_i,
  input  logic [15:0]  port_i,
  output logic [31:0]  ip_o,
  output logic [31:0]  port_o
);
  assign ready_o = tcp_lookup_fv.hash_ready_i;
  assign ip_o    = tcp_lookup_fv.hash_ip_i;
  assign port_o  = tcp_lookup_fv.hash_port_i;
endmodule

module tcp_lookup_fv
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  parameter int unsigned Conns = 16,
  /// What is proved: that ids are given once and none is lost, and that there is room for every
  /// answer; or, from the former, what is found.
  parameter bit Ids = 1'b0
) (
  input logic        clk_i,
  input logic        limit_i,
  input logic        answer_i,
  input cookie_t     cookie_i,
  input logic        seg_valid_i,
  input seg_t        seg_i,
  input logic        found_ready_i,
  input logic        del_valid_i,
  input conn_t       del_i,
  input logic        earlier_i,
  input logic        hash_ready_i,
  input logic [31:0] hash_ip_i,
  input logic [31:0] hash_port_i
);
  `FV_RESET

  localparam int unsigned Line = 8;
  localparam int unsigned IdW = $clog2(Conns);
  localparam int unsigned AddrW = IdW - 1;
  localparam int unsigned Ways = 4;
  typedef logic [IdW-1:0] id_t;
  typedef struct packed {
    ours_e       ours;
    logic        redis;
    logic [31:0] name;
    logic [15:0] port;
  } tag_t;
  typedef struct packed {
    logic valid;
    tag_t tag;
    id_t  id;
  } way_t;
  typedef struct packed {
    logic             table1;
    logic [1:0]       way;
    logic [AddrW-1:0] addr;
  } place_t;
  typedef struct packed {
    seg_t                  seg;
    logic [31:0]           name;
    logic [1:0][AddrW-1:0] addr;
    logic                  stranger;
    logic                  hit;
    id_t                   id;
  } head_t;

  // The chosen peer.
  tag_t tag_q;
  always_ff @(posedge clk_i) tag_q <= tag_q;

  logic seg_ready, found_valid, del_ready, mark, taken, low, syn, idle;
  logic [2:0] refused;
  found_t found;
  tcp_lookup #(
    .Conns(Conns),
    .Line (Line)
  ) dut (
    .clk_i,
    .rst_ni,
    .secret_i     ('0),
    .epoch_i      ('0),
    .own_mss_i    ('0),
    .limit_i,
    .shaking_i    (1'b1),
    .seg_valid_i,
    .seg_ready_o  (seg_ready),
    .seg_i,
    .found_valid_o(found_valid),
    .found_ready_i,
    .found_o      (found),
    .del_valid_i,
    .del_ready_o  (del_ready),
    .del_i,
    .mark_o       (mark),
    .earlier_i,
    .taken_o      (taken),
    .low_o        (low),
    .refused_o    (refused),
    .syn_o        (syn),
    .idle_o       (idle)
  );

  function automatic tag_t tag_of(input seg_t seg, input logic [31:0] name);
    return '{ours: seg.peer.ours, redis: seg.peer.redis, name: name, port: seg.peer.port};
  endfunction

  // ------------------------------------------------ what there is
  logic [Conns-1:0] live_q;  // ids given and not yet taken back
  logic there_q;             // the chosen peer has a connection, and this id
  id_t there_id_q;
  logic hash_mine, read_mine, match_mine, head_mine;
  assign hash_mine  = tag_of(dut.hash_seg_q, dut.name) == tag_q;
  assign read_mine  = tag_of(dut.read_seg_q, dut.read_tag_q.name) == tag_q;
  assign match_mine = tag_of(dut.match_seg_q, dut.match_name_q) == tag_q;
  assign head_mine  = tag_of(dut.head.seg, dut.head.name) == tag_q;

  // Only what is live is given back, and once.
  `FV_ASSUME(Deletes, !(del_valid_i && del_ready) || (live_q[del_i[IdW-1:0]] && del_i >> IdW == '0))

  // What there was when the segment in that stage was looked up.
  logic read_there_q, match_there_q;
  id_t read_id_q, match_id_q;
  place_t there, read_place_q, match_place_q;
  assign there = dut.u_place.mem_q[there_id_q];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      live_q  <= '0;
      there_q <= 1'b0;
    end else begin
      if (dut.insert) begin
        live_q[dut.new_id] <= 1'b1;
        if (head_mine) begin
          there_q    <= 1'b1;
          there_id_q <= dut.new_id;
        end
      end
      if (dut.del_write) begin
        live_q[dut.del_id_q] <= 1'b0;
        if (dut.del_id_q == there_id_q) there_q <= 1'b0;
      end
    end
    if (dut.hash_valid_q || dut.look) begin
      read_there_q <= there_q;
      read_id_q    <= there_id_q;
      read_place_q <= there;
    end
    if (dut.read_valid_q || dut.compare) begin
      match_there_q <= read_there_q;
      match_id_q    <= read_id_q;
      match_place_q <= read_place_q;
    end
  end

  // ------------------------------------------------ invariants: the pipe and the line
  localparam int unsigned LineW = $clog2(Line);
  typedef logic [LineW+1:0] level_t;
  localparam logic [2:0] Idle = 3'd0;  // dut.phase_e
  localparam logic [2:0] Compare = 3'd2;
  localparam logic [2:0] Full = 3'd4;
  localparam logic [2:0] Decide = 3'd5;
  level_t level;
  logic pipe, late;  // somebody is in the pipe; the second look was taken
  assign level = level_t'(dut.line_level);
  assign pipe  = dut.hash_valid_q || dut.read_valid_q || dut.match_valid_q;
  assign late  = dut.phase_q >= Compare;
  `ASSERT(Phases, dut.phase_q <= Decide)
  `ASSERT(Alone, !late || !pipe)
  // What is compared is who stands there.
  `ASSERT(ReadTag, !dut.read_valid_q || dut.read_tag_q == tag_of(
          dut.read_seg_q, dut.read_tag_q.name))
  `ASSERT(HeadTag, dut.phase_q != Compare || dut.read_tag_q == dut.head_tag)
  logic stays;  // the head has to be looked up again
  assign stays = dut.complete || (dut.stale_q != '0 && (!dut.head.hit || dut.dirty_q != '0));
  `ASSERT(AgainSettled, dut.phase_q == Idle || (dut.settled && stays))
  `ASSERT(AgainHidden, dut.phase_q == Idle || dut.phase_q == Decide || !dut.shown_q)
  // What was decided before is still so.
  logic completes, room;
  assign completes = dut.complete && !dut.known;
  assign room      = dut.why_q == '0;
  `ASSERT(Fresh, !dut.decide || dut.fresh_q == (completes && room))
  `ASSERT(Refuse, !dut.decide || dut.refuse_q == (completes && !room))
  // What is offered stays, whatever is deleted meanwhile.
  logic offered;
  assign offered = dut.shown_q && dut.phase_q == Idle;
  `ASSERT(Shown, !dut.shown_q || dut.settled)
  `ASSERT(OfferedSure, !offered || (!dut.complete && (dut.head.hit || dut.stale_q == '0)))
  `ASSERT(Stale, level_t'(dut.stale_q) <= level)
  `ASSERT(DeletingLive, !dut.del_write_q || live_q[dut.del_id_q])

  // Room for what is under way.
  level_t under_way;
  assign under_way = level + level_t'(dut.hash_valid_q) + level_t'(dut.read_valid_q) +
                     level_t'(dut.match_valid_q);
  `ASSERT(Room, under_way <= level_t'(Line))
  `ASSERT(Dirty, level_t'(dut.dirty_q) <= level_t'(Line))
  `ASSERT(RoomSeen, !dut.line_room || level <= level_t'(Line - 5))
  `ASSERT(LineReady, level_t'(dut.u_line.level_q) == level)
  `ASSERT(LineWrite, dut.u_line.waddr_q == LineW'(dut.u_line.raddr_q + LineW'(level)))

  // The line's words, from the head on. Each stranger has a cookie, or has asked for it.
  function automatic head_t queued(input int unsigned place);
    return dut.u_line.gen_small.mem_q[LineW'(dut.u_line.raddr_q+place)];
  endfunction
  logic [Line-1:0] is_stranger;
  for (genvar i = 0; i < Line; i++) begin : gen_line
    head_t word;
    assign word           = queued(i);
    assign is_stranger[i] = i < level && word.stranger;
  end
  level_t strangers;
  assign strangers = level_t'($countones(is_stranger));
  `ASSERT(Strangers, 5'(dut.u_cookie.asked_q) + 5'(dut.u_cookies.level_q) == 5'(strangers))
  `ASSERT(CookieWrite,
          dut.u_cookies.waddr_q == LineW'(dut.u_cookies.raddr_q + LineW'(dut.u_cookies.level_q)))

  // Ids that came back.
  logic [IdW:0] back_level;
  assign back_level = dut.u_back.level_q;
  `ASSERT(BackRange, 32'(back_level) <= Conns)
  `ASSERT(BackRipe, 32'(dut.ripe_q) + 32'(dut.asked_q) <= 32'(back_level))
  `ASSERT(BackWrite, dut.u_back.waddr_q == id_t'(dut.u_back.raddr_q + id_t'(back_level)))

  // ------------------------------------------------ ids
  if (!Ids) begin : gen_ids_known
    `FV_ASSUME(IdOnce, !dut.insert || !live_q[dut.new_id])
    `FV_ASSUME(IdKept, !(dut.decide && dut.why_q == '0) || dut.id_valid)
    `FV_ASSUME(Room, !dut.del_write || dut.unused_back_ready)
  end else begin : gen_ids
    `ASSERT(IdOnce, !dut.insert || !live_q[dut.new_id])
    `ASSERT(NoId, dut.id_valid || live_q == '1 || !dut.may_go)
    `ASSERT(IdKept, !(dut.decide && dut.why_q == '0) || dut.id_valid)

    // Every id is live, or in the queue, or was never used.
    function automatic id_t id_queued(input int unsigned place);
      return dut.u_back.gen_small.mem_q[id_t'(dut.u_back.raddr_q+place)];
    endfunction
    for (genvar i = 0; i < Conns; i++) begin : gen_id
      `ASSERT(LiveUsed, !live_q[i] || i < dut.unused_q)
      id_t id;
      assign id = id_queued(i);
      `ASSERT(QueuedUsed, !(i < back_level) || ((IdW + 1)'(id) < dut.unused_q && !live_q[id]))
      for (genvar j = 0; j < i; j++) begin : gen_other
        `ASSERT(Distinct, !(i < back_level) || id != id_queued(j))
      end
    end
    `ASSERT(Unused, 32'(dut.unused_q) <= Conns)
    `ASSERT(AllIds, (IdW + 1)'($countones(live_q)) + back_level == dut.unused_q)
    `ASSERT(Free, dut.free_q == (IdW + 1)'(Conns) - (IdW + 1)'($countones(live_q)))
  end

  if (!Ids) begin : gen_found
    // ------------------------------------------------ what is said of it
    // At the exit: what has a connection finds one, and only one is made. Who is found was there
    // when it was looked up, under this id; meanwhile it may have gone, but nobody else came.
    logic said, mine;
    assign said = found_valid && found_ready_i;
    assign mine = said && head_mine;
    `ASSERT(Finds, !(mine && there_q) || (found.hit && !found.fresh))
    `ASSERT(FindsThis, !(mine && there_q) || found.conn == conn_t'(there_id_q))
    `ASSERT(Fresh, !(said && found.fresh) || (dut.insert && conn_t'(dut.new_id) == found.conn))
    `ASSERT(OnlyOne, !(mine && dut.insert) || !there_q)
    `ASSERT(RefusedFull, !refused[2] || dut.used_q == '1)
    // What it finds is not somebody else's.
    `ASSERT(NotTheirs,
            !(mine && !there_q && found.hit && !found.fresh) || !live_q[found.conn[IdW-1:0]])

    // ------------------------------------------------ invariants: the table
    function automatic way_t way_at(input place_t place);
      way_t [Ways-1:0] bucket;
      bucket = place.table1 ? dut.gen_table[1].u_ram.mem_q[place.addr]
                            : dut.gen_table[0].u_ram.mem_q[place.addr];
      return bucket[place.way];
    endfunction

    // Each live id has its own way.
    for (genvar i = 0; i < Conns; i++) begin : gen_place
      way_t way;
      assign way = way_at(dut.u_place.mem_q[i]);
      `ASSERT(Placed, !live_q[i] || (way.valid && way.id == id_t'(i)))
    end
    `ASSERT(Deleting, !dut.del_write_q || dut.del_place == dut.u_place.mem_q[dut.del_id_q])

    // An address' name is its share of the hash, or all that the hash is made of, and the port is in the
    // tag as well: so there is a value that the hash always has for the chosen tag; which one does not
    // matter.
    logic [1:0][AddrW-1:0] addr;
    always_ff @(posedge clk_i) addr <= addr;
    `FV_ASSUME(HashOfTag, !(dut.hash_valid_q && hash_mine) || dut.addr == addr)
    // The one half of that, of IPv6, and that the places are made of nothing else.
    `ASSERT(Share, dut.hash_seg_q.peer.ours == OursIp4 || dut.hash == (dut.name ^ hash_port_i))
    for (genvar i = 0; i < 2 * AddrW; i++) begin : gen_place_bit
      logic [31:0] h;
      assign h = {dut.hash, dut.hash} >> i;
      `ASSERT(PlaceBit, dut.addr[i/AddrW][i%AddrW] == (h[0] ^ (h[7] && h[18]) ^ (h[11] && h[23])))
    end

    // The chosen peer's buckets, and its place.
    // Two of the ways above, by name: the peer's, and that of the id being taken back.
    way_t there_way, del_way;
    assign there_way = way_at(there);
    assign del_way   = way_at(dut.del_place);
    `ASSERT(ThereWay, !there_q || (there_way.valid && there_way.id == there_id_q))
    `ASSERT(DelWay, !dut.del_write_q || (del_way.valid && del_way.id == dut.del_id_q))
    `ASSERT(ThereLive, !there_q || live_q[there_id_q])
    `ASSERT(ThereAddr, !there_q || there.addr == addr[there.table1])
    for (genvar t = 0; t < 2; t++) begin : gen_table
      for (genvar w = 0; w < Ways; w++) begin : gen_way
        way_t way;
        assign way = way_at('{table1: 1'(t), way: 2'(w), addr: addr[t]});
        `ASSERT(There,
                !(dut.clear_q > {1'b0, addr[t]}) || (way.valid && way.tag == tag_q) ==
                       (there_q && there == {1'(t), 2'(w), addr[t]}))
      end
    end
    `ASSERT(Cleared,
            dut.cleared || !(pipe || level != '0 || dut.del_write_q || there_q || live_q != '0))
    `ASSERT(ClearRange, dut.clear_q <= {1'b1, AddrW'(0)})

    // ------------------------------------------------ invariants: the pipe and the line
    `ASSERT(ReadAddr, !(dut.read_valid_q && read_mine) || dut.read_addr_q == addr)
    `ASSERT(MatchAddr, !(dut.match_valid_q && match_mine) || dut.match_addr_q == addr)
    logic look_read, look_match;  // the RAMs', and the match's, registers are of the chosen peer
    assign look_read  = (dut.read_valid_q && read_mine) || (dut.compare && head_mine);
    assign look_match = (dut.match_valid_q && match_mine) ||
                        (late && !dut.compare && head_mine);
    for (genvar t = 0; t < 2; t++) begin : gen_pipe_table
      for (genvar w = 0; w < Ways; w++) begin : gen_way
        logic read_hit, read_there, match_there;
        assign read_hit    = dut.ways[t][w].valid && dut.ways[t][w].tag == tag_q;
        assign read_there  = read_there_q && read_place_q == {1'(t), 2'(w), addr[t]};
        assign match_there = match_there_q && match_place_q == {1'(t), 2'(w), addr[t]};
        `ASSERT(ReadHit, !look_read || read_hit == read_there)
        `ASSERT(ReadId, !(look_read && read_there) || dut.ways[t][w].id == read_id_q)
        `ASSERT(MatchHit, !look_match || dut.hit_q[t][w] == match_there)
        `ASSERT(MatchId, !(look_match && match_there) || dut.id_q[t][w] == match_id_q)
        // A way that was found free stays free.
        `ASSERT(ReadFree, !(dut.compare && !dut.ways[t][w].valid) || !way_at(
                '{table1: 1'(t), way: 2'(w), addr: dut.head.addr[t]}).valid)
        `ASSERT(MatchFree, !(late && !dut.compare && !dut.used_q[t][w]) || !way_at(
                '{table1: 1'(t), way: 2'(w), addr: dut.head.addr[t]}).valid)
      end
    end
    `ASSERT(ReadThere,
            !(look_read && read_there_q) || read_place_q.addr == addr[read_place_q.table1])
    `ASSERT(MatchThere,
            !(look_match && match_there_q) || match_place_q.addr == addr[match_place_q.table1])

    // Of what was looked up: what was not there is not there now, unless an insert lies between; what
    // was there is there now, or its id is free and stays so until the next insert.
    function automatic logic right(input logic was, input id_t id);
      return was ? (there_q ? id == there_id_q : !live_q[id]) : !there_q;
    endfunction
    `ASSERT(ReadNow, !look_read || right(read_there_q, read_id_q))
    `ASSERT(MatchNow, !look_match || right(match_there_q, match_id_q))
    // What was looked up behind the last delete is there.
    logic read_dirty, match_dirty;
    assign read_dirty  = level + level_t'(dut.match_valid_q) < level_t'(dut.dirty_q);
    assign match_dirty = level < level_t'(dut.dirty_q);
    `ASSERT(ReadClean,
            !(dut.read_valid_q && read_mine && read_there_q) || read_dirty ||
            (there_q && read_id_q == there_id_q))
    `ASSERT(MatchClean,
            !(dut.match_valid_q && match_mine && match_there_q) || match_dirty ||
            (there_q && match_id_q == there_id_q))
    for (genvar i = 0; i < Line; i++) begin : gen_line_now
      logic of_mine, stale, dirty;
      head_t word;
      assign word    = queued(i);
      assign of_mine = i < level && tag_of(word.seg, word.name) == tag_q;
      assign stale   = i < dut.stale_q;
      assign dirty   = i < dut.dirty_q;
      `ASSERT(LineAddr, !of_mine || word.addr == addr)
      `ASSERT(LineNone, !of_mine || word.hit || stale || !there_q)
      // Looked up before the last delete: perhaps gone. Before the last insert as well: its id may be
      // another's.
      `ASSERT(LineHit, !(of_mine && word.hit) || (stale && dirty) || right(1'b1, word.id))
      `ASSERT(LineClean, !(of_mine && word.hit && !dirty) || (there_q && word.id == there_id_q))
    end
    `ASSERT(OfferedRight, !(offered && head_mine && dut.head.hit) || right(1'b1, dut.head.id))

    logic fewer1;
    assign fewer1 = $countones(dut.used_q[1]) < $countones(dut.used_q[0]);
    `ASSERT(PickTable, !(dut.phase_q >= Full) || dut.pick1_q == fewer1)
    `ASSERT(PickFree, !(dut.decide && dut.why_q == '0) || !dut.used_q[dut.pick1_q][dut.pick_way_q])
    `ASSERT(PickFull, !(dut.decide && dut.why_q[2]) || dut.used_q == '1)

    // ------------------------------------------------ reached
`ifdef COVER
    `FV_ASSUME(Sums, hash_ready_i && {hash_ip_i, hash_port_i} == '0)  // soon found
`endif
    `FV_SEEN(opened, mine && found.fresh)
    `FV_SEEN(gone, opened && !there_q)
    `FV_COVER(Opens, mine && found.fresh)
    `FV_COVER(Finds, mine && there_q && found.hit && !found.fresh)
    `FV_COVER(Gone, mine && gone && !found.hit)
    `FV_COVER(OpensAgain, mine && gone && found.fresh)
    `FV_COVER(SecondTable, there_q && there.table1)
    `FV_COVER(IdBack, dut.back_valid && there_q)
    `FV_COVER(Refuses, mine && refused[0])
    `FV_COVER(LooksAgain, dut.compare && head_mine && there_q)
  end
endmodule
