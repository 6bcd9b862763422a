"""Clients that others wrote, unchanged: pymemcache and the tools of libmemcached."""

import re
import shutil
import subprocess

import pytest
from pymemcache.client.base import Client, PooledClient
from pymemcache.exceptions import MemcacheClientError

from harness import reference
from harness.size import scale
from harness.threads import together


@pytest.fixture(params=["memcached", "wirekv", "wirekv6", "before", "soft"])
def server(request):
    """Each test runs against all: what it expects is what memcached does."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(server):
    client = Client(server.address, timeout=reference.SECONDS, no_delay=True, default_noreply=False)
    client.flush_all()
    yield client
    client.close()


def test_pymemcache_stores(client):
    assert client.get("k") is None
    assert client.set("k", b"v", flags=3)
    assert client.get("k") == b"v"
    assert not client.add("k", b"w")
    assert client.replace("k", b"w")
    assert client.get("k") == b"w"
    assert client.delete("k")
    assert not client.delete("k")
    assert not client.replace("k", b"x")
    assert client.set("empty", b"")
    assert client.get("empty") == b""
    client.set("quiet", b"q", noreply=True)
    assert client.get("quiet") == b"q"


def test_pymemcache_cas(client):
    client.set("k", b"1")
    value, unique = client.gets("k")
    assert value == b"1"
    assert client.cas("k", b"2", unique) is True
    assert client.cas("k", b"3", unique) is False
    assert client.cas("nothing", b"3", unique) is None
    assert client.get("k") == b"2"
    assert client.raw_command("gat 1000 k", b"END\r\n").startswith(b"VALUE k 0 1\r\n2\r\n")


def test_pymemcache_numbers_and_times(client):
    client.set("n", b"5")
    assert client.incr("n", 10) == 15
    assert client.decr("n", 20) == 0
    assert client.incr("nothing", 1) is None
    assert client.touch("n", 1000)
    assert not client.touch("nothing", 1000)
    client.set("gone", b"x", expire=-1)
    assert client.get("gone") is None
    assert client.get("n") == b"0 "
    client.set("text", b"abc")
    with pytest.raises(MemcacheClientError):
        client.incr("text", 1)


def test_pymemcache_many(client):
    values = {f"key{i}": b"%d" % i * (i % 50) for i in range(300)}
    assert client.set_many(values) == []
    assert client.get_many(values) == values
    assert len(client.gets_many(values)) == len(values)
    client.delete_many(list(values)[:100])
    assert len(client.get_many(values)) == 200
    assert client.flush_all()
    assert client.get_many(values) == {}


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1400, 8192, 16384, 65536, 1_000_000])
def test_pymemcache_sizes(client, size):
    value = bytes(i * 7 & 0xFF for i in range(size))
    assert client.set(f"size{size}", value)
    assert client.get(f"size{size}") == value


def test_pymemcache_rest(client):
    assert client.version() == b"1.6.38"
    stats = client.stats()
    assert stats[b"version"] == b"1.6.38" and stats[b"curr_connections"] >= 1
    client.quit()


def test_pymemcache_pool(server):
    pool = PooledClient(server.address, max_pool_size=8, timeout=reference.SECONDS, default_noreply=False)

    def work(i):
        for j in range(scale(20, 500)):
            key, value = f"t{i}:{j % 7}", b"%d" % (i * 1000 + j)
            pool.set(key, value)
            assert pool.get(key) == value

    together(8, work)
    pool.close()


def tool(name, server, *args, code=0):
    """Runs one of libmemcached's tools (Debian calls them memc...) and returns its output."""
    if shutil.which(name) is None:
        pytest.fail(f"{name} is missing: install libmemcached-tools (`make setup` does)")
    host = f"[{server.host}]" if ":" in server.host else server.host
    done = subprocess.run(
        [name, f"--servers={host}:{server.port}", *map(str, args)],
        capture_output=True,
        timeout=reference.SECONDS,
    )
    assert done.returncode == code, f"{name} {args}: {done.returncode}, {done.stderr!r}"
    return done.stdout


def test_libmemcached_tools(server, tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"hello")
    large.write_bytes(bytes(range(256)) * 1000)
    tool("memcflush", server)
    tool("memccp", server, small, large)
    assert tool("memccat", server, "small") == b"hello\n"
    assert tool("memccat", server, "large") == large.read_bytes() + b"\n"
    tool("memcexist", server, "small")
    tool("memctouch", server, "--expire=1000", "small")
    assert tool("memccat", server, "small") == b"hello\n"
    tool("memcrm", server, "small")
    tool("memcexist", server, "small", code=1)
    tool("memccat", server, "small", code=1)
    tool("memcflush", server)
    tool("memccat", server, "large", code=1)
    tool("memcping", server)
    assert b"curr_connections" in tool("memcstat", server)


@pytest.mark.parametrize("load", ["set", "get", "mget"])
def test_libmemcached_load(server, load):
    each = scale(50, 5000)
    out = tool("memcslap", server, f"--test={load}", "--concurrency=4", f"--execute-number={each}")
    assert re.search(rf"Time to {load} +{4 * each} keys by", out.decode()), out


CAPABLE = [
    "version", "quit", "verbosity", "set", "set noreply", "get", "gets", "mget", "flush",
    "flush noreply", "add", "add noreply", "replace", "replace noreply", "cas", "cas noreply",
    "append", "append noreply", "prepend", "prepend noreply",
    "delete", "delete noreply", "incr", "incr noreply", "decr", "decr noreply", "stat",
]  # fmt: skip


def test_libmemcached_capable(server):
    """libmemcached's own protocol test, of both protocols."""
    done = subprocess.run(
        ["memccapable", "-h", server.host, "-p", str(server.port), "-t", "10"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    passed = re.findall(r"ascii ((?:(?!ascii)[a-z ])*?) +\[pass\]", done.stdout)
    missing = {c for c in CAPABLE if c not in passed}
    assert not missing, f"{missing}:\n{done.stdout}{done.stderr}"
    passed += re.findall(r"binary ([a-z ]*?) +\[pass\]", done.stdout)
    print(f"{len(passed)} tests of memccapable passed")
    assert "FAIL" not in done.stdout and len(passed) >= 54, f"{done.stdout}{done.stderr}"
