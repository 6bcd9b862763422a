"""The two ends of the link: a host with rings in its memory, and a card with streams."""

import random
from collections import deque

from cocotb.triggers import Event

from harness.clock import NEXT_CLOCK, Pins, every_clock, start, until
from harness.pcim import HostMemory

CHANNELS = 3
#: Registers by their bytes, as docs/rtl/LINK.md has them.
ID, CAPS, CONTROL, BATCH_SLOTS, BATCH_CLOCKS, STATUS_BASE = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x18
DOWN_BASE, UP_BASE, SIZES, DOWN_PRODUCER, UP_CONSUMER = 0x00, 0x08, 0x10, 0x14, 0x18
INDICES, FAULT, STATE, DOWN_BYTES, UP_BYTES = 0x20, 0x24, 0x28, 0x38, 0x3C
EVENTS, DOWN_FRAMES, UP_FRAMES, DROPS, FAULTS = 0x100, 0, 4, 8, 12
BYTES_FAULT, RESERVED_FAULT, PAST_FAULT, READ_FAULT, WRITE_FAULT, DOWN_DOOR, UP_DOOR, SETUP_FAULT = (1 << n for n in range(8))
BUSY, RUNNING = 1 << 16, 1 << 17
MAX_FRAME = 144 * 64 - 4


def of(channel, register):
    return 0x40 * (channel + 1) + register


def slots_of(size):
    return (size + 67) // 64


class Registers:
    """An AXI4-Lite master: one access at a time, doorbells behind what a test asks for. A reset is the bus' as well."""

    def __init__(self, dut):
        self.pins, self.asked, self.bells = Pins(dut), deque(), {}
        for name in ("awvalid", "wvalid", "arvalid", "awaddr", "wdata", "wstrb", "araddr"):
            getattr(self.pins, f"s_axil_{name}").value = 0
        self.pins.s_axil_bready.value = self.pins.s_axil_rready.value = 1
        self.task = every_clock(dut, self._run(dut))

    async def write(self, addr, value):
        """In two parts, some bytes each."""
        strobes = random.randrange(1, 15)
        for part in (strobes, 15 ^ strobes):
            done = Event()
            self.asked.append((addr, value, part, done))
            await done.wait()

    async def whole(self, addr, value):
        done = Event()
        self.asked.append((addr, value, 15, done))
        await done.wait()

    async def read(self, addr):
        done = Event()
        self.asked.append((addr, None, 0, done))
        await done.wait()
        return done.value

    def ring(self, addr, value):
        """A doorbell: of several to one register the last counts."""
        self.bells[addr] = value

    async def _run(self, dut):
        p = self.pins
        await NEXT_CLOCK
        while not dut.rst_ni.value:
            await NEXT_CLOCK
        while True:
            if self.asked:
                addr, value, strobes, done = self.asked.popleft()
            elif self.bells:
                addr = next(iter(self.bells))
                value, strobes, done = self.bells.pop(addr), 15, None
            else:
                await NEXT_CLOCK
                continue
            if value is None:
                p.s_axil_araddr.value, p.s_axil_arvalid.value = addr, 1
                await NEXT_CLOCK
                while p.rst_ni.value and not p.s_axil_arready.value:
                    await NEXT_CLOCK
                p.s_axil_arvalid.value = 0
                while p.rst_ni.value and not p.s_axil_rvalid.value:
                    await NEXT_CLOCK
                assert p.s_axil_rresp.value == 0
                done.value = p.s_axil_rdata.value
            else:
                lanes = sum(0xFF << 8 * b for b in range(4) if strobes >> b & 1)
                p.s_axil_awaddr.value, p.s_axil_wstrb.value = addr, strobes
                p.s_axil_wdata.value = value & lanes | random.getrandbits(32) & ~lanes
                p.s_axil_awvalid.value = p.s_axil_wvalid.value = 1
                await NEXT_CLOCK
                while p.rst_ni.value and not p.s_axil_awready.value:
                    await NEXT_CLOCK
                p.s_axil_awvalid.value = p.s_axil_wvalid.value = 0
                while p.rst_ni.value and not p.s_axil_bvalid.value:
                    await NEXT_CLOCK
            if done:
                done.set()
            await NEXT_CLOCK


class Card:
    """A channel's streams. `pause` is the probability of an idle clock, each on its own; `stalled`: it takes nothing."""

    def __init__(self, dut, channel, pause=0.0):
        self.pins, self.pause, self.stalled, self.n = Pins(dut), pause, False, channel
        self.queue, self.got, self.taken, self.bytes = deque(), [], 0, 0
        self._in = {f: getattr(self.pins, f"s{channel}_{f}") for f in ("data", "keep", "last", "valid", "ready")}
        self._out = {f: getattr(self.pins, f"m{channel}_{f}") for f in ("data", "keep", "last", "valid", "ready")}
        self._in["valid"].value = self._out["ready"].value = 0
        self.tasks = every_clock(dut, self._drive(dut)), every_clock(dut, self._take(dut))

    def send(self, *frames):
        self.queue.extend(frames)

    async def _drive(self, dut):
        p = self._in
        data, keep, last, valid, ready = (p[f] for f in ("data", "keep", "last", "valid", "ready"))
        await NEXT_CLOCK
        while not dut.rst_ni.value:
            await NEXT_CLOCK
        while True:
            while not self.queue or (self.pause and random.random() < self.pause):
                await NEXT_CLOCK
            frame = self.queue[0]
            for at in range(0, len(frame), 64):
                part = frame[at : at + 64]
                while self.pause and random.random() < self.pause:
                    await NEXT_CLOCK
                data.value = int.from_bytes(part, "little") | random.getrandbits(8) << 8 * len(part) & (1 << 512) - 1
                keep.drive((1 << len(part)) - 1)
                last.drive(at + 64 >= len(frame))
                valid.drive(1)
                await NEXT_CLOCK
                while not ready.value:
                    await NEXT_CLOCK
                if self.pause or at + 64 >= len(frame) and len(self.queue) < 2:
                    valid.drive(0)
            self.queue.popleft()
            self.taken += 1

    async def _take(self, dut):
        p = self._out
        data, keep, last, valid, ready = (p[f] for f in ("data", "keep", "last", "valid", "ready"))
        takes, parts, offered = False, [], None
        await NEXT_CLOCK
        while not dut.rst_ni.value:
            await NEXT_CLOCK
        while True:
            if valid.value:
                beat = data.value, keep.value, last.value
                lanes = beat[1].bit_length()
                assert beat[1] == (1 << lanes) - 1 and (beat[2] or lanes == 64) and lanes, f"keep is {beat[1]:x}"
                assert offered in (None, beat), "a beat was offered and changed"
                offered = None if takes else beat
                if takes:
                    self.bytes += lanes
                    parts.append((beat[0] & (1 << 8 * lanes) - 1).to_bytes(lanes, "little"))
                    if beat[2]:
                        self.got.append(b"".join(parts))
                        parts = []
            else:
                assert offered is None, "a beat was offered and vanished"
            takes = not self.stalled and not (self.pause and random.random() < self.pause)
            ready.drive(takes)
            await NEXT_CLOCK


class Channel:
    """The host's side of a channel. What it has read, or the card has, is overwritten at once. `lazy` is the probability that
    it does nothing in a clock. `stalled`: it sends, and takes nothing."""

    def __init__(self, memory, registers, number, down_base, down_bits, up_base, up_bits, lazy=0.0):
        self.memory, self.registers, self.n, self.lazy, self.stalled = memory, registers, number, lazy, False
        self.down_base, self.down_bits, self.up_base, self.up_bits = down_base, down_bits, up_base, up_bits
        self.queue, self.got, self.sent = deque(), [], []
        self.clear()

    def clear(self):
        self.produced = self.consumed = self.up = self.taken = self.seen = 0
        self.fault = self.place = self.flags = 0

    def send(self, *frames):
        self.queue.extend(frames)

    def down_addr(self, index):
        return self.down_base // 64 + index % (1 << self.down_bits)

    def up_addr(self, index):
        return self.up_base // 64 + index % (1 << self.up_bits)

    def put(self, frame, preamble=None):
        """Writes a frame behind what was produced; the doorbell is another step."""
        raw = (len(frame) if preamble is None else preamble).to_bytes(4, "little") + frame
        raw += random.getrandbits(8).to_bytes(1, "little") * (-len(raw) % 64)
        for n in range(0, len(raw), 64):
            self.memory.slots[self.down_addr(self.produced)] = int.from_bytes(raw[n : n + 64], "little")
            self.produced += 1

    def step(self, status):
        """What a host does at each look."""
        line = self.memory.slots.get(status)
        if line is not None and line != self.seen:
            self.seen = line
            up, down = line & 0xFFFF, line >> 16 & 0xFFFF
            self.fault, self.place, self.flags = line >> 32 & 0xFF, line >> 64 & 0xFFFF, line >> 64
            forth, came = (down - self.consumed) & 0xFFFF, (up - self.up) & 0xFFFF
            assert forth <= self.produced - self.consumed, "the card has consumed what was not produced"
            assert came <= (1 << self.up_bits) - (self.up - self.taken), "the card has produced more than the ring holds"
            for n in range(forth):
                self.memory.slots[self.down_addr(self.consumed + n)] = random.getrandbits(64) << 448 | 0x5A5A5A5A
            self.consumed += forth
            self.up += came
        if self.lazy and random.random() < self.lazy:
            return
        took = False
        while self.taken != self.up and not self.stalled:
            self._frame()
            took = True
        if took:
            self.registers.ring(of(self.n, UP_CONSUMER), self.taken & 0xFFFF)
        put = False
        while self.queue and slots_of(len(self.queue[0])) <= (1 << self.down_bits) - (self.produced - self.consumed):
            frame = self.queue.popleft()
            self.put(frame)
            self.sent.append(frame)
            put = True
        if put:
            self.registers.ring(of(self.n, DOWN_PRODUCER), self.produced & 0xFFFF)

    def _frame(self):
        """Takes a frame that the host was told of."""
        lines, at = self.memory.slots, self.up_addr
        preamble = lines[at(self.taken)] & 0xFFFFFFFF
        assert preamble >> 14 == 0 and 0 < preamble <= MAX_FRAME, f"slot {self.taken} begins with {preamble:x}"
        slots = slots_of(preamble)
        assert slots <= self.up - self.taken, "the host was told of a part of a frame"
        raw = b"".join(lines[at(self.taken + n)].to_bytes(64, "little") for n in range(slots))
        for n in range(slots):
            lines[at(self.taken + n)] = 0xA5A5A5A5
        self.taken += slots
        self.got.append(raw[4 : 4 + preamble])


#: Where things stand in host memory.
STATUS = 0x7654_3210_F000


class Host:
    """The host's side of the link. `bits`: of each channel those of both rings."""

    def __init__(self, dut, memory, registers, bits=((8, 8),) * CHANNELS, lazy=0.0):
        self.dut, self.memory, self.registers = dut, memory, registers
        memory.early = {STATUS + 64 * c for c in range(CHANNELS)}
        memory.given = self._given
        self.channels = []
        for c, (down, up) in enumerate(bits):
            # Each at a multiple of its size, apart, one of them high up.
            base = [0x0000_0001_0000_0000, 0xFFFF_FFF0_0000_0000, 0x0000_0080_0020_0000][c]
            self.channels.append(Channel(memory, registers, c, base, down, base + (64 << 16), up, lazy))
        every_clock(dut, self._hosts())

    def _given(self, addr, end):
        """The status lines, or a ring."""
        rings = [ring for c in self.channels for ring in ((c.down_base, c.down_bits), (c.up_base, c.up_bits))]
        return STATUS <= addr < end <= STATUS + 256 or any(base <= addr < end <= base + (64 << bits) for base, bits in rings)

    async def _hosts(self):
        while True:
            for channel in self.channels:
                channel.step(STATUS // 64 + channel.n)
            await NEXT_CLOCK

    async def set_up(self, batch=(64, 64), enable=7):
        registers = self.registers
        await registers.write(BATCH_SLOTS, batch[0])
        await registers.write(BATCH_CLOCKS, batch[1])
        await registers.write(STATUS_BASE, STATUS & 0xFFFFFFFF)
        await registers.write(STATUS_BASE + 4, STATUS >> 32)
        for channel in self.channels:
            for register, base in ((DOWN_BASE, channel.down_base), (UP_BASE, channel.up_base)):
                await registers.write(of(channel.n, register), base & 0xFFFFFFFF)
                await registers.write(of(channel.n, register) + 4, base >> 32)
            await registers.write(of(channel.n, SIZES), (1 << channel.down_bits) - 1 | (1 << channel.up_bits) - 1 << 16)
        await self.enable(enable)

    async def enable(self, mask):
        """Starts and stops channels, and waits until they run or have stopped."""
        await self.registers.write(CONTROL, mask)
        for c in range(CHANNELS):
            for _ in range(400):
                state = await self.registers.read(of(c, STATE))
                if (state & (BUSY | RUNNING)) == (BUSY | RUNNING if mask >> c & 1 else 0):
                    break
            else:
                raise AssertionError(f"channel {c}: {state:x}")

    async def restart(self, c, others=7):
        """Stops a channel, and starts it with empty rings."""
        await self.enable(others & ~(1 << c))
        self.memory.slots.pop(STATUS // 64 + c, None)
        self.channels[c].clear()
        await self.enable(others)


class Bench(Host):
    """A link between a host and a card."""

    def __init__(self, dut, reads=32, bits=((8, 8),) * CHANNELS, pause=0.0, lazy=0.0, room=7, memory=HostMemory, **options):
        super().__init__(dut, memory(dut, reads, pause=pause, **options), Registers(dut), bits, lazy)
        self.pins = Pins(dut)
        self.cards = [Card(dut, c, pause) for c in range(CHANNELS)]
        self.pins.room_i.value, self.pins.flr_assert_i.value = room, 0

    async def begin(self, batch=(64, 64), enable=7):
        await start(self.dut)
        await self.set_up(batch, enable)

    async def until(self, done, limit=100_000, every=8):
        assert await until(self.dut, done, limit, every), self.describe()

    def describe(self):
        return [f"channel {h.n}: down {h.produced} produced, {h.consumed} consumed, {len(card.got)} of {len(h.sent)} got; "
                f"up {h.up} told, {h.taken} taken, {len(h.got)} of {card.taken} got; fault {h.fault:x} at {h.place:x}"
                for h, card in zip(self.channels, self.cards)]
