"""WireKV behind a TAP device: the kernel's TCP/IP talks to the card's, frame by frame."""

import ipaddress
import random
import select
import socket
import subprocess
import threading
import time

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from harness import differ, reference
from harness.fixtures import ended_well
from harness.memcached import stream
from harness.reference import needs_ipv6
from harness.size import scale
from harness.tap import interface_of, needs_tap


pytestmark = needs_tap


@pytest.fixture(scope="module")
def card():
    server = reference.wirekv(net="tap")
    server.name = "wirekv"
    yield from ended_well(server)


def test_ping(card):
    for size in (0, 1, 56, 64, 1000, 1472):
        done = subprocess.run(
            ["ping", "-c", "3", "-i", "0.05", "-W", "30", "-s", str(size), card.host],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert " 0% packet loss" in done.stdout, done.stdout + done.stderr


def test_netcat(card):
    done = subprocess.run(
        ["nc", "-q", "5", "-w", "60", card.host, str(card.port)],
        input=b"set tap 5 0 3\r\nabc\r\nget tap\r\nquit\r\n",
        capture_output=True,
        timeout=120,
    )
    assert done.stdout == b"STORED\r\nVALUE tap 5 3\r\nabc\r\nEND\r\n"


# The card's address in the network of which the kernel has ::1.
CARD6 = "fd57:4b56::2"


@needs_ipv6
def test_ping_ipv6(card):
    interface = interface_of(card.host)
    link = f"fe80::57:4bff:fe56:2%{interface}"
    for address, size in ((CARD6, 0), (CARD6, 8), (CARD6, 1452), (link, 56), (link, 1000)):
        done = subprocess.run(
            ["ping", "-6", "-c", "3", "-i", "0.05", "-W", "30", "-s", str(size), address],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert " 0% packet loss" in done.stdout, done.stdout + done.stderr


@needs_ipv6
def test_clients_ipv6(card):
    """TCP and UDP, and ports where nobody serves."""
    value = random.Random(6).randbytes(300_000).replace(b"\r", b"\n")
    with socket.create_connection((CARD6, card.port), timeout=reference.SECONDS) as s:
        s.sendall(b"set six 6 0 %d\r\n%s\r\n" % (len(value), value))
        assert reference.ask(s, b"get six\r\n", b"END\r\n") == b"STORED\r\nVALUE six 6 %d\r\n%s\r\nEND\r\n" % (
            len(value), value)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.connect((CARD6, card.udp_port))
        s.send(b"\0\1\0\0\0\1\0\0version\r\n")
        assert select.select([s], [], [], reference.SECONDS)[0] and s.recv(100)[8:] == b"VERSION 1.6.38\r\n"
        s.connect((CARD6, 53))
        s.send(b"anybody?")
        assert select.select([s], [], [], reference.SECONDS)[0]
        with pytest.raises(ConnectionRefusedError):
            s.recv(100)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((CARD6, 81), timeout=reference.SECONDS)


def test_streams(card, memcached, seed):
    run = differ.Differ(memcached, card, label=f"tap_{seed}")
    generator = stream.Generator(seed, b"t:", value_budget=4 << 20, reply_budget=6 << 20)
    while run.commands < scale(800, 50_000):
        run.run(generator.burst())
    run.close()


def test_udp(card, memcached, seed):
    run = differ.UdpDiffer(memcached, card, label=f"tap_udp_{seed}")
    generator = stream.Generator(seed, b"v:", udp=True)
    while run.commands < scale(1_000, 20_000):
        run.run(generator.datagram())
    run.close()


def test_broken_frames(card):
    """Nonsense on the wire: nothing but silence, and the card goes on."""
    interface = interface_of(card.host)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((interface, 0))
        rng = random.Random(1)
        for _ in range(500):
            size = rng.choice([14, 15, 20, 33, 34, 41, 42, 53, 54, 60, 64, 65, 128, 600, 1514])
            frame = bytearray(rng.randbytes(size))
            frame[:6] = b"\xff" * 6
            if rng.random() < 0.8 and size > 34:  # looks like IPv4 to some depth
                frame[12:16] = b"\x08\x00" + rng.choice([b"\x45\x00", b"\x4f\x00", b"\x44\x00"])
                frame[23] = rng.choice([1, 6, 17, 99])
            raw.send(bytes(frame))
    with card.connect() as s:
        assert reference.ask(s, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
    with card.datagrams() as s:
        s.send(b"\0\1\0\0\0\1\0\0version\r\n")
        assert select.select([s], [], [], reference.SECONDS)[0] and s.recv(100)[8:] == b"VERSION 1.6.38\r\n"


def test_syn_flood(card):
    """3,000 SYNs a second from everywhere: clients get in, and those that are in are answered. In the
    card's own time tb/tcp/test_handshake.py says how soon; here it is the machine's, which has much else to
    do."""
    with card.connect() as old:
        reference.ask(old, b"version\r\n", b"\r\n")
        neighbours = subprocess.run(["ip", "neigh", "show", card.host], capture_output=True, text=True).stdout
        mac = neighbours.split("lladdr ")[1].split()[0]
        rng = random.Random(2)
        syns = [
            bytes(
                Ether(dst=mac, src="02:00:00:00:0b:ad")
                / IP(src=str(ipaddress.IPv4Address(rng.randrange(1 << 24, 126 << 24))), dst=card.host)
                / TCP(sport=rng.randrange(1, 65536), dport=card.port, flags="S", seq=rng.getrandbits(32),
                      options=[("MSS", 1460)])  # fmt: skip
            )
            for _ in range(1000)
        ]
        over, sent = threading.Event(), 0

        def flood():
            nonlocal sent
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
                raw.bind((interface_of(card.host), 0))
                begin = time.monotonic()
                while not over.is_set():
                    while sent < 3000 * (time.monotonic() - begin):
                        raw.send(syns[sent % len(syns)])
                        sent += 1
                    time.sleep(0.001)

        thread = threading.Thread(target=flood)
        thread.start()
        connects, waits = [], []
        try:
            while len(waits) < 20 or sent <= 1000:
                assert thread.is_alive()
                begin = time.monotonic()
                with card.connect() as new:
                    connects.append(time.monotonic() - begin)
                    assert reference.ask(new, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
                begin = time.monotonic()
                assert reference.ask(old, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
                waits.append(time.monotonic() - begin)
                time.sleep(0.05)
        finally:
            over.set()
            thread.join()
    print(f"{sent} SYNs, connected after at most {max(connects):.3f} s, answered after {max(waits):.3f} s")


