"""lib_ram: byte writes, old data on a collision, and an output that is held, or cleared."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from harness.models import run
from harness.size import scale


@cocotb.test()
async def lockstep(dut):
    depth, width, byte = (int(p.value) for p in (dut.Depth, dut.Width, dut.ByteWidth))
    dut.we_i.value = dut.re_i.value = dut.clear_i.value = 0
    Clock(dut.clk_i, 4, unit="ns").start()
    mem, out = [0] * depth, None
    for addr in range(depth):
        dut.we_i.value, dut.waddr_i.value, dut.wdata_i.value = 1, addr, 0
        dut.wbe_i.value = (1 << (width // byte)) - 1
        await RisingEdge(dut.clk_i)
    for _ in range(3000):
        we, re, clear = random.randrange(2), random.randrange(2), random.random() < 0.1
        waddr, raddr = random.randrange(depth), random.randrange(depth)
        raddr = random.choice((raddr, waddr))
        wdata, wbe = random.getrandbits(width), random.getrandbits(width // byte)
        dut.we_i.value, dut.waddr_i.value, dut.wdata_i.value, dut.wbe_i.value = we, waddr, wdata, wbe
        dut.re_i.value, dut.raddr_i.value, dut.clear_i.value = re, raddr, clear
        await RisingEdge(dut.clk_i)
        if out is not None:
            assert int(dut.rdata_o.value) == out
        out = 0 if clear else mem[raddr] if re else out
        if we:
            mask = sum(((1 << byte) - 1) << b * byte for b in range(width // byte) if wbe >> b & 1)
            mem[waddr] = mem[waddr] & ~mask | wdata & mask


@pytest.mark.parametrize("width, depth, byte", scale([(9, 3, 9), (512, 40, 8)], [(32, 16, 32), (32, 64, 8), (512, 40, 8), (9, 3, 9)]))
def test_lib_ram(width, depth, byte):
    run(__file__, "lib_ram", ["rtl/lib/lib.f"], Width=width, Depth=depth, ByteWidth=byte)
