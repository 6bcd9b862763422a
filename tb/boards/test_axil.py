"""Registers behind a bus of half the clock: every access is answered once, by the register that it named, whatever is reset."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiResp

from harness.models import run


async def begin(dut, slow, pause=0.0):
    for name in ("rst_ni", "slow_rst_ni", "hold_i"):
        getattr(dut, name).value = 0
    Clock(dut.clk_i, 4, unit="ns").start()
    Clock(dut.slow_clk_i, slow, unit="ns").start()
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.slow_clk_i)
    rams = [AxiLiteRam(AxiLiteBus.from_prefix(dut, f"m{n}_axil"), dut.clk_i, dut.rst_ni, False, size=4096) for n in range(2)]
    if pause:
        for ram in rams:
            for part in (ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel, ram.read_if.ar_channel, ram.read_if.r_channel):
                part.set_pause_generator(iter(lambda: random.random() < pause, None))
    await ClockCycles(dut.slow_clk_i, 8)
    dut.rst_ni.value = dut.slow_rst_ni.value = 1
    await ClockCycles(dut.slow_clk_i, 4)
    return master, rams


@cocotb.test()
@cocotb.parametrize(slow=[8, 4, 10], pause=[0.0, 0.7])
async def each_in_its_window(dut, slow, pause):
    """Also in clocks without a common phase."""
    master, rams = await begin(dut, slow, pause)
    held = {}
    for _ in range(150):
        addr = random.randrange(0, 0x2000, 4)
        if random.random() < 0.5:
            held[addr] = random.randbytes(4)
            assert (await master.write(addr, held[addr])).resp == AxiResp.OKAY
            assert rams[addr >> 12].read(addr & 0xFFF, 4) == held[addr]
        else:
            read = await master.read(addr, 4)
            assert read.resp == AxiResp.OKAY and read.data == held.get(addr, bytes(4))


@cocotb.test()
async def both_at_once(dut):
    """Reads and writes that wait for each other have their turns."""
    master, rams = await begin(dut, 8)
    rams[1].write(0, bytes(range(256)))
    writes = [cocotb.start_soon(master.write(4 * n, bytes([n] * 4))) for n in range(32)]
    reads = [cocotb.start_soon(master.read(0x1000 + 4 * n, 4)) for n in range(32)]
    for write in writes:
        assert (await with_timeout(write, 100, "us")).resp == AxiResp.OKAY
    assert sum(read.done() for read in reads) >= 28
    for n, read in enumerate(reads):
        assert (await with_timeout(read, 100, "us")).data == bytes(range(4 * n, 4 * n + 4))
    assert rams[0].read(0, 128) == bytes(n for n in range(32) for _ in range(4))


@cocotb.test()
async def beyond_the_windows(dut):
    """An address without a register is answered with an error. The bus has one for all, SLVERR, behind the crossing."""
    master, rams = await begin(dut, 8)
    for addr in (0x2000, 0x2FFC, 0x10000, 0x80001000):
        assert (await with_timeout(master.write(addr, bytes(4)), 10, "us")).resp == AxiResp.SLVERR
        read = await with_timeout(master.read(addr, 4), 10, "us")
        assert read.resp == AxiResp.SLVERR and read.data == b"\xff" * 4
    await master.write(0x1004, b"here")
    assert (await master.read(0x1004, 4)).data == b"here" and rams[0].read(4, 4) == bytes(4)


@cocotb.test()
async def reset_in_an_access(dut):
    """The access that a reset meets is answered with an error, and the next one is as any other."""
    master, _ = await begin(dut, 8, 0.8)
    errors = 0
    for n in range(60):
        access = cocotb.start_soon(master.write(4 * n, b"some") if n % 2 else master.read(4 * n, 4))
        await ClockCycles(dut.clk_i, random.randrange(1, 60))
        dut.slow_rst_ni.value = 0
        await ClockCycles(dut.clk_i, 4)
        dut.rst_ni.value = 0
        await ClockCycles(dut.slow_clk_i, 20)
        dut.slow_rst_ni.value = 1
        await ClockCycles(dut.clk_i, 4)
        dut.rst_ni.value = 1
        answer = await with_timeout(access, 20, "us")
        errors += answer.resp == AxiResp.SLVERR
        assert answer.resp in (AxiResp.OKAY, AxiResp.SLVERR)
        await with_timeout(master.write(0x1000 + 4 * n, n.to_bytes(4, "little")), 20, "us")
        assert (await with_timeout(master.read(0x1000 + 4 * n, 4), 20, "us")).data == n.to_bytes(4, "little")
    assert 5 < errors < 55


@cocotb.test()
async def hold(dut):
    """What is held waits, and what was under way ends."""
    master, _ = await begin(dut, 8, 0.8)
    first = cocotb.start_soon(master.read(0, 4))
    while not dut.busy_o.value:
        await ClockCycles(dut.clk_i, 1)
    dut.hold_i.value = 1
    await with_timeout(first, 10, "us")
    second = cocotb.start_soon(master.read(0x1000, 4))
    await ClockCycles(dut.clk_i, 300)
    assert not second.done() and not dut.busy_o.value
    dut.hold_i.value = 0
    await with_timeout(second, 10, "us")


@pytest.mark.filterwarnings("ignore")
def test_axil():
    run(__file__, "axil_tb", ["boards/common/axil_windows.sv", "boards/opennic/axil_cross.sv", "tb/boards/axil_tb.sv"])
