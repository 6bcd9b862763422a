"""The link between a host's rings and a card's streams: no frame lost, doubled, torn or swapped, whatever memory's order
and latency, on three channels at once, both ways; what stops a channel, and how it goes on."""

import random

import cocotb
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from harness.clock import clocks, start
from harness.models import run
from harness.rings import (
    BATCH_CLOCKS, BATCH_SLOTS, BUSY, BYTES_FAULT, CAPS, CHANNELS, CONTROL, DOWN_BASE, DOWN_BYTES, DOWN_DOOR, DOWN_FRAMES,
    DOWN_PRODUCER, DROPS, EVENTS, FAULT, FAULTS, ID, INDICES, MAX_FRAME, PAST_FAULT, READ_FAULT, RESERVED_FAULT, RUNNING,
    SETUP_FAULT, SIZES, STATE, STATUS, STATUS_BASE, UP_BASE, UP_BYTES, UP_CONSUMER, UP_DOOR, UP_FRAMES, WRITE_FAULT, Bench, of,
    slots_of)

LENGTHS = [*range(1, 70), *range(120, 134), 252, 253, 508, 509, 512, 1514, 1518, 4092, 4093, 9018, MAX_FRAME]
SHORT = [n for n in LENGTHS if n <= 508]  # eight slots
FILES = ["rtl/lib/lib.f", "rtl/link/link.f", "tb/link/link_tb.sv"]


def frames(count, lengths=LENGTHS):
    return [random.randbytes(random.choice(lengths)) for _ in range(count)]


def is_part(got, sent):
    """All that came was sent, in this order, and once."""
    rest = iter(sent)
    return all(any(frame == other for other in rest) for frame in got)


async def both_ways(bench, count, lengths=LENGTHS, channels=range(CHANNELS), limit=100_000):
    """Sends frames both ways on some channels, and waits until they have come."""
    hosts, cards = bench.channels, bench.cards
    want = {}
    for c in channels:
        down, up = frames(count, lengths), frames(count, lengths)
        hosts[c].got.clear(), cards[c].got.clear()
        hosts[c].send(*down)
        cards[c].send(*up)
        want[c] = down, up
    await bench.until(lambda: all(len(hosts[c].got) >= count and len(cards[c].got) >= count for c in channels), limit)
    await bench.until(lambda: all(hosts[c].consumed == hosts[c].produced for c in channels))
    await clocks(bench.dut, 100)
    for c in channels:
        assert cards[c].got == want[c][0], f"channel {c}: the card"
        assert hosts[c].got == want[c][1], f"channel {c}: the host"
        assert hosts[c].taken == hosts[c].up and not hosts[c].fault


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 1, 0, False), (0.0, 100, 200, True), (0.5, 20, 40, True)])
async def streams(dut, pace):
    pause, latency, jitter, shuffle = pace
    bench = Bench(dut, pause=pause, latency=latency, jitter=jitter, shuffle=shuffle)
    await bench.begin()
    await both_ways(bench, 100)


@cocotb.test()
@cocotb.parametrize(lazy=[0.0, 0.97])
async def small_rings(dut, lazy):
    """Rings of eight slots and a few more, most of the time full or empty."""
    bench = Bench(dut, bits=((3, 3), (4, 3), (3, 5)), lazy=lazy, latency=20, jitter=20, shuffle=True, pause=0.2)
    await bench.begin(batch=(3, 20))
    await both_ways(bench, 60, SHORT)


@cocotb.test()
async def indices_wrap(dut):
    """More slots than an index can count."""
    bench = Bench(dut, bits=((11, 11), (3, 3), (3, 3)), latency=40)
    await bench.begin(batch=(256, 256))
    count = 65536 // slots_of(9018) + 20
    await both_ways(bench, count, [9018], [0], 150_000)
    assert bench.channels[0].up > 65536 < bench.channels[0].produced
    assert bench.memory.most == 32


@cocotb.test()
@cocotb.parametrize(stalled=[0, 1, 2])
async def one_stalls(dut, stalled):
    """A channel that takes nothing, at the card or at the host, keeps no other waiting, and loses nothing."""
    bench = Bench(dut, bits=((12, 5),) * 3, latency=60, jitter=30, shuffle=True)
    await bench.begin()
    host, card = bench.channels[stalled], bench.cards[stalled]
    card.stalled = True
    down, up = frames(150, [1518, 508]), frames(150, SHORT)
    host.send(*down)
    card.send(*up[:75])
    await clocks(dut, 1500)
    host.stalled = True
    card.send(*up[75:])
    others = [c for c in range(CHANNELS) if c != stalled]
    await both_ways(bench, 60, SHORT, others)
    assert not card.got and len(host.got) < 150
    host.stalled = card.stalled = False
    await bench.until(lambda: len(card.got) >= 150 and len(host.got) >= 150)
    await clocks(dut, 100)
    assert card.got == down and host.got == up
    # No slot behind the last one was taken for one that has come, so the channel still runs.
    await both_ways(bench, 10, SHORT)


@cocotb.test()
async def room(dut):
    """A frame for the card begins only when there is room for it."""
    bench = Bench(dut, room=6, latency=20)
    await bench.begin()
    bench.channels[0].send(*frames(3))
    await both_ways(bench, 10, channels=[1, 2])
    assert not bench.cards[0].got
    bench.pins.room_i.value = 7
    await bench.until(lambda: len(bench.cards[0].got) == 3)


@cocotb.test()
async def drops(dut):
    """Frames that no ring holds, and those of a channel that does not run, are dropped whole and counted."""
    bench = Bench(dut, bits=((3, 4), (8, 8), (8, 8)), latency=20)
    await bench.begin(enable=3)
    good = [frames(20, SHORT), frames(20, SHORT)]
    for c, longest in ((0, 16 * 64 - 4), (1, MAX_FRAME)):
        for n, frame in enumerate(good[c]):
            bench.cards[c].send(frame)
            if n % 2:
                bench.cards[c].send(random.randbytes(longest + random.choice([1, 2, 60, 61, 64, 1000])))
        good[c].append(random.randbytes(longest))
        bench.cards[c].send(good[c][-1])
    bench.cards[2].send(*frames(30))
    await bench.until(lambda: all(len(bench.channels[c].got) == 21 for c in (0, 1)) and bench.cards[2].taken == 30)
    await clocks(dut, 100)
    assert [bench.channels[c].got for c in (0, 1)] == good
    assert [await bench.registers.read(EVENTS + 16 * c + DROPS) for c in range(CHANNELS)] == [10, 10, 30]
    # One that begins before the channel does is dropped, too; those behind it are not.
    late = frames(20, [MAX_FRAME])  # longer than a start
    bench.cards[2].send(*late)
    await bench.registers.write(CONTROL, 7)
    await bench.until(lambda: bench.cards[2].taken == 50)
    await bench.until(lambda: bench.channels[2].got[-1:] == late[-1:])
    dropped = await bench.registers.read(EVENTS + 32 + DROPS) - 30
    assert 0 < dropped < 20 and bench.channels[2].got == late[dropped:]


@cocotb.test()
async def batches(dut):
    """Lines that tell the host: at so many slots, after so many clocks, or when there is nothing more."""
    bench = Bench(dut, bits=((9, 9),) * 3, latency=10)
    await bench.begin(batch=(60000, 60000))
    # The source is empty: at once.
    for _ in range(3):
        before = len(bench.channels[0].got)
        bench.cards[0].send(bytes(60))
        await bench.until(lambda: len(bench.channels[0].got) > before, 60, 1)
    host, card = bench.channels[1], bench.cards[1]

    async def stream(batch):
        """Frames without a pause; in how many steps the host is told of them."""
        await bench.registers.write(BATCH_SLOTS, batch[0])
        await bench.registers.write(BATCH_CLOCKS, batch[1])
        host.got.clear()
        card.send(*[bytes(300)] * 90)  # 5 slots in 5 beats: the source is never empty before the end
        steps, clock, last = [], 0, 0
        while len(host.got) < 90:
            await clocks(dut, 1)
            clock += 1
            if len(host.got) != last:
                steps.append((clock, len(host.got) - last))
                last = len(host.got)
        await clocks(dut, 100)
        return steps

    # The bench's card pauses for no clock, and link and memory take a slot each clock: both limits show.
    assert len(await stream((60000, 60000))) <= 12
    by_slots = await stream((50, 60000))
    by_clocks = await stream((60000, 50))
    assert len(by_slots) >= 5 and len(by_clocks) >= 5, (by_slots, by_clocks)


async def stops(bench, c, fault, place=None):
    """The channel stops with a fault, which its line tells as well; the others go on."""
    host = bench.channels[c]
    if fault != WRITE_FAULT:
        await bench.until(lambda: host.fault == fault and not host.flags & RUNNING)
    for _ in range(300):
        state = await bench.registers.read(of(c, STATE))
        if not state & (BUSY | RUNNING):
            break
    assert not state & (BUSY | RUNNING)
    assert await bench.registers.read(of(c, FAULT)) == fault
    if place is not None:
        assert state & 0xFFFF == place & 0xFFFF, (state & 0xFFFF, place)
    await both_ways(bench, 10, SHORT, [n for n in range(CHANNELS) if n != c])


@cocotb.test()
@cocotb.parametrize(kind=["empty", "longest", "too_long", "reserved", "past"])
async def bad_frames(dut, kind):
    """What the host writes makes no sense: frames before it come, none behind it, and the channel can be started again."""
    bench = Bench(dut, bits=((9, 8),) * 3, latency=40, jitter=40, shuffle=True)
    await bench.begin()
    faults = 0
    for c in range(CHANNELS):
        host, card = bench.channels[c], bench.cards[c]
        for _ in range(2):
            card.got.clear()
            before = frames(random.randrange(8), SHORT)
            for frame in before:
                host.put(frame)
            place = host.produced
            size = {"empty": 0, "longest": 16383, "too_long": MAX_FRAME + 1}.get(kind, 100)
            preamble = size | (1 << random.randrange(14, 32) if kind == "reserved" else 0)
            if kind == "past":
                preamble = random.choice([61, 125, 1000])
                host.put(bytes(slots_of(preamble) * 64 - 64 - 4), preamble)
            else:
                host.put(bytes(size), preamble)
                host.put(bytes(100))
            bench.registers.ring(of(c, DOWN_PRODUCER), host.produced & 0xFFFF)
            fault = {"reserved": RESERVED_FAULT, "past": PAST_FAULT}.get(kind, BYTES_FAULT)
            await stops(bench, c, fault, place)
            assert card.got == before
            faults += 1
            await bench.restart(c)
            await both_ways(bench, 20, SHORT)
        assert await bench.registers.read(EVENTS + 16 * c + FAULTS) == 2


@cocotb.test()
async def bad_doorbells(dut):
    bench = Bench(dut, latency=20)
    await bench.begin()
    for c in range(CHANNELS):
        host = bench.channels[c]
        for where in ("far", "back", "eaten"):
            await both_ways(bench, 10, SHORT)
            if where == "far":
                bench.registers.ring(of(c, DOWN_PRODUCER), host.produced + 257 & 0xFFFF)
            elif where == "back":
                bench.registers.ring(of(c, DOWN_PRODUCER), host.produced - 1 & 0xFFFF)
            else:
                bench.registers.ring(of(c, UP_CONSUMER), host.taken + random.choice([1, 256, 40000]) & 0xFFFF)
            await stops(bench, c, UP_DOOR if where == "eaten" else DOWN_DOOR)
            await bench.restart(c)
    await both_ways(bench, 10)


@cocotb.test()
async def bad_sizes(dut):
    """Rings of fewer than eight slots, too many, or no power of two: the channel does not start."""
    bench = Bench(dut, latency=20, bits=((8, 8), (2, 8), (8, 0)))
    await bench.begin(enable=1)
    bad = [3, 0, 6, 0xFFFF, 0x7FF0, 0x00F7, 1 << random.randrange(15), 0x7FFF ^ 1 << random.randrange(14)]
    for n, mask in enumerate(bad):
        await bench.registers.write(CONTROL, 1)
        for c in (1, 2):
            await bench.registers.write(of(c, SIZES), mask << 16 | 0xFF if n % 2 else 0xFF << 16 | mask)
        await bench.registers.write(CONTROL, 7)
        await clocks(dut, 10)
        for c in (1, 2):
            assert await bench.registers.read(of(c, FAULT)) == SETUP_FAULT, hex(mask)
            assert not await bench.registers.read(of(c, STATE)) & (BUSY | RUNNING)
    for c in (1, 2):
        assert await bench.registers.read(of(c, FAULT)) == SETUP_FAULT
        assert not await bench.registers.read(of(c, STATE)) & (BUSY | RUNNING)
    await both_ways(bench, 10, channels=[0])
    await bench.registers.write(CONTROL, 1)
    for c in (1, 2):
        bench.channels[c].down_bits = bench.channels[c].up_bits = 8
        await bench.registers.write(of(c, SIZES), 0xFF << 16 | 0xFF)
    await bench.enable(7)
    await both_ways(bench, 10)


@cocotb.test()
@cocotb.parametrize(what=["read", "write", "line"])
async def refused(dut, what):
    """Host memory refuses a read, a write of slots, or the line: the channel stops. No part of a frame is given to the card,
    and the host is told of none that memory may not have."""
    bench = Bench(dut, latency=40, jitter=40, shuffle=True)
    await bench.begin()
    for c in range(CHANNELS):
        host, card = bench.channels[c], bench.cards[c]
        await both_ways(bench, 10, SHORT)
        host.got.clear(), card.got.clear()
        bad = random.randrange(20, 60)
        refuse = {"read": host.down_addr(host.produced + bad), "write": host.up_addr(host.up + bad),
                  "line": STATUS // 64 + c}[what] * 64
        bench.memory.refuses = lambda addr, write: addr == refuse and write == (what != "read")
        down, up = frames(60, SHORT), frames(60, SHORT)
        began = host.produced, host.up
        host.send(*down)
        card.send(*up)
        if what == "read":
            # The frame that has the slot does not come, nor any behind it; all before it do.
            place, whole = began[0], 0
            while place + slots_of(len(down[whole])) <= began[0] + bad:
                place += slots_of(len(down[whole]))
                whole += 1
            await stops(bench, c, READ_FAULT, began[0] + bad)
            assert card.got == down[:whole]
        else:
            await stops(bench, c, WRITE_FAULT)
            assert is_part(card.got, down)
            assert sum(map(lambda f: slots_of(len(f)), host.got)) <= bad
        assert host.got == up[:len(host.got)]
        await bench.until(lambda: not card.queue)
        bench.memory.refuses = lambda addr, write: False
        host.queue.clear()
        await clocks(dut, 200)
        await bench.restart(c)
        await both_ways(bench, 20, SHORT)


@cocotb.test()
async def refused_all(dut):
    """Host memory refuses whatever is under way: that is one stop, at the place of the first fault. Then it serves."""
    bench = Bench(dut, latency=40, jitter=40, shuffle=True)
    await bench.begin()
    for c in range(CHANNELS):
        host, card = bench.channels[c], bench.cards[c]
        host.got.clear(), card.got.clear()
        host.send(*frames(60, SHORT))
        card.send(*frames(60, SHORT))
        bench.memory.refuses = lambda addr, write: True
        while not await bench.registers.read(of(c, FAULT)):
            pass
        place = await bench.registers.read(of(c, STATE)) & 0xFFFF
        await bench.until(lambda: not card.queue)
        await clocks(dut, 500)
        assert await bench.registers.read(of(c, STATE)) == place
        assert await bench.registers.read(of(c, FAULT)) & ~READ_FAULT == WRITE_FAULT
        assert await bench.registers.read(EVENTS + 16 * c + FAULTS) == 1
        bench.memory.refuses = lambda addr, write: False
        host.queue.clear()
        await bench.restart(c)
        await both_ways(bench, 20, SHORT)


@cocotb.test()
@cocotb.parametrize(late=[10, 150])
async def function_reset(dut, late):
    """In the middle of everything: what was begun is ended, nothing new begins, indices are 0, and it can be started again.
    A card that takes nothing delays nothing."""
    bench = Bench(dut, latency=late, jitter=late, shuffle=True, pause=0.1)
    await bench.begin()
    for round_ in range(6):
        sent = []
        for host, card in zip(bench.channels, bench.cards):
            host.got.clear(), card.got.clear()
            # A card that takes nothing, and more than its ring and the link hold behind a host that takes nothing.
            card.stalled = host.stalled = round_ % 2 == 1 and host.n == 1
            sent.append((frames(40), frames(40) + frames(8, [MAX_FRAME]) if card.stalled else frames(40)))
            host.send(*sent[-1][0])
            card.send(*sent[-1][1])
        # To fill the link up to the card takes 1,000 clocks.
        await clocks(dut, random.randrange(100, 1200) + 1000 * (round_ % 2))
        bench.pins.flr_assert_i.value = 1
        pulse = random.random() < 0.5
        if pulse:
            await clocks(dut, 1)
            bench.pins.flr_assert_i.value = 0
        for host in bench.channels:
            host.queue.clear()
        await bench.until(lambda: bench.pins.flr_done_o.value == 1, 5000, 1)
        assert not bench.memory.busy
        quiet = bench.memory.bursts_read, bench.memory.bursts_written
        await clocks(dut, 500)
        assert pulse or bench.pins.flr_done_o.value
        bench.pins.flr_assert_i.value = 0
        # What the card still gives is dropped, even while it takes nothing.
        await bench.until(lambda: not any(card.queue for card in bench.cards))
        for card in bench.cards:
            card.stalled = False
        for host in bench.channels:
            host.stalled = False
        await clocks(dut, 600)
        assert quiet == (bench.memory.bursts_read, bench.memory.bursts_written) and not bench.pins.flr_done_o.value
        for host, card, (down, up) in zip(bench.channels, bench.cards, sent):
            assert card.got == down[:len(card.got)] and host.got == up[:len(host.got)]
            assert await bench.registers.read(of(host.n, INDICES)) == 0
            assert not await bench.registers.read(of(host.n, STATE))
            bench.memory.slots.pop(STATUS // 64 + host.n, None)
            host.clear()
        assert await bench.registers.read(CONTROL) == 0
        await bench.enable(7)
        await both_ways(bench, 10)


@cocotb.test()
async def stop_and_go(dut):
    """The host stops a channel in the middle: what the card has got is a beginning of what was sent, and the index says how
    much it is."""
    bench = Bench(dut, latency=50, jitter=30, shuffle=True)
    await bench.begin()
    for n in range(9):
        c = n % 3
        host, card = bench.channels[c], bench.cards[c]
        host.got.clear(), card.got.clear()
        down, up = frames(40, SHORT), frames(40, SHORT)
        before = host.consumed
        host.send(*down)
        card.send(*up)
        await clocks(dut, random.randrange(50, 500))
        await bench.enable(7 & ~(1 << c))
        host.queue.clear()
        await bench.until(lambda: not card.queue)
        await clocks(dut, 100)
        assert card.got == down[:len(card.got)] and host.got == up[:len(host.got)]
        assert host.consumed - before == sum(slots_of(len(f)) for f in card.got)
        await bench.restart(c)
        await both_ways(bench, 5)


@cocotb.test()
async def registers(dut):
    """Each setting is read back, whichever bytes are written; what is only read stays; counters count."""
    for name in ("m_axi_awready", "m_axi_wready", "m_axi_arready", "m_axi_bvalid", "m_axi_rvalid", "flr_assert_i",
                 *(f"s{c}_valid" for c in range(CHANNELS))):
        getattr(dut, name).value = 0
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await start(dut)
    assert await bus.read_dword(ID) == 0x4B4C0001
    assert await bus.read_dword(CAPS) == MAX_FRAME << 16 | 32 << 8 | CHANNELS
    kept = {}
    settings = [BATCH_SLOTS, BATCH_CLOCKS, STATUS_BASE, STATUS_BASE + 4]
    settings += [of(c, r + n) for c in range(CHANNELS) for r in (DOWN_BASE, UP_BASE) for n in (0, 4)]
    settings += [of(c, SIZES) for c in range(CHANNELS)]
    for _ in range(200):
        at, size = random.choice(settings), random.choice([1, 2, 4])
        offset = random.randrange(0, 4, size)
        data = random.randbytes(size)
        await bus.write(at + offset, data)
        old = bytearray(kept.get(at, bytes(4)))
        old[offset : offset + size] = data
        kept[at] = bytes(old)
    for at in (ID, CAPS, *(of(c, r) for c in range(CHANNELS) for r in (INDICES, FAULT, STATE, DOWN_BYTES, UP_BYTES)), EVENTS, 0x200):
        before = await bus.read_dword(at)
        await bus.write_dword(at, before ^ 0xFFFFFFFF)
        assert await bus.read_dword(at) == before
    for at in settings:
        assert (await bus.read(at, 4)).data == kept.get(at, bytes(4)), hex(at)


@cocotb.test()
async def counters(dut):
    bench = Bench(dut, latency=20)
    await bench.begin()
    await both_ways(bench, 30)
    for c, (host, card) in enumerate(zip(bench.channels, bench.cards)):
        read = bench.registers.read
        assert await read(of(c, DOWN_BYTES)) == sum(map(len, card.got))
        assert await read(of(c, UP_BYTES)) == sum(map(len, host.got))
        assert await read(EVENTS + 16 * c + DOWN_FRAMES) == await read(EVENTS + 16 * c + UP_FRAMES) == 30
        assert await read(EVENTS + 16 * c + DROPS) == await read(EVENTS + 16 * c + FAULTS) == 0
        assert await read(of(c, INDICES)) == host.consumed << 16 | host.up


def test_link():
    run(__file__, "link_tb", FILES)
