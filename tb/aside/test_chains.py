"""chains: entries come out as they went in, whole, though others become free and are written at the same time; no line is lost,
none is used twice; what is forgotten midway is told."""

import random
from collections import deque

import cocotb

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.models import run
from harness.size import scale
from harness.structs import Types

T = Types("rtl/pkg.f", "rtl/aside/aside_pkg.sv")


class Bench:
    """Entries are put as `entries` come, given or freed as `ask` is called; `pause`: the probability that a stream stands."""

    def __init__(self, dut, pause):
        self.dut, self.pin, self.pause = dut, Pins(dut), pause
        self.lines = int(dut.Lines.value)
        #: New entries and commands that wait; those that are here, by number; what is to come out.
        self.entries, self.commands, self.here, self.due = deque(), deque(), {}, deque()
        self.made, self.refused, self.given, self.clears, self.puts = 0, 0, 0, 0, False
        for name in ("cmd_valid_i", "m_ready_i", "s_valid_i"):
            getattr(self.pin, name).value = 0
        every_clock(dut, self._put())
        every_clock(dut, self._command())
        every_clock(dut, self._take())

    def ask(self, op, number=0):
        self.commands.append((op, number))

    async def _put(self):
        p, entry, at, driven = self.pin, None, 0, False
        begun = deque()
        while True:
            await NEXT_CLOCK
            if p.rst_ni.value and p.made_o.value:
                new, when = begun.popleft()
                if p.made_ok_o.value:
                    number = int(p.made_number_o.value)
                    assert when == self.clears and number not in self.here, "an entry is where another one is"
                    self.here[number] = new
                    self.made += 1
                else:
                    assert when < self.clears, "an entry is refused that nothing has met"
                    self.refused += 1
            if driven and p.s_ready_o.value:
                at += 1
                driven = False
                if at == len(entry):
                    begun.append((entry, since))
                    entry = None
            if entry is None and self.entries:
                entry, at = self.entries.popleft(), 0
            if entry and not driven and random.random() >= self.pause:
                driven = True
                p.s_line_i.value, p.s_last_i.value = entry[at], int(at == len(entry) - 1)
            p.s_valid_i.drive(driven)
            self.puts = bool(entry or begun)
            # Forgotten is what has a line here; a first line is not, before it is taken.
            if at == 0:
                since = self.clears

    async def _command(self):
        p, driven = self.pin, None
        while True:
            await NEXT_CLOCK
            if driven and p.cmd_ready_o.value:
                op, number = driven
                if op == "give":
                    self.due.extend((line, n == len(self.here[number]) - 1) for n, line in enumerate(self.here[number]))
                    self.given += 1
                elif op == "free":
                    del self.here[number]
                else:
                    self.here.clear()
                    self.clears += 1
                driven = None
            # What was asked of an entry that was forgotten meanwhile is nothing.
            while self.commands and not driven:
                op, number = self.commands[0]
                if op != "clear" and number not in self.here:
                    self.commands.popleft()
                    continue
                if random.random() < self.pause:
                    break
                driven = self.commands.popleft()
                p.cmd_op_i.value = {"give": T.ChainGive, "free": T.ChainFree, "clear": T.ChainClear}[op]
                p.cmd_number_i.value = number
            p.cmd_valid_i.drive(bool(driven))

    async def _take(self):
        p, ready = self.pin, False
        while True:
            await NEXT_CLOCK
            if ready and p.m_valid_o.value:
                assert (int(p.m_line_o.value), bool(p.m_last_o.value)) == self.due.popleft()
            ready = random.random() >= self.pause
            p.m_ready_i.drive(ready)

    async def asked(self):
        assert await until(self.dut, lambda: not self.commands, 10_000)
        await clocks(self.dut, random.randrange(40))

    async def settled(self):
        assert await until(self.dut, lambda: not (self.entries or self.puts or self.commands or self.due), 100_000)
        await clocks(self.dut, 10)


async def begin(dut, pause):
    bench = Bench(dut, pause)
    await start(dut)
    await clocks(dut, bench.lines + 20)
    return bench


def an_entry(most):
    return [random.getrandbits(512) for _ in range(random.randint(1, most))]


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4], most=[1, 20])
async def come_out(dut, pause, most):
    """More entries than there is room for, each given at any time; all lines are free in the end."""
    bench = await begin(dut, pause)
    for _ in range(scale(60, 600)):
        bench.entries.extend(an_entry(most) for _ in range(random.randrange(6)))
        for number in random.sample(list(bench.here), min(len(bench.here), random.randrange(8))):
            bench.ask("give", number)
            if random.random() < 0.5:
                bench.ask("free", number)
        await clocks(dut, random.randrange(60))
        # There is room again for the one that waits.
        while sum(map(len, bench.here.values())) > bench.lines - 2 * most - 2 and not bench.commands:
            bench.ask("free", random.choice(list(bench.here)))
            await bench.asked()
    while bench.entries or bench.here:
        for number in list(bench.here):
            bench.ask("free", number)
        await clocks(dut, 100)
    await bench.settled()
    assert bench.made > scale(60, 600) and bench.given > 40
    assert bench.dut.free_o.value == bench.lines - 1


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.3], most=[1, 12])
async def forgotten(dut, pause, most):
    """All become free, whatever is under way; what came of a new entry is refused at its end, and the next one is as any other.
    What is freed while all become free is free, too."""
    bench = await begin(dut, pause)
    for _ in range(scale(40, 300)):
        bench.entries.extend(an_entry(most) for _ in range(60 // (most + 1)))
        await clocks(dut, random.randrange(1, 60))
        for number in random.sample(list(bench.here), min(len(bench.here), 3)):
            bench.ask("give", number)
        bench.ask("clear")
        await bench.asked()
        for number in list(bench.here):
            bench.ask("free", number)
        assert await until(dut, lambda: not bench.entries, 3000)
    await bench.settled()
    assert bench.refused > 5 and bench.made > 5
    for number in list(bench.here):
        bench.ask("free", number)
    await bench.settled()
    await clocks(dut, bench.lines + 20)
    assert dut.free_o.value == bench.lines - 1


@cocotb.test()
async def line_a_clock(dut):
    """Entries of one line and of two, given without a pause: a line in each clock."""
    bench = await begin(dut, 0.0)
    bench.entries.extend([random.getrandbits(512) for _ in range(1 + n % 2)] for n in range(20))
    await bench.settled()
    await clocks(dut, 5)
    numbers = [random.choice(list(bench.here)) for _ in range(300)]
    lines = sum(len(bench.here[number]) for number in numbers)
    for number in numbers:
        bench.ask("give", number)
    took = 0
    while bench.commands or bench.due:
        took += 1
        await clocks(dut, 1)
    assert took <= lines + 6, (took, lines)


def test_chains():
    run(__file__, "chains", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Lines=64)
