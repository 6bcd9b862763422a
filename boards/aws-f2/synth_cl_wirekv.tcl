# Synthesis of cl_wirekv in AWS' kit: goes into build/scripts of a custom logic that create_new_cl.py has made. The environment's
# WIREKV is this repository; WIREKV_CONFIG, if it is there, names a variant of the card.
if {![info exists ::env(WIREKV)]} {
    error "WIREKV must be set: the folder of the WireKV repository"
}
set wirekv $::env(WIREKV)

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_header.tcl

source ${wirekv}/boards/common/files.tcl
lassign [wirekv_sources $wirekv boards/aws-f2/cl_wirekv.f] files headers
read_verilog -sv $files

# HBM, as the kit has it: both stacks, 16 GiB, 32 ports.
read_ip ${HDK_IP_SRC_DIR}/cl_hbm/cl_hbm.xci

read_xdc ${wirekv}/boards/common/hbm_stacks.xdc
set_property PROCESSING_ORDER LATE [get_files hbm_stacks.xdc]

set defines [list XSDB_SLV_DIS WIREKV_HBM_MONITOR]
if {[info exists ::env(WIREKV_CONFIG)]} {
    lappend defines WIREKV_CONFIG=$::env(WIREKV_CONFIG)
}
update_compile_order -fileset sources_1
synth_design -mode out_of_context -top ${CL} -part ${DEVICE_TYPE} -include_dirs $headers \
    -verilog_define $defines -keep_equivalent_registers

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_footer.tcl
