// The parser with its records taken apart, for tb/parse/parser_sim.cpp.
module parser_tb
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [20:0] item_max_i,
  input  now_t        now_i,
  input  logic        job_valid_i,
  output logic        job_ready_o,
  input  logic        job_udp_i,
  input  logic [31:0] job_rx_ptr_i,
  input  logic [13:0] job_len_i,
  input  logic        raw_valid_i,
  output logic        raw_ready_o,
  input  line_t       raw_data_i,
  input  logic [5:0]  raw_start_i,
  input  logic [6:0]  raw_stop_i,
  input  logic        raw_first_i,
  input  logic        raw_last_i,
  output logic        req_valid_o,
  input  logic        req_ready_i,
  output op_e         req_op_o,
  output reply_e      req_reply_o,
  output logic        req_first_o,
  output logic        req_noreply_o,
  output logic        req_cas_out_o,
  output logic        req_touch_o,
  output logic        req_last_key_o,
  output logic        req_key_stored_o,
  output logic [7:0]  req_klen_o,
  output logic [20:0] req_vlen_o,
  output logic [31:0] req_flags_o,
  output msec_t       req_expiry_o,
  output logic [63:0] req_num_o,
  output logic [31:0] req_off_o,
  output logic [31:0] req_rx_ptr_o,
  output mode_e       req_mode_o,
  output logic [31:0] req_rem_o,
  output logic        key_valid_o,
  input  logic        key_ready_i,
  output line_t       key_data_o,
  output logic [6:0]  key_len_o,
  output logic        key_last_o,
  output logic        put_valid_o,
  input  logic        put_ready_i,
  output logic        put_start_o,
  output logic [7:0]  put_klen_o,
  output logic [20:0] put_vlen_o,
  output logic [31:0] put_flags_o,
  output msec_t       put_expiry_o,
  input  logic [31:0] put_off_i,
  output logic        putk_valid_o,
  input  logic        putk_ready_i,
  output line_t       putk_data_o,
  output logic [6:0]  putk_len_o,
  output logic        putk_last_o,
  output logic        putb_valid_o,
  input  logic        putb_ready_i,
  output line_t       putb_data_o,
  output logic [6:0]  putb_len_o,
  output logic        putb_last_o,
  output logic        idle_o
);

  job_t job;
  raw_t raw;
  req_t req;
  beat_t key, putk, putb;
  put_t put;
  logic unused_line, unused_error, unused_rollback, unused_host, unused_wait;

  always_comb begin
    job            = '0;
    job.udp        = job_udp_i;
    job.visit.conn       = 14'd77;
    job.visit.len        = job_len_i;
    job.visit.tx_space   = 17'd65536;
    job.ctx.rx_ptr = job_rx_ptr_i;
  end
  assign raw = '{
          data: raw_data_i,
          start: raw_start_i,
          stop: raw_stop_i,
          first: raw_first_i,
          last: raw_last_i,
          binary: 1'b0,
          resp: 1'b0
      };

  parser u_parser (
    .clk_i,
    .rst_ni,
    .item_max_i,
    .upstream_i (1'b0),
    .now_i,
    .job_valid_i,
    .job_ready_o,
    .job_i     (job),
    .press_i   (1'b0),
    .raw_valid_i,
    .raw_ready_o,
    .raw_i     (raw),
    .req_valid_o,
    .req_ready_i,
    .req_o     (req),
    .key_valid_o,
    .key_ready_i,
    .key_o     (key),
    .put_valid_o,
    .put_ready_i,
    .put_o     (put),
    .put_off_valid_i(put_valid_o && put_ready_i && put.start),
    .put_off_i (off_t'({4'd0, put_off_i})),
    .putk_valid_o,
    .putk_ready_i,
    .putk_o    (putk),
    .putb_valid_o,
    .putb_ready_i,
    .putb_o    (putb),
    .line_o    (unused_line),
    .error_o   (unused_error),
    .rollback_o(unused_rollback),
    .host_o    (unused_host),
    .wait_o    (unused_wait),
    .idle_o
  );

  assign req_op_o         = req.op;
  assign req_reply_o      = req.reply;
  assign req_first_o      = req.first;
  assign req_noreply_o    = req.noreply;
  assign req_cas_out_o    = req.cas_out;
  assign req_touch_o      = req.touch;
  assign req_last_key_o   = req.last_key;
  assign req_key_stored_o = req.key_stored;
  assign req_klen_o       = req.klen;
  assign req_vlen_o       = req.vlen;
  assign req_flags_o      = req.flags;
  assign req_expiry_o     = req.expiry;
  assign req_num_o        = req.num;
  assign req_off_o        = 32'(req.off);
  assign req_rx_ptr_o     = req.rx_ptr;
  assign req_mode_o       = req.mode;
  assign req_rem_o        = req.rem;
  assign key_data_o       = key.data;
  assign key_len_o        = key.len;
  assign key_last_o       = key.last;
  assign put_start_o      = put.start;
  assign put_klen_o       = put.klen;
  assign put_vlen_o       = put.vlen;
  assign put_flags_o      = put.flags;
  assign put_expiry_o     = put.expiry;
  assign putk_data_o      = putk.data;
  assign putk_len_o       = putk.len;
  assign putk_last_o      = putk.last;
  assign putb_data_o      = putb.data;
  assign putb_len_o       = putb.len;
  assign putb_last_o      = putb.last;

endmodule
