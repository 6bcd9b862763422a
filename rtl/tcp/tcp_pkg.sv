// What tcp/ and proto/session tell each other. Pointers are TCP sequence numbers, so a pointer's
// low 16 bits are also the byte's place in its ring.
package tcp_pkg;
  import wirekv_pkg::*;

  typedef enum logic [2:0] {
    EvOpen,    // handshake done: rx_ptr = first byte to come, tx_ptr = first byte to send
    EvData,    // every byte before rx_ptr is in the receive ring (its writes are acknowledged)
    EvAcked,   // the peer has every byte before tx_ptr: that part of the transmit ring is free
    EvFin,     // the peer will send no more; comes after the EvData of its last byte
    EvClosed   // the connection is over; the id is in use until `release_id` comes back
  } ev_e;

  typedef struct packed {
    ev_e         kind;
    conn_t       conn;
    logic [31:0] rx_ptr;
    logic [31:0] tx_ptr;
  } ev_t;

  /// From the session: where reading and writing of a connection now stand.
  typedef struct packed {
    conn_t       conn;
    logic [31:0] rx_ptr;      // bytes before it are consumed: their ring space is free
    logic [31:0] tx_ptr;      // bytes before it are in the transmit ring, to be sent
    logic        close;       // send FIN after tx_ptr (sticky: later commands repeat it)
    logic        reset;       // send RST and forget
    logic        release_id;  // answer to EvClosed: nothing of this connection is in flight
  } app_t;

  /// A pointer a is before b, modulo 2^32 (RFC 9293, section 3.4).
  function automatic logic seq_lt(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] diff;
    diff = a - b;
    return diff[31];
  endfunction

endpackage
