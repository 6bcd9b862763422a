rtl/store/line_cache.sv
rtl/store/log_cache.sv
rtl/store/hash.sv
rtl/store/lookup.sv
rtl/store/log.sv
rtl/store/execute.sv
rtl/store/reader.sv
rtl/store/store.sv
