"""A client that asks for much and reads nothing: nobody else notices."""

import socket
import time

import pytest

from harness import differ, reference
from harness.memcached import stream
from harness.size import scale

SIZE = 1_000_000
COUNT = 100


@pytest.fixture
def value(seed):
    return stream.Generator(seed).blob[:SIZE]


def test_gets_that_nobody_reads(memcached, body, seed, value):
    for server in (memcached, body):
        with server.connect() as s:
            line = b"set huge 0 0 %d\r\n" % SIZE
            reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=60)

    # A small receive buffer: the replies have to wait in the server.
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(body.address)
    slow.sendall(b"get huge\r\n" * COUNT)
    time.sleep(0.5)

    # Others, meanwhile: right, and without waiting for it, which would be for ever.
    run = differ.Differ(memcached, body, label=f"slow_reader_{seed}")
    generator = stream.Generator(seed, b"%s:" % body.name.encode(), flush=False, value_budget=2 << 20, reply_budget=4 << 20)
    while run.commands < scale(1_000, 20_000):
        run.run(generator.burst())
    run.close()

    # In the end it reads after all: the first replies are whole.
    slow.settimeout(reference.SECONDS)
    expect = b"VALUE huge 0 %d\r\n" % SIZE + value + b"\r\nEND\r\n"
    for turn in range(scale(3, COUNT)):
        reply = b""
        while len(reply) < len(expect):
            piece = slow.recv(len(expect) - len(reply))
            assert piece, f"closed in reply {turn}"
            reply += piece
        assert reply == expect, f"reply {turn} is damaged"
    slow.close()


def test_many_slow_readers(memcached, body, seed, value):
    """Fifty clients that stop reading, one that does not."""
    with body.connect() as s:
        line = b"set huge 0 0 %d\r\n" % SIZE
        reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=60)
    slow = []
    for _ in range(50):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(body.address)
        s.sendall(b"get huge\r\n" * 5)
        slow.append(s)
    run = differ.Differ(memcached, body, label=f"slow_readers_{seed}")
    generator = stream.Generator(seed, b"m%s:" % body.name.encode(), flush=False, value_budget=1 << 20, reply_budget=1 << 20)
    while run.commands < scale(600, 10_000):
        run.run(generator.burst())
    run.close()
    for s in slow:
        s.close()
