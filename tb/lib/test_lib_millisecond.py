"""lib_millisecond: pulses of one clock, at the clock nearest to each millisecond whatever the frequency, after a reset
as well."""

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run


@cocotb.test()
async def ticks(dut):
    hertz = int(dut.ClockHz.value)
    await start(dut)
    for _ in range(2):
        await RisingEdge(dut.clk_i)
        seen = []
        for clock in range(1, 12 * hertz // 1000):
            await RisingEdge(dut.clk_i)
            if dut.tick_o.value:
                seen.append(clock)
        assert len(seen) >= 10
        for n, (clock, after) in enumerate(zip(seen, seen[1:]), 1):
            assert abs(clock - seen[0] - (n - 1) * hertz / 1000) <= 1, n
            assert abs(after - clock - hertz / 1000) < 1, n
        assert abs(seen[0] - hertz / 1000) <= 2
        dut.rst_ni.value = 0
        await RisingEdge(dut.clk_i)
        for _ in range(2 * hertz // 1000):
            await RisingEdge(dut.clk_i)
            assert not dut.tick_o.value
        dut.rst_ni.value = 1


@pytest.mark.parametrize("hertz", [2_000, 250_000, 322_266])
def test_lib_millisecond(hertz):
    run(__file__, "lib_millisecond", ["rtl/lib/lib_millisecond.sv"], ClockHz=hertz)
