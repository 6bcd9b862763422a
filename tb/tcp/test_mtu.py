"""Path MTU: what routers say of segments that are too big (RFC 1191), who is believed (RFC 5927), and
what is done where no router says anything."""

import random

import cocotb

from harness.models import run
from tcp.peers import M32, RING, Hand, Net, Peer, setup, stream

MSS = 1460
TICK = 60
FIRST = 14600              # what may be in flight at first
ROUTER = {"mac": 0x02000000FEED, "vlan_valid": 1, "vlan_tci": 99}


class Flow:
    """A connection with data in flight."""

    async def open(self, dut, data=FIRST, mss=MSS, ours=0):
        self.bench, self.net, self.session = await setup(dut, tick=TICK, latency=(1, 3))
        self.session.auto_close = False
        self.peer = await Hand(self.net, 1, mss=mss, ours=ours).open()
        (self.conn, self.c), = self.session.conns.items()
        self.first = self.peer.ack
        # A round trip is measured, or timeouts take long.
        await self.say(1, mss)
        self.took(1)
        await self.bench.until(lambda: self.c.tx_acked == self.c.tx_ptr)
        self.first += 1
        if data:
            await self.say(data, mss)
        return self

    async def say(self, n, mss):
        """The card sends so much, in segments of that size."""
        at = (self.c.tx_ptr - self.first) & M32
        self.put(n)
        await self.sends(at, n, mss)

    def put(self, n):
        self.session.put(self.conn, self.c, n)
        self.session.tell(self.conn, self.c)

    async def came(self):
        """The segments that come, until there are no more: place, bytes, FIN."""
        await self.bench.clocks(150)
        await self.peer.quiet()
        out = []
        for seg, payload in self.peer.seen:
            at = (seg["seq"] - self.first) & M32
            assert payload == stream(self.c.key + 1, (seg["seq"] - self.peer.syn_ack["seq"] - 1) & M32, len(payload))
            out.append((at, len(payload), seg["flags"]["fin"]))
        self.peer.seen.clear()
        return out

    async def sends(self, at, n, mss, fin=0):
        """The card sends these bytes, and nothing else, in segments of that size."""
        want = [(at + i, min(mss, n - i), 0) for i in range(0, n, mss)]
        if fin:
            want[-1] = (*want[-1][:2], 1)
        got = await self.came()
        assert got == want, (got, want)

    def took(self, n):
        self.peer.took(n)
        self.peer.send()

    def router(self, mss, seq=0, to={}):
        """A router says that the segment `seq` bytes behind what is acknowledged is too big."""
        ack = (self.first + ((self.peer.ack - self.first) & M32) + seq) & M32
        self.net.to_card({"too_big": 1, "peer": self.peer.addr | ROUTER | to, "ack": ack, "mss": mss, "seq":
                          random.getrandbits(32), "wnd": random.getrandbits(16)}, b"")

    def counted(self, lowered=0, strays=0, holes=0, timeouts=0, fast=0):
        names = ("PathMtu", "PathMtuStrays", "BlackHoles", "Timeouts", "FastRexmits")
        got = tuple(self.bench.counts[f"TcpCount{name}"] for name in names)
        assert got == (lowered, strays, holes, timeouts, fast), got


@cocotb.test()
@cocotb.parametrize(place=[0, 1, MSS, FIRST - 1])
async def live(dut, place):
    """What is in flight comes again at once in smaller segments, as much as before: no congestion. What
    follows is small, too."""
    flow = await Flow().open(dut)
    flow.router(560, place)
    await flow.sends(0, FIRST, 560)
    flow.counted(1)
    # the other segments in flight were too big as well
    for again in range(0, FIRST, MSS):
        flow.router(560, again)
    assert await flow.came() == []
    flow.took(FIRST)
    await flow.bench.until(lambda: flow.c.tx_acked == flow.c.tx_ptr)
    # slow start has gone on, by two of the new segments
    flow.put(40_000)
    await flow.sends(FIRST, (FIRST + 2 * 560) // 560 * 560, 560)
    # a second router with less room
    flow.router(512, 560)
    await flow.sends(FIRST, (FIRST + 2 * 560) // 512 * 512, 512)
    flow.counted(2)
    # the answers go to the peer, or the bench complains
    assert flow.bench.counts["TcpCountMoved"] == 0


@cocotb.test()
async def forged(dut):
    """Who knows no number in flight changes nothing, and makes the card send nothing."""
    flow = await Flow().open(dut)
    other = await Hand(flow.net, 2).open()
    other.seen.clear()
    strays = 0
    for seq in (-1, -FIRST, FIRST, FIRST + 1, RING, 1 << 17, 1 << 18, 1 << 31, -(1 << 17), random.getrandbits(31) + RING):
        flow.router(512, seq)
        strays += 1
    for to in ({"ip": 0x0A000002}, {"port": 1026}, {"port": 0}, {"ip": 0x0A000002, "port": 1026}, {"ip": 0},
               {"redis": 0}):
        for seq in (0, MSS):
            flow.router(512, seq, to)
            strays += 1
    assert await flow.came() == [] and not other.seen and not flow.net.strays
    flow.counted(strays=strays)
    flow.took(FIRST)
    await flow.bench.until(lambda: flow.c.tx_acked == flow.c.tx_ptr)
    # nothing is in flight
    flow.router(512, 0)
    flow.router(512, -MSS)
    assert await flow.came() == []
    await flow.say(MSS, MSS)
    flow.counted(strays=strays + 2)
    # over
    flow.peer.took(MSS)
    flow.peer.send(rst=1)
    await flow.bench.until(lambda: flow.conn not in flow.session.conns)
    flow.router(512, -MSS)
    flow.router(512, 0)
    assert await flow.came() == []
    flow.counted(strays=strays + 4)
    assert len(flow.session.conns) == 1


@cocotb.test()
@cocotb.parametrize(mss=[MSS, 536, 64])
async def never_larger(dut, mss):
    """A path that takes as much or more changes nothing, and is no forgery."""
    flow = await Flow().open(dut, 10 * mss, mss)
    for size in (mss, mss + 1, 8960, 65495):
        flow.router(size, mss)
    assert await flow.came() == []
    flow.took(10 * mss)
    await flow.say(4 * mss, mss)
    flow.counted()


@cocotb.test()
async def in_recovery(dut):
    """It ends fast recovery, and its window; duplicate ACKs of what goes again are no new loss."""
    flow = await Flow().open(dut, 0)
    flow.put(60_000)
    await flow.sends(0, FIRST, MSS)
    for _ in range(3):
        flow.peer.send()
    got = await flow.came()
    assert got == [(FIRST, MSS, 0), (FIRST + MSS, MSS, 0), (0, MSS, 0)], got
    flow.router(560, MSS)
    half = FIRST // 2 // 560 * 560
    await flow.sends(0, half, 560)
    for _ in range(6):
        flow.peer.send()
    assert await flow.came() == []
    flow.took(half)
    await flow.sends(half, half, 560)
    flow.took(half)
    await flow.sends(2 * half, half + 560, 560)     # congestion avoidance
    flow.counted(1, fast=1)


@cocotb.test()
@cocotb.parametrize(place=[0, 4000])
async def at_the_end(dut, place):
    """With a FIN in flight: it goes again with the last bytes. It may be what is quoted."""
    flow = await Flow().open(dut, 0)
    flow.session.put(flow.conn, flow.c, 4000)
    flow.c.closing = True
    flow.session.tell(flow.conn, flow.c)
    await flow.sends(0, 4000, MSS, fin=1)
    flow.router(1000, place)
    await flow.sends(0, 4000, 1000, fin=1)
    flow.router(600, place + 1)
    if place:
        assert await flow.came() == []
    else:
        await flow.sends(0, 4000, 600, fin=1)
    flow.counted(1 + (place == 0), strays=int(place != 0))
    flow.took(4001)
    flow.peer.send(fin=1)
    flow.peer.gave(1)
    await flow.bench.until(lambda: not flow.session.conns)


@cocotb.test()
async def shut_window(dut):
    """With the window shut nothing goes; when it opens, small segments do."""
    flow = await Flow().open(dut)
    flow.peer.send(wnd=0)
    await flow.came()
    flow.router(560, MSS)
    assert await flow.came() == []
    flow.peer.send()
    await flow.sends(0, FIRST, 560)
    flow.counted(1)


@cocotb.test()
async def no_room(dut):
    """It waits for nobody: where the way out is full, what is to go again goes later."""
    flow = await Flow().open(dut)
    for i in range(4):
        await Hand(flow.net, 2 + i).open()
    flow.bench.tx_stop = True
    for conn, c in list(flow.session.conns.items())[1:]:
        flow.session.put(conn, c, FIRST)
        flow.session.tell(conn, c)
    await flow.bench.clocks(500)
    flow.router(560, MSS)
    await flow.bench.until(lambda: flow.bench.counts["TcpCountPathMtu"], 100)
    flow.bench.tx_stop = False
    await flow.bench.until(lambda: flow.peer.seen, 5000)
    await flow.sends(0, FIRST, 560)
    flow.counted(1)


@cocotb.test()
@cocotb.parametrize(case=[
    (FIRST, 1460, (1460, 1460, 1024, 512, 512), 2, 0), (5360, 536, (536, 536, 536, 512), 1, 0),
    (1025, 1460, (1025, 1025, 1024, 512), 2, 0), (1024, 1460, (1024, 1024, 1024, 512), 1, 0),
    (513, 1460, (513, 513, 513, 512), 1, 0), (512, 1460, (512,) * 4, 0, 0), (640, 64, (64,) * 4, 0, 0),
    (10_080, 1440, (1440, 1440, 1220, 1220, 1220), 1, 2), (8540, 1220, (1220,) * 4, 0, 1),
    (1221, 1440, (1221, 1221, 1220, 1220), 1, 3)])
async def black_hole(dut, case):
    """Segments that vanish become smaller at the third timeout in a row, and at the fourth; and stay
    so. Smaller ones do not: it is not their size. Over IPv6 every path takes 1,220 bytes."""
    data, mss, sizes, holes, ours = case
    flow = await Flow().open(dut, data, mss, ours)
    flow.bench.tick = 2
    for i, size in enumerate(sizes):
        await flow.bench.until(lambda: flow.peer.seen, 300_000)
        got = [(s["seq"], len(p)) for s, p in flow.peer.seen]
        assert got == [(flow.first, size)], (i, size, got)
        flow.peer.seen.clear()
    flow.counted(holes=holes, timeouts=len(sizes))
    flow.bench.tick = TICK
    flow.took(data)
    await flow.bench.until(lambda: flow.c.tx_acked == flow.c.tx_ptr)
    now = sizes[-1] if holes else mss
    flow.put(20_000)
    got = await flow.came()
    assert got and {n for _, n, _ in got} == {now}, (sizes, got)


@cocotb.test()
async def no_black_hole(dut):
    """Timeouts with progress between them say nothing of the size."""
    flow = await Flow().open(dut, 2 * MSS)
    for _ in range(3):
        flow.bench.tick = 2
        for _ in range(2):
            await flow.bench.until(lambda: flow.peer.seen, 300_000)
            (seg, payload), = flow.peer.seen
            assert len(payload) == MSS
            flow.peer.seen.clear()
        flow.bench.tick = TICK
        flow.took(MSS)
        await flow.came()
        flow.put(MSS)
        await flow.came()
    flow.counted(timeouts=6)


class Narrow(Net):
    """A path that takes payloads of at most `fits` bytes, and whose router tells, or does not; and
    somebody who forges what routers say."""

    fits, tells, forges = MSS, True, False

    def from_card(self, seg, payload):
        if len(payload) > self.fits:
            self.lost += 1
            if self.tells and random.random() < 0.7:
                self.to_card({"too_big": 1, "peer": seg["peer"] | ROUTER, "ack": seg["seq"], "mss": self.fits}, b"")
            return
        super().from_card(seg, payload)
        if self.forges and random.random() < 0.2:
            self.to_card({"too_big": 1, "peer": seg["peer"] | ROUTER, "mss": random.randrange(512, 560),
                          "ack": (seg["seq"] + random.choice((-1, 1)) * random.randrange(1 << 18, 1 << 31)) & M32}, b"")


@cocotb.test()
@cocotb.parametrize(path=[(True, 0, 0.1), (True, 0.02, 0), (False, 0, 0)])
async def downloads(dut, path):
    """Everything arrives over paths that become narrow meanwhile, with and without routers that tell,
    loss, disorder and forgeries."""
    (tells, drop, stall), total = path, 80_000
    bench, net, session = await setup(dut, tick=4, stall=stall, session={
        "key": lambda conn: 2 * conn, "on_open": lambda c: setattr(c, "want", total)})
    net = Narrow(bench)
    net.tells, net.forges, net.lost = tells, True, 0
    peers = []
    for i in range(2):
        peers.append(Peer(net, i, 2 * i, expect=total))
        peers[-1].open()
        await bench.until(lambda: len(session.conns) == i + 1, 50_000)
    # Only now: who has nothing to send is not told that the third ACK of his handshake was lost.
    net.drop = net.dup = net.late = drop
    for fits in (1300, 900, 600, 512):
        before = [p.received if p.rcv_nxt else 0 for p in peers]
        await bench.until(lambda: all(p.rcv_nxt and p.received >= min(total, b + 5000)
                                      for p, b in zip(peers, before)), 2_000_000, every=50)
        net.fits = fits
    await bench.until(lambda: all(p.finished for p in peers), 4_000_000, "the end", every=100)
    counts = bench.counts
    assert net.lost and counts["TcpCountPathMtuStrays"]
    if tells:
        assert counts["TcpCountPathMtu"] >= 2
    else:
        assert not counts["TcpCountPathMtu"] and counts["TcpCountBlackHoles"] >= 2


def test_mtu():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
