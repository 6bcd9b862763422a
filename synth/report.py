"""Area and logic depth of the card (or of any module) on UltraScale+, from Yosys.

    make synth              the card
    make synth TOP=lib_join one module and what it instantiates

Prints a table and writes build/bench/synth.json (build/synth/<TOP>.json for a module). Fails on a
latch, a combinational loop, a cell that was not mapped, or a path over --max-depth LUT6 levels.

What is counted: docs/SYNTHESIS.md.
"""

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb"))
from filelist import expand  # noqa: E402

# LUTs that a distributed RAM or shift register takes.
LUTRAM = {"RAM32X1S": 1, "RAM32X1D": 2, "RAM64X1S": 1, "RAM64X1D": 2, "RAM128X1S": 2,
          "RAM128X1D": 4, "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4,
          "RAM32M16": 8, "RAM64M8": 8, "RAM64X8SW": 8, "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1}
BRAM = {"RAMB18E2": 0.5, "RAMB36E2": 1, "RAMB18E1": 0.5, "RAMB36E1": 1}
FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
LATCHES = ("LDCE", "LDPE", "$_DLATCH", "$dlatch", "$_SR_", "$sr")
FREE = ("INV", "BUF", "IBUF", "OBUF", "BUFG", "BUFGCTRL")  # an inverter merges into its neighbours
MAP_LUTS = (
    "opt_expr -mux_undef -noclkinv",
    # abc9 weighs pin delays in picoseconds and smaller LUTs, and then builds deeper and larger
    # logic; what we count are LUT6 levels and LUT6s, so they are the cost here.
    "abc -lut 6",
    "clean",
    "xilinx_srl -fixed -minlen 3",
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
    "opt_lut_ins -tech xilinx",
)


def synthesise(top, netlist, log):
    """Runs Yosys, its own output goes to `log`; returns the module of every instance."""
    packages, includes = expand("rtl/pkg.f", "rtl/lib/lib.f")
    packages = [p for p in packages if p.stem.endswith("_pkg")]
    file = next(ROOT.glob(f"rtl/*/{top}.sv"), None)
    if file is None:
        sys.exit(f"there is no rtl/*/{top}.sv")
    words = ["read_slang", "--best-effort-hierarchy", "--top", top, *map(str, packages), str(file)]
    words += [w for i in includes for w in ("-I", str(i))]
    # One module per file, named after it: the rest is found by name.
    words += [w for d in sorted(ROOT.glob("rtl/*/")) for w in ("-y", str(d))]
    words += ["--libext", ".sv"]
    flow = f"synth_xilinx -family xcup -abc9 -flatten -noiopad -noclkbuf -top {top} -run"
    out = os.dup(1)
    with open(log, "w") as f:
        sys.stdout.flush()
        os.dup2(f.fileno(), 1)
        try:
            from pyosys import libyosys as ys

            design = ys.Design()

            def run(*commands):
                for command in commands:
                    ys.run_pass(command, design)

            run(" ".join(words))
            # Every instance has a module of its own, called module$path.
            modules = {str(m.name).lstrip("\\"): m for m in design.modules_.values()}
            # The mapper saves LUTs wherever a path is shorter than the longest of the module. So
            # the card's instances are mapped each by itself: fewer paths are made deeper.
            parts = modules[top].cells_.values() if top == "card" else ()
            for name in {str(cell.type).lstrip("\\") for cell in parts} & modules.keys():
                modules[name].set_bool_attribute(ys.IdString("\\keep_hierarchy"), True)
            run(f"{flow} begin:map_dsp", "opt_hier", f"{flow} map_dsp:map_luts", *MAP_LUTS)
            # Paths are measured through the boundaries.
            run("setattr -mod -unset keep_hierarchy *", "flatten", f"{flow} finalize:edif")
            run("check", f"write_json {netlist}")
        finally:
            os.dup2(out, 1)
    paths = (name.split("$", 1) for name in modules if "$" in name)
    return {path.removeprefix(f"{top}."): module for module, path in paths}


class Netlist:
    def __init__(self, path, top, modules):
        module = json.load(open(path))["modules"][top]
        self.modules, self.top = modules, top
        self.cells = module["cells"]
        self.names = self._names(module["netnames"])
        self.driver, self.sinks = {}, defaultdict(list)
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                out = cell["port_directions"][port] == "output"
                for i, bit in enumerate(bits):
                    if isinstance(bit, str):
                        continue  # a constant
                    if out:
                        self.driver[bit] = name, port
                    else:
                        self.sinks[bit].append(name)

    @staticmethod
    def _names(netnames):
        """Name of each bit; registers are called *_q, ports of inner modules only borrow it."""
        def rank(name):
            field = name.rsplit("[", 1)[0]
            return field.endswith("_q") or "_q." in field, name.count(".")

        names = {}
        for name, net in netnames.items():
            if net["hide_name"]:
                continue
            key = rank(name)
            for i, bit in enumerate(net["bits"]):
                label = f"{name}[{i}]" if len(net["bits"]) > 1 else name
                if bit not in names or key > names[bit][0]:
                    names[bit] = key, label
        return {bit: label for bit, (_, label) in names.items()}

    def kind(self, name):
        return self.cells[name]["type"]

    def outputs(self, name):
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                yield from ((port, b) for b in bits if not isinstance(b, str))

    def inputs(self, name):
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                yield from ((port, b) for b in bits if not isinstance(b, str))

    # ------------------------------------------------------------ what belongs to whom
    def instance(self, name):
        """Innermost instance that a named thing lies in."""
        parts = name.removeprefix("$flatten").replace("\\", "").split(".")
        for n in range(len(parts) - 1, 0, -1):
            path = ".".join(parts[:n])
            if path in self.modules:
                return path
        return ""

    def owners(self):
        """Instance of every cell: registers and RAMs by name, logic by what it drives."""
        owner = {}
        for name in self.cells:
            if self.kind(name) in FLOPS:
                nets = (self.names[b] for _, b in self.outputs(name) if b in self.names)
                owner[name] = self.instance(next(nets, ""))
            elif self.is_ram(name) or self.kind(name).startswith("DSP"):
                owner[name] = self.instance(name)
        for name in reversed(self.order):
            if name not in owner:
                sinks = (s for _, b in self.outputs(name) for s in self.sinks[b] if s in owner)
                owner[name] = owner.get(next(sinks, ""), "")
        return {name: owner.get(name, "") for name in self.cells}

    def is_ram(self, name):
        kind = self.kind(name)
        return kind in LUTRAM or kind in BRAM or kind.startswith("URAM")

    # ------------------------------------------------------------ depth
    def arc(self, name, port):
        """Levels from an input port through the cell, or None where a path ends there."""
        kind = self.kind(name)
        if kind.startswith("LUT"):
            return 1
        if kind.startswith("MUXF") or kind in FREE:
            return 0
        if kind in ("CARRY4", "CARRY8"):
            return 0 if port.startswith("CI") else 1
        if kind in LUTRAM:  # reading is a look-up
            return 1 if port.startswith(("A", "DPRA")) else None
        if kind.startswith("DSP48"):
            registers = ("AREG", "BREG", "MREG", "PREG")
            parameters = self.cells[name]["parameters"]
            registered = any(int(str(parameters.get(r, "1")), 2) for r in registers)
            return None if registered or port == "CLK" else 2
        return None

    def analyse(self):
        """Finds the level of every bit that logic drives; returns the cells of loops."""
        self.order, self.level, self.back = [], {}, {}
        logic = {n for n in self.cells if any(self.arc(n, p) is not None for p, _ in self.inputs(n))}
        pending = {
            name: {bit for port, bit in self.inputs(name) if self.arc(name, port) is not None
                   and self.driver.get(bit, ("",))[0] in logic}
            for name in logic
        }
        ready = [name for name, bits in pending.items() if not bits]
        while ready:
            name = ready.pop()
            self.order.append(name)
            level, last = (1 if self.kind(name) in LUTRAM else 0), None
            for port, bit in self.inputs(name):
                arc = self.arc(name, port)
                if arc is not None and (last is None or self.level.get(bit, 0) + arc > level):
                    level, last = max(level, self.level.get(bit, 0) + arc), bit
            for _, bit in self.outputs(name):
                self.level[bit], self.back[bit] = level, last
                for sink in {s for s in self.sinks[bit] if bit in pending.get(s, ())}:
                    pending[sink].discard(bit)
                    if not pending[sink]:
                        ready.append(sink)
        return [name for name, bits in pending.items() if bits]

    def endpoints(self):
        """(level, bit, cell) of every register and RAM input."""
        for name in self.cells:
            for port, bit in self.inputs(name):
                if self.arc(name, port) is None and bit in self.level:
                    yield self.level.get(bit, 0), bit, name

    def path(self, bit, cell):
        """Named nets on the way to an endpoint."""
        nets = [next((self.names[b] for _, b in self.outputs(cell) if b in self.names), cell)]
        while bit is not None:
            if bit in self.names:
                nets.append(self.names[bit])
            bit = self.back.get(bit)
        return nets[::-1]


def area(netlist, names):
    kinds = [netlist.kind(n) for n in names]
    return {
        "lut": sum(1 if k.startswith("LUT") else LUTRAM.get(k, 0) for k in kinds),
        "lutram": sum(LUTRAM.get(k, 0) for k in kinds),
        "ff": sum(k in FLOPS for k in kinds),
        "bram": sum(BRAM.get(k, 0) for k in kinds),
        "uram": sum(k.startswith("URAM") for k in kinds),
        "dsp": sum(k.startswith("DSP") for k in kinds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("top", nargs="?", default="card")
    parser.add_argument("--max-depth", type=int, default=12, help="LUT6 levels allowed")
    parser.add_argument("--rows", type=int, default=2, help="levels of hierarchy in the table")
    args = parser.parse_args()
    work = ROOT / "build" / "synth"
    work.mkdir(parents=True, exist_ok=True)
    path, log = work / f"{args.top}.netlist.json", work / f"{args.top}.log"

    os.chdir(ROOT)
    begin = time.time()
    print(f"synthesising {args.top} (log: {log.relative_to(ROOT)}) ...", flush=True)
    try:
        modules = synthesise(args.top, path, log)
    except Exception as error:  # noqa: BLE001 - whatever Yosys throws
        print("\n".join(log.read_text().splitlines()[-30:]))
        sys.exit(f"Yosys failed: {error}")
    netlist = Netlist(path, args.top, modules)
    faults = []
    for name in netlist.cells:
        kind = netlist.kind(name)
        if kind.startswith(LATCHES):
            faults.append(f"latch: {name}")
        elif kind.startswith("$") and kind != "$scopeinfo":
            faults.append(f"not mapped: {name} ({kind})")
    loops = netlist.analyse()
    if loops:
        faults.append(f"combinational loop through {len(loops)} cells, among them "
                      + ", ".join(sorted({netlist.names.get(b, "") for c in loops
                                          for _, b in netlist.outputs(c)} - {""})[:10]))

    owners = netlist.owners()
    members = defaultdict(list)
    for cell, owner in owners.items():
        parts = owner.split(".") if owner else []
        for n in range(len(parts) + 1):
            members[".".join(parts[:n])].append(cell)
    ends = sorted(netlist.endpoints(), reverse=True, key=lambda e: e[0])
    depth = defaultdict(int)
    for level, _, cell in ends:
        parts = owners[cell].split(".") if owners[cell] else []
        for n in range(len(parts) + 1):
            path_ = ".".join(parts[:n])
            depth[path_] = max(depth[path_], level)

    rows = []
    for inst in sorted(members, key=lambda i: i.split(".") if i else []):
        module = modules.get(inst, args.top if not inst else "")
        rows.append({"instance": inst, "module": module, **area(netlist, members[inst]),
                     "depth": depth[inst]})
    print(f"\n{'instance':34}{'module':18}{'LUT':>8}{'LUTRAM':>8}{'FF':>8}{'BRAM':>8}{'URAM':>6}"
          f"{'DSP':>5}{'levels':>8}")
    for row in rows:
        level = row["instance"].count(".") + 1 if row["instance"] else 0
        if level <= args.rows:
            label = "  " * level + (row["instance"].rsplit(".", 1)[-1] or args.top)
            print(f"{label:34}{row['module']:18}{row['lut']:8}{row['lutram']:8}{row['ff']:8}"
                  f"{row['bram']:8}{row['uram']:6}{row['dsp']:5}{row['depth']:8}")

    paths, seen = [], set()
    for level, bit, cell in ends:
        nets = netlist.path(bit, cell)
        key = tuple(n.split("[")[0] for n in (nets[0], nets[-1]))  # one of each bus
        if key not in seen:
            seen.add(key)
            paths.append({"levels": level, "nets": nets})
        if len(paths) == 8:
            break
    print("\ndeepest paths (LUT6 levels, from register to register):")
    for p in paths:
        nets = p["nets"] if len(p["nets"]) < 8 else [*p["nets"][:4], "..", *p["nets"][-3:]]
        print(f"{p['levels']:4}  {' > '.join(nets)}")
    counts = defaultdict(int)
    for level, _, _ in ends:
        counts[level] += 1
    print("endpoints by level: " + ", ".join(f"{k}: {v}" for k, v in sorted(counts.items())))

    if depth[""] > args.max_depth:
        faults.append(f"{depth['']} levels of logic; {args.max_depth} are allowed")
    report = {"top": args.top, "family": "xcup", **{k: v for k, v in rows[0].items()
              if k not in ("instance", "module")},
              "instances": rows, "paths": paths,
              "endpoints_by_level": dict(sorted(counts.items())), "faults": faults,
              "seconds": round(time.time() - begin)}
    out = ROOT / ("build/bench/synth.json" if args.top == "card" else f"build/synth/{args.top}.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1))
    print(f"\n{out.relative_to(ROOT)} written after {report['seconds']} s")
    for fault in faults:
        print(f"FAULT {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
