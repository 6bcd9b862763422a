// One memory port of the card spread over several AXI ports of half the width, as HBM's pseudo channels have them.
// A line is a burst of two beats at one of them, its way. Latency on top of memory's 2 + 3 for a read, 2 + 2 for a write's
// address and answer, 2 for its data. Initiation interval 1; of each way 2.
//
// Line n of the port (its number without the Low lowest bits) is line n / Ways of way F(n), where F is the XOR of
// all digits of n to the base Ways. So each aligned group of Ways lines has one in every way, and so have steps by
// any power of two. A way's memory may be smaller than its addresses: a top that leaves out upper bits of them puts no
// two lines of a range in one place, if the range begins at a multiple of Ways lines and is no larger than all ways.
//
// Answers leave in the order of the requests; a bad one is bad for its line alone. An answer that does not
// have two beats is bad. Each read has room for its answer, so memory never waits. Ways are apart: where one does
// nothing, the others go on until Reads, or Writes, of one way wait, for its memory or for earlier answers to go.
//
// The reset is memory's, at power-up, and none of the card's: mem_axi counts on an answer to all it has asked.
`include "lib_assert.svh"

module mem_stripe
  import wirekv_pkg::*;
#(
  /// AXI ports of 256 bits, each with a memory of its own: 1, 2 or 4.
  parameter int unsigned Ways = 4,
  /// Lowest bits of a line's number that are the same for all lines of the port: 1 for ports 0 to 3 of the card, which
  /// have every other line, 0 for the rings.
  parameter int unsigned Low = 0,
  /// Bits of a byte's address in a way's memory; those above are left out. 29: a pseudo channel of 512 MiB.
  parameter int unsigned AddrBits = 29,
  /// Reads, and writes, of a way without an answer, at most: a power of two. The port asks for a line a clock, so four ways
  /// with memory of 280 ns, 70 clocks of 4 ns, have 19 under way each.
  parameter int unsigned Reads = 32,
  parameter int unsigned Writes = 32
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// The card's port: whole lines, len 0, size 6, one id.
  input  logic                   s_axi_awvalid,
  output logic                   s_axi_awready,
  input  logic [39:0]            s_axi_awaddr,
  input  logic                   s_axi_wvalid,
  output logic                   s_axi_wready,
  input  logic [511:0]           s_axi_wdata,
  input  logic [63:0]            s_axi_wstrb,
  output logic                   s_axi_bvalid,
  input  logic                   s_axi_bready,
  output logic [1:0]             s_axi_bresp,
  input  logic                   s_axi_arvalid,
  output logic                   s_axi_arready,
  input  logic [39:0]            s_axi_araddr,
  output logic                   s_axi_rvalid,
  input  logic                   s_axi_rready,
  output logic [511:0]           s_axi_rdata,
  output logic [1:0]             s_axi_rresp,
  output logic                   s_axi_rlast,
  /// AXI3 or AXI4 to memory, element w = way w, addresses from 0 in each. Every access is one burst of two beats: len 1,
  /// size 5, burst INCR, one id; a board's top adds those constants. Address and data of a write are independent; each
  /// may be taken first.
  output logic [Ways-1:0]        m_axi_awvalid,
  input  logic [Ways-1:0]        m_axi_awready,
  output logic [Ways-1:0][AddrBits-1:0] m_axi_awaddr,
  output logic [Ways-1:0]        m_axi_wvalid,
  input  logic [Ways-1:0]        m_axi_wready,
  output logic [Ways-1:0][255:0] m_axi_wdata,
  output logic [Ways-1:0][31:0]  m_axi_wstrb,
  output logic [Ways-1:0]        m_axi_wlast,
  input  logic [Ways-1:0]        m_axi_bvalid,
  output logic [Ways-1:0]        m_axi_bready,
  input  logic [Ways-1:0][1:0]   m_axi_bresp,
  output logic [Ways-1:0]        m_axi_arvalid,
  input  logic [Ways-1:0]        m_axi_arready,
  output logic [Ways-1:0][AddrBits-1:0] m_axi_araddr,
  input  logic [Ways-1:0]        m_axi_rvalid,
  output logic [Ways-1:0]        m_axi_rready,
  input  logic [Ways-1:0][255:0] m_axi_rdata,
  input  logic [Ways-1:0][1:0]   m_axi_rresp,
  input  logic [Ways-1:0]        m_axi_rlast
);

  if (Ways != 1 && Ways != 2 && Ways != 4) begin : gen_bad_ways
    $error("%m: Ways must be 1, 2 or 4");
  end
  localparam int unsigned Digit = $clog2(Ways);
  localparam int unsigned PlaceW = AddrBits - 6;
  if (AddrBits < 7 || PlaceW > $bits(laddr_t) - Low - Digit) begin : gen_bad_addr
    $error("%m: AddrBits must be from 7 to what addresses of the port have");
  end

  typedef logic [(Digit == 0 ? 1 : Digit)-1:0] way_t;
  typedef logic [PlaceW-1:0] place_t;
  typedef struct packed {
    way_t   way;
    place_t place;
  } where_t;
  typedef struct packed {
    logic  bad;
    line_t data;
  } answer_t;

  function automatic where_t where(input laddr_t addr);
    laddr_t line;
    line  = addr >> Low;
    where = '{way: '0, place: place_t'(line >> Digit)};
    if (Digit != 0) begin
      for (int unsigned b = 0; b < $bits(laddr_t); b++) where.way[b%Digit] ^= line[b];
    end
  endfunction

  logic [11:0] unused_low;
  assign unused_low = {s_axi_awaddr[5:0], s_axi_araddr[5:0]};

  // ---------------------------------------------------------------- requests
  // Ready comes from registers alone.
  logic ar_valid, ar_ready, aw_valid, aw_ready, r_turn_room, b_turn_room, w_turn_room;
  where_t ar, aw;
  logic [Ways-1:0] r_room, w_room;

  lib_half_buffer #(
    .T(where_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_axi_arvalid),
    .s_ready_o(s_axi_arready),
    .s_data_i (where(s_axi_araddr[39:6])),
    .m_valid_o(ar_valid),
    .m_ready_i(ar_ready),
    .m_data_o (ar)
  );

  lib_half_buffer #(
    .T(where_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_axi_awvalid),
    .s_ready_o(s_axi_awready),
    .s_data_i (where(s_axi_awaddr[39:6])),
    .m_valid_o(aw_valid),
    .m_ready_i(aw_ready),
    .m_data_o (aw)
  );

  assign ar_ready = r_room[ar.way] && r_turn_room;
  assign aw_ready = w_room[aw.way] && w_turn_room;

  // ---------------------------------------------------------------- whose turn it is
  // Among the answers to reads, those to writes, and the lines to be written. For writes there is room
  // for all that ways have. Of reads a way may have one more, which waits behind its RAM.
  localparam int unsigned AllReads = Ways * Reads;
  localparam int unsigned AllWrites = Ways * Writes;
  localparam int unsigned Lines = 32;
  logic r_turn_valid, b_turn_valid, w_turn_valid, r_next, b_next;
  way_t r_turn, b_turn, w_turn;
  logic [$clog2(AllReads+1)-1:0] unused_reads;
  logic [$clog2(AllWrites+1)-1:0] unused_writes;
  logic [$clog2(Lines+1)-1:0] unused_lines;

  lib_fifo #(
    .T    (way_t),
    .Depth(AllReads),
    .Early(AllReads > 32)
  ) u_r_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(ar_valid && r_room[ar.way]),
    .s_ready_o(r_turn_room),
    .s_data_i (ar.way),
    .m_valid_o(r_turn_valid),
    .m_ready_i(r_next),
    .m_data_o (r_turn),
    .level_o  (unused_reads)
  );

  lib_fifo #(
    .T    (way_t),
    .Depth(AllWrites),
    .Early(AllWrites > 32)
  ) u_b_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(aw_valid && aw_ready),
    .s_ready_o(b_turn_room),
    .s_data_i (aw.way),
    .m_valid_o(b_turn_valid),
    .m_ready_i(b_next),
    .m_data_o (b_turn),
    .level_o  (unused_writes)
  );

  lib_fifo #(
    .T    (way_t),
    .Depth(Lines)
  ) u_w_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(aw_valid && w_room[aw.way]),
    .s_ready_o(w_turn_room),
    .s_data_i (aw.way),
    .m_valid_o(w_turn_valid),
    .m_ready_i(s_axi_wvalid),
    .m_data_o (w_turn),
    .level_o  (unused_lines)
  );
  // Data wait for their address, never the other way round.
  assign s_axi_wready = w_turn_valid;
  logic unused_b_turn_room;
  assign unused_b_turn_room = b_turn_room;
  `ASSERT(TurnRoom, !(aw_valid && aw_ready) || b_turn_room)

  // ---------------------------------------------------------------- ways
  answer_t [Ways-1:0] answer;
  logic [Ways-1:0] answer_valid, done_valid, done_bad;

  for (genvar w = 0; w < Ways; w++) begin : gen_way
    place_t ar_place, aw_place;

    stripe_reads #(
      .Reads (Reads),
      .PlaceW(PlaceW)
    ) u_reads (
      .clk_i,
      .rst_ni,
      .room_o      (r_room[w]),
      .ask_i       (ar_valid && ar_ready && ar.way == way_t'(w)),
      .place_i     (ar.place),
      .ar_valid_o  (m_axi_arvalid[w]),
      .ar_ready_i  (m_axi_arready[w]),
      .ar_place_o  (ar_place),
      .beat_valid_i(m_axi_rvalid[w]),
      .beat_i      (m_axi_rdata[w]),
      .beat_bad_i  (m_axi_rresp[w] != '0),
      .beat_last_i (m_axi_rlast[w]),
      .line_valid_o(answer_valid[w]),
      .line_ready_i(r_next && r_turn == way_t'(w)),
      .line_o      (answer[w].data),
      .line_bad_o  (answer[w].bad)
    );

    stripe_writes #(
      .Writes(Writes),
      .PlaceW(PlaceW)
    ) u_writes (
      .clk_i,
      .rst_ni,
      .room_o      (w_room[w]),
      .ask_i       (aw_valid && aw_ready && aw.way == way_t'(w)),
      .place_i     (aw.place),
      .line_i      (s_axi_wvalid && w_turn_valid && w_turn == way_t'(w)),
      .data_i      (s_axi_wdata),
      .strb_i      (s_axi_wstrb),
      .aw_valid_o  (m_axi_awvalid[w]),
      .aw_ready_i  (m_axi_awready[w]),
      .aw_place_o  (aw_place),
      .w_valid_o   (m_axi_wvalid[w]),
      .w_ready_i   (m_axi_wready[w]),
      .w_data_o    (m_axi_wdata[w]),
      .w_strb_o    (m_axi_wstrb[w]),
      .w_last_o    (m_axi_wlast[w]),
      .b_valid_i   (m_axi_bvalid[w]),
      .b_bad_i     (m_axi_bresp[w] != '0),
      .done_valid_o(done_valid[w]),
      .done_ready_i(b_next && b_turn == way_t'(w)),
      .done_bad_o  (done_bad[w])
    );
    assign m_axi_araddr[w] = {ar_place, 6'd0};
    assign m_axi_awaddr[w] = {aw_place, 6'd0};
  end
  assign m_axi_rready = '1;
  assign m_axi_bready = '1;

  // ---------------------------------------------------------------- answers, in order
  logic r_may, r_ready, b_may, b_ready, r_bad, b_bad;
  assign r_may  = r_turn_valid && answer_valid[r_turn];
  assign b_may  = b_turn_valid && done_valid[b_turn];
  assign r_next = r_may && r_ready;
  assign b_next = b_may && b_ready;

  lib_half_buffer #(
    .T(answer_t)
  ) u_r (
    .clk_i,
    .rst_ni,
    .s_valid_i(r_may),
    .s_ready_o(r_ready),
    .s_data_i (answer[r_turn]),
    .m_valid_o(s_axi_rvalid),
    .m_ready_i(s_axi_rready),
    .m_data_o ({r_bad, s_axi_rdata})
  );

  lib_half_buffer #(
    .T(logic)
  ) u_b (
    .clk_i,
    .rst_ni,
    .s_valid_i(b_may),
    .s_ready_o(b_ready),
    .s_data_i (done_bad[b_turn]),
    .m_valid_o(s_axi_bvalid),
    .m_ready_i(s_axi_bready),
    .m_data_o (b_bad)
  );
  assign s_axi_rresp = {r_bad, 1'b0};
  assign s_axi_bresp = {b_bad, 1'b0};
  assign s_axi_rlast = 1'b1;

endmodule
