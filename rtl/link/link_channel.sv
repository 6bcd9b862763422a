// A channel: its way down, its way up, what the host is told, its life. Only wires and what they have in common.
module link_channel
  import wirekv_pkg::*;
  import link_pkg::*;
#(
  /// As link's.
  parameter int unsigned DownLines = 1024,
  parameter int unsigned UpLines = 512
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Settings.
  input  link_cfg_t    link_i,
  input  channel_cfg_t cfg_i,
  /// A function-level reset is asked for.
  input  logic         flr_i,
  /// Doorbells.
  input  logic         down_door_i,
  input  logic         up_door_i,
  input  index_t       door_i,
  /// Reads: what is asked for, whether some are under way, lines.
  output logic         read_valid_o,
  input  logic         read_ready_i,
  output burst_t       read_o,
  input  logic         read_open_i,
  input  logic         line_valid_i,
  input  index_t       line_index_i,
  input  line_t        line_i,
  input  logic         line_bad_i,
  /// Writes: what is asked for, slots, answers.
  output logic         write_valid_o,
  input  logic         write_ready_i,
  output burst_t       write_o,
  output logic         slot_valid_o,
  input  logic         slot_ready_i,
  output line_t        slot_o,
  output logic         slot_first_o,
  output bytes_t       slot_bytes_o,
  input  logic         answer_i,
  input  logic         refused_i,
  /// The line that tells the host.
  output logic         told_valid_o,
  input  logic         told_ready_i,
  input  logic         told_done_i,
  output told_t        told_o,
  /// Frames to the card.
  output logic         m_valid_o,
  input  logic         m_ready_i,
  output axis_t        m_data_o,
  input  logic         room_i,
  /// Frames of the card.
  input  logic         s_valid_i,
  output logic         s_ready_o,
  input  axis_t        s_data_i,
  /// Nothing is under way in host memory, and nothing will be before the next start.
  output logic         quiet_o,
  /// What is counted.
  output event_t       event_o,
  output bytes_t       down_bytes_o,
  output bytes_t       up_bytes_o
);

  logic run, live, clear, sweep, last, last_done, busy;
  logic [$clog2(DownLines)-1:0] sweep_line;
  fault_t down_fault, up_fault, fault, faults;
  index_t down_place, place, down_index, border, told_down, told_up;
  logic down_empty, down_idle, up_empty, told_idle, bus_idle;
  logic [6:0] open;

  always_comb begin
    fault       = down_fault | up_fault;
    fault.write = refused_i;
  end
  assign bus_idle = !read_valid_o && !read_open_i && !write_valid_o && open == '0 && told_idle;

  link_life #(
    .Lines(DownLines)
  ) u_life (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .flr_i,
    .fault_i     (fault),
    .down_place_i(down_place),
    .up_place_i  (told_up),
    .bus_idle_i  (bus_idle),
    .card_idle_i (down_idle),
    .last_done_i (last_done),
    .run_o       (run),
    .live_o      (live),
    .clear_o     (clear),
    .sweep_o     (sweep),
    .sweep_line_o(sweep_line),
    .last_o      (last),
    .busy_o      (busy),
    .quiet_o,
    .fault_o     (faults),
    .place_o     (place),
    .stop_o      (event_o.fault)
  );

  link_down #(
    .Lines(DownLines)
  ) u_down (
    .clk_i,
    .rst_ni,
    .clear_i     (clear),
    .sweep_i     (sweep),
    .sweep_line_i(sweep_line),
    .run_i       (run),
    .mask_i      (cfg_i.down_mask),
    .door_we_i   (down_door_i),
    .door_i,
    .req_valid_o (read_valid_o),
    .req_ready_i (read_ready_i),
    .req_o       (read_o),
    .line_valid_i,
    .line_index_i,
    .line_i,
    .line_bad_i,
    .m_valid_o,
    .m_ready_i,
    .m_data_o,
    .room_i,
    .index_o     (down_index),
    .empty_o     (down_empty),
    .idle_o      (down_idle),
    .fault_o     (down_fault),
    .place_o     (down_place),
    .frame_o     (event_o.down),
    .bytes_o     (down_bytes_o)
  );

  link_up #(
    .Depth(UpLines)
  ) u_up (
    .clk_i,
    .rst_ni,
    .clear_i     (clear),
    .run_i       (run),
    .live_i      (live),
    .mask_i      (cfg_i.up_mask),
    .door_we_i   (up_door_i),
    .door_i,
    .told_i      (told_up),
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .req_valid_o (write_valid_o),
    .req_ready_i (write_ready_i),
    .req_o       (write_o),
    .line_valid_o(slot_valid_o),
    .line_ready_i(slot_ready_i),
    .line_o      (slot_o),
    .line_first_o(slot_first_o),
    .line_bytes_o(slot_bytes_o),
    .answer_i,
    .open_o      (open),
    .border_o    (border),
    .empty_o     (up_empty),
    .fault_o     (up_fault),
    .frame_o     (event_o.up),
    .bytes_o     (up_bytes_o),
    .drop_o      (event_o.drop)
  );

  link_told u_told (
    .clk_i,
    .rst_ni,
    .clear_i     (clear),
    .run_i       (run),
    .last_i      (last),
    .last_done_o (last_done),
    .cfg_i       (link_i),
    .down_i      (down_index),
    .down_empty_i(down_empty),
    .border_i    (border),
    .up_empty_i  (up_empty),
    .open_i      (open),
    .answer_i,
    .refused_i   (faults.write || refused_i),
    .req_valid_o (told_valid_o),
    .req_ready_i (told_ready_i),
    .done_i      (told_done_i),
    .down_o      (told_down),
    .up_o        (told_up),
    .idle_o      (told_idle)
  );

  assign told_o = '{
          running: run,
          busy: busy && !last,
          place: place,
          fault: faults,
          down: told_down,
          up: told_up,
          default: '0
      };

endmodule
