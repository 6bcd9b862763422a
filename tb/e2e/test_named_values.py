"""Every value says whose it is, and the card's log turns over all the time: whoever gets a value gets his own.

`-m 4` is the smallest log. Pipelined requests for short and long values, UDP, SETs that are half sent, begun again or
dropped, and readers that wait go on side by side; what the log has passed may be missing, but what comes has its
key's name from the first byte to the last. test-long sends 2,000,000 commands, and some to the card with assertions.
"""

import bisect
import collections
import random
import re
import select
import time

import pytest

from harness import reference
from harness.fixtures import ended_well
from harness.size import LONG, scale

COMMANDS = scale(10_000, 2_000_000)
#: Of the card that checks its assertions, which is slower.
CHECKED = 100_000
KEYS = 4_000
#: About what `-m 4` leaves for the log, in bytes.
LOG = 3_400_000
#: Replies of a get that stand for no value.
ENDS = re.compile(rb"VALUE (\S+) \d+ (\d+)(?: \d+)?\r\n|END\r\n|([A-Z_]+[^\r]*)\r\n|(\d+ *)\r\n")


def named(key, length, turn):
    """A value of `length` bytes: the key and a number, over and over."""
    piece = b"%b:%d;" % (key, turn)
    return (piece * (length // len(piece) + 1))[:length]


def check(key, value):
    """Raises unless `value` is one that was stored under `key`."""
    if key[:1] == b"n":  # a counter: its number tells its key
        assert int(value) % 1000 == int(key[1:]), (key, value[:40])
        return
    if key[:1] == b"a":  # appended and prepended to: the key, over and over
        assert value == (b"%b;" % key) * (len(value) // (len(key) + 1)), (key, value[:60], len(value))
        return
    turn = re.match(rb"%b:(\d+);" % key, value)
    assert turn or value == named(key, len(value), 0)[: len(value)], (key, value[:60])
    assert value == named(key, len(value), int(turn[1])), (key, value[:60], len(value))


def size(rng):
    """Of a value: mostly short, often a few KB, seldom up to 1 MB."""
    kind = rng.random()
    if kind < 0.75:
        return rng.randrange(30, 600)
    if kind < 0.997:
        return rng.choice((1500, 4000, 7900, 8000, 8192))
    return rng.choice((20_000, 66_000, 300_000, 1_000_000))


class History:
    """Who was stored when, by bytes: those that the log is about to pass are asked for most."""

    def __init__(self, rng):
        self.rng, self.keys, self.places = rng, [], []
        self.bytes = 0

    def stored(self, key, length):
        self.keys.append(key)
        self.places.append(self.bytes)
        self.bytes += length + 80
        if len(self.keys) > 20_000:
            del self.keys[:10_000], self.places[:10_000]

    def key(self):
        if self.keys and self.rng.random() < 0.7:
            age = LOG * self.rng.choice((self.rng.random(), self.rng.uniform(0.7, 1)))
            return self.keys[max(0, bisect.bisect(self.places, self.bytes - age) - 1)]
        return b"k%d" % self.rng.randrange(KEYS)


class Client:
    """A connection: bytes to send, and the replies that it waits for."""

    def __init__(self, server, rng, history):
        self.server, self.rng, self.history = server, rng, history
        self.turn = 0
        self.open()

    def open(self):
        self.socket = self.server.connect()
        self.socket.setblocking(False)
        self.out, self.got = bytearray(), bytearray()
        self.want = collections.deque()  # for each command: the keys it asks for, or None
        self.rest_until = 0
        self.begin = 0

    def command(self):
        """Adds one."""
        rng, kind = self.rng, self.rng.random()
        self.turn += 1
        if kind < 0.45:
            keys = [self.history.key() for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 3, 10)))]
            if rng.random() < 0.1:
                keys.append(b"a%d" % rng.randrange(20))
            self.out += rng.choice((b"get ", b"gets ")) + b" ".join(keys) + b"\r\n"
            self.want.append(keys)
            return
        if kind < 0.85:
            key, length = b"k%d" % rng.randrange(KEYS), size(rng)
            self.history.stored(key, length)
            quiet = rng.random() < 0.5
            value = named(key, length, self.turn)
            self.out += b"set %b 0 0 %d%b\r\n%b\r\n" % (key, length, b" noreply" * quiet, value)
            if quiet:
                return
        elif kind < 0.9:
            key = b"a%d" % rng.randrange(20)
            verb = rng.choice((b"append", b"prepend", b"append", b"set"))
            value = (b"%b;" % key) * rng.choice((1, 1, 1, 100, 100, 1500))
            self.out += b"%b %b 0 0 %d\r\n%b\r\n" % (verb, key, len(value), value)
        elif kind < 0.95:
            name = rng.randrange(50)
            if rng.random() < 0.4:
                self.out += b"set n%d 0 0 %d\r\n%d\r\n" % (name, len(b"%d" % name), name)
            elif rng.random() < 0.6:
                self.out += b"incr n%d %d\r\n" % (name, 1000 * rng.randrange(1000))
            else:
                self.out += b"get n%d\r\n" % name
                self.want.append([b"n%d" % name])
                return
        else:
            key = self.history.key()
            self.out += rng.choice((b"touch %b 100\r\n", b"delete %b\r\n", b"gat 100 %b\r\n", b"md %b\r\n")) % key
            if self.out.endswith(b"gat 100 %b\r\n" % key):
                self.want.append([key])
                return
        self.want.append(None)

    def drop(self):
        """Goes, and comes again."""
        reference.resets_at_close(self.socket)
        self.socket.close()
        self.open()

    def send(self):
        try:
            del self.out[: self.socket.send(self.out[:200_000])]
        except BlockingIOError:
            pass

    def receive(self):
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionResetError
        self.got += data
        self.replies()

    def replies(self):
        """Takes those that are complete."""
        while self.want:
            reply = ENDS.match(self.got, self.begin)
            if not reply:
                break
            keys = self.want[0]
            if reply[1] is not None:
                end = reply.end() + int(reply[2])
                if len(self.got) < end + 2:
                    break
                assert keys and reply[1] in keys, (reply[1], keys)
                check(reply[1], bytes(self.got[reply.end() : end]))
                assert self.got[end : end + 2] == b"\r\n"
                self.begin = end + 2
                continue
            # A value's end, or a command's only line.
            assert (reply[0] == b"END\r\n") == (keys is not None), (reply[0], keys)
            self.begin = reply.end()
            self.want.popleft()
        if self.begin > 1 << 16 or self.begin == len(self.got):
            del self.got[: self.begin]
            self.begin = 0


class Datagrams:
    """Gets over UDP, a few at a time, of which none is waited for."""

    def __init__(self, server, history):
        self.socket, self.history = server.datagrams(), history
        self.socket.setblocking(False)
        self.number = 0
        self.parts = {}
        self.whole = 0

    def command(self):
        self.number = (self.number + 1) % 65536
        key = self.history.key()
        self.parts[self.number] = (key, {})
        self.parts.pop((self.number - 200) % 65536, None)
        self.socket.send(self.number.to_bytes(2, "big") + bytes((0, 0, 0, 1, 0, 0)) + b"get %b\r\n" % key)

    def receive(self):
        while True:
            try:
                data = self.socket.recv(65536)
            except (BlockingIOError, ConnectionRefusedError):
                return
            number, part, count = (int.from_bytes(data[n : n + 2], "big") for n in (0, 2, 4))
            key, parts = self.parts.get(number, (None, None))
            if key is None:
                continue
            parts[part] = data[8:]
            if len(parts) == count:
                del self.parts[number]
                reply = b"".join(parts[n] for n in range(count))
                value = re.match(rb"VALUE (\S+) \d+ (\d+)\r\n", reply)
                if not value:
                    assert reply == b"END\r\n", reply[:60]
                    continue
                assert value[1] == key and reply.endswith(b"\r\nEND\r\n")
                check(key, reply[value.end() : value.end() + int(value[2])])
                self.whole += 1


def half_sent(server, rng, history):
    """A SET that is begun; its bytes, and where it is."""
    key, length = b"k%d" % rng.randrange(KEYS), rng.choice((20_000, 66_000, 1_000_000))
    history.stored(key, length)
    s = server.connect()
    s.setblocking(False)
    data = b"set %b 0 0 %d noreply\r\n%b\r\n" % (key, length, named(key, length, 7))
    return [s, memoryview(data), rng.randrange(9_000, 20_000)]


def play(server, commands):
    """Sends so many commands; raises if a value is not its key's. Returns values seen whole over UDP."""
    rng = random.Random(random.getrandbits(64))
    history = History(rng)
    clients = [Client(server, rng, history) for _ in range(10)]
    datagrams = Datagrams(server, history)
    halves = []
    sent, told, last = 0, 0, time.monotonic()
    while sent < commands or any(c.want or c.out for c in clients):
        now = time.monotonic()
        if sent - told >= 20_000:  # for who waits for a long run, with `pytest -s`
            told = sent
            print(f"{time.strftime('%T')} {sent} of {commands} commands", flush=True)
        for c in clients:
            if sent < commands and len(c.want) < 40 and len(c.out) < 100_000:
                for _ in range(rng.randrange(1, 12)):
                    c.command()
                    sent += 1
                if rng.random() < 0.02:
                    c.rest_until = now + rng.random()  # does not read for a while
                elif rng.random() < 0.003:
                    c.drop()
        if sent < commands and rng.random() < 0.2:
            datagrams.command()
        datagrams.receive()
        if len(halves) < 12 and rng.random() < 0.05 and sent < commands:
            halves.append(half_sent(server, rng, history))
        for half in rng.sample(halves, min(len(halves), 2)):
            s, data, share = half
            try:
                half[1] = data[s.send(data[:share]) :]
                half[2] = rng.choice((1, 1, 100, 9_000, 100_000))
            except BlockingIOError:
                pass
            except (ConnectionResetError, BrokenPipeError):  # the log has passed its room
                half[1] = b""
            if not half[1] or rng.random() < 0.01:
                s.close()
                halves.remove(half)
        reads = [c.socket for c in clients if c.rest_until < now or sent >= commands]
        ready, writable, _ = select.select(reads, [c.socket for c in clients if c.out], [], 0.05)
        for c in clients:
            try:
                if c.socket in writable:
                    c.send()
                if c.socket in ready:
                    c.receive()
                    last = now
            except (ConnectionResetError, BrokenPipeError):
                # A long value that it sent, or got, has left the log midway.
                c.socket.close()
                c.open()
        server.check_alive()
        assert now - last < 3 * reference.SECONDS, "nothing comes any more"
    for s in [c.socket for c in clients] + [half[0] for half in halves] + [datagrams.socket]:
        s.close()
    return datagrams.whole


@pytest.fixture
def card(request):
    yield from ended_well(reference.wirekv(*request.param[1:], megabytes=4, binary=request.param[0]))


def laps(server):
    with server.connect() as s:
        lines = reference.ask(s, b"stats card\r\n", b"END\r\n").decode().split("\r\n")
    return int(next(line.split()[2] for line in lines if "StoreLaps" in line or "laps" in line.lower()))


@pytest.mark.parametrize("card", [(reference.WIREKV,)], indirect=True)
def test_named_values(card):
    whole = play(card, COMMANDS)
    turns = laps(card)
    print(f"{COMMANDS} commands, the log turned over {turns} times, {whole} values over UDP")
    assert turns >= COMMANDS // 4_000


@pytest.mark.skipif(not LONG, reason="a model of its own takes minutes to compile: make test-long")
@pytest.mark.parametrize("card", [(reference.CHECKED,)], indirect=True)
def test_named_values_checked(card):
    play(card, CHECKED)
