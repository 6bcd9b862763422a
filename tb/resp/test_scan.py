"""SCAN's promises: what is there from beginning to end is returned, any
cursor is safe, and a scan ends, while four connections write, expire and evict."""

import random
import threading

import pytest

from harness.resp import servers, wire
from harness.size import scale

COUNT = 1000


def churn(server, number, stop, seed, fresh):
    """Stores `fresh` different keys, and what is soon over; deletes, renames."""
    rng = random.Random(seed + number)
    client = wire.Client(server)
    turn = 0
    while not stop.is_set():
        turn += 1
        requests = []
        for _ in range(100):
            r = rng.random()
            if r < 0.5:
                requests.append((b"SET", b"new:%d:%d" % (number, rng.randrange(fresh)), b"x" * rng.randrange(10, 200)))
            elif r < 0.7:
                requests.append((b"SET", b"short:%d:%d" % (number, rng.randrange(10_000)), b"y", b"PX", b"5"))
            elif r < 0.8:
                requests.append((b"DEL", b"short:%d:%d" % (number, rng.randrange(10_000))))
            elif r < 0.9:
                requests.append((b"APPEND", b"short:%d:%d" % (number, rng.randrange(10_000)), b"z"))
            else:
                requests.append((b"RENAME", b"short:%d:%d" % (number, rng.randrange(10_000)), b"short:%d:0" % number))
        client.many(requests)
    client.close()


def scan(client, cursor=b"0", count=COUNT):
    """All keys that a scan returns, and how many calls it took."""
    found, calls = set(), 0
    while True:
        cursor, keys = client("SCAN", cursor, "COUNT", count)
        calls += 1
        found.update(keys)
        if cursor == b"0":
            return found, calls


@pytest.mark.parametrize("evict", [False, True], ids=["room for all", "evicting"])
def test_scan_while_four_write(seed, evict):
    """A million keys with WIREKV_LONG=1. They are read again and again so that they are not what is
    evicted; those that were, all the same, must not be missed by a scan while they were there."""
    keys = scale(40_000, 1_000_000)
    # An item of these has about 40 bytes.
    megabytes = scale(12, 160) if evict else scale(512, 2048)
    server = servers.soft(megabytes=megabytes, threads=4)
    stop = threading.Event()
    writers = []
    try:
        client = wire.Client(server)
        names = [b"stay:%d" % i for i in range(keys)]
        for first in range(0, keys, 1000):
            client.many([(b"SET", name, b"v") for name in names[first : first + 1000]])
        keep = wire.Client(server)

        def there():
            """Those of the keys that are there; being asked for keeps them from being evicted."""
            held = set()
            for first in range(0, keys, 1000):
                some = names[first : first + 1000]
                held.update(name for name, value in zip(some, keep("MGET", *some)) if value is not None)
            return held

        fresh = 1 << 30 if evict else 5000
        writers = [threading.Thread(target=churn, args=(server, i, stop, seed, fresh)) for i in range(4)]
        for writer in writers:
            writer.start()

        def evicted():
            return int(client("INFO", "stats").split(b"evicted_keys:")[1].split(b"\r\n")[0])

        # Until the memory is full; who asks for them meanwhile keeps the keys.
        while evict and not evicted():
            there()
        for turn in range(scale(2, 5)):
            before = there()
            found, calls = scan(client)
            after = there()
            stayed = before & after
            # One that was evicted does not come back: who is there before and after was there all the time.
            missed = stayed - found
            size = client("DBSIZE")
            print(f"scan {turn}: {calls} calls, {len(found)} keys, {len(stayed)} of {keys} stayed, {size} in all")
            assert not missed, f"{len(missed)} of {len(stayed)} missed, {sorted(missed)[:5]}"
            assert len(stayed) > (keys // 20 if evict else keys - 1)
            assert calls <= 2 * max(size, len(found)) // COUNT + 1000
        assert evict == (evicted() > 0)
        # Any cursor is safe, and leads to an end.
        rng = random.Random(seed)
        for _ in range(scale(4, 20)):
            scan(client, b"%d" % rng.getrandbits(rng.choice([8, 16, 32, 63, 64])), 100_000)
        client.close()
    finally:
        stop.set()
        for writer in writers:
            writer.join()
        code = server.stop()
    assert code == 0, server.tail()


def test_all_of_a_still_store(either_empty):
    """Each key once and more, with any COUNT, MATCH and TYPE, as in Redis."""
    client = either_empty
    names = {b"key:%d" % i for i in range(3000)}
    client.many([(b"SET", name, b"v") for name in sorted(names)])
    client("SELECT", 5)
    client("SET", "other", "v")
    assert scan(client)[0] == {b"other"}
    client("SELECT", 0)
    for count in (1, 7, 100, 10_000):
        found, calls = scan(client, count=count)
        assert found == names and calls <= 2 * len(names) // count + 1000
    matched, cursor = set(), b"0"
    while True:
        cursor, some = client("SCAN", cursor, "MATCH", "key:1?", "TYPE", "string")
        matched.update(some)
        if cursor == b"0":
            break
    assert matched == {b"key:1%d" % i for i in range(10)}


@pytest.mark.parametrize(("start", "megabytes"), [(servers.soft, 64), (servers.soft, 1024), (servers.card, 64)],
                         ids=["soft", "large", "card"])  # fmt: skip
def test_few_calls_for_three_keys(start, megabytes):
    """Where there is little a scan takes few calls: in a new store, and where a flush has emptied it."""
    with start(megabytes=megabytes) as server:
        client = wire.Client(server)
        keys = {b"one", b"two", b"three"}
        for flushed in (False, True):
            if flushed:
                for first in range(0, 5000, 500):
                    client("MSET", *(word for n in range(first, first + 500) for word in (b"%d" % n, b"v")))
                assert client("FLUSHALL") == b"OK"
            client("MSET", *(word for key in keys for word in (key, b"v")))
            for count in (1, 10, 4000):
                found, calls = scan(client, count=count)
                assert found == keys and calls <= 20, (flushed, count, calls)
            assert sorted(client("KEYS", "*")) == sorted(keys) and client("RANDOMKEY") in keys
        client.close()


@pytest.fixture
def either_empty(either):
    client = wire.Client(either)
    client("FLUSHALL")
    yield client
    client.close()
