// Finds the places where requests may start: behind a line's end, where the first letters are those
// of a command, and behind blanks of what may be a line of keys. Latency 5, one place a clock; a job that
// begins and ends in one line, with nothing before it, gives its beginning at once: latency 1.
//
// A binary request starts with the magic byte, and its key's length and its data type have zeros.
// It need not be right: a place too many costs a clock, one too few sends the request to the byte
// engine.
// A line without a place gives its beginning, or nobody would see that a place before it was not found
// until the job's end, for which there may be no room.
//
// Of a request line of more than 64 bytes its last 64 are a place, too, its tail. It comes behind that of its
// beginning, its head, with no other in between, if the line has one key and at most TailLines behind its first. In Redis'
// protocol the tail begins where the first length stands that is 58 bytes or more behind the head's beginning: behind the
// key, a number or a value. It has RespLines then.
`include "lib_assert.svh"

module line_scan
  import lib_pkg::*;
  import wirekv_pkg::*;
  import conn_pkg::*;
  import parse_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Received lines.
  input  logic       raw_valid_i,
  output logic       raw_ready_o,
  input  raw_t       raw_i,
  /// Oldest line that is still needed; none before it is kept.
  input  line_no_t   oldest_i,
  /// No places before this line are wanted.
  input  line_no_t   skip_i,
  /// Where the line goes; what is not the job's is zero.
  output logic       we_o,
  output line_no_t   line_o,
  output line_t      data_o,
  output logic [63:0] cr_o,
  output logic [63:0] lf_o,
  /// Places, when they are wanted.
  input  logic       start_ready_i,
  output logic       start_valid_o,
  output start_t     start_o
);

  // ---------------------------------------------------------------- lines as they come
  // By lane, of the protocol that is spoken.
  typedef struct packed {
    logic [63:0] lf;      // a request may begin behind this
    logic [63:0] begins;  // a request line may, if it is one that begins here
    logic [63:0] inlines; // Redis: so may an inline command
    logic [63:0] parts;   // a key may stand behind this
    logic [63:0] key;     // a key may, if it is behind that
    logic [63:0] get;     // the letter that all commands with several keys begin with
    logic [63:0] first;   // a job begins here
    logic [63:0] dirt;    // no key has this
    logic        sure;    // Redis: what begins in lane 55 has several keys
    logic [8:0]  names;   // the name of what begins in the line before may, if it has
    logic        given;   // this was given at once
    logic        last;
    logic        binary;
    logic        resp;
  } letters_t;

  line_no_t next_q;  // number of the next line
  logic room_q, take, at_once, binary, binary_q, resp, resp_q;
  planes_t chars;
  logic [63:0] dollars;
  logic [6:0] dollars_q;  // in the last lanes of the line before
  // verilator lint_off UNUSEDSIGNAL
  logic [70:0] near_dollar;  // the last lanes' have none behind
  // verilator lint_on UNUSEDSIGNAL
  logic [63:0] lanes, lf, blank, zero, m, letter1;
  // verilator lint_off UNUSEDSIGNAL
  logic [63:0] letter2, letter3;  // the first lanes' have none in front
  // verilator lint_on UNUSEDSIGNAL
  letters_t letters, letters_q;
  logic letters_valid_q, tails_ready, marks_valid, marks_ready;

  assign binary = raw_i.first ? raw_i.binary : binary_q;
  assign resp   = raw_i.first ? raw_i.resp : resp_q;
  always_comb begin
    lanes   = lanes_below(raw_i.stop) & lanes_from(raw_i.start);
    letters = '0;
    chars   = bit_planes(raw_i.data);
    data_o  = raw_i.data & bytes_of(lanes);
    lf      = is_char(chars, 8'h0a) & lanes;
    cr_o    = is_char(chars, 8'h0d) & lanes;
    blank   = is_char(chars, 8'h20) & lanes;
    zero    = is_char(chars, 8'h00);
    m       = is_char(chars, "M", 8'hdf);
    // get.. set add append cas replace prepend delete decr incr touch mg ms: their first three letters.
    // What is not there may still come.
    letter1 = is_of(chars, "gsacrpditm") & lanes;
    letter2 = is_of(chars, "eadprnogs") | ~lanes;
    letter3 = is_of(chars, "tdpselcu ") | ~lanes;
    letters.begins = resp ? is_char(chars, "*") & lanes :
        letter1 & {1'b1, letter2[63:1]} & {2'b11, letter3[63:2]};
    // Redis: an argument stands behind a line with its length, of one to four digits; so does no inline command.
    dollars        = is_char(chars, "$") & lanes;
    near_dollar    = {dollars, raw_i.first ? 7'd0 : dollars_q};
    letters.inlines = is_char(chars, 8'h40, 8'hc0) & lanes & {64{resp}} &
        ~(near_dollar[66:3] | near_dollar[65:2] | near_dollar[64:1] | near_dollar[63:0]);
    if (binary) begin
      zero |= ~lanes;
      letters.begins = is_char(chars, request_pkg::BinaryRequest) & lanes & {2'b11, zero[63:2]} &
          {5'h1f, zero[63:5]};
    end
    letters.parts = resp ? lf : blank;
    letters.key   = binary ? '0 : resp ? dollars : lanes;
    letters.dirt  = blank | (zero & lanes);
    letters.first = (raw_i.first && raw_i.stop != '0) ? 64'd1 << raw_i.start : '0;
    // Redis: eight lanes behind, the name of MGET begins, or nine lanes, perhaps in the next line: of the last nine
    // lanes that is not known yet.
    letters.get   = resp ? {8'h0, m[63:8]} | {9'h1ff, m[63:9]} : is_char(chars, "g");
    letters.sure  = resp && m[63];
    letters.names = m[8:0];
    // A binary request may begin behind any byte.
    letters.lf     = binary ? '1 : lf;
    letters.given  = at_once;
    letters.last   = raw_i.last;
    letters.binary = binary;
    letters.resp   = resp;
  end

  assign raw_ready_o = room_q && (!letters_valid_q || tails_ready);
  assign take        = raw_valid_i && raw_ready_o;
  assign we_o        = take;
  assign line_o      = next_q;
  assign lf_o        = lf;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_q          <= '0;
      room_q          <= 1'b0;
      letters_valid_q <= 1'b0;
    end else begin
      if (take) next_q <= next_q + 1'b1;
      // One line may be on its way.
      room_q          <= $signed(line_no_t'(next_q - oldest_i)) <
                         $signed(line_no_t'(KeptLines - 1));
      letters_valid_q <= take || (letters_valid_q && !tails_ready);
    end
    if (take) begin
      letters_q <= letters;
      binary_q  <= binary;
      resp_q    <= resp;
      dollars_q <= dollars[63:57];
    end
  end

  // ---------------------------------------------------------------- their places
  logic was_lf_q, was_parted_q;  // the lane before this line
  logic [4:0] was_many_q;
  logic keys_q, keys;  // this line begins, the next one will, in a line of keys
  logic [63:0] key, many, no_key;  // many: a command with several keys may begin
  logic [63:0] begins;  // a request line does
  logic unused_carry, named;
  logic [8:0] unsure_q;  // begins in lanes 55 to 63 of the line before

  always_comb begin
    logic [68:0] near;
    begins     = ({letters_q.lf[62:0], was_lf_q} & letters_q.begins) | letters_q.first;
    many       = letters_q.binary ? '0 : begins & letters_q.get;
    key        = {letters_q.parts[62:0], was_parted_q} & letters_q.key;
    // The first key stands six lanes behind the command's first letter at the least.
    near = {many, was_many_q};
    for (int unsigned i = 0; i < 64; i++) if (near[i+:5] != '0) key[i] = 1'b0;
    // Keys stand behind such a command, up to the next one's line: so runs a carry. Which it is was not known
    // where a command of Redis' protocol has begun in the last lanes.
    named = (unsure_q[8:1] & letters_q.names[7:0]) != '0 || (unsure_q & letters_q.names) != '0;
    {keys, no_key, unused_carry} = {1'b0, many | ~begins, 1'b1} +
        {1'b0, many, keys_q && (unsure_q == '0 || named)};
  end

  // ---------------------------------------------------------------- their tails, a clock later
  found_t found;
  marks_t marks, head;
  assign found = '{
          begins: begins,
          inlines: {letters_q.lf[62:0], was_lf_q} & letters_q.inlines & ~letters_q.first,
          keys: key & ~no_key,
          lengths: {letters_q.parts[62:0], was_parted_q} & letters_q.key & no_key,
          ends: letters_q.lf,
          dirt: letters_q.dirt,
          given: letters_q.first & {64{letters_q.given}},
          last: letters_q.last,
          binary: letters_q.binary,
          resp: letters_q.resp
      };
  line_tails u_tails (
    .clk_i,
    .rst_ni,
    .s_valid_i(letters_valid_q),
    .s_ready_o(tails_ready),
    .s_found_i(found),
    .m_valid_o(marks_valid),
    .m_ready_i(marks_ready),
    .m_marks_o(marks)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni || (letters_valid_q && tails_ready && letters_q.last)) begin
      was_lf_q     <= 1'b0;
      was_parted_q <= 1'b0;
      was_many_q   <= '0;
      keys_q       <= 1'b0;
      unsure_q     <= '0;
    end else if (letters_valid_q && tails_ready) begin
      was_lf_q     <= letters_q.lf[63];
      was_parted_q <= letters_q.parts[63];
      was_many_q   <= many[63:59];
      keys_q       <= keys;
      unsure_q     <= letters_q.resp ? begins[63:55] & ~9'(letters_q.sure) : '0;
    end
  end

  logic head_valid, load;
  logic [5:0] unused_level;
  lib_fifo #(
    .T    (marks_t),
    .Depth(32)
  ) u_marks (
    .clk_i,
    .rst_ni,
    .s_valid_i(marks_valid),
    .s_ready_o(marks_ready),
    .s_data_i (marks),
    .m_valid_o(head_valid),
    .m_ready_i(load),
    .m_data_o (head),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------- one place after the other
  // Whether places are left, and whether the line's turn goes on behind the lowest one, is known when
  // their clock begins: the line that is next waits for nothing else.
  marks_t turn_q;  // the places that are left
  logic [63:0] behind_q;  // without the lowest one
  logic turn_valid_q, any_q, stays_q, any, go, pop, skip_q;
  logic last;
  logic [63:0] left, hit;
  // Where its tail's window begins: in that lane, of this line or of the one before.
  logic [5:0] tail_lane_q;
  logic earlier_q;
  logic is_tail, headed_q;  // headed_q: the last head was given, and no line was skipped since

  // The numbers of two lanes differ in a bit.
  function automatic logic several(input logic [63:0] bits);
    several = 1'b0;
    for (int unsigned b = 0; b < 6; b++)
    several |= (bits & LaneBit[b]) != '0 && (bits & ~LaneBit[b]) != '0;
  endfunction
  line_no_t turn_line_q;
  start_t start;

  line_no_t to_skip;  // lines, this one included
  assign to_skip = skip_i - turn_line_q;
  always_comb begin
    hit  = turn_q.places & ~behind_q;
    any  = any_q && !skip_q;
    is_tail = |(hit & turn_q.tail);
    // A window reaches into the next line.
    go   = turn_valid_q && (turn_q.last || head_valid) && start_ready_i;
    pop  = go && (!stays_q || skip_q);
    load = pop || !turn_valid_q;
    left = load ? head.places : behind_q;
    last = load ? head.last : turn_q.last;
  end

  // A job in one line needs no other one to be there. Of the lines before it all places are on their way.
  assign at_once = take && raw_i.first && raw_i.last && raw_i.stop != '0 && !letters_valid_q &&
                   !marks_valid && !head_valid && !turn_valid_q && start_ready_i;
  always_comb begin
    start            = '0;
    start.place.line = turn_line_q;
    if (turn_valid_q) begin
      start.place.lane = lane_of(hit);
      start.key    = any && !(|(hit & turn_q.line));
      start.head   = any && |(hit & turn_q.line) && !is_tail;
      start.tail   = any && is_tail && headed_q;
      start.clean  = turn_q.clean;
      start.ending = !any && turn_q.last;
      start.last   = turn_q.last;
      if (is_tail) begin
        start.place = '{line: turn_line_q - 8'(earlier_q), lane: tail_lane_q};
        start.last  = turn_q.last && !earlier_q;
      end
      start.binary = turn_q.binary;
      start.resp   = turn_q.resp;
    end else begin
      start.place.lane = raw_i.start;
      start.head       = 1'b1;
      start.last       = 1'b1;
      start.binary     = raw_i.binary;
      start.resp       = raw_i.resp;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_valid_q  <= 1'b0;
      turn_line_q   <= '0;
      skip_q        <= 1'b0;
      start_valid_o <= 1'b0;
    end else begin
      start_valid_o <= at_once ||
          (go && (any || turn_q.last || !(skip_q || turn_q.goes_on)));
      // If this line is done with, the next one is meant.
      skip_q <= !to_skip[7] && (to_skip[6:1] != '0 || (to_skip[0] && !pop));
      if (load) turn_valid_q <= head_valid;
      if (pop) turn_line_q <= turn_line_q + 1'b1;
    end
    if (at_once || (go && start.head)) headed_q <= 1'b1;
    else if (go && skip_q) headed_q <= 1'b0;
    if (load) begin
      turn_q      <= head;
      tail_lane_q <= lane_of(head.tail) + (head.resp ? -6'd2 : 6'd1);
      earlier_q   <= head.resp ? |head.tail[1:0] : !head.tail[63];
    end
    if (load || go) begin
      turn_q.places <= left;
      behind_q      <= left & (left - 64'd1);
      any_q         <= left != '0;
      // A job's end takes a clock. Which of the two it is is known late.
      stays_q       <= (load ? several(head.places) : several(behind_q)) || (left != '0 && last);
    end
    start_o <= start;
  end

  `ASSERT(AtOnceInTurn, !at_once || turn_line_q == next_q)

endmodule
