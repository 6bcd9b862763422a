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
  input  hpiece_t     piece_i,  // all but its connection
  /// Where the connection stands: whether it had a job, and knows its protocol; its context, where replies go and
  /// how many bytes of the ring are taken, how many bytes have come.
  input  conn_t       conn_i,
  input  logic        fresh_i,
  input  logic        known_i,
  input  stand_t      stand_i,
  /// Commands that begin now are for host software, whatever they are.
  input  logic        pause_i,
  input  logic [31:0] tx_ptr_i,
  input  logic [16:0] used_i,
  input  logic [31:0] avail_i,
  output logic        valid_o,
  output turn_t       job_o
);

  turn_t job_q;  // all but its length
  logic small_q, empty_q;  // its request is not known to need much; it has no bytes
  logic [31:0] avail_q;
  logic [13:0] len, most;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= valid_i;
    if (look_i) begin
      avail_q                <= avail_i;
      job_q                  <= '0;
      job_q.visit.host       <= host_i;
      job_q.visit.host_final <= piece_i.final_piece;
      job_q.visit.host_close <= piece_i.close;
      job_q.visit.host_three <= piece_i.three;
      job_q.visit.host_all   <= piece_i.all;
      job_q.visit.host_db    <= piece_i.db;
      job_q.visit.host_len   <= piece_i.len;
      job_q.visit.whole      <= stand_i.all || (pause_i && stand_i.mode == MdLine && !stand_i.cont);
      job_q.visit.conn       <= conn_i;
      job_q.visit.tx_ptr     <= tx_ptr_i;
      job_q.visit.tx_space   <= 17'(RingBytes) - used_i;
      job_q.fresh            <= fresh_i;
      job_q.known            <= known_i;
      job_q.rx_ptr           <= stand_i.rx_ptr;
      job_q.binary           <= stand_i.binary;
      job_q.redis            <= stand_i.redis;
      job_q.all              <= stand_i.all;
      small_q                <= stand_i.rem[31:8] == '0;
      empty_q                <= stand_i.mode == MdHost || stand_i.cont;
    end
  end

  always_comb begin
    // What is read and finds no room for its reply is read again. So where there is little room, and nothing is known
    // to need more, it is an eighth of the room's bytes: requests have a byte for eight of their reply or for few.
    most = small_q ? job_q.visit.tx_space[16:3] : 14'(JobBytes);
    len  = (avail_q > 32'(most)) ? most : avail_q[13:0];
    if (empty_q) len = '0;
    job_o            = job_q;
    job_o.visit.len  = len;
    job_o.visit.more = avail_q > 32'(most);
  end

endmodule
