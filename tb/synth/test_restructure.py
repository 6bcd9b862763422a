"""LUTs made anew: what they say stays, and late paths become shorter."""

import itertools
import random

import pytest

from delay import Delays
import restructure as restructure_
from restructure import INPUTS, restructure, says
from synth.small import cell, netlist_of


class Cells:
    """A netlist in the making: bits from 100 on."""

    def __init__(self):
        self.cells, self.last = {}, 99

    def bit(self):
        self.last += 1
        return self.last

    def register(self, d=0):
        q = self.bit()
        self.cells[f"r{q}"] = cell("FDRE", "Q", C=1, D=d, Q=q)
        return q

    def lut(self, *inputs):
        """Of any function."""
        o = self.bit()
        init = "".join(random.choice("01") for _ in range(1 << len(inputs)))
        self.cells[f"l{o}"] = cell(f"LUT{len(inputs)}", "O", init, **{f"I{i}": b for i, b in enumerate(inputs)}, O=o)
        return o


@pytest.fixture
def netlist(tmp_path, seed):
    return lambda cells: netlist_of(cells.cells, tmp_path)


def value(netlist, bit, known):
    """What a bit is where registers say this."""
    if bit in known:
        return known[bit]
    name, _ = netlist.driver[bit]
    return says(netlist, name, {b: value(netlist, b, known) for _, b in netlist.inputs(name)})


def ends(netlist):
    """By register: when it is reached, and the bit that it takes."""
    return {name: (ns, bit) for ns, bit, name, _ in Delays(netlist).endpoints()}


def check(netlist, sources):
    """Restructures; every register takes the same, and is in time if it was. Returns the times before and after."""
    before = ends(netlist)
    rows = [dict(zip(sources, bits)) for bits in itertools.islice(
        itertools.product((0, 1), repeat=len(sources)), 1 << 8)]
    rows += [{bit: random.randrange(2) for bit in sources} for _ in range(100)]
    wanted = {name: [value(netlist, bit, row) for row in rows] for name, (_, bit) in before.items()}
    made = restructure(netlist)
    after = ends(netlist)
    assert after.keys() == before.keys()
    for name, (ns, bit) in after.items():
        assert [value(netlist, bit, row) for row in rows] == wanted[name]
        assert ns <= max(restructure_.PERIOD, before[name][0]) + 1e-9
    for bit, sinks in netlist.sinks.items():
        there = sorted(n for n in netlist.cells for _, b in netlist.inputs(n) if b == bit)
        assert sorted(sinks) == there
    assert all(netlist.kind(n) in ("FDRE", *(f"LUT{i}" for i in range(1, INPUTS + 1))) for n in netlist.cells)
    return made, {n: ns for n, (ns, _) in before.items()}, {n: ns for n, (ns, _) in after.items()}


@pytest.mark.parametrize("first, second", [(1, 0), (3, 3), (1, 4), (4, 1), (5, 1), (5, 2), (5, 5), (4, 4)])
@pytest.mark.parametrize("shared", [False, True])
def test_two(netlist, monkeypatch, first, second, shared):
    """A late input and `first` others, behind it `second` others; shared: another register needs what lies between."""
    cells = Cells()
    sources = [cells.register() for _ in range(6 + first + second)]
    # Inputs that come all at once: nothing makes this sooner.
    layer = sources[:6]
    for _ in range(2):
        layer = [cells.lut(*layer) for _ in range(6)]
    middle = cells.lut(cells.lut(*layer), *sources[6 : 6 + first])
    end = cells.register(cells.lut(middle, *sources[6 + first :]))
    if shared:
        cells.register(middle)
    one = netlist(cells)
    period = ends(one)[f"r{end}"][0] - 0.3
    monkeypatch.setattr(restructure_, "PERIOD", period)
    made, _, after = check(one, sources)
    assert made == 1 and after[f"r{end}"] < period


def test_in_time(netlist):
    """What is in time stays as it is."""
    cells = Cells()
    sources = [cells.register() for _ in range(4)]
    cells.register(cells.lut(cells.lut(*sources[:2]), *sources[2:]))
    made, before, after = check(netlist(cells), sources)
    assert not made and before == after


def test_all_late(netlist, monkeypatch):
    """Where all inputs come at once, and they are too many, nothing helps."""
    monkeypatch.setattr(restructure_, "PERIOD", 0.5)
    cells = Cells()
    sources = [cells.register() for _ in range(10)]
    cells.register(cells.lut(cells.lut(*sources[:5]), *sources[5:]))
    made, before, after = check(netlist(cells), sources)
    assert not made and before == after
