"""CLIENT PAUSE and clients that leave meanwhile, of Redis and of the soft body alike: what they have asked for is not done,
they take nobody's place, and those that stay go on in the order in which they came."""

import socket

import pytest

from harness import reference, watch
from harness.fixtures import ended_well
from harness.resp import servers, wire

PLACES = 20


@pytest.fixture(params=["redis", "soft"])
def few(request):
    """A server that takes few connections at once, by one thread."""
    if request.param == "redis":
        server = servers.redis("--maxclients", PLACES)
    else:
        server = servers.soft(connections=PLACES)
    yield from ended_well(server)


def ask(server, *words):
    """A new connection that has asked for something."""
    sock = server.connect()
    sock.sendall(wire.request(*words))
    return sock


def leave(sock, how):
    if how == "reset":
        reference.resets_at_close(sock)
    if how == "half":
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""
    sock.close()


@pytest.mark.parametrize("how", ["closes", "half", "reset"])
def test_who_leaves_is_forgotten(few, how):
    """More of them than there are places; then the command that none of them has waited for is not done."""
    admin = wire.Client(few)
    assert admin("CLIENT", "PAUSE", "10000000", "WRITE") == b"OK"
    # The one that has found out that it listens is gone.
    assert watch.settle(lambda: b"connected_clients:1\r\n" in admin("INFO", "clients"), True)
    held = watch.descriptors(few)
    for number in range(2 * PLACES):
        sock = ask(few, b"SET", b"left", b"%d" % number)
        assert watch.settle(lambda: watch.descriptors(few), held + 1) == held + 1
        leave(sock, how)
        assert watch.settle(lambda: watch.descriptors(few), held) == held
    stays = ask(few, b"SET", b"stays", b"1")
    assert admin("CLIENT", "UNPAUSE") == b"OK"
    assert stays.recv(100) == b"+OK\r\n"
    assert admin("MGET", "left", "stays") == [None, b"1"]


def test_order(few):
    """What they asked for is done in the order in which they began to wait."""
    socks = [few.connect() for _ in range(8)]
    admin = wire.Client(few)
    for sock in socks:
        sock.sendall(wire.request(b"PING"))
        assert sock.recv(100) == b"+PONG\r\n"
    assert admin("CLIENT", "PAUSE", "10000000", "WRITE") == b"OK"
    order = [5, 2, 7, 0, 1, 6, 3, 4]
    for number in order:
        socks[number].sendall(wire.request(b"APPEND", b"order", b"%d" % number))
        # When this is answered, that has been read.
        assert admin("PING") == b"PONG"
    assert admin("CLIENT", "UNPAUSE") == b"OK"
    for length, number in enumerate(order, 1):
        assert socks[number].recv(100) == b":%d\r\n" % length
