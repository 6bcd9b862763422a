// The store alone for the bench, behind AXI4 as in the card: ports of plain fields, of which a bench
// says no more than it varies.
module store_bench
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
#(
  localparam int unsigned Ports = 4
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Settings.
  input  laddr_t                     log_base_i,
  input  logic [4:0]                 index_bits_i,
  input  logic [25:0]                log_lines_i,
  input  logic [31:0][31:0]          nh_key_i,
  input  logic [1:0][63:0]           mix_key_i,
  /// Requests with their keys, taken with the last beats of these.
  input  logic                       req_valid_i,
  output logic                       req_ready_o,
  input  logic                       req_set_i,
  input  logic                       req_first_i,
  input  logic                       req_last_i,
  input  conn_t                      req_conn_i,
  input  logic [31:0]                req_rx_ptr_i,
  input  logic [7:0]                 req_klen_i,
  input  logic [20:0]                req_vlen_i,
  input  logic [35:0]                req_off_i,
  input  line_t [3:0]                req_key_i,
  /// Items for the log, and their places.
  input  logic                       put_valid_i,
  output logic                       put_ready_o,
  output logic                       put_off_valid_o,
  output logic [35:0]                put_off_o,
  input  logic                       putk_valid_i,
  output logic                       putk_ready_o,
  input  line_t [3:0]                putk_data_i,
  input  logic [7:0]                 put_klen_i,
  input  logic [20:0]                put_vlen_i,
  input  logic                       putb_valid_i,
  output logic                       putb_ready_o,
  input  line_t                      putb_data_i,
  input  logic [6:0]                 putb_len_i,
  input  logic                       putb_last_i,
  /// Results; both ways out take everything at once.
  output logic                       res_valid_o,
  output logic                       res_stored_o,
  output logic                       res_value_o,
  output logic                       res_last_o,
  output conn_t                      res_conn_o,
  output logic [31:0]                res_rx_ptr_o,
  output logic [20:0]                res_vlen_o,
  output logic [63:0]                res_num_o,
  output logic                       rkey_valid_o,
  output line_t                      rkey_data_o,
  output logic                       chunk_valid_o,
  output line_t                      chunk_data_o,
  output logic [5:0]                 chunk_start_o,
  output logic [6:0]                 chunk_len_o,
  output logic                       chunk_last_o,
  output logic                       chunk_bad_o,
  output logic [StoreCounts-1:0][31:0] counts_o,
  /// AXI4 to memory, see card.sv.
  output logic [Ports-1:0]           m_axi_awvalid,
  input  logic [Ports-1:0]           m_axi_awready,
  output logic [Ports-1:0][39:0]     m_axi_awaddr,
  output logic [Ports-1:0]           m_axi_wvalid,
  input  logic [Ports-1:0]           m_axi_wready,
  output logic [Ports-1:0][511:0]    m_axi_wdata,
  output logic [Ports-1:0][63:0]     m_axi_wstrb,
  input  logic [Ports-1:0]           m_axi_bvalid,
  output logic [Ports-1:0]           m_axi_bready,
  output logic [Ports-1:0]           m_axi_arvalid,
  input  logic [Ports-1:0]           m_axi_arready,
  output logic [Ports-1:0][39:0]     m_axi_araddr,
  input  logic [Ports-1:0]           m_axi_rvalid,
  output logic [Ports-1:0]           m_axi_rready,
  input  logic [Ports-1:0][511:0]    m_axi_rdata
);

  store_cfg_t cfg;
  assign cfg = '{
          index_base: '0,
          index_bits: index_bits_i,
          log_base: log_base_i,
          log_lines: log_lines_i,
          item_max: 21'(1 << 20),
          one_way: 1'b0,
          upstream: 1'b0,
          nh_key: nh_key_i,
          mix_key: mix_key_i
      };

  // Writes its replies anywhere in an empty transmit ring.
  req_t req;
  beat_t key, putk, putb;
  put_t put;
  logic key_ready, req_ready, putk_ready;
  logic [1:0] key_beat_q, putk_beat_q;
  always_comb begin
    req          = '0;
    req.op       = req_set_i ? OpSet : OpGet;
    req.ctx_op   = req.op;
    req.conn     = req_conn_i;
    req.first    = req_first_i;
    req.last     = req_last_i;
    req.tx_space = 17'(RingBytes);
    req.last_key = 1'b1;
    req.klen     = req_klen_i;
    req.vlen     = req_vlen_i;
    req.off      = req_off_i;
    req.rx_ptr   = req_rx_ptr_i;
    put          = '0;
    put.start    = 1'b1;
    put.klen     = put_klen_i;
    put.vlen     = put_vlen_i;
  end
  function automatic beat_t beat_of(input line_t [3:0] bytes, input logic [7:0] klen,
                                    input logic [1:0] beat);
    beat_of.data = bytes[beat];
    beat_of.last = 8'({beat, 6'd63}) >= klen - 8'd1;
    beat_of.len  = beat_of.last ? 7'(klen - {beat, 6'd0}) : 7'd64;
  endfunction
  assign key  = beat_of(req_key_i, req_klen_i, key_beat_q);
  assign putk = beat_of(putk_data_i, put_klen_i, putk_beat_q);
  assign putb = '{data: putb_data_i, len: putb_len_i, last: putb_last_i};
  assign putk_ready_o = putk_ready && putk.last;

  // A request and its key's end are one here: a store that took one before the other would lose it.
  assign req_ready_o = req_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {key_beat_q, putk_beat_q} <= '0;
    else begin
      if (req_valid_i && key_ready) key_beat_q <= key.last ? '0 : key_beat_q + 2'd1;
      if (putk_valid_i && putk_ready) putk_beat_q <= putk.last ? '0 : putk_beat_q + 2'd1;
    end
    if (rst_ni && req_valid_i && req_ready != (key_ready && key.last))
      $fatal(1, "a request without its key");
  end

  off_t off;
  res_t res;
  chunk_t chunk;
  logic [StoreCounts-1:0] count;
  logic [Ports-1:0] wr_valid, wr_ready, wr_done, rd_valid, rd_ready, rdat_valid;
  line_write_t [Ports-1:0] wr;
  laddr_t [Ports-1:0] rd_addr;
  line_t [Ports-1:0] rdat;
  logic [Ports-1:0] wr_bad, rdat_bad;
  logic [3:0] unused_zero_bad, unused_quiet;
  hreq_t unused_hreq;
  beat_t unused_hkey;
  logic unused_hreq_valid, unused_hkey_valid, unused_over, unused_timer, unused_idle;
  logic unused_late;
  conn_t unused_over_conn;

  store u_store (
    .clk_i,
    .rst_ni,
    .cfg_i        (cfg),
    .now_i        ('0),  // nothing expires
    .tick_i       (1'b0),
    .enable_i     (1'b1),
    .req_valid_i,
    .req_ready_o  (req_ready),
    .req_i        (req),
    .key_valid_i  (req_valid_i),
    .key_ready_o  (key_ready),
    .key_i        (key),
    .bad_valid_i  (1'b0),
    .bad_conn_i   ('0),
    .job_over_o   (unused_over),
    .job_over_conn_o(unused_over_conn),
    .put_valid_i,
    .put_ready_o,
    .put_i        (put),
    .put_off_valid_o,
    .put_off_o    (off),
    .putk_valid_i,
    .putk_ready_o   (putk_ready),
    .putk_i       (putk),
    .putb_valid_i,
    .putb_ready_o,
    .putb_i       (putb),
    .res_valid_o,
    .res_ready_i  (1'b1),
    .res_o        (res),
    .rkey_valid_o,
    .rkey_ready_i (1'b1),
    .rkey_o       (rkey_data_o),
    .chunk_valid_o,
    .chunk_ready_i(1'b1),
    .chunk_o      (chunk),
    .hreq_valid_o (unused_hreq_valid),
    .hreq_ready_i (1'b1),
    .hreq_o       (unused_hreq),
    .hkey_valid_o (unused_hkey_valid),
    .hkey_ready_i (1'b1),
    .hkey_o       (unused_hkey),
    .wr_valid_o   (wr_valid),
    .wr_ready_i   (wr_ready),
    .wr_o         (wr),
    .wr_done_i    (wr_done),
    .rd_valid_o   (rd_valid),
    .rd_ready_i   (rd_ready),
    .rd_addr_o    (rd_addr),
    .rdat_valid_i (rdat_valid),
    .rdat_i       (rdat),
    .wr_bad_i     (wr_bad),
    .rdat_bad_i   (rdat_bad),
    .count_o      (count),
    .idle_o       (unused_idle),
    .late_o       (unused_late),
    .timer_o      (unused_timer)
  );

  assign put_off_o     = off;
  assign res_stored_o  = res.kind == RsReply && res.reply == RpStored;
  assign res_value_o   = res.kind == RsValue && res.head && res.tail && res.last_key;
  assign res_last_o    = res.last;
  assign res_conn_o    = res.conn;
  assign res_rx_ptr_o  = res.ctx.rx_ptr;
  assign res_vlen_o    = res.vlen;
  assign res_num_o     = res.num;
  assign chunk_data_o  = chunk.data;
  assign chunk_start_o = chunk.start;
  assign chunk_len_o   = chunk.len;
  assign chunk_last_o  = chunk.last;
  assign chunk_bad_o   = chunk.bad;

  always_ff @(posedge clk_i) begin
    for (int c = 0; c < int'(StoreCounts); c++)
    counts_o[c] <= rst_ni ? counts_o[c] + 32'(count[c]) : '0;
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_mem
    mem_axi u_axi (
      .clk_i,
      .rst_ni,
      .wr_valid_i   (wr_valid[p]),
      .wr_ready_o   (wr_ready[p]),
      .wr_i         (wr[p]),
      .wr_done_o    (wr_done[p]),
      .wr_bad_o     (wr_bad[p]),
      .zero_i       (1'b0),
      .zero_valid_i (1'b0),
      .zero_addr_i  ('0),
      .zero_bad_o   (unused_zero_bad[p]),
      .quiet_o      (unused_quiet[p]),
      .rd_valid_i   (rd_valid[p]),
      .rd_ready_o   (rd_ready[p]),
      .rd_addr_i    (rd_addr[p]),
      .rdat_valid_o (rdat_valid[p]),
      .rdat_o       (rdat[p]),
      .rdat_bad_o   (rdat_bad[p]),
      .m_axi_awvalid(m_axi_awvalid[p]),
      .m_axi_awready(m_axi_awready[p]),
      .m_axi_awaddr (m_axi_awaddr[p]),
      .m_axi_wvalid (m_axi_wvalid[p]),
      .m_axi_wready (m_axi_wready[p]),
      .m_axi_wdata  (m_axi_wdata[p]),
      .m_axi_wstrb  (m_axi_wstrb[p]),
      .m_axi_bvalid (m_axi_bvalid[p]),
      .m_axi_bresp  ('0),
      .m_axi_bready (m_axi_bready[p]),
      .m_axi_arvalid(m_axi_arvalid[p]),
      .m_axi_arready(m_axi_arready[p]),
      .m_axi_araddr (m_axi_araddr[p]),
      .m_axi_rvalid (m_axi_rvalid[p]),
      .m_axi_rready (m_axi_rready[p]),
      .m_axi_rdata  (m_axi_rdata[p]),
      .m_axi_rresp  ('0),
      .m_axi_rlast  (1'b1)
    );
  end

endmodule
