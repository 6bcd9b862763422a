"""aside_frames: what gates have answered never reaches the host, all else does, whole and in order, as long as there is room;
a host that takes nothing loses frames and keeps nobody waiting."""

import random
from collections import deque

import cocotb

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.models import run
from harness.structs import T

BEATS = 512
#: Frames whose end has come, and requests, of which more are not known at once.
ENDS, REQUESTS = 32, 512


class Bench:
    """`late(n)`: clocks from a frame's end to its `ended_i`, and from that to its verdict; `pause`: the probability of a clock in
    which no beat comes, and of one in which the host takes none."""

    def __init__(self, dut, ends=(1, 12), verdicts=(3, 60), pause=(0.0, 0.0)):
        self.dut, self.pins, self.delays, self.pause = dut, Pins(dut), (ends, verdicts), pause
        self.queue, self.got, self.lost, self.stuck, self.clock = deque(), [], 0, False, 0
        #: Those whose end, and whose verdict, is to come: when, and what.
        self.ends, self.requests = deque(), deque()
        #: When each frame for the host was known to be one, and when its last beat left.
        self.known, self.left = [], []
        self.busy = False
        for name in ("s_valid_i", "ended_i", "verdict_i", "m_ready_i"):
            getattr(self.pins, name).value = 0
        every_clock(dut, self._wire())
        every_clock(dut, self._host())

    async def _wire(self):
        p, beats, frame = self.pins, [], None
        while True:
            await NEXT_CLOCK
            self.clock += 1
            # What is said of earlier frames, in this clock.
            p.verdict_i.drive(bool(self.requests) and self.requests[0][0] <= self.clock)
            if self.requests and self.requests[0][0] <= self.clock:
                _, was_answered = self.requests.popleft()
                p.verdict_answered_i.value = was_answered
                if not was_answered:
                    self.known.append(self.clock)
            p.ended_i.drive(bool(self.ends) and self.ends[0][0] <= self.clock)
            if self.ends and self.ends[0][0] <= self.clock:
                _, asked, will = self.ends.popleft()
                p.ended_asks_i.value = asked
                if asked:
                    when = max(self.clock + random.randint(*self.delays[1]), self.requests[-1][0] + 1 if self.requests else 0)
                    self.requests.append((when, will))
                else:
                    self.known.append(self.clock)
            if not beats and self.queue and len(self.ends) < ENDS - 2 and len(self.requests) + len(self.ends) < REQUESTS - 4:
                frame, asks, answered = self.queue.popleft()
                beats = [frame[at : at + 64] for at in range(0, len(frame), 64)]
            self.busy = bool(beats)
            valid = bool(beats) and random.random() >= self.pause[0]
            p.s_valid_i.drive(valid)
            if valid:
                beat = beats.pop(0)
                data = int.from_bytes(beat.ljust(64, b"\xee"), "little")
                p.s_data_i.value = T.axis_t.pack({"data": data, "keep": (1 << len(beat)) - 1, "last": int(not beats)})
                if not beats:
                    when = max(self.clock + random.randint(*self.delays[0]), self.ends[-1][0] + 1 if self.ends else 0)
                    self.ends.append((when, asks, answered))

    async def _host(self):
        p, frame, ready = self.pins, b"", False
        while True:
            await NEXT_CLOCK
            if p.rst_ni.value:
                self.lost += int(p.lost_o.value) + int(p.lost_request_o.value)
            if ready and p.m_valid_o.value:
                beat = T.axis_t.unpack(int(p.m_data_o.value))
                frame += beat["data"].to_bytes(64, "little")[: beat["keep"].bit_count()]
                if beat["last"]:
                    self.got.append(frame)
                    self.left.append(self.clock)
                    frame = b""
            ready = not self.stuck and random.random() >= self.pause[1]
            p.m_ready_i.drive(ready)

    async def drain(self):
        assert await until(self.dut, lambda: not (self.queue or self.busy or self.ends or self.requests), 200_000)
        await clocks(self.dut, 20)


def some(count, asks=0.5, answered=0.5, sizes=(60, 64, 65, 200, 1518)):
    """Frames that tell their number, whether they are requests, and whether gates answer."""
    for number in range(count):
        is_request = random.random() < asks
        body = number.to_bytes(4, "big") + random.randbytes(random.choice(sizes) - 4)
        yield body, int(is_request), int(is_request and random.random() < answered)


async def begin(dut, **options):
    bench = Bench(dut, **options)
    await start(dut)
    return bench


@cocotb.test()
@cocotb.parametrize(pause=[(0.25, 0.0), (0.0, 0.3)], sizes=[(60, 64, 65, 200, 1518), (5, 64), (9018, 60)])
async def right_ones(dut, pause, sizes):
    bench = await begin(dut, pause=pause)
    frames = list(some(400 if 9018 not in sizes else 40, sizes=sizes))
    bench.queue.extend(frames)
    await bench.drain()
    want = [body for body, _, answered in frames if not answered]
    assert await until(dut, lambda: len(bench.got) + bench.lost == len(want), 20_000)
    if pause == (0.25, 0.0) and 9018 not in sizes:
        assert bench.got == want
    else:  # the wire may be faster than the host
        left = iter(want)
        assert all(body in left for body in bench.got) and bench.lost == len(want) - len(bench.got)
    # What is answered goes a beat a clock, too.
    assert await until(dut, lambda: dut.idle_o.value, 1000)


@cocotb.test()
async def soon(dut):
    """A frame leaves a few clocks behind the end of its waiting, if those before it have."""
    bench = await begin(dut)
    frames = list(some(300, sizes=(60,)))
    for frame in frames:
        bench.queue.append(frame)
        await bench.drain()
        await clocks(dut, 10)
    assert len(bench.left) == len(bench.known) > 100
    took = {left - known for known, left in zip(bench.known, bench.left)}
    assert took <= {4, 5}, took


@cocotb.test()
async def line_rate(dut):
    """Frames of one beat in each clock, of which gates answer all: none waits for another, none is lost."""
    bench = await begin(dut, verdicts=(30, 30))
    bench.queue.extend(some(3000, asks=1.0, answered=1.0, sizes=(60,)))
    begun = bench.clock
    await bench.drain()
    assert bench.clock - begun < 3000 + 100 and not bench.lost and not bench.got
    assert await until(dut, lambda: dut.idle_o.value, 20)


@cocotb.test()
async def stuck_host(dut):
    """A host that takes nothing loses what finds no room, and not a verdict is late; what waits is whole, and comes."""
    bench = await begin(dut, verdicts=(30, 40))
    bench.stuck = True
    frames = list(some(4000, sizes=(60, 300)))
    bench.queue.extend(frames)
    await bench.drain()
    assert not bench.got and bench.lost > 1000
    bench.stuck = False
    want = [body for body, _, answered in frames if not answered]
    assert await until(dut, lambda: len(bench.got) + bench.lost == len(want), 5000)
    left = iter(want)
    assert all(body in left for body in bench.got) and len(bench.got) > 50
    # All is as before.
    bench.queue.extend(frames[:200])
    await bench.drain()
    assert await until(dut, lambda: dut.idle_o.value, 1000)
    assert bench.got[-1] == [body for body, _, answered in frames[:200] if not answered][-1]


def test_aside_frames():
    run(__file__, "aside_frames", ["rtl/lib/lib.f", "rtl/aside/aside.f"])
