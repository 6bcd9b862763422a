// Finds a segment's connection, gives ids to those whose handshake is complete and takes them back:
// the only owner of the lookup table. Latency 4, initiation interval 1; a SYN, or an ACK of no
// connection, waits 12 clocks more at the exit for its cookie, while others come in and line up
// behind it. What completes a handshake is looked up again there, with the pipe empty, which takes 5
// to 8 clocks. So is then whatever stood in line without a connection, for it may have one now, or
// with one of which the id may be another's now.
//
// The table is two-choice set-associative: a peer (address and port, and to which of our addresses it
// speaks) has one bucket of four ways in each of two RAMs, and goes to the emptier one. With four places
// per connection a pair of full buckets practically never happens; if it does, the connection is
// refused. Buckets are chosen by a Toeplitz hash under a secret, so that no client can aim at one. That
// hash is linear: under one secret of 150 the ports of a thousand connections opened in a row meet so few
// buckets that some overflow. So each bit of a bucket's place is a quadratic function of five bits of it.
//
// In the table an IPv6 address goes by its name, the address's share of that hash. Two have the same one once in
// 2^32; whoever comes with the address, port and name of another finds that one's connection, in whose
// words the whole address stands (see tcp_diff).
`include "lib_assert.svh"

module tcp_lookup
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two, 16..16384.
  parameter int unsigned Conns = 1024,
  /// Segments that can wait at the exit: a power of two, 8..32. With 32 as many SYNs as clocks.
  parameter int unsigned Line = 32
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] secret_i,
  /// Time, for cookies: see tcp_cookie.
  input  logic [15:0]  epoch_i,
  /// The largest payload that we send, and take.
  input  logic [13:0]  own_mss_i,
  /// The table is as full as the user allows: refuse new peers.
  input  logic         limit_i,
  /// SYNs were answered a few seconds ago: what comes may be of such a handshake.
  input  logic         shaking_i,
  /// Segments.
  input  logic         seg_valid_i,
  output logic         seg_ready_o,
  input  seg_t         seg_i,
  /// The same with their connections.
  output logic         found_valid_o,
  input  logic         found_ready_i,
  output found_t       found_o,
  /// Ids whose connection is over.
  input  logic         del_valid_i,
  output logic         del_ready_o,
  input  conn_t        del_i,
  /// Mark the last segment that was chosen to be sent; some that were no later are not read yet.
  output logic         mark_o,
  input  logic         earlier_i,
  /// A connection was given an id.
  output logic         taken_o,
  /// Few ids are left; a clock late.
  output logic         low_o,
  /// Why a connection was refused: limit, no id, no way.
  output logic [2:0]   refused_o,
  /// A cookie was made.
  output logic         syn_o,
  output logic         idle_o
);

  localparam int unsigned IdW = $clog2(Conns);
  // The last id that can be named is the request port's.
  localparam int unsigned Ids = (Conns == 16384) ? Conns - 1 : Conns;
  localparam int unsigned Buckets = Conns / 2;  // of each table
  localparam int unsigned AddrW = $clog2(Buckets);
  localparam int unsigned Ways = 4;
  // Room for one segment in each stage.
  localparam int unsigned LineRoom = Line - 4;
  localparam int unsigned LevelW = $clog2(Line + 1);
  // TIME_WAIT is cut short when fewer ids are free.
  localparam int unsigned Reserve = (Conns >= 64) ? 8 : 2;

  if (Conns < 16 || Conns > 16384 || (Conns & (Conns - 1)) != 0) begin : gen_bad_conns
    $error("%m: Conns must be a power of two from 16 to 16384");
  end
  if (Line < 8 || Line > 32 || (Line & (Line - 1)) != 0) begin : gen_bad_line
    $error("%m: Line must be a power of two from 8 to 32");
  end

  typedef logic [31:0] name_t;
  typedef struct packed {
    ours_e       ours;
    logic        redis;
    name_t       name;
    logic [15:0] port;
  } tag_t;
  typedef struct packed {
    logic           valid;
    tag_t           tag;
    logic [IdW-1:0] id;
  } way_t;
  localparam int unsigned WayBits = $bits(way_t);

  typedef struct packed {
    logic             table1;
    logic [1:0]       way;
    logic [AddrW-1:0] addr;
  } place_t;

  typedef struct packed {
    seg_t                  seg;
    name_t                 name;
    logic [1:0][AddrW-1:0] addr;
    logic                  stranger;  // it needs a cookie, or may have one
    logic                  hit;
    logic [IdW-1:0]        id;
  } head_t;

  // The first segment of a handshake, and one that may be the last.
  localparam tcp_flags_t Syn = '{syn: 1'b1, default: 1'b0};
  localparam tcp_flags_t Ack = '{ack: 1'b1, default: 1'b0};
  localparam tcp_flags_t Kinds = '{syn: 1'b1, ack: 1'b1, rst: 1'b1, default: 1'b0};

  // ---------------------------------------------------------------- clear the table after reset
  logic [AddrW:0] clear_q;
  logic cleared;
  assign cleared = clear_q[AddrW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!cleared) clear_q <= clear_q + 1'b1;
  end

  // ---------------------------------------------------------------- hash, first half
  localparam int unsigned NameW = $bits(name_t);
  logic accept, again, line_room;
  logic [LevelW-1:0] line_level;

  logic hash_ready;
  assign seg_ready_o = cleared && hash_ready && !again && line_room;
  assign accept      = seg_valid_i && seg_ready_o;

  logic hash_valid_q, read_valid_q, match_valid_q;
  seg_t hash_seg_q, read_seg_q, match_seg_q;
  name_t hash_ip, hash_port;

  tcp_toeplitz u_toeplitz (
    .clk_i,
    .rst_ni,
    .secret_i,
    .ready_o(hash_ready),
    .valid_i(accept),
    .ip_i   (seg_i.peer.ip),
    .port_i (seg_i.peer.port),
    .ip_o   (hash_ip),
    .port_o (hash_port)
  );

  always_ff @(posedge clk_i) if (accept) hash_seg_q <= seg_i;

  // ---------------------------------------------------------------- hash, second half; read
  logic [1:0][AddrW-1:0] addr, read_addr_q, match_addr_q;
  name_t hash, name, match_name_q;
  always_comb begin
    name = hash_ip;
    hash = hash_ip ^ hash_port;
    for (int unsigned i = 0; i < 2 * AddrW; i++) begin
      addr[i/AddrW][i%AddrW] = hash[i] ^ (hash[(i+7)%NameW] && hash[(i+18)%NameW]) ^
          (hash[(i+11)%NameW] && hash[(i+23)%NameW]);
    end
    // An IPv4 address is a name.
    if (ours_of(hash_seg_q.peer) == OursIp4) name = hash_seg_q.peer.ip[31:0];
  end

  // A second look is taken when nobody is in the pipe.
  logic look;
  head_t head;
  logic [1:0][AddrW-1:0] ram_raddr;
  assign ram_raddr = look ? head.addr : addr;

  logic [1:0] ram_we;
  logic [AddrW-1:0] ram_waddr;
  logic [Ways-1:0] ram_wbe;
  way_t ram_wdata;
  way_t [1:0][Ways-1:0] ways;

  for (genvar t = 0; t < 2; t++) begin : gen_table
    lib_ram #(
      .Width    (Ways * WayBits),
      .Depth    (Buckets),
      .ByteWidth(WayBits)
    ) u_ram (
      .clk_i,
      .we_i   (ram_we[t]),
      .waddr_i(ram_waddr),
      .wbe_i  (ram_wbe),
      .wdata_i({Ways{ram_wdata}}),
      .re_i   (hash_valid_q || look),
      .raddr_i(ram_raddr[t]),
      .rdata_o(ways[t])
    );
  end

  // Which of the two is compared is chosen while the table is read.
  tag_t hash_tag, head_tag, read_tag_q;
  assign head_tag = '{ours: ours_of(head.seg.peer), redis: head.seg.peer.redis, name: head.name,
                      port: head.seg.peer.port};
  assign hash_tag = '{ours: ours_of(hash_seg_q.peer), redis: hash_seg_q.peer.redis, name: name,
                      port: hash_seg_q.peer.port};
  always_ff @(posedge clk_i) begin
    if (hash_valid_q || look) read_tag_q <= hash_valid_q ? hash_tag : head_tag;
    if (hash_valid_q) begin
      read_seg_q  <= hash_seg_q;
      read_addr_q <= addr;
    end
  end

  // ---------------------------------------------------------------- compare
  logic [1:0][Ways-1:0] hit, hit_q, used_q;
  logic [1:0][Ways-1:0][IdW-1:0] id_q;
  tcp_flags_t kind;
  logic compare;  // for the second look
  logic known, stranger;

  always_comb begin
    for (int unsigned t = 0; t < 2; t++) begin
      for (int unsigned w = 0; w < Ways; w++) begin
        hit[t][w] = ways[t][w].valid && ways[t][w].tag == read_tag_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hash_valid_q  <= 1'b0;
      read_valid_q  <= 1'b0;
      match_valid_q <= 1'b0;
    end else begin
      hash_valid_q  <= accept;
      read_valid_q  <= hash_valid_q;
      match_valid_q <= read_valid_q;
    end
    if (read_valid_q) begin
      match_seg_q  <= read_seg_q;
      match_name_q <= read_tag_q.name;
      match_addr_q <= read_addr_q;
    end
    if (read_valid_q || compare) begin
      hit_q <= hit;
      for (int unsigned t = 0; t < 2; t++) begin
        for (int unsigned w = 0; w < Ways; w++) begin
          used_q[t][w] <= ways[t][w].valid;
          id_q[t][w]   <= ways[t][w].id;
        end
      end
    end
  end

  logic [IdW-1:0] hit_id;
  always_comb begin
    hit_id = '0;
    for (int unsigned t = 0; t < 2; t++) begin
      for (int unsigned w = 0; w < Ways; w++) hit_id |= hit_q[t][w] ? id_q[t][w] : '0;
    end
  end
  assign known    = |hit_q;
  assign kind     = match_seg_q.flags & Kinds;
  assign stranger = kind == Syn || (kind == Ack && !known);

  // ---------------------------------------------------------------- the line, and cookies
  logic told, cookie_valid, line_valid, pop, unused_line_ready, unused_cookie_ready;
  cookie_t made, cookie, kept;

  lib_fifo #(
    .T    (head_t),
    .Depth(Line)
  ) u_line (
    .clk_i,
    .rst_ni,
    .s_valid_i(match_valid_q),
    .s_ready_o(unused_line_ready),
    .s_data_i ('{
        seg: match_seg_q,
        name: match_name_q,
        addr: match_addr_q,
        stranger: stranger,
        hit: known,
        id: hit_id
    }),
    .m_valid_o(line_valid),
    .m_ready_i(pop),
    .m_data_o (head),
    .level_o  (line_level)
  );
  always_ff @(posedge clk_i) line_room <= rst_ni && 32'(line_level) < LineRoom - 1;
  `ASSERT(fits_line_room, !match_valid_q || unused_line_ready)

  tcp_cookie u_cookie (
    .clk_i,
    .rst_ni,
    .key_i    (secret_i[63:0]),
    .epoch_i,
    .own_mss_i,
    .valid_i  (match_valid_q && stranger),
    .seg_i    (match_seg_q),
    .valid_o  (told),
    .cookie_o (made)
  );

  always_comb begin
    kept       = made;
    kept.early = made.early && shaking_i;
  end

  // One for each stranger in the line, in order.
  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY
  lib_fifo #(
    .T    (cookie_t),
    .Depth(Line)
  ) u_cookies (
    .clk_i,
    .rst_ni,
    .s_valid_i(told),
    .s_ready_o(unused_cookie_ready),
    .s_data_i (kept),
    .m_valid_o(cookie_valid),
    .m_ready_i(pop && head.stranger),
    .m_data_o (cookie),
    .level_o  ()
  );
  `ASSERT(fits_cookie_room, !told || unused_cookie_ready)

  // ---------------------------------------------------------------- second look
  // Drain: until the pipe is empty; then the table is read. Pick, Full: is there room, and where?
  // Decide: as the head of the line is handed on, its connection is made.
  typedef enum logic [2:0] {
    Idle,
    Drain,
    Compare,
    Pick,
    Full,
    Decide
  } phase_e;
  phase_e phase_q;
  // So many at most, from the head on, were looked up before the last insert, and the last delete.
  logic [LevelW-1:0] stale_q, dirty_q;
  logic head_syn, settled, unsure, decide, complete, refuse, fresh, insert, del_write;
  logic shown_q;  // what is offered stays
  logic pick1_q;
  logic [1:0] pick_way_q;
  logic [Ways-1:0] pick_used;
  logic [2:0] why, why_q;
  logic refuse_q, fresh_q;

  assign head_syn = head.seg.flags.syn;
  assign settled  = line_valid && (!head.stranger || cookie_valid);
  assign complete = head.stranger && !head_syn && cookie.completes;
  assign unsure   = complete || (!shown_q && stale_q != '0 && (!head.hit || dirty_q != '0));
  assign again    = phase_q != Idle;
  assign look     = phase_q == Drain && !(hash_valid_q || read_valid_q || match_valid_q);
  assign compare   = phase_q == Compare;
  assign decide   = phase_q == Decide;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= Idle;
      stale_q <= '0;
      dirty_q <= '0;
      shown_q <= 1'b0;
    end else begin
      shown_q <= found_valid_o && !found_ready_i;
      unique case (phase_q)
        Idle:    if (settled && unsure) phase_q <= Drain;
        Drain:   if (look) phase_q <= Compare;
        Compare: phase_q <= Pick;
        Pick:    phase_q <= Full;
        Full:    phase_q <= Decide;
        default: if (pop) phase_q <= Idle;  // Decide
      endcase
      if (insert) stale_q <= line_level - 1'b1;
      else if (pop && stale_q != '0) stale_q <= stale_q - 1'b1;
      // As many as there can be: to look at some again that came later is no harm.
      if (del_write) dirty_q <= LevelW'(Line);
      else if (pop && dirty_q != '0) dirty_q <= dirty_q - 1'b1;
    end
  end

  // ---------------------------------------------------------------- decide
  // Ids that were never used come from a counter, the others from a queue.
  logic [IdW:0] unused_q;
  logic all_used;
  assign all_used = unused_q == (IdW + 1)'(Ids);
  logic back_valid, back_ready, may_go, id_valid, full, silent;
  logic [IdW-1:0] back_id, new_id;
  assign id_valid = !all_used || (back_valid && may_go);
  assign new_id   = all_used ? back_id : unused_q[IdW-1:0];

  assign pick_used = used_q[pick1_q];
  assign full      = &pick_used;
  assign why       = {full && id_valid && !limit_i, !id_valid && !limit_i, limit_i};
  always_ff @(posedge clk_i) begin
    pick1_q    <= $countones(used_q[1]) < $countones(used_q[0]);
    pick_way_q <= !pick_used[0] ? 2'd0 : !pick_used[1] ? 2'd1 : !pick_used[2] ? 2'd2 : 2'd3;
    // Stays: no id can be lost meanwhile.
    if (phase_q == Full) begin
      why_q    <= why;
      refuse_q <= !known && complete && why != '0;
      fresh_q  <= !known && complete && why == '0;
    end
  end

  assign refuse = decide && refuse_q;
  assign fresh  = decide && fresh_q;
  // As `pop`: without a settled head nothing is decided.
  assign insert = fresh && found_ready_i;
  // The peer sends the rest again; or there is nothing left to say.
  assign silent = head.stranger && !head_syn && !(decide && known) &&
      (cookie.early || (cookie.bye && head.seg.len == '0 && !head.seg.flags.fin));

  assign taken_o   = insert;
  assign syn_o     = pop && head.stranger && head_syn;
  assign refused_o = (pop && refuse) ? why_q : '0;

  assign found_valid_o = settled && (!unsure || decide);
  assign pop           = found_valid_o && found_ready_i;
  assign found_o       = '{
          seg: head.seg,
          conn: decide ? (known ? conn_t'(hit_id) : fresh ? conn_t'(new_id) : '0) :
                head.hit ? conn_t'(head.id) : '0,
          hit: decide ? known || fresh : head.hit,
          fresh: fresh,
          refused: refuse,
          early: silent,
          crowded: 1'b0,
          dups: '0,
          isn: cookie.isn,
          carries: cookie.carries,
          agreed: cookie.agreed,
          sacked: '0,
          times: '0
      };
  `ASSERT_STABLE(FoundStable, found_valid_o, found_ready_i, {found_o.seg, found_o.conn,
                                                             found_o.hit, found_o.fresh,
                                                             found_o.refused, found_o.early})

  // ---------------------------------------------------------------- delete
  // Where an id stands in the table.
  place_t ins_place, del_place;
  logic del_read, del_write_q;
  logic [IdW-1:0] del_id_q;
  logic unused_del;  // the bits of an id beyond those in use are 0
  assign unused_del = ^(del_i >> IdW);
  assign ins_place = '{table1: pick1_q, way: pick_way_q, addr: head.addr[pick1_q]};

  lib_ram #(
    .Width($bits(place_t)),
    .Depth(Conns)
  ) u_place (
    .clk_i,
    .we_i   (insert),
    .waddr_i(new_id),
    .wbe_i  (1'b1),
    .wdata_i(ins_place),
    .re_i   (del_read),
    .raddr_i(del_i[IdW-1:0]),
    .rdata_o(del_place)
  );

  assign del_ready_o = cleared && !del_write_q;
  assign del_read    = del_valid_i && del_ready_o;
  assign del_write   = del_write_q && !insert;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) del_write_q <= 1'b0;
    else del_write_q <= del_read || (del_write_q && !del_write);
  end
  always_ff @(posedge clk_i) if (del_read) del_id_q <= del_i[IdW-1:0];

  always_comb begin
    ram_we    = {2{!cleared}};
    ram_waddr = clear_q[AddrW-1:0];
    ram_wbe   = '1;
    ram_wdata = '{valid: 1'b0, tag: head_tag, id: new_id};
    if (insert) begin
      ram_we          = 2'b01 << pick1_q;
      ram_waddr       = ins_place.addr;
      ram_wbe         = Ways'(1) << pick_way_q;
      ram_wdata.valid = 1'b1;
    end else if (del_write_q) begin
      ram_we    = 2'b01 << del_place.table1;
      ram_waddr = del_place.addr;
      ram_wbe   = Ways'(1) << del_place.way;
    end
  end

  // ---------------------------------------------------------------- free ids
  // Segments of a connection that is over may be chosen and not read yet, and the next one with its id
  // writes to the same ring: so ids wait, all that have come together, for what was chosen before.
  typedef logic [$clog2(Conns+1)-1:0] ids_t;
  ids_t back_level, ripe_q, asked_q;  // of those in the queue, from its front on: may go, wait
  logic waits_q, ripens, unused_back_ready;
  assign mark_o = asked_q == '0 && back_level != ripe_q;
  assign ripens = asked_q != '0 && !waits_q;
  assign may_go = ripe_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ripe_q  <= '0;
      asked_q <= '0;
      waits_q <= 1'b0;
    end else begin
      ripe_q  <= ripe_q + (ripens ? asked_q : '0) - ids_t'(back_ready);
      asked_q <= mark_o ? back_level - ripe_q : ripens ? '0 : asked_q;
      waits_q <= mark_o || (waits_q && earlier_i);
    end
  end
  `ASSERT(GivenRipe, !back_ready || may_go)

  assign back_ready = insert && all_used;
  lib_fifo #(
    .T    (logic [IdW-1:0]),
    .Depth(Conns)
  ) u_back (
    .clk_i,
    .rst_ni,
    .s_valid_i(del_write),
    .s_ready_o(unused_back_ready),
    .s_data_i (del_id_q),
    .m_valid_o(back_valid),
    .m_ready_i(back_ready),
    .m_data_o (back_id),
    .level_o  (back_level)
  );
  `ASSERT(fits_back_room, !del_write || unused_back_ready)

  always_ff @(posedge clk_i) begin
    if (!rst_ni) unused_q <= '0;
    else if (insert && !all_used) unused_q <= unused_q + 1'b1;
  end

  logic [IdW:0] free_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) free_q <= (IdW + 1)'(Ids);
    else free_q <= free_q + (IdW + 1)'(del_write) - (IdW + 1)'(insert);
    low_o <= free_q < (IdW + 1)'(Reserve);
  end

  assign idle_o = cleared && hash_ready && !hash_valid_q && !read_valid_q && !match_valid_q &&
      line_level == '0 && !del_write_q;

endmodule
