// The machine's ear: takes a beat each clock, whatever the machine does, and keeps whole frames. A frame that finds no room
// is dropped whole and counted, so the wire never waits for software. Latency 3 from a frame's last beat, a beat each clock.
module machine_rx
  import wirekv_pkg::*;
#(
  /// Lines kept: a longest frame, 145, and more.
  parameter int unsigned Lines = 512
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// From the wire. It is taken at once.
  input  logic        s_valid_i,
  input  axis_t       s_data_i,
  /// To a NIC.
  output logic        m_valid_o,
  input  logic        m_ready_i,
  output axis_t       m_data_o,
  /// Nothing is here.
  output logic        empty_o,
  /// Frames dropped; wraps.
  output logic [31:0] dropped_o
);

  localparam int unsigned CountW = $clog2(Lines + 1);
  logic room, dropping_q, lost;
  logic [CountW-1:0] free;

  assign lost    = s_valid_i && !dropping_q && !room;
  assign empty_o = free == CountW'(Lines) && !s_valid_i && !dropping_q;

  lib_commit_fifo #(
    .T    (axis_t),
    .Depth(Lines)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i (s_valid_i && !dropping_q),
    .s_ready_o (room),
    .s_data_i,
    .commit_i  (s_valid_i && !dropping_q && room && s_data_i.last),
    .rollback_i(lost),
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .free_o    (free)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      dropping_q <= 1'b0;
      dropped_o  <= '0;
    end else begin
      if (s_valid_i) dropping_q <= (dropping_q || !room) && !s_data_i.last;
      if (lost) dropped_o <= dropped_o + 1'b1;
    end
  end

endmodule
