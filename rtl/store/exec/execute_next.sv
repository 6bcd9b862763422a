// The next request, until all that it needs is there: what lookup found of it, the lines of its
// item, and, if it stores, its item's data in the log. Its key may come later. Initiation interval
// 1.
//
// Here the records of a connection whose bytes nobody knows lose their effect.
module execute_next
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// Requests with the log's count of puts taken before them; what lookup found.
  input  logic      req_valid_i,
  output logic      req_ready_o,
  input  req_t      req_i,
  input  serial_t   stamp_i,
  input  logic      found_valid_i,
  output logic      found_ready_o,
  input  found_t    found_i,
  /// Records of this connection come from bytes that nobody knows, up to the end of its job.
  input  logic      bad_valid_i,
  input  conn_t     bad_conn_i,
  /// Pulse: the last record of this connection's job is taken.
  output logic      job_over_o,
  output conn_t     job_over_conn_o,
  /// Banks of the log's cache: responses of ClassRequest.
  input  logic       [1:0] rsp_valid_i,
  output logic       [1:0] rsp_ready_o,
  input  bank_slot_t [1:0] rsp_slot_i,
  /// Puts written by the log.
  input  serial_t   written_i,
  /// The request, with all but its key; it is taken.
  output logic      valid_o,
  input  logic      take_i,
  output op_t       op_o,
  /// A request waits for what lookup found, for lines of its item, or for its data.
  output logic      wait_index_o,
  output logic      wait_lines_o,
  output logic      wait_log_o,
  output logic      idle_o
);

  // Needs more than the three stages give it.
  function automatic logic is_alone(input op_e op, input logic key_stored);
    return op inside {OpFlush, OpHost, OpPart, OpWalk, OpVersion} ||
        (is_lookup(op) && !(op inside {OpGet, OpSet, OpCas, OpDelete, OpTouch, OpIncr, OpDecr,
                                       OpAppend, OpPrepend} && !key_stored));
  endfunction

  typedef logic [$clog2(PrefetchLines)-1:0] slot_no_t;

  op_t op_q;
  serial_t stamp_q;
  logic valid_q, load, free, lines_there, data_there_q, bad, last;
  logic first, new_first;  // bank of the first of its item's lines
  log_rel_t new_need;  // lines
  logic [1:0][1:0] need_q, got_q;

  assign bad           = !req_i.udp && bad_valid_i && req_i.conn == bad_conn_i;
  assign last          = req_i.op == OpEnd || req_i.last;
  assign job_over_o    = load && last && !req_i.udp;
  assign job_over_conn_o = req_i.conn;
  assign free          = !valid_q || take_i;
  assign load          = req_valid_i && found_valid_i && free;
  assign req_ready_o   = found_valid_i && free;
  assign found_ready_o = req_valid_i && free;
  assign first         = op_q.found.off.pos[2];
  assign new_first     = found_i.off.pos[2];
  assign new_need      = in_banks(found_i.count, new_first);

  // What check compares. Of an item that has fewer lines the key's length differs. A number's digits are taken out of
  // these lines, see execute_add.
  logic [2:0] lines;
  always_comb begin
    lines = key_lines(found_i.off.pos[1:0],
                      9'(req_i.klen) + ((req_i.op inside {OpIncr, OpDecr}) ? 9'd10 : 9'd0));
    if (found_i.count < lines) lines = found_i.count;
    if (!found_i.lookup || !found_i.cand || req_i.key_stored) lines = 3'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load) valid_q <= 1'b1;
    else if (take_i) valid_q <= 1'b0;
    if (load) begin
      op_q.req      <= req_i;
      op_q.found    <= found_i;
      op_q.keyed    <= brings_key(req_i.op, req_i.key_stored);
      op_q.lines    <= lines;
      op_q.alone    <= is_alone(req_i.op, req_i.key_stored) || bad;
      stamp_q       <= stamp_i;
      if (bad && last) op_q.req.mode <= MdAbort;
      if (bad && req_i.op != OpEnd) begin
        // It only takes its key and gives back its lines.
        op_q.req.op    <= OpReply;
        op_q.req.reply <= RpNone;
      end
    end
  end

  // Each bank gives one of the item's lines a clock. Whether a request is taken is known last: what
  // depends on it is prepared for both cases.
  logic [1:0] new_waits, waits;
  always_comb begin
    for (int b = 0; b < 2; b++) begin
      new_waits[b] = new_need[b] != '0;
      waits[b]     = valid_q && got_q[b] != need_q[b];
    end
  end
  assign rsp_ready_o = load ? new_waits : waits;
  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) begin
      if (load) begin
        need_q[b] <= new_need[b][1:0];
        got_q[b]  <= 2'(rsp_valid_i[b] && new_waits[b]);
        // What is not its line yet is overwritten by the one that is.
        op_q.slots[slot_no_t'(1'(b) != new_first)] <= rsp_slot_i[b];
      end else if (rsp_valid_i[b] && waits[b]) begin
        op_q.slots[slot_no_t'({got_q[b], 1'(b) != first})] <= rsp_slot_i[b];
        got_q[b] <= got_q[b] + 2'd1;
      end
    end
  end

  // Its data are seen to be there a clock later than they are, unless they were before it came.
  logic new_data_there;
  assign new_data_there = !is_store(req_i.op) || bad || reached(written_i, stamp_i);
  always_ff @(posedge clk_i) begin
    if (load) data_there_q <= new_data_there;
    else if (reached(written_i, stamp_q)) data_there_q <= 1'b1;
  end

  assign lines_there  = got_q == need_q;
  assign valid_o      = valid_q && lines_there && data_there_q;
  assign op_o         = op_q;
  assign wait_index_o = req_valid_i && !found_valid_i && !valid_q;
  assign wait_lines_o = valid_q && !lines_there;
  assign wait_log_o   = valid_q && !data_there_q;
  assign idle_o       = !valid_q;

endmodule
