"""`-o drop_privileges`: a filter of system calls, and all that a server does goes on under it. What the
filter lets through is tried in host/soft/src/confine.rs, streams of requests in test_protocols.py."""

import random
import socket
import urllib.request
from pathlib import Path

from harness import reference, watch
from harness.memcached import values


def modes(server):
    """Of each thread: 2 is a filter. (A thread may end while one looks.)"""
    found = set()
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        text = (task / "status").read_text()
        found.add(next(line.split()[1] for line in text.splitlines() if line.startswith("Seccomp:")))
    return found


def test_all_threads_are_confined():
    for options, mode in (
        ((), "0"),
        (("-o", "drop_privileges,no_drop_privileges"), "0"),
        (("-o", "no_drop_privileges,idle_timeout=9,drop_privileges"), "2"),
    ):
        with reference.soft(*options, "--metrics", f"127.0.0.1:{reference.free_port()}", threads=3) as server:
            assert modes(server) == {mode}, options


def test_a_confined_server_serves(seed, tmp_path):
    """All that makes a server do something else: long values, slow readers, evictions, UDP, the clock,
    connections that come and go, metrics, the end."""
    rng = random.Random(seed)
    metrics = reference.free_port()
    options = ["--metrics", f"127.0.0.1:{metrics}", "-o", "drop_privileges", "-P", tmp_path / "pid"]
    server = reference.soft(*options, "-o", "idle_timeout=1000", megabytes=16, threads=2)
    try:
        assert modes(server) == {"2"}
        others = values.Others(server, rng, 64)
        others.work(2000)
        with server.connect() as s:
            for request, end in (
                (b"verbosity 1\r\nstats settings\r\n", b"END\r\n"),
                (b"stats conns\r\n", b"END\r\n"),
                (b"stats reset\r\n", b"RESET\r\n"),
                (b"flush_all 10\r\n", b"OK\r\n"),
            ):
                assert reference.ask(s, request, end).endswith(end)
        with server.datagrams() as s:
            s.settimeout(reference.SECONDS)
            frame = bytes([0, 1, 0, 0, 0, 1, 0, 0])
            s.send(frame + b"version\r\n")
            assert s.recv(100) == frame + b"VERSION 1.6.38\r\n"
        slow = [server.connect() for _ in range(8)]
        others.clients[0].set(b"big", big := values.make(b"big", 1, values.LONGEST))
        for s in slow:
            s.sendall(b"get big\r\n" * 20)
        others.work(1000)
        for s in slow[1:]:
            s.close()
        assert reference.ask(slow[0], b"mn\r\n", b"MN\r\n", 60).count(big) > 0
        slow[0].close()
        for i in range(2000):
            assert others.clients[i % 8].set(b"k%d" % i, bytes(50_000)) == b"STORED\r\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=reference.SECONDS) as reply:
            text = reply.read()
        assert b"memcached_items_total" in text and b"process_resident_memory_bytes" in text
        others.close()
        watch.settle(lambda: reference.stats(server)["curr_connections"], "1")
    finally:
        code = server.stop()
    assert code == 0 and not (tmp_path / "pid").exists(), server.tail()


def test_a_confined_server_ends(tmp_path):
    """By the command, and with its socket removed."""
    path = tmp_path / "socket"
    server = reference.soft("-o", "drop_privileges", "-A", "-s", path)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"shutdown\r\n")
        assert server.process.wait(reference.SECONDS) == 0, server.tail()
    assert not path.exists()
