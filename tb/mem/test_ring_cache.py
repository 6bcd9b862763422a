"""ring_cache between rings and a memory where a write lands when it is answered, and not a clock before:
whoever reads a byte gets what was written last, from the clock after the write on and for as long as the
ring keeps it, whatever the memory's latency; what is read soon does not ask memory. A write that memory refuses
costs its own ring, until the ring has a new connection."""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.models import run
from harness.structs import T

FULL = {"first": 0, "last": 63}
ALL = (1 << 64) - 1


class Memory:
    """Behind the cache, as mem_axi shows it: answers in order, `latency` (from, to) clocks later; one of so many
    writes is refused, or those to `victims` are, and leave anything in their line; so many reads are bad, with data
    that are anything."""

    def __init__(self, dut, latency, pause=0.0, refuse=0, deny=0.0):
        self.dut, self.latency, self.pause, self.refuse, self.deny = dut, latency, pause, refuse, deny
        self.denied, self.done, self.victims, self.whose = 0, 0, set(), []
        self.lines, self.reads, self.writes, self.refused = {}, 0, 0, 0
        self.most_reads = 0
        self.open = deque(), deque()
        for name in ("wr_ready", "wr_done", "wr_bad", "rd_ready", "rdat_valid", "rdat_bad"):
            getattr(dut, f"mem_{name}_i").value = 0
        every_clock(dut, self._run())

    def line(self, addr):
        return self.lines.setdefault(addr, bytearray(random.randbytes(64)))

    async def _run(self):
        dut, clock = Pins(self.dut), 0
        wr_ready = rd_ready = False
        while True:
            await NEXT_CLOCK
            clock += 1
            writes, reads = self.open
            if wr_ready and dut.mem_wr_valid_o.value:
                self.writes += 1
                writes.append((clock + random.randint(*self.latency), dut.mem_wr_o.value))
            if rd_ready and dut.mem_rd_valid_o.value:
                self.reads += 1
                line, bad = self.line(dut.mem_rd_addr_o.value), random.random() < self.deny
                line = random.getrandbits(512) if bad else int.from_bytes(line, "little")
                reads.append((clock + random.randint(*self.latency), line, int(bad)))
                self.denied += bad
                self.most_reads = max(self.most_reads, len(reads))
            done = bool(writes) and writes[0][0] <= clock
            bad = False
            if done:
                write = T.line_write_t.unpack(writes.popleft()[1])
                self.done += 1
                bad = write["addr"] in self.victims or (self.refuse and self.done % self.refuse == 0)
                data, line = write["data"].to_bytes(64, "little"), self.line(write["addr"])
                for lane in range(64):
                    if not bad and write["strb"] >> lane & 1:
                        line[lane] = data[lane]
                if bad:
                    line[:] = random.randbytes(64)
                    self.refused += 1
                    self.whose.append(write["addr"])
            dut.mem_wr_done_i.value, dut.mem_wr_bad_i.value = int(done), int(bad)
            answer = bool(reads) and reads[0][0] <= clock
            if answer:
                dut.mem_rdat_i.value, dut.mem_rdat_bad_i.value = reads.popleft()[1:]
            dut.mem_rdat_valid_i.value = int(answer)
            wr_ready, rd_ready = random.random() >= self.pause, random.random() >= self.pause
            dut.mem_wr_ready_i.value, dut.mem_rd_ready_i.value = int(wr_ready), int(rd_ready)


class Bench:
    """Writes and reads single lines; `truth` is what was written last. Every answer is held to what was
    there in the clock of its read, in the lanes asked for."""

    def __init__(self, dut, latency=(1, 40), pause=0.0, refuse=0):
        self.dut, self.pause = dut, pause
        self.memory = Memory(dut, latency, pause, refuse)
        self.wr, self.rd = deque(), deque()       # (addr, data, strb, then), (addr, lanes, then)
        self.truth, self.asked, self.bad = {}, deque(), 0
        self.times = deque()                      # of the reads under way
        self.answers, self.delays = [], []        # clocks
        self.hold = self.hold_names = False       # nobody takes answers; nobody hears of refusals
        self.on_clock = lambda: None
        self.ring_lines = 8 if small(dut) else 1024
        self.base = 0x1030 if small(dut) else 0x1001400
        self.named, self.distrusted = [], set()   # conns to be reset; those that are not opened anew since
        self.open, self.opens = None, False       # to be opened anew; and is now
        dut.base_i.value = self.base
        dut.wr_valid_i.value = dut.rd_valid_i.value = dut.rdat_ready_i.value = 0
        dut.refused_ready_i.value = dut.open_i.value = dut.mark_i.value = 0

    async def start(self):
        await start(self.dut)
        every_clock(self.dut, self._run())
        await RisingEdge(self.dut.idle_o)  # forgotten what was there
        for conn in range(16 if small(self.dut) else 1024):
            self.dut.open_i.value, self.dut.open_conn_i.value = 1, conn
            await RisingEdge(self.dut.clk_i)
        self.dut.open_i.value = 0

    def write(self, addr, data=None, strb=ALL, then=None):
        data = random.getrandbits(512) if data is None else data
        self.wr.append((addr, data, strb, then))

    def read(self, addr, lanes=FULL, then=None):
        self.rd.append((addr, lanes, then))

    async def settle(self, limit=20_000):
        await clocks(self.dut, 1)
        done = await until(self.dut, lambda: not (self.wr or self.rd or self.asked) and self.dut.idle_o.value, limit)
        assert done, f"left: {len(self.wr)}, {len(self.rd)}, {len(self.asked)}"

    def conn(self, addr):
        """Whose line this is."""
        return (addr - self.base) // self.ring_lines

    async def opened(self, *conns):
        """These ids get new connections, when all that was written before is answered."""
        self.dut.mark_i.value = 1
        await RisingEdge(self.dut.clk_i)
        self.dut.mark_i.value = 0
        await RisingEdge(self.dut.clk_i)
        assert await until(self.dut, lambda: not self.dut.earlier_o.value, 20_000)
        waiting = {self.conn(T.line_write_t.unpack(write)["addr"]) for _, write in self.memory.open[0]}
        assert not waiting & {*conns}, "writes of before are not answered"
        # tcp opens none in the clock in which somebody is distrusted; here nobody is meanwhile.
        refuse, self.memory.refuse = self.memory.refuse, 0
        await clocks(self.dut, 4)
        for conn in conns:
            self.open = conn
            assert await until(self.dut, lambda: self.open is None, 20)
        self.memory.refuse = refuse

    def _paused(self):
        return self.pause and random.random() < self.pause

    async def _run(self):
        d, clock, told = Pins(self.dut), 0, 0
        wr_on = rd_on = ready = name_on = False
        while True:
            await NEXT_CLOCK
            clock += 1
            self.distrusted |= {self.conn(addr) for addr in self.memory.whose[told:]}
            told = len(self.memory.whose)
            if name_on and d.refused_valid_o.value:
                self.named.append(int(d.refused_conn_o.value))
            opens = self.open is not None
            if opens or self.opens:
                d.open_i.value = int(opens)
            self.opens = opens
            if opens:
                d.open_conn_i.value = self.open
                # All that was written before was answered, and who was refused was named.
                assert self.named.count(self.open) == [self.conn(a) for a in self.memory.whose].count(self.open)
                self.distrusted.discard(self.open)
                self.open = None
            name_on = not self.hold_names and not self._paused()
            d.refused_ready_i.value = int(name_on)
            # Answers first: a read's is never in the clock of the read.
            if ready and d.rdat_valid_o.value:
                addr, lanes, want, then = self.asked.popleft()
                got = d.rdat_o.value
                if d.rdat_bad_o.value:
                    assert (self.conn(addr) in self.distrusted or self.memory.denied) and got == 0, f"line {addr}"
                    self.bad += 1
                else:
                    at, size = 8 * lanes["first"], 8 * (lanes["last"] - lanes["first"] + 1)
                    got, want = ((x >> at & ((1 << size) - 1)) for x in (got, want))
                    assert got == want, f"line {addr}, lanes {lanes}: {got:x}, not {want:x}"
                self.answers.append(clock)
                self.delays.append(clock - self.times.popleft())
                if then:
                    then()
            if rd_on and d.rd_ready_o.value:
                addr, lanes, then = self.rd.popleft()
                self.asked.append((addr, lanes, self.truth[addr], then))
                self.times.append(clock)
                rd_on = False
            if wr_on and d.wr_ready_o.value:
                addr, data, strb, then = self.wr.popleft()
                mask = sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)
                self.truth[addr] = self.truth.get(addr, 0) & ~mask | data & mask
                wr_on = False
                if then:
                    then()
            self.on_clock()
            if self.wr and not wr_on and not self._paused():
                addr, data, strb, _ = self.wr[0]
                d.wr_i.value = T.line_write_t.pack({"addr": addr, "data": data, "strb": strb})
                wr_on = True
            if self.rd and not rd_on and not self._paused():
                d.rd_addr_i.value, d.rd_lanes_i.value = self.rd[0][0], T.lanes_t.pack(self.rd[0][1])
                rd_on = True
            ready = not self.hold and not self._paused()
            d.wr_valid_i.value, d.rd_valid_i.value = int(wr_on), int(rd_on)
            d.rdat_ready_i.value = int(ready)


class Ring:
    """A connection's ring: what is written in one go is told when all of it is; what is told is read, some
    of it again and again, and then makes room. Parts come early, twice, and overlap what was told
    never."""

    def __init__(self, bench, base, lines):
        self.bench, self.base, self.size = bench, base, 64 * lines
        self.told = self.read = self.free = random.randrange(self.size)  # free: bytes before it may change
        self.writing = False

    def lines(self, ptr, n):
        """(address, first lane, last lane) of each line that these bytes touch."""
        end = ptr + n
        while ptr < end:
            stop = min(end, (ptr // 64 + 1) * 64)
            yield self.base + ptr % self.size // 64, ptr % 64, (stop - 1) % 64
            ptr = stop

    def write(self):
        room = self.free + self.size - self.told
        if self.writing or room < 64:
            return
        cuts = [self.told]
        for _ in range(random.randint(1, 4)):
            cuts.append(cuts[-1] + min(random.choice((1, 7, 40, 64, 100, 300)), room - (cuts[-1] - self.told)))
        parts = [(a, b - a) for a, b in zip(cuts, cuts[1:]) if b > a]
        told = cuts[-1]
        if random.random() < 0.4:
            random.shuffle(parts)
        if random.random() < 0.3:
            parts.insert(random.randrange(len(parts)), random.choice(parts))
        writes = [line for part in parts for line in self.lines(*part)]

        def tell():
            self.told, self.writing = told, False

        self.writing = True
        for i, (addr, first, last) in enumerate(writes):
            strb = ALL >> (63 - last) & ALL << first & ALL
            self.bench.write(addr, strb=strb, then=tell if i == len(writes) - 1 else None)

    def ask(self):
        """The next bytes, or once more some that were read."""
        if random.random() < 0.3 and self.read > self.free:
            ptr = random.randrange(self.free, self.read)
            n, last = random.randint(1, min(300, self.told - ptr)), None
        elif self.told > self.read:
            ptr, n = self.read, random.randint(1, min(1500, self.told - self.read))
            self.read += n

            def last():
                # Some of it stays, as if nobody had acknowledged it.
                self.free = max(self.free, ptr + n - random.choice((0, 0, 100, self.size // 2)))
                self.free = min(self.free, self.least())
        else:
            return
        lines = list(self.lines(ptr, n))
        self.reading = getattr(self, "reading", deque())
        self.reading.append(ptr)

        def end():
            self.reading.popleft()
            if last:
                last()

        for i, (addr, first, stop) in enumerate(lines):
            self.bench.read(addr, {"first": first, "last": stop}, end if i == len(lines) - 1 else None)

    def least(self):
        return min([*getattr(self, "reading", ()), self.read])


def small(dut):
    return len(dut.sweep_q) < 8


PACES = [((1, 1), 0.0), ((1, 60), 0.0), ((1, 60), 0.5), ((100, 100), 0.2)]


@cocotb.test()
@cocotb.parametrize(pace=PACES)
async def streams(dut, pace):
    """Rings written in pieces, in any order, and read at once, late, and again."""
    bench = Bench(dut, *pace)
    size = bench.ring_lines
    rings = [Ring(bench, bench.base + size * i, size) for i in random.sample(range(1024), 24)]
    if small(dut):
        rings = [Ring(bench, bench.base + size * i, size) for i in range(16)]
    writing, busy, left = True, 1, 0

    def step():
        nonlocal left, busy
        if writing and len(bench.wr) < 6:
            random.choice(rings[:busy]).write()
        if writing and len(bench.rd) < 4 and random.random() < 0.7:
            random.choice(rings[:busy]).ask()
        left -= 1
        if left < 0:  # sometimes few rings are busy, sometimes all
            left, busy = random.randrange(600), random.choice((1, 4, len(rings)))

    await bench.start()
    bench.on_clock = step
    await clocks(dut, 4_000)
    writing = False
    await bench.settle()
    assert bench.memory.writes > 200 and len(bench.answers) > 1000
    found = 1 - bench.memory.reads / len(bench.answers)
    dut._log.info(f"{bench.memory.writes} writes, {len(bench.answers)} reads, {found:.0%} found")
    assert (0.05 < found < 0.95) if small(dut) else found > 0.9
    for addr, line in bench.truth.items():  # all of it is in memory
        there = int.from_bytes(bench.memory.line(addr), "little")
        for lane in range(64):
            byte = line >> 8 * lane & 0xFF
            assert not byte or there >> 8 * lane & 0xFF == byte


@cocotb.test()
async def at_once(dut):
    """A line is read in the clock after its write, in 4 clocks and without memory; a line a clock, both
    ways. What is displaced comes at full rate, too, and so do both mixed."""
    bench = Bench(dut, (100, 100))
    await bench.start()
    n = 96
    for i in range(n):
        bench.write(bench.base + i, then=lambda i=i: bench.read(bench.base + i))
    await bench.settle()
    assert bench.delays == [5] * n and bench.memory.reads == 0
    assert bench.answers[-1] - bench.answers[0] == n - 1
    # The answers to writes are all in, so only memory's latency is in the way.
    if small(dut):
        bench.answers.clear()
        for _ in range(3):
            for i in range(n - 16):
                bench.read(bench.base + i)
        await bench.settle()
        assert bench.answers[-1] - bench.answers[0] == 3 * (n - 16) - 1
        bench.answers.clear()
        reads = bench.memory.reads
        for i in range(500):
            bench.read(bench.base + (n - 16 + i % 16 if i % 3 else i % (n - 16)))
        await bench.settle()
        assert bench.answers[-1] - bench.answers[0] < 505
        assert bench.memory.reads - reads < 500
    # A reader who takes nothing finds as much.
    reads = bench.memory.reads
    bench.hold = True
    for i in range(1000):
        bench.read(bench.base + n - 16 + i % 16)
    await clocks(dut, 700)
    assert len(bench.asked) == 512
    bench.hold = False
    await bench.settle()
    assert bench.memory.reads == reads


@cocotb.test()
async def runs(dut):
    """Lanes of a line that is not all there: pieces that touch become one, a hole is not taken for
    bytes, and neither are those of another line in its place."""
    bench = Bench(dut, (30, 30))
    await bench.start()
    for again in range(150):
        addr, reads = bench.base + 40 + again % 40, bench.memory.reads
        pieces = []
        for _ in range(random.randint(1, 4)):
            first = random.randrange(64)
            pieces.append((first, min(63, first + random.choice((0, 1, 15, 40)))))
        if again < 40:
            bench.write(addr)  # memory knows all of it
            await bench.settle()
            bench.write(addr ^ 1)
        for first, last in pieces:
            bench.write(addr, strb=ALL >> (63 - last) & ALL << first & ALL)
        if random.random() < 0.5:
            await clocks(dut, random.randrange(40))
        while bench.wr:
            await RisingEdge(dut.clk_i)
        first, last = pieces[-1]
        bench.read(addr, {"first": first, "last": random.randint(first, last)})
        while bench.rd or bench.asked:
            await RisingEdge(dut.clk_i)
        assert bench.memory.reads == reads, "what was written last is there"
        for _ in range(4):
            first = random.randrange(64)
            bench.read(addr, {"first": first, "last": random.randint(first, 63)})
        bench.read(addr)
        await bench.settle()


@cocotb.test()
async def refused(dut):
    """A write that memory has refused costs its ring alone: what is here is right, what only memory has is bad, its
    connection is named. Others' lines are as they were; and so are its own for its next connection."""
    bench = Bench(dut, (20, 20))
    await bench.start()
    size = bench.ring_lines
    lines = [bench.base + size * conn + i for conn in range(8) for i in range(8)]
    for addr in lines:
        bench.write(addr)
    await bench.settle()
    assert bench.named == []
    victim = bench.base + size * 3 + 2
    bench.memory.victims = {victim}
    bench.write(victim, then=lambda: [bench.read(victim) for _ in range(3)])
    await bench.settle()
    assert bench.bad == 0 and bench.memory.refused == 1 and bench.named == [3]
    bench.memory.victims = set()
    for _ in range(3):
        for addr in lines:
            bench.read(addr)
        await bench.settle()
    if small(dut):  # whoever was displaced
        assert 8 < bench.bad <= 24
    # Whose line is displaced at once waits for the answer that says so.
    if small(dut):
        bench.memory.victims = {bench.base + size * 4}
        bad = bench.bad
        for addr in (bench.base + size * 4, *lines[:31]):
            bench.write(addr)
        bench.write(lines[31], then=lambda: bench.read(bench.base + size * 4))
        await bench.settle()
        assert bench.named == [3, 4] and bench.bad == bad + 1
        bench.memory.victims = set()
    bad = bench.bad
    await bench.opened(*(3, 4)[: len(bench.named)])
    for addr in lines:
        bench.write(addr)
    await bench.settle()
    for _ in range(3):
        for addr in lines:
            bench.read(addr)
        await bench.settle()
    assert bench.bad == bad and len(bench.named) == bench.memory.refused


@cocotb.test()
async def refused_later(dut):
    """Memory was asked for a line, and before it answers it refuses a write to it, of other lanes. The answer is bad."""
    if not small(dut):
        return
    bench = Bench(dut, (1, 1))
    await bench.start()
    line, lanes = bench.base, {"first": 0, "last": 15}
    for later in range(40):
        bench.write(line, strb=0xFFFF)
        for i in range(32):  # one of these displaces it
            bench.write(bench.base + bench.ring_lines + i)
        await bench.settle()
        bad, reads = bench.bad, bench.memory.reads
        bench.memory.latency = (30, 30)
        bench.read(line, lanes)
        assert await until(dut, lambda: bench.memory.reads > reads, 100)
        bench.memory.latency = (1, 1)
        await clocks(dut, later)
        bench.memory.victims = {line}
        bench.write(line, strb=0xFFFF << 16)
        await bench.settle()
        # Refused after the answer, it has not changed it.
        assert bench.bad == bad + (later < 25) or later in range(25, 33), later
        bench.memory.victims = set()
        await bench.opened(0)


@cocotb.test()
async def many_refused(dut):
    """Memory refuses all writes, and nobody hears of it: as many wait as there can be, and then the writes wait, too.
    None is forgotten."""
    bench = Bench(dut, (20, 20), refuse=1)
    await bench.start()
    bench.hold_names = True
    lines = [bench.base + random.randrange(8 * bench.ring_lines) for _ in range(1200)]
    for addr in lines:
        bench.write(addr)
    await clocks(dut, 2000)
    assert 0 < bench.memory.refused <= 512 and bench.wr and dut.earlier_o.value
    bench.hold_names = False
    await bench.settle()
    assert bench.named == [bench.conn(addr) for addr in lines]


@cocotb.test()
@cocotb.parametrize(pace=PACES)
async def some_refused(dut, pace):
    """Rings written and read as in `streams`; some writes are refused. Their rings, and no others, are named, once for
    each, are left as they are and get new connections, of which nothing is bad."""
    bench = Bench(dut, *pace, refuse=60)
    size, count = bench.ring_lines, 12
    rings = {conn: Ring(bench, bench.base + size * conn, size) for conn in range(count)}
    writing, opens, done = True, 0, False

    def step():
        if writing and rings and len(bench.wr) < 6:
            random.choice([*rings.values()]).write()
        if writing and rings and len(bench.rd) < 4 and random.random() < 0.7:
            random.choice([*rings.values()]).ask()

    async def open_anew():
        """Of those that were named nothing more is begun. When nothing is under way there come new ones."""
        nonlocal opens, done
        seen = 0
        while writing or seen < len(bench.named):
            for conn in bench.named[seen:]:
                rings.pop(conn, None)
            seen = len(bench.named)
            gone = set(range(count)) - set(rings)
            busy = {bench.conn(x[0]) for x in (*bench.wr, *bench.rd, *bench.asked)}
            await clocks(dut, random.choice((1, 1, 50)))
            if gone - busy:
                await bench.opened(*gone - busy)
                seen = max(seen, *(len(bench.named) - bench.named[::-1].index(c) for c in gone - busy))
                rings.update({c: Ring(bench, bench.base + size * c, size) for c in gone - busy})
                opens += len(gone - busy)
        done = True

    await bench.start()
    bench.on_clock = step
    cocotb.start_soon(open_anew())
    await clocks(dut, 8_000)
    writing = False
    await bench.settle()
    assert await until(dut, lambda: done, 20_000)
    dut._log.info(f"{bench.memory.writes} writes, {bench.memory.refused} refused, {opens} opened anew, {bench.bad} bad")
    assert len(bench.named) == bench.memory.refused > 3 and opens > 2
    assert bench.bad or not small(dut)


@cocotb.test()
async def denied(dut):
    """What memory cannot read is bad and zero, whatever its answer says; lines around it are right."""
    bench = Bench(dut, (1, 20), pause=0.2)
    await bench.start()
    for i in range(60):
        bench.write(bench.base + i)
    await bench.settle()
    dut.rst_ni.value = 0  # forgets them
    await clocks(dut, 3)
    dut.rst_ni.value = 1
    bench.memory.deny = 0.3
    for i in range(60):
        bench.read(bench.base + i)
    await bench.settle()
    assert bench.bad == bench.memory.denied > 5


@cocotb.test()
async def reset(dut):
    """A reset forgets all lines: what is in memory then counts."""
    bench = Bench(dut, (10, 10))
    await bench.start()
    for _ in range(3):
        for i in range(30):
            bench.write(bench.base + i)
        await bench.settle()
        dut.rst_ni.value = 0
        await clocks(dut, random.randint(1, 5))
        for i in range(30):  # by somebody else
            line = random.getrandbits(512)
            bench.memory.lines[bench.base + i] = bytearray(line.to_bytes(64, "little"))
            bench.truth[bench.base + i] = line
        dut.rst_ni.value = 1
        for i in range(30):
            bench.read(bench.base + i)
        await bench.settle()


def test_ring_cache():
    run(__file__, "ring_cache", ["rtl/lib/lib.f", "rtl/mem/mem.f"], Lines=4096, AddrBits=20)


def test_ring_cache_small():
    """As few lines as most of what is read was displaced."""
    run(__file__, "ring_cache", ["rtl/lib/lib.f", "rtl/mem/mem.f"], Lines=16, AddrBits=7, RingBits=3)
