// The register-mapped NIC: the core moves each frame by reads and writes of words. It sees the first line of what has come
// and takes it away; it fills a line and sends it off. A frame leaves when its last line is there. Latency 1 a register.
module machine_pio
  import wirekv_pkg::*;
  import machine_pkg::*;
#(
  /// Lines of frames that wait for the wire: a longest frame, 144, and more.
  parameter int unsigned Lines = 256
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The core starts anew: a frame of which a part is here vanishes.
  input  logic        clear_i,
  /// A write of a register, for one clock; a word to be read.
  input  logic        we_i,
  input  logic [9:0]  word_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  /// Frames that have come.
  input  logic        s_valid_i,
  output logic        s_ready_o,
  input  axis_t       s_data_i,
  /// Frames to be sent.
  output logic        m_valid_o,
  input  logic        m_ready_i,
  output axis_t       m_data_o
);

  localparam int unsigned CountW = $clog2(Lines + 1);
  logic [15:0][31:0] line_q;
  logic room, push, last;
  logic [CountW-1:0] free;
  logic [15:0][31:0] head;
  axis_t line;

  assign head      = s_data_i.data;
  assign s_ready_o = we_i && word_i == RegRxPop;
  assign push      = we_i && word_i == RegTxPush;
  assign last      = wdata_i[7];
  assign line.data = line_q;
  assign line.keep = lib_pkg::lanes_below(wdata_i[6:0]);
  assign line.last = last;

  always_comb begin
    unique case (word_i)
      RegRxStatus: rdata_o = s_valid_i ? 32'({s_data_i.last, lanes(s_data_i.keep)}) : '0;
      RegTxRoom:   rdata_o = 32'(free);
      default:     rdata_o = head[word_i[3:0]];
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (we_i && (word_i & ~10'd15) == RegTxLine) line_q[word_i[3:0]] <= wdata_i;
  end

  // A line without room is lost, and its frame with it: software looks at RegTxRoom.
  logic bad_q, bad;
  assign bad = bad_q || !room;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) bad_q <= 1'b0;
    else if (push) bad_q <= bad && !last;
  end

  lib_commit_fifo #(
    .T    (axis_t),
    .Depth(Lines)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i (push && !bad),
    .s_ready_o (room),
    .s_data_i  (line),
    .commit_i  (push && !bad && last && !clear_i),
    .rollback_i((push && bad) || clear_i),
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .free_o    (free)
  );

endmodule
