"""Where the late endpoints of a synthesised module or card lie: make synth first.

    synth/late.py card --levels 8
    synth/late.py execute --ns 7 --to u_next

Reads the CSV that report.py wrote. One row for each pair of buses: how many endpoints, the most
levels, the latest time, the register that the latest path comes from and the one it leads to. With
--by-instance a row for each instance.
"""

import argparse
import csv
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEX = re.compile(r"\[\d+\]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("top", nargs="?", default="card")
    parser.add_argument("--levels", type=int, default=0, help="only endpoints over so many levels")
    parser.add_argument("--ns", type=float, default=0.0, help="only endpoints over so many ns")
    parser.add_argument("--to", default="", help="only endpoints whose name contains this")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--by-instance", type=int, metavar="DEPTH",
                        help="a row for each instance, of so many levels of hierarchy")
    args = parser.parse_args()
    folder = ROOT / "build" / ("bench/synth" if args.top == "card" else f"synth/{args.top}")

    rows = defaultdict(list)
    with open(folder.with_suffix(".csv"), newline="") as file:
        for end in csv.DictReader(file):
            ns, levels = float(end["ns"]), int(end["levels"])
            if levels <= args.levels or ns <= args.ns or args.to not in end["to"]:
                continue
            names = [INDEX.sub("", end[k]) for k in ("from", "to")]
            if args.by_instance:
                names[0] = "*"
                names[1] = ".".join(names[1].split(".")[:-1][:args.by_instance])
            rows[tuple(names)].append((ns, levels))
    print(f"{sum(map(len, rows.values()))} endpoints")
    order = sorted(rows.items(), key=lambda row: max(row[1]), reverse=True)
    print(f"{'ends':>6}{'levels':>8}{'ns':>7}  from > to")
    for (start, end), found in order[:args.rows]:
        print(f"{len(found):6}{max(levels for _, levels in found):8}{max(found)[0]:7.2f}"
              f"  {start} > {end}")


if __name__ == "__main__":
    main()
