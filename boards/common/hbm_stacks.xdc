# Between the card's clock and HBM's reference: two bits, each taken into two registers.
set_false_path -to [get_pins -filter {REF_PIN_NAME == D} -of_objects [get_cells -hierarchical -filter {NAME =~ *u_hbm/ref_up_q_reg[0]}]]
set_false_path -to [get_pins -filter {REF_PIN_NAME == D} -of_objects [get_cells -hierarchical -filter {NAME =~ *u_hbm/ready_q_reg[0]}]]
