"""lib_join against a few lines of Python."""

import random

import cocotb
import pytest

from harness.clock import clocks, start
from harness.models import run
from harness.streams import SIZES, Sink, Source

PAUSES = ((0, 0), (0.3, 0), (0, 0.5), (0.5, 0.3))


def chunked(data, offset):
    """Random chunks that make up `data`; every one lies anywhere in its line, or around its end."""
    chunks, at = [], 0
    while True:
        len_ = min(len(data) - at, random.choice((0, 1, 64, random.randrange(65))))
        start_ = random.randrange(64)
        junk = data[at : at + len_] + random.randbytes(64 - len_)
        junk = junk[64 - start_ :] + junk[: 64 - start_]
        at += len_
        last = at == len(data) and random.random() < 0.7
        chunks.append({"data": int.from_bytes(junk, "little"), "start": start_, "len": len_,
                       "first": int(not chunks), "last": int(last),
                       "offset": offset if not chunks else random.randrange(64)})
        if last:
            return chunks


@cocotb.test()
async def join(dut):
    await start(dut)
    for idle, stall in PAUSES:
        packets = [(random.randbytes(n), random.randrange(64))
                   for n in random.sample([0, 0, *SIZES], 60) + [64] * 5]
        chunks = [chunked(data, offset) for data, offset in packets]
        source = Source(dut, "s", ["data", "start", "len", "first", "offset", "last"], idle)
        sink = Sink(dut, "m", ["data", "strb", "last"], stall)
        source.put(*sum(chunks, []))
        for n, (data, offset) in enumerate(packets):
            got, lane, done = b"", offset, False
            while not done:
                line = (await sink.wait(1))[0]
                sink.items.pop(0)
                lanes = [i for i in range(64) if line["strb"] >> i & 1]
                assert lanes == list(range(lane, lane + len(lanes))), "hole in a line"
                # Only an end without a byte may need a line of its own.
                assert lanes or not chunks[n][-1]["len"], "empty line"
                bytes_ = line["data"].to_bytes(64, "little")
                got += bytes(bytes_[i] for i in lanes)
                lane, done = 0, bool(line["last"])
                assert done or lanes[-1] == 63, "short line inside a packet"
            assert got == data, f"packet {n}"
        source.stop()
        sink.stop()


@cocotb.test()
async def pause_behind_a_full_line(dut):
    """A packet's end overflows, the next packet begins with a full line, and then nothing comes for
    a while: the line after that has only its own bytes."""
    await start(dut)
    source = Source(dut, "s", ["data", "start", "len", "first", "offset", "last"])
    sink = Sink(dut, "m", ["data", "strb", "last"])
    chunk = {"data": 0, "start": 0, "offset": 0}
    for pause in range(4):
        source.put({**chunk, "len": 40, "first": 1, "last": 0},
                   {**chunk, "len": 40, "first": 0, "last": 1},
                   {**chunk, "len": 64, "first": 1, "last": 0})
        await source.drain()
        await clocks(dut, pause)
        source.put({**chunk, "len": 10, "first": 0, "last": 1})
        strobes = [line["strb"] for line in await sink.wait(4)]
        assert strobes == [2**64 - 1, 2**16 - 1, 2**64 - 1, 2**10 - 1]
        sink.items.clear()


@cocotb.test()
async def join_rate(dut):
    """A chunk a clock; a packet's end beyond its line hides behind the next packet's start."""
    await start(dut)
    source = Source(dut, "s", ["data", "start", "len", "first", "offset", "last"])
    sink = Sink(dut, "m", ["data", "strb", "last"])
    for _ in range(50):
        source.put(*({"data": 0, "start": 0, "len": 64 if i == 9 else 60, "first": int(i == 0),
                      "offset": 0, "last": int(i == 9)} for i in range(10)))
    await source.drain()
    await sink.wait(500)
    assert sink.times[-1] - sink.times[0] <= 501


@pytest.mark.parametrize("register", [1, 0])
def test_lib_join(register):
    run(__file__, "lib_join", ["rtl/lib/lib.f"], Register=register)
