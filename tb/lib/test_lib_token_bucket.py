"""lib_token_bucket: at most Burst at once, one more every so many ticks, none lost."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale


@cocotb.test()
async def rate(dut):
    burst, every = int(dut.Burst.value), int(dut.Ticks.value)
    dut.tick_i.value = dut.take_i.value = 0
    await start(dut)
    tokens, ticks = burst, 0
    for p_tick, p_take in ((0.0, 1.0), (0.3, 0.0), (0.2, 0.1), (0.5, 0.5), (1.0, 1.0), (0.1, 0.9)):
        for _ in range(40 * burst * every):
            tick = random.random() < p_tick
            take = tokens > 0 and random.random() < p_take
            dut.tick_i.value, dut.take_i.value = tick, take
            await RisingEdge(dut.clk_i)
            assert dut.ok_o.value == (tokens > 0) and dut.timer_o.value == (tokens < burst)
            if tokens == burst:
                ticks = 0
            elif tick:
                ticks += 1
            tokens += ticks == every
            ticks %= every
            tokens -= take


@pytest.mark.parametrize(("burst", "ticks"), scale([(1, 1), (4, 5)], [(1, 1), (3, 2), (50, 1), (4, 5)]))
def test_lib_token_bucket(burst, ticks):
    run(__file__, "lib_token_bucket", ["rtl/lib/lib.f"], Burst=burst, Ticks=ticks)
