"""Frames for the tests of net: AXI4-Stream ends, a model of what net does with a received frame."""

import ipaddress
import random
import struct

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, until
from harness.csr_map import COUNTERS

OUR_MAC, OUR_IP = "02:aa:bb:cc:dd:ee", "10.77.0.2"
#: Link-local, fixed, in a router's network.
OUR_IP6 = ["fe80::aa:bbff:fecc:ddee", "fd57:4b56::2", "2001:db8:7:8:0:aa:feed:1234"]
OUR_IP6_NUMBERS = [int(ipaddress.IPv6Address(ip)) for ip in OUR_IP6]
CFG = {"mac": 0x02AABBCCDDEE, "ip": 0x0A4D0002, "tcp_port": 11211, "redis_port": 6379, "udp_port": 11212, "mtu": 9000,
       "vlan": 0x5A7,
       "ip6": sum(ip << 128 * i for i, ip in enumerate(OUR_IP6_NUMBERS))}
COUNTS = list(COUNTERS["net"])
#: TCP ports, and what is said of who speaks to them.
PORTS = {CFG["tcp_port"]: {"redis": 0}, CFG["redis_port"]: {"redis": 1}}


def random_data(rng, size):
    return rng.getrandbits(8 * size).to_bytes(size, "little") if size else b""


class AxisSource:
    """Sends frames (bytes), with idle clocks inside and between them."""

    def __init__(self, dut, prefix, pause=0.0):
        self.dut, self.pause, self.queue = dut, pause, []
        #: Frames begin only while this signal is 1; `waits` counts the clocks in which one could not.
        self.room, self.waits = None, 0
        self.port = {n: getattr(Pins(dut), f"{prefix}_t{n}") for n in ("data", "keep", "valid", "last", "ready")}
        self.port["valid"].value = 0
        #: Clock in which each frame's last beat was on the bus.
        self.ends = []
        every_clock(dut, self._run())

    async def _run(self):
        clock, beats, driven = 0, [], False
        while True:
            await NEXT_CLOCK
            clock += 1
            if driven and not self.port["ready"].value:
                continue
            if driven and beats.pop(0)[2]:
                self.ends.append(clock)
            may = self.room is None or self.room()
            if not beats and self.queue and not may:
                self.waits += 1
            if not beats and self.queue and may and self.dut.rst_ni.value:
                frame = self.queue.pop(0)
                beats = [(int.from_bytes(frame[i : i + 64], "little"), (1 << len(frame[i : i + 64])) - 1,
                          int(i + 64 >= len(frame))) for i in range(0, len(frame), 64)]
            driven = bool(beats) and random.random() >= self.pause
            self.port["valid"].drive(driven)
            if driven:
                data, keep, last = beats[0]
                # Lanes behind the end are anything.
                data |= random.getrandbits(512) & ~((1 << 8 * keep.bit_count()) - 1)
                self.port["data"].value, self.port["keep"].value = data, keep
                self.port["last"].value = last

    async def drain(self):
        while self.queue or self.port["valid"].value:
            await clocks(self.dut, 1)


class AxisSink:
    """Takes frames (bytes) into `frames`; `pause` is the probability of a clock without ready."""

    def __init__(self, dut, prefix, pause=0.0):
        self.dut, self.pause, self.frames, self.ends = dut, pause, [], []
        self.port = {n: getattr(Pins(dut), f"{prefix}_t{n}") for n in ("data", "keep", "valid", "last", "ready")}
        self.port["ready"].value = 0
        every_clock(dut, self._run())

    async def _run(self):
        clock, ready, frame = 0, False, b""
        while True:
            await NEXT_CLOCK
            clock += 1
            if ready and self.port["valid"].value:
                keep, last = self.port["keep"].value, self.port["last"].value
                size = keep.bit_count()
                assert keep == (1 << size) - 1 and (last or size == 64), f"keep {keep:x}"
                data = self.port["data"].value
                frame += (data & ((1 << 8 * size) - 1)).to_bytes(size, "little")
                if last:
                    self.frames.append(frame)
                    self.ends.append(clock)
                    frame = b""
            if self.pause or not ready:
                ready = random.random() >= self.pause
                self.port["ready"].drive(ready)


class Counters:
    """Counts the pulses of count_o."""

    def __init__(self, dut):
        self.dut, self.count = dut, dict.fromkeys(COUNTS, 0)
        every_clock(dut, self._run())

    async def _run(self):
        pins = Pins(self.dut)
        while True:
            await NEXT_CLOCK
            if not pins.rst_ni.value:
                continue
            word = pins.count_o.value
            while word:
                low = word & -word
                self.count[COUNTS[low.bit_length() - 1]] += 1
                word ^= low

    def nonzero(self):
        return {k: v for k, v in self.count.items() if v}


async def settle(dut, stays=12):
    """Until nothing has been inside for so many clocks."""
    idle, quiet = Pins(dut).idle_o, 0

    def rests():
        nonlocal quiet
        quiet = quiet + 1 if idle.value else 0
        return quiet == stays

    await clocks(dut, 1)
    assert await until(dut, rests, 50_000), "never idle"


# ---------------------------------------------------------------- model


def word_sum(data):
    """One's-complement sum, folded."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def syn_options(options):
    """MSS, window scale, TSval (None where absent) and SACK-permitted of the options in front of any nonsense."""
    mss = scale = value = None
    sack = False
    while options and options[0]:
        if options[0] == 1:
            options = options[1:]
            continue
        if len(options) < 2 or not 2 <= options[1] <= len(options):
            break
        if options[:2] == b"\2\4":
            mss = struct.unpack(">H", options[2:4])[0]
        elif options[:2] == b"\3\3":
            scale = min(options[2], 14)
        elif options[:2] == b"\4\2":
            sack = True
        elif options[:2] == b"\x08\x0a":
            value = struct.unpack(">I", options[2:6])[0]
        options = options[options[1] :]
    return mss, scale, value, sack


def martian_source(ip):
    """Why nobody can have sent from this address: the counter's name, or None."""
    kinds = [("Us", CFG["ip"], 32), ("Broadcast", 0xFFFFFFFF, 32), ("Multicast", 0xE0000000, 4),
             ("Reserved", 0xF0000000, 4), ("Loopback", 0x7F000000, 8), ("Zero", 0, 8)]
    return next((f"NetCountRxFrom{name}" for name, net, bits in kinds if (ip ^ net) >> (32 - bits) == 0), None)


# RFC 1191, section 7.1; what is below is as Linux' min_pmtu.
PLATEAUS = [8166, 4352, 2002, 1492, 1006, 552]


def path_payload(told, total):
    """Bytes of payload that go through where a packet of `total` did not and the router said `told`."""
    return max(told or next((p for p in PLATEAUS if p < total), 0), 552) - 40


def receive(frame):
    """What net has to do with a frame: (counter, None | frame | (fields, payload))."""
    if len(frame) < 14:
        return "NetCountRxBadLength", None
    found = receive_member(frame)
    tag = int.from_bytes(frame[14:16].ljust(2, b"\0"), "big") if frame[12:14] == b"\x81\x00" else 0
    if tag & 0xFFF not in (0, CFG["vlan"]) and found[0] not in ("NetCountRxBadLength", "NetCountRxBadIp"):
        return "NetCountRxVlan", None
    return found


def receive_member(frame):
    """The same where the card is a member of the frame's VLAN."""
    vlan = frame[12:14] == b"\x81\x00"
    l2 = 18 if vlan else 14
    ethertype = frame[l2 - 2 : l2].ljust(2, b"\0")
    size, l3 = len(frame) - l2, frame[l2:].ljust(48, b"\0")  # a torn frame reads as zeros
    dst = int.from_bytes(frame[:6], "big")
    host = "NetCountRxHost", frame
    from_group = ("NetCountRxFromGroupMac", None) if frame[6] & 1 else None
    if ethertype == b"\x86\xdd":
        return receive6(frame, vlan, l2, from_group)
    if ethertype == b"\x08\x06":
        ask = (dst in (CFG["mac"], (1 << 48) - 1) and size >= 28
               and l3[:8].hex() == "0001080006040001" and int.from_bytes(l3[24:28], "big") == CFG["ip"])
        asker = int.from_bytes(l3[14:18], "big")
        # An ARP probe asks in the name of 0.0.0.0.
        martian = martian_source(asker) if ask and asker else None
        return from_group or (martian and (martian, None)) or (("NetCountRxReply", frame) if ask else host)
    if ethertype == b"\x08\x00" and frame[0] & 1 and int.from_bytes(l3[16:20], "big") == CFG["ip"]:
        return from_group or ("NetCountRxToGroupMac", None)
    if ethertype != b"\x08\x00" or dst != CFG["mac"]:
        return from_group or host
    if l3[0] >> 4 != 4 or l3[0] & 15 < 5 or (l3[0] & 15 == 5 and word_sum(l3[:20]) != 0xFFFF):
        return "NetCountRxBadIp", None
    total, frag = struct.unpack(">H2xH", l3[2:8])
    if l3[0] & 15 > 5 or frag & 0x3FFF or int.from_bytes(l3[16:20], "big") != CFG["ip"]:
        return from_group or host
    proto, l4 = l3[9], l3[20:total]
    short = "NetCountRxBadLength", None
    sport, dport = struct.unpack(">HH", l3[20:24])
    martian = martian_source(int.from_bytes(l3[12:16], "big"))
    drop = from_group or (martian and (martian, None))
    pseudo = l3[12:20] + struct.pack(">HH", proto, (total - 20) & 0xFFFF)
    peer = {"mac": int.from_bytes(frame[6:12], "big"), "vlan_valid": int(vlan),
            "vlan_tci": int.from_bytes(frame[14:16], "big") if vlan else None, "ours": 0, "redis": 0,
            "ip": int.from_bytes(l3[12:16], "big"), "port": sport}
    if proto == 6 and dport in PORTS:
        offset = (l3[32] >> 4) * 4
        if offset < 20 or total < 20 + offset or total > size:
            return short
        return segment(peer | PORTS[dport], l4, pseudo, drop)
    if proto == 17 and dport == CFG["udp_port"]:
        length = struct.unpack(">H", l3[24:26])[0]
        if not 9 <= length <= total - 20 or length + 20 > size:
            return short
        l4 = l4[:length]
        pseudo = pseudo[:10] + struct.pack(">H", length)
        if drop or not sport:
            return drop or ("NetCountRxFromPort0", None)
        if l4[6:8] != b"\0\0" and word_sum(pseudo + l4) != 0xFFFF:
            return "NetCountRxBadUdp", None
        return "NetCountRxUdp", ({"peer": peer}, l4[8:])
    if proto == 1 and l3[20:22] == b"\3\4" and (l3[28], l3[37]) == (0x45, 6) and \
            int.from_bytes(l3[40:44], "big") == CFG["ip"]:
        if total < 56 or total > size:
            return short
        if drop:
            return drop
        if word_sum(l4) != 0xFFFF:
            return "NetCountRxBadIcmp", None
        told, quoted = struct.unpack(">H2xH", l4[6:12])
        ip, sport, dport, seq = struct.unpack(">IHHI", l4[24:36])
        return "NetCountRxTcp", ({"too_big": 1, "peer": peer | {"ip": ip, "port": dport * (sport in PORTS)} | PORTS.get(sport, {}),
                                  "ack": seq, "mss": path_payload(told, quoted)}, b"")
    if proto == 1 and l3[20:22] == b"\x08\0":
        if total < 28 or total > size:
            return short
        if drop:
            return drop
        return ("NetCountRxReply", frame) if word_sum(l4) == 0xFFFF else ("NetCountRxBadIcmp", None)
    return drop or host


def martian_source6(ip):
    kinds = [*(("Us", ours, 128) for ours in OUR_IP6_NUMBERS), ("Multicast", 0xFF << 120, 8),
             ("Loopback", 1, 128), ("Zero", 0, 128), ("Reserved", 0xFFFF << 32, 96), ("Reserved", 0, 96)]
    return next((f"NetCountRxFrom{name}" for name, net, bits in kinds if (ip ^ net) >> (128 - bits) == 0), None)


def receive6(frame, vlan, l2, from_group):
    """The same for a frame with IPv6."""
    host, short = ("NetCountRxHost", frame), ("NetCountRxBadLength", None)
    size, l3 = len(frame) - l2, frame[l2:].ljust(120, b"\0")
    mac = int.from_bytes(frame[:6], "big")
    total, proto, hops = struct.unpack(">HBB", l3[4:8])
    src, dst = int.from_bytes(l3[8:24], "big"), int.from_bytes(l3[24:40], "big")
    ours = OUR_IP6_NUMBERS.index(dst) + 1 if dst in OUR_IP6_NUMBERS else 0
    is_six = l3[0] >> 4 == 6
    if mac == CFG["mac"] and not is_six:
        return "NetCountRxBadIp", None
    if frame[0] & 1 and ours:
        return from_group or ("NetCountRxToGroupMac", None)
    local = mac == CFG["mac"] and ours
    group = (dst >> 24 == 0xFF0200000000000000000001FF and dst & 0xFFFFFF in [ip & 0xFFFFFF for ip in OUR_IP6_NUMBERS]
             and mac == 0x333300000000 | dst & 0xFFFFFFFF)
    solicit = is_six and proto == 58 and hops == 255 and l3[40:42] == b"\x87\0" and (local or group)
    if not local and not solicit:
        return from_group or host
    martian = martian_source6(src)
    if solicit and group and src == 0:
        martian = None
    drop = from_group or (martian and (martian, None))
    l4 = l3[40 : 40 + total]
    sport, dport = struct.unpack(">HH", l3[40:44])
    pseudo = l3[8:40] + struct.pack(">HH", total, proto)
    peer = {"mac": int.from_bytes(frame[6:12], "big"), "vlan_valid": int(vlan),
            "vlan_tci": int.from_bytes(frame[14:16], "big") if vlan else None, "ours": ours, "redis": 0, "ip": src,
            "port": sport}
    if proto == 6 and dport in PORTS:
        offset = (l3[52] >> 4) * 4
        if offset < 20 or total < offset or total + 40 > size:
            return short
        return segment(peer | PORTS[dport], l4, pseudo, drop)
    if proto == 17 and dport == CFG["udp_port"]:
        length = struct.unpack(">H", l3[44:46])[0]
        if not 9 <= length <= total or length + 40 > size:
            return short
        if drop or not sport:
            return drop or ("NetCountRxFromPort0", None)
        pseudo, l4 = l3[8:40] + struct.pack(">HH", length, proto), l4[:length]
        if l4[6:8] == b"\0\0" or word_sum(pseudo + l4) != 0xFFFF:
            return "NetCountRxBadUdp", None
        return "NetCountRxUdp", ({"peer": peer}, l4[8:])
    if proto == 58 and l3[40:42] == b"\2\0":
        if total < 56 or total + 40 > size:
            return short
        if drop:
            return drop
        if l3[48] >> 4 != 6 or l3[54] != 6:
            return "NetCountRxQuote", None
        if word_sum(pseudo + l4) != 0xFFFF:
            return "NetCountRxBadIcmp", None
        told, quote = struct.unpack(">I", l4[4:8])[0], l4[8:]
        sport, dport, seq = struct.unpack(">HHI", quote[40:48])
        whose = int.from_bytes(quote[8:24], "big")
        known = whose in OUR_IP6_NUMBERS
        return "NetCountRxTcp", ({
            "too_big": 1, "ack": seq, "mss": max(min(told, 65535), 1280) - 60,
            "peer": peer | {"ip": int.from_bytes(quote[24:40], "big"),
                            "ours": OUR_IP6_NUMBERS.index(whose) + 1 if known else ours,
                            "port": dport * (known and sport in PORTS)} | PORTS.get(sport, {})}, b"")
    if solicit or (proto == 58 and l3[40:42] == b"\x80\0"):
        if total < (24 if solicit else 8) or total + 40 > size:
            return short
        if drop:
            return drop
        if solicit and int.from_bytes(l3[48:64], "big") not in OUR_IP6_NUMBERS:
            return "NetCountRxNeighbour", None
        return ("NetCountRxReply", frame) if word_sum(pseudo + l4) == 0xFFFF else ("NetCountRxBadIcmp", None)
    return drop or host


def segment(peer, l4, pseudo, drop):
    """What becomes of a TCP segment of either IP, whose length is right."""
    flags = l4[13]
    if drop or not peer["port"]:
        return drop or ("NetCountRxFromPort0", None)
    if (flags & 2 and flags & 5) or not flags & 0x16:
        return "NetCountRxBadFlags", None
    if word_sum(pseudo + l4) != 0xFFFF:
        return "NetCountRxBadTcp", None
    seq, ack, wnd = struct.unpack(">II2xH", l4[4:16])
    offset = (l4[12] >> 4) * 4
    payload = l4[offset:]
    fields = {"too_big": 0, "peer": peer, "seq": seq, "ack": ack, "flags": flags, "wnd": wnd, "mss": None, "ws": None,
              "sack": False, "times": 0, "options": b"" if flags & 2 else l4[20:offset]}
    if flags & 2:
        payload = b""  # a SYN's is not accepted
        fields["mss"], fields["ws"], value, fields["sack"] = syn_options(l4[20:offset])
        if value is not None and not flags & 16:
            fields["times"], fields["ack"] = 1, value
    return "NetCountRxTcp", (fields, payload)


def flags_byte(flags):
    names = ("cwr", "ece", "urg", "ack", "psh", "rst", "syn", "fin")
    return sum(flags[n] << (7 - i) for i, n in enumerate(names))
