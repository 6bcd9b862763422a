"""lib_skid_buffer: order, full rate, and no path from one side to the other."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from harness.clock import start
from harness.models import run
from harness.streams import Sink, Source


@cocotb.test()
async def order(dut):
    await start(dut)
    for idle, stall in ((0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5), (0.1, 0.9), (0.9, 0.1)):
        source, sink = Source(dut, "s", ["data"], idle), Sink(dut, "m", ["data"], stall)
        words = [{"data": random.getrandbits(32)} for _ in range(500)]
        source.put(*words)
        assert await sink.wait(len(words)) == words
        if not idle and not stall:
            assert sink.times[-1] - sink.times[0] == len(words) - 1, "not a word a clock"
        source.stop()
        sink.stop()


@cocotb.test()
async def cuts_both_ways(dut):
    """Inputs that change within a clock do not reach an output before the next edge."""
    await start(dut)
    for _ in range(300):
        await RisingEdge(dut.clk_i)
        dut.s_valid_i.value = dut.m_ready_i.value = 0
        await Timer(1, "ns")
        before = int(dut.s_ready_o.value), int(dut.m_valid_o.value)
        dut.s_valid_i.value, dut.m_ready_i.value = random.randrange(2), random.randrange(2)
        await ReadOnly()
        assert (int(dut.s_ready_o.value), int(dut.m_valid_o.value)) == before


def test_lib_skid_buffer():
    run(__file__, "lib_skid_buffer_tb", ["rtl/lib/lib.f", "tb/lib/lib_skid_buffer_tb.sv"])
