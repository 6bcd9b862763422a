#!/usr/bin/env python3
"""What Redis 7.0 answers to random arguments of its commands on numbers, patterns, bits, ranges and
common subsequences, for the unit tests of host/resp/src:

    tb/reference/redis_values.py [--each N] [--seed N] > host/resp/tests/redis_values.txt

A line is one case: a kind, its arguments, and the answer last, with a tab between. Bytes that do not
print are \\xNN; an answer of several parts is [a,b], nothing is nil, an error begins with !.
"""

import argparse
import random
import shutil
import socket
import subprocess
import sys
import time


class Redis:
    """A server of its own on a free port, and one connection to it."""

    def __init__(self):
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if program is None:
            sys.exit("redis_values: no redis-server; apt install redis-server, or redis-tools")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""],
            executable=program, stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.file = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
                break
            except OSError:
                time.sleep(0.05)

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.file.write(b"*%d\r\n" % len(words))
        self.file.write(b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        return b"!" + rest if kind == b"-" else rest


def text(value):
    if value is None:
        return "nil"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, int):
        return str(value)
    value = value if isinstance(value, bytes) else str(value).encode()
    return "".join(chr(b) if 31 < b < 127 and b != 92 else f"\\x{b:02x}" for b in value)


class Cases:
    def __init__(self, redis, rng):
        self.redis = redis
        self.rng = rng

    def bytes(self, most, alphabet=None):
        n = self.rng.choice([0, 1, 2, self.rng.randint(0, most)])
        return bytes(self.rng.choice(alphabet) if alphabet else self.rng.choice(
            [0, 255, self.rng.randrange(256)]) for _ in range(n))

    def index(self, near=20):
        wild = [2**63 - 1, -2**63, 2**63, 4294967295, 4294967296, "x", "01", "-0", ""]
        return self.rng.choice([self.rng.randint(-near, near)] * 30 + wild)

    def number(self):
        r = self.rng
        mantissa = r.choice([
            str(r.randint(0, 10 ** r.randint(0, 25))),
            f"{r.randint(0, 10**6)}.{r.randint(0, 10 ** r.randint(1, 30))}",
            f".{r.randint(0, 10**9)}", f"{r.randint(0, 99)}.", "." * r.randint(0, 2)])
        exponent = r.choice(["", "", "", f"e{r.randint(-30, 30)}", f"E+{r.randint(0, 60)}",
                             f"e{r.randint(-5000, 5000)}", "e", "e99999999999"])
        hexa = f"0x{r.randint(0, 2**70):x}.{r.randint(0, 2**40):x}p{r.randint(-80, 80)}"
        odd = r.choice(["inf", "-Infinity", "nan", "0x", "0x.8", "0X1P4", " 1", "1 ", "+-1", "1.2.3",
                        "infinit", "", "1_000", "1e5.0", "9007199254740993", "0x1p"])
        body = r.choice([mantissa + exponent] * 7 + [hexa, odd])
        return r.choice(["", "", "", "-", "+"]) + body

    def integer(self):
        by = self.rng.choice([1, -1, 7, 2**63 - 1, -2**63, 10, "+1", "1.0", "x"])
        value = self.rng.choice([self.rng.randint(-2**63, 2**63 - 1), self.rng.randint(-9, 9), "00",
                                 2**63 - 1, -2**63, 2**63, -2**63 - 1, "-0", "+1", " 1", "1 ", ""])
        self.redis("set", "k", value)
        return value, by, self.redis("incrby", "k", by)

    def float(self):
        value, by = self.number(), self.number()
        self.redis("set", "k", value)
        return value, by, self.redis("incrbyfloat", "k", by)

    def glob(self):
        atoms = [b"*", b"*", b"?", b"a", b"b", b"\\", b"[", b"]", b"[ab]", b"[^a]", b"[a-c]",
                 b"[c-a]", b"^", b"-", b"[a-", b"[\\]a]", b"\xff", b"[a-\xff]", b"[\x80-\xff]", b"[]"]
        pattern = b"".join(self.rng.choice(atoms) for _ in range(self.rng.randint(0, 7)))
        key = self.bytes(8, b"aaabbbc]-\\\xff\x80^d") or b"a"
        self.redis("flushall")
        self.redis("set", key, "")
        return pattern, key, len(self.redis("keys", pattern))

    def unit(self):
        return self.rng.choice([["bit"], ["BYTE"], ["byte"], ["bits"], ["bit\0x"], ["bit", "x"]])

    def count(self):
        value = self.bytes(30)
        args = [[], [self.index()], [self.index(), self.index()],
                [self.index(200), self.index(200), *self.unit()]]
        args = self.rng.choice(args[:2] + args[2:] * 6)
        self.redis("set", "k", value)
        return value, *args, self.redis("bitcount", "k", *args)

    def position(self):
        value = self.rng.choice([self.bytes(30), b"\xff" * self.rng.randint(0, 20),
                                 b"\0" * self.rng.randint(0, 20)])
        tail = [[], [self.index()], [self.index(), self.index()],
                [self.index(200), self.index(200), *self.unit()]]
        args = [self.rng.choice([0, 1, 0, 1, 0, 1, 2, "x"]), *self.rng.choice(tail + tail[2:] * 4)]
        self.redis("set", "k", value)
        return value, *args, self.redis("bitpos", "k", *args)

    def setbit(self):
        value, offset = self.bytes(10), self.index(100)
        if offset in (4294967295,):
            offset = 4294967296
        bit = self.rng.choice([0, 1, 0, 1, 2, -1, "x"])
        self.redis("set", "k", value)
        return value, offset, bit, [self.redis("setbit", "k", offset, bit), self.redis("get", "k")]

    def getbit(self):
        value, offset = self.bytes(10), self.index(100)
        self.redis("set", "k", value)
        return value, offset, self.redis("getbit", "k", offset)

    def bitop(self):
        name = self.rng.choice(["and", "OR", "xor", "not", "And", "nand", "or\0"])
        values = [self.bytes(40) for _ in range(1 if name == "not" else self.rng.randint(1, 4))]
        if name == "not" and self.rng.random() < .1:
            values.append(b"x")
        for n, value in enumerate(values):
            self.redis("set", f"k{n}", value)
        reply = self.redis("bitop", name, "to", *(f"k{n}" for n in range(len(values))))
        return name, *values, [reply, self.redis("get", "to")]

    def bitfield(self):
        r = self.rng
        args = []
        for _ in range(r.randint(0, 4)):
            if r.random() < .3:
                args += ["overflow", r.choice(["wrap", "SAT", "fail", "sat", "fail", "none"])]
            kind = r.choice("iu") + str(r.choice([1, 2, 8, 8, 16, 63, 64, r.randint(1, 64), 65, 0]))
            if r.random() < .03:
                kind = r.choice(["x8", "i", "u08", "8", "", "u8\0x"])
            where = r.choice([r.randint(0, 100)] * 9 + [f"#{r.randint(0, 5)}"] * 5
                             + ["#x", "-1", "#-1", "x", "##1", "#288230376151711744"])
            number = r.choice([r.randint(-300, 300), r.randint(-2**63, 2**63 - 1), 2**63 - 1, -2**63,
                               1, -1])
            args += r.choice([["get", kind, where], ["set", kind, where, number],
                              ["INCRBY", kind, where, number]])
        if args and r.random() < .05:
            args.pop()
        value = self.bytes(20)
        name = r.choice(["bitfield"] * 9 + ["bitfield_ro"])
        self.redis("set", "k", value)
        reply = self.redis(name, "k", *args)
        return name, value, *args, [reply, self.redis("get", "k")]

    def range(self):
        value, start, end = self.bytes(20, b"abcdef"), self.index(), self.index()
        self.redis("set", "k", value)
        return value, start, end, self.redis("getrange", "k", start, end)

    def lcs(self):
        r = self.rng
        alphabet = r.choice([b"ab", b"abc", b"abcdefgh"])
        a, b = (bytes(r.choice(alphabet) for _ in range(r.choice([0, 1, 5, r.randint(0, 150)])))
                for _ in "ab")
        args = r.choice([[], ["len"], ["IDX"], ["idx", "withmatchlen"], ["idx", "len"],
                         ["idx", "minmatchlen", r.choice([0, 2, 3, -1, "x"])], ["withmatchlen"],
                         ["IDX", "MINMATCHLEN"], ["idx", "withmatchlen", "minmatchlen", 2], ["x"]])
        self.redis("mset", "a", a, "b", b)
        return a, b, *args, self.redis("lcs", "a", "b", *args)


KINDS = ("integer", "float", "glob", "count", "position", "setbit", "getbit", "bitop", "bitfield",
         "range", "lcs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=50, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    redis = Redis()
    try:
        info = redis("info", "server").decode()
        version = next(x[14:] for x in info.split("\r\n") if x.startswith("redis_version:"))
        print(f"# Redis {version}; redis_values.py --each {args.each} --seed {args.seed}")
        cases = Cases(redis, random.Random(args.seed))
        for kind in KINDS:
            for _ in range(args.each):
                print(kind, *map(text, getattr(cases, kind)()), sep="\t")
    finally:
        redis.process.terminate()
        redis.process.wait()


if __name__ == "__main__":
    main()
