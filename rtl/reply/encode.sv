// Results to reply text: fixed replies from a table, VALUE lines around key and value bytes,
// numbers, the host's bytes. Latency 15 from a result and 2 from a chunk to its text,
// initiation interval 1 a piece of text (a small value's reply is two pieces).
//
// Results pass the number formatter (split off the path of the chunks, which wait in a FIFO). The
// ends of jobs go round it: so the last piece of the last reply already knows that it is the last.
`include "lib_assert.svh"

module encode
  import wirekv_pkg::*;
  import request_pkg::*;
  import lib_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  /// Results and, beside RsValue, the item's bytes.
  input  logic   res_valid_i,
  output logic   res_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  res_t   res_i,  // only an RsEnd is the last
  // verilator lint_on UNUSEDSIGNAL
  input  logic   chunk_valid_i,
  output logic   chunk_ready_o,
  input  part_t  chunk_i,
  /// Bytes of the host's answers: full lines but for a piece's last.
  input  logic   hline_valid_i,
  output logic   hline_ready_o,
  input  line_t  hline_i,
  /// Contexts of the TCP jobs that have ended, in order.
  output logic   ctx_valid_o,
  input  logic   ctx_ready_i,
  output ctx_t   ctx_o,
  /// Reply text.
  output logic   text_valid_o,
  input  logic   text_ready_i,
  output text_t  text_o,
  /// One-clock pulses: value, fixed reply, number begun; a value waits for its bytes.
  output logic   value_o,
  output logic   reply_o,
  output logic   number_o,
  output logic   wait_chunk_o
);

  // ---------------------------------------------------------------- fixed texts
  typedef logic [127:0][7:0] long_t;

  /// The characters of `text` and CRLF from lane 0 on.
  function automatic long_t line_of(input logic [1023:0] text);
    int unsigned n;
    n = 0;
    for (int unsigned i = 0; i < 128; i++) if (text[8*i+:8] != 8'h00) n = i + 1;
    line_of = '0;
    for (int unsigned i = 0; i < 128; i++) if (i < n) line_of[i] = text[8*(n-1-i)+:8];
    for (int unsigned i = 0; i < 127; i++) begin
      if (i == n) begin
        line_of[i]   = 8'h0d;
        line_of[i+1] = 8'h0a;
      end
    end
  endfunction

  localparam long_t TextError = line_of("ERROR");
  localparam long_t TextStored = line_of("STORED");
  localparam long_t TextNotStored = line_of("NOT_STORED");
  localparam long_t TextExists = line_of("EXISTS");
  localparam long_t TextNotFound = line_of("NOT_FOUND");
  localparam long_t TextDeleted = line_of("DELETED");
  localparam long_t TextTouched = line_of("TOUCHED");
  localparam long_t TextOk = line_of("OK");
  localparam long_t TextEnd = line_of("END");
  localparam long_t TextVersion = line_of("VERSION 1.6.38");
  localparam long_t TextBadFormat = line_of("CLIENT_ERROR bad command line format");
  localparam long_t TextBadChunk = line_of("CLIENT_ERROR bad data chunk");
  localparam long_t TextBadExptime = line_of("CLIENT_ERROR invalid exptime argument");
  localparam long_t TextBadDelta = line_of("CLIENT_ERROR invalid numeric delta argument");
  localparam long_t TextNonNumeric = line_of(
      "CLIENT_ERROR cannot increment or decrement non-numeric value"
  );
  localparam long_t TextTooLarge = line_of("SERVER_ERROR object too large for cache");
  localparam long_t TextNoMemory = line_of("SERVER_ERROR out of memory storing object");
  localparam long_t TextMultiPacket = line_of("SERVER_ERROR multi-packet request not supported");
  localparam long_t TextUnsupported = line_of("SERVER_ERROR not supported");
  localparam long_t TextBadDelete = line_of(
      "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"
  );

  function automatic long_t reply_text(input reply_e reply);
    unique case (reply)
      RpError:       return TextError;
      RpStored:      return TextStored;
      RpNotStored:   return TextNotStored;
      RpExists:      return TextExists;
      RpNotFound:    return TextNotFound;
      RpDeleted:     return TextDeleted;
      RpTouched:     return TextTouched;
      RpOk:          return TextOk;
      RpEnd:         return TextEnd;
      RpVersion:     return TextVersion;
      RpBadFormat:   return TextBadFormat;
      RpBadChunk:    return TextBadChunk;
      RpBadExptime:  return TextBadExptime;
      RpBadDelta:    return TextBadDelta;
      RpNonNumeric:  return TextNonNumeric;
      RpTooLarge:    return TextTooLarge;
      RpNoMemory:    return TextNoMemory;
      RpMultiPacket: return TextMultiPacket;
      RpBadDelete:   return TextBadDelete;
      RpUnsupported: return TextUnsupported;
      default:       return '0;
    endcase
  endfunction

  function automatic logic [7:0] length_of(input long_t text);
    length_of = '0;
    for (int unsigned i = 0; i < 128; i++) if (text[i] != 8'h00) length_of = 8'(i + 1);
  endfunction

  typedef logic [31:0][7:0] lengths_t;
  function automatic lengths_t reply_lengths();
    for (int unsigned i = 0; i < 32; i++) reply_lengths[i] = length_of(reply_text(reply_e'(5'(i))));
  endfunction
  localparam lengths_t ReplyLen = reply_lengths();

  localparam logic [47:0] Prefix = {8'h20, "E", "U", "L", "A", "V"};  // lane 0 is on the right
  localparam logic [15:0] Crlf = {8'h0a, 8'h0d};
  localparam logic [55:0] CrlfEnd = {8'h0a, 8'h0d, "D", "N", "E", 8'h0a, 8'h0d};

  // ---------------------------------------------------------------- results in
  // Records between here and the register that pick works from.
  localparam int unsigned Depth = 32;
  typedef logic [5:0] seq_t;

  logic accept, issue, end_in;
  logic job_in_ready, end_in_ready;
  logic [5:0] credit_q;
  seq_t issued_q;
  assign res_ready_o = credit_q != '0 && job_in_ready && end_in_ready && ctx_ready_i;
  assign accept = res_valid_i && res_ready_o;
  assign end_in = accept && res_i.kind == RsEnd;
  assign issue  = accept && !(res_i.kind inside {RsNone, RsEnd}) &&
                  !(res_i.kind == RsReply && res_i.reply == RpNone);

  assign ctx_valid_o = end_in && !res_i.udp;
  assign ctx_o       = res_i.ctx;

  typedef struct packed {
    logic        udp;
    conn_t       conn;
    logic [31:0] tx_ptr;
  } job_in_t;
  job_in_t job_in, job;
  logic job_pop;
  // Only the assertions look at these.
  // verilator lint_off UNUSEDSIGNAL
  logic job_valid, info_valid, info_ready, line_in_ready;
  // verilator lint_on UNUSEDSIGNAL
  logic [4:0] unused_job_level;
  assign job_in = '{udp: res_i.udp, conn: res_i.conn, tx_ptr: res_i.tx_ptr};
  lib_fifo #(
    .T    (job_in_t),
    .Depth(16)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(accept && res_i.first),
    .s_ready_o(job_in_ready),
    .s_data_i (job_in),
    .m_valid_o(job_valid),
    .m_ready_i(job_pop),
    .m_data_o (job),
    .level_o  (unused_job_level)
  );

  // An end is the number of records that were issued before it.
  logic end_wait, end_load, end_valid, end_pop;
  seq_t end_seq_wait, end_seq;
  logic [4:0] unused_end_level;
  lib_fifo #(
    .T    (seq_t),
    .Depth(16)
  ) u_ends (
    .clk_i,
    .rst_ni,
    .s_valid_i(end_in),
    .s_ready_o(end_in_ready),
    .s_data_i (issued_q),
    .m_valid_o(end_wait),
    .m_ready_i(end_load),
    .m_data_o (end_seq_wait),
    .level_o  (unused_end_level)
  );
  lib_reg #(
    .T(seq_t)
  ) u_end (
    .clk_i,
    .rst_ni,
    .s_valid_i(end_wait),
    .s_ready_o(end_load),
    .s_data_i (end_seq_wait),
    .m_valid_o(end_valid),
    .m_ready_i(end_pop),
    .m_data_o (end_seq)
  );

  typedef struct packed {
    res_e        kind;
    reply_e      reply;
    logic        long_reply;  // over 64 bytes
    logic [6:0]  reply_len;   // bytes of its only or of its second piece
    logic        head;
    logic        tail;
    logic        last_key;
    logic        host_more;   // over 64 bytes
    logic [9:0]  host_len;
    logic [21:0] rest;        // bytes behind the VALUE line
  } info_t;
  info_t info_in, info;
  assign info_in = '{
          kind: res_i.kind,
          reply: res_i.reply,
          long_reply: ReplyLen[res_i.reply] > 8'd64,
          reply_len: 7'(ReplyLen[res_i.reply] - ((ReplyLen[res_i.reply] > 8'd64) ? 8'd64 : 8'd0)),
          head: res_i.head,
          tail: res_i.tail,
          last_key: res_i.last_key,
          host_more: res_i.host_len > 10'd64,
          host_len: res_i.host_len,
          rest: 22'(res_i.vlen) + (res_i.last_key ? 22'd7 : 22'd2)
      };
  logic load, rec_pop;
  logic [5:0] unused_info_level;
  lib_fifo #(
    .T    (info_t),
    .Depth(Depth)
  ) u_infos (
    .clk_i,
    .rst_ni,
    .s_valid_i(issue),
    .s_ready_o(info_ready),
    .s_data_i (info_in),
    .m_valid_o(info_valid),
    .m_ready_i(load),
    .m_data_o (info),
    .level_o  (unused_info_level)
  );

  typedef struct packed {
    logic [41:0][7:0] text;
    logic [5:0]       len;
  } line_text_t;
  line_text_t line_in, line_out;
  logic line_in_valid, line_out_valid;
  logic [5:0] unused_line_level;
  value_line u_line (
    .clk_i,
    .rst_ni,
    .valid_i  (issue),
    .line_i   (res_i.kind == RsValue),
    .has_num_i(res_i.kind == RsNumber || res_i.cas_out),
    .flags_i  (res_i.flags),
    .bytes_i  (res_i.vlen),
    .num_i    (res_i.num),
    .valid_o  (line_in_valid),
    .text_o   (line_in.text),
    .len_o    (line_in.len)
  );
  lib_fifo #(
    .T    (line_text_t),
    .Depth(Depth)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_in_valid),
    .s_ready_o(line_in_ready),
    .s_data_i (line_in),
    .m_valid_o(line_out_valid),
    .m_ready_i(load),
    .m_data_o (line_out),
    .level_o  (unused_line_level)
  );

  // The record at work.
  typedef struct packed {
    info_t      info;
    line_text_t line;
  } work_t;
  work_t work_in, work;
  logic work_ready, rec_valid;
  info_t rec;
  line_text_t line;
  assign load    = line_out_valid && work_ready;
  assign work_in = '{info: info, line: line_out};
  assign rec     = work.info;
  assign line    = work.line;
  lib_reg #(
    .T(work_t)
  ) u_work (
    .clk_i,
    .rst_ni,
    .s_valid_i(line_out_valid),
    .s_ready_o(work_ready),
    .s_data_i (work_in),
    .m_valid_o(rec_valid),
    .m_ready_i(rec_pop),
    .m_data_o (work)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      credit_q <= 6'(Depth);
      issued_q <= '0;
    end else begin
      credit_q <= credit_q - 6'(issue) + 6'(load);
      issued_q <= issued_q + 6'(issue);
    end
  end

  // ---------------------------------------------------------------- chunks in
  // "VALUE " goes in front of a key piece and the line's end behind a value piece where there are
  // lanes for it, if need be after the halves of the line have changed places.
  typedef struct packed {
    part_t      chunk;
    logic       swap;
    logic       fits;
    logic [5:0] stop;  // lane behind the last byte, after a swap
  } piece_t;
  piece_t piece_in, piece;
  logic piece_valid, piece_pop;
  logic [6:0] chunk_end;
  logic [4:0] unused_piece_level;
  assign chunk_end = {1'b0, chunk_i.start} + chunk_i.len;
  assign piece_in.chunk = chunk_i;
  assign piece_in.stop  = {chunk_end[5] ^ piece_in.swap, chunk_end[4:0]};
  always_comb begin
    if (chunk_i.key) begin
      // Towards the lower lanes, where the rest of the VALUE line may fit behind it.
      piece_in.swap = (chunk_i.start < 6'd6 && chunk_end <= 7'd32) || chunk_i.start >= 6'd38;
      piece_in.fits = chunk_i.start >= 6'd6 || chunk_end <= 7'd32;
    end else begin
      piece_in.swap = chunk_i.start[5];
      piece_in.fits = chunk_i.start[5] || chunk_end <= 7'd57;
    end
  end
  lib_fifo #(
    .T    (piece_t),
    .Depth(16)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .s_valid_i(chunk_valid_i),
    .s_ready_o(chunk_ready_o),
    .s_data_i (piece_in),
    .m_valid_o(piece_valid),
    .m_ready_i(piece_pop),
    .m_data_o (piece),
    .level_o  (unused_piece_level)
  );

  // ---------------------------------------------------------------- pick: the next piece of text
  typedef enum logic [2:0] {
    StHead,   // the first piece of a record, or an end of job with nothing before it
    StKey,    // further pieces of the key
    StLine,   // the rest of the VALUE line
    StValue,  // pieces of the value
    StTail,   // the line's end behind it
    StRest,   // second half of a long fixed reply
    StHost    // further lines of the host's bytes
  } step_e;

  typedef enum logic [1:0] {
    SrcPiece,
    SrcSwapped,
    SrcLine,
    SrcHost
  } src_e;

  typedef enum logic [2:0] {
    AddNone,
    AddPrefix,
    AddAround,  // prefix and the rest of the VALUE line
    AddCrlf,
    AddCrlfEnd,
    AddReply,
    AddRest
  } add_e;

  typedef struct packed {
    src_e       src;
    add_e       add;
    logic [5:0] start;
    logic [6:0] len;
    logic [5:0] at;     // lane of what is added
  } pick_t;

  step_e step_q, step_d;
  logic pick_valid, pick_ready, pick;
  pick_t pick_d;
  logic reply_last, job_last, alone;
  logic host_pop, sized;
  logic [9:0] left_q;    // host bytes
  logic host_more;
  seq_t done_q;
  logic job_first_q;

  assign host_more  = (step_q == StHost) ? left_q > 10'd64 : rec.host_more;
  // The job is over although no more text is coming.
  assign alone      = step_q == StHead && end_valid && end_seq == done_q;

  // All of the VALUE line fits into the lanes around a short key.
  logic around;
  logic [6:0] around_end;
  assign around_end = {1'b0, piece.stop} + 7'(line.len);
  assign around     = piece.chunk.last && piece.stop != '0 && around_end <= 7'd64;

  logic key_step, value_step;
  assign key_step   = step_q == StKey ||
                      (step_q == StHead && rec.kind == RsValue && rec.head);
  assign value_step = step_q == StValue ||
                      (step_q == StHead && rec.kind == RsValue && !rec.head);

  always_comb begin
    pick_valid = 1'b0;
    pick_d = '{src: SrcPiece, add: AddNone, start: '0, len: '0, at: '0};
    step_d = step_q;
    reply_last = 1'b0;
    piece_pop = 1'b0;
    host_pop = 1'b0;
    sized = 1'b0;

    if (alone) begin
      pick_valid = 1'b1;
    end else if (step_q == StRest) begin
      pick_valid = 1'b1;
      pick_d.add = AddRest;
      pick_d.len = rec.reply_len;
      step_d     = StHead;
      reply_last = 1'b1;
    end else if (step_q == StLine) begin
      pick_valid   = 1'b1;
      pick_d.src   = SrcLine;
      pick_d.start = 6'(7'd64 - 7'(line.len));
      pick_d.len   = 7'(line.len);
      step_d       = StValue;
      sized        = 1'b1;
    end else if (step_q == StTail) begin
      pick_valid   = 1'b1;
      pick_d.add   = rec.last_key ? AddCrlfEnd : AddCrlf;
      pick_d.len   = rec.last_key ? 7'd7 : 7'd2;
      step_d       = StHead;
      reply_last   = 1'b1;
    end else if (rec_valid && key_step) begin
      pick_valid = piece_valid;
      if (step_q == StHead && !piece.fits) begin
        pick_d.add   = AddPrefix;
        pick_d.len   = 7'd6;
        step_d       = StKey;
      end else begin
        piece_pop    = pick_ready;
        pick_d.start = piece.chunk.start;
        pick_d.len   = piece.chunk.len;
        if (step_q == StHead) begin
          pick_d.src   = piece.swap ? SrcSwapped : SrcPiece;
          pick_d.add   = AddPrefix;
          pick_d.start = {piece.chunk.start[5] ^ piece.swap, piece.chunk.start[4:0]} - 6'd6;
          pick_d.len   = piece.chunk.len + 7'd6;
          pick_d.at    = pick_d.start;
        end
        step_d = piece.chunk.last ? StLine : StKey;
        if (step_q == StHead && around) begin
          pick_d.add = AddAround;
          pick_d.len = piece.chunk.len + 7'd6 + 7'(line.len);
          step_d     = StValue;
          sized      = 1'b1;
        end
      end
    end else if (rec_valid && value_step) begin
      pick_valid   = piece_valid;
      piece_pop    = pick_ready;
      pick_d.start = piece.chunk.start;
      pick_d.len   = piece.chunk.len;
      step_d       = StValue;
      if (piece.chunk.last) begin
        if (rec.tail && piece.fits) begin
          pick_d.src   = piece.swap ? SrcSwapped : SrcPiece;
          pick_d.start = {piece.chunk.start[5] ^ piece.swap, piece.chunk.start[4:0]};
          pick_d.add   = rec.last_key ? AddCrlfEnd : AddCrlf;
          pick_d.len   = piece.chunk.len + (rec.last_key ? 7'd7 : 7'd2);
          pick_d.at    = piece.stop;
        end
        step_d     = (rec.tail && !piece.fits) ? StTail : StHead;
        reply_last = !rec.tail || piece.fits;
      end
    end else if (rec_valid) begin
      unique case (rec.kind)
        RsReply: begin
          pick_valid = 1'b1;
          pick_d.add = AddReply;
          pick_d.len = rec.long_reply ? 7'd64 : rec.reply_len;
          step_d     = rec.long_reply ? StRest : StHead;
          reply_last = !rec.long_reply;
        end
        RsNumber: begin
          pick_valid   = 1'b1;
          pick_d.src   = SrcLine;
          pick_d.start = 6'(7'd64 - 7'(line.len));
          pick_d.len   = 7'(line.len);
          reply_last   = 1'b1;
        end
        default: begin  // RsHostData
          pick_valid = hline_valid_i || rec.host_len == '0;
          host_pop   = rec.host_len != '0;
          pick_d.src = SrcHost;
          pick_d.len = host_more ? 7'd64 : 7'((step_q == StHost) ? left_q : rec.host_len);
          step_d     = host_more ? StHost : StHead;
          reply_last = !host_more;
        end
      endcase
    end
  end

  assign pick          = pick_valid && pick_ready;
  assign rec_pop       = pick && reply_last;
  assign job_last      = alone || (reply_last && end_valid && end_seq == done_q + 6'd1);
  assign end_pop       = pick && job_last;
  assign hline_ready_o = pick_ready && host_pop && pick_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q      <= StHead;
      done_q      <= '0;
      job_first_q <= 1'b1;
    end else if (pick) begin
      step_q      <= step_d;
      done_q      <= done_q + 6'(reply_last);
      job_first_q <= job_last;
    end
    if (pick) left_q <= ((step_q == StHost) ? left_q : rec.host_len) - 10'd64;
  end

  assign wait_chunk_o = pick_ready && rec_valid && !alone && (key_step || value_step) &&
      !piece_valid;
  assign value_o      = pick && step_q == StHead && !alone && key_step;
  assign reply_o      = pick && step_q == StHead && !alone && rec.kind == RsReply;
  assign number_o     = pick && step_q == StHead && !alone && rec.kind == RsNumber;

  // ---------------------------------------------------------------- select: its bytes
  typedef struct packed {
    text_t      text;
    add_e       add;
    logic [5:0] at;
    reply_e     reply;
    line_t      line;    // rest of the VALUE line, its end at lane 63; its place
    logic [5:0] line_at;
    logic [5:0] line_turn;
  } select_t;
  logic sel_valid_q, sel_ready;
  select_t sel_q;
  assign pick_ready = sel_ready || !sel_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sel_valid_q <= 1'b0;
    else if (pick_ready) sel_valid_q <= pick_valid;
    if (pick) begin
      unique case (pick_d.src)
        SrcPiece:   sel_q.text.data <= piece.chunk.data;
        SrcSwapped: sel_q.text.data <= {piece.chunk.data[255:0], piece.chunk.data[511:256]};
        SrcLine:    sel_q.text.data <= {line.text, 176'b0};
        default:    sel_q.text.data <= hline_i;
      endcase
      sel_q.text.start      <= pick_d.start;
      sel_q.text.len        <= pick_d.len;
      sel_q.text.udp        <= 1'b0;  // the job's fields are added below
      sel_q.text.conn       <= '0;
      sel_q.text.tx_ptr     <= '0;
      sel_q.text.first      <= job_first_q;
      sel_q.text.last       <= job_last;
      sel_q.text.reply_last <= reply_last;
      sel_q.text.bad        <= piece_pop && piece.chunk.bad;
      sel_q.text.sized      <= sized;
      sel_q.text.rest       <= rec.rest;
      sel_q.add             <= pick_d.add;
      sel_q.at              <= pick_d.at;
      sel_q.reply           <= rec.reply;
      if (pick_d.add == AddAround) begin
        sel_q.line      <= {line.text, 176'b0};
        sel_q.line_at   <= piece.stop;
        sel_q.line_turn <= around_end[5:0];
      end
    end
  end

  // ---------------------------------------------------------------- add: what stands around them
  /// The lanes of `mask`, counted from lane `at`, replaced by those of `bytes`.
  function automatic line_t overlay(input line_t data, input logic [55:0] bytes,
                                    input logic [6:0] mask, input logic [5:0] at);
    logic [55:0] bits;
    for (int i = 0; i < 7; i++) bits[8*i+:8] = {8{mask[i]}};
    return (data & ~(512'(bits) << {at, 3'b000})) | (512'(bytes) << {at, 3'b000});
  endfunction

  text_t added;
  long_t fixed;
  line_t behind;
  assign fixed = reply_text(sel_q.reply);
  assign job_pop = sel_valid_q && sel_ready && sel_q.text.last;
  always_comb begin
    behind       = '0;
    added        = sel_q.text;
    added.udp    = job.udp;
    added.conn   = job.conn;
    added.tx_ptr = job.tx_ptr;
    unique case (sel_q.add)
      AddPrefix:  added.data = overlay(sel_q.text.data, 56'(Prefix), 7'h3f, sel_q.at);
      AddAround: begin
        behind     = {512{1'b1}} << {sel_q.line_at, 3'b000};
        added.data = (overlay(sel_q.text.data, 56'(Prefix), 7'h3f, sel_q.at) & ~behind) |
                     (rotl_bytes(sel_q.line, sel_q.line_turn) & behind);
      end
      AddCrlf:    added.data = overlay(sel_q.text.data, 56'(Crlf), 7'h03, sel_q.at);
      AddCrlfEnd: added.data = overlay(sel_q.text.data, CrlfEnd, 7'h7f, sel_q.at);
      AddReply:   added.data = fixed[63:0];
      AddRest:    added.data = fixed[127:64];
      default: ;
    endcase
  end

  lib_reg #(
    .T(text_t)
  ) u_text (
    .clk_i,
    .rst_ni,
    .s_valid_i(sel_valid_q),
    .s_ready_o(sel_ready),
    .s_data_i (added),
    .m_valid_o(text_valid_o),
    .m_ready_i(text_ready_i),
    .m_data_o (text_o)
  );

  `ASSERT(CreditHolds, (!issue || info_ready) && (!line_in_valid || line_in_ready))
  `ASSERT(InfoAheadOfLine, !load || info_valid)
  `ASSERT(JobKnown, !sel_valid_q || job_valid)
  `ASSERT(KeyFirst, !(pick && piece_pop) || piece.chunk.key == key_step)

endmodule
