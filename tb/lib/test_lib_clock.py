"""lib_clock: follows what the host says, counts ticks, never goes back."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from harness.structs import T

DELAY = 5  # clocks from an input to what now_o says of it


@cocotb.test()
async def follows(dut):
    """Against a model in milliseconds. The host's word comes late, early, often, and of other years."""
    for name in ("tick_i", "set_i", "seconds_i", "milliseconds_i"):
        getattr(dut, name).value = 0
    await start(dut)
    told, now, held, jumps = 0, 0, 0, 0
    quiet = 0  # clocks in which neither came: the model is exact only behind them
    for _ in range(6000):
        tick, said = random.random() < 0.3, random.random() < 0.02
        if quiet < DELAY and random.random() < 0.5:
            tick = said = False
        if said:
            told = random.choice([told, now, told // 1000 * 1000 + 998]) + random.randrange(-1500, 1500)
            if random.random() < 0.05:
                told = random.choice([1_700_000_000_000, 0xFFFF0000 * 1000 + 998, random.randrange(1 << 41)])
            told = max(told, 0)
            if told < now - 10_000_000:  # so far back that it would only wait
                told = now
            tick = False
            dut.seconds_i.value, dut.milliseconds_i.value = divmod(told, 1000)
            jumps += told > now
        told += tick
        held += told < now
        now = max(now, told)
        dut.tick_i.value, dut.set_i.value = tick, said
        await RisingEdge(dut.clk_i)
        quiet = 0 if tick or said else quiet + 1
        if quiet >= DELAY:
            got = T.now_t.unpack(int(dut.now_o.value))
            assert got == {"ms": now, "second": now // 1000 * 1000}
    assert held > 100 and jumps > 5, (held, jumps)


@cocotb.test()
async def counts(dut):
    """A tick in every clock, over several seconds' ends: no millisecond is left out or said twice."""
    for name in ("tick_i", "set_i", "seconds_i", "milliseconds_i"):
        getattr(dut, name).value = 0
    await start(dut)
    dut.seconds_i.value, dut.milliseconds_i.value, dut.set_i.value = 1_700_000_000, 990, 1
    await RisingEdge(dut.clk_i)
    dut.set_i.value = 0
    for _ in range(DELAY):
        await RisingEdge(dut.clk_i)
    dut.tick_i.value = 1
    for _ in range(DELAY):
        await RisingEdge(dut.clk_i)
    last = T.now_t.unpack(int(dut.now_o.value))["ms"]
    for _ in range(3000):
        await RisingEdge(dut.clk_i)
        got = T.now_t.unpack(int(dut.now_o.value))
        assert got == {"ms": last + 1, "second": (last + 1) // 1000 * 1000}
        last += 1


def test_lib_clock():
    run(__file__, "lib_clock", ["rtl/lib/lib.f"])
