// The store with its memory, for tb/store/test_store.py.
module store_tb
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
  import trace_pkg::*;
#(
  /// The most that index_bits_i and log_lines_i may say.
  parameter int unsigned IndexBits = 14,
  parameter int unsigned LogLines = 262144
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  msec_t             now_i,
  input  logic [1023:0]     nh_key_i,
  input  logic [127:0]      mix_key_i,
  input  logic              enable_i,
  input  logic              tick_i,
  input  logic [4:0]        index_bits_i,
  input  logic              one_way_i,
  input  logic              upstream_i,
  input  logic [25:0]       log_lines_i,
  input  logic [20:0]       item_max_i,
  input  int unsigned       latency_i,
  input  int unsigned       jitter_i,
  input  logic [7:0]        pause_i,
  input  logic [3:0][15:0]  bad_reads_i,
  input  logic [3:0][15:0]  bad_writes_i,
  input  logic              req_valid_i,
  output logic              req_ready_o,
  input  req_t              req_i,
  input  logic              key_valid_i,
  output logic              key_ready_o,
  input  beat_t             key_i,
  input  logic              bad_valid_i,
  input  conn_t             bad_conn_i,
  output logic              job_over_o,
  output conn_t             job_over_conn_o,
  input  logic              put_valid_i,
  output logic              put_ready_o,
  input  put_t              put_i,
  output logic              put_off_valid_o,
  output off_t              put_off_o,
  input  logic              putk_valid_i,
  output logic              putk_ready_o,
  input  beat_t             putk_i,
  input  logic              putb_valid_i,
  output logic              putb_ready_o,
  input  beat_t             putb_i,
  output logic              res_valid_o,
  input  logic              res_ready_i,
  output res_t              res_o,
  output logic              rkey_valid_o,
  input  logic              rkey_ready_i,
  output line_t             rkey_o,
  output logic              chunk_valid_o,
  input  logic              chunk_ready_i,
  output chunk_t            chunk_o,
  output logic              hreq_valid_o,
  input  logic              hreq_ready_i,
  output hreq_t             hreq_o,
  output logic              hkey_valid_o,
  input  logic              hkey_ready_i,
  output beat_t             hkey_o,
  output logic [StoreCounts-1:0][31:0] counts_o,
  output logic [10:0][31:0] refusals_o,  // by kind, see Bench.REFUSALS
  output logic [31:0]       clock_o,
  output log_range_t        range_o,
  output logic              idle_o,
  output logic              late_o,
  output logic              timer_o
);

  localparam laddr_t IndexBase = 34'h100;
  localparam laddr_t LogBase = 34'h2_0000_0123;

  store_cfg_t cfg;
  assign cfg = '{
          index_base: IndexBase,
          index_bits: index_bits_i,
          log_base: LogBase,
          log_lines: log_lines_i,
          item_max: item_max_i,
          one_way: one_way_i,
          upstream: upstream_i,
          nh_key: nh_key_i,
          mix_key: mix_key_i
      };

  logic [3:0] wr_valid, wr_ready, wr_done, rd_valid, rd_ready, rdat_valid;
  line_write_t [3:0] wr;
  laddr_t [3:0] rd_addr;
  line_t [3:0] rdat;
  logic [3:0] wr_bad, rdat_bad;
  strb_t [3:0] wr_strb;
  logic [StoreCounts-1:0] count;
  trace_store_t unused_trace;

  store u_store (
    .clk_i,
    .rst_ni,
    .cfg_i       (cfg),
    .now_i,
    .tick_i,
    .enable_i,
    .req_valid_i,
    .req_ready_o,
    .req_i,
    .key_valid_i,
    .key_ready_o,
    .key_i,
    .bad_valid_i,
    .bad_conn_i,
    .job_over_o,
    .job_over_conn_o,
    .put_valid_i,
    .put_ready_o,
    .put_i,
    .put_off_valid_o,
    .put_off_o,
    .putk_valid_i,
    .putk_ready_o,
    .putk_i,
    .putb_valid_i,
    .putb_ready_o,
    .putb_i,
    .res_valid_o,
    .res_ready_i,
    .res_o,
    .rkey_valid_o,
    .rkey_ready_i,
    .rkey_o,
    .chunk_valid_o,
    .chunk_ready_i,
    .chunk_o,
    .hreq_valid_o,
    .hreq_ready_i,
    .hreq_o,
    .hkey_valid_o,
    .hkey_ready_i,
    .hkey_o,
    .wr_valid_o  (wr_valid),
    .wr_ready_i  (wr_ready),
    .wr_o        (wr),
    .wr_done_i   (wr_done),
    .rd_valid_o  (rd_valid),
    .rd_ready_i  (rd_ready),
    .rd_addr_o   (rd_addr),
    .rdat_valid_i(rdat_valid),
    .rdat_i      (rdat),
    .wr_bad_i    (wr_bad),
    .rdat_bad_i  (rdat_bad),
    .count_o     (count),
    .marked_i    ('0),
    .trace_o     (unused_trace),
    .idle_o,
    .late_o,
    .timer_o
  );

  for (genvar p = 0; p < 4; p++) begin : gen_mem
    mem_model #(
      .Depth((p >= 2) ? LogLines / 2 : 2 ** (IndexBits - 1)),
      .Base (((p >= 2) ? LogBase : IndexBase) + 34'(p % 2)),
      .Shift(1)
    ) u_mem (
      .clk_i,
      .rst_ni,
      .latency_i,
      .jitter_i,
      .pause_i,
      .bad_reads_i (bad_reads_i[p]),
      .bad_writes_i(bad_writes_i[p]),
      .wr_bad_o    (wr_bad[p]),
      .wr_strb_o   (wr_strb[p]),
      .rdat_bad_o  (rdat_bad[p]),
      .wr_valid_i  (wr_valid[p]),
      .wr_ready_o  (wr_ready[p]),
      .wr_i        (wr[p]),
      .wr_done_o   (wr_done[p]),
      .rd_valid_i  (rd_valid[p]),
      .rd_ready_o  (rd_ready[p]),
      .rd_addr_i   (rd_addr[p]),
      .rdat_valid_o(rdat_valid[p]),
      .rdat_o      (rdat[p])
    );
  end

  assign range_o = u_store.range;

  // Who met what memory has refused.
  logic [10:0] met;
  logic [3:0] patched;  // an item's header, by execute
  logic line_read_q, looks;
  assign looks = u_store.u_execute.u_find.state_q == 4'd7;  // FdCompare
  for (genvar p = 0; p < 4; p++) begin : gen_patched
    assign patched[p] = wr_strb[p] inside {
      64'h3F08, 64'h3F08 << 16, 64'h3F08 << 32, 64'h3F08 << 48
    };
  end
  always_ff @(posedge clk_i) line_read_q <= u_store.log_rd_en;
  always_comb begin
    met[0]  = (rdat_valid[1:0] & rdat_bad[1:0]) != '0;
    met[1]  = (wr_done[1:0] & wr_bad[1:0]) != '0;
    met[2]  = line_read_q && u_store.log_rd_bad && u_store.u_execute.run &&
        u_store.u_execute.u_stages.data_q;
    met[3]  = u_store.log_rd_bad && looks;
    met[4]  = u_store.log_rd_bad && u_store.u_execute.u_find.state_q == 4'd2;  // FdStoredCopy
    met[5]  = u_store.log_rd_bad && u_store.u_execute.u_number.state_q == 4'd2;  // NuGet
    met[6]  = chunk_valid_o && chunk_ready_i && chunk_o.bad;
    met[7]  = u_store.chunk_valid && u_store.chunk_own && chunk_o.bad;
    met[8]  = (wr_done[3:2] & wr_bad[3:2] & patched[3:2]) != '0;
    met[9]  = (wr_done[3:2] & wr_bad[3:2] & ~patched[3:2]) != '0;
    met[10] = (u_store.ask_gone & u_store.ask_bad) != '0;
  end
  always_ff @(posedge clk_i) begin
    for (int k = 0; k < 11; k++) refusals_o[k] <= rst_ni ? refusals_o[k] + 32'(met[k]) : '0;
    clock_o <= rst_ni ? clock_o + 1 : '0;
    for (int c = 0; c < int'(StoreCounts); c++)
    counts_o[c] <= rst_ni ? counts_o[c] + 32'(count[c]) : '0;
  end

endmodule
