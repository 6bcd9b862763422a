"""One store, spoken to in five ways at once: memcached's text, meta and binary protocols, RESP2 and RESP3."""

import random
import socket
import struct
import time

import pytest

from e2e.conftest import scale
from resp import wire
from soft import values
from soft.test_memory import together

KEYS = [b"k%d" % i for i in range(12)]


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
    """memcached's classic commands. Each `set`, `read`, ... below is the same for all five."""

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
        head = struct.pack(">BBHBBHIIQ", 0x80, op, len(key), len(extras), 0, 0,
                           len(extras) + len(key) + len(value), 0, unique)  # fmt: skip
        self.client.socket.sendall(head + extras + key + value)
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


@pytest.fixture
def five(soft):
    clients = [Text(soft), Meta(soft), Binary(soft), Resp(soft, 2), Resp(soft, 3)]
    clients[3].client("FLUSHALL")
    return clients


def test_each_value_and_version(five, seed):
    """At every step all of a key is as the model has it: value, flags, whether it expires; a CAS unique
    that changes with each change of the value, whoever made it, and with nothing else. Databases are
    swapped in between."""
    rng = random.Random(seed)
    model, elsewhere = {}, {}
    redis = five[3].client
    for step in range(scale(4000, 100_000)):
        key, client = rng.choice(KEYS), rng.choice(five)
        act = rng.choice(["set", "set", "append", "number", "delete", "expire", "cas", "persist", "read", "rename"])
        changed = True
        if rng.random() < 0.03:
            # Database 0 is another one then, for memcached's clients, too.
            assert redis("SWAPDB", 0, 5) == b"OK"
            model, elsewhere, act = elsewhere, model, "swap"
        item = model.get(key)
        if act == "set":
            value = rng.choice([b"%d" % rng.randrange(1000), values.make(key, step, rng.choice([10, 100, 3000, 40_000]))])
            client.set(key, value)
            model[key] = Item(value, client.flags_at_set)
        elif act == "append":
            assert client.append(key, b"7") == (item is not None)
            if item:
                item.value += b"7"
        elif act == "number" and item and item.value.isdigit() and len(item.value) < 15:
            by = rng.randrange(1000)
            number = client.add_number(key, by)
            assert number == int(item.value) + by
            item.value = b"%d" % number
        elif act == "delete":
            assert client.delete(key) == (item is not None)
            model.pop(key, None)
        elif act == "expire":
            assert client.expire(key) == (item is not None)
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
            who = rng.choice(five[:3])
            assert not who.compare_and_set(key, b"never", item.unique + (1 << 40))
            value = values.make(key, step, 50)
            assert who.compare_and_set(key, value, item.unique)
            model[key] = Item(value, who.flags_at_set)
            # Whatever it was before, it is another one now.
            assert not who.compare_and_set(key, b"never", item.unique)
        else:
            changed = False
        check(five, rng, key, model.get(key), changed, act)
    for client in five:
        client.client.close()


def check(five, rng, key, item, changed, act):
    """A key as one of memcached's clients and one of Redis' see it."""
    seen = rng.choice(five[:3]).read(key)
    other = rng.choice(five[3:])
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


def test_expiry_is_one(five):
    """A time that one protocol set ends an item for all."""
    writers = [
        lambda key: five[0].client.line(b"set %s 0 1 1\r\nx\r\n" % key),
        lambda key: five[1].client.line(b"ms %s 1 T1\r\nx\r\n" % key),
        lambda key: five[2].ask(0x01, key, struct.pack(">II", 0, 1), b"x"),
        lambda key: five[3].client("SET", key, "x", "PX", 900),
        lambda key: five[4].client("SET", key, "x", "EX", 1),
    ]
    for i, write in enumerate(writers):
        write(b"short%d" % i)
    assert all(five[3].client("PTTL", b"short%d" % i) <= 2000 for i in range(5))
    end = time.monotonic() + 20
    while any(client.read(b"short%d" % i) for i in range(5) for client in five):
        assert time.monotonic() < end, "it lives too long"
        time.sleep(0.05)


def test_at_once(soft, seed):
    """Five threads, a protocol each, write and read the same few keys. What is read is always one whole
    value that someone wrote, and the newest of a writer only grows. A counter loses nothing."""
    clients = [Text(soft), Meta(soft), Binary(soft), Resp(soft, 2), Resp(soft, 3)]
    keys, commands = [b"shared%d" % i for i in range(8)], scale(500, 20_000)
    for key in keys:
        clients[3].delete(key)
    clients[0].set(b"sum", b"0")
    counts = [0] * len(clients)

    def work(me):
        rng, client = random.Random(seed + me), clients[me]
        newest = {}
        for turn in range(commands):
            key = rng.choice(keys)
            r = rng.random()
            if r < 0.4:
                client.set(key, values.make(key, turn << 8 | me, rng.choice([100, 1000, 3000, 30_000, 300_000])))
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

    together(5, work)
    assert int(clients[0].read(b"sum")[0]) == 3 * sum(counts)
