rtl/card/host_port.sv
