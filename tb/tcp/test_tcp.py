"""tcp against Python peers: handshake, data both ways, windows, losses, every way to end."""

import random

import cocotb

from harness.models import run
from tcp.peers import (M32, RING, SECRET, Hand, Peer, agreed_mss, connect, diff, nothing_left, refused, setup, stream,
    whose)


# ---------------------------------------------------------------- opening


@cocotb.test()
async def one_connection(dut):
    """Open, a few bytes each way, close from the peer's side."""
    bench, net, session = await setup(dut, session={"on_open": lambda c: setattr(c, "want", 100)})
    peer = Peer(net, 1, 0, total=1000, expect=100)
    peer.open()
    await bench.until(lambda: peer.finished, what="closed")
    await nothing_left(dut, bench, session)
    kinds = [kind for kind, _ in session.log if kind != "acked"]
    assert kinds[0] == "open" and kinds[-2:] == ["fin", "closed"] and set(kinds[1:-2]) == {"data"}


@cocotb.test()
async def options(dut):
    """MSS and window scale as offered or not; both limits on the segments hold; VLAN tags return."""
    bench, net, session = await setup(dut, mtu=9000, session={"on_open": lambda c: setattr(c, "want", 30000)})
    peers = [Peer(net, i, 2 * i, total=20000, expect=30000, mss=mss, ws=ws, tag=tag)
             for i, (mss, ws, tag) in enumerate([(1460, 7, None), (536, None, 5), (8960, 0, 0xEFFF),
                                                 (100, 14, None)])]
    for i, peer in enumerate(peers):
        # ids are given in order, so that streams and peers fit
        peer.open()
        await bench.until(lambda: peer.state == "open" and i in session.conns)
        assert peer.card_mss == 8960
    await bench.until(lambda: all(p.finished for p in peers), what="closed", every=50)
    for peer in peers:
        largest = max(seg["len"] for seg in peer.seen)
        assert largest == agreed_mss(peer.mss, 8960)
    await nothing_left(dut, bench, session)


# ---------------------------------------------------------------- data


@cocotb.test()
async def alignment(dut):
    """Segments of many lengths at every place in a line, both ways, over the wrap of ring and of
    sequence numbers; latencies."""
    bench, net, session = await setup(dut, secret=0)
    peer = await Hand(net, 1, isn=(1 << 32) - 30000).open()
    c = session.conns[0]
    session.auto_close = False
    lengths = [*range(1, 66), 127, 128, 129, 191, 1000, 1459, 1460] * 2
    random.shuffle(lengths)
    took = {"in": [], "out": []}
    for n in lengths:
        bench.times.clear()
        place = c.received
        peer.send(stream(c.key, place, n), psh=1)
        peer.gave(n)
        await bench.until(lambda: c.received == place + n, 1000)
        if n <= 64:
            took["in"].append(bench.times["wr"] - bench.times["seg"])
        sent = c.sent
        bench.times.clear()
        session.put(0, c, n)
        session.tell(0, c)
        await bench.until(lambda: any(p for _, p in peer.seen), 1000)
        seg, payload = peer.seen[-1]
        peer.seen.clear()
        assert payload == stream(c.key + 1, sent, n) and seg["flags"]["psh"]
        assert seg["seq"] == peer.ack and seg["ack"] == peer.seq, "reply carries the ACK"
        took["out"].append(bench.times["rd"] - bench.times["app"])
        peer.took(n)
        peer.send()
        await bench.until(lambda: c.tx_acked == c.tx_ptr, 1000)
    # longer where a command of the session was just in the pipe
    median = {way: sorted(n)[len(n) // 2] for way, n in took.items()}
    dut._log.info(f"clocks from segment to write and from command to read: {median}")
    assert median["in"] <= 15 and median["out"] <= 12


async def volume(dut, size, stall):
    """Several rings full both ways at once."""
    bench, net, session = await setup(
        dut, stall=stall, session={"on_open": lambda c: setattr(c, "want", size), "chunk": 30000})
    peer = Peer(net, 1, 0, total=size, expect=size, isn=(1 << 32) - 70000)
    peer.open()
    await bench.until(lambda: peer.finished, what="closed", every=50)
    await nothing_left(dut, bench, session)
    dut._log.info(f"{size} bytes each way in {bench.clock} clocks")
    return bench


@cocotb.test()
async def volume_quick(dut):
    bench = await volume(dut, 300_000, 0)
    assert bench.counts["TcpCountTimeouts"] == 0


@cocotb.test()
async def volume_stalled(dut):
    await volume(dut, 150_000, 0.3)


async def random_damage(dut, size, **damage):
    """Every byte arrives once and in order, whatever the network does, and everything ends."""
    bench, net, session = await setup(dut, stall=random.choice((0, 0.2)), net=damage)

    def jam():
        # Now and then nothing leaves, until the way out is full.
        if random.random() < 1 / 500:
            bench.tx_stop = not bench.tx_stop

    bench.on_clock.append(jam)
    peers = []
    for i in range(8):
        total, expect = random.randrange(1, size), random.randrange(size)
        peer = Peer(net, i, 2 * i, total, expect, isn=random.choice((None, (1 << 32) - size // 2)),
                    mss=random.choice((200, 536, 1460)), ws=random.choice((None, 0, 7)),
                    piece=random.choice((None, lambda: random.randint(1, 1460))))
        peers.append(peer)
        await connect(bench, session, i, peer)
    for peer in peers:
        peer.may_close = True
    await bench.until(lambda: all(p.finished for p in peers), 600_000, "closed", every=50)
    net.drop = 0
    bench.on_clock.remove(jam)
    bench.tx_stop = False
    await bench.until(lambda: not session.conns, 600_000, "session", every=50)
    dut._log.info(f"{bench.clock} clocks, " + " ".join(f"{k[8:]} {v}" for k, v in bench.counts.items() if v))
    await nothing_left(dut, bench, session)


@cocotb.test()
async def lossy(dut):
    await random_damage(dut, 30000, drop=0.05)


@cocotb.test()
async def disordered(dut):
    await random_damage(dut, 40000, late=0.1, dup=0.1)


@cocotb.test()
async def everything_wrong(dut):
    await random_damage(dut, 15000, drop=0.1, late=0.1, dup=0.1)


@cocotb.test()
async def pieces(dut):
    """Old bytes in front are cut off; what is out of order is answered at once, and kept."""
    bench, net, session = await setup(dut)
    peer = await Hand(net, 1).open()
    c = session.conns[0]

    def part(start, n):
        peer.send(stream(0, start, n), seq=start)

    part(0, 100)
    await bench.until(lambda: c.received == 100)
    for front in (1, 63, 64, 65, 99, 100):          # of old bytes
        have = c.received
        part(have - front, front + 130)
        await bench.until(lambda: c.received == have + 130)
    have = c.received
    peer.seen.clear()
    part(have + 10, 20)                              # a hole
    flags, seg, _ = await peer.flags()
    assert flags == "a" and seg["ack"] == (peer.seq + have) & M32
    part(have - 50, 50)                              # nothing new
    flags, seg, _ = await peer.flags()
    assert flags == "a" and seg["ack"] == (peer.seq + have) & M32
    part(have + RING, 20)                            # beyond the window
    flags, seg, _ = await peer.flags()
    assert flags == "a" and seg["ack"] == (peer.seq + have) & M32
    part(have, 5)
    await bench.until(lambda: c.received == have + 5)
    part(have + 5, 5)
    await bench.until(lambda: c.received == have + 30)
    peer.seen.clear()
    # an ACK of what was never sent: answered, and the segment ignored
    peer.send(b"x", seq=c.received, ack=1000)
    flags, seg, _ = await peer.flags()
    assert flags == "a" and c.received == have + 30


# ---------------------------------------------------------------- windows


@cocotb.test()
async def our_window(dut):
    """A session that does not read shuts the window; probes are answered; reading opens it."""
    bench, net, session = await setup(dut)
    for ws in (7, None):
        peer = Peer(net, 1 if ws else 2, 0, total=150_000, ws=ws)
        peer.may_close = False
        conn = 0 if ws else 1
        peer.key = 2 * conn
        peer.open()
        await bench.until(lambda: conn in session.conns)
        c = session.conns[conn]
        c.hold = True
        await bench.until(lambda: peer.wnd == 0, what="window shut", every=10)
        await bench.clocks(20000)
        assert RING - 128 <= c.received <= RING
        # the right edge never moves to the left by more than the unit of the scaled window
        edges = [diff((seg["ack"] + (seg["wnd"] << (7 if ws else 0))) & M32, peer.isn)
                 for seg in peer.seen if not seg["flags"]["syn"]]
        assert all(b - a > -128 for a, b in zip(edges, edges[1:]))
        seen = len(peer.seen)
        c.hold = False
        await bench.until(lambda: c.received == 150_000, what="the rest", every=50)
        assert len(peer.seen) > seen
        assert max(seg["wnd"] for seg in peer.seen[seen:]) << (7 if ws else 0) >= RING // 2
        peer.reset()
        await bench.until(lambda: conn not in session.conns)
    await nothing_left(dut, bench, session)


@cocotb.test()
async def their_window(dut):
    """A shut window is probed with one byte at growing distances, for as long as answers come."""
    bench, net, session = await setup(dut, tick=1)
    peer = await Hand(net, 1).open()
    peer.send(wnd=0)
    await bench.clocks(100)
    c = session.conns[0]
    c.want = 3000
    times = []
    for _ in range(9):
        flags, seg, payload = await peer.flags(300_000)
        assert flags == "a" and payload == stream(1, 0, 1) and seg["seq"] == peer.ack
        times.append(bench.clock)
        peer.send(wnd=0)
    gaps = [b - a for a, b in zip(times, times[1:])]
    for a, b in zip(gaps, gaps[1:]):
        assert 1.5 < b / a < 2.6 or a > 59000, gaps
    assert bench.counts["TcpCountProbes"] == 9 and bench.counts["TcpCountTimeouts"] == 0
    # the probe's byte was taken in the end, and a small window is used up
    bench.tick = 20
    peer.took(1)
    peer.send(wnd=1000)
    flags, seg, payload = await peer.flags(300)
    assert payload == stream(1, 1, 1000) and seg["seq"] == peer.ack
    await peer.silence(200)
    peer.took(1000)
    peer.send(wnd=5000)
    got = b""
    while len(got) < 1999:
        flags, seg, payload = await peer.flags(300)
        got += payload
    assert got == stream(1, 1001, 1999) and seg["flags"]["psh"]
    peer.took(1999)
    peer.send()
    await bench.until(lambda: c.tx_acked == c.tx_ptr)


@cocotb.test()
async def peer_stops_reading(dut):
    bench, net, session = await setup(dut, session={"on_open": lambda c: setattr(c, "want", 100_000)})
    peer = Peer(net, 1, 0, expect=100_000, ring=20_000)
    peer.hold = True
    peer.open()
    await bench.until(lambda: peer.unread >= 20_000 - 128, what="full", every=10)
    await bench.clocks(30_000)
    peer.read()
    await bench.until(lambda: peer.finished, what="closed", every=50)
    await nothing_left(dut, bench, session)


# ---------------------------------------------------------------- losses


@cocotb.test()
async def backoff(dut):
    """Nothing is acknowledged: ten tries, each twice as late, then RST, and it is closed."""
    bench, net, session = await setup(dut, tick=1)
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    session.put(0, c, 2000)
    session.tell(0, c)
    times, bench.on_clock = [], [h for h in bench.on_clock if h != session.step]
    for i in range(12):
        flags, seg, payload = await peer.flags(70000)
        if i < 2:
            assert payload
            continue
        # The third timeout and the fourth make segments smaller: the path may take no larger ones.
        assert flags == "a" and payload == stream(1, 0, {2: 1460, 3: 1460, 4: 1024}.get(i, 512)), i
        times.append(bench.clock)
    gaps = [b - a for a, b in zip(times, times[1:])]
    for a, b in zip(gaps, gaps[1:]):
        assert b <= 60080 and (abs(b - 2 * a) <= 150 or b >= 59_900), gaps
    assert gaps[0] >= 200
    flags, seg, _ = await peer.flags(70000)
    assert flags in ("ra", "ar"), flags
    await nothing_left(dut, bench, session)
    assert session.log[-1] == ("closed", 0)


@cocotb.test()
async def fast_retransmit(dut):
    """Three duplicate ACKs bring the lost segment at once; a partial ACK the next one."""
    bench, net, session = await setup(dut, tick=100)
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    session.put(0, c, 14600)
    session.tell(0, c)
    for at in range(0, 14600, 1460):
        _, payload = await peer.answer(300)
        assert payload == stream(1, at, 1460)
    # the first and the fourth were lost
    for _ in range(2):
        peer.send()
        await peer.silence(60)
    peer.send()
    seg, payload = await peer.answer(300)
    assert seg["seq"] == peer.ack and payload == stream(1, 0, len(payload)) and len(payload) == 1460
    for _ in range(3):
        peer.send()
    peer.took(4380)
    peer.send()
    seg, payload = await peer.answer(300)
    assert seg["seq"] == peer.ack and payload == stream(1, 4380, 1460)
    peer.took(14600 - 4380)
    peer.send()
    await bench.until(lambda: c.tx_acked == c.tx_ptr)
    assert bench.counts["TcpCountFastRexmits"] == 1 and bench.counts["TcpCountTimeouts"] == 0
    # window updates are no duplicates
    session.put(0, c, 1460)
    session.tell(0, c)
    await peer.answer(300)
    for wnd in (60000, 50000, 40000, 65535):
        peer.send(wnd=wnd)
    await peer.silence(100)
    assert bench.counts["TcpCountFastRexmits"] == 1


# ---------------------------------------------------------------- ends


async def ended(dut, bench, session, peer, closed=1):
    await nothing_left(dut, bench, session)
    assert bench.counts["TcpCountClosed"] == closed


@cocotb.test()
async def peer_closes(dut):
    """CLOSE_WAIT, LAST_ACK; data still flows after the peer's FIN."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    peer.send(stream(0, 0, 10), fin=1)
    peer.gave(11)
    flags, seg, _ = await peer.flags()
    assert flags == "a" and seg["ack"] == peer.seq
    await bench.until(lambda: c.fin and c.received == 10)
    session.put(0, c, 500)
    session.tell(0, c)
    _, _, payload = await peer.flags()
    assert payload == stream(1, 0, 500)
    peer.took(500)
    peer.send()
    peer.send(fin=1, seq=-1)                  # the FIN again
    assert (await peer.flags())[0] == "a"
    c.closing = True
    session.tell(0, c)
    flags, seg, _ = await peer.flags()
    assert flags == "fa" or flags == "af", flags
    peer.took(1)
    peer.send()
    await ended(dut, bench, session, peer)
    peer.send()                               # nobody is there any more
    assert (await peer.flags())[0] == "r"


@cocotb.test()
async def we_close(dut):
    """FIN_WAIT_1, FIN_WAIT_2, TIME_WAIT: FIN behind the last byte, ACK of a repeated FIN, the time,
    and reuse by a newer SYN."""
    bench, net, session = await setup(dut, time_wait=200, secret=SECRET)
    session.auto_close = False
    for turn in range(3):
        peer = await Hand(net, 1, isn=1000 + 100000 * turn).open()
        (conn, c), = session.conns.items()
        session.put(conn, c, 300)
        c.closing = True
        session.tell(conn, c)
        flags, seg, payload = await peer.flags()
        assert set(flags) == set("pfa") and payload == stream(c.key + 1, 0, 300)
        peer.took(301)
        peer.send()
        await peer.silence(100)
        peer.send(fin=1)
        peer.gave(1)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq
        await bench.until(lambda: not session.conns)
        assert int(dut.conns_o.value) == 0
        await bench.clocks(1000)
        peer.send(fin=1, seq=-1)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq
        peer.send(rst=1)                      # RFC 1337
        peer.send(fin=1, seq=-1)
        assert (await peer.flags())[0] == "a"
        # the next turn's SYN is newer and reuses the pair of addresses at once
    await bench.clocks(20 * 230)
    peer.send(fin=1, seq=-1)
    assert "r" in (await peer.flags())[0]
    await ended(dut, bench, session, peer, 3)


@cocotb.test()
async def data_after_close(dut):
    """Nobody reads them: RST, with the number that the peer acknowledges, and then as from a closed
    port. What is not new ends nothing, and before the peer has all of the reply nothing does."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    ends = 0
    for reply, seq, extra in ((0, 0, {}), (300, 0, {}), (300, 500, {}), (3000, 0, {}), (300, 0, {"fin": 1}),
                              (300, -5, {})):
        peer = await Hand(net, 1 + ends).open()
        (conn, c), = session.conns.items()
        peer.send(stream(c.key, 0, 40))
        peer.gave(40)
        await bench.until(lambda: c.rx_read == c.rx_have != c.rx_first)
        await bench.clocks(2000)
        peer.seen.clear()
        session.put(conn, c, reply)
        c.closing = True
        session.tell(conn, c)
        taken, flags = 0, ""
        while not (taken == reply and "f" in flags):
            flags, seg, payload = await peer.flags()
            assert payload == stream(c.key + 1, taken, len(payload))
            taken += len(payload)
        if reply:
            # The reply may be lost: it is sent again, and what comes meanwhile is thrown away.
            peer.send(b"late" * 10)
            peer.gave(40)
            if reply > 300:
                await bench.until(lambda: any(payload for _, payload in peer.seen), 100_000)
            await bench.clocks(1000)
            assert peer.seen and not any(seg["flags"]["rst"] for seg, _ in peer.seen) and not c.closed
        peer.took(reply)
        peer.send()                           # everything but the FIN
        await bench.clocks(100)
        peer.seen.clear()
        peer.send(b"old!", seq=-4)            # sent again: ours was lost
        flags, seg, _ = await peer.flags()
        assert set(flags) <= set("fa") and seg["ack"] == peer.seq, flags
        assert not c.closed
        if reply > 300:
            peer.took(1)
            peer.send()                       # and the FIN
            await bench.clocks(100)
        peer.seen.clear()
        for turn in range(2):
            peer.send(b"nobody reads this", seq=seq, **extra)
            flags, seg, _ = await peer.flags()
            assert flags == "r" and seg["seq"] == peer.ack, (flags, seg)
            await peer.silence(100)
        await bench.until(lambda: not session.conns)
        ends += 1
        assert bench.counts["TcpCountUnread"] == ends and int(dut.conns_o.value) == 0
        assert bench.counts["TcpCountResetsOut"] == 0


@cocotb.test()
async def both_close(dut):
    """Simultaneous close: CLOSING, TIME_WAIT."""
    bench, net, session = await setup(dut, time_wait=50)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    c.closing = True
    session.tell(0, c)
    assert set((await peer.flags())[0]) == set("fa")
    peer.send(fin=1)                          # does not acknowledge ours
    peer.gave(1)
    flags, seg, _ = await peer.flags()
    assert seg["ack"] == peer.seq
    assert session.conns
    peer.took(1)
    peer.send()
    await bench.until(lambda: not session.conns)
    await ended(dut, bench, session, peer)


@cocotb.test()
async def lost_fin(dut):
    """FIN is repeated like data."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    session.conns[0].closing = True
    session.tell(0, session.conns[0])
    for _ in range(3):
        flags, seg, _ = await peer.flags(100_000)
        assert set(flags) == set("fa") and seg["seq"] == peer.ack
    peer.took(1)
    peer.send(fin=1)
    peer.gave(1)
    assert (await peer.flags())[0] == "a"
    await bench.until(lambda: not session.conns)


@cocotb.test()
async def resets(dut):
    """RST in every state: exact -> over, in the window -> challenge, elsewhere -> nothing. SYN in a
    synchronised state -> challenge."""
    bench, net, session = await setup(dut)
    session.auto_close = False

    async def tried(peer):
        peer.seen.clear()
        peer.send(rst=1, seq=100)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq
        peer.send(rst=1, seq=-1)
        peer.send(rst=1, seq=RING + 1)
        await peer.silence(100)
        peer.send(rst=1)
        await peer.silence(200)
        peer.send()
        assert (await peer.flags())[0] == "r"

    # ESTABLISHED
    peer = await Hand(net, 2).open()
    peer.send(syn=1, seq=random.randrange(-100000, 100000))
    flags, seg, _ = await peer.flags()
    assert flags == "a" and seg["ack"] == peer.seq
    await bench.clocks(520 * bench.tick)      # two challenges in half a second are one
    await tried(peer)
    # CLOSE_WAIT
    peer = await Hand(net, 3).open()
    peer.send(fin=1)
    peer.gave(1)
    await peer.flags()
    await tried(peer)
    # FIN_WAIT_1, FIN_WAIT_2, LAST_ACK
    for acked, fin in ((0, 0), (1, 0), (0, 1)):
        peer = await Hand(net, 4 + 2 * acked + fin).open()
        conn = next(iter(session.conns))
        if fin:
            peer.send(fin=1)
            peer.gave(1)
            await peer.flags()
        session.conns[conn].closing = True
        session.tell(conn, session.conns[conn])
        await peer.flags()
        if acked:
            peer.took(1)
            peer.send()
            await bench.clocks(50)
        await tried(peer)
    await ended(dut, bench, session, peer, 5)
    assert bench.counts["TcpCountResetsIn"] == 5


@cocotb.test()
async def session_resets(dut):
    """RST out, closed, and later commands change nothing."""
    bench, net, session = await setup(dut)
    peer = await Hand(net, 1).open()
    session.auto_release = False
    session.tell(0, session.conns[0], reset=1)
    session.tell(0, session.conns[0])
    session.tell(0, session.conns[0], reset=1)
    flags, seg, _ = await peer.flags()
    assert set(flags) == set("ra") and seg["seq"] == peer.ack
    await bench.until(lambda: session.conns[0].closed)
    session.tell(0, session.conns[0])
    await peer.silence(200)
    session.conns.clear()
    session.auto_release = True
    bench.app(conn=0, release_id=1)
    await bench.clocks(100)
    peer2 = await Hand(net, 1, isn=5).open()
    assert session.conns
    peer2.send(rst=1)
    await nothing_left(dut, bench, session)


@cocotb.test()
async def strays(dut):
    """Segments of no connection get the RST that RFC 9293 says; RST gets nothing."""
    bench, net, session = await setup(dut, secret=SECRET)
    peer = Hand(net, 9, isn=1)
    peer.ack = 12345
    peer.send(b"hello" * 100)
    flags, seg, _ = await peer.flags()
    assert flags == "r" and seg["seq"] == 12345
    peer.send(b"hello", fin=1, bare=True)
    flags, seg, _ = await peer.flags()
    assert set(flags) == set("ra") and seg["seq"] == 0 and seg["ack"] == (peer.seq + 6) & M32
    peer.send(rst=1)
    peer.send(syn=1, bare=False)
    assert (await peer.flags())[0] == "r"
    await peer.silence(100)
    await nothing_left(dut, bench, session)


# ---------------------------------------------------------------- ids


@cocotb.test()
async def ids_come_back(dut):
    """Hundreds of connections one after another and overlapping leave nothing behind."""
    bench, net, session = await setup(dut, time_wait=10, session={"on_open": lambda c: setattr(c, "want", 20)})
    seen = 0
    session.key = lambda conn: 0             # all streams of this test are the same bytes
    for turn in range(40):
        peers = [Peer(net, 8 * turn + i + 1, 0, total=0, expect=20) for i in range(8)]
        for peer in peers:
            peer.open()
        await bench.until(lambda: all(p.finished and not p.tell_ack for p in peers),
                          what="closed", every=10)
        for peer in peers:
            del net.peers[whose(peer.addr)]
        seen += 8
    await bench.until(lambda: bench.counts["TcpCountClosed"] == seen)
    await nothing_left(dut, bench, session)


@cocotb.test()
async def full(dut):
    """All ids in use, or as many as the user allows: the next one is told, and sent away; TIME_WAIT
    gives way, oldest first."""
    bench, net, session = await setup(dut, time_wait=60000)
    session.auto_close = False
    peers = [await Hand(net, i + 1).open() for i in range(16)]
    assert int(dut.conns_o.value) == 16
    late = await Hand(net, 50).open()
    await refused(late)
    assert bench.counts["TcpCountFullNoId"] == 1
    # two connections go to TIME_WAIT, one after the other
    for peer, conn in ((peers[3], 3), (peers[7], 7)):
        session.conns[conn].closing = True
        session.tell(conn, session.conns[conn])
        assert set((await peer.flags())[0]) == set("fa")
        peer.took(1)
        peer.send(fin=1)
        peer.gave(1)
        assert (await peer.flags())[0] == "a"
        await bench.clocks(200)
    # the oldest is not held for a minute while ids are short
    late.isn = late.seq = 77
    await late.open()
    assert 3 in session.conns
    assert bench.counts["TcpCountRecycled"] >= 1
    dut.conn_limit_i.value = 15
    for peer in peers[:2]:
        peer.send(rst=1)
    await bench.until(lambda: int(dut.conns_o.value) == 13)
    await bench.clocks(100)
    for i, (room, redis) in enumerate(((1, 0), (1, 1), (0, 0), (0, 1))):
        peer = Hand(net, 60 + i)
        peer.addr["redis"] = redis
        net.peers[whose(peer.addr)] = peer
        await peer.open()
        if not room:
            await refused(peer)
    assert bench.counts["TcpCountFullLimit"] == 2
    peers[4].send(stream(8, 0, 100))          # the others notice nothing
    await bench.until(lambda: session.conns[4].received == 100)


@cocotb.test()
async def session_stalls(dut):
    """A session that takes no event for a while stops nobody's commands."""
    bench, net, session = await setup(dut)
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    bench.ev_stall = True
    for i in range(60):
        peer.send(stream(0, i, 1), seq=i)
    await bench.clocks(2000)
    session.put(0, c, 700)
    session.tell(0, c)
    await bench.until(lambda: any(p for _, p in peer.seen), 500, "data")
    bench.ev_stall = False
    await bench.until(lambda: c.received == 60)


def test_tcp():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
