"""One store, spoken to in seven ways at once: memcached's text, meta and binary protocols, RESP2 and RESP3, and
text and binary datagrams. The simulated card has a wire that loses, doubles, delays and damages frames."""

import random
import socket
import struct
import time

import pytest

from harness import reference
from harness.memcached import packets, values
from harness.resp import servers, wire
from harness.size import SEED, scale
from harness.fixtures import ended_well
from harness.threads import together

KEYS = [b"k%d" % i for i in range(12)]
BAD_WIRE = "drop=0.01,dup=0.01,reorder=0.01,damage=0.01"


class Item:
    """What a key has: the model."""

    def __init__(self, value, flags=0, expires=False):
        self.value, self.flags, self.expires = value, flags, expires
        self.unique = None  # as it was read last; None: changed since then


class Memcached:
    """The same server's other port."""

    def __init__(self, soft):
        self.address = soft.memcached

    def connect(self, timeout):
        s = socket.create_connection(self.address, timeout=timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s


class Text:
    """memcached's classic commands. Each `set`, `read`, ... below is the same for all."""

    flags_at_set = 5

    def __init__(self, soft):
        self.client = values.Client(Memcached(soft))

    def set(self, key, value):
        assert self.client.line(b"set %s %d 0 %d\r\n%s\r\n" % (key, self.flags_at_set, len(value), value)) == b"STORED\r\n"

    def append(self, key, value):
        return self.client.line(b"append %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)) == b"STORED\r\n"

    def add_number(self, key, by):
        return int(self.client.line(b"incr %s %d\r\n" % (key, by)))

    def delete(self, key):
        return self.client.line(b"delete %s\r\n" % key) == b"DELETED\r\n"

    def expire(self, key):
        return self.client.line(b"touch %s 100000\r\n" % key) == b"TOUCHED\r\n"

    def read(self, key):
        """Value, flags and unique, or None."""
        line = self.client.line(b"gets %s\r\n" % key)
        if line == b"END\r\n":
            return None
        _, _, flags, size, unique = line.split()
        value = self.client.file.read(int(size) + 2)[:-2]
        assert self.client.file.readline() == b"END\r\n"
        return value, int(flags), int(unique)

    def compare_and_set(self, key, value, unique):
        line = b"cas %s %d 0 %d %d\r\n%s\r\n" % (key, self.flags_at_set, len(value), unique, value)
        return self.client.line(line) == b"STORED\r\n"


class Meta(Text):
    flags_at_set = 6

    def set(self, key, value):
        assert self.client.line(b"ms %s %d F6\r\n%s\r\n" % (key, len(value), value)) == b"HD\r\n"

    def append(self, key, value):
        return self.client.line(b"ms %s %d MA\r\n%s\r\n" % (key, len(value), value)) == b"HD\r\n"

    def add_number(self, key, by):
        head = self.client.line(b"ma %s v D%d\r\n" % (key, by))
        assert head.startswith(b"VA "), head
        return int(self.client.file.readline())

    def delete(self, key):
        return self.client.line(b"md %s\r\n" % key) == b"HD\r\n"

    def expire(self, key):
        return self.client.line(b"mg %s T100000\r\n" % key) == b"HD\r\n"

    def read(self, key):
        line = self.client.line(b"mg %s s v f c\r\n" % key)
        if line == b"EN\r\n":
            return None
        words = line.split()
        assert words[1] == words[2][1:], line
        value = self.client.file.read(int(words[1]) + 2)[:-2]
        return value, int(words[3][1:]), int(words[4][1:])

    def compare_and_set(self, key, value, unique):
        line = b"ms %s %d F6 C%d\r\n%s\r\n" % (key, len(value), unique, value)
        return self.client.line(line) == b"HD\r\n"


class Binary(Text):
    flags_at_set = 7

    def ask(self, op, key, extras=b"", value=b"", unique=0):
        self.client.socket.sendall(packets.whole(op, key, extras, value, cas=unique.to_bytes(8, "big")))
        _, _, _, extra, _, status, size, _, unique = struct.unpack(">BBHBBHIIQ", self.client.file.read(24))
        body = self.client.file.read(size)
        return status, body[:extra], body[extra:], unique

    def set(self, key, value):
        assert self.ask(0x01, key, struct.pack(">II", 7, 0), value)[0] == 0

    def append(self, key, value):
        return self.ask(0x0E, key, b"", value)[0] == 0

    def add_number(self, key, by):
        status, _, value, _ = self.ask(0x05, key, struct.pack(">QQI", by, 0, 0xFFFFFFFF))
        assert status == 0
        return int.from_bytes(value, "big")

    def delete(self, key):
        return self.ask(0x04, key)[0] == 0

    def expire(self, key):
        return self.ask(0x1C, key, struct.pack(">I", 100_000))[0] == 0

    def read(self, key):
        status, extras, value, unique = self.ask(0x00, key)
        return (value, int.from_bytes(extras, "big"), unique) if status == 0 else None

    def compare_and_set(self, key, value, unique):
        return self.ask(0x01, key, struct.pack(">II", 7, 0), value, unique)[0] == 0


class Resp:
    flags_at_set = 0

    def __init__(self, soft, protocol):
        self.client = wire.Client(soft)
        self.client("HELLO", protocol)

    def set(self, key, value):
        assert self.client("SET", key, value) == b"OK"

    def append(self, key, value):
        """Only where something is, as memcached's."""
        return bool(self.client("EXISTS", key)) and self.client("APPEND", key, value) > 0

    def add_number(self, key, by):
        return self.client("INCRBY", key, by)

    def delete(self, key):
        return self.client("DEL", key) == 1

    def expire(self, key):
        return self.client("EXPIRE", key, 100_000) == 1

    def read(self, key):
        value = self.client("GET", key)
        return None if value is None else (value, None, None)


class Datagrams:
    """What may be done twice, for a datagram that is not answered is sent again: over UDP, classic commands."""

    flags_at_set = 8

    def __init__(self, server):
        self.client, self.request = server.datagrams(), 0

    def ask(self, text):
        """The reply's bytes; its datagrams are put together."""
        for _ in range(30):
            self.request += 1
            name, parts = self.request.to_bytes(2, "big"), {}
            self.client.send(name + b"\0\0\0\1\0\0" + text)
            while reference.readable(self.client, 1):
                data = self.client.recv(65536)
                if data[:2] == name:
                    parts[int.from_bytes(data[2:4], "big")] = data[8:]
                    if len(parts) == int.from_bytes(data[4:6], "big"):
                        return b"".join(parts[i] for i in sorted(parts))
        raise TimeoutError(f"no answer to {text[:60]}")

    def change(self, text):
        """Of a datagram that came twice the second one is late by a few frames at most."""
        reply = self.ask(text)
        for _ in range(4):
            assert self.ask(b"version\r\n").startswith(b"VERSION ")
        return reply

    def set(self, key, value):
        reply = self.change(b"set %s %d 0 %d\r\n%s\r\n" % (key, self.flags_at_set, len(value), value))
        assert reply == b"STORED\r\n"

    def expire(self, key):
        return self.change(b"touch %s 100000\r\n" % key) == b"TOUCHED\r\n"

    def read(self, key):
        line, _, rest = self.ask(b"gets %s\r\n" % key).partition(b"\r\n")
        if line == b"END":
            return None
        _, name, flags, size, unique = line.split()
        assert name == key and rest[int(size) :] == b"\r\nEND\r\n"
        return rest[: int(size)], int(flags), int(unique)


class BinaryDatagrams(Datagrams):
    flags_at_set = 9

    def set(self, key, value):
        reply = self.change(packets.whole(0x01, key, struct.pack(">II", self.flags_at_set, 0), value))
        assert reply[:2] == b"\x81\1" and reply[6:8] == bytes(2)

    def expire(self, key):
        return self.change(packets.whole(0x1C, key, struct.pack(">I", 100_000)))[6:8] == bytes(2)

    def read(self, key):
        reply = self.ask(packets.whole(0x00, key))
        if reply[6:8] == b"\0\1":
            return None
        assert reply[:2] == b"\x81\0" and reply[4] == 4 and reply[6:8] == bytes(2)
        return reply[28:], int.from_bytes(reply[24:28], "big"), int.from_bytes(reply[16:24], "big")


#: What fits into a datagram that asks.
SHORT = 1200


class Ways:
    """A server, and a client of each protocol."""

    def __init__(self, server):
        self.server = server
        self.streams = [Text(server), Meta(server), Binary(server), Resp(server, 2), Resp(server, 3)]
        self.memcached, self.redis = self.streams[:3], self.streams[3:]
        self.datagrams = [Datagrams(server), BinaryDatagrams(server)]
        self.all = self.streams + self.datagrams
        self.redis[0].client("FLUSHALL")

    def close(self):
        for way in self.all:
            way.client.close()


@pytest.fixture(scope="module")
def bad_card():
    yield from ended_well(servers.card("--impair", f"{BAD_WIRE},seed={SEED}"))


@pytest.fixture(params=["soft", "bad_card"])
def ways(request):
    ways = Ways(request.getfixturevalue(request.param))
    yield ways
    ways.close()


def test_each_value_and_version(ways, seed):
    """At every step all of a key is as the model has it: value, flags, whether it expires; a CAS unique
    that changes with each change of the value, whoever made it, and with nothing else. Databases are
    swapped in between, by the software body."""
    rng = random.Random(seed)
    model, elsewhere = {}, {}
    redis, soft = ways.redis[0].client, ways.server.name == "soft"
    for step in range(scale(4000 if soft else 100, 100_000 if soft else 20_000)):
        key, act = rng.choice(KEYS), rng.choice(
            ["set", "set", "append", "number", "delete", "expire", "cas", "persist", "read", "rename"])
        changed = True
        if soft and rng.random() < 0.03:
            # Database 0 is another one then, for memcached's clients, too.
            assert redis("SWAPDB", 0, 5) == b"OK"
            model, elsewhere, act = elsewhere, model, "swap"
        item = model.get(key)
        if act == "set":
            client = rng.choice(ways.all)
            long = [SHORT] if client in ways.datagrams else [3000, 40_000]
            value = rng.choice([b"%d" % rng.randrange(1000), values.make(key, step, rng.choice([10, 100, *long]))])
            client.set(key, value)
            model[key] = Item(value, client.flags_at_set)
        elif act == "append":
            assert rng.choice(ways.streams).append(key, b"7") == (item is not None)
            if item:
                item.value += b"7"
        elif act == "number" and item and item.value.isdigit() and len(item.value) < 15:
            by = rng.randrange(1000)
            number = rng.choice(ways.streams).add_number(key, by)
            assert number == int(item.value) + by
            item.value = b"%d" % number
        elif act == "delete":
            assert rng.choice(ways.streams).delete(key) == (item is not None)
            model.pop(key, None)
        elif act == "expire":
            assert rng.choice(ways.all).expire(key) == (item is not None)
            if item:
                item.expires = True
            changed = False
        elif act == "persist":
            assert redis("PERSIST", key) == (item is not None and item.expires)
            if item:
                item.expires = False
            changed = False
        elif act == "rename" and item:
            other = rng.choice(KEYS)
            assert redis("RENAME", key, other) == b"OK"
            model[other] = model.pop(key)
            model[other].unique = None
            key, changed = other, False
        elif act == "cas" and item and item.unique is not None:
            # One that was read before, and one that never was.
            who = rng.choice(ways.memcached)
            assert not who.compare_and_set(key, b"never", item.unique + (1 << 40))
            value = values.make(key, step, 50)
            assert who.compare_and_set(key, value, item.unique)
            model[key] = Item(value, who.flags_at_set)
            # Whatever it was before, it is another one now.
            assert not who.compare_and_set(key, b"never", item.unique)
        else:
            changed = False
        check(ways, rng, key, model.get(key), changed, act)


def check(ways, rng, key, item, changed, act):
    """A key as one of memcached's clients and one of Redis' see it."""
    seen = rng.choice(ways.memcached + ways.datagrams).read(key)
    other = rng.choice(ways.redis)
    if item is None:
        assert seen is None and other.read(key) is None, f"{key} after {act}: {seen}"
        return
    assert seen is not None and seen[:2] == (item.value, item.flags), f"{key} after {act}: {seen}"
    assert other.read(key)[0] == item.value
    unique = seen[2]
    if item.unique is not None:
        assert (unique != item.unique) == changed, f"{key} after {act}: unique {item.unique}, then {unique}"
    item.unique = unique
    left = other.client("PTTL", key)
    assert (99_000_000 < left <= 100_000_000) if item.expires else left == -1, f"{key} after {act}: {left}"


def test_expiry_is_one(ways):
    """A time that one protocol set ends an item for all."""
    text, meta, binary, resp2, resp3 = ways.streams
    writers = [
        lambda key: text.client.line(b"set %s 0 1 1\r\nx\r\n" % key),
        lambda key: meta.client.line(b"ms %s 1 T1\r\nx\r\n" % key),
        lambda key: binary.ask(0x01, key, struct.pack(">II", 0, 1), b"x"),
        lambda key: resp2.client("SET", key, "x", "PX", 900),
        lambda key: resp3.client("SET", key, "x", "EX", 1),
        lambda key: ways.datagrams[0].change(b"set %s 0 1 1\r\nx\r\n" % key),
    ]
    for i, write in enumerate(writers):
        write(b"short%d" % i)
    assert all(resp2.client("PTTL", b"short%d" % i) <= 2000 for i in range(6))
    end = time.monotonic() + reference.SECONDS
    while any(way.read(b"short%d" % i) for i in range(6) for way in ways.all):
        assert time.monotonic() < end, "it lives too long"
        time.sleep(0.05)


def test_at_once(ways, seed):
    """Seven threads, a protocol each, write and read the same few keys. What is read is always one whole
    value that someone wrote, and the newest of a writer only grows. A counter loses nothing."""
    soft = ways.server.name == "soft"
    keys, commands = [b"shared%d" % i for i in range(8)], scale(500, 20_000) if soft else scale(40, 3_000)
    longest = 300_000 if soft else 30_000
    for key in keys:
        ways.redis[0].delete(key)
    ways.streams[0].set(b"sum", b"0")
    counts = [0] * len(ways.all)

    def work(me):
        rng, client = random.Random(seed + me), ways.all[me]
        newest = {}
        for turn in range(commands):
            key = rng.choice(keys)
            r = rng.random()
            if client in ways.datagrams:
                # They only read: a SET that comes once more, late, would bring an old value back.
                r = 0.6
            if r < 0.4:
                size = min(longest, rng.choice([100, 1000, 3000, 30_000, 300_000]))
                client.set(key, values.make(key, turn << 8 | me, size))
                newest[key, me] = turn
            elif r < 0.45:
                client.delete(key)
            elif r < 0.6:
                client.add_number(b"sum", 3)
                counts[me] += 1
            elif (seen := client.read(key)) is not None:
                version = values.version(key, seen[0])
                writer, of = version & 0xFF, version >> 8
                assert of >= newest.get((key, writer), 0), f"{key}: an old value is back"
                newest[key, writer] = of

    together(len(ways.all), work)
    assert int(ways.streams[0].read(b"sum")[0]) == 3 * sum(counts)
