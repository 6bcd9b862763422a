"""The store before another server: a get that misses ends what its job does, and the rest is for host software."""

import random

import pytest

from harness.structs import T
from store.store_bench import Bench, do, put

pytestmark = pytest.mark.skipif(not T.Config.upstream, reason="this variant stands before no other server")

HOST = (1 << 14) - 1
HERE = [b"here%d" % n for n in range(40)] + [b"h%d" % n * 60 for n in range(4)]
#: Never stored; over; of other databases.
AWAY = [b"away%d" % n for n in range(10)] + [b"a" * 250]
OVER = [b"over%d" % n for n in range(10)]


def filled(sim, *pauses, **options):
    bench = Bench(sim, *pauses, **options)
    sim.upstream_i.set(0)
    for key in HERE + OVER:
        do(bench, {**put(key, key * random.randrange(4)), "expiry": bench.model.now + 1000 if key in OVER else 0})
    bench.idle()
    bench.sleep(2000)
    sim.upstream_i.set(1)
    # From here on results are looked at one by one.
    bench.checked = 1 << 60
    return bench


def send(bench, keys, conn, udp, space, form):
    """A job that gets `keys`. Gives what the next job is to go on with behind each."""
    form = {"udp": udp, **form}
    behind = [{"rx_ptr": n + 1, "mode": random.choice((T.MdKeys, T.MdLine)), "cas_out": random.randrange(2), "num": random.getrandbits(32)}
              for n in range(len(keys))]
    for n, key in enumerate(keys):
        bench.send({"op": T.OpGet, "ctx_op": T.OpGet, "conn": conn, "first": int(n == 0), "klen": len(key),
                    "tx_space": space if n == 0 else 0, "last_key": 1, **behind[n], **form}, key)
    bench.send({"op": T.OpEnd, "ctx_op": T.OpEnd, "conn": conn, "udp": udp, "rx_ptr": len(keys) + 1, "mode": T.MdLine})
    return behind


def results(bench, before):
    """Those of the job, when all of it is there."""
    for _ in range(20_000):
        if len(bench.res.items) > before and bench.res.items[-1]["last"]:
            return bench.res.items[before:]
        bench.tick()
    raise AssertionError("no end")


FORMS = {"text": {}, "quiet": {"binary": {"is": 1, "opcode": 0x0D, "key": 1}, "noreply": 1}, "binary": {"binary": {"is": 1, "opcode": 0x0C, "key": 1}},
         "meta": {"meta": {"is": 1, "get": 1, "value": 1, "show": T.ShKey}}, "redis": {"resp": {"is": 1, "form": T.RfBulk}}}


def test_misses_go_to_host_software(small):
    """Of every form and mix: what stands in front of the first miss is answered, nothing else is."""
    bench = filled(small, .1, .1)
    firsts = misses = cuts = lines = 0
    for _ in range(900):
        form = random.choice(list(FORMS))
        keys = [random.choice(HERE * 2 + AWAY + OVER) for _ in range(random.choice((1, 1, 2, 9)))]
        udp = int(random.random() < .3)
        space = 0 if udp else random.choice((65536, 65536, 600, 900))
        before = len(bench.res.items)
        behind = send(bench, keys, 0 if udp else random.randrange(16), udp, space, FORMS[form])
        got = results(bench, before)
        values, end = [r for r in got if r["kind"] != T.RsEnd and r["kind"] != T.RsNone], got[-1]
        first_miss = next((n for n, key in enumerate(keys) if key not in HERE), len(keys))
        assert all(r["kind"] == T.RsValue for r in values) and got[0]["first"]
        ctx = end["ctx"]
        lines += sum(-(-len(key) // 64) for key in keys[:len(values)]) if form != "redis" else 0
        if ctx["again"]:
            assert first_miss == 0 and not values and ctx["resp"]["all"]
            firsts += 1
            continue
        assert len(values) == min(ctx["rx_ptr"], len(keys)) <= first_miss and first_miss > 0
        if ctx["resp"]["all"]:
            assert ctx["rx_ptr"] == first_miss < len(keys)
            for field, was in behind[first_miss - 1].items():
                assert ctx[field] == was, (field, ctx, was)
            misses += 1
        elif len(values) < len(keys):
            assert space < 65536 and not udp
            cuts += 1
        else:
            assert first_miss == len(keys)
    assert min(firsts, misses) > 100 and cuts > 20, (firsts, misses, cuts)
    for _ in range(500):
        bench.tick()
    # Each value has its key, and no other reply has one.
    assert len(bench.rkey.items) == lines and bench.counts()["GetHits"] > 300


def test_the_request_port_is_as_ever(small):
    """Host software's own connection is told of a miss."""
    bench = filled(small)
    before = len(bench.res.items)
    bench.send({"op": T.OpGet, "ctx_op": T.OpGet, "conn": HOST, "first": 1, "rx_ptr": 1, "klen": 5, "last_key": 1,
                "tx_space": 65536}, b"away1")
    bench.send({"op": T.OpEnd, "conn": HOST, "rx_ptr": 2})
    got = results(bench, before)
    assert (got[0]["kind"], got[0]["reply"]) == (T.RsReply, T.RpEnd)
    assert not got[-1]["ctx"]["resp"]["all"] and not got[-1]["ctx"]["again"]


def test_rows(small):
    """Bytes that are passed on as they are: where a row begins, goes on and ends, and what it goes on with."""
    bench = filled(small, .1, .1)
    for row, left in ((0, 0), (1, 0), (2, 0), (3, 7)):
        texts = [random.randbytes(250), random.randbytes(64), b"x"]
        before, asked = len(bench.res.items), len(bench.hreq.items)
        for n, text in enumerate(texts):
            bench.send({"op": T.OpHost, "ctx_op": T.OpHost, "first": int(n == 0), "klen": len(text), "vlen": int(n > 0), "tx_space": 65536,
                        "last_key": int(n == 2), "flags": row if n == 0 else 0, "num": left, "resp": {"all": 1, "is": int(row == 3)},
                        "mode": T.MdHost}, text)
        bench.send({"op": T.OpEnd, "mode": T.MdHost, "resp": {"all": 1}})
        results(bench, before)
        while len(bench.hkey.items) and not bench.hkey.items[-1]["last"]:
            bench.tick()
        packets = bench.hreq.items[asked:]
        assert [(p["begins"], p["more"], p["len"], p["all"], p["stranger"]) for p in packets] == [
            (1, 1, 250, 1, 1), (0, 1, 64, 1, 1), (0, 0, 1, 1, 1)]
        assert (packets[0]["row"], packets[0]["left"]) == (row, left)
