rtl/mem/mem_axi.sv
rtl/mem/mem_zero.sv
rtl/mem/stripe_reads.sv
rtl/mem/stripe_writes.sv
rtl/mem/mem_stripe.sv
rtl/mem/ring_trust.sv
rtl/mem/ring_order.sv
rtl/mem/ring_cache.sv
