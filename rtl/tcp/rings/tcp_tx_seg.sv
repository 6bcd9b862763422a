// Turns segment commands into segments: reads the payload from the connection's transmit ring and
// moves it to lane 0. Latency 1 to the first read and 4 from its data, initiation interval 1 beat.
//
// Reads run ahead: the lines of the next segments are asked for while those of the first one come.
`include "lib_assert.svh"

module tcp_tx_seg
  import wirekv_pkg::*;
  import net_pkg::*;
  import tcp_pkg::*;
#(
  /// Commands that may still be on their way when room_o falls.
  parameter int unsigned Reserve = 12
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Line address of connection 0's ring.
  input  laddr_t base_i,
  input  logic   cmd_valid_i,
  input  txcmd_t cmd_i,
  output logic   room_o,
  /// Mark the last command that has come; some that came no later than it are not read yet.
  input  logic   mark_i,
  output logic   earlier_o,
  /// Transmit-ring memory: a line, and which of its lanes are to be sent.
  output logic   rd_valid_o,
  input  logic   rd_ready_i,
  output laddr_t rd_addr_o,
  output lanes_t rd_lanes_o,
  input  logic   rdat_valid_i,
  output logic   rdat_ready_o,
  input  line_t  rdat_i,
  input  logic   rdat_bad_i,
  /// Segments; bad stands beside the last beat of one that memory could not read. It can not be taken back any more,
  /// so it leaves with a wrong checksum.
  output logic   txseg_valid_o,
  input  logic   txseg_ready_i,
  output txseg_t txseg_o,
  output beat_t  txseg_beat_o,
  output logic   txseg_bad_o,
  /// Whose it was: to be reset. Whoever is not named because another one is comes again, sent once more.
  output logic   bad_valid_o,
  input  logic   bad_ready_i,
  output conn_t  bad_conn_o,
  output logic   idle_o
);

  // The fill level is nobody's business here.
  // verilator lint_off PINCONNECTEMPTY

  localparam int unsigned Depth = 32;
  localparam int unsigned PlanDepth = 64;
  localparam int unsigned LineW = $clog2(RingLines);

  // ---------------------------------------------------------------- read
  // What the data side must know: when the last line comes, and how many bytes it holds.
  typedef struct packed {
    logic       read;     // from the ring
    logic       refusal;
    logic       redis;    // in Redis' words
    logic [5:0] start;    // lane of the first byte
    logic [7:0] line_last;
    logic [6:0] len_last;
  } plan_t;

  // What reading is about, planned before it waits. The header goes its own way, in block RAM: it is wide,
  // and nobody asks for it until its payload comes out.
  typedef struct packed {
    conn_t            conn;
    logic [LineW-1:0] line;  // the first one
    logic [5:0]       last;  // lane of the last byte
    plan_t            plan;
  } read_t;

  logic cmd_valid, cmd_ready, unused_cmd_ready;
  read_t planned, cmd;
  logic [$clog2(Depth+1)-1:0] cmd_level;
  logic plan_in_ready, plan_valid, plan_take;
  plan_t plan;
  logic [7:0] line_q;  // line of the segment
  logic [15:0] place;  // of the first byte in the ring
  logic [13:0] len, last_byte;  // the latter counted from lane 0 of the first line
  logic in_bare, bare, read_step, reads_all;

  assign place     = cmd_i.seg.seq[15:0];
  assign len       = cmd_i.seg.len[13:0];
  assign in_bare   = len == '0 || cmd_i.refusal;
  assign last_byte = len + 14'(place[5:0]) - 14'd1;
  assign planned   = '{
      conn: cmd_i.conn,
      line: place[6+:LineW],
      last: last_byte[5:0],
      plan: '{
          read: !in_bare,
          refusal: cmd_i.refusal,
          redis: cmd_i.seg.peer.redis,
          start: in_bare ? '0 : place[5:0],
          line_last: in_bare ? '0 : last_byte[13:6],
          len_last: cmd_i.refusal ? 7'(refusal_bytes(cmd_i.seg.peer.redis)) :
              in_bare ? '0 : {1'b0, last_byte[5:0]} + 7'd1
      }
  };

  lib_fifo #(
    .T    (read_t),
    .Depth(Depth)
  ) u_cmd (
    .clk_i,
    .rst_ni,
    .s_valid_i(cmd_valid_i),
    .s_ready_o(unused_cmd_ready),
    .s_data_i (planned),
    .m_valid_o(cmd_valid),
    .m_ready_i(cmd_ready),
    .m_data_o (cmd),
    .level_o  (cmd_level)
  );
  `ASSERT(fits_cmd_room, !cmd_valid_i || unused_cmd_ready)
  always_ff @(posedge clk_i) room_o <= rst_ni && cmd_level < ($clog2(Depth + 1))'(Depth - Reserve);

  assign bare        = !cmd.plan.read;
  assign rd_valid_o  = cmd_valid && !bare && (plan_in_ready || line_q != '0);
  assign rd_addr_o   = base_i + laddr_t'({cmd.conn, cmd.line + LineW'(line_q)});
  assign rd_lanes_o  = '{
      first: (line_q == '0) ? cmd.plan.start : '0,
      last: reads_all ? cmd.last : '1
  };
  assign read_step   = rd_valid_o && rd_ready_i;
  assign reads_all   = line_q == cmd.plan.line_last;
  assign cmd_ready   = bare ? plan_in_ready : read_step && reads_all;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) line_q <= '0;
    else if (read_step) line_q <= reads_all ? '0 : line_q + 8'd1;
  end

  // In distributed RAM: what is made of a plan takes a clock.
  lib_fifo #(
    .T    (plan_t),
    .Depth(PlanDepth),
    .Block(0)
  ) u_plan (
    .clk_i,
    .rst_ni,
    .s_valid_i(cmd_valid && (bare || (read_step && line_q == '0))),
    .s_ready_o(plan_in_ready),
    .s_data_i (cmd.plan),
    .m_valid_o(plan_valid),
    .m_ready_i(plan_take),
    .m_data_o (plan),
    .level_o  ()
  );

  // ---------------------------------------------------------------- align
  logic [7:0] beat_q;
  logic empty, at_last, align_valid, align_ready, align_step;
  logic bad_q, bad, unused_bad_ready, unused_bad_valid, out_bad;
  beat_t out;
  line_t refusal;  // the first byte in lane 0
  always_comb begin
    refusal = '0;
    for (int i = 0; i < RedisRefusalBytes; i++) begin
      if (plan.redis) refusal[i*8+:8] = RedisRefusal[(RedisRefusalBytes-1-i)*8+:8];
      else if (i < RefusalBytes) refusal[i*8+:8] = Refusal[(RefusalBytes-1-i)*8+:8];
    end
  end
  assign empty        = !plan.read;
  assign at_last      = beat_q == plan.line_last;
  assign align_valid  = plan_valid && (empty || rdat_valid_i);
  assign rdat_ready_o = plan_valid && !empty && align_ready;
  assign align_step   = align_valid && align_ready;
  assign plan_take    = align_step && at_last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beat_q <= '0;
    else if (align_step) beat_q <= at_last ? '0 : beat_q + 8'd1;
  end

  lib_align u_align (
    .clk_i,
    .rst_ni,
    .s_valid_i(align_valid),
    .s_ready_o(align_ready),
    .s_data_i (plan.refusal ? refusal : rdat_i),
    .s_len_i  (at_last ? plan.len_last : 7'd64),
    .s_last_i (at_last),
    .s_skip_i (plan.start),
    .m_valid_o(txseg_valid_o),
    .m_ready_i(txseg_ready_i),
    .m_data_o (out.data),
    .m_len_o  (out.len),
    .m_last_o (out.last)
  );

  typedef logic [$clog2(2*PlanDepth+1)-1:0] heads_t;
  // More than commands, plans and what is in the aligner. In front a register: what is made of a head takes a clock,
  // and out of the RAM it comes late. Its payload comes later than it, too.
  logic unused_head_ready, behind_valid, head_valid, head_take, out_last;
  heads_t heads;
  typedef struct packed {
    conn_t  conn;
    txseg_t seg;
  } head_t;
  head_t behind, head;
  lib_fifo #(
    .T    (head_t),
    .Depth(2 * PlanDepth)
  ) u_head (
    .clk_i,
    .rst_ni,
    .s_valid_i(cmd_valid_i),
    .s_ready_o(unused_head_ready),
    .s_data_i ('{conn: cmd_i.conn, seg: cmd_i.seg}),
    .m_valid_o(behind_valid),
    .m_ready_i(head_take),
    .m_data_o (behind),
    .level_o  (heads)
  );
  lib_half_buffer #(
    .T(head_t)
  ) u_ingress (
    .clk_i,
    .rst_ni,
    .s_valid_i(behind_valid),
    .s_ready_o(head_take),
    .s_data_i (behind),
    .m_valid_o(head_valid),
    .m_ready_i(out_last),
    .m_data_o (head)
  );
  assign txseg_o  = head.seg;
  assign out_last = txseg_valid_o && txseg_ready_i && out.last;

  // Whose last bytes have left has been read.
  heads_t earlier_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) earlier_q <= '0;
    else if (mark_i) earlier_q <= heads + heads_t'(head_valid) - heads_t'(out_last);
    else if (earlier_q != '0) earlier_q <= earlier_q - heads_t'(out_last);
  end
  assign earlier_o = earlier_q != '0 || bad_valid_o;
  `ASSERT(HeadRoom, !cmd_valid_i || unused_head_ready)
  `ASSERT(HeadThere, !txseg_valid_o || head_valid)

  assign bad = bad_q || (!empty && rdat_bad_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) bad_q <= 1'b0;
    else if (align_step) bad_q <= bad && !at_last;
  end
  lib_fifo #(
    .T    (logic),
    .Depth(8)
  ) u_bad (
    .clk_i,
    .rst_ni,
    .s_valid_i(align_step && at_last),
    .s_ready_o(unused_bad_ready),
    .s_data_i (bad),
    .m_valid_o(unused_bad_valid),
    .m_ready_i(out_last),
    .m_data_o (out_bad),
    .level_o  ()
  );
  `ASSERT(BadRoom, !(align_step && at_last) || unused_bad_ready)
  `ASSERT(BadThere, !(txseg_valid_o && out.last) || unused_bad_valid)
  assign txseg_bad_o = out.last && out_bad;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) bad_valid_o <= 1'b0;
    else bad_valid_o <= (out_last && out_bad) || (bad_valid_o && !bad_ready_i);
    if (!bad_valid_o || bad_ready_i) bad_conn_o <= head.conn;
  end

  assign txseg_beat_o = out;
  assign idle_o       = heads == '0 && !head_valid && !bad_valid_o;

  `ASSERT_STABLE(seg_stable, txseg_valid_o, txseg_ready_i, {txseg_o, txseg_beat_o.len,
                                                            txseg_beat_o.last})

endmodule
