"""Operations for a dollar, on instances with FPGAs.

    synth/dollars.py [JSON]     a report of the bench; build/power/tcp-mixed.json
        --scenario NAME         one of its scenarios, instead of tcp-mixed
        --packets M ...         million packets a second that an instance carries in each direction

A card behind an instance's network serves what the least of three allows: its own rate, the instance's bits a second, its
packets a second. Prints that divided by the price, in million operations a second for one dollar an hour, beside published
figures. Instances, prices and published figures are in synth/prices.toml.
"""

import argparse
import json
import sys
import tomllib
from pathlib import Path

from power import ROOT, table

PRICES = tomllib.loads((ROOT / "synth" / "prices.toml").read_text())


def limits(row, instance, mpackets):
    """Million operations a second of the instance, by what limits them."""
    frames = max(row["counters"]["NetRxFrames"], row["counters"]["NetTxFrames"])
    bytes_of_one = max(row["wire_bytes_in_per_op"], row["wire_bytes_out_per_op"])
    return {
        "card": instance["cards"] * row["mops"],
        "Gb/s": instance["gbps"] * 1e3 / (8 * bytes_of_one),
        "packets": mpackets * row["ops"] / frames,
    }


def cell(row, instance, mpackets):
    """Of the least one: its part of the price, and what it is."""
    told = limits(row, instance, mpackets)
    least = min(told, key=told.get)
    return f"{told[least] / instance['price']:.2f} ({least})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="?", type=Path, default=ROOT / "build" / "power" / "tcp-mixed.json")
    parser.add_argument("--scenario", default="tcp-mixed")
    parser.add_argument("--packets", type=float, nargs="+", default=PRICES["packets"]["rates"], metavar="M")
    args = parser.parse_args()
    if not args.report.is_file():
        sys.exit(f"{args.report} is not there: `make power` or `make bench` writes one")
    if min(args.packets) <= 0:
        parser.error("--packets must be above 0")
    rows = [row for row in json.loads(args.report.read_text())["scenarios"] if row["name"] == args.scenario]
    if len(rows) != 1:
        sys.exit(f"{args.report} has no scenario {args.scenario}")
    row, instances = rows[0], PRICES["instance"]
    one = limits(row, {"cards": 1, "gbps": 1}, 1)
    print(f"{args.scenario}: a card serves {one['card']:.1f} M op/s, a Gb/s carries {one['Gb/s']:.2f}, a frame carries "
          f"{one['packets']:.1f} operations.")
    for what, source in PRICES["sources"].items():
        print(f"{what}: {source}")
    print(f"packets: {PRICES['packets']['source']}")
    table(("M packets/s", *(f"{i['name']}, {i['gbps']:g} Gb/s, ${i['price']}" for i in instances)), [
        (f"{mpackets:g}", *(cell(row, instance, mpackets) for instance in instances)) for mpackets in args.packets])
    table(("published", "M op/s", "$ an hour", "M op/s for $1 an hour", "source"), [
        (p["name"], f"{p['mops']:g}", f"{p['price']:g}", f"{p['mops'] / p['price']:.2f}", p["source"])
        for p in PRICES["published"]])


if __name__ == "__main__":
    main()
