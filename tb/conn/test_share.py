"""scheduler_share by itself: how much may be on its way."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale

#: Clocks of the jobs on their way from which on no other one begins; what one counts at most.
FULL, MOST = 640, 128


async def begin(dut):
    for pin in ("begin", "begin_dear", "begin_cost", "end", "end_dear", "mean_valid", "mean", "all_dear", "udp_begin", "udp_end",
                "ended", "ended_cost", "waiting"):
        getattr(dut, f"{pin}_i").value = 0
    await start(dut)


@cocotb.test()
async def lately(dut):
    """Whose jobs take little sets the bar until all who waited behind him have had their jobs."""
    await begin(dut)
    dut.waiting_i.value = 100
    bars = []
    for job in range(800):
        dut.begin_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.begin_i.value, dut.end_i.value = 0, 1
        dut.mean_valid_i.value, dut.mean_i.value = 1, 4 if job == 0 else 300
        await RisingEdge(dut.clk_i)
        dut.end_i.value = dut.mean_valid_i.value = 0
        await ClockCycles(dut.clk_i, 8)
        bars.append(int(dut.bar_o.value))
    change = bars.index(8 * 300)
    assert set(bars[:change]) == {8 * 4} and set(bars[change:]) == {8 * 300}
    # In the second window that begins after his job two for each who waits.
    assert 200 < change < 500


@cocotb.test()
async def alone(dut):
    """Dear ones are alone when for 1,024 clocks nobody else has waited, or had a job."""
    await begin(dut)
    dut.all_dear_i.value = 1
    for pins in (), ("begin",), ("begin", "begin_dear"):
        for pin in pins:
            getattr(dut, f"{pin}_i").value = 1
        await RisingEdge(dut.clk_i)
        dut.begin_i.value = 0
        await ClockCycles(dut.clk_i, 1000)
        assert not dut.alone_o.value or "begin_dear" in pins
        await ClockCycles(dut.clk_i, 60)
        assert dut.alone_o.value == (pins != ("begin",))
        dut.end_i.value, dut.end_dear_i.value = bool(pins), "begin_dear" in pins
        await RisingEdge(dut.clk_i)
        dut.end_i.value = 0
    await ClockCycles(dut.clk_i, 60)
    dut.all_dear_i.value = 0
    await ClockCycles(dut.clk_i, 3)
    assert not dut.alone_o.value


@cocotb.test()
async def full(dut):
    """As many clocks may be on their way as keep the pipe full, and three jobs, however long."""
    await begin(dut)
    jobs, ends, told, seen = deque(), 0, deque([0, 0, 0]), set()
    for clock in range(scale(5000, 50_000)):
        many = clock // 500 % 2
        begins = random.random() < (0.6 if many else 0.3)
        cost = random.choice((3, 30, 128, 129, 4095))
        # The end that was told a clock before.
        dut.ended_i.value, dut.ended_cost_i.value = ends, jobs.popleft() if ends else 0
        ends = int(len(jobs) > 0 and random.random() < (0.4 if many else 0.5))
        dut.end_i.value, dut.begin_i.value, dut.begin_cost_i.value = ends, begins, cost
        if begins and len(jobs) < 200:
            jobs.append(cost)
        else:
            dut.begin_i.value = 0
        await RisingEdge(dut.clk_i)
        told.append(int(sum(min(cost, MOST) for cost in jobs) >= FULL))
        got = int(dut.full_o.value)
        assert got == told.popleft(), clock
        seen.add(got)
    assert seen == {0, 1}


def test_share():
    run(__file__, "scheduler_share", ["rtl/lib/lib.f", "rtl/parse/ingress.f"])
