-f rtl/net/net.f
-f rtl/parse/ingress.f
-f rtl/reply/egress.f
rtl/store/index/hash.sv
rtl/aside/aside_pkg.sv
rtl/aside/guard.sv
rtl/aside/aside_frames.sv
rtl/aside/sketch.sv
rtl/aside/ways.sv
rtl/aside/chains.sv
rtl/aside/aside_lookup.sv
rtl/aside/aside_answer.sv
rtl/aside/aside_candidates.sv
rtl/aside/aside_core.sv
rtl/aside/aside.sv
