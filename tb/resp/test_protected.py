"""Redis' protected mode: without a password clients of other machines are told so and closed, be it the soft body's or
the simulated card's, byte for byte as Redis does it. Another machine is this one, by its own address."""

import re
import socket
import subprocess

import pytest

from harness import reference
from harness.resp import servers, wire

BODIES = {"soft": servers.soft, "card": servers.card}
OPEN = ("--udp-public",)


@pytest.fixture(scope="module")
def own():
    told = subprocess.run(["ip", "-4", "-o", "addr", "show", "scope", "global"], capture_output=True, text=True).stdout
    found = re.search(r"inet ([\d.]+)", told)
    if not found:
        pytest.skip("this machine has no address but loopback ones")
    return found[1]


@pytest.fixture(params=BODIES)
def pair(request):
    """Starts Redis and a body, open to the world."""
    started = []

    def start(*options):
        started.append(servers.redis("--bind", "0.0.0.0", *options))
        started.append(BODIES[request.param](*OPEN, *options, listen="0.0.0.0"))
        for server in started:
            server.host = "127.0.0.1"
        return started

    yield start
    for server in started:
        assert server.stop() == 0, server.tail()


def hears(address, port, *requests):
    """All that a client from `address` is told until it is closed; with requests, the answers to these."""
    with socket.create_connection((address, port), reference.SECONDS, source_address=(address, 0)) as s:
        if requests:
            return [reference.ask(s, request, b"\r\n") for request in requests]
        told = b""
        while piece := s.recv(1 << 16):
            told += piece
        return told


def test_as_redis(pair, own):
    said = []
    for server in pair():
        local = wire.Client(server)

        def config(*words):
            said[-1].append(repr(local("CONFIG", *words)))

        def strangers(*requests):
            said[-1].append(hears(own, server.port, *requests))

        said.append([])
        strangers()
        assert said[-1][0].startswith(b"-DENIED ") and said[-1][0].endswith(b"\r\n")
        said[-1].append(hears("127.0.0.1", server.port, b"PING\r\n"))
        config("GET", "protected-mode")
        for value in ("maybe", "", "1"):
            config("SET", "protected-mode", value)
        strangers()
        config("SET", "protected-mode", "NO")
        config("GET", "protected-mode")
        with socket.create_connection((own, server.port), reference.SECONDS) as stranger:
            said[-1].append(reference.ask(stranger, b"SET k v\r\n", b"\r\n"))
            config("SET", "protected-mode", "yes")
            # Who is there stays.
            said[-1].append(reference.ask(stranger, b"SET k w\r\n", b"\r\n"))
        strangers()
        # A password is protection enough.
        config("SET", "requirepass", "secret")
        strangers(b"GET k\r\n", b"AUTH secret\r\n", b"CONFIG GET protected-mode\r\n")
        config("SET", "requirepass", "")
        strangers()
        local.close()
    assert said[1] == said[0]


def test_rejected(pair, own):
    """Those sent away are counted, and are no connections."""
    redis, other = pair()
    for _ in range(3):
        hears(own, redis.port), hears(own, other.port)
    counted = []
    for server in (redis, other):
        client = wire.Client(server)
        info = client("INFO", "stats").decode()
        counted.append(re.search(r"rejected_connections:(\d+)", info)[1])
        client.close()
    assert counted[0] == "3"
    assert other.name == "sim" or counted[1] == "3"


@pytest.mark.parametrize("options", [("--protected-mode", "no"), ("--requirepass", "secret")])
def test_options(pair, own, options):
    for server in pair(*options):
        assert hears(own, server.port, b"AUTH secret\r\n", b"PING\r\n")[1] == b"+PONG\r\n"
        client = wire.Client(server)
        if options[0] == "--requirepass":
            client("AUTH", "secret")
        assert client("CONFIG", "GET", "protected-mode") == [b"protected-mode", b"no" if options[1] == "no" else b"yes"]
        client.close()


def test_memcached_clients_are_served(pair, own):
    _, server = pair()
    assert hears(own, server.memcached[1], b"get k\r\n") == [b"END\r\n"]
