"""machine_regs: each register is what docs/MACHINE.md says; a read of WAIT is answered when there is work, and only then."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start
from harness.models import run
from harness.structs import Types

CFG = Types("rtl/lib/wirekv_pkg.sv", "rtl/machine/machine_pkg.sv").machine_cfg_t
RAM = 1 << 20
ID, RAM_BYTES, CLOCKS, TIME, CONSOLE, WATCHDOG, RESTARTS, ACCEL = range(8)
MAC_HIGH, MAC_LOW, IP, NET, WAIT, DROPPED = range(8, 14)
RX_STATUS, RX_POP, TX_PUSH, RX_LINE, TX_LINE = 16, 17, 18, 32, 48


class Core:
    def __init__(self, dut):
        self.dut = dut
        for name in ("valid_i", "core_rst_i", "drop_i", "event_i", "frame_i"):
            getattr(dut, name).value = 0

    async def access(self, word, data=None, at_most=1):
        """A read, or a write; what was read, or None when it is not answered in so many clocks."""
        dut = self.dut
        dut.req_i.value = (data is not None) << 42 | word << 32 | (data or 0)
        dut.valid_i.value = 1
        for _ in range(at_most):
            await RisingEdge(dut.clk_i)
            if dut.ready_o.value:
                dut.valid_i.value = 0
                return int(dut.rdata_o.value)
        return None

    async def read(self, word):
        value = await self.access(word)
        assert value is not None, f"register {word} has no answer"
        return value


async def begin(dut):
    core = Core(dut)
    await start(dut)
    await RisingEdge(dut.clk_i)
    return core


@cocotb.test()
async def content(dut):
    """What is to be read is what the machine is told."""
    core = await begin(dut)
    assert await core.read(ID) == 0x4B4D0001
    assert await core.read(RAM_BYTES) == RAM
    for _ in range(50):
        cfg = {"mac": random.getrandbits(48), "ip": random.getrandbits(32), "port": random.getrandbits(16), "pio": random.getrandbits(1)}
        told = {name: random.getrandbits(32) for name in ("time_i", "accel_i", "restarts_i", "pio_i")}
        dut.cfg_i.value = CFG.pack(cfg)
        for name, value in told.items():
            getattr(dut, name).value = value
        want = {TIME: told["time_i"], ACCEL: told["accel_i"], RESTARTS: told["restarts_i"], MAC_HIGH: cfg["mac"] >> 16,
                MAC_LOW: (cfg["mac"] & 0xFFFF) << 16, IP: cfg["ip"], NET: cfg["pio"] << 16 | cfg["port"]}  # fmt: skip
        of_nic = dict.fromkeys((RX_STATUS, 19, *range(RX_LINE, RX_LINE + 16)), told["pio_i"])
        for word, value in random.sample(list((want | of_nic).items()), 10):
            assert await core.read(word) == value, word
            assert not dut.pio_we_o.value


@cocotb.test()
async def counters(dut):
    """Clocks since the reset; frames that found no room, each once, whatever the core does."""
    core = await begin(dut)
    before = await core.read(CLOCKS)
    for pause in (1, 7, 100):
        await clocks(dut, pause - 1)
        now = await core.read(CLOCKS)
        assert now - before == pause
        before = now
    dropped = 0
    for _ in range(200):
        drop = random.random() < 0.3
        dut.drop_i.value = drop
        await RisingEdge(dut.clk_i)
        dropped += drop
    dut.drop_i.value = 0
    await RisingEdge(dut.clk_i)
    assert await core.read(DROPPED) == dropped == int(dut.dropped_o.value)


@cocotb.test()
async def writes(dut):
    """A byte for the console, a sign of life, a register of the NIC: each is seen with its write, and with no other access."""
    core = await begin(dut)
    seen = []

    async def look():
        while True:
            await RisingEdge(dut.clk_i)
            if dut.valid_i.value:
                console = int(dut.console_o.value) if dut.console_valid_o.value else None
                seen.append((console, bool(dut.alive_o.value), bool(dut.pio_we_o.value)))

    cocotb.start_soon(look())
    want = []
    for _ in range(200):
        word, write, data = random.choice([CONSOLE, WATCHDOG, RX_POP, TX_PUSH, TX_LINE + 3, ID]), random.random() < 0.7, random.getrandbits(32)
        await core.access(word, data if write else None)
        want.append((data & 0xFF if write and word == CONSOLE else None, write and word == WATCHDOG, write))
    await RisingEdge(dut.clk_i)
    assert seen == want


async def waits(core, at_most=30):
    """WAIT is asked for and not answered; meanwhile the core is alive."""
    dut = core.dut
    assert await core.access(WAIT, at_most=at_most) is None
    assert dut.waits_o.value and dut.alive_o.value


async def answered(core, frame=0, at_most=2):
    dut = core.dut
    assert await core.access(WAIT, at_most=at_most) == frame
    await RisingEdge(dut.clk_i)
    assert not dut.waits_o.value


@cocotb.test()
async def waiting(dut):
    """An event answers one WAIT, whether it was before it or comes meanwhile; a frame does as long as it is there."""
    core = await begin(dut)

    async def event():
        dut.event_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.event_i.value = 0

    for _ in range(20):
        await waits(core)
        await event()
        await answered(core)
        await waits(core)
        await event()
        await answered(core)
        # Two before it are one; other accesses do not take it.
        await event()
        await event()
        await clocks(dut, random.randrange(5))
        await core.read(ID)
        await answered(core)
        await waits(core)
        # One with the answer to another is not lost.
        await event()
        dut.event_i.value = 1
        assert await core.access(WAIT) == 0
        dut.event_i.value = 0
        await answered(core)
        await waits(core)
        dut.frame_i.value = 1
        for _ in range(3):
            await answered(core, frame=1)
        dut.frame_i.value = 0
        await waits(core)
        # A core that is reset asks no more.
        dut.core_rst_i.value = 1
        await answered(core)
        dut.core_rst_i.value = 0


def test_machine_regs():
    run(__file__, "machine_regs", ["rtl/lib/lib.f", "rtl/machine/machine_pkg.sv", "rtl/machine/machine_regs.sv"], RamBytes=RAM)
