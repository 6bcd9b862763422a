"""Replicas on netlists small enough to see who drives what."""

import pytest

from delay import PERIOD, Delays, net
from replicas import late_part, replicate
from synth.small import cell, netlist_of

MANY = 60


def chain(driver, length, early):
    """A register or LUT whose net leads to `early` registers and through `length` LUTs to one more."""
    cells = {"from": cell("FDRE", "Q", C=1, D=2, Q=3)}
    if driver == "LUT1":
        cells["driver"] = cell("LUT1", "O", I0=3, O=4)
    bits = [4 if driver == "LUT1" else 3, *range(10, 10 + length)]
    for i, (bit, to) in enumerate(zip(bits, bits[1:])):
        cells[f"l{i}"] = cell("LUT1", "O", I0=bit, O=to)
    cells["late"] = cell("FDRE", "Q", C=1, D=bits[-1], Q=5)
    for i in range(early):
        cells[f"early{i}"] = cell("FDRE", "Q", C=1, D=bits[0], Q=100 + i)
    return cells


@pytest.fixture
def netlist(tmp_path):
    return lambda cells: netlist_of(cells, tmp_path)


def late(netlist):
    return [cell for ns, _, cell, _ in Delays(netlist).endpoints() if ns > PERIOD]


def sources(netlist, name, port):
    """What a cell's input says, as text of cells and their kinds, whichever replica says it."""
    (bit,) = netlist.cells[name]["connections"][port]
    driver = netlist.driver.get(bit, (None,))[0]
    if driver is None:
        return bit
    made = netlist.cells[driver]
    return made["type"], made["parameters"]["INIT"], *(
        b if made["type"] == "FDRE" else sources(netlist, driver, p) for p, b in netlist.inputs(driver))


@pytest.mark.parametrize("driver, length, made", [("FDRE", 10, {"FF": 1}), ("LUT1", 9, {"LUT": 1})])
def test_the_late_sink_gets_its_own_driver(netlist, driver, length, made):
    cells = netlist(chain(driver, length, MANY))
    said = {name: sources(cells, name, "D") for name in cells.cells if name.startswith(("early", "late"))}
    assert late(cells) == ["late"]
    assert replicate(cells) == made
    assert late(cells) == []
    assert said == {name: sources(cells, name, "D") for name in said}
    # What is counted is in the netlist: the replica with its inputs, and nets without the sinks that left.
    assert sorted(len(cells.sinks[b]) for b in cells.driver if len(cells.sinks[b]) > 2) == [MANY]
    (new,) = (name for name in cells.cells if "$replica" in name)
    assert [cells.sinks[b] for _, b in cells.outputs(new)] == [["l0"]]


def test_what_is_in_time_stays(netlist):
    cells = netlist(chain("FDRE", 3, MANY))
    assert not replicate(cells) and len(cells.cells) == 5 + MANY


def test_a_ram_has_no_replica(netlist):
    cells = chain("FDRE", 7, MANY)
    cells["from"] = cell("RAMB36E2", "DOUTADOUT", CLKARDCLK=1, ADDRARDADDR=2, DOUTADOUT=3)
    cells = netlist(cells)
    assert late(cells) == ["late"]
    assert not replicate(cells)


def test_a_replica_must_bring_more_than_it_costs():
    pins = [(-0.3, "late", "I0"), *((0.5, f"early{i}", "D") for i in range(15))]
    gain = net(16) - net(1)
    assert late_part(pins, 16, 0) == [("late", "I0")]
    assert late_part(pins, 16, gain - 0.01) == [("late", "I0")]
    assert late_part(pins, 16, gain + 0.01) == []
