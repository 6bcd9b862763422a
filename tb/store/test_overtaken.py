"""Bytes whose place in the log has been overtaken while something was still to be done with them."""

import random

import pytest

from harness.streams import to_beats
from harness.structs import T
from store.hash_model import hash64
from store.store_bench import Bench


def fill(bench, lines, name=b"fill"):
    """Puts items of so many lines in all into the log; the names of those that are sure to be there."""
    names = []
    for n in range(lines // 16):
        names.append(name + b" %d" % n)
        bench.job([{"op": T.OpSet, "_key": names[-1], "_value": random.randbytes(16 * 64 - 64)}])
        bench.room(4)
    bench.idle()
    return names


def check(bench, names):
    for k in names:
        bench.job([{"op": T.OpGet, "_key": k, "last_key": 1}])
        bench.room(4)
    bench.idle()


@pytest.mark.parametrize("op", (T.OpSet, T.OpAdd))
def test_part(small, op):
    """The log has passed the place of a long value of which parts are still to come: they go nowhere, what is there
    now stays, and the value is not stored."""
    bench = Bench(small)
    bench.allow_evict = bench.overtakes = True
    key, value = b"long", random.randbytes(20000)
    fields = {"klen": len(key), "vlen": len(value), "flags": 7, "expiry": 0}
    off = bench.put(to_beats(key) + to_beats(value[:5000]), start=1, own_lines=1, **fields)
    fill(bench, small.log_lines - 2000)
    names = fill(bench, 3000, b"new")
    for at in range(5000, len(value), 5000):
        part = to_beats(value[at : at + 5000])
        bench.put(part, start=0, own_lines=1, off=off, done=at, klen=len(key), vlen=len(value))
    bench.idle()
    check(bench, names)
    assert bench.counts()["GetMisses"] == 0
    bench.job([{"op": op, "key_stored": 1, "hash": hash64(key, bench.nh, bench.mix), "off": off, "_key": key,
                "_value": value, **fields}], 5)
    bench.idle()
    assert bench.refused == 1
    check(bench, [key])
    assert bench.counts()["GetMisses"] == 1


@pytest.mark.parametrize("value", (b"as it was", b"as it was" * 30))
@pytest.mark.parametrize("op", (T.OpAppend, T.OpPrepend))
def test_append(small, op, value):
    """The log has passed the bytes that are to be appended, and not the item: it stays as it was, as if it were not
    there."""
    bench = Bench(small)
    bench.allow_evict = bench.overtakes = True
    key, more = b"short", b"more"
    put = bench.put
    off = put(to_beats(key) + to_beats(more), start=1, klen=len(key), vlen=len(more), flags=0, expiry=0)
    fill(bench, small.log_lines // 2)
    bench.job([{"op": T.OpSet, "_key": key, "_value": value}])
    bench.idle()
    fill(bench, small.log_lines // 2 + 64, b"new")
    bench.put = lambda *_, **__: off
    bench.job([{"op": op, "_key": key, "_value": more}])
    bench.put = put
    bench.idle()
    assert bench.refused == 1  # not stored, though the item is there
    check(bench, [key])
    assert bench.counts()["GetHits"] == 1
