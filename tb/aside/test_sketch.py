"""sketch: what it says is what a model says that writes a counter as late; spread out, no estimate is below the true count,
and few keys are hot that are not often asked for."""

import random
from collections import Counter, deque

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import Pins, start
from harness.models import run
from harness.size import scale


class Sketch:
    """The design, clock by clock, and the model: a counter that is read has what was written three clocks before."""

    def __init__(self, dut, threshold):
        self.dut, self.pin, self.threshold = dut, Pins(dut), threshold
        self.rows, self.width = int(dut.Rows.value), int(dut.Width.value)
        self.most = (1 << int(dut.CountW.value)) - 1
        self.bits = self.width.bit_length() - 1
        self.counts = [[0] * self.width for _ in range(self.rows)]
        self.writes, self.due, self.clocks = deque(), deque(), 0
        self.place = None  # of a halving
        self.pin.threshold_i.value = threshold
        self.pin.valid_i.value = self.pin.age_i.value = 0

    def places(self, hashed):
        return [hashed >> r * self.bits & self.width - 1 for r in range(self.rows)]

    async def zero(self):
        """Until all counters are zero; what comes before is not counted."""
        for clock in range(self.width + 8):
            self.pin.valid_i.drive(int(clock < self.width - 4))
            self.pin.hash_i.value = random.getrandbits(64)
            await RisingEdge(self.dut.clk_i)
            assert not self.pin.valid_o.value
        assert not self.pin.ageing_o.value
        self.pin.valid_i.drive(0)

    async def clock(self, hashed=None, age=0):
        """One clock. What is said in it: (hash, estimate, hot) or None."""
        pin = self.pin
        pin.valid_i.drive(hashed is not None)
        pin.age_i.drive(age)
        if hashed is not None:
            pin.hash_i.value = hashed
        await RisingEdge(self.dut.clk_i)
        self.clocks += 1
        while self.writes and self.writes[0][0] <= self.clocks:
            for row, place, value in self.writes.popleft()[1]:
                self.counts[row][place] = value

        assert pin.ageing_o.value == (self.place is not None)
        sweeps = self.place is not None and self.turn == 7
        if sweeps:
            self.writes.append((self.clocks + 3, [(r, self.place, row[self.place] >> 1) for r, row in enumerate(self.counts)]))
        elif hashed is not None:
            self.counted(hashed)
        if self.place is not None:
            self.turn = (self.turn + 1) % 8
            self.place += sweeps
            if self.place == self.width:
                self.place = None
        elif age:
            self.place = self.turn = 0
        said = None
        due = self.due and self.due[0][0] == self.clocks and self.due.popleft()
        if due:
            _, hashed_then, estimate, hot = due
            assert pin.valid_o.value and pin.estimate_o.value == estimate and pin.hot_o.value == hot
            said = (hashed_then, estimate, bool(hot))
        else:
            assert not pin.valid_o.value and not pin.hot_o.value
        return said

    def counted(self, hashed):
        places = self.places(hashed)
        words = [self.counts[r][p] for r, p in enumerate(places)]
        least = min(words)
        more = min(least + 1, self.most)
        self.writes.append((self.clocks + 3, [(r, p, more) for r, p in enumerate(places) if words[r] == least]))
        self.due.append((self.clocks + 3, hashed, more, least < self.most and more == self.threshold))


async def begin(dut, threshold):
    sketch = Sketch(dut, threshold)
    await start(dut)
    await sketch.zero()
    return sketch


@cocotb.test()
async def agrees(dut):
    """Random keys, few or many, close together, with halvings in between."""
    sketch = await begin(dut, 5)
    hot = highest = 0
    for round_ in range(scale(12, 200)):
        for _ in range(3):  # until nothing is under way that is compared with it
            await sketch.clock()
        sketch.threshold = sketch.pin.threshold_i.value = [5, sketch.most, 1, 0][round_ % 4]
        keys = [random.getrandbits(64) for _ in range(random.choice([1, 3, 40, 4 * sketch.width]))]
        # Some have a counter with another one in common.
        keys += [key ^ (sketch.width - 1) << sketch.bits * random.randrange(sketch.rows) for key in keys[:20]]
        rate, p_age = random.choice([.1, .5, 1]), random.choice([0, .002])
        for _ in range(1500):
            key = random.choice(keys) if random.random() < rate else None
            said = await sketch.clock(key, random.random() < p_age)
            if said:
                hot += said[2]
                highest = max(highest, said[1])
    assert hot > 10 and highest == sketch.most


@cocotb.test()
async def estimates(dut):
    """Keys of a skewed popularity, asked for every fourth clock: nobody is counted less often than it was asked for, and few
    are counted much more often; each that was asked for so often became hot, once."""
    threshold = 12
    sketch = await begin(dut, threshold)
    true, said, hot = Counter(), {}, Counter()
    keys = [random.getrandbits(64) for _ in range(4 * sketch.width)]
    for _ in range(8 * sketch.width):
        key = keys[int(len(keys) ** random.random()) - 1]
        true[key] += 1
        for clock in range(4):
            if answer := await sketch.clock(None if clock else key):
                assert answer[1] >= min(true[answer[0]], sketch.most)
                said[answer[0]] = answer[1]
                hot[answer[0]] += answer[2]
    often = {key for key, count in true.items() if count >= threshold}
    assert len(often) > 20 and all(hot[key] == 1 for key in often)
    wrong = sum(hot.values()) - len(often)
    dut._log.info(f"{len(often)} often asked for, {wrong} hot that are not, "
                  f"{sum(said[key] > true[key] for key in said)} of {len(said)} too high")
    assert wrong < len(often) / 4


def test_sketch():
    run(__file__, "sketch", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Width=1024, CountW=6)
