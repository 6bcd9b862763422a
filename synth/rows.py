"""What each protocol adds to the card, in LUTs: python synth/rows.py [top ...]

Each of `tops` is synthesised as it is and again in a copy of the RTL in which every place that asks for
one of the protocols is told "no", so that Yosys takes away what then never happens. What only
carries the protocol's fields along (the width of a queue in RAM) stays: the figures are a little low.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "rows"
TOPS = ("ingress", "store", "egress")
#: A value of one of the three structs, or of their flag in narrower records, where it is read.
FIELD = r"(?<![\w.'])[\w\[\]]+(?:\.[\w\[\]]+)*\.{name}\b(?:\.(?P<field>\w+))?(?![.\w])(?:\[[\d:]+\])?(?!\s*<?=(?!=))"
#: Where it is one bit.
FLAG = re.compile(r"(?:(?:start\d_q|raw_i|turn_q|letters_q|rec|work_q\.rec|hreq_i)\.\w+|cand\w*\.(?:meta|resp))$")
#: Fields that are no flags, as they stand in an expression.
WIDE = {"opcode": "8'h0", "opaque": "32'h0", "show": "'0", "form": "RfBulk"}
#: Behind them, no more than flags: what else asks.
ROWS = {
    "binary": {},
    "meta": {r"\bis_meta\((?:[^()]|\([^()]*\))*\)": "1'b0",
             r"what6_q\.form inside \{FmMetaGet, FmMetaSet\}": "1'b0"},
    "resp": {r"\bread_ev_q\.redis\b": "1'b0"},
}  # fmt: skip


def tell_no(line, row):
    """`line` of RTL without the question, and how often it asked."""
    def answer(found):
        return WIDE.get(found["field"], "1'b0") if found["field"] or FLAG.match(found[0]) else "'0"

    if line.lstrip().startswith("//") or "function automatic" in line:
        return line, 0
    line, n = re.subn(FIELD.replace("{name}", row), answer, line)
    for asked, no in ROWS[row].items():
        line, k = re.subn(asked, no, line)
        n += k
    return line, n


def tree(name, rows):
    """A copy of the RTL without `rows`."""
    to = WORK / name.replace(" ", "_")
    shutil.rmtree(to, ignore_errors=True)
    for folder in ("rtl", "synth", "tb"):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for row in rows:
        places = 0
        for path in (p for f in ("conn", "parse", "store", "reply", "host") for p in (to / "rtl" / f).rglob("*.sv")):
            lines = [tell_no(line, row) for line in path.read_text().split("\n")]
            path.write_text("\n".join(line for line, _ in lines))
            places += sum(n for _, n in lines)
        print(f"{name}: {row} asked for in {places} places", flush=True)
    return to


def luts(place, top):
    """Of `top` with all that it instantiates; there is a report even if a path is too long."""
    file = place / ("build/bench/synth.json" if top == "card" else f"build/synth/{top}.json")
    run = subprocess.run([sys.executable, "synth/report.py", top], cwd=place, capture_output=True, text=True)
    if not file.exists():
        sys.exit(run.stdout + run.stderr)
    return json.loads(file.read_text())["lut"]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("top", nargs="*", default=TOPS)
    tops = args.parse_args().top
    trees = {"all": (), **{f"without {row}": (row,) for row in ROWS}, "classic only": tuple(ROWS)}
    places = {name: tree(name, rows) for name, rows in trees.items()}
    print("\t".join(["", *tops]), flush=True)
    for name, place in places.items():
        print("\t".join([name, *(str(luts(place, top)) for top in tops)]), flush=True)


if __name__ == "__main__":
    main()
