"""Connections of whose rings memory refuses something: they are reset at once, and nobody else; ids wait until what was
written for the connection before is answered."""

import random

import cocotb

from harness.models import run
from tcp.peers import Hand, Peer, setup, stream


@cocotb.test()
async def writes(dut):
    """Memory refuses writes to a ring of one connection, once or often, while others send and receive: that one alone
    gets a RST, without a byte of its ring. It comes again and is served; what is said of it when it is over, and of who
    is in TIME_WAIT, changes nothing."""
    bench, net, session = await setup(dut)
    peers = [Peer(net, i + 1, 100 + 2 * i, total=60_000, expect=60_000) for i in range(6)]
    keys = {}
    session.key = lambda conn: keys[conn]

    def opened(conn):
        conn.want = 60_000 if conn.key >= 100 else 0

    session.on_open = opened
    for i, peer in enumerate(peers):
        keys[i] = 100 + 2 * i
        peer.open()
        await bench.until(lambda: i in session.conns, 4000)
    for turn in range(4):
        hand, conn = Hand(net, 50 + turn), 6 + turn
        keys[conn] = 2 * turn
        await hand.open()
        await bench.until(lambda: conn in session.conns, 4000)
        hand.send(stream(2 * turn, 0, 100))
        hand.gave(100)
        await bench.until(lambda: session.conns[conn].received == 100, 2000)
        session.put(conn, session.conns[conn], 12_000)
        session.tell(conn, session.conns[conn])
        await bench.clocks(random.randrange(5, 40))  # some of it is not sent
        was = bench.counts["TcpCountResetsOut"]
        bench.refused += [(random.randrange(2), conn)] * random.choice((1, 4))
        await bench.until(lambda: conn not in session.conns, 400, what="told that it is over")
        await bench.until(lambda: not bench.refused, 200)
        await bench.until(lambda: hand.seen and hand.seen[-1][0]["flags"]["rst"], 4000)
        resets = [(seg, payload) for seg, payload in hand.seen if seg["flags"]["rst"]]
        assert len(resets) == 1 and resets[0][1] == b"" and bench.counts["TcpCountResetsOut"] == was + 1
        bench.refused += [(0, conn), (1, conn)]
        hand.seen.clear()
        await hand.silence()
    await bench.until(lambda: all(peer.finished for peer in peers), 400_000)
    assert all(peer.received == 60_000 for peer in peers)
    was = bench.counts["TcpCountResetsOut"]
    bench.refused += [(i % 2, i) for i in range(16)]
    await bench.until(lambda: not bench.refused, 2000)
    await bench.clocks(100)
    assert bench.counts["TcpCountResetsOut"] == was


@cocotb.test()
async def reads(dut):
    """The transmit ring of a connection can not be read: its segments are marked, and it is reset. Others get their
    bytes."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    others = [await Hand(net, i + 1).open() for i in range(3)]
    for turn, size in enumerate((1, 100, 1460, 9000)):
        victim, conn = await Hand(net, 10 + turn).open(), 3 + turn
        hands = [*others, victim]
        bench.unreadable, bench.spoilt = {conn}, []
        reads = bench.counts["TcpCountBadReads"]
        for hand, to in zip(hands, (0, 1, 2, conn)):
            hand.seen.clear()
            session.put(to, session.conns[to], size)
            session.tell(to, session.conns[to])
        await bench.until(lambda: conn not in session.conns, 3000, what="told that it is over")
        await bench.clocks(1000)
        assert bench.spoilt and all(not any(payload) for _, payload in bench.spoilt)
        assert bench.counts["TcpCountBadReads"] == reads + len(bench.spoilt)
        assert [(seg["flags"]["rst"], payload) for seg, payload in victim.seen] == [(1, b"")]
        for hand in others:
            assert sum(len(payload) for _, payload in hand.seen) >= min(size, 1460)
            hand.took(size)
            hand.send()


@cocotb.test()
async def ids(dut):
    """A new connection begins when the rings can take note of it, and gets the id of one before that wrote to them
    when all that was written before it ended is answered. The rings are told of each new connection."""
    bench, net, session = await setup(dut)
    told = []
    bench.on_clock.append(lambda: told.append(int(dut.open_conn_o.value)) if dut.open_o.value else None)
    marks = []
    bench.on_clock.append(lambda: marks.append(bench.clock) if dut.mark_o.value else None)
    first = Hand(net, 1)
    dut.busy_i.value = 1
    first.send(syn=1)
    first.seq = (first.isn + 1) & 0xFFFFFFFF
    await bench.clocks(500)
    assert not first.seen
    dut.busy_i.value = 0
    _, seg, _ = await first.flags()
    first.ack = (seg["seq"] + 1) & 0xFFFFFFFF
    dut.busy_i.value = 1
    first.send()
    await bench.clocks(500)
    assert not session.conns and not told
    dut.busy_i.value = 0
    await bench.until(lambda: 0 in session.conns, 200)
    others = [await Hand(net, i + 2).open() for i in range(15)]
    assert told == list(range(16)) and len(others) == 15
    dut.earlier_i.value = 1
    first.send(rst=1)
    await bench.until(lambda: 0 not in session.conns and marks, 2000, what="marked")
    late = Hand(net, 50)
    late.send(syn=1)
    late.seq = (late.isn + 1) & 0xFFFFFFFF
    _, seg, _ = await late.flags()
    late.ack = (seg["seq"] + 1) & 0xFFFFFFFF
    for i in range(3):
        late.send(b"x" * 10)
        await bench.clocks(300)
        assert len(told) == 16
    dut.earlier_i.value = 0
    await bench.clocks(100)
    again = await Hand(net, 51).open()
    assert told[16:] == [0] and 0 in session.conns and again


def test_refused():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
