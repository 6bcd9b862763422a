"""AWS F2's custom logic, whole: rings in host memory behind PCIM, registers behind OCL, HBM. `make test-long`."""

import cocotb
import pytest

from boards.board import WIRE, Board, Client, serve, set_and_get
from harness import hbm
from harness.clock import Pins, clocks, start
from harness.models import run
from harness.pcim import HostMemory
from harness.rings import CONTROL, ID, Host, Registers
from harness.size import LONG

LINK = 0x1000


class Window:
    """Whole words of one of the register files."""

    def __init__(self, registers, base):
        self.registers, self.base = registers, base

    async def write(self, addr, value):
        await self.registers.whole(self.base + addr, value)

    async def read(self, addr):
        return await self.registers.read(self.base + addr)

    def ring(self, addr, value):
        self.registers.ring(self.base + addr, value)


class F2(Board):
    def __init__(self, dut, pause=0.1):
        self.dut, self.pins = dut, Pins(dut)
        self.pins.flr_assert_i.value, self.pins.mon_preset_ni.value = 0, 0
        registers = Registers(dut)
        self.memory = HostMemory(dut, 32, latency=120, jitter=80, pause=pause, shuffle=True)
        self.host = Host(dut, self.memory, Window(registers, LINK))
        self.window = Window(registers, 0)
        self.read, self.write = self.window.read, self.window.write
        self.got = [channel.got for channel in self.host.channels]

    def send(self, channel, frame):
        self.host.channels[channel].send(frame)

    async def begin(self):
        await self.until(lambda: self.pins.ready_o.value, "HBM is not calibrated")
        assert await self.host.registers.read(ID) == 0x4B4C0001
        await self.host.set_up()
        await self.bring_up()

    def forget(self):
        """What the host knows of its rings, and doorbells that it has not rung."""
        self.host.registers.registers.bells.clear()
        for channel in self.host.channels:
            self.memory.slots.pop(0x7654_3210_F000 // 64 + channel.n, None)
            channel.clear()
            channel.queue.clear(), channel.got.clear()


@cocotb.test(timeout_time=800, timeout_unit="us")
async def whole(dut):
    """Bring-up by registers alone; a client, the host's ports; the shell's monitor of HBM; what is not used."""
    board = F2(dut)
    await start(dut)
    await board.begin()
    await serve(board)
    assert board.memory.most > 1 and board.pins.quiet_o.value
    for preset in (0, 3):
        board.pins.mon_preset_ni.value = preset
        await clocks(dut, 4)
        of = [(says if preset else (0,) * 8) for says in hbm.SAYS]
        assert board.pins.mon_paddr_o.value == of[1][0] << 22 | of[0][0]
        assert board.pins.mon_pwdata_o.value == of[1][4] << 32 | of[0][4]
        assert board.pins.mon_prdata_o.value == of[1][6] << 32 | of[0][6]
        flags = [sum(says[n] << bit for bit, n in enumerate((1, 2, 3, 5, 7))) for says in of]
        assert board.pins.mon_flags_o.value == flags[1] << 5 | flags[0]


@cocotb.test(timeout_time=800, timeout_unit="us")
async def function_level_reset(dut):
    """In the middle of transfers: it is done when nothing is under way in host memory. Card and link are as after power-up
    then, and serve again."""
    board = F2(dut, pause=0.3)
    await start(dut)
    await board.begin()
    for round_ in range(3):
        client = await Client(board, 41000 + round_).open()
        await set_and_get(client, b"before", b"x" * 3000)
        client.say(b"get before\r\n" * 20)
        await clocks(dut, 150 + 217 * round_)
        board.pins.flr_assert_i.value = 1
        await board.until(lambda: board.pins.flr_done_o.value, "the reset is not done")
        assert not board.memory.busy
        await clocks(dut, 50)
        assert board.pins.flr_done_o.value
        board.pins.flr_assert_i.value = 0
        await clocks(dut, 4)
        assert not board.pins.flr_done_o.value and not board.memory.busy
        board.forget()
        assert await board.host.registers.read(CONTROL) == 0
        await board.begin()
        await serve(board)


@cocotb.test(timeout_time=800, timeout_unit="us")
async def shell_reset(dut):
    """The shell's reset in the middle, with the bus: HBM goes on, and its answers from before are nobody's."""
    board = F2(dut)
    await start(dut)
    await board.begin()
    client = await Client(board, 42000).open()
    await set_and_get(client, b"before", b"y" * 3000)
    client.say(b"get before\r\n" * 8)
    await clocks(dut, 100)
    await board.until(lambda: board.memory.busy, "the bus is quiet")
    dut.rst_ni.value = 0
    await clocks(dut, 10)
    dut.rst_ni.value = 1
    board.forget()
    assert board.pins.ready_o.value
    await board.begin()
    assert not board.got[WIRE]
    await serve(board)


@pytest.mark.skipif(not LONG, reason="compiles a card, which takes minutes: WIREKV_LONG=1")
def test_f2():
    run(__file__, "f2_tb", ["boards/aws-f2/cl_wirekv.f", *hbm.files(True), "tb/boards/sh_ddr.sv", "tb/boards/f2_tb.sv"],
        options=["-DWIREKV_CONFIG=Small", "-DWIREKV_HBM_MONITOR"])  # fmt: skip
