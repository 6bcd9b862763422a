// Reads of line_cache from memory: asks for lines, and knows for which slot an answer is. A line that is known
// to be bad is answered here, when all that was asked for before it is. Latency 1, initiation interval 1.
`include "lib_assert.svh"

module line_cache_fetch
  import wirekv_pkg::*;
  import store_pkg::*;
#(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 4,
  parameter int unsigned Rams = 1,
  parameter int unsigned NumberBits = 14,
  parameter int unsigned MaxFills = 256,
  parameter int unsigned MaxReads = 32,
  /// Requests that may come once there is no room any more.
  parameter int unsigned OnTheWay = 8,
  localparam int unsigned SlotBits = $clog2(Sets * Ways)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  /// There is room for one more.
  output logic                            room_o,
  input  logic                            valid_i,
  input  line_no_t                        line_i,
  input  logic [SlotBits-1:0]             slot_i,
  /// Orders to memory.
  output logic                            mem_rd_valid_o,
  input  logic                            mem_rd_ready_i,
  output line_no_t                        mem_rd_line_o,
  /// The next order: see bad_lines.
  output logic                            ask_o,
  input  logic                            go_i,
  input  logic                            bad_i,
  output logic                            gone_o,
  /// Slot and line of the next answer; memory's is taken; or it comes from here, and is bad.
  output logic                            target_valid_o,
  output logic [SlotBits-1:0]             target_o,
  output line_no_t                        target_line_o,
  input  logic                            arrives_i,
  output logic                            answer_bad_o,
  /// A line is in the data RAM.
  input  logic [Rams-1:0]                 fill_i,
  /// Numbers of the next fill of each data RAM, and of the next that arrives.
  output logic [Rams-1:0][NumberBits-1:0] fill_next_o,
  output logic [Rams-1:0][NumberBits-1:0] fill_done_o,
  /// No answer is outstanding: a clock late.
  output logic                            idle_o
);

  typedef logic [NumberBits-1:0] number_t;
  number_t [Rams-1:0] next_q, done_q;
  logic unused_target_room, unused_order_room;
  logic [$clog2(MaxFills+1)-1:0] fills;
  logic [$clog2(MaxReads+1)-1:0] reads;

  always_ff @(posedge clk_i) begin
    room_o <= rst_ni && int'(fills) + int'(OnTheWay) <= int'(MaxFills) &&
        int'(reads) + int'(OnTheWay) <= int'(MaxReads);
    idle_o <= !valid_i && fills == '0;
  end

  lib_fifo #(
    .T    (logic [$bits(line_no_t)+SlotBits-1:0]),
    .Depth(MaxFills)
  ) u_targets (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid_i),
    .s_ready_o(unused_target_room),
    .s_data_i ({line_i, slot_i}),
    .m_valid_o(target_valid_o),
    .m_ready_i(arrives_i || answer_bad_o),
    .m_data_o ({target_line_o, target_o}),
    .level_o  (fills)
  );

  lib_fifo #(
    .T    (line_no_t),
    .Depth(MaxReads)
  ) u_orders (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid_i),
    .s_ready_o(unused_order_room),
    .s_data_i (line_i),
    .m_valid_o(ask_o),
    .m_ready_i(gone_o),
    .m_data_o (mem_rd_line_o),
    .level_o  (reads)
  );
  assign mem_rd_valid_o = ask_o && go_i && !bad_i;
  assign answer_bad_o   = ask_o && go_i && bad_i && target_valid_o && int'(fills) == int'(reads);
  assign gone_o         = (mem_rd_valid_o && mem_rd_ready_i) || answer_bad_o;
  `ASSERT(Room, !valid_i || (unused_order_room && unused_target_room))

  assign fill_next_o = next_q;
  assign fill_done_o = done_q;
  for (genvar m = 0; m < Rams; m++) begin : gen_numbers
    logic mine;
    assign mine = (Rams == 1) || slot_i[$clog2(Ways)] == 1'(m);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        next_q[m] <= '0;
        done_q[m] <= '0;
      end else begin
        if (valid_i && mine) next_q[m] <= next_q[m] + 1'b1;
        if (fill_i[m]) done_q[m] <= done_q[m] + 1'b1;
      end
    end
  end

endmodule
