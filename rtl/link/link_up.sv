// A channel's way from the card to the host: whole frames are asked to be written as soon as the ring has room for their
// slots. Latency 5 from a frame's last beat to the request.
module link_up
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// As link_frame's.
  parameter int unsigned Depth = 512,
  /// Bursts that may wait for their answer.
  parameter int unsigned Writes = 120
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// See link_life.
  input  logic       clear_i,
  input  logic       run_i,
  input  logic       live_i,
  /// Slots of the ring, minus one.
  input  index_t     mask_i,
  /// The host moves its index.
  input  logic       door_we_i,
  input  index_t     door_i,
  /// So far the host was told.
  input  index_t     told_i,
  /// Frames of the card.
  input  logic       s_valid_i,
  output logic       s_ready_o,
  input  axis_t      s_data_i,
  /// Slots to write: their place, and then the slots. A first one lacks its preamble, of so many bytes.
  output logic       req_valid_o,
  input  logic       req_ready_i,
  output burst_t     req_o,
  output logic       line_valid_o,
  input  logic       line_ready_i,
  output line_t      line_o,
  output logic       line_first_o,
  output bytes_t     line_bytes_o,
  /// A burst was answered.
  input  logic       answer_i,
  /// Bursts that were asked for and not answered.
  output logic [6:0] open_o,
  /// Behind the last whole frame that was written, answered or not; nothing is left to write.
  output index_t     border_o,
  output logic       empty_o,
  output fault_t     fault_o,
  output logic       frame_o,
  output bytes_t     bytes_o,
  output logic       drop_o
);

  // ---------------------------------------------------------------- what the card gives
  logic frame, last;
  logic [7:0] frame_slots;
  link_frame #(
    .Depth(Depth)
  ) u_frame (
    .clk_i,
    .rst_ni,
    .run_i,
    .live_i,
    .mask_i,
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .m_valid_o(line_valid_o),
    .m_ready_i(line_ready_i),
    .m_data_o (line_o),
    .m_first_o(line_first_o),
    .m_bytes_o(line_bytes_o),
    .m_last_o (last),
    .frame_o  (frame),
    .slots_o  (frame_slots),
    .bytes_o,
    .drop_o
  );
  assign frame_o = frame;

  // ---------------------------------------------------------------- what the host has taken
  index_t consumer;
  logic door_bad;
  link_door u_door (
    .clk_i,
    .rst_ni,
    .clear_i,
    .we_i   (door_we_i && run_i),
    .value_i(door_i),
    .room_i (index_t'(told_i - consumer)),
    .index_o(consumer),
    .bad_o  (door_bad)
  );
  always_comb begin
    fault_o         = '0;
    fault_o.up_door = door_bad;
  end

  // ---------------------------------------------------------------- what is asked for
  // In turn: what there is is measured, and asked for.
  typedef logic [$clog2(Depth+1)-1:0] count_t;
  index_t asked_q, written_q, end_q;
  count_t here_q, waiting;  // slots that were here so far; those that wait
  slots_t waits, room;
  logic measured_q, take;
  assign take        = req_valid_o && req_ready_i;
  assign waiting     = here_q - count_t'(asked_q);
  assign req_o.index = asked_q;

  always_ff @(posedge clk_i) begin
    end_q <= end_of(consumer, mask_i);
    waits <= to_eight(index_t'(waiting));
    room  <= to_eight(end_q - asked_q);
    if (!req_valid_o) req_o.slots <= in_block(asked_q[2:0], waits, room);
    if (!rst_ni || clear_i) begin
      asked_q     <= '0;
      here_q      <= '0;
      req_valid_o <= 1'b0;
      measured_q  <= 1'b0;
      open_o      <= '0;
    end else begin
      measured_q <= !req_valid_o && !measured_q;
      if (take) req_valid_o <= 1'b0;
      else if (!req_valid_o && measured_q)
        req_valid_o <= run_i && waits != '0 && room != '0 && open_o < 7'(Writes);
      if (take) asked_q <= asked_q + index_t'(req_o.slots);
      if (frame) here_q <= here_q + count_t'(frame_slots);
      if (take != answer_i) open_o <= open_o + {{6{answer_i}}, 1'b1};
    end
  end

  // ---------------------------------------------------------------- what was written
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      written_q <= '0;
      border_o  <= '0;
    end else if (line_valid_o && line_ready_i) begin
      written_q <= written_q + 1'b1;
      if (last) border_o <= written_q + 1'b1;
    end
    empty_o <= waiting == '0 && border_o == asked_q;
  end

endmodule
