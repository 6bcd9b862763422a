"""The store against a Python model: random requests, hot keys, long values, cuts, full index."""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sim import Sim  # noqa: E402
from store_bench import Bench, T  # noqa: E402


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
    r = {"_key": key, "exptime": random.choice([0, 0, 0, bench.model.now + 100, 1])}
    x = random.random()
    if x < 0.40:
        return {"op": T.OpGet, "_key": key, "last_key": 1, "cas_out": random.randrange(2)}
    if x < 0.45:
        return {"op": T.OpGet, "touch": 1, "last_key": 1, **r}
    if x < 0.65:
        return {"op": T.OpSet, "_value": random_value(), "flags": random.getrandbits(32),
                "noreply": random.randrange(4) == 0, **r}
    if x < 0.80:
        op = random.choice([T.OpAdd, T.OpReplace, T.OpCas])
        item = bench.model.items.get(key)
        num = item.off["lap"] << 28 | item.off["pos"] if item and item.off else random.getrandbits(64)
        return {"op": op, "_value": random_value(), "flags": random.getrandbits(32), "num": num, **r}
    if x < 0.85:
        return {"op": T.OpDelete, "_key": key, "noreply": random.randrange(4) == 0}
    if x < 0.94:
        return {"op": random.choice([T.OpIncr, T.OpDecr]), "_key": key,
                "num": random.choice([0, 1, 1, 9, random.getrandbits(64)])}
    if x < 0.97:
        return {"op": T.OpTouch, **r}
    if x < 0.98:
        return {"op": T.OpReply, "reply": T.RpError}
    if x < 0.995:
        return {"op": T.OpTooBig, "_key": key, "reply": T.RpTooLarge}
    return {"op": T.OpFlush, "exptime": 0}


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
        udp = int(random.random() < 0.2)
        job = bench.job(records, conn, udp, space() if space else 65536)
        conts[conn] = job
        sent += len(records)
        if random.random() < 0.02:
            bench.room(0)
        else:
            bench.room(jobs)


def continue_value(bench, job, space=None):
    """The next job of a connection whose value was split."""
    key, value, ctx = job["cont"]
    record = {"op": T.OpCont, "klen": ctx["klen"], "vlen": ctx["vlen"], "off": ctx["off"],
              "cont_start": ctx["cont_start"], "last_key": 1, "ctx_op": T.OpGet, "_data": value}
    return bench.job([record], job["conn"], 0, space() if space else 65536)


@pytest.fixture
def seed():
    value = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 31))
    print(f"SEED={value}")
    random.seed(value)
    return value


@pytest.fixture
def small(seed):
    """256 buckets, 512 KiB of log."""
    sim = Sim(seed, IndexBits=8, LogLines=8192)
    yield sim
    sim.close()


def test_basics(small):
    """One of everything, one after the other."""
    bench = Bench(small)
    get = {"op": T.OpGet, "_key": b"foobar", "last_key": 1}
    for records in ([get], [{"op": T.OpSet, "_key": b"foobar", "_value": b"abcd", "flags": 7}],
                    [get], [get, get, get, get],
                    [{"op": T.OpIncr, "_key": b"foobar", "num": 1}],
                    [{"op": T.OpSet, "_key": b"foobar", "_value": b"99"}],
                    [{"op": T.OpIncr, "_key": b"foobar", "num": 1}, get],
                    [{"op": T.OpDelete, "_key": b"foobar"}, get], [],
                    [{"op": T.OpSet, "_key": b"k" * 250, "_value": b"v" * 3000}],
                    [{**get, "_key": b"k" * 250}]):
        bench.job(records)
        bench.idle()
    counts = bench.counts()
    assert (counts["GetHits"], counts["GetMisses"], counts["Inserts"]) == (7, 2, 2)


@pytest.mark.parametrize("pause,out_pause,latency,jitter,mem_pause,keys", [
    (0, 0, 40, 0, 0, 40), (0, 0, 1, 0, 0, 3), (0.3, 0.3, 10, 60, 100, 100), (0, 0.5, 40, 40, 30, 8)])
def test_random(small, pause, out_pause, latency, jitter, mem_pause, keys):
    """Few keys, so that requests meet; a small log, so that it wraps; random stalls everywhere."""
    bench = Bench(small, pause, out_pause, latency, jitter, mem_pause)
    random_jobs(bench, 4000, [random_key(i) for i in range(keys)])
    bench.idle()
    print(f"{bench.results} records in {small.clock} clocks, {bench.misses_by_age} fell out, "
          f"{bench.splits} split", bench.counts())
