// Writes of host memory for all channels: bursts of slots, and lines that tell of them. A burst's slots are here before it
// is asked for, and follow its address without a gap. Latency 2 from a request to address and data; a beat each clock.
`include "lib_assert.svh"

module link_write
  import wirekv_pkg::*;
  import link_pkg::*;
(
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  slot_addr_t                status_base_i,
  /// Of each channel: its ring, what it asks for, its slots. A first one gets a preamble of so many bytes.
  input  slot_addr_t [Channels-1:0] base_i,
  input  index_t [Channels-1:0]     mask_i,
  input  logic [Channels-1:0]       req_valid_i,
  output logic [Channels-1:0]       req_ready_o,
  input  burst_t [Channels-1:0]     req_i,
  input  logic [Channels-1:0]       line_valid_i,
  output logic [Channels-1:0]       line_ready_o,
  input  line_t [Channels-1:0]      line_i,
  input  logic [Channels-1:0]       line_first_i,
  input  bytes_t [Channels-1:0]     line_bytes_i,
  /// A line that tells the host, from the request until it is answered.
  input  logic [Channels-1:0]       told_valid_i,
  output logic [Channels-1:0]       told_ready_o,
  input  told_t [Channels-1:0]      told_i,
  /// A burst, a line is answered; host memory has refused it.
  output logic [Channels-1:0]       answer_o,
  output logic [Channels-1:0]       told_done_o,
  output logic [Channels-1:0]       refused_o,
  /// AXI4. The id says whose it is.
  output logic                      m_axi_awvalid,
  input  logic                      m_axi_awready,
  output logic [2:0]                m_axi_awid,
  output slot_addr_t                m_axi_awaddr,
  output slots_t                    m_axi_awslots,
  output logic                      m_axi_wvalid,
  input  logic                      m_axi_wready,
  output line_t                     m_axi_wdata,
  output logic                      m_axi_wlast,
  input  logic                      m_axi_bvalid,
  input  logic [2:0]                m_axi_bid,
  input  logic [1:0]                m_axi_bresp
);

  // ---------------------------------------------------------------- whose turn
  localparam int unsigned Sources = 2 * Channels;
  logic [Sources-1:0] arb_ready;
  burst_t [Sources-1:0] bursts;
  logic turn_in, turn_in_ready, unused_last;
  burst_t arb;
  logic [2:0] arb_source;
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      bursts[c]          = req_i[c];
      bursts[Channels+c] = '{index: index_t'(c), slots: 4'd1};
    end
  end
  assign {told_ready_o, req_ready_o} = arb_ready;
  lib_arb #(
    .T(burst_t),
    .N(Sources)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i({told_valid_i, req_valid_i}),
    .s_ready_o(arb_ready),
    .s_data_i (bursts),
    .s_last_i ('1),
    .m_valid_o(turn_in),
    .m_ready_i(turn_in_ready),
    .m_data_o (arb),
    .m_last_o (unused_last),
    .m_idx_o  (arb_source)
  );

  typedef struct packed {
    logic   told;
    chan_t  chan;
    burst_t burst;
  } turn_t;
  turn_t turn;
  logic turn_valid, aw_ready, w_ready, begins;
  logic told;
  assign told = arb_source >= 3'(Channels);
  lib_half_buffer #(
    .T(turn_t)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i(turn_in),
    .s_ready_o(turn_in_ready),
    .s_data_i ('{
        told: told,
        chan: told ? chan_t'(arb_source - 3'(Channels)) : chan_t'(arb_source),
        burst: arb
    }),
    .m_valid_o(turn_valid),
    .m_ready_i(aw_ready && w_ready),
    .m_data_o (turn)
  );
  assign begins = turn_valid && aw_ready && w_ready;

  // ---------------------------------------------------------------- the address
  typedef struct packed {
    logic [2:0] id;
    slot_addr_t addr;
    slots_t     slots;
  } aw_t;
  aw_t aw;
  slot_addr_t base;
  index_t mask;
  assign base = turn.told ? status_base_i : base_i[turn.chan];
  assign mask = turn.told ? index_t'(3) : mask_i[turn.chan];
  lib_half_buffer #(
    .T(aw_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .s_valid_i(turn_valid && w_ready),
    .s_ready_o(aw_ready),
    .s_data_i ('{
        id: {turn.told, turn.chan},
        addr: slot_addr(base, mask, turn.burst.index),
        slots: turn.burst.slots
    }),
    .m_valid_o(m_axi_awvalid),
    .m_ready_i(m_axi_awready),
    .m_data_o (aw)
  );
  assign m_axi_awid    = aw.id;
  assign m_axi_awaddr  = aw.addr;
  assign m_axi_awslots = aw.slots;

  // ---------------------------------------------------------------- its data
  typedef struct packed {
    line_t data;
    logic  last;
  } w_t;
  w_t w_in, w;
  slots_t left_q;
  logic told_q, w_valid, w_take, beat;
  chan_t chan_q;
  line_t told_line, chosen;

  assign w_valid   = left_q != '0 && (told_q || line_valid_i[chan_q]);
  assign beat      = w_valid && w_take;
  assign w_ready   = left_q == '0 || (left_q == 4'd1 && beat);
  assign told_line = line_t'(told_i[chan_q]);
  assign w_in.last = left_q == 4'd1;
  preamble_t front;
  assign front = '{bytes: line_bytes_i[chan_q], default: '0};
  lib_mux4 #(
    .Width(512),
    .Step (512)
  ) u_mux (
    .data_i ({told_line, line_i}),
    .steps_i(told_q ? 2'd3 : chan_q),
    .data_o (chosen)
  );
  assign w_in.data = {chosen[511:32], (!told_q && line_first_i[chan_q]) ? front : chosen[31:0]};
  always_comb begin
    line_ready_o = '0;
    line_ready_o[chan_q] = left_q != '0 && !told_q && w_take;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_q <= '0;
    else if (begins) left_q <= turn.burst.slots;
    else if (beat) left_q <= left_q - 1'b1;
    if (begins) begin
      told_q <= turn.told;
      chan_q <= turn.chan;
    end
  end
  lib_half_buffer #(
    .T(w_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .s_valid_i(w_valid),
    .s_ready_o(w_take),
    .s_data_i (w_in),
    .m_valid_o(m_axi_wvalid),
    .m_ready_i(m_axi_wready),
    .m_data_o (w)
  );
  assign m_axi_wdata = w.data;
  assign m_axi_wlast = w.last;

  // ---------------------------------------------------------------- answers
  always_ff @(posedge clk_i) begin
    for (int unsigned c = 0; c < Channels; c++) begin
      answer_o[c]    <= rst_ni && m_axi_bvalid && m_axi_bid == {1'b0, chan_t'(c)};
      told_done_o[c] <= rst_ni && m_axi_bvalid && m_axi_bid == {1'b1, chan_t'(c)};
      refused_o[c]   <= rst_ni && m_axi_bvalid && m_axi_bid[1:0] == chan_t'(c) && m_axi_bresp != '0;
    end
  end

endmodule
