// Punt queue: command lines that the hardware does not know go to the host program, pieces of
// its answers come back, each when the card asks for it. One packet each; formats in
// docs/HOST_INTERFACE.md, "Punt queue".
// Latency 4 to the host; a piece is announced 2 clocks after its last beat.
`include "lib_assert.svh"

module punt_queue
  import wirekv_pkg::*;
  import request_pkg::*;
  import host_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Requests for the host and their text.
  input  logic         hreq_valid_i,
  output logic         hreq_ready_o,
  input  hreq_t        hreq_i,
  input  logic         hkey_valid_i,
  output logic         hkey_ready_o,
  input  beat_t        hkey_i,
  /// Packets to the host.
  output logic [511:0] m_axis_exc_tdata,
  output logic [63:0]  m_axis_exc_tkeep,
  output logic         m_axis_exc_tvalid,
  input  logic         m_axis_exc_tready,
  output logic         m_axis_exc_tlast,
  /// Packets from the host.
  input  logic [511:0] s_axis_exc_tdata,
  input  logic [63:0]  s_axis_exc_tkeep,
  input  logic         s_axis_exc_tvalid,
  output logic         s_axis_exc_tready,
  input  logic         s_axis_exc_tlast,
  /// Pieces of answers that are here completely, in the order of their bytes.
  output logic         hpiece_valid_o,
  input  logic         hpiece_ready_i,
  output hpiece_t      hpiece_o,
  output logic         hline_valid_o,
  input  logic         hline_ready_i,
  output line_t        hline_o,
  /// One-clock pulses: request sent, piece received, a piece was longer or shorter than it said.
  output logic         req_o,
  output logic         piece_o,
  output logic         bad_o,
  /// No packet is under way. (Pieces that wait for their connection do not count.)
  output logic         idle_o
);

  // ---------------------------------------------------------------- to the host
  axis_t out_in, out;
  logic out_valid, out_ready, text_q;  // text_q: header is sent, its text follows
  logic bare;                          // has no text
  logic [31:0] tag;
  // What is executed is known late, and in no hurry here.
  logic hreq_valid, hreq_ready;
  hreq_t hreq;
  lib_skid_buffer #(
    .T(hreq_t)
  ) u_hreq (
    .clk_i,
    .rst_ni,
    .s_valid_i(hreq_valid_i),
    .s_ready_o(hreq_ready_o),
    .s_data_i (hreq_i),
    .m_valid_o(hreq_valid),
    .m_ready_i(hreq_ready),
    .m_data_o (hreq)
  );
  assign tag = {hreq.udp, 17'b0, hreq.conn};
  assign bare = hreq.len == '0;

  always_comb begin
    // Bytes behind the header, in its beat, mean nothing: zeros would take a LUT for each bit.
    out_in.data = hkey_i.data;
    if (text_q) begin
      out_valid   = hkey_valid_i;
      out_in.keep = ~({64{1'b1}} << hkey_i.len);
      out_in.last = hkey_i.last;
    end else begin
      out_valid   = hreq_valid;
      out_in.data[63:0] = {6'b0, hreq.row, 4'b0, hreq.db, 2'b0, hreq.all, hreq.begins,
                           hreq.stranger, hreq.more, hreq.resp, hreq.udp, hreq.len, tag};
      out_in.data[95:64] = hreq.left;
      out_in.keep = '1;
      out_in.last = bare;
    end
  end
  assign hreq_ready = out_ready && !text_q;
  assign hkey_ready_o = out_ready && text_q;
  assign req_o        = hreq_valid && hreq_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) text_q <= 1'b0;
    else if (out_valid && out_ready) text_q <= text_q ? !hkey_i.last : !bare;
  end

  logic [2:0] out_level;
  lib_fifo #(
    .T    (axis_t),
    .Depth(4),
    .Ultra(1)
  ) u_out (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i (out_in),
    .m_valid_o(m_axis_exc_tvalid),
    .m_ready_i(m_axis_exc_tready),
    .m_data_o (out),
    .level_o  (out_level)
  );
  assign m_axis_exc_tdata = out.data;
  assign m_axis_exc_tkeep = out.keep;
  assign m_axis_exc_tlast = out.last;

  // ---------------------------------------------------------------- from the host
  // The header's length decides how many lines are kept: those are what the answer will use.
  hpiece_t piece_q;
  logic body_q;                  // header is seen
  typedef logic [$clog2(PieceMax/64+1)-1:0] count_t;
  count_t want_q, have_q;  // lines of the piece; lines kept of it
  logic beat, keep, line_ready, piece_ready, push_piece_q, bad_q;
  logic [15:0] length;
  assign length = s_axis_exc_tdata[47:32];
  assign s_axis_exc_tready = line_ready && piece_ready && !push_piece_q;
  assign beat = s_axis_exc_tvalid && s_axis_exc_tready;
  assign keep = body_q && have_q != want_q;

  logic [63:0] unused_keep;
  assign unused_keep = s_axis_exc_tkeep;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      body_q       <= 1'b0;
      push_piece_q <= 1'b0;
      bad_q        <= 1'b0;
    end else begin
      push_piece_q <= beat && s_axis_exc_tlast;
      if (beat) begin
        body_q <= !s_axis_exc_tlast;
        bad_q  <= body_q ? bad_q || !keep : length > 16'(PieceMax);
      end
    end
    if (beat && !body_q) begin
      piece_q.conn        <= s_axis_exc_tdata[13:0];
      piece_q.len         <= (length > 16'(PieceMax)) ? piece_t'(PieceMax) : piece_t'(length);
      piece_q.final_piece <= s_axis_exc_tdata[48];
      piece_q.close       <= s_axis_exc_tdata[49];
      piece_q.three       <= s_axis_exc_tdata[50];
      piece_q.all         <= s_axis_exc_tdata[51];
      piece_q.about       <= s_axis_exc_tdata[52];
      piece_q.kill        <= s_axis_exc_tdata[53];
      piece_q.stranger    <= s_axis_exc_tdata[54];
      piece_q.db          <= s_axis_exc_tdata[59:56];
      want_q              <= (length > 16'(PieceMax)) ? count_t'(PieceMax / 64) :
          count_t'((length + 16'd63) >> 6);
      have_q              <= '0;
    end else if (beat && keep) begin
      have_q <= have_q + count_t'(1);
    end
  end

  logic [6:0] unused_line_level;
  lib_fifo #(
    .T    (line_t),
    .Depth(64)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(beat && keep),
    .s_ready_o(line_ready),
    .s_data_i (s_axis_exc_tdata),
    .m_valid_o(hline_valid_o),
    .m_ready_i(hline_ready_i),
    .m_data_o (hline_o),
    .level_o  (unused_line_level)
  );

  logic short_piece;
  hpiece_t piece_in;
  logic [4:0] unused_piece_level;
  assign short_piece = have_q != want_q;
  always_comb begin
    piece_in = piece_q;
    if (short_piece) piece_in.len = {have_q, 6'd0};
  end
  lib_fifo #(
    .T    (hpiece_t),
    .Depth(16)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_piece_q),
    .s_ready_o(piece_ready),
    .s_data_i (piece_in),
    .m_valid_o(hpiece_valid_o),
    .m_ready_i(hpiece_ready_i),
    .m_data_o (hpiece_o),
    .level_o  (unused_piece_level)
  );
  assign piece_o = push_piece_q && !piece_q.about;
  assign bad_o   = push_piece_q && (bad_q || short_piece);
  assign idle_o  = !hreq_valid_i && !hreq_valid && !text_q && out_level == '0 && !body_q &&
                   !push_piece_q;

endmodule
