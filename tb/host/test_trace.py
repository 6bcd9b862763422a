"""trace: what happens of the marked connection is recorded with its clock, and nothing of the others."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from harness.clock import clocks, start
from harness.models import run
from harness.structs import T

PORT, OTHER = 7, 0x107
CONNS = 3, 0x203, (1 << 14) - 1
BEATS = "frame", "segment", "sent", "framed"
POINTS = [name for name, *_ in T.csr_trace_points_t.fields if not name.startswith("zero")][::-1]


class Model:
    """What is to be recorded, from what happens in each clock."""

    def __init__(self):
        self.marked, self.first, self.values = None, dict.fromkeys(BEATS, True), deque()
        self.last = None  # the marked connection's last value
        self.asked = 0

    def step(self, taps):
        """Names of the points."""
        def ours(at):
            return at["valid"] and at["conn"] == self.marked

        conns = {name: taps[name] for name in ("arrived", "request", "log", "result", "reply", "send")}
        conns["execute"] = taps["store"]["execute"]
        points = {name for name, at in conns.items() if ours(at)}
        if taps["store"]["hash"]:
            points.add("hash")
        for name in BEATS:
            beat = taps[name]
            if beat["valid"] and beat["port"] == PORT and self.first[name]:
                points.add(name)
            if beat["valid"]:
                self.first[name] = beat["last"]
        if taps["chunk"]:
            if self.values[0] == self.last:
                points.add("value")
            if taps["chunk_last"]:
                self.values.popleft()
        if taps["store"]["value"]["valid"]:
            self.asked += 1
            self.values.append(self.asked)
            if ours(taps["store"]["value"]):
                self.last = self.asked
        if taps["open"] and taps["open_port"] == PORT:
            self.marked = taps["open_conn"]
        elif taps["closed"] and ours(taps["arrived"]):
            self.marked = None
        return points


def happens(model, often):
    """Something at each tap, so often."""
    def maybe(often=often):
        return random.random() < often

    def conn():
        return {"valid": maybe(), "conn": random.choice(CONNS)}

    taps = {name: conn() for name in ("arrived", "request", "log", "result", "reply", "send")}
    taps["store"] = {"hash": maybe(), "execute": conn(), "value": conn()}
    for name in BEATS:
        taps[name] = {"valid": maybe(), "last": maybe(0.5), "port": random.choice((PORT, OTHER))}
    taps["chunk"] = bool(model.values) and maybe(0.5)
    taps["chunk_last"] = maybe(0.5)
    taps["closed"] = maybe(0.1)
    taps["open"], taps["open_conn"] = maybe(0.1), random.choice(CONNS[:2])
    taps["open_port"] = random.choice((PORT, OTHER))
    return taps


async def records(dut):
    """All that can be read: clock and names."""
    found = []
    for index in range(64):
        dut.index_i.value = index
        await clocks(dut, 3)
        await ReadOnly()
        points = T.csr_trace_points_t.unpack(int(dut.points_o.value))
        names = {name for name in POINTS if points[name]}
        if names:
            assert len(found) == index
            found.append((int(dut.clock_o.value), names))
        await RisingEdge(dut.clk_i)
    return found


@cocotb.test()
async def recorded(dut):
    """Whatever happens, often or rarely; off and on again. What was marked stays so."""
    dut.on_i.value = dut.index_i.value = dut.taps_i.value = 0
    dut.port_i.value = PORT
    await start(dut)
    await clocks(dut, 3)
    model, lengths = Model(), set()
    for often, length in ((0.3, 30), (0.02, 40), (0.3, 300), (0.05, 60), (1, 80)) * 4:
        want = []
        dut.on_i.value = 1
        for clock in range(length):
            taps = happens(model, often)
            dut.taps_i.value = T.trace_taps_t.pack(taps)
            if points := model.step(taps):
                want.append((clock + 2, points))
            await RisingEdge(dut.clk_i)
        dut.taps_i.value = 0
        await clocks(dut, 3)
        assert await records(dut) == want[:64]
        lengths.add(len(want) > 64)
        dut.on_i.value = 0
        await clocks(dut, 3)
        assert await records(dut) == []
    assert lengths == {True, False}


@cocotb.test()
async def another_port(dut):
    """Another port marks nobody until somebody opens from it."""
    dut.on_i.value = dut.index_i.value = dut.taps_i.value = 0
    dut.port_i.value = PORT
    await start(dut)
    opens = {"open": 1, "open_conn": CONNS[0], "open_port": PORT}
    request = {"request": {"valid": 1, "conn": CONNS[0]}}
    seen = []
    for port in (PORT, OTHER, PORT):
        dut.port_i.value = port
        await clocks(dut, 3)
        for taps in (request, opens, {}, request):
            dut.taps_i.value = T.trace_taps_t.pack(taps)
            await RisingEdge(dut.clk_i)
            dut.taps_i.value = 0
            await clocks(dut, 3)
            seen.append(int(dut.marked_o.value) >> 14)
    assert seen == [0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1]


def test_trace():
    run(__file__, "trace", ["rtl/pkg.f", "rtl/lib/lib.f", "rtl/host/trace.sv"])
