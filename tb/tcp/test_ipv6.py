"""Connections over IPv6 beside those over IPv4: whose is whose, what is agreed on, and what becomes of
two addresses that have one name in the lookup."""

import random

import cocotb

from harness.models import run
from tcp.peers import M32, Hand, Peer, agreed_mss, connect, key_bits, setup, stream, whose
from tcp.peers import table
from tcp.peers import nothing_left

MTU = 1500
NAME = 32


@cocotb.test()
@cocotb.parametrize(damage=[{}, {"drop": 0.03, "dup": 0.03, "late": 0.03}])
async def both_families(dut, damage):
    """Every byte arrives, once and in order, on connections to each of the card's addresses from the same
    ports."""
    bench, net, session = await setup(dut, mtu=MTU, net=damage)
    peers = []
    for i in range(12):
        total, expect = random.randrange(1, 20_000), random.randrange(20_000)
        peer = Peer(net, i // 4, 2 * i, total, expect, mss=random.choice((536, 1220, 1440, 1460)), port=2000 + i // 4,
                    ours=i % 4)
        peers.append(peer)
        await connect(bench, session, i, peer)
        assert peer.card_mss == MTU - (60 if peer.addr["ours"] else 40)
    for peer in peers:
        peer.may_close = True
    await bench.until(lambda: all(p.finished for p in peers), 600_000, "closed", every=50)
    for peer in peers:
        largest = max((seg["len"] for seg in peer.seen), default=0)
        assert largest <= agreed_mss(peer.mss, peer.card_mss)
    net.drop = 0
    await bench.until(lambda: not session.conns, 600_000, "session", every=50)
    assert not net.strays and not bench.counts["TcpCountTwins"]
    await nothing_left(dut, bench, session)


@cocotb.test()
async def agreed(dut):
    """The MSS is of IPv6's packets: ours, the largest that both take, and where none is told."""
    for mtu in (9000, 1500, 1280):
        bench, net, session = await setup(dut, mtu=mtu, time_wait=1)
        for i, mss in enumerate((None, 536, 1219, 1220, 1221, mtu - 61, mtu - 60, mtu - 59, mtu - 40, 65535)):
            peer = await Hand(net, i + 1, ours=1 + i % 3, mss_valid=int(mss is not None), mss=mss or 0).open()
            assert peer.syn_ack["mss"] == mtu - 60 and not peer.syn_ack["narrow"]
            (conn, _), = session.conns.items()
            assert table(dut, conn)["mss"] == agreed_mss(1220 if mss is None else mss, mtu - 60), (mtu, mss)
            peer.send(rst=1)
            await bench.until(lambda: not session.conns)
            await bench.clocks(60)


def at(net, addr):
    """A peer with this address."""
    hand = Hand(net, 99)
    hand.addr |= addr
    net.peers[whose(hand.addr)] = hand
    return hand


@cocotb.test()
async def others(dut):
    """A peer whose address differs in one bit, or who speaks to another of ours, is another peer: the
    cookie of the one is none for the other."""
    bench, net, session = await setup(dut, mtu=MTU)
    first = Hand(net, 0, port=3000, ours=1)
    first.send(syn=1)
    _, seg, _ = await first.flags()
    first.seq, first.ack = (first.isn + 1) & M32, (seg["seq"] + 1) & M32
    bits = [*range(0, 128, 9), 31, 32, 63, 64, 95, 96, 127]
    links = [{"ip": first.addr["ip"] ^ 1 << bit} for bit in bits] + [{"ours": 2}, {"ours": 3}]
    for link in links:
        first.send(link=link)
    await bench.clocks(400)
    assert not session.conns and bench.counts["TcpCountStrays"] + bench.counts["TcpCountEarly"] == len(links)
    net.strays.clear()
    first.send()
    await bench.until(lambda: session.conns)
    # On a connection that there is, likewise.
    before = bench.counts["TcpCountStrays"] + bench.counts["TcpCountEarly"]
    for link in links:
        first.send(b"not mine", link=link)
    await bench.clocks(400)
    assert len(session.conns) == 1 and session.conns[0].received == 0
    assert bench.counts["TcpCountStrays"] + bench.counts["TcpCountEarly"] == before + len(links)
    # Each of them may have one of its own, and all are told apart.
    peers = [first]
    for bit in bits[:10]:
        peers.append(await at(net, {"ip": first.addr["ip"] ^ 1 << bit, "port": 3000, "ours": 1}).open())
    for ours in (2, 3):
        peers.append(await Hand(net, 0, port=3000, ours=ours).open())
    assert len(session.conns) == len(peers)
    for conn, peer in enumerate(peers):
        peer.send(stream(session.conns[conn].key, 0, 10 + conn), psh=1)
    await bench.until(lambda: all(session.conns[i].received == 10 + i for i in range(len(peers))), 3000)


def name(bits, ip):
    return tuple(sum(bits[i + 16 + k] & ip >> k & 1 for k in range(128)) & 1 for i in range(NAME))


def twin_of(secret):
    """What to add to an address, below its highest 64 bits, so that its name stays."""
    bits, rows = key_bits(secret), {}
    for k in random.sample(range(64), 64):
        value, made = sum(b << i for i, b in enumerate(name(bits, 1 << k))), 1 << k
        while value:
            top = value.bit_length()
            if top not in rows:
                rows[top] = value, made
                break
            value, made = value ^ rows[top][0], made ^ rows[top][1]
        else:
            return made
    raise AssertionError("64 bits have 32 bits of name")


@cocotb.test()
async def twins(dut):
    """Two addresses with one name: whoever came first has the connection, the other, on the same port,
    gets nothing and changes nothing, whatever it says; later, or from another port, it is served."""
    secret = random.getrandbits(128)
    other = twin_of(secret)
    assert name(key_bits(secret), other) == (0,) * NAME
    bench, net, session = await setup(dut, mtu=MTU, secret=secret, time_wait=1)
    session.auto_close = False
    first = await Hand(net, 0, port=3000, ours=2).open()
    c = session.conns[0]
    link = {"ip": first.addr["ip"] ^ other}
    session.put(0, c, 500)
    session.tell(0, c)
    await first.answer()
    said = 0
    for flags in ({"syn": 1}, {"rst": 1}, {"fin": 1}, {}):
        for payload in (b"", b"twin"):
            if payload and "syn" in flags:
                continue
            first.send(payload, ack=500, link=link, **flags)
            said += 1
    await first.silence()
    assert bench.counts["TcpCountTwins"] == said and not net.strays
    assert 0 in session.conns and c.received == 0 and c.tx_acked != c.tx_ptr
    # What a router says of the other's segment is not about this one.
    net.to_card({"too_big": 1, "peer": first.addr | link, "ack": first.ack, "mss": 1220}, b"")
    await bench.clocks(100)
    assert bench.counts["TcpCountPathMtu"] == 0 and bench.counts["TcpCountPathMtuStrays"] == 1
    first.took(500)
    first.send()
    await bench.until(lambda: c.tx_acked == c.tx_ptr)
    for port in (3001, 3000):
        hand = at(net, link | {"port": port, "ours": 2})
        if port == 3000:
            first.send(rst=1)
            await bench.until(lambda: 0 not in session.conns)
            await bench.clocks(100)
        await hand.open()
        assert len(session.conns) == 2
    assert bench.counts["TcpCountOpened"] == 3 and bench.counts["TcpCountTwins"] == said


def test_ipv6():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
