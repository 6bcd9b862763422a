"""Connections that the server closes: what it has said before reaches the client, which may be sending all the while.
A socket that is closed with unread input resets the connection, and that takes back what its client has not read."""

import socket
import time

import pytest

from harness import reference, watch
from harness.resp import servers, wire

# A kernel's buffers take less, so the client is still sending when the server has closed.
MUCH = 32 << 20


def rest(connection, ahead=0):
    """Sends `ahead` bytes, then reads all up to the end: a reset fails."""
    sent, piece = 0, bytes(1 << 20)
    while sent < ahead:
        connection.sendall(piece)
        sent += len(piece)
    said = b""
    while more := connection.recv(1 << 16):
        said += more
    return said


PROTOCOL = b"-ERR Protocol error: "
LAST = {
    "long value": (wire.request(b"SET", b"key", b"v" * (2 << 20)), PROTOCOL + b"invalid bulk length\r\n"),
    "count": (b"*x\r\n", PROTOCOL + b"invalid multibulk length\r\n"),
    "kind": (b"*1\r\n!4\r\n", PROTOCOL + b"expected '$', got '!'\r\n"),
    "line": (b"a" * 70_000, PROTOCOL + b"too big inline request\r\n"),
    "quotes": (b'"\r\n', PROTOCOL + b"unbalanced quotes in request\r\n"),
    "quit": (wire.request(b"QUIT"), b"+OK\r\n"),
}


@pytest.fixture(scope="module")
def server():
    """Speaks Redis' protocol on `port`, memcached's on the one of `memcached`."""
    server = servers.soft(connections=100)
    yield server
    alive = server.process.poll() is None
    code = server.stop()
    assert alive and code == 0, f"wirekv ended with {code}:\n{server.tail()}"


@pytest.mark.parametrize("name", LAST)
def test_redis_last_words(server, name):
    """Also those of before, and however much comes behind."""
    request, said = LAST[name]
    ping = wire.request(b"PING", b"x" * 1000)
    for _ in range(5):
        connection = server.connect()
        connection.sendall(ping * 100 + request)
        assert rest(connection, MUCH) == (b"$1000\r\n" + b"x" * 1000 + b"\r\n") * 100 + said
        connection.close()


NOOP = b"\x80\x0a" + bytes(22)
MEMCACHED = {
    "quit": (b"get key\r\n", b"quit\r\n"),
    "line": (b"get key\r\n", b"x" * 5000),
    "binary": (NOOP, bytes(24)),
}


@pytest.mark.parametrize("name", MEMCACHED)
def test_memcached_last_words(server, name):
    """memcached says the same, if nothing comes behind, and may reset the connection even then."""
    before, last = MEMCACHED[name]
    said = []
    with socket.create_connection(server.memcached, timeout=60) as connection:
        connection.sendall(before * 100 + last)
        ours = rest(connection, MUCH)
    memcached = reference.memcached()
    try:
        with memcached.connect() as connection:
            connection.sendall(before * 100 + last)
            try:
                while piece := connection.recv(1 << 16):
                    said.append(piece)
            except ConnectionResetError:
                pass
    finally:
        memcached.stop()
    said = b"".join(said)
    print(ours[-100:])
    assert said and ours.startswith(said) and len(ours) >= 100 * len(b"END\r\n")


def connections(server):
    host, port = server.memcached
    with socket.create_connection((host, port)) as s:
        text = reference.ask(s, b"stats\r\n", b"END\r\n").decode()
    return int(dict(line.split(" ", 2)[1:] for line in text.split("\r\n") if " " in line)["curr_connections"])


def test_who_never_stops(server):
    """Of those who send on for ever so much is read, and for so long; they hold no memory, and others
    are served."""
    before, memory = connections(server), watch.resident(server)
    many = [server.connect() for _ in range(60)]
    silent, sending = many[:30], many[30:]
    for connection in many:
        connection.sendall(wire.request(b"SET", b"key", b"v" * 15_000) + b"*x\r\n")
        assert b"".join(connection.recv(1) for _ in range(5)) == b"+OK\r\n"
    begin, sent = time.monotonic(), 0
    good = wire.Client(server)
    piece = bytes(1 << 16)
    while sending:
        for connection in list(sending):
            try:
                sent += connection.send(piece, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except ConnectionError:
                sending.remove(connection)
        assert good("ECHO", "x") == b"x"
        assert time.monotonic() < begin + reference.SECONDS
    assert watch.settle(lambda: connections(server), before + 1) == before + 1
    took = time.monotonic() - begin
    print(f"{sent >> 20} MiB in {took:.1f} s")
    assert took > 4 or sent > 30 * (60 << 20), "it was not read on for"
    assert sent < 30 * (80 << 20)
    assert watch.resident(server) < memory + 12
    for connection in silent:
        connection.close()
    good.close()


def test_a_long_transaction(server):
    """It is refused, with the connection still there; Redis takes what memory has."""
    client = wire.Client(server)
    command = (b"SET", b"key", b"v" * 100)
    said = client.many([(b"MULTI",), *[command] * 14_200, (b"EXEC",)])
    assert said[0] == b"OK" and said[1] == b"QUEUED"
    refused = "ERR the transaction is longer than this server takes"
    first = next(i for i, reply in enumerate(said) if isinstance(reply, wire.Error))
    assert str(said[first]) == refused and set(said[1:first]) == {b"QUEUED"}
    assert set(map(str, said[first + 1 : -1])) == {str(b"QUEUED")}
    assert str(said[-1]) == "EXECABORT Transaction discarded because of previous errors."
    # The next one is done.
    assert client.many([(b"MULTI",), command, (b"EXEC",)]) == [b"OK", b"QUEUED", [b"OK"]]
    client.close()
