-f rtl/pkg.f
-f rtl/lib/lib.f
-f rtl/mem/mem.f
-f rtl/net/net.f
-f rtl/tcp/tcp.f
-f rtl/parse/ingress.f
-f rtl/store/store.f
-f rtl/reply/egress.f
rtl/host/csr.sv
rtl/host/dgram_queue.sv
rtl/host/trace.sv
-f rtl/host/request_port.f
rtl/top/card.sv
