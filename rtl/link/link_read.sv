// Reads of host memory for all channels: up to `Reads` at once, each with an id of its own, answered in any order, even beat
// by beat. Latency 2 from a request to the address, 2 from a beat to its line; a read each clock.
//
// Who asks has room for the lines, so memory never waits.
`include "lib_assert.svh"

module link_read
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// Reads at once, 2 to 64.
  parameter int unsigned Reads = 32
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  /// Of each channel: its ring, what it asks for, reads under way.
  input  slot_addr_t [Channels-1:0] base_i,
  input  index_t [Channels-1:0]     mask_i,
  input  logic [Channels-1:0]       req_valid_i,
  output logic [Channels-1:0]       req_ready_o,
  input  burst_t [Channels-1:0]     req_i,
  output logic [Channels-1:0]       open_o,
  /// A line, for one channel.
  output logic [Channels-1:0]       line_valid_o,
  output index_t                    line_index_o,
  output line_t                     line_o,
  output logic                      line_bad_o,
  /// AXI4.
  output logic                      m_axi_arvalid,
  input  logic                      m_axi_arready,
  output logic [5:0]                m_axi_arid,
  output slot_addr_t                m_axi_araddr,
  output slots_t                    m_axi_arslots,
  input  logic                      m_axi_rvalid,
  input  logic [5:0]                m_axi_rid,
  input  line_t                     m_axi_rdata,
  input  logic [1:0]                m_axi_rresp,
  input  logic                      m_axi_rlast
);

  typedef logic [5:0] id_t;
  typedef struct packed {
    chan_t  chan;
    index_t index;
  } place_t;

  // ---------------------------------------------------------------- ids: all are free behind a reset
  logic [6:0] fill_q;
  logic filling, r_valid_q, r_last_q, id_valid, id_ready, unused_ids_ready;
  id_t r_id_q, id;
  localparam int unsigned LevelW = $clog2(Reads + 1);
  logic [LevelW-1:0] unused_level;
  assign filling = fill_q != 7'(Reads);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) fill_q <= '0;
    else if (filling) fill_q <= fill_q + 1'b1;
  end
  lib_fifo #(
    .T    (id_t),
    .Depth(Reads),
    .Block(1'b0)
  ) u_ids (
    .clk_i,
    .rst_ni,
    .s_valid_i(filling || (r_valid_q && r_last_q)),
    .s_ready_o(unused_ids_ready),
    .s_data_i (filling ? fill_q[5:0] : r_id_q),
    .m_valid_o(id_valid),
    .m_ready_i(id_ready),
    .m_data_o (id),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------- whose turn
  logic arb_valid, arb_ready, unused_last;
  burst_t arb;
  chan_t arb_chan;
  lib_arb #(
    .T(burst_t),
    .N(Channels)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(req_valid_i),
    .s_ready_o(req_ready_o),
    .s_data_i (req_i),
    .s_last_i ('1),
    .m_valid_o(arb_valid),
    .m_ready_i(arb_ready),
    .m_data_o (arb),
    .m_last_o (unused_last),
    .m_idx_o  (arb_chan)
  );

  typedef struct packed {
    chan_t  chan;
    burst_t burst;
  } turn_t;
  turn_t turn;
  logic turn_valid, turn_ready, ask;
  lib_half_buffer #(
    .T(turn_t)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(arb_valid),
    .s_ready_o(arb_ready),
    .s_data_i ('{chan: arb_chan, burst: arb}),
    .m_valid_o(turn_valid),
    .m_ready_i(turn_ready),
    .m_data_o (turn)
  );

  // ---------------------------------------------------------------- the address
  typedef struct packed {
    id_t        id;
    slot_addr_t addr;
    slots_t     slots;
  } ar_t;
  ar_t ar;
  logic ar_ready;
  assign turn_ready = ar_ready && id_valid;
  assign id_ready   = ar_ready && turn_valid;
  assign ask        = turn_valid && id_valid && ar_ready;
  lib_half_buffer #(
    .T(ar_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .s_valid_i(turn_valid && id_valid),
    .s_ready_o(ar_ready),
    .s_data_i ('{
        id: id,
        addr: slot_addr(base_i[turn.chan], mask_i[turn.chan], turn.burst.index),
        slots: turn.burst.slots
    }),
    .m_valid_o(m_axi_arvalid),
    .m_ready_i(m_axi_arready),
    .m_data_o (ar)
  );
  assign m_axi_arid    = ar.id;
  assign m_axi_araddr  = ar.addr;
  assign m_axi_arslots = ar.slots;

  // ---------------------------------------------------------------- what comes back
  // By id: the first line's place, written when it is asked for; the beats that have come, which is 0 between reads.
  (* ram_style = "distributed" *) place_t places_q[64];
  (* ram_style = "distributed" *) logic [2:0] beats_q[64];
  line_t r_line_q;
  logic r_bad_q;
  place_t place;
  logic [2:0] beat;
  assign place = places_q[r_id_q];
  assign beat  = beats_q[r_id_q];

  always_ff @(posedge clk_i) begin
    if (ask) places_q[id] <= '{chan: turn.chan, index: turn.burst.index};
    if (filling || r_valid_q)
      beats_q[filling?fill_q[5:0] : r_id_q] <= (filling || r_last_q) ? '0 : beat + 1'b1;
    r_valid_q <= rst_ni && m_axi_rvalid;
    r_id_q    <= m_axi_rid;
    r_line_q  <= m_axi_rdata;
    r_bad_q   <= m_axi_rresp != '0;
    r_last_q  <= m_axi_rlast;
    for (int unsigned c = 0; c < Channels; c++)
    line_valid_o[c] <= rst_ni && r_valid_q && place.chan == chan_t'(c);
    line_index_o <= {place.index[15:3], place.index[2:0] + beat};
    line_o       <= r_line_q;
    line_bad_o   <= r_bad_q;
  end

  // Reads under way, from the turn on.
  for (genvar c = 0; c < Channels; c++) begin : gen_open
    logic [6:0] count_q;
    logic take, give;
    assign take = req_valid_i[c] && req_ready_o[c];
    assign give = r_valid_q && r_last_q && place.chan == chan_t'(c);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q <= '0;
      else if (take != give) count_q <= count_q + {{6{give}}, 1'b1};
    end
    assign open_o[c] = count_q != '0 || line_valid_o[c];
  end

  `ASSERT(IdRoom, !(filling || (r_valid_q && r_last_q)) || unused_ids_ready)
  `ASSERT(InBlock, !r_valid_q || 4'(place.index[2:0]) + 4'(beat) < 4'd8)

endmodule
