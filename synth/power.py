"""Power of the card, and energy of a request, from what its simulation does: `make power`.

    synth/power.py [NAME ...]   scenarios of the bench that were run with --saif build/power --json build/power/NAME.json

Prints tables: the constants with their sources, each scenario's parts, the sums. Every figure is a range. What is
multiplied with what is in docs/PERFORMANCE.md, "Power"; the constants are in synth/power.toml.
"""

import argparse
import json
import re
import sys
import tomllib
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTANTS = tomllib.loads((ROOT / "synth" / "power.toml").read_text())
SCOPE = re.compile(r"\s*\(INSTANCE (\S+)")
NET = re.compile(r"\s*\((\S+?)(?:\\\[(\d+)\\\])? \(T0 (\d+)\) \(T1 (\d+)\) .*\(TC (\d+)\)\)")
REGISTER = re.compile(r"(?!mem_q\b).*_q(\[\d+\])*$")
#: What a scope has that is a lib_ram.
RAM = {"Width", "Depth", "Ultra", "we_i", "re_i"}
SHALLOW = 64  # words of the first one that goes to block RAM, as in lib_ram.sv


@dataclass
class Ram:
    """A lib_ram, and its accesses a clock."""

    width: int
    depth: int
    ultra: bool
    accesses: float

    @property
    def kind(self):
        return "uram" if self.ultra else "bram" if self.depth >= SHALLOW else "lutram"

    def across(self):
        """Blocks that an access reaches."""
        if self.ultra:
            return ceil(self.width / 72)
        # 72 bits of 512 words, 36 of 1,024 ... 1 of 32,768.
        bits = max(1, 72 * 512 >> max(9, (self.depth - 1).bit_length()))
        return ceil(self.width / bits)

    def picojoules(self):
        """A clock."""
        low, high = CONSTANTS[self.kind]["range"]
        return self.accesses * self.width / 72 * low, self.accesses * self.across() * high


@dataclass
class Activity:
    """What a SAIF file says, in clocks: one sample of each signal a clock."""

    clocks: int
    bits: int = 0
    toggles: int = 0
    rams: list[Ram] = field(default_factory=list)

    def rate(self):
        """Toggles of a register, a clock."""
        return self.toggles / self.clocks / self.bits if self.bits else 0.0


def activity(path):
    """Reads what Verilator has written. Registers are what is called *_q, and the outputs of small RAMs, which are
    distributed RAM with registers behind."""
    found, scopes = None, []
    with path.open() as lines:
        for line in lines:
            if net := NET.match(line):
                name, bit, zero, one, count = net[1], int(net[2] or 0), *map(int, net.groups()[2:])
                # Verilator counts from 0, also for what stands at 1 from the start.
                toggles = count - (count == 1 and zero == 0)
                if REGISTER.match(name):
                    found.bits += 1
                    found.toggles += toggles
                elif name == "rdata_o":
                    bits, changes = scopes[-1].get(name, (0, 0))
                    scopes[-1][name] = bits + 1, changes + toggles
                elif name in ("we_i", "re_i"):
                    scopes[-1][name] = one / found.clocks
                elif name in RAM:
                    scopes[-1][name] = scopes[-1].get(name, 0) | (one > zero) << bit
            elif SCOPE.match(line):
                scopes.append({})
            elif line.strip() == "(NET":
                scopes.append(scopes[-1])
            elif line.strip() == ")" and scopes:
                scope = scopes.pop()
                is_net = scopes and scopes[-1] is scope
                if not is_net and RAM <= scope.keys():
                    ram = Ram(scope["Width"], scope["Depth"], bool(scope["Ultra"]), scope["we_i"] + scope["re_i"])
                    if ram.kind == "lutram":
                        bits, changes = scope["rdata_o"]
                        found.bits += bits
                        found.toggles += changes
                    else:
                        found.rams.append(ram)
            elif duration := re.match(r"\(DURATION (\d+)\)", line):
                found = Activity(int(duration[1]))
    if found is None or not found.clocks or not found.bits:
        sys.exit(f"{path} has no registers' toggles")
    return found


def area(report, page):
    """LUTs, registers and blocks of the card, and where they stand: `make synth`'s report, or else the document's table."""
    if report.is_file():
        told = json.loads(report.read_text())
        return {name: told[name] for name in ("lut", "ff", "bram", "uram", "dsp")}, report
    row = re.search(r"^\| card \|(.*)\|$", page.read_text(), re.M)
    if not row:
        sys.exit(f"neither {report} nor a row of the card in {page}")
    lut, _, *rest = [float(cell.replace(",", "")) for cell in row[1].split("|")]
    return dict(zip(("lut", "ff", "bram", "uram", "dsp"), (lut, *rest))), page


def scaled(pair, *factors):
    """A range times factors, some of which are ranges."""
    low, high = pair
    for factor in factors:
        pair = factor if isinstance(factor, (tuple, list)) else (factor, factor)
        low, high = low * pair[0], high * pair[1]
    return low, high


def sums(pairs):
    lows, highs = zip(*pairs)
    return sum(lows), sum(highs)


def parts(found, size, memory_bytes, ops, mhz):
    """W of each part, as ranges. `memory_bytes` and `ops` are for a clock."""
    c = {name: constant["range"] for name, constant in CONSTANTS.items()}
    watts = mhz * 1e6 * 1e-12  # of 1 pJ a clock
    # The netlist has replicas that the RTL has not, and lacks what is constant or unused.
    rtl, netlist = found.bits * found.rate(), size["ff"] * found.rate()
    toggles = min(rtl, netlist), max(rtl, netlist)
    chip = scaled(c["regulators"], watts)
    blocks = size["bram"] + size["uram"]
    rams = {kind: [ram.picojoules() for ram in found.rams if ram.kind == kind] or [(0, 0)] for kind in ("bram", "uram")}
    return {
        "external memory": scaled(c["memory"], memory_bytes * watts),
        "block RAM": scaled(sums(rams["bram"]), chip),
        "UltraRAM": scaled(sums(rams["uram"]), chip),
        "registers' toggles": scaled(c["register"], toggles, chip),
        "clock": scaled(sums([scaled(c["clock"], size["ff"]), scaled(c["ram_clock"], blocks)]), chip),
        "LUTs": scaled(c["register"], c["glitches"], size["lut"] * found.rate(), chip),
        "DSPs": scaled(c["dsp"], size["dsp"] * min(1, ops), chip),
        "network port": tuple(c["port"]),
        "board at rest": tuple(c["rest"]),
    }


def shown(pair):
    """Three digits of each end."""
    ends = [f"{end:,.{0 if end >= 100 else 1 if end >= 10 else 2}f}" for end in pair]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def load(folder, name):
    """The bench's figures of a scenario, and the toggles meanwhile."""
    report, toggles = folder / f"{name}.json", folder / f"{name}.saif"
    for path in (report, toggles):
        if not path.is_file():
            sys.exit(f"{path} is not there: `make power` runs the bench")
    told = json.loads(report.read_text())
    rows = [row for row in told["scenarios"] if row["name"] == name]
    if len(rows) != 1 or rows[0]["memory_bytes"] is None:
        sys.exit(f"{report} does not have {name} with its memory's bytes")
    return told["clock_mhz"], rows[0], activity(toggles)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", default=["tcp-mixed", "udp-get"])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "power")
    parser.add_argument("--area", type=Path, default=ROOT / "build" / "bench" / "synth.json", help="`make synth`'s report")
    args = parser.parse_args()
    size, where = area(args.area, ROOT / "docs" / "PERFORMANCE.md")
    print(f"Area of {where.name}: " + ", ".join(f"{number:,g} {name.upper()}" for name, number in size.items()) + ".")
    table(("constant", "low", "high", "unit", "source"), [
        (name, *map(str, constant["range"]), constant["unit"], constant["source"]) for name, constant in CONSTANTS.items()])
    columns, rates = {}, {}
    for name in args.scenarios:
        mhz, row, found = load(args.folder, name)
        moved = sum(port["read"] + port["written"] for port in row["memory_bytes"])
        columns[name] = parts(found, size, moved / row["clocks"], row["op_per_clock"], mhz)
        rates[name] = row["op_per_clock"] * mhz * 1e6
        told = [f"{moved / row['clocks']:.1f} bytes of memory a clock"]
        idle = args.folder / f"{name}-idle.saif"
        for title, seen in [(name, found)] + ([(idle.stem, activity(idle))] if idle.is_file() else []):
            if title != name:
                columns[title], told = parts(seen, size, 0, 0, mhz), []
            accesses = {kind: sum(ram.accesses for ram in seen.rams if ram.kind == kind) for kind in ("bram", "uram")}
            told += [f"{seen.bits:,} bits of registers, of which {100 * seen.rate():.2f} % toggle in a clock",
                     f"{accesses['bram']:.2f} accesses to RAMs of block RAM a clock, {accesses['uram']:.2f} of UltraRAM"]
            print(f"\n{title}: {seen.clocks:,} clocks, " + ", ".join(told) + ".")
    table(("W at 250 MHz" if mhz == 250 else f"W at {mhz} MHz", *columns), [
        (part, *(shown(column[part]) for column in columns.values())) for part in next(iter(columns.values()))])
    rows = []
    for name, column in columns.items():
        all_of_it = sums(column.values())
        for what, watts in (("the board", all_of_it), ("above the board at rest", sums(
                pair for part, pair in column.items() if part not in ("board at rest", "network port")))):
            rate = rates.get(name)
            rows.append((name, what, shown(watts), f"{rate / 1e6:.1f}" if rate else "",
                         shown([1e9 * end / rate for end in watts]) if rate else "",
                         shown([rate / end / 1e6 for end in reversed(watts)]) if rate else ""))
    table(("scenario", "counted", "W", "M requests/s", "nJ a request", "M requests/s and W"), rows)


if __name__ == "__main__":
    main()
