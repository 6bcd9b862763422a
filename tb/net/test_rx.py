"""Receive side of net: sorting, cutting, checking, ARP and echo answers, against a model."""

import ipaddress
import random

import cocotb
from cocotb.triggers import RisingEdge
from scapy.all import ARP, ICMP, IP, TCP, UDP, Dot1Q, Ether, raw
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                                IPv6ExtHdrHopByHop)

from harness.clock import clocks, start
from harness.models import run
from harness.streams import SIZES, Sink, from_beats
from harness.structs import T
from net.frames import (CFG, OUR_IP, OUR_IP6, OUR_MAC, PORTS, AxisSink, AxisSource, Counters, flags_byte, random_data,
    receive, settle, word_sum)

PEER_MAC, PEER_IP, PEER_IP6 = "02:00:00:00:00:01", "10.77.0.1", "fd57:4b56::c0:ffee:1"
SIZES = [s for s in SIZES if s <= 1500] + [1472, 8948]


def ether(rng, vlan=None, **fields):
    frame = Ether(**{"dst": OUR_MAC, "src": PEER_MAC} | fields)
    if vlan if vlan is not None else rng.random() < 0.4:
        frame /= Dot1Q(vlan=rng.choice((0, CFG["vlan"])), prio=rng.randrange(8))
    return frame


def network(rng, six, ours=None):
    """The header of a packet for us."""
    if six:
        return IPv6(src=PEER_IP6, dst=ours or rng.choice(OUR_IP6), hlim=rng.randrange(1, 256), tc=rng.randrange(256),
                    fl=rng.getrandbits(20))
    return IP(src=PEER_IP, dst=OUR_IP, ttl=rng.randrange(1, 256), id=rng.getrandbits(16))


def segment(rng, size, vlan=None, flags=None, options=None, six=False):
    """A segment for us, perhaps with options, padded or not."""
    flags = flags if flags is not None else rng.choice(["A", "PA", "FA", "RA", "UPAECF", "A"])
    if options is None:
        options = rng.choice([[], [], [("Timestamp", (rng.getrandbits(32), rng.getrandbits(32)))],
                              [("SAck", tuple(rng.getrandbits(32) for _ in range(8)))]])
    return raw(ether(rng, vlan) / network(rng, six)
               / TCP(sport=rng.randrange(1, 65536), dport=rng.choice(list(PORTS)), seq=rng.getrandbits(32),
                     ack=rng.getrandbits(32), window=rng.getrandbits(16), flags=flags, options=options)
               / random_data(rng, size))


def datagram(rng, size, vlan=None, six=False, **fields):
    return raw(ether(rng, vlan) / network(rng, six)
               / UDP(sport=rng.randrange(1, 65536), dport=CFG["udp_port"], **fields) / random_data(rng, size))


def echo(rng, size, vlan=None, six=False):
    if six:
        return raw(ether(rng, vlan) / network(rng, six)
                   / ICMPv6EchoRequest(id=rng.getrandbits(16), seq=rng.getrandbits(16), data=random_data(rng, size)))
    return raw(ether(rng, vlan) / network(rng, six)
               / ICMP(type=8, id=rng.getrandbits(16), seq=rng.getrandbits(16)) / random_data(rng, size))


def solicit(rng, vlan=None, target=None, src=PEER_IP6, to_group=None, options=None, hops=255, dst=None, **fields):
    """Who has this address? asked of the group of those whose address ends so, or of the one who had it."""
    target = target or rng.choice(OUR_IP6)
    to_group = rng.random() < 0.5 if to_group is None else to_group
    if dst is None and to_group:
        low = int(ipaddress.IPv6Address(target)) & 0xFFFFFF
        dst = str(ipaddress.IPv6Address(0xFF0200000000000000000001FF000000 | low))
    dst = dst or target
    number = int(ipaddress.IPv6Address(dst))
    mac = OUR_MAC if number >> 120 != 0xFF else ":".join(
        f"{b:02x}" for b in b"\x33\x33" + (number & 0xFFFFFFFF).to_bytes(4, "big"))
    options = rng.randrange(4) if options is None else options
    ask = ICMPv6ND_NS(tgt=target, **fields)
    for _ in range(options):
        ask /= ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC)
    return raw(ether(rng, vlan, dst=mac) / IPv6(src=src, dst=dst, hlim=hops) / ask)


def too_big(rng, more=0, vlan=None, told=None, total=None, sport=None, kind=(3, 4), **inner):
    """A router could not send a segment of ours on, of which it quotes `more` bytes than it must."""
    ours = IP(**{"src": OUR_IP, "dst": "10.77.0.9", "flags": "DF", "proto": 6} | inner,
              len=rng.randrange(2000) if total is None else total)
    quote = raw(ours / TCP(sport=rng.choice(list(PORTS)) if sport is None else sport, dport=rng.randrange(1, 65536),
                           seq=rng.getrandbits(32)))[:28] + random_data(rng, more)
    told = rng.choice([0, 1, 551, 552, 553, 600, 1280, 1499, 1500, 9000, 65535]) if told is None else told
    return raw(ether(rng, vlan) / IP(src=f"10.9.9.{rng.randrange(256)}", dst=OUR_IP)
               / ICMP(type=kind[0], code=kind[1], **{"nexthopmtu": told} if kind == (3, 4) else {}) / quote)


def too_big6(rng, more=0, vlan=None, told=None, sport=None, code=0, **inner):
    """The same of a router of IPv6's."""
    ours = IPv6(**{"src": rng.choice(OUR_IP6), "dst": "2001:db8::9", "nh": 6} | inner, plen=1440)
    quote = raw(ours / TCP(sport=rng.choice(list(PORTS)) if sport is None else sport, dport=rng.randrange(1, 65536),
                           seq=rng.getrandbits(32)))[:48 + min(more, 0)] + random_data(rng, max(more, 0))
    told = rng.choice([0, 1279, 1280, 1281, 1499, 1500, 9000, 65535, 65536, 1 << 31]) if told is None else told
    return raw(ether(rng, vlan) / network(rng, True) / ICMPv6PacketTooBig(mtu=told, code=code) / quote)


def arp(rng, vlan=None, op=1, ip=OUR_IP, dst=None):
    return raw(ether(rng, vlan, dst=dst or rng.choice(["ff:ff:ff:ff:ff:ff", OUR_MAC]))
               / ARP(op=op, hwsrc=PEER_MAC, psrc=PEER_IP, pdst=ip))


def strange(rng):
    """A frame for the host."""
    kind = rng.randrange(13)
    load = random_data(rng, rng.choice([0, 1, 30, 46, 64, 200]))
    ours = {"src": PEER_IP, "dst": OUR_IP}
    if kind == 0:
        return raw(ether(rng) / IPv6(dst="fe80::1") / UDP(dport=CFG["udp_port"]) / load)
    if kind == 1:
        return raw(ether(rng) / IP(**ours, options=b"\x07\x03\x04\x00") / TCP(dport=CFG["tcp_port"]) / load)
    if kind == 2:
        return raw(ether(rng) / IP(**ours, flags="MF", frag=rng.choice([0, 0, 1])) / UDP(dport=CFG["udp_port"]) / load)
    if kind == 3:
        return raw(ether(rng) / IP(**ours, frag=rng.randrange(1, 8192)) / load)
    if kind == 4:
        return raw(ether(rng) / IP(**ours) / TCP(dport=CFG["tcp_port"] ^ 1 << rng.randrange(16)) / load)
    if kind == 5:
        return raw(ether(rng, dst="01:00:5e:00:00:fb") / IP(src=PEER_IP, dst="224.0.0.251") / UDP() / load)
    if kind == 6:
        return raw(ether(rng) / IP(src=PEER_IP, dst="10.77.0.3") / TCP(dport=CFG["tcp_port"]) / load)
    if kind == 7:
        return arp(rng, **rng.choice([{"op": 2}, {"ip": "10.77.0.3"}, {"dst": "02:00:00:00:00:09"}]))
    if kind == 8:
        return raw(ether(rng) / IP(**ours) / ICMP(type=rng.choice([0, 3, 13])) / load)
    if kind == 9:
        extra = rng.choice([IPv6ExtHdrFragment, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop])
        return raw(ether(rng) / network(rng, True) / extra() / UDP(dport=CFG["udp_port"]) / load)
    if kind == 10:
        return raw(ether(rng) / network(rng, True) / rng.choice(
            [UDP(dport=CFG["udp_port"] ^ 4), TCP(dport=CFG["tcp_port"] ^ 4), ICMPv6EchoReply()]) / load)
    if kind == 11:
        return rng.choice([solicit(rng, hops=254), solicit(rng, code=1), solicit(rng, target="fd57:4b56::3"),
                           solicit(rng, dst="ff02::1")])
    return raw(ether(rng) / IPv6(src=PEER_IP6, dst="ff02::fb") / UDP(dport=CFG["udp_port"]) / load)


def pad(rng, frame):
    """Ethernet padding, mostly up to 60 bytes, sometimes absurdly much."""
    if rng.random() < 0.2:
        return frame + random_data(rng, rng.randrange(1, 200))
    return frame + random_data(rng, max(0, 60 - len(frame)))


class Bench:
    """net with its wire, and the four places to which received frames go."""

    def __init__(self, dut, pause, idle):
        self.dut = dut
        self.wire = AxisSource(dut, "s_axis_rx", idle)
        self.seg = Sink(dut, "seg", {"": T.seg_t, "beat": T.beat_t}, pause)
        self.dgram = Sink(dut, "dgram", {"": T.dgram_t, "beat": T.beat_t}, pause)
        self.tx = AxisSink(dut, "m_axis_tx", pause)
        self.host = AxisSink(dut, "m_axis_host", pause)
        self.counters = Counters(dut)

    @classmethod
    async def make(cls, dut, pause=0.0, idle=0.0):
        dut.cfg_i.value = T.net_cfg_t.pack(CFG)
        dut.enable_i.value = 1
        dut.txseg_bad_i.value = 0
        dut.tick_i.value = 1  # echo requests come back as fast as they can
        for name in ("txseg_valid_i", "txdgram_valid_i", "s_axis_host_tvalid"):
            getattr(dut, name).value = 0
        bench = cls(dut, pause, idle)
        await start(dut)
        await clocks(dut, 40)  # the sums of our addresses
        return bench

    async def send(self, *frames):
        self.wire.queue.extend(frames)
        await self.wire.drain()
        await settle(self.dut)

    @staticmethod
    def packets(items):
        """(fields, payload) of a sink's items; the fields must not change within a packet."""
        payloads, fields, fresh = from_beats([i["beat"] for i in items]), [], True
        for item in items:
            if fresh:
                fields.append(item[""])
            assert item[""] == fields[-1]
            fresh = item["beat"]["last"]
        return list(zip(fields, payloads, strict=True))

    def check(self, frames):
        """Everything went where the model says, in order, and was counted. What steps aside in rx_syn may
        come behind what does not."""
        want = {}
        for frame in frames:
            cause, result = receive(frame)
            want.setdefault(cause, []).append(result)
        segs, dgrams = self.packets(self.seg.items), self.packets(self.dgram.items)
        segs = [s for aside in (0, 1) for s in segs if steps_aside(s[0]) == aside]
        wanted = [w for aside in (0, 1) for w in want.get("NetCountRxTcp", []) if steps_aside(w[0]) == aside]
        for (got, payload), (fields, data) in zip(segs, wanted, strict=True):
            options = fields.get("options", b"")
            assert payload == options + data and (got["len"], got["opt_len"]) == (len(data), len(options))
            same_peer(got["peer"], fields["peer"])
            assert got["too_big"] == fields["too_big"]
            if fields["too_big"]:
                assert (got["ack"], flags_byte(got["flags"]), got["mss"]) == (fields["ack"], 0, fields["mss"])
                continue
            assert (got["seq"], got["ack"], flags_byte(got["flags"]), got["wnd"]) == (
                fields["seq"], fields["ack"], fields["flags"], fields["wnd"])
            assert (got["mss"] if got["mss_valid"] else None) == fields["mss"]
            assert (got["ws"] if got["ws_valid"] else None) == fields["ws"]
            assert got["sack_ok"] == fields["sack"] and got["times_ok"] == fields["times"]
        assert len(dgrams) == len(want.get("NetCountRxUdp", []))
        for (got, payload), (fields, data) in zip(dgrams, want.get("NetCountRxUdp", [])):
            assert payload == data and got["len"] == len(data)
            same_peer(got["peer"], fields["peer"])
        assert self.host.frames == want.get("NetCountRxHost", [])
        requests = want.get("NetCountRxReply", [])
        assert len(self.tx.frames) == len(requests)
        # Advertisements are made elsewhere than the other answers.
        answers = sorted(self.tx.frames, key=is_advertisement)
        for answer, wanted in zip(answers, sorted(map(expected_answer, requests), key=is_advertisement)):
            assert answer == wanted
        counts = {k: len(v) for k, v in want.items()} | {"NetCountRxFrames": len(frames)}
        if requests:
            counts |= {"NetCountTxFrames": len(requests), "NetCountTxReply": len(requests)}
        assert self.counters.nonzero() == counts


def steps_aside(fields):
    flags = fields.get("flags") or 0
    return int(bool(fields["too_big"] or (flags if isinstance(flags, int) else flags_byte(flags)) & 2))


def same_peer(got, want):
    got = dict(got)
    if not got["vlan_valid"]:
        got["vlan_tci"] = None
    assert got == want


def is_advertisement(frame):
    return ICMPv6ND_NA in Ether(frame)


def expected_answer(request):
    """The answer to an ARP or echo request or a solicitation, its checksums computed by scapy."""
    size = max(len(request), 60)
    frame = Ether(request)
    frame.dst, frame.src = frame.src, OUR_MAC
    if ICMPv6ND_NS in frame:
        ip = frame[IPv6]
        target, anybody = ip[ICMPv6ND_NS].tgt, ip.src == "::"
        ip.remove_payload()
        if anybody:
            frame.dst, ip.dst = "33:33:00:00:00:01", "ff02::1"
        else:
            ip.dst = ip.src
        ip.src, ip.hlim, ip.plen, ip.tc, ip.fl = target, 255, None, 0, 0
        frame /= ICMPv6ND_NA(tgt=target, R=0, S=not anybody, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OUR_MAC)
        size = 60
    elif IPv6 in frame:
        ip = frame[IPv6]
        ip.src, ip.dst, ip.hlim, ip[ICMPv6EchoRequest].type = ip.dst, ip.src, 64, 129
        del ip[ICMPv6EchoRequest].cksum
    elif ARP in frame:
        ask = frame[ARP]
        ask.op, ask.hwdst, ask.pdst, ask.hwsrc, ask.psrc = 2, ask.hwsrc, ask.psrc, OUR_MAC, OUR_IP
    else:
        ip = frame[IP]
        ip.src, ip.dst, ip.ttl, frame[ICMP].type = ip.dst, ip.src, 64, 0
        del ip.chksum, frame[ICMP].chksum
    return raw(frame).ljust(size, b"\0")


# ---------------------------------------------------------------- tests


@cocotb.test()
@cocotb.parametrize(six=[False, True])
async def sizes(dut, six):
    """Every payload size, tagged or not."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.1, idle=0.1)
    frames = []
    for size in SIZES:
        for vlan in (False, True):
            frames += [segment(rng, size, vlan, six=six), datagram(rng, size, vlan, six)]
            if size <= 128:
                frames.append(echo(rng, size, vlan, six))
    frames += [segment(rng, 0, v, options=[("NOP", None)] * n, six=six) for v in (False, True) for n in range(0, 41, 4)]
    frames = [pad(rng, f) for f in frames]
    for i in range(0, len(frames), 20):
        await bench.send(*frames[i : i + 20])
    bench.check(frames)


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.3)])
async def mixture(dut, pace):
    """Everything at random, with pauses everywhere and with none; damaged frames among it."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, *pace)
    frames = []
    for _ in range(800):
        size = rng.choice([0, 1, 2, 5, 6, 10, 22, 40, 64, 100, 128, 300])
        six = rng.random() < 0.5
        make = rng.choice([lambda r, n: segment(r, n, six=six), lambda r, n: segment(r, n, six=six),
                           lambda r, n: datagram(r, n, six=six), lambda r, n: datagram(r, n, six=six),
                           lambda r, n: echo(r, n, six=six), lambda r, _: arp(r), lambda r, _: solicit(r),
                           too_big, too_big6, lambda r, _: strange(r)])
        frame = pad(rng, make(rng, size))
        if rng.random() < 0.25:
            frame = damage(rng, frame)
        if rng.random() < 0.03:
            frame = frame[: rng.randrange(1, len(frame))]
        frames.append(frame)
    for i in range(0, len(frames), 25):
        await bench.send(*frames[i : i + 25])
    bench.check(frames)


def damage(rng, frame):
    bits = int.from_bytes(frame, "little")
    for _ in range(rng.choice([1, 1, 2])):
        bits ^= 1 << rng.randrange(8 * len(frame))
    return bits.to_bytes(len(frame), "little")


@cocotb.test()
async def every_drop(dut):
    """Each cause of a drop, alone, is counted as what it is."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)

    def patched(frame, at, value):
        return frame[:at] + value + frame[at + len(value) :]

    def resummed(frame, at, value):
        """Patched, with the header checksum made right again."""
        packet = Ether(patched(frame, at, value))
        del packet[IP].chksum
        return raw(packet)

    seg, dgram, ping = segment(rng, 10, False, options=[]), datagram(rng, 10, False), echo(rng, 10, False)
    big = too_big(rng, 10, False)
    length = int.from_bytes(dgram[38:40], "big")
    causes = [
        ("NetCountRxBadIp", patched(seg, 14, b"\x55")),  # version
        ("NetCountRxBadIp", patched(seg, 14, b"\x44")),  # header length
        ("NetCountRxBadIp", patched(seg, 24, bytes([seg[24] ^ 1]))),
        ("NetCountRxBadTcp", patched(seg, 60, bytes([seg[60] ^ 1]))),
        ("NetCountRxBadTcp", patched(seg, 38, bytes([seg[38] ^ 1]))),
        ("NetCountRxBadUdp", patched(dgram, 45, bytes([dgram[45] ^ 1]))),
        ("NetCountRxBadIcmp", patched(ping, 50, bytes([ping[50] ^ 1]))),
        *(("NetCountRxBadIcmp", patched(big, at, bytes([big[at] ^ 1]))) for at in (36, 41, 58, 63, 69, 79)),
        ("NetCountRxBadLength", resummed(big, 16, b"\0\x37")),
        ("NetCountRxBadLength", big[:-1]),
        ("NetCountRxBadLength", too_big(rng, 200, False)[:-137]),
        ("NetCountRxBadLength", seg[:13]),
        ("NetCountRxBadLength", seg[:-1]),
        ("NetCountRxBadLength", segment(rng, 200, False, options=[])[:-137]),  # a whole beat is missing
        ("NetCountRxBadLength", patched(seg, 46, b"\x40")),  # data offset
        ("NetCountRxBadLength", patched(seg, 46, b"\xf0")),
        ("NetCountRxBadLength", resummed(seg, 16, b"\x00\x27")),  # total length
        ("NetCountRxBadLength", resummed(seg, 16, b"\xff\xff")),
        ("NetCountRxBadLength", patched(dgram, 38, (length + 1).to_bytes(2, "big"))),  # UDP length
        ("NetCountRxBadLength", patched(dgram, 38, (length + 1).to_bytes(2, "big")) + b"\0"),
        ("NetCountRxBadLength", patched(dgram, 38, b"\0\x08")),
        ("NetCountRxBadLength", patched(dgram, 38, b"\0\0")),
        ("NetCountRxBadUdp", patched(dgram, 38, (length - 1).to_bytes(2, "big"))),
        ("NetCountRxBadLength", datagram(rng, 0, False)),
        ("NetCountRxBadLength", resummed(ping, 16, b"\x00\x1b")),
    ]
    frames = [f for _, f in causes]
    for cause, frame in causes:
        assert receive(frame)[0] == cause
        before = bench.counters.count[cause]
        await bench.send(frame)
        assert bench.counters.count[cause] == before + 1, cause
    bench.check(frames)
    # A zero UDP checksum means none.
    dgram = datagram(rng, 33, True, chksum=0)
    await bench.send(dgram)
    bench.check([*frames, dgram])
    dut.enable_i.value = 0
    await bench.send(seg)
    assert bench.counters.count["NetCountRxDisabled"] == 1 and not bench.seg.items


@cocotb.test()
@cocotb.parametrize(six=[False, True])
async def padded_packets(dut, six):
    """A packet that goes on behind its datagram: what is behind is not the datagram's."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)
    frames = []
    for size in [1, 2, 5, 6, 22, 63, 64, 65, 128, 300]:
        for more in (1, 2, 17, 64, 130):
            for options in [{}] if six else [{}, {"chksum": 0}]:
                packet = Ether(datagram(rng, size, rng.random() < 0.5, six, **options))
                if six:
                    packet[IPv6].plen += more
                else:
                    packet[IP].len += more
                    del packet[IP].chksum
                frame = raw(packet) + random_data(rng, more)
                assert receive(frame)[0] == "NetCountRxUdp" and len(receive(frame)[1][1]) == size
                frames.append(pad(rng, frame))
    for i in range(0, len(frames), 20):
        await bench.send(*frames[i : i + 20])
    bench.check(frames)


@cocotb.test()
async def every_drop6(dut):
    """The same over IPv6, where the UDP checksum is not optional."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)

    def patched(frame, at, value):
        return frame[:at] + value + frame[at + len(value) :]

    causes = []
    for vlan in (False, True):
        l3 = 18 if vlan else 14
        l4 = l3 + 40
        seg, dgram = segment(rng, 10, vlan, options=[], six=True), datagram(rng, 10, vlan, True)
        ping, ask = echo(rng, 10, vlan, True), solicit(rng, vlan, options=1)
        flip = lambda frame, at: patched(frame, at, bytes([frame[at] ^ 1 << rng.randrange(8)]))
        causes += [
            ("NetCountRxBadIp", patched(seg, l3, b"\x45")),
            *(("NetCountRxBadTcp", flip(seg, at)) for at in (l3 + 9, l3 + 23, l4 + 4, l4 + 11, l4 + 15, l4 + 25)),
            *(("NetCountRxBadUdp", flip(dgram, at)) for at in (l3 + 9, l4 + 6, l4 + 9)),
            *(("NetCountRxBadIcmp", flip(ping, at)) for at in (l3 + 10, l4 + 4, l4 + 17)),
            *(("NetCountRxBadIcmp", flip(ask, at)) for at in (l3 + 11, l4 + 2, l4 + 5, l4 + 31)),
            ("NetCountRxBadUdp", datagram(rng, 33, vlan, True, chksum=0)),
            ("NetCountRxNeighbour", solicit(rng, vlan, OUR_IP6[1].replace("fd57", "fd56"), to_group=True)),
            ("NetCountRxBadLength", patched(seg, l3 + 4, b"\0\x13")),
            ("NetCountRxBadLength", patched(seg, l3 + 4, b"\xff\xff")),
            ("NetCountRxBadLength", patched(seg, l4 + 12, b"\x40")),
            ("NetCountRxBadLength", patched(seg, l4 + 12, b"\xf0")),
            ("NetCountRxBadLength", seg[:-1]),
            ("NetCountRxBadLength", segment(rng, 200, vlan, options=[], six=True)[:-137]),
            *(("NetCountRxBadLength", seg[:n]) for n in (l4 + 4, 63, 64, 65, l4 + 19)),
            ("NetCountRxBadLength", patched(dgram, l4 + 4, b"\0\x13")),
            ("NetCountRxBadLength", patched(dgram, l4 + 4, b"\0\x08")),
            ("NetCountRxBadLength", datagram(rng, 0, vlan, True)),
            ("NetCountRxBadLength", patched(ping, l3 + 4, b"\0\x07")),
            ("NetCountRxBadLength", patched(ask, l3 + 4, b"\0\x17")),
            ("NetCountRxBadLength", ask[:-1]),
        ]
    for cause, frame in causes:
        assert receive(frame)[0] == cause, (cause, receive(frame)[0])
        before = bench.counters.count[cause]
        await bench.send(frame)
        assert bench.counters.count[cause] == before + 1, cause
    bench.check([f for _, f in causes])


@cocotb.test()
async def neighbours(dut):
    """Solicitations for each of our addresses, of the group and of us alone, with and without options, from
    an address and from none, become advertisements; those for others, or from beyond the link, go to the
    host."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)
    frames = []
    for vlan in (False, True):
        asked = []
        for target in OUR_IP6:
            for options in range(4):
                asked += [solicit(rng, vlan, target, to_group=group, options=options) for group in (False, True)]
            asked.append(solicit(rng, vlan, target, src="::", to_group=True, options=0))
            asked.append(solicit(rng, vlan, target, src="fe80::1", to_group=True))
        assert all(receive(f)[0] == "NetCountRxReply" for f in asked)
        host = [solicit(rng, vlan, hops=254), solicit(rng, vlan, code=1), solicit(rng, vlan, target="fd57:4b56::3"),
                solicit(rng, vlan, dst="ff02::1"), solicit(rng, vlan, dst="ff02::2:ff00:2", target=OUR_IP6[1])]
        odd = bytearray(solicit(rng, vlan, to_group=True))
        odd[5] ^= 1  # the group's number is in the MAC address, too
        host.append(bytes(odd))
        assert all(receive(f)[0] == "NetCountRxHost" for f in host)
        zero = solicit(rng, vlan, src="::", to_group=False)  # somebody without an address knows none of us
        assert receive(zero)[0] == "NetCountRxFromZero"
        frames += [*asked, *host, zero]
    rng.shuffle(frames)
    frames = [pad(rng, f) for f in frames]
    for i in range(0, len(frames), 10):
        await bench.send(*frames[i : i + 10])
    bench.check(frames)


@cocotb.test()
async def one_address(dut):
    """An address that is not set is nobody's: :: is never ours."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    dut.cfg_i.value = T.net_cfg_t.pack(CFG | {"ip6": CFG["ip6"] & (1 << 128) - 1})
    others = [f for vlan in (False, True) for ip in ("::", *OUR_IP6[1:]) for f in (
        raw(ether(rng, vlan) / network(rng, True, ip) / UDP(sport=7, dport=CFG["udp_port"]) / b"hello"),
        solicit(rng, vlan, target=ip, to_group=True))]
    await bench.send(*others)
    assert bench.host.frames == others
    mine = [f for vlan in (False, True) for f in (
        raw(ether(rng, vlan) / network(rng, True, OUR_IP6[0]) / UDP(sport=7, dport=CFG["udp_port"]) / b"hello"),
        solicit(rng, vlan, target=OUR_IP6[0]))]
    await bench.send(*mine)
    assert bench.counters.count["NetCountRxUdp"] == bench.counters.count["NetCountTxReply"] == 2


ADDRESSES = {
    "Us": [OUR_IP], "Broadcast": ["255.255.255.255"], "Multicast": ["224.0.0.1", "239.255.255.255"],
    "Reserved": ["240.0.0.0", "255.255.255.254"], "Loopback": ["127.0.0.1", "127.255.255.255"],
    "Zero": ["0.1.0.0", "0.255.255.255"],
}  # fmt: skip
ADDRESSES6 = {
    "Us": OUR_IP6, "Multicast": ["ff02::1", "ff00::"], "Reserved": ["::ffff:10.77.0.1", "::10.77.0.1", "::2"], "Loopback": ["::1"],
    "Zero": ["::"],
}  # fmt: skip
NEIGHBOURS6 = ["fe80::1", "1::2", "::1:0:0", "feff::1", "2001:db8:7:8:0:aa:feed:1235", "::fffe:10.77.0.1"]
NEIGHBOURS = ["223.255.255.255", "128.0.0.0", "126.255.255.255", "1.0.0.0", "10.77.0.3", "8.8.8.8"]
GROUPS = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"]


@cocotb.test()
async def martians(dut):
    """What nobody can have sent, or nobody may: dropped, and counted by what is wrong with it."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.1)
    load = random_data(rng, 20)

    def requests(ip, vlan):
        """One of each kind that the card answers, from an address."""
        link, ours = lambda: ether(rng, vlan), {"src": ip, "dst": OUR_IP}
        return [raw(link() / IP(**ours) / TCP(sport=5, dport=CFG["tcp_port"], flags="S")),
                raw(link() / IP(**ours) / TCP(sport=5, dport=CFG["tcp_port"], flags="A") / load),
                raw(link() / IP(**ours) / UDP(sport=5, dport=CFG["udp_port"]) / load),
                raw(link() / IP(**ours) / ICMP(type=8) / load),
                raw(link() / ARP(op=1, hwsrc=PEER_MAC, psrc=ip, pdst=OUR_IP))]

    def requests6(ip, vlan):
        link, ours = lambda: ether(rng, vlan), {"src": ip, "dst": rng.choice(OUR_IP6)}
        return [raw(link() / IPv6(**ours) / TCP(sport=5, dport=CFG["tcp_port"], flags="S")),
                raw(link() / IPv6(**ours) / TCP(sport=5, dport=CFG["tcp_port"], flags="A") / load),
                raw(link() / IPv6(**ours) / UDP(sport=5, dport=CFG["udp_port"]) / load),
                raw(link() / IPv6(**ours) / ICMPv6EchoRequest()), solicit(rng, vlan, src=ip, to_group=False)]

    want = []
    for vlan in (False, True):
        for name, ips in ADDRESSES.items():
            want += [(f"From{name}", f) for ip in ips for f in requests(ip, vlan)]
        want += [("Zero", f) for f in requests("0.0.0.0", vlan)[:-1]]
        want += [("Reply", requests("0.0.0.0", vlan)[-1])]  # an ARP probe: Linux answers it
        for ip in NEIGHBOURS:
            want += zip(("Tcp", "Tcp", "Udp", "Reply", "Reply"), requests(ip, vlan))
        for mac in GROUPS:
            for frame in requests(PEER_IP, vlan):
                want.append(("FromGroupMac", frame[:6] + bytes.fromhex(mac.replace(":", "")) + frame[12:]))
            for frame in requests(PEER_IP, vlan)[:4]:
                want.append(("ToGroupMac", bytes.fromhex(mac.replace(":", "")) + frame[6:]))
        for name, ips in ADDRESSES6.items():
            want += [(f"From{name}", f) for ip in ips for f in requests6(ip, vlan)]
        for ip in NEIGHBOURS6:
            want += zip(("Tcp", "Tcp", "Udp", "Reply", "Reply"), requests6(ip, vlan))
        for mac in GROUPS:
            for frame in requests6(PEER_IP6, vlan):
                want.append(("FromGroupMac", frame[:6] + bytes.fromhex(mac.replace(":", "")) + frame[12:]))
                want.append(("ToGroupMac", bytes.fromhex(mac.replace(":", "")) + frame[6:]))
        link, ours = lambda: ether(rng, vlan), network(rng, True)
        want += [("FromPort0", raw(link() / ours / TCP(sport=0, dport=CFG["tcp_port"], flags="S"))),
                 ("FromPort0", raw(link() / ours / UDP(sport=0, dport=CFG["udp_port"]) / load))]
        for flags in range(256):
            good = flags & 0x16 and not (flags & 2 and flags & 5)
            segment = TCP(sport=5, dport=CFG["tcp_port"], flags=flags) / (b"" if flags & 2 else load)
            want.append(("Tcp" if good else "BadFlags", raw(link() / ours / segment)))
        link, ours = lambda: ether(rng, vlan), IP(src=PEER_IP, dst=OUR_IP)
        want += [("FromPort0", raw(link() / ours / TCP(sport=0, dport=CFG["tcp_port"], flags="S"))),
                 ("FromPort0", raw(link() / ours / UDP(sport=0, dport=CFG["udp_port"]) / load))]
        for flags in range(256):
            good = flags & 0x16 and not (flags & 2 and flags & 5)
            segment = TCP(sport=5, dport=CFG["tcp_port"], flags=flags) / (b"" if flags & 2 else load)
            want.append(("Tcp" if good else "BadFlags", raw(link() / ours / segment)))
    want = [(f"NetCountRx{'From' * (k == 'Zero')}{k}", f) for k, f in want]
    for name, frame in want:
        assert receive(frame)[0] == name
    frames = [frame for _, frame in want]
    for i in range(0, len(frames), 20):
        await bench.send(*frames[i : i + 20])
    bench.check(frames)


@cocotb.test()
async def vlans(dut):
    """The card is in the untagged network, which priority tags (VLAN 0) are of, too, and in one VLAN. Of others nothing
    is answered, nor given to the host, as by a kernel that has no interface there."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.1)

    def tagged(frame, vlan):
        return frame[:12] + b"\x81\x00" + (rng.randrange(8) << 13 | vlan).to_bytes(2, "big") + frame[12:]

    for own in (CFG["vlan"], 0):
        dut.cfg_i.value = T.net_cfg_t.pack(CFG | {"vlan": own})
        before, frames, lost = dict(bench.counters.count), [], 0
        others = [CFG["vlan"] ^ 1 << bit for bit in range(12)] + [1, 4094, 4095] + [CFG["vlan"]] * (own == 0)
        for vlan in (0, CFG["vlan"], *others):
            kinds = [segment(rng, 10, False), segment(rng, 10, False, flags="S"), datagram(rng, 10, False), echo(rng, 20, False),
                     arp(rng, False), segment(rng, 10, False, six=True), datagram(rng, 10, False, six=True),
                     echo(rng, 20, False, six=True), solicit(rng, False), arp(rng, False, op=2)]
            lost += len(kinds) * (vlan not in (0, own))
            frames += [tagged(frame, vlan) for frame in kinds]
        for i in range(0, len(frames), 20):
            await bench.send(*frames[i : i + 20])
        count = {name: n - before.get(name, 0) for name, n in bench.counters.count.items()}
        assert count["NetCountRxVlan"] == lost and count["NetCountRxFrames"] == len(frames)
        taken = sum(count[f"NetCountRx{kind}"] for kind in ("Tcp", "Udp", "Reply", "Host"))
        assert taken == len(frames) - lost > 0, count


@cocotb.test()
async def echo_limit(dut):
    """Fifty echo requests are answered at once, then one a tick; the rest are counted. ARP and TCP
    among them are served."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    dut.tick_i.value = 0
    count = bench.counters.count
    assert not dut.timer_o.value
    await bench.send(*[echo(rng, 20) for _ in range(400)], arp(rng), segment(rng, 10))
    assert (count["NetCountTxReply"], count["NetCountRxEchoLimit"]) == (51, 350)
    assert count["NetCountRxTcp"] == 1 and dut.timer_o.value
    for _ in range(7):
        dut.tick_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.tick_i.value = 0
        for _ in range(5):
            await RisingEdge(dut.clk_i)
    # A request that is damaged takes nothing from the others.
    damaged = echo(rng, 20, False)
    await bench.send(damaged[:-1] + bytes([damaged[-1] ^ 1]), *[echo(rng, 20) for _ in range(10)])
    assert (count["NetCountTxReply"], count["NetCountRxEchoLimit"]) == (58, 353)
    dut.tick_i.value = 1
    for _ in range(60):
        await RisingEdge(dut.clk_i)
    assert not dut.timer_o.value


@cocotb.test()
@cocotb.parametrize(six=[False, True])
async def syn(dut, six):
    """Options of SYNs: usual ones, none, nonsense; never stuck, never long."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)

    def raw_syn(options, size=0, flags="S", payload=b""):
        """Options as bytes, a multiple of four; at least so much payload, which begins so."""
        size = max(size, len(payload))
        frame = bytearray(segment(rng, len(options) + size, flags=flags, options=[], six=six))
        l3 = 18 if frame[12:14] == b"\x81\x00" else 14
        l4 = l3 + (40 if six else 20)
        frame[l4 + 20 : l4 + 20 + len(options + payload)] = options + payload
        frame[l4 + 12] = (5 + len(options) // 4) << 4
        # scapy would rewrite nonsense options, so the checksum is made here.
        frame[l4 + 16 : l4 + 18] = b"\0\0"
        addresses = bytes(frame[l3 + 8 : l4] if six else frame[l3 + 12 : l4])
        pseudo = addresses + b"\0\6" + (len(frame) - l4).to_bytes(2, "big")
        frame[l4 + 16 : l4 + 18] = (word_sum(pseudo + bytes(frame[l4:])) ^ 0xFFFF).to_bytes(2, "big")
        return bytes(frame)

    linux = bytes.fromhex("020405b40402080a1122334400000000" "01030307")
    lists = [b"", linux, b"\1" * 40, b"\0" * 40, b"\1\3\3\7", b"\3\3\x0f\0", b"\3\3\xff\0", b"\2\4\x23\x28",
             b"\2\0\1\1", b"\2\1\1\1", b"\1\1\1\2", b"\2\4\5\xb4\5\xff\3\3", b"\xfe\x28" + b"\xaa" * 38,
             b"\1" * 36 + b"\2\4\5\xb4", b"\1" * 37 + b"\3\3\7", b"\2\4\5\xb4" * 10, b"\3\4\7\0\2\3\5\0",
             b"\1\1\2\4", b"\1\2\4\5", b"\1\1\3\3"]
    frames = [raw_syn(o, size) for o in lists for size in (0, 1, 90)]
    # What looks like more options behind them is payload.
    for options in (b"\2\4\5\xb4\4\2\1\1", b"\3\3\7\1", b"\1\1\1\1", b"\2\4\5\xb4"):
        frames += [raw_syn(options, payload=nops * b"\1" + b"\3\3\2\2\4\1\1" + b"\1" * 40) for nops in range(5)]
    for _ in range(60):
        options = random_data(rng, 4 * rng.randrange(11))
        if rng.random() < 0.7:
            options = bytes(rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 8, 10]) for _ in options)
        frames.append(raw_syn(options, rng.choice([0, 0, 20, 128]), rng.choice(["S", "SA", "S", "SPU"])))
        if rng.random() < 0.5:
            frames.append(segment(rng, rng.randrange(100), six=six))
    for i in range(0, len(frames), 20):
        await bench.send(*frames[i : i + 20])
    bench.check(frames)


@cocotb.test()
@cocotb.parametrize(waits=[False, True])
async def syn_flood(dut, waits):
    """SYNs with as many options as fit, as many as the wire carries: every other segment comes through,
    and soon; of the SYNs some do, the others are counted. Also on a wire that waits for room for a segment."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    if waits:
        bench.wire.room = lambda: dut.rx_room_o.value
    syns = [segment(rng, 0, False, "S", [("NOP", None)] * 39 + [("EOL", None)]) for _ in range(8)]
    data = [segment(rng, rng.randrange(1, 200), False, "A", []) for _ in range(200)]
    frames = [f for segment in data for f in (*rng.sample(syns, 3), segment)]
    begin = len(bench.wire.ends)
    await bench.send(*frames)
    segs = bench.packets(bench.seg.items)
    through = [payload for fields, payload in segs if not fields["flags"]["syn"]]
    assert through == [receive(f)[1][1] for f in data]
    came = len(segs) - len(data)
    count = bench.counters.nonzero()
    assert count == {"NetCountRxFrames": len(frames), "NetCountRxTcp": len(segs),
                     "NetCountRxFullTcp": len(frames) - len(segs)}
    assert 32 < came < 3 * len(data)
    # The last data segment goes out as soon as the first ones did, and not behind the SYNs.
    waits = [at - end for (at, item), end in zip(
        [(at, item) for at, item in zip(bench.seg.times, bench.seg.items)
         if item["beat"]["last"] and not item[""]["flags"]["syn"]], bench.wire.ends[begin + 3 :: 4], strict=True)]
    assert max(waits) <= 14, waits


@cocotb.test()
async def syn_between(dut):
    """A SYN comes out between two of the segments that keep the way out busy, whole ones."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.7)
    frames = [segment(rng, rng.randrange(1, 200), False, "A", []) for _ in range(100)]
    frames[10:10] = [segment(rng, 0, False, "S", [("MSS", 1460)])]
    await bench.send(*frames)
    bench.check(frames)
    segs = bench.packets(bench.seg.items)
    at = next(i for i, (fields, _) in enumerate(segs) if fields["flags"]["syn"])
    assert 10 <= at < 40, at


@cocotb.test()
async def path_mtu(dut):
    """What a router says of a segment of ours goes to tcp as what it quotes, and what fits; what quotes
    anything else goes to the host."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)
    everything = []
    for vlan in (False, True):
        told = [too_big(rng, more, vlan) for more in (0, 1, 7, 8, 9, 11, 12, 36, 37, 100, 520, 1400)]
        told += [too_big(rng, 0, vlan, told=mtu) for mtu in (1, 67, 68, 551, 552, 553, 600, 1499, 9000, 65535)]
        told += [too_big(rng, 0, vlan, told=0, total=total + more) for more in (-1, 0, 1)
                   for total in (552, 1006, 1492, 2002, 4352, 8166, 17914, 65534)]
        told += [too_big(rng, 0, vlan, sport=sport) for sport in (0, 80, CFG["tcp_port"] ^ 256)]
        host = [too_big(rng, 20, vlan, src="10.77.0.3"), too_big(rng, 20, vlan, proto=17),
                too_big(rng, 20, vlan, options=b"\1" * 4), too_big(rng, 20, vlan, version=6)]
        host += [too_big(rng, 20, vlan, kind=kind) for kind in ((3, 3), (3, 5), (11, 4), (0, 4))]
        assert all(receive(f)[1][0]["too_big"] for f in told)
        assert all(receive(f)[0] == "NetCountRxHost" for f in host)
        everything += [*told, *host, segment(rng, 10, vlan), echo(rng, 10, vlan)]
    rng.shuffle(everything)
    for i in range(0, len(everything), 20):
        await bench.send(*everything[i : i + 20])
    bench.check(everything)


@cocotb.test()
async def path_mtu6(dut):
    """The same over IPv6, where less than 1,280 bytes is never told; what quotes no segment is dropped."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)
    everything = []
    for vlan in (False, True):
        told = [too_big6(rng, more, vlan) for more in (0, 1, 5, 6, 9, 10, 11, 12, 36, 100, 520, 1184)]
        told += [too_big6(rng, 0, vlan, told=mtu) for mtu in (0, 1, 1279, 1280, 1281, 1500, 65535, 65536, 0x50000500)]
        told += [too_big6(rng, 0, vlan, src=src) for src in (*OUR_IP6, "fd57:4b56::3", "::")]
        told += [too_big6(rng, 0, vlan, sport=sport) for sport in (0, 80, CFG["tcp_port"] ^ 256)]
        dropped = [too_big6(rng, 20, vlan, nh=nh) for nh in (17, 44, 58)] + [too_big6(rng, 20, vlan, version=4)]
        short = [too_big6(rng, -less, vlan) for less in (1, 2, 8, 40)]
        host = [too_big6(rng, 20, vlan, code=1)]
        assert all(receive(f)[1][0]["too_big"] for f in told)
        assert all(receive(f)[0] == "NetCountRxQuote" for f in dropped)
        assert all(receive(f)[0] == "NetCountRxHost" for f in host)
        assert all(receive(f)[0] == "NetCountRxBadLength" for f in short)
        everything += [*told, *dropped, *short, *host, segment(rng, 10, vlan, six=True), echo(rng, 10, vlan, True)]
    for frame in told[:3]:
        everything += [frame[:-1], frame[:70], frame[:-1] + bytes([frame[-1] ^ 1])]
    rng.shuffle(everything)
    everything = [pad(rng, f) if receive(f)[0] != "NetCountRxBadLength" else f for f in everything]
    for i in range(0, len(everything), 20):
        await bench.send(*everything[i : i + 20])
    bench.check(everything)


@cocotb.test()
async def full_rate(dut):
    """One-beat frames, one a clock, all delivered; latency of each as promised."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    seg = [segment(rng, s % 7, False, flags="A", options=[]).ljust(60, b"\0") for s in range(100)]
    dgram = [datagram(rng, 1 + s % 22, False).ljust(60, b"\0") for s in range(100)]
    frames = [f for pair in zip(seg, dgram) for f in pair]
    await bench.send(*frames)
    bench.check(frames)
    ends = bench.wire.ends
    assert ends[-1] - ends[0] == len(frames) - 1
    seg_latency = {b - a for a, b in zip(ends[0::2], bench.seg.times, strict=True)}
    dgram_latency = {b - a for a, b in zip(ends[1::2], bench.dgram.times, strict=True)}
    dut._log.info("latency %s %s", seg_latency, dgram_latency)
    assert (seg_latency, dgram_latency) == ({10}, {10})


@cocotb.test()
async def overload(dut):
    """Full queues drop whole frames, count them, and what does come is right."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    for sink in (bench.seg, bench.dgram):
        sink.pause = 1.0
    bench.tx.pause = bench.host.pause = 1.0
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    kinds = [segment(rng, 1400, options=[]), datagram(rng, 1400), echo(rng, 1400),
             raw(ether(rng) / IP(src=PEER_IP, dst="10.9.9.9") / UDP() / random_data(rng, 1400))]
    names = ["Tcp", "Udp", "Reply", "Host"]
    bench.wire.queue.extend(kinds[i % 4] for i in range(4 * 30))
    await bench.wire.drain()
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    for sink in (bench.seg, bench.dgram, bench.tx, bench.host):
        sink.pause = 0.2
    await settle(dut)
    count = bench.counters.count
    got = [len(from_beats([i["beat"] for i in bench.seg.items])),
           len(from_beats([i["beat"] for i in bench.dgram.items])), len(bench.tx.frames), len(bench.host.frames)]
    for name, n in zip(names, got):
        assert count[f"NetCountRx{name}"] == n and count[f"NetCountRxFull{name}"] == 30 - n > 0, name
    assert min(got[:2]) >= 20
    for data, kind in zip(set(from_beats([i["beat"] for i in bench.seg.items])), kinds):
        assert data == receive(kind)[1][1]
    assert set(from_beats([i["beat"] for i in bench.dgram.items])) == {receive(kinds[1])[1][1]}
    assert set(bench.tx.frames) == {expected_answer(kinds[2])} and set(bench.host.frames) == {kinds[3]}


@cocotb.test()
@cocotb.parametrize(size=[8900, 1, None], flags=["A", "S", "AS"])
async def patient(dut, size, flags):
    """A wire that begins frames only while there is room loses no segment, however slow tcp is, though it carries a frame in
    each clock; no SYN, either, if it waits for those."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    waits_for = [dut.rx_room_o] + [dut.rx_syn_room_o] * ("S" in flags)
    bench.wire.room = lambda: all(room.value for room in waits_for)
    bench.seg.pause = 1.0
    options = {"A": [], "S": [("NOP", None)] * 39 + [("EOL", None)]}
    frames = []
    for _ in range(600 if size == 1 else 60):
        flag = rng.choice(flags)
        frames.append(segment(rng, size or rng.choice([0, 1, 100, 1460, 8900]), False, flag, options[flag]))
    bench.wire.queue.extend(frames)
    while bench.wire.waits < 50:
        await RisingEdge(dut.clk_i)
    bench.seg.pause = 0.9
    while bench.wire.queue:
        await RisingEdge(dut.clk_i)
    bench.seg.pause = 0.2
    await bench.wire.drain()
    await settle(dut)
    bench.check(frames)


@cocotb.test()
async def jumbo_echo(dut):
    """Pings of 9,018-byte frames, a small one right behind them, and ARP come back with their tag."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.1)
    frames = [echo(rng, 8972, True), arp(rng, True), echo(rng, 8972, False), echo(rng, 9, False),
              arp(rng, False), echo(rng, 0, True), echo(rng, 8952, True, True), solicit(rng, True),
              echo(rng, 8952, False, True), solicit(rng, False)]
    assert len(frames[0]) == 9018
    for frame in frames:
        await bench.send(frame)
    bench.check(frames)


def test_rx():
    run(__file__, "net", ["rtl/lib/lib.f", "rtl/net/net.f"])
