"""Transmit side of net: frames around segments and datagrams, merged with the host's and the
answers. Scapy builds every expected frame, checksums included."""

import ipaddress
import random

import cocotb
from cocotb.triggers import RisingEdge
from scapy.all import ARP, IP, TCP, UDP, Dot1Q, Ether, raw
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IPv6

from harness.clock import clocks, start
from harness.models import run
from harness.streams import SIZES, Source, to_beats
from harness.structs import T
from net.frames import CFG, OUR_IP, OUR_IP6, OUR_MAC, AxisSink, AxisSource, Counters, random_data, settle

FLAGS = ("cwr", "ece", "urg", "ack", "psh", "rst", "syn", "fin")
SIZES = [s for s in SIZES if s <= 1500] + [1472, 8948, 8960, 8972]


def peer(rng, vlan=None, six=False):
    ours = rng.randrange(1, 4) if six else 0
    return {"mac": rng.getrandbits(48), "ours": ours, "redis": rng.getrandbits(1), "ip": rng.getrandbits(128 if six else 32),
            "port": rng.randrange(1, 65536),
            "vlan_valid": int(rng.random() < 0.4) if vlan is None else vlan, "vlan_tci": rng.getrandbits(16)}


def dotted(number, size, base, text):
    return base.join(format(b, text) for b in number.to_bytes(size, "big"))


def headers(to, proto, **ip):
    frame = Ether(dst=dotted(to["mac"], 6, ":", "02x"), src=OUR_MAC)
    if to["vlan_valid"]:
        tci = to["vlan_tci"]
        frame /= Dot1Q(prio=tci >> 13, dei=tci >> 12 & 1, vlan=tci & 0xFFF)
    if to["ours"]:
        return frame / IPv6(src=OUR_IP6[to["ours"] - 1], dst=str(ipaddress.IPv6Address(to["ip"])), hlim=64, nh=proto)
    return frame / IP(src=OUR_IP, dst=dotted(to["ip"], 4, ".", "d"), ttl=64, proto=proto, **{"id": 0, "flags": "DF"} | ip)


def pad(frame):
    return raw(frame).ljust(60, b"\0")


def beats(data):
    """Behind the end stands something, as it does where a frame ends in what memory holds."""
    beats = to_beats(data)
    beats[-1]["data"] |= -1 << 8 * beats[-1]["len"] & (1 << 512) - 1
    return beats


def segment(rng, size, vlan=None, mss=None, ws=None, permit=False, sack=(), narrow=None, six=False, times=None):
    """(beats to drive, expected frame); `narrow`: may be fragmented, as the so-manieth packet"""
    times = rng.random() < 0.3 if times is None else times
    to, data = peer(rng, vlan, six), random_data(rng, size)
    flags = rng.getrandbits(8) & ~2
    if mss is not None or ws is not None or permit:
        flags |= 2
    meta = {"peer": to, "seq": rng.getrandbits(32), "ack": rng.getrandbits(32), "wnd": rng.getrandbits(16),
            "len": size, "flags": {n: flags >> (7 - i) & 1 for i, n in enumerate(FLAGS)},
            "mss_valid": mss is not None, "mss": mss or 0, "ws_valid": ws is not None, "ws": ws or 0, "sack_ok": permit,
            "narrow": narrow is not None,
            "times": {"valid": times, "value": rng.getrandbits(32), "echo": rng.getrandbits(32)}}
    # Blocks lie less than 65,536 behind the number that is acknowledged.
    blocks = [(meta["ack"] + place) % (1 << 32) for place in sack]
    meta["sack"] = [{"valid": 2 * i < len(sack), "from": block[0] % (1 << 18), "to": block[1] % (1 << 18)}
                    for i, block in enumerate(zip([*blocks, *[0] * 8][:8:2], [*blocks, *[0] * 8][1:8:2]))]
    stamps = tuple(meta["times"][n] for n in ("value", "echo"))
    options = ([("NOP", None), ("NOP", None), ("Timestamp", stamps)] if times else []) + (
        [("MSS", mss)] if mss is not None else []) + (
        [("NOP", None), ("WScale", ws)] if ws is not None else []) + (
        [("NOP", None), ("NOP", None), ("SAckOK", b"")] if permit else []) + (
        [("NOP", None), ("NOP", None), ("SAck", tuple(blocks))] if sack else [])
    ip = {} if narrow is None else {"id": narrow % 65536, "flags": 0}
    frame = headers(to, 6, **ip) / TCP(sport=CFG["redis_port" if to.get("redis") else "tcp_port"], dport=to["port"], seq=meta["seq"], ack=meta["ack"],
                                 flags=flags, window=meta["wnd"], options=options) / data
    return [{"": meta, "beat": b} for b in beats(data)], pad(frame)


class Numbers:
    """Identifications of packets that may be fragmented."""

    next = 0

    @classmethod
    def take(cls):
        cls.next += 1
        return {"id": (cls.next - 1) % 65536, "flags": 0}


def datagram(rng, size, vlan=None, data=None, to=None, six=False):
    """(beats to drive, expected frame); over IPv4 one that some path may not take may be fragmented"""
    to, data = to or peer(rng, vlan, six), random_data(rng, size) if data is None else data
    ip = Numbers.take() if size > 552 - 28 and not to["ours"] else {}
    frame = headers(to, 17, **ip) / UDP(sport=CFG["udp_port"], dport=to["port"]) / data
    return [{"": {"peer": to, "len": size}, "beat": b} for b in beats(data)], pad(frame)


class Bench:
    def __init__(self, dut, pause, idle):
        self.dut = dut
        self.seg = Source(dut, "txseg", {"": T.txseg_t, "beat": T.beat_t}, idle)
        self.dgram = Source(dut, "txdgram", {"": T.dgram_t, "beat": T.beat_t}, idle)
        self.host = AxisSource(dut, "s_axis_host", idle)
        self.wire_in = AxisSource(dut, "s_axis_rx", idle)
        self.wire = AxisSink(dut, "m_axis_tx", pause)
        self.counters = Counters(dut)

    @classmethod
    async def make(cls, dut, pause=0.0, idle=0.0):
        dut.cfg_i.value = T.net_cfg_t.pack(CFG)
        dut.enable_i.value = dut.tick_i.value = 1
        dut.txseg_bad_i.value = 0
        for name in ("seg_ready_i", "dgram_ready_i", "m_axis_host_tready"):
            getattr(dut, name).value = 1
        bench = cls(dut, pause, idle)
        await start(dut)
        Numbers.next = 0
        await clocks(dut, 40)  # the sums of our addresses
        return bench

    async def drain(self):
        for source in (self.seg, self.dgram, self.host, self.wire_in):
            await source.drain()
        await settle(self.dut)


@cocotb.test()
async def narrow(dut):
    """Segments and datagrams that may be fragmented, each with the next identification, among others."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.3)
    want = []
    Numbers.next = 65_500
    dut.u_build.id_q.value = Numbers.next
    for i in range(100):
        six = rng.random() < 0.2
        if i % 10 < 8:
            narrow = Numbers.take()["id"] if i % 2 and not six else None
            beats, frame = segment(rng, rng.choice((0, 1, 10, 64, 512)), narrow=narrow, six=six)
            bench.seg.put(*beats)
        else:
            await bench.drain()
            beats, frame = datagram(rng, rng.choice((1, 523, 524, 525, 526, 1400)), six=six)
            bench.dgram.put(*beats)
            await bench.drain()
        want.append(frame)
    assert bench.wire.frames == want


@cocotb.test()
@cocotb.parametrize(six=[False, True])
async def sizes(dut, six):
    """Every payload size, tagged or not, back to back; padding is zero."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    for make, source in ((segment, bench.seg), (datagram, bench.dgram)):
        want = []
        for size in SIZES:
            if size > CFG["mtu"] - (28 if make is datagram else 40) - 20 * six:
                continue
            for vlan in (0, 1):
                for more in ({"times": False}, {"times": True}) if make is segment else ({},):
                    beats, frame = make(rng, size, vlan, six=six, **more)
                    source.put(*beats)
                    want.append(frame)
        if make is segment:
            for vlan, times in ((0, 0), (0, 1), (1, 0), (1, 1)):
                beats, frame = segment(rng, 0, vlan, six=six, times=times)
                source.put(*beats)
                want.append(frame)
        del bench.wire.frames[:]
        await bench.drain()
        assert bench.wire.frames == want


@cocotb.test()
async def options(dut):
    """SYN-ACKs with each set of options, and ACKs with one to four SACK blocks, among other segments."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, pause=0.2)
    want = []
    for i in range(160):
        mss = rng.choice([None, 1460, 8960, rng.getrandbits(16)])
        ws = rng.choice([None, 7, rng.randrange(15)])
        permit, sack, times = rng.choice([False, True]), (), None
        if i % 3 == 0:
            mss, ws, permit = None, None, False
            times = rng.random() < 0.5
            sack = [rng.choice((1, 65536, rng.randrange(1, 65537))) for _ in range(2 * rng.randrange(5 - times))]
        bare = mss is not None or ws is not None or permit or sack
        beats, frame = segment(rng, 0 if bare else rng.randrange(100), i % 2, mss, ws, permit, sack,
                               six=rng.random() < 0.5, times=times)
        bench.seg.put(*beats)
        want.append(frame)
    await bench.drain()
    assert bench.wire.frames == want


@cocotb.test()
@cocotb.parametrize(six=[False, True])
async def udp_zero_checksum(dut, six):
    """A UDP checksum that comes to zero is sent as ffff."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    for _ in range(10):
        data, to = random_data(rng, 20), peer(rng, six=six)
        # Choose the last word so that the sum comes to ffff.
        l4 = (38 if to["vlan_valid"] else 34) + 20 * six
        sum_ = UDP(raw(headers(to, 17) / UDP(sport=CFG["udp_port"], dport=to["port"]) / (data + b"\0\0"))[l4:]).chksum
        data += sum_.to_bytes(2, "big")
        beats, frame = datagram(rng, 22, data=data, to=to)
        assert frame[l4 + 6 : l4 + 8] == b"\xff\xff"
        bench.dgram.put(*beats)
        await bench.drain()
        assert bench.wire.frames[-1] == frame


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.3)])
async def merge(dut, pace):
    """All four sources at once: whole frames, each source in order, none starved or lost."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut, *pace)
    want = {"Tcp": [], "Udp": [], "Host": [], "Reply": [], "Neighbour": []}
    for _ in range(100):
        beats, frame = segment(rng, rng.choice([0, 1, 6, 10, 64, 100, 700]), six=rng.random() < 0.5)
        bench.seg.put(*beats)
        want["Tcp"].append(frame)
        beats, frame = datagram(rng, rng.choice([1, 14, 22, 23, 64, 100, 700]), six=rng.random() < 0.5)
        bench.dgram.put(*beats)
        want["Udp"].append(frame)
        frame = raw(Ether(type=0x88B5) / random_data(rng, rng.choice([1, 45, 46, 50, 51, 600])))
        bench.host.queue.append(frame)
        want["Host"].append(frame.ljust(60, b"\0"))
    for i in range(20):
        ask = Ether(dst=OUR_MAC, src="02:00:00:00:00:01") / ARP(
            op=1, hwsrc="02:00:00:00:00:01", psrc=f"10.77.0.{i + 3}", pdst=OUR_IP)
        bench.wire_in.queue.append(raw(ask))
        want["Reply"].append(pad(Ether(dst="02:00:00:00:00:01", src=OUR_MAC) / ARP(
            op=2, hwsrc=OUR_MAC, psrc=OUR_IP, hwdst="02:00:00:00:00:01", pdst=f"10.77.0.{i + 3}")))
        to = {"mac": 0x020000000000 + i, "vlan_valid": i % 2, "vlan_tci": i % 8 << 13 | CFG["vlan"], "ours": 1 + i % 3, "ip": (0xFE80 << 112) + i}
        ask = Ether(dst=OUR_MAC, src=dotted(to["mac"], 6, ":", "02x"))
        if i % 2:
            ask /= Dot1Q(prio=i % 8, vlan=CFG["vlan"])
        ask /= IPv6(src=str(ipaddress.IPv6Address(to["ip"])), dst=OUR_IP6[i % 3], hlim=255)
        bench.wire_in.queue.append(raw(ask / ICMPv6ND_NS(tgt=OUR_IP6[i % 3])))
        answer = headers(to, 58)
        answer[IPv6].hlim = 255
        want["Neighbour"].append(raw(answer / ICMPv6ND_NA(tgt=OUR_IP6[i % 3], R=0, S=1, O=1)
                                     / ICMPv6NDOptDstLLAddr(lladdr=OUR_MAC)))
    await bench.drain()
    got = {name: [] for name in want}
    for frame in bench.wire.frames:
        l2 = 18 if frame[12:14] == b"\x81\0" else 14
        kind = {b"\x08\x06": "Reply", b"\x88\xb5": "Host"}.get(frame[l2 - 2 : l2])
        proto = frame[l2 + (6 if frame[l2] >> 4 == 6 else 9)]
        got[kind or {6: "Tcp", 17: "Udp", 58: "Neighbour"}[proto]].append(frame)
    assert got == want
    # Round robin: the answers did not wait for the others to finish.
    first = [bench.wire.frames.index(want[k][9]) for k in want]
    assert max(first) < 160, first
    count = {f"NetCountTx{k}": len(want[k]) for k in ("Tcp", "Udp", "Host")}
    count |= {"NetCountTxFrames": 340, "NetCountTxReply": 40, "NetCountRxFrames": 40, "NetCountRxReply": 40}
    assert bench.counters.nonzero() == count


@cocotb.test()
async def long_host_frame(dut):
    """A frame from the host that no MTU allows is dropped, not stuck; the longest allowed passes."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    frames = [random_data(rng, n) for n in (9088, 9089, 100, 30000, 9018)]
    bench.host.queue.extend(frames)
    await bench.drain()
    assert bench.wire.frames == [frames[0], frames[2], frames[4]]
    assert bench.counters.count["NetCountTxHostLong"] == 2


@cocotb.test()
async def full_rate(dut):
    """Frames of one beat leave one a clock; a small one leaves soon after it came."""
    rng = random.Random(random.getrandbits(32))
    bench = await Bench.make(dut)
    packets = [segment(rng, i % 7, 0, times=False) if i % 2 else datagram(rng, 1 + i % 18) for i in range(200)]
    for i, (beats, _) in enumerate(packets):
        (bench.seg if i % 2 else bench.dgram).put(*beats)
    await bench.drain()
    assert sorted(bench.wire.frames) == sorted(f for _, f in packets)
    ends = bench.wire.ends
    # The drivers offer a segment and a datagram in every clock, so the wire is always busy.
    assert ends[-1] - ends[0] <= len(packets) + 2
    for make, source, valid in ((segment, bench.seg, dut.txseg_valid_i), (datagram, bench.dgram, dut.txdgram_valid_i)):
        source.put(*make(rng, 6, **{"times": False} if make is segment else {})[0])
        while not valid.value:
            await RisingEdge(dut.clk_i)
        clocks = 0
        while not dut.m_axis_tx_tvalid.value:
            await RisingEdge(dut.clk_i)
            clocks += 1
        dut._log.info("latency %d", clocks)
        assert clocks <= 8
        await bench.drain()


def test_tx():
    run(__file__, "net", ["rtl/lib/lib.f", "rtl/net/net.f"])
