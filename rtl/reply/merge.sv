// Results to records of the reply builder. Over TCP what stands behind a value, or a short fixed
// reply, or both, do not leave by themselves: they wait for the next record of their job and go in
// front of its text. Latency 0; a record for most results, none for a reply that waits.
module merge
  import request_pkg::*;
  import reply_pkg::*;
(
  input  logic clk_i,
  input  logic rst_ni,
  /// A result is taken.
  input  logic take_i,
  // verilator lint_off UNUSEDSIGNAL
  input  res_t res_i,  // numbers and contexts go elsewhere
  // verilator lint_on UNUSEDSIGNAL
  /// A record of it.
  output logic rec_valid_o,
  output rec_t rec_o
);

  ahead_t waiting_q, waiting_d, both;
  fixed_t reply;
  ending_t ending;
  logic says, fits, together;
  assign reply    = (res_i.kind == RsReply) ? 5'(res_i.reply) : FxNone;
  assign ending   = !res_i.tail ? EnNone : res_i.last_key ? EnCrlfEnd : EnCrlf;
  assign says     = reply != FxNone || res_i.kind inside {RsValue, RsNumber, RsHostData};
  assign together = !res_i.udp && !res_i.last;
  // A reply can wait, too.
  assign both     = '{ending: waiting_q.ending, reply: reply};
  assign fits     = reply != FxNone && waiting_q.reply == FxNone && AheadLength[both] != '0;

  always_comb begin
    rec_o           = '0;
    rec_o.ahead     = waiting_q;
    rec_o.silent    = !says;
    rec_o.last      = res_i.last;
    rec_o.inner_len = res_i.vlen[4:0];
    rec_o.size      = 22'(res_i.vlen) + 22'(ending_length(ending));
    rec_o.host_len  = res_i.host_len;
    unique case (res_i.kind)
      RsReply: rec_o.own = reply;
      RsValue: begin
        rec_o.own     = res_i.head ? FxValue : FxNone;
        rec_o.klen    = res_i.head ? res_i.klen : '0;
        rec_o.numbers = res_i.head;
        rec_o.value   = 1'b1;
        rec_o.inner   = res_i.head && res_i.tail && res_i.vlen <= 21'(InnerMax);
        rec_o.ending  = (rec_o.inner || !together) ? ending : EnNone;
      end
      RsNumber:   rec_o.numbers = 1'b1;
      RsHostData: rec_o.host = 1'b1;
      default: ;
    endcase
    if (!rec_o.inner) rec_o.inner_len = '0;

    rec_valid_o = take_i && (says || res_i.last);
    waiting_d   = says ? '0 : waiting_q;
    if (together && fits) begin
      rec_valid_o = 1'b0;
      waiting_d   = both;
    end
    if (together && res_i.kind == RsValue && !rec_o.inner) waiting_d.ending = ending;
    if (res_i.last) waiting_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) waiting_q <= '0;
    else if (take_i) waiting_q <= waiting_d;
  end

endmodule
