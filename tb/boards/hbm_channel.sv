// An AXI3 port of HBM and the channel that is next to it, in the benches of the boards.
// verilator lint_off BLKSEQ
module hbm_channel #(
  /// Its number, and clocks from a request's end to its answer's beginning.
  parameter int unsigned Channel = 0,
  parameter int unsigned Latency = 60,
  /// Address bits of a channel.
  parameter int unsigned Bits = 29
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Both stacks are calibrated.
  input  logic         calibrated_i,
  /// AXI3.
  input  logic [33:0]  araddr,
  input  logic [3:0]   arlen,
  input  logic [2:0]   arsize,
  input  logic [1:0]   arburst,
  input  logic         arvalid,
  output logic         arready,
  input  logic [33:0]  awaddr,
  input  logic [3:0]   awlen,
  input  logic [2:0]   awsize,
  input  logic [1:0]   awburst,
  input  logic         awvalid,
  output logic         awready,
  input  logic [255:0] wdata,
  input  logic [31:0]  wstrb,
  input  logic         wlast,
  input  logic         wvalid,
  output logic         wready,
  output logic [1:0]   bresp,
  output logic         bvalid,
  input  logic         bready,
  output logic [255:0] rdata,
  output logic [1:0]   rresp,
  output logic         rlast,
  output logic         rvalid,
  input  logic         rready
);

  typedef logic [33:0] addr_t;
  typedef logic [255:0] half_t;

  half_t mem[addr_t];
  addr_t aws[$], ars[$];
  int aw_beats[$], ar_beats[$], ar_due[$], b_due[$];
  half_t w_data[$];
  logic [31:0] w_strb[$];
  bit w_last[$];
  int now, beat;
  logic [15:0] draw;

  // Reads of what nobody has written.
  function automatic half_t noise(input addr_t addr);
    return {8{addr[33:2] * 32'h9e37_79b1 ^ 32'h5bd1_e995}};
  endfunction

  function automatic half_t held(input addr_t addr);
    return mem.exists(addr) != 0 ? mem[addr] : noise(addr);
  endfunction

  task automatic check(input addr_t addr, input logic [3:0] len, input logic [2:0] size,
                       input logic [1:0] burst);
    if (!calibrated_i) $fatal(1, "channel %0d: asked before HBM is calibrated", Channel);
    if (size != 3'd5 || burst != 2'd1 || addr[4:0] != '0) begin
      $fatal(1, "channel %0d: address %h, size %0d, burst %0d", Channel, addr, size, burst);
    end
    if (addr >> Bits != 34'(Channel)) $fatal(1, "channel %0d: %h is not its own", Channel, addr);
    if (32'(addr[11:0]) + 32 * (32'(len) + 1) > 4096) begin
      $fatal(1, "channel %0d: %h with %0d beats crosses a page", Channel, addr, 32'(len) + 1);
    end
  endtask

  initial begin
    {arready, awready, wready, bvalid, rvalid} = '0;
    {now, beat} = '0;
    draw = 16'(Channel + 1);
  end

  always @(posedge clk_i) begin
    now  = now + 1;
    draw = {draw[14:0], draw[15] ^ draw[13] ^ draw[12] ^ draw[10]};
    if (rst_ni && arvalid && arready) begin
      check(araddr, arlen, arsize, arburst);
      ars.push_back(araddr);
      ar_beats.push_back(32'(arlen) + 1);
      ar_due.push_back(now + int'(Latency) + 32'(draw[3:0]));
    end
    if (rst_ni && awvalid && awready) begin
      check(awaddr, awlen, awsize, awburst);
      aws.push_back(awaddr);
      aw_beats.push_back(32'(awlen) + 1);
    end
    if (rst_ni && wvalid && wready) begin
      w_data.push_back(wdata);
      w_strb.push_back(wstrb);
      w_last.push_back(wlast);
    end
    // A write whose beats have come.
    if (aws.size() != 0 && w_data.size() >= aw_beats[0]) begin
      addr_t addr;
      int beats;
      addr  = aws.pop_front();
      beats = aw_beats.pop_front();
      for (int n = 0; n < beats; n++) begin
        half_t was, is;
        logic [31:0] strb;
        was  = held(addr);
        is   = w_data.pop_front();
        strb = w_strb.pop_front();
        if (w_last.pop_front() != (n == beats - 1)) begin
          $fatal(1, "channel %0d: last is wrong in a burst of %0d", Channel, beats);
        end
        for (int lane = 0; lane < 32; lane++) if (strb[lane]) was[8*lane+:8] = is[8*lane+:8];
        mem[addr] = was;
        addr      = addr + 32;
      end
      b_due.push_back(now + int'(Latency) + 32'(draw[5:2]));
    end
    // Answers.
    if (bvalid && bready) bvalid <= 1'b0;
    if ((!bvalid || bready) && b_due.size() != 0 && b_due[0] <= now) begin
      void'(b_due.pop_front());
      bvalid <= 1'b1;
    end
    if (rvalid && rready) rvalid <= 1'b0;
    if ((!rvalid || rready) && ars.size() != 0 && ar_due[0] <= now) begin
      rvalid <= 1'b1;
      rdata  <= held(ars[0] + 34'(32 * beat));
      rlast  <= beat == ar_beats[0] - 1;
      beat = beat + 1;
      if (beat == ar_beats[0]) begin
        void'(ars.pop_front());
        void'(ar_beats.pop_front());
        void'(ar_due.pop_front());
        beat = 0;
      end
    end
    arready <= rst_ni && draw[1:0] != '0 && ars.size() < 64;
    awready <= rst_ni && draw[3:2] != '0 && aws.size() < 64;
    wready  <= rst_ni && draw[5:4] != '0 && w_data.size() < 128;
  end
  assign {bresp, rresp} = '0;

endmodule
// verilator lint_on BLKSEQ
