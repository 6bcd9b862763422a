// One memory port: whole lines on the inside, single-beat AXI4 on the outside (len 0, size 6, one
// id, wlast 1; a board's top adds those constants). Latency 3 for a write, 1 + 1 for a read on top
// of the memory's, initiation interval 1. Who reads has room for the answers, so memory never waits.
//
// A reset of the card is none of the memory's: what was offered stays offered until it is taken, and
// what was asked for before is answered after it. Such answers are counted off and go nowhere.
`include "lib_assert.svh"

module mem_axi
  import wirekv_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Writes; wr_done_o pulses once for each, in order, when it has reached memory, wr_bad_o with it
  /// if it has not: what is there now is unknown.
  input  logic         wr_valid_i,
  output logic         wr_ready_o,
  input  line_write_t  wr_i,
  output logic         wr_done_o,
  output logic         wr_bad_o,
  /// Lines made zero, while nobody else writes: zero_valid_i only while wr_ready_o. Nothing is told but that memory has
  /// refused one, and that no write is under way.
  input  logic         zero_i,
  input  logic         zero_valid_i,
  input  laddr_t       zero_addr_i,
  output logic         zero_bad_o,
  output logic         quiet_o,
  /// Reads, answered in order, each answer for one clock. A bad one is zero.
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  laddr_t       rd_addr_i,
  output logic         rdat_valid_o,
  output line_t        rdat_o,
  output logic         rdat_bad_o,
  /// AXI4. Address and data of a write are independent; each may be taken first.
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [39:0]  m_axi_awaddr,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  output logic [511:0] m_axi_wdata,
  output logic [63:0]  m_axi_wstrb,
  input  logic         m_axi_bvalid,
  input  logic [1:0]   m_axi_bresp,
  output logic         m_axi_bready,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  output logic [39:0]  m_axi_araddr,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  input  logic [511:0] m_axi_rdata,
  input  logic [1:0]   m_axi_rresp,
  input  logic         m_axi_rlast
);

  typedef struct packed {
    line_t data;
    strb_t strb;
  } wdata_t;

  logic unused_aw_ready, unused_w_ready, ar_ready, rdat_take, rdat_bad;
  laddr_t aw_addr, ar_addr;
  wdata_t wdata;
  line_write_t wr_q;
  logic room_q;
  logic [5:0] addrs, data;  // that wait

  // Low in the first two clocks after configuration, then never: the reset of what faces memory.
  // A simulation may begin with an edge that only some of its modules see, so one is not enough.
  logic live_q, begun_q;
  initial {live_q, begun_q} = 2'b00;
  always_ff @(posedge clk_i) {live_q, begun_q} <= {begun_q, 1'b1};

  // ---------------------------------------------------------------- answers to come
  typedef logic [15:0] count_t;  // far more than memory can have outstanding
  count_t reads_q, writes_q, stale_reads_q, stale_writes_q;
  count_t reads_d, writes_d;
  logic wr_push_q, rd_push_q, b_take, b_new, r_take, r_end, long_q;

  assign b_take   = m_axi_bvalid && m_axi_bready;
  assign r_take   = m_axi_rvalid && m_axi_rready;
  assign r_end    = r_take && m_axi_rlast;
  // Nothing is answered in the clock in which it is asked, so it may be counted in the next one.
  assign reads_d  = reads_q + count_t'(rd_push_q) - count_t'(r_end);
  assign writes_d = writes_q + count_t'(wr_push_q) - count_t'(b_take);

  always_ff @(posedge clk_i) begin
    wr_push_q <= live_q && rst_ni && (zero_i ? zero_valid_i : wr_valid_i && wr_ready_o);
    rd_push_q <= live_q && rst_ni && rd_valid_i && rd_ready_o;
    if (!live_q) begin
      reads_q        <= '0;
      writes_q       <= '0;
      stale_reads_q  <= '0;
      stale_writes_q <= '0;
      long_q         <= 1'b0;
    end else begin
      reads_q  <= reads_d;
      writes_q <= writes_d;
      // Of an answer with more beats than one, the first is enough.
      if (r_take) long_q <= !m_axi_rlast;
      if (!rst_ni) begin
        stale_reads_q  <= reads_d;
        stale_writes_q <= writes_d;
      end else begin
        if (stale_reads_q != '0) stale_reads_q <= stale_reads_q - count_t'(r_end);
        if (stale_writes_q != '0) stale_writes_q <= stale_writes_q - count_t'(b_take);
      end
    end
  end

  assign wr_ready_o   = room_q;
  assign rd_ready_o   = ar_ready;
  assign b_new        = m_axi_bvalid && stale_writes_q == '0;
  assign wr_done_o    = b_new && !zero_i;
  assign zero_bad_o   = b_new && m_axi_bresp != '0;
  assign quiet_o      = writes_q == '0 && !wr_push_q;
  assign wr_bad_o     = wr_done_o && m_axi_bresp != '0;
  assign rdat_take    = m_axi_rvalid && !long_q && stale_reads_q == '0;
  assign rdat_bad     = m_axi_rresp != '0 || !m_axi_rlast;
  assign m_axi_rready = 1'b1;
  assign m_axi_bready = 1'b1;
  assign m_axi_awaddr = {aw_addr, 6'd0};
  assign m_axi_araddr = {ar_addr, 6'd0};
  assign m_axi_wdata  = wdata.data;
  assign m_axi_wstrb  = wdata.strb;

  // Whether a write comes is known late, and may depend on the room in another port: it is taken into a
  // register, and there is room for the three that the levels don't show yet.
  // A line of zeros is the reset of that register; its address joins behind it. So nothing is on a write's way.
  laddr_t zero_addr_q;
  always_ff @(posedge clk_i) begin
    wr_q        <= zero_i ? '{addr: '0, data: '0, strb: '1} : wr_i;
    zero_addr_q <= zero_i ? zero_addr_i : '0;
    room_q      <= !live_q || (addrs <= 6'd29 && data <= 6'd29);
  end
  `ASSERT(WriteRoom, !wr_push_q || (unused_aw_ready && unused_w_ready))

  // As many addresses as data, so that neither waits for the other.
  lib_fifo #(
    .T    (laddr_t),
    .Depth(32)
  ) u_aw (
    .clk_i,
    .rst_ni   (live_q),
    .s_valid_i(wr_push_q),
    .s_ready_o(unused_aw_ready),
    .s_data_i (wr_q.addr | zero_addr_q),
    .m_valid_o(m_axi_awvalid),
    .m_ready_i(m_axi_awready),
    .m_data_o (aw_addr),
    .level_o  (addrs)
  );

  lib_fifo #(
    .T    (wdata_t),
    .Depth(32),
    .Ultra(1'b1)
  ) u_w (
    .clk_i,
    .rst_ni   (live_q),
    .s_valid_i(wr_push_q),
    .s_ready_o(unused_w_ready),
    .s_data_i ('{data: wr_q.data, strb: wr_q.strb}),
    .m_valid_o(m_axi_wvalid),
    .m_ready_i(m_axi_wready),
    .m_data_o (wdata),
    .level_o  (data)
  );

  lib_skid_buffer #(
    .T(laddr_t)
  ) u_ar (
    .clk_i,
    .rst_ni   (live_q),
    .s_valid_i(rst_ni && rd_valid_i),
    .s_ready_o(ar_ready),
    .s_data_i (rd_addr_i),
    .m_valid_o(m_axi_arvalid),
    .m_ready_i(m_axi_arready),
    .m_data_o (ar_addr)
  );

  always_ff @(posedge clk_i) begin
    rdat_valid_o <= rst_ni && rdat_take;
    rdat_bad_o   <= rdat_bad;
    rdat_o       <= rdat_bad ? '0 : m_axi_rdata;
  end

  `ASSERT(ReadAskedFor, !m_axi_rvalid || reads_q != '0 || rd_push_q)
  `ASSERT(WriteAskedFor, !m_axi_bvalid || writes_q != '0 || wr_push_q)

endmodule
