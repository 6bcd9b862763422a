// Reads the options of a SYN, which stand in front of its payload, and gives the SYN on without
// any payload; likewise of "fragmentation needed" what it quotes. Segments pass through. Latency 0,
// initiation interval 1; a SYN takes 3 clocks and one for each byte of its options (at most 43), what
// quotes a clock more than it has beats.
module rx_syn
  import wirekv_pkg::*;
  import net_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  /// Our TCP port.
  input  logic [15:0] port_i,
  /// Segments with the options of SYNs not read yet.
  input  logic     s_valid_i,
  output logic     s_ready_o,
  input  rx_meta_t s_meta_i,
  input  beat_t    s_beat_i,
  /// The same segments, complete.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output seg_t     m_seg_o,
  output beat_t    m_beat_o,
  /// A SYN is being read.
  output logic     busy_o
);

  typedef enum logic [1:0] {
    Pass,
    Walk,  // one byte of the options a clock
    Give
  } state_e;
  state_e state_q;

  // The option at hand is in the low lanes. skip_q counts its bytes that are still to be passed,
  // left_q all bytes to the end of the header.
  logic [319:0] opts_q;
  logic [5:0] left_q, skip_q;
  logic mss_valid_q, ws_valid_q, sack_q;
  logic [15:0] mss_q;
  logic [3:0] ws_q;

  logic [7:0] kind, len;
  logic single, valid, stop;
  assign kind   = opts_q[7:0];
  assign len    = opts_q[15:8];
  assign single = kind == 8'd1;  // NOP
  // A length below 2 or past the end: nothing behind it can be trusted.
  assign valid  = kind != 8'd0 && left_q >= 6'd2 && len >= 8'd2 && len <= 8'(left_q);
  assign stop   = left_q == '0 || (skip_q == '0 && !single && !valid);

  // Whose payload goes no further.
  logic bare, take;
  assign bare = s_meta_i.flags.syn || s_meta_i.too_big;
  assign take = state_q == Pass && s_valid_i && bare;

  // The headers that are quoted go where options do.
  logic ours_q;  // from our port
  logic [31:0] quote_ip, quote_seq;
  logic [15:0] quote_port;
  assign quote_ip   = {swap16(opts_q[16*8+:16]), swap16(opts_q[18*8+:16])};
  assign quote_port = swap16(opts_q[22*8+:16]);
  assign quote_seq  = {swap16(opts_q[24*8+:16]), swap16(opts_q[26*8+:16])};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Pass;
    end else begin
      unique case (state_q)
        Pass: if (take) state_q <= s_meta_i.too_big ? Give : Walk;
        Walk: if (stop) state_q <= Give;
        default: if (m_valid_o && m_ready_i) state_q <= Pass;
      endcase
    end
    if (take) begin
      opts_q      <= s_beat_i.data[319:0];
      ours_q      <= swap16(s_beat_i.data[20*8+:16]) == port_i;
      left_q      <= s_meta_i.opt_len;
      skip_q      <= '0;
      mss_valid_q <= 1'b0;
      ws_valid_q  <= 1'b0;
      sack_q      <= 1'b0;
    end
    if (state_q == Walk && !stop) begin
      opts_q <= opts_q >> 8;
      left_q <= left_q - 6'd1;
      if (skip_q != '0) begin
        skip_q <= skip_q - 6'd1;
      end else if (!single) begin
        skip_q <= 6'(len) - 6'd1;
        if (kind == 8'd2 && len == 8'd4) begin
          mss_valid_q <= 1'b1;
          mss_q       <= swap16(opts_q[31:16]);
        end
        if (kind == 8'd3 && len == 8'd3) begin
          ws_valid_q <= 1'b1;
          // RFC 7323: more than 14 means 14.
          ws_q       <= opts_q[23:16] > 8'd14 ? 4'd14 : opts_q[19:16];
        end
        if (kind == 8'd4 && len == 8'd2) sack_q <= 1'b1;
      end
    end
  end

  always_comb begin
    // Of these only the last beat is given on, and that as an empty one.
    m_valid_o = s_valid_i && (bare ? state_q == Give && s_beat_i.last : state_q == Pass);
    s_ready_o = (m_valid_o && m_ready_i) || (state_q == Give && !s_beat_i.last);

    m_beat_o = s_beat_i;
    if (bare) m_beat_o.len = '0;

    m_seg_o.peer      = s_meta_i.peer;
    m_seg_o.seq       = s_meta_i.seq;
    m_seg_o.ack       = s_meta_i.ack;
    m_seg_o.flags     = s_meta_i.flags;
    m_seg_o.wnd       = s_meta_i.wnd;
    m_seg_o.len       = s_meta_i.len;
    m_seg_o.mss_valid = s_meta_i.flags.syn && mss_valid_q;
    m_seg_o.mss       = mss_q;
    m_seg_o.ws_valid  = s_meta_i.flags.syn && ws_valid_q;
    m_seg_o.ws        = ws_q;
    m_seg_o.sack_ok   = s_meta_i.flags.syn && sack_q;
    m_seg_o.too_big   = s_meta_i.too_big;
    if (s_meta_i.too_big) begin
      m_seg_o.mss       = s_meta_i.wnd;
      m_seg_o.peer.ip   = quote_ip;
      // Nobody has port 0.
      m_seg_o.peer.port = ours_q ? quote_port : '0;
      m_seg_o.ack       = quote_seq;
    end
  end

  assign busy_o = state_q != Pass;

endmodule
