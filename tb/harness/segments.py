"""TCP segments that a test makes itself, frame by frame, and the frames that come back."""

import itertools
import socket
import time

from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from harness import reference

ME, FORGER = "02:00:00:00:00:77", "02:00:00:00:0b:ad"
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
