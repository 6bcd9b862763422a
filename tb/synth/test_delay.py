"""The model of delays on netlists small enough to add up by hand."""

import json
from math import log

import pytest

import timed
from delay import REGISTER, Delays, net
from netlist import Netlist

OUTPUTS = {"Q", "O", "CO", "DOA", "DOUTADOUT", "P"}
ONE, TWO = 0.25, 0.25 + 0.65 * log(2) / log(500)


@pytest.fixture
def delays(tmp_path):
    """Delays of a netlist of (cell, type, {port: bits}, parameters); bits are numbers or "0"."""

    def build(*cells):
        module = {"netnames": {}, "cells": {}}
        for name, kind, ports, *parameters in cells:
            ports = {port: bits if isinstance(bits, list) else [bits] for port, bits in ports.items()}
            module["cells"][name] = {
                "type": kind, "connections": ports, "parameters": dict(*parameters),
                "port_directions": {p: "output" if p in OUTPUTS else "input" for p in ports}}
        file = tmp_path / "netlist.json"
        file.write_text(json.dumps({"modules": {"top": module}}))
        netlist = Netlist(file, "top", {})
        assert netlist.analyse() == []
        times = Delays(netlist)
        check_tails(times)
        return {f"{name}.{port}": ns for ns, _, name, port in times.endpoints()}

    return build


def check_tails(times):
    """When a bit comes and what lies behind it are together the latest end that it leads to."""
    tails, latest = times.tails(), {}
    for ns, bit, _, _ in times.endpoints():
        while bit is not None:
            latest[bit] = max(latest.get(bit, 0), ns)
            bit = times.back.get(bit)
    assert latest
    for bit, ns in latest.items():
        assert times.at.get(bit, REGISTER) + tails[bit] >= ns - 1e-9
    assert max(times.at[bit] + tails[bit] for bit in times.at if bit in tails) == pytest.approx(max(latest.values()))


def register(name, d, q):
    return name, "FDRE", {"C": 1, "D": d, "Q": q}


def test_net_grows_to_its_limit():
    assert net(1) == 0.25
    assert net(2) == pytest.approx(TWO)
    assert net(500) == pytest.approx(0.9)
    assert net(5000) == 0.9


def test_register_to_register(delays):
    assert delays(register("a", 9, 2), register("b", 2, 3))["b.D"] == pytest.approx(0.15 + ONE)


def test_lut_and_fanout(delays):
    ends = delays(register("a", 9, 2), ("l", "LUT2", {"I0": 2, "I1": 2, "O": 3}),
                  register("b", 3, 4))
    assert ends["b.D"] == pytest.approx(0.15 + TWO + 0.10 + ONE)


def test_the_latest_input_counts(delays):
    ends = delays(register("a", 9, 2), register("z", 9, 5),
                  ("l", "LUT1", {"I0": 2, "O": 3}), ("m", "LUT2", {"I0": 5, "I1": 3, "O": 4}),
                  register("b", 4, 6))
    assert ends["b.D"] == pytest.approx(0.15 + 2 * (ONE + 0.10) + ONE)


def test_multiplexer_has_its_own_wires(delays):
    ends = delays(register("a", 9, 2), ("l", "LUT1", {"I0": 2, "O": 3}),
                  ("m", "MUXF7", {"I0": 3, "I1": "0", "S": "0", "O": 4}), register("b", 4, 5))
    assert ends["b.D"] == pytest.approx(0.15 + ONE + 0.10 + 0.10 + ONE)


def test_carry_goes_upwards(delays):
    chain = ("c", "CARRY8", {"CI": "0", "S": [2] + ["0"] * 6 + [3], "DI": ["0"] * 8,
                             "O": list(range(10, 18)), "CO": list(range(20, 28))})
    more = ("d", "CARRY8", {"CI": 27, "S": ["0"] * 8, "DI": ["0"] * 8,
                            "O": list(range(30, 38)), "CO": list(range(40, 48))})
    ends = delays(register("a", 9, 2), ("l", "LUT1", {"I0": 2, "O": 3}), chain, more,
                  register("low", 10, 50), register("top", 17, 51), register("next", 31, 52))
    entered = 0.15 + TWO + 0.15  # bit 2 goes to the LUT, too
    assert ends["low.D"] == pytest.approx(entered + ONE)
    late = 0.15 + TWO + 0.10 + ONE + 0.15  # through the LUT into the last bit
    assert ends["top.D"] == pytest.approx(late + ONE)
    assert ends["next.D"] == pytest.approx(late + 2 * 0.01 + ONE)


@pytest.mark.parametrize("registered, out", [("0", 1.0), ("1", 0.4)])
def test_block_ram(delays, registered, out):
    ram = ("r", "RAMB36E2", {"CLKARDCLK": 1, "ADDRARDADDR": 7, "DOUTADOUT": 2},
           {"DOA_REG": registered})
    ends = delays(register("a", 9, 7), ram, register("b", 2, 3))
    assert ends == pytest.approx({"r.ADDRARDADDR": 0.15 + ONE, "b.D": 0.15 + out + ONE})


def test_distributed_ram_is_a_lookup(delays):
    ram = ("r", "RAM32M", {"WCLK": 1, "ADDRA": 2, "DIA": 3, "DOA": 4, "ADDRD": 6})
    ends = delays(register("a", 9, 2), register("d", 9, 3), ram, register("b", 4, 5),
                  register("w", 9, 7), ("l", "LUT1", {"I0": 7, "O": 6}))
    assert ends["b.D"] == pytest.approx(0.15 + ONE + 0.10 + ONE)
    assert ends["r.DIA"] == pytest.approx(0.15 + ONE)
    # Where nothing comes out is only written.
    assert ends["r.ADDRD"] == pytest.approx(0.15 + ONE + 0.10 + ONE)


@pytest.mark.parametrize("registers, into, out", [
    ({}, None, 0.15 + ONE + 1.5 + ONE),
    ({"AREG": "1", "PREG": "1"}, 0.15 + ONE, 0.15 + ONE),
    ({"MREG": "1"}, 0.15 + ONE + 1.5, 0.15 + 1.5 + ONE)])
def test_dsp(delays, registers, into, out):
    dsp = ("m", "DSP48E2", {"CLK": 1, "A": 2, "P": 3},
           {"AREG": "0", "BREG": "0", "MREG": "0", "PREG": "0"} | registers)
    ends = delays(register("a", 9, 2), dsp, register("b", 3, 4))
    assert ends.get("m.A") == (None if into is None else pytest.approx(into))
    assert ends["b.D"] == pytest.approx(out)


def test_times_go_into_the_blif(tmp_path):
    (tmp_path / "tmp" / "yosys-abc-1").mkdir(parents=True)
    (tmp_path / "tmp" / "yosys-abc-1" / "input.blif").write_text(
        ".model netlist\n.inputs ys__n1 ys__n2\n.outputs ys__n3\n"
        "# ys__n1     \\u_a.b_q [7]\n# ys__n2     $auto$1.Q\n# ys__n3     \\c\n.end\n")
    (tmp_path / "mid.blif").write_text(".model netlist\n.inputs ys__n1 \\\nys__n2\n.outputs ys__n3\n.names ys__n1 ys__n3\n1 1\n.end\n")
    (tmp_path / "times").write_text("u_a.b_q\t7\t1.50\t6.00\n$auto$1.Q\t0\t0.80\t7.00\nc\t0\t2.00\t5.25\n")
    timed.annotate(tmp_path)
    lines = (tmp_path / "timed.blif").read_text().splitlines()
    assert lines[:3] == [".model netlist", ".inputs ys__n1  ys__n2", ".outputs ys__n3"]
    assert lines[3:6] == [".input_arrival ys__n1 1.50 1.50", ".input_arrival ys__n2 0.80 0.80", ".output_required ys__n3 5.25 5.25"]
    assert lines[6] == ".names ys__n1 ys__n3"
