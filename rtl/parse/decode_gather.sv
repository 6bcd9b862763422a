// The text of a line for host software: its words joined by one space. A beat goes out when the
// next byte would not fit, the last one at the line's end. Latency 0, initiation interval 1.
module decode_gather
  import wirekv_pkg::*;
  import front_pkg::*;
#(
  /// Text may have so many bytes.
  parameter int unsigned TextMax = 250
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       step_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  step_t      step_i,
  // verilator lint_on UNUSEDSIGNAL
  /// The bytes of its piece, 0 behind them.
  input  line_t      bytes_i,
  /// The line is over.
  input  logic       end_i,
  /// A full beat goes out; while there is none, the beat is what is left.
  output logic       beat_valid_o,
  output beat_t      beat_o,
  /// Bytes in all, while they are not too many.
  output logic [7:0] len_o,
  output logic       fits_o
);

  line_t gather_q;
  logic [6:0] len_q;
  logic [8:0] total_q, total_d;
  logic gather, space, full;
  logic [1023:0] bytes, gathered;
  logic [7:0] gathered_len;

  assign gather = step_valid_i && step_i.host_text;
  assign space  = gather && step_i.word_start && !step_i.first_word;

  always_comb begin
    bytes = 1024'(bytes_i) << {space, 3'b000};
    if (space) bytes[7:0] = " ";
    gathered     = {512'd0, gather_q};
    gathered_len = 8'(len_q);
    total_d      = total_q;
    if (gather) begin
      gathered     = gathered | (bytes << {len_q, 3'b000});
      gathered_len = 8'(len_q) + 8'(space) + 8'(step_i.piece.n);
      if (!total_q[8]) total_d = total_q + 9'(space) + 9'(step_i.piece.n);
      if (gathered_len[7] && gathered_len[0]) total_d = '1;  // 129: over the limit anyway
    end
  end
  assign full = gathered_len > 8'd64;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || end_i) begin
      gather_q <= '0;
      len_q    <= '0;
      total_q  <= '0;
    end else if (gather) begin
      gather_q <= full ? gathered[1023:512] : gathered[511:0];
      len_q    <= full ? 7'(gathered_len - 8'd64) : gathered_len[6:0];
      total_q  <= total_d;
    end
  end

  assign beat_valid_o = full && !total_d[8];
  assign beat_o.data  = gathered[511:0];
  assign beat_o.len   = full ? 7'd64 : len_q;
  assign beat_o.last  = !full;
  assign len_o        = total_q[7:0];
  assign fits_o       = total_q <= 9'(TextMax);

endmodule
