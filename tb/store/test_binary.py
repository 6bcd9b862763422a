"""What the binary protocol asks of the store beside text: CAS uniques in replies and in more requests, quiet
ones that fail aloud, numbers that are made, keys in replies to misses."""

import random

from harness.structs import T
from store.store_bench import Raw


def test_binary(small):
    bench = Raw(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    for key in (b"k", random.randbytes(64), random.randbytes(65), random.randbytes(250)):
        # Stored with a unique that the next reader sees.
        res, record = bench.says("RpStored", T.OpSet, key, _value=b"one", flags=7)
        unique = bench.unique(record["off"])
        assert res["unique_no"] == unique == bench.value(b"one", key)["unique_no"]
        bench.says(None, T.OpSet, key, quiet=1, _value=b"two")
        unique = bench.value(b"two", key)["unique_no"]
        # Conditions that do not hold are told, quiet or not.
        for quiet in (0, 1):
            bench.says("RpExists", T.OpAdd, key, quiet, _value=b"x")
            bench.says("RpNotFound", T.OpReplace, b"none" + key[:9], quiet, _value=b"x")
            bench.says("RpExists", T.OpCas, key, quiet, _value=b"x", num=unique + 1)
            bench.says("RpExists", T.OpAppend, key, quiet, _value=b"x", num=unique + 1)
            bench.says("RpExists", T.OpDelete, key, quiet, num=unique + 1)
            bench.says("RpNotStored", T.OpPrepend, b"none", quiet, _value=b"x")
        bench.value(b"two", key)
        res, _ = bench.says("RpStored", T.OpAppend, key, _value=b"!", num=unique)
        unique = bench.value(b"two!", key)["unique_no"]
        assert res["unique_no"] == unique
        res, _ = bench.says("RpTouched", T.OpTouch, key, expiry=0)
        assert res["unique_no"] == unique and res["flags"] == 0
        bench.says("RpDeleted", T.OpDelete, key, num=unique)
        # Misses; the key is there if it is to be shown.
        for with_key, touch in ((0, 0), (1, 0), (0, 1), (1, 1)):
            bench.says(None, T.OpGet, key, 1, with_key, touch=touch)
            assert not bench.rkey.items
            bench.says("RpNotFound", T.OpGet, key, 0, with_key, touch=touch)
            lines = [line.to_bytes(64, "little") for line in bench.rkey.items]
            assert b"".join(lines)[: len(key)] == (key if with_key else b"")
            assert len(lines) == (-(-len(key) // 64) if with_key else 0)
            bench.rkey.items.clear()
        bench.says(None, T.OpSet, key, 1, _value=b"v" * 70)
        res, _ = bench.do(T.OpGet, key, 0, 1)
        assert res["key"] == key and res["value"] == b"v" * 70
    assert not bench.rkey.items


def test_numbers(small):
    """incr and decr: a number is made where there is none, in a way of its own or in that of an expired
    item; it may be for one item only."""
    bench = Raw(small)
    for n, key in enumerate((b"n", random.randbytes(80))):
        first = random.choice((0, 9, (1 << 64) - 1, random.getrandbits(64)))
        bench.says("RpNotFound", T.OpIncr, key, num=1, hash=first)
        for quiet in (0, 1):
            if quiet:
                bench.says("RpStored", T.OpSet, key, _value=b"expired", flags=3, expiry=bench.model.now + 1)
                bench.sleep(2)
            res, _ = bench.do(random.choice((T.OpIncr, T.OpDecr)), key, quiet, touch=1, num=5, hash=first,
                              expiry=bench.model.now + 100)
            assert quiet and res is None or res["kind"] == T.RsNumber and res["num"] == first
            got = bench.value(b"%d" % first, key)
            assert got["flags"] == 0 and (quiet or got["unique_no"] == res["unique_no"])
            bench.says("RpDeleted", T.OpDelete, key)
        bench.says("RpStored", T.OpSet, key, _value=b"10", flags=3)
        unique = bench.value(b"10", key)["unique_no"]
        bench.says("RpExists", T.OpIncr, key, n, touch=1, num=1, hash=first, unique_no=unique + 1)
        res, _ = bench.do(T.OpDecr, key, touch=1, num=1, hash=first, unique_no=unique)
        assert res["kind"] == T.RsNumber and res["num"] == 9 and bench.value(b"9 ", key)["flags"] == 3
        # It lives as long as it was told to.
        bench.says("RpDeleted", T.OpDelete, key)
        bench.do(T.OpIncr, key, touch=1, num=1, hash=first, expiry=bench.model.now + 1)
        bench.sleep(1)
        bench.says("RpNotFound", T.OpGet, key)
    for value, reply in ((b"", "RpNonNumeric"), (b"x", "RpExists")):
        bench.says("RpStored", T.OpSet, b"odd", _value=value)
        bench.says(reply, T.OpIncr, b"odd", num=1, unique_no=1)
