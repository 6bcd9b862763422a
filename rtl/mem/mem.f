rtl/mem/mem_axi.sv
rtl/mem/ring_trust.sv
rtl/mem/ring_order.sv
rtl/mem/ring_cache.sv
