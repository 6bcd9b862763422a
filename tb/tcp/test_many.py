"""Many connections at once on a card of usual size: nobody gets another one's bytes."""

import random

import cocotb
from common import run
from tcp.peers import Bench, Net, Peer, Session


@cocotb.test()
async def many(dut):
    bench = Bench(dut, time_wait=20)
    await bench.run()
    net = Net(bench, drop=0.01, rto=8000)

    isns = {}
    def opened(c):
        # streams and sizes go by the peer, which the initial sequence number tells
        peer = isns[c.rx_first]
        c.key, c.want = peer.key, peer.expect

    session = Session(bench, on_open=opened)
    total = 0
    for turn in range(2):
        isns.clear()
        peers = []
        for i in range(250):
            peer = Peer(net, 1000 * turn + i + 1, 2 * i, random.randrange(2000), random.randrange(2000),
                        isn=random.getrandbits(31) * 2 + turn)
            isns[peer.base] = peer
            peers.append(peer)
            peer.open()
            await bench.clocks(random.randrange(20))
        total += len(isns)
        await bench.until(lambda: all(p.finished and not p.tell_ack for p in peers), what="closed", every=100)
        net.drop = 0
        await bench.until(lambda: not session.conns, what="session", every=100)
        net.peers.clear()
        net.drop = 0.01
    assert bench.counts["TcpCountOpened"] == bench.counts["TcpCountClosed"] == total
    assert int(dut.conns_o.value) == 0
    dut._log.info(f"{bench.clock} clocks, " + " ".join(f"{k[8:]} {v}" for k, v in bench.counts.items() if v))


def test_many():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=1024)
