// Finds the places where requests may start: behind a line's end, where the first letters are those
// of a command, and behind blanks of what may be a line of keys. Latency 2, one place a clock.
//
// A binary request starts with the magic byte, and its key's length and its data type have zeros.
// It need not be right: a place too many costs a clock, one too few sends the request to the byte
// engine.
// A line without a place gives its beginning, or nobody would see that a place before it was not found
// until the job's end, for which there may be no room.
`include "lib_assert.svh"

module line_scan
  import wirekv_pkg::*;
  import front_pkg::*;
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
  typedef struct packed {
    logic [63:0] line;   // a request line may start here
    logic [63:0] key;    // a blank is before this lane
    logic [63:0] get;    // the letter that all commands with several keys begin with
    logic        last;
    logic        binary;
    logic        resp;
  } marks_t;

  line_no_t next_q;  // number of the next line
  logic room_q, take, marks_ready, was_lf_q, was_blank_q, binary, binary_q, resp, resp_q;
  logic [63:0] lanes, lf, blank, letter1, star, dollar;
  logic [63:0] many;
  logic [55:0] m8;        // Redis: eight lanes behind, the name of MGET begins
  logic [62:0] letter2;  // of the lane behind
  logic [61:0] letter3;
  logic [63:0] magic;     // a binary request's first byte; zeros two and five lanes behind
  logic [61:0] zero2;
  logic [58:0] zero5;
  marks_t marks, head;

  always_comb begin
    lanes  = (raw_i.stop[6] ? '1 : ~({64{1'b1}} << raw_i.stop[5:0])) & ({64{1'b1}} << raw_i.start);
    data_o  = '0;
    letter2 = '0;
    letter3 = '0;
    marks   = '0;
    magic   = '0;
    m8      = '0;
    zero2   = '0;
    zero5   = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      logic [7:0] c;
      c = raw_i.data[8*i+:8];
      if (lanes[i]) data_o[8*i+:8] = c;
      lf[i]        = c == 8'h0a && lanes[i];
      cr_o[i]      = c == 8'h0d && lanes[i];
      blank[i]     = c == 8'h20 && lanes[i];
      // get.. set add append cas replace prepend delete decr incr touch mg ms: their first three letters.
      // What is not there may still come.
      letter1[i]   = c inside {"g", "s", "a", "c", "r", "p", "d", "i", "t", "m"} && lanes[i];
      if (i > 0) letter2[i-1] = c inside {"e", "a", "d", "p", "r", "n", "o", "g", "s"} || !lanes[i];
      if (i > 1) letter3[i-2] = c inside {"t", "d", "p", "s", "e", "l", "c", "u", " "} || !lanes[i];
      marks.get[i] = c == "g";
      star[i]      = c == "*" && lanes[i];
      dollar[i]    = c == "$" && lanes[i];
      if (i > 7) m8[i-8] = (c & 8'hdf) == "M";
      magic[i] = c == request_pkg::BinaryRequest && lanes[i];
      if (i > 1) zero2[i-2] = c == 8'h00 || !lanes[i];
      if (i > 4) zero5[i-5] = c == 8'h00 || !lanes[i];
    end
    marks.line  = {lf[62:0], was_lf_q} & letter1 & {1'b1, letter2} & {2'b11, letter3};
    marks.key   = {blank[62:0], was_blank_q} & lanes;
    marks.last  = raw_i.last;
    marks.binary = binary;
    if (binary) begin
      marks.line = magic & {2'b11, zero2} & {5'h1f, zero5};
      marks.key  = '0;
      marks.get  = '0;
    end
    // Or nine lanes behind, perhaps in the next line.
    many       = 64'(m8) | 64'(m8[55:1]) | {9'h1ff, 55'd0};
    marks.resp = resp;
    if (resp) begin
      marks.line = {lf[62:0], was_lf_q} & star;
      marks.key  = {lf[62:0], was_lf_q} & dollar;
      marks.get  = many;
    end
    if (raw_i.first) begin
      marks.line[raw_i.start] = lanes[raw_i.start];
      // Whatever the job before ended with.
      if (raw_i.start == '0) marks.key[0] = 1'b0;
    end
  end

  assign binary      = raw_i.first ? raw_i.binary : binary_q;
  assign resp        = raw_i.first ? raw_i.resp : resp_q;
  assign raw_ready_o = room_q && marks_ready;
  assign take        = raw_valid_i && raw_ready_o;
  assign we_o        = take;
  assign line_o      = next_q;
  assign lf_o        = lf;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_q <= '0;
      room_q <= 1'b0;
    end else begin
      if (take) next_q <= next_q + 1'b1;
      // One line may be on its way.
      room_q <= $signed(line_no_t'(next_q - oldest_i)) < $signed(line_no_t'(KeptLines - 1));
    end
    if (take) begin
      was_lf_q    <= lf[63] && !raw_i.last;
      was_blank_q <= blank[63] && !raw_i.last;
      binary_q    <= binary;
      resp_q      <= resp;
    end
  end

  logic head_valid, head_pop;
  logic [5:0] level;
  lib_fifo #(
    .T    (marks_t),
    .Depth(32)
  ) u_marks (
    .clk_i,
    .rst_ni,
    .s_valid_i(raw_valid_i && room_q),
    .s_ready_o(marks_ready),
    .s_data_i (marks),
    .m_valid_o(head_valid),
    .m_ready_i(head_pop),
    .m_data_o (head),
    .level_o  (level)
  );

  // ---------------------------------------------------------------- one place after the other
  line_no_t head_line_q;
  logic [63:0] done_q, done, places, below, hit;
  logic [4:0] spill;  // lanes of the next line that are done with
  logic keys_q, any, more, is_line, is_many, there, skip_q, go;
  logic more_many, more_line, more_key;  // places behind this one, if it is one of these
  start_t start;

  // Bit b is set in the numbers of these lanes.
  typedef logic [5:0][63:0] lanes_t;
  function automatic lanes_t lane_bits();
    for (int unsigned b = 0; b < 6; b++)
    for (int unsigned i = 0; i < 64; i++) lane_bits[b][i] = 1'((i >> b) & 1);
  endfunction
  localparam lanes_t LaneBit = lane_bits();

  line_no_t to_skip;  // lines, this one included
  assign to_skip = skip_i - head_line_q;
  always_comb begin
    // A window reaches into the next line.
    there     = head_valid && (head.last || level >= 6'd2);
    places    = (head.line | (keys_q ? head.key : '0)) & ~done_q & {64{!skip_q}};
    any       = places != '0;
    // From the lowest one down.
    below     = places ^ (places - 64'd1);
    hit       = places & below;
    is_line   = |(hit & head.line);
    is_many   = |(hit & head.line & head.get);
    // The first key stands six lanes behind the command's first letter at the least.
    spill     = is_many ? below[63:59] : '0;
    done      = is_many ? {below[58:0], 5'h1f} : below;
    more_many = |((head.line | head.key) & ~{below[58:0], 5'h1f});
    more_line = |(head.line & ~below);
    more_key  = |((head.line | head.key) & ~below);
    more      = is_many ? more_many : is_line ? more_line : more_key;
    go        = there && start_ready_i;

    start            = '0;
    start.place.line = head_line_q;
    for (int unsigned b = 0; b < 6; b++) start.place.lane[b] = |(hit & LaneBit[b]);
    start.key        = any && !is_line;
    start.ending     = !any && head.last;
    start.last       = head.last;
    start.binary     = head.binary;
    start.resp       = head.resp;
    head_pop         = go && (any ? !more && !head.last : 1'b1);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_line_q   <= '0;
      done_q        <= '0;
      keys_q        <= 1'b0;
      skip_q        <= 1'b0;
      start_valid_o <= 1'b0;
    end else begin
      start_valid_o <= go && (any || head.last || !skip_q);
      // If this line is done with, the next one is meant.
      skip_q <= !to_skip[7] && (to_skip[6:1] != '0 || (to_skip[0] && !head_pop));
      if (go) begin
        if (any) begin
          done_q <= done;
          keys_q <= is_line ? is_many : keys_q;
        end
        if (head_pop) begin
          head_line_q <= head_line_q + 1'b1;
          done_q      <= any ? 64'(spill) : '0;
          if (head.last) keys_q <= 1'b0;
        end
      end
    end
    if (go) start_o <= start;
  end

endmodule
