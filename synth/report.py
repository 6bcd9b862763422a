"""Area and logic depth of the card (or of any module) on UltraScale+, from Yosys.

    make synth              the card
    make synth TOP=lib_join one module and what it instantiates
    make synth CONFIG=Small a variant of the card (rtl/top/config_pkg.sv), or of TOP
    make synth TOP=cl_wirekv WITHOUT=card    a board's top without the instances of a module

Prints a table and writes build/bench/synth.json (build/synth/<TOP>.json for a module, <TOP>-<CONFIG>.json), and beside it
every endpoint with its time, as CSV. Fails on a latch, a combinational loop, a net with two drivers, a
cell that was not mapped, a path over --max-depth LUT6 levels or over --max-ns.

What is counted, and the model of delays: docs/SYNTHESIS.md.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb"))
import timed  # noqa: E402
from delay import PERIOD, Delays, net  # noqa: E402
from harness import hbm  # noqa: E402
from harness.boards import TOPS  # noqa: E402
from harness.filelist import expand  # noqa: E402
from netlist import BRAM, FLOPS, LATCHES, LUTRAM, Netlist  # noqa: E402
from replicas import replicate  # noqa: E402
from restructure import restructure  # noqa: E402

#: Where modules are; those of vendors' tools.
FOLDERS = ("rtl", "boards")
VENDORS = ("cl_hbm", "sh_ddr")
#: The core of rtl/machine, a netlist whose file has another name than its module.
CORE = ROOT / "build" / "vexriscv" / "VexRiscv_FullCfu.v"
#: Yosys goes on, and what it then counts is of no value.
CONFLICTS = re.compile(r"multiple conflicting drivers for (\S+)")
# abc9 weighs pin delays in picoseconds and smaller LUTs, and then builds deeper and larger logic; what
# we count are LUT6 levels and LUT6s, so they are the cost here. Of two ways to build the same logic
# "if -g" (SOP balancing) finds the one of fewer levels; the rest is what Yosys does by itself, but that
# LUTs are saved for longer (-C, -F, -A).
MAP_LUTS = (
    "opt_expr -mux_undef -noclkinv",
    "abc -lut 6 -script +strash;&get,-n;&fraig,-x;&put;scorr;dc2;strash;if,-g;strash;if,-g;strash;dch,-f;"
    "if,-C,16,-F,3,-A,3;mfs2;lutpack,-S,1",
    "clean",
)
MAP_CELLS = (
    "xilinx_srl -fixed -minlen 3",
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
    "opt_lut_ins -tech xilinx",
)


@contextlib.contextmanager
def yosys(log):
    """Yosys works, and what it prints goes behind what the file has; if it fails, this program ends with the last of it."""
    out, failure = os.dup(1), None
    sys.stdout.flush()
    with open(log, "a") as f:
        os.dup2(f.fileno(), 1)
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever Yosys throws
        failure = error
    sys.stdout.flush()
    os.dup2(out, 1)
    os.close(out)
    if failure:
        print("\n".join(log.read_text().splitlines()[-30:]))
        sys.exit(f"Yosys failed: {failure}")


def reading(top, variant, without=()):
    """The command by which Yosys reads a module and all below it but the inside of some, and of what a vendor's tool brings."""
    packages, includes = expand("rtl/pkg.f", "rtl/lib/lib.f")
    packages = [p for p in packages if p.stem.endswith("_pkg")]
    file = next((path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/{top}.sv")), None)
    if file is None:
        sys.exit(f"there is no {top}.sv in {' or '.join(FOLDERS)}")
    words = ["read_slang", "--best-effort-hierarchy", "--top", top, *map(str, packages), str(file)]
    words += [str(CORE)] if file.is_relative_to(ROOT / "rtl/machine") else []
    words += [w for i in includes for w in ("-I", str(i))]
    words += ["-D", f"WIREKV_CONFIG={variant}"] if variant else []
    monitored = top in TOPS and TOPS[top].monitor
    words += ["-D", "WIREKV_HBM_MONITOR"] if monitored else []
    vendors = [str(ROOT / path) for path in (*hbm.files(monitored), "tb/boards/sh_ddr.sv")] if file.is_relative_to(ROOT / "boards") else []
    words += [*vendors, *(w for name in (*without, *(VENDORS if vendors else ())) for w in ("--blackboxed-module", name))]
    # One module per file, named after it: the rest is found by name.
    words += [w for folder in FOLDERS for d in sorted(ROOT.glob(f"{folder}/**/")) for w in ("-y", str(d))]
    return " ".join([*words, "--libext", ".sv"])


class Flow:
    """A module in Yosys: mapped once, and then as often as it is asked."""

    def __init__(self, top, variant, log, work, without=()):
        """Its output goes to `log`, ABC's files to `work`."""
        shutil.rmtree(work, ignore_errors=True)
        (work / "tmp").mkdir(parents=True)
        log.unlink(missing_ok=True)
        os.environ["TMPDIR"] = str(work / "tmp")  # where Yosys puts what it gives to ABC
        from pyosys import libyosys as ys

        self.design, self.run_pass, self.log, self.work = ys.Design(), ys.run_pass, log, work
        self.flow = f"synth_xilinx -family xcup -uram -abc9 -flatten -noiopad -noclkbuf -top {top} -run"
        with yosys(log):
            self.run(reading(top, variant, without))
            # Every instance has a module of its own, called module$path.
            modules = {str(m.name).lstrip("\\"): m for m in self.design.modules_.values()}
            # The mapper saves LUTs wherever a path is shorter than the longest of the module. So
            # the card's instances are mapped each by itself: fewer paths are made deeper.
            cells = modules[top].cells_.values() if top == "card" else ()
            cells = {str(cell.name).lstrip("\\"): str(cell.type).lstrip("\\") for cell in cells}
            #: The module of each such instance, and of what is around them; of every instance.
            self.parts = {instance: name for instance, name in cells.items() if name in modules} | {"": top}
            self.modules = {path.removeprefix(f"{top}."): module for module, _, path in
                            (name.partition("$") for name in modules) if path}
            for name in set(self.parts.values()) - {top}:
                modules[name].set_bool_attribute(ys.IdString("\\keep_hierarchy"), True)
            self.run(f"{self.flow} begin:map_dsp", "opt_hier", f"{self.flow} map_dsp:map_luts", *MAP_LUTS)
            self.times = timed.times(self.run, top, self.modules, work)
            self.run("design -save mapped")

    def run(self, *commands):
        for command in commands:
            self.run_pass(command, self.design)

    def map(self, margins, path):
        """Maps each of `parts` with its margin in ns, and writes the netlist to `path`."""
        with yosys(self.log):
            self.run("design -load mapped")
            timed.map_again(self.run, self.times, self.parts, margins, self.work)
            self.run(*(f"setattr -mod -unset keep_hierarchy {name}" for name in self.parts.values()), "flatten")
            self.run(*MAP_CELLS)
            # Paths are measured through all boundaries.
            self.run("setattr -mod -unset keep_hierarchy *", "flatten", f"{self.flow} finalize:edif")
            self.run("check", f"write_json {path}")


class Mapping:
    """A netlist of a mapping, with replicas of what is late in it."""

    def __init__(self, path, top, flow, max_ns):
        self.netlist = netlist = Netlist(path, top, flow.modules)
        self.loops = netlist.analyse()
        #: Replicas of each kind, and LUTs that were made anew.
        self.made = replicate(netlist)
        self.anew = restructure(netlist)
        self.made += replicate(netlist)
        self.delays = Delays(netlist)
        #: Every endpoint, the latest first, and how many are too late in each of the flow's parts.
        self.ends = sorted(self.delays.endpoints(), reverse=True, key=lambda e: e[0])
        self.owners = netlist.owners()
        lie_in = (self.owners[cell].split(".")[0] for ns, _, cell, _ in self.ends if ns > max_ns)
        self.over = Counter(part if part in flow.parts else "" for part in lie_in)


def in_time(path, top, flow, max_ns):
    """Maps a module until it is in time: what is not gets the next margin. Else the best is taken."""
    tries, best = dict.fromkeys(flow.parts, 0), None
    while True:
        begin = time.time()
        flow.map({part: timed.MARGINS[number] for part, number in tries.items()}, path)
        mapping = Mapping(path, top, flow, max_ns)
        best = min(best or mapping, mapping, key=lambda mapping: mapping.over.total())
        late = ", ".join(f"{number} of {part or top} with {timed.MARGINS[tries[part]]:.2f}" for part, number in mapping.over.items())
        print(f"mapped in {time.time() - begin:.0f} s: {mapping.over.total()} of {len(mapping.ends)} endpoints later than "
              f"{max_ns:.2f} ns{': ' if late else ''}{late}", flush=True)
        again = [part for part in mapping.over if tries[part] + 1 < len(timed.MARGINS)]
        for part in again:
            tries[part] += 1
        if not again:
            return best


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


def of_instances(owners, ends):
    """The largest figure among the endpoints of each instance and all below it. ends: (figure, cell)."""
    worst = defaultdict(float)
    for figure, cell in ends:
        for inst in within(owners[cell]):
            worst[inst] = max(worst[inst], figure)
    return worst


def within(owner):
    """An instance and all that it lies in, "" for the top."""
    parts = owner.split(".") if owner else []
    return [".".join(parts[:n]) for n in range(len(parts) + 1)]


def one_of_each_bus(paths, count=8):
    """The first so many of (nets, figure) whose ends are not bits of the same two buses."""
    found, seen = [], set()
    for nets, figure in paths:
        key = nets[0].split("[")[0], nets[-1].split("[")[0]
        if key not in seen:
            seen.add(key)
            found.append((nets, figure))
        if len(found) == count:
            break
    return found


def shortened(nets):
    return " > ".join(nets if len(nets) < 8 else [*nets[:4], "..", *nets[-3:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("top", nargs="?", default="card")
    parser.add_argument("--max-depth", type=int, default=8, help="LUT6 levels allowed")
    parser.add_argument("--max-ns", type=float, default=PERIOD, help="delay allowed, by the model")
    parser.add_argument("--rows", type=int, default=2, help="levels of hierarchy in the table")
    parser.add_argument("--variant", help="of the card, see rtl/top/config_pkg.sv")
    parser.add_argument("--without", nargs="+", default=(), help="modules whose inside is left out")
    parser.add_argument("--read", action="store_true", help="only read it, with no warning")
    args = parser.parse_args()
    work = ROOT / "build" / "synth"
    work.mkdir(parents=True, exist_ok=True)
    what = "-".join(filter(None, (args.top, args.variant, *(f"no_{name}" for name in args.without))))
    path, log = work / f"{what}.netlist.json", work / f"{what}.log"

    os.chdir(ROOT)
    if args.read:
        from pyosys import libyosys as ys

        log = log.with_suffix(".read.log")
        log.unlink(missing_ok=True)
        with yosys(log):
            ys.run_pass(reading(args.top, args.variant, args.without), ys.Design())
        warnings = [line for line in log.read_text().splitlines() if "Warning" in line]
        sys.exit("\n".join(warnings) or 0)
    begin = time.time()
    print(f"synthesising {what} (log: {log.relative_to(ROOT)}) ...", flush=True)
    flow = Flow(args.top, args.variant, log, work / f"{what}.abc", args.without)
    mapping = in_time(path, args.top, flow, args.max_ns)
    shutil.rmtree(flow.work)
    netlist, delays, late, owners = mapping.netlist, mapping.delays, mapping.ends, mapping.owners
    faults = []
    for name in netlist.cells:
        kind = netlist.kind(name)
        if kind.startswith(LATCHES):
            faults.append(f"latch: {name}")
        elif kind.startswith("$") and kind != "$scopeinfo":
            faults.append(f"not mapped: {name} ({kind})")
    faults += sorted({f"driven twice: {net}" for net in CONFLICTS.findall(log.read_text())})
    if mapping.loops:
        faults.append(f"combinational loop through {len(mapping.loops)} cells, among them "
                      + ", ".join(sorted({netlist.names.get(b, "") for c in mapping.loops
                                          for _, b in netlist.outputs(c)} - {""})[:10]))

    members = defaultdict(list)
    for cell, owner in owners.items():
        for inst in within(owner):
            members[inst].append(cell)
    deep = sorted(netlist.endpoints(), reverse=True, key=lambda e: e[0])
    depth = of_instances(owners, ((level, cell) for level, _, cell in deep))
    latest = of_instances(owners, ((ns, cell) for ns, _, cell, _ in late))

    rows = []
    for inst in sorted(members, key=lambda i: i.split(".") if i else []):
        module = flow.modules.get(inst, args.top if not inst else "")
        rows.append({"instance": inst, "module": module, **area(netlist, members[inst]),
                     "depth": int(depth[inst]), "ns": round(latest[inst], 2)})
    print(f"\n{'instance':34}{'module':18}{'LUT':>8}{'LUTRAM':>8}{'FF':>8}{'BRAM':>8}{'URAM':>6}"
          f"{'DSP':>5}{'levels':>8}{'ns':>7}")
    for row in rows:
        level = row["instance"].count(".") + 1 if row["instance"] else 0
        if level <= args.rows:
            label = "  " * level + (row["instance"].rsplit(".", 1)[-1] or args.top)
            print(f"{label:34}{row['module']:18}{row['lut']:8}{row['lutram']:8}{row['ff']:8}"
                  f"{row['bram']:8}{row['uram']:6}{row['dsp']:5}{row['depth']:8}{row['ns']:7.2f}")

    print("\nof these replicas of what was late: " + ", ".join(f"{mapping.made[kind]} {kind}" for kind in ("LUT", "FF"))
          + f"; LUTs of late paths that took in another: {mapping.anew}")

    deepest = one_of_each_bus((netlist.path(bit, cell), level) for level, bit, cell in deep)
    print("\ndeepest paths (LUT6 levels, from register to register):")
    for nets, level in deepest:
        print(f"{level:4}  {shortened(nets)}")
    levels = Counter(level for level, _, _ in deep)
    print("endpoints by level: " + ", ".join(f"{k}: {v}" for k, v in sorted(levels.items())))

    slowest = one_of_each_bus((delays.path(bit, cell), ns) for ns, bit, cell, _ in late)
    print("\nlatest paths (ns by the model; behind a net, when it is driven):")
    for nets, ns in slowest:
        print(f"{ns:6.2f}  {shortened(nets)}")
    halves = Counter(int(2 * ns) / 2 for ns, *_ in late)
    over = sum(ns > PERIOD for ns, *_ in late)
    print("endpoints from so many ns on: " + ", ".join(f"{k}: {v}" for k, v in sorted(halves.items())))
    slack = PERIOD - late[0][0] if late else PERIOD
    print(f"slack at {1000 / PERIOD:.0f} MHz: {slack:.2f} ns; without slack: {over} of {len(late)}")
    fanouts = delays.fanouts(10)
    print("\nlargest fan-outs (sinks, ns of the net, driver):")
    for sinks, kind, name in fanouts:
        print(f"{sinks:6}{net(sinks):6.2f}  {kind:8} {name}")

    if depth[""] > args.max_depth:
        faults.append(f"{int(depth[''])} levels of logic; {args.max_depth} are allowed")
    if latest[""] > args.max_ns:
        faults.append(f"{latest['']:.2f} ns by the model; {args.max_ns:.2f} are allowed")
    report = {"top": args.top, "variant": args.variant, "family": "xcup", **{k: v for k, v in rows[0].items()
              if k not in ("instance", "module")},
              "replicas": mapping.made, "restructured": mapping.anew,
              "slack": round(slack, 2), "endpoints": len(late), "endpoints_without_slack": over,
              "instances": rows,
              "paths": [{"levels": level, "nets": nets} for nets, level in deepest],
              "latest_paths": [{"ns": round(ns, 2), "nets": nets} for nets, ns in slowest],
              "fanouts": [{"sinks": n, "driver": kind, "net": name} for n, kind, name in fanouts],
              "endpoints_by_level": dict(sorted(levels.items())),
              "endpoints_by_ns": dict(sorted(halves.items())), "faults": faults,
              "seconds": round(time.time() - begin)}
    out = ROOT / ("build/bench/synth.json" if what == "card" else f"build/synth/{what}.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1))
    delays.write(late, out.with_suffix(".csv"))
    print(f"\n{out.relative_to(ROOT)} and .csv written after {report['seconds']} s")
    for fault in faults:
        print(f"FAULT {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
