"""lib_align against a slice."""

import random

import cocotb

from harness.clock import start
from harness.models import run
from harness.streams import SIZES, Sink, Source, from_beats, to_beats

PAUSES = ((0, 0), (0.3, 0), (0, 0.5), (0.5, 0.3))
IN = ["data", "len", "last", "skip"]
OUT = ["data", "len", "last"]


def packet(data, skip):
    """Beats of a packet; only the first one's skip counts."""
    beats = to_beats(data)
    return [{**b, "skip": skip if i == 0 else random.randrange(64)} for i, b in enumerate(beats)]


@cocotb.test()
async def strips(dut):
    await start(dut)
    for idle, stall in PAUSES:
        packets = [(random.randbytes(n), random.randrange(64))
                   for n in random.sample([0, 0, *SIZES], 100)]
        source, sink = Source(dut, "s", IN, idle), Sink(dut, "m", OUT, stall)
        for data, skip in packets:
            source.put(*packet(data, skip))
        want = [data[skip:] for data, skip in packets]
        lines = sum(len(to_beats(data)) for data in want)
        assert from_beats(await sink.wait(lines)) == want
        source.stop()
        sink.stop()


@cocotb.test()
async def full_rate(dut):
    """Whatever the lengths, the source is never held up for more than a clock."""
    await start(dut)
    source, sink = Source(dut, "s", IN), Sink(dut, "m", OUT)
    beats = []
    for _ in range(200):
        skip = random.randrange(64)
        beats += packet(bytes(random.choice((1, 64, 65, 128, 130, random.randrange(1, 400)))), skip)
    source.put(*beats)
    await source.drain()
    want = len(beats)
    first = sink.times[0]
    await sink.wait(1)
    assert sink.times[-1] - first <= want


def test_lib_align():
    run(__file__, "lib_align", ["rtl/lib/lib.f"])
