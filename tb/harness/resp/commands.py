"""Redis' commands with all that they take, by chance, valid in themselves; generate.py breaks them.

Each method gives a command's words. `self.pending` are commands that must follow at once."""

from harness.resp import allowed

BAD_INTEGERS = [
    b"x", b"1x", b"", b" 1", b"1 ", b"+1", b"-0", b"00", b"01", b"1.5", b"1e3", b"0x10", b"--1", b"-",
    b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"9" * 40, b"1\x00",
]  # fmt: skip
EXTREMES = [b"9223372036854775807", b"-9223372036854775808", b"9223372036854775", b"9223372036854776",
            b"-1", b"0", b"-9223372036854775"]  # fmt: skip
NUMBERS = [
    b"0", b"1", b"-1", b"10", b"99", b"999999", b"-5", b"2147483648", b"9999", b"10000",
    b"9223372036854775807", b"-9223372036854775808", b"9223372036854775800", b"-9223372036854775800",
]  # fmt: skip
NO_NUMBERS = BAD_INTEGERS + [b"3.25", b"-0.5", b"5.0", b"inf", b"-inf", b"nan", b"1e400", b"1e-400", b".5"]
FLOATS = [
    b"0.1", b"1e3", b"-2.5", b"5", b"3.0e-5", b"1e17", b"1e20", b"123456789.987654321", b".5", b"5.",
    b"-0", b"0", b"1e-10", b"1e-18", b"1e-17", b"0.3333333333333333333333", b"99999999999999999999.5",
    b"-1e30", b"1e30", b"1.7976931348623157e308", b"2.2250738585072014e-308", b"0x10", b"0x1.8p3",
]  # fmt: skip
NO_FLOATS = [b"x", b"", b" 1", b"1 ", b"nan", b"inf", b"-inf", b"1e5000", b"1.5x", b"--1", b"e5", b"infinity"]
PATTERNS = [b"*", b"n*", b"?*", b"[a-c]*", b"[^a-z]*", b"\\*", b"", b"*a*b*", b"f[0-9]", b"???", b"[z-a]*",
            b"n[1", b"*\\", b"[\\a]*", b"b*1*", b"**n**"]  # fmt: skip
UNKNOWN = [
    [b"foo"], [b"foo", b"bar", b"baz"], [b"gett", b"a"], [b"g"], [b"getset2", b"x" * 200, b"y"], [b""],
    [b"foo", *[b"argument%d" % i for i in range(30)]], [b"\x00\xff"], [b"a b", b"c\r\nd"], [b"x" * 300],
    [b"foo", b"x" * 127], [b"foo", b"x" * 128], [b"foo", b"'"], [b"SET2", b"\r\n"],
]  # fmt: skip
SIZES = [1, 2, 15, 16, 17, 43, 44, 45, 63, 64, 65, 127, 128, 200, 255, 256, 400, 1023, 1500, 4000]


class Commands:
    def one(self, *of):
        return self.rng.choice(of)

    def number(self):
        rng = self.rng
        return rng.choice([b"1", b"1", b"2", b"-3", b"10", b"%d" % rng.randrange(-(10**6), 10**6), *NUMBERS[-6:]])

    def index(self, most=60):
        rng = self.rng
        r = rng.random()
        if r < 0.85:
            return b"%d" % rng.randrange(-most, most)
        return b"%d" % rng.randrange(-70_000, 70_000) if r < 0.95 else rng.choice(EXTREMES[:2] + [b"0", b"-1"])

    def database(self):
        return self.rng.choice([b"0"] * 6 + [b"1", b"2", b"3", b"15"])

    # -- times: far away, or over

    def seconds(self):
        return b"%d" % self.rng.randrange(100_000, 1_000_000_000)

    def milliseconds(self):
        return b"%d" % self.rng.randrange(100_000_000, 1_000_000_000_000)

    def date(self):
        return b"%d" % self.rng.randrange(allowed.DATES.start + 10, allowed.DATES.stop - 10)

    def date_ms(self):
        return b"%s%03d" % (self.date(), self.rng.randrange(1000))

    def expiry(self):
        """An option of SET and GETEX."""
        option, value = self.one((b"EX", self.seconds), (b"PX", self.milliseconds),
                                 (b"EXAT", self.date), (b"PXAT", self.date_ms))  # fmt: skip
        return [option, value()]

    # -- strings

    def get(self):
        return [self.one(b"GET", b"GET", b"STRLEN"), self.key()]

    def set(self):
        rng = self.rng
        words = [b"SET", self.key()]
        words.append(self.value(words[1]))
        if rng.random() < 0.5:
            return words
        options = []
        if rng.random() < 0.5:
            options.append(self.expiry() if rng.random() < 0.75 else [b"KEEPTTL"])
        if rng.random() < 0.5:
            options.append([self.one(b"NX", b"XX")])
        if rng.random() < 0.4:
            options.append([b"GET"])
        if rng.random() < 0.04:
            options.append(self.one([b"EX", b"0"], [b"PX", b"-1"], [b"NX"], [b"XX"], self.expiry(), [b"KEEPTTL"],
                                    [b"EX", self.one(*EXTREMES)], [b"PX", self.one(*EXTREMES)],
                                    [b"PERSIST"], [b"EX"]))  # fmt: skip
        rng.shuffle(options)
        return words + [word for option in options for word in option]

    def set_past(self):
        """Redis 7.0 keeps what is over already until someone looks."""
        key = self.key()
        self.pending.append([b"GET", key])
        option = self.one([b"EXAT", b"1"], [b"PXAT", b"1"], [b"EXAT", b"1000000000"], [b"PXAT", b"1000000000000"])
        return [b"SET", key, self.value(key), *option, *self.one([], [b"GET"], [b"XX"], [b"NX"])]

    def set_old(self):
        key = self.key()
        value = self.value(key)
        return self.one([b"SETNX", key, value], [b"SETEX", key, self.seconds(), value], [b"GETSET", key, value],
                        [b"PSETEX", key, self.milliseconds(), value], [b"GETDEL", key],
                        [b"SETEX", key, self.one(*EXTREMES[2:]), value])  # fmt: skip

    def getex(self):
        options = self.one([], [b"PERSIST"], self.expiry(), self.expiry(), [b"EXAT", b"1"], [b"PXAT", b"1"],
                           [b"EX", b"0"], [b"EX", self.one(*EXTREMES)], [b"PERSIST", b"PERSIST"],
                           [b"PERSIST", *self.expiry()], [b"KEEPTTL"])  # fmt: skip
        return [b"GETEX", self.key(), *options]

    def mget(self):
        count = self.rng.choice([1, 2, 3, 5, 10, 30, 100])
        return [b"MGET", *[self.key() for _ in range(count)]]

    def mset(self):
        count = self.rng.choice([1, 2, 2, 3, 5, 20])
        words = [self.one(b"MSET", b"MSET", b"MSETNX")]
        for _ in range(count):
            key = self.rng.choice(self.cold) if words[0] == b"MSETNX" else self.key()
            words += [key, self.value(key)[:2000]]
        return words

    def append(self):
        key = self.key() if self.rng.random() < 0.9 else self.rng.choice(self.large)
        return [b"APPEND", key, self.value(key)[:700]]

    def ranges(self):
        rng = self.rng
        key = self.key() if rng.random() < 0.9 else rng.choice(self.large)
        if rng.random() < 0.6:
            return [self.one(b"GETRANGE", b"SUBSTR"), key, self.index(), self.index()]
        most = 900_000 if key in self.large else 40_000 if rng.random() < 0.1 else 100
        return [b"SETRANGE", key, b"%d" % rng.randrange(most), self.value(key)[: rng.choice([0, 1, 10, 300])]]

    def large_value(self):
        rng = self.rng
        key = rng.choice(self.large)
        # A transaction has at most 64 KiB and the longest value.
        most = 300_000 if self.state.multi else 900_000
        size = rng.choice([rng.randrange(30_000, 70_000), rng.randrange(70_000, most)])
        if self.budget < size:
            return [b"STRLEN", key]
        self.budget -= size
        return self.one([b"SET", key, self.bytes(size)], [b"GETSET", key, self.bytes(size)], [b"GET", key])

    def incr(self):
        key = self.rng.choice(self.counters) if self.rng.random() < 0.9 else self.key()
        return self.one([b"INCR", key], [b"DECR", key], [b"INCRBY", key, self.number()],
                        [b"DECRBY", key, self.number()])  # fmt: skip

    def incr_float(self):
        rng = self.rng
        key = rng.choice(self.floats) if rng.random() < 0.9 else self.key()
        r = rng.random()
        if r < 0.3:
            by = rng.choice(FLOATS)
        elif r < 0.9:
            by = b"%.*f" % (rng.randrange(12), rng.uniform(-(10 ** rng.randrange(9)), 10 ** rng.randrange(9)))
        else:
            by = rng.choice(NO_FLOATS)
        return [b"INCRBYFLOAT", key, by]

    # -- bits

    def bit_offset(self):
        rng = self.rng
        return b"%d" % rng.randrange(300 if rng.random() < 0.9 else 200_000)

    def setbit(self):
        if self.rng.random() < 0.5:
            return [b"SETBIT", self.bit_key(), self.bit_offset(), self.one(b"0", b"1", b"1")]
        return [b"GETBIT", self.bit_key(), self.bit_offset()]

    def bitcount(self):
        rng = self.rng
        words = [b"BITCOUNT", self.bit_key()]
        if self.one(True, False):
            words = [b"BITPOS", self.bit_key(), self.one(b"0", b"1")]
        if rng.random() < 0.7:
            words += [self.index(), self.index()]
            if rng.random() < 0.5:
                words.append(self.one(b"BIT", b"BYTE"))
        elif words[0] == b"BITPOS" and rng.random() < 0.5:
            words.append(self.index())
        return words

    def bitop(self):
        sources = [self.bit_key() for _ in range(self.rng.choice([1, 1, 2, 3, 17]))]
        return [b"BITOP", self.one(b"AND", b"OR", b"XOR", b"NOT"), self.bit_key(), *sources]

    def bitfield(self):
        rng = self.rng

        def kind():
            if rng.random() < 0.02:
                return self.one(b"u64", b"i0", b"i65", b"x8", b"u", b"i", b"", b"i08", b"u-1")
            return self.one(b"u%d" % rng.randrange(1, 64), b"i%d" % rng.randrange(1, 65), b"u8", b"i64", b"i16")

        def offset():
            if rng.random() < 0.02:
                return self.one(b"-1", b"#-1", b"#", b"4294967296", b"#9223372036854775807", b"x", b"#x", b"")
            return self.one(b"#%d" % rng.randrange(20), b"%d" % rng.randrange(300), b"0")

        def value():
            return self.one(b"%d" % rng.getrandbits(rng.randrange(1, 63)), self.number(), b"-1")

        verb = b"BITFIELD" if rng.random() < 0.85 else b"BITFIELD_RO"
        words = [verb, self.bit_key()]
        for _ in range(rng.choice([0, 1, 1, 2, 4, 8])):
            if verb == b"BITFIELD_RO" and rng.random() < 0.9:
                words += [b"GET", kind(), offset()]
                continue
            words += self.one([b"GET", kind(), offset()], [b"SET", kind(), offset(), value()],
                              [b"INCRBY", kind(), offset(), value()],
                              [b"OVERFLOW", self.one(b"WRAP", b"SAT", b"FAIL", b"sat")])  # fmt: skip
        return words

    def lcs(self):
        rng = self.rng
        if rng.random() < 0.3:
            text = bytes(rng.choices(b"abcd", k=rng.choice([0, 1, 5, 20, 60, 200])))
            return [b"SET", rng.choice(self.letters), text]
        least = [b"MINMATCHLEN", self.one(b"0", b"2", b"4", b"-1")]
        options = [o for o in ([b"LEN"], [b"IDX"], [b"WITHMATCHLEN"], least) if rng.random() < 0.4]
        rng.shuffle(options)
        first, second = rng.choice(self.letters), rng.choice([*self.letters, b"no such key"])
        return [b"LCS", first, second, *[word for option in options for word in option]]

    # -- keys

    def delete(self):
        count = self.rng.choice([1, 1, 1, 2, 5])
        verb = self.one(b"DEL", b"UNLINK", b"EXISTS", b"TOUCH", b"EXISTS")
        return [verb, *[self.key() for _ in range(count)]]

    def expire(self):
        verb, time = self.one((b"EXPIRE", self.seconds), (b"PEXPIRE", self.milliseconds),
                              (b"EXPIREAT", self.date), (b"PEXPIREAT", self.date_ms))  # fmt: skip
        words = [verb, self.key(), time()]
        if self.rng.random() < 0.12:
            words[2] = self.one(*EXTREMES)
        if self.rng.random() < 0.4:
            words += self.one([b"NX"], [b"XX"], [b"GT"], [b"LT"], [b"XX", b"GT"], [b"XX", b"LT"], [b"NX", b"GT"],
                              [b"GT", b"LT"], [b"NX", b"XX"])  # fmt: skip
        return words

    def ttl(self):
        return [self.one(b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME", b"PERSIST"), self.key()]

    def rename(self):
        first, second = self.key(), self.key()
        return self.one([b"RENAME", first, second], [b"RENAMENX", first, second], [b"COPY", first, second],
                        [b"COPY", first, second, b"REPLACE"], [b"COPY", first, second, b"DB", self.database()],
                        [b"COPY", first, first], [b"RENAME", first, first], [b"RENAMENX", first, first],
                        [b"COPY", first, second, b"REPLACE", b"DB", self.database()])  # fmt: skip

    def look(self):
        key = self.key()
        return self.one([b"TYPE", key], [b"OBJECT", b"ENCODING", key], [b"OBJECT", b"FREQ", key],
                        [b"OBJECT", b"IDLETIME", key], [b"OBJECT", b"REFCOUNT", key], [b"MEMORY", b"USAGE", key],
                        [b"RANDOMKEY"], [b"DBSIZE"], [b"MEMORY", b"USAGE", key, b"SAMPLES", b"5"])  # fmt: skip

    def scan(self):
        rng = self.rng
        cursor = b"0" if rng.random() < 0.7 else b"%d" % rng.getrandbits(rng.choice([4, 12, 40, 64]))
        options = [o for o in ([b"MATCH", self.one(*PATTERNS)], [b"COUNT", self.one(b"1", b"10", b"1000")],
                               [b"TYPE", self.one(b"string", b"list", b"nonsense")])
                   if rng.random() < 0.4]  # fmt: skip
        rng.shuffle(options)
        return [b"SCAN", cursor, *[word for option in options for word in option]]

    def keys(self):
        return [b"KEYS", self.one(*PATTERNS)]

    def databases(self):
        return self.one([b"SELECT", self.database()], [b"MOVE", self.key(), self.database()],
                        [b"SWAPDB", self.database(), self.database()], [b"SELECT", b"0"], [b"SELECT", b"0"],
                        [b"SELECT", self.one(b"16", b"-1", b"x", b"99999999999")])  # fmt: skip

    def flush(self):
        return self.one([b"FLUSHALL"], [b"FLUSHDB"], [b"FLUSHALL", b"ASYNC"], [b"FLUSHDB", b"SYNC"],
                        [b"FLUSHALL", b"x"], [b"FLUSHALL", b"SYNC", b"SYNC"])  # fmt: skip

    # -- transactions

    def watch(self):
        keys = [self.rng.choice(self.hot + self.counters) for _ in range(self.one(1, 1, 2, 5))]
        return self.one([b"WATCH", *keys], [b"WATCH", *keys], [b"UNWATCH"])

    # -- connection and server

    def hello(self):
        versions = [b"3"] if self.protocol == 3 else [b"2"] if self.protocol == 2 else [b"2", b"3"]
        name = [b"SETNAME", self.one(b"me", b"x", b"client-1")]
        return self.one([b"HELLO", self.one(*versions)], [b"HELLO", self.one(*versions)], [b"HELLO"],
                        [b"HELLO", self.one(*versions), *name],
                        [b"HELLO", self.one(b"1", b"4", b"x", b"-3", b"")],
                        [b"HELLO", versions[-1], b"SETNAME", b"a b"],
                        [b"HELLO", versions[-1], b"nonsense"])  # fmt: skip

    def connection(self):
        return self.one(
            [b"PING"], [b"PING", self.value(b"")[:100]], [b"ECHO", self.value(b"")[:2000]],
            [b"CLIENT", b"ID"], [b"CLIENT", b"GETNAME"], [b"CLIENT", b"SETNAME", b"n%d" % self.rng.randrange(9)],
            [b"CLIENT", b"SETNAME", self.one(b"", b"a b", b"x\n", b"\x7f", b"\xff")], [b"CLIENT", b"INFO"],
            [b"CLIENT", b"NO-EVICT", self.one(b"on", b"off", b"x")], [b"CLIENT", b"REPLY", b"ON"],
            [b"CLIENT", b"REPLY", b"x"], [b"CLIENT", b"UNPAUSE"], [b"CLIENT", b"nonsense"], [b"CLIENT"],
            [b"CLIENT", b"KILL", b"ID", b"99999999"], [b"CLIENT", b"KILL", b"1.2.3.4:5"],
            [b"CLIENT", b"KILL", b"nonsense", b"x"], [b"CLIENT", b"KILL", b"ID", b"x"],
            [b"CLIENT", b"LIST", b"TYPE", b"x"], [b"CLIENT", b"LIST", b"ID", b"99999999"],
            [b"CLIENT", b"LIST", b"ID", b"x"], [b"CLIENT", b"PAUSE", self.one(b"x", b"-1")],
            [b"CLIENT", b"PAUSE", b"0", b"x"], [b"AUTH", b"x"], [b"AUTH", b"x", b"y"], [b"AUTH", b"a", b"b", b"c"],
            [b"CLIENT", b"LIST", b"TYPE", b"pubsub"],
        )  # fmt: skip

    def server(self):
        key = self.key()
        return self.one(
            [b"TIME"], [b"COMMAND", b"COUNT"], [b"COMMAND", b"GETKEYS", *self.mset()],
            [b"COMMAND", b"GETKEYS", b"GET", key], [b"COMMAND", b"GETKEYS", b"PING"], [b"COMMAND", b"nonsense"],
            [b"COMMAND", b"GETKEYS", b"nonsense", key], [b"COMMAND", b"INFO", b"get", b"nonsense"],
            [b"COMMAND", b"GETKEYS", b"COPY", key, key], [b"COMMAND", b"GETKEYS", b"BITOP", b"AND", key, b"s"],
            [b"COMMAND", b"GETKEYS"], [b"COMMAND", b"LIST", b"FILTERBY", b"PATTERN", b"nonsense*"],
            [b"CONFIG", b"GET", b"no-such-thing"], [b"CONFIG", b"SET", b"no-such-thing", b"1"],
            [b"CONFIG", b"RESETSTAT"], [b"CONFIG", b"nonsense"], [b"CONFIG", b"SET", b"x"], [b"CONFIG", b"GET"],
            [b"INFO", b"keyspace"], [b"INFO", b"nonsense"], [b"MEMORY", b"nonsense"],
            [b"MEMORY", b"USAGE"], [b"LATENCY", b"LATEST"], [b"LATENCY", b"RESET"], [b"LATENCY", b"nonsense"],
            [b"LATENCY", b"HISTORY", b"nonsense"], [b"SLOWLOG", b"LEN"], [b"SLOWLOG", b"GET", b"x"],
            [b"SLOWLOG", b"GET", b"-2"], [b"SLOWLOG", b"nonsense"], [b"SLOWLOG", b"RESET"], [b"LOLWUT"],
            [b"WAIT", b"0", self.one(b"0", b"1", b"x", b"-1")], [b"WAIT", b"x", b"0"], [b"DEBUG", b"SLEEP", b"0"],
            [b"DEBUG", b"OBJECT", key], [b"DEBUG"], [b"OBJECT", b"nonsense", key], [b"OBJECT", b"ENCODING"],
        )  # fmt: skip

    # Of a thousand commands so many.
    SHARES = {
        get: 190, set: 140, set_past: 6, set_old: 60, getex: 35, mget: 35, mset: 45, append: 30, ranges: 50,
        large_value: 4, incr: 70, incr_float: 40, setbit: 30, bitcount: 35, bitop: 15, bitfield: 35, lcs: 15,
        delete: 60, expire: 50, ttl: 40, rename: 30, look: 30, scan: 8, keys: 3, databases: 12, flush: 0.4,
        watch: 15, hello: 5, connection: 15, server: 15,
    }  # fmt: skip
