"""`wirekv serve --upstream`: the simulated card before memcached 1.6.38 and Redis 7.0, against these alone."""

import pytest

from harness import reference, stale
from harness.copies import Copies
from harness.memcached import mixed, stream
from harness.proxy import Proxy
from harness.size import scale


@pytest.fixture
def alone():
    server = reference.memcached()
    yield server
    server.stop()


@pytest.fixture
def behind():
    """The server behind the card."""
    server = reference.memcached()
    yield server
    server.stop()


def hits(server):
    return int(reference.stats(server)["get_hits"])


@pytest.mark.parametrize("admit", ["all", "twice"])
def test_equal_to_the_server_alone(alone, behind, admit, seed):
    """Text, meta and binary clients in turn, on few keys: every byte, CAS uniques too."""
    count = scale(10_000, 500_000)
    copies = Copies()
    proxy = Proxy(behind, copies)
    with reference.before(proxy, "--upstream-admit", admit) as card:
        clients = mixed.Clients((alone, card), seed, count * 100)
        clients.over_the_limit(stream.MAX_ITEM)
        while clients.commands < count:
            clients.run()
        uniques, others = clients.same_uniques()
        clients.close()
        share = 1 - (hits(behind) - copies.count) / hits(alone)
    proxy.close()
    print(f"{clients.commands} commands, {uniques} CAS uniques, {share:.0%} of the hits by gates, {copies.count} copies; "
          f"told another use of items: {dict(clients.use)} of {dict(clients.told)}")
    assert uniques > count / 20 and not others, others[:5]
    assert share > 0.2


def test_never_stale(behind, seed):
    """16 writers and 16 readers; the server's answers come late, in another order across connections, and sometimes not at
    all. The card is so small that it evicts meanwhile."""
    reads = scale(40_000, 2_000_000)
    weather = stale.Weather(seed, ends=0.0003)
    copies = Copies(weather)
    proxy = Proxy(behind, copies, weather)
    with reference.before(proxy, "--upstream-admit", "all", megabytes=4) as card:
        try:
            ledger = stale.run(behind, card, seed, reads, stop_every=scale(4, 15), seconds=scale(300, 40_000))
        finally:
            proxy.close()
        share = 1 - (hits(behind) - copies.count) / ledger.counts["values"]
    print(f"{ledger.reads} reads, {share:.0%} of the hits by gates, {copies.count} copies, {dict(ledger.counts)}, {len(ledger.late)} reads looked at by the clock")
    assert not ledger.failures(), ledger.failures()[:10]
    assert ledger.reads >= reads and ledger.counts["values"] > reads / 4
    assert share > 0.2


def test_keys_in_base64(alone, behind):
    """Who stored a key so has it shown so to everybody, also where a copy was asked for."""
    look = [b"mg foo k v\r\n", b"get foo\r\n", b"mg Zm9v b k v\r\n", b"mg foo v\r\n"]
    with reference.before(behind, "--upstream-admit", "all") as card, alone.connect() as theirs, card.connect() as ours:
        for text in (b"ms Zm9v 3 b\r\nabc\r\n", *look * 10, b"ms foo 1\r\nx\r\n", *look * 10):
            expected = reference.ask(theirs, text + b"mn\r\n", b"MN\r\n")
            assert reference.ask(ours, text + b"mn\r\n", b"MN\r\n") == expected
