-f rtl/pkg.f
-f rtl/machine/machine.f
-f rtl/aside/aside.f
rtl/machine/machine_top.sv
