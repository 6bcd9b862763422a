"""Clients that send half of something, or do not read: the others keep their items and their service."""

import time

import pytest

from e2e import reference
from e2e.conftest import scale

COUNT = scale(1_000, 10_000)
VALUE = b"v" * 1000


@pytest.fixture(scope="module")
def server():
    server = reference.wirekv(megabytes=64)
    yield server
    alive = server.process.poll() is None
    assert server.stop() == 0 and alive, server.tail()


@pytest.fixture
def card(server):
    """A card of 64 MB with COUNT new items of 1,000 bytes."""
    with server.connect() as s:
        for start in range(0, COUNT, 500):
            keys = range(start, start + 500)
            s.sendall(b"".join(b"set key%d 0 0 1000 noreply\r\n%b\r\n" % (k, VALUE) for k in keys))
        reference.ask(s, b"version\r\n", b"\r\n", seconds=120)
    return server


def drop(connections):
    """Closes at once, by reset."""
    for s in connections:
        reference.resets_at_close(s)
        s.close()


def check_others(card, meanwhile=lambda: None, count=200):
    """No SET is refused, nothing is lost, and every reply is right."""
    with card.connect(60) as s:
        for n in range(count):
            meanwhile()
            line = b"set new%d 0 0 1000\r\n%b\r\n" % (n, VALUE)
            assert reference.ask(s, line, b"\r\n", seconds=60) == b"STORED\r\n", n
        names = [b"key%d" % n for n in range(COUNT)] + [b"new%d" % n for n in range(count)]
        for start in range(0, len(names), 100):
            some = names[start : start + 100]
            reply = reference.ask(s, b"get " + b" ".join(some) + b"\r\n", b"END\r\n", seconds=60)
            want = b"".join(b"VALUE %b 0 1000\r\n%b\r\n" % (name, VALUE) for name in some)
            assert reply == want + b"END\r\n", f"{reply.count(b'VALUE ')} of {len(some)} from {some[0]}"


def count_left(card):
    """How many of the items are there, and all of these right."""
    left = 0
    with card.connect(60) as s:
        for start in range(0, COUNT, 100):
            names = [b"key%d" % n for n in range(start, start + 100)]
            reply = reference.ask(s, b"get " + b" ".join(names) + b"\r\n", b"END\r\n", seconds=60)
            left += sum(reply.count(b"VALUE %b 0 1000\r\n%b\r\n" % (name, VALUE)) for name in names)
    return left


def send_some(connection, data):
    """As much as the other side takes now."""
    connection.setblocking(False)
    try:
        connection.send(data)
    except BlockingIOError:
        pass


@pytest.mark.parametrize("count, size, sent", [(60, 1_048_000, 0), (60, 1_048_000, 9_000), (260, 261_000, 20_000)])
def test_half_sent_values(card, count, size, sent):
    """SETs of which only the line has come, or a piece of the value, and then a byte now and then."""
    attackers = [card.connect(60) for _ in range(count)]
    for n, s in enumerate(attackers):
        s.sendall(b"set s%d 0 0 %d\r\n" % (n, size) + b"x" * sent)
    time.sleep(1)

    def trickle(turn=iter(range(1 << 30))):
        send_some(attackers[next(turn) % count], b"x")

    check_others(card, trickle)
    drop(attackers)


def test_half_sent_values_again_and_again(card):
    """The same connection after connection: each begins a value of 1 MB, sends a little, and goes."""
    for n in range(scale(150, 1000)):
        s = card.connect(60)
        s.sendall(b"set s%d 0 0 1048000\r\n" % n + b"x" * 9_000)
        # An answer to what lies in front of it would come; that the value waits shows that it was read.
        time.sleep(0.01)
        drop([s])
    check_others(card)


def test_lines_without_end(card):
    """`get` lines that go on and on: 40 connections, half a megabyte each."""
    attackers = [card.connect(60) for _ in range(40)]
    for s in attackers:
        s.sendall(b"get nothing")
    line = b" nothing%d" * 100 % tuple(range(100))
    rounds = iter(range(1 << 30))

    def more():
        send_some(attackers[next(rounds) % len(attackers)], line * 20)

    check_others(card, more, scale(50, 200))
    drop(attackers)


def test_nobody_reads(card):
    """Forty clients ask for a hundred items each, several times over, and read nothing."""
    attackers = [card.connect(60) for _ in range(40)]
    ask = b"get " + b" ".join(b"key%d" % n for n in range(100)) + b"\r\n"
    for s in attackers:
        send_some(s, ask * 3)
    check_others(card)
    drop(attackers)


def test_counters(card):
    """Little is asked of a counter that has a long value: each time all of it would be written anew."""
    line = b"incr n 1 noreply\r\n"
    with card.connect(60) as s:
        assert reference.ask(s, b"set n 0 0 8000\r\n1%b\r\n" % (b" " * 7999), b"\r\n", seconds=60) == b"STORED\r\n"
        for _ in range(80):
            s.sendall(line * 100)
        assert reference.ask(s, b"incr n 1\r\n", b"\r\n", seconds=120) == b"8002\r\n"
    assert count_left(card) == COUNT
