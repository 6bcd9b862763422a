// Knows where every connection stands and hands out its next visit (a job) when there is something
// to do: bytes enough for its next request, room for the replies, no other job of it on its way.
//
// One pipe owns the connection records: choose -> read -> decide -> job. It takes one event a
// clock; two events of one connection are 3 clocks apart. From an event to its job 11 clocks.
//
// Where tcp reads and writes a job's end says; of host software's answers some ends together.
//
// A job takes three turns of the pipe: its bytes, itself, its end. Where these become scarce bytes
// become a job at once, in two: they overtake who waits in the ready queue, which still has every
// other turn.
`include "lib_assert.svh"

module scheduler
  import wirekv_pkg::*;
  import request_pkg::*;
  import conn_pkg::*;
  import host_pkg::*;
  import tcp_pkg::*;
#(
  /// Connections; a power of two, 16..16384.
  parameter int unsigned Conns = 1024
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  /// What happened to a connection.
  input  logic    ev_valid_i,
  output logic    ev_ready_o,
  input  ev_t     ev_i,
  /// Where reading and writing now stand.
  output logic    app_valid_o,
  input  logic    app_ready_i,
  output app_t    app_o,
  /// Jobs whose replies are in the transmit ring.
  input  logic    done_valid_i,
  output logic    done_ready_o,
  input  done_t   done_i,
  /// A piece of the host's answer waits; taken when its job is handed out. Or a question about a
  /// connection.
  input  logic    hpiece_valid_i,
  output logic    hpiece_ready_o,
  input  hpiece_t hpiece_i,
  /// The request port holds the store: only its connection has jobs, but for pieces of answers.
  input  logic    hold_i,
  /// Of peers that speak Redis' protocol: gates run nothing of those that come from now on, until
  /// host software lets them in; nor any command in jobs from now on.
  input  logic    guard_i,
  input  logic    pause_i,
  /// The log has copied much: connections whose jobs copy wait.
  input  logic    late_i,
  /// A datagram's job begins, or ends.
  input  logic    udp_begin_i,
  input  logic    udp_end_i,
  /// Others are there than those whose jobs take much.
  output logic    press_o,
  /// The answer to a question.
  output logic    about_valid_o,
  output about_t  about_o,
  /// Jobs.
  output logic    job_valid_o,
  input  logic    job_ready_i,
  output turn_t   job_o,
  /// Pulse: a connection is closed from this side.
  output logic    close_o,
  /// Nothing in flight here.
  output logic    idle_o
);

  if (Conns < 16 || Conns > 16384 || (Conns & (Conns - 1)) != 0) begin : gen_bad_conns
    $error("%m: Conns must be a power of two from 16 to 16384");
  end

  localparam int unsigned ConnW = $clog2(Conns);

  /// Room in the transmit ring that makes a job worthwhile.
  localparam int unsigned TxRoom = 4096;
  localparam int unsigned TxRoomCont = PieceMax;  // to finish a value or the host's answer
  /// tcp is told of host software's replies at multiples of so many bytes, as a power of two, while others follow.
  localparam int unsigned TellW = 10;

  typedef enum logic [2:0] {
    OpDone,
    OpEvent,
    OpPiece,
    OpIssue,
    OpClear
  } sop_e;

  /// A clock's number: the time between two of these has a sign.
  typedef logic [$bits(took_t):0] moment_t;

  /// The record of a connection.
  typedef struct packed {
    logic        open;
    logic        closed;    // nothing more comes: only waits for what is in flight
    logic        fin;       // the peer sends no more
    logic        killed;    // no job begins any more
    logic        closing;   // FIN ordered
    logic        busy;      // a job is on its way
    logic        told;      // host software knows of it by a question
    logic        asked;     // it has asked about it while a job is on its way
    logic        queued;    // in the ready queue
    logic [31:0] rx_end;    // first byte not received yet
    logic [31:0] tx_ptr;    // first byte not written
    logic [31:0] tx_acked;  // first byte not acknowledged
    stand_t      stand;     // its context, as far as it matters here
    logic        known;     // it had a job
    cost_t       cost;      // its jobs take so much, but for those of which gates run nothing
    logic [7:0]  guess;     // such a one that is on its way takes so much
    moment_t     begun;     // when the one on its way began, and the pipe's length
    logic        dear;      // the one on its way was let in as a dear one
    logic        piece;     // it is a piece of host software's answer
  } rec_t;

  /// From when a job begins until it ends, where nobody is in front of it.
  localparam int unsigned PipeClocks = 128;
  /// What a job takes of which gates run nothing, besides a clock for each line of its bytes.
  localparam logic [7:0] RawClocks = 8'd8;

  // ---------------------------------------------------------------- choose
  // Done jobs first (they are bounded by the jobs handed out); events and the ready queue by turns.
  logic clear_q;
  logic [ConnW-1:0] clear_conn_q;
  logic app_room, job_room, full;
  logic ready_pop, may_issue;
  conn_t ready_conn;
  logic
      queue_valid,
      queue_dear,
      queue_all_dear,
      host_ready_q;  // the second: the request port's, which waits in no queue
  conn_t queue_conn;
  logic piece_blocked_q, piece_due_q;

  logic read_valid_q, act_valid_q;
  conn_t read_conn_q, act_conn_q;

  function automatic logic hazard(input conn_t conn);
    return (read_valid_q && conn == read_conn_q) || (act_valid_q && conn == act_conn_q);
  endfunction
  logic read_host_q, act_host_q;  // it is the request port's connection, which no id is lost for
  logic host_hazard;
  assign host_hazard = (read_valid_q && read_host_q) || (act_valid_q && act_host_q);

  // Of the queue none is the request port's connection, so each is compared by itself.
  assign may_issue  = host_ready_q ? !host_hazard
                                   : queue_valid && !hold_i && !hazard(queue_conn);
  assign ready_conn = host_ready_q ? HostConn : queue_conn;

  logic can_done, can_ev, can_piece, can_issue, turn_valid, turn_ev, choose_valid;
  logic take_ev, take_piece, take_issue, choose_host;
  logic [7:0] pressed_q;  // of the last clocks: turns that two wanted
  conn_t turn_conn, choose_conn;
  sop_e choose_op;
  assign can_done  = done_valid_i && app_room && !clear_q && !hazard(done_i.conn);
  assign can_ev    = ev_valid_i && app_room && !clear_q && !hazard(ev_i.conn);
  assign can_piece = hpiece_valid_i && !piece_blocked_q && app_room && job_room && !clear_q &&
                     !hazard(hpiece_i.conn);
  assign can_issue = may_issue && app_room && job_room && (!full || host_ready_q) && !clear_q;

  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(conn_t),
    .N(2)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .s_valid_i((can_done || (piece_due_q && can_piece)) ? 2'b00 : {can_ev, can_issue}),
    .s_ready_o(),
    .s_data_i ({ev_i.conn, ready_conn}),
    .s_last_i ('1),
    .m_valid_o(turn_valid),
    .m_ready_i(1'b1),
    .m_data_o (turn_conn),
    .m_last_o (),
    .m_idx_o  (turn_ev)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign take_ev      = turn_valid && turn_ev;
  assign take_issue   = turn_valid && !turn_ev;
  assign take_piece   = !can_done && !turn_valid && can_piece;
  assign choose_valid = can_done || turn_valid || take_piece;
  assign choose_conn  = can_done ? done_i.conn : turn_valid ? turn_conn : hpiece_i.conn;
  // Each of them is compared by itself; of the queue none is the request port's.
  assign choose_host  = can_done ? done_i.conn == HostConn :
                        take_ev ? ev_i.conn == HostConn :
                        take_issue ? host_ready_q : hpiece_i.conn == HostConn;
  assign choose_op    = can_done ? OpDone : take_ev ? OpEvent : take_issue ? OpIssue : OpPiece;
  assign done_ready_o = can_done;
  assign ev_ready_o   = take_ev;
  assign ready_pop    = take_issue && !host_ready_q;

  // ---------------------------------------------------------------- read: the record as it becomes
  sop_e read_op_q;
  logic read_may_q;   // it may become a job
  logic read_dear_q;  // as a dear one
  // verilator lint_off UNUSEDSIGNAL
  ev_t read_ev_q;  // its connection is read_conn_q
  // verilator lint_on UNUSEDSIGNAL
  logic [31:0] read_tx_q;
  stand_t read_stand_q;
  rec_t rec, rec_d, rec_ram, host_rec_q;
  took_t since;
  moment_t clock_q, base_q, later;  // later: so much behind the end of the job before it
  assign later = rec.begun - base_q;
  bar_t bar;
  cost_t quantum;
  cost_t cost_new_q;  // what first jobs take
  assign rec = read_host_q ? host_rec_q : rec_ram;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) read_valid_q <= 1'b0;
    else read_valid_q <= choose_valid;
    // A piece that has waited has its turn before events and bytes, of which there may be one in each clock.
    piece_due_q <= rst_ni && hpiece_valid_i && !hpiece_ready_o;
    pressed_q <= {pressed_q[6:0], can_issue && (can_done || can_ev)};
    if (choose_valid) begin
      read_conn_q <= choose_conn;
      read_host_q <= choose_host;
      read_op_q   <= choose_op;
      read_dear_q <= ready_pop && queue_dear;
      read_may_q  <= take_issue ||
          (take_ev && job_room && !full && (pressed_q != '0 || queue_all_dear) && !hold_i);
    end
    if (take_ev) read_ev_q <= ev_i;
    if (can_done) begin
      read_tx_q    <= done_i.tx_ptr;
      read_stand_q <= done_i.stand;
    end
  end

  always_comb begin
    rec_d = rec;
    unique case (read_op_q)
      OpDone: begin
        rec_d.busy   = 1'b0;
        rec_d.asked  = 1'b0;
        rec_d.tx_ptr = read_tx_q;
        rec_d.stand  = read_stand_q;
        rec_d.known  = 1'b1;
        if (read_stand_q.again) begin
          rec_d.stand     = rec.stand;
          rec_d.stand.all = 1'b1;
          rec_d.known     = rec.known;
        end
        rec_d.dear = 1'b0;
      end
      OpEvent: begin
        if (read_ev_q.acked) rec_d.tx_acked = read_ev_q.tx_ptr;
        if (read_ev_q.data) rec_d.rx_end = read_ev_q.rx_ptr;
        if (read_ev_q.fin) rec_d.fin = 1'b1;
        if (read_ev_q.closed) rec_d.closed = 1'b1;
        if (read_ev_q.open) begin
          rec_d              = '0;
          rec_d.open         = 1'b1;
          rec_d.rx_end       = read_ev_q.rx_ptr;
          rec_d.tx_ptr       = read_ev_q.tx_ptr;
          rec_d.tx_acked     = read_ev_q.tx_ptr;
          rec_d.stand.rx_ptr = read_ev_q.rx_ptr;
          rec_d.stand.mode   = MdLine;
          rec_d.stand.redis  = read_ev_q.redis;
          rec_d.stand.all    = read_ev_q.redis && guard_i && !read_host_q;
          rec_d.cost         = cost_new_q;
        end
        // The request port says with each packet what it speaks.
        if (read_host_q) begin
          rec_d.stand.redis  = read_ev_q.redis;
          rec_d.stand.binary = !read_ev_q.redis;
        end
      end
      OpIssue: rec_d.queued = 1'b0;
      default: ;
    endcase
  end

  // ---------------------------------------------------------------- decide
  sop_e act_op_q;
  logic act_may_q, act_data_q, act_peer_q;
  logic act_raw_q;  // gates run nothing of the job that begins, or ends
  logic
      act_near_q,
      act_silent_q;  // its job read and said little, and nobody has asked; it said nothing
  logic
      act_dear_q,
      act_counts_q,
      act_known_q;  // its jobs are dear; this one is counted as such; it had one before
  took_t act_since_q;  // clocks since a job ended before this one
  moment_t act_age_q;  // and since it began, but for the pipe's length
  logic act_late_q, act_none_q;  // the job began behind that end; that was in this clock
  cost_t act_kept_q;
  rec_t act_rec_q;
  hpiece_t act_piece_q;  // its connection is act_conn_q
  logic [31:0] act_avail_q, act_used_q;
  logic [13:0] act_need_q, act_plenty_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) act_valid_q <= 1'b0;
    else act_valid_q <= read_valid_q;
    act_peer_q <= rst_ni && read_valid_q && !read_host_q;
    if (read_valid_q) begin
      act_conn_q  <= read_conn_q;
      act_host_q  <= read_host_q;
      act_op_q    <= read_op_q;
      act_may_q   <= read_may_q;
      act_known_q  <= rec.known;
      act_dear_q   <= bar_t'(rec.cost) >= bar;
      act_counts_q <= (read_op_q == OpDone) ? rec.dear : read_op_q == OpIssue && read_dear_q;
      act_since_q  <= since;
      act_age_q    <= clock_q - rec.begun;
      act_late_q   <= !later[$bits(later)-1] && later != '0;
      act_none_q   <= since == '0;
      act_kept_q   <= rec.known ? kept_of(rec.cost) : '0;
      act_near_q  <= rec.tx_ptr[31:TellW] == read_tx_q[31:TellW] &&
          rec.stand.rx_ptr[31:TellW] == read_stand_q.rx_ptr[31:TellW] && !rec.asked;
      act_silent_q <= rec.tx_ptr == read_tx_q;
      act_raw_q    <= rec.stand.all;
      act_data_q  <= read_op_q == OpEvent && read_ev_q.data;
      act_rec_q   <= rec_d;
      act_avail_q <= rec_d.rx_end - rec_d.stand.rx_ptr;
      act_used_q  <= rec_d.tx_ptr - rec_d.tx_acked;
      // Bytes that make it worthwhile to read much again: an eighth more, or as many as a job can have.
      act_plenty_q <= (rec_d.stand.rem[13:0] >= 14'(JobBytes * 8 / 9)) ? 14'(JobBytes)
          : rec_d.stand.rem[13:0] + 14'(rec_d.stand.rem[13:3]);
      // Bytes that make a job worthwhile.
      unique case (rec_d.stand.mode)
        MdValue:
        act_need_q <= (rec_d.stand.rem > JobBytes) ? 14'(JobBytes) : rec_d.stand.rem[13:0];
        MdSwallow: act_need_q <= 14'd1;
        default:   act_need_q <= (rec_d.stand.rem == '0) ? 14'd1 : rec_d.stand.rem[13:0];
      endcase
      if (read_op_q == OpPiece) act_piece_q <= hpiece_i;
    end
  end

  took_t took, took_q;
  logic ended_q, first_q;
  cost_t counted_q;
  always_comb begin
    took = act_late_q ? took_t'(act_age_q) : act_since_q;
    if (act_none_q || act_age_q[$bits(act_age_q)-1]) took = '0;
  end
  always_ff @(posedge clk_i) begin
    clock_q   <= rst_ni ? clock_q + 1'b1 : '0;
    base_q    <= clock_q - moment_t'(since);
    took_q    <= took;
    counted_q <= act_rec_q.cost;
    ended_q   <= rst_ni && act_valid_q && act_op_q == OpDone && act_counts_q;
    first_q   <= rst_ni && act_valid_q && act_op_q == OpDone && !act_known_q && !act_host_q &&
                 !act_raw_q;
    if (!rst_ni) cost_new_q <= '0;
    else if (first_q) cost_new_q <= mean_of(kept_of(cost_new_q), took_q);
  end

  // What the job that begins takes, as far as that is known. One that passes bytes on as they are takes about a clock for
  // each line of them, and some: of these no job is measured, since few of them on their way, each late, would look
  // like ones that take long, and few would be let in.
  cost_t act_cost;
  logic [7:0] guess, lines;
  always_comb begin
    lines = (act_avail_q >= JobBytes) ? 8'(JobBytes / 64) : act_avail_q[13:6];
    if (act_op_q == OpPiece) lines = 8'(act_piece_q.len >> 6);
    guess    = RawClocks + lines;
    act_cost = act_raw_q ? cost_t'(guess) : act_rec_q.cost;
  end

  logic quit, live, host, awaited, wanted, room, startable, crumbs, copies, dear, raw;
  logic issue, issue_piece;
  logic enqueue;
  logic about, ends, finish, discard, release_id, app_push, follows;
  rec_t act_rec_d;
  app_t app_d;
  always_comb begin
    act_rec_d = act_rec_q;
    quit      = act_rec_q.stand.mode inside {MdQuit, MdAbort} || act_rec_q.killed ||
                act_rec_q.closing;
    live      = act_rec_q.open && !act_rec_q.closed && !quit;
    host      = act_rec_q.stand.mode == MdHost;
    awaited   = host && !act_rec_q.stand.rem[0];
    wanted    = act_rec_q.stand.cont ||
                (host ? act_rec_q.stand.rem[0] : act_avail_q >= 32'(act_need_q));
    room      = act_used_q <= 32'(RingBytes - (act_rec_q.stand.cont || host ? TxRoomCont : TxRoom));
    startable = live && !act_rec_q.busy && wanted && room;

    // The queue makes these wait for each other.
    crumbs      = act_rec_q.stand.vain && act_rec_q.stand.rem[13:8] != '0 &&
                  act_avail_q < 32'(act_plenty_q);
    copies      = act_rec_q.stand.copies && late_i && !act_rec_q.stand.cont;
    raw         = act_rec_q.stand.all;
    dear        = act_dear_q && !act_host_q;
    issue       = act_may_q && startable &&
                  !((crumbs || copies || dear || raw) && act_op_q != OpIssue && !act_host_q);
    // A piece was asked for when there was room for it, so it never waits for the client: those
    // behind it are other connections'. A dead connection takes it, too.
    issue_piece = act_op_q == OpPiece && !act_rec_q.busy && !act_piece_q.about;
    // Not while a piece becomes replies, with which it is known that host software has answered.
    about       = act_op_q == OpPiece && !(act_rec_q.busy && host) && act_piece_q.about;
    enqueue     = startable && !issue && !act_rec_q.queued;
    finish      = live && act_rec_q.fin && !act_rec_q.busy && !wanted && !host && !act_rec_q.queued;
    discard     = act_rec_q.open && !act_rec_q.closed && quit && act_data_q && !act_rec_q.busy;
    release_id  = act_rec_q.closed && !act_rec_q.busy && !act_rec_q.queued &&
                  !(awaited && !act_rec_q.stand.cont) && act_op_q != OpPiece;

    if (issue || issue_piece) begin
      act_rec_d.busy = 1'b1;
      act_rec_d.dear  = act_op_q == OpIssue && act_counts_q;
      act_rec_d.piece = issue_piece;
      act_rec_d.begun = clock_q + moment_t'(PipeClocks);
      act_rec_d.guess = guess;
    end
    // A piece is a part of what the job before began.
    if (act_op_q == OpDone && !act_raw_q && !(act_rec_q.piece && took < took_t'(act_rec_q.cost)))
      act_rec_d.cost = mean_of(act_kept_q, took);
    if (enqueue) act_rec_d.queued = 1'b1;
    about_o.conn  = act_conn_q;
    about_o.left  = act_rec_q.fin;
    about_o.there = live && !act_host_q && act_rec_q.stand.redis &&
                    act_rec_q.stand.met == !act_piece_q.stranger &&
                    (act_rec_q.told || !act_piece_q.three);
    if (about && about_o.there) act_rec_d.told = 1'b1;
    if (about) act_rec_d.asked = act_rec_q.busy;
    if (about && about_o.there && act_piece_q.kill) act_rec_d.killed = 1'b1;
    // The piece that it waits for has to come first, be it for nobody.
    ends = act_rec_d.killed && !act_rec_q.closing && !act_rec_q.busy && !awaited;
    if (ends || finish || (act_op_q == OpDone && act_rec_q.stand.mode == MdQuit)) begin
      act_rec_d.closing = 1'b1;
    end
    // What comes after the last request is read and forgotten.
    if (act_rec_d.closing && !act_rec_q.busy && !issue_piece) begin
      act_rec_d.stand.rx_ptr = act_rec_q.rx_end;
    end
    if (release_id) act_rec_d = '0;

    // A reply of host software shares its segment with the next one's, if that is asked for at once. Host software
    // says by a question that it takes longer.
    follows = act_near_q && (act_rec_q.piece ? startable && !crumbs && !copies
                                              : awaited && act_silent_q) && !act_rec_d.closing;
    app_push         = (act_op_q == OpDone && !follows) || (about && live && !act_rec_q.busy) ||
        ends || finish || discard || release_id;
    app_d.conn       = act_conn_q;
    app_d.rx_ptr     = act_rec_d.stand.rx_ptr;
    app_d.tx_ptr     = act_rec_q.tx_ptr;
    app_d.close      = act_rec_d.closing && !release_id;
    app_d.reset      = act_op_q == OpDone && act_rec_q.stand.mode == MdAbort && !release_id;
    app_d.release_id = release_id;
  end

  assign hpiece_ready_o = act_valid_q && (issue_piece || about);
  assign about_valid_o  = act_valid_q && about;
  assign close_o = act_valid_q && act_rec_d.closing && !act_rec_q.closing && !release_id;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      piece_blocked_q <= 1'b0;
      clear_q         <= 1'b1;
      clear_conn_q    <= '0;
    end else begin
      // The job that asked for it is not done yet; that is the next event of its connection.
      if (act_valid_q && act_op_q == OpPiece) piece_blocked_q <= !issue_piece && !about;
      else if (act_valid_q && act_conn_q == hpiece_i.conn) piece_blocked_q <= 1'b0;
      if (clear_q) begin
        clear_conn_q <= clear_conn_q + 1'b1;
        if (clear_conn_q == ConnW'(Conns - 1)) clear_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) host_ready_q <= 1'b0;
    else if (act_valid_q && enqueue && act_host_q) host_ready_q <= 1'b1;
    else if (take_issue) host_ready_q <= 1'b0;
    if (!rst_ni) host_rec_q <= '0;
    else if (act_valid_q && act_host_q) host_rec_q <= act_rec_d;
  end

  lib_ram #(
    .Width($bits(rec_t)),
    .Depth(Conns)
  ) u_rec (
    .clk_i,
    .we_i   (act_peer_q || clear_q),
    .waddr_i(clear_q ? clear_conn_q : act_conn_q[ConnW-1:0]),
    .wbe_i  (1'b1),
    .wdata_i(clear_q ? '0 : act_rec_d),
    .re_i   (choose_valid),
    .raddr_i(choose_conn[ConnW-1:0]),
    .rdata_o(rec_ram)
  );

  logic queue_idle, empty, alone;
  logic [15:0] queue_level;
  scheduler_share u_share (
    .clk_i,
    .rst_ni,
    .begin_i     (act_valid_q && (issue || issue_piece)),
    .begin_dear_i(act_rec_d.dear),
    .end_i       (read_valid_q && read_op_q == OpDone),
    .end_dear_i  (rec.dear),
    .mean_valid_i(act_peer_q && ((act_op_q == OpDone && !act_raw_q) ||
                                 (enqueue && act_known_q && !raw))),
    .mean_i      (act_rec_d.cost),
    .waiting_i   (queue_level),
    .all_dear_i  (queue_all_dear),
    .udp_begin_i,
    .udp_end_i,
    .since_o     (since),
    .bar_o       (bar),
    .quantum_o   (quantum),
    .press_o,
    .begin_cost_i(act_cost),
    .ended_i     (act_valid_q && act_op_q == OpDone),
    .ended_cost_i(act_raw_q ? cost_t'(act_rec_q.guess) : act_rec_q.cost),
    .empty_o     (empty),
    .full_o      (full),
    .alone_o     (alone)
  );
  scheduler_queue #(
    .Conns(Conns)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .push_i (act_peer_q && enqueue),
    .conn_i (act_conn_q),
    .crumbs_i(crumbs),
    .again_i(act_rec_q.stand.rem[13:7]),
    .cost_i (raw ? cost_t'(guess) : act_rec_d.cost),
    .bar_i  (bar),
    .known_i(act_rec_q.known),
    .quantum_i(quantum),
    .room_i (job_room && !full),
    .begin_i(act_valid_q && issue && act_op_q == OpIssue && act_counts_q),
    .begin_cost_i(act_rec_q.cost),
    .end_i  (ended_q),
    .end_cost_i(counted_q),
    .took_i (took_q),
    .raw_i  (raw),
    .copies_i(copies),
    .late_i,
    .empty_i(empty),
    .alone_i(alone),
    .valid_o(queue_valid),
    .ready_i(ready_pop),
    .conn_o (queue_conn),
    .dear_o (queue_dear),
    .all_dear_o(queue_all_dear),
    .level_o(queue_level),
    .idle_o (queue_idle)
  );

  // ---------------------------------------------------------------- job
  logic job_valid;
  turn_t job_d;
  scheduler_job u_job_size (
    .clk_i,
    .rst_ni,
    .look_i    (act_valid_q),
    .valid_i   (act_valid_q && (issue || issue_piece)),
    .host_i    (issue_piece),
    .conn_i    (act_conn_q),
    .fresh_i   (!act_rec_q.known),
    .known_i   (act_rec_q.known || act_host_q),
    .stand_i   (act_rec_q.stand),
    .pause_i   (pause_i && act_rec_q.stand.redis && !act_host_q),
    .piece_i   (act_piece_q),
    .tx_ptr_i  (act_rec_q.tx_ptr),
    .used_i    (act_used_q[16:0]),
    .avail_i   (act_avail_q),
    .valid_o   (job_valid),
    .job_o     (job_d)
  );

  // Room for what the pipe already holds is kept free, so the pipe itself never stalls.
  localparam int unsigned OutDepth = 8;
  logic [1:0] unused_room;
  logic [3:0] job_level, app_level;
  logic app_valid, app_ready;
  app_t app;
  assign job_room = job_level <= 4'(OutDepth - 4);
  assign app_room = app_level <= 4'(OutDepth - 4);

  lib_fifo #(
    .T    (turn_t),
    .Depth(OutDepth)
  ) u_job (
    .clk_i,
    .rst_ni,
    .s_valid_i(job_valid),
    .s_ready_o(unused_room[0]),
    .s_data_i (job_d),
    .m_valid_o(job_valid_o),
    .m_ready_i(job_ready_i),
    .m_data_o (job_o),
    .level_o  (job_level)
  );

  lib_fifo #(
    .T    (app_t),
    .Depth(OutDepth)
  ) u_app (
    .clk_i,
    .rst_ni,
    .s_valid_i(act_valid_q && app_push),
    .s_ready_o(unused_room[1]),
    .s_data_i (app_d),
    .m_valid_o(app_valid),
    .m_ready_i(app_ready),
    .m_data_o (app),
    .level_o  (app_level)
  );

  // Whether it resets decides there whose turn it is, so it stands in flip-flops; and whether it has it is known
  // late, so the next one comes a clock behind. A job takes two turns here or more for one of these.
  assign app_ready = !app_valid_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) app_valid_o <= 1'b0;
    else app_valid_o <= app_valid_o ? !app_ready_i : app_valid;
    if (app_ready) app_o <= app;
  end

  assign idle_o = !clear_q && !host_ready_q && !read_valid_q && !act_valid_q && !job_valid &&
                  !ev_valid_i &&
                  !done_valid_i && !(hpiece_valid_i && !piece_blocked_q) && queue_idle &&
                  job_level == '0 && app_level == '0 && !app_valid_o;

  // A piece of a live connection was asked for, and there is room for it.
  `ASSERT(PieceAsked, !(act_valid_q && issue_piece) || (host && !act_rec_q.stand.rem[0]))
  `ASSERT(
      PieceRoom,
      !(act_valid_q && issue_piece && live) || act_used_q <= 32'(RingBytes) - 32'(act_piece_q.len))
  // Nor has a connection that closes a job that begins.
  `ASSERT(Closing, !(act_valid_q && issue && act_rec_d.closing))
  // While the store is held no other connection's bytes become a job.
  `ASSERT(Held, !(hold_i && take_issue && turn_conn != HostConn))
  `ASSERT(JobRoom, !(job_valid && !unused_room[0]))
  `ASSERT_STABLE(AppStable, app_valid_o, app_ready_i, app_o)
  `ASSERT(AppRoom, !(act_valid_q && app_push && !unused_room[1]))

endmodule
