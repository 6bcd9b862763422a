# WireKV in OpenNIC's 250 MHz box. The shell's build.tcl runs this here, when its project is open, with the board's name in
# `board`. The environment's WIREKV_CONFIG, if it is there, names a variant of the card.
set wirekv [file normalize [file join [file dirname [info script]] .. ..]]
set hbm_gib [dict create au50 8 au280 8 au55c 16]
if {![dict exists $hbm_gib $board]} {
    error "WireKV has no memory on $board: boards with HBM are [dict keys $hbm_gib]"
}
foreach {name value} {use_phys_func 1 num_phys_func 2 num_cmac_port 1 num_qdma 1} {
    if {[set $name] != $value} {
        error "WireKV takes -$name $value, not [set $name]"
    }
}

source ${wirekv}/boards/common/files.tcl
lassign [wirekv_sources $wirekv boards/opennic/wirekv_250mhz.f] files headers
read_verilog -quiet -sv $files
lappend include_dirs {*}$headers
if {[info exists ::env(WIREKV_CONFIG)]} {
    set_property verilog_define "[get_property verilog_define [current_fileset]] WIREKV_CONFIG=$::env(WIREKV_CONFIG)" [current_fileset]
}

# Both stacks, with a reference of 100 MHz and ports of 250 MHz.
create_ip -name hbm -vendor xilinx.com -library ip -module_name cl_hbm
set_property -dict [list \
    CONFIG.USER_HBM_STACK {2} \
    CONFIG.USER_HBM_DENSITY [dict get $hbm_gib $board]GB \
    CONFIG.USER_HBM_REF_CLK_0 {100} \
    CONFIG.USER_HBM_REF_CLK_1 {100} \
    CONFIG.USER_AXI_INPUT_CLK_FREQ {250} \
    CONFIG.USER_AXI_INPUT_CLK1_FREQ {250} \
    CONFIG.USER_CLK_SEL_LIST0 {AXI_00_ACLK} \
    CONFIG.USER_CLK_SEL_LIST1 {AXI_16_ACLK} \
] [get_ips cl_hbm]
generate_target synthesis [get_ips cl_hbm]

read_xdc -unmanaged ${wirekv}/boards/common/hbm_stacks.xdc
