"""Forged and stale TCP segments, frame by frame: the card answers as Linux' TCP does, and never to
whoever forged them. Linux here is memcached behind a virtual Ethernet cable."""

import os
import socket
import subprocess
import time

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from e2e import reference
from e2e.test_tap import _interface_of, _why_not

pytestmark = pytest.mark.skipif(_why_not is not None, reason=_why_not or "")

ME, FORGER = "02:00:00:00:00:77", "02:00:00:00:0b:ad"
SPACE = f"wirekv{os.getpid()}"
M32 = 0xFFFFFFFF


class Wire:
    """Sends and sees frames at our end of the server's cable, as a host that has no kernel."""

    def __init__(self, interface, host, port):
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.raw.bind((interface, 0))
        self.host, self.port = host, port
        self.ip = host.rsplit(".", 1)[0] + ".177"
        self.mac = None

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
            elif TCP in frame and frame[IP].dst == self.ip and frame[IP].src == self.host:
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
                if frame[TCP].dport == self.sport:
                    got.append(frame)
                    end = min(end, time.monotonic() + seconds)
        return got

    def kinds(self, **times):
        """The same as words: flags, whether the numbers are right, whether it comes to us."""
        out = []
        for frame in self.answers(**times):
            tcp = frame[TCP]
            right = (tcp.ack == self.seq & M32) if tcp.flags.A else (tcp.seq == self.ack & M32)
            out.append(f"{tcp.flags}{'' if right else ' wrong'} to {'us' if frame.dst == ME else frame.dst}")
        return out

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
        end = time.monotonic() + 20
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
    ports = iter(range(40001, 41000))
    forged = {"src": FORGER}
    for name, flags, payload, place in (
            ("SYN", "S", b"", {"seq": 1 << 30}),
            ("SYN in the window", "S", b"", {"seq": 10}),
            ("RST in the window", "R", b"", {"seq": 10}),
            ("ACK far too old, with a command", "PA", b"flush_all\r\n", {"ack": -100_000}),
            ("data elsewhere", "PA", b"flush_all\r\n", {"seq": 1 << 30}),
            ("ACK elsewhere", "A", b"", {"seq": 1 << 30})):
        c = Connection(wire, next(ports)).open()
        c.send(flags, payload, **place, **forged)
        yield name, c.kinds()
        c.talk()
    c.send("R", seq=1 << 30, **forged)
    yield "RST elsewhere", c.kinds(first=0.5)
    c = Connection(wire, next(ports)).open()
    c.send("A", seq=-1)
    yield "keep-alive", c.kinds()
    for _ in range(5):
        c.send("PA", b"get nothing\r\n", seq=-13)
        time.sleep(0.02)
    yield "data again, five times", c.kinds()
    c = Connection(wire, next(ports)).open()
    begin = time.monotonic()
    for i in range(400):
        c.send("S", seq=i * 1000, **forged)
    many = c.kinds(seconds=0.2)
    assert set(many) == {"A to us"}
    yield "400 SYNs", len(many) <= 1 + (time.monotonic() - begin) / 0.4
    c.talk()
    yield "TIME_WAIT", time_wait(wire, ports)
    s = Connection(wire, next(ports))
    s.send("PA", b"get x\r\n", ack=77)
    s.ack += 77
    yield "data of no connection", s.kinds()


def time_wait(wire, ports):
    """The server closes first: the answers to our FIN, an older and a newer SYN."""
    while True:
        c = Connection(wire, next(ports)).open()
        c.send("PA", b"quit\r\n")
        c.seq += 6
        assert any(a[TCP].flags.F for a in c.answers())
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
    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
    ours, theirs = f"wk{os.getpid()}a", f"wk{os.getpid()}b"
    try:
        ip("netns", "add", SPACE)
    except (subprocess.CalledProcessError, FileNotFoundError) as e:
        pytest.skip(f"no network namespace: {e}")
    try:
        ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", SPACE)
        ip("link", "set", ours, "up")
        ip("-n", SPACE, "addr", "add", "10.231.77.1/24", "dev", theirs)
        ip("-n", SPACE, "link", "set", theirs, "up")
        server = reference.Server("memcached", ["ip", "netns", "exec", SPACE, reference.MEMCACHED, "-u", "root",
                                                "-l", "10.231.77.1", "-p", 11211, "-U", 0])
        try:
            yield Wire(ours, "10.231.77.1", 11211).find()
        finally:
            server.stop()
    finally:
        ip("netns", "del", SPACE)


@pytest.fixture(scope="module")
def card():
    server = reference.wirekv(net="tap")
    yield Wire(_interface_of(server.host), server.host, server.port).find()
    assert server.stop() == 0, server.tail()


def test_as_linux(card, linux):
    ours, theirs = dict(situations(card)), dict(situations(linux))
    assert ours == theirs
    assert ours["SYN"] == ["A to us"] and ours["400 SYNs"]
    assert ours["TIME_WAIT"] == [["A to us"], ["A to us"], "SA, above the old numbers: True"]
