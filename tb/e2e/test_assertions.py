"""A short run of each kind on a card whose RTL checks its assertions: one that does not hold ends the
server, and its name is in the report."""

import random

import pytest
from pymemcache.client.base import Client

from harness import differ, reference
from harness.memcached import stream
from harness.size import LONG, scale

pytestmark = pytest.mark.skipif(not LONG, reason="a model of its own takes minutes to compile: make test-long")


def start(*options, **more):
    return reference.wirekv(*options, binary=reference.CHECKED, **more)


def end(server):
    alive = server.process.poll() is None
    code = server.stop()
    assert alive and code == 0, f"ended with {code}:\n{server.tail()}"


@pytest.fixture(scope="module")
def checked():
    server = start()
    yield server
    end(server)


@pytest.fixture(autouse=True)
def still_alive(request):
    """A failing assertion is the reason of whatever else went wrong."""
    yield
    if "checked" in request.fixturenames:
        request.getfixturevalue("checked").check_alive()


def play(run, generator, commands):
    while run.commands < commands:
        run.run(generator.burst())


def test_tcp(memcached, checked, seed):
    run = differ.Differ(memcached, checked, label=f"checked_{seed}")
    play(run, stream.Generator(seed, value_budget=2 << 20, reply_budget=4 << 20), scale(800, 20_000))
    run.close()


def test_udp(memcached, checked, seed):
    run = differ.UdpDiffer(memcached, checked, label=f"checked_udp_{seed}")
    generator = stream.Generator(seed, prefix=b"u:", udp=True)
    while run.commands < scale(600, 5_000):
        run.run(generator.datagram())
    run.close()


def test_connections(checked, seed):
    """Hundreds at once, ended by both sides, in the middle of requests and replies."""
    rng = random.Random(seed)
    with checked.connect() as s:
        reference.ask(s, b"set long 0 0 300000\r\n" + b"v" * 300_000 + b"\r\n", b"STORED\r\n")
        for _ in range(scale(3, 20)):
            clients = [checked.connect() for _ in range(150)]
            for n, client in enumerate(clients):
                client.sendall([b"get long\r\n", b"set half 0 0 100000\r\nxyz", b"get lo", b"version\r\n", b"quit\r\n",
                                b"set k%d 0 0 3\r\nabc\r\n" % n][rng.randrange(6)])
            for client in clients:
                if rng.random() < 0.5:
                    reference.resets_at_close(client)
                client.close()
            assert b"VALUE long" in reference.ask(s, b"get long\r\n", b"END\r\n", seconds=60)


def test_slow_reader(checked, seed):
    """Clients that ask for much and read it late; what the others ask for comes meanwhile."""
    value = stream.Generator(seed).blob[:100_000]
    with checked.connect() as s:
        reference.ask(s, b"set big 0 0 %d\r\n%b\r\n" % (len(value), value), b"STORED\r\n")
        slow = [checked.connect() for _ in range(5)]
        for client in slow:
            client.sendall(b"get big\r\n" * 6 + b"version\r\n")
        for n in range(100):
            assert reference.ask(s, b"set s 0 0 3\r\n%03d\r\nget s\r\n" % n, b"END\r\n").endswith(b"%03d\r\nEND\r\n" % n)
        want = b"VALUE big 0 %d\r\n%b\r\nEND\r\n" % (len(value), value) * 6 + b"VERSION 1.6.38\r\n"
        for client in slow:
            assert reference.ask(client, b"", b"1.6.38\r\n", seconds=120) == want
            client.close()


def test_clients(checked):
    """What a client library does."""
    client = Client(checked.address, timeout=reference.SECONDS, no_delay=True, default_noreply=False)
    values = {f"key{i}": b"%d" % i * (i % 50) for i in range(100)}
    assert client.set_many(values) == [] and client.get_many(values) == values
    assert client.set("n", b"5") and client.incr("n", 10) == 15 and client.decr("n", 20) == 0
    value, unique = client.gets("n")
    assert client.cas("n", b"7", unique) is True and client.cas("n", b"8", unique) is False
    assert client.touch("n", 1000) and client.delete("n") and not client.delete("n")
    assert client.stats()[b"version"] == b"1.6.38"
    client.quit()


def test_loss(memcached, seed):
    """Frames lost, doubled, late and damaged."""
    server = start("--impair", f"drop=0.01,dup=0.01,reorder=0.01,damage=0.01,seed={seed}")
    silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 60
    try:
        run = differ.Differ(memcached, server, label=f"checked_loss_{seed}")
        play(run, stream.Generator(seed, prefix=b"loss:", value_budget=1 << 18, reply_budget=1 << 19), scale(200, 5_000))
        run.close()
    finally:
        differ.SILENCE_SECONDS = silence
        end(server)
