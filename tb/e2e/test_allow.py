"""`--allow` where the card sees its clients' own frames: those of others never reach it. tb/soft/test_access.py has the
same with sockets."""

import socket
import subprocess

import pytest

from harness import reference
from harness.tap import needs_tap

pytestmark = needs_tap


@pytest.mark.parametrize("allowed, served", [("10.77.0.1,10.99.0.0/16", True), ("10.99.0.0/16", False)], ids=["listed", "stranger"])
def test_frames(allowed, served):
    """Who is not listed is answered pings and nothing else, as behind a packet filter."""
    server = reference.wirekv("--allow", allowed, net="tap")
    try:
        ping = ["ping", "-c", "1", "-W", "30", server.host]
        assert subprocess.run(ping, capture_output=True, timeout=60).returncode == 0
        with server.datagrams() as s:
            s.send(b"\0\1\0\0\0\1\0\0version\r\n")
            assert reference.readable(s, reference.SECONDS if served else 1) == served
        if served:
            with server.connect() as s:
                assert b"STAT not_allowed 0\r\n" in reference.ask(s, b"stats\r\n", b"END\r\n")
        else:
            with pytest.raises(TimeoutError):
                socket.create_connection((server.host, server.port), 1)
    finally:
        assert server.stop() == 0, server.tail()
