"""Random requests to the store, in jobs."""

import random

from harness.streams import to_beats
from harness.structs import T


def random_key(n):
    """Key number `n`: lengths from 1 to 250, mostly short."""
    rng = random.Random(n)
    size = rng.choice([1, 2, 5, 6, 6, 6, 20, 31, 32, 33, 48, 49, 63, 64, 65, 112, 128, 200, 250])
    return (b"%d:" % n + rng.randbytes(250))[:max(size, 4)]


def random_value():
    r = random.random()
    if r < 0.3:
        return str(random.getrandbits(random.choice([1, 8, 32, 63, 64]))).encode()
    if r < 0.4:
        return random.choice([b"", b" 12", b"+5", b"-0", b"-5", b"007", b"9" * 20, b"12 x", b"5\0z",
                              b"1x", b"18446744073709551615", b"0" * 60, b"12345".rjust(64),
                              b"12345".rjust(65)])
    if r < 0.9:
        return random.randbytes(random.randrange(120))
    if r < 0.98:
        return random.randbytes(random.randrange(1500))
    return random.randbytes(random.randrange(9000))


def random_record(bench, key):
    r = {"_key": key, "expiry": random.choice([0, 0, 0, bench.model.now + 100, 1])}
    x = random.random()
    if x < 0.40:
        return {"op": T.OpGet, "_key": key, "last_key": 1, "cas_out": random.randrange(2)}
    if x < 0.45:
        return {"op": T.OpGet, "touch": 1, "last_key": 1, **r}
    if x < 0.65:
        return {"op": T.OpSet, "_value": random_value(), "flags": random.getrandbits(32),
                "noreply": random.randrange(4) == 0, **r}
    # Where nothing falls out of the store, it is known what happens without an answer.
    quiet = {"noreply": int(bench.exact and random.randrange(4) == 0)}
    if x < 0.80:
        op = random.choice([T.OpAdd, T.OpReplace, T.OpCas, T.OpAppend, T.OpPrepend])
        item = bench.model.items.get(key)
        num = bench.unique_of(item) if item and item.off else random.getrandbits(64)
        if random.randrange(4) == 0:
            num ^= 1 << random.randrange(64)
        return {"op": op, "_value": random_value(), "flags": random.getrandbits(32), "num": num,
                **r, **quiet}
    if x < 0.85:
        return {"op": T.OpDelete, "_key": key, "noreply": random.randrange(4) == 0}
    if x < 0.94:
        return {"op": random.choice([T.OpIncr, T.OpDecr]), "_key": key,
                "num": random.choice([0, 1, 1, 9, random.getrandbits(64)]), **quiet}
    if x < 0.97:
        return {"op": T.OpTouch, **r, **quiet}
    if x < 0.98:
        return {"op": T.OpReply, "reply": T.RpError}
    if x < 0.995:
        return {"op": T.OpTooBig, "_key": key, "reply": T.RpTooLarge}
    if bench.allow_evict:
        return {"op": T.OpReply, "reply": T.RpError}
    return {"op": T.OpFlush, "expiry": 0}


def random_jobs(bench, n, keys, jobs=8, space=None):
    """`n` random records in jobs of random size; values that were cut are continued."""
    sent = 0
    conts = {}
    while sent < n or conts or bench.jobs:
        # Connections whose job is done and whose value goes on.
        for conn, job in list(conts.items()):
            if job["done"]:
                del conts[conn]
                if "cont" in job:
                    conts[conn] = continue_value(bench, job, space)
        if sent >= n:
            bench.tick()
            continue
        conn = random.randrange(16)
        if conn in conts:
            bench.tick()
            continue
        records = [random_record(bench, random.choice(keys)) for _ in range(random.randrange(9))]
        for r in records:
            # Most keys are in one only.
            strays = random.random() < 0.05
            r["db"] = random.choice([0, 7]) if strays else 7 * (sum(r.get("_key", b"")) % 4 == 0)
        udp = int(random.random() < 0.2)
        job = bench.job(records, conn, udp, space() if space else 65536)
        conts[conn] = job
        sent += len(records)
        if random.random() < 0.02:
            bench.room(0)
        else:
            bench.room(jobs)


def continue_value(bench, job, space=None):
    """The next job of a connection whose value was split, or whose append has made a piece."""
    key, value, ctx = job["cont"]
    if value is None:
        record = {k: ctx[k] for k in ("op", "db", "noreply", "klen", "vlen", "off", "cont_start", "hash", "expiry",
                                      "num")}
        record |= {"key_stored": 1, "_key": key["_key"], "_value": key["_value"]}
        return bench.job([record], job["conn"], 0, space() if space else 65536)
    record = {"op": T.OpCont, "klen": ctx["klen"], "vlen": ctx["vlen"], "off": ctx["off"],
              "cont_start": ctx["cont_start"], "last_key": 1, "ctx_op": T.OpGet, "_data": value}
    return bench.job([record], job["conn"], 0, space() if space else 65536)


def finish(bench, job, space=None):
    """The job, and those that go on with it."""
    bench.idle()
    while "cont" in job:
        job = continue_value(bench, job, space)
        bench.idle()


class LongSet:
    """A SET of `fast_path` lines that comes in parts, the first one now."""

    def __init__(self, bench, conn, lines, sent=8192, key=b"key", chosen_no=None, **more):
        self.bench, self.conn, self.key, self.value = bench, conn, key, random.randbytes(64 * lines - 16 - len(key))
        self.fields = {"klen": len(key), "vlen": len(self.value), "flags": 0, "expiry": 0, **more}
        self.chosen = {} if chosen_no is None else {"chosen_no": chosen_no}
        self.done = min(sent, len(self.value))
        self.off = bench.put(to_beats(key) + to_beats(self.value[:self.done]), start=1, own_lines=1, conn=conn,
                             ends=self.done == len(self.value), chosen=len(self.chosen), **self.chosen, **self.fields)
        self.there = bool(self.off["lap"])

    def part(self, size=8192):
        """Whether it was taken."""
        data = self.value[self.done : self.done + size]
        self.done += len(data)
        return bool(self.bench.put(to_beats(data), start=0, own_lines=1, off=self.off, done=self.done - len(data),
                                   conn=self.conn, ends=self.done == len(self.value), **self.fields)["lap"])

    def finish(self):
        """All the rest, and then it is stored, and there."""
        context = {"ctx_op": T.OpSet, "mode": T.MdValue, "off": self.off, **self.fields}
        job = self.bench.job([{"op": T.OpPart, "_key": self.key, **context}], self.conn, **context)
        while self.done < len(self.value):
            assert self.part()
        self.bench.room(0)
        meta = {"is": 1, "chosen": 1} if self.chosen else {}
        self.bench.job([{"op": T.OpSet, "key_stored": 1, "hash": job["hash"], "off": self.off, "_key": self.key,
                         "_value": self.value, "meta": meta, **self.chosen, **self.fields}], self.conn)
        finish(self.bench, self.bench.job([{"op": T.OpGet, "_key": self.key, "last_key": 1}], 99))
        assert self.key in self.bench.model.items
