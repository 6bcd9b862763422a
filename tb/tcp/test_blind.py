"""Who does not know a connection's numbers learns nothing of it, does nothing to it, and makes the
card send little (RFC 5961); the peer may come by another way."""

import cocotb

from harness.models import run
from harness.structs import T
from tcp.peers import M32, RING, SECRET, Hand, setup, stream

BURST, EVERY = 4, 100      # the card's limits here
TOLD = 8 * 64              # ms in which a connection is challenged once

OTHER_MAC = {"mac": 0x0200DEADBEEF}
OTHER_VLAN = {"vlan_valid": 1, "vlan_tci": 7}
LINKS = (OTHER_MAC, OTHER_VLAN)


async def start(dut, **options):
    bench, net, session = await setup(dut, tick=2, **options)
    session.auto_close = False
    return bench, net, session


async def gone(bench, session):
    """The connection is over and its place is free."""
    await bench.until(lambda: not session.conns)
    await bench.clocks(100)


async def rested(bench):
    """All limits allow everything again."""
    await bench.clocks(2 * max(TOLD, BURST * EVERY) + 200)


def forgeries(peer, link):
    """What somebody who guesses sends: name, how, whether it is answered."""
    def send(*args, **kwargs):
        return lambda: peer.send(*args, link=link, **kwargs)
    yield "SYN", send(syn=1, seq=123456789), True
    yield "SYN in the window", send(syn=1, seq=100), True
    yield "RST in the window", send(rst=1, seq=100), True
    yield "RST elsewhere", send(rst=1, seq=RING + 1), False
    yield "SYN and ACK", send(syn=1, seq=1 << 30, bare=False), True
    yield "ACK elsewhere", send(seq=1 << 30), True
    yield "data elsewhere", send(b"flush_all\r\n", seq=1 << 31), True
    yield "ACK of something never sent", send(ack=5), True
    yield "ACK that is too old", send(b"flush_all\r\n", ack=-100_000), True
    yield "data and no ACK of ours", send(b"flush_all\r\n", ack=1 << 31), True


@cocotb.test()
async def forged(dut):
    """What answers there are go to the connection's peer (the bench's network looks at that), and
    the connection goes on as if nothing had been."""
    bench, net, session = await start(dut)
    for link in LINKS:
        for closing in (False, True):
            peer = await Hand(net, 1).open()
            (conn, c), = session.conns.items()
            if closing:
                peer.send(fin=1)
                peer.gave(1)
                await peer.flags()
            for name, send, answered in forgeries(peer, link):
                await rested(bench)
                peer.seen.clear()
                send()
                if answered:
                    flags, seg, payload = await peer.flags()
                    assert flags == "a" and seg["ack"] == peer.seq and not payload, name
                await peer.silence(200)
                assert c.received == 0 and not c.closed
            session.put(conn, c, 100)
            session.tell(conn, c)
            _, payload = await peer.answer()
            assert payload == stream(c.key + 1, 0, 100)
            peer.took(100)
            peer.send(rst=1)
            await gone(bench, session)
    assert bench.counts["TcpCountMoved"] == 0


async def in_time_wait(bench, session, peer, data=300):
    """Brings an open connection there."""
    (conn, c), = session.conns.items()
    session.put(conn, c, data)
    c.closing = True
    session.tell(conn, c)
    while not (await peer.answer())[0]["flags"]["fin"]:
        pass
    peer.took(data + 1)
    peer.send(fin=1)
    peer.gave(1)
    assert (await peer.flags())[0] == "a"
    await gone(bench, session)


@cocotb.test()
async def forged_time_wait(dut):
    """The same when it is over: a stranger's SYN does not take the place."""
    bench, net, session = await start(dut, time_wait=20000)
    peer = await Hand(net, 1).open()
    await in_time_wait(bench, session, peer)
    for link in LINKS:
        for send in (lambda: peer.send(syn=1, seq=100000, link=link), lambda: peer.send(syn=1, seq=-5, link=link),
                     lambda: peer.send(b"x", seq=1000, link=link)):
            await rested(bench)
            send()
            flags, seg, _ = await peer.flags()
            assert flags == "a" and seg["ack"] == peer.seq
            await peer.silence(200)
    assert not session.conns and bench.counts["TcpCountMoved"] == 0


@cocotb.test()
async def moves(dut):
    """Whatever shows that its sender knows the numbers moves the connection there: its answer goes
    the new way, and so does what the card sends later."""
    bench, net, session = await start(dut)
    peer = await Hand(net, 1).open()
    (conn, c), = session.conns.items()
    home, moved = dict(peer.addr), 0
    session.put(conn, c, 50)
    session.tell(conn, c)
    await peer.answer()
    peer.took(50)
    peer.send()
    await bench.until(lambda: c.tx_acked == c.tx_ptr)

    def data(n=100, seq=0, **options):
        peer.send(stream(c.key, c.received + seq, n), seq=seq, **options)

    async def fresh(**options):
        have = c.received
        data(100, **options)
        peer.gave(100)
        await bench.until(lambda: c.received == have + 100)
        await bench.clocks(100)  # an ACK comes later than the session knows

    async def ahead(**options):
        data(1, seq=5000, **options)
        assert (await peer.flags())[0] == "a"

    async def old(**options):           # our ACK of it was lost
        data(50, seq=-150, **options)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq

    async def probe(**options):         # keep-alive
        await rested(bench)
        peer.send(seq=-1, **options)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq

    async def bare(**options):
        peer.send(**options)
        await bench.clocks(100)

    async def late_ack(**options):
        peer.send(ack=-50, **options)
        await bench.clocks(100)

    await fresh()
    await fresh()
    for kind in (fresh, ahead, old, probe, bare, late_ack):
        for link in (OTHER_MAC, OTHER_VLAN, OTHER_MAC | OTHER_VLAN, {}):
            await bench.clocks(100)
            peer.seen.clear()
            peer.addr = home | link
            await kind()
            moved += 1
            peer.seen.clear()
            place = c.sent
            session.put(conn, c, 20)
            session.tell(conn, c)
            _, payload = await peer.answer()     # to the new place, or the bench complains
            assert payload == stream(c.key + 1, place, 20)
            peer.took(20)
            peer.send()
            await bench.until(lambda: c.tx_acked == c.tx_ptr)
            assert bench.counts["TcpCountMoved"] == moved
    # other priority bits are no other way
    peer.addr = home | {"vlan_valid": 1, "vlan_tci": 7}
    await fresh()
    peer.addr = home | {"vlan_valid": 1, "vlan_tci": 0xE007}
    await fresh()
    assert bench.counts["TcpCountMoved"] == moved + 1


@cocotb.test()
async def idle_is_the_peers(dut):
    """Forged segments do not count as a sign of life: see keep_alive in test_slow.py."""
    bench, net, session = await start(dut)
    peer = await Hand(net, 1).open()
    table = dut.u_tcb.u_table.u_silence.mem_q[0]

    def idle():
        return int(dut.second.value) - T.silence_t.unpack(int(table.value))["heard"]

    await bench.until(lambda: idle() == 2, 100_000, "two slow visits", every=100)
    peer.send(syn=1, seq=1 << 30, link=OTHER_MAC)
    peer.send(seq=1 << 30)
    await bench.clocks(200)
    assert idle() == 2
    peer.send()
    await bench.clocks(200)
    assert idle() == 0


@cocotb.test()
async def old_acks(dut):
    """An ACK may be as old as the largest window the peer ever had, and no older."""
    bench, net, session = await start(dut)
    for ws, windows, largest in ((None, (5000, 20000, 1000), 20000), (None, (300,), 300),
                                 (3, (100, 4000, 10), 32000), (7, (65535, 100), RING)):
        options = {} if ws is None else {"ws_valid": 1, "ws": ws}
        peer = Hand(net, 1, **options)
        peer.wnd = 100                        # a SYN's window is not scaled
        await peer.open()
        (conn, c), = session.conns.items()
        for peer.wnd in windows:
            peer.send()
            await bench.clocks(60)
        for ack, good in ((-largest, True), (-1, True), (-largest - 1, False), (-100_000, False),
                          (-RING - 1, False), (1 - (1 << 17), False), (-1 << 17, False), (-1 << 31, False), (0, True)):
            await rested(bench)
            have = c.received
            peer.seen.clear()
            peer.send(stream(c.key, have, 10), ack=ack)
            if good:
                await bench.until(lambda: c.received == have + 10, what=(ack, largest))
                peer.gave(10)
            else:
                flags, seg, _ = await peer.flags()
                assert flags == "a" and seg["ack"] == peer.seq and seg["seq"] == peer.ack
                await bench.clocks(100)
                assert c.received == have, (ack, largest)
        peer.send(rst=1)
        await gone(bench, session)


@cocotb.test()
async def reopened(dut):
    """A newer SYN takes the place of TIME_WAIT, with numbers above all that were used there, however
    much was sent in however short a time."""
    bench, net, session = await start(dut, time_wait=20000)
    bench.tick = 1000
    peer = await Hand(net, 1, isn=1 << 31).open()
    for newer in (0, 1, 70_000, (1 << 31) - 1):
        await in_time_wait(bench, session, peer, 14_000)
        used = peer.ack
        peer.isn = peer.seq = (peer.seq + newer) & M32
        await peer.open()
        # so far above that nothing of the old connection fits into a window
        assert RING <= (peer.syn_ack["seq"] - used) & M32 <= (1 << 31) + RING, newer
        assert len(session.conns) == 1
    assert bench.counts["TcpCountOpened"] == 5


@cocotb.test()
async def older_syn(dut):
    """An older SYN does not take the place of TIME_WAIT: it is told what would fit."""
    bench, net, session = await start(dut, time_wait=20000)
    peer = await Hand(net, 1).open()
    await in_time_wait(bench, session, peer)
    for older in (-1, -2, -70_000, -(1 << 31)):
        peer.send(syn=1, seq=older)
        flags, seg, _ = await peer.flags()
        assert flags == "a" and seg["ack"] == peer.seq and seg["seq"] == peer.ack
        await rested(bench)
    peer.send(fin=1, seq=-1)                  # it is still there
    assert (await peer.flags())[0] == "a"
    assert bench.counts["TcpCountOpened"] == 1


@cocotb.test()
async def once_a_connection(dut):
    """A connection is challenged once in half a second, what carries data is always answered, and
    what one connection's limit holds back is not missing for others."""
    bench, net, session = await start(dut)
    peers = [await Hand(net, i).open() for i in (1, 2)]
    a, b = peers

    def rush(n):
        for i in range(n):
            (lambda: a.send(syn=1, seq=i), lambda: a.send(rst=1, seq=1 + i), lambda: a.send(seq=-1 - i),
             lambda: a.send(ack=i + 1), lambda: a.send(b"x", ack=-100_000 - i))[i % 5]()

    begin = bench.clock
    for wave in range(3):
        rush(100)
        await bench.clocks(2500 if wave == 2 else 100)
    assert 1 <= len(a.seen) <= 1 + (bench.clock - begin) // (2 * (TOLD - 64))
    held = bench.counts["TcpCountChallengesHeld"]
    assert bench.counts["TcpCountChallenges"] == len(a.seen) and held == 300 - len(a.seen)
    b.send(syn=1, seq=77)                     # another one's
    assert (await b.flags())[0] == "a"
    # repeated data and what is beyond the window
    a.seen.clear()
    for i in range(100):
        a.send(b"x", seq=-1 if i % 2 else RING + 1)
    await bench.until(lambda: len(a.seen) == 100, 6000, "100 ACKs")
    # in time it may again
    await rested(bench)
    a.seen.clear()
    rush(1)
    await a.flags()


@cocotb.test()
async def once_a_card(dut):
    """All connections together, and RSTs to strangers: a few at once, then so many a second. Nobody
    else waits for it."""
    bench, net, session = await start(dut, secret=SECRET)
    peers = [await Hand(net, i).open() for i in range(1, 11)]
    await rested(bench)
    for count, held, flood in (
            ("TcpCountChallenges", "TcpCountChallengesHeld", lambda: [p.send(rst=1, seq=9) for p in peers]),
            ("TcpCountStrays", "TcpCountStraysHeld", lambda: [strange.send(b"get x\r\n") for _ in range(10)])):
        strange = Hand(net, 50, isn=1 << 20)
        before, kept = bench.counts[count], bench.counts[held]
        flood()
        await bench.clocks(120)
        assert bench.counts[count] == before + BURST and bench.counts[held] == kept + 10 - BURST
        begin = bench.clock
        while bench.counts[count] < before + BURST + 5:
            flood()
            await bench.clocks(50)
        took = (bench.clock - begin) / 2
        assert 4 * EVERY <= took <= 6 * EVERY, took
        assert int(dut.timers_o.value)
        # connections work beside it, and open
        flood()
        c = session.conns[3]
        have = c.received
        peers[3].send(stream(c.key, have, 100))
        peers[3].gave(100)
        await bench.until(lambda: c.received == have + 100, 1000)
        other = await Hand(net, 60).open()
        other.send(rst=1)
        await rested(bench)
        for peer in peers:
            peer.seen.clear()


@cocotb.test()
async def limits_need_ticks(dut):
    """Ticks are asked for until the limits are as they were, with no connection there."""
    bench, net, session = await start(dut, secret=SECRET)
    assert not int(dut.timers_o.value)
    Hand(net, 1, isn=1).send(b"hello")
    await bench.until(lambda: int(dut.timers_o.value), 200)
    await bench.until(lambda: not int(dut.timers_o.value), 3 * EVERY)


def test_blind():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16, LimitBurst=BURST, LimitTicks=EVERY,
        SlowTicks=1000)
