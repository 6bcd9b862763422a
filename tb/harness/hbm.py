"""The pins of AMD's IP for HBM, with a model behind them: RAM of its own behind each of the 32 ports (tb/boards/hbm_channel.sv).
The pins are named by the port's number, so the module is text that is made here."""

from harness.filelist import ROOT

#: Of each port: direction, bits, name. Those of `hbm_channel` but the last seven have their names in small letters.
PORT = [
    ("input", 1, "ACLK"), ("input", 1, "ARESET_N"),
    ("input", 34, "ARADDR"), ("input", 4, "ARLEN"), ("input", 3, "ARSIZE"), ("input", 2, "ARBURST"), ("input", 1, "ARVALID"),
    ("output", 1, "ARREADY"),
    ("input", 34, "AWADDR"), ("input", 4, "AWLEN"), ("input", 3, "AWSIZE"), ("input", 2, "AWBURST"), ("input", 1, "AWVALID"),
    ("output", 1, "AWREADY"),
    ("input", 256, "WDATA"), ("input", 32, "WSTRB"), ("input", 1, "WLAST"), ("input", 1, "WVALID"), ("output", 1, "WREADY"),
    ("output", 2, "BRESP"), ("output", 1, "BVALID"), ("input", 1, "BREADY"),
    ("output", 256, "RDATA"), ("output", 2, "RRESP"), ("output", 1, "RLAST"), ("output", 1, "RVALID"), ("input", 1, "RREADY"),
    ("input", 6, "ARID"), ("input", 6, "AWID"), ("input", 32, "WDATA_PARITY"),
    ("output", 6, "BID"), ("output", 6, "RID"), ("output", 32, "RDATA_PARITY"),
]  # fmt: skip
IDLE = 6
#: Of each stack, with its number in the name.
STACK = [
    ("input", 1, "HBM_REF_CLK_{}"), ("input", 1, "APB_{}_PCLK"), ("input", 1, "APB_{}_PRESET_N"), ("input", 22, "APB_{}_PADDR"),
    ("input", 1, "APB_{}_PSEL"), ("input", 1, "APB_{}_PENABLE"), ("input", 1, "APB_{}_PWRITE"), ("input", 32, "APB_{}_PWDATA"),
    ("output", 32, "APB_{}_PRDATA"), ("output", 1, "APB_{}_PREADY"), ("output", 1, "APB_{}_PSLVERR"),
    ("output", 1, "DRAM_{}_STAT_CATTRIP"), ("output", 7, "DRAM_{}_STAT_TEMP"), ("output", 1, "apb_complete_{}"),
]  # fmt: skip
#: Its monitor.
MONITOR = [
    ("input", 1, "MON_APB_{}_PRESET_N"), ("output", 22, "APB_{}_PADDR_MON"), ("output", 1, "APB_{}_PSEL_MON"),
    ("output", 1, "APB_{}_PENABLE_MON"), ("output", 1, "APB_{}_PWRITE_MON"), ("output", 32, "APB_{}_PWDATA_MON"),
    ("output", 1, "APB_{}_PREADY_MON"), ("output", 32, "APB_{}_PRDATA_MON"), ("output", 1, "APB_{}_PSLVERR_MON"),
]  # fmt: skip
#: What the model's monitor says on its outputs, of each stack.
SAYS = [(0x2A0C1, 1, 0, 1, 0x5A0FF0A5, 0, 0x3C1E8421, 1), (0x15F3E, 0, 1, 0, 0xA5F00F5A, 1, 0xC3E17BDE, 0)]
#: Both are calibrated so many clocks of the reference after their reset.
CALIBRATION = 100


def files(monitor):
    """The model's files, made if they are not there. `monitor`: the pins of AWS' shell are."""
    path = ROOT / "build" / "tb" / ("hbm_monitored" if monitor else "hbm") / "cl_hbm.sv"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = module(monitor)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return ["tb/boards/hbm_channel.sv", str(path)]


def module(monitor):
    ports, body = [], ["assign {%s} = '0;" % ", ".join(
        f"AXI_{n:02}_{name}" for n in range(32) for direction, _, name in PORT[-IDLE:] if direction == "output")]

    def pins(names, prefix="", number=""):
        ports.extend(f"  {direction} logic [{bits - 1}:0] {prefix}{name.format(number)}" for direction, bits, name in names)

    for n in range(32):
        pins(PORT, f"AXI_{n:02}_")
        joined = [f".clk_i(AXI_{n:02}_ACLK)", f".rst_ni(AXI_{n:02}_ARESET_N)", ".calibrated_i(apb_complete_0 && apb_complete_1)"]
        joined += [f".{name.lower()}(AXI_{n:02}_{name})" for _, _, name in PORT[2:-IDLE]]
        body.append(f"hbm_channel #(.Channel({n})) u_channel_{n} ({', '.join(joined)});")
    for s in range(2):
        pins(STACK, number=s)
        body.append(f"""
  logic [7:0] count_{s}_q;
  initial count_{s}_q = '0;
  always_ff @(posedge APB_{s}_PCLK)
    count_{s}_q <= !APB_{s}_PRESET_N ? '0 : apb_complete_{s} ? count_{s}_q : count_{s}_q + 8'd1;
  assign apb_complete_{s} = count_{s}_q == 8'd{CALIBRATION};
  assign {{APB_{s}_PRDATA, APB_{s}_PREADY, APB_{s}_PSLVERR, DRAM_{s}_STAT_CATTRIP, DRAM_{s}_STAT_TEMP}} = '0;""")
        if monitor:
            pins(MONITOR, number=s)
            body += [f"assign {name.format(s)} = MON_APB_{s}_PRESET_N ? {bits}'d{says} : '0;"
                     for (_, bits, name), says in zip(MONITOR[1:], SAYS[s])]
    return "// verilator lint_off UNUSEDSIGNAL\nmodule cl_hbm (\n" + ",\n".join(ports) + "\n);\n  " + "\n  ".join(body) + (
        "\nendmodule\n// verilator lint_on UNUSEDSIGNAL\n")
