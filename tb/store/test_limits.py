"""The store at its limits: keys that collide, seconds, epochs, laps, numbers, what is evicted."""

import itertools
import random

import pytest

from harness.size import scale
from harness.streams import from_beats
from harness.structs import T
from store.hash_model import hash64
from store.store_bench import Bench, do, get, put


def test_collisions(small):
    """Keys with the same hash, in the same buckets: those that only differ in their last byte, and
    those that another item's key and value begin with."""
    bench = Bench(small)
    # A sum of products with 0, so that the length alone makes the hash, and a tag of 0 for all.
    bench.use_keys([0] * 32, [1, 1])
    for size in [*range(2, 8), *range(12, 18), *range(28, 65)]:
        head = (bytes(size - 1) if size > 32 else random.randbytes(size - 1))
        keys = [head + bytes([n]) for n in range(3)]
        do(bench, put(keys[0], keys[1][-1:] + b"+"))
        do(bench, get(keys[0]), get(keys[1]), get(keys[0][:-1]), get(keys[0] + keys[1][-1:]))
        do(bench, put(keys[1], b"b"), get(keys[0]), get(keys[1]), get(keys[2]))
        do(bench, {"op": T.OpDelete, "_key": keys[0]}, get(keys[0]), get(keys[1]))
        do(bench, {"op": T.OpDelete, "_key": keys[1]}, get(keys[1]))
    assert bench.lost == bench.misses_by_age == 0


def test_databases(small):
    """A key is another one in another database, whatever is done to it there."""
    bench = Bench(small)

    def each(key, dbs, *records):
        for db in dbs:
            do(bench, *({**record, "db": db} for record in records))

    for key in (b"key", b"k" * 64, b"k" * 130):
        every = random.sample(range(16), 16)
        for db in every:
            each(key, [db], put(key, random.randbytes(random.choice([5, 100]))))
        each(key, every, get(key))
        each(key, [3, 9], {"op": T.OpDelete, "_key": key})
        each(key, every, get(key))
        each(key, [0, 3, 15], {"op": T.OpAppend, "_key": key, "_value": b"more"}, get(key))
        each(key, [2], put(key, b"41"))
        each(key, [1, 2, 3], {"op": T.OpIncr, "_key": key, "num": 1})
        each(key, every, get(key))
    assert bench.lost == bench.misses_by_age == 0


def test_clock(small):
    """Items end with the millisecond that they name; a delayed flush when the second before its time begins,
    and again as it ends."""
    bench = Bench(small)
    now = bench.model.now
    do(bench, put(b"set", b"1", expiry=now + 2), put(b"touch", b"2", expiry=now + 1),
       {"op": T.OpTouch, "_key": b"touch", "expiry": now + 3}, put(b"ever", b"3"))
    for _ in range(5):
        do(bench, get(b"set"), get(b"touch"), get(b"ever"))
        bench.sleep(1)
    now = bench.model.now
    do(bench, {"op": T.OpFlush, "expiry": now + 4000}, put(b"a", b"1"))
    for ms in (1000, 1999):
        bench.sleep(ms)
        do(bench, get(b"a"), get(b"ever"))
    # memcached empties the store as the second before begins, and of what is stored within it.
    bench.sleep(1)
    bench.model.items.clear()
    do(bench, get(b"a"), get(b"ever"), put(b"b", b"2"), get(b"b"))
    bench.sleep(999)
    do(bench, get(b"b"))
    bench.sleep(1)
    bench.model.items.clear()
    do(bench, get(b"b"), put(b"c", b"3"), get(b"c"))
    bench.sleep(5000)
    do(bench, get(b"c"))
    # One that is past calls a pending one off.
    do(bench, {"op": T.OpFlush, "expiry": bench.model.now + 2000}, {"op": T.OpFlush, "expiry": 1})
    bench.sleep(5000)
    do(bench, get(b"c"))


def test_flushes(tiny):
    """What was flushed does not come back: into emptied buckets, or after many flushes."""
    bench = Bench(tiny)
    names = [b"key%d" % i for i in range(100)]
    do(bench, *(put(name, b"old") for name in names[:50]))
    do(bench, {"op": T.OpFlush, "expiry": 0}, *(put(name, b"new") for name in names[50:]))
    do(bench, *map(get, names))
    for _ in range(64):
        do(bench, *[{"op": T.OpFlush, "expiry": 0}] * 4)
    do(bench, *map(get, names))
    assert bench.counts()["Flushes"] == 257


def test_numbers(small):
    """incr and decr of all that is around a limit."""
    bench = Bench(small)
    values = [b"%d" % (n + d) for n in (1, 10, 1 << 32, 1 << 63, 1 << 64, 10**19, 10**20)
              for d in (-1, 0, 1)]
    values += [b"-" + value for value in values]
    for value in values:
        for op in (T.OpIncr, T.OpDecr):
            do(bench, put(b"n", value, flags=7), {"op": op, "_key": b"n", "num": 1}, get(b"n"),
               {"op": op, "_key": b"n", "num": (1 << 64) - 1}, get(b"n"))


def test_digits(small):
    """Sums of numbers of all lengths, with nines and zeros in a row: what carries, and how far."""
    bench = Bench(small)

    def number():
        return int("".join(random.choice("9990001234567") for _ in range(random.randrange(1, 20))))

    for n in range(300):
        value, num = number(), random.choice((1, random.randrange(10), number()))
        op = random.choice((T.OpIncr, T.OpDecr))
        key = b"k" * random.randrange(1, 60)
        do(bench, put(key, random.choice((b"", b"0", b" ")) + b"%d" % value + b" " * random.randrange(3), flags=7),
           {"op": op, "_key": key, "num": num}, get(key))


@pytest.mark.parametrize("mem_pause", [0, 200])
def test_added(small, mem_pause):
    """Numbers of up to ten digits and a little more, some with blanks behind, in values that end anywhere in a line, behind
    keys of digits; right behind one another, and before what reads, deletes or stores their keys."""
    bench = Bench(small, random.choice((0, 0.2)), random.choice((0, 0.2)), mem_pause=mem_pause)
    edges = [10**n + d for n in range(12) for d in (-1, 0, 1)]
    near = 9, 10, 255, 256, 65535, 65536

    def value():
        number = random.choice((random.choice(edges), random.randrange(10 ** random.randrange(1, 12))))
        return random.choice((b"", b"", b"", b"0")) + b"%d" % number + random.choice((b"", b"", b" ", b"  ", b"\0", b"x"))

    def count(key):
        return {"op": random.choice((T.OpIncr, T.OpDecr)), "_key": key,
                "num": random.choice((0, 1, 1, *near, random.randrange(1 << random.randrange(1, 40))))}

    for n in range(250):
        keys = [b"7" * random.randrange(1, random.choice((3, 40, 251))) for _ in range(3)]
        bench.job([put(key, value(), flags=random.choice((0, 7))) for key in keys], n % 8)
        bench.job([r for _ in range(6) for key in [random.choice(keys)] for r in (count(key), random.choice((
            count(key), get(key), count(random.choice(keys)), get(random.choice(keys)), put(key, value()),
            {"op": T.OpTouch, "_key": key, "expiry": 0}, {"op": T.OpDelete, "_key": key},
            {"op": T.OpAppend, "_key": key, "_value": b"1"})))], n % 8)
        bench.job([get(key) for key in keys], n % 8)
        bench.room(8)
    bench.idle()
    counts = bench.counts()
    assert counts["IncrHits"] > 500 and counts["DecrHits"] > 500 and bench.lost == bench.misses_by_age == 0


@pytest.mark.parametrize("mem_pause", [0, 200])
def test_appended(small, mem_pause):
    """Bytes behind and in front of values, both of up to 255 and a little more, behind keys of all lengths; right behind
    one another, among what reads, counts, deletes or stores these keys, up to the largest item."""
    bench = Bench(small, random.choice((0, 0.2)), random.choice((0, 0.2)), 30, 30, mem_pause=mem_pause)
    edges = [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 254, 255, 256, 257]

    def length():
        return random.choice((random.choice(edges), random.randrange(20), random.randrange(300)))

    def extend(key):
        return {"op": random.choice((T.OpAppend, T.OpPrepend)), "_key": key, "_value": random.randbytes(length()),
                "flags": 3, "expiry": 5, "noreply": random.randrange(2)}

    for n in range(250):
        if n % 5 == 0:
            bench.room(0)
            bench.limit(random.choice((60_000, 60_000, random.randrange(500, 700))))
        keys = [b"k" * random.randrange(1, random.choice((3, 40, 251))) for _ in range(4)]
        bench.job([put(key, random.randbytes(length()), flags=random.choice((0, 7)),
                       expiry=random.choice((0, bench.model.now + 99))) for key in keys[:3]], n % 8)
        bench.job([r for _ in range(6) for key in [random.choice(keys)] for r in (extend(key), random.choice((
            extend(random.choice(keys)), extend(random.choice(keys)), get(key), get(random.choice(keys)),
            put(key, b"1"), {"op": T.OpIncr, "_key": key, "num": 1}, {"op": T.OpDelete, "_key": key},
            put(key, b"%d" % n))), {"op": T.OpIncr, "_key": random.choice(keys), "num": 1})], n % 8)
        bench.job([get(key) for key in keys], n % 8)
        bench.room(8)
    bench.idle()
    assert bench.counts()["Stored"] > 1000 and bench.lost == 0


def test_appended_falls_out(tiny):
    """Something is appended to short values to which the log comes meanwhile: it waits for who reads, and those behind
    store what moves its head. They are whole, or not there."""
    bench = Bench(tiny, 0, 0, 40, 20, 10)
    bench.limit(30_000)
    bench.allow_evict = True
    names = [b"key%d" % n for n in range(24)]
    for _ in range(scale(60, 600)):
        for m in range(0, len(names), 4):
            bench.job([put(key, random.randbytes(random.choice((10, 200, 300)))) for key in names[m : m + 4]])
        bench.job([put(b"other", random.randbytes(random.choice((100, 2000, 5000)))) for _ in range(2)])
        for _ in range(random.randrange(2, 8)):
            bench.job([put(b"long", bytes(7000))])
        bench.job([put(b"here", b"1")])
        bench.room(0)
        bench.chunk.pause = 0.95
        bench.job([get(b"long"), *[get(b"here")] * random.choice((0, 30))], 1)
        bench.job([{"op": random.choice((T.OpAppend, T.OpPrepend)), "_key": key,
                    "_value": random.randbytes(random.randrange(1, 100))} for key in random.sample(names, 6)], 2)
        for n in range(4):
            bench.job([put(b"other", bytes(random.choice((1000, 7000))))], 3 + n)
        for _ in range(random.randrange(800)):
            bench.tick()
        bench.chunk.pause = 0
        for m in range(0, len(names), 4):
            bench.job([get(key) for key in names[m : m + 4]], 4)
        bench.room(0)
    counts = bench.counts()
    assert counts["GetMisses"] > 100 and counts["GetHits"] > 100


def test_appended_reader_full(small):
    """The reader has as many jobs as it takes, or one less, when an append wants to read."""
    bench = Bench(small)
    names = [b"key%d" % n for n in range(40)]
    for key in names:
        bench.job([put(key, b"1")])
        bench.room(8)
    for size, jobs in itertools.product((1, 1, 1, 300), range(30, 38)):
        bench.job([put(b"here", random.randbytes(size))])
        bench.room(0)
        bench.chunk.pause = 1
        bench.job([*map(get, names[:jobs])], 1)
        bench.job([{"op": T.OpAppend, "_key": b"here", "_value": b"more"}, get(b"here")], 2)
        for _ in range(400):
            bench.tick()
        bench.chunk.pause = 0
        bench.room(0)
    assert bench.misses_by_age == bench.lost == 0


def test_long_numbers(small):
    """A number in a long value, that ends about where it must. A value of less than 64 bytes keeps its length, a longer
    one becomes as short as the number."""
    bench = Bench(small)
    lengths = (62, 63, 64, 65, 66, 127, 128, 129, 1000, 4000, 8190, 8191, 8192, 8193, 20000)
    for length in lengths:
        for key in (b"n", b"k" * random.randrange(1, 251)):
            for behind in (b" ", b"\0", b"x", b"0"):
                end = random.choice((1, 20, 62, 63, 64, 65, 66, length))
                number = b"%d" % random.getrandbits(8 * random.randrange(1, 8))
                first = random.choice((b" ", b"0")) * (end - len(number)) + number
                value = (first + behind + random.choice((b" ", b"v")) * length)[:length]
                for op in (T.OpIncr, T.OpDecr):
                    do(bench, put(key, value, flags=7), {"op": op, "_key": key, "num": 7}, get(key),
                       {"op": op, "_key": key, "num": 1 << 60}, get(key))


def test_host(small):
    """Texts for the host, of all lengths."""
    bench = Bench(small, 0.2, 0.2)
    texts = [random.randbytes(n) for n in (1, 63, 64, 65, 127, 128, 129, 192, 193, 249, 250)]
    for n, text in enumerate(texts):
        bench.job([put(b"k", b"v"), {"op": T.OpHost, "_key": text}], n)
    bench.idle()
    assert [(h["conn"], h["udp"], h["len"]) for h in bench.hreq.items] == \
        [(n, 0, len(text)) for n, text in enumerate(texts)]
    beats = [{**b, "data": b["data"] & (1 << 8 * b["len"]) - 1} for b in bench.hkey.items]
    assert from_beats(beats) == texts


def test_room(small):
    """Replies of all kinds never take more room than there is: the job is cut before."""
    bench = Bench(small)
    for space in (600, 700, 1000, 2048, 5000):
        do(bench, put(b"k" * 250, bytes(100), flags=0xFFFFFFFF), put(b"n", b"1" * 20))
        for reply in (T.RpBadDelete, T.RpError):
            bench.job([{"op": T.OpReply, "reply": reply}] * 90, 1, 0, space)
        bench.job([{**get(b"k" * 250), "cas_out": 1}] * 30, 1, 0, space)
        bench.job([{"op": T.OpIncr, "_key": b"n", "num": 1}] * 30, 1, 0, space)
        bench.job([put(b"n", b"2")] * 30 + [get(b"n")] * 30, 1, 0, space)
        bench.job([{"op": T.OpIncr, "_key": b"k" * 250, "num": 1}] * 30, 1, 0, space)
        # Values that say little, one right behind the other, and longer ones between them.
        do(bench, put(b"s", b"tiny"), put(b"m", bytes(random.randrange(500, 3000))))
        bench.job([get(b"s")] * 200, 1, 0, space)
        bench.job([get(random.choice((b"s", b"s", b"s", b"m"))) for _ in range(100)], 1, 0, space)
        bench.idle()
    assert bench.cuts >= 20
    # Where two values in a row take what is left, as much of them as fits.
    do(bench, put(b"v", bytes(1500)))
    for space in range(1100, 7000, 300):
        bench.job([get(b"v")] * 10, 1, 0, space)
    # A value that is cut where it is not known yet what the one before has left.
    do(bench, put(b"w", bytes(950)), put(b"l", bytes(7000)))
    for space in range(2600, 5200, 200):
        bench.job([get(b"w"), get(b"w"), get(b"l")], 1, 0, space)
    bench.idle()


def test_data_late(small):
    """A record comes before its item's data: what is behind it sees them all the same."""
    bench = Bench(small)
    bench.putb.pause = 0.9
    for size in random.sample(range(3000), 30):
        key = b"key%d" % (size % 3)
        do(bench, get(key), put(key, random.randbytes(size)), get(key))


def test_back_to_back(small):
    """Sets and gets of one key right behind each other; and of a key whose last set lookup cannot
    know of, because another key's has taken its place in the table of recent sets."""
    bench = Bench(small, latency=200)
    value = lambda: random.randbytes(random.choice([4, 100]))  # noqa: E731
    for _ in range(10):
        do(bench, *(random.choice([put(b"key", value()), get(b"key")]) for _ in range(12)))
    assert bench.counts()["Slow"] == 0
    seen = {}
    for n in range(10**6):
        key = b"%d" % n
        other = seen.setdefault(hash64(key, bench.nh, bench.mix) >> 27 & 511, key)
        if other != key:
            break
    for _ in range(20):
        do(bench, put(key, value()), put(other, value()), get(key), put(key, value()), get(key),
           put(other, value()), put(key, value()), get(other), get(key), put(other), put(key, value()))
    assert bench.lost == bench.misses_by_age == 0


def test_evicts_unused(tiny):
    """A full index: what is read stays, what is not read goes."""
    bench = Bench(tiny)
    bench.allow_evict = True
    cold = iter(range(10**6))

    def fill(n):
        for _ in range(n // 10):
            do(bench, *(put(b"cold%d" % next(cold)) for _ in range(10)))

    fill(300)
    hot = [b"hot%d" % i for i in range(20)]
    for key in hot:
        do(bench, put(key))
        for _ in range(3):
            do(bench, get(key))
    fill(400)
    assert bench.counts()["Evictions"] > 400
    do(bench, *map(get, hot))
    assert bench.lost == bench.misses_by_age == 0


def test_old_ways(make):
    """A key's way that nobody has cleared for 255 laps: its lap is the present one's lower byte, and in its
    place is an item of that key, which was deleted."""
    bench = Bench(make(4, 64))
    bench.use_keys([0] * 32, [1, 1])
    # Four items a lap; one with another length of its key is in other buckets.
    item = lambda key: put(key, bytes(1008 - len(key)))  # noqa: E731
    do(bench, item(b"one"), item(b"two"))
    for _ in range(4 * 255 - 2):
        do(bench, item(b"filler"))
    do(bench, item(b"two"), item(b"two"), {"op": T.OpDelete, "_key": b"two"}, get(b"two"))
    assert bench.lap == 257 and bench.lost == 0


def test_renewed(make):
    """Who is replaced again and again stays: with his way, his bucket is renewed."""
    bench = Bench(make(4, 64))
    while bench.lap < 200:
        do(bench, get(b"key"), put(b"key", b"value"), put(b"filler", bytes(1000)))
    assert bench.lost == bench.misses_by_age == 0


def test_epochs(make):
    """Everything that writes ways, in buckets of this epoch, of the one before, and of older ones."""
    bench = Bench(make(4, 64))
    bench.allow_evict = True
    keys = [b"key%d" % i for i in range(60)]

    def some(n):
        for _ in range(n):
            key = random.choice(keys)
            yield random.choice([
                put(key, b"%d" % random.randrange(1000)), get(key), {"op": T.OpAdd, "_key": key, "_value": b"7"},
                {"op": T.OpIncr, "_key": key, "num": 1}, {"op": T.OpDelete, "_key": key},
                {"op": T.OpAppend, "_key": key, "_value": b"0"}])

    while bench.lap < 210:
        do(bench, *some(8))
        # A few laps at once.
        for _ in range(random.choice([0, 0, 0, 6, 40])):
            do(bench, put(b"filler", bytes(1500)))
        if random.random() < 0.02:
            do(bench, {"op": T.OpFlush, "expiry": 0})
    assert bench.results > 500


def test_lap_numbers(make):
    """A log of 4 KiB, until its lap number has more than 8 bits: nothing gets lost on the way."""
    bench = Bench(make(4, 64))
    keys = [b"key%d" % i for i in range(4)]
    while bench.lap < 300:
        do(bench, *(record for key in random.choices(keys, k=2) for record in (
            put(key, random.randbytes(random.randrange(300, 1400))), get(key), get(keys[0]))))
    assert bench.counts()["Laps"] == 298 and bench.lost == 0


def test_lap_numbers_given_up(make):
    """Memory fails four laps before the one whose low byte is 0, which no item has: nothing that was given up is seen
    again, and what is stored afterwards is."""
    bench = Bench(make(14, 1024))
    bench.gives_up = True
    keys = [b"key%d" % i for i in range(4)]
    passed = 0
    for turn in range(4):
        # Such a failure is four laps on.
        while bench.lap % 256 != 252:
            do(bench, *(put(b"filler", bytes(1000)) for _ in range(8)))
        do(bench, *(put(key, random.randbytes(20)) for key in keys))
        before = bench.lap
        # Buckets are lost one by one, until there are more than memory's bad lines are kept of.
        bench.sim.bad_writes_i.set(0xFFFFFFFF)
        for n in itertools.count():
            do(bench, put(b"%d.%d" % (turn, n)))
            if bench.lap != before:
                break
        bench.sim.bad_writes_i.set(0)
        for _ in range(100):
            bench.tick()
        do(bench, *map(get, keys))
        lost = bench.lost + bench.misses_by_age
        do(bench, put(keys[1], b"is found"), get(keys[1]))
        assert bench.lost + bench.misses_by_age == lost
        passed += (before % 256, bench.lap % 256) == (252, 1)
    assert passed > 2
