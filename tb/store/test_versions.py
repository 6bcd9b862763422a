"""The version of a key, as host software asks for it: another one after all that requests do to the key, and after
nothing else, in their order, however close they follow each other."""

import itertools
import random

from harness.command_map import PORT
from harness.structs import T
from store.hash_model import hash64
from store.store_bench import Raw

VERSION = PORT["version"]
ENTRIES = 4096


class Versions(Raw):
    def entry(self, key):
        """Of the table."""
        return hash64(key, self.nh, self.mix) % ENTRIES

    def request(self, key, db=0):
        return {"op": T.OpVersion, "_key": key, "db": db, "binary": {"is": 1, "opcode": VERSION}}

    def versions(self, *records):
        """Those that are told in one job of these requests."""
        self.seen.clear()
        self.bad = False
        self.job([dict(r) for r in records])
        self.idle()
        asked = [res for res in self.seen if res["binary"]["opcode"] == VERSION]
        assert all((res["kind"], res["reply"]) == (T.RsReply, T.RpStored) for res in asked)
        return [res["unique_no"] for res in asked]

    def changes(self, key, *records):
        """Whether these requests, between two questions about the key, change its version; all in one job."""
        before, after = self.versions(self.request(key), *records, self.request(key))
        return before != after


def quiet(op, key, **fields):
    return {"op": op, "_key": key, "noreply": 1, **fields}


def test_what_changes_it(small):
    """All that a request does to the key, also if it is as it was, or is not there, in front and behind; and nothing
    that does not."""
    bench = Versions(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    later = bench.model.now + 5000
    meta, resp = {"is": 1}, {"is": 1}
    only_new = T.resp_when_t.pack({"nx": 1})
    for key in (b"k", random.randbytes(64), random.randbytes(250)):
        put = quiet(T.OpSet, key, _value=b"5", meta=meta)
        delete, other = quiet(T.OpDelete, key), key[:-1] + bytes([key[-1] ^ 1])
        for there in (False, True):
            # By request, whether it changes what is there, or nothing that is there.
            for changes, record in (
                ((1, 1), quiet(T.OpSet, key, _value=b"5")), ((1, 0), quiet(T.OpAdd, key, _value=b"5")),
                ((0, 1), quiet(T.OpReplace, key, _value=b"5")), ((0, 0), quiet(T.OpCas, key, _value=b"5", num=1)),
                ((1, 1), quiet(T.OpSet, key, _value=b"5" * 3000)), ((0, 1), quiet(T.OpDelete, key)),
                ((0, 0), quiet(T.OpDelete, key, num=1, binary={"is": 1})), ((0, 1), quiet(T.OpIncr, key, num=0)),
                ((0, 1), quiet(T.OpDecr, key, num=1)), ((1, 1), quiet(T.OpIncr, key, num=1, binary={"is": 1}, touch=1)),
                ((0, 0), quiet(T.OpIncr, key, num=1, unique_no=1, binary={"is": 1})), ((0, 1), quiet(T.OpAppend, key, _value=b"")),
                ((0, 1), quiet(T.OpPrepend, key, _value=b"7")), ((1, 1), quiet(T.OpAppend, key, _value=b"1", resp=resp)),
                ((0, 0), quiet(T.OpTouch, key, expiry=0)), ((0, 1), quiet(T.OpTouch, key, expiry=later)),
                ((0, 0), quiet(T.OpTouch, key, expiry=0, resp=resp, flags=T.resp_when_t.pack({"xx": 1}))),
                ((0, 1), quiet(T.OpTouch, key, expiry=later, resp=resp, flags=only_new)),
                ((0, 1), quiet(T.OpGet, key, expiry=later, touch=1)), ((0, 0), quiet(T.OpGet, key, touch=1, resp=resp)), ((0, 0), quiet(T.OpGet, key)),
                ((1, 0), quiet(T.OpGet, key, num=later, meta={"is": 1, "get": 1, "vivifies": 1, "n_last": 1})),
                ((0, 1), quiet(T.OpDelete, key, meta={"is": 1, "voids": 1})), ((0, 1), quiet(T.OpDelete, key, meta={"is": 1, "stale": 1})),
                ((0, 0), quiet(T.OpTooBig, other, reply=T.RpTooLarge)), ((0, 1), quiet(T.OpTooBig, key, reply=T.RpTooLarge)),
                ((0, 0), quiet(T.OpSet, key, _value=b"5", db=1)), ((0, 0), quiet(T.OpSet, other, _value=b"5")),
            ):  # fmt: skip
                bench.job([dict(put), *[dict(delete)] * (not there)])
                bench.idle()
                assert bench.changes(key, record) == changes[there], (there, record)
        # As it was, twice.
        bench.job([dict(delete)])
        bench.idle()
        assert bench.changes(key, put, delete)
        assert bench.changes(key, quiet(T.OpSet, key, _value=b"5", meta={"is": 1, "chosen": 1}, chosen_no=5))
        assert bench.changes(key, *[quiet(T.OpSet, key, _value=v, meta={"is": 1, "chosen": 1}, chosen_no=5) for v in (b"6", b"5")])
        assert bench.changes(key, quiet(T.OpTouch, key, expiry=later), quiet(T.OpTouch, key, expiry=0))
        assert not bench.changes(key)


def test_order(small):
    """Of changes in any order, close to each other and to questions, none that comes between two questions is lost,
    and none counts that does not: of a few keys, one of which is at hand while others are stored."""
    bench = Versions(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    keys = {}
    while len(keys) < 5:
        key = random.randbytes(random.choice((1, 9, 60, 64, 65, 250)))
        keys.setdefault(bench.entry(key), key)
    keys = list(keys.values())
    told, stale = {}, set()
    for _ in range(60):
        records, asked = [], []
        for _ in range(random.randrange(1, 40)):
            key = random.choice(keys)
            if random.random() < 0.25:
                records.append(bench.request(key))
                asked.append((key, key in stale))
                stale.discard(key)
            elif random.random() < 0.8:
                records.append(quiet(T.OpSet, key, _value=random.randbytes(random.choice((0, 5, 300)))))
                stale.add(key)
            else:
                records.append(quiet(T.OpGet, key, binary={"is": 1}))
        for (key, changed), version in zip(asked, bench.versions(*records), strict=True):
            assert key not in told or (told[key] != version) == changed, (key, changed)
            told[key] = version
    assert len(told) == len(keys)


def test_taken(small):
    """A key whose entry another one takes has changed for who watches it; keys that nobody asks for take none, and
    those of other entries neither."""
    bench = Versions(small)
    key = b"watched"
    others = (b"%d" % n for n in itertools.count())
    thief, stranger = itertools.islice((o for o in others if bench.entry(o) == bench.entry(key)), 2)
    elsewhere = list(itertools.islice((o for o in others if bench.entry(o) != bench.entry(key)), 500))
    (first,) = bench.versions(bench.request(key))
    for i in range(0, len(elsewhere), 25):
        bench.versions(*[request for other in elsewhere[i : i + 25] for request in (bench.request(other), quiet(T.OpDelete, other))])
    for one in (thief, stranger):
        assert not bench.changes(key, quiet(T.OpSet, one, _value=b"v"), quiet(T.OpIncr, one, num=1), quiet(T.OpDelete, one))
    assert bench.versions(bench.request(key)) == [first]
    (other,) = bench.versions(bench.request(thief))
    again = bench.versions(*[bench.request(key)] * 2)
    assert again[0] == again[1] != first
    assert bench.versions(bench.request(thief)) != [other]
