"""Redis' protocol as a list of what the store must do, and random commands of it: the reference of the tests."""

import random
import re

KEY_MAX = 250
M64 = (1 << 64) - 1
STORES = {b"SET": ("OpSet", "RfStatus"), b"MSET": ("OpSet", "RfStatus"), b"SETNX": ("OpAdd", "RfInteger"),
          b"MSETNX": ("OpAdd", "RfInteger"), b"APPEND": ("OpAppend", "RfLength")}
READS = {b"GET": "RfBulk", b"EXISTS": "RfInteger", b"STRLEN": "RfLength"}
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")


def encode(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Broken(Exception):
    """The protocol is; what was read ends at a place."""


class More(Exception):
    """More bytes must come."""


class Resp:
    """`run` returns the operations of a byte stream. As for Redis, any two bytes end an argument, and any one
    stands behind a CR. What the host is given is not answered with an end here."""

    closed = False

    def __init__(self, item_max, now):
        self.item_max = item_max

    def run(self, data):
        ops, at = [], 0
        while at < len(data):
            try:
                end, words = self.frame(data, at)
                got = self.command(words) if words else None
            except Broken as broken:
                end, got = broken.args[0], None
            except More:
                break
            ops += got or [("host", data[at:end])]
            at = end
        return ops

    def frame(self, data, at):
        if data[at : at + 1] != b"*":
            end = data.find(b"\n", at)
            if end < 0:
                raise More
            return end + 1, None
        count, at = self.number(data, at)
        words = []
        if not count:
            raise Broken(at)
        for _ in range(count):
            if at >= len(data):
                raise More
            if data[at : at + 1] != b"$":
                end = data.find(b"\r", at + 1)
                if end < 0 or end + 2 > len(data):
                    raise More
                raise Broken(end + 2)
            size, at = self.number(data, at)
            if size is None or size > self.item_max:
                raise Broken(at)
            if at + size + 2 > len(data):
                raise More
            words.append(data[at : at + size])
            at += size + 2
        return at, words

    @staticmethod
    def number(data, at):
        """Of a line that begins with one more character; None: it is none, or too long."""
        end = data.find(b"\r", at + 1)
        if end < 0 or end + 2 > len(data):
            raise More
        word = data[at + 1 : end]
        good = re.fullmatch(rb"0|[1-9][0-9]{0,8}", word)
        return int(word) if good else None, end + 2

    def command(self, words):
        """None: it is not for gates."""
        name, n = words[0].upper(), len(words)
        keys = words[1:] if name == b"MGET" else words[1:2]
        if any(not 0 < len(key) <= KEY_MAX for key in keys):
            return None
        if name in READS and n == 2:
            return [("get", keys[0], False, None, READS[name])]
        if name == b"MGET" and n > 1:
            return [("array", n - 1, "RfArray")] + [("get", key, False, None, "RfBulk") for key in keys]
        if name in STORES and n == 3 or name == b"SET" and n == 4 and words[3].upper() in (b"NX", b"XX"):
            op, form = STORES[name]
            if n == 4 and len(words[2]) > 1920:
                return None
            if n == 4:
                op = "OpAdd" if words[3].upper() == b"NX" else "OpReplace"
            if len(keys[0]) + len(words[2]) + 59 > self.item_max:
                return [("reply", "RpTooLarge", form)]
            return [("store", op, keys[0], 0, 0, words[2], False, 0, form)]
        if name in (b"DEL", b"UNLINK") and n == 2:
            return [("delete", keys[0], False, "RfInteger")]
        if name in (b"INCR", b"DECR") and n == 2:
            return [("delta", name.lower(), keys[0], 1, False, "RfInteger")]
        if name in (b"INCRBY", b"DECRBY") and n == 3 and INTEGER.fullmatch(words[2]):
            by = int(words[2])
            if -(1 << 63) + (name == b"DECRBY") <= by < 1 << 63:
                return [("delta", name[:4].lower(), keys[0], by & M64, False, "RfInteger")]
        if name == b"PING" and n == 1:
            return [("reply", "RpPong", "RfStatus")]
        if name in (b"FLUSHALL", b"FLUSHDB") and n == 1:
            return [("flush", 0, False, "RfStatus")]
        return None


# ---------------------------------------------------------------- random commands
TRAPS = encode(b"GET", b"k"), b"$1\r\nk\r\n", b"\r\n", b"*", b"\n*2\r\n$3\r\nGET\r\n", b"*4\r\n$4\r\nMGET\r\n$1\r\n"


def a_key():
    size = random.choice((1, 5, 9, 10, 16, 20, 29, 30, 38, 41, 42, 43, 44, 45, 46, 47, 63, 64, 65, 128, 129, 192, 250,
                          random.randrange(1, 251)))
    return random.randbytes(size) if random.random() < 0.7 else (random.choice(TRAPS) * size)[:size]


def a_value(most):
    size = random.choice((0, 1, 2, 8, 23, 24, 64, random.randrange(200), random.randrange(most)))
    return random.choice((random.randbytes(size), (random.choice(TRAPS) * size)[:size]))


def cased(name):
    return random.choice((name, name.lower(), bytes(random.choice((c, c | 32)) for c in name)))


def a_number():
    return random.choice((b"0", b"1", b"-1", b"17", b"%d" % random.randrange(-(1 << 63), 1 << 63), b"9223372036854775807",
                          b"-9223372036854775808"))


def a_command(most=300, odd=True):
    """A command; `odd`: also those that are left to the host, and what breaks the protocol."""
    pick, key = random.random(), a_key()
    if pick < 0.3:
        return encode(cased(random.choice((b"GET", b"GET", b"STRLEN", b"EXISTS"))), key)
    if pick < 0.38:
        return encode(cased(b"MGET"), *(a_key() for _ in range(random.choice((1, 2, 3, 9, 10, 16, 40)))))
    if pick < 0.6:
        return encode(cased(random.choice((b"SET", b"SET", b"SETNX", b"APPEND", b"MSET", b"MSETNX"))), key, a_value(most))
    if pick < 0.66:
        return encode(cased(b"SET"), key, a_value(most), cased(random.choice((b"NX", b"XX"))))
    if pick < 0.72:
        return encode(cased(random.choice((b"DEL", b"UNLINK"))), key)
    if pick < 0.77:
        return encode(cased(random.choice((b"INCR", b"DECR"))), key)
    if pick < 0.82:
        return encode(cased(random.choice((b"INCRBY", b"DECRBY"))), key, a_number())
    if pick < 0.85 or not odd:
        return encode(cased(random.choice((b"PING", b"FLUSHALL", b"FLUSHDB", b"PING"))))
    return an_odd_one(key)


def an_odd_one(key):
    whole = encode(b"SET", key, a_value(200))
    number = random.choice((b"", b"x", b"-1", b"00", b"01", b"1x", b" 1", b"9999999999", b"0", b"1048577"))
    return random.choice((
        encode(b"SET", key, b"v", b"EX", b"10"), encode(b"SET", key, b"v", b"GET"), encode(b"GET"), encode(b"GET", key, key),
        encode(b"GET", b"l" * random.choice((251, 252, 1000))), encode(b"GET", b""), encode(b"SET", b"l" * 300, b"v" * 500),
        encode(b"MGET", key, b"l" * 251, key), encode(b"MGET", key, b"", key), encode(b"INCRBY", key, b"1x"),
        encode(b"INCRBY", key, random.choice((b"+1", b"01", b"-0", b"", b"-", b"9223372036854775808", b"99999999999999999999"))),
        encode(b"DECRBY", key, b"-9223372036854775808"), encode(b"HELLO", b"3"), encode(b"ECHO", a_value(1000)),
        encode(b"COMMAND"), encode(b"CONFIG", b"GET", b"x" * random.choice((1, 150, 160, 170, 171, 172, 173, 200, 360))),
        encode(random.randbytes(random.choice((1, 16, 17, 63, 64, 65, 200))), key), encode(b""), encode(b"PING", key),
        encode(b"DEL", key, key), encode(b"get\0", key), encode(b"stats"), encode(b"noop"), b"PING\r\n", b"\r\n", b"\n",
        b"get a\r\n", b"set a 0 0 1\r\n", b"x" * random.randrange(300) + b"\n", b"*%s\r\n" % number, b"*1\r\n$%s\r\n" % number,
        b"*2\r\n$3\r\nGET\r\n$%s\r\n" % number, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%s\r\nv\r\n" % number,
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n:1\r\nv\r\n", b"*2\r\n$3\r\nGET\r\n:1\r\n", b"*2\r\n!\r\n", b"*2\r\n+abc\r\n", b"*-1\r\n",
        whole.replace(b"\r\n", b"\rX", 1), whole[:-2] + b"ab", b"*2\r\n$3\r\nGETab$1\r\nk\r\n"))
