"""Handshakes of which nothing is kept until they are complete: what cookies carry, what completes
one and what does not, and floods of SYNs."""

import random

import cocotb

from harness.models import run
from harness.size import scale
from tcp.peers import M32, RING, Hand, agreed_mss, blocks, refused, setup, stream, table, whose

EPOCH = 1 << 16     # ticks


async def asked(peer):
    """A SYN and its answer; the peer says nothing more."""
    peer.send(syn=1)
    flags, seg, _ = await peer.flags()
    assert flags == "as" and seg["ack"] == (peer.seq + 1) & M32
    peer.gave(1)
    peer.ack = (seg["seq"] + 1) & M32
    return seg


@cocotb.test()
async def both_ports(dut):
    """One port of a peer on both of the card's: two connections, and the session is told which is which."""
    bench, net, session = await setup(dut)
    for redis in (1, 0):
        peer = Hand(net, 1)
        peer.addr["redis"] = redis
        net.peers[whose(peer.addr)] = peer
        await peer.open()
    assert len(session.conns) == 2 and bench.opened == {0: 1, 1: 0} and not net.strays


async def gone(bench, session):
    await bench.until(lambda: not session.conns)
    await bench.clocks(60)


def set_time(dut, ticks):
    dut.u_timers.ticks_q.value = ticks


@cocotb.test()
async def nothing_kept(dut):
    """A SYN takes no place; the same SYN gets the same answer, any other one another answer."""
    bench, net, session = await setup(dut)
    answers = set()
    for i in range(100):
        peer = Hand(net, i % 50 + 1, isn=i // 50)
        first = await asked(peer)
        assert first["mss"] == 1460 and first["wnd"] == 65535 and not first["ws_valid"]
        again = Hand(net, i % 50 + 1, isn=i // 50)
        assert await asked(again) == first
        answers.add(first["seq"])
    assert len(answers) == 100 and bench.counts["TcpCountSyns"] == 200
    for i in range(16):                       # all ids are there
        await Hand(net, 1000 + i).open()
    assert len(session.conns) == 16 == bench.counts["TcpCountOpened"]


@cocotb.test()
async def options_kept(dut):
    """The window scale and SACK exactly, the MSS rounded down to one of eight, our own among them."""
    for mtu in (9000, 1500, 1000, 576):
        bench, net, session = await setup(dut, mtu=mtu, time_wait=1)  # buckets of the smallest table are few
        sizes = [None, 0, 63, 64, 500, 535, 536, 537, 900, 1219, 1220, 1379, 1380, 1399, 1400, 1439, 1440, 1459, 1460,
                 1461, 8959, 8960, 65535, mtu - 41, mtu - 40, mtu - 39]
        scales = [None, *range(15)]
        for i in range(max(len(sizes), len(scales))):
            mss, ws = sizes[i % len(sizes)], scales[i % len(scales)]
            options = {"mss_valid": int(mss is not None), "mss": mss or 0, "sack_ok": random.getrandbits(1)}
            if ws is not None:
                options |= {"ws_valid": 1, "ws": ws}
            peer = Hand(net, i + 1, **options)
            seg = await asked(peer)
            assert seg["ws_valid"] == (ws is not None) and seg["mss"] == mtu - 40
            assert seg["sack_ok"] == options["sack_ok"]
            peer.send(wnd=300)
            await bench.until(lambda: session.conns)
            (conn, c), = session.conns.items()
            await bench.clocks(2)             # what the event tells is in the table
            word = table(dut, conn)
            assert word["mss"] == agreed_mss(mss, mtu - 40), mss
            assert (word["ws"] if word["ws_ok"] else None) == ws
            assert word["snd_wnd"] == min(300 << (ws or 0), RING)
            peer.send(b"x", seq=1)            # a hole
            flags, seg, _ = await peer.flags()
            assert flags == "a" and len(blocks(seg)) == options["sack_ok"]
            peer.send(rst=1)
            await gone(bench, session)


@cocotb.test()
async def age(dut):
    """A cookie is good in its epoch and in the next one, wherever in its epoch it was made."""
    bench, net, session = await setup(dut, tick=0)
    for turn, (made, used, good) in enumerate((
            (0, 0, True), (0, 2 * EPOCH - 1, True), (EPOCH - 1, 2 * EPOCH - 1, True), (EPOCH, 3 * EPOCH - 1, True),
            (0, 2 * EPOCH, False), (EPOCH - 1, 2 * EPOCH, False), (EPOCH, 3 * EPOCH, False), (5, (1 << 32) - 1, False),
            ((1 << 32) - 1, 0, True), ((1 << 32) - 1, EPOCH, False), (0, 3 * EPOCH, False), (7, 4 * EPOCH, False))):
        peer = Hand(net, turn + 1)
        set_time(dut, made)
        await bench.clocks(3)
        await asked(peer)
        set_time(dut, used)
        await bench.clocks(3)
        peer.send()
        if good:
            await bench.until(lambda: session.conns)
            peer.send(rst=1)
            await gone(bench, session)
        else:
            before = bench.counts["TcpCountStrays"] + bench.counts["TcpCountEarly"]
            await bench.until(lambda: bench.counts["TcpCountStrays"] + bench.counts["TcpCountEarly"] == before + 1,
                              1000, (made, used))
            await bench.clocks(100)
            assert not session.conns
        bench.tick = 1                        # the limit of RSTs
        await bench.clocks(50)
        bench.tick = 0
        await bench.clocks(1)                 # the last tick has been


@cocotb.test()
async def ticks_until_old(dut):
    """Ticks are asked for until the last cookie is too old."""
    bench, net, session = await setup(dut, tick=0)
    assert not int(dut.timers_o.value)
    set_time(dut, EPOCH - 10)
    await asked(Hand(net, 1))
    for _ in range(3):
        await bench.clocks(3)
        assert int(dut.timers_o.value)
        set_time(dut, EPOCH + 10)
    set_time(dut, 2 * EPOCH)
    await bench.clocks(4)
    assert not int(dut.timers_o.value)


@cocotb.test()
async def guesses(dut):
    """No other number completes a handshake: single wrong bits, another peer's cookie, random ones.
    They are answered as segments of no connection, but for what looks like the peer's later data."""
    bench, net, session = await setup(dut, tick=1)
    peer, other = Hand(net, 1), Hand(net, 2)
    await asked(peer)
    await asked(other)
    tries = 0

    async def wrong(seq=0, ack=0, who=peer, **options):
        nonlocal tries
        before = sum(bench.counts[c] for c in ("TcpCountStrays", "TcpCountEarly"))
        who.send(seq=seq, ack=ack, **options)
        await bench.until(lambda: sum(bench.counts[c] for c in ("TcpCountStrays", "TcpCountEarly")) == before + 1,
                          1000, (seq, ack))
        tries += 1
        assert not session.log, (seq, ack)

    for bit in range(32):                     # options, too: they are those that the SYN-ACK agreed to
        for sign in (1, -1):
            await wrong(ack=sign << bit)
            await wrong(seq=sign << bit)
    for _ in range(scale(150, 1000)):
        await wrong(ack=random.getrandbits(32), seq=random.choice((0, random.getrandbits(32))))
    await wrong(ack=other.ack - peer.ack)
    await wrong(who=Hand(net, 3, isn=peer.isn), seq=1, ack=peer.ack)
    for part in ("port", "redis"):
        peer.addr[part] ^= 1
        await wrong()
        peer.addr[part] ^= 1
    for flags in ({"rst": 1}, {"syn": 1}, {"syn": 1, "bare": False}, {"fin": 1, "bare": True}, {"bare": True}):
        peer.send(b"get x\r\n" if "syn" not in flags else b"", **flags)
        await bench.clocks(60)
        assert not session.log, flags
    assert bench.counts["TcpCountStrays"] > tries // 2
    peer.send()                               # and the right one does
    await bench.until(lambda: session.conns)


@cocotb.test()
async def what_completes(dut):
    """The ACK, the first data, with FIN or without: whichever comes first; later data wait."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    for i, (first, fin) in enumerate(((0, 0), (1, 0), (700, 0), (1460, 1), (0, 1))):
        peer = Hand(net, i + 1)
        session.key = lambda conn: 0
        await asked(peer)
        for late in (1, 1460, 30_000, RING - 1):
            peer.send(b"x" * 10, seq=late)    # what comes behind is here before it
            await peer.silence(60)
        assert not session.conns and bench.counts["TcpCountEarly"] == 4 * (i + 1)
        peer.send(stream(0, 0, first), fin=fin)
        await bench.until(lambda: session.conns)
        (conn, c), = session.conns.items()
        await bench.until(lambda: c.received == first and c.fin == bool(fin))
        session.put(conn, c, 100)
        session.tell(conn, c)
        seg, payload = await peer.answer()
        while not payload:
            seg, payload = await peer.answer()
        assert payload == stream(1, 0, 100) and seg["ack"] == (peer.seq + first + fin) & M32
        assert seg["seq"] == peer.ack
        peer.send(rst=1, seq=first + fin)
        await gone(bench, session)
        peer.seen.clear()


@cocotb.test()
async def later_data_borrow(dut):
    """Later data that come before the ACK wait, too, if they are further behind than the cookie's proof is large."""
    bench, net, session = await setup(dut, tick=1)
    met = 0
    for i in range(500):
        if met == 2:
            break
        peer = Hand(net, i)
        await asked(peer)
        proof = (peer.ack - peer.seq) % (1 << 22)
        if proof < RING - 1460:
            met += 1
            for late in (1, proof, proof + 1, RING - 1):
                peer.send(b"x" * 10, seq=late)
                await peer.silence(60)
            peer.send()
            await bench.until(lambda: session.conns)
            peer.send(rst=1)
            await gone(bench, session)
    assert met


@cocotb.test()
async def refused_borrow(dut):
    """Who is refused gets an answer to what it sends then, also if its numbers could be those of later data that
    borrow."""
    bench, net, session = await setup(dut, tick=1, limit=0)
    for i in range(4):                        # both protocols
        for upper in (1008, random.randrange(1009, 1022), 1022):  # of the proof: 10 bits, of which six are ones
            peer = Hand(net, i, isn=0)
            await asked(peer)
            proof = (peer.ack - peer.seq) % (1 << 22)
            # The SYN's number is added to these.
            peer = Hand(net, i, isn=(upper - (proof >> 12)) % 1024)
            await peer.open()
            assert (peer.ack - peer.seq) % (1 << 22) >> 12 == upper
            await refused(peer)
    assert bench.counts["TcpCountFullLimit"] == 12


@cocotb.test()
async def nobody_shakes(dut):
    """What looks as if it had overtaken the end of a handshake is of none, if no SYN was answered for
    seconds: it is answered with RST, and its peer begins anew."""
    bench, net, session = await setup(dut)
    peer = Hand(net, 1)
    await asked(peer)
    for ticks in (4095, 8191):
        peer.send(b"x" * 10, seq=1460)
        await peer.silence(60)
        set_time(dut, ticks)
        await bench.clocks(60)
    peer.send(b"x" * 10, seq=1460)
    flags, seg, _ = await peer.flags()
    assert flags == "r" and seg["seq"] == peer.ack
    assert bench.counts["TcpCountEarly"] == 2 and bench.counts["TcpCountStrays"] == 1
    await asked(Hand(net, 2))                 # somebody else's SYN
    peer.send(b"x" * 10, seq=1460)
    await peer.silence(60)


@cocotb.test()
async def not_again(dut):
    """When a connection is over, what began it does not begin it again, and neither do its later
    segments, however many bytes went either way."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    session.key = lambda conn: 0
    for how in ("fin", "rst"):
        for got, gave in ((0, 0), (1, 1), (40, 40), (1000, 1000), (1, 40), (40, 1), (0, 34), (3000, 3000)):
            if how == "rst" and not got + gave:
                continue                      # its last numbers are its first ones
            peer = Hand(net, random.randrange(1, 200))
            await asked(peer)
            first = (peer.seq, peer.ack)
            peer.send(stream(0, 0, min(got, 1460)))
            await bench.until(lambda: session.conns)
            (conn, c), = session.conns.items()
            while c.received < got:
                peer.send(stream(0, c.received, min(got - c.received, 1460)), seq=c.received)
                have = c.received
                await bench.until(lambda: c.received > have)
            peer.gave(got)
            if gave:
                session.put(conn, c, gave)
                session.tell(conn, c)
            while (peer.ack - first[1]) & M32 < gave:
                peer.took(len((await peer.answer())[1]))
            if how == "rst":
                peer.send(rst=1)
            else:
                peer.send(fin=1)
                peer.gave(1)
                await bench.until(lambda: c.fin)
                c.closing = True
                session.tell(conn, c)
                while not (await peer.answer())[0]["flags"]["fin"]:
                    pass
                peer.took(1)
                peer.send()
            await gone(bench, session)
            opened, last = bench.counts["TcpCountOpened"], (peer.seq, peer.ack)
            await bench.clocks(3000)          # TIME_WAIT is over
            peer.seq, peer.ack = last
            peer.send()
            peer.send(b"x")
            await bench.clocks(100)
            assert bench.counts["TcpCountOpened"] == opened, (how, got, gave)


@cocotb.test()
async def copies(dut):
    """What a network doubles and brings when the connection is over already."""
    bench, net, session = await setup(dut)
    session.key = lambda conn: 0
    for how in ("fin", "rst"):
        peer = Hand(net, 1 + (how == "rst"))
        await asked(peer)
        copy = {"seq": 0, "payload": stream(0, 0, 30)}
        peer.send(**copy)
        await bench.until(lambda: session.conns)
        peer.send(seq=30, **{how: 1})
        if how == "fin":
            await bench.until(lambda: any(seg["flags"]["fin"] for seg, _ in peer.seen))
            peer.send(seq=31, ack=1)
        await gone(bench, session)
        peer.seen.clear()
        peer.send()
        peer.send(**copy)
        for _ in range(2):
            assert (await peer.flags())[0] == "r"
        assert not session.conns
        again = Hand(net, 1 + (how == "rst"), isn=peer.isn - 100_000)  # any new one is welcome
        await asked(again)
        again.send()
        await bench.until(lambda: session.conns)
        again.send(rst=1)
        await gone(bench, session)


@cocotb.test()
async def close_behind(dut):
    """The ACK twice, and data right behind it, among other peers' segments, without a pause: each
    finds its connection, which there is once."""
    bench, net, session = await setup(dut)
    session.auto_close = False
    session.key = lambda conn: 0
    for turn in range(12):
        peers = [Hand(net, 100 * turn + i) for i in range(15)]
        for peer in peers:
            await asked(peer)
        todo = [(peer, part) for peer in peers for part in ("ack", "ack", "data", "more")]
        if turn % 2:
            order = [(peer, iter(("ack", "ack", "data", "more"))) for peer in peers for _ in range(4)]
            random.shuffle(order)
            parts = {}
            todo = [(peer, next(parts.setdefault(id(peer), it))) for peer, it in order]
        for peer, part in todo:
            if part == "ack":
                peer.send()
            elif part == "data":
                peer.send(stream(0, 0, 100))
            else:
                peer.send(stream(0, 100, 100), seq=100)
        await bench.until(lambda: len(session.conns) == 15 and all(c.received == 200 for c in session.conns.values()),
                          20_000)
        for peer in peers:
            peer.send(rst=1, seq=200)
        await gone(bench, session)
    assert bench.counts["TcpCountOpened"] == 12 * 15 and not bench.counts["TcpCountStrays"]


@cocotb.test()
async def one_a_clock(dut):
    """Strangers hold nobody up: SYNs, and ACKs of no connection, take a clock each."""
    bench, net, session = await setup(dut)
    many = 500
    for flags, count in (("syn", "TcpCountSyns"), ("ack", "TcpCountSegsIn")):
        before, begin = bench.counts[count], bench.clock
        for _ in range(many):
            addr = {"ip": random.getrandbits(32), "port": random.randrange(1, 65536), "mac": 0x020000000000,
                    "vlan_valid": 0, "vlan_tci": 0}
            bench.send({"peer": addr, "seq": random.getrandbits(32), "ack": random.getrandbits(32), "wnd": 1000,
                        "flags": {flags: 1}})
        await bench.until(lambda: bench.counts[count] == before + many, 20 * many, flags)
        assert bench.clock - begin < many + 100, (flags, bench.clock - begin)


@cocotb.test()
async def same_port_again(dut):
    """A SYN right behind the last ACK of the connection before, whose id is still in use: answered.
    Its ACK waits until the id is free; the peer's first data do for it."""
    bench, net, session = await setup(dut)
    peer = await Hand(net, 1).open()
    session.auto_release = False
    peer.send(fin=1)
    peer.gave(1)
    await bench.until(lambda: any(seg["flags"]["fin"] for seg, _ in peer.seen))
    peer.seen.clear()
    peer.took(1)
    peer.send()
    peer.seq = (peer.seq - 1000) & M32        # an older number: TIME_WAIT would not let it in
    await asked(peer)
    peer.send()
    await peer.silence(100)
    session.conns.clear()
    session.auto_release = True
    bench.app(conn=0, release_id=1)
    await bench.clocks(60)
    session.key = lambda conn: 0
    peer.send(stream(0, 0, 50))
    await bench.until(lambda: any(c.received == 50 for c in session.conns.values()), 2000)


@cocotb.test()
async def flood(dut):
    """SYNs from everywhere, three a millisecond, and ACKs that complete nothing: connections that
    are open never wait for 50 ms, every new client is served within a second, and nothing is left."""
    syns = scale(4_000, 50_000)
    tick = 60
    bench, net, session = await setup(dut, tick=tick)
    session.key = lambda conn: 0
    session.auto_close = False
    old = [await Hand(net, i + 1).open() for i in range(4)]
    sent, waits, connects = 0, [], []
    begin = bench.clock
    stranger = {"mac": 0x020000000000, "vlan_valid": 0, "vlan_tci": 0}

    def more():
        nonlocal sent
        while sent < syns and sent < (bench.clock - begin) * 3 // tick:
            sent += 1
            addr = stranger | {"ip": random.getrandbits(32), "port": random.randrange(1, 65536)}
            bench.send({"peer": addr, "seq": random.getrandbits(32), "wnd": 1000, "flags": {"syn": 1}, "mss_valid": 1,
                        "mss": 1460})
            if sent % 10 == 0:
                bench.send({"peer": addr, "seq": random.getrandbits(32), "ack": random.getrandbits(32), "wnd": 1000,
                            "flags": {"ack": 1}})

    bench.on_clock.append(more)
    turn = 0
    conns = list(session.conns.items())
    while sent < syns:
        # an open connection asks and is answered
        peer, (conn, c) = old[turn % 4], conns[turn % 4]
        at, have = bench.clock, c.received
        peer.send(stream(0, have, 20))
        peer.gave(20)
        await bench.until(lambda: c.received == have + 20, 60_000)
        session.put(conn, c, 30)
        session.tell(conn, c)
        while not (await peer.answer(60_000))[1]:
            pass
        waits.append((bench.clock - at) / tick)
        peer.took(30)
        peer.send()
        if turn < 20:
            at, count = bench.clock, len(session.conns)
            new = Hand(net, 1000 + turn)
            await asked(new)
            new.send()
            await bench.until(lambda: len(session.conns) == count + 1, 60_000)
            connects.append((bench.clock - at) / tick)
            new.send(rst=1)
            await gone_to(bench, session, count)
        await bench.clocks(syns * tick // 3 // 40)
        turn += 1
    bench.on_clock.remove(more)
    dut._log.info(f"{sent} SYNs in {(bench.clock - begin) // tick} ms; longest wait of open connections "
                  f"{max(waits):.1f} ms of {len(waits)}, slowest connect {max(connects):.1f} ms of {len(connects)}")
    assert len(connects) == 20 and max(connects) < 1000 and max(waits) < 50
    await bench.until(lambda: not bench.segs, 20_000)
    await bench.clocks(100)  # the last of them are still in the pipe
    assert int(dut.conns_o.value) == len(session.conns) == 4
    assert bench.counts["TcpCountSyns"] == syns + 24
    for i in range(12):                       # all places are there
        await Hand(net, 2000 + i).open()
    assert len(session.conns) == 16


async def gone_to(bench, session, count):
    await bench.until(lambda: len(session.conns) == count)


def test_handshake():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
