"""Two network namespaces with a veth pair between them, and servers whose cards have a place on its far end."""

import contextlib
import ctypes
import fcntl
import itertools
import os
import re
import socket
import struct
import subprocess

import pytest

from harness import reference
from harness.badlink import Space, run

SIOCETHTOOL = 0x8946
ETHTOOL_GGRO, ETHTOOL_SGRO = 0x2B, 0x2C
ETHTOOL_STSO, ETHTOOL_SGSO = 0x1F, 0x24
NEAR, FAR = "near0", "far0"
#: Of the kernels at both ends, and of cards.
NEAR_IP, FAR_IP, CARD_IP, SECOND_IP = "10.78.0.1", "10.78.0.3", "10.78.0.2", "10.78.0.4"
NEAR_IP6, FAR_IP6, CARD_IP6 = "fd78::1", "fd78::3", "fd78::2"
#: Of DPDK's environment where there are neither hugepages nor devices for it.
EAL = "--no-huge --no-pci --no-shconf --no-telemetry -m 256 -l 0"
#: Devices that its drivers make of the far end; and one that has a device of the kernel as its own other end.
VDEV = {"dpdk-af_packet": f"net_af_packet0,iface={FAR}", "dpdk-af_xdp": f"net_af_xdp0,iface={FAR}",
        "dpdk-tap": "net_tap0,iface=dpdk0"}

_numbers = itertools.count()


class Pair:
    """What the near kernel sends is as it sends to any hardware: the checksum left out, and many segments in one, unless it
    is `cut`."""

    def __init__(self, near, far):
        self.near, self.far = near, far

    def link(self, *words):
        run("ip", "-n", self.far.name, "link", "set", FAR, *words)

    def shown(self):
        """What `ip` knows of the far end."""
        command = ["ip", "-n", self.far.name, "-d", "link", "show", FAR]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def mac(self):
        """Of the far end."""
        return re.search(r"link/ether (\S+)", self.shown())[1]

    def gro(self, command=ETHTOOL_GGRO):
        """Whether the far end makes one frame of several."""
        return bool(ethtool(self.far, FAR, command, 1))


def ethtool(space, interface, command, value):
    with space.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        data = (ctypes.c_uint32 * 2)(command, value)
        fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), ctypes.addressof(data)))
        return data[1]


def end(name, space, queues, mtu):
    return ["name", name, "netns", space.name, "mtu", mtu, "numtxqueues", queues, "numrxqueues", queues]


@contextlib.contextmanager
def pair(mtu=1500, near_queues=1, far_queues=1, cut=False):
    name = f"wk{os.getpid()}i{next(_numbers)}"
    with Space(f"{name}-near") as near, Space(f"{name}-far") as far:
        ends = [end(NEAR, near, near_queues, mtu), end(FAR, far, far_queues, mtu)]
        # The one that is named first says for both how many of their queues are in use.
        first, second = sorted(ends, key=lambda words: -words[-1])
        run("ip", "link", "add", *first, "type", "veth", "peer", *second)
        for space, interface, ip, ip6 in ((near, NEAR, NEAR_IP, NEAR_IP6), (far, FAR, FAR_IP, FAR_IP6)):
            if reference.HAS_IPV6:
                run(*space.inside, "sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=0",
                    f"net.ipv6.conf.{interface}.accept_dad=0")
                run("ip", "-n", space.name, "addr", "add", f"{ip6}/64", "dev", interface, "nodad")
            run("ip", "-n", space.name, "addr", "add", f"{ip}/24", "dev", interface)
            run("ip", "-n", space.name, "link", "set", interface, "up")
            run("ip", "-n", space.name, "link", "set", "lo", "up")
        pair = Pair(near, far)
        if cut:
            for command in (ETHTOOL_STSO, ETHTOOL_SGSO):
                ethtool(near, NEAR, command, 0)
        else:
            pair.gro(ETHTOOL_SGRO)  # as hardware has it
        yield pair


def argument(net):
    """What `--net` is for a network on the far end."""
    return f"dpdk:{EAL} --vdev={VDEV[net]}" if net in VDEV else f"{net}:{FAR}"


class Server(reference.Server):
    """Clients are in the near namespace."""

    def __init__(self, pair, net, *options, ip=CARD_IP, user="root"):
        argv = [reference.WIREKV, "serve", "--body", "sim", "-m", 256, "-c", 64, "--net", argument(net),
                "-p", 11211, "-U", 11211, "--udp-public", "--redis-port", 6379, "-u", user]
        if "--net-shared" not in options:
            argv += ["--card-ip", ip, "--card-ip6", f"fd78::{ip.rsplit('.', 1)[1]}"]
        super().__init__("interface", [*pair.far.inside, *argv, *options])
        self.pair = pair
        self.wait_until(lambda: re.search("listening on", self.log.read_text(errors="replace")))
        self.host, self.port, self.udp_port, self.redis_port = ip, 11211, 11211, 6379

    def connect(self, timeout=reference.SECONDS):
        with self.pair.near.entered():
            return super().connect(timeout)

    def datagrams(self):
        with self.pair.near.entered():
            return super().datagrams()

    def summary(self):
        """What a server that is asked to end says."""
        assert self.stop() == 0, self.tail()
        return self.log.read_text(errors="replace")


def refusal(pair, net, *options, user=None):
    """What a server says that does not start."""
    argv = [reference.WIREKV, "serve", "-m", "64", "-c", "16", "--net", net, *options]
    inside = [*pair.far.inside]
    if user is None:
        argv += ["-u", "root"]
    else:
        inside += ["setpriv", f"--reuid={user}", "--clear-groups"]
    done = subprocess.run([str(word) for word in inside + argv], capture_output=True, text=True, timeout=reference.SECONDS)
    assert done.returncode not in (0, None), done.stdout + done.stderr
    return done.stderr


def _why_not():
    try:
        with pair():
            pass
    except (OSError, subprocess.CalledProcessError) as e:
        return f"no network namespaces with a veth pair: {getattr(e, 'stderr', None) or e}".strip()
    return None


def _why_no_xdp():
    try:
        socket.socket(44, socket.SOCK_RAW).close()  # AF_XDP
    except OSError as e:
        return f"no AF_XDP: {e.strerror}"
    return None


def _why_no_dpdk():
    argv = [reference.WIREKV, "serve", "--net", "dpdk:--help", *reference.AS_ROOT]
    try:
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=reference.SECONDS)
    except OSError as e:
        return f"no server: {e}"
    if done.returncode == 0 and "EAL common options" in done.stdout:
        return None
    return done.stderr.strip().removeprefix("wirekv: ")


REASON = _why_not()
XDP_REASON = REASON or _why_no_xdp()
DPDK_REASON = REASON or _why_no_dpdk()
needs_interfaces = pytest.mark.skipif(REASON is not None, reason=REASON or "")
needs_xdp = pytest.mark.skipif(XDP_REASON is not None, reason=XDP_REASON or "")
needs_dpdk = pytest.mark.skipif(DPDK_REASON is not None, reason=DPDK_REASON or "")
