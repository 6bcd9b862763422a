"""lib_counters: what is read is what happened, whatever was read before and how often."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale


@cocotb.test()
async def counts(dut):
    n, width = int(dut.N.value), int(dut.Width.value)
    dut.event_i.value = dut.re_i.value = dut.index_i.value = 0
    await start(dut)
    while dut.clearing_o.value:
        await RisingEdge(dut.clk_i)
    happened, expected, since = [0] * n, [None, None], 0
    # Often or seldom, some counters or all, reads as close as they may be or hardly any.
    for p_event, p_read, hot in ((0.1, 0.1, n), (1.0, 1.0, n), (1.0, 1.0, 1), (0.5, 1.0, 2), (1.0, 0.02, n)):
        for _ in range(20 * n):
            events = sum((random.random() < p_event) << i for i in range(n))
            since += 1
            read = since >= 3 and random.random() < p_read
            index = random.randrange(hot)
            dut.event_i.value, dut.re_i.value, dut.index_i.value = events, read, index
            await RisingEdge(dut.clk_i)
            due = expected.pop(0)
            if due is not None:
                assert dut.count_o.value == due
            for i in range(n):
                happened[i] += events >> i & 1
            expected.append(happened[index] % (1 << width) if read else None)
            since = 0 if read else since


@pytest.mark.parametrize(("n", "width"), scale([(4, 5), (128, 32)], [(4, 5), (16, 32), (128, 32)]))
def test_lib_counters(n, width):
    run(__file__, "lib_counters", ["rtl/lib/lib.f"], N=n, Width=width)
