"""Reads spec/items.toml, and makes from it what the software body's store has of it."""

import hashlib
import json
import tomllib

from blocks import ROOT, made_by

SPEC = "spec/items.toml"
PATH = "host/store/src/format.rs"
#: Bits that each table of bits has.
BITS = {"way": 64, "word": 64, "lengths": 32}


def read():
    spec = tomllib.loads((ROOT / SPEC).read_text())
    for table, bits in BITS.items():
        assert sum(spec[table].values()) == bits, f"{SPEC}: [{table}] has {sum(spec[table].values())} bits, not {bits}"
    return spec


def positions(table):
    """The lowest bit of each field."""
    at = 0
    for name, bits in table.items():
        yield name, at, bits
        at += bits


def rust():
    """Where fields are, and the hash of all of it: what the comments say does not count."""
    spec = read()
    digest = hashlib.sha256(json.dumps(spec).encode()).digest()
    lines = ["//! Where the fields of ways and items are, and what a file of `-e` must agree with.", f"//! {made_by(SPEC)}", "",
             '#![allow(dead_code, reason = "not every field is read by its number")]', "",
             "/// Of all that a later process reads.",
             f"pub(crate) const HASH: u64 = {int.from_bytes(digest[:8], 'big'):#018x};"]  # fmt: skip
    for table in BITS:
        what = {"way": "a way", "word": "an item's first word", "lengths": "the word with an item's lengths"}[table]
        lines += ["", f"/// The lowest bit of each field of {what}, and how many it has.", f"pub(crate) mod {table} {{"]
        for name, at, bits in positions(spec[table]):
            if name != "spare":
                lines += [f"    pub const {name.upper()}: u32 = {at};"]
                if bits > 1:
                    lines += [f"    pub const {name.upper()}_BITS: u32 = {bits};"]
        lines += ["}"]
    header = sum(spec["item"][name] for name in ("word", "lengths", "time"))
    lines += ["", "/// Bytes that every item begins with.", f"pub(crate) const HEADER: usize = {header};"]
    return lines
