"""lib_fifo: nothing lost, nothing reordered, full throughput, its level right in every clock."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start
from harness.models import run
from harness.size import scale
from harness.streams import Sink, Source


@cocotb.test()
async def order(dut):
    await start(dut)
    for idle, stall in ((0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5), (0.1, 0.9), (0.9, 0.1)):
        source, sink = Source(dut, "s", ["data"], idle), Sink(dut, "m", ["data"], stall)
        words = [{"data": random.getrandbits(32)} for _ in range(500)]
        source.put(*words)
        assert await sink.wait(len(words)) == words
        source.stop()
        sink.stop()


@cocotb.test()
async def fills_and_counts(dut):
    """Takes exactly its depth while nobody reads; the level follows every push and pop."""
    depth = int(dut.Depth.value)
    await start(dut)
    dut.m_ready_i.value = 0
    source = Source(dut, "s", ["data"])
    source.put(*({"data": i} for i in range(depth + 5)))
    await clocks(dut, depth + 10)
    assert int(dut.level_o.value) == depth and len(source.queue) == 5
    level = depth
    for _ in range(300):
        dut.m_ready_i.value = random.randrange(2)
        await RisingEdge(dut.clk_i)
        assert int(dut.level_o.value) == level
        level += int(dut.s_valid_i.value) & int(dut.s_ready_o.value)
        level -= int(dut.m_valid_o.value) & int(dut.m_ready_i.value)
        if random.random() < 0.5:
            source.put({"data": 0})


@cocotb.test()
async def full_rate(dut):
    """One word a clock, and a word passes an empty FIFO within two clocks, or one."""
    await start(dut)
    source, sink = Source(dut, "s", ["data"]), Sink(dut, "m", ["data"])
    for n in range(1, 5):
        source.put({"data": n})
        await RisingEdge(dut.clk_i)
        while not (int(dut.s_valid_i.value) and int(dut.s_ready_o.value)):
            await RisingEdge(dut.clk_i)
        latency = 0
        while not int(dut.m_valid_o.value):
            await RisingEdge(dut.clk_i)
            latency += 1
        small = int(dut.Depth.value) <= 32 and not dut.Ultra.value
        assert latency == (1 if small or dut.Early.value else 2)
        await sink.wait(n)
    sink.items.clear()
    sink.times.clear()
    source.put(*({"data": i} for i in range(200)))
    await sink.wait(200)
    assert sink.times[-1] - sink.times[0] == 199


@pytest.mark.parametrize("depth", scale([2, 33], [2, 3, 32, 33, 100]))
def test_lib_fifo(depth):
    run(__file__, "lib_fifo_tb", ["rtl/lib/lib.f", "tb/lib/lib_fifo_tb.sv"], Depth=depth)


@pytest.mark.parametrize("depth", scale([33], [33, 100]))
def test_lib_fifo_early(depth):
    run(__file__, "lib_fifo_tb", ["rtl/lib/lib.f", "tb/lib/lib_fifo_tb.sv"], Depth=depth, Early=1)


def test_lib_fifo_ultra():
    run(__file__, "lib_fifo_tb", ["rtl/lib/lib.f", "tb/lib/lib_fifo_tb.sv"], Depth=16, Ultra=1)
