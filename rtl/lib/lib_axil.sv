// AXI4-Lite in front of registers: one access at a time, 3 clocks a write, 4 a read. No output depends combinationally on
// an input of the bus. Responses are always OKAY. In a reset nothing is taken: the bus may leave it earlier.
`include "lib_assert.svh"

module lib_axil #(
  /// Bits of a byte's address.
  parameter int unsigned AddrW = 12
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// AXI4-Lite, AMBA AXI and ACE protocol specification, part B.
  input  logic [AddrW-1:0] s_axil_awaddr,
  input  logic             s_axil_awvalid,
  output logic             s_axil_awready,
  input  logic [31:0]      s_axil_wdata,
  input  logic [3:0]       s_axil_wstrb,
  input  logic             s_axil_wvalid,
  output logic             s_axil_wready,
  output logic [1:0]       s_axil_bresp,
  output logic             s_axil_bvalid,
  input  logic             s_axil_bready,
  input  logic [AddrW-1:0] s_axil_araddr,
  input  logic             s_axil_arvalid,
  output logic             s_axil_arready,
  output logic [31:0]      s_axil_rdata,
  output logic [1:0]       s_axil_rresp,
  output logic             s_axil_rvalid,
  input  logic             s_axil_rready,
  /// Nothing is taken, from a register; wdata_o is 0 then. Only behind a reset.
  input  logic             hold_i,
  /// A write, for one clock; and the clock after it. What is written stands here in both.
  output logic             we_o,
  output logic             write_o,
  output logic [AddrW-3:0] waddr_o,
  output logic [31:0]      wdata_o,
  output logic [3:0]       wstrb_o,
  /// A read begins, for one clock. rdata_i belongs to the second clock after it, and raddr_o stands until then.
  output logic             re_o,
  output logic [AddrW-3:0] raddr_o,
  input  logic [31:0]      rdata_i,
  /// An access is under way.
  output logic             busy_o
);

  // An address or data of a write that wait here.
  logic aw_q, w_q, reading, up_q, takes;
  logic [2:0] read_q;  // one under way, by stage
  logic [1:0] unused_addr;
  assign unused_addr = s_axil_awaddr[1:0] | s_axil_araddr[1:0];

  assign takes          = up_q && !hold_i;
  assign s_axil_awready = !aw_q && takes;
  assign s_axil_wready  = !w_q && takes;
  assign s_axil_arready = !reading && takes;
  assign s_axil_bresp   = 2'b00;
  assign s_axil_rresp   = 2'b00;
  assign re_o           = read_q[0];
  assign reading        = read_q != '0 || s_axil_rvalid;
  assign we_o           = aw_q && w_q && !s_axil_bvalid && !reading;
  assign busy_o         = aw_q || w_q || write_o || s_axil_bvalid || reading;

  always_ff @(posedge clk_i) begin
    up_q <= rst_ni;
    if (!rst_ni) begin
      aw_q          <= 1'b0;
      w_q           <= 1'b0;
      write_o       <= 1'b0;
      read_q        <= '0;
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end else begin
      aw_q          <= aw_q ? !we_o : s_axil_awvalid && takes;
      w_q           <= w_q ? !we_o : s_axil_wvalid && takes;
      write_o       <= we_o;
      read_q        <= {read_q[1:0], s_axil_arvalid && s_axil_arready};
      s_axil_bvalid <= we_o || (s_axil_bvalid && !s_axil_bready);
      s_axil_rvalid <= read_q[2] || (s_axil_rvalid && !s_axil_rready);
    end
    if (!aw_q) waddr_o <= s_axil_awaddr[AddrW-1:2];
    if (hold_i) wdata_o <= '0;
    else if (!w_q) wdata_o <= s_axil_wdata;
    if (!w_q) wstrb_o <= s_axil_wstrb;
    if (!reading) raddr_o <= s_axil_araddr[AddrW-1:2];
    if (read_q[2]) s_axil_rdata <= rdata_i;
  end

  `ASSERT_STABLE(BStable, s_axil_bvalid, s_axil_bready, s_axil_bresp)
  `ASSERT_STABLE(RStable, s_axil_rvalid, s_axil_rready, s_axil_rdata)

endmodule
