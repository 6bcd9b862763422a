"""Clients that send half of something, or do not read: the others keep their items and their service."""

import contextlib
import threading
import time

import pytest

from harness import reference
from harness.fixtures import ended_well
from harness.size import scale

COUNT = scale(1_000, 10_000)
VALUE = b"v" * 1000


@pytest.fixture(scope="module")
def server():
    yield from ended_well(reference.wirekv(megabytes=64))


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


def test_appends(card):
    """As little is asked of a value that is appended to; but each time it is copied. Those that go on with that wait,
    nobody else does, and nobody is refused."""
    with card.connect(60) as s, card.connect(60) as one:
        ask = b"set a 0 0 8000\r\n%b\r\nset short 0 0 1\r\nx\r\n" % bytes(8000)
        assert reference.ask(s, ask, b"\r\nSTORED\r\n", seconds=60)
        left = memoryview(b"append a 0 0 0 noreply\r\n\r\n" * 9_000)
        s.setblocking(False)
        for _ in range(300):
            with contextlib.suppress(BlockingIOError):
                left = left[s.send(left[:20_000]) :] if left else left
            assert reference.ask(one, b"append short 0 0 1\r\nx\r\n", b"\r\n", seconds=60) == b"STORED\r\n"
        drop([s])
        assert reference.ask(one, b"append a 0 0 0\r\n\r\n", b"\r\n", seconds=60) == b"STORED\r\n"
    assert count_left(card) == COUNT


class Restarting(threading.Thread):
    """Begins values of `size` bytes, sends 9,000 of them and goes, again and again, so many bytes a second."""

    def __init__(self, card, size, rate):
        super().__init__()
        self.card, self.size, self.rate, self.ends, self.rounds = card, size, rate, False, 0

    def run(self):
        begun = time.monotonic()
        while not self.ends:
            with self.card.connect(60) as s:
                s.sendall(b"set s%d 0 0 %d\r\n" % (self.rounds, self.size) + b"x" * 9_000)
                self.rounds += 1
                time.sleep(max(begun + self.rounds * 9_000 / self.rate - time.monotonic(), 0))
                drop([s])

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.join()


@pytest.mark.parametrize("rate", [35_000, 350_000])
@pytest.mark.parametrize("size", [1_000_000, 100_000])
def test_long_values_beside_half_sent_ones(card, size, rate):
    """Somebody begins long values again and again. None of another client's is refused that begins a second or more after
    the first refusal has come."""
    with Restarting(card, size, rate) as attacker, card.connect(60) as s:
        while attacker.rounds < 12_000_000 // size:
            time.sleep(0.1)
        for n in range(6):
            for length in (1_000_000, 200_000, 20_000):
                line = b"set long%d 0 0 %d\r\n%b\r\n" % (length, length, b"%d" % n * length)
                refused = begun = None
                while (reply := reference.ask(s, line, b"\r\n", seconds=60)) != b"STORED\r\n":
                    assert not begun or begun < refused + 1, (n, length, reply)
                    begun = time.monotonic()
                    refused = refused or begun
                reply = reference.ask(s, b"get long%d\r\n" % length, b"END\r\n", seconds=60)
                assert reply == b"VALUE long%d 0 %d\r\n%b\r\nEND\r\n" % (length, length, b"%d" % n * length)
