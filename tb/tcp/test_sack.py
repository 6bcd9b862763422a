"""What tcp sends when its peer tells by SACK options (RFC 2018) what it has, segment for segment,
against a model of RFC 6675; what of such options it does not believe."""

import random

import cocotb

from harness.models import run
from tcp.congestion import MSS, Flow as Plain, Model as PlainModel
from tcp.peers import M32, RING, Hand, Net, sack_option, setup, stream


class Model(PlainModel):
    """The sender with a scoreboard: `told` are the places of the segments that the peer has."""

    def __init__(self):
        super().__init__()
        self.told, self.next, self.mark, self.score = set(), 0, 0, False

    def _send(self, more=0):
        if self.recovers and self.score:
            return self._fill()
        out = []
        while True:
            while self.nxt in self.told:
                self.nxt += MSS
            pipe = MSS * sum(at not in self.told for at in range(self.una, self.nxt, MSS))
            if pipe + MSS > self.cwnd + (0 if self.told else more) or self.nxt + MSS - self.una > RING:
                break
            out.append(self.nxt)
            self.nxt += MSS
            self.top = max(self.top, self.nxt)
        return out

    def _fill(self):
        """Of a recovery: what is lost, then new segments, then what may be late."""
        out = []
        while True:
            end = max(self.told) + MSS if self.told else self.una
            first = self.next <= self.una
            at = max(self.next, self.una)
            while at in self.told:
                at += MSS
            pipe = self.top - end + MSS * sum(x not in self.told for x in range(self.una, at, MSS))
            new = self.nxt + MSS - self.una <= RING
            if pipe + MSS <= self.cwnd and at < end and (first or at + 3 * MSS < end or not new):
                out.append(at)
                self.next, self.mark = at + MSS, self.top
            elif not first and self.told and end > self.mark:
                self.next = self.una
            elif pipe + MSS <= self.cwnd and new:
                out.append(self.nxt)
                self.nxt += MSS
                self.top = self.nxt
            else:
                self.next = at      # what the peer had told once and tells no more is not sent again
                return out

    def sack(self, to, told):
        """An ACK of `to` bytes whose option tells these segments (None: without one)."""
        if told is not None:
            news, self.told = set(told) != self.told, set(told)
        self.told = {at for at in self.told if at > to}
        if to == self.una:
            return self.dup() if told is None or news else self._send(self._limited())
        return self.ack(to)

    def _partial(self, to, new):
        again = []
        if not self.score or not self.told:
            again = [to]
            self.next, self.mark = to + MSS, self.top
        return again if self.score else super()._partial(to, new)

    def _limited(self):
        return 0 if self.recovers or self.una <= self.recover or self.dups > 2 else self.dups * MSS

    def dup(self):
        if not self.told:
            return super().dup()
        if self.recovers:
            if not self.score:
                self.cwnd = min(self.cwnd + MSS, RING)
            return self._send()
        if self.dups < 3:
            self.dups = 3 if max(self.told) + MSS > self.una + 3 * MSS else self.dups + 1
            if self.dups == 3 and self.una >= self.recover:
                self.recovers, self.score, self.recover, self.counted = True, True, self.top, 0
                self.ssthresh = max(min(self.top - self.una, self.cwnd) // 2, 2 * MSS)
                self.cwnd = self.ssthresh
                self.next, self.mark = self.una + MSS, self.top
                return [self.una] + self._send()
        return self._send()

    def timeout(self, first=True):
        self.told = set()
        return super().timeout(first)


class Score(Plain):
    """A connection with endless data whose peer tells what it has."""

    make = Model

    def edge(self, at):
        return (self.first + at) & M32

    def option(self, *spans, form="nops"):
        return sack_option(*((self.edge(a), self.edge(b)) for a, b in spans), form=form)

    async def tells(self, *spans, to=None, form="nops", wnd=None):
        """An ACK with these blocks, all of whole segments."""
        to = self.model.una if to is None else to
        told = [at for a, b in spans for at in range(a, b, MSS)]
        self.peer.took(to - self.model.una)
        self.peer.send(options=self.option(*spans, form=form) if spans else b"", wnd=wnd)
        sends = self.model.sack(to, told if spans else None)
        await self.sends(sends, f"ACK of {to}, and {spans}")
        self.fill()
        return sends


def spans_of(places):
    """Blocks of these segments, in ascending order."""
    out = []
    for at in sorted(places):
        if out and out[-1][1] == at:
            out[-1] = (out[-1][0], at + MSS)
        else:
            out.append((at, at + MSS))
    return out


async def grown(dut, segments=30):
    """A flow with so many segments in flight, which begin at una."""
    flow = await Score().open(dut)
    while flow.model.top - flow.model.una < segments * MSS:
        await flow.tells(to=flow.model.una + 2 * MSS)
    return flow, flow.model.una


@cocotb.test()
@cocotb.parametrize(form=["nops", "first", "stamped"])
async def holes(dut, form):
    """Three segments of thirty are lost: each is sent once, as soon as there is room in what the recovery
    leaves, and nothing else that the peer may have."""
    flow, una = await grown(dut)
    lost = [una, una + 4 * MSS, una + 11 * MSS]
    have = []
    for at in range(una, una + 30 * MSS, MSS):
        if at not in lost:
            have.append(at)
            spans = spans_of(have)
            random.shuffle(spans)
            await flow.tells(*spans, form=form)
    assert flow.bench.counts["TcpCountFastRexmits"] == 1
    new = [at for at in range(una + 30 * MSS, flow.model.top, MSS)]
    for to in (una + 4 * MSS, una + 11 * MSS, una + 30 * MSS):
        await flow.tells(*[s for s in spans_of(have) if s[0] > to], to=to)
    for _ in new:
        await flow.tells(to=flow.model.una + MSS)
    assert not flow.model.recovers and flow.bench.counts["TcpCountTimeouts"] == 0
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def far_beyond(dut):
    """One ACK that tells of more than three segments behind a hole is as good as three; whatever it says
    of the window."""
    flow, una = await grown(dut)
    await flow.tells((una + MSS, una + 3 * MSS), wnd=60000)
    assert flow.bench.counts["TcpCountFastRexmits"] == 0
    await flow.tells((una + MSS, una + 5 * MSS), wnd=61000)
    assert flow.bench.counts["TcpCountFastRexmits"] == 1
    # said again, it is no news
    before = flow.model.cwnd
    await flow.tells((una + MSS, una + 5 * MSS))
    assert flow.model.cwnd == before


@cocotb.test()
async def lost_again(dut):
    """What was sent again and is lost again goes a third time once the peer has what was sent later."""
    flow, una = await grown(dut)
    have = [at for at in range(una, una + 30 * MSS, MSS) if at not in (una, una + 2 * MSS)]
    sent = await flow.tells(*spans_of(have))
    assert sent[:2] == [una, una + 2 * MSS] and sent[2] == una + 30 * MSS
    # of new segments the second one comes before the first one
    have.append(sent[3])
    again = await flow.tells(*spans_of(have))
    assert again[:2] == [una, una + 2 * MSS], again
    have.append(sent[2])
    assert not {una, una + 2 * MSS} & set(await flow.tells(*spans_of(have)))
    assert flow.bench.counts["TcpCountTimeouts"] == 0


@cocotb.test()
async def unbelievable(dut):
    """Blocks of what is acknowledged (D-SACK), what was never sent, with their ends exchanged, or far
    away are as if they were not there; so are options with wrong lengths."""
    flow, una = await grown(dut)
    top = flow.model.top
    bad = [(una - 3 * MSS, una - 2 * MSS), (una - MSS, una), (una - MSS, una + MSS), (una, una + MSS),
           (top, top + MSS), (top - MSS, top + 1), (una + 5 * MSS, una + 2 * MSS), (una + MSS, una + MSS),
           (una + (1 << 18) + MSS, una + (1 << 18) + 5 * MSS), (una + (1 << 31), una + (1 << 31) + MSS),
           (una + MSS, una + (1 << 18) + 9 * MSS), (una + 40 * MSS, una + (1 << 17) + 35 * MSS)]
    for i, block in enumerate(bad):
        flow.peer.send(options=flow.option(block), wnd=60000 - i)
        await flow.sends([], f"block {block}")
    good = flow.option((una + MSS, una + 20 * MSS))
    for i, broken in enumerate((good[:3] + b"\x09" + good[4:], good[:3] + b"\x0b" + good[4:], good[:3] + b"\x12" + good[4:],
                   good[:3] + b"\0" + good[4:], good[:3] + b"\x02" + good[4:], b"\0\0" + good[2:], b"\1\2" + good[2:])):
        flow.peer.send(options=broken, wnd=50000 - i)
        await flow.sends([], f"option {broken.hex()}")
    late = flow.option((una + MSS, una + 20 * MSS), form="stamped")
    flow.peer.send(options=late[:15] + b"\xf2" + late[16:], wnd=49000)
    await flow.sends([], "a length that wraps")
    # A right one among them is believed.
    flow.peer.wnd = 60000
    told = [at for at in range(una + MSS, una + 5 * MSS, MSS)]
    flow.peer.send(options=flow.option(bad[0], bad[4], (una + MSS, una + 5 * MSS), bad[8]))
    await flow.sends(flow.model.sack(una, told), "the right one")
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def not_the_peer(dut):
    """What does not fit the connection tells nothing: neither a segment outside the window nor an ACK
    that is old."""
    flow, una = await grown(dut)
    option = flow.option((una + MSS, una + 20 * MSS))
    for odd in ({"seq": 70_000}, {"seq": -1}, {"ack": -MSS}, {"ack": 1 << 20}, {"rst": 1, "seq": 5}, {"syn": 1, "seq": 5}):
        flow.peer.send(options=option, **odd)
        await flow.bench.clocks(200)
        assert not any(payload for _, payload in flow.peer.seen), odd
        flow.peer.seen.clear()
    for _ in range(2):
        await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 0
    # Nor does it take away what the peer told: a recovery goes by it.
    await flow.ack(una + MSS)
    una += MSS
    for n in (1, 2):
        await flow.tells((una + MSS, una + (n + 1) * MSS))
    flow.peer.send(seq=70_000, ack=3 * MSS)
    await flow.bench.clocks(200)
    flow.peer.seen.clear()
    await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 1 and flow.model.score
    assert await flow.tells((una + MSS, una + 25 * MSS))


@cocotb.test()
async def reneged(dut):
    """A timeout forgets what the peer told: it may have thrown that away (RFC 2018, section 8). What it
    tells then is not sent again."""
    flow, una = await grown(dut)
    have = range(una + MSS, una + 30 * MSS, MSS)
    await flow.tells(*spans_of(have))
    await flow.timeout()
    assert flow.model.nxt == una + MSS
    # it has thrown all away
    await flow.tells(to=una + MSS)
    assert flow.model.nxt == una + 3 * MSS
    # now it has something
    some = [at for at in range(una + 5 * MSS, una + 20 * MSS, MSS) if at != una + 9 * MSS]
    await flow.tells(*spans_of(some), to=una + 2 * MSS)
    for at in (3, 4, 5):
        to = una + at * MSS
        await flow.tells(*[s for s in spans_of(some) if s[0] > to], to=to if at < 5 else una + 9 * MSS)
    assert flow.model.nxt > una + 20 * MSS
    assert flow.bench.counts["TcpCountTimeouts"] == 1


@cocotb.test()
async def next_life(dut):
    """What one connection's peer told is nothing to the next one with its id."""
    bench, net, session = await setup(dut, mtu=MSS + 40, tick=0, latency=(1, 3), time_wait=1)
    session.auto_close = False
    used = set()
    for turn in range(40):
        peer = await Hand(net, turn + 1, mss=MSS).open()
        (conn, c), = session.conns.items()
        again = conn in used
        used.add(conn)
        session.put(conn, c, 30_000)
        session.tell(conn, c)
        await bench.clocks(400)
        assert len(peer.seen) == 10
        peer.seen.clear()
        for _ in range(3 * again):
            peer.send()
            await bench.clocks(200)
        got = [(seg["seq"] - peer.ack) & M32 for seg, _ in peer.seen]
        # as for a peer that tells nothing: two by limited transmit, and the first one again
        assert got == [10 * MSS, 11 * MSS, 0] * again, got
        if turn >= 25 and again:
            return
        at = [(peer.ack + i * MSS) & M32 for i in range(10)]
        peer.send(options=sack_option((at[2], at[3]), (at[7], at[9]), (at[4], at[6])))
        await bench.clocks(100)
        peer.send(rst=1)
        bench.tick = 5
        await bench.until(lambda: not session.conns)
        await bench.clocks(200)
        bench.tick = 0
    raise AssertionError("no id was used again")


@cocotb.test()
async def merged(dut):
    """Of ACKs that become one the last one tells; where that has no option, the one before."""
    flow, una = await grown(dut)
    peer = flow.peer

    async def together(*acks):
        for _ in range(4):
            peer.send(b"x", seq=-1)
        for ack in acks:
            peer.send(**ack)

    first = flow.option((una + MSS, una + 2 * MSS))
    both = flow.option((una + MSS, una + 5 * MSS), (una + 7 * MSS, una + 20 * MSS))
    await together({"options": first}, {"options": both}, {})
    told = [*range(una + MSS, una + 5 * MSS, MSS), *range(una + 7 * MSS, una + 20 * MSS, MSS)]
    await flow.bench.clocks(600)
    got = [(seg["seq"] - flow.first) & M32 for seg, payload in peer.seen if payload]
    assert got[0] == una and una + 5 * MSS in got and una + 6 * MSS in got, got
    assert not set(got) & set(told)
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def as_the_model(dut):
    """Losses, ACKs and timeouts as they come; each segment that is sent is the model's."""
    flow, _ = await grown(dut)
    timeouts, late = 0, -1
    have = set()
    for _ in range(160):
        model = flow.model
        out = [at for at in range(model.una, model.top, MSS)]
        missing = [at for at in out if at not in have]
        what = random.random()
        if what < 0.55 and len(missing) > 1:
            # some arrive, the first one does not
            some = missing[1:]
            at = random.randrange(len(some))
            have |= set(some[at : at + random.choice((1, 1, 2, 5))])
        elif what < 0.98 or timeouts == 3 or model.una == late:
            at = model.una
            for _ in range(random.choice((1, 1, 2, 9))):
                if at < model.top:
                    at += MSS
            while at in have:
                at += MSS
            to = at
            have = {x for x in have if x > to}
            spans = spans_of(have)
            while len(spans) > 4:
                gone = spans.pop(random.randrange(len(spans)))
                have -= set(range(*gone, MSS))
            random.shuffle(spans)
            await flow.tells(*spans, to=to)
            continue
        else:
            timeouts, late = timeouts + 1, model.una
            await flow.timeout()
            continue
        spans = spans_of(have)
        while len(spans) > 4:
            gone = spans.pop(random.randrange(len(spans)))
            have -= set(range(*gone, MSS))
        random.shuffle(spans)
        await flow.tells(*spans)
    dut._log.info(f"{flow.bench.counts['TcpCountFastRexmits']} fast retransmits, {timeouts} timeouts")


class Downloader(Hand):
    """Keeps whatever comes, acknowledges each segment at once, and tells what it has behind a hole."""

    def __init__(self, net, index, **options):
        super().__init__(net, index, **options)
        self.got, self.spans = 0, []  # the one that changed last first

    def receive(self, seg, payload):
        if seg["flags"]["syn"]:
            super().receive(seg, payload)
            return
        at = (seg["seq"] - self.first) & M32
        old = max(0, min(self.got - at, len(payload)))  # acknowledged, so perhaps no longer in the ring
        assert payload[old:] == stream(self.key, at + old, len(payload) - old), f"wrong bytes at {at}"
        if not payload:
            return
        whole = (at, at + len(payload))
        apart = []
        for span in self.spans:
            if span[0] <= whole[1] and whole[0] <= span[1]:
                whole = (min(span[0], whole[0]), max(span[1], whole[1]))
            else:
                apart.append(span)
        if whole[0] <= self.got:
            self.got = max(self.got, whole[1])
        else:
            apart.insert(0, whole)
        self.spans = apart
        self.ack = (self.first + self.got) & M32
        told = [((self.first + a) & M32, (self.first + b) & M32) for a, b in self.spans[:4]]
        self.send(options=sack_option(*told) if told and self.options.get("sack_ok") else b"")


class Link(Net):
    """10 ms each way; of data and ACKs so many of one are lost."""

    lost, dice = 0, random.Random(1)

    def carry(self, item):
        if self.dice.random() >= self.lost:
            self.queue.append((self.bench.clock + 10 * self.bench.tick, item))


@cocotb.test()
@cocotb.parametrize(lost=[0.02, 0.05])
async def bad_link(dut, lost):
    """150 KB arrive over a link that loses segments and ACKs, whether or not the peer tells what it has."""
    bench, _, session = await setup(dut, tick=60, latency=(1, 3))
    session.auto_close = False
    net, took = Link(bench), []
    for sack_ok in (0, 1):
        net.lost = 0
        peer = await Downloader(net, 1 + sack_ok, sack_ok=sack_ok).open()
        await bench.until(lambda: len(session.conns) == 1 + sack_ok)
        c = session.conns[max(session.conns)]
        peer.first, peer.key = peer.ack, c.key + 1
        net.lost, net.dice = lost, random.Random(random.getrandbits(32))
        begin, c.want = bench.clock, 150_000
        await bench.until(lambda: peer.got == c.want, 4_000_000, "the end", every=20)
        took.append((bench.clock - begin) // bench.tick)
        dut._log.info(f"{lost} lost, SACK {sack_ok}: {took[-1]} ms")
    names = ("FastRexmits", "Timeouts", "TailProbes")
    dut._log.info(f"{ {name: bench.counts[f'TcpCount{name}'] for name in names} }")
    assert bench.counts["TcpCountFastRexmits"] and max(took) < 10_000


def test_sack():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
