"""machine_watchdog: the core runs while it shows that it is alive, and is reset when it does not."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start
from harness.models import run

CLOCKS = 1024


async def wait(dut, signal, value, at_most):
    """Clocks until a signal has a value."""
    for n in range(at_most + 1):
        if int(signal.value) == value:
            return n
        await RisingEdge(dut.clk_i)
    raise AssertionError(f"{signal._name} is not {value} after {at_most} clocks")


@cocotb.test()
async def alive(dut):
    """No reset for a core that is alive, however close; none before there is a program."""
    dut.run_i.value = 0
    dut.alive_i.value = 0
    await start(dut)
    for _ in range(3 * CLOCKS):
        await RisingEdge(dut.clk_i)
        assert dut.core_rst_o.value
    assert not dut.restarts_o.value
    dut.run_i.value = 1
    await wait(dut, dut.core_rst_o, 0, 20)
    for pause in (1, CLOCKS - 2, *(random.randrange(1, CLOCKS - 1) for _ in range(20))):
        dut.alive_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.alive_i.value = 0
        for _ in range(pause):
            await RisingEdge(dut.clk_i)
            assert not dut.core_rst_o.value
    assert not dut.restarts_o.value


@cocotb.test()
async def hung(dut):
    """A reset of 15 clocks or more behind each silence, and each is counted."""
    dut.run_i.value = 1
    dut.alive_i.value = 0
    await start(dut)
    for n in range(3):
        await wait(dut, dut.core_rst_o, 0, 20)
        assert int(dut.restarts_o.value) == n
        assert await wait(dut, dut.core_rst_o, 1, CLOCKS + 4) >= CLOCKS - 4
        assert await wait(dut, dut.core_rst_o, 0, 20) >= 14
    dut.run_i.value = 0
    await clocks(dut, 2)
    assert dut.core_rst_o.value


def test_machine_watchdog():
    run(__file__, "machine_watchdog", ["rtl/lib/lib.f", "rtl/machine/machine_watchdog.sv"], Clocks=CLOCKS)
