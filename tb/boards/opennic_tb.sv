// The plugin of OpenNIC's box as its bench takes it: streams and registers by the names that cocotbext-axi looks for. Of frames
// that leave, the lanes are those that the shell makes of their length; a length that changes in a frame, or is not that
// of its beats, is an error.
module opennic_tb (
  input  logic         clk_i,
  input  logic         mod_rst_ni,
  output logic         mod_rst_done_o,
  output logic         axil_clk_o,
  input  logic [31:0]  s_axil_awaddr,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [31:0]  s_axil_araddr,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  input  logic [511:0] s_wire_tdata,
  input  logic [63:0]  s_wire_tkeep,
  input  logic         s_wire_tlast,
  input  logic         s_wire_tvalid,
  output logic         s_wire_tready,
  output logic [511:0] m_wire_tdata,
  output logic [63:0]  m_wire_tkeep,
  output logic         m_wire_tlast,
  output logic [47:0]  m_wire_tuser,
  output logic         m_wire_tvalid,
  input  logic         m_wire_tready,
  input  logic [511:0] s_pf0_tdata,
  input  logic [63:0]  s_pf0_tkeep,
  input  logic         s_pf0_tlast,
  input  logic         s_pf0_tvalid,
  output logic         s_pf0_tready,
  output logic [511:0] m_pf0_tdata,
  output logic [63:0]  m_pf0_tkeep,
  output logic         m_pf0_tlast,
  output logic [47:0]  m_pf0_tuser,
  output logic         m_pf0_tvalid,
  input  logic         m_pf0_tready,
  input  logic [511:0] s_pf1_tdata,
  input  logic [63:0]  s_pf1_tkeep,
  input  logic         s_pf1_tlast,
  input  logic         s_pf1_tvalid,
  output logic         s_pf1_tready,
  output logic [511:0] m_pf1_tdata,
  output logic [63:0]  m_pf1_tkeep,
  output logic         m_pf1_tlast,
  output logic [47:0]  m_pf1_tuser,
  output logic         m_pf1_tvalid,
  input  logic         m_pf1_tready
);

  // As in the shell: 125 MHz in phase with 250; HBM's reference is another clock.
  logic slow_q, ref_q;
  initial {slow_q, ref_q} = '0;
  always_ff @(posedge clk_i) slow_q <= !slow_q;
  always_ff @(posedge slow_q) ref_q <= !ref_q;
  assign axil_clk_o = slow_q;

  logic [2:0][15:0] size, src, dst;
  logic [2:0] valid, ready, last;
  logic [2:0][63:0] keep;
  assign valid        = {m_pf1_tvalid, m_pf0_tvalid, m_wire_tvalid};
  assign ready        = {m_pf1_tready, m_pf0_tready, m_wire_tready};
  assign last         = {m_pf1_tlast, m_pf0_tlast, m_wire_tlast};
  assign m_wire_tuser = {dst[0], src[0], size[0]};
  assign m_pf0_tuser  = {dst[1], src[1], size[1]};
  assign m_pf1_tuser  = {dst[2], src[2], size[2]};
  assign m_wire_tkeep = keep[0];
  assign m_pf0_tkeep  = keep[1];
  assign m_pf1_tkeep  = keep[2];

  for (genvar c = 0; c < 3; c++) begin : gen_out
    assign keep[c] = last[c] && size[c][5:0] != '0 ? (64'd1 << size[c][5:0]) - 64'd1 : '1;
    logic [9:0] beat_q;
    logic [47:0] was_q;
    initial beat_q = '0;
    always_ff @(posedge clk_i) begin
      if (valid[c] && ready[c]) begin
        beat_q <= last[c] ? '0 : beat_q + 10'd1;
        was_q  <= {dst[c], src[c], size[c]};
        if (beat_q != '0 && was_q != {dst[c], src[c], size[c]}) $fatal(1, "%0d: tuser changes", c);
        if (last[c] != (32'(size[c]) <= 64 * (32'(beat_q) + 1))) begin
          $fatal(1, "%0d: %0d bytes in beat %0d, last %0d", c, size[c], beat_q, last[c]);
        end
      end
    end
  end

  logic [191:0] all_keep;
  wirekv_250mhz u_plugin (
    .s_axil_awaddr,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_wdata,
    .s_axil_wvalid,
    .s_axil_wready,
    .s_axil_bresp,
    .s_axil_bvalid,
    .s_axil_bready,
    .s_axil_araddr,
    .s_axil_arvalid,
    .s_axil_arready,
    .s_axil_rdata,
    .s_axil_rresp,
    .s_axil_rvalid,
    .s_axil_rready,
    .s_axis_qdma_h2c_tvalid          ({s_pf1_tvalid, s_pf0_tvalid}),
    .s_axis_qdma_h2c_tdata           ({s_pf1_tdata, s_pf0_tdata}),
    .s_axis_qdma_h2c_tkeep           ({s_pf1_tkeep, s_pf0_tkeep}),
    .s_axis_qdma_h2c_tlast           ({s_pf1_tlast, s_pf0_tlast}),
    .s_axis_qdma_h2c_tuser_size      ('0),
    .s_axis_qdma_h2c_tuser_src       (32'h0002_0001),
    .s_axis_qdma_h2c_tuser_dst       ('0),
    .s_axis_qdma_h2c_tready          ({s_pf1_tready, s_pf0_tready}),
    .m_axis_qdma_c2h_tvalid          ({m_pf1_tvalid, m_pf0_tvalid}),
    .m_axis_qdma_c2h_tdata           ({m_pf1_tdata, m_pf0_tdata}),
    .m_axis_qdma_c2h_tkeep           (all_keep[191:64]),
    .m_axis_qdma_c2h_tlast           ({m_pf1_tlast, m_pf0_tlast}),
    .m_axis_qdma_c2h_tuser_size      (size[2:1]),
    .m_axis_qdma_c2h_tuser_src       (src[2:1]),
    .m_axis_qdma_c2h_tuser_dst       (dst[2:1]),
    .m_axis_qdma_c2h_tready          ({m_pf1_tready, m_pf0_tready}),
    .m_axis_adap_tx_250mhz_tvalid    (m_wire_tvalid),
    .m_axis_adap_tx_250mhz_tdata     (m_wire_tdata),
    .m_axis_adap_tx_250mhz_tkeep     (all_keep[63:0]),
    .m_axis_adap_tx_250mhz_tlast     (m_wire_tlast),
    .m_axis_adap_tx_250mhz_tuser_size(size[0]),
    .m_axis_adap_tx_250mhz_tuser_src (src[0]),
    .m_axis_adap_tx_250mhz_tuser_dst (dst[0]),
    .m_axis_adap_tx_250mhz_tready    (m_wire_tready),
    .s_axis_adap_rx_250mhz_tvalid    (s_wire_tvalid),
    .s_axis_adap_rx_250mhz_tdata     (s_wire_tdata),
    .s_axis_adap_rx_250mhz_tkeep     (s_wire_tkeep),
    .s_axis_adap_rx_250mhz_tlast     (s_wire_tlast),
    .s_axis_adap_rx_250mhz_tuser_size('0),
    .s_axis_adap_rx_250mhz_tuser_src (16'h0040),
    .s_axis_adap_rx_250mhz_tuser_dst ('0),
    .s_axis_adap_rx_250mhz_tready    (s_wire_tready),
    .mod_rstn                        (mod_rst_ni),
    .mod_rst_done                    (mod_rst_done_o),
    .ref_clk_100mhz                  (ref_q),
    .axil_aclk                       (slow_q),
    .axis_aclk                       (clk_i)
  );

  // The shell takes lanes as they are, or all of them.
  always_ff @(posedge clk_i) if (valid != '0 && all_keep != '1) $fatal(1, "lanes are not all ones");

endmodule
