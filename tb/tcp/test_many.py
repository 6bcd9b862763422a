"""Many connections at once on a card of usual size: nobody gets another one's bytes."""

import random

import cocotb

from harness.models import run
from tcp.peers import M32, Bench, Busy, Hand, Net, Peer, Session, Wire, key_bits, open_all, whose


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
            # Who has nothing to send is not told that the third ACK of the handshake was lost.
            peer = Peer(net, 1000 * turn + i + 1, 2 * i, random.randrange(1, 2000), random.randrange(2000),
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


@cocotb.test()
async def quits(dut):
    """10,000 connections a second, each closed by the server first, as after `quit`: none is refused, for
    TIME_WAIT gives way, though it would last a minute."""
    tick = 1000                           # clocks of a millisecond
    bench = Bench(dut, tick=tick, time_wait=60000)
    await bench.run()
    net = Net(bench)
    peers = {}

    def opened(c):
        peer = peers[c.rx_first]
        c.key, c.want = peer.key, peer.expect

    session = Session(bench, on_open=opened)
    session.auto_close = False

    def quit_all():
        for conn, c in session.conns.items():
            peer = peers[c.rx_first]
            if not c.closing and c.sent == c.want and c.received == peer.total:
                c.closing = True
                session.tell(conn, c)
        for peer in list(net.peers.values()):
            peer.may_close = peer.fin_at == "done"
            if peer.finished and not peer.tell_ack:
                del net.peers[whose(peer.addr)]

    bench.on_clock.append(quit_all)
    total = 1400
    for i in range(total):
        isn = random.getrandbits(20) << 12 | i
        peers[(isn + 1) & M32] = peer = Peer(net, i + 1, 2 * i, random.randrange(1, 2000), random.randrange(1, 2000),
                                             isn=isn)
        peer.may_close = False
        peer.open()
        await bench.clocks(tick // 10)
    await bench.until(lambda: not net.peers, what="closed", every=100)
    assert bench.counts["TcpCountOpened"] == total and bench.counts["TcpCountFullNoId"] == 0
    assert bench.counts["TcpCountRecycled"] >= total - 1024


CONNS = 1024


def overflows(secret, ports):
    """Whether the peers of one address with these ports find no place, each in the emptier of its two
    buckets of four, where the lookup's linear hash alone says which those are."""
    bits = key_bits(secret)
    columns = [sum(bits[i + k] << i for i in range(18)) for k in range(16)]
    used = [0] * CONNS
    for port in ports:
        place = 0
        for k in range(16):
            place ^= columns[k] if port >> k & 1 else 0
        bucket = min(place % 512, 512 + place // 512, key=lambda n: used[n])
        if used[bucket] == 4:
            return True
        used[bucket] += 1
    return False


@cocotb.test()
async def in_a_row(dut):
    """As many connections as there are ids, from one address and ports in a row, under a secret with which
    a linear hash has no place for all of them: none is refused."""
    first = random.randrange(1024, 60000)
    ports = range(first, first + CONNS)
    secret = next(s for s in iter(lambda: random.getrandbits(128), None) if overflows(s, ports))
    bench = Bench(dut, secret=secret)
    await bench.run()
    net = Wire(bench)
    session = Busy(bench)
    hands = [Hand(net, 1, port=port) for port in ports]
    for at in range(0, CONNS, 64):
        await open_all(bench, session, hands[at:at + 64])
    assert int(dut.conns_o.value) == CONNS and bench.counts["TcpCountFullNoWay"] == 0


def test_many():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=CONNS)
