"""A walk through the index, as host software goes: what it tells of each item, that it meets all that are there, and
that it does so while others store, remove and move entries."""

import itertools
import random

from harness.command_map import PORT
from harness.structs import T
from store.hash_model import hash64, keys as hash_keys
from store.store_bench import Raw

WALK = PORT["walk"]
HEAD = 16


class Walker(Raw):
    def __init__(self, sim, *args):
        super().__init__(sim, *args)
        self.lines = 1 << sim.index_bits - 1  # of a bank

    def step(self, place, **job):
        """The next item from a place on, or None; and the place behind."""
        self.seen.clear()
        self.bad = False
        self.job([{"op": T.OpWalk, "cas_out": 1, "binary": {"is": 1, "opcode": WALK, "opaque": place}}], **job)
        self.idle()
        (res,) = self.seen
        assert res["kind"] == T.RsValue and res["head"] and res["tail"] and not self.bad and res["vlen"] == len(res["value"])
        place, value = res["flags"], res["value"]
        assert place >> 3 & (1 << 26) - 1 <= self.lines and place >> 29 < 2
        if place >> 3 & (1 << 26) - 1 == self.lines:
            place = (place >> 29) + 1 << 29
        if not value:
            return None, place
        head = int.from_bytes(value[:HEAD], "little")
        item = {"key": value[HEAD:], "vlen": head >> 8 & 0xFFFFFF, "flags": head >> 32 & 0xFFFFFFFF,
                "expiry": head >> 64 & (1 << 48) - 1, "db": head >> 112 & 15}  # fmt: skip
        assert head & 0xFF == len(item["key"])
        return item, place

    def walk(self, between=lambda: None):
        place, items = 0, []
        while place >> 29 < 2:
            before = place
            item, place = self.step(place, tx_space=random.choice((600, 65536)))
            assert place > before
            items += [item] if item else []
            between()
        return items

    def put_all(self, names, **fields):
        """SETs, each of (database, key), with values of so many bytes."""
        names = list(names)
        for i in range(0, len(names), 8):
            self.job([{"op": T.OpSet, "_key": key, "db": db, "_value": bytes(len(key) % 5), **fields} for db, key in names[i : i + 8]])
            self.room(4)
        self.idle()


def test_what_it_tells(small):
    """Key, database, client flags, expiry and length of each item that is there; nothing of any other."""
    bench = Walker(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    assert bench.walk() == []
    want = {}
    for n in range(150):
        key = random.randbytes(random.choice((1, 5, 16, 47, 48, 64, 200, 250, random.randrange(1, 251)))) + b"%d" % n
        key, db = key[-250:], random.choice((0, 0, random.randrange(16)))
        value = random.randbytes(random.choice((0, 1, 60, 300, 3000)))
        flags, expiry = random.choice((0, random.getrandbits(32))), random.choice((0, 1, bench.model.now + 1000, (1 << 47) + n))
        bench.says("RpStored", T.OpSet, key, db=db, _value=value, flags=flags, expiry=expiry)
        if expiry != 1:
            want[db, key] = {"key": key, "vlen": len(value), "flags": flags, "expiry": expiry, "db": db}
    for name in random.sample(list(want), 30):
        bench.says("RpDeleted", T.OpDelete, name[1], db=name[0])
        del want[name]
    met = bench.walk()
    assert len(met) == len(want) and {(i["db"], i["key"]): i for i in met} == want
    bench.sleep(1000)
    assert {(i["db"], i["key"]) for i in bench.walk()} == {n for n, i in want.items() if i["expiry"] in (0, (1 << 47) + 149) or i["expiry"] >> 47}
    bench.says("RpOk", T.OpFlush, None, expiry=0)
    assert bench.walk() == []


def test_from_any_place(small):
    """Each place gives the first item behind it, up to the end of its 64 buckets."""
    bench = Walker(small)
    bench.put_all((0, b"key%d" % n) for n in range(300))
    place, behind = 0, {}
    while place >> 29 < 2:
        item, after = bench.step(place)
        behind[place] = item, after
        place = after
    assert {item["key"] for item, _ in behind.values() if item} == {b"key%d" % n for n in range(300)}
    for place in random.sample(range(bench.lines * 8), 40):
        for bank in range(2):
            at = bank << 29 | place
            item, after = bench.step(at)
            starts = [p for p in behind if p <= at < behind[p][1]]
            whole, end = behind[starts[0]]
            assert after == end and (item == whole or item is None), (at, item, behind[starts[0]])
    counts = bench.counts()
    assert not counts["GetHits"] and not counts["GetMisses"]


def test_log_goes_round(tiny):
    """Items that have fallen out of the log are not met."""
    bench = Walker(tiny)
    for n in range(60):
        bench.says("RpStored", T.OpSet, b"key%d" % n, _value=bytes(3000))
    met = [i["key"] for i in bench.walk()]
    assert 10 < len(met) < 30 and sorted(met) == sorted(b"key%d" % n for n in range(60 - len(met), 60))


def test_while_others_store(tiny):
    """What is there all the time is met, however entries move: one way only."""
    bench = Walker(tiny)
    bench.allow_evict = True
    tiny.one_way_i.set(1)
    moved = lost = 0
    for turn in range(12):
        bench.says("RpOk", T.OpFlush, None, expiry=0)
        stay = {b"stay%d.%d" % (turn, n) for n in range(84)}
        bench.put_all((0, key) for key in stay)
        number = 0

        def others():
            nonlocal number
            for _ in range(random.randrange(3)):
                number += 1
                bench.do(T.OpSet, b"new%d" % number, _value=b"")
                if number > 30:
                    bench.do(T.OpDelete, b"new%d" % (number - 30))
                key = random.choice(sorted(stay))
                bench.do(T.OpReplace, key, _value=b"again")

        before = bench.counts()
        met = {i["key"] for i in bench.walk(others)}
        after = bench.counts()
        moved += after["Moves"] - before["Moves"]
        there = {i["key"] for i in bench.walk()}
        lost += len(stay - there)
        assert stay & there <= met, (turn, stay & there - met)
    print(f"{moved} entries moved, {lost} were evicted")
    assert moved > 10


def test_one_way(tiny):
    """Told to, entries move from even buckets to odd ones only, and the index is nearly as full before it evicts."""
    bench = Walker(tiny)
    bench.allow_evict = True
    places = {}
    tiny.one_way_i.set(1)

    def look():
        place = 0
        while place >> 29 < 2:
            item, place = bench.step(place)
            if item:
                bank = place - 1 >> 29
                assert places.get(item["key"]) in (None, bank, 0), "it moved back"
                places[item["key"]] = bank

    n = 0
    while not bench.counts()["Evictions"]:
        bench.put_all((0, b"key%d" % (n + i)) for i in range(4))
        n += 4
        if n > 80:
            look()
    assert bench.counts()["Moves"] and n > 0.75 * 128


def test_how_long(small):
    """How long others wait for a request of a walk: where nothing may be, where nothing is left, and where an item is."""
    bench = Walker(small)

    def clocks(place):
        begin = small.clock
        item, after = bench.step(place)
        return bench.res.times[-1] - begin, item, after

    bench.step(0)  # then the caches are clear
    for place in 0, 5, 64 << 3:
        assert (jump := clocks(place))[1:] == (None, 1 << 29) and jump[0] < 64, jump
    assert clocks(1 << 29)[1:] == (None, 2 << 29)
    bench.put_all([(0, b"key")])
    place, item = 0, None
    while not item:
        group = place
        found, item, place = clocks(place)
    assert group & 511 == 0 and place < group + 512
    bench.says("RpDeleted", T.OpDelete, b"key")
    for begin in group, group + 5:
        empty, item, after = clocks(begin)
        assert item is None and after == (group >> 29) + 1 << 29 and 128 < empty < 340, empty
    print(f"{jump[0]} clocks where nothing may be, {empty} for 64 empty buckets, {found} for an item")
    assert found < empty + 200


def test_what_is_empty_is_left_out(make):
    """Of a large index a walk looks into those groups that were written since a flush, wherever they are."""
    sim = make(14, 8192)  # 128 groups a bank
    bench = Walker(sim)
    nh, mix = hash_keys(random)
    bench.use_keys(nh, mix)
    for turn in range(3):
        keys = {b"key%d.%d" % (turn, n) for n in range(random.choice((1, 5, 40)))}
        # Some in the last group, too.
        names = (b"last%d.%d" % (turn, n) for n in itertools.count())
        lasts = (key for key in names if hash64(key, nh, mix) >> 7 & 127 == 127)
        keys |= set(itertools.islice(lasts, 8))
        bench.put_all((0, key) for key in keys)
        place, met, steps, ends = 0, [], 0, 0
        while place >> 29 < 2:
            before, group = place, place >> 9 & 127
            item, place = bench.step(place)
            assert place > before
            met += [item["key"]] if item else []
            ends += item is None and group == 127
            steps += 1
        assert ends
        assert set(met) == keys and len(met) == len(keys)
        # An item, and what is behind it; to the first of a bank.
        assert steps <= 2 * len(keys) + 2, steps
        bench.says("RpOk", T.OpFlush, None, expiry=0)
        assert bench.step(0) == (None, 1 << 29)
