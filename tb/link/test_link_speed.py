"""How much the link carries on the wire's channel, both ways at once: 95 % of what the reads under way, 100 Gb/s and a slot
each clock allow, whatever the latency. How long a lone frame takes beside memory's latencies."""

import json

import cocotb
import pytest

from harness.clock import NEXT_CLOCK, clocks, every_clock
from harness.models import BUILD, run
from harness.size import LONG
from harness.rings import CAPS, Bench, slots_of

#: Clocks in a nanosecond.
GHZ = 0.25
#: Nanoseconds, and bytes of a frame.
LATENCIES = [500, 1000, 1200, 2000]
FRAMES = [64, 128, 256, 512, 1518, 9018]
POINTS = [(l, s) for l in LATENCIES for s in FRAMES] if LONG else [(500, 64), (1000, 64), (1200, 1518), (2000, 9018)]
#: What was measured, for docs/rtl/LINK.md: Gb/s down and up, and the limits.
RESULTS = BUILD / "link_speed.json"


def limit(latency, size, reads):
    """In Gb/s of frames."""
    share = size / (64 * slots_of(size))
    return min(100.0, share * 512 * GHZ, *([share * reads * 512 * 8 / latency] if reads else []))


def ceiling(size):
    """What a slot each clock carries."""
    return size / (64 * slots_of(size)) * 512 * GHZ


def rate(samples, period):
    """Gb/s of what was counted after each clock: in windows of one length that begin at each clock of a round trip, on
    average. What comes in bunches, one a round trip, so counts neither too much nor too little."""
    length = len(samples) - period
    return sum(samples[n + length] - samples[n] for n in range(period)) / period / length * 8 * GHZ


@cocotb.test()
@cocotb.parametrize(point=POINTS)
async def carries(dut, point):
    latency, size = point
    bench = Bench(dut, bits=((12, 12), (3, 3), (3, 3)), latency=int(latency * GHZ))
    await bench.begin(batch=(256, 256), enable=1)
    reads = bench.memory.reads = await bench.registers.read(CAPS) >> 8 & 0xFF
    host, card = bench.channels[0], bench.cards[0]
    warm = int(8 * latency * GHZ) + 500
    down, up = [], []
    frame = (bytes(range(256)) * (size // 256 + 1))[:size]

    async def count():
        while True:
            down.append(card.bytes)
            # Whole and part frames, as memory has them.
            up.append(bench.memory.slots_written * size / slots_of(size))
            if len(host.queue) < 100:
                host.send(*[frame] * 200)
            if len(card.queue) < 100:
                card.send(*[frame] * 200)
            await NEXT_CLOCK

    every_clock(dut, count())
    await clocks(dut, warm + int(10 * latency * GHZ) + 500)
    assert set(host.got) == set(card.got) == {frame}
    period = int(latency * GHZ) + 10
    rates = rate(down[warm:], period), rate(up[warm:], period)
    limits = limit(latency, size, reads), limit(latency, size, 0)
    dut._log.info(f"{reads} reads, {latency} ns, {size} bytes: down {rates[0]:.1f} of {limits[0]:.1f}, up {rates[1]:.1f} of "
                  f"{limits[1]:.1f} Gb/s; {bench.memory.most} reads at once, {bench.memory.beats_written / bench.memory.bursts_written:.1f} slots a write")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[f"{reads} {latency} {size}"] = [round(x, 1) for x in (*rates, *limits)]
    RESULTS.write_text(json.dumps(results))
    for is_, wanted in zip(rates, limits):
        assert is_ >= 0.95 * wanted, (point, is_, wanted)
        # More than a slot each clock would be a mistake of this bench; part of a burst counts at a window's border.
        assert is_ <= ceiling(size) * 1.002, (point, is_, ceiling(size))


@cocotb.test()
async def lone_frame(dut):
    """From the doorbell to the card, and from the card to the line that tells the host: memory's latencies and few clocks."""
    late = 100
    bench = Bench(dut, bits=((8, 8),) * 3, latency=late)
    await bench.begin()
    host, card, pins = bench.channels[0], bench.cards[0], bench.pins
    seen = {}

    async def watch():
        clock = 0
        while True:
            clock += 1
            if pins.s_axil_awvalid.value and pins.s_axil_awready.value:
                seen["bell"] = clock
            if pins.m0_valid.value:
                seen.setdefault("card", clock)
            if pins.s0_valid.value and pins.s0_last.value:
                seen["sent"] = clock
            if host.got:
                seen.setdefault("host", clock)
            await NEXT_CLOCK

    every_clock(dut, watch())
    for size in (60, 1518):
        seen.clear(), host.got.clear()
        host.send(bytes(size))
        await bench.until(lambda: "card" in seen)
        down = seen["card"] - seen["bell"] - late
        await clocks(dut, 300)
        card.send(bytes(size))
        await bench.until(lambda: host.got, every=1)
        up = seen["host"] - seen["sent"] - late
        dut._log.info(f"a lone frame of {size} bytes: down {down}, up {up} clocks beside memory's {late}")
        slots = slots_of(size)
        assert down <= 17 + slots and up <= 20 + slots, (size, down, up)
        await clocks(dut, 300)


@pytest.mark.parametrize("reads", [32, pytest.param(64, marks=pytest.mark.skipif(not LONG, reason="make test-long"))])
def test_link_speed(reads):
    # The model of 32 is that of the other tests.
    run(__file__, "link_tb", ["rtl/lib/lib.f", "rtl/link/link.f", "tb/link/link_tb.sv"],
        **{"Reads": reads} if reads != 32 else {})
