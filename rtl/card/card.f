-f rtl/pkg.f
-f rtl/lib/lib.f
-f rtl/mem/mem.f
-f rtl/net/net.f
-f rtl/tcp/tcp.f
-f rtl/parse/front.f
-f rtl/store/store.f
-f rtl/reply/back.f
rtl/card/csr.sv
-f rtl/card/host_port.f
rtl/card/card.sv
