"""When tcp sends again, and when it acknowledges, against a model of RFC 6298 in milliseconds."""

import cocotb

from harness.models import run
from tcp.peers import M32, Hand, setup, stream
from tcp.rto import GRAIN, SLACK, TICK, Model


class Path:
    """A connection to a peer whose answers take as long as the test says, beside its model."""

    async def open(self, dut, rtt):
        """The handshake; the SYN-ACK is answered after `rtt`, which nobody measures."""
        self.bench, net, self.session = await setup(dut, tick=TICK, latency=(1, 3))
        self.session.auto_close = False
        self.model = Model()
        self.peer = peer = Hand(net, 1)
        peer.send(syn=1)
        peer.seq = (peer.isn + 1) & M32
        seg, _ = await peer.answer()
        await self.wait(rtt)
        peer.ack = (seg["seq"] + 1) & M32
        peer.send()
        await self.bench.until(lambda: self.session.conns)
        self.c = self.session.conns[0]
        return self

    async def wait(self, ms):
        await self.bench.clocks(ms * TICK)

    async def say(self, n=1):
        """The card sends a segment."""
        self.at = self.c.sent
        self.session.put(0, self.c, n)
        self.session.tell(0, self.c)
        _, payload = await self.peer.answer()
        assert payload == stream(1, self.at, n)

    async def ack(self, rtt, sample=True):
        """The segment is acknowledged after `rtt`, and that is measured."""
        await self.wait(rtt)
        self.peer.took(self.c.sent - self.at)
        self.peer.send()
        if sample:
            self.model.sample(rtt)
        await self.bench.until(lambda: self.c.tx_acked == self.c.tx_ptr)
        assert not self.peer.seen

    async def silent_for(self, rto):
        """The next segment comes when `rto` is over: not before, and when next looked at."""
        begin = self.bench.clock
        await self.bench.until(lambda: self.peer.seen, int(2 * rto + 400) * TICK, "a timeout")
        took = (self.bench.clock - begin) / TICK
        assert rto - SLACK <= took <= rto + GRAIN + 2 * SLACK, (took, rto, vars(self.model))

    async def lose(self):
        """The segment is sent again."""
        await self.silent_for(self.model.rto)
        self.peer.seen.pop()
        self.model.backoff()


@cocotb.test()
async def measured(dut):
    """The timeout follows the measured round trips and how much they vary."""
    path = await Path().open(dut, 120)
    for rtts in ((120, 120), (200, 300), (80, 80, 80)):
        for rtt in rtts:
            await path.say()
            await path.ack(rtt)
        rto = path.model.rto
        await path.say()
        await path.lose()
        await path.ack(50, sample=False)      # Karn: whose answer this is nobody knows
        path.model.rto = 2 * rto              # ... and until one is measured the backoff stays
        await path.say()
        await path.lose()
        await path.ack(50, sample=False)
        await path.say()
        await path.ack(100)
    assert path.bench.counts["TcpCountTimeouts"] == 6


@cocotb.test()
async def least(dut):
    """Never below 200 ms, and a second before anything is measured."""
    path = await Path().open(dut, 2)
    for _ in range(8):
        await path.say()
        await path.ack(2)
    assert path.model.rto == 200
    await path.say()
    await path.lose()
    await path.lose()


@cocotb.test()
async def nothing_measured(dut):
    """A second at first; what was sent twice measures nothing: the timeout stays as it was."""
    path = await Path().open(dut, 150)
    assert path.model.rto == 1000
    await path.say()
    await path.lose()
    await path.ack(30, sample=False)
    await path.say()
    await path.ack(150)                       # the first that is measured
    await path.say()
    await path.lose()


@cocotb.test()
async def fast_retransmit_measures_nothing(dut):
    """Karn's rule holds for what duplicate ACKs brought as well."""
    path = await Path().open(dut, 150)
    await path.say()
    await path.ack(150)
    await path.say()
    await path.wait(100)
    for _ in range(3):
        path.peer.send()
    _, payload = await path.peer.answer()
    assert payload == stream(1, path.at, 1)
    await path.ack(300, sample=False)         # 400 ms after it was sent first
    await path.say()
    await path.lose()
    assert path.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def acknowledged_late(dut):
    """A small segment is acknowledged once, after 25 ms; two full ones at once, with one ACK."""
    path = await Path().open(dut, 10)
    bench, peer, c = path.bench, path.peer, path.c
    await path.wait(50)                       # no visit is on its way
    for n in (1, 300, 1460):
        begin = bench.clock
        peer.send(stream(0, c.received, n))
        peer.gave(n)
        seg, payload = await peer.answer(60 * TICK)
        assert seg["ack"] == peer.seq and not payload
        assert GRAIN - 2 <= (bench.clock - begin) / TICK <= GRAIN + SLACK
        await peer.silence(60 * TICK)
    for _ in range(4):
        await path.wait(50)
        for _ in range(2):
            assert not peer.seen
            peer.send(stream(0, c.received, 1460))
            peer.gave(1460)
            await bench.until(lambda: not bench.segs)
            await bench.clocks(80)
        seg, _ = await peer.answer(1)
        assert seg["ack"] == peer.seq
    await peer.silence(60 * TICK)
    # a reply takes the ACK along
    peer.send(stream(0, c.received, 10))
    peer.gave(10)
    await bench.clocks(80)
    await path.say()
    await path.ack(1)
    await peer.silence(60 * TICK)


def test_rto():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
