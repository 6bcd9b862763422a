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

  visit_t visit_q;  // all but its length
  // verilator lint_off UNUSEDSIGNAL
  stand_t stand_q;  // all but what is looked at before
  // verilator lint_on UNUSEDSIGNAL
  logic fresh_q, known_q;
  logic [31:0] avail_q;
  logic [13:0] len, most;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= valid_i;
    if (look_i) begin
      avail_q          <= avail_i;
      visit_q            <= '0;
      visit_q.host       <= host_i;
      visit_q.host_final <= piece_i.final_piece;
      visit_q.host_close <= piece_i.close;
      visit_q.host_three <= piece_i.three;
      visit_q.host_all   <= piece_i.all;
      visit_q.host_db    <= piece_i.db;
      visit_q.host_len   <= piece_i.len;
      visit_q.whole      <= stand_i.all || (pause_i && stand_i.mode == MdLine && !stand_i.cont);
      visit_q.conn       <= conn_i;
      visit_q.tx_ptr     <= tx_ptr_i;
      visit_q.tx_space   <= 17'(RingBytes) - used_i;
      stand_q            <= stand_i;
      fresh_q            <= fresh_i;
      known_q            <= known_i;
    end
  end

  always_comb begin
    // What is read and finds no room for its reply is read again. So where there is little room, and nothing is known
    // to need more, it is an eighth of the room's bytes: requests have a byte for eight of their reply or for few.
    most = (stand_q.rem[31:8] == '0) ? visit_q.tx_space[16:3] : 14'(JobBytes);
    len  = (avail_q > 32'(most)) ? most : avail_q[13:0];
    if (stand_q.mode == MdHost || stand_q.cont) len = '0;
    job_o = '{
        visit: visit_q,
        fresh: fresh_q,
        known: known_q,
        rx_ptr: stand_q.rx_ptr,
        binary: stand_q.binary,
        redis: stand_q.redis,
        all: stand_q.all
    };
    job_o.visit.len = len;
  end

endmodule
