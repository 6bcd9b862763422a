"""memcached's binary protocol as a list of what the store must do, and random requests of it: the
reference of the tests."""

import random
import struct

from harness.command_map import BINARY, PORT
from harness.memcached import packets

KEY_MAX = 250
HEADER = struct.Struct(">BBHBBHIIQ")


def opcodes(*commands):
    return {opcode for opcode, (cmd, _) in BINARY.items() if cmd in commands}


GETS, GATS = opcodes("CmdGets"), opcodes("CmdGats")
STORES = {opcode: f"Op{kind}" for kind in ("Set", "Add", "Replace") for opcode in opcodes(f"Cmd{kind}")}
EXTENDS = {opcode: f"Op{kind}" for kind in ("Append", "Prepend") for opcode in opcodes(f"Cmd{kind}")}
DELTAS = {opcode: kind for kind in (b"incr", b"decr") for opcode in opcodes(f"Cmd{kind.decode().capitalize()}")}
QUIET = {opcode for opcode, (_, quiet) in BINARY.items() if quiet}
KNOWN = {*BINARY}
WALK, VERSION, FILL = PORT["walk"], PORT["version"], PORT["fill"]


def when(value, now):
    """Absolute expiry time in milliseconds: none is negative."""
    return 1000 * (now + value if 0 < value <= 2592000 else value)


class Binary:
    """`run` returns the operations of a byte stream, `closed` tells that it ended with a quit or an error. `port`: it is
    the request port's."""

    def __init__(self, item_max, now, port=False):
        self.item_max, self.now, self.port = item_max, now, port

    def run(self, data):
        ops, at, self.closed = [], 0, False
        while not self.closed and len(data) - at >= 24:
            head = HEADER.unpack_from(data, at)
            got, size = self.request(head, data[at : at + 24], data[at + 24 :])
            if size is None:
                break
            opaque = int.from_bytes(data[at + 12 : at + 16], "little")
            ops += [(*op, head[1], opaque) for op in got]
            at += 24 + size
        return ops

    def fail(self, reply):
        self.closed = True
        return [("reply", reply)] if reply else [], 0

    def request(self, head, header, rest):
        magic, op, klen, elen, _, _, body, _, cas = head
        quiet = op in QUIET
        if magic != 0x80:
            return self.fail(None)
        if klen + elen > body:
            return self.fail("RpError")
        if klen > KEY_MAX:
            return self.fail("RpBadFormat")
        if self.port and op == WALK:
            return self.fail("RpBadFormat") if body else ([("walk",)], 0)
        versions, fills = self.port and op == VERSION, self.port and op == FILL
        if op not in KNOWN and not (versions or fills):
            if op == 0x20 and body or op in (0x21, 0x22) and (elen or not klen):
                return self.fail("RpBadFormat")
            return [("reply", "RpError")], body if 0x20 <= op <= 0x22 else klen + elen + body
        want = (0 if op in GETS or op in EXTENDS or op in (0x04, 0x14, 0x10) or versions else 4 if op in GATS or op == 0x1C else
                8 if op in STORES or fills else 20 if op in DELTAS else None)
        value = body - klen - elen
        if want is not None:
            keyed = klen > 0 or op == 0x10
            right = elen == want and keyed and (not value or op in STORES or fills or op in EXTENDS or op == 0x10)
        elif op in (0x08, 0x18):
            right = elen in (0, 4) and not klen and not value
        else:
            right = not body
        if not right:
            return self.fail("RpBadFormat")
        extras, key = rest[:elen], rest[elen : elen + klen]
        size = elen + klen
        if len(rest) < size:
            return [], None
        number = int.from_bytes(extras[-4:], "big")
        if op in GETS or op in GATS:
            return [("get", key, True, when(number, self.now) if op in GATS else None)], size
        if op in STORES or op in EXTENDS or fills:
            flags, exptime = struct.unpack(">II", extras) if extras else (0, 0)
            if klen + value + (4 if flags else 0) + 59 > self.item_max:
                return [("toobig", key, False) if op in (0x01, 0x11) else ("reply", "RpTooLarge")], body
            if len(rest) < body:
                return [], None
            kind = "OpSet" if fills else EXTENDS.get(op) or ("OpCas" if cas else STORES[op])
            return [("store", kind, key, flags, when(exptime, self.now), rest[size:body], quiet, cas)], body
        if op in DELTAS:
            delta, initial = struct.unpack_from(">QQ", extras)
            return [("delta", DELTAS[op], key, delta, quiet, initial, cas, when(number, self.now),
                     number != 0xFFFFFFFF)], size
        if op in (0x04, 0x14):
            return [("delete", key, quiet, cas)], size
        if versions:
            return [("version", key)], size
        if op == 0x1C:
            return [("touch", key, when(number, self.now), False)], size
        if op in (0x08, 0x18):
            return [("flush", when(number, self.now), quiet)], size
        if op == 0x10:
            return [("host", header + key)] if 24 + klen <= KEY_MAX else [("reply", "RpError")], size
        if op in (0x07, 0x17):
            self.closed = True
            return [] if quiet else [("reply", "RpOk")], 0
        return [("reply", "RpOk" if op == 0x0A else "RpVersion")], 0


def packet(op, key=b"", extras=b"", value=b"", cas=0, odd=0, **wrong):
    """Of any opaque; `odd` is what the header's type and what is reserved have."""
    opaque = random.getrandbits(32).to_bytes(4, "big")
    return packets.whole(op, key, extras, value, opaque, cas.to_bytes(8, "big"), type=odd & 0xFF, reserved=odd >> 8, **wrong)


def a_key():
    size = random.choice((1, 5, 8, 16, 19, 20, 21, 31, 32, 33, 39, 40, 41, 63, 64, 65, 100, 128, 129, 250,
                          random.randrange(1, 251)))
    return random.randbytes(size) if random.random() < 0.7 else bytes(random.choices(b"\r\nk", k=size))


def a_time():
    return random.choice((0, 100, 2592000, 2592001, 1 << 31, 0xFFFFFFFF, random.getrandbits(32)))


def a_request(values=300, broken=True, host=True):
    """One that leaves the connection open."""
    pick, key = random.random(), a_key()
    cas = random.getrandbits(64) if random.random() < 0.1 else 0
    odd = random.getrandbits(24) if random.random() < 0.05 else 0
    if pick < 0.3:
        return packet(random.choice(sorted(GETS)), key, odd=odd)
    if pick < 0.55:
        size = random.choice((0, 1, 2, 8, 23, 24, 64, random.randrange(200), random.randrange(values)))
        value = random.choice((random.randbytes(size), bytes(random.choices(b"\x80\0\0\0\0\r\n", k=size)),
                               (packet(0x0A) * size)[:size], (b"get a\r\n" * size)[:size]))
        extras = struct.pack(">II", random.choice((0, random.getrandbits(32))), a_time())
        return packet(random.choice(sorted(STORES)), key, extras, value, cas, odd=odd)
    if pick < 0.62:
        return packet(random.choice(sorted(EXTENDS)), key, b"", random.randbytes(random.randrange(100)), cas)
    if pick < 0.7:
        return packet(random.choice(sorted(GATS | {0x1C})), key, struct.pack(">I", a_time()))
    if pick < 0.78:
        extras = struct.pack(">QQI", random.getrandbits(64), random.getrandbits(64), a_time())
        return packet(random.choice(sorted(DELTAS)), key, extras, cas=cas)
    if pick < 0.84:
        return packet(random.choice((0x04, 0x14)), key, cas=cas)
    if pick < 0.9:
        return packet(random.choice((0x0A, 0x0A, 0x0B)))
    if pick < 0.93:
        return packet(random.choice((0x08, 0x18)), b"", random.choice((b"", struct.pack(">I", a_time()))))
    if pick < 0.95 and host:
        return packet(0x10, random.choice((b"", b"items", random.randbytes(random.choice((225, 226, 227, 250))))))
    if not broken:
        return packet(0x0A)
    op = random.choice([n for n in range(256) if n not in KNOWN])
    if op == 0x20:
        return packet(op)
    if op in (0x21, 0x22):
        return packet(op, b"PLAIN", b"", b"\0u\0p")
    # memcached skips key and extras twice.
    skipped = random.randbytes(random.randrange(300))
    return packet(op, b"", b"", skipped) if random.random() < 0.5 else \
        packet(op, b"k" * 7, b"x" * 3, skipped) + bytes(10)


def closes(key):
    """Each of what ends the connection."""
    return [*packets.closes(packet, key), *packets.closes_after_all(packet, key), *packets.TEXT]


def a_close():
    return random.choice(closes(a_key()))
