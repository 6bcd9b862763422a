"""guard: its answers are those of a model with numbers that never come around; and a cache that asks it serves nothing older
than what a client was shown, before a server that answers in any order."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import Pins, start
from harness.models import run
from harness.size import scale
from harness.structs import Types

T = Types("rtl/pkg.f", "rtl/aside/aside_pkg.sv")
SECOND = 1024  # ticks


class Guard:
    """The design's two ports, clock by clock, and the model."""

    def __init__(self, dut):
        self.dut, self.pin = dut, Pins(dut)
        self.entries, self.most = int(dut.Entries.value), (1 << int(dut.CountW.value)) - 1
        self.open, self.changes, self.bases = [0] * self.entries, [0] * self.entries, {}
        self.all_open = self.all_changes = self.ticks = 0
        self.clearing, self.taken, self.due = True, None, deque()
        self.clocks = self.since = self.answered = 0
        for name in ("tick_i", "go_valid_i", "back_valid_i"):
            getattr(self.pin, name).value = 0

    def version(self, index):
        return self.changes[index] + self.all_changes

    def none_open(self, index):
        return not (self.open[index] or self.all_open or self.clearing)

    def change(self, op, index, ticket):
        """What is answered: True, False, or None where it is not known; and the ticket."""
        if op == "look":
            return self.none_open(index), (self.ticks, self.version(index))
        if op == "fill":
            base = self.bases.get(index)
            if not self.none_open(index) or ticket is None or base is None:
                return (False, None) if not self.none_open(index) else (None, None)
            left, second, version = ticket
            if version != (base + self.version(index)) % 2**32:
                return False, None
            # In seconds by the clock its age is one less or more, as they begin.
            age = self.ticks - left
            return True if age < 8 * SECOND else False if age >= 9 * SECOND else None, None
        if op == "open":
            good = self.open[index] < self.most and not self.clearing
            self.open[index] += good
            self.changes[index] += 1
        elif op == "close":
            # What is being forgotten may be gone or not.
            good = None if self.clearing else self.open[index] > 0
            self.open[index] -= bool(good)
            self.changes[index] += 1
        elif op == "open all":
            good = self.all_open < self.most
            self.all_open += good
            self.all_changes += 1
        elif op == "close all":
            good = self.all_open > 0
            self.all_open -= good
            self.all_changes += 1
        elif op == "clear":
            self.open, self.all_open = [0] * self.entries, 0
            self.since, good = self.clocks, True
            self.all_changes += 1
        return good, None

    GO = {"look": T.GoLook, "open": T.GoOpen, "open all": T.GoOpenAll}
    BACK = {"fill": T.BackFill, "close": T.BackClose, "close all": T.BackCloseAll, "clear": T.BackClear}

    async def clock(self, go=None, back=None, tick=0):
        """One clock: offers (op, index) and (op, index, ticket). Returns what was taken, "go" or "back" or None, and the
        answer that comes in this clock: (port, good, ticket) or None. A ticket is (ticks, second, version)."""
        pin = self.pin
        pin.tick_i.drive(tick)
        pin.go_valid_i.drive(go is not None)
        pin.back_valid_i.drive(back is not None)
        if go:
            pin.go_op_i.drive(self.GO[go[0]])
            pin.go_index_i.drive(go[1])
        if back:
            pin.back_op_i.drive(self.BACK[back[0]])
            pin.back_index_i.drive(back[1])
            _, second, version = back[2] or (0, 0, 0)
            pin.back_ticket_i.value = second << 32 | version
        await RisingEdge(self.dut.clk_i)
        self.clocks += 1

        # The one of the clock before has its turn: whether all is being forgotten is known now.
        clearing = bool(pin.clearing_o.value)
        if self.clearing and not clearing:
            self.all_changes += 1
        self.clearing = clearing
        if not clearing:
            self.since = self.clocks
        assert self.clocks - self.since <= 2 * self.entries + 8, "it does not end"
        if self.taken:
            port, op, index, ticket = self.taken
            self.due.append((self.clocks + 2, port, op, index, *self.change(op, index, ticket)))
        self.taken = None

        # What comes back goes first, and all goes on, but for every other clock while all is being forgotten.
        go_ready, back_ready = pin.go_ready_o.value, pin.back_ready_o.value
        assert go_ready == (back_ready and back is None)
        assert back_ready or clearing
        if back and back_ready:
            self.taken = ("back", *back)
        elif go and go_ready:
            self.taken = ("go", *go, None)
        self.ticks += tick

        answer = None
        if self.due and self.due[0][0] == self.clocks:
            _, port, op, index, good, ticket = self.due.popleft()
            assert pin.go_done_o.value == (port == "go") and pin.back_done_o.value == (port == "back")
            said = bool((pin.go_ok_o if port == "go" else pin.back_ok_o).value)
            assert good is None or said == good, f"{op} {index}: {said}, not {good}"
            if op == "close" and good is None:
                said = True
            self.answered += 1
            if op == "look":
                word = pin.go_ticket_o.value
                left, version = ticket
                base = self.bases.setdefault(index, (word - version) % 2**32)
                assert word % 2**32 == (base + version) % 2**32, f"version of {index}"
                ticket = (left, word >> 32, word % 2**32)
            answer = (port, op, index, said, ticket)
        else:
            assert not pin.go_done_o.value and not pin.back_done_o.value
        return self.taken and self.taken[0], answer

    async def ready(self):
        """Until nothing is being forgotten."""
        while True:
            await self.clock()
            if not self.clearing:
                return


@cocotb.test()
async def agrees(dut):
    """Random operations on few entries or all, with tickets of any of them: every answer is the model's."""
    await start(dut)
    guard = Guard(dut)
    await guard.ready()
    tickets, seen = deque(maxlen=8), set()
    for round_ in range(scale(12, 200)):
        hot = random.choice([1, 2, 5, guard.entries])
        weights = random.choice([(8, 2, .2), (3, 3, .5), (1, 8, 0), (8, .3, 0)])
        p_go, p_back, p_close, p_clear = random.random(), random.random(), random.choice([.3, 1]), random.choice([0, .002])
        go = back = None
        for _ in range(1500):
            index = lambda: random.randrange(hot) * (guard.entries // hot) if hot < guard.entries else random.randrange(hot)  # noqa: E731
            if not go and random.random() < p_go:
                go = (random.choices(list(guard.GO), weights)[0], index())
            if not back and random.random() < p_back:
                if random.random() < p_clear:
                    back = ("clear", 0, None)
                elif tickets and random.random() < .5:
                    at, ticket = random.choice(tickets)
                    back = ("fill", at if random.random() < .9 else index(), ticket)
                elif random.random() < p_close:
                    back = (random.choices(["close", "close all"], [weights[1], weights[2] + .01])[0], index(), None)
            taken, answer = await guard.clock(go, back, random.random() < .1)
            if taken == "go":
                go = None
            elif taken == "back":
                back = None
            if answer:
                _, op, at, good, ticket = answer
                seen.add((op, good))
                if ticket:
                    tickets.append((at, ticket))
    if guard.entries < 100:
        assert len(seen) == 13, seen  # both answers of each; a clear has one
    dut._log.info(f"{guard.answered} answers")


@cocotb.test()
async def ages(dut):
    """A fill is taken up to eight seconds after its GET left, and after nine no more."""
    await start(dut)
    guard = Guard(dut)
    await guard.ready()
    taken = refused = 0
    for _ in range(scale(4, 20)):
        tickets, when = [], sorted(random.choice([8, 9, 10]) * SECOND + random.randrange(-1200, 1200) for _ in range(60))
        left = guard.ticks
        while len(tickets) < 4:
            _, answer = await guard.clock(go=("look", random.randrange(guard.entries)), tick=1)
            if answer:
                tickets.append((answer[2], answer[4]))
        for age in when:
            while guard.ticks < left + age:
                await guard.clock(tick=1)
            _, answer = await guard.clock(back=("fill", *random.choice(tickets)))
            while not answer:
                _, answer = await guard.clock()
            taken += answer[3]
            refused += not answer[3]
    assert taken and refused


@cocotb.test()
async def full(dut):
    """Writers of a key wait when its count is full, and open when one closes; no number of them brings it around."""
    await start(dut)
    guard = Guard(dut)
    await guard.ready()
    for go, close in (("open", "close"), ("open all", "close all")):
        for _ in range(guard.most + 20):
            await guard.clock(go=(go, 1))
        for _ in range(guard.most + 20):
            await guard.clock(go=("look", 1))
            await guard.clock(back=(close, 1, None))
    for _ in range(4):
        await guard.clock(go=("look", 1))


class Cache:
    """A cache and a server behind it: each message is late by as much as it likes, and none waits for another. Values are
    numbers that rise."""

    def __init__(self, guard, keys):
        self.guard, self.keys = guard, keys
        self.entries, self.server, self.shown = {}, [0] * keys, [0] * keys
        self.later, self.asked = [], {"go": deque(), "back": deque()}
        self.go, self.back = deque(), deque()
        self.hits = self.fills = self.refused = self.writes = 0

    def index(self, key):
        return key % self.guard.entries

    def soon(self, do, *args):
        self.later.append((self.guard.clocks + random.choice([1, 5, 20, 100, 300]), do, args))

    def show(self, key, value):
        self.shown[key] = max(self.shown[key], value)

    # A GET: answered, or to the server and back.
    def get(self, key):
        self.go.append(("look", self.index(key), self.looked, (key, self.shown[key])))

    def looked(self, good, ticket, key, shown):
        if good and key in self.entries:
            assert self.entries[key] >= shown, f"key {key}: {self.entries[key]}, but {shown} was shown"
            self.show(key, self.entries[key])
            self.hits += 1
        else:
            self.soon(self.read, key, ticket if good else None)

    def read(self, key, ticket):
        self.soon(self.came, key, self.server[key], ticket)

    def came(self, key, value, ticket):
        if random.random() < .5:
            self.show(key, value)
        if ticket:
            self.back.append(("fill", self.index(key), ticket, self.filled, (key, value)))

    def filled(self, good, _, key, value):
        self.fills += good
        self.refused += not good
        if good:
            self.entries[key] = value
        self.show(key, value)

    # A write of some keys, or None for all: opened one by one, then taken out and sent.
    def write(self, keys, opened=0):
        if keys is None:
            self.go.append(("open all", 0, self.opened, (keys, opened)))
        else:
            self.go.append(("open", self.index(keys[opened]), self.opened, (keys, opened)))

    def opened(self, good, _, keys, opened):
        if not good:
            self.soon(self.write, keys, opened)
        elif keys and opened + 1 < len(keys):
            self.write(keys, opened + 1)
        else:
            # The entries go while it is open.
            out = {"left": 1}
            for key in keys or range(self.keys):
                out["left"] += 1
                self.soon(self.take_out, key, out, keys)
            self.soon(self.apply, keys, out)
            self.writes += 1

    def take_out(self, key, out, keys):
        self.entries.pop(key, None)
        self.step(out, keys)

    def apply(self, keys, out):
        values = {}
        for key in keys or range(self.keys):
            self.server[key] += 1
            values[key] = self.server[key]
        self.soon(self.told, values)
        out["values"] = values
        self.soon(self.step, out, keys)

    def told(self, values):
        for key, value in values.items():
            self.show(key, value)

    def step(self, out, keys):
        out["left"] -= 1
        if out["left"] == 0:
            self.told(out["values"])
            for key in keys or [None]:
                self.back.append(("close all" if key is None else "close", self.index(key or 0), None, None, ()))

    async def clock(self):
        due = [one for one in self.later if one[0] <= self.guard.clocks]
        self.later = [one for one in self.later if one[0] > self.guard.clocks]
        for _, do, args in due:
            do(*args)
        go, back = self.go and self.go[0], self.back and self.back[0]
        taken, answer = await self.guard.clock(go[:2] if go else None, back[:3] if back else None)
        if taken:
            *_, then, args = (self.go if taken == "go" else self.back).popleft()
            self.asked[taken].append((then, args))
        if answer:
            then, args = self.asked[answer[0]].popleft()
            if then:
                then(answer[3], answer[4], *args)


@cocotb.test()
async def never_old(dut):
    """Keys that share entries, commands on one, two and all; no hit is older than what a client was shown before."""
    await start(dut)
    guard = Guard(dut)
    await guard.ready()
    cache = Cache(guard, 2 * min(guard.entries, 8))
    for clock in range(scale(40_000, 1_000_000)):
        rate = .3 if clock % 8000 < 6000 else .9
        if len(cache.go) < 4 and random.random() < rate:
            what, some = random.random(), random.randrange(cache.keys)
            if what < .9:
                cache.get(min(some, random.randrange(cache.keys)))
            elif what < .97:
                cache.write([some])
            elif what < .999:
                cache.write(random.sample(range(cache.keys), 2))
            else:
                cache.write(None)
        await cache.clock()
    dut._log.info(f"{cache.hits} hits, {cache.fills} fills, {cache.refused} refused, {cache.writes} writes")
    assert cache.hits > 300 and cache.fills > 100 and cache.refused > 50 and cache.writes > 200


@pytest.mark.parametrize(("entries", "count"), [(8, 2), (16384, 8)])
def test_guard(entries, count):
    run(__file__, "guard", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Entries=entries, CountW=count)
