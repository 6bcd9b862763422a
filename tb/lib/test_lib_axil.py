"""lib_axil: a master at any pace reads and writes registers through it, addresses and data of a write in any order;
nothing is taken while it holds or is reset; and none of its outputs changes between two edges, whatever the bus does."""

import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from harness.clock import start
from harness.models import run

OUTPUTS = ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp")
INPUTS = ("awaddr", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr", "arvalid", "rready")


def pauses(p):
    while True:
        yield random.random() < p


async def registers(dut, words):
    """What stands behind it: words that are read two clocks after re_o, and written in the clock after we_o."""
    asked = [None, None]
    while True:
        await RisingEdge(dut.clk_i)
        if dut.write_o.value:
            old = words.get(int(dut.waddr_o.value), 0)
            mask = sum(0xFF << 8 * b for b in range(4) if int(dut.wstrb_o.value) >> b & 1)
            words[int(dut.waddr_o.value)] = old & ~mask | int(dut.wdata_o.value) & mask
        asked = [int(dut.raddr_o.value) if dut.re_o.value else None, asked[0]]
        assert asked[1] is None or dut.raddr_o.value == asked[1], "the address of a read changed"
        # A RAM's and a register's clock, of which this task takes one by itself.
        dut.rdata_i.value = words.get(asked[0], 0) if asked[0] is not None else random.getrandbits(32) \
            if asked[1] is None else words.get(asked[1], 0)


async def noise(dut):
    """What stands on the bus means something with its valid alone. The master drives it behind rising edges."""
    while True:
        await FallingEdge(dut.clk_i)
        for channel, name in (("aw", "awaddr"), ("w", "wdata"), ("w", "wstrb"), ("ar", "araddr")):
            port = getattr(dut, f"s_axil_{name}")
            if not getattr(dut, f"s_axil_{channel}valid").value:
                port.value = random.getrandbits(len(port))


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.6])
async def accesses(dut, pause):
    words, want = {}, {}
    dut.hold_i.value = 0
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await start(dut)
    cocotb.start_soon(registers(dut, words))
    cocotb.start_soon(noise(dut))
    for channel in (bus.write_if.aw_channel, bus.write_if.w_channel, bus.write_if.b_channel,
                    bus.read_if.ar_channel, bus.read_if.r_channel):
        channel.set_pause_generator(pauses(pause))
    for _ in range(300):
        word, size = random.randrange(16), random.randrange(1, 5)
        lane = random.randrange(5 - size)
        data = random.randbytes(size)
        if random.random() < 0.5:
            await bus.write(4 * word + lane, data)
            old = bytearray(want.get(word, 0).to_bytes(4, "little"))
            old[lane : lane + size] = data
            want[word] = int.from_bytes(old, "little")
        else:
            other = random.randrange(16)
            read = cocotb.start_soon(bus.read_dword(4 * other))
            assert await read == want.get(other, 0)
    for word in range(16):
        assert await bus.read_dword(4 * word) == want.get(word, 0)


@cocotb.test()
async def held(dut):
    """While it holds it takes nothing, and says so."""
    for name in INPUTS:
        getattr(dut, f"s_axil_{name}").value = 0
    dut.hold_i.value = 1
    await start(dut)
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = dut.s_axil_arvalid.value = 1
    dut.s_axil_wdata.value = 7
    for _ in range(20):
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert not (dut.s_axil_awready.value or dut.s_axil_wready.value or dut.s_axil_arready.value)
        assert dut.wdata_o.value == 0 and not dut.we_o.value and not dut.re_o.value and not dut.busy_o.value


@cocotb.test()
async def in_reset(dut):
    """A bus that has left the reset earlier is not told that its access was taken."""
    for name in INPUTS:
        getattr(dut, f"s_axil_{name}").value = 0
    dut.hold_i.value = 0
    await start(dut)
    for n in range(8):
        dut.rst_ni.value = 0
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.s_axil_arvalid.value, dut.s_axil_awvalid.value, dut.s_axil_wvalid.value = n & 1, n >> 1 & 1, n >> 2 & 1
        for _ in range(4):
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            assert not (dut.s_axil_awready.value or dut.s_axil_wready.value or dut.s_axil_arready.value)
        await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        dut.s_axil_bready.value = dut.s_axil_rready.value = 1
        seen = {"b": 0, "r": 0}
        for _ in range(20):
            await RisingEdge(dut.clk_i)
            for channel in ("ar", "aw", "w"):
                valid = getattr(dut, f"s_axil_{channel}valid")
                if getattr(dut, f"s_axil_{channel}ready").value and valid.value:
                    valid.value = 0
            for channel in seen:
                seen[channel] += int(getattr(dut, f"s_axil_{channel}valid").value)
        assert seen == {"b": int(n & 6 == 6), "r": n & 1}, (n, seen)


@cocotb.test()
async def registered(dut):
    """Inputs that change between two edges change no output."""
    dut.hold_i.value = 0
    for name in INPUTS:
        getattr(dut, f"s_axil_{name}").value = 0
    await start(dut)
    for _ in range(200):
        await RisingEdge(dut.clk_i)
        await Timer(1, "ns")
        was = [getattr(dut, f"s_axil_{name}").value for name in OUTPUTS]
        for name in INPUTS:
            port = getattr(dut, f"s_axil_{name}")
            port.value = random.getrandbits(len(port))
        await Timer(1, "ns")
        assert [getattr(dut, f"s_axil_{name}").value for name in OUTPUTS] == was


def test_lib_axil():
    run(__file__, "lib_axil", ["rtl/lib/lib.f"])
