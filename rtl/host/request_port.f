rtl/host/hold_timer.sv
rtl/host/request_port.sv
