-f rtl/lib/lib.f
-f rtl/link/link.f
build/vexriscv/VexRiscv_FullCfu.v
rtl/machine/machine_pkg.sv
rtl/machine/machine_pio.sv
rtl/machine/machine_axil.sv
rtl/machine/machine_dma.sv
rtl/machine/machine_bus.sv
rtl/machine/machine_watchdog.sv
rtl/machine/machine_regs.sv
rtl/machine/machine_ram.sv
rtl/machine/machine.sv
