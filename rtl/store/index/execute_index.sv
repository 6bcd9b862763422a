// The ports of the index caches: reads buckets for check and for the steps, writes the ways of act,
// of sums and of inserts: a way alone by strobes, or the whole bucket if it was flushed.
module execute_index
  import wirekv_pkg::*;
  import request_pkg::*;
  import host_pkg::*;
  import store_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  /// log2 of the number of buckets.
  input  logic [4:0]        index_bits_i,
  input  log_range_t        range_i,
  input  logic              one_way_i,
  input  epoch_t            epoch_i,
  /// Stages; op_i is in act.
  input  moves_t            moves_i,
  input  op_t               next_i,
  input  op_t               check_i,
  input  op_t               op_i,
  /// Its item, what it does, its sum, its extended item.
  input  item_t             item_i,
  input  decision_t         decision_i,
  input  sum_t              sum_i,
  input  extended_t         extended_i,
  /// Read its buckets.
  input  logic              read_i,
  /// Write its way, or count that it is used: that is left out when the port is busy.
  input  logic              write_i,
  input  logic              use_i,
  output logic              way_ready_o,
  output logic              fetched_ready_o,
  /// Renew its buckets.
  input  logic              renew_i,
  output logic              renew_done_o,
  /// Walk on, to ways that hold something, and where they are.
  input  logic              walk_i,
  output logic              walk_done_o,
  /// No item is left.
  input  logic              flushed_i,
  output logic [15:0]       walk_ways_o,
  output walk_place_t       walk_place_o,
  /// Insert its entry, and end with it when the way back is free. The request ends.
  input  logic              insert_i,
  input  logic              out_free_i,
  output logic              insert_done_o,
  input  logic              act_done_i,
  /// Put it in in passing, see execute_fill.
  input  logic [15:0]       given_i,
  input  logic              may_fill_i,
  output logic              free_o,
  input  logic              fill_i,
  /// Its way is written in passing, otherwise than by a set.
  input  logic              may_clear_i,
  input  logic              clear_i,
  output logic              stale_o,
  output logic              fill_ready_o,
  output logic              fill_idle_o,
  /// The buckets as they were read; the way of this entry of them (one-hot), in the next clock.
  input  bucket_t [1:0]     buckets_i,
  input  logic [1:0]        epoch_fits_i,
  output logic [15:0]       pick_o,
  input  way_t              way_i,
  /// Caches: see execute.
  output logic [1:0]        rd_en_o,
  output index_slot_t [1:0] rd_slot_o,
  output logic [1:0]        wr_valid_o,
  input  logic [1:0]        wr_ready_i,
  output index_slot_t       wr_slot_o,
  output line_no_t          wr_line_o,
  output line_t             wr_data_o,
  output strb_t             wr_strb_o,
  output logic [1:0]        acq_valid_o,
  input  logic [1:0]        acq_ready_i,
  output line_no_t          acq_line_o,
  output logic              acq_hint_o,
  input  logic [1:0]        rsp_valid_i,
  output logic [1:0]        rsp_ready_o,
  input  index_slot_t [1:0] rsp_slot_i,
  output logic [1:0]        rel_o,
  output logic              moved_o,
  output logic              evicted_o
);

  localparam strb_t UseLanes = 64'h0300_0000_0000_0000;
  localparam strb_t EpochLanes = 64'hFC00_0000_0000_0000;

  function automatic strb_t way_lanes(input logic [7:0] ways);
    way_lanes = '0;
    for (int w = 0; w < 8; w++) way_lanes[7*w+:7] = {7{ways[w]}};
  endfunction
  function automatic bucket_t one_way(input logic [7:0] ways, input way_t way, input logic all,
                                      input logic [7:0][1:0] uses, input epoch_t epoch);
    one_way = '0;
    one_way.epoch = epoch;
    for (int w = 0; w < 8; w++) begin
      one_way.ways[w] = (ways[w] || !all) ? way : '0;
      one_way.uses[w] = ways[w] ? '0 : uses[w];
    end
  endfunction

  // ---------------------------------------------------------------- reads
  logic insert_buckets, way_written;
  index_slot_t walk_slot;
  always_comb begin
    rd_en_o   = '0;
    rd_slot_o = moves_i.fetch ? next_i.found.slot : check_i.found.slot;
    if (moves_i.fetch ? next_i.found.lookup : moves_i.further && check_i.found.lookup) rd_en_o = '1;
    if (read_i || insert_buckets) begin
      rd_en_o   = '1;
      rd_slot_o = (op_i.req.op == OpWalk) ? {2{walk_slot}} : op_i.found.slot;
    end
    if (rsp_ready_o != '0) begin
      rd_en_o   = rsp_ready_o;
      rd_slot_o = rsp_slot_i;
    end
  end

  // ---------------------------------------------------------------- insert
  insert_t put, put_q, fill, puts;
  way_t fill_way, fresh_way, new_way;
  logic put_ready, fill_ready;
  logic [1:0] insert_acq, insert_rsp, insert_rel, walk_acq, walk_rsp, walk_rel;
  line_no_t insert_line, walk_line;
  // A register on the way to the port, which comes before what act writes: nothing acts meanwhile.
  assign put_ready = put_q.valid && !fill.valid && wr_ready_i[put_q.bank] &&
      (put_q.move || out_free_i);
  always_ff @(posedge clk_i) begin
    put_q       <= put;
    put_q.valid <= rst_ni && put.valid && !put_ready;
  end

  execute_insert u_insert (
    .clk_i,
    .rst_ni,
    .index_bits_i,
    .range_i,
    .one_way_i,
    .renew_i,
    .renew_done_o,
    .start_i    (insert_i),
    .op_i,
    .done_o     (insert_done_o),
    .turn_i     (act_done_i),
    .buckets_o  (insert_buckets),
    .buckets_i,
    .epoch_fits_i,
    .pick_o,
    .way_i,
    .acq_valid_o(insert_acq),
    .acq_ready_i,
    .acq_line_o (insert_line),
    .acq_hint_o,
    .rsp_valid_i,
    .rsp_ready_o(insert_rsp),
    .rsp_slot_i,
    .rel_o      (insert_rel),
    .put_o      (put),
    .put_ready_i(put_ready),
    .moved_o,
    .evicted_o
  );

  assign fill_ready = wr_ready_i[fill.bank];
  execute_fill u_fill (
    .clk_i,
    .rst_ni,
    .range_i,
    .epoch_i,
    .go_i       (moves_i.go),
    .buckets_i,
    .epoch_fits_i,
    .given_i,
    .op_i,
    .check_i,
    .way_i      (fresh_way),
    .may_i      (may_fill_i),
    .free_o,
    .take_i     (fill_i),
    .may_clear_i,
    .clear_i,
    .stale_o,
    .put_o      (fill),
    .put_way_o  (fill_way),
    .put_ready_i(fill_ready),
    .ready_o    (fill_ready_o),
    .idle_o     (fill_idle_o)
  );

  // ---------------------------------------------------------------- walk
  logic seek, seek_bank, sought;
  line_no_t seek_line, sought_line;
  execute_groups u_groups (
    .clk_i,
    .rst_ni,
    .index_bits_i,
    .write_i     (way_written),
    .write_bank_i(wr_valid_o[1]),
    .write_line_i(wr_line_o),
    .clear_i     (flushed_i),
    .seek_i      (seek),
    .bank_i      (seek_bank),
    .line_i      (seek_line),
    .done_o      (sought),
    .line_o      (sought_line)
  );

  execute_walk u_walk (
    .clk_i,
    .rst_ni,
    .index_bits_i,
    .start_i    (walk_i),
    .from_i     (walk_place_t'(op_i.req.binary.opaque[30:0])),
    .done_o     (walk_done_o),
    .seek_o     (seek),
    .seek_bank_o(seek_bank),
    .seek_line_o(seek_line),
    .sought_i   (sought),
    .sought_line_i(sought_line),
    .act_done_i,
    .ways_o     (walk_ways_o),
    .place_o    (walk_place_o),
    .slot_o     (walk_slot),
    .buckets_i,
    .epoch_fits_i,
    .acq_valid_o(walk_acq),
    .acq_ready_i,
    .acq_line_o (walk_line),
    .rsp_valid_i,
    .rsp_ready_o(walk_rsp),
    .rsp_slot_i,
    .rel_o      (walk_rel)
  );
  // Never both at once.
  assign acq_valid_o = insert_acq | walk_acq;
  assign acq_line_o  = (walk_acq != '0) ? walk_line : insert_line;
  assign rsp_ready_o = insert_rsp | walk_rsp;
  assign rel_o       = insert_rel | walk_rel;

  // ---------------------------------------------------------------- writes
  logic [15:0] new_lines_q;
  always_ff @(posedge clk_i) begin
    if (moves_i.go)
      new_lines_q <= lines_of(
          check_i.req.off.pos[1:0], 22'd16 + 22'(check_i.req.klen) + 22'(check_i.req.vlen)
      );
  end
  always_comb begin
    fresh_way.tag   = op_i.found.hash[63:50];
    fresh_way.off   = op_i.req.off;
    fresh_way.lines = (new_lines_q > 16'd63) ? 6'd63 : new_lines_q[5:0];
    new_way         = fresh_way;
    if (decision_i.number) {new_way.off, new_way.lines} = {sum_i.off, sum_i.lines};
    if (extended_i.stored) {new_way.off, new_way.lines} = {extended_i.off, extended_i.lines};
  end

  assign puts = fill.valid ? fill : put_q;

  logic count_use, use_bank;
  logic [15:0][1:0] used;
  assign use_bank        = item_i.bank;
  assign way_ready_o     = wr_ready_i[use_bank] && !fill.valid;
  assign fetched_ready_o = wr_ready_i[item_i.fetched_bank] && !fill.valid;
  always_comb begin
    count_use = 1'b0;
    for (int i = 0; i < 16; i++) begin
      used[i] = item_i.uses[i];
      if (item_i.way[i] && item_i.uses[i] != 2'd3) begin
        used[i]   = item_i.uses[i] + 2'd1;
        count_use = 1'b1;
      end
    end
  end

  always_comb begin
    wr_valid_o = '0;
    wr_slot_o  = op_i.found.slot[use_bank];
    wr_line_o  = op_i.found.line[use_bank];
    // A write and a use differ in their lanes, and those in the operation: what is decided last says only
    // whether there is one.
    wr_data_o  = one_way('0, decision_i.empties ? '0 : new_way, 1'b0,
                         use_bank ? used[15:8] : used[7:0], epoch_i);
    wr_strb_o  = (decision_i.get && !decision_i.number) ? UseLanes :
        way_lanes(item_i.way[7:0] | item_i.way[15:8]);
    if (puts.valid) begin
      wr_valid_o[puts.bank] = fill.valid || puts.move || out_free_i;
      wr_slot_o = puts.slot;
      wr_line_o = puts.line;
      wr_data_o = one_way(
          puts.way,
          fill.valid ? fill_way : puts.move ? way_i : new_way,
          puts.renew,
          puts.uses,
          epoch_i
      );
      wr_strb_o = way_lanes(puts.way | (puts.renew ? puts.empty : '0)) | UseLanes |
          (puts.renew ? EpochLanes : '0);
    end else begin
      wr_valid_o[use_bank] = write_i || (use_i && count_use);
    end
  end
  assign way_written = ((wr_valid_o & wr_ready_i) != '0) && (puts.valid ? puts.way != '0 : write_i);

endmodule
