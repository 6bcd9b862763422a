"""OpenNIC's plugin, whole: frames of the wire and of two PFs, registers of half the clock, HBM. `make test-long`."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource

from boards.board import HOST, WIRE, Board, Client, serve, set_and_get
from harness import hbm
from harness.clock import Pins, clocks
from harness.models import run
from harness.size import LONG

PORTS = ("wire", "pf0", "pf1")
#: What tuser says beside the length: where from, where to.
SIDES = [(0x0001, 0x0040), (0x0040, 0x0001), (0x0040, 0x0002)]


class Got(list):
    """Frames of a sink, as they are asked for."""

    def __init__(self, sink, sides):
        super().__init__()
        self.sink, self.sides = sink, sides

    def __bool__(self):
        while not self.sink.empty():
            frame = self.sink.recv_nowait(compact=False)
            users = set(frame.tuser) if isinstance(frame.tuser, (list, tuple)) else {frame.tuser}
            assert len(users) == 1, "tuser changes"
            user = users.pop()
            size, source, to = (user >> 16 * n & 0xFFFF for n in range(3))
            assert (source, to) == self.sides and len(frame.tdata) - size in range(64)
            self.append(bytes(frame.tdata[:size]))
        return len(self) > 0


class OpenNic(Board):
    def __init__(self, dut, pause=0.0):
        self.dut, self.pins = dut, Pins(dut)
        self.pins.mod_rst_ni.value = 1
        Clock(dut.clk_i, 4, unit="ns").start()
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.axil_clk_o)
        self.sources = [AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_{name}"), dut.clk_i) for name in PORTS]
        self.sinks = [AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_{name}"), dut.clk_i) for name in PORTS]
        for end in (*self.sources, *self.sinks) if pause else ():
            end.set_pause_generator(iter(lambda: random.random() < pause, None))
        self.got = [Got(sink, sides) for sink, sides in zip(self.sinks, SIDES)]

    def send(self, channel, frame):
        self.sources[channel].send_nowait(frame)

    async def read(self, addr):
        return int.from_bytes((await self.master.read(addr, 4)).data, "little")

    async def write(self, addr, value):
        await self.master.write(addr, value.to_bytes(4, "little"))

    async def reset(self):
        """As the shell asks for it: one clock of registers."""
        self.pins.mod_rst_ni.value = 0
        await clocks(self.dut, 2)
        self.pins.mod_rst_ni.value = 1
        assert not self.pins.mod_rst_done_o.value
        await self.until(lambda: self.pins.mod_rst_done_o.value, "the reset is not done")
        await clocks(self.dut, 600)  # HBM is calibrated after the first one


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4])
async def whole(dut, pause):
    """Bring-up by registers alone; a client, and the host's two ports."""
    board = OpenNic(dut, pause)
    await board.reset()
    await board.bring_up()
    await serve(board)


@cocotb.test()
async def resets(dut):
    """In the middle of frames both ways: none is cut, and the card serves again."""
    board = OpenNic(dut, 0.3)
    await board.reset()
    await board.bring_up()
    for round_ in range(3):
        client = await Client(board, 41000 + round_).open()
        await set_and_get(client, b"before", b"x" * 3000)
        client.say(b"get before\r\n" * 20)
        for channel in (WIRE, HOST):
            board.send(channel, random.randbytes(1400))
        await clocks(dut, 60 + 97 * round_)
        await board.reset()
        await clocks(dut, 2000)
        for got in board.got:
            bool(got), got.clear()
        await board.bring_up()
        await serve(board)


@pytest.mark.skipif(not LONG, reason="compiles a card, which takes minutes: WIREKV_LONG=1")
def test_opennic():
    run(__file__, "opennic_tb", ["boards/opennic/wirekv_250mhz.f", *hbm.files(False), "tb/boards/opennic_tb.sv"],
        options=["-DWIREKV_CONFIG=Small"])  # fmt: skip
