// mem_stripe: answers are those of the requests, in their order, and bad for what memory refuses alone; each line reaches
// its way with its address. A place has two bits that tell requests apart: memory answers with the first,
// in both beats, and refuses, in a beat of the prover's choice, where the second is set.
`include "fv.svh"
`include "lib_assert.svh"

module mem_stripe_fv #(
  parameter int unsigned Ways = 2
) (
  input logic            clk_i,
  input logic            ar_valid_i,
  input logic [3:0]      ar_line_i,
  input logic            aw_valid_i,
  input logic [3:0]      aw_line_i,
  input logic            w_valid_i,
  input logic            r_ready_i,
  input logic            b_ready_i,
  input logic [Ways-1:0] ar_ready_i,
  input logic [Ways-1:0] aw_ready_i,
  input logic [Ways-1:0] w_ready_i,
  input logic [Ways-1:0] r_give_i,
  input logic [Ways-1:0] b_give_i,
  input logic [Ways-1:0] beat_i
);
  `FV_RESET

  // What is under way at most, and more.
  localparam int unsigned Room = 16;
  typedef logic [1:0] tag_t;
  typedef logic [3:0] count_t;

  logic ar_ready, aw_ready, w_ready, r_valid, b_valid, unused_last;
  logic [1:0] r_resp, b_resp;
  logic [511:0] r_data;
  logic [Ways-1:0] m_ar_valid, m_aw_valid, m_w_valid, m_w_last, r_beat, r_bad, unused_ready;
  logic [Ways-1:0] r_valid_m, b_valid_m, unused_b_ready;
  logic [Ways-1:0][8:0] m_ar_addr, m_aw_addr;
  logic [Ways-1:0][255:0] m_w_data, r_data_m;
  logic [Ways-1:0][31:0] unused_strb;
  logic [Ways-1:0][1:0] r_resp_m, b_resp_m;

  `FV_STREAM(ArStream, ar_valid_i, ar_ready, ar_line_i)
  `FV_STREAM(AwStream, aw_valid_i, aw_ready, aw_line_i)

  // Requests that wait for their answer, lines that wait to be given.
  tag_t [Room-1:0] reads_q, writes_q, lines_q;
  count_t reads_n_q, writes_n_q, lines_n_q;
  logic w_valid, ar_take, aw_take, w_take, r_take, b_take;
  assign w_valid = w_valid_i && lines_n_q != '0;
  assign ar_take = ar_valid_i && ar_ready;
  assign aw_take = aw_valid_i && aw_ready;
  assign w_take  = w_valid && w_ready;
  assign r_take  = r_valid && r_ready_i;
  assign b_take  = b_valid && b_ready_i;

  logic was_w_q;
  always_ff @(posedge clk_i) begin
    was_w_q <= rst_ni && w_valid && !w_ready;
    if (rst_ni && was_w_q) assume (w_valid_i);
  end

  function automatic tag_t tag(input logic [3:0] line);
    return tag_t'(line >> $clog2(Ways));
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_n_q  <= '0;
      writes_n_q <= '0;
      lines_n_q  <= '0;
    end else begin
      reads_n_q  <= reads_n_q + count_t'(ar_take) - count_t'(r_take);
      writes_n_q <= writes_n_q + count_t'(aw_take) - count_t'(b_take);
      lines_n_q  <= lines_n_q + count_t'(aw_take) - count_t'(w_take);
    end
    for (int n = 0; n < Room; n++) begin
      if (r_take && n < Room - 1) reads_q[n] <= reads_q[n+1];
      if (b_take && n < Room - 1) writes_q[n] <= writes_q[n+1];
      if (w_take && n < Room - 1) lines_q[n] <= lines_q[n+1];
      if (ar_take && count_t'(n) == reads_n_q - count_t'(r_take)) reads_q[n] <= tag(ar_line_i);
      if (aw_take && count_t'(n) == writes_n_q - count_t'(b_take)) writes_q[n] <= tag(aw_line_i);
      if (aw_take && count_t'(n) == lines_n_q - count_t'(w_take)) lines_q[n] <= tag(aw_line_i);
    end
  end

  mem_stripe #(
    .Ways    (Ways),
    .AddrBits(9),
    .Reads   (2),
    .Writes  (2)
  ) dut (
    .clk_i,
    .rst_ni,
    .s_axi_awvalid(aw_valid_i),
    .s_axi_awready(aw_ready),
    .s_axi_awaddr ({30'd0, aw_line_i, 6'd0}),
    .s_axi_wvalid (w_valid),
    .s_axi_wready (w_ready),
    .s_axi_wdata  ({255'd0, lines_q[0][0], 255'd0, lines_q[0][0]}),
    .s_axi_wstrb  ('1),
    .s_axi_bvalid (b_valid),
    .s_axi_bready (b_ready_i),
    .s_axi_bresp  (b_resp),
    .s_axi_arvalid(ar_valid_i),
    .s_axi_arready(ar_ready),
    .s_axi_araddr ({30'd0, ar_line_i, 6'd0}),
    .s_axi_rvalid (r_valid),
    .s_axi_rready (r_ready_i),
    .s_axi_rdata  (r_data),
    .s_axi_rresp  (r_resp),
    .s_axi_rlast  (unused_last),
    .m_axi_awvalid(m_aw_valid),
    .m_axi_awready(aw_ready_i),
    .m_axi_awaddr (m_aw_addr),
    .m_axi_wvalid (m_w_valid),
    .m_axi_wready (w_ready_i),
    .m_axi_wdata  (m_w_data),
    .m_axi_wstrb  (unused_strb),
    .m_axi_wlast  (m_w_last),
    .m_axi_bvalid (b_valid_m),
    .m_axi_bready (unused_b_ready),
    .m_axi_bresp  (b_resp_m),
    .m_axi_arvalid(m_ar_valid),
    .m_axi_arready(ar_ready_i),
    .m_axi_araddr (m_ar_addr),
    .m_axi_rvalid (r_valid_m),
    .m_axi_rready (unused_ready),
    .m_axi_rdata  (r_data_m),
    .m_axi_rresp  (r_resp_m),
    .m_axi_rlast  (r_beat)
  );

  `ASSERT(ReadsFew, reads_n_q != '1 && writes_n_q != '1)
  `ASSERT(ReadAsked, !r_valid || reads_n_q != '0)
  logic fits;
  assign fits = {r_resp[1], r_data[0], r_data[256]} == {reads_q[0], reads_q[0][0]};
  `ASSERT(ReadOrder, !r_valid || fits)
  `ASSERT(WriteAsked, !b_valid || writes_n_q != '0)
  `ASSERT(WriteOrder, !b_valid || b_resp[1] == writes_q[0][1])

  // ---------------------------------------------------------------- memories
  for (genvar w = 0; w < Ways; w++) begin : gen_way
    // The oldest first: reads, addresses of writes, lines, writes that have both.
    tag_t [3:0] asked_q, addrs_q;
    logic [3:0] data_q;
    logic [2:0] asked_n_q, addrs_n_q, data_n_q;
    logic half_q, first_q, was_bad_q, ask, addr, beat, line, give, done, pair;
    assign ask  = m_ar_valid[w] && ar_ready_i[w];
    assign addr = m_aw_valid[w] && aw_ready_i[w];
    assign beat = m_w_valid[w] && w_ready_i[w];
    assign line = beat && half_q;
    // A beat of the oldest read; refused in one beat or in both.
    assign r_valid_m[w] = r_give_i[w] && asked_n_q != '0;
    assign r_data_m[w]  = 256'(asked_q[0][0]);
    assign r_bad[w]     = asked_q[0][1] && (r_beat[w] ? !was_bad_q || beat_i[w] : beat_i[w]);
    assign r_resp_m[w]  = {r_bad[w], 1'b0};
    assign give         = r_valid_m[w] && r_beat[w];
    assign pair         = addrs_n_q != '0 && data_n_q != '0;
    assign b_valid_m[w] = b_give_i[w] && pair;
    assign b_resp_m[w]  = {addrs_q[0][1], 1'b0};
    assign done         = b_valid_m[w];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        asked_n_q <= '0;
        addrs_n_q <= '0;
        data_n_q  <= '0;
        half_q    <= 1'b0;
        r_beat[w] <= 1'b0;
        was_bad_q <= 1'b0;
      end else begin
        asked_n_q <= asked_n_q + 3'(ask) - 3'(give);
        addrs_n_q <= addrs_n_q + 3'(addr) - 3'(done);
        data_n_q  <= data_n_q + 3'(line) - 3'(done);
        if (beat) half_q <= !half_q;
        if (r_valid_m[w]) r_beat[w] <= !r_beat[w];
        if (r_valid_m[w]) was_bad_q <= r_bad[w] && !r_beat[w];
      end
      if (beat) first_q <= m_w_data[w][0];
      for (int n = 0; n < 4; n++) begin
        if (give && n < 3) asked_q[n] <= asked_q[n+1];
        if (done && n < 3) addrs_q[n] <= addrs_q[n+1];
        if (done && n < 3) data_q[n] <= data_q[n+1];
        if (ask && 3'(n) == asked_n_q - 3'(give)) asked_q[n] <= m_ar_addr[w][7:6];
        if (addr && 3'(n) == addrs_n_q - 3'(done)) addrs_q[n] <= m_aw_addr[w][7:6];
        if (line && 3'(n) == data_n_q - 3'(done)) data_q[n] <= m_w_data[w][0];
      end
    end
    `ASSERT(Room, asked_n_q <= 3'd3 && addrs_n_q <= 3'd2 && data_n_q <= 3'd2)
    `ASSERT(TwoBeats, !beat || m_w_last[w] == half_q)
    `ASSERT(OneLine, !line || m_w_data[w][0] == first_q)
    `ASSERT(Together, !pair || addrs_q[0][0] == data_q[0])
  end

  // Reached
  `FV_SEEN(refused, r_take && r_resp[1])
  `FV_SEEN(write_refused, b_take && b_resp[1])
  `FV_COVER(GoodBehindBad, refused && r_take && !r_resp[1])
  `FV_COVER(WriteGoodBehindBad, write_refused && b_take && !b_resp[1])
  `FV_COVER(AllWaysFull, reads_n_q >= 4'd6)
endmodule
