"""machine_pio: frames by reads and writes of words, both ways at once; none leaves in part."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start
from harness.models import run
from harness.size import scale
from harness.streams import Sink, Source
from harness.structs import T

LINES = 64
RX_STATUS, RX_POP, TX_PUSH, TX_ROOM, RX_LINE, TX_LINE = 16, 17, 18, 19, 32, 48
LAST = 1 << 7


def beats(frame):
    cuts = range(0, len(frame), 64)
    return [{"data": {"data": int.from_bytes(frame[n : n + 64], "little"), "keep": (1 << len(frame[n : n + 64])) - 1,
                      "last": n + 64 >= len(frame)}} for n in cuts]  # fmt: skip


def frames(items):
    found = [b""]
    for item in items:
        beat = item["data"]
        length = beat["keep"].bit_length()
        assert beat["keep"] == (1 << length) - 1 and (length == 64 or beat["last"])
        found[-1] += beat["data"].to_bytes(64, "little")[:length]
        if beat["last"]:
            found.append(b"")
    return found


def some(most=LINES * 64):
    return random.randbytes(random.choice([1, 63, 64, 65, random.randrange(1, 400), random.randrange(1, most)]))


class Core:
    def __init__(self, dut):
        self.dut = dut
        dut.we_i.value = dut.clear_i.value = 0

    async def write(self, word, data=0):
        self.dut.word_i.value, self.dut.wdata_i.value, self.dut.we_i.value = word, data, 1
        await RisingEdge(self.dut.clk_i)
        self.dut.we_i.value = 0

    async def read(self, word):
        self.dut.word_i.value = word
        await RisingEdge(self.dut.clk_i)
        return int(self.dut.rdata_o.value)

    async def lines(self, frame):
        """A frame's lines, without a look at the room."""
        for n in range(0, len(frame), 64):
            line = frame[n : n + 64]
            for at in range(0, len(line), 4):
                await self.write(TX_LINE + at // 4, int.from_bytes(line[at : at + 4], "little"))
            await self.write(TX_PUSH, len(line) | (LAST if n + 64 >= len(frame) else 0))

    async def send(self, frame):
        while await self.read(TX_ROOM) < (len(frame) + 63) // 64:
            pass
        await self.lines(frame)

    async def receive(self):
        """The frame that is there, or None."""
        got = b""
        while True:
            status = await self.read(RX_STATUS)
            if status == 0:
                assert not got
                return None
            length = status & 0x7F
            words = [await self.read(RX_LINE + n) for n in range((length + 3) // 4)]
            got += b"".join(w.to_bytes(4, "little") for w in words)[:length]
            await self.write(RX_POP)
            if status & LAST:
                return got


async def begin(dut):
    core = Core(dut)
    source, sink = Source(dut, "s", {"data": T.axis_t}), Sink(dut, "m", {"data": T.axis_t})
    await start(dut)
    await RisingEdge(dut.clk_i)
    return core, source, sink


@cocotb.test()
async def both_ways(dut):
    """Frames of many lengths come and go, in turn."""
    core, source, sink = await begin(dut)
    for pause in (0, 0.5, 0.99):
        sink.pause = pause
        coming = [some() for _ in range(scale(15, 200))]
        going = [some() for _ in range(scale(15, 200))]
        source.put(*[beat for frame in coming for beat in beats(frame)])
        got = []
        for frame in going:
            await core.send(frame)
            if (one := await core.receive()) is not None:
                got.append(one)
        while len(got) < len(coming):
            got.append(await core.receive())
        assert got == coming
        assert await core.read(RX_STATUS) == 0
        await sink.wait(sum(len(beats(frame)) for frame in going))
        assert frames(sink.items) == [*going, b""]
        sink.items.clear()


@cocotb.test()
async def whole(dut):
    """Nothing of a frame leaves before its last line; a frame of which a line found no room leaves not at all, nor one that
    the core began before it started anew."""
    core, _, sink = await begin(dut)
    for _ in range(scale(5, 50)):
        good, rest = some(), some(640)
        await core.lines(good)
        await clocks(dut, LINES + 10)
        assert frames(sink.items) == [good, b""]
        sink.items.clear()
        # A part of one, and then the core starts anew.
        for n in range(random.randrange(1, 6)):
            await core.write(TX_LINE + n, random.getrandbits(32))
            await core.write(TX_PUSH, 64)
        await clocks(dut, 10)
        assert not sink.items
        dut.clear_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.clear_i.value = 0
        await RisingEdge(dut.clk_i)
        assert await core.read(TX_ROOM) == LINES
        # One that is too long, and those behind it.
        await core.lines(random.randbytes(64 * (LINES + random.randrange(1, 4))))
        await clocks(dut, LINES + 10)
        assert not sink.items and await core.read(TX_ROOM) == LINES
        await core.lines(rest)
        await clocks(dut, LINES + 10)
        assert frames(sink.items) == [rest, b""]
        sink.items.clear()


def test_machine_pio():
    run(__file__, "machine_pio", ["rtl/lib/lib.f", "rtl/machine/machine_pkg.sv", "rtl/machine/machine_pio.sv"], Lines=LINES)
