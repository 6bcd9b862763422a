// Puts entries of new keys into free ways: into the emptier one of a key's buckets, the first way there.
// The way is written 2 clocks after its request has ended; initiation interval 1. A bucket of an older epoch is
// renewed by the same write.
//
// Who has read a bucket before such a write of it, or before a way of it was cleared or got a sum, reads it again:
// stale_o.
module execute_fill
  import lib_pkg::*;
  import store_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  log_range_t    range_i,
  input  epoch_t        epoch_i,
  /// Check ends with a request: its buckets as it has read them, and ways of them that were written meanwhile.
  input  logic          go_i,
  input  bucket_t [1:0] buckets_i,  // their tags were compared
  input  logic [1:0]    epoch_fits_i,
  input  logic [15:0]   given_i,
  /// That request is in act, and may be put in, as far as its key and operation say: a way is free, and this entry is
  /// put in.
  input  op_t           op_i,
  input  op_t           check_i,  // its buckets count
  input  way_t          way_i,
  input  logic          may_i,
  output logic          free_o,
  input  logic          take_i,
  /// A way of its buckets may be written as it ends, otherwise than a set does, see commit_t; it is.
  input  logic          may_clear_i,
  input  logic          clear_i,
  /// The request in check has read a bucket that an entry goes into.
  output logic          stale_o,
  /// The port: put_o.valid stands until it is ready.
  output insert_t       put_o,
  output way_t          put_way_o,
  input  logic          put_ready_i,
  /// Nothing waits for the port; nothing is on its way.
  output logic          ready_o,
  output logic          idle_o
);

  function automatic logic share(input low_lines_t a, input low_lines_t b);
    return a[0] == b[0] || a[1] == b[1];
  endfunction
  function automatic logic [3:0] ones(input logic [7:0] v);
    ones = '0;
    for (int i = 0; i < 8; i++) ones += 4'(v[i]);
  endfunction

  typedef struct packed {
    line_no_t [1:0]    line;
    index_slot_t [1:0] slot;
    way_t              way;
    logic [15:0]       free;
    logic [1:0]        renew;
    logic [15:0][1:0]  uses;
  } entry_t;

  // ---------------------------------------------------------------- in act
  off_sight_t [1:0][7:0] seen_q;
  logic [15:0] free, given_q;
  logic [1:0] fits_q, renew_q;
  logic [15:0][1:0] uses_q;
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      for (int b = 0; b < 2; b++) begin
        for (int w = 0; w < 8; w++) seen_q[b][w] <= off_sight(buckets_i[b].ways[w].off, range_i);
        renew_q[b] <= buckets_i[b].epoch != epoch_i;
      end
      fits_q  <= epoch_fits_i;
      given_q <= given_i;
      uses_q  <= {buckets_i[1].uses, buckets_i[0].uses};
    end
  end
  always_comb begin
    for (int b = 0; b < 2; b++)
    for (int w = 0; w < 8; w++)
    free[8*b+w] = !given_q[8*b+w] && (!fits_q[b] || !off_stands(seen_q[b][w]));
  end
  assign free_o = free != '0;

  // ---------------------------------------------------------------- which way
  logic choose_valid_q, odd_q, go_on;
  entry_t choose_q;
  entry_t entry_q;  // of both buckets
  logic [1:0][7:0] way_q;
  logic put_valid_q, was_valid_q;
  low_lines_t was_q;
  assign go_on = !put_valid_q || put_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      choose_valid_q <= 1'b0;
      put_valid_q    <= 1'b0;
      was_valid_q    <= 1'b0;
    end else begin
      if (go_on) {choose_valid_q, put_valid_q} <= {take_i, choose_valid_q};
      was_valid_q <= (put_valid_q && put_ready_i) || clear_i;
    end
    if (go_on) begin
      choose_q <= '{line: op_i.found.line, slot: op_i.found.slot, way: way_i, free: free,
                    renew: renew_q, uses: uses_q};
      entry_q  <= choose_q;
      odd_q    <= ones(choose_q.free[7:0]) < ones(choose_q.free[15:8]);
      for (int b = 0; b < 2; b++) way_q[b] <= 8'(lowest(64'(choose_q.free[8*b+:8])));
    end
    was_q <= low_lines(clear_i ? op_i.found.line : entry_q.line);
  end
  assign ready_o = go_on;
  assign idle_o  = !choose_valid_q && !put_valid_q;

  assign put_o = '{
          valid: put_valid_q,
          move: 1'b0,
          bank: odd_q,
          slot: entry_q.slot[odd_q],
          line: entry_q.line[odd_q],
          way: way_q[odd_q],
          renew: entry_q.renew[odd_q],
          empty: odd_q ? entry_q.free[15:8] : entry_q.free[7:0],
          uses: odd_q ? entry_q.uses[15:8] : entry_q.uses[7:0]
      };
  assign put_way_o = entry_q.way;

  // ---------------------------------------------------------------- who has read too early
  low_lines_t check_lines;
  assign check_lines = low_lines(check_i.found.line);
  assign stale_o = check_i.found.lookup && (
      ((may_i || may_clear_i) && share(check_lines, low_lines(op_i.found.line))) ||
      (choose_valid_q && share(check_lines, low_lines(choose_q.line))) ||
      (put_valid_q && share(check_lines, low_lines(entry_q.line))) ||
      (was_valid_q && share(check_lines, was_q)));

endmodule
