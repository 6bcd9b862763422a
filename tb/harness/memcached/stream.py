"""Random streams of memcached text commands, valid and broken, from a seed.

A stream is a list of bursts. A burst is written as one pipeline, and its replies are awaited before
the next one. Everything here keeps to what the reference answers the same way every time:

- no short expiry times, so that no reply depends on the clock;
- a `get` with an overlong key only at the start of a burst: memcached drops the unsent replies of
  earlier commands, so what it answers depends on how TCP cuts the stream;
- no `incr` or `decr` of a key that was read earlier in its burst: memcached then forgets to pad;
- no '-' beyond a value's first bytes: where a counter has bit 63 set, memcached searches for a sign
  far behind the number, in whatever memory follows;
- no unknown command with "HTTP/1.1" at its end, where memcached closes, nor a value of nothing but
  blanks as a number, where it reads on behind the value;
- no `flush_all` with a delay: in memcached it brings back what the last one without has emptied;
- no `append` or `prepend` to a counter, which may get 64 bits, or digits beyond its first 64 bytes;
- no byte 0x80 at the start of a connection, which selects memcached's binary protocol;
- no other line than `get` and `gets` beyond 2,048 bytes.
"""

import random
from dataclasses import dataclass, field

from harness.size import scale

MAX_ITEM = 1048576
ITEM_OVERHEAD = 59  # memcached's header, CAS unique and line ends; flags that are not 0 have four bytes more
SENTINEL = b"sentinel"
#: Of a `get` or `gets`: of hundreds of keys. The card reads such a line a byte a clock, and each time that more of it comes.
LONG_LINES = scale(0.004, 0.01)
MAX_REPLY = 2 << 20  # a burst whose replies are longer only measures patience

BAD_NUMBERS = [
    b"x", b"1x", b"0x10", b"1.5", b"+", b"-", b"--5", b"+-5", b"1e3", b"\t", b"\tx", b"a\x00",
    b"18446744073709551616", b"99999999999999999999999", b"-99999999999999999999999",
]  # fmt: skip
BAD_UNSIGNED = BAD_NUMBERS + [b"-1", b"-5", b"-4294967295"]
BAD_SIGNED = BAD_NUMBERS + [b"9223372036854775808", b"-9223372036854775809"]
ODD_FLAGS = [
    b"4294967295", b"4294967296", b"18446744073709551615", b"+7", b"007", b"-0", b"5\tx", b"\t9",
    b"0000000000000000000000000000012", b"8\r", b"\x0b3",
]  # fmt: skip
# Never, for ever, or long ago: 2592001 is a day of January 1970.
EXPTIMES = [b"0"] * 6 + [b"86400", b"100000", b"2592000", b"2147483647"]
ODD_EXPTIMES = [
    b"-1", b"-5", b"-2147483648", b"2592001", b"1000000000", b"2147483648", b"4294967295",
    b"4294967296", b"+100000", b"0100000", b"-0", b"0\tx", b"-1\tx", b"9223372036854775807",
]  # fmt: skip
BAD_LENGTHS = BAD_SIGNED + [b"-1", b"-2147483648", b"2147483646", b"2147483647", b"2147483648",
                            b"4294967295", b"9223372036854775807"]  # fmt: skip
ODD_DELTAS = [b"+1", b"007", b"0", b"18446744073709551615", b"9223372036854775808", b"5\tx", b"-0"]
NUMERIC = [
    b"0", b"7", b"10", b"99", b"100", b"999999", b"007", b"+5", b" 5", b"5  ", b"  12 ", b"5 x",
    b"5\x00x", b"\t3\n", b"9223372036854775806", b"4294967295", b"0000000000000000000000000001",
    b"9" * 19 + b"\x00", b"18446744073709551615\x00", b"000012",
]  # fmt: skip
NOT_NUMERIC = [
    b"", b"x", b"5x", b"0x5", b"1.5", b"\x00", b"+", b"18446744073709551616",
    b"123456789012345678901", b"-5", b"\rx",
]  # fmt: skip
UNKNOWN = [
    b"", b" ", b"  ", b"g", b"ge", b"getx", b"GET a", b"Get a", b"foo", b"foo bar baz", b"s", b"set",
    b"sets a 0 0 1", b"\tget a", b"get\ta", b"\x00", b"\x00get a", b"get\x00a", b"\x01\x02\xff",
    b"versio", b"versions", b"quitx", b"delet a", b"incrx a 1", b"flush", b"verb 1", b"cas",
    b"touch", b"gat", b"gats", b"get", b"gets", b"get ", b"gets  ", b"delete", b"incr", b"incr a",
    b"decr a", b"touch a", b"bget", b"verbosity", b"add a", b"replace a 0", b"cas a 0 0 0", b"HTTP",
    b"delete a b c d", b"delete a b c noreply", b"incr a 1 2 3", b"touch a 0 1 2",
    b"flush_all 0 0 0", b"flush_all 0 0 noreply", b"verbosity 1 2 3", b"verbosity 1 2 noreply",
    b"set a 0 0", b"set a 0 0 1 2 3", b"set a 0 0 1 noreply x", b"cas a 0 0 1", b"x" * 1500,
    b"set " + b"1 " * 30, b"delete " + b"a " * 22, b"incr " + b"1 " * 23, b"flush_all x",
    b"flush_all noreply x", b"flush_all \t", b"flush_all 9223372036854775808", b"gat x a",
    b"gat noreply a", b"gat 0", b"gats 0", b"gat x", b"verbosity x", b"verbosity -1",
    b"gett HTTP/1.1", b"x HTTP/1.1", b"xx HTTP/1.1 x", b"xx" + b" x" * 22 + b" HTTP/1.1",
]  # fmt: skip


@dataclass
class Cas:
    """Stands where a command carries the CAS unique that the server gave for `key`."""

    key: bytes
    stale: bool = False
    binary: bool = False  # as eight bytes; the key is then the opaque that its replies had


@dataclass
class Burst:
    commands: list = field(default_factory=list)  # each a list of bytes and Cas
    tail: bytes = b""  # the sentinel
    cuts: list = field(default_factory=list)  # at these offsets a new write begins
    closes: bool = False  # the server closes at the end: no sentinel

    def parts(self):
        return [part for command in self.commands for part in command] + [self.tail]

    def size(self):
        return sum(len(p) if isinstance(p, bytes) else 8 if p.binary else 2 for p in self.parts())


def sentinel(prefix, nonce):
    """A key gets a number that was never used before: its value ends the burst's replies."""
    key = prefix + SENTINEL
    return b"set %s 0 0 16\r\n%016d\r\nget %s\r\n" % (key, nonce, key)


def _key_bytes(rng, size):
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:./"
    if rng.random() < 0.85:
        return bytes(rng.choices(plain, k=size))
    # Anything but NUL, newline, space and '-'; a carriage return may stand before other bytes.
    odd = [b for b in range(1, 256) if b not in b"\n\r -"]
    key = bytearray(rng.choices(odd, k=size))
    if size > 2 and rng.random() < 0.3:
        key[rng.randrange(size - 1)] = 0x0D
    return bytes(key)


class Generator:
    """Makes bursts. `prefix` keeps the keys of concurrent connections apart."""

    def __init__(
        self,
        seed,
        prefix=b"",
        broken=0.15,
        value_budget=24 << 20,
        reply_budget=48 << 20,
        largest=MAX_ITEM,
        flush=True,
        pipeline=64,
        udp=False,
        keys=3000,
    ):
        self.rng = rng = random.Random(seed)
        self.prefix = prefix
        self.broken = broken
        self.value_budget = value_budget
        self.reply_budget = reply_budget
        self.largest = largest
        self.flush = flush
        self.pipeline = pipeline
        self.udp = udp
        room = 250 - len(prefix)
        self.hot = [prefix + _key_bytes(rng, 1 + rng.randrange(min(20, room))) for _ in range(16)]
        self.counters = [prefix + b"n%d" % i for i in range(8)]
        edges = [1, 2, 15, 16, 17, 47, 48, 49, 63, 64, 65, 127, 128, 129, 191, 192, 193, 248, 249]
        self.cold = []
        for _ in range(keys):
            size = rng.choice([rng.randrange(1, 30), rng.randrange(1, room + 1), rng.choice(edges)])
            size = room if rng.random() < 0.03 else min(size, room)
            self.cold.append(prefix + _key_bytes(rng, size))
        # Keys are words of their own: none may mean something else at the end of a line.
        self.cold = [k for k in self.cold if k != b"noreply"]
        self.warm = self.cold[:200]
        self.blob = rng.randbytes(max(1 << 16, min(2 << 20, 4 * value_budget))).replace(b"-", b"_")
        self.sizes = {}  # key -> the largest value it may hold: bounds the replies
        self.read = set()  # keys that this burst has read
        self.nonce = 0

    @classmethod
    def small(cls, seed, prefix):
        """A cheap one for a connection among very many: few keys, small values, short bursts."""
        return cls(seed, prefix, value_budget=0, reply_budget=20_000, flush=False, pipeline=scale(4, 8), keys=60)

    # -- material

    def key(self, counter=0.12):
        rng = self.rng
        r = rng.random()
        if r < counter:
            return rng.choice(self.counters)
        if r < 0.6:
            return rng.choice(self.hot)
        return rng.choice(self.cold if r < 0.7 else self.warm)

    def long_key(self):
        return self.prefix + b"L" * (self.rng.choice([251, 252, 255, 256, 300, 511, 512, 1000]) - len(self.prefix))

    def value(self, key):
        rng = self.rng
        if key in self.counters:
            if rng.random() < 0.1:
                return b"v" * rng.randrange(60)
            value = rng.choice(NUMERIC if rng.random() < 0.8 else NOT_NUMERIC)
            return value if len(key) <= 8 or b"-" not in value else b"x"
        r = rng.random()
        if r < 0.6 or self.udp:
            size = rng.randrange(100) if r < 0.4 else rng.randrange(1000 if self.udp else 300)
        elif r < 0.85:
            size = rng.randrange(1500)
        elif r < 0.93:
            size = rng.randrange(1400, 5000)
        elif r < 0.97:
            edge = rng.choice([1460, 4096, 8192, 16384, 32768, 65536])
            size = max(0, edge + rng.randrange(-300, 40))
        elif r < 0.993:
            size = rng.randrange(200_000)
        else:
            size = rng.randrange(min(self.largest, MAX_ITEM - 320))
        if size > 2000 and size > self.value_budget:
            size = rng.randrange(100)
        size = min(size, self.largest)
        self.value_budget -= size
        at = rng.randrange(len(self.blob) - size)
        # A letter first: a blob that starts like a number would count as one.
        return (b"v" + self.blob[at : at + size])[:size]

    def exptime(self):
        rng = self.rng
        return rng.choice(EXPTIMES if rng.random() < 0.93 else ODD_EXPTIMES)

    def flags(self):
        rng = self.rng
        r = rng.random()
        if r < 0.5:
            return b"0"
        return b"%d" % rng.getrandbits(rng.choice([1, 8, 16, 32])) if r < 0.95 else rng.choice(ODD_FLAGS)

    def delta(self):
        rng = self.rng
        r = rng.random()
        if r < 0.9:
            return b"%d" % rng.choice([1, 1, 1, 2, 9, 10, 90, 100, 999, rng.getrandbits(30)])
        return rng.choice(ODD_DELTAS) if r < 0.95 else rng.choice(BAD_UNSIGNED[:9])

    def noreply(self, p=0.12):
        return [b"noreply"] if self.rng.random() < p else []

    def line(self, *words):
        """Words to a line; sometimes with more spaces than needed or a lone newline."""
        rng = self.rng
        if rng.random() < 0.95 or self.udp:
            return b" ".join(words) + b"\r\n"
        spaces = [b" " * rng.choice([1, 1, 2, 5]) for _ in words]
        text = b"".join(s + w for s, w in zip(spaces, words))
        text = text if rng.random() < 0.5 else text[len(spaces[0]) :]
        text += b" " * rng.choice([0, 0, 1, 3])
        # A carriage return that ends a key must not be taken for the line's.
        return text + rng.choice([b"\r\n", b"\n"] if not text.endswith(b"\r") else [b"\r\n"])

    # -- commands: each returns a list of parts

    def get(self, verb=None):
        rng = self.rng
        verb = verb or rng.choice([b"get"] * 5 + [b"gets"] * 2 + [b"bget"])
        count = 1 if rng.random() < 0.7 else rng.choice([2, 3, 5, 8, 22, 23, 24, 25, 60])
        if not self.udp and verb in (b"get", b"gets") and rng.random() < LONG_LINES:
            count = rng.randrange(100, 1200)
        if self.udp:
            count = min(count, 8)
        words = [verb]
        if verb in (b"gat", b"gats"):
            words.append(self.exptime())
            count = min(count, 24)
        reply, size = 0, 0
        limit = 900 if self.udp else 1 << 20 if verb in (b"get", b"gets") else 1900
        for _ in range(count):
            key = self.key(counter=0.1)
            if count > 8:
                key = rng.choice(self.warm if rng.random() < 0.7 else self.cold)
            long = self.sizes.get(key, 0)
            if long > min(2000, self.reply_room - reply):
                # Long replies are rationed; most reads should be of other keys.
                if reply + long > self.reply_room or rng.random() < 0.5:
                    key = min((self.key() for _ in range(4)), key=lambda k: self.sizes.get(k, 0))
            size += len(key) + 1
            if size > limit:
                break
            reply += self.sizes.get(key, 0)
            words.append(key)
            self.read.add(key)
        self.reply_room -= reply
        self.reply_budget -= reply
        return [self.line(*words)]

    def gat(self):
        return self.get(self.rng.choice([b"gat", b"gats"]))

    def store(self, verb=None):
        rng = self.rng
        verb = verb or rng.choice([b"set"] * 5 + [b"add", b"replace", b"cas"])
        if verb == b"cas":
            return self.cas()
        key = self.key(counter=0.2)
        value = self.value(key)
        flags = self.flags()
        before = 0 if verb == b"set" else self.sizes.get(key, 0)
        self.sizes[key] = max(before, len(value))
        size = b"%d" % len(value) if rng.random() < 0.98 else b"+0%d" % len(value)
        words = [verb, key, flags, self.exptime(), size]
        words += self.noreply() or ([b"x"] if rng.random() < 0.01 else [])
        return [self.line(*words), value + b"\r\n"]

    def cas(self):
        rng = self.rng
        key = rng.choice(self.hot) if rng.random() < 0.8 else self.key()
        value = self.value(key)
        self.sizes[key] = max(self.sizes.get(key, 0), len(value))
        head = b" ".join([b"cas", key, self.flags(), self.exptime(), b"%d " % len(value)])
        r = rng.random()
        unique = Cas(key, stale=r > 0.8) if r < 0.93 else rng.choice([b"0", b"99999999999999"])
        tail = b" ".join([b""] + self.noreply()) + b"\r\n"
        return [head, unique, tail + value + b"\r\n"]

    def extended_key(self):
        """No counter: it may get 64 bits, or digits beyond its first 64 bytes."""
        return self.key(counter=0)

    def extension(self):
        """A key, and what is added to its value."""
        key = self.extended_key()
        value = self.value(key)
        if self.sizes.get(key, 0) + len(value) > min(self.largest, 200_000):
            value = b"e"
        self.sizes[key] = self.sizes.get(key, 0) + len(value)
        return key, value

    def extend(self):
        """`append` and `prepend`: what they say of flags and time is not to be heard."""
        key, value = self.extension()
        words = [self.rng.choice([b"append", b"prepend"]), key, self.flags(), self.exptime(), b"%d" % len(value)]
        return [self.line(*words, *self.noreply()), value + b"\r\n"]

    def delete(self):
        key = self.key()
        self.sizes.pop(key, None)
        words = [b"delete", key]
        if self.rng.random() < 0.1:
            words.append(b"0")
        return [self.line(*words, *self.noreply())]

    def arithmetic(self):
        rng = self.rng
        key = rng.choice(self.counters) if rng.random() < 0.9 else self.key()
        if key in self.read:
            return self.touch()
        return [self.line(rng.choice([b"incr", b"decr"]), key, self.delta(), *self.noreply())]

    def touch(self):
        return [self.line(b"touch", self.key(), self.exptime(), *self.noreply())]

    def rare(self):
        rng = self.rng
        options = [[b"version"], [b"version", b"x"], [b"verbosity", b"0"], [b"verbosity", b"0", b"1"]]
        options += [[b"verbosity", b"noreply"], [b"verbosity", b"0", b"noreply"]]
        if self.flush and rng.random() < 0.2:
            self.sizes.clear()
            options += [[b"flush_all"], [b"flush_all", b"0"], [b"flush_all", b"-1"]]
            options += [[b"flush_all", b"noreply"], [b"flush_all", b"0", b"noreply"]]
            options += [[b"flush_all", b"0", b"x"], [b"flush_all", b"noreply", b"noreply"]]
        return [self.line(*rng.choice(options))]

    # -- broken commands

    def break_words(self):
        return [self.rng.choice(UNKNOWN) + self.rng.choice([b"\r\n", b"\r\n", b"\n"])]

    def break_key(self):
        rng = self.rng
        key = self.long_key()
        data = b"x\r\n" if rng.random() < 0.5 else b""  # of a refused SET: read as a command
        commands = [
            (b" ".join([rng.choice([b"set", b"add", b"replace", b"append"]), key, b"0 0 1"]), data),
            (b" ".join([b"cas", key, b"0 0 1 5"]), data),
            (b" ".join([b"delete", key]), b""),
            (b" ".join([b"delete", key, rng.choice([b"0", b"5", b"x"])]), b""),
            (b" ".join([rng.choice([b"incr", b"decr"]), key, rng.choice([b"1", b"x"])]), b""),
            (b" ".join([b"touch", key, rng.choice([b"0", b"x"])]), b""),
            (b"verbosity " + key, b""),
        ]
        line, data = rng.choice(commands)
        if rng.random() < 0.3 and not line.startswith(b"verb"):
            line += b" noreply"
        return [line + b"\r\n" + data]

    def break_number(self):
        rng = self.rng
        key = self.key()
        if rng.random() < 0.6:
            words = [rng.choice([b"set", b"add", b"replace", b"cas", b"prepend"]), key, b"0", b"0", b"1"]
            where = rng.randrange(2, 5)
            if words[0] == b"cas":
                words.append(b"5")
                where = rng.randrange(2, 6)
            # In a datagram, a length of ten digits with no data behind it is just incomplete.
            lengths = BAD_LENGTHS if not self.udp else BAD_NUMBERS + [b"-1"]
            bad = [BAD_UNSIGNED, BAD_SIGNED, lengths, BAD_UNSIGNED][where - 2]
            words[where] = rng.choice(bad)
            if b"\x00" in words[where]:
                words[where] = b"x"
        else:
            verb = rng.choice([b"incr", b"decr", b"touch"])
            words = [verb, key, rng.choice(BAD_SIGNED if verb == b"touch" else BAD_UNSIGNED)]
        if words[-1].endswith((b"\t", b"\r")):
            words[-1] = b"x"
        return [b" ".join(words + self.noreply(0.3)) + b"\r\n"]

    def break_data(self):
        """The data block has another length than said, or ends with other bytes."""
        rng = self.rng
        verb = rng.choice([b"set", b"set", b"add", b"replace", b"cas", b"append", b"prepend"])
        size = rng.choice([0, 1, 2, 5, 30, 62, 63, 64, 65, 500])
        words = [verb, self.key(), b"0", b"0", b"%d" % size]
        words += [b"0"] if verb == b"cas" else []
        line = b" ".join(words + self.noreply(0.3)) + b"\r\n"
        body = b"b" * size
        kind = rng.randrange(5)
        if kind == 0:
            return [line, body + b"extra" * rng.randrange(1, 9) + b"\r\n"]
        if kind == 1:
            return [line, body + b"\n" + b"\r\n"]
        if kind == 2:
            return [line, body + b"\rX" + b"version\r\n"]
        if kind == 3:
            return [line, body + b"XX"]  # the next command follows at once
        short = rng.randrange(size + 1)
        # The rest is taken from the next line, which is long enough for it.
        return [line, body[:short] + b"\r\n" + b"f" * (size + 20) + b"\r\n"]

    def break_size(self):
        """Over the largest item, by little."""
        rng = self.rng
        if self.value_budget < 2 * MAX_ITEM or self.largest < MAX_ITEM or self.udp:
            return self.break_data()
        key, flags = self.key(), rng.choice([b"0", b"1"])
        most = MAX_ITEM - ITEM_OVERHEAD - len(key) - (4 if flags != b"0" else 0)
        size = most + rng.choice([0, 1, 2, 100, 300000])
        self.value_budget -= size
        self.reply_budget -= size
        self.sizes[key] = MAX_ITEM
        verb = rng.choice([b"set", b"set", b"add", b"replace", b"append"])
        line = b" ".join([verb, key, flags, b"0", b"%d" % size] + self.noreply()) + b"\r\n"
        at = rng.randrange(len(self.blob) - size)
        return [line, b"v" + self.blob[at : at + size - 1] + b"\r\n"]

    def break_delete(self):
        rng = self.rng
        tail = rng.choice([b"5", b"00", b"x", b"-0", b"0 x", b"0 0", b"noreply 0", b"x noreply",
                           b"noreply noreply", b"5 noreply", b"0x"])  # fmt: skip
        return [b"delete " + self.key() + b" " + tail + b"\r\n"]

    def break_byte(self):
        """One byte of a short command is another one."""
        rng = self.rng
        key = rng.choice(self.hot + self.counters)
        lines = [b"get %s", b"gets %s", b"delete %s", b"incr %s 1", b"touch %s 0", b"version %s"]
        # Key and following words stay as they are: a touched expiry time could become a short one.
        verb, rest = (rng.choice(lines) % key).split(b" ", 1)
        verb = bytearray(verb)
        verb[rng.randrange(len(verb))] = rng.choice(b"\x01\x08\t\x1f\x7f\x81\xffxyzQWG09/|")
        return [bytes(verb) + b" " + rest + b"\r\n"]

    def break_get(self):
        """Only as the first of a burst, see above."""
        rng = self.rng
        words = [rng.choice([b"get", b"gets", b"gat 0", b"gats 0"])]
        words += [rng.choice(self.hot[:4]) for _ in range(rng.randrange(4))]
        words.insert(rng.randrange(1, len(words) + 1), self.long_key())
        return [b" ".join(words) + b"\r\n"]

    # -- bursts

    def command(self):
        rng = self.rng
        if rng.random() < self.broken:
            kinds = [self.break_words] * 4 + [self.break_key] * 2 + [self.break_number] * 4
            kinds += [self.break_data] * 4 + [self.break_delete] + [self.break_byte] * 3
            if rng.random() < 0.06:
                kinds = [self.break_size]
            return rng.choice(kinds)()
        kinds = [self.get] * 34 + [self.gat] * 5 + [self.store] * 32 + [self.extend] * 5 + [self.cas] * 6
        kinds += [self.delete] * 7 + [self.arithmetic] * 10 + [self.touch] * 4 + [self.rare]
        return rng.choice(kinds)()

    def burst(self):
        rng = self.rng
        burst = Burst()
        self.read.clear()
        self.reply_room = min(MAX_REPLY, max(20_000, self.reply_budget))
        count = rng.choice([1, 2, 4, 8, 16, 32, 64, rng.randrange(1, 65)])
        count = min(count, self.pipeline)
        if rng.random() < self.broken * 0.2:
            burst.commands.append(self.break_get())
        while len(burst.commands) < count:
            burst.commands.append(self.command())
        self.nonce += 1
        burst.tail = sentinel(self.prefix, self.nonce)
        burst.cuts = self.cut(burst.size())
        return burst

    def cut(self, size):
        rng = self.rng
        r = rng.random()
        if r < 0.4:
            return []
        if r < 0.55 and size < 1500:
            cuts, at = [], 0
            while at < size:
                at += rng.randrange(1, 17)
                cuts.append(at)
            return cuts
        return sorted(rng.randrange(size) for _ in range(rng.randrange(1, 10)))

    def datagram(self):
        """A burst for UDP: few commands that fit into one frame, one line incomplete at most."""
        rng = self.rng
        burst = Burst()
        self.read.clear()
        self.reply_room = 60_000
        if rng.random() < self.broken * 0.2:
            burst.commands.append(self.break_get())
        for _ in range(rng.choice([1, 1, 2, 3, 5, 8])):
            burst.commands.append(self.command())
            if burst.size() > 1300:
                burst.commands.pop()
                break
        # What begins as a reply does is answered by memcached alone (test_udp.py).
        first = burst.commands[0][0] if burst.commands else b"A"
        if isinstance(first, bytes) and first[:1] in b"\x810123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            burst.commands.insert(0, [b"version\r\n"])
        if rng.random() < 0.05:
            cut_off = [b"get a", b"version", b"v", b"delete " + self.hot[0], b"set a 0 0 1"]
            burst.commands.append([rng.choice(cut_off)])
        return burst
