"""WireKV's card on a network interface: packet sockets and AF_XDP, and DPDK's drivers for both. The other end of the link is a
kernel that leaves checksums and the cutting of segments to hardware that is not there."""

import os
import random
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
import redis
from pymemcache.client.base import Client
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

from harness import differ, interfaces, reference
from harness.interfaces import CARD_IP, CARD_IP6, FAR, FAR_IP, NEAR, NEAR_IP, SECOND_IP, Server, needs_dpdk, needs_interfaces, needs_xdp
from harness.memcached import stream
from harness.reference import HAS_IPV6, needs_ipv6
from harness.size import scale
from harness.tap import needs_tap

pytestmark = needs_interfaces

#: The network and what is said of it at the end, by how the far end of the link is made: the driver refuses to run XDP
#: where the other end sends on more queues than it receives on.
KINDS = {"packet": ("packet", "packets of"), "afxdp": ("afxdp", "native"), "generic": ("afxdp", "generic"),
         "dpdk-af_packet": ("dpdk-af_packet", "DPDK's port net_af_packet0 (net_af_packet), polled"),
         "dpdk-af_xdp": ("dpdk-af_xdp", "DPDK's port net_af_xdp0 (net_af_xdp), polled"),
         "dpdk-tap": ("dpdk-tap", "DPDK's port net_tap0 (net_tap), by interrupts")}
ALL = ["packet", *(pytest.param(kind, marks=needs_xdp) for kind in ("afxdp", "generic"))]
DPDK = [pytest.param("dpdk-af_packet", marks=needs_dpdk), pytest.param("dpdk-af_xdp", marks=[needs_dpdk, needs_xdp])]
FASTEST = ["packet", pytest.param("afxdp", marks=needs_xdp)]
#: Level and option, and the bit that says that a frame had a tag.
PACKET_AUXDATA, TP_STATUS_VLAN_VALID = (263, 8), 1 << 4


def link(kind, **more):
    # What the kernel did not cut, DPDK's drivers cut off.
    return interfaces.pair(near_queues=2 if kind == "generic" else 1, cut=kind.startswith("dpdk"), **more)


def ping(pair, address, size=56, *options):
    # With a deadline it goes on until three answers are there, or more, however late each is.
    command = [*pair.near.inside, "ping", "-c", "3", "-i", "0.05", "-w", "40", "-s", str(size), *options, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=reference.SECONDS)
    received = re.search(r" (\d+) received", done.stdout)
    assert received and int(received[1]) >= 3, done.stdout + done.stderr


def version(server):
    with server.connect() as s:
        return reference.ask(s, b"version\r\n", b"\r\n")


@pytest.fixture(scope="module", params=[*ALL, *DPDK])
def card(request):
    """A card with addresses of its own."""
    net, words = KINDS[request.param]
    with link(request.param) as pair, Server(pair, net) as server:
        server.net = net
        yield server
        assert words in server.summary()


def test_clients(card):
    """pymemcache and redis-py, with values of many segments."""
    value = random.Random(1).randbytes(400_000)
    with card.pair.near.entered():
        client = Client(card.address, timeout=reference.SECONDS, default_noreply=False)
        other = redis.Redis(card.host, card.redis_port, socket_timeout=reference.SECONDS)
        assert client.set("small", b"s") and client.set("large", value)
        assert client.get_many(["small", "large", "none"]) == {"small": b"s", "large": value}
        client.set("n", b"41")
        assert client.incr("n", 1) == 42
        assert other.ping() and other.set("r", value) and other.get("r") == value
        assert other.mget("n", "large", "none") == [b"42", value, None]
        assert other.incr("n") == 43
        client.close()
        other.close()


def test_datagrams(card):
    with card.connect() as s:
        reference.ask(s, b"set u 0 0 3000\r\n%s\r\n" % (b"u" * 3000), b"\r\n")
    with card.datagrams() as s:
        got = {}
        s.send(b"\0\1\0\0\0\1\0\0get u\r\n")
        while len(got) < 3:
            assert reference.readable(s, reference.SECONDS)
            data = s.recv(2000)
            got[struct.unpack(">H", data[2:4])[0]] = data[8:]
        assert b"".join(got[n] for n in sorted(got)) == b"VALUE u 0 3000\r\n%s\r\nEND\r\n" % (b"u" * 3000)


def test_ping(card):
    for size in (0, 1, 56, 1472):
        ping(card.pair, card.host, size)


@needs_ipv6
def test_ipv6(card):
    ping(card.pair, CARD_IP6, 1000, "-6")
    with card.pair.near.entered():
        s = socket.create_connection((CARD_IP6, card.port), timeout=reference.SECONDS)
    value = b"6" * 100_000
    with s:
        reply = reference.ask(s, b"set six 0 0 100000\r\n%s\r\nget six\r\n" % value, b"END\r\n")
    assert reply == b"STORED\r\nVALUE six 0 100000\r\n%s\r\nEND\r\n" % value


def test_streams(card, seed):
    with reference.memcached() as memcached:
        run = differ.Differ(memcached, card, label=f"interface_{seed}")
        generator = stream.Generator(seed, b"i:", value_budget=4 << 20, reply_budget=6 << 20)
        while run.commands < scale(400, 20_000):
            run.run(generator.burst())
        run.close()


@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="redis-benchmark is not installed")
def test_redis_benchmark(card):
    command = ["redis-benchmark", "-h", card.host, "-p", card.redis_port, "-t", "set,get", "-c", "20", "-P", "4",
               "-n", scale(1000, 20_000), "-d", "100", "-q"]
    command = [str(word) for word in [*card.pair.near.inside, *command]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * reference.SECONDS)
    found = re.findall(r"(SET|GET): [\d.]+ requests per second", done.stdout.replace("\r", "\n"))
    assert found == ["SET", "GET"] and not done.returncode, done.stdout + done.stderr


def test_kernel_beside(card):
    """The kernel at the same interface answers pings and serves TCP while the card serves."""
    if card.net == "dpdk-af_xdp":
        pytest.skip("DPDK's net_af_xdp leaves the kernel no frame")
    kernel_serves(card.pair, FAR_IP, card)


def kernel_serves(pair, address, card):
    """2 MB to a program and back, while the card is asked."""
    with pair.far.entered():
        listener = socket.create_server((FAR_IP, 5001))
    data = random.Random(2).randbytes(2 << 20)

    def echo():
        peer, _ = listener.accept()
        with peer:
            got = b""
            while len(got) < len(data):
                got += peer.recv(1 << 16)
            peer.sendall(got)

    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    with pair.near.entered():
        s = socket.create_connection((address, 5001), timeout=reference.SECONDS)
    with listener, s:
        s.sendall(data)
        assert version(card) == b"VERSION 1.6.38\r\n"
        got = b""
        while len(got) < len(data):
            got += s.recv(1 << 16)
        assert got == data
    thread.join(reference.SECONDS)
    ping(pair, address)


@pytest.mark.parametrize("silence", [0.0, 1.0])
def test_down_and_up(card, silence):
    """The interface goes and comes: connections go on where they were."""
    with card.connect() as old:
        reference.ask(old, b"set d 0 0 1\r\nd\r\n", b"\r\n")
        for _ in range(3):
            card.pair.link("down")
            old.sendall(b"get d\r\n")
            time.sleep(silence)
            card.pair.link("up")
            assert reference.ask(old, b"", b"END\r\n") == b"VALUE d 0 1\r\nd\r\nEND\r\n"
    assert version(card) == b"VERSION 1.6.38\r\n"
    card.check_alive()


def tagged(card, vlan, number):
    """An echo request in a VLAN."""
    return bytes(Ether(dst=card_mac(card.host), src="02:00:00:00:00:09") / Dot1Q(vlan=vlan)
                 / IP(src=NEAR_IP, dst=card.host) / ICMP(id=number) / (b"v" * 8))


def test_vlan_of_another(card):
    """Frames of a VLAN in which the card is not: no answer, though the MAC address is the card's."""
    with packets(card.pair) as raw:
        raw.send(tagged(card, 5, 1))
        raw.send(tagged(card, 0, 2))
        # The first one's answer would come first.
        assert next_answer(raw, card_mac(card.host)) == (2, 0)


def card_mac(ip):
    """Of a card with an address of its own."""
    return ":".join(f"{n:02x}" for n in (0x02, 0x57, *socket.inet_aton(ip)))


def packets(pair):
    with pair.near.entered():
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.setsockopt(*PACKET_AUXDATA, 1)
    raw.bind((NEAR, 3))
    raw.settimeout(reference.SECONDS)
    return raw


def next_answer(raw, mac):
    """The next answer to `tagged`: its identifier, and its VLAN, which the kernel has taken out of it."""
    while True:
        data, [(_, _, aux)], _, _ = raw.recvmsg(2000, 100)
        frame = Ether(data)
        if frame.src == mac and ICMP in frame and frame[ICMP].type == 0 and b"v" * 8 in data:
            status, _, _, _, _, tag, _ = struct.unpack("IIIHHHH", aux)
            return frame[ICMP].id, tag & 0xFFF if status & TP_STATUS_VLAN_VALID else None


@pytest.mark.parametrize("kind", [*ALL, *DPDK])
def test_vlan(kind):
    """The card answers in the VLAN that it is in, and who asks there finds it."""
    with link(kind) as pair, Server(pair, KINDS[kind][0], "--vlan", 5) as server, packets(pair) as raw:
        ask = Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:00:09") / Dot1Q(vlan=5) / ARP(pdst=server.host, psrc=NEAR_IP)
        raw.send(bytes(ask))
        while ARP not in (frame := Ether(raw.recv(2000))) or frame.src != card_mac(server.host):
            pass
        raw.send(tagged(server, 5, 1))
        assert next_answer(raw, card_mac(server.host)) == (1, 5)
        assert "NetRxVlan" not in server.summary()


@pytest.mark.parametrize("kind", ALL)
def test_large_frames(kind):
    """An MTU of 9,000: pings of so many bytes, values and datagrams."""
    with link(kind, mtu=9000) as pair, Server(pair, KINDS[kind][0]) as server:
        ping(pair, server.host, 8972, "-M", "do")
        value = random.Random(3).randbytes(300_000)
        with pair.near.entered():
            client = Client(server.address, timeout=reference.SECONDS, default_noreply=False)
            assert client.set("large", value) and client.get("large") == value
            client.close()
        text = server.summary()
    assert KINDS[kind][1] in text and "LinkOversize" not in text


@needs_dpdk
@needs_xdp
def test_dpdk_large_frames():
    """As large as one of DPDK's drivers carries them between kernels; tests of its own ring have those of 9,000 bytes."""
    with link("dpdk-af_xdp", mtu=3000) as pair, Server(pair, "dpdk-af_xdp", "--mtu", 3000) as server:
        ping(pair, server.host, 2972, "-M", "do")
        value = random.Random(3).randbytes(300_000)
        with pair.near.entered():
            client = Client(server.address, timeout=reference.SECONDS, default_noreply=False)
            assert client.set("large", value) and client.get("large") == value
            client.close()
        assert "LinkOversize" not in server.summary()


@pytest.mark.parametrize("kind", [*ALL, DPDK[0]])
def test_frames_over_the_mtu(kind):
    """They are counted: what the card does not take, and what is cut for it."""
    with link(kind, mtu=4000) as pair, Server(pair, KINDS[kind][0], "--mtu", 1500) as server:
        with packets(pair) as raw:
            for size in (1472, 1473, 3000):
                raw.send(bytes(Ether(dst=card_mac(server.host), src="02:00:00:00:00:09")
                               / IP(src=NEAR_IP, dst=server.host) / UDP(sport=9, dport=11211) / (b"x" * size)))
        with server.connect() as s:
            reply = reference.ask(s, b"set o 0 0 100000\r\n%s\r\n" % (b"o" * 100_000), b"\r\n")
        assert reply == b"STORED\r\n"
        text = server.summary()
    assert re.search(r"dropped +2 LinkOversize: ", text), text
    # A driver with XDP has the other end send segments as they go over a wire; for DPDK's drivers it must be told to.
    assert bool(re.search(r"cut +\d+ segments", text)) == (kind in ("packet", "generic")), text


@pytest.mark.parametrize("first, second", [
    ("packet", "packet"), pytest.param("afxdp", "packet", marks=needs_xdp), pytest.param("packet", "afxdp", marks=needs_xdp)])
def test_two_cards(first, second):
    """Two servers on one interface, each with addresses of its own."""
    with link("packet") as pair, Server(pair, first) as one, Server(pair, second, ip=SECOND_IP) as two:
        for server, value in ((one, b"1"), (two, b"2")):
            with server.connect() as s:
                reference.ask(s, b"set who 0 0 1\r\n%s\r\n" % value, b"\r\n")
        for server, value in ((one, b"1"), (two, b"2")):
            with server.connect() as s:
                assert reference.ask(s, b"get who\r\n", b"END\r\n") == b"VALUE who 0 1\r\n%s\r\nEND\r\n" % value
            ping(pair, server.host)
        kernel_serves(pair, FAR_IP, two)
        assert one.stop() == 0
        assert version(two) == b"VERSION 1.6.38\r\n"
        ping(pair, two.host)


@needs_xdp
def test_a_second_xdp_program():
    """One interface runs one program. The first server is not disturbed."""
    with link("afxdp") as pair, Server(pair, "afxdp") as server:
        text = interfaces.refusal(pair, f"afxdp:{FAR}", "--card-ip", SECOND_IP)
        assert f"--net packet:{FAR} works beside it" in text
        assert version(server) == b"VERSION 1.6.38\r\n"


@pytest.mark.parametrize("kind", ALL)
def test_shared(kind):
    """The card has the machine's addresses: it has its ports, and the kernel the rest."""
    net, words = KINDS[kind]
    with link(kind) as pair, Server(pair, net, "--net-shared", ip=FAR_IP) as server:
        value = random.Random(4).randbytes(200_000)
        with pair.near.entered():
            client = Client(server.address, timeout=reference.SECONDS, default_noreply=False)
            other = redis.Redis(server.host, server.redis_port, socket_timeout=reference.SECONDS)
            assert client.set("shared", value) and client.get("shared") == value == other.get("shared")
            client.close()
            other.close()
        with server.datagrams() as s:
            for _ in range(3):
                s.send(b"\0\1\0\0\0\1\0\0version\r\n")
                assert reference.readable(s, reference.SECONDS) and s.recv(100)[8:] == b"VERSION 1.6.38\r\n"
        if HAS_IPV6:
            with pair.near.entered():
                s = socket.create_connection((interfaces.FAR_IP6, server.port), timeout=reference.SECONDS)
            with s:
                assert reference.ask(s, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
            ping(pair, interfaces.FAR_IP6, 56, "-6")
        kernel_serves(pair, FAR_IP, server)
        # No port of the kernel's is the card's, nor the other way round.
        with pair.near.entered(), pytest.raises(ConnectionRefusedError):
            socket.create_connection((FAR_IP, 5002), timeout=reference.SECONDS)
        with pair.far.entered(), socket.socket() as s, pytest.raises(OSError, match="in use"):
            s.bind((FAR_IP, server.port))
        with server.connect() as s:
            pair.link("down")
            pair.link("up")
            assert reference.ask(s, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
        text = server.summary()
        assert words in text
        with pytest.raises(ConnectionRefusedError):
            server.connect()


@pytest.mark.parametrize("kind", FASTEST)
def test_shared_path_mtu(kind):
    """An error about a segment of the card's goes to the card, which sends shorter ones."""
    with link(kind) as pair, Server(pair, KINDS[kind][0], "--net-shared", ip=FAR_IP) as server, packets(pair) as raw:
        with server.connect() as s:
            reference.ask(s, b"set p 0 0 5000\r\n%s\r\n" % (b"p" * 5000), b"\r\n")
        mac, nobody = pair.mac(), "10.78.0.99"  # whose kernel acknowledges nothing

        def send(flags, seq, ack=0, payload=b"", options=()):
            tcp = TCP(sport=5000, dport=server.port, flags=flags, seq=seq, ack=ack, options=list(options))
            raw.send(bytes(Ether(dst=mac, src="02:00:00:00:00:09") / IP(src=nobody, dst=FAR_IP) / tcp / payload))

        def segment(least):
            while True:
                frame = Ether(raw.recv(4000))
                if TCP in frame and frame[IP].dst == nobody and len(frame[TCP].payload) >= least:
                    return frame

        send("S", 100, options=[("MSS", 1460)])
        ack = segment(0)[TCP].seq + 1
        send("A", 101, ack)
        send("PA", 101, ack, b"get p\r\n")
        first = segment(1000)
        assert first[IP].len == 1500
        raw.send(bytes(Ether(dst=mac, src="02:00:00:00:00:09") / IP(src=NEAR_IP, dst=FAR_IP)
                       / ICMP(type=3, code=4, nexthopmtu=800) / bytes(first[IP])[:28]))
        while True:
            again = segment(1)
            if again[TCP].seq == first[TCP].seq and again[IP].len < 1500:
                break
        assert 700 < again[IP].len <= 800


def test_shared_port_in_use():
    with link("packet") as pair:
        with pair.far.entered():
            listener = socket.create_server((FAR_IP, 11211))
        with listener:
            text = interfaces.refusal(pair, f"packet:{FAR}", "--net-shared")
        assert f"port 11211 of {FAR_IP} is in use by another program of this machine" in text


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("killed", [False, True])
def test_all_is_undone(kind, killed):
    """What a server changed at the interface is as before, however it ends; though it has given up root."""
    with link(kind) as pair:
        before = pair.shown()
        assert pair.gro() and "promiscuity 0" in before and "xdp" not in before.replace("xdp_", "")
        with Server(pair, KINDS[kind][0], user="nobody") as server:
            during = pair.shown()
            assert not pair.gro() and "promiscuity 0" not in during
            assert ("prog/xdp" in during) == (kind != "packet"), during
            assert version(server) == b"VERSION 1.6.38\r\n"
            if killed:
                server.kill()
                end = time.monotonic() + reference.SECONDS
                while not pair.gro() or "promiscuity 0" not in pair.shown():
                    assert time.monotonic() < end
                    time.sleep(0.02)
                server.process.returncode = 0
            else:
                assert server.stop() == 0
        assert pair.gro() and normal(pair.shown()) == normal(before)


def normal(shown):
    """Without sizes of queues and of segments to be sent, which belong to the kernel."""
    return re.sub(r"(qlen|tso_max_size|gso_max_size|qdisc) \S+", "", shown)


def test_the_last_one_restores():
    """While any server needs GRO off, it is."""
    with link("packet") as pair, Server(pair, "packet") as one, Server(pair, "packet", ip=SECOND_IP) as two:
        assert not pair.gro()
        assert one.stop() == 0
        assert not pair.gro()
        assert version(two) == b"VERSION 1.6.38\r\n"
        assert two.stop() == 0
        end = time.monotonic() + reference.SECONDS
        while not pair.gro():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.mark.parametrize("kind", FASTEST)
def test_interface_gone(kind):
    """The end of an interface is that of its server."""
    with link(kind) as pair:
        server = Server(pair, KINDS[kind][0])
        interfaces.run("ip", "-n", pair.far.name, "link", "del", FAR)
        assert server.process.wait(reference.SECONDS) != 0
        assert f"the interface {FAR} is gone" in server.tail()


def test_refusals():
    with link("packet", mtu=1500) as pair:
        for net in ("packet", "afxdp"):
            def why(*options, interface=FAR, user=None):
                return interfaces.refusal(pair, f"{net}:{interface}", *options, user=user)

            assert "there is no network interface nowhere0" in why(interface="nowhere0")
            assert "lo is no Ethernet interface" in why(interface="lo")
            assert "'a/b' is no name for a network interface" in why(interface="a/b")
            assert f"--mtu 9000: the interface {FAR} carries packets of up to 1500 bytes" in why("--mtu", "9000")
            assert "--card-ip 224.0.0.1: this is no address of a host" in why("--card-ip", "224.0.0.1")
            assert f"10.1.1.1 is no address of the interface {FAR}" in why("--net-shared", "--card-ip", "10.1.1.1")
            assert "others could have this server flood" in why("-U", "11211")
            assert "need CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF" in why(user=65534)
            pair.link("down")
            assert f"the interface {FAR} is down: `ip link set {FAR} up`" in why()
            pair.link("up")
        assert pair.gro()


@needs_xdp
def test_queues():
    """A socket for each queue; not for any number of them."""
    with link("afxdp", far_queues=65) as pair:
        text = interfaces.refusal(pair, f"afxdp:{FAR}")
        assert f"{FAR} has 65 receive queues and --net afxdp serves 64" in text and pair.gro()
    with interfaces.pair(near_queues=4, far_queues=4) as pair, Server(pair, "afxdp") as server:
        # The near kernel takes a queue by what is in the headers.
        for n in range(16):
            with server.connect() as s:
                assert reference.ask(s, b"set q%d 0 0 1\r\nq\r\n" % n, b"\r\n") == b"STORED\r\n"
        assert "native" in server.summary()


def test_what_the_card_cannot_have():
    """An MTU larger than the card's, and a driver that cannot have XDP: both are said, and the server runs."""
    with link("generic", mtu=9500) as pair, Server(pair, "packet") as server:
        assert f"the MTU of {FAR}, 9500, is too large for the card, which takes 9000" in server.tail()
        assert version(server) == b"VERSION 1.6.38\r\n"
    if interfaces.XDP_REASON is None:
        with link("generic") as pair, Server(pair, "afxdp") as server:
            assert f"{FAR} refuses native XDP" in server.tail() and "generic XDP, which is slower" in server.tail()


def task_of(server, name):
    """A thread of a server."""
    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    [task] = [task for task in tasks if (task / "comm").read_text().strip() == name]
    return task


def spent(server):
    """Processor time that the network's thread has taken, and how often it went to sleep."""
    task = task_of(server, "net")
    sleeps = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)
    return int((task / "schedstat").read_text().split()[0]) / 1e9, int(sleeps[1])


@needs_dpdk
@needs_tap
def test_dpdk_interrupts():
    """A driver with interrupts, whose other end is the kernel. Who waits for them takes next to nothing."""
    net, words = KINDS["dpdk-tap"]
    with link(net) as pair, Server(interfaces.Pair(pair.far, pair.far), net) as server:
        interfaces.run("ip", "-n", pair.far.name, "route", "add", f"{CARD_IP}/32", "dev", "dpdk0")
        # EAL's `-l` is for the thread that moves frames, and for no other.
        assert os.sched_getaffinity(int(task_of(server, "net").name)) == {0}
        assert os.sched_getaffinity(int(task_of(server, "card").name)) == os.sched_getaffinity(0)
        for size in (0, 56, 1472):
            ping(server.pair, server.host, size)
        value = random.Random(5).randbytes(400_000)
        with pair.far.entered():
            client = Client(server.address, timeout=reference.SECONDS, default_noreply=False)
            assert client.set("large", value) and client.get("large") == value
        seconds, sleeps = spent(server)
        time.sleep(3)
        now = spent(server)
        assert now[0] - seconds < 0.15 and now[1] - sleeps < 100
        for command in ("down", "up"):
            interfaces.run("ip", "-n", pair.far.name, "link", "set", "dpdk0", command)
        interfaces.run("ip", "-n", pair.far.name, "route", "add", f"{CARD_IP}/32", "dev", "dpdk0")
        assert client.get("large") == value
        client.close()
        assert words in server.summary()


@pytest.mark.parametrize("kind", DPDK)
def test_dpdk_idle(kind):
    """A driver without interrupts is asked less and less often, and at once when a frame has come."""
    with link(kind) as pair, Server(pair, KINDS[kind][0]) as server:
        assert version(server) == b"VERSION 1.6.38\r\n"
        time.sleep(0.2)
        seconds, sleeps = spent(server)
        time.sleep(3)
        now = spent(server)
        assert now[0] - seconds < 0.15 and now[1] - sleeps < 600
        assert version(server) == b"VERSION 1.6.38\r\n"


@needs_dpdk
def test_dpdk_shared():
    """The card has the port's MAC address, so the port need listen for no other one."""
    with link("dpdk-af_packet") as pair:
        with Server(pair, "dpdk-af_packet", "--net-shared", "--card-ip", CARD_IP) as server:
            assert "promiscuity 0" in pair.shown()
            ping(pair, server.host)
            assert version(server) == b"VERSION 1.6.38\r\n"
            neighbours = ["ip", "-n", pair.near.name, "neigh", "show", CARD_IP]
            assert pair.mac() in subprocess.run(neighbours, check=True, capture_output=True, text=True).stdout
            kernel_serves(pair, FAR_IP, server)


@needs_dpdk
def test_dpdk_is_undone():
    """Root's server leaves the interface as it was."""
    with link("dpdk-af_packet") as pair:
        before = pair.shown()
        with Server(pair, "dpdk-af_packet") as server:
            assert "promiscuity 1" in pair.shown()
            assert server.stop() == 0
        assert normal(pair.shown()) == normal(before)


@needs_dpdk
def test_dpdk_refusals():
    """Each step that fails says what it was, and what DPDK said."""
    with link("dpdk-af_packet") as pair:
        def why(words, *options, user=None, eal=interfaces.EAL):
            return interfaces.refusal(pair, f"dpdk:{eal} {words}", *options, user=user)

        device = f"--vdev=net_af_packet0,iface={FAR}"
        port = "the port net_af_packet0 (net_af_packet)"
        assert "EAL does not start: EAL: Invalid 'command line' arguments" in why("--nonsense")
        assert 'EAL does not start: EAL: failed to parse device "net_nonsense0"' in why("--vdev=net_nonsense0")
        assert "'stray' is no argument of EAL: `--net dpdk:--help` lists them" in why(f"{device} stray")
        assert "EAL's arguments make no port. " in why("")
        text = why("--vdev=net_af_packet0,iface=nowhere0")
        assert "make no port: " in text and "ioctl failed (SIOCGIFINDEX):No such device" in text
        assert "make 2 ports, net_null0 and net_null1: the card has one" in why("--vdev=net_null0 --vdev=net_null1")
        assert "no memory for 8191 mbufs of 2048 bytes, 16382 kilobytes" in why(f"-m 8 {device}", eal=NO_MEMORY)
        assert f"--mtu 9000: {port} carries packets of up to 1500 bytes" in why(device, "--mtu", "9000")
        text = why(f"{device},framesz=4096,blocksz=8192")
        assert f"{port} cannot have a queue in: " in text and "4064 bytes will not fit in mbuf (2048 bytes)" in text
        assert "(most drivers of DPDK need root)" in why(device, user=65534)
        assert "others could have this server flood" in why(device, "-U", "11211")
        assert "'--daemon' does not go with --net dpdk" in why(device, "-d")
        if not hugepages():
            assert "Cannot get hugepage information" in why(device, eal="--no-pci --no-shconf")


#: But for `-m`, which EAL takes once.
NO_MEMORY = interfaces.EAL.replace("-m 256 ", "")


def hugepages():
    return sum(int(file.read_text()) for file in Path("/sys/kernel/mm/hugepages").glob("*/nr_hugepages"))


@pytest.mark.skipif(interfaces.DPDK_REASON is None, reason="this server was built with DPDK")
def test_built_without_dpdk():
    with link("packet") as pair:
        text = interfaces.refusal(pair, "dpdk:--no-pci")
        assert "--net dpdk: this program was built without DPDK: `make server FEATURES=dpdk` builds it with it" in text
