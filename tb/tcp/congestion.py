"""A model of what a sender with endless data sends (RFC 3042, 5681, 6582 and 6928), and a connection beside it."""

from tcp.peers import M32, RING, Hand, setup, stream

MSS = 1000
TICK = 60


class Model:
    """What a sender with endless data sends, counted in bytes from the first one."""

    def __init__(self):
        self.cwnd = min(10 * MSS, max(2 * MSS, 14600))
        self.ssthresh = RING
        self.counted = 0            # bytes acknowledged towards the next step
        self.una = self.nxt = self.top = 0
        self.dups = 0
        self.recover, self.recovers = -1, False

    def _send(self, more=0):
        out = []
        while self.nxt + MSS - self.una <= min(self.cwnd + more, RING):
            out.append(self.nxt)
            self.nxt += MSS
        self.top = max(self.top, self.nxt)
        return out

    def _half(self):
        return max((self.top - self.una) // 2, 2 * MSS)

    def start(self):
        return self._send()

    def ack(self, to):
        new, self.una, self.dups = to - self.una, to, 0
        self.nxt = max(self.nxt, to)
        again = []
        if self.recovers and to < self.recover:
            again = self._partial(to, new)
        elif self.recovers:
            self.recovers, self.cwnd = False, self.ssthresh
        elif self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + min(new, 2 * MSS), RING)
        else:
            self.counted += new
            if self.counted >= self.cwnd:
                self.counted -= self.cwnd
                self.cwnd = min(self.cwnd + MSS, RING)
        return again + self._send()

    def _partial(self, to, new):
        """An ACK of `new` bytes in recovery: what goes again (RFC 6582)."""
        self.cwnd = max(self.cwnd - new, 0)
        if new >= MSS or self.cwnd < MSS:
            self.cwnd += MSS
        return [to]

    def dup(self):
        if self.recovers:
            self.cwnd = min(self.cwnd + MSS, RING)
            return self._send()
        self.dups += 1
        if self.dups > 3 or self.una <= self.recover:
            return []
        if self.dups < 3:
            return self._send(self.dups * MSS)
        self.recovers, self.recover, self.counted = True, self.top, 0
        # without what the two before it let go
        self.ssthresh = max(min(self.top - self.una, self.cwnd) // 2, 2 * MSS)
        self.cwnd = self.ssthresh + 3 * MSS
        return [self.una] + self._send()

    def timeout(self, first=True):
        if first:
            self.ssthresh = self._half()
        self.cwnd, self.counted = MSS, 0
        self.nxt, self.recover, self.recovers, self.dups = self.una, self.top, False, 0
        return self._send()


class Flow:
    """A connection of the card with endless data, beside its model."""

    make = Model

    async def open(self, dut):
        self.bench, net, self.session = await setup(dut, mtu=MSS + 40, tick=TICK, latency=(1, 3))
        self.peer = await Hand(net, 1, mss=MSS).open()
        self.c = self.session.conns[0]
        self.model, self.first = self.make(), self.peer.ack
        self.fill()
        await self.sends(self.model.start())
        return self

    def fill(self):
        n = RING - ((self.c.tx_ptr - self.c.tx_acked) & M32)
        if n:
            self.session.put(0, self.c, n)
            self.session.tell(0, self.c)

    async def sends(self, wanted, what=""):
        """The card sends these segments and no other."""
        await self.bench.clocks(120)
        await self.peer.quiet(120)
        got = []
        for seg, payload in self.peer.seen:
            at = (seg["seq"] - self.first) & M32
            if payload:
                assert payload == stream(1, at, MSS)
                got.append(at)
        self.peer.seen.clear()
        assert got == wanted, f"{what}: {got} != {wanted}, {vars(self.model)}"

    async def ack(self, to, **options):
        self.peer.took(to - self.model.una)
        self.peer.send()
        await self.sends(self.model.ack(to), f"ACK of {to}")
        self.fill()

    async def dup(self):
        self.peer.send()
        await self.sends(self.model.dup(), "duplicate ACK")

    async def timeout(self, first=True):
        await self.bench.until(lambda: self.peer.seen, 3000 * TICK, "timeout", every=10)
        await self.sends(self.model.timeout(first), "timeout")
