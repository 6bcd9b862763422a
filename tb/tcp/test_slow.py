"""What tcp does after minutes and hours of silence, with a grain of 100 ticks instead of 1,000."""

import cocotb
from cocotb.triggers import RisingEdge

from harness.models import run
from harness.structs import T
from tcp.peers import M32, Hand, setup, stream

GRAIN = 100
EVERY = 8               # seconds between probes
END = 9 * EVERY         # from the first one to the end
RARE = 64               # seconds from which it is not looked each second
LONG_AGO = 0xFF00       # seconds: nothing is longer ago


async def opened(dut, peers=1, **options):
    bench, net, session = await setup(dut, tick=1, **options)
    session.auto_close = False
    return bench, session, [await Hand(net, i + 1).open() for i in range(peers)]


def is_probe(peer, seg):
    return seg["seq"] == (peer.ack - 1) & M32 and not seg["len"] and not seg["flags"]["rst"]


@cocotb.test()
@cocotb.parametrize(router=[1000, 512, 0])
async def mss_rises_again(dut, router):
    """Ten minutes after the MSS fell, because of a router's word or of timeouts, it is what was agreed on;
    then it falls as before. While it is as small as it gets, packets may be fragmented."""
    bench, session, (peer,) = await opened(dut, keep_alive=0)
    (conn, c), = session.conns.items()

    async def sends(n):
        """What the card sends of so many bytes: its sizes, and whether routers may fragment it."""
        session.put(conn, c, n)
        session.tell(conn, c)
        await bench.until(lambda: sum(len(p) for _, p in peer.seen) >= n, 3000)
        sizes = {(len(p), seg["narrow"]) for seg, p in peer.seen}
        peer.seen.clear()
        return sizes

    async def took(n):
        peer.took(n)
        peer.send()
        await bench.until(lambda: c.tx_acked == c.tx_ptr, 3000)

    assert await sends(2920) == {(1460, 0)}
    await took(2920)
    for _ in range(2):
        fell = bench.clock
        await sends(2920)
        small = router or 512
        if router:
            peer.net.to_card({"too_big": 1, "peer": peer.addr, "ack": peer.ack, "mss": router}, b"")
            await bench.until(lambda: sum(len(p) for _, p in peer.seen) >= 2920, 1000)
        else:
            await bench.until(lambda: any(len(p) == 512 for _, p in peer.seen), 30_000, every=10)
            fell = bench.clock
        await bench.clocks(100)
        peer.seen.clear()
        await took(2920)
        # a visit is some clocks later than it might be
        while bench.clock < fell + 598 * GRAIN:
            assert await sends(2 * small) == {(small, int(small == 512))}
            await took(2 * small)
            await bench.clocks(40 * GRAIN if bench.clock < fell + 550 * GRAIN else GRAIN)
        await bench.until(lambda: bench.clock > fell + 601 * (GRAIN + 20), 1 << 20, every=10)
        assert await sends(2920) == {(1460, 0)}
        await took(2920)


@cocotb.test()
@cocotb.parametrize(seconds=[30, 1, 7, 64])
async def keep_alive(dut, seconds):
    """Silence brings a probe; an answer, the same silence again; nine without one, the end. Where a minute or
    more is waited for it is looked each 8 seconds, and what is due may be so much later."""
    late = EVERY - 1 if seconds >= RARE else 0
    bench, session, (peer,) = await opened(dut, keep_alive=seconds)
    await bench.until(lambda: peer.seen, 2 * GRAIN * (seconds + 2))
    peer.seen.clear()
    for _ in range(2):
        peer.send()
        begin = bench.clock
        flags, seg, _ = await peer.flags(2 * GRAIN * (seconds + 2))
        # a visit may be due already, and takes a few clocks of its own
        assert seconds * GRAIN <= bench.clock - begin <= (seconds + 1 + late) * (GRAIN + 20), seconds
        assert flags == "a" and is_probe(peer, seg)
    for _ in range(8):
        begin = bench.clock
        flags, seg, _ = await peer.flags(2 * EVERY * GRAIN)
        assert flags == "a" and is_probe(peer, seg)
        assert (EVERY - 1) * GRAIN <= bench.clock - begin <= (EVERY + 1) * (GRAIN + 20)
    flags, _, _ = await peer.flags(2 * EVERY * GRAIN)
    assert set(flags) == set("ra")
    await bench.until(lambda: not session.conns)
    assert bench.counts["TcpCountKeepAlives"] == 11 and bench.counts["TcpCountGiveUps"] == 1


@cocotb.test()
async def sleeps(dut):
    """While nothing but seconds is waited for, ticks may come together: the probe comes in the same second. What is
    not acknowledged, and TIME_WAIT, want them one by one."""
    bench, net, session = await setup(dut, tick=0, keep_alive=5)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]

    async def sleep(ticks):
        dut.slept_i.value = ticks
        await RisingEdge(dut.clk_i)
        dut.slept_i.value = 0
        await bench.clocks(60)
        return int(dut.timers_o.value), int(dut.short_o.value)

    async def one_by_one(most=60):
        bench.tick = 1
        await bench.until(lambda: not int(dut.short_o.value), most * 20)
        bench.tick = 0

    await one_by_one()
    slept, now = 0, int(dut.u_timers.ticks_q.value)
    while not peer.seen:
        for part in (GRAIN, GRAIN - 30, 30):
            assert await sleep(part) == (1, 0), slept
            slept += part
            assert slept <= 20 * GRAIN
    # five seconds' ends, and the rest of the one in which it was heard last
    assert 5 * GRAIN < slept <= 8 * GRAIN, slept
    assert int(dut.u_timers.ticks_q.value) == now + slept
    flags, seg, _ = await peer.flags()
    assert flags == "a" and is_probe(peer, seg)
    peer.send()
    c.want = 100
    await bench.until(lambda: peer.seen, 200)
    assert int(dut.short_o.value)
    _, _, payload = await peer.flags()
    peer.took(len(payload))
    peer.send()
    await one_by_one()
    c.closing = True
    session.tell(0, c)
    await peer.flags()
    peer.took(1)
    peer.send(fin=1)
    await bench.clocks(60)
    assert int(dut.short_o.value)


@cocotb.test()
async def no_keep_alive(dut):
    """0: silence lasts as long as the peer likes, beyond what a stamp of seconds can say."""
    bench, session, (peer,) = await opened(dut, keep_alive=0)
    table = dut.u_tcb.u_table.u_silence.mem_q[0]
    await bench.clocks(10 * GRAIN)
    word = T.silence_t.unpack(int(table.value))

    def since(second):
        return (int(dut.second.value) - second) & 0xFFFF

    then = int(dut.second.value) - (LONG_AGO - 3)
    table.value = T.silence_t.pack(word | {"heard": then & 0xFFFF, "asked": then & 0xFFFF})
    for _ in range(20):
        await bench.clocks(GRAIN)
        word = T.silence_t.unpack(int(table.value))
        assert LONG_AGO - 3 <= since(word["heard"]) <= LONG_AGO + EVERY
        assert LONG_AGO - 3 <= since(word["asked"]) <= LONG_AGO + EVERY
    assert not peer.seen and session.conns and int(dut.conns_o.value) == 1


@cocotb.test()
@cocotb.parametrize((("seconds", "least"), [(20, 6), (64, 3)]))
async def places_are_short(dut, seconds, least):
    """The first who does not answer a probe loses its place to who wants it; when there is room
    again, the others have the usual time. Who answers stays."""
    bench, session, peers = await opened(dut, peers=3, keep_alive=seconds, limit=3)
    probes, ended, first = [0, 0, 0], [], {}
    for second in range(2 * (seconds + END)):
        await bench.clocks(GRAIN)
        for i, peer in enumerate(peers):
            for seg, _ in peer.seen:
                if seg["flags"]["rst"]:
                    ended.append(i)
                    # The first one's place was wanted.
                    assert i or second - first[i] <= 5
                    continue
                assert is_probe(peer, seg)
                first.setdefault(i, second)
                probes[i] += 1
                if i == 2:
                    peer.send()
            peer.seen.clear()
    assert ended == [0, 1] and probes[:2] == [1, 9] and probes[2] >= least, (ended, probes)
    assert list(session.conns) == [2] and bench.counts["TcpCountGiveUps"] == 2


@cocotb.test()
async def asks_for_nothing(dut):
    """Who asks for nothing is closed after the time that is set, be it that it answers probes, or has
    sent what is no request yet. Who asks, or takes some of a reply, has all of it again."""
    bench, net, session = await setup(dut, tick=1, keep_alive=3, idle=8)
    peers, opened_at = [], []
    for i in range(4):
        peers.append(await Hand(net, i + 1).open())
        opened_at.append(bench.clock)
    asks, half, takes, silent = peers
    session.conns[1].hold = True
    begin, ends, sent = bench.clock, {}, 0
    while bench.clock - begin < 30 * GRAIN:
        await bench.clocks(GRAIN)
        second = (bench.clock - begin) // GRAIN
        for i, peer in enumerate(peers):
            for seg, payload in peer.seen:
                assert not seg["flags"]["rst"], i
                if seg["flags"]["fin"]:
                    ends[i] = bench.clock
                    peer.took(1)
                    peer.send(fin=1)
                elif i not in ends:
                    peer.took(len(payload))
                    peer.send()
            peer.seen.clear()
        if second % 4 == 0:
            asks.send(stream(0, sent, 10))
            asks.gave(10)
            session.conns[2].want += 10
            sent += 10
        if second in (2, 4, 6):
            half.send(stream(2, half.seq - half.isn - 1, 10))
            half.gave(10)
    # a visit may be due already, and takes a few clocks of its own
    for i in (1, 3):
        assert 8 * GRAIN <= ends[i] - opened_at[i] <= 10 * (GRAIN + 20), (i, ends)
    assert set(ends) == {1, 3} and set(session.conns) == {0, 2}
    assert bench.counts["TcpCountIdle"] == 2 and not bench.counts["TcpCountGiveUps"]
    assert bench.counts["TcpCountKeepAlives"]


@cocotb.test()
async def asks_at_the_last_moment(dut):
    """What comes before the session has closed is read, and its reply comes before the FIN."""
    bench, net, session = await setup(dut, tick=1, keep_alive=0, idle=4)
    session.auto_close = False
    peer = await Hand(net, 1).open()
    c = session.conns[0]
    await bench.until(lambda: c.fin, 10 * GRAIN)
    peer.send(stream(0, 0, 100))
    peer.gave(100)
    await bench.until(lambda: c.received == 100)
    c.want, session.auto_close = 50, True
    taken = b""
    while True:
        flags, _, payload = await peer.flags()
        taken += payload
        peer.took(len(payload))
        if "f" in flags:
            break
        peer.send()
    assert taken == stream(1, 0, 50)
    peer.took(1)
    peer.send(fin=1)
    await bench.until(lambda: not session.conns)


@cocotb.test()
async def shut_for_long(dut):
    """A window that stays shut is probed 15 times, in ten minutes; each time that it opens they
    begin anew."""
    bench, session, (peer,) = await opened(dut, keep_alive=0)
    c = session.conns[0]
    bench.tick = 0
    peer.send(wnd=0)
    await bench.clocks(100)
    c.want = 500
    taken = 0

    async def next_segment():
        for _ in range(200):
            if peer.seen:
                return await peer.flags()
            dut.u_timers.ticks_q.value = int(dut.u_timers.ticks_q.value) + 500
            await bench.clocks(60)
        raise AssertionError("nothing is sent")

    for times in (9, 15):
        begin = int(dut.u_timers.ticks_q.value)
        for _ in range(times):
            flags, seg, payload = await next_segment()
            assert flags == "a" and seg["seq"] == peer.ack and payload == stream(1, taken, 1)
            peer.send(wnd=0)
        if times == 9:
            peer.send(wnd=100)
            _, _, payload = await peer.flags()
            assert payload == stream(1, taken, 100)
            # The probes before do not count for what is lost now.
            for _ in range(2):
                _, _, payload = await next_segment()
                assert payload == stream(1, taken, 100)
            taken += 100
            peer.took(100)
            peer.send(wnd=0)
            await bench.clocks(100)
    flags, _, _ = await next_segment()
    assert set(flags) == set("ra")
    assert 500_000 < int(dut.u_timers.ticks_q.value) - begin < 800_000
    await bench.until(lambda: not session.conns)
    assert bench.counts["TcpCountShut"] == 1 and not bench.counts["TcpCountGiveUps"]
    assert bench.counts["TcpCountProbes"] == 24


@cocotb.test()
@cocotb.parametrize(silent=[True, False], seconds=[60, 4])
async def peer_never_closes(dut, silent, seconds):
    """FIN_WAIT_2 ends after a minute, whether the peer is silent or not; if places are short, soon."""
    bench, session, (peer,) = await opened(dut, limit=2 if seconds == 60 else 1)
    session.conns[0].closing = True
    session.tell(0, session.conns[0])
    await peer.flags()
    peer.took(1)
    peer.send()
    begin = bench.clock
    while not peer.seen:
        await bench.clocks(GRAIN)
        assert bench.clock - begin <= (seconds + 2) * (GRAIN + 20)
        if not silent:
            peer.send()
    assert bench.clock - begin >= (seconds - 1) * GRAIN
    flags, _, _ = await peer.flags()
    assert set(flags) == set("ra")
    await bench.until(lambda: not session.conns)


def test_slow():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16, SlowTicks=GRAIN)
