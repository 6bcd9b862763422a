"""2,000 hostile connections at once, of eight kinds (hostile.py), and a client that means well."""

from harness import hostile, reference, watch
from harness.crowd import Crowd, Good
from harness.memcached import values
from harness.memory import BESIDE, EACH, MEGABYTES

CONNECTIONS = 2000
# What the allocator may keep afterwards of what a connection had.
KEPT = EACH / 8
ITEMS, SIZE = hostile.ITEMS, 1000


def test_2000_hostile_connections(seed):
    metrics = reference.free_port()
    server = reference.soft("--metrics", f"127.0.0.1:{metrics}", megabytes=MEGABYTES, threads=2,
                            connections=2 * CONNECTIONS)  # fmt: skip
    crowd = None
    try:
        good = Good(server, ITEMS, SIZE)
        # All memory is in use, so what others want has to come from somewhere.
        for _ in range(8):
            good.store()
        before, resident = watch.descriptors(server), watch.resident(server)
        crowd = Crowd(f"127.0.0.1:{server.port}", "--metrics", metrics, "--count", CONNECTIONS,
                      "--seed", seed)  # fmt: skip
        rounds, most = 0, 0
        while rounds < 2 or not crowd.done.is_set():
            good.read()
            good.store()
            rounds += 1
            most = max(most, watch.resident(server))
        assert crowd.said == "done\n"
        good.read()
        most = max(most, watch.resident(server))
        print(f"{rounds} rounds of {ITEMS} items; {most:.1f} MiB")
        told = crowd.end()
        print("\n".join(f"{kind}: {did}" for kind, did in told.items()))
        assert len(told) == len(hostile.KINDS)
        assert all(did["connections"] == CONNECTIONS // 8 for did in told.values())
        assert all(did["sent"] > 0 for did in told.values()), "who does nothing is not hostile"
        assert most <= MEGABYTES + BESIDE + (CONNECTIONS + 1) * EACH

        # As before.
        assert watch.settle(lambda: watch.descriptors(server), before) == before
        last = {}

        def connections():
            last.update(reference.stats(server))
            return last["curr_connections"]

        assert watch.settle(connections, "2") == "2"
        assert watch.resident(server) <= resident + BESIDE + CONNECTIONS * KEPT
        good.read()
        # On each thread, and what the hostile ones had half of.
        for i in range(4):
            fresh = values.Client(server)
            value = values.make(b"fresh%d" % i, 1, values.LONGEST)
            assert fresh.set(b"fresh%d" % i, value) == b"STORED\r\n"
            assert fresh.get(b"fresh%d" % i) == value
            fresh.close()
        good.read()
        assert last["evictions"] == "0"
    finally:
        if crowd:
            crowd.kill()
        code = server.stop()
    assert code == 0, server.tail()
