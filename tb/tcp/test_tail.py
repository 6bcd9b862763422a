"""Tail-loss probes: when they come, what they carry, what follows (RFC 8985, section 7)."""

import cocotb

from harness.models import run
from harness.structs import T
from tcp.peers import M32, Hand, sack_option, setup, stream

TICK, GRAIN, SLACK = 15, 25, 8  # as in test_rto
MSS = 1460


class Tail:
    """A connection to a peer that takes SACK options, of which one round trip was measured."""

    async def open(self, dut, rtt=100, sack_ok=1):
        self.dut = dut
        self.bench, self.net, self.session = await setup(dut, tick=TICK, latency=(1, 3))
        self.session.auto_close = False
        self.peer = await Hand(self.net, 1, mss=MSS, sack_ok=sack_ok).open()
        (self.conn, self.c), = self.session.conns.items()
        self.first = self.peer.ack
        self.put(1)
        await self.sends((0, 1))
        await self.wait(rtt)
        await self.took(1)
        rtts = self.tcb["rtt"]
        self.srtt, self.rto = rtts["srtt"] / 8, rtts["rto"]
        assert rtt <= self.srtt <= rtt + 30 and self.rto == max(3 * self.srtt, 200), rtts
        return self

    async def wait(self, ms):
        await self.bench.clocks(ms * TICK)

    def put(self, n, close=False):
        self.session.put(self.conn, self.c, n)
        self.c.closing = close
        self.session.tell(self.conn, self.c)
        self.since = self.bench.clock

    async def took(self, n, options=b""):
        self.peer.took(n)
        self.peer.send(options=options)
        self.since = self.bench.clock
        await self.bench.clocks(60)

    async def came(self):
        await self.peer.quiet()
        out = []
        for seg, payload in self.peer.seen:
            assert payload == stream(self.c.key + 1, (seg["seq"] - self.peer.syn_ack["seq"] - 1) & M32, len(payload))
            out.append(((seg["seq"] - self.first) & M32, len(payload) + seg["flags"]["fin"]))
        self.peer.seen.clear()
        return out

    async def sends(self, *wanted):
        got = await self.came()
        assert got == list(wanted), (got, wanted)

    async def silent_for(self, ms):
        """The next segment comes when that is over, and when next looked at."""
        begin, self.since = self.since, None
        await self.bench.until(lambda: self.peer.seen, int(ms + 2000) * TICK, "a segment")
        took = (self.bench.clock - begin) / TICK
        assert ms - SLACK <= took <= ms + GRAIN + 2 * SLACK, (took, ms)
        self.since = self.bench.clock

    def counted(self, probes, timeouts=0):
        got = self.bench.counts["TcpCountTailProbes"], self.bench.counts["TcpCountTimeouts"]
        assert got == (probes, timeouts), got

    @property
    def tcb(self):
        return T.tcb_t.unpack(int(self.dut.u_tcb.u_table.u_tcb.mem_q[self.conn].value))


@cocotb.test()
async def last_of_three(dut):
    """After two round trips the last segment goes once more; then it is the timeout's turn."""
    flow = await Tail().open(dut)
    flow.put(4000)
    await flow.sends((1, MSS), (1 + MSS, MSS), (1 + 2 * MSS, 4000 - 2 * MSS))
    await flow.silent_for(2 * flow.srtt)
    await flow.sends((1 + 4000 - MSS, MSS))
    flow.counted(1)
    await flow.silent_for(flow.rto)               # SRTT + 4 RTTVAR, from the probe on
    await flow.sends((1, MSS))
    flow.counted(1, 1)
    # no probe until all that was lost is acknowledged and a round trip is measured
    await flow.took(4000)
    flow.put(3000)
    await flow.came()
    await flow.silent_for(2 * flow.srtt)
    flow.counted(2, 1)


@cocotb.test()
async def one_in_flight(dut):
    """The ACK of one segment may be late by 200 ms. With a second one that is over."""
    flow = await Tail().open(dut, 250)
    flow.put(MSS)
    await flow.sends((1, MSS))
    await flow.silent_for(2 * flow.srtt + 200)
    await flow.sends((1, MSS))
    flow.counted(1)
    await flow.took(MSS)
    flow.peer.send()                         # it came twice, and that is all
    await flow.wait(5)
    assert flow.tcb["tail"] == 0
    flow.put(MSS)
    await flow.came()
    await flow.wait(100)
    flow.put(10)
    await flow.came()
    await flow.silent_for(2 * flow.srtt)
    await flow.sends((1 + MSS + 10, MSS))
    flow.counted(2)


@cocotb.test()
async def new_data(dut):
    """What is new and waits for cwnd goes as the probe; one segment of it."""
    flow = await Tail().open(dut)
    cwnd = flow.tcb["cong"]["cwnd"]
    flow.put(40_000)
    out = await flow.came()
    at = out[-1][0] + out[-1][1]
    assert len(out) >= 10 and sum(n for _, n in out) <= cwnd
    await flow.silent_for(2 * flow.srtt)
    await flow.sends((at, MSS))
    flow.counted(1)
    await flow.took(at - 1 + MSS)
    assert flow.tcb["tail"] != 2, "the probe is acknowledged"


@cocotb.test()
async def without_sack(dut):
    """A peer that takes no SACK options gets no probe."""
    flow = await Tail().open(dut, sack_ok=0)
    flow.put(4000)
    await flow.came()
    await flow.silent_for(flow.rto)
    await flow.sends((1, MSS))
    flow.counted(0, 1)


@cocotb.test()
async def fin(dut):
    """A FIN goes again with the last bytes before it."""
    flow = await Tail().open(dut)
    flow.put(2000, close=True)
    await flow.sends((1, MSS), (1 + MSS, 2000 - MSS + 1))
    await flow.silent_for(2 * flow.srtt)
    await flow.sends((1 + 2000 - MSS, MSS + 1))
    flow.counted(1)


@cocotb.test()
@cocotb.parametrize(twice=[0, 1, 2])
async def was_it_lost(dut, twice):
    """A probe that brought what was lost is a sign of congestion; not if the segment came twice, as the
    peer tells by D-SACK, or by an ACK that says nothing new."""
    flow = await Tail().open(dut)
    flow.put(4000)
    await flow.came()
    await flow.silent_for(2 * flow.srtt)
    await flow.came()
    before = flow.tcb["cong"]["cwnd"]
    await flow.took(4000)
    if twice == 1:
        at = (flow.peer.ack - MSS) & M32
        flow.peer.send(options=sack_option((at, flow.peer.ack)))
    elif twice == 2:
        flow.peer.send()
    flow.put(2000)
    await flow.came()
    await flow.took(2000)
    assert (flow.tcb["cong"]["cwnd"] < before) == (twice == 0), (before, flow.tcb["cong"])
    assert flow.tcb["tail"] == 0
    flow.counted(1)


@cocotb.test()
async def told(dut):
    """SACK options that come of the probe begin a recovery: no timeout is needed."""
    flow = await Tail().open(dut)
    flow.put(8 * MSS)
    await flow.came()
    # all but the last one are lost; so is it, but not the probe
    await flow.silent_for(2 * flow.srtt)
    await flow.sends((1 + 7 * MSS, MSS))
    edge = [(flow.first + 1 + i * MSS) & M32 for i in range(9)]
    flow.peer.send(options=sack_option((edge[7], edge[8])))
    got = [at for at, _ in await flow.came()]
    assert got[0] == 1 and 1 + 7 * MSS not in got, got
    flow.counted(1)
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


def test_tail():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
