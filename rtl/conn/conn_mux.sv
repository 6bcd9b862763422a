// tcp and the request port, the two sources of connections, before one scheduler: their events in turn, and what the
// scheduler says to the one whose connection it is. Latency 1 from an event of tcp, 2 of the port, 0 back; initiation
// interval 1.
`include "lib_assert.svh"

module conn_mux
  import tcp_pkg::*;
  import host_pkg::*;
(
  input  logic clk_i,
  input  logic rst_ni,
  /// Events of tcp's connections, and of the port's.
  input  logic tcp_ev_valid_i,
  output logic tcp_ev_ready_o,
  input  ev_t  tcp_ev_i,
  input  logic port_ev_valid_i,
  output logic port_ev_ready_o,
  input  ev_t  port_ev_i,
  /// To the scheduler.
  output logic ev_valid_o,
  input  logic ev_ready_i,
  output ev_t  ev_o,
  /// Pulse: it has taken the one that says that the port's connection is closed.
  output logic port_closed_o,
  /// What it says.
  input  logic app_valid_i,
  output logic app_ready_o,
  input  app_t app_i,
  output logic tcp_app_valid_o,
  input  logic tcp_app_ready_i,
  output logic port_app_valid_o,
  /// Nothing of the port's on its way.
  output logic idle_o
);

  logic app_port;
  assign app_port         = app_i.conn == HostConn;
  assign tcp_app_valid_o  = app_valid_i && !app_port;
  assign port_app_valid_o = app_valid_i && app_port;
  assign app_ready_o      = app_port || tcp_app_ready_i;

  // A word that is offered stays.
  ev_t port_ev, next_ev;
  logic port_valid, port_ready, next_valid, next_ready;
  lib_half_buffer #(
    .T(ev_t)
  ) u_port (
    .clk_i,
    .rst_ni,
    .s_valid_i(port_ev_valid_i),
    .s_ready_o(port_ev_ready_o),
    .s_data_i (port_ev_i),
    .m_valid_o(port_valid),
    .m_ready_i(port_ready),
    .m_data_o (port_ev)
  );
  // verilator lint_off PINCONNECTEMPTY
  lib_arb #(
    .T(ev_t),
    .N(2)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i({port_valid, tcp_ev_valid_i}),
    .s_ready_o({port_ready, tcp_ev_ready_o}),
    .s_data_i ({port_ev, tcp_ev_i}),
    .s_last_i ('1),
    .m_valid_o(next_valid),
    .m_ready_i(next_ready),
    .m_data_o (next_ev),
    .m_last_o (),
    .m_idx_o  ()
  );
  // verilator lint_on PINCONNECTEMPTY
  // Whether the scheduler takes one depends on which it is.
  lib_skid_buffer #(
    .T(ev_t)
  ) u_next (
    .clk_i,
    .rst_ni,
    .s_valid_i(next_valid),
    .s_ready_o(next_ready),
    .s_data_i (next_ev),
    .m_valid_o(ev_valid_o),
    .m_ready_i(ev_ready_i),
    .m_data_o (ev_o)
  );
  assign port_closed_o = ev_valid_o && ev_ready_i && ev_o.closed && ev_o.conn == HostConn;
  assign idle_o        = !port_valid && !ev_valid_o;

  `ASSERT(Theirs, !(tcp_ev_valid_i && tcp_ev_i.conn == HostConn))

endmodule
