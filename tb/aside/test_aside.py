"""aside: what is in the table is answered as memcached answers it, whatever the protocol; all else passes, untouched and in
order; the core's instructions change the table as they say."""

import random
import struct
from collections import Counter

import cocotb
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from aside.bench import A, CLIENT, HEADER, IP_CLIENT, IP_ME, ME, PORT, Entry, begin, datagram, payload
from harness.clock import NEXT_CLOCK, clocks, every_clock
from harness.models import run
from harness.size import scale

LINES = 4096
#: Bytes of a reply that a datagram has.
PART = 1392


def some_key(length=None):
    """What a text key may have."""
    return bytes(random.choice(b"abcdefghijklmnopqrstuvwxyz0123456789:_") for _ in range(length or random.choice([1, 5, 16, 31, 44, 45, 64, 108, 109, 200, 250])))


def some_entry(size=None):
    size = random.choice([0, 1, 2, 16, 17, 36, 63, 64, 65, 195, 500, 1023, 1024]) if size is None else size
    return Entry(random.randbytes(size), random.choice([0, 1, 0xFFFFFFFF, random.getrandbits(32)]), random.getrandbits(64))


def text_value(key, entry, unique):
    return b"VALUE %s %d %d%s\r\n%s\r\n" % (key, entry.flags, len(entry.value), b" %d" % entry.unique if unique else b"", entry.value)


def binary(opcode, key=b"", extras=b"", value=b"", opaque=0):
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(extras + key + value), opaque, 0) + extras + key + value


def binary_value(opcode, key, entry, opaque):
    key = key if opcode in (0x0C, 0x0D) else b""
    body = struct.pack(">I", entry.flags) + key + entry.value
    return struct.pack(">BBHBBHIIQ", 0x81, opcode, len(key), 4, 0, 0, len(body), opaque, entry.unique) + body


def meta_value(key, entry, flags):
    shown = b""
    for flag in flags:
        shown += {b"k": b" k" + key, b"f": b" f%d" % entry.flags, b"c": b" c%d" % entry.unique, b"s": b" s%d" % len(entry.value),
                  b"O": b" Otoken"}.get(flag[:1], b"")
    return b"VA %d%s\r\n%s\r\n" % (len(entry.value), shown, entry.value)


def some_gets(table):
    """A request for keys of the table and its replies, each of which is datagrams of its own."""
    kind = random.choice(["text", "text", "keys", "binary", "binaries", "meta", "metas"])
    fits = [key for key in table if len(key) < 100] or list(table)
    if kind in ("text", "keys"):
        keys = [random.choice(list(table))] if kind == "text" else [random.choice(fits) for _ in range(random.randint(2, 5))]
        unique = random.random() < 0.3
        values = [text_value(key, table[key], unique) for key in keys]
        values[-1] += b"END\r\n"
        return b"get%s %s\r\n" % (b"s" * unique, b" ".join(keys)), values
    count = 1 if kind in ("binary", "meta") else random.randint(2, 4)
    asked, replies = b"", []
    for n in range(count):
        key = random.choice(fits)
        if kind.startswith("binar"):
            opcode = random.choice([0x00, 0x0C, 0x09, 0x0D])
            asked += binary(opcode, key, opaque=n)
            replies.append(binary_value(opcode, key, table[key], n))
        else:
            flags = random.sample([b"k", b"f", b"c", b"s", b"q", b"Otoken"], random.randint(0, 3))
            asked += b" ".join([b"mg", key, b"v", *flags]) + b"\r\n"
            replies.append(meta_value(key, table[key], flags))
    return asked, replies


def parts(replies):
    """What a client sees: number of the part, parts, text."""
    for reply in replies:
        count = max(1, -(-len(reply) // PART))
        yield from ((n, count, reply[n * PART : (n + 1) * PART]) for n in range(count))


async def fill(bench, count, sizes=None, key_size=None):
    table = {}
    for _ in range(count):
        key, entry = some_key(key_size), some_entry(sizes)
        if await bench.put(key, entry) == 1:
            table[key] = entry
    return table


@cocotb.test()
async def hits(dut):
    """Requests of every protocol, with keys and values of every length."""
    bench = await begin(dut)
    table = await fill(bench, scale(60, 400))
    assert len(table) > 50
    for _ in range(scale(12, 100)):
        asked = [some_gets(table) for _ in range(30)]
        frames = [datagram(text, ident=n) for n, (text, _) in enumerate(asked)]
        got, passed = await bench.answers(*frames)
        # A datagram's room for a request is what limits it, but an answer may be longer than all that can wait.
        assert not passed
        want = [(n, *part) for n, (_, replies) in enumerate(asked) for part in parts(replies)]
        assert got == want
    assert await bench.do(A.InStat, 1) == scale(12, 100) * 30
    assert await bench.do(A.InStat, 2) == 0
    # What is no instruction does nothing.
    assert await bench.do(A.InReset + 1, 1) == 0 and await bench.do(127, 1) == 0


def strange(table, missing):
    """Frames that gates must not answer, by what they are."""
    key = next(iter(table))
    text = b"get " + key + b"\r\n"
    yield "miss", datagram(b"get " + missing + b"\r\n")
    yield "miss behind a hit", datagram(b"get %s %s\r\n" % (key, missing))
    yield "hit behind a miss", datagram(b"get %s %s\r\n" % (missing, key))
    yield "miss in another line", datagram(text + b"get " + missing + b"\r\n")
    for line in (b"set %s 0 0 3\r\nabc\r\n", b"add %s 0 0 3\r\nabc\r\n", b"delete %s\r\n", b"incr %s 1\r\n", b"touch %s 10\r\n",
                 b"gat 10 %s\r\n", b"gats 10 %s\r\n", b"append %s 0 0 1\r\nx\r\n", b"mg %s\r\n", b"mg %s v t\r\n", b"mg %s v N10\r\n",
                 b"mg %s v R10\r\n", b"mg %s v T10\r\n", b"ms %s 1\r\nx\r\n", b"md %s\r\n", b"ma %s\r\n", b"mg %s v h\r\n", b"mg %s k\r\n"):
        yield line.decode(), datagram(line % key)
        yield "hit, then " + line.decode(), datagram(text + line % key)
        yield line.decode() + ", then hit", datagram(line % key + text)
    for line in (b"version\r\n", b"stats\r\n", b"flush_all\r\n", b"bogus\r\n", b"\r\n", b"g", b"get\r\n", b"get " + b"k" * 251 + b"\r\n",
                 b"get " + b"k" * 300 + b" " + key + b"\r\n", text[:-1], text[:-2], text[:4], b"mn\r\n", b"quit\r\n", b"verbosity 1\r\n"):
        yield repr(line), datagram(line)
        yield "hit, then " + repr(line), datagram(text + line)
    for opcode in (0x01, 0x04, 0x05, 0x0A, 0x0B, 0x10, 0x1C, 0x1D, 0x17, 0xFF):
        yield f"binary {opcode:x}", datagram(binary(opcode, key, b"\0" * {1: 8, 5: 20, 0x1C: 4, 0x1D: 4}.get(opcode, 0)))
    yield "quiet hit and noop", datagram(binary(0x09, key) + binary(0x0A))
    yield "binary, cut", datagram(binary(0x00, key)[:-1])
    yield "binary key too long", datagram(binary(0x00, b"k" * 251))
    yield "a part of two", datagram(b"", ident=0)[:42] + b"\0\1\0\0\0\2\0\0" + text
    yield "a second part", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / UDP(sport=9, dport=PORT) / Raw(b"\0\1\0\1\0\2\0\0" + text))
    yield "a reply", datagram(text_value(key, table[key], False))
    yield "no header", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / UDP(sport=9, dport=PORT) / Raw(b"\0\1\0"))
    good = datagram(text)
    for at, what in ((24, "checksum of IP"), (40, "checksum of UDP"), (44, "frame header")):
        bad = bytearray(good)
        bad[at] ^= 0x55
        yield what, bytes(bad)
    for piece in fragment(IP(src=IP_CLIENT, dst=IP_ME) / UDP(sport=9, dport=PORT) / Raw(b"\0\1" + HEADER + b"get " + key + b" " * 100 + b"\r\n"), 40):
        yield "fragment", bytes(Ether(src=CLIENT, dst=ME) / piece)
    yield "other port", datagram(text, dport=11212)
    yield "options", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME, options=b"\1\1\1\1") / UDP(sport=9, dport=PORT) / Raw(b"\0\1" + HEADER + text))
    yield "other host", bytes(Ether(src=CLIENT, dst="02:57:4b:56:00:03") / IP(src=IP_CLIENT, dst=IP_ME) / UDP(sport=9, dport=PORT) / Raw(b"\0\1" + HEADER + text))
    yield "other address", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst="10.77.0.9") / UDP(sport=9, dport=PORT) / Raw(b"\0\1" + HEADER + text))
    yield "tcp", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / TCP(sport=9, dport=PORT, flags="PA") / Raw(text))
    yield "syn", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / TCP(sport=9, dport=PORT, flags="S"))
    yield "arp", bytes(Ether(src=CLIENT, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=CLIENT, psrc=IP_CLIENT, pdst=IP_ME))
    yield "short", good[:30]
    yield "large", bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / UDP(sport=9, dport=9) / Raw(bytes(8950)))


@cocotb.test()
async def others(dut):
    """Everything that is no datagram of plain GETs that all hit reaches the NIC as it was, and is answered by nobody."""
    bench = await begin(dut)
    table = await fill(bench, 1, 10, 20)
    missing = b"missing"
    for what, frame in strange(table, missing):
        got, passed = await bench.answers(frame)
        assert not got and passed == [frame], what
    every = [frame for _, frame in strange(table, missing)]
    random.shuffle(every)
    got, passed = await bench.answers(*every)
    assert not got and passed == every


@cocotb.test()
async def full_wire(dut):
    """Requests, hit or not, and other frames, all in a row, with a NIC and a wire that take what they like: nothing is lost, each
    way has its order. Frames of the NIC go out between the answers."""
    bench = await begin(dut)
    table = await fill(bench, 40, None)
    missing = some_key(20)
    others_ = [frame for _, frame in strange(table, missing)]
    for pause in ((0, 0, 0), (0.5, 0.3, 0.3), (0.3, 0, 0.7)):
        bench.pause = pause
        for _ in range(scale(3, 40)):
            frames, through, want = [], [], []
            for n in range(40):
                if random.random() < 0.5:
                    frames.append(random.choice(others_))
                    through.append(frames[-1])
                else:
                    text, replies = some_gets(table)
                    frames.append(datagram(text, ident=n))
                    want += [(n, *part) for part in parts(replies)]
            own = [random.randbytes(random.choice([60, 61, 64, 65, 500, 1514])) for _ in range(20)]
            bench.up.extend(own)
            at, past = len(bench.sent), len(bench.passed)
            bench.queue.extend(frames)
            await bench.drain()
            sent = [frame for frame, _ in bench.sent[at:]]
            assert [frame for frame, _ in bench.passed[past:]] == through
            assert [frame for frame in sent if frame in own] == own
            assert [payload(frame) for frame in sent if frame not in own] == want
    assert await bench.do(A.InStat, 6) == 0


@cocotb.test()
async def instructions(dut):
    """Each does what the page says: random ones against a model, beside a stream of GETs of the same keys."""
    bench = await begin(dut)
    keys = [some_key() for _ in range(12)]
    table, opened, everything, seen = {}, Counter(), 0, Counter()
    for n in range(scale(300, 4000)):
        key, what = random.choice(keys), random.choice(["put", "put", "inv", "close", "move", "flush", "unflush", "look", "look", "void", "late"])
        free = not opened[key] and not everything
        seen[what, bool(free), key in table] += 1
        if what == "flush" and random.random() < 0.8 or what == "inv" and opened[key] > 3:
            continue
        if what in ("put", "void", "late"):
            assert await bench.key(key) == 1
            assert await bench.do(A.InTicket) == free
            if what == "void" and free:  # a write comes between
                assert await bench.do(A.InInv) == 1 and await bench.do(A.InClose) == 1
                table.pop(key, None)
            entry = some_entry()
            entry.deadline = random.choice([0, 0, 50])
            image = entry.image(key)
            await bench.words(image)
            result = await bench.do(A.InPut, len(image), 255)
            assert result == (free and what != "void"), what
            if result:
                table[key] = entry
        elif what == "inv":
            await bench.key(key)
            assert await bench.do(A.InInv) == 1
            opened[key] += 1
            table.pop(key, None)
        elif what == "close":
            await bench.key(key)
            assert await bench.do(A.InClose) == bool(opened[key])
            opened[key] -= bool(opened[key])
        elif what == "move":
            await bench.key(key)
            assert await bench.do(A.InMove, random.choice([1, 3, 0xFC, 255])) in ([1] if key in table else [0])
        elif what == "flush":
            assert await bench.do(A.InFlush, 0) == 1
            everything += 1
            table.clear()
            await clocks(dut, LINES // 8 + 50)  # so long nothing is put
        elif what == "unflush":
            assert await bench.do(A.InFlush, 1) == bool(everything)
            everything -= bool(everything)
        seconds = random.choice([10, 49, 50, 51])
        bench.pins.seconds_i.value = seconds
        await clocks(dut, 2)
        got, passed = await bench.answers(datagram(b"get " + key + b"\r\n", ident=n & 0xFFFF))
        there = key in table and not opened[key] and not everything and not (table[key].deadline and table[key].deadline <= seconds)
        assert len(passed) == (not there)
        assert [part[3] for part in got] == [part[2] for part in parts([text_value(key, table[key], False) + b"END\r\n"] if there else [])]
    assert len(seen) >= 24, seen
    # All lines are free again once all is out.
    assert await bench.do(A.InReset) == 0
    await clocks(dut, 2 * 16384 + 100)
    assert await bench.do(A.InStat, 0) >= LINES - 2


@cocotb.test()
async def flushes(dut):
    """All is forgotten, and other entries take the lines, while a wire that takes nothing has answers wait: these are right."""
    bench = await begin(dut)
    for _ in range(scale(6, 60)):
        table = await fill(bench, 20, 1000, 30)
        keys = list(table)
        bench.pause = (0, 0, 1)
        at, past = len(bench.sent), len(bench.passed)
        asked = [random.choice(keys) for _ in range(200)]
        bench.queue.extend(datagram(b"get " + key + b"\r\n", ident=n) for n, key in enumerate(asked))
        await clocks(dut, random.randrange(900))
        if random.random() < 0.5:
            assert await bench.do(A.InFlush, 0) == 1 and await bench.do(A.InFlush, 1) == 1
            await clocks(dut, LINES // 8 + 50)
        else:
            for key in keys:
                await bench.key(key)
                assert await bench.do(A.InInv) == 1 and await bench.do(A.InClose) == 1
        assert await fill(bench, 20, 1000, 31)
        bench.pause = (0, 0, 0.2)
        await bench.drain()
        answered = {}
        for frame, _ in bench.sent[at:]:
            ident, *part = payload(frame)
            answered.setdefault(ident, []).append(tuple(part))
        assert answered and len(answered) + len(bench.passed) - past == 200
        for n, got in answered.items():
            assert got == list(parts([text_value(asked[n], table[asked[n]], False) + b"END\r\n"]))
    assert await bench.do(A.InFlush, 0) == 1 and await bench.do(A.InFlush, 1) == 1
    await clocks(dut, LINES + 100)
    assert await bench.do(A.InStat, 0) >= LINES - 2


@cocotb.test()
async def refuses(dut):
    """What is no entry, no key, or has no ticket is refused; what does not fit waits for nobody; nothing of it is left."""
    bench = await begin(dut)
    free = await bench.do(A.InStat, 0)
    entry, key = Entry(b"v" * 100, 7, 9), b"key"
    assert await bench.do(A.InTicket) == 0 and await bench.do(A.InInv) == 0 and await bench.do(A.InMove, 1) == 0
    assert await bench.do(A.InKey, 3) == 0  # nothing was passed
    await bench.words(key)
    assert await bench.do(A.InKey, 65) == 0
    await bench.words(b"k" * 256)
    assert await bench.do(A.InKey, 251) == 0
    await bench.words(b"k" * 2000)
    assert await bench.do(A.InKey, 250) == 0
    assert await bench.do(A.InTicket) == 0
    for text, length in ((entry.image(key)[:-1], 122), (entry.image(key), 122), (entry.image(key), 124), (entry.image(b""), 120),
                         (Entry(b"v" * 1025).image(key), 1048), (b"", 0), (entry.image(key) * 20, 123), (entry.image(key), 0x80000000 + 123)):
        assert await bench.key(key) == 1 and await bench.do(A.InTicket) == 1
        await bench.words(text)
        assert await bench.do(A.InPut, length, 255) == 0, (len(text), length)
    assert await bench.put(key, entry, ways=0) == 0
    # A write comes between.
    assert await bench.key(key) == 1 and await bench.do(A.InTicket) == 1
    assert await bench.do(A.InInv) == 1 and await bench.do(A.InClose) == 1
    await bench.words(entry.image(key))
    assert await bench.do(A.InPut, 123, 255) == 0
    assert await bench.put(key, entry, ticket=False) == 0
    got, passed = await bench.answers(datagram(b"get key\r\n"))
    assert not got and await bench.do(A.InStat, 0) == free
    assert await bench.put(key, entry) == 1
    # A ticket is used up.
    await bench.words(entry.image(key))
    assert await bench.do(A.InPut, 123, 255) == 0
    got, passed = await bench.answers(datagram(b"get key\r\n"))
    assert not passed and got[0][3] == text_value(key, entry, False) + b"END\r\n"
    # 21 lines each, until there are no more; then what is dropped makes room.
    count = 0
    while await bench.put(b"%d" % count + b"x" * 240, Entry(b"v" * 1024)) == 1:
        count += 1
    assert count > LINES // 22 and await bench.do(A.InStat, 0) < 21
    dropped = 0
    for place in range(LINES // 8):
        dropped += await bench.do(A.InDrop, place, 1 << random.randrange(8))
    assert dropped and await bench.put(b"after", Entry(b"v" * 1024)) == 1
    assert await bench.do(A.InDrop, 5, 0) == 0
    # As many writes of a key as its count has places for; then one more is not open.
    assert await bench.key(key) == 1
    assert [await bench.do(A.InInv) for _ in range(256)] == [1] * 255 + [0]
    assert [await bench.do(A.InClose) for _ in range(256)] == [1] * 255 + [0]


@cocotb.test()
async def candidates(dut):
    """A key becomes one when it is asked for so often, hit or miss, whatever its length, and once."""
    bench = await begin(dut)
    assert await bench.candidate() is None
    keys = [some_key(length) for length in (1, 4, 63, 64, 65, 128, 129, 250)]
    assert await bench.do(A.InHot, 3) == 0
    for n in range(4):
        for key in keys:
            await bench.answers(datagram(b"get " + key + b"\r\n"))
        got = [await bench.candidate() for _ in range(len(keys) + 1)] if n == 2 else [await bench.candidate()]
        assert got == (keys + [None] if n == 2 else [None]), n
    # More than there is room for are lost, whole, and counted.
    many = [some_key(240) for _ in range(20)]
    for _ in range(3):
        for key in many:
            await bench.answers(datagram(b"get " + key + b"\r\n"))
    lost = await bench.do(A.InStat, 3)
    got = [await bench.candidate() for _ in range(20 - lost + 1)]
    assert lost and got == many[: 20 - lost] + [None]
    # One that was begun is gone after a reset, and the next one is whole.
    more = [some_key(130), some_key(70)]
    for _ in range(3):
        for key in more:
            await bench.answers(datagram(b"get " + key + b"\r\n"))
    assert await bench.do(A.InTake) == 130
    await bench.do(A.InTake)
    assert await bench.do(A.InReset) == 0
    assert await bench.candidate() == more[1] and await bench.candidate() is None


@cocotb.test()
async def busy(dut):
    """Entries come and go, and candidates are taken, among GETs at full speed, with keys of several beats on both sides: no line
    is lost, each candidate is whole, each GET has its answer."""
    bench = await begin(dut)
    free = await bench.do(A.InStat, 0)
    table = await fill(bench, 8, 30, 12)
    keys, other = list(table), some_key(130)
    assert await bench.do(A.InHot, 1) == 0
    unknown = [some_key(240) for _ in range(scale(200, 2000))]
    asked = []

    async def feed():
        left = iter(unknown)
        while True:
            await NEXT_CLOCK
            while len(bench.queue) < 20:
                missing = next(left, None)
                if missing is None:
                    return
                for _ in range(random.randint(1, 20)):
                    asked.append(random.choice(keys))
                    bench.queue.append(datagram(b"get " + asked[-1] + b"\r\n", ident=len(asked)))
                bench.queue.append(datagram(b"get " + missing + b"\r\n"))

    every_clock(dut, feed())
    await clocks(dut, 5)
    got = []
    while bench.queue:
        if random.random() < 0.7:
            assert await bench.put(other, some_entry(30)) == 1 and await bench.do(A.InTicket) == 1
            assert await bench.do(A.InInv) == 1 and await bench.do(A.InClose) == 1
            # Its ticket is void, so its lines become free.
            late = some_entry(30).image(other)
            await bench.words(late)
            assert await bench.do(A.InPut, len(late), 255) == 0
        else:  # its queue is full most of the time
            got += filter(None, [await bench.candidate()])
    await bench.drain()
    got_idents = [payload(frame)[0] for frame, _ in bench.sent]
    assert got_idents == sorted(set(got_idents)) and len(bench.passed) == len(unknown) + len(asked) - len(got_idents)
    for frame, _ in bench.sent:
        ident, *_, text = payload(frame)
        assert text == text_value(asked[ident - 1], table[asked[ident - 1]], False) + b"END\r\n"
    assert await bench.do(A.InStat, 6) == 0
    while candidate := await bench.candidate():
        got.append(candidate)
    lost = await bench.do(A.InStat, 3)
    assert set(got) <= {*unknown, *keys} and len(set(got)) == len(got) and lost and len(got) + lost <= len(unknown) + len(keys)
    for key in keys:
        await bench.key(key)
        assert await bench.do(A.InInv) == 1 and await bench.do(A.InClose) == 1
    await clocks(dut, 100)
    assert await bench.do(A.InStat, 0) == free


@cocotb.test()
async def long_keys(dut):
    """Keys of several beats, on both sides at once, are told apart."""
    bench = await begin(dut)
    table = await fill(bench, 4, 30, 200)
    keys, other = list(table), some_key(250)
    assert await bench.put(other, some_entry(30)) == 1
    asked = []

    async def feed():
        while len(asked) < scale(100, 3000):
            await NEXT_CLOCK
            if not bench.queue and len(bench.sent) > len(asked) - random.randint(1, 4):
                asked.append(random.choice(keys))
                bench.queue.append(datagram(b"get " + asked[-1] + b"\r\n"))

    every_clock(dut, feed())
    while len(bench.sent) + len(bench.passed) < scale(100, 3000):
        assert await bench.key(other) == 1 and await bench.do(A.InMove, 255) == 1
        assert not bench.passed
    assert [payload(frame)[3] for frame, _ in bench.sent] == [text_value(key, table[key], False) + b"END\r\n" for key in asked]


@cocotb.test()
async def slow_requests(dut):
    """A full wire of requests that are read byte by byte, of hits and of large frames: nothing is lost, each way has its order, what
    is answered does not pass, what passes is not answered, and once it is over all hits are answered again."""
    bench = await begin(dut)
    table = await fill(bench, 6, 30, 12)
    keys = list(table)
    slow = b"".join(b"get " + key + b"\r\n" for key in keys) + b"bogus " * 60 + b"\r\n"
    for _ in range(scale(6, 60)):
        frames, weights = [], random.choice([(1, 0, 0), (1, 4, 0), (1, 1, 1), (0, 1, 0), (1, 0, 3), (2, 8, 1)])
        while sum(map(len, frames)) < 100_000:
            kind = random.choices(["slow", "hit", "large"], weights)[0]
            n = len(frames)
            frames.append({"slow": lambda: datagram(slow[random.randrange(20) :], ident=n), "hit": lambda: datagram(b"get " + random.choice(keys) + b"\r\n", ident=n),
                           "large": lambda: random.randbytes(random.choice([1514, 9018]))}[kind]())
        got, passed = await bench.answers(*frames)
        idents = [ident for ident, *_ in got]
        assert idents == sorted(set(idents))
        want = [frame for n, frame in enumerate(frames) if n not in set(idents)]
        assert passed == want
        if weights == (0, 1, 0):
            assert len(idents) > len(frames) * 0.4
        got, passed = await bench.answers(*[datagram(b"get " + key + b"\r\n") for key in keys])
        assert not passed and len(got) == len(keys)
    assert await bench.do(A.InStat, 6) == 0


@cocotb.test()
async def stuck_nic(dut):
    """A NIC that takes nothing keeps no request from being answered."""
    bench = await begin(dut)
    table = await fill(bench, 4, 30, 12)
    bench.pause = (0, 1, 0)
    bench.queue.extend(random.randbytes(1514) for _ in range(40))
    await clocks(dut, 2000)
    keys = list(table)
    bench.queue.extend(datagram(b"get " + keys[n % 4] + b"\r\n", ident=n) for n in range(200))
    await clocks(dut, 3000)
    assert len(bench.sent) == 200 and await bench.do(A.InStat, 6) > 0


@cocotb.test()
async def core_is_reset(dut):
    """At any clock of any instruction: those that come later do what they say."""
    bench = await begin(dut)
    p = bench.pins
    for n in range(scale(60, 1000)):
        key, entry = some_key(), some_entry(random.choice([0, 40, 300]))
        until_reset = random.randrange(1, 140)

        async def watchdog(clock=until_reset):
            for _ in range(clock):
                await NEXT_CLOCK
            p.core_rst_i.value = 1
            p.cmd_valid_i.value = p.rsp_ready_i.value = 0
            for _ in range(3):
                await NEXT_CLOCK
            p.core_rst_i.value = 0

        async def commands():
            """A core that knows nothing of the results."""
            text = key.ljust(-(-len(key) // 8) * 8) + b""
            todo = [(A.InWord, *struct.unpack_from("<II", text, at)) for at in range(0, len(text), 8)]
            todo += [(A.InKey, len(key), 0), (A.InTicket, 0, 0), (A.InInv, 0, 0), (A.InFlush, 0, 0)][: random.randint(1, 4)]
            for op, a, b in todo:
                p.cmd_function_i.value, p.cmd_a_i.value, p.cmd_b_i.value, p.cmd_valid_i.value = op << 3, a, b, 1
                p.rsp_ready_i.value = 1
                for _ in range(60):
                    await NEXT_CLOCK
                    if p.core_rst_i.value:
                        return
                    if p.cmd_ready_o.value:
                        p.cmd_valid_i.value = 0
                    if p.rsp_valid_o.value:
                        p.rsp_ready_i.value = 0
                        break

        every_clock(dut, commands())
        every_clock(dut, watchdog())
        await clocks(dut, until_reset + 10)
        p.cmd_valid_i.value = p.rsp_ready_i.value = 0
        await clocks(dut, 60)
        assert not p.rsp_valid_o.value
        assert await bench.do(A.InReset) == 0
        if n % 20 == 0:
            await clocks(dut, 2 * 16384 + 100)
            assert await bench.put(key, entry) == 1
            got, passed = await bench.answers(datagram(b"get " + key + b"\r\n"))
            assert not passed and b"".join(part[3] for part in got) == text_value(key, entry, False) + b"END\r\n"


@cocotb.test()
async def off(dut):
    """Without it, all passes."""
    bench = await begin(dut)
    table = await fill(bench, 3, 20)
    bench.pins.enable_i.value = 0
    frames = [datagram(b"get " + key + b"\r\n") for key in table]
    got, passed = await bench.answers(*frames)
    assert not got and passed == frames


@cocotb.test()
async def speed(dut):
    """Hits of frames of 64 bytes at least .48 a clock; a frame that passes is at most 48 clocks late."""
    bench = await begin(dut)
    table = {}
    for n in range(8):
        key = b"k%d" % n
        table[key] = Entry(b"0123456789abcdef"[: n + 1], 0, n)
        assert await bench.put(key, table[key]) == 1
    frames = [datagram(b"get k%d\r\n" % (n % 8), ident=n) for n in range(600)]
    assert all(len(frame) <= 64 for frame in frames)
    got, passed = await bench.answers(*frames)
    assert len(got) == 600 - len(passed)
    times = [clock for _, clock in bench.sent]
    rate = (len(times) - 101) / (times[-1] - times[100])
    dut._log.info(f"{rate:.3f} hits a clock, first after {times[0] - bench.ends[0]} clocks, {len(passed)} of 600 passed")
    assert rate >= 0.48
    alone = []
    for frame in (datagram(b"get k1\r\n"), datagram(b"get none\r\n"), datagram(b"set k 0 0 1\r\nx\r\n"), bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME) / TCP(dport=80) / Raw(b"x" * 1000))):
        at, through, ended = len(bench.sent), len(bench.passed), len(bench.ends)
        await bench.answers(frame)
        out = bench.sent[at:] or bench.passed[through:]
        alone.append(out[0][1] - bench.ends[ended])
    dut._log.info(f"clocks from its last beat: a hit {alone[0]}, a miss {alone[1]}, a set {alone[2]}, TCP {alone[3]}")
    assert alone[0] <= 74 and max(alone[1:]) <= 48


def test_aside():
    run(__file__, "aside", ["rtl/lib/lib.f", "rtl/aside/aside.f"], Lines=LINES)
