"""LUT mapping that knows how late each signal is.

Yosys' abc pass maps what lies between two cells that are no logic (registers, RAMs, carry chains, DSPs,
modules mapped by themselves) as if all of it began at once and could end as late as its deepest path.
So a path through a carry chain is mapped in two halves that know nothing of each other, and so are the
halves of one that passes a folder's boundary. Here a design that was mapped once is timed as a whole (delay.py), and
its parts are mapped again: each input comes when it comes by the model, each output has to be there when
what lies behind it still ends within PERIOD, less a margin, or, where it can't, as early as it can.

Run by ABC's script, `timed.py WORK` adds these times (BLIF's .input_arrival, .output_required, in LUTs) to
WORK/mid.blif.
"""

import json
import re
import sys
from pathlib import Path

from delay import LUT, PERIOD, REGISTER, Delays, net
from netlist import Netlist

#: A net within logic, whose sinks are not known before it is mapped: of four.
WIRE = net(4)
#: ABC counts in LUTs, each with such a net.
UNIT = LUT + WIRE
#: What ends so many ns before the PERIOD also does when such a net has more sinks. To be tried in turn: what the mapper
#: makes of one is luck by some hundredths of a ns.
MARGINS = 0.29, 0.31, 0.33, 0.35, 0.27
#: What begins a line of a BLIF by which Yosys tells the name of one of its nets.
NET = re.compile(r"# (ys__n\d+) +(\S+)(?: \[(\d+)\])?$")

#: Behind "strash" and before the mapping, equal and unused logic goes once more.
SCRIPT = """strash
&get -n
&fraig -x
&put
write_blif {work}/mid.blif
!{python} {here} {work}
read_blif -n {work}/timed.blif
strash
dch -f
if -C 16 -F 3 -A 3
mfs2
lutpack -S 1
"""


def times(run, top, modules, work):
    """Of every named bit of the design as it is mapped: (when it is there, when it must be), in UNITs."""
    path = work / "first.json"
    run("design -push-copy", "setattr -mod -unset keep_hierarchy *", "flatten", "blackbox =A:whitebox",
        f"write_json {path}", "design -pop")
    netlist = Netlist(path, top, modules)
    netlist.analyse()
    delays = Delays(netlist)
    tails = delays.tails()
    found = {}
    for name, wires in json.load(open(path))["modules"][top]["netnames"].items():
        for i, bit in enumerate(wires["bits"]):
            if not isinstance(bit, str):
                there = delays.at.get(bit, REGISTER) + net(len(netlist.sinks[bit]))
                must = PERIOD + WIRE - tails.get(bit, 0)
                found[name, i + wires.get("offset", 0)] = there / UNIT, must / UNIT
    return found


def map_again(run, found, parts, margins, work):
    """Maps the logic, $lut cells, of each of `parts` (instance: its module; "": what is around them) anew, by itself,
    so that one does not change with another, by the times `found` and with its margin in ns. Modules with keep_hierarchy
    stay. In work/tmp is what Yosys gives to ABC."""
    (work / "script").write_text(SCRIPT.format(work=work, python=sys.executable, here=Path(__file__).resolve()))
    for instance, module in parts.items():
        margin = margins[instance] / UNIT
        with open(work / "times", "w") as out:
            for (name, bit), (there, must) in found.items():
                name = local_name(instance, name)
                if name:
                    out.write(f"{name}\t{bit}\t{there:.2f}\t{must - margin:.2f}\n")
        run(f"simplemap {module}/t:$lut", "clean", f"abc -lut 6 -script {work}/script {module}", "clean")


def local_name(instance, name):
    """What a net of the flattened design is called in the module of an instance, None if it is not there."""
    own = f"$flatten\\{instance}." if name.startswith("$") else f"{instance}."
    return name if not instance else name.removeprefix(own) if name.startswith(own) else None


def annotate(work):
    of_bit = {}
    for line in open(work / "times"):
        name, bit, there, must = line.rstrip("\n").split("\t")
        of_bit[name, int(bit)] = there, must
    (source,) = work.glob("tmp/**/input.blif")
    matches = filter(None, map(NET.match, open(source)))
    of_net = {m[1]: of_bit.get((m[2].removeprefix("\\"), int(m[3] or 0))) for m in matches}
    text = (work / "mid.blif").read_text().replace("\\\n", " ")
    head, timing = 0, []
    for kind, line, which in (("inputs", ".input_arrival", 0), ("outputs", ".output_required", 1)):
        ports = re.search(rf"^\.{kind} (.*)$", text, re.M)
        head = max(head, ports.end())
        known = [(port, of_net[port][which]) for port in ports[1].split() if of_net.get(port)]
        timing += [f"{line} {port} {at} {at}\n" for port, at in known]
        print(f"{len(known)} of {len(ports[1].split())} {kind} have a time")
    (work / "timed.blif").write_text(text[:head] + "\n" + "".join(timing) + text[head + 1:])


if __name__ == "__main__":
    annotate(Path(sys.argv[1]))
