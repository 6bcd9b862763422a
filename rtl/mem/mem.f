rtl/mem/mem_axi.sv
