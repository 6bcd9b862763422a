"""What hardly a peer does, or a session: hashes that are all alike, round trips of most of a minute,
segments that acknowledge nothing, the largest window scale, commands behind the last one."""

import cocotb

from harness.models import run
from tcp.peers import Hand, setup, stream
from tcp.peers import refused


@cocotb.test()
async def all_alike(dut):
    """Connections that all hash alike: there is room for eight, each is found, and the next one is sent
    away until one of them has ended."""
    bench, net, session = await setup(dut, secret=0)
    peers = [await Hand(net, i + 1).open() for i in range(8)]
    late = await Hand(net, 50).open()
    await refused(late)
    assert bench.counts["TcpCountFullNoWay"] == 1
    for conn, peer in enumerate(peers):
        peer.send(stream(2 * conn, 0, 100 + conn))
        peer.gave(100 + conn)
    await bench.until(lambda: all(session.conns[i].received == 100 + i for i in range(8)))
    peers[3].send(rst=1)
    await bench.until(lambda: 3 not in session.conns)
    await bench.clocks(4000)  # its place in the table is kept for a while, as in TIME_WAIT
    again = await Hand(net, 51).open()
    await bench.until(lambda: len(session.conns) == 8, 1000, "the next one")
    conn = next(i for i in session.conns if i not in (0, 1, 2, 4, 5, 6, 7))
    again.send(stream(2 * conn, 0, 10))
    await bench.until(lambda: session.conns[conn].received == 10)


@cocotb.test()
async def long_round_trips(dut):
    """Round trips that become longer and longer: the timeout follows, up to a minute."""
    tick = 2
    bench, net, session = await setup(dut, tick=tick, latency=(1, 3))
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    srtt, var, rto = None, None, 1000
    while rto < 70_000:
        session.put(0, c, 1)
        session.tell(0, c)
        await peer.answer()
        rtt = int(min(rto, 60_000) * 0.9)
        await bench.clocks(rtt * tick)
        assert not peer.seen, (rtt, rto)
        peer.took(1)
        peer.send()
        await bench.until(lambda: c.tx_acked == c.tx_ptr)
        var = rtt / 2 if srtt is None else var + (abs(srtt - rtt) - var) / 4
        srtt = rtt if srtt is None else srtt + (rtt - srtt) / 8
        rto = srtt + 4 * var
    session.put(0, c, 1)
    session.tell(0, c)
    await peer.answer()
    begin = bench.clock
    await bench.until(lambda: peer.seen, 65_000 * tick)
    assert 59_800 < (bench.clock - begin) / tick < 60_300


@cocotb.test()
async def acknowledges_nothing(dut):
    """A segment without ACK is dropped, and not answered, whatever it carries (RFC 9293, 3.10.7.4)."""
    bench, net, session = await setup(dut)
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    for options in ({}, {"payload": stream(0, 0, 10)}, {"fin": 1}):
        peer.send(bare=True, **options)
        await peer.silence()
    assert c.received == 0 and not c.fin
    peer.send(stream(0, 0, 10))
    await bench.until(lambda: c.received == 10)


@cocotb.test()
async def largest_scale(dut):
    """A window scale above 14 counts as 14 (RFC 7323, 2.3), across the cookie as well."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    peer = Hand(net, 1, ws_valid=1, ws=15)
    peer.wnd = 1
    await peer.open()
    c = session.conns[0]
    session.put(0, c, 60_000)
    session.tell(0, c)
    most = 0
    for _ in range(10):
        await bench.clocks(1500)
        n = sum(len(payload) for _, payload in peer.seen)
        peer.seen.clear()
        assert n <= 1 << 14
        most = max(most, n)
        peer.took(n)
        peer.send()
    assert most > (1 << 14) - 1460 and c.tx_acked == c.tx_ptr


@cocotb.test()
async def nothing_behind_close(dut):
    """What the session says behind its close changes nothing."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    session.put(0, c, 50)
    c.closing = True
    session.tell(0, c)
    seg, payload = await peer.answer()
    assert payload == stream(1, 0, 50) and seg["flags"]["fin"]
    session.put(0, c, 50)
    session.tell(0, c)
    await peer.silence()
    peer.took(51)
    peer.send()
    await peer.silence()


def test_corners():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
