// Keys of the requests in check and in act: takes them from the stream, gives them line by line to
// be compared with an item, and beat by beat to be told. A long key may come while its request goes
// on.
//
// Keys stand in a RAM, those of the requests in check and in act in a half each, and each quarter
// of a line by itself: a line of the item has the end of one beat and the begin of the next, which
// are read at once. What is compared as it comes is taken straight from the stream.
`include "lib_assert.svh"

module execute_key
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Keys.
  input  logic       s_valid_i,
  output logic       s_ready_o,
  input  beat_t      s_i,  // its length is in the request
  /// The rest of a long key is on its way; of that of the request in act.
  output logic       more_o,
  output logic       act_more_o,
  /// Stages. The next request's key is in the stream.
  input  moves_t     moves_i,
  input  logic       next_keyed_i,
  input  logic       run_i,
  /// Compare in the next clock: the item begins in this unit of its first line. In the steps, of the item with
  /// unit_i, line line_i; in the stages line check_line_i of the one in check, if there are more to come and
  /// what stands in it is there, or else the first one of the next request.
  input  logic [1:0] unit_i,
  input  logic [2:0] line_i,
  input  logic [1:0] check_unit_i,
  input  logic [2:0] check_line_i,
  input  logic       check_more_i,
  output logic       check_there_o,
  input  logic [1:0] next_unit_i,
  output line_t      expected_o,
  /// The item's line line_i stands in data_i: its key is this request's.
  input  logic       copy_i,
  input  line_t      data_i,
  /// Tell the key of the request in act, which had so many bytes in check; a beat of it was taken.
  input  logic [7:0] check_klen_i,
  input  logic       tell_i,
  input  logic       told_i,
  output beat_t      beat_o,
  output logic       all_told_o
);

  logic more_q, key_half_q, act_half_q, more_half_q, take, comes;
  logic [1:0] more_beat_q, unit;
  logic [2:0] beats_q, before_q, told_q;  // of all, of them before the last one, told
  logic [3:0][127:0] read, told, key;
  logic [3:0][127:0] expected_q;  // of the item's line, where it has key bytes

  assign s_ready_o  = more_q || (moves_i.fetch && next_keyed_i);
  assign take       = s_valid_i && s_ready_o;
  assign more_o     = more_q;
  assign act_more_o = more_q && more_half_q == act_half_q;
  assign unit       = !run_i ? unit_i : check_more_i ? check_unit_i : next_unit_i;
  assign expected_o = expected_q;
  // A line's beat, if it has one of its own.
  assign comes         = more_q && 3'(more_beat_q) == check_line_i;
  assign check_there_o = !more_q || 3'(more_beat_q) > check_line_i || (comes && s_valid_i);

  for (genvar k = 0; k < 4; k++) begin : gen_quarter
    logic late, copy, we;
    logic [2:0] waddr, raddr;
    logic [127:0] wdata;
    (* ram_style = "distributed" *) logic [127:0] mem_q[8];
    // Byte 0 of a key stands behind the header, 16 to 64 bytes into the first line: line n holds the end of beat
    // n - 1 and the begin of n. A stored key is copied from the log; its item begins at a line, or 16 bytes behind.
    assign late  = 3'(k) + 3'(unit) >= 3'd3;
    assign copy  = copy_i && (late ? line_i != '0 : line_i != 3'd4);
    assign we    = take || copy;
    assign wdata = !copy ? s_i.data[128*k+:128] :
        unit_i[0] ? data_i[128*((k+2)%4)+:128] : data_i[128*((k+1)%4)+:128];
    always_comb begin
      if (copy) waddr = {act_half_q, 2'(line_i - 3'(late))};
      else waddr = more_q ? {more_half_q, more_beat_q} : {!key_half_q, 2'd0};
      if (run_i) raddr = {key_half_q, 2'(check_line_i - 3'(late))};
      else raddr = {act_half_q, 2'(line_i - 3'(late))};
    end
    always_ff @(posedge clk_i) if (we) mem_q[waddr] <= wdata;
    assign read[k] = mem_q[raddr];
    assign told[k] = mem_q[{act_half_q, told_q[1:0]}];
    assign key[k]  = !run_i || (check_more_i && (late || !comes)) ? read[k] : s_i.data[128*k+:128];
    `ASSERT(OneWrite, !(take && copy))
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      more_q     <= 1'b0;
      key_half_q <= 1'b0;
    end else begin
      if (take) more_q <= !s_i.last;
      if (moves_i.fetch) key_half_q <= !key_half_q;
    end
    if (take) begin
      more_beat_q <= more_q ? more_beat_q + 2'd1 : 2'd1;
      if (!more_q) more_half_q <= !key_half_q;
    end
    if (moves_i.go) act_half_q <= key_half_q;
    if (!run_i || moves_i.fetch || moves_i.further) begin
      for (int j = 0; j < 4; j++) expected_q[j] <= key[2'(j-1)-unit];
    end
  end

  // Beats.
  logic last;
  logic [6:0] last_len_q;
  always_ff @(posedge clk_i) begin
    if (moves_i.go) begin
      beats_q    <= 3'((9'(check_klen_i) + 9'd63) >> 6);
      before_q   <= 3'((9'(check_klen_i) - 9'd1) >> 6);
      last_len_q <= (check_klen_i[5:0] == '0) ? 7'd64 : 7'(check_klen_i[5:0]);
    end
  end
  assign last   = told_q == before_q;
  assign beat_o = '{data: told, len: last ? last_len_q : 7'd64, last: last};
  always_ff @(posedge clk_i) begin
    if (!tell_i || moves_i.go) told_q <= '0;
    else if (told_i) told_q <= told_q + 3'd1;
  end
  assign all_told_o = told_q == beats_q;

endmodule
