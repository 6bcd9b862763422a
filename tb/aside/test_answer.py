"""aside_answer: a job is answered with its own keys' values or not at all, whatever is found for it: another key's entry, one
that is late or none; answers wait for who takes them, and only a job that fills everything by itself is given up."""

import random

import cocotb

from aside.bench import Entry
from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.models import run
from harness.size import scale
from harness.streams import Sink, Source
from harness.structs import T as P, Types

T = Types("rtl/pkg.f", "rtl/aside/aside_pkg.sv")
VALUES, RESULTS = 128, 32


class Bench:
    """Requests go in as jobs of (key, what is found: (its key, Entry) or None)."""

    def __init__(self, dut, pause=0.0, takes=0.0):
        self.dut, self.pin = dut, Pins(dut)
        self.asks, self.founds = Source(dut, "ask", {"": T.ask_t}, pause), Source(dut, "found", {"": T.found_t}, pause)
        self.keys, self.lines = Source(dut, "key", {"": P.beat_t}, pause), Source(dut, "line", ["", "last"], pause)
        self.results = Sink(dut, "res", {"": P.res_t}, takes)
        self.rkeys, self.chunks = Sink(dut, "rkey", [""], takes), Sink(dut, "chunk", {"": P.chunk_t}, takes)
        self.verdicts = []
        self.hot, self.hot_lost = Sink(dut, "hot", {"": T.candidate_t}, takes), 0
        self.pin.seconds_i.value = 100

    def end(self):
        """A job that has no request."""
        self.asks.put({"": {"nothing": 1, "first": 1, "ends": 1, "whole": 1}})
        self.founds.put({"": {}})

    def job(self, requests, hot=()):
        for n, (key, found) in enumerate(requests):
            ends = n == len(requests) - 1
            self.asks.put({"": {"plain": 1, "first": n == 0, "ends": ends, "whole": 1, "klen": len(key), "last_key": ends}})
            self.founds.put({"": {"there": found is not None, "hot": key in hot}})
            beats = [key[at : at + 64] for at in range(0, len(key), 64)]
            for i, beat in enumerate(beats):
                self.keys.put({"": {"data": int.from_bytes(beat.ljust(64, b"?"), "little"), "len": len(beat), "last": i == len(beats) - 1}})
            if found:
                image = found[1].image(found[0])
                lines = [image[at : at + 64] for at in range(0, len(image), 64)]
                for i, line in enumerate(lines):
                    self.lines.put({"": int.from_bytes(line.ljust(64, b"!"), "little"), "last": i == len(lines) - 1})

    async def run_jobs(self, jobs, hot=()):
        """The verdicts; what came out is what they say."""
        async def count():
            while True:
                await NEXT_CLOCK
                if self.pin.rst_ni.value:
                    self.hot_lost += int(self.pin.hot_lost_o.value)
                    if self.pin.verdict_o.value:
                        self.verdicts.append(int(self.pin.answered_o.value))

        every_clock(self.dut, count())
        for requests in jobs:
            self.job(requests, hot) if requests else self.end()
        assert await until(self.dut, lambda: len(self.verdicts) == len(jobs), 200_000)
        assert await until(self.dut, lambda: self.pin.idle_o.value, 20_000)
        await clocks(self.dut, 5)
        results, rkeys, chunks = (iter(sink.items) for sink in (self.results, self.rkeys, self.chunks))
        for requests, answered in zip(jobs, self.verdicts, strict=True):
            if not answered:
                end = next(results)[""]
                assert (end["kind"], end["first"], end["last"]) == (P.RsEnd, 1, 1)
                continue
            for n, (key, (_, entry)) in enumerate(requests):
                result = next(results)[""]
                assert (result["kind"], result["first"], result["last"]) == (P.RsValue, n == 0, n == len(requests) - 1)
                assert (result["flags"], result["num"], result["vlen"], result["klen"]) == (entry.flags, entry.unique, len(entry.value), len(key))
                lines = b"".join(next(rkeys)[""].to_bytes(64, "little") for _ in range(0, len(key), 64))
                assert lines[: len(key)] == key
                value, over = b"", False
                while not over:
                    chunk = next(chunks)[""]
                    data = chunk["data"].to_bytes(64, "little")
                    value += (data[chunk["start"] :] + data[: chunk["start"]])[: chunk["len"]]
                    over = chunk["last"]
                assert value == entry.value
        assert not any(True for left in (results, rkeys, chunks) for _ in left)
        return self.verdicts


async def begin(dut, **options):
    bench = Bench(dut, **options)
    await start(dut)
    return bench


def some_entry(size=None, deadline=0):
    size = random.choice([0, 1, 36, 64, 100, 1024]) if size is None else size
    return Entry(random.randbytes(size), random.getrandbits(32), random.getrandbits(64), deadline)


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4], takes=[0.0, 0.5])
async def other_keys(dut, pause, takes):
    """Keys that differ in one byte, or in length, in any beat; entries of any age; none."""
    bench = await begin(dut, pause=pause, takes=takes)
    jobs, want = [], []
    for _ in range(scale(150, 2000)):
        requests, good = [], True
        for _ in range(random.choice([1, 1, 1, 2, 4])):
            key = random.randbytes(random.choice([1, 10, 43, 44, 45, 63, 64, 65, 107, 108, 109, 128, 192, 249]))
            kind = random.choice(["own"] * 8 + ["none", "byte", "byte", "longer", "shorter", "late", "due"])
            theirs, deadline = key, random.choice([0, 101, 1 << 31])
            at = random.choice([0, len(key) - 1, random.randrange(len(key))])
            if kind == "byte":
                theirs = key[:at] + bytes([key[at] ^ 1 << random.randrange(8)]) + key[at + 1 :]
            elif kind == "longer":
                theirs = key + b"x"
            elif kind == "shorter":
                theirs = key[:-1] or b"yy"
            elif kind in ("late", "due"):
                deadline = 99 if kind == "late" else 100
            requests.append((key, None if kind == "none" else (theirs, some_entry(deadline=deadline))))
            good &= kind == "own"
        jobs.append(requests)
        want.append(int(good))
    assert await bench.run_jobs(jobs) == want
    assert 20 < sum(want) < len(want) - 20


@cocotb.test()
async def waits(dut):
    """Answers that together are more than there is room for, and takers that are slow: all are answered."""
    bench = await begin(dut, takes=0.9)
    key = b"key"
    jobs = [[(key, (key, some_entry(random.choice([0, 1024]))))] * random.randint(1, 6) for _ in range(scale(60, 500))]
    assert await bench.run_jobs(jobs) == [1] * len(jobs)


@cocotb.test()
async def too_long(dut):
    """A job that has more than all the room there is is not answered, and those before and behind it are."""
    bench = await begin(dut, takes=0.2)
    key, long_key = b"key", b"k" * 250
    jobs, want = [], []
    for _ in range(20):
        small = [(key, (key, some_entry(36)))]
        values = [(key, (key, some_entry(1024)))] * (VALUES // 16 + 2)
        keys = [(long_key, (long_key, some_entry(1)))] * (RESULTS // 4 + 2)
        results = [(key, (key, some_entry(0)))] * (RESULTS + 2)
        for requests, answer in ((small, 1), (values, 0), (small, 1), (keys, 0), (results, 0)):
            jobs.append(requests)
            want.append(answer)
    assert await bench.run_jobs(jobs) == want


@cocotb.test()
async def nothing(dut):
    """A job that asks for nothing is not answered."""
    bench = await begin(dut)
    key = b"key"
    jobs = [[], [(key, (key, some_entry(9)))], []]
    assert await bench.run_jobs(jobs) == [0, 1, 0]


@cocotb.test()
async def hot(dut):
    """Candidates that find no room for all of their key are lost whole, also where room comes while they do."""
    bench = await begin(dut, pause=0.6, takes=0.85)
    keys = [n.to_bytes(2, "big") + random.randbytes(random.choice([1, 62, 63, 200, 248])) for n in range(scale(200, 3000))]
    await bench.run_jobs([[(key, None)] for key in keys], hot=keys)
    await clocks(dut, 2000)
    got, lines = [], iter([item[""] for item in bench.hot.items])
    for line in lines:
        key = line["data"].to_bytes(64, "little")
        while len(key) < line["klen"]:
            more = next(lines)
            assert more["klen"] == line["klen"]
            key += more["data"].to_bytes(64, "little")
        got.append(key[: line["klen"]])
    left = iter(keys)
    assert all(key in left for key in got) and len(got) + bench.hot_lost == len(keys) and 10 < len(got) < len(keys) - 10


def test_answer():
    run(__file__, "aside_answer", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Values=VALUES, Results=RESULTS, Candidates=8)
