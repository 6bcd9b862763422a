// Completes what the fast path and the slow path give out with the numbers of the line, and queues it
// for the store: records and keys become visible when they are committed. Latency 3, initiation interval 1.
`include "lib_assert.svh"

module request_queue
  import wirekv_pkg::*;
  import request_pkg::*;
  import parse_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  now_t        now_i,
  /// From the slow path and the fast path, never both at once; numbers a clock later. The fast path
  /// may give out something now, and the slow path does not. Item data by itself.
  input  out_t        byte_i,
  input  numbers_t    byte_numbers_i,
  input  out_t        line_i,
  input  numbers_t    line_numbers_i,
  input  logic        line_turn_i,
  input  logic        item_valid_i,
  input  beat_t       item_i,
  /// Or a beat of a key of a request, of its item; then nobody else gives any.
  input  logic        key_request_i,
  input  logic        key_item_i,
  /// There is room for all that a request may give, as long as it has a few keys; for 16 beats of item data; for 8
  /// of keys.
  output logic        room_o,
  output logic        item_room_o,
  output logic        key_room_o,
  /// Requests and their keys.
  output logic        req_valid_o,
  input  logic        req_ready_i,
  output req_t        req_o,
  output logic        key_valid_o,
  input  logic        key_ready_i,
  output beat_t       key_o,
  /// Items for the log; the place of each start comes in the same clock or later, in order.
  output logic        put_valid_o,
  input  logic        put_ready_i,
  output put_t        put_o,
  input  logic        put_off_valid_i,
  input  off_t        put_off_i,
  output logic        putk_valid_o,
  input  logic        putk_ready_i,
  output beat_t       putk_o,
  output logic        putb_valid_o,
  input  logic        putb_ready_i,
  output beat_t       putb_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  // ---------------------------------------------------------------- numbers catch up
  out_t out_q;
  logic line_q;  // the record is the fast path's
  numbers_t numbers;
  msec_t when_;
  assign numbers = line_q ? line_numbers_i : byte_numbers_i;
  // Of a meta command the slow path tells the time, the fast path seconds.
  assign when_   = (out_q.rec.req.resp.is || (out_q.rec.req.meta.is && !line_q)) ?
      numbers.expiry + (numbers.relative ? now_i.ms : '0) :
      absolute(numbers.exptime, now_i.second, out_q.rec.req.binary.is);
  // The payload mover's keys count at once, but for the slow path's.
  queue_t mover_key_do, mover_putk_do;
  assign mover_key_do  = '{push: key_request_i, commit: key_request_i && line_turn_i, back: 1'b0};
  assign mover_putk_do = '{push: key_item_i, commit: key_item_i, back: 1'b0};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q.rec_do   <= '0;
      out_q.key_do   <= '0;
      out_q.putk_do  <= '0;
      out_q.put_push <= 1'b0;
    end else begin
      out_q.rec_do   <= byte_i.rec_do | line_i.rec_do;
      out_q.key_do   <= byte_i.key_do | line_i.key_do | mover_key_do;
      out_q.putk_do  <= byte_i.putk_do | line_i.putk_do | mover_putk_do;
      out_q.put_push <= byte_i.put_push || line_i.put_push;
    end
    // Whether it does is known too late for so much.
    line_q    <= line_turn_i;
    out_q.rec <= line_turn_i ? line_i.rec : byte_i.rec;
    out_q.key <= (key_request_i || key_item_i) ? item_i : line_turn_i ? line_i.key : byte_i.key;
    out_q.put <= line_turn_i ? line_i.put : byte_i.put;
  end

  typedef struct packed {
    req_t     req;
    off_sel_e off_sel;
  } stored_t;

  stored_t store_rec, head;
  put_t store_put;
  always_comb begin
    store_rec.req        = out_q.rec.req;
    store_rec.off_sel    = out_q.rec.off_sel;
    store_rec.req.rx_ptr = out_q.rec.req.rx_ptr + 32'(out_q.rec.pos);
    if (out_q.rec.use_flags) store_rec.req.flags = numbers.flags;
    if (out_q.rec.use_exptime)
      store_rec.req.expiry = (out_q.rec.req.op == OpFlush && numbers.exptime[31] &&
                              !out_q.rec.req.binary.is) ? '0 : when_;
    if (out_q.rec.use_number) store_rec.req.num = numbers.number;
    store_put = out_q.put;
    if (out_q.put.start) begin
      store_put.flags  = numbers.flags;
      store_put.expiry = when_;
    end
  end

  // ---------------------------------------------------------------- queues
  localparam int unsigned ReqDepth = 512;
  localparam int unsigned KeyDepth = 512;
  localparam int unsigned PutkDepth = 32;
  localparam int unsigned PutbDepth = 256;
  localparam int unsigned PutDepth = 16;
  localparam int unsigned Slack = 16;  // what may still come

  logic head_valid, head_ready;
  logic [4:0] unused_ready;  // always there for what `room_o` promised
  logic [$clog2(ReqDepth+1)-1:0] req_free;
  logic [$clog2(KeyDepth+1)-1:0] key_free;
  logic [$clog2(PutkDepth+1)-1:0] putk_free;
  logic [$clog2(PutbDepth+1)-1:0] putb_level;
  logic [$clog2(PutDepth+1)-1:0] put_level;
  logic room_q, item_room_q, key_room_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) item_room_q <= 1'b0;
    else item_room_q <= 32'(putb_level) <= PutbDepth - Slack;
    key_room_q <= rst_ni && 32'(key_free) >= Slack / 2 && 32'(putk_free) >= Slack / 2;
    if (!rst_ni) room_q <= 1'b0;
    else
      room_q <= 32'(req_free) >= Slack && 32'(key_free) >= Slack && 32'(putk_free) >= Slack &&
                32'(put_level) <= PutDepth - 10;
  end
  assign room_o      = room_q;
  assign item_room_o = item_room_q;
  assign key_room_o  = key_room_q;

  lib_commit_fifo #(
    .T    (stored_t),
    .Depth(ReqDepth)
  ) u_req (
    .clk_i,
    .rst_ni,
    .s_valid_i (out_q.rec_do.push),
    .s_ready_o (unused_ready[0]),
    .s_data_i  (store_rec),
    .commit_i  (out_q.rec_do.commit),
    .rollback_i(out_q.rec_do.back),
    .m_valid_o (head_valid),
    .m_ready_i (head_ready),
    .m_data_o  (head),
    .free_o    (req_free)
  );

  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(KeyDepth)
  ) u_key (
    .clk_i,
    .rst_ni,
    .s_valid_i (out_q.key_do.push),
    .s_ready_o (unused_ready[1]),
    .s_data_i  (out_q.key),
    .commit_i  (out_q.key_do.commit),
    .rollback_i(out_q.key_do.back),
    .m_valid_o (key_valid_o),
    .m_ready_i (key_ready_i),
    .m_data_o  (key_o),
    .free_o    (key_free)
  );

  lib_commit_fifo #(
    .T    (beat_t),
    .Depth(PutkDepth)
  ) u_putk (
    .clk_i,
    .rst_ni,
    .s_valid_i (out_q.putk_do.push),
    .s_ready_o (unused_ready[2]),
    .s_data_i  (out_q.key),
    .commit_i  (out_q.putk_do.commit),
    .rollback_i(out_q.putk_do.back),
    .m_valid_o (putk_valid_o),
    .m_ready_i (putk_ready_i),
    .m_data_o  (putk_o),
    .free_o    (putk_free)
  );

  lib_fifo #(
    .T    (beat_t),
    .Depth(PutbDepth)
  ) u_putb (
    .clk_i,
    .rst_ni,
    .s_valid_i(item_valid_i),
    .s_ready_o(unused_ready[3]),
    .s_data_i (item_i),
    .m_valid_o(putb_valid_o),
    .m_ready_i(putb_ready_i),
    .m_data_o (putb_o),
    .level_o  (putb_level)
  );

  logic puth_valid, off_room, unused_off_ready, off_valid, off_take;
  lib_fifo #(
    .T    (put_t),
    .Depth(PutDepth)
  ) u_put (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_q.put_push),
    .s_ready_o(unused_ready[4]),
    .s_data_i (store_put),
    .m_valid_o(puth_valid),
    .m_ready_i(put_ready_i && off_room),
    .m_data_o (put_o),
    .level_o  (put_level)
  );
  assign put_valid_o = puth_valid && off_room;

  // Where the log put the items whose records are still to come, and the parts of long ones: when a
  // record leaves, the log counts the bytes that come before it. There is room for all that were asked for.
  localparam int unsigned OffDepth = 32;
  off_t off_head, off_last_q;
  logic [$clog2(OffDepth+1)-1:0] unused_off;
  lib_credit #(
    .Depth(OffDepth)
  ) u_off_room (
    .clk_i,
    .rst_ni,
    .take_i(put_valid_o && put_ready_i),
    .give_i(off_take),
    .ok_o  (off_room),
    // verilator lint_off PINCONNECTEMPTY
    .left_o()
    // verilator lint_on PINCONNECTEMPTY
  );
  lib_fifo #(
    .T    (off_t),
    .Depth(OffDepth)
  ) u_off (
    .clk_i,
    .rst_ni,
    .s_valid_i(put_off_valid_i),
    .s_ready_o(unused_off_ready),
    .s_data_i (put_off_i),
    .m_valid_o(off_valid),
    .m_ready_i(off_take),
    .m_data_o (off_head),
    .level_o  (unused_off)
  );

  logic told, told_ready;
  assign told        = head.off_sel inside {OsNew, OsTold};
  assign told_ready  = !told || off_valid;
  assign req_valid_o = head_valid && told_ready;
  assign head_ready  = req_ready_i && told_ready;
  assign off_take    = req_valid_o && req_ready_i && told;
  always_comb begin
    req_o = head.req;
    if (head.off_sel == OsNew) req_o.off = off_head;
    // The room of a part was another's by then.
    if (head.off_sel == OsTold && off_head.lap == '0) req_o.off = '0;
    if (head.off_sel == OsSame) req_o.off = off_last_q;
  end
  always_ff @(posedge clk_i) if (req_valid_o && req_ready_i) off_last_q <= req_o.off;

  assign idle_o = out_q.rec_do == '0 && !item_valid_i && 32'(req_free) == ReqDepth &&
                  !putk_valid_o && !putb_valid_o && !puth_valid && !key_valid_o && !off_valid;

  `ASSERT(ReqRoom, !(out_q.rec_do.push && !unused_ready[0]))
  `ASSERT(KeyRoom, !(out_q.key_do.push && !unused_ready[1]))
  `ASSERT(PutkRoom, !(out_q.putk_do.push && !unused_ready[2]))
  `ASSERT(PutbRoom, !(item_valid_i && !unused_ready[3]))
  `ASSERT(MoversTurn,
          !((key_request_i || key_item_i) && (line_i.key_do.push || byte_i.key_do.push)))
  `ASSERT(LinesTurn, !(line_i.rec_do.push && !line_turn_i))
  `ASSERT(BytesTurn,
          !((byte_i.rec_do.push || byte_i.key_do.push || byte_i.put_push) && line_turn_i))
  `ASSERT(OffRoom, !(put_off_valid_i && !unused_off_ready))
  `ASSERT(PutRoom, !(out_q.put_push && !unused_ready[4]))

endmodule
