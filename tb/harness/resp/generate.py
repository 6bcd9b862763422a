"""Random streams of Redis commands, valid and broken, over a few connections, from a seed.

A stream is a list of bursts. A burst is written as one pipeline on one of the connections, and its
replies are awaited before the next one. What a reply is must not depend on the clock: times are far
away, or over."""

import random
from dataclasses import dataclass, field

from harness.resp import allowed
from harness.resp.commands import BAD_INTEGERS, EXTREMES, NO_NUMBERS, NUMBERS, SIZES, UNKNOWN, Commands
from harness.resp.wire import request

# Replies that `allowed` lets differ, by the command's first words.
LOOSE = {
    (b"KEYS",): "keys", (b"RANDOMKEY",): "random", (b"SCAN",): "scan", (b"TTL",): "seconds",
    (b"EXPIRETIME",): "seconds", (b"PTTL",): "milliseconds", (b"PEXPIRETIME",): "milliseconds",
    (b"OBJECT", b"IDLETIME"): "idle", (b"OBJECT", b"FREQ"): "uses",
    (b"OBJECT", b"ENCODING"): "encoding", (b"OBJECT", b"REFCOUNT"): "shared", (b"TIME",): "time", (b"HELLO",): "hello", (b"CLIENT", b"ID"): "id",
    (b"CLIENT", b"LIST"): "client", (b"CLIENT", b"INFO"): "client", (b"INFO",): "info",
    (b"MEMORY", b"USAGE"): "memory", (b"MEMORY", b"STATS"): "memory", (b"COMMAND", b"COUNT"): "count",
    (b"COMMAND", b"LIST"): "list", (b"COMMAND", b"DOCS"): "list", (b"CONFIG", b"GET"): "list",
    (b"DEBUG",): "debug", (b"SLOWLOG", b"GET"): "log", (b"SLOWLOG", b"LEN"): "log", (b"LATENCY",): "log", (b"LOLWUT",): "art",
}  # fmt: skip
# Their times must not come near, however they are broken; nor may these be broken.
TIMED = {b"SET", b"SETEX", b"PSETEX", b"GETEX", b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT"}
WHOLE = {b"WAIT", b"AUTH", b"HELLO", b"CLIENT", b"WATCH", b"UNWATCH", b"LCS"}
NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:./-"


@dataclass
class Command:
    data: bytes
    ours: bytes | None = None  # sent to the server under test instead
    replies: int = 1
    loose: str | None = None  # the entry in `allowed`
    name: bytes = b""


@dataclass
class Burst:
    connection: int
    commands: list = field(default_factory=list)
    cuts: list = field(default_factory=list)  # at these offsets a new write begins
    closes: bool = False  # the server closes at the end


@dataclass
class State:
    """What the generator knows of a connection."""

    multi: bool = False
    authed: bool = True
    fresh: bool = True


def loose(words):
    upper = [word.upper() for word in words[:2]]
    if upper == [b"COMMAND"] or words == [b"COMMAND", b"INFO"]:
        return "list"
    return LOOSE.get(tuple(upper[:1])) or LOOSE.get(tuple(upper))


def inline(words, rng):
    """As someone would type it."""
    quoted = []
    for word in words:
        if word and all(byte in NAME for byte in word) and rng.random() < 0.9:
            quoted.append(word)
        elif not set(word) & set(b"'\\\n\x00") and rng.random() < 0.3:
            quoted.append(b"'" + word + b"'")
        else:
            quoted.append(b'"' + b"".join(bytes([b]) if b in NAME or b == 32 else b"\\x%02x" % b for b in word) + b'"')
    blanks = rng.choice([b" ", b" ", b"  ", b"\t"])
    return rng.choice([b"", b"", b" "]) + blanks.join(quoted) + rng.choice([b"\r\n", b"\r\n", b"\n", b" \r\n"])


class Generator(Commands):
    def __init__(self, seed, connections=3, protocol=None, broken=0.15, password=None, pipeline=64,
                 budget=64 << 20, long_keys=True, only=None, exact=False):  # fmt: skip
        self.rng = rng = random.Random(seed)
        self.protocol = protocol
        self.exact = exact  # nothing but requests as they are to be
        self.broken = broken
        self.password = password
        self.pipeline = pipeline
        self.budget = budget  # bytes of large values
        self.only = only  # names of commands; None: all
        self.long_keys = long_keys  # whether there are keys of more than 250 bytes
        self.pending = []
        self.nonce = 0
        self.states = [self.opened() for _ in range(connections)]
        self.hot = [b"h%d" % i for i in range(10)] + [bytes(rng.choices(range(256), k=9)), b"", b"a b", b"*"]
        self.counters = [b"n%d" % i for i in range(6)]
        self.floats = [b"f%d" % i for i in range(4)]
        self.bits = [b"b%d" % i for i in range(6)]
        # Short values, and so no names that another key may have.
        self.letters = [b"letters%d" % i for i in range(5)]
        self.large = [b"large%d" % i for i in range(2)]
        edges = [1, 2, 15, 16, 17, 47, 48, 49, 63, 64, 65, 127, 128, 129, 248, 249, 250]
        self.cold = [self.new_key(rng.choice([rng.randrange(1, 30), rng.choice(edges)])) for _ in range(400)]
        self.blob = rng.randbytes(1 << 20)
        self.choices, self.weights = zip(*self.SHARES.items())

    def opened(self):
        return State(authed=self.password is None)

    # -- material

    def new_key(self, size):
        rng = self.rng
        return bytes(rng.choices(NAME if rng.random() < 0.8 else range(256), k=size))

    def key(self):
        rng = self.rng
        r = rng.random()
        if r < 0.1:
            return rng.choice(self.counters)
        if r < 0.15:
            return rng.choice(self.floats + self.bits)
        return rng.choice(self.hot if r < 0.7 else self.cold[:60] if r < 0.9 else self.cold)

    def bit_key(self):
        return self.rng.choice(self.bits) if self.rng.random() < 0.9 else self.key()

    def bytes(self, size):
        at = self.rng.randrange(len(self.blob) - size)
        return self.blob[at : at + size]

    def value(self, key):
        rng = self.rng
        if key in self.counters or key in self.floats or rng.random() < 0.08:
            return rng.choice(NUMBERS if rng.random() < 0.85 else NO_NUMBERS)
        r = rng.random()
        if r < 0.3:
            return b"value%d" % rng.randrange(1000)
        return self.bytes(rng.choice(SIZES) if r < 0.4 else rng.randrange(80) if r < 0.9 else rng.randrange(3000))

    # -- commands

    def render(self, words, whole=False):
        """How a command's words are sent."""
        rng = self.rng
        if words and rng.random() < 0.15:
            words = [rng.choice([words[0].lower(), words[0].title()]), *words[1:]]
        size = sum(map(len, words))
        if not whole and size < 9000 and rng.random() < 0.04:
            return inline(words, rng)
        return request(*words)

    def command(self):
        rng = self.rng
        state = self.state
        if self.pending:
            words = self.pending.pop(0)
            return Command(request(*words), loose=loose(words), name=words[0])
        if not state.authed:
            return self.stranger()
        if state.fresh:
            state.fresh = False
            if self.protocol == 3 or (self.protocol is None and rng.random() < 0.3):
                return Command(request(b"HELLO", b"3"), loose="hello", name=b"HELLO")
        if rng.random() < 0.03:
            if (made := self.special()) is not None:
                return made
        if rng.random() < (0.12 if state.multi else 0.02) and self.has(b"MULTI"):
            return self.transaction()
        words = self.draw()
        if rng.random() < self.broken and words[0] not in WHOLE and not self.pending:
            words = self.broken_words(words)
        if self.long_keys and rng.random() < 0.002:
            return self.long_key()
        name = words[0].upper() if words else b""
        return Command(self.render(words, not words), loose=loose(words), name=name, replies=1 if words else 0)

    def has(self, name):
        return self.only is None or name in self.only

    def draw(self):
        while True:
            words = self.rng.choices(self.choices, self.weights)[0](self)
            if self.has(words[0]):
                return words
            self.pending.clear()

    def transaction(self):
        state, r = self.state, self.rng.random()
        before = state.multi
        if before:
            words = [b"EXEC"] if r < 0.8 else [b"DISCARD"] if r < 0.9 else [b"MULTI"] if r < 0.95 else [b"WATCH", b"h1"]
            state.multi = words[0] in (b"MULTI", b"WATCH")
        else:
            words = [b"MULTI"] if r < 0.9 else [b"EXEC"] if r < 0.95 else [b"DISCARD"]
            state.multi = words[0] == b"MULTI"
        if self.rng.random() < 0.02:
            # A broken EXEC ends the transaction, too.
            words, state.multi = [*words, b"too", b"many"], before and words[0] != b"EXEC"
        return Command(request(*words), name=words[0])

    def stranger(self):
        """Of a connection that has not told the password."""
        rng, state = self.rng, self.state
        if rng.random() < 0.3:
            state.authed = True
            words = rng.choice([[b"AUTH", self.password], [b"AUTH", b"default", self.password],
                                [b"HELLO", b"3", b"AUTH", b"default", self.password]])  # fmt: skip
            if self.protocol == 2:
                words = [b"AUTH", self.password]
        else:
            commands = [
                [b"GET", b"h1"], [b"AUTH", b"wrong"], [b"AUTH", b"nobody", self.password], [b"PING"], [b"HELLO", b"2"],
                [b"HELLO", b"3", b"AUTH", b"default", b"x"], [b"MULTI"], [b"foo"], [b"SET", b"a"], [b"RESET"],
                [b"EXEC"], [b"AUTH"], [b"WATCH", b"a"], [b"AUTH", b"a", b"b", b"c"], [b"COMMAND", b"COUNT"],
            ]  # fmt: skip
            missing = {b"MULTI", b"EXEC", b"WATCH", b"COMMAND"}
            words = rng.choice([c for c in commands if c[0] not in missing or self.has(c[0])])
        return Command(request(*words), loose=loose(words), name=words[0])

    def special(self):
        """What is no single request with its reply."""
        rng, state = self.rng, self.state
        r = rng.random()
        if self.exact:
            return None
        if r < 0.2:
            return Command(rng.choice([b"\r\n", b"*0\r\n", b"*-1\r\n", b"\n", b"  \r\n", b"*-1000\r\n"]), replies=0)
        if 0.2 <= r < 0.5 and not self.has(b"CLIENT"):
            return None
        if r < 0.35 and not state.multi:
            words = [b"SET", self.key(), b"unseen"]
            return Command(request(b"CLIENT", b"REPLY", b"SKIP") + request(*words), replies=0)
        if r < 0.5 and not state.multi:
            unseen = b"".join(request(b"INCR", rng.choice(self.counters)) for _ in range(rng.randrange(5)))
            return Command(request(b"CLIENT", b"REPLY", b"OFF") + unseen + request(b"CLIENT", b"REPLY", b"ON"))
        if r < 0.6:
            state.multi, state.fresh, state.authed = False, True, self.password is None
            return Command(request(b"RESET"), name=b"RESET")
        if r < 0.8:
            words = rng.choice(UNKNOWN)
            return Command(request(*words), name=b"")
        if r < 0.9:
            # What stands where line ends should be is not looked at.
            key = self.key()
            return Command(b"*2\rx$3\ryGETab$%d\r\n%bcd" % (len(key), key), name=b"GET")
        return None

    def long_key(self):
        """A key of more than 250 bytes, which only Redis takes: it gets a broken command."""
        rng = self.rng
        key = b"L" * rng.choice([251, 252, 255, 256, 300, 1000, 70_000])
        commands = [
            [b"GET", key], [b"SET", key, b"v"], [b"DEL", key], [b"MGET", b"h1", key], [b"MSET", b"h1", b"v", key, b"w"],
            [b"MSETNX", b"no such", b"v", key, b"w"], [b"DEL", b"h1", key], [b"RENAME", b"h1", key], [b"INCR", key],
            [b"EXPIRE", key, b"100000"], [b"APPEND", key, b"x"], [b"SETRANGE", key, b"0", b"x"], [b"COPY", b"h1", key],
            [b"BITOP", b"OR", key, b"b1"], [b"BITOP", b"OR", b"b1", key], [b"SETBIT", key, b"0", b"1"], [b"TTL", key],
            [b"UNLINK", b"h2", key], [b"GETEX", key], [b"GETDEL", key], [b"SETNX", key, b"v"], [b"EXISTS", key],
            [b"INCRBYFLOAT", key, b"1"], [b"BITFIELD", key, b"GET", b"u8", b"0"], [b"TYPE", key], [b"MOVE", key, b"1"],
            [b"OBJECT", b"ENCODING", key], [b"LCS", b"letters1", key], [b"TOUCH", key], [b"PERSIST", key],
        ]  # fmt: skip
        words = rng.choice([words for words in commands if self.has(words[0])])
        return Command(request(b"GET"), request(*words), loose="long key")

    # -- broken ones

    def broken_words(self, words):
        # A value may come to stand where a key does.
        words = [word[:250] for word in words]
        for _ in range(9):
            made = self.break_words(list(words))
            if made[:1] and made[0].upper() in TIMED and (over(made) or any(near(word) for word in made[1:])):
                continue
            return made
        return words

    def break_words(self, words):
        rng = self.rng
        r = rng.random()
        if r < 0.25:
            return words[: rng.randrange(1, len(words) + 1)]
        if r < 0.4:
            return words + [rng.choice([b"x", b"1", b"NX", b"GET", b"", b"EX", b"PERSIST", b"-1"])]
        if r < 0.75 and len(words) > 1:
            at = rng.randrange(2, len(words)) if len(words) > 2 and rng.random() < 0.9 else 1
            words[at] = rng.choice(BAD_INTEGERS + EXTREMES + [b"4294967295", b"4294967296", b"536870912"])
            return words
        if r < 0.85 and len(words) > 2:
            a, b = rng.randrange(1, len(words)), rng.randrange(1, len(words))
            words[a], words[b] = words[b], words[a]
            return words
        at = rng.randrange(1, len(words) + 1)
        return words[:at] + words[at - 1 :]

    def closing(self):
        """What ends the connection."""
        rng = self.rng
        quit_ = rng.choice([request(b"QUIT"), b"quit\r\n", request(b"QUIT", b"x")])
        return Command(rng.choice([
            quit_, quit_, b"*1\r\n+5\r\n", b"*1\r\n$-1\r\n", b"*x\r\n", b"*\r\n", b"*1\r\n$x\r\n",
            b"*99999999999999999999\r\n", b"*1\r\n$600000000\r\n", b"*1\r\n$99999999999999999999\r\n", b"*1\r\n$\r\n",
            b'get "a\r\n', b"get 'a\r\n", b'get "a"b\r\n', b"get 'a'b\r\n", b"*01\r\n", b"*1 \r\n", b"*1\r\n$01\r\n",
            b"*2147483648\r\n", b"*1\r\n*1\r\n", b"*2\r\n$3\r\nGET\r\n:1\r\n", b"*1\r\n\r\n", b"*1\r\n$ 4\r\n",
            b"*1\r\n$2147483648\r\n", b"POST / HTTP/1.1\r\n", b"Host: x\r\n", b'"\\x4\r\n', b"*1\r\n$536870913\r\n",
            b"*1\r\n\xff\r\n", b"*1\r\n$+4\r\n",
        ]), replies=0)  # fmt: skip

    # -- bursts

    def burst(self):
        rng = self.rng
        connection = rng.randrange(len(self.states))
        self.state = state = self.states[connection]
        count = rng.choice([1, 1, 2, 5, 10, 30, self.pipeline])
        burst = Burst(connection)
        while len(burst.commands) < count or self.pending:
            burst.commands.append(self.command())
            if self.password and burst.commands[-1].name == b"RESET":
                # By itself: Redis drops a stranger for whom over 1,024 bytes of replies wait, those to what
                # it asked for before among them, if Redis has read that at once.
                del burst.commands[:-1]
                break
        if state.authed and rng.random() < 0.006:
            closing = self.closing()
            if closing.data[:1] in b"PH":
                # Redis closes at once, and drops the replies that were not sent yet.
                burst.commands.clear()
            burst.commands.append(closing)
            burst.closes = True
            self.states[connection] = self.opened()
        else:
            self.nonce += 1
            burst.commands.append(Command(request(b"ECHO", b"%d" % self.nonce), name=b"ECHO"))
        burst.cuts = self.cut(sum(len(c.data) for c in burst.commands))
        return burst

    def cut(self, size):
        rng = self.rng
        if rng.random() < 0.4:
            return []
        if size < 200 and rng.random() < 0.2:
            return list(range(1, size))
        return sorted(rng.randrange(1, size) for _ in range(rng.choice([1, 1, 2, 5, 20])))


def over(words):
    """SET with a date that is over: Redis keeps that until somebody looks, or it does so itself."""
    least = {b"EXAT": allowed.DATES.start, b"PXAT": allowed.DATES.start * 1000}
    options = zip(words[3:], words[4:])
    early = [date for name, date in options if date.isdigit() and int(date) < least.get(name.upper(), 0)]
    return words[0].upper() == b"SET" and bool(early)


def near(word):
    """Whether a time of so much would come within the test."""
    try:
        return 0 < int(word) < 100_000_000
    except ValueError:
        return False
