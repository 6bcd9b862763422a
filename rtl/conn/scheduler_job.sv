// A connection's job: how many of its bytes. Latency 1, initiation interval 1.
module scheduler_job
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// There may be a job, and there is one, which is known late; it takes this piece of the host's answer.
  input  logic        look_i,
  input  logic        valid_i,
  input  logic        host_i,
  // verilator lint_off UNUSEDSIGNAL
  input  hpiece_t     piece_i,  // all but its connection
  // verilator lint_on UNUSEDSIGNAL
  /// Where the connection stands: its context, where replies go and how many bytes of the ring are
  /// taken, how many bytes have come.
  input  conn_t       conn_i,
  input  ctx_t        ctx_i,
  /// Commands that begin now are for host software, whatever they are.
  input  logic        pause_i,
  input  logic [31:0] tx_ptr_i,
  input  logic [16:0] used_i,
  input  logic [31:0] avail_i,
  output logic        valid_o,
  output job_t        job_o
);

  job_t job_q;  // all but its length
  logic [31:0] avail_q;
  logic [13:0] len, most;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= valid_i;
    if (look_i) begin
      avail_q          <= avail_i;
      job_q            <= '0;
      job_q.host       <= host_i;
      job_q.host_final <= piece_i.final_piece;
      job_q.host_close <= piece_i.close;
      job_q.host_three <= piece_i.three;
      job_q.host_all   <= piece_i.all;
      job_q.host_db    <= piece_i.db;
      job_q.host_len   <= piece_i.len;
      job_q.whole      <= ctx_i.resp.all || (pause_i && ctx_i.mode == MdLine && !ctx_i.cont);
      job_q.conn       <= conn_i;
      job_q.tx_ptr     <= tx_ptr_i;
      job_q.tx_space   <= 17'(RingBytes) - used_i;
      job_q.ctx        <= ctx_i;
    end
  end

  always_comb begin
    // What is read and finds no room for its reply is read again. So where there is little room, and nothing is known
    // to need more, it is an eighth of the room's bytes: requests have a byte for eight of their reply or for few.
    most = (job_q.ctx.rem[31:8] == '0) ? job_q.tx_space[16:3] : 14'(JobBytes);
    len  = (avail_q > 32'(most)) ? most : avail_q[13:0];
    if (job_q.ctx.mode == MdHost || job_q.ctx.cont) len = '0;
    job_o     = job_q;
    job_o.len = len;
  end

endmodule
