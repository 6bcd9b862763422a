rtl/lib/wirekv_pkg.sv
rtl/net/net_pkg.sv
rtl/tcp/tcp_pkg.sv
rtl/parse/request_pkg.sv
rtl/reply/reply_pkg.sv
rtl/store/store_pkg.sv
rtl/card/csr_pkg.sv
