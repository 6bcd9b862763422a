"""What memcached's meta commands ask of the store beside text: keys in any reply, what an item is told to be
instead of its value, CAS uniques for all that writes, numbers and appended values that are made of nothing."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from store_bench import T, numeric  # noqa: E402
from test_binary import Raw  # noqa: E402

SETS = ("OpSet", "OpSet", "OpAdd", "OpReplace", "OpCas", "OpAppend", "OpPrepend")


class Meta(Raw):
    def check(self, job, results):
        job["done"], job["ctx"] = True, results[-1]["ctx"]
        for res in results:
            lines = [self.rkey.items.pop(0) for _ in range(0, res["klen"] if res["keyed"] else 0, 64)]
            res["key"] = b"".join(line.to_bytes(64, "little") for line in lines)[: res["klen"]]
            if res["kind"] == T.RsValue:
                _, res["value"] = self.bytes()
        self.seen += [res for res in results if res["kind"] != T.RsEnd]


class Model:
    """Values, flags, expiries and, where it is known, CAS uniques by key; what one request does and says."""

    def __init__(self, bench):
        self.bench, self.items = bench, {}
        self.keys = [b"k", b"l", random.randbytes(60), random.randbytes(70), random.randbytes(250)]

    def record(self):
        now, key = self.bench.model.now, random.choice(self.keys)
        item = self.alive(key)
        unique = item and item["unique"]
        op = random.choice(("set", "set", "get", "get", "OpDelete", "sum", "sum"))
        meta = {"is": 1, "value": random.randrange(2), "show": random.choice((0, T.ShKey, T.ShTime << 3 | T.ShKey))}
        fields = {"noreply": random.randrange(2), "expiry": random.choice((0, 1, now + 1, now + 5000, now + 9000)),
                  "opaque": {"len": 3, "text": random.getrandbits(24)}}  # fmt: skip
        wanted = random.choice((0, 0, unique or 5, 5))
        if op == "set":
            op, meta["value"] = random.choice(SETS), 0
            text = b"%d" % random.getrandbits(random.choice((1, 20, 64)))
            fields |= {"_value": random.choice((text, random.randbytes(random.choice((0, 17, 300))))), "flags": random.getrandbits(32)}
            if op == "OpCas":
                fields["num"] = unique or 5
            elif op in ("OpAppend", "OpPrepend"):
                fields |= {"num": wanted, "touch": random.randrange(2)}
        elif op == "get":
            op = "OpGet"
            fields["touch"] = random.randrange(2)
            meta |= {"get": 1, "retimed": fields["touch"] and random.randrange(2)}
        elif op == "sum":
            op = random.choice(("OpIncr", "OpDecr"))
            fields |= {"num": random.getrandbits(random.choice((3, 64))), "unique_no": wanted, "touch": random.randrange(2),
                       "hash": random.getrandbits(random.choice((5, 64)))}  # fmt: skip
            meta |= {"sets_time": random.randrange(2), "made": fields["touch"]}
        else:
            fields["num"] = wanted
        return {"op": getattr(T, op), "_key": key, "meta": meta, **fields}

    def alive(self, key):
        item = self.items.get(key)
        return item if item and (not item["expiry"] or item["expiry"] > self.bench.model.now) else None

    def run(self, r):
        """The reply's name, a value or a number, or None; what shows beside it."""
        op, key, item = r["op"], r["_key"], self.alive(r["_key"])
        wanted = r.get("unique_no") or r.get("num") if op not in (T.OpIncr, T.OpDecr) else r["unique_no"]
        other = item and wanted and item["unique"] != wanted
        quiet = r["noreply"]

        def store(value, flags, expiry):
            self.items[key] = {"value": value, "flags": flags, "expiry": expiry, "unique": None}

        if op == T.OpGet:
            if not item:
                return None if quiet else "RpNotFound"
            told = {**item, "expiry": r["expiry"]} if r["meta"]["retimed"] else dict(item)
            if r["touch"]:
                item["expiry"] = r["expiry"]
            return (item["value"] if r["meta"]["value"] else "RpFound"), told
        if op == T.OpDelete:
            if item and not other:
                del self.items[key]
            reply = "RpNotFound" if not item else "RpExists" if other else "RpDeleted"
            return None if quiet and reply == "RpDeleted" else reply
        if op in (T.OpIncr, T.OpDecr):
            if not item:
                if not r["touch"]:
                    return "RpNotFound"
                number = r["hash"]
                store(b"%d" % number, 0, r["expiry"])
            elif other and item["value"]:
                return "RpExists"
            elif (number := numeric(item["value"])) is None:
                return "RpNonNumeric"
            else:
                number = (number + r["num"]) % (1 << 64) if op == T.OpIncr else max(number - r["num"], 0)
                store((b"%d" % number).ljust(len(item["value"])), item["flags"],
                      r["expiry"] if r["meta"]["sets_time"] else item["expiry"])  # fmt: skip
            told = {"expiry": item["expiry"] if item else r["expiry"]}
            return None if quiet and item else (number if r["meta"]["value"] else "RpFound", told)
        if op in (T.OpAppend, T.OpPrepend):
            if other:
                return "RpExists"
            if item:
                both = (item["value"], r["_value"]) if op == T.OpAppend else (r["_value"], item["value"])
                store(b"".join(both), item["flags"], item["expiry"])
            elif r["touch"]:
                store(r["_value"], r["flags"], r["expiry"])
            else:
                return "RpNotStored"
        elif op == T.OpCas and not item:
            return "RpNotFound"
        elif op == T.OpCas and other:
            return "RpExists"
        elif op in (T.OpAdd, T.OpReplace) and (op == T.OpAdd) == bool(item):
            return "RpNotStored"
        else:
            store(r["_value"], r["flags"], r["expiry"])
        return None if quiet else ("RpStored", {"value": self.items[key]["value"]})


def test_meta(small):
    bench = Meta(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    model = Model(bench)
    seen = set()
    for _ in range(600):
        r = model.record()
        want = model.run(r)
        told = {}
        if isinstance(want, tuple):
            want, told = want
        bench.seen.clear()
        bench.bad = False
        bench.job([dict(r)])
        bench.idle()
        res, *more = bench.seen
        assert not more, (r, bench.seen)
        shows_key = r["meta"]["show"] and (r["op"] != T.OpGet or want is not None)
        assert res["key"] == (r["_key"] if shows_key else b""), (r, res)
        if want is None:
            assert res["kind"] == T.RsNone, (r, res)
        elif isinstance(want, bytes):
            assert res["kind"] == T.RsValue and res["value"] == want, (r, want, res)
        elif isinstance(want, int):
            assert res["kind"] == T.RsNumber and res["num"] == want, (r, want, res)
        else:
            assert res["kind"] == T.RsReply and res["reply"] == getattr(T, want), (r, want, res)
        if want is not None:
            assert res["meta"] == {**dict.fromkeys(res["meta"], 0), **r["meta"]} and res["opaque"] == r["opaque"], (r, res)
            if "value" in told:
                assert res["vlen"] == len(told["value"]), (r, res)
            for name in ("flags", "expiry"):
                assert res[name] == told.get(name, res[name]), (name, r, res)
        # The CAS unique that it now has, as the next ones see it.
        item = model.alive(r["_key"])
        if item:
            bench.seen.clear()
            bench.job([{"op": T.OpGet, "_key": r["_key"], "meta": {"is": 1, "get": 1, "value": 1}}])
            bench.idle()
            (now,) = bench.seen
            assert now["kind"] == T.RsValue and now["value"] == item["value"] and now["flags"] == item["flags"], (r, now, item)
            if want == "RpStored" or isinstance(want, int) or want == "RpFound":
                assert res["unique_no"] == now["unique_no"], (r, res, now)
            assert item["unique"] in (None, now["unique_no"]), (r, now)
            item["unique"] = now["unique_no"]
        seen.add((r["op"], want if isinstance(want, str) else type(want)))
        if random.random() < 0.05:
            bench.sleep(random.choice((1, 6000)))
    assert len(seen) > 25, seen
    assert not bench.rkey.items


def test_behind_another(small):
    """What a request does is not what was found out about the CAS unique or the expiry for the one before it."""
    bench = Meta(small, 0, 0)
    mine, yours = b"mine", b"yours"
    for before, op, expiry in (
        ({"op": T.OpDelete, "meta": {"is": 1}, "num": 1}, T.OpDelete, 0),
        ({"op": T.OpDelete, "binary": {"is": 1}, "num": 1}, T.OpDelete, 0),
        ({"op": T.OpTouch, "resp": {"is": 1}, "flags": T.resp_when_t.pack({"xx": 1}), "expiry": bench.model.now + 9000},
         T.OpTouch, bench.model.now + 5000),
    ):  # fmt: skip
        sets = [{"op": T.OpSet, "_key": key, "_value": b"abc", "meta": {"is": 1}} for key in (mine, yours)]
        for _ in range(2):
            bench.job([dict(one) for one in sets])
            bench.idle()
        bench.job([{"_key": mine, **before}, {"op": op, "_key": yours, "expiry": expiry}])
        bench.idle()
        bench.seen.clear()
        bench.job([{"op": T.OpGet, "_key": key, "meta": {"is": 1, "get": 1}} for key in (mine, yours)])
        bench.idle()
        stays, touched = bench.seen
        assert stays["reply"] == T.RpFound and stays["expiry"] == 0, (before, stays)
        assert touched["reply"] == (T.RpFound if op == T.OpTouch else T.RpNotFound), (before, touched)
        assert touched["expiry"] == expiry, (before, touched)
