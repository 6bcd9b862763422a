// The log's line cache: two banks, of even and of odd lines, each with tags, data and a memory port
// of its own. Latency as line_cache's; initiation interval 1 in each bank.
//
// Adjacent lines are in the banks by turns, so a client of several lines may acquire and take two at
// once, but in each bank those of older requests first: then whoever waits there waits for older ones
// only, and nobody waits in a circle.
module log_cache
  import wirekv_pkg::*;
  import store_pkg::*;
(
  input  logic                           clk_i,
  input  logic                           rst_ni,
  /// Address of line 0.
  input  laddr_t                         base_i,
  /// As line_cache's, for the classes of store_pkg. Of which bank a class takes its next response is
  /// its own to say, and how many lines it releases in each. Neither for ClassRequest nor for the
  /// responses of ClassReader: see below.
  input  logic        [LogClasses-1:0]   acq_valid_i,
  output logic        [LogClasses-1:0]   acq_ready_o,
  input  line_no_t    [LogClasses-1:0]   acq_line_i,
  input  logic        [LogClasses-1:0]   acq_fresh_i,
  output logic        [LogClasses-1:0]   rsp_valid_o,
  input  logic        [LogClasses-1:0]   rsp_ready_i,
  input  logic        [LogClasses-1:0]   rsp_bank_i,
  output log_slot_t   [LogClasses-1:0]   rsp_slot_o,
  input  log_rel_t    [LogClasses-1:0]   rel_i,
  /// Requests acquire in both banks at once, and execute sees the responses in both: lines by their
  /// numbers in the bank.
  input  logic        [1:0]              req_acq_valid_i,
  output logic        [1:0]              req_acq_ready_o,
  input  line_no_t    [1:0]              req_acq_line_i,
  output logic        [1:0]              req_rsp_valid_o,
  input  logic        [1:0]              req_rsp_ready_i,
  output bank_slot_t  [1:0]              req_rsp_slot_o,
  /// The reader sees the responses of its class in both banks at once, and reads a line in each.
  output logic        [1:0]              pair_valid_o,
  input  logic        [1:0]              pair_ready_i,
  output bank_slot_t  [1:0]              pair_slot_o,
  input  logic        [1:0]              pair_en_i,
  input  bank_slot_t  [1:0]              pair_rd_slot_i,
  output line_t       [1:0]              pair_data_o,
  output logic        [1:0]              pair_bad_o,
  /// Read port: execute.
  input  logic                           rd_en_i,
  input  log_slot_t                      rd_slot_i,
  output line_t                          rd_data_o,
  output logic                           rd_bad_o,
  /// Write ports: execute, appender.
  input  logic        [1:0]              wr_valid_i,
  output logic        [1:0]              wr_ready_o,
  input  line_no_t    [1:0]              wr_line_i,
  input  log_slot_t   [1:0]              wr_slot_i,
  input  line_t       [1:0]              wr_data_i,
  input  strb_t       [1:0]              wr_strb_i,
  /// Memory: even lines, odd lines.
  output logic        [1:0]              mem_wr_valid_o,
  input  logic        [1:0]              mem_wr_ready_i,
  output line_write_t [1:0]              mem_wr_o,
  input  logic        [1:0]              mem_wr_done_i,
  output logic        [1:0]              mem_rd_valid_o,
  input  logic        [1:0]              mem_rd_ready_i,
  output laddr_t      [1:0]              mem_rd_addr_o,
  input  logic        [1:0]              mem_rdat_valid_i,
  input  line_t       [1:0]              mem_rdat_i,
  input  logic        [1:0]              mem_rdat_bad_i,
  input  logic        [1:0]              mem_wr_bad_i,
  /// As line_cache's, by bank.
  output mem_said_t   [1:0]              said_o,
  output logic        [1:0]              ask_o,
  output line_no_t    [1:0]              ask_line_o,
  input  logic        [1:0]              go_i,
  input  logic        [1:0]              bad_i,
  output logic        [1:0]              gone_o,
  output logic                           idle_o
);

  logic [1:0][LogClasses-1:0] acq_valid, acq_ready, rsp_valid, rsp_ready;
  line_no_t [1:0][LogClasses-1:0] acq_line;
  bank_slot_t [1:0][LogClasses-1:0] rsp_slot;
  logic [1:0][LogClasses-1:0][3:0] rel;
  logic [1:0][1:0] rd_en, rd_bad, wr_valid, wr_ready;
  bank_slot_t [1:0][1:0] rd_slot;
  bank_slot_t [1:0] wr_slot;
  line_t [1:0][1:0] rd_data;
  line_no_t [1:0] wr_line;
  logic [1:0] idle;
  assign idle_o = &idle;

  for (genvar c = 0; c < LogClasses; c++) begin : gen_class
    logic bank;
    assign bank           = acq_line_i[c][0];
    assign acq_ready_o[c] = acq_ready[bank][c];
    assign rsp_valid_o[c] = rsp_valid[rsp_bank_i[c]][c];
    assign rsp_slot_o[c]  = in_bank(rsp_slot[rsp_bank_i[c]][c], rsp_bank_i[c]);
  end

  // The bank that execute does not read gives nothing.
  logic [1:0] rd_here, rd_there;
  assign rd_here   = {rd_en_i && rd_slot_i[LogWayW], rd_en_i && !rd_slot_i[LogWayW]};
  assign rd_there  = {rd_here[0], rd_here[1]};
  assign rd_data_o = rd_data[1][0] | rd_data[0][0];
  assign rd_bad_o  = rd_bad[1][0] || rd_bad[0][0];

  for (genvar p = 0; p < 2; p++) begin : gen_write
    assign wr_slot[p]    = {wr_slot_i[p][LogSlotW-1:LogWayW+1], wr_slot_i[p][LogWayW-1:0]};
    assign wr_line[p]    = wr_line_i[p] >> 1;
    assign wr_ready_o[p] = wr_ready[wr_line_i[p][0]][p];
  end

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    for (genvar c = 0; c < LogClasses; c++) begin : gen_class_bank
      if (c == ClassRequest) begin : gen_both
        assign acq_valid[b][c]    = req_acq_valid_i[b];
        assign acq_line[b][c]     = req_acq_line_i[b];
        assign req_acq_ready_o[b] = acq_ready[b][c];
        assign req_rsp_valid_o[b] = rsp_valid[b][c];
        assign req_rsp_slot_o[b]  = rsp_slot[b][c];
      end else begin : gen_one
        assign acq_valid[b][c]    = acq_valid_i[c] && acq_line_i[c][0] == 1'(b);
        assign acq_line[b][c]     = acq_line_i[c] >> 1;
      end
      assign rsp_ready[b][c] = (c == ClassRequest) ? req_rsp_ready_i[b] :
          (c == ClassReader) ? pair_ready_i[b] : rsp_ready_i[c] && rsp_bank_i[c] == 1'(b);
      assign rel[b][c]       = rel_i[c][b];
    end
    for (genvar p = 0; p < 2; p++) begin : gen_port
      assign wr_valid[b][p] = wr_valid_i[p] && wr_line_i[p][0] == 1'(b);
    end

    assign rd_en[b]       = {pair_en_i[b], rd_here[b]};
    assign rd_slot[b]     = {pair_rd_slot_i[b], rd_slot_i[LogSlotW-1:LogWayW+1],
                             rd_slot_i[LogWayW-1:0]};
    assign pair_valid_o[b] = rsp_valid[b][ClassReader];
    assign pair_slot_o[b]  = rsp_slot[b][ClassReader];
    assign pair_data_o[b]  = rd_data[b][1];
    assign pair_bad_o[b]   = rd_bad[b][1];

    line_cache #(
      .Sets   (LogSets),
      .Ways   (LogWays),
      .Classes(LogClasses),
      .OwnWays(LogOwnWays),
      .Avoid  (LogAvoid),
      .Spare  (LogSpare),
      .Waiting({9'd16, 9'd128, 9'd8, 9'd256}),
      .Reads  (2),
      .Writes (2),
      // execute writes an item's expiry only.
      .Lanes  ({64'hFFFF_FFFF_FFFF_FFFF, 64'h3F08_3F08_3F08_3F08}),
      // Items of one client lie at like distances if clients take turns.
      .Spread (1'b1),
      .Shift  (1),
      .Low    (b),
      .Ultra  (1'b1),
      .Blocks (2),
      .RenewEvery(64),
      // Only who begins a line writes its lane 0, and what is behind is of the lap before.
      .Anew   (strb_t'(1))
    ) u_bank (
      .clk_i,
      .rst_ni,
      .base_i,
      .acq_valid_i     (acq_valid[b]),
      .acq_ready_o     (acq_ready[b]),
      .acq_line_i      (acq_line[b]),
      .acq_fresh_i,
      .rsp_valid_o     (rsp_valid[b]),
      .rsp_ready_i     (rsp_ready[b]),
      .rsp_slot_o      (rsp_slot[b]),
      .rel_i           (rel[b]),
      .rd_en_i         (rd_en[b]),
      .rd_slot_i       (rd_slot[b]),
      .rd_clear_i      ({1'b0, rd_there[b]}),
      .rd_data_o       (rd_data[b]),
      .rd_bad_o        (rd_bad[b]),
      .wr_valid_i      (wr_valid[b]),
      .wr_ready_o      (wr_ready[b]),
      .wr_slot_i       (wr_slot),
      .wr_line_i       (wr_line),
      .wr_data_i,
      .wr_strb_i,
      .mem_wr_valid_o  (mem_wr_valid_o[b]),
      .mem_wr_ready_i  (mem_wr_ready_i[b]),
      .mem_wr_o        (mem_wr_o[b]),
      .mem_wr_done_i   (mem_wr_done_i[b]),
      .mem_rd_valid_o  (mem_rd_valid_o[b]),
      .mem_rd_ready_i  (mem_rd_ready_i[b]),
      .mem_rd_addr_o   (mem_rd_addr_o[b]),
      .mem_rdat_valid_i(mem_rdat_valid_i[b]),
      .mem_rdat_i      (mem_rdat_i[b]),
      .mem_rdat_bad_i  (mem_rdat_bad_i[b]),
      .mem_wr_bad_i    (mem_wr_bad_i[b]),
      .said_o          (said_o[b]),
      .ask_o           (ask_o[b]),
      .ask_line_o      (ask_line_o[b]),
      .go_i            (go_i[b]),
      .bad_i           (bad_i[b]),
      .gone_o          (gone_o[b]),
      .idle_o          (idle[b])
    );
  end

endmodule
