"""Timestamps (RFC 7323): who gets them, what they say, segments that are too old by them (PAWS), and round trips
measured with them, of what was sent again, too."""

import random

import cocotb

from harness.models import run
from tcp.peers import M32, Hand, Peer, blocks, connect, diff, setup, stream, times_option
from tcp.rto import GRAIN, SLACK, TICK, Model

MSS = 1448


class Flow:
    """A connection with timestamps. The peer's clock stands still, unless the test says otherwise."""

    async def open(self, dut, clock=None, ours=0, bench={}, **options):
        self.bench, self.net, self.session = await setup(dut, tick=TICK, latency=(1, 3), **bench)
        self.session.auto_close = False
        clock = random.getrandbits(32) if clock is None else clock
        self.peer = await Hand(self.net, 1, clock=clock, ours=ours, **options).open()
        (self.conn, self.c), = self.session.conns.items()
        return self

    def put(self, n):
        self.session.put(self.conn, self.c, n)
        self.session.tell(self.conn, self.c)

    async def say(self, n=1):
        """The card sends a segment: its TSval."""
        at = self.c.sent
        self.put(n)
        seg, payload = await self.peer.answer()
        assert payload == stream(self.c.key + 1, at, n)
        return seg["times"]["value"]

    async def ms(self, n):
        await self.bench.clocks(n * TICK)

    async def acked(self):
        await self.bench.until(lambda: self.c.tx_acked == self.c.tx_ptr)

    async def give(self, n, at=0, **options):
        """Data of the peer, `at` bytes behind what is in order."""
        self.peer.send(stream(self.c.key, diff(self.peer.seq, self.c.rx_first) + at, n), seq=at, **options)
        await self.bench.clocks(100)


@cocotb.test()
@cocotb.parametrize(ours=[0, 2], clock=[None, 0, 1, 0xFFFFFFFF])
async def agreed(dut, ours, clock):
    """Whose SYN has timestamps gets them, in every segment; nobody else does. They take 12 bytes of each."""
    bench, net, session = await setup(dut, tick=TICK, latency=(1, 3))
    session.auto_close = False
    peer = await Hand(net, 1, clock=clock, ours=ours, sack_ok=1, mss=1500 - 40 - 20 * (ours > 0)).open()
    times = peer.syn_ack["times"]
    assert times["valid"] == (clock is not None)
    # Our clock begins where nobody else knows.
    assert clock is None or (times["echo"], times["value"]) == (clock, peer.syn_ack["seq"])
    (conn, c), = session.conns.items()
    session.put(conn, c, 4000)
    session.tell(conn, c)
    mss, now = 1460 - 20 * (ours > 0) - 12 * (clock is not None), peer.syn_ack["times"]["value"]
    for n in (mss, mss, 4000 - 2 * mss):
        seg, payload = await peer.answer()
        assert len(payload) == n and seg["times"]["valid"] == (clock is not None)
        assert clock is None or (seg["times"]["echo"] == clock and 0 <= diff(seg["times"]["value"], now) <= 100)
    # It goes on with the ticks, one a millisecond.
    for _ in range(3):
        before, clocks = seg["times"]["value"], bench.clock
        await bench.clocks(random.randrange(100) * TICK)
        peer.send(b"x", seq=1)          # a hole, answered at once
        seg, _ = await peer.answer()
        assert blocks(seg) and (clock is None or abs(
            diff(seg["times"]["value"], before) - (bench.clock - clocks) // TICK) <= SLACK)
    # A RST has them as well.
    session.tell(conn, c, reset=1)
    seg, _ = await peer.answer()
    assert seg["flags"]["rst"] and seg["times"]["valid"] == (clock is not None)


@cocotb.test()
async def offsets(dut):
    """Clocks of two connections tell nothing of each other, nor of the time since the start."""
    bench, net, session = await setup(dut, tick=TICK)
    values = []
    for i in range(30):
        peer = await Hand(net, i // 10 + 1, port=2000 + i, clock=i).open()
        values.append((peer.syn_ack["times"]["value"] - bench.clock // TICK) & M32)
        peer.send(rst=1)
        await bench.clocks(60)
    assert all(abs(diff(a, b)) > 1000 for i, a in enumerate(values) for b in values[:i]), values


@cocotb.test()
async def with_payload(dut):
    """Data behind options of every length arrive as those without, in order or not, new or in part."""
    flow = await Flow().open(dut, sack_ok=1)
    flow.session.auto_close = True
    peer, c = flow.peer, flow.c
    for i in range(150):
        n = random.choice((1, 3, 24, 51, 52, 53, 63, 64, 65, 116, 117, 180, 1000, MSS))
        options = random.choice((b"", b"", b"\1" * 4 * random.randrange(8), b"\1\1\5\x0a" + random.randbytes(8)))
        stamp = i % 5 > 0
        flow.peer.clock = (peer.clock + random.randrange(3)) & M32
        if i % 3 == 0:                      # the end first, then all, some of it known already
            await flow.give(n, n, options=options, stamp=stamp)
            await flow.give(2 * n, options=options)
            await flow.give(2 * n + 5, options=options, stamp=not stamp)
            n = 2 * n + 5
        else:
            await flow.give(n, options=options, stamp=stamp)
        peer.gave(n)
        await flow.bench.until(lambda: c.rx_have == peer.seq, 4000, f"{n} bytes")
        peer.seen.clear()


@cocotb.test()
async def echoed(dut):
    """What is echoed is of the segment that made RCV.NXT what was last acknowledged, or of the one that fills a
    hole (RFC 7323, section 4.3)."""
    flow = await Flow().open(dut, clock=0xFFFFFFF0)
    peer = flow.peer

    async def answer():
        seg, _ = await peer.answer(60 * TICK)
        return seg["ack"], seg["times"]["echo"]

    # of two segments, which get one ACK, the first one's
    peer.seen.clear()
    peer.clock = 0xFFFFFFF8
    await flow.give(100)
    peer.gave(100)
    peer.clock = 7
    await flow.give(100)
    peer.gave(100)
    assert await answer() == (peer.seq, 0xFFFFFFF8)
    # behind a hole: the last one's that left none
    peer.clock = 8
    await flow.give(100, 100)
    assert await answer() == (peer.seq, 0xFFFFFFF8)
    peer.clock = 9
    await flow.give(100, 200)
    assert await answer() == (peer.seq, 0xFFFFFFF8)
    # the one that fills it
    peer.clock = 10
    await flow.give(100)
    peer.gave(300)
    assert await answer() == (peer.seq, 10)
    # a bare ACK
    peer.clock = 11
    await flow.say()
    peer.took(1)
    peer.send()
    await flow.acked()
    flow.put(1)
    seg, _ = await peer.answer()
    assert seg["times"]["echo"] == 11


@cocotb.test()
@cocotb.parametrize(clock=[0x10, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF])
async def old(dut, clock):
    """What is older than what came is dropped: data are acknowledged, not taken; an ACK means nothing. A RST ends
    the connection all the same. Clocks wrap."""
    flow = await Flow().open(dut, clock=(clock - 5) & M32)
    peer, c = flow.peer, flow.c
    await flow.ms(60)
    peer.seen.clear()
    peer.clock = clock
    await flow.give(10)
    peer.gave(10)
    await peer.answer(60 * TICK)
    count = 0
    for age in (1, 2, 5, 1000, (1 << 31) - 1, 1 << 31):
        begin = flow.bench.clock
        await flow.give(10, value=clock - age)
        seg, _ = await peer.answer(100)
        assert seg["ack"] == peer.seq and seg["times"]["echo"] == clock and flow.bench.clock - begin < 10 * TICK
        count += 1
    assert c.rx_have == peer.seq
    # an ACK
    await flow.say(100)
    peer.took(100)
    peer.send(value=clock - 1)
    await flow.bench.clocks(200)
    assert c.tx_acked != c.tx_ptr and not peer.seen
    assert flow.bench.counts["TcpCountPaws"] == count + 1
    peer.send()
    await flow.acked()
    # as old, newer, and without any
    for value in (clock, clock + 1, clock + 1 + (1 << 31) - 1):
        await flow.give(10, value=value)
        peer.gave(10)
        seg, _ = await peer.answer(60 * TICK)
        assert seg["ack"] == peer.seq == c.rx_have and seg["times"]["echo"] == value & M32
    peer.clock = value
    await flow.give(10, stamp=False)
    peer.gave(10)
    await flow.bench.until(lambda: c.rx_have == peer.seq)
    assert flow.bench.counts["TcpCountPaws"] == count + 1
    peer.send(rst=1, value=value - 1)
    await flow.bench.until(lambda: not flow.session.conns)


@cocotb.test()
async def silent_for_long(dut):
    """What was heard 18 hours ago makes nothing old."""
    flow = await Flow().open(dut, clock=1000)
    table = dut.u_tcb.u_table.u_silence.mem_q[flow.conn]
    peer, c = flow.peer, flow.c
    for heard, taken in ((0xFEFF, False), (0xFF00, True)):
        await flow.ms(60)
        word = int(table.value)
        top = len(table) - 16               # `heard` is the first field
        then = int(dut.second.value) - heard & 0xFFFF
        table.value = word & ~(0xFFFF << top) | then << top
        await flow.give(10, value=500)
        assert (c.rx_have != peer.seq) == taken
        if taken:
            peer.gave(10)
            peer.clock = 500
            await flow.give(10)
            assert c.rx_have == peer.seq + 10 & M32


@cocotb.test()
@cocotb.parametrize(front=[b"\1\1", b""])
async def measured(dut, front):
    """What was sent again is measured by what its ACK echoes; the backoff ends at once. Timestamps may stand behind
    two NOPs, or alone."""
    flow, model = await Flow().open(dut), Model()
    peer = flow.peer

    async def ack(echo):
        peer.took(1)
        peer.send(stamp=False, options=times_option(peer.clock, echo, front))
        await flow.acked()

    async def silent_for(rto):
        begin = flow.bench.clock
        await flow.bench.until(lambda: peer.seen, int(2 * rto + 400) * TICK, "a timeout")
        took = (flow.bench.clock - begin) / TICK
        assert rto - SLACK <= took <= rto + GRAIN + 2 * SLACK, (took, vars(model))
        return peer.seen.pop()[0]["times"]["value"]

    for rtt in (200, 300, 250):
        value = await flow.say()
        await flow.ms(rtt)
        await ack(value)
        model.sample(rtt)
    for again in (True, False, True):
        first = await flow.say()
        for _ in range(2):
            value = await silent_for(model.rto)
            model.backoff()
            assert diff(value, first) > 0
        await flow.ms(50)
        since = first if not again else value
        sent = diff(value, first)
        await ack(since)                    # the last one arrived, or the first one, late
        model.sample(50 + (0 if again else sent))
    # which also holds of the next timeout
    await flow.say()
    await silent_for(model.rto)


@cocotb.test()
async def merged_and_missing(dut):
    """An ACK without timestamps measures nothing; the next one that has them does."""
    flow = await Flow().open(dut)
    value = await flow.say()
    await flow.ms(500)
    flow.peer.took(1)
    flow.peer.send(stamp=False)
    await flow.acked()
    await flow.say()
    await flow.ms(10)
    flow.peer.took(1)
    flow.peer.send(echo=value)              # half a second, and some
    await flow.acked()
    await flow.say()
    begin = flow.bench.clock
    await flow.bench.until(lambda: flow.peer.seen, 3000 * TICK)
    assert 1490 <= (flow.bench.clock - begin) / TICK <= 1620      # 510 + 4 * 255


@cocotb.test()
async def narrow_path(dut):
    """Packets, and not payloads, are what a path takes: a router's word, and black holes."""
    flow = await Flow().open(dut)
    peer = flow.peer
    peer.echo = await flow.say()
    peer.took(1)
    peer.send()
    await flow.acked()

    async def sizes():
        await flow.bench.clocks(600)
        found = [len(payload) for _, payload in peer.seen]
        narrow = [seg["narrow"] for seg, _ in peer.seen]
        peer.seen.clear()
        return found, narrow

    flow.put(3 * MSS)
    assert (await sizes())[0] == [MSS] * 3
    for fits in (1460, 1472):               # as large as ours, and larger
        flow.net.to_card({"too_big": 1, "peer": peer.addr, "ack": peer.ack, "mss": fits}, b"")
        assert (await sizes())[0] == []
    flow.net.to_card({"too_big": 1, "peer": peer.addr, "ack": peer.ack, "mss": 1459}, b"")
    assert (await sizes())[0] == [1447] * 3 + [3]
    for want, narrow in ((1447, 0), (1447, 0), (1012, 0), (500, 1)):
        await flow.bench.until(lambda: peer.seen, 30_000 * TICK)
        assert await sizes() == ([want], [narrow])
    assert flow.bench.counts["TcpCountBlackHoles"] == 2 and flow.bench.counts["TcpCountPathMtu"] == 1


@cocotb.test()
async def three_blocks(dut):
    """Beside timestamps a SACK option holds three blocks, the last ones that changed."""
    flow = await Flow().open(dut, sack_ok=1)
    peer = flow.peer
    for i in range(1, 5):
        await flow.give(10, 20 * i)
        seg, _ = await peer.answer()
        want = [(peer.seq + 20 * k, peer.seq + 20 * k + 10) for k in range(i, max(i - 3, 0), -1)]
        assert blocks(seg) == [(a & 0x3FFFF, b & 0x3FFFF) for a, b in want]


@cocotb.test()
async def no_place(dut):
    """Who is refused after a handshake with timestamps is told so with them."""
    bench, net, session = await setup(dut, tick=TICK, limit=1)
    await Hand(net, 1).open()
    for clock in (None, 77):
        late = Hand(net, 2, port=2000 + (clock or 0), clock=clock)
        late.send(syn=1)
        seg, _ = await late.answer()
        late.seq, late.ack, late.echo = (late.isn + 1) & M32, (seg["seq"] + 1) & M32, seg["times"]["value"]
        late.send()
        seg, payload = await late.answer()
        assert payload.startswith(b"ERROR") and seg["flags"]["fin"]
        assert seg["times"]["valid"] == (clock is not None)
        assert clock is None or (seg["times"]["echo"] == 77 and diff(seg["times"]["value"], late.echo) >= 0)


@cocotb.test()
@cocotb.parametrize(damage=[{}, {"drop": 0.05}, {"late": 0.1, "dup": 0.1}])
async def downloads(dut, damage):
    """Every byte arrives, in both directions, over networks that lose and reorder."""
    bench, net, session = await setup(dut, tick=4, net=damage, stall=random.choice((0, 0.2)))
    peers = []
    for i in range(6):
        total, expect = random.randrange(1, 30_000), random.randrange(30_000)
        peer = Peer(net, i, 2 * i, total, expect, mss=random.choice((200, 536, 1460)), ws=random.choice((None, 7)),
                    times=i % 3 > 0, ours=i % 2)
        peers.append(peer)
        await connect(bench, session, i, peer)
    for peer in peers:
        peer.may_close = True
    await bench.until(lambda: all(p.finished for p in peers), 900_000, "the end", every=50)
    if damage.get("late"):
        assert bench.counts["TcpCountPaws"]
    else:
        assert not bench.counts["TcpCountPaws"]


def test_times():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
