"""The network of a server behind a TAP device."""

import fcntl
import os
import struct
import subprocess

import pytest


def _why_not():
    try:
        fd = os.open("/dev/net/tun", os.O_RDWR)
    except OSError as e:
        return f"/dev/net/tun: {e.strerror}"
    try:
        # TUNSETIFF with IFF_TAP | IFF_NO_PI: what the server will do. The kernel finds a number that no other worker has.
        fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"wkprobe%d", 0x1002))
    except OSError as e:
        return f"no TAP device without CAP_NET_ADMIN: {e.strerror}"
    finally:
        os.close(fd)
    return None


REASON = _why_not()
#: Of tests that open one.
needs_tap = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def interface_of(address):
    """The device that leads to an address."""
    out = subprocess.run(["ip", "route", "get", address], capture_output=True, text=True).stdout
    words = out.split()
    return words[words.index("dev") + 1]
