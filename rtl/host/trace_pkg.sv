// What `trace` sees of the card.
package trace_pkg;
  import wirekv_pkg::*;

  /// Something of this connection is handed on.
  typedef struct packed {
    logic  valid;
    conn_t conn;
  } trace_conn_t;

  /// A beat of a packet from or to a port of peers is handed on.
  typedef struct packed {
    logic        valid;
    logic        last;
    logic [15:0] port;
  } trace_beat_t;

  /// What store tells.
  typedef struct packed {
    logic        hash;     // a request that is marked goes from the hash to lookup
    trace_conn_t execute;  // execute takes a request
    trace_conn_t value;    // it has asked the reader for a value; of a datagram `HostConn`
  } trace_store_t;

  /// All of it.
  typedef struct packed {
    trace_beat_t frame;
    trace_beat_t segment;
    trace_conn_t arrived;
    logic        closed;      // with `arrived`: the connection is over
    trace_conn_t request;
    trace_conn_t log;
    trace_store_t store;
    trace_conn_t result;
    logic        chunk;
    logic        chunk_last;  // of its value
    trace_conn_t reply;
    trace_conn_t send;
    trace_beat_t sent;
    trace_beat_t framed;
    logic        open;        // a connection opens
    conn_t       open_conn;
    logic [15:0] open_port;   // ... of a peer that has this port
  } trace_taps_t;

  /// Both are of one connection.
  function automatic logic same(input trace_conn_t a, input trace_conn_t b);
    return a.valid && b.valid && a.conn == b.conn;
  endfunction

  function automatic logic [15:0] port_at(input line_t data, input int unsigned lane);
    return {data[8*lane+:8], data[8*lane+8+:8]};
  endfunction

  /// The source (0) or destination port (2) in a frame's first beat, whose header of IP has no options.
  function automatic logic [15:0] frame_port(input line_t data, input int unsigned which);
    logic vlan;
    vlan = port_at(data, 12) == net_pkg::EtherVlan;
    if (!vlan && port_at(data, 12) == net_pkg::EtherIp4) return port_at(data, 34 + which);
    if (!vlan) return port_at(data, 54 + which);
    if (port_at(data, 16) == net_pkg::EtherIp4) return port_at(data, 38 + which);
    return port_at(data, 58 + which);
  endfunction

endpackage
