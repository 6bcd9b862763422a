"""What memory refuses, a read or a write: what stood in that line is gone, and nothing else, of up to 64 lines at a time;
nobody gets other bytes, or an older state than was left."""

import random

import pytest

from harness.streams import to_beats
from harness.structs import T
from store.hash_model import hash64
from store.jobs import random_jobs, random_key
from store.log_walk import LogWalk
from store.sim import Sim
from store.store_bench import EXTENDS, Bench

INDEX, LOG = (0, 1), (2, 3)
#: Lines of the log that its cache holds.
CACHED = 2 * 1024 * 8


@pytest.fixture
def bench(seed):
    """More buckets and lines of log than the caches hold."""
    sim = Sim(seed, 14, 200_000)
    bench = Bench(sim)
    bench.allow_evict = bench.gives_up = True
    yield bench
    sim.close()


def refuse(bench, what, ports, chance=65535):
    getattr(bench.sim, what).set(sum(chance << 16 * p for p in ports))


def store(bench, names, value=lambda name: b"value of " + name, **fields):
    for n in range(0, len(names), 4):
        bench.job([{"op": T.OpSet, "_key": k, "_value": value(k), **fields} for k in names[n : n + 4]])
        bench.room(4)
    bench.idle()


def get(bench, names):
    """Gets them, each right or missing; how many were there, and how many of these marked as unreadable."""
    hits, marked = bench.counts()["GetHits"], bench.marked
    for n in range(0, len(names), 4):
        bench.job([{"op": T.OpGet, "_key": k, "last_key": 1} for k in names[n : n + 4]])
        bench.room(4)
    bench.idle()
    return bench.counts()["GetHits"] - hits, bench.marked - marked


def forget_log(bench):
    """The cache holds other lines of the log."""
    for n in range(CACHED * 64 // 7500):
        bench.job([{"op": T.OpSet, "_key": b"other %d" % (n % 50), "_value": bytes(8000)}])
        bench.room(4)
    bench.idle()


def forget_index(bench):
    """The caches hold other buckets."""
    for n in range(0, 28000, 16):
        bench.job([{"op": T.OpGet, "_key": b"absent %d" % random.getrandbits(60), "last_key": 1} for _ in range(16)])
        bench.room(8)
    bench.idle()


def keys(count, size=0):
    return [(b"%d %d " % (i, random.getrandbits(40))).ljust(size, b".") for i in range(count)]


def test_log_write(bench):
    """Lines of the log that were not written: their items, and no others, are gone when the cache has lost them."""
    good, bad = keys(300), keys(12)
    store(bench, good)
    store(bench, bad)
    refuse(bench, "bad_writes_i", LOG)
    store(bench, bad, lambda k: b"newer value of " + k)
    refuse(bench, "bad_writes_i", ())
    assert 6 < bench.counts()["BadWrites"] <= 64
    assert get(bench, good + bad) == (312, 0)  # the caches still know
    forget_log(bench)
    assert get(bench, bad) == (0, 0)
    there, marked = get(bench, good)
    assert there > 295 and marked == 0
    assert bench.refusals()["known"] > 0
    # Stored anew, somewhere else.
    store(bench, bad, lambda k: b"third value of " + k)
    forget_log(bench)
    assert get(bench, bad) == (12, 0)


def test_bucket_write(bench):
    """Buckets that were not written: what stood in them is gone, also what stood there before, until they are
    written as a whole."""
    good, bad = keys(300), keys(12)
    store(bench, good)
    store(bench, bad)
    refuse(bench, "bad_writes_i", INDEX)
    store(bench, bad, lambda k: b"newer value of " + k)
    refuse(bench, "bad_writes_i", ())
    assert 6 < bench.counts()["BadWrites"] <= 64
    # Other ways of these buckets are written, and taken.
    store(bench, bad[:6], lambda k: b"third value of " + k)
    forget_index(bench)
    assert get(bench, bad) == (0, 0)
    assert get(bench, good)[0] > 250
    store(bench, bad, lambda k: b"fourth value of " + k)
    forget_index(bench)
    assert get(bench, bad)[0] == 12


@pytest.mark.parametrize("ports", [INDEX, LOG])
def test_read(bench, ports):
    """Lines that could not be read once: what stands in them does not come back."""
    forget = forget_index if ports == INDEX else forget_log
    good, bad = keys(300), keys(8)
    store(bench, bad)
    store(bench, keys(40))
    store(bench, good)
    forget(bench)
    refuse(bench, "bad_reads_i", ports)
    # Some may have been fetched again meanwhile. What is missing once is never seen again: see Bench.check.
    there, marked = get(bench, bad)
    assert there < 8 and marked == 0
    refuse(bench, "bad_reads_i", ())
    assert 0 < bench.counts()["BadReads"] <= 64
    for _ in range(2):
        assert get(bench, bad) == (there, 0)
        forget(bench)
    # What is stored now is the newest for ever: what was there before is not found beside it.
    for k in bad:
        bench.job([{"op": T.OpAdd, "_key": k, "_value": b"added to " + k}, {"op": T.OpDelete, "_key": k}])
        bench.room(0)
    forget(bench)
    assert get(bench, bad) == (0, 0)
    store(bench, bad)
    forget(bench)
    assert get(bench, bad) == (8, 0)
    assert get(bench, good)[0] > 250


def test_partly_refused(bench):
    """Of two writes to a line one is refused, the first or the second: its items are gone either way, or whole."""
    pairs = [keys(2) for _ in range(60)]
    for pair in pairs:
        for k in pair:
            refuse(bench, "bad_writes_i", LOG, random.choice((0, 0, 12000)))
            bench.job([{"op": T.OpSet, "_key": k, "_value": b"short"}])
            bench.room(0)
            for _ in range(random.randrange(60)):
                bench.tick()
    refuse(bench, "bad_writes_i", ())
    bench.idle()
    refused = bench.counts()["BadWrites"]
    assert 0 < refused <= 64
    forget_log(bench)
    there, marked = get(bench, [k for pair in pairs for k in pair])
    assert 120 - 4 * refused <= there - marked < 120


def test_begun_anew(seed):
    """A line is good again once its place in the log is written anew, a lap later."""
    lap = 24576 * 64 // 8000
    sim = Sim(seed, 13, 24576)
    bench = Bench(sim)
    bench.allow_evict = bench.gives_up = True
    refuse(bench, "bad_writes_i", LOG)
    store(bench, keys(12))
    refuse(bench, "bad_writes_i", ())
    names = keys(lap + 140)
    store(bench, names, lambda _: bytes(8000))
    assert 6 < bench.counts()["BadWrites"] <= 64
    # These are where the others were, and the cache has lost them.
    assert get(bench, names[lap - 4 : lap + 4]) == (8, 0)
    assert bench.refusals()["known"] == 0
    sim.close()


def test_pace(bench):
    """While as many lines are bad as are known, writing to others, and reading them, takes hardly longer."""

    def clocks():
        some, begin = keys(600), bench.sim.clock
        store(bench, some, lambda k: bytes(200))
        forget_log(bench)
        assert get(bench, some)[0] > 590
        return bench.sim.clock - begin

    good = clocks()
    while bench.counts()["BadWrites"] < 50:
        refuse(bench, "bad_writes_i", LOG)
        store(bench, keys(4))
        refuse(bench, "bad_writes_i", ())
    bad = clocks()
    print(good, bad, bench.counts()["BadWrites"])
    assert bench.counts()["BadWrites"] <= 64 and bad < 1.3 * good


def test_too_many(bench):
    """Where a row has no room for one more nobody keeps count: all is given up."""
    good = keys(100)
    store(bench, good)
    refuse(bench, "bad_writes_i", LOG)
    # One line more than there are in all rows of both ports.
    store(bench, keys(40), lambda _: bytes(2 * 512 * 4 * 64 // 40 + 1))
    refuse(bench, "bad_writes_i", ())
    assert get(bench, good) == (0, 0)
    store(bench, good)
    assert get(bench, good) == (100, 0)


def spanning(bench, line, size, head):
    """Keys and values so long that each value begins in the item's second line, an odd one (line 1) or an even one, and
    has `size` bytes, digits in front; `head` bytes of its key and header are in the first line."""
    found = []
    while len(found) < 6:
        key = keys(1, head - 16)[0]
        value = (b"%d" % random.randrange(10**18, 10**19))[:size].ljust(size)
        job = bench.job([{"op": T.OpSet, "_key": key, "_value": value}])
        bench.room(0)
        at = job["records"][0]["off"]["pos"]
        if at % 4 == 0 and at // 4 % 2 != line % 2:
            found.append(key)
    bench.idle()
    return found


@pytest.mark.parametrize("size", (60, 72, 250))
@pytest.mark.parametrize("where", ("compared at once", "compared in steps"))
def test_key_unread(bench, size, where):
    """The end of an item's key cannot be read: no other key is taken for it, not one that ends in zeros either, which has
    the same hash. In steps it is compared where a third key with that hash, stored before, was fetched."""
    # What word 12, the first behind the item's first line, is multiplied by in the hash is zero.
    zero = (-bench.nh[4] & 0xFFFFFFFF).to_bytes(4, "little")
    found = []
    while len(found) < 4:
        begin = random.randbytes(16) + zero + random.randbytes(28)
        third, key, other = (begin + word.ljust(size - 48, b"\0") for word in (b"3rd", random.randbytes(4), b""))
        if where == "compared in steps":
            bench.job([{"op": T.OpSet, "_key": third, "_value": b"value"}])
            bench.room(0)
        job = bench.job([{"op": T.OpSet, "_key": key, "_value": b"value"}])
        bench.room(0)
        at = job["records"][0]["off"]["pos"]
        if at % 4 == 0:
            found.append((other, 2 + (at // 4 + 1) % 2))
    forget_log(bench)
    for other, port in found:
        refuse(bench, "bad_reads_i", [port])
        assert get(bench, [other]) == (0, 0)
    # Of a key of 250 bytes two more lines are on that port, of which the steps do not read the second.
    assert bench.refusals()[where] == (8 if size == 250 and where == "compared at once" else 4)


@pytest.mark.parametrize("size", (8, 20))
@pytest.mark.parametrize("line", (0, 1))
def test_number_unread(bench, line, size):
    """incr and decr of a number in a line that cannot be read, or whose second half cannot, a short one whose line is
    read in check and a longer one: it is not there, and no other number is made of it."""
    # A number behind the first line, and one that goes on there.
    whole, half = spanning(bench, line, size, 64), spanning(bench, line, size, 64 - size // 2)
    forget_log(bench)
    refuse(bench, "bad_reads_i", [2 + line])
    for k in whole + half:
        unread = bench.unread
        bench.job([{"op": T.OpIncr, "_key": k, "num": 1}])
        bench.idle()
        assert bench.unread == unread + 1
    refuse(bench, "bad_reads_i", ())
    assert bench.refusals()["number"] == 12
    assert get(bench, whole + half)[1] == 12  # they are there, and marked


@pytest.mark.parametrize("line", (0, 1))
def test_piece_unread(bench, line):
    """A piece of a value comes from two lines, of which either cannot be read: it is marked."""
    names = spanning(bench, line, 50, 44)
    forget_log(bench)
    # The first line has header, key and the value's begin.
    refuse(bench, "bad_reads_i", [2 + line])
    assert get(bench, names) == (6, 6)
    refuse(bench, "bad_reads_i", ())
    assert get(bench, names) == (6, 6)


@pytest.mark.parametrize("size", (50, 300))
@pytest.mark.parametrize("op", EXTENDS)
def test_copy_unread(bench, op, size):
    """append and prepend to a value that cannot be read whole: a long one is not changed, and nothing is made of it. To a
    short one it is stored, and then there is none: whoever gets it finds nothing."""
    names = spanning(bench, 1, size, 44)
    forget_log(bench)
    refuse(bench, "bad_reads_i", [3])
    for k in names:
        bench.job([{"op": op, "_key": k, "_value": b"more" * 25}])
        bench.idle()
    refuse(bench, "bad_reads_i", ())
    assert bench.unread == (0 if size < 256 else 6) and bench.refusals()["copied"] > 0
    # What was to be made has its room in the log all the same.
    made = [item for item in LogWalk(bench).walk() if len(item.value) == size + 100]
    assert [item.head["lap"] for item in made] == [0 if size < 256 else 1] * 6
    assert get(bench, names) == ((0, 0) if size < 256 else (6, 6))
    store(bench, names)
    assert get(bench, names) == (6, 0)


@pytest.mark.parametrize("op", (T.OpSet, T.OpAdd, T.OpReplace))
def test_stored_key_unread(bench, op):
    """A long value's key stands in the log and cannot be read when its last bytes have come: it is not stored, and
    a SET has deleted what it was to replace."""
    key, value = keys(1)[0], random.randbytes(9000)
    store(bench, [key])
    fields = {"klen": len(key), "vlen": len(value), "flags": 7, "expiry": 0}
    refuse(bench, "bad_writes_i", LOG)
    off = bench.put(to_beats(key) + to_beats(value[:500]), start=1, own_lines=1, **fields)
    for _ in range(300):
        bench.tick()
    refuse(bench, "bad_writes_i", ())
    forget_log(bench)
    bench.put(to_beats(value[500:]), start=0, own_lines=1, off=off, done=500, klen=len(key), vlen=len(value))
    assert 0 < bench.counts()["BadWrites"] <= 64
    bench.job([{"op": op, "key_stored": 1, "hash": hash64(key, bench.nh, bench.mix), "off": off, "_key": key,
                "_value": value, **fields}], 5)
    bench.idle()
    assert bench.refusals()["stored key"] > 0
    hits, _ = get(bench, [key])
    assert hits == (op != T.OpSet)


#: By what is refused: who meets it.
KINDS = {
    ("bad_reads_i", INDEX): ("bucket read", "known"),
    ("bad_writes_i", INDEX): ("bucket written", "known"),
    ("bad_reads_i", LOG): ("compared at once", "number", "sent", "copied", "known"),
    ("bad_writes_i", LOG): ("header written", "log written", "compared at once", "sent", "known"),
    ("bad_reads_i", INDEX + LOG): ("bucket read", "compared at once", "sent", "known"),
    ("bad_writes_i", INDEX + LOG): ("bucket written", "header written", "log written", "known"),
}


@pytest.mark.parametrize("what, ports", KINDS)
def test_memory_refuses(seed, what, ports):
    """Memory refuses now and then: what is answered is the newest, or a miss, or marked; never older,
    and never what memory did not say. It goes on until everybody has met it. Afterwards everything works."""
    sim = Sim(seed, 14, 65536)
    bench = Bench(sim, 0, 0.1, 40, 20, 10)
    bench.allow_evict = bench.gives_up = True
    names = [random_key(i) for i in range(1000)]
    for turn in range(40):
        numbers = keys(40, 40)  # many of them in two lines
        store(bench, numbers, lambda _: b"%d" % random.randrange(10**18, 10**19))
        forget_log(bench)
        refuse(bench, what, ports, (250, 600, 4000)[turn % 3])
        for k in numbers:
            bench.job([{"op": T.OpIncr, "_key": k, "num": 1}])
            bench.room(4)
        random_jobs(bench, 700, names, 8)
        bench.idle()
        if turn % 4 == 3:  # lines known to be bad are asked for again
            forget_log(bench)
            get(bench, numbers)
        refuse(bench, what, ())
        if turn > 3 and all(bench.refusals()[kind] for kind in KINDS[what, ports]):
            break
        forget_log(bench)
        if ports[0] == 0:
            forget_index(bench)
    counts = bench.counts()
    print(turn, bench.refusals(), bench.unread, bench.marked, counts)
    assert all(bench.refusals()[kind] for kind in KINDS[what, ports])
    assert counts["GetHits"] > 20
    lost = bench.lost + bench.misses_by_age
    some = names[:400]
    store(bench, some, lambda _: b"%d" % random.getrandbits(20))
    get(bench, some)
    assert bench.lost + bench.misses_by_age - lost < 5
    sim.close()
