rtl/mem/mem_axi.sv
rtl/mem/ring_cache.sv
