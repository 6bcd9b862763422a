rtl/aside/aside_pkg.sv
rtl/aside/guard.sv
rtl/aside/aside_frames.sv
rtl/aside/sketch.sv
rtl/aside/ways.sv
rtl/aside/chains.sv
