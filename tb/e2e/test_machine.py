"""The simulated RISC-V machine as a server: clients over UDP, and the kernel's network behind a TAP device, get what
memcached 1.6.38 gives them."""

import contextlib
import re
import subprocess

import pytest

from harness import differ, reference
from harness.memcached import stream
from harness.size import scale
from harness.tap import needs_tap


def _lacks():
    try:
        done = subprocess.run([reference.WIREKV, "machine", "--help"], capture_output=True, text=True, timeout=60)
    except OSError as e:
        return f"wirekv machine: {e}"
    return "" if done.returncode == 0 else done.stderr


LACKS = _lacks()
pytestmark = pytest.mark.skipif(LACKS != "", reason=LACKS or "-")

#: Of each key's and each datagram's life; the machine answers some hundred requests a second.
STREAM = scale(300, 3000)


def start(*options, net="user"):
    argv = [reference.WIREKV, "machine", "--net", net, *reference.AS_ROOT, *options]
    argv += ["-U", "0"] if net == "user" else ["--udp-public"]
    with reference.the_tap() if net == "tap" else contextlib.nullcontext(()) as lock:
        server = reference.Server("machine", argv, holds=lock)
    server.wait_until(lambda: "listening on" in server.tail())
    server.host, port = re.search(r"listening on (\S+):(\d+)", server.log.read_text()).groups()
    server.port = server.udp_port = int(port)
    return server


@pytest.fixture(scope="module")
def memcached():
    server = reference.memcached(*reference.ALL_OF_A_DATAGRAM)
    yield server
    server.stop()


@pytest.mark.parametrize("aside", ["on", "off"])
@pytest.mark.parametrize("nic", ["dma", "mmio"])
def test_as_memcached(memcached, nic, aside, seed):
    with start("--nic", nic, "--aside", aside) as machine:
        run = differ.UdpDiffer(memcached, machine, label=f"machine_{nic}_{aside}")
        known = (b"get ", b"gets ", b"set ", b"add ", b"replace ", b"cas ", b"delete ", b"touch ", b"incr ", b"decr ", b"flush_all")
        generator = stream.Generator(seed, prefix=b"m:%s:%s:" % (nic.encode(), aside.encode()), udp=True)
        while run.commands < STREAM:
            burst = generator.datagram()
            if all(isinstance(c[0], bytes) and c[0].startswith(known) for c in burst.commands):
                run.run(burst)
        # By `mg`, too, gates and software answer alike, whoever of them has the value.
        run.run(stream.Burst([[b"set mg 7 0 5\r\nvalue\r\n"]]))
        for _ in range(10):
            for line in b"mg mg v", b"mg mg v k f s", b"mg bWc= b k v", b"mg mg v Oa q", b"mg no v", b"mg no v k Ob", b"mg bm8= b k v":
                run.run(stream.Burst([[line + b"\r\n"]]))
        run.close()
    last = machine.log.read_text()
    assert "machine: register-mapped NIC" in last if nic == "mmio" else "machine: NIC with DMA" in last
    assert " 0 without room, 0 restarts" in last
    assert ("out, 0 GETs answered" in last) == (aside == "off"), last


@needs_tap
def test_tap():
    """The kernel finds it by ARP, pings it, and sends it datagrams with checksums."""
    with start(net="tap") as machine:
        for size in (0, 1, 56, 1472):
            done = subprocess.run(["ping", "-c", "2", "-i", "0.1", "-W", "30", "-s", str(size), machine.host],
                                  capture_output=True, text=True, timeout=120)  # fmt: skip
            assert " 0% packet loss" in done.stdout, done.stdout + done.stderr
        with machine.datagrams() as s:
            for size in (0, 1, 36, 195, 1300):
                value = b"v" * size
                for text, want in ((b"set t 3 0 %d\r\n%s\r\n" % (size, value), b"STORED\r\n"),
                                   (b"get t\r\n", b"VALUE t 3 %d\r\n%s\r\nEND\r\n" % (size, value))):  # fmt: skip
                    s.send(b"\0\1\0\0\0\1\0\0" + text)
                    assert reference.readable(s, reference.SECONDS)
                    assert s.recv(2048) == b"\0\1\0\0\0\1\0\0" + want
            # Too large for a frame: the kernel cuts it, and fragments are dropped and counted.
            s.send(b"\0\1\0\0\0\1\0\0set t 0 0 3000\r\n" + b"x" * 3000 + b"\r\n")
            s.send(b"\0\2\0\0\0\1\0\0stats\r\n")
            assert reference.readable(s, reference.SECONDS)
            stats = s.recv(2048)
            assert stats[:2] == b"\0\2"
            assert int(re.search(rb"dropped_fragments (\d+)", stats)[1]) == 3
            assert re.search(rb"dropped_checksum 0\r", stats)


def test_bad_flags():
    for options, why in ((["--ip", "127.0.0.1"], "no address"), (["-l", "0.0.0.0"], "--udp-public"), (["--nic", "x"], "invalid value")):
        done = subprocess.run([reference.WIREKV, "machine", *reference.AS_ROOT, *options], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and why in done.stderr, done.stderr
