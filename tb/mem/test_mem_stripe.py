"""mem_stripe against memories behind AXI ports of 256 bits, each with its own pace: every line lands in its way, answers
keep the order of the requests, a bad one is bad alone, and a way that stands stops the others only when its places are
taken."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, Pins, every_clock, start, until
from harness.models import run

FULL = (1 << 64) - 1
#: Reads, and writes, of a way under way at most: mem_stripe's own value.
DEPTH = 32


def where(line, ways, low):
    """Way and place of a line, as the header of mem_stripe says."""
    line, way = line >> low, 0
    place = line // ways
    while ways > 1 and line:
        way ^= line % ways
        line //= ways
    return way, place


class Way:
    """One way's memory. `pause` is the probability that a channel is not ready, each on its own; answers come `latency`
    clocks later or more. What `stop` names is not done: taking "aw", "w" or "ar", answering with "b" or "r". `after`
    "aw" takes data only for addresses that it has, `after` "w" an address only when it has the data."""

    def __init__(self, pause, latency, bad, after=None):
        self.pause, self.latency, self.bad, self.after, self.stop = pause, latency, bad, after, set()
        self.lines, self.addrs, self.beats, self.data = {}, deque(), [], deque()
        self.reads, self.acks, self.answer = deque(), deque(), []
        self.bad_reads, self.bad_writes, self.most = set(), set(), [0, 0]
        self.taken, self.asked = {"aw": 0, "w": 0}, 0
        self.ready = dict.fromkeys(("aw", "w", "ar"), 0)
        self.b = self.r = None

    def clock(self, now, offered):
        """A clock's end: `offered` has the payload of each channel, or None. Chooses what it drives in the next one."""
        if self.ready["aw"] and offered["aw"] is not None:
            self.addrs.append(offered["aw"])
            self.taken["aw"] += 1
        if self.ready["w"] and offered["w"] is not None:
            data, strb, last = offered["w"]
            self.beats.append((data, strb))
            assert last == (len(self.beats) == 2), "two beats, the second is the last"
            if last:
                (low, low_strb), (high, high_strb) = self.beats
                self.data.append((high << 256 | low, high_strb << 32 | low_strb))
                self.taken["w"] += 1
                self.beats = []
        while self.addrs and self.data:
            place, (data, strb) = self.addrs.popleft(), self.data.popleft()
            bad = random.random() < self.bad
            if bad:
                self.bad_writes.add(place)
            else:
                mask = sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)
                self.lines[place] = self.lines.get(place, 0) & ~mask | data & mask
            self.acks.append((now + self.latency, random.choice([2, 3]) if bad else 0))
            self.most[1] = max(self.most[1], len(self.acks))
        if self.ready["ar"] and offered["ar"] is not None:
            self.reads.append((now + self.latency, offered["ar"]))
            self.asked += 1
            self.most[0] = max(self.most[0], len(self.reads))
        # What is driven is taken at once.
        self.b = self.r = None
        if self.acks and self.acks[0][0] <= now and "b" not in self.stop and random.random() >= self.pause:
            self.b = self.acks.popleft()[1]
        if not self.answer and self.reads and self.reads[0][0] <= now and "r" not in self.stop:
            self.answer = self.burst(self.reads.popleft()[1])
        if self.answer and random.random() >= self.pause:
            self.r = self.answer.pop(0)
        self.ready = {c: int(c not in self.stop and random.random() >= self.pause) for c in self.ready}
        if self.after == "aw":
            self.ready["w"] &= self.taken["aw"] > self.taken["w"]
        elif self.after == "w":
            self.ready["aw"] &= self.taken["w"] > self.taken["aw"]

    def burst(self, place):
        """The beats of an answer: data, response, last."""
        line = self.lines.get(place, 0)
        beats = [[line % (1 << 256), 0, 0], [line >> 256, 0, 1]]
        if random.random() < self.bad:
            self.bad_reads.add(place)
            kind = random.randrange(5)
            if kind < 3:
                for n in ([0], [1], [0, 1])[kind]:
                    beats[n][1] = random.choice([2, 3])
            elif kind == 3:
                beats = [[beats[0][0], 0, 1]]
            else:
                beats[1][2] = 0
                beats += [[random.getrandbits(256), 0, 0], [random.getrandbits(256), 0, 1]]
        return beats


class Bench:
    """The card's side, as mem_axi drives it: addresses and data of writes each at its own pace."""

    def __init__(self, dut, pause, ways, back=0.0):
        self.dut, self.pin, self.pause, self.back, self.ways = dut, Pins(dut), pause, back, ways
        self.count, self.low = len(ways), int(dut.Low.value)
        self.aw, self.w, self.ar = deque(), deque(), deque()
        self.answers, self.times, self.dones = [], [], []
        self.offers = {"aw": False, "w": False, "ar": False}
        for name in ("aw", "w", "ar"):
            getattr(self.pin, f"s_axi_{name}valid").value = 0
        every_clock(dut, self._run())

    def write(self, line, data, strb=FULL):
        self.aw.append(line)
        self.w.append((data, strb))

    def where(self, line):
        return where(line, self.count, self.low)

    def any_line(self):
        """A line that the ways' addresses tell from others."""
        return random.randrange(self.count << 23) << self.low

    async def wait(self, answers=0, dones=0):
        there = await until(self.dut, lambda: len(self.answers) >= answers and len(self.dones) >= dones, 60_000)
        assert there, f"{len(self.answers)} of {answers} reads, {len(self.dones)} of {dones} writes"

    async def _run(self):
        pin, now = self.pin, 0
        queues = {"aw": self.aw, "w": self.w, "ar": self.ar}
        await NEXT_CLOCK
        while True:
            await NEXT_CLOCK
            now += 1
            assert pin.m_axi_rready.value == pin.m_axi_bready.value == (1 << self.count) - 1
            assert pin.s_axi_rlast.value == 1
            for name, queue in queues.items():
                if self.offers[name] and getattr(pin, f"s_axi_{name}ready").value:
                    queue.popleft()
                    self.offers[name] = False
            if self.dut.rst_ni.value:
                if pin.s_axi_rvalid.value and pin.s_axi_rready.value:
                    self.answers.append((pin.s_axi_rdata.value, pin.s_axi_rresp.value))
                    self.times.append(now)
                if pin.s_axi_bvalid.value and pin.s_axi_bready.value:
                    self.dones.append(pin.s_axi_bresp.value)
                self._memory(now)
            for name, queue in queues.items():
                if not self.offers[name] and queue and self.dut.rst_ni.value and random.random() >= self.pause:
                    self.offers[name] = True
                    if name == "w":
                        pin.s_axi_wdata.value, pin.s_axi_wstrb.value = queue[0]
                    else:
                        getattr(pin, f"s_axi_{name}addr").value = queue[0] << 6
                getattr(pin, f"s_axi_{name}valid").value = int(self.offers[name])
            pin.s_axi_rready.value = int(random.random() >= self.back)
            pin.s_axi_bready.value = int(random.random() >= self.back)

    def _memory(self, now):
        pin = self.pin
        seen = {name: getattr(pin, f"m_axi_{name}").value for name in (
            "awvalid", "awaddr", "wvalid", "wdata", "wstrb", "wlast", "arvalid", "araddr")}
        bits = len(pin.m_axi_araddr) // self.count
        drive = dict.fromkeys(("awready", "wready", "arready", "bvalid", "bresp", "rvalid", "rdata", "rresp", "rlast"), 0)

        def part(name, n, width):
            return seen[name] >> n * width & (1 << width) - 1

        for n, way in enumerate(self.ways):
            offered = dict.fromkeys(("aw", "w", "ar"))
            for name in ("aw", "ar"):
                if part(f"{name}valid", n, 1):
                    addr = part(f"{name}addr", n, bits)
                    assert addr % 64 == 0
                    offered[name] = addr // 64
            if part("wvalid", n, 1):
                offered["w"] = part("wdata", n, 256), part("wstrb", n, 32), part("wlast", n, 1)
            way.clock(now, offered)
            for name in ("aw", "w", "ar"):
                drive[f"{name}ready"] |= way.ready[name] << n
            if way.b is not None:
                drive["bvalid"] |= 1 << n
                drive["bresp"] |= way.b << 2 * n
            if way.r is not None:
                data, resp, last = way.r
                drive["rvalid"] |= 1 << n
                drive["rdata"] |= data << 256 * n
                drive["rresp"] |= resp << 2 * n
                drive["rlast"] |= last << n
        for name, value in drive.items():
            getattr(pin, f"m_axi_{name}").value = value


async def bench(dut, pause=0.0, latency=20, bad=0.0, back=0.0):
    orders = [None, "aw", "w", None]
    ways = [Way(pause, latency + 7 * n, bad, orders[n]) for n in range(int(dut.Ways.value))]
    made = Bench(dut, pause, ways, back)
    for name in ("awready", "wready", "arready", "bvalid", "rvalid"):
        getattr(made.pin, f"m_axi_{name}").value = 0
    await start(dut)
    return made


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 0.0), (0.5, 0.3), (0.2, 0.7)])
async def lines(dut, pace):
    """Whole lines and parts of lines land where they belong, and are read from there in order."""
    b = await bench(dut, pace[0], back=pace[1])
    places = [b.any_line() for _ in range(60)] + [n << b.low for n in range(40)]
    want = {}
    for _ in range(500):
        line, data = random.choice(places), random.getrandbits(512)
        strb = random.choice([random.getrandbits(64), FULL, 0])
        mask = sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)
        want[line] = want.get(line, 0) & ~mask | data & mask
        b.write(line, data, strb)
    await b.wait(dones=500)
    assert b.dones == [0] * 500
    for line, data in want.items():
        way, place = b.where(line)
        assert b.ways[way].lines[place] == data
    assert sum(len(way.lines) for way in b.ways) == len(want)
    order = random.choices(list(want), k=500)
    b.ar.extend(order)
    await b.wait(answers=500)
    assert b.answers == [(want[line], 0) for line in order]


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 0.0), (0.4, 0.4)])
async def bad_answers(dut, pace):
    """A refusal in either beat, or an answer of another length, makes its own line bad and no other."""
    b = await bench(dut, pace[0], bad=0.2, back=pace[1])
    order = random.sample(range(b.count << 10), 400)
    for n in order:
        b.write(n << b.low, random.getrandbits(512))
    await b.wait(dones=400)
    bad = [b.where(n << b.low)[1] in b.ways[b.where(n << b.low)[0]].bad_writes for n in order]
    assert [resp != 0 for resp in b.dones] == bad and sum(bad) > 40
    b.ar.extend(n << b.low for n in order)
    await b.wait(answers=400)
    for n, (data, resp) in zip(order, b.answers):
        way, place = b.where(n << b.low)
        assert (resp != 0) == (place in b.ways[way].bad_reads), n
        assert resp or data == b.ways[way].lines.get(place, 0)
    assert sum(len(way.bad_reads) for way in b.ways) > 40


@cocotb.test()
@cocotb.parametrize(what=["ar", "r", "aw", "w", "b"])
async def way_stands(dut, what):
    """A way that does nothing: requests go to the others, whose answers wait for its own, until the places of one way are
    taken; all are answered when it goes on. Its reads hold up no write, its writes no read."""
    b = await bench(dut)
    if b.count == 1:
        return
    b.ways[0].stop.add(what)
    reads = what in ("ar", "r")
    mine = [n << b.low for n in range(b.count << 12) if b.where(n << b.low)[0] == 0]
    others = [n << b.low for n in range(1, b.count << 12) if b.where(n << b.low)[0] != 0]
    # So many of the way's as it has places, then as many of each other one's.
    few = sorted(others, key=lambda line: b.where(line)[1])[: DEPTH * (b.count - 1)]
    order = mine[:DEPTH] + few
    for line in order:
        b.ar.append(line)
        b.write(line, line)
    await b.wait(*((0, len(order)) if reads else (len(order), 0)))
    assert (b.answers if reads else b.dones) == [], "order"
    if reads:
        assert await until(dut, lambda: sum(way.asked for way in b.ways[1:]) == len(few), 2000)
    else:
        assert await until(dut, lambda: sum(len(way.lines) for way in b.ways[1:]) == len(few), 2000)
    # One more of the way's holds up what is behind it, and nothing is lost.
    more = mine[DEPTH : DEPTH + 5] + [line for line in others if line not in few][:100]
    for line in more:
        b.ar.append(line)
        b.write(line, line)
    for _ in range(300):
        await RisingEdge(dut.clk_i)
    b.ways[0].stop.clear()
    await b.wait(len(order) + len(more), len(order) + len(more))
    assert b.dones == [0] * len(b.dones)
    b.answers.clear()
    b.ar.extend(order + more)
    await b.wait(answers=len(order + more))
    assert [data for data, _ in b.answers] == order + more


@cocotb.test()
async def rate(dut):
    """Lines in sequence, memory of 70 clocks and more: a line a clock with four ways, each of which takes two clocks. With
    fewer it is their beats, or the lines that they have under way, that limit it."""
    b = await bench(dut, latency=70)
    for way in b.ways:
        way.after = None
    count = 400
    b.ar.extend(n << b.low for n in range(count))
    for n in range(count):
        b.write(n << b.low, n)
    await b.wait(count, count)
    a_line = max(1, 2 / b.count, (b.ways[-1].latency + 9) / (DEPTH * b.count))
    assert b.times[-1] - b.times[0] <= count * a_line * 1.05 + 10


@cocotb.test()
async def ways_in_turn(dut):
    """Each aligned group has a line in every way, and so have steps by any power of two; no two lines have one place, also
    where a range that is as large as all ways begins beyond their addresses."""
    b = await bench(dut)
    for step in range(20):
        ways = [b.where((n << step) << b.low)[0] for n in range(b.count)]
        assert sorted(ways) == list(range(b.count)), step
    for begin in (0, b.count << 20, 5 * b.count):
        lines = [begin + n for n in range(1 << 12)]
        places = {(way, place % (1 << 10)) for way, place in (b.where(n << b.low) for n in lines[: b.count << 10])}
        assert len(places) == min(len(lines), b.count << 10)
    # And the RTL agrees with `where`: each write of these is found there.
    lines = [b.any_line() for _ in range(200)]
    for n, line in enumerate(lines):
        b.write(line, n)
    await b.wait(dones=200)
    for n, line in enumerate(lines):
        way, place = b.where(line)
        assert b.ways[way].lines[place] == max(m for m, other in enumerate(lines) if other == line)


@pytest.mark.parametrize("ways, low", [(4, 0), (2, 1), (1, 0)])
def test_mem_stripe(ways, low):
    run(__file__, "mem_stripe", ["rtl/lib/lib.f", "rtl/mem/mem.f"], Ways=ways, Low=low)
