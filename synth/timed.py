"""LUT mapping that knows how late each signal is.

Yosys' abc pass maps what lies between two cells that are no logic (registers, RAMs, carry chains, DSPs,
modules mapped by themselves) as if all of it began at once and could end as late as its deepest path.
So a path through a carry chain is mapped in two halves that know nothing of each other, and so are the
halves of one that passes a folder's boundary. Here a design that was mapped once is flattened and timed
(delay.py), and mapped again: each input comes when it comes by the model, each output has to be there when
what lies behind it still ends within PERIOD, or, where it can't, as early as it can.

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
#: What ends so much before the PERIOD also does when such a net has more sinks.
MARGIN = 0.25
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


def times(path, top, modules):
    """Of every named bit of the netlist at `path`: (when it is there, when it must be), in UNITs."""
    netlist = Netlist(path, top, modules)
    netlist.analyse()
    delays = Delays(netlist)
    tails = delays.tails()
    found = {}
    for name, wires in json.load(open(path))["modules"][top]["netnames"].items():
        for i, bit in enumerate(wires["bits"]):
            if not isinstance(bit, str):
                there = delays.at.get(bit, REGISTER) + net(len(netlist.sinks[bit]))
                must = PERIOD - MARGIN + WIRE - tails.get(bit, 0)
                found[name, i + wires.get("offset", 0)] = there / UNIT, must / UNIT
    return found


def map_again(run, top, modules, work):
    """Maps the flattened design's logic, $lut cells, anew; modules with keep_hierarchy stay. In work/tmp is what
    Yosys gives to ABC."""
    run("design -push-copy", "setattr -mod -unset keep_hierarchy *", "flatten", "blackbox =A:whitebox",
        f"write_json {work}/first.json", "design -pop")
    lines = (f"{name}\t{bit}\t{there:.2f}\t{must:.2f}\n"
             for (name, bit), (there, must) in times(work / "first.json", top, modules).items())
    (work / "times").write_text("".join(lines))
    (work / "script").write_text(SCRIPT.format(work=work, python=sys.executable, here=Path(__file__).resolve()))
    run(f"simplemap {top}/t:$lut", "clean", f"abc -lut 6 -script {work}/script {top}", "clean")


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
