"""A long, slow, bad link between the kernel's TCP and a server, the same for each server: rate and
delay, and losses that only the seed decides. The client and the server are in network namespaces
with nothing but this link between them."""

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import time
from dataclasses import dataclass

from harness import reference

CLONE_NEWNET = 0x40000000
IFF_TAP_NO_PI = 0x1002
TUNSETIFF = 0x400454CA
ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING = 263, 23  # level and option
CLIENT, SERVER, PORT = "10.77.0.9", "10.77.0.2", 11211
TAP_NAME = "wirekv0"  # as the card calls its own
FRAME_BYTES = 1514
# A frame that is held back comes so many frames' time late.
OVERTAKERS = 3


@dataclass(frozen=True)
class Quality:
    """Of TCP's frames that enter at either end, so many of one are lost, or late."""

    drop: float = 0.0
    reorder: float = 0.0
    seed: int = 0
    bits_per_second: float = 20e6
    seconds: float = 0.010  # one way

    def direction(self, n):
        return random.Random(f"{self.seed} {n}")


def run(*command):
    subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True)


class Space:
    """A network namespace."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        run("ip", "netns", "add", self.name)
        # What came before must not matter.
        run(*self.inside, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1",
            "net.ipv6.conf.default.disable_ipv6=1")
        return self

    def __exit__(self, *_):
        run("ip", "netns", "del", self.name)

    @property
    def inside(self):
        return ["ip", "netns", "exec", self.name]

    @contextlib.contextmanager
    def entered(self):
        """Sockets and devices that this thread makes are in the namespace, for good."""
        libc = ctypes.CDLL(None, use_errno=True)

        def enter(fd):
            if libc.setns(fd, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.name}") as space:
            enter(space.fileno())
            try:
                yield
            finally:
                enter(home.fileno())

    def tap(self, address):
        """A TAP device whose other end is the file descriptor: each frame whole, with its checksums."""
        with self.entered():
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", TAP_NAME.encode(), IFF_TAP_NO_PI))
        run("ip", "-n", self.name, "addr", "add", f"{address}/24", "dev", TAP_NAME)
        run("ip", "-n", self.name, "link", "set", TAP_NAME, "up")
        # Linux is measured with its default, whatever this machine is set to.
        run("ip", "-n", self.name, "route", "replace", f"{address.rsplit('.', 1)[0]}.0/24", "dev", TAP_NAME,
            "scope", "link", "src", address, "congctl", "cubic")
        return fd

    def packets(self):
        """The kernel's end of the card's device: what comes from the card, and a way to send to it."""
        with self.entered():
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK)
        raw.setsockopt(*PACKET_IGNORE_OUTGOING, 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        raw.bind((TAP_NAME, ETH_P_ALL))
        return raw.detach()

    def connect(self):
        with self.entered():
            s = socket.create_connection((SERVER, PORT), timeout=60)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s


class Link:
    """Carries frames between two file descriptors, in a process of its own."""

    def __init__(self, client, server):
        theirs, self.orders = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.orders.close()
                # Whatever else runs here, the link is as fast as it says.
                os.setpriority(os.PRIO_PROCESS, 0, -20)
                _carry((client, server), theirs)
            finally:
                os._exit(0)
        theirs.close()

    def set(self, quality):
        """From now on it is like this, and the dice begin anew."""
        q = quality
        self.orders.send(struct.pack("ddqdd", q.drop, q.reorder, q.seed, q.bits_per_second, q.seconds))
        assert self.orders.recv(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.orders.close()  # it ends by itself
        os.waitpid(self.pid, 0)


def _carry(ends, orders):
    ends = [os.fdopen(fd, "r+b", buffering=0, closefd=False) for fd in ends]
    quality, dice, line_free = Quality(), [], [0.0, 0.0]
    on_the_way, numbers = [], 0
    while True:
        now = time.monotonic()
        while on_the_way and on_the_way[0][0] <= now:
            _, _, to, frame = heapq.heappop(on_the_way)
            with contextlib.suppress(OSError):
                ends[to].write(frame)
        left = on_the_way[0][0] - now if on_the_way else None
        ready, _, _ = select.select([orders, *ends], [], [], left and max(left, 0))
        if orders in ready:
            order = orders.recv(100)
            if not order:
                return
            quality = Quality(*struct.unpack("ddqdd", order))
            dice = [quality.direction(n) for n in range(2)]
            orders.send(b"!")
        for n in range(2):
            for _ in range(64 if ends[n] in ready else 0):
                try:
                    frame = ends[n].read(9100)
                except OSError:
                    break
                if not frame:
                    break
                now = time.monotonic()
                line_free[n] = max(line_free[n], now) + 8 * len(frame) / quality.bits_per_second
                out = line_free[n] + quality.seconds
                if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_TCP and dice:
                    die = dice[n].random()
                    if die < quality.drop:
                        continue
                    if die >= 1 - quality.reorder:
                        out += dice[n].randint(1, OVERTAKERS) * 8 * FRAME_BYTES / quality.bits_per_second
                numbers += 1
                heapq.heappush(on_the_way, (out, numbers, 1 - n, frame))


def possible():
    try:
        with Space(f"wk{os.getpid()}-try"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def behind(kind):
    """The link to a server of its own (`card`, or memcached on `linux`), and the client's namespace."""
    name = f"wk{os.getpid()}{kind}"
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(Space(f"{name}-client"))
        space = stack.enter_context(Space(f"{name}-server"))
        if kind == "card":
            argv = [reference.WIREKV, "serve", "--body", "sim", "-m", 256, "-c", 64, "--net", "tap",
                    "-p", PORT, "-U", 0, *reference.AS_ROOT]
            server = reference.Server("card", [*space.inside, *argv])
            stack.callback(server.stop)
            server.wait_until(lambda: "listening on" in server.log.read_text(errors="replace"))
            far = space.packets()
        else:
            far = space.tap(SERVER)
            server = reference.Server("linux", [*space.inside, reference.MEMCACHED, "-u", "root", "-m", 256,
                                                "-l", SERVER, "-p", PORT, "-U", 0])
            stack.callback(server.stop)
        near = client.tap(CLIENT)
        stack.callback(os.close, near)
        stack.callback(os.close, far)
        link = stack.enter_context(Link(near, far))
        link.set(Quality())
        yield client, link
        server.check_alive()
