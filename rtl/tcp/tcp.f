rtl/tcp/tcp_isn.sv
rtl/tcp/tcp_lookup.sv
rtl/tcp/tcp_delay.sv
rtl/tcp/tcp_timers.sv
rtl/tcp/tcp_tcb.sv
rtl/tcp/tcp_rx_ring.sv
rtl/tcp/tcp_tx_seg.sv
rtl/tcp/tcp.sv
