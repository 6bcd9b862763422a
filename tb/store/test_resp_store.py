"""What Redis' protocol asks of the store beside text: signed numbers that count from 0, lengths in place of values,
values appended to nothing."""

import random
import re

from harness.streams import to_beats
from harness.structs import T
from store.store_bench import Raw

INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
LOW, HIGH = -(1 << 63), (1 << 63) - 1
TEXTS = [b"0", b"1", b"-1", b"9", b"10", b"-10", b"99", b"-100", b"%d" % HIGH, b"%d" % LOW, b"%d" % (HIGH + 1), b"%d" % (LOW - 1),
         b"%d" % ((1 << 64) - 1), b"1" + b"0" * 20, b"-" + b"9" * 19, b"00", b"01", b"-0", b"-01", b"+1", b" 1", b"1 ", b"1\0", b"",
         b"-", b"--1", b"1-", b"x", b"1x", b"1.0", b"7" * 64, b"7" * 65]  # fmt: skip


class Redis(Raw):
    def do(self, op, key, form="RfStatus", **fields):
        self.seen.clear()
        self.bad = False
        named = {} if key is None else {"_key": key}
        self.job([{"op": op, **named, "resp": {"is": 1, "form": getattr(T, form)}, **fields}])
        self.idle()
        assert len(self.seen) == 1 and self.seen[0]["resp"]["is"], self.seen
        return self.seen[0]

    def says(self, reply, *args, **fields):
        res = self.do(*args, **fields)
        assert res["kind"] == T.RsReply and res["reply"] == getattr(T, reply), (res, reply)

    def tells(self, number, *args, **fields):
        res = self.do(*args, **fields)
        assert res["kind"] == T.RsNumber, res
        assert (-res["num"] if res["negative"] else res["num"]) == number, (res, number)

    def value(self, value, key):
        res = self.do(T.OpGet, key, "RfBulk")
        assert res["kind"] == T.RsValue and res["value"] == value, res


def test_sums(small):
    bench = Redis(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    for text in TEXTS + [b"%d" % random.randint(LOW, HIGH) for _ in range(8)]:
        for by in (1, -1, 0, HIGH, LOW, random.randint(LOW, HIGH)):
            key, op = random.choice((b"n", b"n" * 70)), random.choice((T.OpIncr, T.OpDecr))
            if op == T.OpDecr and by == LOW:
                continue
            total = (-by if op == T.OpDecr else by) + (int(text) if INTEGER.fullmatch(text) else 0)
            bench.says("RpStored", T.OpSet, key, _value=text, flags=5)
            number = {"num": by & ((1 << 64) - 1)}
            if not INTEGER.fullmatch(text) or not LOW <= int(text) <= HIGH:
                bench.says("RpNonNumeric", op, key, "RfInteger", **number)
                bench.value(text, key)
            elif not LOW <= total <= HIGH:
                bench.says("RpOverflow", op, key, "RfInteger", **number)
                bench.value(text, key)
            else:
                bench.tells(total, op, key, "RfInteger", **number)
                bench.value(b"%d" % total, key)


def test_short_sums(small):
    """Of numbers of up to ten digits: they get longer, shorter, or change sign."""
    bench = Redis(small)
    for n in range(150):
        total = random.choice((-1, 1, 1, 1)) * random.choice((10 ** (n % 11), 10 ** (n % 11) - 1, random.randrange(10**10)))
        key = b"n" * random.randrange(1, 80)
        bench.says("RpStored", T.OpSet, key, _value=b"%d" % total, flags=5)
        for _ in range(3):
            op, by = random.choice((T.OpIncr, T.OpDecr)), random.choice((0, 1, 1, 9, 256, 65535, total & 0xFFFF))
            total += by if op == T.OpIncr else -by
            bench.tells(total, op, key, "RfInteger", num=by)
            bench.value(b"%d" % total, key)


def test_append_too_much(small):
    """Bytes that fit by themselves, but not behind those that are there."""
    bench = Redis(small)
    most = 4000
    bench.limit(most)
    bench.tells(5, T.OpAppend, b"k", "RfLength", _value=b"abcde")
    bench.says("RpTooLarge", T.OpAppend, b"k", "RfLength", _value=bytes(most - 62))
    bench.value(b"abcde", b"k")
    bench.tells(9, T.OpAppend, b"k", "RfLength", _value=b"four")


def test_from_nothing(small):
    bench = Redis(small)
    for n, key in enumerate((b"k", random.randbytes(64), random.randbytes(250))):
        for op, sign in ((T.OpIncr, 1), (T.OpDecr, -1)):
            if n:
                bench.says("RpStored", T.OpSet, key, _value=b"41", expiry=bench.model.now + 1)
                bench.sleep(2)
            bench.tells(7 * sign, op, key, "RfInteger", num=7, hash=99)
            bench.value(b"%d" % (7 * sign), key)
            bench.says("RpDeleted", T.OpDelete, key, "RfInteger")
        bench.says("RpNotFound", T.OpGet, key, "RfBulk")
        bench.says("RpNotFound", T.OpGet, key, "RfLength")
        bench.says("RpNotFound", T.OpGet, key, "RfInteger")
        bench.tells(3, T.OpAppend, key, "RfLength", _value=b"abc")
        bench.tells(5, T.OpAppend, key, "RfLength", _value=b"de")
        bench.value(b"abcde", key)
        bench.tells(5, T.OpGet, key, "RfLength")
        bench.tells(1, T.OpGet, key, "RfInteger")
        bench.says("RpNotStored", T.OpAdd, key, "RfInteger", _value=b"x")
        bench.says("RpStored", T.OpReplace, key, _value=b"y" * 100)
        bench.tells(100, T.OpGet, key, "RfLength")
        bench.tells(12, T.OpReply, None, "RfArray", num=12)
    assert not bench.rkey.items


class Times:
    """What commands about expiry, and about what was there, do and say: values and expiries by key."""

    def __init__(self, bench):
        self.bench, self.items = bench, {}
        self.keys = [b"k", b"l", random.randbytes(60), random.randbytes(70), random.randbytes(250)]

    def alive(self, key):
        value, expiry = self.items.get(key, (None, 0))
        return (value, expiry) if value is not None and (not expiry or expiry > self.bench.model.now) else None

    def record(self):
        now, key = self.bench.model.now, random.choice(self.keys)
        time = random.choice((1, 2_000_000_000_000, 2_000_000_000_000, now + 1, now + 2, now + 499, now + 500, now + 1499, now + random.randrange(1, 1 << 30),
                              random.randrange(now + 1, 1 << 48)))
        form, fields = "RfBulk", {}
        op = random.choice(("OpSet", "OpSet", "OpAdd", "OpReplace", "OpDelete", "OpGet", "OpTouch", "OpTouch", "read", "read"))
        if op in ("OpSet", "OpAdd", "OpReplace"):
            form = random.choice(("RfStatus", "RfBulk"))
            fields = {"_value": random.randbytes(random.choice((0, 5, 16, 17, 100, 300, 3000)))}
            fields |= random.choice(({"touch": 1}, {"expiry": time}, {}))
        elif op == "OpDelete":
            form = random.choice(("RfInteger", "RfBulk"))
        elif op == "OpGet":
            fields = random.choice(({"touch": 1, "expiry": random.choice((0, time))}, {},
                                    {"touch": 1, "expiry": time, "reply": random.choice((T.RpBadExpire, T.RpNonNumeric))}))
        elif op == "OpTouch":
            form = "RfInteger"
            fields = {"flags": random.choice((0, 1, 2, 4, 8, 6, 10)), "expiry": random.choice((time, time, 1))}
            if random.random() < 0.2:
                fields = {"flags": 2, "expiry": 0}  # PERSIST
        else:
            op = "OpGet"
            form = random.choice(("RfTtl", "RfPttl", "RfExpiretime", "RfPexpiretime", "RfType", "RfInteger", "RfLength"))
        return {"op": getattr(T, op), "_key": key, "resp": {"is": 1, "form": getattr(T, form)}, "_form": form, **fields}

    def run(self, r):
        """The reply: a value, the name of a text, or a number."""
        op, key, form, now = r["op"], r["_key"], r["_form"], self.bench.model.now
        item = self.alive(key)
        expiry = r.get("expiry", 0)
        value, was = item or (None, 0)
        if op in (T.OpSet, T.OpAdd, T.OpReplace):
            stores = op == T.OpSet or (op == T.OpReplace) == bool(item)
            if stores:
                self.items[key] = r["_value"], was if r.get("touch") else expiry
            if form == "RfBulk" and item:
                return value
            return "RpStored" if stores else "RpNotStored"
        if op == T.OpDelete:
            self.items.pop(key, None)
            return "RpNotFound" if not item else "RpDeleted" if form == "RfInteger" else value
        if op == T.OpTouch:
            nx, xx, gt, lt = (r["flags"] >> i & 1 for i in range(4))
            due = not nx and (not gt or expiry > was) and (not lt or expiry < was) if was else not xx and not gt
            if item and due:
                self.items[key] = value, expiry
            return "RpTouched" if item and due else "RpNotFound"
        if form == "RfBulk":
            if item and r.get("reply"):
                return r["reply"], None
            if item and r.get("touch"):
                self.items[key] = value, expiry
            return value if item else "RpNotFound"
        if form == "RfType":
            return "RpOk" if item else "RpNotFound"
        if form in ("RfInteger", "RfLength"):
            return (1 if form == "RfInteger" else len(value)) if item else "RpNotFound"
        if not was:
            return -1 if item else -2
        return was - (now if form in ("RfTtl", "RfPttl") else 0) + (500 if form in ("RfTtl", "RfExpiretime") else 0)


def said(res):
    if res["kind"] == T.RsValue:
        return res["value"]
    if res["kind"] == T.RsNumber:
        return -res["num"] if res["negative"] else res["num"]
    return res["reply"]


def test_times(small):
    """One after another, and several at once: each sees what the one before did."""
    bench = Redis(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    times = Times(bench)
    for _ in range(400):
        records = [times.record() for _ in range(random.choice((1, 1, 2, 5)))]
        wants = [times.run(r) for r in records]
        bench.seen.clear()
        bench.bad = False
        bench.job([{k: v for k, v in r.items() if k != "_form"} for r in records])
        bench.idle()
        for r, want, res in zip(records, wants, bench.seen, strict=True):
            if isinstance(want, tuple):
                want = want[0]
            elif isinstance(want, str):
                want = getattr(T, want)
            assert said(res) == want, (r, want, res)
        if random.random() < 0.1:
            bench.sleep(random.choice((1, 2, 600)))


def test_sums_of_keys(small):
    """Keys that are there, counted over as many jobs as it takes, between other commands."""
    bench = Redis(small)
    form = {"is": 1, "form": T.RfSum}
    for _ in range(40):
        keys = [b"%d" % random.randrange(30) + b"x" * random.choice((0, 70)) for _ in range(random.choice((1, 2, 5, 20)))]
        for key in keys:
            if random.random() < 0.5:
                bench.says("RpStored", T.OpSet, key, _value=b"v" * random.choice((1, 100)))
        there, op = {k for k in keys if bench.do(T.OpGet, k, "RfInteger")["kind"] == T.RsNumber}, random.choice((T.OpGet, T.OpDelete))
        want = sum(k in there for k in keys) if op == T.OpGet else len(there)
        left, sent, total = len(keys), 0, 0
        bench.seen.clear()
        while left:
            now = random.randrange(left + 1)
            part = [{"op": op, "_key": key, "num": total << 32 | left - i - 1, "last_key": int(i == left - 1), "resp": form}
                    for i, key in enumerate(keys[sent : sent + now])]
            other = [{"op": T.OpReply, "reply": T.RpPong, "resp": {"is": 1, "form": T.RfStatus}}]
            end = {"num": total << 32 | left - now, "resp": form} if now < left else {"resp": {"is": 1}}
            job = bench.job((other if not sent and random.random() < 0.5 else []) + part + (other if now == left else []), **end)
            bench.idle()
            sent, left, total = sent + now, left - now, job["ctx"]["num"] >> 32
        # Once more, behind it and in its job.
        bench.job([{"op": T.OpGet, "_key": keys[0], "num": 0, "last_key": 1, "resp": form}] * 2)
        bench.idle()
        told = [res["num"] for res in bench.seen if res["kind"] == T.RsNumber]
        again = int(keys[0] in there and op == T.OpGet)
        assert told == [want, again, again] and not any(res["negative"] for res in bench.seen), (told, want)


def test_keeps_while_memory_waits(small):
    """The expiry that a SET keeps is written into its header, whether memory takes it at once or not."""
    bench = Redis(small, 0, 0, 40, 0, 128)
    for _ in range(60):
        expiry = bench.model.now + random.randrange(1000, 1 << 40)
        bench.says("RpStored", T.OpSet, b"key", _value=random.randbytes(20), expiry=expiry)
        bench.says("RpStored", T.OpSet, b"key", _value=random.randbytes(40), touch=1)
        bench.tells(expiry, T.OpGet, b"key", "RfPexpiretime")


def test_kept_where_it_was(make):
    """A SET that keeps its key's expiry stands behind slow readers, and the log passes its item meanwhile: what is stored
    there now stays as it is. The key has a newer item, which the request before has made."""
    sim = make(4, 1024)
    bench = Redis(sim)
    bench.allow_evict = True
    far = bench.model.now + 10**9
    bench.says("RpStored", T.OpSet, b"slow", _value=bytes(4000))
    # Many values to be read, then the SET; its item is in the log long before its turn.
    bench.chunk.pause = 1.0
    for _ in range(60):
        bench.job([{"op": T.OpGet, "_key": b"slow", "resp": {"is": 1, "form": T.RfBulk}}])
    bench.job([{"op": T.OpIncr, "_key": b"k", "binary": {"is": 1}, "touch": 1, "hash": 7, "expiry": far}])
    bench.job([{"op": T.OpSet, "_key": b"k", "_value": b"new", "touch": 1, "resp": {"is": 1, "form": T.RfStatus}}])
    place = bench.jobs[-1]["records"][0]["off"]
    # Items of others, of which the index hears later: zeros come over its place.
    zeros = {"start": 1, "own_lines": 0, "klen": 1, "vlen": 6000, "flags": 0, "expiry": 0}
    for _ in range(12):
        bench.puts.queue.append(T.put_t.pack(zeros))
        bench.putk.queue.extend(map(T.beat_t.pack, to_beats(b"z")))
        bench.putb.queue.extend(map(T.beat_t.pack, to_beats(bytes(6000))))
    bench.chunk.pause = 0.0
    bench.room(0, 30_000)
    over = [off for off in bench.put_offs if off["pos"] <= place["pos"] < off["pos"] + 376]
    assert len(over) == 1 and len(bench.put_offs) == 12, (place, bench.put_offs)
    bench.put_offs.clear()
    bench.send({"op": T.OpSet, "conn": 0, "first": 1, "last": 1, "rx_ptr": 2, "tx_space": 65536, "ctx_op": T.OpSet,
                "off": over[0], "resp": {"is": 1, "form": T.RfStatus}, **{k: zeros[k] for k in ("klen", "vlen")}}, b"z")
    bench.jobs.append({"done": False})
    bench.idle()
    bench.value(bytes(6000), b"z")
