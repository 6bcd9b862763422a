"""Random requests of all that memcached speaks: what `stream` makes, `append` and `prepend` to
counters, too, the meta commands and the binary protocol.

Beside what `stream` leaves out because memcached does not answer it the same way every time:

- no `ma` of a key that was read earlier in its burst, and no `T` or `E` in any `ma`: where a number
  grows, memcached sets time and CAS unique of the item that was replaced;
- no `l` and no short times, which show the clock;
- in the binary protocol, what closes the connection is alone in its burst: memcached drops the
  replies that were not sent yet.
"""

import base64
import zlib

from harness.memcached.packets import closes, packet
from harness.memcached.stream import BAD_LENGTHS, BAD_NUMBERS, ITEM_OVERHEAD, MAX_ITEM, Burst, Cas, Generator

ADMIN = [
    b"shutdown", b"shutdown graceful", b"shutdown x", b"cache_memlimit 5", b"cache_memlimit x",
    b"cache_memlimit", b"cache_memlimit 4 noreply", b"cache_memlimit 2000000000", b"slabs",
    b"slabs automove 0", b"slabs automove 5", b"slabs automove x", b"slabs automove ratio 0.5",
    b"slabs automove 1 noreply", b"slabs automove", b"lru", b"lru tune 10 20 0.1 1",
    b"lru tune 50 50 0.1 1", b"lru tune 10 20 0 1", b"lru tune x 20 1 1", b"lru foo",
    b"lru_crawler", b"lru_crawler tocrawl 5", b"lru_crawler sleep 5", b"lru_crawler sleep 5000000",
    b"lru_crawler tocrawl x", b"lru_crawler foo bar", b"stats foo", b"stats detail",
    b"stats detail x", b"stats cachedump", b"misbehave", b"debugtime p", b"extstore", b"proxy",
    b"refresh_certs", b"stats reset", b"bget", b"bget a", b"mx", b"mx a b", b"mset a 1",
]  # fmt: skip


def b64(key):
    return base64.b64encode(key)


class Text(Generator):
    """Classic and meta commands, in shares."""

    def __init__(self, seed, meta=0.5, **options):
        super().__init__(seed, **options)
        self.meta = meta
        self.unique = 1 << 40

    def command(self):
        rng = self.rng
        if rng.random() < self.meta:
            broken = rng.random() < self.broken
            return self.break_meta() if broken else self.meta_command()
        if rng.random() < 0.01 and not self.udp:
            return [rng.choice(ADMIN) + b"\r\n"]
        return super().command()

    def extended_key(self):
        """Mostly where something is."""
        rng = self.rng
        return rng.choice(self.counters + self.hot) if rng.random() < 0.8 else self.key()

    # -- meta

    def shown(self, key):
        """A key as it is written, and the flags for that."""
        rng = self.rng
        coded = b64(key)
        if rng.random() < 0.85 or len(coded) > 250:
            return key, []
        return coded, [b"b"]

    def common(self, *more):
        rng = self.rng
        flags = []
        if rng.random() < 0.5:
            flags.append(b"k")
        if rng.random() < 0.3:
            flags.append(b"O" + b"opaque-0123456789_abcdefghijklmnop"[: rng.choice([0, 1, 5, 31])])
        if rng.random() < 0.15:
            flags.append(b"q")
        for flag in more:
            if rng.random() < 0.25:
                flags.append(flag)
        return flags

    def time(self):
        rng = self.rng
        # None that may pass while a slow machine plays the stream.
        return rng.choice([b"0", b"100000", b"86400", b"2147483647", b"10000", b"-1"])

    def new_unique(self):
        self.unique += 1
        return b"E%d" % self.unique if self.rng.random() < 0.9 else b"E%d" % (self.unique << 20)

    def compare(self, key):
        """A CAS flag's parts."""
        rng = self.rng
        r = rng.random()
        if r < 0.85:
            return [b" C", Cas(key, stale=r > 0.6)]
        return [b" C", rng.choice([b"0", b"1", b"99999999999999"])]

    def put(self, *words_and_flags, tail=b""):
        """A line whose flags are in any order. Parts, since a CAS unique may be among them."""
        rng = self.rng
        head, flags, cas = words_and_flags
        rng.shuffle(flags)
        at = rng.randrange(len(flags) + 1)
        before = b" ".join(head + flags[:at])
        after = b"".join(b" " + f for f in flags[at:])
        return [before, *cas, after + b"\r\n" + tail]

    def meta_command(self):
        rng = self.rng
        kinds = [self.mg] * 10 + [self.ms] * 9 + [self.md] * 3 + [self.ma] * 3 + [self.me, self.mn]
        return rng.choice(kinds)()

    def mg(self):
        rng = self.rng
        key = self.key()
        flags = self.common(b"s", b"t", b"f", b"h", b"u", b"c")
        if rng.random() < 0.6:
            if self.sizes.get(key, 0) <= min(self.reply_room, 20_000 if rng.random() < 0.9 else 1 << 21):
                flags.append(b"v")
                self.reply_room -= self.sizes.get(key, 0)
        if rng.random() < 0.15:
            flags.append(b"N" + self.time())
            if rng.random() < 0.2:
                flags.append(self.new_unique())
        if rng.random() < 0.12:
            flags.append(b"T" + self.time())
        if rng.random() < 0.12:
            flags.append(b"R" + rng.choice([b"0", b"50", b"90000", b"2000000"]))
        self.read.add(key)
        shown, coded = self.shown(key)
        return self.put([b"mg", shown], flags + coded, [])

    def ms(self):
        rng = self.rng
        key = self.key(counter=0.2)
        value = self.value(key)
        flags = self.common(b"c", b"s")
        mode = rng.choice([b""] * 5 + [b"S", b"E", b"A", b"P", b"R", b"a"[:0]])
        if mode in (b"A", b"P") and self.sizes.get(key, 0) + len(value) > 200_000:
            mode = b""
        if mode:
            flags.append(b"M" + mode)
        cas = self.compare(key) if rng.random() < 0.25 else []
        if cas and rng.random() < 0.4:
            flags.append(b"I")
        if rng.random() < 0.3:
            flags.append(b"F" + self.flags().replace(b"\t", b"").replace(b"\r", b""))
        if rng.random() < 0.3:
            flags.append(b"T" + self.time())
        if rng.random() < 0.15:
            flags.append(b"N" + self.time())
        if rng.random() < 0.1:
            flags.append(self.new_unique())
        self.sizes[key] = self.sizes.get(key, 0) + len(value) if mode in (b"A", b"P") else max(
            self.sizes.get(key, 0), len(value))
        shown, coded = self.shown(key)
        return self.put([b"ms", shown, b"%d" % len(value)], flags + coded, cas, tail=value + b"\r\n")

    def md(self):
        rng = self.rng
        key = self.key()
        flags = self.common()
        if rng.random() < 0.5:
            flags.append(b"I")
            if rng.random() < 0.5:
                flags.append(b"T" + self.time())
        if rng.random() < 0.25:
            flags += rng.choice([[b"x"], [b"x", b"F5"], [b"x", b"T100000"]])
            flags = list(dict.fromkeys(f if f[:1] != b"T" else b"T100000" for f in flags))
        if rng.random() < 0.15:
            flags.append(self.new_unique())
        shown, coded = self.shown(key)
        cas = self.compare(key) if rng.random() < 0.3 else []
        return self.put([b"md", shown], flags + coded, cas)

    def ma(self):
        rng = self.rng
        key = rng.choice(self.counters) if rng.random() < 0.9 else self.key()
        if key in self.read:
            return self.touch()
        flags = self.common(b"v", b"c", b"t")
        if rng.random() < 0.7:
            flags.append(b"D%d" % rng.choice([0, 1, 2, 9, 10, 90, 999, rng.getrandbits(30)]))
        if rng.random() < 0.6:
            flags.append(b"M" + rng.choice([b"I", b"D", b"+", b"-"]))
        if rng.random() < 0.4:
            flags.append(b"N" + rng.choice([b"0", b"100000", b"86400"]))
            if rng.random() < 0.5:
                flags.append(b"J%d" % rng.choice([0, 7, 99, 18446744073709551615 >> 1]))
        cas = self.compare(key) if rng.random() < 0.1 else []
        shown, coded = self.shown(key)
        return self.put([b"ma", shown], flags + coded, cas)

    def me(self):
        key = self.key()
        self.read.add(key)
        coded = b64(key)
        if self.rng.random() < 0.2 and len(coded) <= 250:
            return [b"me " + coded + b" b\r\n"]
        return [b"me " + key + b"\r\n"]

    def mn(self):
        return [self.rng.choice([b"mn\r\n", b"mn x\r\n", b"mn \n"])]

    def break_meta(self):
        rng = self.rng
        key = self.key()
        self.read.add(key)  # some are right after all
        data = b"data5\r\n"
        lines = [
            b"mg", b"mg ", b"ms", b"ms %s" % key, b"md", b"ma", b"me", b"mg %s" % self.long_key(),
            b"md %s" % self.long_key(), b"ma %s q" % self.long_key(), b"me %s" % self.long_key(),
            b"ms %s 5" % self.long_key(), b"mg %s v v" % key, b"mg %s vv vx" % key, b"mg %s \xff" % key,
            b"mg %s S" % key, b"md %s q q" % key, b"ma %s z" % key, b"ma %s MX" % key, b"ma %s M" % key,
            b"ma %s MII" % key, b"ma %s Dx" % key, b"ma %s J-1" % key, b"ma %s D" % key,
            b"mg %s O%s v" % (key, b"o" * 32), b"md %s O%s" % (key, b"o" * 40), b"me", b"me ",
            b"mg %s T" % key, b"mg %s Tx" % key, b"mg %s N q" % key, b"mg %s Rx k" % key,
            b"md %s Cx" % key, b"md %s E-1" % key, b"mg !!! b", b"mg abc b", b"md Y=== b q",
            b"mg %s %s" % (key, b" ".join(b"%c" % c for c in b"abcdefghijklmnopqrstuvwx")),
            b"mg %s k s t c f h v u q x I O P L F1 C1 E1" % key,
            b"md %s k s t c f h v u q x I O P L F1 C1 E1 D1 J1 MI" % key,
            b"mg a\x00b v", b"mg %s\x00 v" % key, b"m", b"mm %s" % key, b"mg\t%s v" % key,
        ]  # fmt: skip
        if rng.random() < 0.5:
            return [rng.choice(lines) + b"\r\n"]
        flags = rng.choice([
            b"ZZ", b"c c", b"\xff", b"S5", b"F", b"Fx", b"F-1", b"T", b"Tx", b"MX", b"MEE", b"M", b"b",
            b"O" + b"o" * 40, b"Cx", b"C", b"C-1", b"Ex", b"q F", b"k F Tx", b"Tx F", b"MX O" + b"o" * 40,
            b" ".join(b"%c" % c for c in b"abcdefghijklmnopqrstuvwx"), b"J", b"Dx", b"N", b"Rx", b"ME MR",
        ])  # fmt: skip
        r = rng.random()
        if r < 0.6:
            return [b"ms %s 5 %s\r\n" % (key, flags), data]
        if r < 0.8:
            length = rng.choice([n for n in BAD_LENGTHS + BAD_NUMBERS if b"\x00" not in n and n[-1:] != b"\t"])
            return [b"ms %s %s\r\n" % (key, length)]
        bad = rng.choice([b"data55", b"data5xx", b"d\r\nta55", b"data5\n"])
        return [b"ms %s 5 %s\r\n" % (key, rng.choice([b"", b"q", b"c k", b"ME"])), bad + b"\r\n"]


class Binary(Generator):
    """The binary protocol. Keys are told by the opaque, which every reply has."""

    closed_at = 0  # the nonce of the last burst before the connection ended

    def id(self, key):
        return zlib.crc32(key).to_bytes(4, "big")

    def cas_of(self, key, p=0.15):
        rng = self.rng
        if rng.random() < p:
            return Cas(self.id(key), stale=rng.random() < 0.3, binary=True)
        return bytes(8) if rng.random() < 0.99 else b"\0\0\0\x17\0\0\0\1"

    def when(self):
        rng = self.rng
        value = rng.choice([0, 0, 0, 0, 100000, 2592000, 2592001, 1000000000, 0x7FFFFFFF, 0xFFFFFFFF])
        return value.to_bytes(4, "big")

    def command(self):
        rng = self.rng
        if rng.random() < self.broken:
            return self.break_packet()
        kinds = [self.read_one] * 30 + [self.write_one] * 30 + [self.add_delta] * 12 + [self.remove] * 6
        kinds += [self.touch_one] * 8 + [self.extend] * 6 + [self.other] * 2
        return rng.choice(kinds)()

    def read_one(self):
        key = self.key()
        size = self.sizes.get(key, 0)
        if size > min(self.reply_room, 50_000 if self.rng.random() < 0.95 else 1 << 21):
            return self.other()
        self.reply_room -= size
        self.read.add(key)
        return packet(self.rng.choice([0x00, 0x09, 0x0C, 0x0D]), key, opaque=self.id(key))

    def write_one(self):
        rng = self.rng
        key = self.key(counter=0.2)
        value = self.value(key)
        self.sizes[key] = max(self.sizes.get(key, 0), len(value))
        flags = rng.getrandbits(rng.choice([1, 8, 32])) if rng.random() < 0.5 else 0
        op = rng.choice([0x01, 0x01, 0x01, 0x11, 0x02, 0x12, 0x03, 0x13])
        extras = flags.to_bytes(4, "big") + self.when()
        return packet(op, key, extras, value, self.id(key), self.cas_of(key))

    extended_key = Text.extended_key

    def extend(self):
        key, value = self.extension()
        op = self.rng.choice([0x0E, 0x0F, 0x19, 0x1A])
        return packet(op, key, b"", value, self.id(key), self.cas_of(key))

    def add_delta(self):
        rng = self.rng
        key = rng.choice(self.counters) if rng.random() < 0.9 else self.key()
        if key in self.read:
            return self.remove()
        by = rng.choice([0, 1, 2, 9, 10, 90, 999, rng.getrandbits(30), rng.getrandbits(63)])
        initial = rng.choice([0, 7, 99, (1 << 63) - 1])
        when = rng.choice([b"\xff" * 4, bytes(4), self.when()])
        extras = by.to_bytes(8, "big") + initial.to_bytes(8, "big") + when
        op = rng.choice([0x05, 0x06, 0x15, 0x16])
        return packet(op, key, extras, b"", self.id(key), self.cas_of(key, 0.05))

    def remove(self):
        key = self.key()
        return packet(self.rng.choice([0x04, 0x14]), key, opaque=self.id(key), cas=self.cas_of(key))

    def touch_one(self):
        key = self.key()
        if self.sizes.get(key, 0) > min(self.reply_room, 50_000):
            return self.other()
        self.reply_room -= self.sizes.get(key, 0)
        self.read.add(key)
        op = self.rng.choice([0x1C, 0x1D, 0x1E, 0x23, 0x24])
        return packet(op, key, self.when(), opaque=self.id(key))

    def other(self):
        rng = self.rng
        r = rng.random()
        if r < 0.1 and self.flush:
            self.sizes.clear()
            return packet(rng.choice([0x08, 0x18]), b"", rng.choice([b"", bytes(4)]))
        return packet(rng.choice([0x0A, 0x0B]))

    def break_packet(self):
        """Wrong, but the connection stays in step."""
        rng = self.rng
        key = self.key()
        r = rng.random()
        if r < 0.3:
            return packet(rng.choice([0x1B, 0x1F, 0x25, 0x30, 0x55, 0xFF]), opaque=self.id(b"u"))
        if r < 0.4:
            return packet(0x20)
        if r < 0.55:
            return packet(rng.choice([0x21, 0x22]), b"PLAIN", b"", b"\0user\0secret")
        if r < 0.65:
            return packet(0x10, rng.choice([b"nope", b"detail", b"detail x", b"detail off"]))
        if r < 0.7 and self.value_budget > 2 * MAX_ITEM and self.largest >= MAX_ITEM:
            most = MAX_ITEM - ITEM_OVERHEAD - len(key)
            size = most + rng.choice([0, 1, 100])
            self.value_budget -= size
            self.sizes[key] = MAX_ITEM
            op = rng.choice([0x01, 0x11, 0x02, 0x03])
            return packet(op, key, bytes(8), b"v" * size, self.id(key))
        # Nothing here looks at them.
        self.read.add(key)
        return packet(0x00, key, opaque=self.id(key), type=rng.randrange(256), reserved=rng.randrange(65536))

    break_get = break_packet  # what `burst` begins with now and then

    def closing(self):
        """One that ends the connection."""
        rng = self.rng
        key = rng.choice(self.hot)
        return rng.choice([
            *closes(packet, key), packet(0x10, b"k", b"x"),
            # The first byte of a connection would select the protocol.
            packet(0x0A) + packet(0x0A, magic=0x81), packet(0x0A) + packet(0x0A, magic=0),
        ])  # fmt: skip

    def burst(self):
        # Not as the first on a connection: that byte chooses the protocol.
        if self.nonce > self.closed_at and self.rng.random() < 0.02 * self.broken / 0.15:
            burst = Burst([self.closing()], closes=True)
            burst.cuts = self.cut(burst.size())
            self.closed_at = self.nonce
            return burst
        burst = super().burst()
        burst.tail = b"".join(packet(0x0A, opaque=(self.nonce + (1 << 31)).to_bytes(4, "big")))
        burst.cuts = self.cut(burst.size())
        return burst
