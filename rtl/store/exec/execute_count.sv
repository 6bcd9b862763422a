// The events of execute, see store_count_e; those of other modules stay 0. Latency 1.
module execute_count
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// A request ends, its item and what it did; or it was skipped.
  input  logic                   done_i,
  input  logic                   skip_i,
  input  op_t                    op_i,
  input  item_t                  item_i,
  input  decision_t              decision_i,
  input  extended_t              extended_i,
  /// Steps.
  input  logic                   slow_i,
  input  logic                   inserted_i,
  input  logic                   moved_i,
  input  logic                   evicted_i,
  /// What a request waits for in this clock.
  input  logic                   wait_index_i,
  input  logic                   wait_lines_i,
  input  logic                   wait_log_i,
  input  logic                   wait_back_i,
  output logic [StoreCounts-1:0] count_o
);

  logic done, alive;
  op_e op;
  assign done  = done_i && !skip_i;
  assign alive = item_i.alive;
  assign op    = op_i.req.op;

  always_ff @(posedge clk_i) begin
    count_o <= '0;
    if (rst_ni) begin
      count_o[StoreCountGetHits]      <= done && decision_i.get && (alive || decision_i.sums);
      count_o[StoreCountGetMisses]    <= done && decision_i.get && !(alive || decision_i.sums);
      count_o[StoreCountExpired]      <= done && item_i.found && !alive && op_i.found.lookup;
      count_o[StoreCountTouchHits]    <= done && decision_i.touch && alive;
      count_o[StoreCountTouchMisses]  <= done && decision_i.touch && !alive;
      count_o[StoreCountSets]         <= done && is_store(op) && !extended_i.goes_on;
      count_o[StoreCountStored]       <= done && (decision_i.stores || extended_i.stored);
      count_o[StoreCountDeleteHits]   <= done && op == OpDelete && alive && !op_i.req.meta.stale;
      count_o[StoreCountDeleteMisses] <= done && op == OpDelete && !alive;
      count_o[StoreCountIncrHits]     <= done && op == OpIncr && alive;
      count_o[StoreCountIncrMisses]   <= done && op == OpIncr && !alive;
      count_o[StoreCountDecrHits]     <= done && op == OpDecr && alive;
      count_o[StoreCountDecrMisses]   <= done && op == OpDecr && !alive;
      count_o[StoreCountCasHits]      <= done && op == OpCas && decision_i.tries;
      count_o[StoreCountCasMisses]    <= done && op == OpCas && !alive;
      count_o[StoreCountCasBadval]    <= done && op == OpCas && alive && !decision_i.tries;
      count_o[StoreCountFlushes]      <= done && op == OpFlush;
      count_o[StoreCountTooLarge]     <= done && op inside {OpTooBig, OpReply} &&
          op_i.req.reply == RpTooLarge;
      count_o[StoreCountInserts]      <= inserted_i;
      count_o[StoreCountRemovals]     <= done && decision_i.clears;
      count_o[StoreCountMoves]        <= moved_i;
      count_o[StoreCountEvictions]    <= evicted_i;
      count_o[StoreCountSlow]         <= slow_i;
      count_o[StoreCountCut]          <= done_i && skip_i;
      count_o[StoreCountWaitIndex]    <= wait_index_i;
      count_o[StoreCountWaitLines]    <= wait_lines_i;
      count_o[StoreCountWaitLog]      <= wait_log_i;
      count_o[StoreCountWaitBack]     <= wait_back_i;
    end
  end

endmodule
