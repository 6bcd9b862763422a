// Completes what decode gives out with the numbers of the line, and queues it for the store:
// records and keys become visible when decode commits them. Latency 3, initiation interval 1.
`include "lib_assert.svh"

module requests
  import wirekv_pkg::*;
  import request_pkg::*;
  import front_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// UNIX seconds.
  input  logic [31:0] now_i,
  /// Which number the step is that decode sees; its magnitude comes a clock later.
  input  field_e      field_i,
  input  logic        neg_i,
  input  logic [63:0] value_i,
  output logic [31:0] length_o,
  input  out_t        out_i,
  /// The same from the line engine, numbers a clock later; never both at once. Item data by itself.
  // verilator lint_off UNUSEDSIGNAL
  input  out_t        line_i,
  // verilator lint_on UNUSEDSIGNAL
  input  numbers_t    numbers_i,
  input  logic        item_valid_i,
  input  beat_t       item_i,
  /// There is room for the results of 8 more pieces; for 16 beats of item data.
  output logic        room_o,
  output logic        item_room_o,
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
  output logic        putb_valid_o,
  input  logic        putb_ready_i,
  output beat_t       putb_o,
  /// Nothing in flight here.
  output logic        idle_o
);

  // ---------------------------------------------------------------- numbers catch up
  // A word's value comes a clock after its step, together with the record.
  field_e field_q;
  logic neg_q;
  logic [31:0] flags_q, flags, exptime_q, exptime, signed32;
  logic [63:0] number_q, number;
  assign signed32 = neg_q ? -value_i[31:0] : value_i[31:0];
  assign flags    = (field_q == FdFlags) ? value_i[31:0] : flags_q;
  assign exptime  = (field_q == FdExptime) ? signed32 : exptime_q;
  assign number   = (field_q == FdNumber) ? value_i : number_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) field_q <= FdNone;
    else field_q <= field_i;
    neg_q <= neg_i;
    if (field_q == FdFlags) flags_q <= value_i[31:0];
    if (field_q == FdExptime) exptime_q <= signed32;
    if (field_q == FdNumber) number_q <= value_i;
    if (field_q == FdLength) length_o <= signed32;
  end

  // memcached's times: seconds up to 30 days are relative, more are absolute; negative is past.
  function automatic logic [31:0] absolute(input logic [31:0] time_, input logic [31:0] now);
    if (time_ == '0) return '0;
    if (time_[31]) return 32'd1;
    if (time_ <= 32'd2592000) return now + time_;
    return time_;
  endfunction

  // ---------------------------------------------------------------- a clock later
  out_t out_q;
  logic line_q;  // the record is the line engine's
  logic [31:0] when_;
  assign when_ = absolute(line_q ? numbers_i.exptime : exptime, now_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q.rec_do   <= '0;
      out_q.key_do   <= '0;
      out_q.putb_do  <= '0;
      out_q.put_push <= 1'b0;
    end else begin
      out_q.rec_do   <= out_i.rec_do | line_i.rec_do;
      out_q.key_do   <= out_i.key_do | line_i.key_do;
      out_q.putb_do  <= out_i.putb_do;
      out_q.put_push <= out_i.put_push || line_i.put_push;
    end
    line_q <= line_i.rec_do.push;
    if (line_i.rec_do.push) begin
      out_q.rec <= line_i.rec;
      out_q.key <= line_i.key;
      out_q.put <= line_i.put;
    end else begin
      if (out_i.rec_do.push) out_q.rec <= out_i.rec;
      if (out_i.key_do.push) out_q.key <= out_i.key;
      if (out_i.put_push) out_q.put <= out_i.put;
    end
    if (out_i.putb_do.push) out_q.putb <= out_i.putb;
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
    if (out_q.rec.use_flags) store_rec.req.flags = line_q ? numbers_i.flags : flags;
    if (out_q.rec.use_exptime)
      store_rec.req.exptime = (out_q.rec.req.op == OpFlush && exptime[31]) ? '0 : when_;
    if (out_q.rec.use_number) store_rec.req.num = line_q ? 64'(numbers_i.number) : number;
    store_put = out_q.put;
    if (out_q.put.start) begin
      store_put.flags   = line_q ? numbers_i.flags : flags;
      store_put.exptime = when_;
    end
  end

  // ---------------------------------------------------------------- queues
  localparam int unsigned ReqDepth = 512;
  localparam int unsigned KeyDepth = 512;
  localparam int unsigned PutbDepth = 256;
  localparam int unsigned PutDepth = 16;
  localparam int unsigned Slack = 16;  // results of the pieces that may still come

  logic head_valid, head_ready;
  logic [3:0] unused_ready;  // always there for what `room_o` promised
  logic [$clog2(ReqDepth+1)-1:0] req_free;
  logic [$clog2(KeyDepth+1)-1:0] key_free;
  logic [$clog2(PutbDepth+1)-1:0] putb_free;
  logic [$clog2(PutDepth+1)-1:0] put_level;
  logic room_q, item_room_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) item_room_q <= 1'b0;
    else item_room_q <= 32'(putb_free) >= Slack;
    if (!rst_ni) room_q <= 1'b0;
    else
      room_q <= 32'(req_free) >= Slack && 32'(key_free) >= Slack && 32'(putb_free) >= Slack &&
                32'(put_level) <= PutDepth - 10;
  end
  assign room_o      = room_q;
  assign item_room_o = item_room_q;

  lib_cfifo #(
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

  lib_cfifo #(
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

  lib_cfifo #(
    .T    (beat_t),
    .Depth(PutbDepth)
  ) u_putb (
    .clk_i,
    .rst_ni,
    .s_valid_i (out_q.putb_do.push || item_valid_i),
    .s_ready_o (unused_ready[2]),
    .s_data_i  (item_valid_i ? item_i : out_q.putb),
    .commit_i  (out_q.putb_do.commit || item_valid_i),
    .rollback_i(out_q.putb_do.back),
    .m_valid_o (putb_valid_o),
    .m_ready_i (putb_ready_i),
    .m_data_o  (putb_o),
    .free_o    (putb_free)
  );

  logic puth_valid, off_room, unused_off_ready, off_valid, off_take;
  lib_fifo #(
    .T    (put_t),
    .Depth(PutDepth)
  ) u_put (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_q.put_push),
    .s_ready_o(unused_ready[3]),
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
    .ok_o  (off_room)
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
    if (head.off_sel == OsSame) req_o.off = off_last_q;
  end
  always_ff @(posedge clk_i) if (off_take && head.off_sel == OsNew) off_last_q <= off_head;

  assign idle_o = out_q.rec_do == '0 && !item_valid_i && 32'(req_free) == ReqDepth &&
                  !putb_valid_o && !puth_valid && !key_valid_o && !off_valid;

  `ASSERT(ReqRoom, !(out_q.rec_do.push && !unused_ready[0]))
  `ASSERT(KeyRoom, !(out_q.key_do.push && !unused_ready[1]))
  `ASSERT(PutbRoom, !((out_q.putb_do.push || item_valid_i) && !unused_ready[2]))
  `ASSERT(OneAtATime,
          !(out_i.rec_do.push && line_i.rec_do.push) && !(out_q.putb_do != '0 && item_valid_i))
  `ASSERT(OffRoom, !(put_off_valid_i && !unused_off_ready))
  `ASSERT(PutRoom, !(out_q.put_push && !unused_ready[3]))

endmodule
