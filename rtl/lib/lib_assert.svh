// Assertions that Verilator checks in tests (SIMASSERT) and open Yosys proves (FORMAL). Without
// either define they vanish, registers included. They need clk_i and rst_ni in scope and stand
// without a semicolon.
`ifndef LIB_ASSERT_SVH
`define LIB_ASSERT_SVH

`ifdef FORMAL
`define LIB_ASSERT_ON
`endif
`ifdef SIMASSERT
`define LIB_ASSERT_ON
`endif

`ifdef LIB_ASSERT_ON

// A simulation may start with random inputs, reset included: nothing counts before time 1.
`ifdef FORMAL
`define LIB_ASSERT_NOW rst_ni
`else
`define LIB_ASSERT_NOW (rst_ni && $time != 0)
`endif

/// `cond` holds in every clock out of reset.
`define ASSERT(name, cond) \
  always_ff @(posedge clk_i) if (`LIB_ASSERT_NOW) begin : name \
    assert (cond); \
  end

/// A stream keeps offering the same data until it is taken.
`define ASSERT_STABLE(name, valid, ready, data) \
  if (1) begin : name \
    logic was_stalled; \
    logic [$bits(data)-1:0] was; \
    always_ff @(posedge clk_i) begin \
      was_stalled <= `LIB_ASSERT_NOW && (valid) && !(ready); \
      was         <= data; \
      if (`LIB_ASSERT_NOW && was_stalled) assert ((valid) && was == (data)); \
    end \
  end

`else

`define ASSERT(name, cond)
`define ASSERT_STABLE(name, valid, ready, data)

`endif
`endif
