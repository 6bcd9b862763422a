// Responses of line_cache: the slots that each class has acquired, in order, as soon as their lines
// are there. Latency 1 where the line is there already, initiation interval 1.
`include "lib_assert.svh"

module line_cache_answer #(
  /// As line_cache's.
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 4,
  parameter int unsigned Classes = 2,
  parameter logic [Classes-1:0][8:0] Waiting = {Classes{9'd32}},
  parameter int unsigned Rams = 1,
  parameter int unsigned NumberBits = 14,
  localparam int unsigned SlotBits = $clog2(Sets * Ways),
  localparam int unsigned ClassBits = $clog2(Classes)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  /// Requests on their way to the tags, each only while there is room for its response.
  input  logic [Classes-1:0]                  taken_i,
  output logic [Classes-1:0]                  room_o,
  /// A slot, and the number of the fill that fills it.
  input  logic                                valid_i,
  input  logic [ClassBits-1:0]                class_i,
  input  logic [SlotBits-1:0]                 slot_i,
  input  logic [NumberBits-1:0]               fill_i,
  /// Numbers of the next fill of each data RAM, and of the next that arrives.
  input  logic [Rams-1:0][NumberBits-1:0]     fill_next_i,
  input  logic [Rams-1:0][NumberBits-1:0]     fill_done_i,
  output logic [Classes-1:0]                  rsp_valid_o,
  input  logic [Classes-1:0]                  rsp_ready_i,
  output logic [Classes-1:0][SlotBits-1:0]    rsp_slot_o
);

  typedef logic [NumberBits-1:0] number_t;
  typedef struct packed {
    logic [SlotBits-1:0] slot;
    number_t             fill;
  } rsp_t;

  for (genvar c = 0; c < Classes; c++) begin : gen_class
    rsp_t head;
    logic put, head_valid, there, ram, unused_ready;
    logic [$clog2(int'(Waiting[c])+1)-1:0] unused_level;
    assign put = valid_i && class_i == ClassBits'(c);

    lib_credit #(
      .Depth(int'(Waiting[c]))
    ) u_credit (
      .clk_i,
      .rst_ni,
      .take_i(taken_i[c]),
      .give_i(rsp_valid_o[c] && rsp_ready_i[c]),
      .ok_o  (room_o[c]),
      // verilator lint_off PINCONNECTEMPTY
      .left_o()
      // verilator lint_on PINCONNECTEMPTY
    );
    lib_fifo #(
      .T    (rsp_t),
      .Depth(int'(Waiting[c])),
      .Early(1)
    ) u_rsp (
      .clk_i,
      .rst_ni,
      .s_valid_i(put),
      .s_ready_o(unused_ready),
      .s_data_i ({slot_i, fill_i}),
      .m_valid_o(head_valid),
      .m_ready_i(rsp_ready_i[c] && there),
      .m_data_o (head),
      .level_o  (unused_level)
    );
    `ASSERT(Room, unused_ready || !put)

    // An old number may look as if it were among those on their way; that only delays the response
    // until memory has answered them.
    number_t since_done, since_next;
    assign ram            = (Rams > 1) && head.slot[$clog2(Ways)];
    assign since_done     = head.fill - fill_done_i[ram];
    assign since_next     = head.fill - fill_next_i[ram];
    assign there          = since_done[NumberBits-1] || !since_next[NumberBits-1];
    assign rsp_valid_o[c] = head_valid && there;
    assign rsp_slot_o[c]  = head.slot;
  end

endmodule
