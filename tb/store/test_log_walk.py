"""The log can be read by its headers: from an item or a gap to the next, up to the head. Whoever does meets each item that
is there at its place, and nothing that is no header."""

import itertools
import random

import pytest

from harness.size import scale
from harness.streams import to_beats
from harness.structs import T
from store.jobs import LongSet, finish, random_jobs, random_key
from store.log_walk import LogWalk
from store.store_bench import Bench, do, get, put


def check(bench, walk):
    """All that is there and within what is read is met where it is, so many items. Of that the third
    next to the head is read again."""
    met = list(walk.walk())
    places = {(item.lap & 0xFF, item.pos): item for item in met}
    begin = bench.place({"lap": walk.at[0] & 0xFF, "pos": walk.at[1]})
    there = 0
    for name, item in bench.model.items.items():
        if not bench.model.alive(name) or bench.place(item.off) < begin:
            continue
        db, key = name if isinstance(name, tuple) else (0, name)
        stands = places[item.off["lap"], item.off["pos"]]
        assert (stands.key, stands.value, stands.chosen_no) == (key, item.value, item.chosen_no)
        assert (stands.head["db"], stands.head["flags"], stands.head["expiry"]) == (db, item.flags, item.expiry)
        there += 1
    walk.leave(met, bench.size // 3)
    return there


@pytest.mark.parametrize("pauses", ((0, 0, 0), (0.2, 0.2, 100)))
def test_random(make, pauses):
    """Items of all kinds, some with lines of their own or a CAS unique that a client chose, some that are never finished;
    deletions, numbers, appends in pieces; several laps."""
    bench = Bench(make(8, 2048), *pauses[:2], 40, 20, pauses[2])
    bench.allow_evict = bench.copies_much = True
    walk = LogWalk(bench)
    names = [random_key(n) for n in range(40)]
    conns = itertools.count(100)
    there = 0
    while walk.at[0] < 4:
        before = walk.distance()
        while walk.distance() < before + bench.size // 5:
            random_jobs(bench, 20, names)
            for key in random.sample(names, 4):
                bench.job([put(key, random.randbytes(random.randrange(200)), meta={"is": 1, "chosen": 1},
                               chosen_no=random.getrandbits(64))])  # fmt: skip
            if random.randrange(8) == 0:
                LongSet(bench, next(conns), random.randrange(130, 250), key=random.choice(names))
                do(bench, put(names[0], bytes(9000)))
                finish(bench, bench.job([{"op": T.OpAppend, "_key": names[0], "_value": b"more"}]))
            if random.randrange(30) == 0:
                do(bench, {"op": T.OpFlush, "expiry": 0})
            bench.idle()
        # Now the places of those that were made within are known, too.
        for name in list(bench.model.items):
            db, key = name if isinstance(name, tuple) else (0, name)
            finish(bench, bench.job([{**get(key), "db": db}], 99))
        there += check(bench, walk)
    print(there, walk.gaps, bench.misses_by_age)
    assert there > 100 and walk.gaps["lap"] > 2 and walk.gaps["line"] > 50 and bench.pieces > 0


def test_spare_rooms(make):
    """What is left of a spare room is marked, whatever items are begun in it, given up, and completed, some with a CAS
    unique that a client chose."""
    bench = Bench(make(8, 32768))
    bench.allow_evict = True
    bench.sim.tick_i.set(0)
    walk = LogWalk(bench)
    conns = itertools.count(100)

    def wait(ms):
        bench.sim.tick_i.set(1)
        for _ in range(ms):
            bench.tick()
        bench.sim.tick_i.set(0)
        for _ in range(20):
            bench.tick()

    for lines in (7000, 7000, 2500):
        assert LongSet(bench, next(conns), lines).there
    roomed = 0
    for turn in range(scale(30, 300)):
        one = LongSet(bench, next(conns), random.choice((130, 1024, 2048, random.randrange(130, 2000))), key=b"key%d" % turn,
                      chosen_no=random.choice((None, random.getrandbits(64))))
        if one.there and random.randrange(3):
            one.finish()
        roomed += one.there
        wait(random.choice((1, 70)))
        bench.idle()
        check(bench, walk)
    print(roomed, walk.gaps)
    assert roomed > 10 and walk.gaps["more"] > 30


def test_bytes(make):
    """The log's bytes: an item, a gap, an item with lines of its own, one with a CAS unique that a client chose, a gap in
    front of another one."""
    bench = Bench(make(8, 1024))

    def store(key, value, **fields):
        return bench.put(to_beats(key) + to_beats(value), start=1, ends=1, klen=len(key), vlen=len(value), **fields)["pos"]

    chosen = {"chosen": 1, "chosen_no": 0x0123456789ABCDEF}
    places = [
        store(b"key", b"value", flags=0x01020304, expiry=0x0A0B0C0D0E0F, db=7, marks={"coded": 1}),
        store(b"k", b"own lines", own_lines=1),
        store(b"a", b"b", **chosen),
        store(b"c", b"d" * 15, **chosen),
        store(b"e", b"f", **chosen),
    ]
    assert places == [0, 4, 9, 13, 17]
    bench.idle()
    assert LogWalk(bench).bytes(0, 19 * 16).hex(" ", 16).split() == [
        "03050080040302010f0e0d0c0b0a1700", "6b657976616c75650000000000000000",
        "00010000020000000000000000001000", "00000000000000000000000000000000",
        "01090000000000000000000000001040", "6b6f776e206c696e6573000000000000",
        "00000000000000000000000000000000", "00000000000000000000000000000000",
        "0002000000000000efcdab8967452301", "01010000000000000000000000001080",
        "61620000000000000000000000000000",
        "00010000010000000000000000001000",
        "0002000000000000efcdab8967452301", "010f0000000000000000000000001080",
        "63646464646464646464646464646464",
        "00010000010000000000000000001000",
        "0002000000000000efcdab8967452301", "01010000000000000000000000001080",
        "65660000000000000000000000000000"]  # fmt: skip
