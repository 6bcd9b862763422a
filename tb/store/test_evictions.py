"""Which entry goes when a key's two buckets are full: the least used one, wherever it stands; and use is forgotten."""

import random

import pytest

from harness.structs import T
from store.store_bench import Bench

#: Ways of the 16 buckets.
WAYS = 128


@pytest.fixture
def bench(make):
    """16 buckets, and a log from which nothing falls out."""
    bench = Bench(make(4, 65536))
    bench.allow_evict = True
    return bench


def store(bench, count, name):
    """Stores keys; between them a few requests that have none, as what goes depends on the requests' number."""
    names = [b"%s %d %d" % (name, n, random.getrandbits(40)) for n in range(count)]
    for k in names:
        idle = [{"op": T.OpReply, "reply": T.RpOk}] * random.randrange(4)
        bench.job([*idle, {"op": T.OpSet, "_key": k, "_value": b"value of " + k}])
        bench.room(4)
    bench.idle()
    return names


def there(bench, names):
    """Gets each once; those that are there."""
    found = []
    for k in names:
        hits = bench.counts()["GetHits"]
        bench.job([{"op": T.OpGet, "_key": k, "last_key": 1}])
        bench.idle()
        if bench.counts()["GetHits"] > hits:
            found.append(k)
    return found


def test_used_stay(bench):
    """Who was used four times, eight times or more often than can be counted stays, and not who was
    used once or never."""
    # Nothing moves any more, which would forget its use.
    used = there(bench, store(bench, 2 * WAYS, b"old"))[:24]
    for n, k in enumerate(used):
        for _ in range((3, 4, 7, 11)[n % 4]):
            bench.job([{"op": T.OpGet, "_key": k, "last_key": 1}])
            bench.room(0)
    store(bench, 4 * WAYS, b"unused")
    assert bench.counts()["Evictions"] > 2 * WAYS
    assert there(bench, used) == used


def test_uses_fade(bench):
    """What was used long ago and is not any more makes room for what is used now and then."""
    store(bench, 2 * WAYS, b"old")
    old = [k for k in bench.model.items]
    for _ in range(4):
        old = there(bench, old)
    assert len(old) > WAYS - 16
    # Each is used once when it is new, and of those that were used so often the last time is past.
    new = []
    for n in range(WAYS):
        new += store(bench, 1, b"new %d" % n)
        there(bench, new[-1:])
    kept = there(bench, new)
    print(len(kept), bench.counts()["Evictions"])
    assert len(kept) > WAYS // 3


def test_all_ways_go(bench):
    """Of entries that are used alike each goes one day, in even and in odd buckets, first ways and last."""
    old = store(bench, 2 * WAYS, b"old")
    store(bench, 10 * WAYS, b"new")
    assert bench.counts()["Evictions"] > 8 * WAYS
    left = there(bench, old)
    print(len(left))
    assert len(left) < 6
