// append and prepend of up to 255 bytes to as many, beside which the next requests are fetched, compared and executed.
// While the new item gets its place nothing else is done; then both values are read, the key's way gets the place, and
// the request ends. What the reader gives is gathered here, and goes to the log when all of a value is there. 7 clocks from
// the item to the end, which is the initiation interval. What is longer, or must be found step by step, is for
// execute_extend.
//
// The reader never waits for the log here: there is room for all values on their way. So it may have lines pinned for
// others behind, though the log waits for ways of its cache.
//
// Once the request has ended nothing can be taken back: a new item whose bytes memory could not read gets a header that
// is none, so it is not there.
`include "lib_assert.svh"

module execute_append
  import wirekv_pkg::*;
  import request_pkg::*;
  import result_pkg::*;
  import store_pkg::*;
#(
  /// New items on their way; a power of two.
  parameter int unsigned Depth = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Largest item as memcached counts it.
  input  logic [20:0] item_max_i,
  input  log_range_t  range_i,
  /// The request in check goes into act.
  input  logic        go_i,
  input  op_t         check_i,
  /// The request in act, and its item. It may be done here; begin; it ends.
  input  op_t         op_i,
  input  item_t       item_i,
  output logic        may_o,
  input  logic        start_i,
  input  logic        end_i,
  /// It is being done; all is known that is told, and its way may be written.
  output logic        active_o,
  output logic        ready_o,
  output extended_t   extended_o,
  /// Values to read, and their pieces, which are taken at once.
  output logic        read_valid_o,
  input  logic        read_ready_i,
  output read_t       read_o,
  input  logic        chunk_valid_i,
  input  chunk_t      chunk_i,
  /// The new item, and its value; it is bad, which stands from the first beat on. Its key goes with it, and is all
  /// told.
  output logic        own_valid_o,
  input  logic        own_ready_i,
  output put_t        own_o,
  input  off_t        own_off_i,
  output logic        ownb_valid_o,
  input  logic        ownb_ready_i,
  output beat_t       ownb_o,
  output logic [5:0]  ownb_start_o,
  output logic        ownb_bad_o,
  output logic        key_tell_o,
  input  logic        key_all_told_i,
  /// No value is on its way: the pieces that come are for others, and so is the log.
  output logic        idle_o
);

  localparam int unsigned LenBits = 8;
  localparam int unsigned Pieces = 2 * (2 ** LenBits / 64);  // of a new value
  localparam int unsigned NoBits = $clog2(Depth);

  typedef enum logic [2:0] {
    ApIdle,
    ApPut,     // its place
    ApRead,    // the value that comes first
    ApSecond,
    ApEnd
  } state_e;

  state_e state_q;
  logic start, appends, roomy_q, kept_q;
  logic [1:0] placed_q;
  off_t off_q;
  logic [LenBits:0] len;
  logic [5:0] lines_q;
  logic [NoBits:0] puts_q, read_q, done_q;  // items that were put, read, given to the log
  logic full;

  // ---------------------------------------------------------------- steps
  // What the largest item leaves is known before the item is.
  always_ff @(posedge clk_i) begin
    if (go_i)
      roomy_q <= check_i.req.vlen != '0 && check_i.req.vlen < 21'(2 ** LenBits) &&
          22'(check_i.req.vlen) + 22'(check_i.req.klen) + 22'(ItemOverhead + 4 + 2 ** LenBits) <=
          22'(item_max_i);
  end
  assign may_o = roomy_q && item_i.renewed_hit && item_i.alive && op_i.found.whole &&
      !item_i.empty && !item_i.from_1024 && item_i.vlen[9:LenBits] == '0;
  assign start   = start_i && state_q == ApIdle;
  assign appends = op_i.req.op == OpAppend;
  assign len     = {1'b0, item_i.vlen[LenBits-1:0]} + {1'b0, op_i.req.vlen[LenBits-1:0]};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= ApIdle;
    end else begin
      unique case (state_q)
        ApIdle:   if (start) state_q <= ApPut;
        ApPut:    if (own_ready_i) state_q <= ApRead;
        ApRead:   if (read_ready_i) state_q <= ApSecond;
        ApSecond: if (read_ready_i) state_q <= ApEnd;
        default:  ;
      endcase
      if (end_i) state_q <= ApIdle;
    end
    if (state_q == ApPut) off_q <= own_off_i;
    // Who is valid once it has its place is held from then on, see log_fence. Who is not is read in vain.
    placed_q <= {placed_q[0], state_q == ApPut && own_ready_i};
    if (placed_q[1]) kept_q <= off_valid(item_i.off, range_i) && off_valid(op_i.req.off, range_i);
    lines_q <= 6'(lines_of(off_q.pos[1:0], 22'(HeadBytes) + 22'(op_i.req.klen) + 22'(len)));
  end
  // Nothing ends that has its place before its values are asked for.
  `ASSERT(Asked, !(end_i && state_q inside {ApRead, ApSecond}))

  assign own_valid_o = (start || state_q == ApPut) && !full;
  assign own_o       = '{start: 1'b1, own_lines: 1'b0, ends: 1'b0, conn: '0, udp: op_i.req.udp,
                         db: op_i.req.db, klen: op_i.req.klen, vlen: 21'(len),
                         flags: item_i.flags, marks: '0, chosen: 1'b0, chosen_no: '0,
                         expiry: item_i.expiry, off: '0, done: '0};
  assign key_tell_o  = state_q inside {ApRead, ApSecond, ApEnd};

  logic olds;
  assign olds         = appends == (state_q == ApRead);
  assign read_valid_o = state_q inside {ApRead, ApSecond};
  always_comb begin
    read_o       = '0;
    read_o.send  = 1'b1;
    read_o.own   = 1'b1;
    read_o.klen  = op_i.req.klen;
    read_o.whole = olds;
    read_o.slots = op_i.slots;
    read_o.off   = olds ? item_i.off : op_i.req.off;
    read_o.len   = 21'(olds ? item_i.vlen[LenBits-1:0] : op_i.req.vlen[LenBits-1:0]);
  end

  logic stored;
  assign stored     = off_q.lap != '0 && kept_q;
  assign active_o   = state_q != ApIdle;
  assign ready_o    = state_q == ApEnd && key_all_told_i;
  assign extended_o = '{
          fits: 1'b1,
          reply: (off_q.lap == '0) ? RpNoMemory : stored ? RpStored : RpNotStored,
          stored: state_q == ApEnd && stored,
          goes_on: 1'b0,
          off: off_q,
          lines: lines_q,
          done: '0,
          copied: 15'(len[LenBits:6]),
          copy: '0
      };

  // ---------------------------------------------------------------- values on their way
  typedef struct packed {
    line_t      data;
    logic [5:0] start;
    logic [6:0] len;
    logic       last;
  } piece_t;

  piece_t piece, out;
  logic second_q, bad_q, push, piece_there;
  // verilator lint_off UNUSEDSIGNAL
  logic piece_room;  // asserted only
  // verilator lint_on UNUSEDSIGNAL
  logic [Depth-1:0] bads_q;
  assign full   = NoBits'(puts_q - done_q) == '0 && puts_q != done_q;
  assign idle_o = puts_q == done_q;
  assign push   = chunk_valid_i && !idle_o;
  assign piece  = '{data: chunk_i.data, start: chunk_i.start, len: chunk_i.len,
                    last: chunk_i.last && second_q};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      bad_q    <= 1'b0;
      puts_q   <= '0;
      read_q   <= '0;
      done_q   <= '0;
    end else begin
      if (push) begin
        if (chunk_i.last) second_q <= !second_q;
        bad_q <= !piece.last && (bad_q || chunk_i.bad);
        if (piece.last) read_q <= read_q + 1'b1;
      end
      if (state_q == ApPut && own_ready_i) puts_q <= puts_q + 1'b1;
      if (ownb_valid_o && ownb_ready_i && ownb_o.last) done_q <= done_q + 1'b1;
    end
    if (push && piece.last) bads_q[read_q[NoBits-1:0]] <= bad_q || chunk_i.bad;
  end

  logic [$clog2(Depth*Pieces+1)-1:0] unused_level;
  lib_fifo #(
    .T    (piece_t),
    .Depth(Depth * Pieces)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(push),
    .s_ready_o(piece_room),
    .s_data_i (piece),
    .m_valid_o(piece_there),
    .m_ready_i(ownb_valid_o && ownb_ready_i),
    .m_data_o (out),
    .level_o  (unused_level)
  );
  `ASSERT(Room, !push || piece_room)

  assign ownb_valid_o = piece_there && read_q != done_q;
  assign ownb_o       = '{data: out.data, len: out.len, last: out.last};
  assign ownb_start_o = out.start;
  assign ownb_bad_o   = ownb_valid_o && bads_q[done_q[NoBits-1:0]];

  // The head has come to neither value before it was read.
`ifdef LIB_ASSERT_ON
  off_t [Depth-1:0][1:0] offs_q;
  logic [Depth-1:0] kepts_q;
  logic [NoBits-1:0] put_no, read_no;
  assign put_no  = NoBits'(puts_q - 1'b1);
  assign read_no = read_q[NoBits-1:0];
  // Both are known before the first piece can come.
  logic known_q;
  always_ff @(posedge clk_i) begin
    known_q <= placed_q[1];
    if (known_q) begin
      offs_q[put_no]  <= {op_i.req.off, item_i.off};
      kepts_q[put_no] <= stored;
    end
  end
  `ASSERT(Held, !(push && kepts_q[read_no]) || (off_intact(offs_q[read_no][0], range_i
          ) && off_intact(offs_q[read_no][1], range_i)))
`endif

endmodule
