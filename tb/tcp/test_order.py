"""Segments that do not come in order: kept, acknowledged at once, told of when the hole is filled; as a
model of the byte stream says, whatever comes."""

import itertools
import random

import cocotb

from harness.models import run
from harness.size import scale
from tcp.peers import M32, RING, Hand, blocks, diff, setup, stream

SPANS = 4


async def calm(dut, bench):
    """All that was sent to the card is dealt with."""
    await bench.clocks(8)                     # what was sent just now is on its way
    still = 0

    def calm_for_some_clocks():
        nonlocal still  # between two stages nobody may be at work for a clock
        still = still + 1 if not bench.segs and not bench.apps and int(dut.idle_o.value) else 0
        return still == 16

    await bench.until(calm_for_some_clocks, 20_000, "calm")
    await bench.clocks(8)


async def quiet_setup(dut, **options):
    bench, net, session = await setup(dut, tick=0, **options)
    session.auto_close = False
    session.key = lambda conn: 0
    return bench, net, session


@cocotb.test()
async def four(dut):
    """All 24 orders of four segments: each segment is taken when it comes, and acknowledged at once
    unless it was in order with nothing behind it."""
    bench, net, session = await quiet_setup(dut)
    peer = await Hand(net, 1).open()
    (conn, c), = session.conns.items()
    early = 0
    for order in itertools.permutations(range(4)):
        lengths = [random.choice((1, 63, 64, 65, 1460, random.randint(1, 1460))) for _ in range(4)]
        starts = [c.received + sum(lengths[:i]) for i in range(4)]
        there = set()
        for i in order:
            peer.seen.clear()
            there.add(i)
            done = next(k for k in range(5) if k not in there)
            peer.send(stream(0, starts[i], lengths[i]), seq=starts[i])
            await calm(dut, bench)
            assert c.received == starts[0] + sum(lengths[:done]), (order, i)
            if i >= done:
                early += 1
            if i >= done or any(k > i for k in there):
                flags, seg, payload = await peer.flags()
                assert flags == "a" and seg["ack"] == (peer.seq + c.received) & M32
                assert len(peer.seen) == 0
        session.tell(conn, c)
    assert bench.counts["TcpCountDropped"] == bench.counts["TcpCountOooFull"] == 0
    assert bench.counts["TcpCountOooKept"] == early


@cocotb.test()
async def last_first(dut):
    """40 KB in 29 segments, the last one first: each is sent once."""
    bench, net, session = await quiet_setup(dut)
    peer = await Hand(net, 1).open()
    (conn, c), = session.conns.items()
    c.hold = True                             # what it reads would open the window, with more ACKs
    starts = range(0, 40_000, 1400)
    assert len(starts) == 29
    for start in reversed(starts):
        assert c.received == 0
        peer.send(stream(0, start, min(1400, 40_000 - start)), seq=start)
        await calm(dut, bench)
    assert c.received == 40_000
    assert len(peer.seen) == 29 and peer.seen[-1][0]["ack"] == (peer.seq + 40_000) & M32
    assert bench.counts["TcpCountOooKept"] == 28


class Model:
    """What a receiver of `spans` intervals has of a stream; places count from the first byte."""

    def __init__(self):
        self.nxt = self.credit = 0
        self.kept = []                       # (from, to), the one that changed last first
        self.full = 0

    def segment(self, at, n):
        room = self.credit + RING
        end = min(at + n, room)
        if at + n < self.nxt or not n:
            return
        touch = [(a, b) for a, b in self.kept if a <= end and b >= at]
        if at <= self.nxt:
            if end < self.nxt:
                return
            self.nxt = max(end, *(b for _, b in touch), end)
            self.kept = [s for s in self.kept if s not in touch]
        elif at < room:
            if not touch and len(self.kept) == SPANS:
                self.full += 1
                return
            whole = (min(at, *(a for a, _ in touch), at), max(end, *(b for _, b in touch), end))
            self.kept = [whole] + [s for s in self.kept if s not in touch]


def noisy(model, at, n):
    """A segment's bytes: wrong ones where the session knows them already, and beyond the window."""
    data = bytearray(stream(0, max(at, 0), n) if at >= 0 else bytes(-at) + stream(0, 0, max(n + at, 0)))[:n]
    for place in (*range(at, min(at + n, model.nxt)), *range(max(at, model.credit + RING), at + n)):
        data[place - at] ^= 0xFF
    return bytes(data)


@cocotb.test()
async def as_the_model(dut):
    """Random segments around the next byte and the window's end, overlapping, doubled, early, late,
    beyond: the bytes told, the ACK, its SACK blocks and the counters are the model's; no byte that was
    told changes."""
    bench, net, session = await quiet_setup(dut)
    full = 0
    for turn in range(scale(10, 100)):
        bench.stall = random.choice((0, 0.3))
        isn = random.choice((None, (1 << 32) - 50_000, (1 << 18) - 40_000))
        sack = random.choice((0, 1, 1))
        peer = await Hand(net, turn + 1, isn=isn, sack_ok=sack).open()
        assert peer.syn_ack["sack_ok"] == sack
        (conn, c), = session.conns.items()
        c.hold = True
        model, pieces = Model(), [(0, 100)]
        for step in range(250):
            # several at once, or one and a look at the answer
            some = random.choice((1, 1, 1, 5))
            peer.seen.clear()
            for _ in range(some):
                kind = random.random()
                if kind < 0.15:
                    at, n = random.choice(pieces)
                elif kind < 0.35:
                    at, n = model.nxt - random.choice((0, 0, 0, 1, 64, random.randrange(1500))), random.randint(1, 1460)
                elif kind < 0.45 and model.kept:
                    at = random.choice(random.choice(model.kept)) - random.choice((0, 0, 1, 300))
                    n = random.randint(1, 1460)
                elif kind < 0.55:
                    at, n = model.credit + RING - random.choice((0, 1, 500, 1460)), random.randint(1, 1460)
                elif kind < 0.6:
                    at, n = model.nxt - random.randrange(RING), random.randint(1, 1460)
                else:
                    at = model.nxt + random.choice((1, 100, 1460, random.randrange(8000), random.randrange(RING)))
                    n = random.choice((1, 64, random.randint(1, 1460), 1460))
                pieces = [(at, n), *pieces[:30]]
                peer.send(noisy(model, at, n), seq=at)
                model.segment(at, n)
            await calm(dut, bench)
            assert c.received == model.nxt, (step, pieces[:some], model.kept)
            assert bench.counts["TcpCountOooFull"] == full + model.full
            acks = [diff(seg["ack"], peer.seq) for seg, _ in peer.seen]
            assert not acks or acks[-1] <= model.nxt
            if some == 1 and (at > model.nxt or model.kept):
                assert acks == [model.nxt], "an answer at once"
                kept = [tuple((peer.seq + place) % (1 << 18) for place in span) for span in model.kept]
                assert blocks(peer.seen[-1][0]) == (kept if sack else [])
            check_ring(bench, conn, c, model)
            if random.random() < 0.3:
                model.credit += random.randint(0, model.nxt - model.credit)
                c.rx_read = (c.rx_first + model.credit) & M32
                session.tell(conn, c)
                await calm(dut, bench)
        dut._log.info(f"{model.nxt} bytes, " + " ".join(f"{k[8:]} {v}" for k, v in bench.counts.items() if v))
        assert bench.counts["TcpCountOooKept"] > 20 * (turn + 1)
        full += model.full
        peer.send(rst=1, seq=model.nxt)
        await calm(dut, bench)
        assert not session.conns


@cocotb.test()
async def windows_out_of_order(dut):
    """The window that counts is that of the last byte that came, not of the last segment (RFC 9293,
    SND.WL1): what fills a hole neither shuts nor opens it."""
    bench, net, session = await quiet_setup(dut)
    for i, (first, second) in enumerate(((0, 60_000), (60_000, 0))):
        peer = await Hand(net, i + 1).open()
        (conn, c), = session.conns.items()
        c.key = 0
        peer.send(stream(0, 10, 10), seq=10, wnd=second)
        peer.send(stream(0, 0, 10), wnd=first)
        await calm(dut, bench)
        assert c.received == 20
        peer.seen.clear()
        session.put(conn, c, 5000)
        session.tell(conn, c)
        await calm(dut, bench)
        assert sum(len(p) for _, p in peer.seen) == (5000 if second else 0)
        peer.send(wnd=60_000, seq=20)
        await calm(dut, bench)
        assert sum(len(p) for _, p in peer.seen) == 5000
        peer.send(rst=1, seq=20)
        await calm(dut, bench)
        assert not session.conns


def check_ring(bench, conn, c, model):
    """What was told and is not read yet is what was sent."""
    ring = bench.ring(bench.rx_ring, conn)
    at, n = c.rx_read % RING, model.nxt - model.credit
    assert (ring + ring)[at : at + n] == stream(0, model.credit, n), "bytes changed after they were told"


@cocotb.test()
async def wrong_first(dut):
    """What was kept is no more than a promise: until the session is told, later bytes replace it."""
    bench, net, session = await quiet_setup(dut)
    peer = await Hand(net, 1).open()
    (conn, c), = session.conns.items()
    peer.send(b"?" * 300, seq=200)
    await calm(dut, bench)
    peer.send(stream(0, 0, 500))
    await calm(dut, bench)
    assert c.received == 500


@cocotb.test()
async def early_fin(dut):
    """The data before an early FIN are kept, the FIN is not: it ends nothing until it comes again. Nor
    does one in front of bytes that were kept."""
    bench, net, session = await quiet_setup(dut)
    peer = await Hand(net, 1).open()
    (conn, c), = session.conns.items()
    peer.send(stream(0, 100, 50), seq=100, fin=1)
    peer.send(seq=150, fin=1)
    peer.send(stream(0, 0, 120), fin=1)
    await calm(dut, bench)
    assert c.received == 150 and not c.fin
    peer.seen.clear()
    peer.send(seq=150, fin=1)
    await calm(dut, bench)
    assert c.fin and peer.seen[-1][0]["ack"] == (peer.seq + 151) & M32


@cocotb.test()
async def next_life(dut):
    """What one connection had kept is not there for the next one with its id."""
    bench, net, session = await quiet_setup(dut, time_wait=1)
    seen = set()
    for turn in range(40):
        peer = await Hand(net, turn + 1).open()
        (conn, c), = session.conns.items()
        again = conn in seen
        seen.add(conn)
        if again:
            peer.send(stream(0, 0, 100))
            await calm(dut, bench)
            assert c.received == 100
        for start in (200, 400, 600, 800):
            peer.send(stream(0, start, 100), seq=start)
        await calm(dut, bench)
        assert c.received == 100 * again and bench.counts["TcpCountOooFull"] == 0
        if turn >= 30:
            return
        peer.send(rst=1, seq=c.received)
        bench.tick = 5
        await bench.until(lambda: not session.conns)
        await bench.clocks(200)
        bench.tick = 0
    raise AssertionError("no id was used again")


@cocotb.test()
async def window(dut):
    """Kept bytes take no room from the window; when the hole is filled they do, all at once."""
    bench, net, session = await quiet_setup(dut)
    peer = await Hand(net, 1, ws_valid=1, ws=0).open()
    (conn, c), = session.conns.items()
    c.hold = True
    for start in range(1000, 51_000, 1000):
        peer.send(stream(0, start, 1000), seq=start)
        seg, _ = await peer.answer()
        assert seg["wnd"] << 7 == RING and seg["ack"] == peer.seq
    peer.send(stream(0, 0, 1000))
    seg, _ = await peer.answer()
    assert seg["ack"] == (peer.seq + 51_000) & M32 and seg["wnd"] << 7 == (RING - 51_000) & ~127


@cocotb.test()
async def sack_and_data(dut):
    """An ACK with a SACK option carries no data; what is to be sent comes right behind it."""
    bench, net, session = await quiet_setup(dut)
    for sack in (1, 0):
        peer = await Hand(net, 1 + sack, sack_ok=sack).open()
        conn, c = next((conn, c) for conn, c in session.conns.items() if not c.sent)
        bench.tx_stop = True                  # so that both are there at once
        peer.send(stream(0, 100, 10), seq=100)
        session.put(conn, c, 300)
        session.tell(conn, c)
        await bench.clocks(200)
        bench.tx_stop = False
        await calm(dut, bench)
        peer.seen.clear()
        peer.took(300)
        session.put(conn, c, 20_000)          # more than the window of the first round trip
        session.tell(conn, c)
        await calm(dut, bench)
        first = sum(len(p) for _, p in peer.seen)
        peer.seen.clear()
        peer.took(first)
        peer.send(stream(0, 300, 10), seq=300)
        await calm(dut, bench)
        assert [len(blocks(seg)) for seg, _ in peer.seen][:2] == [2 * sack, 0]
        assert bool(peer.seen[0][1]) != bool(sack) and peer.seen[1][1]
        assert first + sum(len(p) for _, p in peer.seen) == 20_000


def test_order():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
