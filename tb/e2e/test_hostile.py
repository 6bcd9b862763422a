"""The simulated card among hostile connections: those of tb/harness/hostile.py that do not need what only the
soft body has. That one's own test is tb/soft/test_hostile.py."""

from harness import reference, watch
from harness.crowd import Crowd, Good
from harness.memcached import values
from harness.size import scale

CONNECTIONS, ITEMS, SIZE = scale(45, 90), scale(500, 1000), 100
# Of an endless line; the simulated card takes its time.
PIECE = 2000


def test_hostile_connections(wirekv, seed):
    """Values half sent, lines without an end, replies that nobody reads: another client's replies are
    right, none of its items is lost, none of its SETs refused, and afterwards nothing is left."""
    good = Good(wirekv, ITEMS, SIZE)
    good.store()
    crowd = Crowd(f"127.0.0.1:{wirekv.port}", "--count", CONNECTIONS, "--seed", seed,
                  "--kinds", "half_sent,endless_line,never_reads", "--piece", PIECE)  # fmt: skip
    try:
        rounds = 0
        while rounds < 1 or not crowd.done.is_set():
            good.read()
            good.store()
            rounds += 1
        assert crowd.said == "done\n"
        good.read()
        told = crowd.end()
        print(f"{rounds} rounds\n" + "\n".join(f"{kind}: {did}" for kind, did in told.items()))
        assert len(told) == 3 and all(did["sent"] > 0 for did in told.values())
    finally:
        crowd.kill()

    def connections():
        return reference.stats(wirekv)["curr_connections"]

    assert watch.settle(connections, "2") == "2"
    good.read()
    fresh = values.Client(wirekv)
    value = values.make(b"fresh", 1, 100_000)
    assert fresh.set(b"fresh", value) == b"STORED\r\n" and fresh.get(b"fresh") == value
    fresh.close()
    good.client.close()
