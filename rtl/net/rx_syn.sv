// Reads the options of a SYN, which stand in front of its payload, and gives the SYN on without
// any payload; likewise of "fragmentation needed" what it quotes. Both step aside for that, and come
// out behind what was faster: other segments pass through with latency 0, initiation interval 1. An
// option takes a clock or two, a SYN as most systems send it 9.
`include "lib_assert.svh"

module rx_syn
  import wirekv_pkg::*;
  import net_pkg::*;
#(
  /// Places aside.
  parameter int unsigned Depth = 32
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  /// Our TCP port and addresses.
  input  net_cfg_t cfg_i,
  /// Segments with the options of SYNs not read yet. Of those that step aside there are never more
  /// than Depth between their coming and `done_o`.
  input  logic     s_valid_i,
  output logic     s_ready_o,
  input  rx_meta_t s_meta_i,
  input  beat_t    s_beat_i,
  /// The same segments, complete.
  output logic     m_valid_o,
  input  logic     m_ready_i,
  output seg_t     m_seg_o,
  output beat_t    m_beat_o,
  /// One-clock pulse: one of those aside has come out.
  output logic     done_o,
  /// Some are aside.
  output logic     busy_o
);

  // ---------------------------------------------------------------- aside
  typedef struct packed {
    rx_meta_t     meta;
    logic [319:0] opts;
  } aside_t;

  logic bare, first_q, wait_valid, wait_pop, wait_room;
  aside_t wait_head;
  // Whose payload goes no further.
  assign bare = s_meta_i.flags.syn || s_meta_i.too_big;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (s_valid_i && s_ready_o) first_q <= s_beat_i.last;
  end

  lib_fifo #(
    .T    (aside_t),
    .Depth(Depth),
    .Ultra(1'b1)
  ) u_wait (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_valid_i && bare && first_q),
    .s_ready_o(wait_room),
    .s_data_i ('{meta: s_meta_i, opts: s_beat_i.data[319:0]}),
    .m_valid_o(wait_valid),
    .m_ready_i(wait_pop),
    .m_data_o (wait_head),
    // verilator lint_off PINCONNECTEMPTY
    .level_o  ()
    // verilator lint_on PINCONNECTEMPTY
  );
  `ASSERT(Room, !(s_valid_i && bare && first_q) || wait_room)
  logic unused_room;
  assign unused_room = wait_room;

  // ---------------------------------------------------------------- options
  typedef enum logic [1:0] {
    Idle,
    Walk,
    Give
  } state_e;
  state_e state_q;

  // The option at hand is in the low lanes. skip_q counts its bytes that are still to be passed,
  // left_q all bytes to the end of the header.
  rx_meta_t meta_q;
  logic [319:0] opts_q;
  logic [5:0] left_q, skip_q;
  logic mss_valid_q, ws_valid_q, sack_q, times_q;
  logic [15:0] mss_q;
  logic [31:0] value_q;  // TSval
  logic [3:0] ws_q;

  logic [7:0] kind, len;
  logic single, valid, stop;
  assign kind   = opts_q[7:0];
  assign len    = opts_q[15:8];
  assign single = kind == 8'd1;  // NOP
  // A length below 2 or past the end: nothing behind it can be trusted.
  assign valid  = kind != 8'd0 && left_q >= 6'd2 && len >= 8'd2 && len <= 8'(left_q);
  assign stop   = left_q == '0 || (skip_q == '0 && !single && !valid);

  // Bytes to be passed, and how many of them in this clock: as many as usual options have.
  logic [5:0] pass, step;
  always_comb begin
    pass = 6'(len);
    if (single) begin
      pass = 6'd1;
      if (left_q >= 6'd4 && opts_q[31:8] == 24'h010101) pass = 6'd4;
      else if (left_q >= 6'd2 && opts_q[15:8] == 8'd1) pass = 6'd2;
    end
    if (skip_q != '0) pass = skip_q;

    step = 6'd1;
    if (pass >= 6'd10) step = 6'd10;
    else if (pass >= 6'd4) step = 6'd4;
    else if (pass >= 6'd2) step = 6'd2;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (wait_valid) state_q <= wait_head.meta.too_big ? Give : Walk;
        Walk: if (stop) state_q <= Give;
        default: if (done_o) state_q <= Idle;
      endcase
    end
    if (state_q == Idle) begin
      meta_q      <= wait_head.meta;
      opts_q      <= wait_head.opts;
      left_q      <= wait_head.meta.opt_len;
      skip_q      <= '0;
      mss_valid_q <= 1'b0;
      ws_valid_q  <= 1'b0;
      sack_q      <= 1'b0;
      times_q     <= 1'b0;
    end
    // Where it stops, nobody looks at them any more.
    if (state_q == Walk) begin
      unique case (step)
        6'd1:    opts_q <= opts_q >> 8;
        6'd2:    opts_q <= opts_q >> 16;
        6'd4:    opts_q <= opts_q >> 32;
        default: opts_q <= opts_q >> 80;
      endcase
    end
    if (state_q == Walk && !stop) begin
      left_q <= left_q - step;
      skip_q <= pass - step;
      if (skip_q == '0 && !single) begin
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
        if (kind == 8'd8 && len == 8'd10) begin
          times_q <= 1'b1;
          value_q <= {swap16(opts_q[31:16]), swap16(opts_q[47:32])};
        end
      end
    end
  end
  assign wait_pop = state_q == Idle;

  // ---------------------------------------------------------------- out
  // Nobody needs the options' length any more.
  function automatic seg_t seg_of(input rx_meta_t meta);
    seg_of         = '0;
    seg_of.peer    = meta.peer;
    seg_of.seq     = meta.seq;
    seg_of.ack     = meta.ack;
    seg_of.flags   = meta.flags;
    seg_of.wnd     = meta.wnd;
    seg_of.len     = meta.len;
    seg_of.too_big = meta.too_big;
  endfunction

  /// Bytes of the quote, in the order of the wire.
  function automatic logic [127:0] quoted(input int unsigned from, input int unsigned bytes);
    quoted = '0;
    for (int unsigned i = 0; i < 16; i++) begin
      if (i < bytes) quoted[(bytes-1-i)*8+:8] = opts_q[(from+i)*8+:8];
    end
  endfunction

  logic quoted_ours, from_tcp, from_redis;
  match_t quoted_from;
  logic [31:0] quoted_ports;
  seg_t through, aside;
  logic through_valid;

  always_comb begin
    through = seg_of(s_meta_i);
    through.opt_len = s_meta_i.opt_len;
    aside   = seg_of(meta_q);
    quoted_ours  = 1'b0;
    from_tcp     = 1'b0;
    from_redis   = 1'b0;
    quoted_from  = '0;
    quoted_ports = '0;
    if (meta_q.too_big) begin
      // The headers that are quoted stand where options do.
      aside.mss       = meta_q.wnd;
      aside.peer.ip   = 128'(quoted(16, 4));
      quoted_ports    = 32'(quoted(20, 4));
      aside.ack       = 32'(quoted(24, 4));
      quoted_ours     = 1'b1;
      if (ours_of(meta_q.peer) != OursIp4) begin
        aside.peer.ip = quoted(16, 16);
        quoted_ports  = 32'(quoted(32, 4));
        aside.ack     = 32'(quoted(36, 4));
        // A packet of one of our addresses may be quoted to another one.
        quoted_from   = match_ip6(cfg_i, quoted(0, 16));
        quoted_ours   = quoted_from.us;
        if (quoted_from.us) aside.peer.ours = quoted_from.ours;
      end
      // Nobody has port 0.
      from_redis       = quoted_ports[31:16] == cfg_i.redis_port && cfg_i.redis_port != '0;
      from_tcp         = quoted_ports[31:16] == cfg_i.tcp_port;
      aside.peer.redis = from_redis && !from_tcp;
      aside.peer.port  = (quoted_ours && (from_tcp || from_redis)) ? quoted_ports[15:0] : '0;
    end else begin
      aside.mss_valid = mss_valid_q;
      aside.mss       = mss_q;
      aside.ws_valid  = ws_valid_q;
      aside.ws        = ws_q;
      aside.sack_ok   = sack_q;
      // Where a SYN alone acknowledges nothing.
      aside.times_ok  = times_q && !meta_q.flags.ack;
      if (aside.times_ok) aside.ack = value_q;
    end
  end

  // One of those aside has its turn between two of the others: all behind waits for this choice, so it
  // is made a clock before.
  logic turn_q;
  assign through_valid = s_valid_i && !bare;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= 1'b0;
    else if (turn_q) turn_q <= !done_o;
    else turn_q <= state_q == Give && (through_valid ? m_ready_i && s_beat_i.last : first_q);
  end
  assign m_valid_o = turn_q || through_valid;
  assign m_seg_o   = turn_q ? aside : through;
  // What was aside has no payload.
  always_comb begin
    m_beat_o = s_beat_i;
    if (turn_q) begin
      m_beat_o.len  = '0;
      m_beat_o.last = 1'b1;
    end
  end
  assign s_ready_o = bare || (m_ready_i && !turn_q);
  assign done_o    = turn_q && m_ready_i;
  assign busy_o    = wait_valid || state_q != Idle;

  logic unused;
  assign unused = ^{cfg_i.mac, cfg_i.ip, cfg_i.udp_port, cfg_i.mtu, cfg_i.vlan};

endmodule
