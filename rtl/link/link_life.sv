// The life of a channel: off, swept, running, draining, and the last line to the host. It stops when the host says so,
// when something is wrong, and for a function-level reset; it begins again when it was off and disabled.
//
// A sweep is of `Lines` clocks. A fault is kept, with the place of the first, until the next start.
module link_life
  import link_pkg::*;
#(
  /// Lines to sweep: a power of two.
  parameter int unsigned Lines = 1024
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  channel_cfg_t             cfg_i,
  /// A function-level reset is asked for.
  input  logic                     flr_i,
  /// What is wrong, for a clock, and where; the door of either direction, a write, a read.
  input  fault_t                   fault_i,
  input  index_t                   down_place_i,
  input  index_t                   up_place_i,
  /// Nothing of the channel is under way in host memory; nor to the card.
  input  logic                     bus_idle_i,
  input  logic                     card_idle_i,
  /// The last line was taken.
  input  logic                     last_done_i,
  /// Frames are taken and given.
  output logic                     run_o,
  /// Slots that were begun go on: what waits is kept.
  output logic                     live_o,
  /// All indices are 0.
  output logic                     clear_o,
  output logic                     sweep_o,
  output logic [$clog2(Lines)-1:0] sweep_line_o,
  /// The last line is to be written.
  output logic                     last_o,
  output logic                     busy_o,
  /// Host memory is left alone until the next start.
  output logic                     quiet_o,
  output fault_t                   fault_o,
  output index_t                   place_o,
  /// It stops for a fault: for a clock.
  output logic                     stop_o
);

  typedef enum logic [2:0] {
    Off,
    Sweep,
    Run,
    Drain,
    Last,
    Wipe
  } state_e;
  typedef logic [$clog2(Lines)-1:0] line_t;

  state_e state_q;
  line_t line_q;
  logic armed_q;  // it was disabled while it was off
  logic flr_q;    // a reset was asked for, and what it stops is not wiped yet
  logic narrow, wrong;

  assign narrow = !is_size(cfg_i.down_mask) || !is_size(cfg_i.up_mask);
  assign wrong = fault_i != '0;

  assign run_o        = state_q == Run;
  assign live_o       = state_q inside {Run, Drain};
  assign clear_o      = state_q inside {Sweep, Wipe};
  assign sweep_o      = state_q == Sweep;
  assign sweep_line_o = line_q;
  assign last_o       = state_q == Last;
  assign busy_o       = state_q != Off;
  assign quiet_o      = state_q inside {Off, Wipe} || (state_q == Drain && bus_idle_i);

  always_ff @(posedge clk_i) begin
    stop_o <= 1'b0;
    if (!rst_ni) begin
      state_q <= Off;
      armed_q <= 1'b1;
      line_q  <= '0;
      flr_q   <= 1'b0;
      fault_o <= '0;
      place_o <= '0;
    end else begin
      if (flr_i) flr_q <= 1'b1;
      unique case (state_q)
        Off: begin
          if (flr_q) state_q <= Wipe;
          else if (cfg_i.enable && armed_q) begin
            armed_q <= 1'b0;
            fault_o <= '{setup: narrow, default: '0};
            place_o <= '0;
            stop_o  <= narrow;
            if (!narrow) state_q <= Sweep;
          end
          if (!cfg_i.enable) armed_q <= 1'b1;
        end
        Sweep: begin
          line_q <= line_q + 1'b1;
          if (line_q == '1) state_q <= Run;
        end
        Run: if (!cfg_i.enable || flr_q || wrong) state_q <= Drain;
        Drain:
        if (bus_idle_i && card_idle_i) state_q <= flr_q ? Wipe : fault_o.write ? Off : Last;
        Last: if (last_done_i) state_q <= Off;
        Wipe: begin
          fault_o <= '0;
          place_o <= '0;
          flr_q   <= 1'b0;
          state_q <= Off;
        end
        default: state_q <= Off;
      endcase
      if (wrong) begin
        fault_o <= fault_o | fault_i;
        if (fault_o == '0) begin
          stop_o  <= 1'b1;
          place_o <= (fault_i.write || fault_i.up_door) ? up_place_i : down_place_i;
        end
      end
    end
  end

endmodule
