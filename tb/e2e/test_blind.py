"""Forged and stale TCP segments, frame by frame: the card answers as Linux' TCP does, and never to
whoever forged them. Linux here is memcached behind a virtual Ethernet cable."""

import itertools
import os
import socket
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from e2e import badlink, reference
from e2e.test_tap import _interface_of, _why_not

pytestmark = pytest.mark.skipif(_why_not is not None, reason=_why_not or "")

ME, FORGER = "02:00:00:00:00:77", "02:00:00:00:0b:ad"
SPACE = f"wirekv{os.getpid()}"
M32 = 0xFFFFFFFF
ECHO = 0x77AB


class Wire:
    """Sends and sees frames at our end of the server's cable, as a host that has no kernel."""

    def __init__(self, interface, host, port):
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.raw.bind((interface, 0))
        self.host, self.port = host, port
        self.ip = host.rsplit(".", 1)[0] + ".177"
        self.mac = None
        self.ports = itertools.count(40001)  # of ours, one for each connection
        self.aside = []  # came while only another connection's were looked for

    def frames(self, seconds):
        """What the server sends in so long; who asks for our address is answered."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not reference.readable(self.raw, left):
                return
            data, where = self.raw.recvfrom(65536)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            frame = Ether(data)
            if ARP in frame and frame[ARP].op == 1 and frame[ARP].pdst == self.ip:
                self.raw.send(bytes(Ether(dst=frame.src, src=ME) / ARP(
                    op=2, hwsrc=ME, psrc=self.ip, hwdst=frame.src, pdst=frame[ARP].psrc)))
            elif ARP in frame and frame[ARP].op == 2 and frame[ARP].psrc == self.host:
                self.mac = frame[ARP].hwsrc
                return
            elif IP in frame and frame[IP].dst == self.ip and frame[IP].src == self.host:
                yield frame

    def find(self):
        """The server's MAC address."""
        for _ in range(50):
            self.raw.send(bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=ME) / ARP(
                op=1, hwsrc=ME, psrc=self.ip, pdst=self.host)))
            for _ in self.frames(0.2):
                pass
            if self.mac:
                return self
        raise TimeoutError("nobody has the server's address")

    def ask(self, packet):
        """What the server sends when an IP packet has come, TCP and ICMP: until it answers a ping behind it, and a
        little longer."""
        for one in (packet, ICMP(type=8, id=ECHO)):
            self.raw.send(bytes(Ether(dst=self.mac, src=ME) / IP(src=self.ip, dst=self.host) / one))
        got, end = [], time.monotonic() + reference.SECONDS
        while time.monotonic() < end:
            for frame in self.frames(end - time.monotonic()):
                if ICMP in frame and (frame[ICMP].type, frame[ICMP].id) == (0, ECHO):
                    return got + list(self.frames(0.3))
                got.append(frame)
        raise TimeoutError("no answer to a ping")

    def send(self, sport, seq, ack, flags, payload=b"", src=ME, window=8192, **options):
        segment = TCP(sport=sport, dport=self.port, seq=seq & M32, ack=ack & M32, flags=flags,
                      window=window, **options)
        self.raw.send(bytes(Ether(dst=self.mac, src=src) / IP(src=self.ip, dst=self.host) / segment / payload))


class Connection:
    """A connection whose segments the test makes; `seq` and `ack` are exact."""

    def __init__(self, wire, sport):
        self.wire, self.sport = wire, sport
        self.seq, self.ack = 0x10000000, 0

    def send(self, flags="A", payload=b"", seq=0, ack=0, **more):
        self.wire.send(self.sport, self.seq + seq, self.ack + ack, flags, payload, **more)

    def answers(self, seconds=0.3, first=10):
        """The segments that come in so long, but wait for the first one longer."""
        got = []
        end = time.monotonic() + first
        while time.monotonic() < end:
            for frame in self.wire.frames(min(seconds, max(end - time.monotonic(), 0.01))):
                if TCP in frame and frame[TCP].dport == self.sport:
                    got.append(frame)
                    end = min(end, time.monotonic() + seconds)
                else:
                    self.wire.aside.append(frame)
        return got

    def kinds(self, **times):
        """The same as words: flags, whether the numbers are right, whether it comes to us."""
        out = []
        for frame in self.answers(**times):
            tcp = frame[TCP]
            right = (tcp.ack == self.seq & M32) if tcp.flags.A else (tcp.seq == self.ack & M32)
            out.append(f"{tcp.flags}{'' if right else ' wrong'} to {'us' if frame.dst == ME else frame.dst}")
        return out

    def ended(self):
        """The server ends its side, when its program gets the processor."""
        end = time.monotonic() + reference.SECONDS
        while not any(frame[TCP].flags.F for frame in self.answers(first=1)):
            assert time.monotonic() < end, "it goes on"

    def open(self):
        self.send("S", options=[("MSS", 1460)])
        syn_ack = self.answers()[0][TCP]
        assert syn_ack.flags == "SA" and syn_ack.ack == (self.seq + 1) & M32
        self.seq += 1
        self.ack = syn_ack.seq + 1
        self.send()
        self.talk()
        return self

    def talk(self, command=b"get nothing\r\n", reply=b"END\r\n"):
        """A command is executed, and answered to us."""
        self.send("PA", command)
        self.seq += len(command)
        got = b""
        end = time.monotonic() + reference.SECONDS
        while len(got) < len(reply) and time.monotonic() < end:
            for frame in self.answers(first=1):
                tcp = frame[TCP]
                assert frame.dst == ME
                if Raw in tcp and tcp.seq == (self.ack + len(got)) & M32:
                    got += tcp[Raw].load
        assert got == reply, got
        self.ack += len(got)
        self.send()
        time.sleep(0.05)


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
    # The card is silent to one in 64 of these: data may overtake the last ACK of a handshake.
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
    wire = Wire(_interface_of(server.host), server.host, server.port).find()
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
