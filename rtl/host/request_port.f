rtl/host/request_port.sv
