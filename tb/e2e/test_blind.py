"""Forged and stale TCP segments, frame by frame: the card answers as Linux' TCP does, and never to
whoever forged them. Linux here is memcached behind a virtual Ethernet cable."""

import os
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether

from harness import badlink, reference
from harness.segments import FORGER, M32, Connection, Wire
from harness.tap import interface_of, needs_tap

pytestmark = needs_tap

SPACE = f"wirekv{os.getpid()}"


def situations(wire):
    """name, what came back; each on a connection of its own, for one is challenged once in half a
    second."""
    forged = {"src": FORGER}
    for name, flags, payload, place in (
            ("SYN", "S", b"", {"seq": 1 << 30}),
            ("SYN in the window", "S", b"", {"seq": 10}),
            ("RST in the window", "R", b"", {"seq": 10}),
            ("ACK far too old, with a command", "PA", b"flush_all\r\n", {"ack": -100_000}),
            ("data elsewhere", "PA", b"flush_all\r\n", {"seq": 1 << 30}),
            ("ACK elsewhere", "A", b"", {"seq": 1 << 30})):
        c = Connection(wire, next(wire.ports)).open()
        c.send(flags, payload, **place, **forged)
        yield name, c.kinds()
        c.talk()
    c.send("R", seq=1 << 30, **forged)
    yield "RST elsewhere", c.kinds(first=0.5)
    for name, ahead in (("data after quit", 0), ("data far ahead after quit", 100)):
        c = Connection(wire, next(wire.ports)).open()
        c.send("PA", b"quit\r\n")
        c.seq += 6
        c.ended()
        c.ack += 1
        c.send()
        c.send("PA", b"flush_all\r\n", seq=ahead)
        yield name, c.kinds()
        c.send("PA", b"flush_all\r\n")
        yield f"{name}, again", c.kinds()
    c = Connection(wire, next(wire.ports)).open()
    c.send("A", seq=-1)
    yield "keep-alive", c.kinds()
    for _ in range(5):
        c.send("PA", b"get nothing\r\n", seq=-13)
        time.sleep(0.02)
    yield "data again, five times", c.kinds()
    c = Connection(wire, next(wire.ports)).open()
    begin = time.monotonic()
    for i in range(400):
        c.send("S", seq=i * 1000, **forged)
    many = c.kinds(seconds=0.2)
    assert set(many) == {"A to us"}
    yield "400 SYNs", len(many) <= 1 + (time.monotonic() - begin) / 0.4
    c.talk()
    yield "TIME_WAIT", time_wait(wire)
    yield "closed ports", closed_ports(wire)
    # The card is silent to one in 32 of these: data may overtake the last ACK of a handshake.
    for _ in range(4):
        s = Connection(wire, next(wire.ports))
        s.send("PA", b"get x\r\n", ack=77)
        s.ack += 77
        if said := s.kinds(first=3):
            break
    yield "data of no connection", said


def closed_ports(wire):
    """What is said to who asks where nobody serves."""
    said = []
    for flags, payload in (("S", b""), ("A", b""), ("FA", b"data"), ("SA", b""), ("F", b"x"), ("R", b""), ("RA", b"")):
        sport = next(wire.ports)
        got = wire.ask(TCP(sport=sport, dport=wire.port + 1, seq=1000, ack=2000, flags=flags) / payload)
        said.append([(str(f[TCP].flags), f[TCP].seq, f[TCP].ack, f[TCP].sport, f[TCP].dport == sport, f[TCP].window)
                     for f in got if TCP in f])
    for size in (0, 1, 100, 600, 1400):
        sport = next(wire.ports)
        packet = UDP(sport=sport, dport=wire.port + 1) / (b"u" * size)
        # What is quoted differs in the addresses, and so in the checksum.
        said.append([(f[ICMP].type, f[ICMP].code, f[IP].len, bytes(f[ICMP])[28:34], bytes(f[ICMP])[36 : f[IP].len - 20])
                     for f in wire.ask(packet) if ICMP in f and bytes(f[ICMP])[28:30] == bytes(packet)[:2]])
    return said


def time_wait(wire):
    """The server closes first: the answers to our FIN, an older and a newer SYN."""
    while True:
        c = Connection(wire, next(wire.ports)).open()
        c.send("PA", b"quit\r\n")
        c.seq += 6
        c.ended()
        begin = time.monotonic()
        c.ack += 1
        c.send("FA")
        c.seq += 1
        answers = [c.kinds(seconds=0.05)]
        c.send("S", seq=-70_000)
        answers.append(c.kinds(seconds=0.05))
        used = c.ack
        c.seq += 1000
        c.send("S", options=[("MSS", 1460)])
        syn_ack = c.answers(seconds=0.05)[0][TCP]
        answers.append(f"{syn_ack.flags}, above the old numbers: {0 < (syn_ack.seq - used) & M32 < 1 << 31}")
        c.seq += 1
        c.ack = syn_ack.seq + 1
        c.send("R")
        # It is over after a second at the card: then that was no TIME_WAIT.
        if time.monotonic() - begin < 0.9:
            return answers


@pytest.fixture(scope="module")
def linux():
    """memcached in a network namespace, and our end of its cable."""
    if not badlink.possible():
        pytest.skip("no network namespace")
    ours, theirs = f"wk{os.getpid()}a", f"wk{os.getpid()}b"
    with badlink.Space(SPACE) as space:
        badlink.run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", SPACE)
        badlink.run("ip", "link", "set", ours, "up")
        badlink.run("ip", "-n", SPACE, "addr", "add", "10.231.77.1/24", "dev", theirs)
        badlink.run("ip", "-n", SPACE, "link", "set", theirs, "up")
        # Segments as they would be on a cable, not several as one.
        badlink.run("ip", "-n", SPACE, "link", "set", theirs, "gso_max_segs", "1")
        server = reference.Server("memcached", [*space.inside, reference.MEMCACHED, "-u", "root",
                                                "-l", "10.231.77.1", "-p", 11211, "-U", 0])
        try:
            yield Wire(ours, "10.231.77.1", 11211).find()
        finally:
            server.stop()


@pytest.fixture(scope="module")
def card():
    server = reference.wirekv(net="tap")
    wire = Wire(interface_of(server.host), server.host, server.port).find()
    wire.server = server
    yield wire
    assert server.stop() == 0, server.tail()


def test_as_linux(card, linux):
    # Who rests for as long as a retransmission's timer sees more than was asked for: once more then.
    for _ in range(3):
        ours, theirs = dict(situations(card)), dict(situations(linux))
        if ours == theirs:
            break
    assert ours == theirs
    assert [len(said) for said in ours["closed ports"]] == [1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1]
    assert ours["data after quit"] == ours["data after quit, again"] == ["R to us"]
    assert ours["SYN"] == ["A to us"] and ours["400 SYNs"]
    assert ours["TIME_WAIT"] == [["A to us"], ["A to us"], "SA, above the old numbers: True"]


class Download(Connection):
    """A connection to which a reply is on its way, as much of it as the window takes."""

    VALUE = bytes(range(32, 127)) * 14
    late = False

    def begin(self):
        self.open()
        self.talk(b"set big 0 0 %d\r\n%b\r\n" % (len(self.VALUE), self.VALUE), b"STORED\r\n")
        self.reply = b"VALUE big 0 %d\r\n%b\r\n" % (len(self.VALUE), self.VALUE)
        return self.more()

    def more(self):
        """Asks; the largest packet that comes."""
        request = b"get" + 10 * b" big" + b"\r\n"
        self.whole = 10 * self.reply + b"END\r\n"
        self.send("PA", request)
        self.seq += len(request)
        self.got = self.answers(seconds=0.05)
        self.came = time.monotonic()
        return max(self.got, key=lambda frame: frame[IP].len)

    def finish(self):
        """Takes the whole reply; the largest packet that carried some of it, from here on."""
        have, largest = b"", 0
        # The third timeout in a row would be a reason of its own.
        self.late |= time.monotonic() - self.came > 1
        end = time.monotonic() + 30
        while len(have) < len(self.whole) and time.monotonic() < end:
            for frame in self.got:
                size = frame[IP].len - 20 - 4 * frame[TCP].dataofs
                data, at = bytes(frame[TCP].payload)[:size], (frame[TCP].seq - self.ack) & M32
                assert not data or at > len(self.whole) or data == self.whole[at : at + len(data)]
                if at <= len(have) < at + len(data):
                    have += data[len(have) - at :]
            self.send(ack=len(have))
            self.got = self.answers(seconds=0.02, first=1) if len(have) < len(self.whole) else []
            largest = max([largest, *(frame[IP].len for frame in self.got)])
        assert have == self.whole
        self.ack += len(have)
        return largest

    def router(self, frame, mtu, at=0, change=b"", flip=0):
        """A router says that this packet is too big; of what it quotes some bytes are changed."""
        quote = bytearray(bytes(frame[IP])[:28])
        quote[at : at + len(change)] = change
        packet = bytearray(bytes(IP(src=self.wire.ip[:-1] + "8", dst=self.wire.host)
                                 / ICMP(type=3, code=4, nexthopmtu=mtu) / bytes(quote)))
        packet[22] ^= flip              # its checksum
        self.wire.raw.send(bytes(Ether(dst=self.wire.mac, src=FORGER, type=0x800)) + bytes(packet))
        # An ACK right behind it would pass it by in the card, and what it quotes be acknowledged then.
        time.sleep(0.1)


def paths(wire, forget):
    """name, the largest packets before and after what a router says, and those of the next reply."""
    # An address and a port of nobody; numbers that are not in flight.
    forged = {"port": (22, b"\x12\x34"), "our port": (20, b"\x12\x34"), "address": (16, bytes([10, 1, 2, 3]))}
    names = ["600", "552", "300", "1500", "9000", *forged, "before", "behind", "far", "checksum"]
    while names:
        name = names[0]
        c = Download(wire, next(wire.ports))
        frame = c.begin()
        seq = {"before": -1, "behind": 20_000, "far": 1 << 31}.get(name)
        if name in forged:
            c.router(frame, 600, *forged[name])
        elif seq:
            c.router(frame, 600, 24, ((c.ack + seq) & M32).to_bytes(4, "big"))
        elif name == "checksum":
            c.router(frame, 600, flip=1)
        else:
            c.router(frame, int(name))
        # what comes again of itself
        small = c.finish()
        sizes = frame[IP].len, small, max(c.more()[IP].len, c.finish())
        c.send("R")
        forget()
        if not c.late:
            yield names.pop(0), sizes


def test_path_mtu(card, linux):
    """What routers say makes segments smaller, down to 552 bytes; who does not know a connection's
    numbers changes nothing. Both as in Linux."""
    ours = dict(paths(card, lambda: None))
    theirs = dict(paths(linux, lambda: badlink.run("ip", "-n", SPACE, "route", "flush", "cache")))
    assert ours == theirs
    for name, sizes in ours.items():
        small = {"600": 600, "552": 552, "300": 552}.get(name, 1500)
        assert sizes == (1500, small, small), name
    counts = reference.stats(card.server, "card")
    assert int(counts["TcpPathMtu"]) >= 3 and int(counts["TcpPathMtuStrays"]) >= 6, counts
