// A memory port as the card's folders see it, made as unhelpful as the rules allow: latencies and
// stalls are random, a read takes its data when it is accepted, a write takes effect only in the
// clock in which it is acknowledged.
module mem_model
  import wirekv_pkg::*;
#(
  /// Lines.
  parameter int unsigned Depth = 1024,
  /// Address of line 0; bank lines are 2 apart with Shift 1.
  parameter laddr_t Base = '0,
  parameter int unsigned Shift = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Clocks from acceptance to data or acknowledgement, and how many more at random.
  input  int unsigned latency_i,
  input  int unsigned jitter_i,
  /// Chance of a clock without ready, in 256ths.
  input  logic [7:0]  pause_i,
  /// Chance of a bad answer, in 65,536ths; a bad write may have taken place, or not.
  input  logic [15:0] bad_reads_i,
  input  logic [15:0] bad_writes_i,
  input  logic        wr_valid_i,
  output logic        wr_ready_o,
  input  line_write_t wr_i,
  output logic        wr_done_o,
  output logic        wr_bad_o,
  output strb_t       wr_strb_o,  // of the write that is answered
  input  logic        rd_valid_i,
  output logic        rd_ready_o,
  input  laddr_t      rd_addr_i,
  output logic        rdat_valid_o,
  output line_t       rdat_o,
  output logic        rdat_bad_o
);

  typedef struct {
    line_write_t wr;
    longint      due;
  } write_t;
  typedef struct {
    line_t  data;
    longint due;
  } read_t;

  line_t  mem[Depth] /* verilator public_flat */;
  write_t writes[$];
  read_t  reads[$];
  longint now;

  function automatic int unsigned index(input laddr_t addr);
    return 32'((addr - Base) >> Shift) % Depth;
  endfunction

  initial for (int i = 0; i < int'(Depth); i++) mem[i] = '0;

  always @(posedge clk_i) begin
    write_t w;
    read_t r;
    logic bad, half;
    now <= now + 1;
    wr_done_o  <= 1'b0;
    wr_ready_o <= 8'($urandom) >= pause_i;
    rd_ready_o <= 8'($urandom) >= pause_i;
    if (!rst_ni) begin
      writes.delete();
      reads.delete();
      rdat_valid_o <= 1'b0;
      now <= 0;
    end else begin
      if (rd_valid_i && rd_ready_o) begin
        r.data = mem[index(rd_addr_i)];
        r.due  = now + longint'(latency_i) + longint'($urandom) % (longint'(jitter_i) + 1);
        reads.push_back(r);
      end
      if (wr_valid_i && wr_ready_o) begin
        w.wr  = wr_i;
        w.due = now + longint'(latency_i) + longint'($urandom) % (longint'(jitter_i) + 1);
        writes.push_back(w);
      end
      if (writes.size() != 0 && writes[0].due <= now) begin
        w = writes.pop_front();
        bad = 16'($urandom) < bad_writes_i;
        half = 1'($urandom);
        wr_done_o <= 1'b1;
        wr_bad_o  <= bad;
        wr_strb_o <= w.wr.strb;
        for (int b = 0; b < 64; b++)
        if (w.wr.strb[b] && !(bad && half)) mem[index(w.wr.addr)][8*b+:8] = w.wr.data[8*b+:8];
      end
      rdat_valid_o <= 1'b0;
      if (reads.size() != 0 && reads[0].due <= now) begin
        r = reads.pop_front();
        rdat_valid_o <= 1'b1;
        bad = 16'($urandom) < bad_reads_i;
        rdat_o       <= bad ? '0 : r.data;
        rdat_bad_o   <= bad;
      end
    end
  end

endmodule
