// Rings in host memory: what the modules of rtl/link tell each other.
//
// "Down" is from the host to the card, "up" from the card to the host.
package link_pkg;
  import wirekv_pkg::*;

  /// Channels: the wire, the host port, the punt queue.
  localparam int unsigned Channels = 3;
  typedef logic [1:0] chan_t;

  /// A slot of a ring by its number since the channel began; its place is the number modulo the ring's size.
  typedef logic [15:0] index_t;
  /// Address of a slot in host memory: byte address / 64.
  typedef logic [57:0] slot_addr_t;
  /// Slots of one read or write. It lies in a block of eight slots, so it crosses no page.
  localparam int unsigned BurstSlots = 8;
  typedef logic [3:0] slots_t;

  /// Bytes of a frame.
  typedef logic [13:0] bytes_t;
  /// The longest frame: a slot holds 64 bytes, the first four are the preamble.
  localparam int unsigned MaxSlots = 144;
  localparam int unsigned MaxFrame = 64 * MaxSlots - 4;

  /// Stands in front of each frame, in the low bytes of a slot.
  typedef struct packed {
    logic [17:0] reserved;  // 0
    bytes_t      bytes;
  } preamble_t;

  /// Slots that a frame takes beside its first one.
  function automatic logic [8:0] more_slots(input bytes_t bytes);
    return 9'((15'(bytes) + 15'd3) >> 6);
  endfunction

  /// Slots that stand in a row in a ring and in host memory.
  typedef struct packed {
    index_t index;
    slots_t slots;
  } burst_t;

  /// Up to eight of `number`.
  function automatic slots_t to_eight(input index_t number);
    return (number[15:3] != '0) ? 4'd8 : {1'b0, number[2:0]};
  endfunction
  /// As many of `a` and `b` as there are up to the end of the block in which a slot lies.
  function automatic slots_t in_block(input logic [2:0] at, input slots_t a, input slots_t b);
    slots_t block;
    block = 4'd8 - {1'b0, at};
    if (a < block) block = a;
    return (b < block) ? b : block;
  endfunction

  /// A ring has 2**n slots, n from 3 to 15.
  function automatic logic is_size(input index_t mask);
    return mask[2:0] == '1 && (mask & {mask[14:0], 1'b1}) == mask && !mask[15];
  endfunction
  /// The index behind the last slot of a ring that begins with one.
  function automatic index_t end_of(input index_t index, input index_t mask);
    return index - ~mask;
  endfunction

  /// Where a slot stands. A ring begins at a multiple of its size.
  function automatic slot_addr_t slot_addr(input slot_addr_t base, input index_t mask,
                                           input index_t index);
    return {base[57:16], (base[15:0] & ~mask) | (index & mask)};
  endfunction

  /// Why a channel has stopped.
  typedef struct packed {
    logic setup;     // a ring has not 2**n slots, n from 3 to 15
    logic up_door;   // the host has consumed what it was not told of
    logic down_door; // the host has produced more than the ring holds, or goes back
    logic write;     // host memory refused a write
    logic read;      // host memory refused a read
    logic past;      // a frame is longer than what the host has produced
    logic reserved;  // a preamble has bits that mean nothing
    logic bytes;     // a frame of 0 bytes, or more than MaxFrame
  } fault_t;

  /// What the host sets for a channel.
  typedef struct packed {
    logic       enable;
    index_t     down_mask;  // slots of a ring, minus one
    index_t     up_mask;
    slot_addr_t down_base;
    slot_addr_t up_base;
  } channel_cfg_t;
  typedef struct packed {
    index_t     batch_slots;
    index_t     batch_clocks;
    slot_addr_t status_base;
  } link_cfg_t;

  /// What a channel tells, in registers and as the first words of its line in host memory.
  typedef struct packed {
    logic [13:0] unused_high;
    logic        running;
    logic        busy;
    index_t      place;      // of the first fault
    logic [23:0] unused_low;
    fault_t      fault;
    index_t      down;       // slots that were read
    index_t      up;         // slots that were written
  } told_t;

  /// What is counted, for each channel; a pulse each.
  typedef struct packed {
    logic   fault;
    logic   drop;
    logic   up;
    logic   down;
  } event_t;

  // Registers of 32 bits, by word. Those of channel c begin at CsrChannel * (c + 1).
  localparam int unsigned CsrId = 0;
  localparam int unsigned CsrCaps = 1;
  localparam int unsigned CsrControl = 2;
  localparam int unsigned CsrBatchSlots = 3;
  localparam int unsigned CsrBatchClocks = 4;
  localparam int unsigned CsrStatusBase = 6;
  localparam int unsigned CsrChannel = 16;
  localparam int unsigned CsrDownBase = 0;
  localparam int unsigned CsrUpBase = 2;
  localparam int unsigned CsrSizes = 4;
  localparam int unsigned CsrDownProducer = 5;
  localparam int unsigned CsrUpConsumer = 6;
  localparam int unsigned CsrIndices = 8;
  localparam int unsigned CsrFault = 9;
  localparam int unsigned CsrState = 10;
  localparam int unsigned CsrDownBytes = 14;
  localparam int unsigned CsrUpBytes = 15;
  /// Counters of events: word CsrEvents + 4 * channel + bit of event_t.
  localparam int unsigned CsrEvents = 64;
  localparam logic [31:0] IdValue = 32'h4b4c_0001;

endpackage
