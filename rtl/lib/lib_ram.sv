// RAM with one write and one read port on one clock. Latency 1, initiation interval 1.
//
// A read of the word being written returns the old data. rdata_o holds while re_i is low. The
// contents are undefined at start.
module lib_ram #(
  /// Bits of a word.
  parameter int unsigned Width = 32,
  /// Words; 64 and more go to block RAM, fewer to distributed RAM.
  parameter int unsigned Depth = 512,
  /// Bits that are written together; divides Width.
  parameter int unsigned ByteWidth = Width,
  // verilator lint_off UNUSEDPARAM
  /// In UltraRAM, blocks of 4,096 words of 72 bits: for what is wide and deep.
  parameter bit Ultra = 0
  // verilator lint_on UNUSEDPARAM
) (
  input  logic                       clk_i,
  /// Write the bytes of wdata_i that wbe_i selects.
  input  logic                       we_i,
  input  logic [$clog2(Depth)-1:0]   waddr_i,
  input  logic [Width/ByteWidth-1:0] wbe_i,
  input  logic [Width-1:0]           wdata_i,
  /// Read; the data stands at rdata_o from the next clock on.
  input  logic                       re_i,
  input  logic [$clog2(Depth)-1:0]   raddr_i,
  output logic [Width-1:0]           rdata_o,
  /// rdata_o becomes zero, whether or not something is read: several RAMs, of which one is read, are then chosen
  /// among by an OR. The RAM's own reset (UG573: RSTRAM, of UltraRAM RST).
  input  logic                       clear_i = 1'b0
);

  if (Depth < 2) begin : gen_bad_depth
    $error("%m: Depth must be 2 or more");
  end
  if (Width % ByteWidth != 0) begin : gen_bad_byte
    $error("%m: ByteWidth must divide Width");
  end

`ifdef VERILATOR
  // The RAM below as simulation does it fastest: with blocking writes, which are not deferred byte
  // by byte. The read stands before the write, and nothing else sees mem_q.
  logic [Width-1:0] mem_q[Depth];
  always @(posedge clk_i) begin
    if (clear_i) rdata_o <= '0;
    else if (re_i) rdata_o <= mem_q[raddr_i];
    if (we_i) begin
      for (int unsigned b = 0; b < Width / ByteWidth; b++) begin
        // verilator lint_off BLKSEQ
        if (wbe_i[b]) mem_q[waddr_i][b*ByteWidth+:ByteWidth] = wdata_i[b*ByteWidth+:ByteWidth];
        // verilator lint_on BLKSEQ
      end
    end
  end
`else
  localparam string Style = Ultra ? "ultra" : (Depth >= 64) ? "block" : "distributed";
  (* ram_style = Style *) logic [Width-1:0] mem_q[Depth];
  always_ff @(posedge clk_i) begin
    if (clear_i) rdata_o <= '0;
    else if (re_i) rdata_o <= mem_q[raddr_i];
    if (we_i) begin
      for (int unsigned b = 0; b < Width / ByteWidth; b++) begin
        if (wbe_i[b]) mem_q[waddr_i][b*ByteWidth+:ByteWidth] <= wdata_i[b*ByteWidth+:ByteWidth];
      end
    end
  end
`endif

endmodule
