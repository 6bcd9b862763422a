// append and prepend: puts a new item into the log whose value is that of the key's item and that of
// the request's, one behind the other; its place goes into the key's way. The request's bytes are an
// item of the log, too, that no way has. The reader reads both, the log joins them: a clock for each
// line, and about 30 before the first.
module execute_extend
  import wirekv_pkg::*;
  import request_pkg::*;
  import store_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Largest item as memcached counts it.
  input  logic [20:0] item_max_i,
  input  log_range_t range_i,
  /// Begin with the item of the request in act.
  input  logic       start_i,
  // verilator lint_off UNUSEDSIGNAL
  input  op_t        op_i,
  input  item_t      item_i,
  // verilator lint_on UNUSEDSIGNAL
  /// Values to read, and their pieces.
  output logic       read_valid_o,
  input  logic       read_ready_i,
  output read_t      read_o,
  input  logic       chunk_valid_i,
  output logic       chunk_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  chunk_t     chunk_i,  // its bytes go to the log from outside
  // verilator lint_on UNUSEDSIGNAL
  /// The new item; how its beats end; its key goes with it, and is all told.
  output logic       own_valid_o,
  input  logic       own_ready_i,
  output put_t       own_o,
  output logic       ownb_valid_o,
  input  logic       ownb_ready_i,
  output logic       ownb_last_o,
  output logic       key_tell_o,
  input  logic       key_all_told_i,
  /// Its place; puts taken and written by the log.
  input  off_t       own_off_i,
  input  serial_t    taken_i,
  input  serial_t    written_i,
  /// What became of it; write it into the key's way; end with that, when the way back is free.
  output extended_t  extended_o,
  output logic       write_o,
  input  logic       way_ready_i,
  input  logic       out_free_i,
  output logic       done_o
);

  typedef enum logic [2:0] {
    ExIdle,
    ExPut,
    ExFirst,   // have one value read
    ExSecond,  // and the other
    ExBeats,
    ExWritten
  } state_e;

  state_e state_q, state_d;
  logic append, second_q, value_sent_q, kept_q, bad_q, stored, written;
  logic [20:0] len;
  logic [22:0] size;
  logic fits_q;
  off_t off_q;
  logic [5:0] lines_q;
  logic [15:0] lines;
  serial_t stamp_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      ExIdle:    if (start_i) state_d = ExPut;
      ExPut:     if (own_ready_i) state_d = ExFirst;
      ExFirst:   if (read_ready_i) state_d = ExSecond;
      ExSecond:  if (read_ready_i) state_d = ExBeats;
      ExBeats:   if (value_sent_q && key_all_told_i) state_d = ExWritten;
      ExWritten: if (done_o) state_d = ExIdle;
      default:   state_d = ExIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= ExIdle;
    else state_q <= state_d;
  end

  assign size = 23'(item_i.vlen) + 23'(op_i.req.vlen) + 23'(op_i.req.klen) +
      ((item_i.flags == '0) ? 23'd0 : 23'd4) + 23'(ItemOverhead);
  always_ff @(posedge clk_i) fits_q <= size <= 23'(item_max_i);

  // ---------------------------------------------------------------- both values
  assign append       = op_i.req.op == OpAppend;
  assign len          = item_i.vlen + op_i.req.vlen;
  assign read_valid_o = state_q inside {ExFirst, ExSecond};
  always_comb begin
    read_o      = '0;
    read_o.send = 1'b1;
    read_o.own  = 1'b1;
    read_o.klen = op_i.req.klen;
    if (append == (state_q == ExFirst)) begin
      read_o.off = item_i.off;
      read_o.len = item_i.vlen;
    end else begin
      read_o.off = op_i.req.off;
      read_o.len = op_i.req.vlen;
    end
  end

  assign chunk_ready_o = ownb_ready_i;
  assign ownb_valid_o  = chunk_valid_i;
  assign ownb_last_o   = chunk_i.last && second_q;
  always_ff @(posedge clk_i) begin
    if (state_q == ExIdle) begin
      second_q     <= 1'b0;
      value_sent_q <= 1'b0;
      bad_q        <= 1'b0;
    end else if (chunk_valid_i && ownb_ready_i) begin
      if (chunk_i.last) second_q <= 1'b1;
      if (ownb_last_o) value_sent_q <= 1'b1;
      if (chunk_i.bad) bad_q <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- the new item
  assign lines = lines_of(off_q.pos[1:0], 22'd16 + 22'(op_i.req.klen) + 22'(len));
  always_ff @(posedge clk_i) begin
    if (state_q == ExPut) begin
      off_q   <= own_off_i;
      stamp_q <= taken_i + 1'b1;
    end
    // Nothing is written behind the new item before it is whole. So whoever is still valid now that it
    // has its place is not overwritten while he is read.
    if (state_q == ExSecond)
      kept_q <= off_valid(item_i.off, range_i) && off_valid(op_i.req.off, range_i);
    lines_q <= (lines > 16'd63) ? 6'd63 : lines[5:0];
  end
  assign own_valid_o = state_q == ExPut;
  assign own_o       = '{start: 1'b1, own_lines: 1'b0, klen: op_i.req.klen, vlen: len,
                         flags: item_i.flags, exptime: item_i.exptime, off: '0, done: '0};
  assign key_tell_o  = state_q inside {ExFirst, ExSecond, ExBeats};

  assign stored       = off_q.lap != '0 && kept_q && !bad_q;
  assign written      = reached(written_i, stamp_q);
  assign extended_o   = '{
          fits: fits_q,
          reply: stored ? RpStored : (off_q.lap == '0) ? RpNoMemory : RpNotStored,
          stored: state_q == ExWritten && stored,
          off: off_q,
          lines: lines_q
      };
  assign write_o      = state_q == ExWritten && stored && written && out_free_i;
  assign done_o       = state_q == ExWritten && out_free_i && (!stored || (written && way_ready_i));

endmodule
