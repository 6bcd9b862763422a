"""dgram_queue: a datagram that gates have not answered goes to host software whole, once, in order, with its sender and its
place; one that they have goes nowhere; one without room is counted; packets of others are not torn."""

import random
from collections import deque

import cocotb

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start
from harness.models import run
from harness.streams import to_beats
from harness.structs import T

START, GET, GETS = range(3)


class Bench:
    """The card around it: jobs end in order, a while after their last beat. `takes`: how often host software takes a beat."""

    def __init__(self, dut, takes=.5, miss=.5):
        self.pins, self.takes, self.miss = Pins(dut), takes, miss
        self.dgrams, self.beats, self.jobs, self.wants = deque(), deque(), deque(), deque()
        self.others, self.other_beats, self.got, self.packet = deque(), deque(), [], []
        self.lost = self.sent = self.found = 0
        dut.enable_i.value = 1
        every_clock(dut, self.run())

    def put(self, data):
        peer = {f: random.getrandbits(n) for f, n in (("mac", 48), ("vlan_tci", 16), ("vlan_valid", 1), ("ours", 2), ("port", 16), ("ip", 128))}
        for beat in to_beats(data):
            self.beats.append((peer, data, beat))

    def other(self):
        beats = [random.getrandbits(512) & ~(1 << 31) for _ in range(random.randrange(1, 6))]
        self.others.append(beats)
        self.other_beats.extend((beat, i == len(beats) - 1) for i, beat in enumerate(beats))

    async def run(self):
        pins, clock = self.pins, 0
        pins.s_valid_i.value = pins.over_i.value = pins.s_axis_valid_i.value = pins.m_axis_ready_i.value = 0
        offered = ready = 0
        while True:
            await NEXT_CLOCK
            clock += 1
            self.lost += int(pins.lost_o.value)
            if ready and pins.m_axis_valid_o.value:
                axis = T.axis_t.unpack(int(pins.m_axis_o.value))
                self.packet.append(axis)
                if axis["last"]:
                    self.take(self.packet)
                    self.packet = []
            if offered and pins.s_axis_ready_o.value:
                self.other_beats.popleft()
                offered = 0
            ready = random.random() < self.takes
            pins.m_axis_ready_i.value = int(ready)
            if not offered and self.other_beats and random.random() < .5:
                beat, last = self.other_beats[0]
                pins.s_axis_i.value = T.axis_t.pack({"data": beat, "keep": (1 << 64) - 1, "last": last})
                offered = 1
            pins.s_axis_valid_i.value = offered
            pins.over_i.value = 0
            if self.jobs and self.jobs[0][0] <= clock and random.random() < .7:
                _, peer, data = self.jobs.popleft()
                misses = random.random() < self.miss
                again, keys, gets, at = random.random() < .3, random.random() < .5, random.randrange(2), random.randrange(1400)
                pins.over_ctx_i.value = T.ctx_t.pack({"again": int(misses and again), "rx_ptr": at, "mode": T.MdKeys if keys else T.MdLine,
                                                      "cas_out": gets, "resp": {"all": int(misses)}})
                pins.over_i.value = 1
                if misses:
                    self.wants.append((data, peer, 0 if again else at, START if again or not keys else GETS if gets else GET))
            valid = bool(self.beats) and random.random() < .8
            pins.s_valid_i.value = int(valid)
            if valid:
                peer, data, beat = self.beats.popleft()
                pins.s_dgram_i.value = T.dgram_t.pack({"peer": peer, "len": len(data)})
                pins.s_beat_i.value = T.beat_t.pack(beat)
                if beat["last"]:
                    self.jobs.append((clock + random.choice((8, 10, 60)), peer, data))

    def take(self, packet):
        head = packet[0]["data"]
        if not head >> 31 & 1:
            assert [axis["data"] for axis in packet] == self.others.popleft()
            return
        field = lambda byte, bits: head >> 8 * byte & (1 << bits) - 1  # noqa: E731
        assert field(0, 40) == 1 << 31 and field(5, 8) == 0x11 and field(6, 8) == 0
        data = b"".join(axis["data"].to_bytes(64, "little")[: axis["keep"].bit_count()] for axis in packet[1:])
        peer = {"mac": field(16, 48), "vlan_tci": field(22, 16), "vlan_valid": field(24, 1), "ours": field(25, 2), "port": field(26, 16), "ip": field(32, 128)}
        got = data, peer, field(8, 16), field(7, 8)
        assert field(12, 16) == len(data)
        # Those without room were counted.
        while self.wants[0] != got:
            self.wants.popleft()
            self.found += 1
        self.wants.popleft()
        self.sent += 1


async def rest(dut, bench):
    """Until all is over."""
    for _ in range(2000):
        await clocks(dut, 20)
        if not (bench.beats or bench.jobs or bench.other_beats) and bench.pins.idle_o.value:
            break
    else:
        raise AssertionError("does not come to rest")
    await clocks(dut, 20)
    assert bench.lost == bench.found + len(bench.wants) and not bench.others


def a_dgram():
    return random.randbytes(random.choice((9, 64, 65, 128, random.randrange(9, 1400))))


@cocotb.test()
async def any_mix(dut):
    """Answered or not, of any size, with packets of others between them."""
    await start(dut)
    bench = Bench(dut, takes=.9, miss=.3)
    for _ in range(40):
        for _ in range(10):
            bench.put(a_dgram())
            if random.random() < .3:
                bench.other()
        await clocks(dut, 150)
    await rest(dut, bench)
    assert bench.sent > 80


@cocotb.test()
@cocotb.parametrize((("sizes", "takes"), [((9, 9), 0), ((9, 100), .1), ((1300, 1400), 0)]))
async def no_room(dut, sizes, takes):
    """While host software takes nothing, or little, datagrams of any size find no room one day; those that gates answer do no harm, and
    later all is as before."""
    await start(dut)
    bench = Bench(dut, takes=takes, miss=.9)
    for _ in range(1000):
        bench.put(random.randbytes(random.randint(*sizes)))
    while bench.beats or bench.jobs:
        await clocks(dut, 50)
    await clocks(dut, 20)
    assert bench.lost > 100
    bench.takes = 1
    for _ in range(50):
        bench.put(a_dgram())
        await clocks(dut, 60)
    await rest(dut, bench)
    assert bench.sent > 40


@cocotb.test()
async def off(dut):
    """Where the card stands before nobody it keeps nothing."""
    await start(dut)
    bench = Bench(dut)
    dut.enable_i.value = 0
    bench.miss = 0
    for _ in range(20):
        bench.put(a_dgram())
    bench.other()
    await clocks(dut, 1500)
    assert bench.pins.idle_o.value and not bench.sent and not bench.others and not bench.lost


def test_dgram_queue():
    run(__file__, "dgram_queue", ["rtl/lib/lib.f", "rtl/host/dgram_queue.sv"])
