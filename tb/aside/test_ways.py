"""ways: what comes out of which way is what a model says, whatever the policy; every entry that was put comes out once."""

import random
from collections import Counter, deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import Pins, start
from harness.models import run
from harness.size import scale
from harness.structs import Types

T = Types("rtl/pkg.f", "rtl/aside/aside_pkg.sv")
OPS = {"look": T.WayLook, "put": T.WayPut, "take": T.WayTake, "drop": T.WayDrop}


class Bench:
    """The design, clock by clock, and the model: sets of ways, each (tag, number, used) or None."""

    def __init__(self, dut):
        self.dut, self.pin = dut, Pins(dut)
        self.sets, self.ways = int(dut.Sets.value), int(dut.Ways.value)
        self.tag_mask = (1 << int(dut.TagW.value)) - 1
        self.free = list(range(1 << int(dut.NumberW.value)))
        self.table = [[None] * self.ways for _ in range(self.sets)]
        self.due, self.clocks, self.left = deque(), 0, None
        self.seen = Counter()
        self.pin.valid_i.value = self.pin.clear_i.value = 0

    def change(self, op, hashed, number, ways, blank):
        """(hit, number that comes out or None, of a look the number that is there)."""
        tag, row = hashed // self.sets & self.tag_mask, self.table[hashed % self.sets]
        at = next((w for w, way in enumerate(row) if way and way[0] == tag and op != "drop"), None)
        if blank:
            return False, number if op == "put" else None, None
        if op == "look":
            if at is not None:
                row[at] = (*row[at][:2], True)
            return at is not None, None, row[at][1] if at is not None else None
        if op == "take":
            out = row[at][1] if at is not None else None
            if at is not None:
                row[at] = None
            return at is not None, out, None
        may, where = [w for w in range(self.ways) if ways >> w & 1], at
        if at is None:
            idle = [w for w in may if row[w] is None] or [w for w in may if not row[w][2]]
            where = min(idle or may)
            self.seen["empty" if row[where] is None else "idle" if idle else "round"] += 1
            if not idle:
                for w in may:
                    row[w] = (*row[w][:2], False)
        else:
            self.seen["own"] += 1
        out = row[where][1] if row[where] else None
        row[where] = (tag, number, False) if op == "put" else None
        return at is not None, out, None

    async def clock(self, op=None, clear=0):
        """One clock; (op, hash, ways) is offered. Whether it was taken."""
        pin, number = self.pin, None
        pin.valid_i.drive(op is not None)
        pin.clear_i.drive(clear)
        if op:
            what, hashed, ways = op
            number = self.free[-1] if what == "put" else 0
            pin.op_i.drive(OPS[what])
            pin.hash_i.value, pin.ways_i.value, pin.number_i.value = hashed, ways, number
        await RisingEdge(self.dut.clk_i)
        self.clocks += 1
        clearing = pin.clearing_o.value
        taken = op is not None and pin.ready_o.value
        if self.due and self.due[0][0] == self.clocks:
            _, hit, out, there, asked = self.due.popleft()
            assert pin.done_o.value and pin.hit_o.value == hit, asked
            assert pin.out_o.value == (out is not None), asked
            if out is not None or there is not None:
                assert pin.number_o.value == (there if out is None else out), asked
            if out is not None:
                self.free.insert(0, out)
            self.seen[asked[0], hit] += 1
        else:
            assert not pin.done_o.value
        if taken:
            if what == "put":
                self.free.pop()
            blank = clearing or clear
            self.due.append((self.clocks + 3, *self.change(*op[:2], number, ways, blank), op))
            self.seen["blank " + what] += bool(blank)
        if clear:
            inside = [way[1] for row in self.table for way in row if way]
            self.table = [[None] * self.ways for _ in range(self.sets)]
            self.free = inside + self.free
            self.left = self.sets + 4
        elif self.left is not None:
            self.left -= 1
            assert self.left or not clearing, "it does not end"
            self.left = self.left if clearing else None
        return taken

    async def begin(self):
        await start(self.dut)
        while self.pin.clearing_o.value:
            await RisingEdge(self.dut.clk_i)


@cocotb.test()
async def agrees(dut):
    """Random operations on few sets or many, keys with one tag, every choice of ways, entries forgotten at any time."""
    bench = Bench(dut)
    await bench.begin()
    total = len(bench.free)
    for _ in range(scale(50, 600)):
        keys = [random.getrandbits(64) for _ in range(random.choice([2, 20, 200]))]
        few = random.choice([1, 2, bench.sets])
        keys = [key - key % bench.sets + key % few for key in keys]
        keys += [key ^ 1 << 63 for key in keys[:3]]
        policy = random.choice([lambda: random.randrange(1, 1 << bench.ways), lambda: 3,
                                lambda: random.choice([3, (1 << bench.ways) - 4]), lambda: (1 << bench.ways) - 1])
        weights, rate, p_clear = random.choice([(6, 2, 1, 1), (1, 1, 1, 0), (8, 1, .1, .1)]), random.choice([.3, 1]), random.choice([0, 0, .1 / bench.sets])
        op = None
        for _ in range(600):
            if not op and random.random() < rate:
                op = (random.choices(list(OPS), weights)[0], random.choice(keys), policy())
            if await bench.clock(op, random.random() < p_clear):
                op = None
    for _ in range(4):
        await bench.clock()
    inside = [way[1] for row in bench.table for way in row if way]
    assert sorted(bench.free + inside) == list(range(total))
    if bench.sets < 100:  # else hardly any set is full
        for what in ("empty", "idle", "round", "own", "blank put", "blank look", "blank take", "blank drop"):
            assert bench.seen[what], bench.seen


@cocotb.test()
async def every_second_clock(dut):
    """An operation is taken every second clock, also while entries are being forgotten."""
    bench = Bench(dut)
    await bench.begin()
    for clock in range(200):
        taken = await bench.clock(("look", random.getrandbits(64), 1), clock == 50)
        assert taken == (clock % 2 == 0)


@pytest.mark.parametrize(("sets", "count"), [(8, 8), (2048, 8), (4, 4)])
def test_ways(sets, count):
    run(__file__, "ways", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Sets=sets, Ways=count)
