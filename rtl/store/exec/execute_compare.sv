// The comparator: tags and places of the two buckets with what the request in check looks for; a
// line of an item with the key, for check and for the steps. Latency 1, initiation interval 1.
//
// A set that replaces its key's item writes one way while the requests behind it read their
// buckets; so what they have read of that way is put right by what was written (commit_t).
module execute_compare
  import wirekv_pkg::*;
  import lib_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic           clk_i,
  input  msec_t          now_i,
  input  log_range_t     range_i,
  /// Buckets of other epochs are empty.
  input  epochs_t        epochs_i,
  /// What moves, the request in check; a line of its item stands that is not the first, which comes last.
  input  moves_t         moves_i,
  input  op_t            op_i,
  input  logic           further_i,
  /// Of act, and that its request ends, as it does wherever check goes on.
  input  commit_t        commit_i,
  input  logic           act_ends_i,
  /// The buckets as they were read.
  input  bucket_t [1:0]  buckets_i,
  output logic [1:0]     epoch_fits_o,
  /// Ways that were written since.
  output logic [15:0]    given_o,
  /// Stages: an item of lap next_lap_i is fetched that begins in unit next_unit_i, whose line next_line_i and key
  /// of next_klen_i bytes stand in data_i and expected_i in the next clock; or line check_line_i of the one in check.
  input  logic           run_i,
  input  logic [2:0]     check_line_i,
  input  logic           next_line_i,
  input  logic [1:0]     next_unit_i,
  input  logic [7:0]     next_lap_i,
  input  logic [7:0]     next_klen_i,
  /// The next request names its item's place.
  input  logic           next_named_i,
  /// Steps, when these do not run: line line_i of the item there stands in data_i, or will in the
  /// next clock, the key of act_klen_i bytes in expected_i. Its header is compared now. Fits: a clock later.
  input  off_t           way_off_i,  // its line was sought
  input  logic [2:0]     line_i,
  input  logic [7:0]     act_klen_i,
  input  logic           head_i,
  /// It may be any key's.
  input  logic           any_i,
  input  line_t          data_i,
  input  logic           bad_i,  // memory could not read it: neither header nor key is in it
  input  line_t          expected_i,
  output logic           line_fits_o,
  output checked_t       checked_o
);

  // Lanes of an item's line `number` that hold key bytes.
  function automatic strb_t key_lanes(input logic [2:0] number, input logic [1:0] unit,
                                      input logic [7:0] bytes);
    logic [5:0] sixteen;
    logic whole, part;
    // Header and units are of 16 bytes. By tables: of sums and comparisons synthesis makes carry chains.
    sixteen = '0;
    for (int n = 0; n < 64; n++) if ({bytes[7:4], unit} == 6'(n)) sixteen = 6'(n / 4 + n % 4 + 1);
    whole = 1'b0;
    part  = 1'b0;
    for (int n = 0; n < 8; n++) begin
      if (number == 3'(n)) begin
        whole = sixteen[5:2] > 4'(n);
        part  = sixteen[5:2] == 4'(n);
      end
    end
    for (int b = 0; b < 64; b++)
    key_lanes[b] = (number != '0 || b / 16 > int'(unit)) &&
        (whole || (part && 6'(b) < {sixteen[1:0], bytes[3:0]}));
  endfunction

  // The low bits that a header of such a lap has.
  function automatic low_lap_t whole_lap(input logic [7:0] lap, input low_lap_t now,
                                         input low_lap_t last);
    whole_lap = (lap == now[7:0]) ? now : last;
  endfunction

  // ---------------------------------------------------------------- an item's line
  strb_t lanes_q;
  line_t differs;
  // In parts, each a chain of carries; those of each half are one LUT.
  localparam int unsigned Parts = 8;
  logic [Parts-1:0] part_equal;
  logic [1:0] equal, line_fits_q;
  head_t head, wanted, wanted_mask;
  logic [63:0] chosen_no, chosen_no_q;
  logic [3:0] head_lanes_q;  // where a header is compared: its lap, and its key's length
  logic any_key_q, unread;
  logic [7:0] klen_q;
  low_lap_t lap_q, lap_now, lap_last;
  // verilator lint_off UNUSEDSIGNAL
  off_t off;  // its line is in data_i
  // verilator lint_on UNUSEDSIGNAL

  always_ff @(posedge clk_i) begin
    // A walk takes whatever item there is.
    any_key_q <= !run_i && any_i;
    // What moves is known last. Laps stay when one begins: those of items that are still in the log.
    if (!run_i) begin
      lanes_q      <= key_lanes(line_i, way_off_i.pos[1:0], act_klen_i);
      head_lanes_q <= (line_i == '0) ? 4'd1 << way_off_i.pos[1:0] : '0;
      klen_q       <= act_klen_i;
      lap_q        <= whole_lap(way_off_i.lap, lap_now, lap_last);
    end else if (moves_i.further) begin
      lanes_q      <= key_lanes(check_line_i, op_i.found.off.pos[1:0], op_i.req.klen);
      head_lanes_q <= (check_line_i == '0) ? 4'd1 << op_i.found.off.pos[1:0] : '0;
      klen_q       <= op_i.req.klen;
      lap_q        <= whole_lap(op_i.found.off.lap, lap_now, lap_last);
    end else if (moves_i.fetch) begin
      lanes_q      <= key_lanes(3'(next_line_i), next_unit_i, next_klen_i);
      head_lanes_q <= next_line_i ? '0 : 4'd1 << next_unit_i;
      klen_q       <= next_klen_i;
      lap_q        <= whole_lap(next_lap_i, lap_now, lap_last);
    end
  end
  always_comb begin
    wanted           = '0;
    wanted.klen      = klen_q;
    wanted.lap       = lap_q;
    wanted_mask      = '0;
    wanted_mask.klen = {8{!any_key_q}};
    wanted_mask.lap  = '1;
    differs          = (data_i ^ expected_i) & bytes_of(lanes_q);
    for (int u = 0; u < 4; u++)
    if (head_lanes_q[u]) differs[128*u+:128] |= (data_i[128*u+:128] ^ wanted) & wanted_mask;
  end
  for (genvar n = 0; n < Parts; n++) begin : gen_part
    lib_carry_nor #(
      .N(512 / Parts)
    ) u_equal (
      .bits_i(differs[512/Parts*n+:512/Parts]),
      .none_o(part_equal[n])
    );
  end
  assign equal       = {&part_equal[Parts-1:Parts/2], &part_equal[Parts/2-1:0]};
  assign off         = run_i ? op_i.found.off : way_off_i;
  assign head        = data_i[128*off.pos[1:0]+:128];
  assign chosen_no   = data_i[128*2'(off.pos[1:0]-2'd1)+64+:64];
  assign lap_now     = range_i.lap[LapBits-1:0];
  assign lap_last    = range_i.last_lap[LapBits-1:0];
  // A number that cannot be read is of its key all the same.
  assign unread      = bad_i && (lanes_q[0] || head_lanes_q != '0);
  always_ff @(posedge clk_i) line_fits_q <= equal & {2{!unread}};
  assign line_fits_o = &line_fits_q;

  // ---------------------------------------------------------------- buckets
  commit_t near_q;  // of the clock in which the buckets in check were read
  logic [1:0] commit_same, near_same, epoch_same, epoch_fits;
  logic [15:0] tag_fits, given, given_before, off_read, off_written;
  logic any_off, commit_off, near_off;
  assign any_off      = op_i.found.off.lap != '0;
  assign commit_off   = commit_i.off == op_i.found.off;
  assign near_off     = near_q.off == op_i.found.off;
  assign epoch_fits_o = epoch_fits;
  assign given_o      = given | given_before;
  always_ff @(posedge clk_i) begin
    if (moves_i.fetch || moves_i.further) begin
      near_q       <= commit_i;
      near_q.valid <= commit_i.valid && act_ends_i;
    end
  end

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    assign epoch_same[b]  = buckets_i[b].epoch == epochs_i.now;
    assign epoch_fits[b]  = epoch_same[b] || buckets_i[b].epoch == epochs_i.last;
    assign commit_same[b] = commit_i.valid && commit_i.line[b] == op_i.found.line[b];
    assign near_same[b]   = near_q.valid && near_q.line[b] == op_i.found.line[b];
    for (genvar w = 0; w < 8; w++) begin : gen_way
      // verilator lint_off UNUSEDSIGNAL
      way_t way;  // lines of an item were known before
      // verilator lint_on UNUSEDSIGNAL
      // Tag and place, three bits a LUT; and that they do not count.
      logic [50:0] differ;
      logic uncounted;
      assign way    = buckets_i[b].ways[w];
      assign differ = 51'({way.tag, way.off} ^ {op_i.found.hash[63:50], op_i.found.off});
      assign tag_fits[8*b+w] = way.tag == op_i.found.hash[63:50] && way.off.lap != '0;
      // Where it was written the place alone is compared, as the buckets come late; who finds its key there has
      // its tag, too.
      assign given[8*b+w]        = commit_same[b] && commit_i.way[8*b+w];
      assign given_before[8*b+w] = near_same[b] && near_q.way[8*b+w];
      assign off_written[8*b+w]  = any_off &&
          (given[8*b+w] ? commit_off : given_before[8*b+w] && near_off);
      assign uncounted = !any_off || given[8*b+w] || given_before[8*b+w];
      lib_carry_nor #(
        .N    (54),
        .Group(3)
      ) u_same (
        .bits_i({2'd0, uncounted, differ}),
        .none_o(off_read[8*b+w])
      );
    end
  end

  // ---------------------------------------------------------------- what check found
  logic [1:0] so_far_q;  // the lines before are alike
  logic [1:0] equal_q;  // an item was fetched, and is the one
  logic fetched, place_valid, place_valid_q, unexpired, unexpired_q, renewed_q;
  logic claims_q, named_q;
  logic [15:0] tags_q, offs_q;
  logic [3:0] any_q;  // one of so many four ways names the item
  logic [1:0] no_tag_q, epoch_fits_q;
  logic from_1024_q, from_16_q, bare_q;
  logic [15:0][1:0] uses_q;
  // verilator lint_off UNUSEDSIGNAL
  head_t head_q;  // its lap was compared; the same key of another database has another tag
  // verilator lint_on UNUSEDSIGNAL

  always_ff @(posedge clk_i) if (moves_i.fetch) named_q <= next_named_i;
  assign place_valid = off_valid(
      named_q ? op_i.req.off : op_i.found.off, range_i
  );
  assign fetched     = op_i.found.cand && op_i.found.count != '0 && place_valid &&
      !op_i.req.key_stored;
  assign unexpired   = head.expiry == '0 || head.expiry > now_i;

  always_ff @(posedge clk_i) begin
    if (moves_i.fetch || (moves_i.further && check_line_i == 3'd1)) so_far_q <= '1;
    else if (further_i) so_far_q <= so_far_q & equal & {2{!unread}};
    if (moves_i.go) begin
      // What could not be read has no header.
      equal_q       <= equal & so_far_q & {2{fetched}};
      place_valid_q <= place_valid;
      if (op_i.found.lookup) begin
        tags_q       <= tag_fits;
        offs_q       <= off_written | off_read;
        for (int n = 0; n < 4; n++)
        any_q[n] <= epoch_fits[n/2] && (off_written[4*n+:4] != '0 || off_read[4*n+:4] != '0);
        epoch_fits_q <= epoch_fits;
        renewed_q     <= &epoch_same;
        uses_q       <= {buckets_i[1].uses, buckets_i[0].uses};
        head_q       <= head;
        chosen_no_q  <= chosen_no;
        unexpired_q  <= unexpired;
        claims_q     <= head.marks.stale && !head.marks.won;
        bare_q       <= head.flags == '0;
        from_1024_q  <= head.vlen[20:10] != '0;
        from_16_q    <= head.vlen[9:4] != '0;
        for (int b = 0; b < 2; b++) no_tag_q[b] <= !epoch_fits[b] || tag_fits[8*b+:8] == '0;
      end
    end else if (head_i) begin
      head_q      <= head;
      chosen_no_q <= chosen_no;
      unexpired_q <= unexpired;
      claims_q    <= head.marks.stale && !head.marks.won;
      from_1024_q <= head.vlen[20:10] != '0;
      from_16_q   <= head.vlen[9:4] != '0;
      bare_q      <= head.flags == '0;
    end
  end

  logic hit;
  logic [15:0] epoch_mask_q;
  assign hit          = equal_q == '1 && any_q != '0;
  assign epoch_mask_q = {{8{epoch_fits_q[1]}}, {8{epoch_fits_q[0]}}};
  assign checked_o = '{tags: tags_q & epoch_mask_q, offs: offs_q & tags_q & epoch_mask_q, hit: hit,
                       new_key: no_tag_q == '1,
                       decided: hit || no_tag_q == '1, place_valid: place_valid_q,
                       unexpired: unexpired_q, flags: head_q.flags, expiry: head_q.expiry,
                       marks: head_q.marks, claims: claims_q, chosen: head_q.chosen,
                       chosen_no: chosen_no_q,
                       vlen: head_q.vlen, klen: head_q.klen,
                       uses: uses_q, renewed: renewed_q,
                       renewed_hit: hit && renewed_q,
                       bank: any_q[3:2] != '0,
                       from_1024: from_1024_q, from_16: from_16_q, bare: bare_q};

endmodule
