// The core's side of the cache: custom instructions, one at a time, become changes of the table. Latency 2 clocks for a word,
// 8 to 30 for the others, and a clock a line of a key or an entry. docs/rtl/ASIDE.md has the page of instructions.
//
// A key and an entry are passed as words. They wait here until they are whole, so an instruction that never comes, as of a core
// that is reset, leaves nothing half done.
`include "lib_assert.svh"

module aside_core
  import wirekv_pkg::*;
  import aside_pkg::*;
#(
  /// As aside_lookup's.
  parameter int unsigned Lines = 16384,
  parameter int unsigned Ways = 8,
  localparam int unsigned NumberW = $clog2(Lines)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// The core is in reset: what it has asked for is done, and nobody is told.
  input  logic                       core_rst_i,
  /// An instruction: {funct7, funct3}, both operands; its result.
  input  logic                       cmd_valid_i,
  output logic                       cmd_ready_o,
  input  logic                 [9:0] cmd_function_i,
  input  logic                [31:0] cmd_a_i,
  input  logic                [31:0] cmd_b_i,
  output logic                       rsp_valid_o,
  input  logic                       rsp_ready_i,
  output logic                [31:0] rsp_o,
  /// Its keys, to be hashed.
  output logic                       key_valid_o,
  input  logic                       key_ready_i,
  output beat_t                      key_o,
  input  logic                       hashed_i,
  input  logic                [63:0] hash_i,
  /// Changes: see aside_lookup.
  output logic                       change_valid_o,
  input  logic                       change_ready_i,
  output change_t                    change_o,
  output logic                [63:0] change_hash_o,
  output logic         [NumberW-1:0] change_number_o,
  output logic            [Ways-1:0] change_ways_o,
  output ticket_t                    change_ticket_o,
  input  logic                       changed_i,
  input  logic                       changed_ok_i,
  input  ticket_t                    changed_ticket_i,
  input  logic                       changed_out_i,
  input  logic         [NumberW-1:0] changed_number_i,
  /// What is done to the chains behind it, and lines of new entries; see chains.
  output logic                       chain_valid_o,
  input  logic                       chain_ready_i,
  output chain_e                     chain_op_o,
  output logic         [NumberW-1:0] chain_number_o,
  output logic                       line_valid_o,
  input  logic                       line_ready_i,
  output line_t                      line_o,
  output logic                       line_last_o,
  input  logic                       made_i,
  input  logic                       made_ok_i,
  input  logic         [NumberW-1:0] made_number_i,
  input  logic [$clog2(Lines+1)-1:0] free_i,
  /// Candidates.
  input  logic                       hot_valid_i,
  output logic                       hot_ready_o,
  input  candidate_t                 hot_i,
  /// The sketch's threshold; all counters are to be halved.
  output logic                 [7:0] threshold_o,
  output logic                       age_o,
  /// What InStat tells.
  input  logic           [7:0][31:0] stat_i,
  output logic                       idle_o
);

  typedef logic [NumberW-1:0] number_t;

  typedef enum logic [3:0] {
    StIdle,
    StFlush,    // a line that is not full goes to the others
    StWeigh,    // whether it can be done
    StLines,    // lines go to where they belong, or nowhere
    StHash,
    StMade,
    StChange,
    StChanged,
    StChain,
    StTell
  } state_e;

  // Lines that can be passed: one more than an entry has.
  localparam int unsigned Passed = EntryLines + 1;

  state_e state_q;
  instruction_e op_in, op_q;
  logic [31:0] a_q, result_q;
  logic [Ways-1:0] b_q;  // ways: all that it says
  logic mute_q, begins, over;
  assign op_in       = instruction_e'(cmd_function_i[9:3]);
  assign cmd_ready_o = state_q == StIdle && !core_rst_i;
  assign begins      = cmd_valid_i && cmd_ready_o;
  assign rsp_valid_o = state_q == StTell && !mute_q;
  assign rsp_o       = result_q;
  assign over        = state_q == StTell && (mute_q || rsp_ready_i);
  assign idle_o      = state_q == StIdle && !cmd_valid_i;

  // ---------------------------------------------------------------- what is passed: words to lines
  typedef logic [$clog2(Passed+1)-1:0] count_t;
  logic [7:0][63:0] part_q;
  logic [2:0] at_q;
  logic word, first_word, full, push, pop, lines_valid, unused_room;
  logic [7:0] klen_q;   // of what is passed, if it is an entry
  logic [15:0] vlen_q;
  line_t line_in, line;
  count_t lines;
  assign word       = begins && op_in == InWord;
  assign first_word = word && at_q == '0 && lines == '0;
  assign full       = word && at_q == '1;
  assign push       = full || (state_q == StFlush && at_q != '0);
  always_comb begin
    line_in = part_q;
    if (full) line_in[448+:64] = {cmd_b_i, cmd_a_i};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || state_q == StFlush) at_q <= '0;
    else if (word) at_q <= at_q + 1'b1;
    if (word) part_q[at_q] <= {cmd_b_i, cmd_a_i};
    if (first_word) {klen_q, vlen_q} <= cmd_a_i[23:0];
  end

  lib_fifo #(
    .T    (line_t),
    .Depth(Passed),
    .Block(1'b1)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(push),
    .s_ready_o(unused_room),
    .s_data_i (line_in),
    .m_valid_o(lines_valid),
    .m_ready_i(pop),
    .m_data_o (line),
    .level_o  (lines)
  );

  // ---------------------------------------------------------------- weigh
  logic known_q, ticketed_q;  // there is a present key; there is a ticket
  logic [63:0] hash_q;
  ticket_t ticket_q;
  change_t change_q, change;
  logic fits, is_key, is_entry, has_ways, needs_key, needs_ways;
  count_t wanted;
  assign wanted   = count_t'((a_q[11:0] + 12'd63) >> 6);
  assign fits     = a_q[31:11] == '0 && lines == wanted;
  assign is_key   = fits && a_q != '0 && a_q <= 32'(KeyMax);
  // What is in the table can be answered as it says.
  assign is_entry = fits && klen_q != '0 && klen_q <= 8'(KeyMax) && vlen_q <= 16'(ValueMax) &&
      12'(a_q) == 12'(EntryBytes) + 12'(klen_q) + 12'(vlen_q);

  assign change_valid_o  = state_q == StChange;
  assign change_o        = change_q;
  assign change_hash_o   = (op_q == InDrop) ? 64'(a_q) : hash_q;
  assign change_ways_o   = (op_q == InMove) ? Ways'(a_q) : b_q;
  assign change_ticket_o = ticket_q;
  assign has_ways        = change_ways_o != '0;

  always_comb begin
    change     = '0;
    needs_key  = 1'b1;
    needs_ways = 1'b0;
    unique case (op_q)
      InTicket: {change.go, change.go_op} = {1'b1, GoLook};
      InPut:    {change.back, change.back_op} = {1'b1, BackFill};
      InInv: begin
        {change.go, change.go_op}   = {1'b1, GoOpen};
        {change.way, change.way_op} = {1'b1, WayTake};
      end
      InClose: {change.back, change.back_op} = {1'b1, BackClose};
      InMove: begin
        {change.way, change.way_op} = {1'b1, WayTake};
        needs_ways                  = 1'b1;
      end
      InDrop: begin
        {change.way, change.way_op} = {1'b1, WayDrop};
        {needs_key, needs_ways}     = 2'b01;
      end
      InFlush: begin
        needs_key     = 1'b0;
        change.forget = a_q == '0;
        if (change.forget) {change.go, change.go_op} = {1'b1, GoOpenAll};
        else {change.back, change.back_op} = {1'b1, BackCloseAll};
      end
      InReset: begin
        {change.back, change.back_op} = {1'b1, BackClear};
        {needs_key, change.forget}    = 2'b01;
      end
      default: ;
    endcase
  end

  // ---------------------------------------------------------------- lines to the hash, to the chains, or nowhere
  logic moves, to_key_q, to_chain_q, move_last;
  count_t left_q;
  logic [6:0] last_len;
  assign moves        = state_q == StLines && left_q != '0 && lines_valid;
  assign move_last    = left_q == count_t'(1);
  assign key_valid_o  = moves && to_key_q;
  assign line_valid_o = moves && to_chain_q;
  assign pop          = moves && (to_key_q ? key_ready_i : !to_chain_q || line_ready_i);
  assign last_len     = (a_q[5:0] == '0) ? 7'd64 : 7'(a_q[5:0]);
  assign key_o        = '{data: line, len: move_last ? last_len : 7'd64, last: move_last};
  assign line_o       = line;
  assign line_last_o  = move_last;

  // ---------------------------------------------------------------- one instruction after another
  number_t number_q;
  logic forgets_q, refused;
  logic [31:0] candidate;
  assign change_number_o = number_q;
  assign chain_valid_o   = state_q == StChain;
  assign chain_op_o      = forgets_q ? ChainClear : ChainFree;
  assign chain_number_o  = number_q;
  // All are being forgotten: what was put comes out at once.
  assign refused         = changed_out_i && changed_number_i == number_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      known_q    <= 1'b0;
      ticketed_q <= 1'b0;
      mute_q     <= 1'b0;
    end else begin
      mute_q <= (mute_q || (core_rst_i && state_q != StIdle)) && !over;
      unique case (state_q)
        // What is no instruction does nothing, and its result is 0.
        StIdle:
        if (begins)
          state_q <= (op_in inside {InWord, InTake, InAge, InHot, InStat} || op_in > InReset) ?
              StTell : StFlush;

        StFlush: state_q <= StWeigh;

        StWeigh: begin
          state_q    <= StLines;
          left_q     <= '0;
          to_key_q   <= 1'b0;
          to_chain_q <= 1'b0;
          unique case (op_q)
            InKey: begin
              left_q     <= lines;
              to_key_q   <= is_key;
              known_q    <= 1'b0;
              ticketed_q <= 1'b0;
            end
            InPut: begin
              left_q     <= lines;
              ticketed_q <= 1'b0;
              if (is_entry && known_q && ticketed_q && has_ways) begin
                to_chain_q <= 32'(free_i) >= 32'(lines);
                if (32'(free_i) < 32'(lines)) result_q <= 32'd2;
              end
            end
            InReset: begin
              left_q     <= lines;
              known_q    <= 1'b0;
              ticketed_q <= 1'b0;
            end
            default: ;
          endcase
          change_q  <= change;
          forgets_q <= change.forget;
        end

        StLines: begin
          if (pop) left_q <= left_q - 1'b1;
          if (left_q == '0 || (pop && move_last)) begin
            state_q <= (to_key_q) ? StHash : (to_chain_q) ? StMade : StTell;
            if (!(op_q inside {InKey, InPut}) && (known_q || !needs_key) &&
                (has_ways || !needs_ways))
              state_q <= StChange;
          end
        end

        StHash:
        if (hashed_i) begin
          state_q  <= StTell;
          known_q  <= 1'b1;
          hash_q   <= hash_i;
          result_q <= 32'd1;
        end

        StMade: begin
          state_q  <= StChange;
          number_q <= made_number_i;
        end

        StChange: if (change_ready_i) state_q <= StChanged;

        StChanged:
        if (changed_i) begin
          // What was found before it has been ordered, and nothing is found from then on.
          state_q <= (forgets_q || changed_out_i) ? StChain : StTell;
          if (changed_out_i) number_q <= changed_number_i;
          unique case (op_q)
            InTicket: {ticketed_q, ticket_q} <= {changed_ok_i, changed_ticket_i};
            InPut:
            if (change_q.back) begin
              // It may fill, or its lines become free.
              state_q  <= changed_ok_i ? StChange : StChain;
              {change_q.back, change_q.way, change_q.way_op} <= {1'b0, changed_ok_i, WayPut};
            end
            // It has come out: its lines are those of the same entry.
            InMove:
            if (change_q.way_op == WayTake && changed_out_i) begin
              state_q         <= StChange;
              change_q.way_op <= WayPut;
            end
            default: ;
          endcase
          unique case (op_q)
            InPut:   result_q <= 32'(change_q.way && !refused);
            InMove:  result_q <= 32'(change_q.way_op == WayPut && !refused);
            InDrop:  result_q <= 32'(changed_out_i);
            InReset: result_q <= '0;
            default: result_q <= 32'(changed_ok_i);
          endcase
        end

        StChain: if (chain_ready_i) state_q <= StTell;

        default: if (over) state_q <= StIdle;
      endcase
    end

    if (begins) begin
      op_q     <= op_in;
      a_q      <= cmd_a_i;
      b_q      <= Ways'(cmd_b_i);
      result_q <= (op_in == InTake) ? candidate : (op_in == InStat) ? stat_i[cmd_a_i[2:0]] : '0;
    end
  end

  aside_candidates u_candidates (
    .clk_i,
    .rst_ni,
    .s_valid_i(hot_valid_i),
    .s_ready_o(hot_ready_o),
    .s_data_i (hot_i),
    .take_i   (begins && op_in == InTake),
    .word_o   (candidate),
    .drop_i   (begins && op_in == InReset)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) threshold_o <= '0;
    else if (begins && op_in == InHot) threshold_o <= cmd_a_i[7:0];
    age_o <= rst_ni && begins && op_in == InAge;
  end

  `ASSERT(
      PutOnce,
      !(change_valid_o && change_q.way && change_q.way_op == WayPut) || op_q inside {InPut, InMove})

  // Nothing else is done meanwhile, so it is not forgotten.
  logic unused;
  assign unused = made_i ^ made_ok_i;
  `ASSERT(Made, state_q != StMade || (made_i && made_ok_i))

endmodule
