"""Redis' protocol as a list of what the store must do, and random commands of it: the reference of the tests."""

import random
import re

from harness.command_map import REDIS

KEY_MAX = 250
M64 = (1 << 64) - 1
STORES = {b"SET": ("OpSet", "RfStatus"), b"MSET": ("OpSet", "RfStatus"), b"SETNX": ("OpAdd", "RfInteger"),
          b"MSETNX": ("OpAdd", "RfInteger"), b"APPEND": ("OpAppend", "RfLength")}
READS = {b"GET": "RfBulk", b"EXISTS": "RfInteger", b"STRLEN": "RfLength", b"TOUCH": "RfInteger", b"TYPE": "RfType",
         b"TTL": "RfTtl", b"PTTL": "RfPttl", b"EXPIRETIME": "RfExpiretime", b"PEXPIRETIME": "RfPexpiretime",
         b"GETEX": "RfBulk"}
#: Milliseconds a unit, and whether it is counted from now.
UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
EXPIRES = {b"EXPIRE": b"EX", b"PEXPIRE": b"PX", b"EXPIREAT": b"EXAT", b"PEXPIREAT": b"PXAT"}
SUMS = {b"DEL": "delete", b"UNLINK": "delete", b"EXISTS": "get", b"TOUCH": "get"}
CONDITIONS = {b"NX": 1, b"XX": 2, b"GT": 4, b"LT": 8}
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
#: Inline commands that gates run, if they see all of it at a glance: of no, one and two words behind the name.
INLINE = [{name for name, counts in REDIS.items() if 1 + words in (counts or []) and (words < 2 or name in STORES)}
          for words in range(3)]
WORDS = re.compile(rb"[^\x00-\x20\"']+( [^\x00-\x20\"']+){0,2}\r?\n")


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
        self.item_max, self.now = item_max, now

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
            ops += got or self.settled([("host", data[at:end])])
            at = end
        return ops

    def settled(self, ops):
        """As gates do it, where they may and the host has got it."""
        for op in ops:
            words = op[1].split() if op[0] == "host" and WORDS.fullmatch(op[1]) else [b""]
            gates = words[0].upper() in INLINE[len(words) - 1]
            yield from (self.command(words) or [op]) if gates else [op]

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
                end = data.find(b"\r", at)
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
        keys = words[1:] if name in (b"MGET", *SUMS) else words[1:2]
        if any(not 0 < len(key) <= KEY_MAX for key in keys):
            return None
        # Its lines are kept for so long, and options may turn out to be none.
        if (name == b"SET" and n > 3 or name in (b"GETEX", *EXPIRES)) and len(encode(*words)) >= 2560:
            return None
        if name in SUMS and n > 2:
            none = [None] * (SUMS[name] == "get")
            return [(SUMS[name], key, False, *none, "RfSum", i == n - 2) for i, key in enumerate(keys)]
        if name in READS and n == 2:
            return [("get", keys[0], False, None, READS[name])]
        if name == b"MGET" and n > 1:
            return [("array", n - 1, "RfArray")] + [("get", key, False, None, "RfBulk") for key in keys]
        if name == b"MSET" and n > 3 and n % 2:
            return self.pairs(words)
        if name in STORES and n == 3:
            return self.store(*STORES[name], keys[0], words[2])
        if name == b"SET" and n > 3:
            options = self.options(words[3:], True)
            if not options or isinstance(options["expiry"], str) or len(words[2]) > 1920:
                return None
            op = "OpAdd" if b"NX" in options else "OpReplace" if b"XX" in options else "OpSet"
            return self.store(op, "RfBulk" if b"GET" in options else "RfStatus", keys[0], words[2],
                              options["expiry"] or 0, b"KEEPTTL" in options)  # fmt: skip
        if name in (b"SETEX", b"PSETEX") and n == 4 and 0 < len(words[2]) <= 20:
            expiry = self.deadline(b"PX" if name[:1] == b"P" else b"EX", words[2])
            return None if isinstance(expiry, str) else self.store("OpSet", "RfStatus", keys[0], words[3], expiry)
        if name == b"GETEX" and n > 2:
            options = self.options(words[2:], False)
            if not options or options["expiry"] == "far":
                return None
            if isinstance(options["expiry"], str):
                return [("get", keys[0], False, None, options["expiry"], "RfBulk")]
            return [("get", keys[0], False, options["expiry"] or 0, "RfBulk")]
        if name in EXPIRES and n > 2 and 0 < len(words[2]) <= 20:
            only = [word.upper() for word in words[3:]]
            late = self.deadline(EXPIRES[name], words[2])
            if any(word not in CONDITIONS for word in only) or b"NX" in only and set(only) != {b"NX"}:
                return None
            if {b"GT", b"LT"} <= set(only) or late in ("RpNonNumeric", "far"):
                return None
            if late == "RpBadExpire" and name[:1] != b"P" and int(words[2]) <= -(1 << 53):
                return None
            return [("touch", keys[0], 1 if late == "RpBadExpire" else late, False,
                     sum(CONDITIONS[word] for word in set(only)), "RfInteger")]  # fmt: skip
        if name == b"PERSIST" and n == 2:
            return [("touch", keys[0], 0, False, CONDITIONS[b"XX"], "RfInteger")]
        if name == b"SELECT" and n == 2 and re.fullmatch(rb"[0-9]|1[0-5]", words[1]):
            return [("select", int(words[1]), "RfStatus")]
        if name in (b"DEL", b"UNLINK", b"GETDEL") and n == 2:
            return [("delete", keys[0], False, "RfBulk" if name == b"GETDEL" else "RfInteger")]
        if name == b"GETSET" and n == 3:
            return self.store("OpSet", "RfBulk", keys[0], words[2])
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

    def pairs(self, words):
        """All of them, or none: the last one has a reply."""
        at, ops = len(b"*%d\r\n$4\r\nMSET\r\n" % len(words)), []
        for key, value in zip(words[1::2], words[2::2]):
            at += len(encode(key, value)) - 4
            if not 0 < len(key) <= KEY_MAX or len(value) > 1920 or at > 2560 - 320:
                return None
            ops.append(("store", "OpSet", key, 0, 0, value, len(ops) < len(words) // 2 - 1, 0, False, "RfStatus"))
        return ops

    def store(self, op, form, key, value, expiry=0, keeps=False):
        if len(key) + len(value) + 59 > self.item_max:
            return [("reply", "RpTooLarge", form)]
        return [("store", op, key, 0, expiry, value, False, 0, keeps, form)]

    def deadline(self, unit, text):
        """When an item expires, or what is wrong with the time."""
        if not INTEGER.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
            return "RpNonNumeric"
        scale, relative = UNITS[unit]
        if int(text) <= 0:
            return "RpBadExpire"
        if int(text) >= (1 << 47 if scale == 1 else 1 << 37):
            return "far"
        return int(text) * scale + relative * (1000 * self.now + 123)

    def options(self, words, of_set):
        """SET's or GETEX's; None: these are none."""
        seen, words = {"expiry": None}, [*words]
        if any(len(word) > (20 if of_set else 64) or of_set and not word for word in words):
            return None
        while words:
            word = words.pop(0).upper()
            timed = seen.get("unit")
            if of_set and word in (b"NX", b"XX") and {b"NX": b"XX", b"XX": b"NX"}[word] not in seen or \
                    of_set and word == b"GET" or \
                    word == (b"KEEPTTL" if of_set else b"PERSIST") and not timed:
                seen[word] = True
            elif word in UNITS and words and timed in (None, word) and b"KEEPTTL" not in seen and b"PERSIST" not in seen:
                seen["unit"], seen["expiry"] = word, self.deadline(word, words.pop(0))
            else:
                return None
        return seen


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
    if pick < 0.33:
        return encode(cased(random.choice([*SUMS])), *(a_key() for _ in range(random.choice((2, 3, 9, 16, 40)))))
    if pick < 0.38:
        return encode(cased(b"MGET"), *(a_key() for _ in range(random.choice((1, 2, 3, 9, 10, 16, 40)))))
    if pick < 0.6:
        return encode(cased(random.choice((b"SET", b"SET", b"SETNX", b"APPEND", b"MSET", b"MSETNX"))), key, a_value(most))
    if pick < 0.63:
        pairs = random.choice((2, 3, 10, 40))
        return encode(cased(b"MSET"), *(word for _ in range(pairs) for word in (a_key(), a_value(most if pairs < 4 else 40))))
    if pick < 0.66:
        return encode(cased(b"SET"), key, a_value(most), cased(random.choice((b"NX", b"XX"))))
    if pick < 0.72:
        return encode(cased(random.choice((b"DEL", b"UNLINK"))), key)
    if pick < 0.77:
        return encode(cased(random.choice((b"INCR", b"DECR"))), key)
    if pick < 0.82:
        return encode(cased(random.choice((b"INCRBY", b"DECRBY"))), key, a_number())
    if pick < 0.85 or not odd:
        return random.choice((encode(cased(random.choice((b"PING", b"FLUSHALL", b"FLUSHDB", b"PING")))), a_timed_one(key)))
    return random.choice((an_odd_one, a_timed_one))(key)


def a_timed_one(key):
    """About expiry, databases, or what was there; the times often wrong, the options often too many."""
    time = lambda: random.choice((a_time(), a_time(), a_number(), b"0", b"x", b"01", b""))  # noqa: E731
    units = (b"EX", b"PX", b"EXAT", b"PXAT")
    name = random.choice((b"SET", b"SET", b"GETEX", b"SETEX", b"EXPIRE", b"READ", b"GETSET", b"SELECT"))
    if name in (b"SET", b"GETEX"):
        kinds = (b"NX", b"XX", b"GET", b"KEEPTTL") if name == b"SET" else (b"PERSIST",)
        picked = [[cased(random.choice(kinds))] for _ in range(random.choice((0, 1, 1, 2, 3)))]
        picked += [[cased(random.choice(units)), time()] for _ in range(random.choice((0, 1, 1, 1, 2)))]
        random.shuffle(picked)
        words = [word for option in picked for word in option]
        if random.random() < 0.1:
            words.append(random.choice((*units, b"GT", b"EXPIRE", b"x" * random.choice((1, 20, 21, 64, 65)), b"")))
        return encode(cased(name), key, *[a_value(500)] * (name == b"SET"), *words)
    if name == b"SETEX":
        return encode(cased(random.choice((b"SETEX", b"PSETEX"))), key, time(), a_value(3000))
    if name == b"EXPIRE":
        only = random.choices((b"NX", b"XX", b"GT", b"LT", b"lt", b"EX"), (5, 5, 5, 5, 5, 1), k=random.choice((0, 0, 1, 1, 2)))
        return encode(cased(random.choice([*EXPIRES])), key, time(), *only)
    if name == b"READ":
        return encode(cased(random.choice((*READS, b"PERSIST", b"GETDEL"))), key)
    if name == b"GETSET":
        return encode(cased(name), key, a_value(2500))
    return encode(cased(name), random.choice((b"0", b"00", b"16", b"-1", b"x", b"", b"00000", b"99999999999999999999")))


def a_time():
    return b"%d" % random.choice((1, 17, 999, random.randrange(1, 1 << 31), random.randrange(1, 1 << 48), (1 << 37) - 1, 1 << 37,
                                  (1 << 47) - 1, 1 << 47, -(1 << 53), 1 - (1 << 53), random.randrange(-1000, 0)))


def an_odd_one(key):
    whole = encode(b"SET", key, a_value(200))
    number = random.choice((b"", b"x", b"-1", b"00", b"01", b"1x", b" 1", b"9999999999", b"0", b"1048577"))
    return random.choice((
        encode(b"SET", key, b"v", b"EX", b"10"), encode(b"SET", key, b"v", b"GET"), encode(b"GET"), encode(b"GET", key, key),
        encode(b"RESET"), encode(b"RESET", key),
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
