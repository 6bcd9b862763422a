// The host's request port: a connection without TCP. Host software sends it requests and gets its replies
// as packets of the punt queue's streams; in the card it is HostConn, a connection as all others, whose
// rings are here. So it reads and writes items of any size, in the one order of requests, and nothing that
// comes from the wire can be taken for it: peers have other ids, and this module is the only source of
// events for this one.
//
// It may hold the store: from then on the scheduler hands out no other connection's jobs and fetch begins no
// datagram's. As jobs keep their order, what others had asked for before is done before, and what comes then
// waits. If a hold takes too long, see hold_timer, the connection is closed, and what is sent for it goes nowhere until
// it is opened again.
//
// Packets stand in docs/HOST_INTERFACE.md, "The request port". Latency 3 from a packet's last beat to its event,
// 4 from a job's end to its packet; initiation interval 1 in, 2 clocks a packet and 1 a line out.
`include "lib_assert.svh"

module request_port
  import wirekv_pkg::*;
  import tcp_pkg::*;
  import host_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Most clocks from the beginning of a hold to its commit or end, and from there on. 0: there is no hold.
  input  logic [23:0]  hold_max_i,
  /// From and to the host: packets of this port and of the punt queue.
  input  logic [511:0] s_axis_exc_tdata,
  input  logic [63:0]  s_axis_exc_tkeep,
  input  logic         s_axis_exc_tvalid,
  output logic         s_axis_exc_tready,
  input  logic         s_axis_exc_tlast,
  output logic [511:0] m_axis_exc_tdata,
  output logic [63:0]  m_axis_exc_tkeep,
  output logic         m_axis_exc_tvalid,
  input  logic         m_axis_exc_tready,
  output logic         m_axis_exc_tlast,
  /// To and from the punt queue.
  output logic         in_valid_o,
  input  logic         in_ready_i,
  output axis_t        in_o,
  input  logic         out_valid_i,
  output logic         out_ready_o,
  input  axis_t        out_i,
  /// Events for the scheduler. Pulse: it has taken the one that says that the connection is closed.
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  input  logic         closed_i,
  /// What it says of the connection.
  input  logic         app_valid_i,
  input  app_t         app_i,
  /// Lines of the receive ring.
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  logic [9:0]   rd_line_i,
  output logic         line_valid_o,
  input  logic         line_ready_i,
  output line_t        line_o,
  /// Writes to the transmit ring.
  input  logic         wr_valid_i,
  input  logic [9:0]   wr_line_i,
  input  line_write_t  wr_i,
  /// The store is held.
  output logic         hold_o,
  /// Nothing to do, and no hold.
  output logic         idle_o
);

  // Lines of the rings. The scheduler thinks they have RingBytes: of the one for replies it is told that so
  // much is taken that what is left fits.
  localparam int unsigned RxLines = 512;
  localparam int unsigned TxLines = 256;
  // Of replies in a packet.
  localparam int unsigned PacketLines = 8;
  localparam logic [31:0] TxShut = 32'(RingBytes - 64 * TxLines);

  // ---------------------------------------------------------------- packets from the host
  typedef struct packed {
    logic       port;   // it is for this port
    logic       unused;
    logic       redis;  // what follows is Redis' protocol, else memcached's binary one
    logic       release_;
    logic       commit;
    logic       hold;
    logic       close;
    logic       open;
  } order_t;

  order_t order;
  logic [15:0] length;
  logic mine_q, body_q, mine, beat, head, takes;
  assign order  = s_axis_exc_tdata[55:48];
  assign length = s_axis_exc_tdata[47:32];
  assign mine   = body_q ? mine_q : order.port;
  assign beat   = s_axis_exc_tvalid && s_axis_exc_tready;
  assign head   = beat && !body_q && mine;

  assign in_valid_o        = s_axis_exc_tvalid && !mine;
  assign in_o              = '{data: s_axis_exc_tdata, keep: s_axis_exc_tkeep,
                               last: s_axis_exc_tlast};
  assign s_axis_exc_tready = mine || in_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) body_q <= 1'b0;
    else if (beat) body_q <= !s_axis_exc_tlast;
    if (beat) mine_q <= mine;
  end

  // ---------------------------------------------------------------- the connection
  typedef enum logic [1:0] {
    PtClosed,
    PtOpen,
    PtClosing  // until nothing of it is in flight
  } state_e;
  state_e state_q;
  logic redis_q, open_due_q, news_due_q, close_due_q, note_due_q;
  logic [31:0] rx_end_q, rx_in_q, rx_ptr_q;  // said to come; here; consumed
  logic [31:0] tx_end_q, tx_sent_q;  // written; sent to the host
  logic opens, closes, over, scheduler_closes, all_in;

  // What comes for a connection that is closing goes nowhere.
  assign opens  = head && order.open && state_q == PtClosed;
  assign closes = head && order.close && state_q == PtOpen;
  assign takes  = opens || (state_q == PtOpen && !close_due_q && !closes && !over);

  assign scheduler_closes = app_valid_i && (app_i.close || app_i.reset) && state_q == PtOpen;

  // ---------------------------------------------------------------- receive ring
  logic [31:0] at_q, at, to;  // the next byte's place; the place behind a line
  logic [16:0] stop_q;  // lane behind this packet's last byte, from the next byte's line on
  logic more_q;  // some of this packet are still to come
  logic writes, whole;
  strb_t lanes;
  assign writes = beat && body_q && mine && more_q && state_q == PtOpen;
  assign whole  = stop_q[16:6] != '0;
  assign lanes  = lib_pkg::lanes_from(at_q[5:0]) &
                  (whole ? '1 : lib_pkg::lanes_below({1'b0, stop_q[5:0]}));
  assign at     = opens ? '0 : rx_end_q;
  assign to     = whole ? {at_q[31:6] + 26'd1, 6'd0} : {at_q[31:6], stop_q[5:0]};
  assign all_in = beat && mine && s_axis_exc_tlast;

  logic line_valid_q;
  assign rd_ready_o   = !line_valid_q || line_ready_i;
  assign line_valid_o = line_valid_q;
  lib_ram #(
    .Width    (512),
    .Depth    (RxLines),
    .ByteWidth(8),
    .Ultra    (1)
  ) u_rx (
    .clk_i,
    .we_i   (writes),
    .waddr_i(at_q[6+:$clog2(RxLines)]),
    .wbe_i  (lanes),
    .wdata_i(s_axis_exc_tdata),
    .re_i   (rd_valid_i && rd_ready_o),
    .raddr_i(rd_line_i[$clog2(RxLines)-1:0]),
    .rdata_o(line_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_valid_q <= 1'b0;
    else line_valid_q <= (rd_valid_i && rd_ready_o) || (line_valid_q && !line_ready_i);
  end

  // ---------------------------------------------------------------- hold
  logic want, hold, grants, ends;
  hold_timer u_hold (
    .clk_i,
    .rst_ni,
    .hold_max_i,
    .ask_i    (head && takes && order.hold),
    .commit_i (head && takes && order.commit),
    .release_i(head && takes && order.release_),
    .open_i   (state_q == PtOpen),
    .done_i   (rx_ptr_q == rx_end_q),
    .told_i   (closed_i),
    .want_o   (want),
    .hold_o   (hold),
    .begins_o (grants),
    .ends_o   (ends),
    .over_o   (over)
  );
  assign hold_o = hold;

  // ---------------------------------------------------------------- events for the scheduler
  logic news;
  assign news       = news_due_q && !want;
  assign ev_valid_o = open_due_q || news || close_due_q;
  always_comb begin
    ev_o          = '0;
    ev_o.conn   = HostConn;
    ev_o.rx_ptr = open_due_q ? '0 : rx_in_q;
    ev_o.tx_ptr = open_due_q ? '0 : tx_sent_q - TxShut;
    ev_o.open   = open_due_q;
    ev_o.redis  = redis_q;
    ev_o.acked  = !open_due_q;
    ev_o.data   = !open_due_q;
    ev_o.closed = !open_due_q && !news && close_due_q;
  end

  // ---------------------------------------------------------------- what becomes of it
  logic sent, noted;
  logic [9:0] out_len, out_len_q;
  logic begins;  // a packet to the host does
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= PtClosed;
      open_due_q  <= 1'b0;
      news_due_q  <= 1'b0;
      close_due_q <= 1'b0;
      note_due_q  <= 1'b0;
    end else begin
      if (noted) note_due_q <= 1'b0;
      if (ev_valid_o && ev_ready_i) begin
        open_due_q <= 1'b0;
        if (open_due_q) news_due_q <= 1'b1;
        else if (news) news_due_q <= 1'b0;
        else close_due_q <= 1'b0;
      end
      if (state_q == PtOpen && (all_in || sent)) news_due_q <= 1'b1;
      if (grants || ends) note_due_q <= 1'b1;
      if (app_valid_i) note_due_q <= 1'b1;
      if (opens) begin
        state_q    <= PtOpen;
        open_due_q <= 1'b1;
        note_due_q <= 1'b1;
      end else if (state_q == PtOpen && (closes || over || scheduler_closes)) begin
        state_q     <= PtClosing;
        close_due_q <= 1'b1;
      end else if (app_valid_i && app_i.release_id) begin
        state_q <= PtClosed;
      end
      // Who asks for it is told that it is closed.
      if (head && order.close && state_q == PtClosed) note_due_q <= 1'b1;
    end
    if (head) begin
      at_q   <= at;
      stop_q <= 17'(at[5:0]) + 17'(length);
      more_q <= takes && length != '0;
    end else if (writes) begin
      at_q   <= to;
      stop_q <= stop_q - 17'd64;
      more_q <= stop_q > 17'd64;
    end
    if (head && takes) rx_end_q <= at + 32'(length);
    if (head && takes) redis_q <= order.redis;
    if (opens) begin
      rx_in_q   <= '0;
      rx_ptr_q  <= '0;
      tx_end_q  <= '0;
      tx_sent_q <= '0;
    end else begin
      if (all_in && body_q && state_q == PtOpen) rx_in_q <= writes ? to : at_q;
      if (app_valid_i) begin
        rx_ptr_q <= app_i.rx_ptr;
        tx_end_q <= app_i.tx_ptr;
      end
      if (sent) tx_sent_q <= tx_sent_q + 32'(begins ? out_len : out_len_q);
    end
  end

  // ---------------------------------------------------------------- transmit ring, packets to the host
  typedef enum logic [1:0] {
    SdIdle,
    SdHead,
    SdLine
  } send_e;
  send_e send_q;
  logic port_valid, port_ready, out_mine, out_last, note_q, reads;
  logic [9:0] next_len, most;
  logic [2:0]
      next_left,
      out_left,
      left_q;  // lines of the packet that are still to be read, behind its first one
  logic [$clog2(TxLines)-1:0] line_q;
  logic counts_q;  // the packet's bytes are of the connection that there is
  logic [31:0] unsent;
  line_t tx_line;
  axis_t port_beat, out_beat;
  assign unsent  = tx_end_q - tx_sent_q;
  assign most    = 10'(64 * PacketLines) - 10'(tx_sent_q[5:0]);
  assign next_len = (state_q != PtOpen) ? '0 : (unsent >= 32'(most)) ? most : unsent[9:0];
  assign next_left = (unsent >= 32'(most)) ? 3'(PacketLines - 1) :
      3'((tx_end_q[8:0] - 9'd1) >> 6) - tx_sent_q[8:6];
  // Known before the state is idle again. A note waits for the bytes that are written with what it says:
  // a packet says where the connection stands, so the last one of a row says what a note would.
  always_ff @(posedge clk_i) begin
    out_len <= rst_ni ? next_len : '0;
    out_left <= next_left;
    note_q  <= rst_ni && note_due_q && !begins;
  end
  assign begins  = send_q == SdIdle && (out_len != '0 || (note_due_q && note_q));
  assign noted   = begins;
  // The next line is read when one is taken; with the last one all of the packet's room is free again.
  assign reads   = send_q == SdLine && port_ready && left_q != '0;
  assign sent    = (begins && out_len != '0 && out_left == '0) ||
      (reads && left_q == 3'd1 && counts_q);

  lib_ram #(
    .Width    (512),
    .Depth    (TxLines),
    .ByteWidth(8),
    .Ultra    (1)
  ) u_tx (
    .clk_i,
    .we_i   (wr_valid_i),
    .waddr_i(wr_line_i[$clog2(TxLines)-1:0]),
    .wbe_i  (wr_i.strb),
    .wdata_i(wr_i.data),
    .re_i   (begins || reads),
    .raddr_i(begins ? tx_sent_q[6+:$clog2(TxLines)] : line_q),
    .rdata_o(tx_line)
  );

  logic [5:0] start_q;
  logic open_q, held_q;
  logic [31:0] consumed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      send_q <= SdIdle;
    end else if (begins) begin
      send_q <= SdHead;
    end else if (port_valid && port_ready) begin
      send_q <= (send_q == SdHead ? out_len_q != '0 : left_q != '0) ? SdLine : SdIdle;
    end
    if (begins) counts_q <= 1'b1;
    else if (opens) counts_q <= 1'b0;
    if (begins) begin
      left_q <= (out_len == '0) ? '0 : out_left;
      line_q <= tx_sent_q[6+:$clog2(TxLines)] + 1'b1;
    end else if (reads) begin
      left_q <= left_q - 3'd1;
      line_q <= line_q + 1'b1;
    end
    if (begins) begin
      out_len_q  <= out_len;
      start_q    <= tx_sent_q[5:0];
      open_q     <= state_q != PtClosed;
      held_q     <= hold;
      consumed_q <= rx_ptr_q;
    end
  end

  assign port_valid = send_q != SdIdle;
  always_comb begin
    port_beat.data = tx_line;
    port_beat.keep = '1;
    port_beat.last = left_q == '0;
    if (send_q == SdHead) begin
      port_beat.data = 512'({6'b0, out_len_q, consumed_q, 6'b0, held_q, open_q, 2'b0, start_q,
                             8'h80, 8'b0, 18'b0, HostConn});
      port_beat.last = out_len_q == '0;
    end
  end
  lib_arb #(
    .T(axis_t),
    .N(2)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i({port_valid, out_valid_i}),
    .s_ready_o({port_ready, out_ready_o}),
    .s_data_i ({port_beat, out_i}),
    .s_last_i ({port_beat.last, out_i.last}),
    .m_valid_o(m_axis_exc_tvalid),
    .m_ready_i(m_axis_exc_tready),
    .m_data_o (out_beat),
    .m_last_o (out_last),
    .m_idx_o  (out_mine)
  );
  assign m_axis_exc_tdata = out_beat.data;
  assign m_axis_exc_tkeep = out_beat.keep;
  assign m_axis_exc_tlast = out_beat.last;

  logic unused;
  assign unused = ^{out_mine, out_last, order.unused};

  assign idle_o = !want && !hold && !body_q && !ev_valid_o && !note_due_q && out_len == '0 &&
                  !port_valid && !line_valid_q;

  // The host and the scheduler overwrite nothing: not what is not executed, nor what is not sent.
  `ASSERT(Unread, !writes || at_q - rx_ptr_q < 32'(64 * RxLines))
  `ASSERT(Unsent, state_q != PtOpen || tx_end_q - tx_sent_q <= 32'(64 * TxLines))

endmodule
