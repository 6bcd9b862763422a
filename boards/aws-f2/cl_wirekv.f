-f rtl/top/card.f
-f rtl/link/link.f
boards/common/axil_windows.sv
boards/common/board_card.sv
boards/common/hbm_stacks.sv
boards/aws-f2/cl_wirekv.sv
