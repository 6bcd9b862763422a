"""The list of seeded faults, one file a folder of the RTL, and how they get into its text.

    [[fault]]
    name = "no-karn"                        # of its own
    file = "rtl/tcp/congestion/tcp_rto.sv"
    what = "a round trip is measured on a segment that was sent again"
    old = '''...'''                         # stands in the file once
    new = '''...'''
    found_by = "tb/tcp/test_tcp.py::karn"   # must fail; without the fault it passes

`found_by` is a cocotb test, a function of pytest, or a proof ("proof lib_fifo").

To compile each design once and not once a fault, all faults are put into one text, as choices by a
number that the model reads when it starts. So `old` and `new` are whole expressions, or whole
statements (which end with a semicolon). Where the text needs a constant, or is no expression by
itself, `alone = true` has that fault compiled for itself; so has what overlaps with another one.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness.filelist import ROOT

LISTS = Path(__file__).resolve().parents[1] / "mutants"
PACKAGE = "rtl/lib/fault_pkg.sv"


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    what: str
    old: str
    new: str
    found_by: str
    alone: bool = False

    @property
    def folder(self):
        return self.file.split("/")[1]

    @property
    def module(self):
        return Path(self.file).stem


def load():
    """Every fault, in the lists' order."""
    return [Fault(**fault) for path in sorted(LISTS.glob("*.toml"))
            for fault in tomllib.loads(path.read_text())["fault"]]


def wrong(fault, text):
    """What is wrong with a list's entry for a file that contains `text`; None if nothing is."""
    if fault.old == fault.new:
        return "changes nothing"
    if text.count(fault.old) != 1:
        return f"its text stands {text.count(fault.old)} times in {fault.file}"
    if fault.found_by.startswith("proof "):
        # The names are an argument of prove.py and of nothing else, so they are looked up as text.
        proof = fault.found_by.removeprefix("proof ")
        known = f'("{proof}"' in (ROOT / "formal" / "prove.py").read_text()
    else:
        path, _, test = fault.found_by.partition("::")
        begins = rf"^(async )?def {re.escape(test.split('[')[0])}\("
        known = (ROOT / path).is_file() and re.search(begins, (ROOT / path).read_text(), re.M)
    return None if known else f"there is no {fault.found_by}"


def replaced(text, fault):
    return text.replace(fault.old, fault.new)


def switched(texts, faults):
    """The files with every fault that can be chosen at run time; (files, {name: its number}).

    `texts` maps names of files to texts; `faults` must fit them.
    """
    texts, numbers, places = dict(texts), {}, {}
    for fault in faults:
        at = texts[fault.file].index(fault.old)
        span = range(at, at + len(fault.old))
        others = places.setdefault(fault.file, [])
        if not fault.alone and all(span.stop <= o.start or o.stop <= span.start for o, _ in others):
            numbers[fault.name] = len(numbers) + 1
            others.append((span, fault))
    for file, spans in places.items():
        for span, fault in sorted(spans, key=lambda s: s[0].start, reverse=True):
            text = texts[file]
            texts[file] = text[:span.start] + choice(fault, numbers[fault.name]) + text[span.stop:]
    return texts, numbers


def choice(fault, number):
    chosen = f"fault_pkg::id == {number}"
    if fault.old.rstrip().endswith(";"):
        return f"begin if ({chosen}) begin {fault.new} end else begin {fault.old} end end"
    return f"({chosen} ? ({fault.new}) : ({fault.old}))"


def package(path):
    """A package that reads the number of the fault from a file when the model starts."""
    return f"""
package fault_pkg;
  function automatic int chosen();
    int file, number;
    file = $fopen("{path}", "r");
    if ($fscanf(file, "%d", number) != 1) $fatal(1, "no number of a fault");
    $fclose(file);
    return number;
  endfunction
  int id = chosen();
endpackage
"""


def listing(faults):
    """A line a fault: its module, its name, what it is, what finds it."""
    rows = [(fault.module, fault.name, fault.what, fault.found_by.removeprefix("tb/")) for fault in faults]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    return "".join("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[-1]]) + "\n" for row in rows)
