// What every harness needs: reset in the first clock, and inputs that behave as a stream.
`ifndef FV_SVH
`define FV_SVH

`define FV_RESET \
  logic rst_ni = 1'b0; \
  always_ff @(posedge clk_i) rst_ni <= 1'b1;

/// The source of a stream keeps what it offers.
`define FV_STREAM(name, valid, ready, data) \
  if (1) begin : name \
    logic was_stalled = 1'b0; \
    logic [$bits(data)-1:0] was; \
    always_ff @(posedge clk_i) begin \
      was_stalled <= rst_ni && (valid) && !(ready); \
      was         <= data; \
      if (rst_ni && was_stalled) assume ((valid) && was == (data)); \
    end \
  end

`define FV_ASSUME(name, cond) \
  always_ff @(posedge clk_i) begin : name \
    assume (cond); \
  end

/// It happens: no proof holds because nothing ever does. `prove.py` looks for a run of each.
`ifdef COVER
`define FV_COVER(name, cond) \
  always_ff @(posedge clk_i) if (rst_ni) reach_``name: cover (cond);

/// A flag for such conditions: something has happened.
`define FV_SEEN(name, cond) \
  logic name = 1'b0; \
  always_ff @(posedge clk_i) if (rst_ni && (cond)) name <= 1'b1;
`else
`define FV_COVER(name, cond)
`define FV_SEEN(name, cond)
`endif

`endif
