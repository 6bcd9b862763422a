-f rtl/top/card.f
boards/common/axil_windows.sv
boards/common/board_card.sv
boards/common/hbm_stacks.sv
boards/opennic/axil_cross.sv
boards/opennic/frame_gate.sv
boards/opennic/frame_hold.sv
boards/opennic/wirekv_250mhz.sv
