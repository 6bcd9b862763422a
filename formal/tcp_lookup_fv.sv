// tcp_lookup, seen through a peer that the prover chooses: a segment of that peer finds exactly the
// connection that was given to it and is not over, by the id it was given; no second one is made
// beside it; no id is given to two connections, and none is lost.
`include "fv.svh"
`include "lib_assert.svh"

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
  input logic [31:0] isn_base_i,
  input logic        limit_i,
  input logic        seg_valid_i,
  input seg_t        seg_i,
  input logic        found_ready_i,
  input logic        del_valid_i,
  input conn_t       del_i
);
  `FV_RESET

  localparam int unsigned IdW = $clog2(Conns);
  localparam int unsigned AddrW = IdW - 1;
  localparam int unsigned Ways = 4;
  typedef logic [IdW-1:0] id_t;
  typedef struct packed {
    logic        valid;
    logic [47:0] peer;
    id_t         id;
  } way_t;
  typedef struct packed {
    logic             table1;
    logic [1:0]       way;
    logic [AddrW-1:0] addr;
  } place_t;

  // The chosen peer; the secret does not change.
  logic [127:0] secret_q;
  logic [47:0] peer_q;
  always_ff @(posedge clk_i) begin
    secret_q <= secret_q;
    peer_q   <= peer_q;
  end

  logic seg_ready, found_valid, del_ready, taken, low, idle;
  logic [2:0] refused;
  found_t found;
  tcp_lookup #(
    .Conns(Conns)
  ) dut (
    .clk_i,
    .rst_ni,
    .secret_i     (secret_q),
    .isn_base_i,
    .limit_i,
    .seg_valid_i,
    .seg_ready_o  (seg_ready),
    .seg_i,
    .found_valid_o(found_valid),
    .found_ready_i,
    .found_o      (found),
    .del_valid_i,
    .del_ready_o  (del_ready),
    .del_i,
    .taken_o      (taken),
    .low_o        (low),
    .refused_o    (refused),
    .idle_o       (idle)
  );

  function automatic logic [47:0] peer_of(input seg_t seg);
    return {seg.peer.ip, seg.peer.port};
  endfunction

  // ------------------------------------------------ what there is
  logic [Conns-1:0] live_q;  // ids given and not yet taken back
  logic there_q;             // the chosen peer has a connection, and this id
  id_t there_id_q;
  logic match_mine;
  assign match_mine = peer_of(dut.match_seg_q) == peer_q;

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
        if (match_mine) begin
          there_q    <= 1'b1;
          there_id_q <= dut.new_id;
        end
      end
      if (dut.del_write) begin
        live_q[dut.del_id_q] <= 1'b0;
        if (dut.del_id_q == there_id_q) there_q <= 1'b0;
      end
    end
    if (dut.hash_valid_q) begin
      read_there_q <= there_q;
      read_id_q    <= there_id_q;
      read_place_q <= there;
    end
    if (dut.read_valid_q) begin
      match_there_q <= read_there_q;
      match_id_q    <= read_id_q;
      match_place_q <= read_place_q;
    end
  end

  // ------------------------------------------------ invariants: the pipe
  logic hash_syn, read_syn, match_syn;
  assign hash_syn  = dut.hash_valid_q && dut.wants_open(dut.hash_seg_q.flags);
  assign read_syn  = dut.read_valid_q && dut.wants_open(dut.read_seg_q.flags);
  assign match_syn = dut.match_valid_q && dut.match_syn;
  // A SYN is alone behind the segments before it, and settled when its number is there.
  `ASSERT(OneSyn, 2'(hash_syn) + 2'(read_syn) + 2'(match_syn) == 2'(dut.syn_q))
  `ASSERT(LastRead, !read_syn || !dut.hash_valid_q)
  `ASSERT(LastMatch, !match_syn || !(dut.hash_valid_q || dut.read_valid_q))
  `ASSERT(Rounds, dut.u_isn.run_q == (dut.u_isn.round_q != '0))
  `ASSERT(RoundHash, !hash_syn || dut.u_isn.round_q == 4'd8)
  `ASSERT(RoundRead, !read_syn || dut.u_isn.round_q == 4'd7)
  `ASSERT(RoundMatch, !match_syn || dut.u_isn.round_q <= 4'd6)
  `ASSERT(DeletingLive, !dut.del_write_q || live_q[dut.del_id_q])

  // Room for the answers.
  logic [5:0] under_way;
  assign under_way = 6'(dut.found_level) + 6'(dut.hash_valid_q) + 6'(dut.read_valid_q) +
                     6'(dut.match_valid_q);
  `ASSERT(Room, under_way <= 6'd16)
  `ASSERT(RoomSeen, !dut.found_room || dut.found_level <= 5'd11)
  `ASSERT(FoundReady, dut.u_found.wait_level == dut.found_level)
  `ASSERT(FoundWrite, dut.u_found.waddr_q == 4'(dut.u_found.raddr_q + 4'(dut.found_level)))

  // Ids that came back.
  logic [IdW:0] back_level;
  assign back_level = dut.u_back.level_q;
  `ASSERT(BackRange, 32'(back_level) <= Conns)
  `ASSERT(BackReady, dut.u_back.wait_level == back_level)
  `ASSERT(BackWrite, dut.u_back.waddr_q == id_t'(dut.u_back.raddr_q + id_t'(back_level)))

  // ------------------------------------------------ ids
  if (!Ids) begin : gen_ids_known
    `FV_ASSUME(IdOnce, !dut.insert || !live_q[dut.new_id])
    `FV_ASSUME(Room, !dut.del_write || dut.unused_back_ready)
  end else begin : gen_ids
    `ASSERT(IdOnce, !dut.insert || !live_q[dut.new_id])
    `ASSERT(RefusedNoId, !refused[1] || live_q == '1)

    // Every id is live, or in the queue, or was never used.
    function automatic id_t queued(input int unsigned place);
      return dut.u_back.gen_small.mem_q[id_t'(dut.u_back.raddr_q+place)];
    endfunction
    for (genvar i = 0; i < Conns; i++) begin : gen_id
      `ASSERT(LiveUsed, !live_q[i] || i < dut.unused_q)
      id_t id;
      assign id = queued(i);
      `ASSERT(QueuedUsed, !(i < back_level) || ((IdW + 1)'(id) < dut.unused_q && !live_q[id]))
      for (genvar j = 0; j < i; j++) begin : gen_other
        `ASSERT(Distinct, !(i < back_level) || id != queued(j))
      end
    end
    `ASSERT(Unused, 32'(dut.unused_q) <= Conns)
    `ASSERT(AllIds, (IdW + 1)'($countones(live_q)) + back_level == dut.unused_q)
    `ASSERT(Free, dut.free_q == (IdW + 1)'(Conns) - (IdW + 1)'($countones(live_q)))
  end

  if (!Ids) begin : gen_found
    // ------------------------------------------------ what is said of it
    logic mine;
    assign mine = dut.fire && match_mine;
    `ASSERT(Finds,
            !(mine && match_there_q) ||
                   (dut.found.hit && !dut.found.fresh && dut.found.conn == conn_t'(match_id_q)))
    `ASSERT(NothingElse, !(mine && !match_there_q) || dut.found.hit == dut.found.fresh)
    `ASSERT(Fresh, !(dut.fire && dut.found.fresh) || (dut.insert && dut.new_id == dut.found.conn))
    `ASSERT(OnlyOne, !(mine && dut.insert) || !there_q)
    `ASSERT(RefusedFull, !refused[2] || dut.used_q == '1)

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

    // The hash depends on nothing but the secret and the peer. So there is a value that it always has
    // for the chosen peer; which one does not matter.
    logic [2*AddrW-1:0][7:0] part, part_q;
    logic [1:0][AddrW-1:0] addr;
    logic [127:0] key;
    logic [47:0] seg_peer;
    assign key      = {secret_q[63:0], secret_q[127:64]};
    assign seg_peer = peer_of(seg_i);
    always_ff @(posedge clk_i) part_q <= part_q;
    always_comb begin
      for (int unsigned i = 0; i < 2 * AddrW; i++) begin
        for (int unsigned k = 0; k < 8; k++) part[i][k] = ^(seg_peer[6*k+:6] & key[i+6*k+:6]);
        addr[i/AddrW][i%AddrW] = ^part_q[i];
      end
    end
    `ASSERT(Hash, dut.part == part)
    `FV_ASSUME(HashOfPeer, seg_peer != peer_q || dut.part == part_q)

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
                !(dut.clear_q > {1'b0, addr[t]}) || (way.valid && way.peer == peer_q) ==
                       (there_q && there == {1'(t), 2'(w), addr[t]}))
      end
    end
    `ASSERT(Cleared,
            dut.cleared || !(dut.hash_valid_q || dut.read_valid_q || dut.match_valid_q ||
                                      dut.del_write_q || there_q || live_q != '0))
    `ASSERT(ClearRange, dut.clear_q <= {1'b1, AddrW'(0)})

    // ------------------------------------------------ invariants: the pipe
    logic read_mine;
    assign read_mine = peer_of(dut.read_seg_q) == peer_q;
    `ASSERT(HashAddr, !(dut.hash_valid_q && peer_of(dut.hash_seg_q) == peer_q) || dut.addr == addr)
    `ASSERT(ReadAddr, !(dut.read_valid_q && read_mine) || dut.read_addr_q == addr)
    `ASSERT(MatchAddr, !(dut.match_valid_q && match_mine) || dut.match_addr_q == addr)
    for (genvar t = 0; t < 2; t++) begin : gen_pipe_table
      for (genvar w = 0; w < Ways; w++) begin : gen_way
        logic read_hit, read_there, match_there;
        assign read_hit    = dut.ways[t][w].valid && dut.ways[t][w].peer == peer_q;
        assign read_there  = read_there_q && read_place_q == {1'(t), 2'(w), addr[t]};
        assign match_there = match_there_q && match_place_q == {1'(t), 2'(w), addr[t]};
        `ASSERT(ReadHit, !(dut.read_valid_q && read_mine) || read_hit == read_there)
        `ASSERT(ReadId,
                !(dut.read_valid_q && read_mine && read_there) || dut.ways[t][w].id == read_id_q)
        `ASSERT(MatchHit, !(dut.match_valid_q && match_mine) || dut.hit_q[t][w] == match_there)
        `ASSERT(MatchId,
                !(dut.match_valid_q && match_mine && match_there) || dut.id_q[t][w] == match_id_q)
        // A way that a SYN found free stays free while it waits.
        `ASSERT(ReadFree, !(read_syn && !dut.ways[t][w].valid) || !way_at(
                '{table1: 1'(t), way: 2'(w), addr: dut.read_addr_q[t]}).valid)
        `ASSERT(MatchFree, !(match_syn && !dut.used_q[t][w]) || !way_at(
                '{table1: 1'(t), way: 2'(w), addr: dut.match_addr_q[t]}).valid)
      end
    end
    `ASSERT(ReadThere,
            !(dut.read_valid_q && read_there_q) || read_place_q.addr == addr[read_place_q.table1])
    `ASSERT(
        MatchThere,
        !(dut.match_valid_q && match_there_q) || match_place_q.addr == addr[match_place_q.table1])
    `ASSERT(NewRead, !(read_syn && read_mine && !read_there_q) || !there_q)
    `ASSERT(NewMatch, !(match_syn && match_mine && !match_there_q) || !there_q)
    logic fewer1, settled;
    assign fewer1  = $countones(dut.used_q[1]) < $countones(dut.used_q[0]);
    assign settled = match_syn && dut.u_isn.round_q <= 4'd4;
    `ASSERT(PickTable, !(match_syn && dut.u_isn.round_q <= 4'd5) || dut.pick1_q == fewer1)
    `ASSERT(PickFree, !(settled && !dut.full_q) || !dut.used_q[dut.pick1_q][dut.pick_way_q])
    `ASSERT(PickFull, !(settled && dut.full_q) || dut.used_q == '1)
  end
endmodule
