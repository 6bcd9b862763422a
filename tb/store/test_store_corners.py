"""The store where random requests hardly come: see tb/coverage."""

import random

import pytest

from harness.streams import to_beats
from harness.structs import T
from store.jobs import continue_value
from store.store_bench import STORES, Bench, do, get, put


def test_misses(small):
    """What `get` does not find has no reply, but for the line's last key."""
    bench = Bench(small, 0.1, 0.1)
    do(bench, put(b"a", b"1"), put(b"c", b"3"))
    for _ in range(20):
        names = [random.choice((b"a", b"b", b"c", b"d")) for _ in range(random.randrange(1, 9))]
        do(bench, *({**get(name), "last_key": 0} for name in names), get(random.choice(names)))
    assert bench.counts()["GetMisses"] > 20


@pytest.mark.parametrize("mem_pause", [0, 60])
def test_close_behind(small, mem_pause):
    """Requests for one key, of which each sees what the one before has left: a time that has passed, no item, another
    place."""
    bench = Bench(small, latency=5, mem_pause=mem_pause)
    now = bench.model.now

    def one(op, key, expiry=0):
        r = {"op": op, "_key": key, "expiry": expiry, "num": int(op == T.OpIncr)}
        if op == T.OpGet:
            r |= {"last_key": 1, "touch": int(expiry != 0)}
        if op in STORES:
            r["_value"] = b"%d" % random.randrange(200)
        return r

    def record(key):
        op = random.choice((T.OpGet, T.OpGet, T.OpTouch, T.OpDelete, T.OpSet, T.OpAdd, T.OpIncr, T.OpAppend))
        r = one(op, key, random.choice((0, now - 1, now + 1000)))
        if op == T.OpGet:
            r["touch"] = random.randrange(2)
        return r | {"num": 1}

    for _ in range(400):
        others = [b"key%d" % random.randrange(4) for _ in range(3)]
        bench.job([record(random.choice((b"key0", *others))) for _ in range(8)], random.randrange(16))
        bench.room(8)
    # What leaves no item, and what changes one where it stands, right in front of who looks for it, among other keys.
    for _ in range(200):
        keys = [b"key%d" % random.randrange(40) for _ in range(4)]
        bench.job([one(op, key, expiry) for key in keys for op, expiry in random.choice((
            ((T.OpDelete, 0), (random.choice((T.OpGet, T.OpSet, T.OpAdd, T.OpIncr, T.OpTouch)), 0)),
            ((T.OpTouch, now - 1), (random.choice((T.OpGet, T.OpDelete, T.OpAdd)), 0)),
            ((T.OpTouch, now + 1000), (T.OpTouch, 0)),
            ((T.OpSet, now + 1000), (T.OpTouch, now - 1), (T.OpAppend, 0))))], random.randrange(16))
        bench.room(4)
    # Of two with the unique that the key's item has, the first one stores; who asks right behind it finds that.
    for _ in range(60):
        bench.room(0)
        key = random.choice([k for k, item in bench.model.items.items() if item.off and bench.model.alive(k)])
        unique = bench.unique(bench.model.items[key].off)
        cas = {"op": T.OpCas, "_key": key, "num": unique}
        get = {"op": T.OpGet, "_key": key, "last_key": 1, "cas_out": 1}
        bench.job([{**cas, "_value": b"first"}, get, {**cas, "_value": b"second"}, get])
    bench.idle()
    counts = bench.counts()
    assert min(counts[c] for c in ("TouchHits", "TouchMisses", "DeleteHits", "DeleteMisses", "IncrHits",
                                   "CasHits", "CasBadval")) > 30
    assert bench.misses_by_age == bench.lost == 0


@pytest.mark.parametrize("size", (60, 200))
@pytest.mark.parametrize("op", (T.OpAppend, T.OpIncr))
def test_found_before_written(small, op, size):
    """Memory is slow, so an item that append or incr has made is not written for a while. Who asks for it meanwhile
    finds all of its key's lines there, whenever it comes."""
    bench = Bench(small, latency=5)
    names = [b"%03d" % n * (size // 3) for n in range(100)]
    # A number that grows by a digit is a new item.
    do(bench, *(put(name, b"99") for name in names))
    for n, name in enumerate(names):
        bench.idle()
        bench.sim.pause_i.set(250)
        change = {"op": op, "_key": name, "num": 1}
        if op in STORES:
            change["_value"] = b"more"
        bench.job([change], 1)
        bench.room(0)
        for _ in range(n):
            bench.tick()
        bench.job([get(name), {"op": T.OpDelete, "_key": name}], 2)
        bench.room(0)
        bench.sim.pause_i.set(0)
    assert bench.misses_by_age == bench.lost == 0


def test_host_answers(small):
    """Pieces of the host's answers, of all lengths, and the questions for the next ones."""
    bench = Bench(small, 0.1, 0.1)
    for length in (0, 1, 63, 64, 65, 511, 512):
        bench.job([{"op": T.OpHostData, "host_len": length}], 3)
        bench.job([{"op": T.OpHost, "key_stored": 1, "klen": 0}], 4)
        bench.job([get(b"a")], 5)
    bench.idle()
    assert [(h["conn"], h["len"]) for h in bench.hreq.items] == [(4, 0)] * 7


def test_rest_gone(tiny):
    """The log goes past a value of which a part was sent: its connection cannot go on."""
    bench = Bench(tiny)
    for n in range(12):
        do(bench, put(b"big", random.randbytes(9000)))
        job = bench.job([get(b"big")], 6, 0, 4096)
        bench.idle()
        assert "cont" in job
        for _ in range(7):
            do(bench, put(b"other", bytes(8000)))
        continue_value(bench, job)
        bench.idle()
        assert bench.aborts == n + 1


def test_one_unused(make):
    """Of sixteen candidates all but a few are used: whatever else is in their way, these few go."""
    bench = Bench(make(4, 1024))
    bench.allow_evict = True
    n = 0
    for turn in range(40):
        while not bench.counts()["Evictions"] or n % 8:
            do(bench, put(b"key%d" % n))
            n += 1
        alive = list(bench.model.items)
        used = set(random.sample(alive, len(alive) - 3))
        for _ in range(3):
            do(bench, *map(get, used))
        do(bench, *(put(b"new%d.%d" % (turn, i)) for i in range(3)))
        lost = bench.lost
        do(bench, *map(get, used))
        assert bench.lost - lost <= 3
    assert bench.counts()["Evictions"] > 50


def test_moves_wait(small):
    """Entries move while memory is slow, and other jobs want the same buckets."""
    bench = Bench(small, latency=100, jitter=100, mem_pause=200)
    bench.allow_evict = True
    n = 0
    while bench.counts()["Moves"] < 60:
        bench.job([put(b"key%d" % (n + i)) for i in range(8)], n % 64)
        bench.job([get(b"key%d" % random.randrange(n + 8)) for _ in range(8)], 64 + n % 64)
        n += 8
        bench.room(8)
    bench.idle()
    for i in range(0, n, 8):
        bench.job([get(b"key%d" % (i + j)) for j in range(8)])
        bench.room(8)
    bench.idle()
    assert bench.lost <= bench.counts()["Evictions"]


def test_large_log(make):
    """16 MiB: what was stored stays until the head is a little more than 1 MiB behind it, no quarter of
    the log as in a small one; and an eighth of it and the spare rooms are for items whose bytes have not come."""
    bench = Bench(make(8, 1 << 18))
    names = [b"key%d" % n for n in range(210)]  # 64 KB each, 13.4 MB
    value = random.randbytes(64000)
    for name in names:
        do(bench, put(name, value))
    for name in names[:8]:
        do(bench, get(name))
    assert bench.misses_by_age == 0
    for n in range(48):
        do(bench, put(b"more%d" % n, value))
    for name in names[:8]:
        do(bench, get(name))
    assert bench.misses_by_age == 8 and bench.lost == 0

    # Behind all the rest: what is taken here would be missing there. An eighth, and four spare rooms.
    bench.sim.tick_i.set(0)
    fields = {"klen": 3, "vlen": 64 * 16000 - 19, "flags": 0, "expiry": 0}
    first = random.randbytes(8192)
    offs = [bench.put(to_beats(b"key") + to_beats(first), start=1, own_lines=1, conn=n, **fields)
            for n in range(7)]
    assert [bool(off["lap"]) for off in offs] == [True] * 6 + [False]
