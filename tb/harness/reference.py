"""Starts and stops the servers of an end-to-end test: memcached 1.6.38 and `wirekv serve` with any
body."""

import contextlib
import fcntl
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness.filelist import ROOT, VARIANT
from harness.structs import T

BUILD = ROOT / "build" / "e2e"
MEMCACHED = ROOT / "build" / "memcached" / "memcached"
#: The program, with a variant of the card if there is to be one.
TARGET = ROOT / "build" / (f"target-{VARIANT}" if VARIANT else "target")
WIREKV = Path(os.environ.get("WIREKV_BINARY") or TARGET / "release" / "wirekv")

# Who starts a server as root must say so.
AS_ROOT = ["-u", "root"] if os.geteuid() == 0 else []
# The same with the RTL's assertions.
CHECKED = ROOT / "build" / "target-checked" / "release" / "wirekv"

# A simulated card answers in milliseconds; a silent one has hung. On a machine that has much else to do
# any process may rest for seconds.
SECONDS = 60

#: The kernel has IPv6.
HAS_IPV6 = os.path.exists("/proc/net/if_inet6")
needs_ipv6 = pytest.mark.skipif(not HAS_IPV6, reason="this kernel has no IPv6")

# Past the system's limit; python's socket has no name for it.
SO_RCVBUFFORCE = 33


class ServerDied(Exception):
    pass


def free_port():
    """Of TCP and of UDP: memcached takes both. Below those that Linux gives to clients, of which one could take
    it before the server does."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_768)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp, contextlib.suppress(OSError):
            tcp.bind(("127.0.0.1", port))
            udp.bind(("127.0.0.1", port))
            return port


class Server:
    """A server process with its address; `log` holds what it printed."""

    def __init__(self, name, argv, executable=None, holds=()):
        """`holds`: descriptors that are open as long as the process runs."""
        BUILD.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.argv = [str(a) for a in argv]
        out, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".log", dir=BUILD)
        self.log = Path(path)
        self.process = subprocess.Popen(
            self.argv, executable=executable, stdin=subprocess.DEVNULL, stdout=out, stderr=out, pass_fds=holds
        )
        os.close(out)
        self.host = "127.0.0.1"
        self.port = None
        self.udp_port = None

    def wait_until(self, ready):
        end = time.monotonic() + SECONDS
        while not ready():
            if self.process.poll() is not None:
                raise ServerDied(f"{' '.join(self.argv)} ended at start:\n{self.tail()}")
            if time.monotonic() > end:
                self.kill()
                raise ServerDied(f"{' '.join(self.argv)} is not ready:\n{self.tail()}")
            time.sleep(0.02)

    def tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    @property
    def address(self):
        return (self.host, self.port)

    def connect(self, timeout=SECONDS):
        s = socket.create_connection(self.address, timeout=timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def datagrams(self):
        if self.udp_port == 0:
            pytest.skip(f"CONFIG={VARIANT} has no UDP")
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Room for all that one request brings: who reads late must not lose the last of it.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        with contextlib.suppress(PermissionError):
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        s.connect((self.host, self.udp_port))
        return s

    def check_alive(self):
        if self.process.poll() is not None:
            raise ServerDied(
                f"{self.name} ended with {self.process.returncode}:\n{self.tail()}"
            )

    def stop(self):
        """Asks the server to end and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def pause(self):
        """Returns when none of its threads runs any more."""
        self.process.send_signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self.process.pid}/task")
        # The state stands behind the name.
        while any((task / "stat").read_text().rsplit(")", 1)[1].split()[0] != "T" for task in tasks.iterdir()):
            time.sleep(0.001)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        """What ends well is a server that is asked to; after a failure of the test's own that is not asked."""
        code = self.stop()
        assert failed or code == 0, self.tail()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


#: It runs 20 commands of one turn of its event loop, and drops what a datagram has beyond. How many datagrams a turn has is
#: chance.
ALL_OF_A_DATAGRAM = ("-R", "1000000")


def memcached(*options, megabytes=1024, udp=True, connections=2048):
    """The reference. One worker thread: so its UDP replies keep the order of the requests."""
    if not MEMCACHED.exists():
        raise FileNotFoundError(f"{MEMCACHED} is missing: run `make setup`")
    port = free_port()
    argv = [MEMCACHED, "-l", "127.0.0.1", "-p", port, "-U", port if udp else 0]
    argv += ["-m", megabytes, "-c", connections, "-t", 1]
    # Background threads hold references to items for moments, which changes how `decr` pads.
    argv += ["-o", "no_lru_crawler,no_lru_maintainer"]
    server = Server("memcached", argv + AS_ROOT + list(options))
    server.port = server.udp_port = port
    server.wait_until(lambda: accepts(port))
    return server


def accepts(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


@contextlib.contextmanager
def the_tap():
    """The lock of this machine's one network of cards, which a server holds till it ends. Whoever else wants to be
    10.77.0.2 waits for that."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "tap.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield (lock.fileno(),)


def wirekv(*options, body="sim", megabytes=256, connections=1024, net="user", threads=1, binary=WIREKV,
           listen="127.0.0.1"):
    if not binary.exists():
        raise FileNotFoundError(f"{binary} is missing: run `make server checked`")
    if body == "sim":
        connections = min(connections, T.Config.conns)
        if ":" in listen and not T.Config.ipv6:
            pytest.skip(f"CONFIG={VARIANT} has no IPv6")
    argv = [binary, "serve", "--body", body, "-m", megabytes, "-c", connections]
    argv += ["--net", net] if body == "sim" else ["-t", threads]
    udp_port = 11211
    if net == "user":
        udp_port = free_port() if body == "soft" or T.Config.udp else 0
        argv += ["-l", listen, "-p", 0, "-U", udp_port]
    else:
        argv += ["-p", 11211, "-U", udp_port, "--udp-public"]
    with the_tap() if net == "tap" else contextlib.nullcontext(()) as lock:
        server = Server(body, argv + AS_ROOT + list(options), holds=lock)
    listen_address(server)
    server.udp_port = udp_port
    return server


def listen_address(server):
    """Waits until a server of ours says where it listens."""
    found = []

    def listening():
        found[:] = re.findall(r"listening on (.+)", server.log.read_text(errors="replace"))
        return bool(found)

    server.wait_until(listening)
    if not found[0].startswith("/"):  # a UNIX domain socket
        server.host, server.port = found[0].rsplit(":", 1)
        server.host, server.port = server.host.strip("[]"), int(server.port)


def before(server, *options, redis=False, udp=False, megabytes=64, connections=256):
    """The simulated card before another server, for clients of that one's protocol; those of `udp` if the card has it."""
    if not WIREKV.exists():
        raise FileNotFoundError(f"{WIREKV} is missing: run `make server`")
    kind, ports = ("redis", ["--redis-port", free_port()]) if redis else ("memcached", ["-p", 0])
    argv = [WIREKV, "serve", "--upstream", f"{kind}:{server.host}:{server.port}", *ports]
    argv += ["-m", megabytes, "-c", min(connections, T.Config.conns)]
    udp_port = free_port() if udp and T.Config.udp else 0
    argv += ["-U", udp_port] if udp_port else []
    card = Server("before", argv + AS_ROOT + list(options))
    listen_address(card)
    card.udp_port = udp_port
    if redis:
        card.port = ports[1]
    return card


def soft(*options, **more):
    return wirekv(*options, body="soft", **more)


def resets_at_close(connection):
    """Closing it sends a reset, whatever is under way."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def readable(connection, seconds):
    """Whether something comes within so long. (select() cannot take high descriptor numbers.)"""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(max(0, seconds) * 1000))


def ask(connection, request, until, seconds=SECONDS):
    """Sends `request` and returns the reply up to and with the bytes `until`."""
    connection.sendall(request)
    reply = b""
    end = time.monotonic() + seconds
    while until not in reply:
        left = end - time.monotonic()
        if left <= 0 or not readable(connection, left):
            raise TimeoutError(f"no {until!r} after {request[:80]!r}; got {reply[-200:]!r}")
        piece = connection.recv(1 << 18)
        if not piece:
            raise ConnectionError(f"closed after {request[:80]!r}; got {reply[-200:]!r}")
        reply += piece
    return reply


def empty(server):
    with server.connect() as s:
        ask(s, b"flush_all\r\n", b"OK\r\n")


def stats(server, of=""):
    """The answer to `stats` as a dictionary of strings."""
    with server.connect() as s:
        lines = ask(s, f"stats {of}\r\n".encode(), b"END\r\n").decode().split("\r\n")
    return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))
