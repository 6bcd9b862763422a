"""What memcached's meta commands ask of the store beside text: keys in any reply, what an item is told to be
instead of its value, CAS uniques for all that writes, also such that clients choose, numbers, appended values and
items that are made of nothing, items that are stale, that one client is to make anew, that lose their value."""

import itertools
import random

from harness.structs import T
from store.store_bench import Raw, numeric, padded

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
        meta = {"is": 1, "value": random.randrange(2), "show": random.choice((0, T.ShKey, T.ShTime << 3 | T.ShKey)),
                "chosen": int(random.random() < 0.2), "coded": int(random.random() < 0.8)}  # fmt: skip
        meta["unfit"] = meta["coded"] & random.randrange(2)
        fields = {"noreply": random.randrange(2), "expiry": random.choice((0, 1, now + 1, now + 5000, now + 9000)),
                  "opaque": {"len": 3, "text": random.getrandbits(24)},
                  "chosen_no": random.choice((0, random.getrandbits(8), random.getrandbits(64))) if meta["chosen"] else 0}  # fmt: skip
        wanted = random.choice((0, 0, unique or 5, 5))
        if op == "set":
            op, meta["value"] = random.choice(SETS), 0
            text = b"%d" % random.getrandbits(random.choice((1, 20, 64)))
            fields |= {"_value": random.choice((text, random.randbytes(random.choice((0, 17, 300))))), "flags": random.getrandbits(32)}
            if op == "OpCas":
                fields["num"] = max((5 if unique is None else unique) - random.choice((0, 0, 1, -1)), 0)
                meta["stale"] = random.randrange(2)
            elif op in ("OpAppend", "OpPrepend"):
                fields |= {"num": wanted, "touch": random.randrange(2)}
        elif op == "get":
            op = "OpGet"
            fields["touch"] = random.randrange(2)
            meta |= {"get": 1, "retimed": fields["touch"] and random.randrange(2)}
            if random.random() < 0.4:
                fields["num"] = random.choice((0, now + 4000, now + 8000))
                meta |= {"vivifies": 1, "made": random.randrange(2), "n_last": random.randrange(2) if fields["touch"] else 1}
            if random.random() < 0.4:
                fields["unique_no"] = random.choice((0, now + 1, now + 5001, now + 100_000))
                meta |= {"recaches": 1, "r_late": fields["touch"] and random.randrange(2)}
        elif op == "sum":
            op = random.choice(("OpIncr", "OpDecr"))
            fields |= {"num": random.getrandbits(random.choice((3, 64))), "unique_no": wanted, "touch": random.randrange(2),
                       "hash": random.getrandbits(random.choice((5, 64)))}  # fmt: skip
            meta |= {"sets_time": random.randrange(2), "made": fields["touch"]}
        else:
            fields |= {"num": wanted, "flags": random.getrandbits(32), "touch": int(wanted != 0 or random.random() < 0.3)}
            meta |= {"value": 0, "stale": random.randrange(2), "voids": int(random.random() < 0.3), "sets_time": random.randrange(2)}
            if not meta["sets_time"]:
                fields["expiry"] = 0
        return {"op": getattr(T, op), "_key": key, "meta": meta, **fields}

    def zero(self):
        """An item gets the CAS unique 0, and is not stored by naming that."""
        meta = dict.fromkeys(("value", "show", "coded", "unfit", "stale"), 0) | {"is": 1, "chosen": 1}
        both = {"_key": self.keys[0], "_value": b"x", "flags": 7, "expiry": 0, "noreply": 0, "opaque": {"len": 3, "text": 1},
                "chosen_no": 0, "num": 0}  # fmt: skip
        yield {"op": T.OpSet, "meta": meta, **both}
        yield {"op": T.OpCas, "meta": meta | {"chosen": 0}, **both}

    def alive(self, key):
        item = self.items.get(key)
        return item if item and (not item["expiry"] or item["expiry"] > self.bench.model.now) else None

    def run(self, r):
        """The reply's name, a value or a number, or None; what shows beside it."""
        op, key, item = r["op"], r["_key"], self.alive(r["_key"])
        wanted = r.get("unique_no") or r.get("num") if op not in (T.OpIncr, T.OpDecr) else r["unique_no"]
        named = wanted or (op == T.OpDelete and r["touch"])
        other = item and named and item["unique"] != wanted
        quiet = r["noreply"]

        meta, told = r["meta"], {}
        chosen = r["chosen_no"] if meta["chosen"] else None

        def store(value, flags, expiry, won=0, stale=0, unique=None, coded=0):
            # Another one than it was.
            before = item["unique"] if item else None
            self.items[key] = {"value": value, "flags": flags, "expiry": expiry, "won": won, "stale": stale, "coded": coded,
                               "unique": chosen if chosen is not None else unique,
                               "not": before if chosen is None and unique is None else None}  # fmt: skip

        if op == T.OpGet:
            if not item:
                if meta.get("vivifies"):
                    store(b"", 0, r["num"] if meta["n_last"] else r["expiry"], won=1)
                    late = meta["made"] and (meta["n_last"] or not meta["retimed"])
                    expiry = r["num"] if late else r["expiry"] if meta["retimed"] else 0
                    return "RpFound", {"value": b"", "flags": 0, "expiry": expiry, "won": 0, "stale": 0, "coded": 0, "wins": 1}
                return None if quiet else "RpNotFound"
            told = {**item, "expiry": r["expiry"]} if meta["retimed"] else dict(item)
            ends = r["expiry"] if meta.get("r_late") else item["expiry"]
            soon = meta.get("recaches") and ends and ends < r["unique_no"]
            told["wins"] = int(not item["won"] and bool(item["stale"] or soon))
            item["won"] |= told["wins"]
            if r["touch"]:
                item["expiry"] = r["expiry"]
            return (item["value"] if meta["value"] else "RpFound"), told
        if op == T.OpDelete:
            if item and not other and (meta["stale"] or meta["voids"]):
                kept = (b"", r["flags"], r["expiry"]) if meta["voids"] else (
                    item["value"], item["flags"], r["expiry"] if meta["sets_time"] else item["expiry"])
                store(*kept, stale=meta["stale"], unique=None if meta["stale"] else item["unique"],
                      coded=0 if meta["voids"] else item["coded"])  # fmt: skip
            elif item and not other:
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
                fits = len(b"%d" % number) <= len(item["value"])
                store(padded(number, item["value"]), item["flags"],
                      r["expiry"] if r["meta"]["sets_time"] else item["expiry"],
                      won=item["won"] * fits, stale=item["stale"] * fits, coded=item["coded"] * fits)  # fmt: skip
            told = {"expiry": item["expiry"] if item else r["expiry"]}
            return None if quiet and item else (number if r["meta"]["value"] else "RpFound", told)
        if op in (T.OpAppend, T.OpPrepend):
            if other:
                return "RpExists"
            if item:
                both = (item["value"], r["_value"]) if op == T.OpAppend else (r["_value"], item["value"])
                store(b"".join(both), item["flags"], item["expiry"])
            elif r["touch"]:
                store(r["_value"], r["flags"], r["expiry"], coded=meta["coded"])
            else:
                return "RpNotStored"
        elif op == T.OpCas and not item:
            return "RpNotFound"
        elif op == T.OpCas and (item["unique"] != r["num"] or not r["num"]):
            if not (meta["stale"] and 0 < r["num"] < item["unique"]):
                return "RpExists"
            store(r["_value"], r["flags"], item["expiry"], won=item["won"], stale=1, coded=meta["coded"])
        elif op in (T.OpAdd, T.OpReplace) and (op == T.OpAdd) == bool(item):
            return "RpNotStored"
        else:
            store(r["_value"], r["flags"], r["expiry"], coded=meta["coded"])
        return None if quiet else ("RpStored", {"value": self.items[key]["value"]})


def test_meta(small):
    bench = Meta(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    model = Model(bench)
    seen = set()
    for r in itertools.chain(model.zero(), (model.record() for _ in range(1000))):
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
            # A deletion that leaves an item behind says so otherwise.
            got = T.RpDeleted if want == "RpDeleted" and res["reply"] == T.RpFound else res["reply"]
            assert res["kind"] == T.RsReply and got == getattr(T, want), (r, want, res)
        if want is not None:
            marks = {f: told[f] if "wins" in told else 0 for f in ("won", "stale")}
            marks["coded"] = told["coded"] | r["meta"]["unfit"] if "wins" in told else r["meta"]["coded"]
            assert (res["marks"], res["wins"]) == (marks, told.get("wins", 0)), (r, told, res)
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
            assert item["unique"] in (None, now["unique_no"]), (r, item, now)
            assert now["unique_no"] != item.pop("not", None), (r, now)
            # Who looks at a stale item is to make it anew.
            wins = int(item["stale"] and not item["won"])
            assert (now["marks"], now["wins"]) == ({f: item[f] for f in ("won", "stale", "coded")}, wins), (r, item, now)
            item["won"] |= wins
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


def test_wins_alone(small):
    """Who asks for what expires soon is to make it anew, not who asks for another item right behind."""
    bench = Meta(small, 0, 0)
    keys, expiry = (b"mine", b"yours"), bench.model.now + 5000
    bench.job([{"op": T.OpSet, "_key": key, "_value": b"abc", "meta": {"is": 1}, "expiry": expiry} for key in keys])
    bench.idle()
    bench.seen.clear()
    get = {"op": T.OpGet, "meta": {"is": 1, "get": 1}}
    soon = {"op": T.OpGet, "meta": {"is": 1, "get": 1, "recaches": 1}, "unique_no": expiry + 1}
    bench.job([{"_key": key, **how} for how, key in ((soon, keys[0]), (get, keys[1]), (get, keys[0]), (soon, keys[0]))])
    bench.idle()
    assert [(res["wins"], res["marks"]["won"]) for res in bench.seen] == [(1, 0), (0, 0), (0, 1), (0, 1)]


def test_copies(small):
    """A long item that becomes stale is copied in pieces, a job each; between two of them anything may happen to it."""
    bench = Meta(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    bench.bad = False
    fields = "op", "meta", "opaque", "chosen_no", "hash", "off", "expiry", "num", "cont_start", "klen", "vlen"
    for between, sets_time in itertools.product(("nothing", "touch", "set", "voids"), (0, 1)):
        key = random.choice((b"k", random.randbytes(70), random.randbytes(250)))
        size, now = 17_000 if between == "nothing" else random.choice((8193, 17_000)), bench.model.now
        value = random.randbytes(size)
        chosen = random.randrange(2)
        meta = {"is": 1, "show": T.ShKey, "stale": 1, "sets_time": sets_time, "chosen": chosen}
        record = {"op": T.OpDelete, "_key": key, "meta": meta, "chosen_no": 77 * chosen, "expiry": sets_time and now + 9000}
        bench.job([{"op": T.OpSet, "_key": key, "_value": value, "meta": {"is": 1}, "expiry": now + 5000, "flags": 7}])
        bench.idle()
        bench.seen.clear()
        expiry, pieces = now + (9000 if sets_time else 5000), 0
        job = bench.job([record])
        bench.idle()
        while (ctx := job["ctx"])["cont"]:
            pieces += 1
            if pieces == 1 and between == "touch":
                bench.job([{"op": T.OpTouch, "_key": key, "expiry": now + 7000}])
                expiry = expiry if sets_time else now + 7000
            elif pieces == 1 and between == "set":
                value = random.randbytes(9000)
                bench.job([{"op": T.OpSet, "_key": key, "_value": value, "expiry": now + 5000, "flags": 7}])
            elif pieces == 1 and between == "voids":
                value = b""
                bench.job([{"op": T.OpDelete, "_key": key, "meta": {"is": 1, "voids": 1}, "expiry": now + 5000, "flags": 7}])
            bench.idle()
            bench.seen.clear()
            job = bench.job([{**{f: ctx[f] for f in fields}, "key_stored": 1}])
            bench.idle()
        # It is begun anew, and then copied at once, for those only who have changed the item.
        assert pieces == 2 if between == "nothing" else pieces >= 1
        res = bench.seen[-1]
        assert res["kind"] == T.RsReply and res["reply"] in (T.RpDeleted, T.RpFound) and res["key"] == key, (between, res)
        bench.seen.clear()
        job = bench.job([{"op": T.OpGet, "_key": key, "meta": {"is": 1, "get": 1, "value": 1}}])
        bench.idle()
        got = bench.seen[0]
        while (ctx := job["ctx"])["cont"]:
            job = bench.job([{**{f: ctx[f] for f in fields}, "op": T.OpCont, "ctx_op": T.OpGet, "key_stored": 1}])
            bench.idle()
        assert b"".join(res["value"] for res in bench.seen) == value, (between, got)
        assert (got["flags"], got["expiry"], got["wins"]) == (7, expiry, 1), (between, got)
        assert got["unique_no"] == 77 or not chosen, got
