"""SIGTERM: what clients have sent is answered, within a bounded time. SIGHUP ends nothing."""

import signal
import socket
import time

import pytest

from harness import reference, watch
from harness.memcached import values

#: Of the server, and of a machine that has much else to do.
BOUND = 5
LONG = values.make(b"long", 0, values.LONGEST)


def everything(connection):
    """What comes up to the end."""
    connection.settimeout(reference.SECONDS)
    reply = bytearray()
    while piece := connection.recv(1 << 16):
        reply += piece
    return bytes(reply)


def ends(server, number=signal.SIGTERM):
    """Asks a stopped server to end, and lets it go on: whatever it has to see is there before it runs."""
    server.process.send_signal(number)
    server.process.send_signal(signal.SIGCONT)


@pytest.fixture(params=[1, 4], ids=["one thread", "four"])
def server(request):
    with reference.soft("--redis-port", str(reference.free_port()), threads=request.param) as server:
        assert values.Client(server).set(b"long", LONG) == b"STORED\r\n"
        yield server


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_what_was_received_is_answered(server, number):
    """Of connections that it has, and of those that it did not yet accept: all replies, then the end."""
    old = [server.connect() for _ in range(20)]
    assert all(reference.ask(s, b"get nothing\r\n", b"END\r\n") for s in old)
    idle, half = server.connect(), server.connect()
    reference.ask(half, b"version\r\nget lo", b"\r\n")
    server.pause()
    new = [server.connect() for _ in range(20)]
    requests = b"".join(b"set k%d 0 0 1\r\nx\r\nget k%d\r\n" % (i, i) for i in range(200))
    replies = b"".join(b"STORED\r\nVALUE k%d 0 1\r\nx\r\nEND\r\n" % i for i in range(200))
    for s in old + new:
        s.sendall(requests + b"get long\r\n" * 3 + b"get incomple")
    ends(server, number)
    long = b"VALUE long 0 %d\r\n%s\r\nEND\r\n" % (len(LONG), LONG)
    began = time.monotonic()
    for s in old + new:
        assert everything(s) == replies + 3 * long
    assert everything(idle) == everything(half) == b""
    assert server.process.wait(reference.SECONDS) == 0
    print(f"ended after {time.monotonic() - began:.2f} s")


def test_slow_readers(server):
    """A value that is half sent is sent to its end, to clients that take their time."""
    readers = []
    for _ in range(4):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(server.address)
        s.sendall(b"get long\r\n" * 4)
        readers.append(s)
    # Nothing more can be sent.
    assert watch.settle(lambda: int(reference.stats(server)["cmd_get"]) >= 4, True)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert server.process.poll() is None
    for s in readers:
        assert everything(s) == b"VALUE long 0 %d\r\n%s\r\nEND\r\n" % (len(LONG), LONG) * 4
    assert server.process.wait(reference.SECONDS) == 0


def test_bounded(server):
    """A client that reads nothing, one that goes on sending, datagrams without end: the server ends all the same."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(server.address)
    s.sendall(b"get long\r\n" * 50)
    busy = server.connect(timeout=0.2)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    while server.process.poll() is None and time.monotonic() - began < reference.SECONDS:
        try:
            busy.sendall(b"get nothing\r\n" * 100)
            busy.recv(1 << 16)
        except OSError:
            time.sleep(0.05)
    took = time.monotonic() - began
    print(f"ended after {took:.2f} s")
    assert server.process.returncode == 0
    assert BOUND * 0.9 < took < reference.SECONDS / 2


def test_the_next_one_ends_it_at_once(server):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(server.address)
    s.sendall(b"get long\r\n" * 50)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(BOUND) == -signal.SIGTERM
    server.process.returncode = 0


def test_idle_clients_do_not_delay_it(server):
    clients = [server.connect() for _ in range(100)]
    assert all(reference.ask(s, b"version\r\n", b"\r\n") for s in clients)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < BOUND / 2


def test_hangup(server):
    """It goes on, and so do its connections."""
    client = values.Client(server)
    for i in range(100):
        server.process.send_signal(signal.SIGHUP)
        assert client.set(b"k", b"%d" % i) == b"STORED\r\n" and client.get(b"k") == b"%d" % i
    assert reference.stats(server)["total_connections"] == "3"
