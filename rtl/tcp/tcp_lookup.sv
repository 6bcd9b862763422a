// Finds a segment's connection, gives ids to new ones and takes them back: the only owner of the
// lookup table. Latency 4, initiation interval 1; a SYN takes 12 clocks, during which no other
// segment enters.
//
// The table is two-choice set-associative: a peer (address and port) has one bucket of four ways in
// each of two RAMs, and goes to the emptier one. With four places per connection a pair of full
// buckets practically never happens; if it does, the SYN is refused. Buckets are chosen by a
// Toeplitz hash under a secret, so that no client can aim at one.
`include "lib_assert.svh"

module tcp_lookup
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections: a power of two, 16..16384.
  parameter int unsigned Conns = 1024
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] secret_i,
  /// Clock part of new initial sequence numbers.
  input  logic [31:0]  isn_base_i,
  /// The table is as full as the user allows: refuse SYNs of new peers.
  input  logic         limit_i,
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
  /// A SYN was given an id.
  output logic         taken_o,
  /// Few ids are left.
  output logic         low_o,
  /// Why a SYN was refused: limit, no id, no way.
  output logic [2:0]   refused_o,
  output logic         idle_o
);

  localparam int unsigned IdW = $clog2(Conns);
  localparam int unsigned Buckets = Conns / 2;  // of each table
  localparam int unsigned AddrW = $clog2(Buckets);
  localparam int unsigned Ways = 4;
  localparam int unsigned OutDepth = 16;
  // Room for one segment in each stage.
  localparam int unsigned OutRoom = OutDepth - 4;
  // TIME_WAIT is cut short when fewer ids are free.
  localparam int unsigned Reserve = (Conns >= 64) ? 8 : 2;

  if (Conns < 16 || Conns > 16384 || (Conns & (Conns - 1)) != 0) begin : gen_bad_conns
    $error("%m: Conns must be a power of two from 16 to 16384");
  end

  typedef struct packed {
    logic           valid;
    logic [47:0]    peer;
    logic [IdW-1:0] id;
  } way_t;
  localparam int unsigned WayBits = $bits(way_t);

  typedef struct packed {
    logic             table1;
    logic [1:0]       way;
    logic [AddrW-1:0] addr;
  } place_t;

  // SYN and neither ACK nor RST.
  localparam tcp_flags_t OpenFlags = '{syn: 1'b1, default: 1'b0};
  localparam tcp_flags_t OpenMask = '{syn: 1'b1, ack: 1'b1, rst: 1'b1, default: 1'b0};

  function automatic logic wants_open(input tcp_flags_t flags);
    return (flags & OpenMask) == OpenFlags;
  endfunction

  // ---------------------------------------------------------------- clear the table after reset
  logic [AddrW:0] clear_q;
  logic cleared;
  assign cleared = clear_q[AddrW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!cleared) clear_q <= clear_q + 1'b1;
  end

  // ---------------------------------------------------------------- hash, first half
  // Bit i of the hash is the parity of the peer under key bits i .. i+47; kept as eight partial
  // parities for one clock.
  localparam int unsigned HashW = 2 * AddrW;
  logic [127:0] key;
  logic [47:0] peer;
  logic [HashW-1:0][7:0] part;
  assign key  = {secret_i[63:0], secret_i[127:64]};
  assign peer = {seg_i.peer.ip, seg_i.peer.port};
  always_comb begin
    for (int unsigned i = 0; i < HashW; i++) begin
      for (int unsigned k = 0; k < 8; k++) part[i][k] = ^(peer[6*k+:6] & key[i+6*k+:6]);
    end
  end

  logic accept, accept_syn, syn_q, fire;
  logic found_room;
  logic [$clog2(OutDepth+1)-1:0] found_level;

  assign seg_ready_o = cleared && !syn_q && found_room;
  assign accept      = seg_valid_i && seg_ready_o;
  assign accept_syn  = accept && wants_open(seg_i.flags);

  logic hash_valid_q, read_valid_q, match_valid_q;
  seg_t hash_seg_q, read_seg_q, match_seg_q;
  logic [HashW-1:0][7:0] hash_part_q;

  always_ff @(posedge clk_i) begin
    if (accept) begin
      hash_seg_q  <= seg_i;
      hash_part_q <= part;
    end
  end

  // ---------------------------------------------------------------- hash, second half; read
  logic [1:0][AddrW-1:0] addr, read_addr_q, match_addr_q;
  always_comb begin
    for (int unsigned i = 0; i < AddrW; i++) begin
      addr[0][i] = ^hash_part_q[i];
      addr[1][i] = ^hash_part_q[AddrW+i];
    end
  end

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
      .re_i   (hash_valid_q),
      .raddr_i(addr[t]),
      .rdata_o(ways[t])
    );
  end

  always_ff @(posedge clk_i) begin
    if (hash_valid_q) begin
      read_seg_q  <= hash_seg_q;
      read_addr_q <= addr;
    end
  end

  // ---------------------------------------------------------------- compare
  logic [1:0][Ways-1:0] hit_q, used_q;
  logic [1:0][Ways-1:0][IdW-1:0] id_q;
  logic [47:0] read_peer;
  assign read_peer = {read_seg_q.peer.ip, read_seg_q.peer.port};

  always_ff @(posedge clk_i) begin
    if (read_valid_q) begin
      match_seg_q  <= read_seg_q;
      match_addr_q <= read_addr_q;
      for (int unsigned t = 0; t < 2; t++) begin
        for (int unsigned w = 0; w < Ways; w++) begin
          hit_q[t][w]  <= ways[t][w].valid && ways[t][w].peer == read_peer;
          used_q[t][w] <= ways[t][w].valid;
          id_q[t][w]   <= ways[t][w].id;
        end
      end
    end
  end

  // A SYN waits here for its initial sequence number; it is alone in the pipe.
  logic isn_done, match_syn;
  logic [31:0] isn_hash;
  assign match_syn = wants_open(match_seg_q.flags);
  assign fire      = match_valid_q && (!match_syn || isn_done);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      syn_q         <= 1'b0;
      hash_valid_q  <= 1'b0;
      read_valid_q  <= 1'b0;
      match_valid_q <= 1'b0;
    end else begin
      hash_valid_q  <= accept;
      read_valid_q  <= hash_valid_q;
      match_valid_q <= read_valid_q || (match_valid_q && !fire);
      if (accept_syn) syn_q <= 1'b1;
      else if (fire && match_syn) syn_q <= 1'b0;
    end
  end

  tcp_isn u_isn (
    .clk_i,
    .rst_ni,
    .key_i  (secret_i[63:0]),
    .start_i(accept_syn),
    .ip_i   (seg_i.peer.ip),
    .port_i (seg_i.peer.port),
    .done_o (isn_done),
    .hash_o (isn_hash)
  );

  // ---------------------------------------------------------------- decide
  logic hit, insert, refuse;
  logic full_q, pick1_q;  // settled long before a SYN's number is there
  logic [IdW-1:0] hit_id;
  logic [1:0] pick_way_q;
  logic [Ways-1:0] pick_used;

  // Ids that were never used come from a counter, the others from a queue.
  logic [IdW:0] unused_q;
  logic back_valid, back_ready, id_valid;
  logic [IdW-1:0] back_id, new_id;
  assign id_valid = !unused_q[IdW] || back_valid;
  assign new_id   = unused_q[IdW] ? back_id : unused_q[IdW-1:0];

  always_comb begin
    hit_id = '0;
    for (int unsigned t = 0; t < 2; t++) begin
      for (int unsigned w = 0; w < Ways; w++) hit_id |= hit_q[t][w] ? id_q[t][w] : '0;
    end
    hit       = |hit_q;
    refuse    = match_syn && !hit && (limit_i || !id_valid || full_q);
    insert    = fire && match_syn && !hit && !refuse;
  end

  assign pick_used = used_q[pick1_q];
  always_ff @(posedge clk_i) begin
    pick1_q    <= $countones(used_q[1]) < $countones(used_q[0]);
    full_q     <= &pick_used;
    pick_way_q <= !pick_used[0] ? 2'd0 : !pick_used[1] ? 2'd1 : !pick_used[2] ? 2'd2 : 2'd3;
  end

  assign taken_o   = insert;
  assign refused_o = (fire && refuse) ?
                     {full_q && id_valid && !limit_i, !id_valid && !limit_i, limit_i} : '0;

  found_t found;
  assign found = '{
          seg: match_seg_q,
          conn: hit ? conn_t'(hit_id) : conn_t'(new_id),
          hit: hit || insert,
          fresh: insert,
          drop: refuse,
          isn: isn_hash + isn_base_i
      };

  logic unused_found_ready;
  lib_fifo #(
    .T    (found_t),
    .Depth(OutDepth)
  ) u_found (
    .clk_i,
    .rst_ni,
    .s_valid_i(fire),
    .s_ready_o(unused_found_ready),
    .s_data_i (found),
    .m_valid_o(found_valid_o),
    .m_ready_i(found_ready_i),
    .m_data_o (found_o),
    .level_o  (found_level)
  );
  always_ff @(posedge clk_i) found_room <= rst_ni && 32'(found_level) < OutRoom - 1;
  `ASSERT(fits_found_room, !fire || unused_found_ready)

  // ---------------------------------------------------------------- delete
  // Where an id stands in the table.
  place_t ins_place, del_place;
  logic del_read, del_write_q, del_write;
  logic [IdW-1:0] del_id_q;
  logic unused_del;  // the bits of an id beyond those in use are 0
  assign unused_del = ^(del_i >> IdW);
  assign ins_place = '{table1: pick1_q, way: pick_way_q, addr: match_addr_q[pick1_q]};

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
    ram_wdata = '{valid: 1'b0, peer: {match_seg_q.peer.ip, match_seg_q.peer.port}, id: new_id};
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
  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY
  logic unused_back_ready;
  assign back_ready = insert && unused_q[IdW];
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
    .level_o  ()
  );
  `ASSERT(fits_back_room, !del_write || unused_back_ready)

  always_ff @(posedge clk_i) begin
    if (!rst_ni) unused_q <= '0;
    else if (insert && !unused_q[IdW]) unused_q <= unused_q + 1'b1;
  end

  logic [IdW:0] free_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) free_q <= (IdW + 1)'(Conns);
    else free_q <= free_q + (IdW + 1)'(del_write) - (IdW + 1)'(insert);
  end
  assign low_o = free_q < (IdW+1)'(Reserve);

  assign idle_o = cleared && !hash_valid_q && !read_valid_q && !match_valid_q && !found_valid_o &&
      found_level == '0 && !del_write_q;

endmodule
