"""What comes in does not wait for what goes out: while the way out is full, segments are taken and the
session's commands heard; what they would have sent goes out afterwards. Nor does it wait for those who send
small segments as fast as the wire carries them."""

import cocotb

from harness.models import run
from tcp.peers import M32, SECRET, Hand, diff, setup, stream


async def saturated(dut, hands):
    """`hands` open connections (ids 0, 1, ...), and ten that have sent more than the way out holds."""
    bench, net, session = await setup(dut, tick=500, secret=SECRET)
    peers = [await Hand(net, i).open() for i in range(hands)]
    fill = [await Hand(net, i).open() for i in range(hands, hands + 10)]

    async def stop():
        bench.tx_stop = True
        for peer in fill:
            conn = peer.addr["ip"] & 15
            session.put(conn, session.conns[conn], 40000)
            session.tell(conn, session.conns[conn])
        await bench.until(lambda: not bench.apps, 500, "commands taken")
        await bench.clocks(500)

    return bench, net, session, peers, stop


@cocotb.test()
async def upload(dut):
    """28 segments are taken, and acknowledged when there is room again."""
    bench, net, session, (peer,), stop = await saturated(dut, 1)
    await stop()
    for _ in range(28):
        peer.send(stream(0, (peer.seq - peer.isn - 1) & M32, 1460))
        peer.gave(1460)
    await bench.until(lambda: session.conns[0].received == 28 * 1460, 5000, "the upload taken")
    assert not peer.seen
    bench.tx_stop = False
    # That of one segment alone is delayed.
    await bench.until(lambda: peer.seen and peer.seen[-1][0]["ack"] == peer.seq, 60 * bench.tick, "the ACK")


@cocotb.test()
async def owed(dut):
    """SYN and ACK, duplicate ACK, fast retransmission, the ACK of a FIN, data: each once."""
    bench, net, session, (hole, lost, ends, writes), stop = await saturated(dut, 4)
    session.put(1, session.conns[1], 7000)
    session.tell(1, session.conns[1])
    await bench.until(lambda: sum(len(p) for _, p in lost.seen) == 7000, 2000)
    lost.seen.clear()
    await stop()
    hole.send(b"x" * 20, seq=10)
    for _ in range(3):
        lost.send()
    session.auto_close = False
    ends.send(fin=1)
    ends.gave(1)
    session.put(3, session.conns[3], 100)
    session.tell(3, session.conns[3])
    nobody = Hand(net, 15, isn=1 << 20)
    nobody.send(b"x")
    stranger = Hand(net, 14)
    stranger.send(syn=1)
    await bench.until(lambda: not bench.segs and not bench.apps and session.conns[2].fin, 1000, "all taken")
    await bench.clocks(100)
    assert not any(p.seen for p in (hole, lost, ends, writes, stranger, nobody))
    bench.tx_stop = False
    flags, seg, _ = await hole.flags()
    assert flags == "a" and seg["ack"] == hole.seq
    flags, seg, payload = await lost.flags()
    assert seg["seq"] == lost.ack and payload == stream(3, 0, 1460)
    flags, seg, _ = await ends.flags()
    assert flags == "a" and seg["ack"] == ends.seq
    flags, seg, payload = await writes.flags()
    assert payload == stream(7, 0, 100)
    flags, seg, _ = await stranger.flags()
    assert flags == "as" and seg["ack"] == (stranger.seq + 1) & M32
    for peer in (hole, ends, writes, stranger, nobody):
        await peer.silence()
    assert all(seg["seq"] != lost.ack for seg, _ in lost.seen), "sent again twice"
    assert bench.counts["TcpCountFastRexmits"] == 1 and bench.counts["TcpCountStraysHeld"] == 1


@cocotb.test()
async def acknowledged_meanwhile(dut):
    """What was owed and has been acknowledged since is not sent again, and what is new is sent once."""
    bench, net, session, (peer,), stop = await saturated(dut, 1)
    session.put(0, session.conns[0], 7000)
    session.tell(0, session.conns[0])
    await bench.until(lambda: sum(len(p) for _, p in peer.seen) == 7000, 2000)
    peer.seen.clear()
    await stop()
    for _ in range(3):
        peer.send()
    await bench.clocks(60)                    # or the last ones become one
    peer.took(7000)
    peer.send()
    await bench.until(lambda: not bench.segs, 1000, "all taken")
    session.put(0, session.conns[0], 2000)
    session.tell(0, session.conns[0])
    await bench.until(lambda: not bench.apps, 1000, "all taken")
    bench.tx_stop = False
    await bench.clocks(5000)
    sent = [((seg["seq"] - peer.ack) & M32, len(payload)) for seg, payload in peer.seen if payload]
    assert sent == [(0, 1460), (1460, 540)]


@cocotb.test()
async def reset(dut):
    """The session's RST waits for room, and goes out."""
    bench, net, session, (peer,), stop = await saturated(dut, 1)
    await stop()
    session.tell(0, session.conns[0], reset=1)
    await bench.clocks(300)
    assert 0 in session.conns and not peer.seen
    bench.tx_stop = False
    flags, _, _ = await peer.flags()
    assert set(flags) == set("ra")
    await bench.until(lambda: 0 not in session.conns, 1000, "closed")


@cocotb.test()
async def acks_of_one(dut):
    """A peer that says nothing new at the wire's speed takes little of the table's time: another one's
    segments among its ACKs wait for few clocks each."""
    bench, net, session = await setup(dut, tick=500)
    session.auto_close = False
    session.key = lambda conn: 0
    busy, other = [await Hand(net, i + 1).open() for i in range(2)]
    for i in range(100):
        for _ in range(6):
            busy.send()
        other.send(stream(0, 20 * i, 20))
        other.gave(20)
    begin = bench.clock
    await bench.until(lambda: session.conns[1].received == 2000, 10_000)
    # Each of the 600 ACKs by itself would take 8 clocks.
    assert bench.clock - begin < 2500, bench.clock - begin


@cocotb.test()
@cocotb.parametrize(crowd=[1, 2])
async def data_of_few(dut, crowd):
    """Small segments of one or two peers at the wire's speed: when others have stood in line for long, those that
    make them wait are dropped and counted, and all others' come through. Afterwards the crowd is served
    as before. The session says nothing of the others: a segment that waits for a command of its connection holds
    up the line, too."""
    bench, net, session = await setup(dut, tick=500)
    session.auto_close = False
    session.key = lambda conn: 0
    hands = [await Hand(net, i + 1).open() for i in range(crowd + 8)]
    busy, others = hands[:crowd], hands[crowd:]
    for conn in range(crowd, crowd + 8):
        session.conns[conn].hold = True
    for i in range(640):
        for j in range(6):
            busy[j % crowd].send(b"x", seq=-1)
        others[i % 8].send(stream(0, 20 * (i // 8), 20))
        others[i % 8].gave(20)
    begin = bench.clock
    await bench.until(lambda: all(session.conns[c].received == 1600 for c in range(crowd, crowd + 8)), 40_000)
    # Each of the 3,840 by itself would take 8 clocks, or 4.
    assert bench.clock - begin < 12_000, bench.clock - begin
    crowded = bench.counts["TcpCountCrowded"]
    assert 1000 < crowded < 3840 and bench.counts["TcpCountEarly"] == 0
    await bench.clocks(5000)
    for i, peer in enumerate(busy):
        for n in range(40):
            peer.send(stream(0, n, 1))
            peer.gave(1)
            others[0].send(b"x", seq=-1)
        await bench.until(lambda i=i: session.conns[i].received == 40, 2000)
    assert bench.counts["TcpCountCrowded"] == crowded


@cocotb.test()
async def data_of_one(dut):
    """The same where all that stands in line is one peer's: else others would find no place there when they come."""
    bench, net, session = await setup(dut, tick=500)
    session.auto_close = False
    session.key = lambda conn: 0
    busy, other = [await Hand(net, i + 1).open() for i in range(2)]
    for _ in range(1500):
        busy.send(b"x", seq=-1)
    other.send(stream(0, 0, 20))
    other.gave(20)
    begin = bench.clock
    await bench.until(lambda: session.conns[1].received == 20, 20_000)
    # 2,048 clocks, 8 for each; those behind by themselves would take 10,000.
    assert bench.clock - begin < 7000, bench.clock - begin
    assert bench.counts["TcpCountCrowded"] > 800


@cocotb.test()
async def burst_of_one(dut):
    """Nobody else waits: 200 small segments of one peer come in as fast as the wire is, and all are taken, as they stand
    in line for less than 2,048 clocks: 8 for each, for the session gives no commands, which take as many."""
    bench, net, session = await setup(dut, tick=500)
    session.auto_close = False
    session.key = lambda conn: 0
    peer = await Hand(net, 1).open()
    session.conns[0].hold = True
    for n in range(200):
        peer.send(stream(0, n, 1))
        peer.gave(1)
    await bench.until(lambda: session.conns[0].received == 200, 2048)
    assert bench.counts["TcpCountCrowded"] == 0 and bench.counts["TcpCountSegsIn"] <= 210


@cocotb.test()
async def merged(dut):
    """ACKs that come while others of their connection are in the table: the last one counts, and
    duplicates count as often as they came. None takes the place of one that it does not repeat."""
    bench, net, session = await setup(dut, tick=500)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    conn, c = next(iter(session.conns.items()))

    async def after_others(*acks):
        """ACKs behind segments with nothing new, which hold the table and all places before it."""
        await bench.clocks(200)
        for _ in range(4):
            peer.send(b"x", seq=-1)
        for ack in acks:
            peer.send(**ack)
        await bench.clocks(200)

    async def put(size):
        session.put(conn, c, size)
        session.tell(conn, c)
        await bench.until(lambda: sum(len(p) for _, p in peer.seen) >= size, 2000)
        peer.seen.clear()

    await put(7000)
    await after_others({"ack": 1460}, {"ack": 2920}, {"ack": 4380})
    assert diff(c.tx_acked, c.tx_first) == 4380
    peer.took(4380)
    await after_others({"ack": 1460}, {})                         # the second one is older
    assert diff(c.tx_acked, c.tx_first) == 5840
    await after_others({"ack": 2620}, {"ack": 50_000, "link": {"mac": 0x0200000BAD00}})
    assert diff(c.tx_acked, c.tx_first) == 7000, "another one's ACK, and no right one, replaced it"
    peer.took(2620)
    await put(7000)
    await after_others({"ack": 1460}, {"ack": 1460, "seq": 100_000})   # outside the window
    assert diff(c.tx_acked, c.tx_first) == 7000 + 1460
    peer.took(1460)
    assert bench.counts["TcpCountFastRexmits"] == 0
    await after_others({}, {}, {})
    assert bench.counts["TcpCountFastRexmits"] == 1
    assert any(seg["seq"] == peer.ack and seg["len"] == 1460 for seg, _ in peer.seen)


def test_saturated():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
