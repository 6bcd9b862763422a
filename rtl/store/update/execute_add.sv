// incr and decr of a plain number, beside which the next request is fetched and compared: digits, and in memcached's
// protocol blanks behind them, 10 bytes at most, in lines that check reads anyway; a number to add below 65,536; a sum
// that takes no more bytes than the value has, and is not below 0. In Redis' protocol it takes just as many. What is
// odd is for execute_number.
//
// The old digits are taken out of the lines as these are compared. Whether their sum with those of the number to add
// fits is known next; its characters and the number that is told are made while the log gives the item its place, which
// takes 3 clocks. 7 clocks from the item to the end, which is the initiation interval; 9 where more than 255 is added,
// and 2 more where Redis' protocol subtracts.
module execute_add
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Stages; a line of the item in check stands in line_data_i in the clock after it moves.
  input  moves_t     moves_i,
  input  op_t        next_i,
  input  op_t        check_i,
  input  logic [2:0] check_line_i,
  input  line_t      line_data_i,
  /// The request in act, and its item. It may be added to; begin; it ends, or others take over (run_i is down).
  input  op_t        op_i,
  input  item_t      item_i,
  output logic       may_o,
  input  logic       start_i,
  input  logic       run_i,
  input  logic       end_i,
  /// It is odd; its new item has its place, and all is known that is told.
  output logic       odd_o,
  output logic       ready_o,
  output sum_t       sum_o,
  /// The new item, and its value, which the log takes when it comes to it; its key goes with it, and is all told.
  output logic       own_valid_o,
  input  logic       own_ready_i,
  output put_t       own_o,
  input  off_t       own_off_i,
  output logic       ownb_valid_o,
  input  logic       ownb_ready_i,
  output beat_t      ownb_o,
  output logic       key_tell_o,
  input  logic       key_all_told_i
);

  typedef enum logic [2:0] {
    AdIdle,
    AdAlign,  // digits from the value's characters
    AdSum,
    AdPut,
    AdWrite,
    AdOdd
  } state_e;

  localparam int unsigned Digits = 10;
  typedef logic [Digits-1:0][3:0] digits_t;

  state_e state_q;
  logic start, put, beat_q, summed;
  logic [Digits-1:0] inside_q;  // bytes of the value
  off_t off_q;
  logic [3:0] len_q;

  // ---------------------------------------------------------------- characters: 16 bytes and those behind, as they pass
  // Which line stands is known with its data. One that could not be read is zeros, which are odd.
  logic [4:0]
      next_unit, check_unit;  // counted from the first line's beginning: where the value begins
  logic [1:0][3:0] pick_q;
  logic [1:0][127:0] units_q;
  function automatic logic [4:0] value_unit(input logic [1:0] unit, input logic [3:0] klen16);
    return 5'(unit) + 5'd1 + 5'(klen16);
  endfunction
  // Of line `line` the unit that is number `unit`, if it is there.
  function automatic logic [3:0] pick_of(input logic [4:0] unit, input logic [2:0] line);
    return (unit[4:2] == line) ? 4'd1 << unit[1:0] : 4'd0;
  endfunction
  assign next_unit  = value_unit(next_i.found.off.pos[1:0], next_i.req.klen[7:4]);
  assign check_unit = value_unit(check_i.found.off.pos[1:0], check_i.req.klen[7:4]);
  always_ff @(posedge clk_i) begin
    for (int h = 0; h < 2; h++) begin
      if (moves_i.fetch) pick_q[h] <= pick_of(next_unit + 5'(h), 3'(next_i.lines != 3'd1));
      else if (moves_i.further) pick_q[h] <= pick_of(check_unit + 5'(h), check_line_i);
      for (int u = 0; u < 4; u++) if (pick_q[h][u]) units_q[h] <= line_data_i[128*u+:128];
    end
  end

  // In the first clock of act; further lines come for the next one from then on.
  logic first_q;
  logic [Digits-1:0][7:0] chars_q;
  always_ff @(posedge clk_i) begin
    first_q <= moves_i.go;
    if (first_q) chars_q <= (8 * Digits)'(256'(units_q) >> {op_i.req.klen[3:0], 3'd0});
  end

  // ---------------------------------------------------------------- the number to add
  logic [15:0] more_q;
  logic [2:0] steps_q;
  double_dabble_t dabble;  // of 5 digits
  logic [19:0] more_digits_q;
  logic short;
  assign short  = check_i.req.num[15:8] == '0;
  assign dabble = double_dabble('{bcd: 80'(more_digits_q), bin: {more_q, 48'd0}});
  always_ff @(posedge clk_i) begin
    if (moves_i.go) begin
      more_q        <= short ? {check_i.req.num[7:0], 8'd0} : check_i.req.num[15:0];
      steps_q       <= short ? 3'd2 : 3'd4;
      more_digits_q <= '0;
    end else if (steps_q != '0) begin
      more_q        <= dabble.bin[63:48];
      steps_q       <= steps_q - 3'd1;
      more_digits_q <= dabble.bcd[19:0];
    end
  end

  // ---------------------------------------------------------------- the old digits, the last one at 0
  logic [Digits-1:0] digit, digits, ends;  // ends: the number's last one
  logic plain, plain_q, resp;
  digits_t old, old_q;
  assign resp = op_i.req.resp.is;
  always_comb begin
    for (int i = 0; i < int'(Digits); i++) digit[i] = inside_q[i] && is_digit(chars_q[i]);
    // Up to the first one that is none.
    digits = digit & ~(digit + 1'b1);
    // Redis: no zero in front.
    plain  = digits[0] && !(resp && chars_q[0] == "0" && inside_q[1]);
    for (int i = 0; i < int'(Digits); i++)
    plain &= !inside_q[i] || digits[i] || (!resp && chars_q[i] == 8'h20);
    ends = digits & ~(digits >> 1);
    old  = '0;
    for (int i = 0; i < int'(Digits); i++)
    for (int e = i; e < int'(Digits); e++) if (ends[e]) old[i] |= chars_q[e-i][3:0];
  end

  // ---------------------------------------------------------------- the sum
  // Whether it fits, for the log; its digits a clock later. Carries are those of a sum of bits; one that leaves the
  // value's last place passes what is beyond.
  logic sums_q;
  logic [Digits-1:0][4:0] pairs, pairs_q;
  logic [Digits-1:0] carries, passes, carried, carried_q, top;
  logic [Digits:0] carry;
  logic beyond, shrinks, shrinks_q, fits;
  logic [1:0] stood_q;
  digits_t more, sum, sum_q;
  assign more    = digits_t'(more_digits_q);
  assign top     = inside_q & ~(inside_q >> 1);  // one-hot
  always_comb begin
    beyond = 1'b0;
    for (int i = 0; i < int'(Digits); i++) begin
      pairs[i]   = sums_q ? 5'(old_q[i]) + 5'(more[i]) : 5'(old_q[i]) - 5'(more[i]);
      carries[i] = inside_q[i] && (sums_q ? pairs[i] >= 5'd10 : pairs[i][4]);
      passes[i]  = !inside_q[i] || (sums_q ? pairs[i] == 5'd9 : pairs[i] == '0);
      beyond |= !inside_q[i] && more[i] != '0;
    end
  end
  assign carry   = {1'b0, carries | passes} + {1'b0, carries};
  assign carried = carry[Digits-1:0] ^ (carries | passes) ^ carries;
  always_comb begin
    shrinks = 1'b0;
    for (int i = 1; i < int'(Digits); i++) shrinks |= top[i] && pairs_q[i] == 5'(carried_q[i]);
    for (int i = 0; i < int'(Digits); i++) begin
      logic [4:0] with_carry;
      with_carry = sums_q ? pairs_q[i] + 5'(carried_q[i]) : pairs_q[i] - 5'(carried_q[i]);
      sum[i]     = with_carry[3:0];
      if (sums_q ? with_carry >= 5'd10 : with_carry[4])
        sum[i] = with_carry[3:0] + (sums_q ? 4'd6 : 4'd10);
    end
  end
  always_ff @(posedge clk_i) begin
    sums_q    <= op_i.req.op == OpIncr;
    pairs_q   <= pairs;
    carried_q <= carried;
    sum_q     <= sum;
    // Redis' number that is less may be shorter: it is seen a clock later.
    shrinks_q <= resp && !sums_q && shrinks;
    stood_q   <= {stood_q[0], state_q == AdSum && steps_q == '0};
  end
  assign fits   = plain_q && !carry[Digits] && !beyond && !shrinks_q;
  assign summed = state_q == AdSum && steps_q == '0 && !beat_q &&
      (sums_q || !resp || stood_q == '1);

  // As characters, the first one at 0: without zeros in front, blanks behind.
  digits_t text, text_q;
  logic [Digits-1:0] blank, blank_q, starts;
  always_comb begin
    starts = '0;
    blank  = '0;
    for (int i = int'(Digits) - 1; i >= 0; i--)
    starts[i] = (starts >> (i + 1)) == '0 && (sum_q[i] != '0 || i == 0);
    text = '0;
    for (int i = 0; i < int'(Digits); i++)
    for (int s = 0; s < int'(Digits); s++) begin
      if (starts[s] && s >= i) text[i] |= sum_q[s-i];
      if (starts[s] && s < i) blank[i] = 1'b1;
    end
  end

  // ---------------------------------------------------------------- the number that is told
  // In five clocks, from the old digits on: two of them, four, six, ten.
  logic [4:0][6:0] two_q;
  logic [1:0][13:0] four_q;
  logic [19:0] high_q;
  logic signed [17:0] low_q;
  logic [33:0] value_q;
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 5; i++) two_q[i] <= 7'(old_q[2*i+1]) * 7'd10 + 7'(old_q[2*i]);
    for (int i = 0; i < 2; i++) four_q[i] <= 14'(two_q[2*i+1]) * 14'd100 + 14'(two_q[2*i]);
    high_q  <= 20'(two_q[4]) * 20'd10000 + 20'(four_q[1]);
    low_q   <= sums_q ? $signed(18'(four_q[0])) + $signed(18'(op_i.req.num[15:0]))
                    : $signed(18'(four_q[0])) - $signed(18'(op_i.req.num[15:0]));
    value_q <= 34'(high_q) * 34'd10000 + 34'(low_q);
  end

  // ---------------------------------------------------------------- steps
  // The value's length is known with its item.
  assign may_o = item_i.renewed_hit && item_i.alive && !item_i.from_1024 && !item_i.from_16 &&
      !item_i.empty && item_i.vlen[3:0] <= 4'(Digits);
  assign start = start_i && state_q == AdIdle;
  assign put   = summed && fits;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= AdIdle;
      beat_q  <= 1'b0;
    end else begin
      unique case (state_q)
        AdIdle:  if (start) state_q <= AdAlign;
        AdAlign: state_q <= AdSum;
        AdSum:   if (summed) state_q <= fits ? AdPut : AdOdd;
        AdPut:   if (own_ready_i) state_q <= AdWrite;
        AdWrite: ;
        default: if (!run_i) state_q <= AdIdle;
      endcase
      // Before its sum is made, too, where there turns out to be no room for its reply.
      if (end_i) state_q <= AdIdle;
      if (state_q == AdPut && own_ready_i) beat_q <= 1'b1;
      else if (ownb_ready_i) beat_q <= 1'b0;
    end
    for (int i = 0; i < int'(Digits); i++)
    if (state_q == AdIdle) inside_q[i] <= item_i.vlen[3:0] > 4'(i);
    if (state_q == AdAlign) begin
      plain_q <= plain;
      old_q   <= old;
    end
    if (state_q == AdPut) off_q <= own_off_i;
    // Both stand when the log comes to the item.
    if (state_q inside {AdPut, AdWrite}) begin
      text_q  <= text;
      blank_q <= blank;
      len_q   <= item_i.vlen[3:0];
    end
  end

  always_comb begin
    ownb_o = '{data: '0, len: 7'(len_q), last: 1'b1};
    for (int i = 0; i < int'(Digits); i++)
    ownb_o.data[8*i+:8] = blank_q[i] ? 8'h20 : {4'h3, text_q[i]};
  end
  assign ownb_valid_o = beat_q;
  assign own_valid_o  = put || state_q == AdPut;
  assign own_o        = '{start: 1'b1, own_lines: 1'b0, ends: 1'b0, conn: '0, udp: op_i.req.udp,
                          db: op_i.req.db, klen: op_i.req.klen, vlen: item_i.vlen,
                          flags: item_i.flags, marks: resp ? '0 : item_i.marks, chosen: 1'b0,
                          chosen_no: '0, expiry: item_i.expiry, off: '0, done: '0};
  assign key_tell_o   = state_q inside {AdPut, AdWrite};
  assign odd_o        = state_q == AdOdd;
  assign ready_o      = state_q == AdWrite && key_all_told_i;
  assign sum_o        = '{made: state_q == AdWrite, bad: 1'b0, value: 64'(value_q), negative: 1'b0,
                          reply: RpNone, off: off_q,
                          lines: 6'(lines_of(off_q.pos[1:0], 22'(HeadBytes) +
                                             22'(op_i.req.klen) + 22'(item_i.vlen[3:0])))};

endmodule
