// What is remembered of a SYN until the handshake is complete, which is nothing: all of it is in our
// initial sequence number, a SYN cookie, and comes back with the peer's ACK. Latency 12, initiation
// interval 1.
//
//   cookie  = the SYN's number + {half, epoch's parity, options ^ hash[29:22], proof}
//   options = {mss, window scale, SACK}
//   proof   = (hash[21:0] ^ {options, 14 zeros}) + mix + {half, 9 zeros}
//
// The hash is of the peer's address and port, to which of ours it speaks, and the epoch, of which one takes
// 65.536 seconds; a cookie is good in the one in which it was made and in the next one. An ACK completes a handshake
// if its two numbers leave nothing of the proof: a guess does once in 2^22. What the proof has of options and
// half says that they came back as they were told. `half` is 0 here; the caller may add other_half().
//
// The mix is 4,096 times the number of the peer's first byte. Without it any later segment would do
// for the ACK, if the peer had by then sent as many bytes as it received. With it a segment n bytes
// behind the first one leaves -4097 n where there should be zeros; -4095 times that is -n, modulo
// 2^22. If n is more than the proof, and below 2^16, it has borrowed from the options, which are not known then; the
// upper six bits of the proof's place are ones. What leaves the number of an ACK that completes a handshake, or of one
// that has heard our refusal, is behind nothing and has not borrowed.
module tcp_cookie
  import net_pkg::*;
  import tcp_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Secret, random at start; does not change.
  input  logic [63:0] key_i,
  input  logic [15:0] epoch_i,
  /// The largest payload that we send, and take.
  input  logic [13:0] own_mss_i,
  /// A SYN or ACK.
  input  logic        valid_i,
  input  seg_t        seg_i,
  /// What is to be said of it, 12 clocks later.
  output logic        valid_o,
  output cookie_t     cookie_o
);

  localparam int unsigned Latency = 12;
  localparam int unsigned ZeroW = 22;
  localparam int unsigned MixShift = 12;
  localparam int unsigned MixW = ZeroW - MixShift;
  typedef logic [29:0] sum_t;

  // ---------------------------------------------------------------- what a cookie can say
  // The peer's MSS becomes the largest here that is not above it. The last one stands for our own.
  localparam int unsigned Sizes = 7;
  localparam logic [13:0] Size[Sizes] = '{64, 536, 1220, 1360, 1400, 1440, 1460};

  typedef struct packed {
    logic [2:0] mss;
    logic [3:0] ws;  // 15: none
    logic       sack;
  } options_t;

  function automatic options_t encode(input logic [15:0] mss, input logic ws_valid,
                                      input logic [3:0] ws, input logic sack,
                                      input logic [13:0] own);
    encode.mss = '0;
    for (int unsigned i = 1; i < Sizes; i++) if (mss >= 16'(Size[i])) encode.mss = 3'(i);
    if (mss >= 16'(own)) encode.mss = 3'd7;
    encode.ws = !ws_valid ? 4'd15 : (ws > 4'd14) ? 4'd14 : ws;
    encode.sack = sack;
  endfunction

  function automatic agreed_t decode(input options_t options, input logic [13:0] own);
    logic [13:0] mss;
    mss = (options.mss == 3'd7) ? own : Size[options.mss];
    decode.mss   = (mss < own) ? mss : own;
    decode.ws_ok = options.ws != 4'd15;
    decode.ws    = decode.ws_ok ? options.ws : 4'd0;
    decode.sack_ok = options.sack;
  endfunction

  // ---------------------------------------------------------------- the numbers
  // What goes beside the hash: for a SYN what is added to it, for an ACK what it is taken from.
  typedef struct packed {
    logic        syn;
    logic        six;
    logic        redis;
    logic        parity;
    logic        borrows;  // may have
    logic [31:0] seq;
    sum_t        part;
  } beside_t;

  logic syn, parity, six;
  logic [15:0] epoch, peer_mss;
  logic [31:0] apart;
  options_t options;
  assign syn      = seg_i.flags.syn;
  // What every path takes, less its headers.
  assign six      = ours_of(seg_i.peer) != OursIp4;
  assign peer_mss = seg_i.mss_valid ? seg_i.mss : six ? 16'd1220 : 16'd536;
  assign options  = encode(peer_mss, seg_i.ws_valid, seg_i.ws, seg_i.sack_ok,
                           own_mss(own_mss_i, six));

  // The last epoch that has the parity of the cookie.
  assign apart  = seg_i.ack - seg_i.seq;
  assign parity = syn ? epoch_i[0] : apart[30];
  assign epoch  = epoch_i - 16'(parity != epoch_i[0]);

  logic [Latency-1:0] valid_q;
  logic [95:0] above_q;
  logic [2:0] ours_q;  // which port, which address
  logic [1:0][31:0] words_q;
  logic [31:0] hash;
  sum_t sum_q;
  options_t told;       // once the hash is taken off
  logic [ZeroW-1:0] mix, proof;
  beside_t beside_q[Latency-1];
  beside_t last;
  logic [31:0] seq_q;
  logic half_q, parity_q, six_q, redis_q, borrows_q;

  tcp_hash u_hash (
    .clk_i,
    .key_i,
    .above_i(above_q),
    .words_i(words_q),
    .rest_i (ours_q),
    .hash_o (hash)
  );

  assign mix   = {beside_q[0].seq[MixW-1:0] + MixW'(beside_q[0].syn),
                  MixShift'(half_q) << HalfShift};
  assign last  = beside_q[Latency-2];
  assign told  = last.part[29:ZeroW] ^ (last.syn ? '0 : hash[29:ZeroW]);
  assign proof = hash[ZeroW-1:0] ^ {told, (ZeroW-$bits(told))'(0)};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Latency-2:0], valid_i};

    ours_q      <= {seg_i.peer.redis, seg_i.peer.ours};
    above_q     <= seg_i.peer.ip[127:32];
    words_q     <= {epoch, seg_i.peer.port, seg_i.peer.ip[31:0]};
    half_q      <= !syn && apart[31];
    beside_q[0] <= '{
        syn: syn,
        six: six,
        redis: seg_i.peer.redis,
        parity: parity,
        borrows: &apart[ZeroW-1:16],
        seq: seg_i.seq,
        part: syn ? {options, ZeroW'(0)} : apart[29:0]
    };
    for (int unsigned i = 1; i < Latency - 1; i++) beside_q[i] <= beside_q[i-1];
    beside_q[1].part[ZeroW-1:0] <= beside_q[0].syn ? mix : beside_q[0].part[ZeroW-1:0] - mix;
    sum_q    <= {last.part[29:ZeroW] ^ hash[29:ZeroW],
                 last.syn ? last.part[ZeroW-1:0] + proof : last.part[ZeroW-1:0] - proof};
    seq_q    <= last.seq;
    parity_q <= last.parity;
    six_q    <= last.six;
    redis_q  <= last.redis;
    borrows_q <= last.borrows;
  end

  logic completes, bye;
  logic [MixW-1:0] behind;  // the upper bits of -n
  assign completes = sum_q[ZeroW-1:0] == '0;
  assign bye = sum_q[ZeroW-1:0] == ZeroW'(refusal_bytes(redis_q)) + ZeroW'(1);
  assign behind = sum_q[ZeroW-1:MixShift] - sum_q[MixW-1:0];

  assign valid_o  = valid_q[Latency-1];
  assign cookie_o = '{
          isn: seq_q + {1'b0, parity_q, sum_q},
          carries: &sum_q[ZeroW-1:HalfShift],
          completes: completes,
          agreed: decode(sum_q[29:ZeroW], own_mss(own_mss_i, six_q)),
          early: (borrows_q && !completes && !bye) || &behind[MixW-1:16-MixShift],
          bye: bye
      };

  logic unused;
  assign unused = ^{behind, hash[31:30], seg_i.peer, seg_i.wnd, seg_i.len, seg_i.flags,
                    seg_i.opt_len, seg_i.too_big, seg_i.times_ok};

endmodule
