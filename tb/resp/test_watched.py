"""Watched keys: for what others do between WATCH and EXEC, to keys that are there and keys that are not, both bodies
execute or discard the transaction as Redis 7.0 does; so they do for what memcached's clients do."""

import socket
import time

import pytest

from harness.resp import compare, servers, wire
from harness.fixtures import ended_well

@pytest.fixture(scope="module")
def card():
    """One with a small index: who goes through it all need not wait for long."""
    yield from ended_well(servers.card("-I", "16k", megabytes=1))


#: What the key is when it is watched.
BEFORE = {"absent": [], "there": [b"SET k 5"], "expires": [b"SET k 5 PXAT 33000000000000"], "text": [b"SET k text"], "over": [b"SET k 5 PX 1", 0.02]}
#: What another client does meanwhile.
BETWEEN = [[line.encode() for line in case.split("; ")] for case in (
    "PING", "GET k", "SET k 5", "SET k 5; DEL k", "SET k 5; UNLINK k", "SET k 5; GETDEL k", "SET k 5; FLUSHALL", "DEL k", "DEL k; SET k 5", "GETDEL k",
    "GETDEL k; SET k 5", "SETNX k 5", "SETNX k 5; DEL k", "SET k 5 NX", "SET k 5 XX", "SET k 5 GET", "SET k 5 KEEPTTL", "SET k 5 NX GET", "GETSET k 5",
    "SETEX k 100 5", "PSETEX k 100000 5", "GETEX k", "GETEX k PERSIST", "GETEX k EX 100", "GETEX k PXAT 33000000000000", "MGET k l", "MSET k 5 l 5",
    "MSETNX k 5 l 5", "MSETNX l 5 k 5; DEL k", "APPEND k ''", "APPEND k 5", "APPEND k 5; DEL k", "SETRANGE k 0 ''", "SETRANGE k 0 5", "SETRANGE k 2 ''",
    "SETBIT k 2 1", "GETBIT k 2", "BITFIELD k GET u8 0", "BITFIELD k SET u8 0 53", "BITOP NOT k l", "BITOP NOT k k", "INCR k", "INCR k; DECR k", "INCRBY k 0",
    "DECRBY k 0", "INCRBYFLOAT k 0", "INCR k; DEL k", "STRLEN k", "EXISTS k", "TYPE k", "TTL k", "TOUCH k", "OBJECT ENCODING k", "EXPIRE k 100",
    "EXPIRE k 100; PERSIST k", "EXPIRE k 100 NX", "EXPIRE k 100 XX", "EXPIRE k 100 GT", "EXPIRE k 100 LT", "PEXPIREAT k 33000000000000",
    "PEXPIREAT k 33000000000001; PEXPIREAT k 33000000000000", "EXPIRE k -1", "EXPIRE k -1; SET k 5", "EXPIREAT k 1 XX", "PERSIST k", "RENAME k l",
    "RENAME k l; RENAME l k", "RENAME k k", "RENAMENX k k", "SET l 5; RENAME l k", "SET l 5; RENAMENX l k", "SET l 5; RENAMENX l k; DEL k", "COPY k l",
    "SET l 5; COPY l k", "SET l 5; COPY l k REPLACE", "MOVE k 1", "SELECT 1; SET k 5; DEL k", "SELECT 1; SET k 5; MOVE k 0", "FLUSHALL", "FLUSHDB",
    "FLUSHALL; SET k 5", "SELECT 1; FLUSHDB", "MULTI; SET k 5; DEL k; EXEC", "MULTI; SET k 5; EXEC", "MULTI; DEL k; SET k 5; EXEC", "MULTI; GET k; EXEC",
    "MULTI; SET k 5; DISCARD", "WATCH k; MULTI; SET k 5; EXEC; DEL k", "SET kk 5", "DEL kk",
)]  # fmt: skip
#: Of the soft body alone.
SWAPS = [[line.encode() for line in case.split("; ")] for case in (
    "SWAPDB 0 1", "SWAPDB 0 1; SWAPDB 0 1", "SWAPDB 1 2", "SELECT 1; SET k 5; SWAPDB 0 1", "SELECT 1; SET k 5; SWAPDB 0 1; SWAPDB 1 0",
    "SELECT 1; SET k 5; DEL k; SWAPDB 0 1", "MULTI; SWAPDB 0 1; SWAPDB 0 1; EXEC", "SELECT 1; SET l 5; SWAPDB 0 1")]  # fmt: skip


def say(client, lines):
    replies = []
    for line in lines:
        if isinstance(line, bytes):
            replies.append(client(*[word.replace(b"''", b"") for word in line.split()]))
        else:
            time.sleep(line)
    return replies


def transaction(server, before, between, watches=(b"WATCH k",), own=()):
    """What EXEC says, and the others' replies."""
    compare.empty(server)
    watcher, other = wire.Client(server), wire.Client(server)
    say(other, before)
    say(watcher, watches)
    replies = between(other) if callable(between) else say(other, between)
    say(watcher, own)
    say(watcher, [b"MULTI", b"PING"])
    done = watcher("EXEC")
    for client in (watcher, other):
        client.close()
    return done is not None, replies


@pytest.mark.parametrize("held", BEFORE)
@pytest.mark.parametrize("body", ["soft", "card"])
def test_what_counts(redis, request, body, held):
    ours = request.getfixturevalue(body)
    wrong = []
    for between in BETWEEN + SWAPS * (body == "soft"):
        want, got = (transaction(server, BEFORE[held], between)[0] for server in (redis, ours))
        if got != want:
            wrong.append((b"; ".join(between), want, got))
    assert not wrong


@pytest.mark.parametrize("body", ["redis", "soft", "card"])
def test_whose_and_when(request, body):
    """The client's own commands count; a key that it watches twice; one that expires, or had expired already; UNWATCH."""
    server = request.getfixturevalue(body)
    there, absent = BEFORE["there"], BEFORE["absent"]
    for want, before, between, more in (
        (False, absent, [], {"own": [b"SET k 5", b"DEL k"]}), (True, there, [], {"own": [b"GET k", b"TTL k"]}),
        (False, there, [b"SET k 5"], {"watches": [b"WATCH k", b"WATCH k"]}), (False, absent, [b"SET k 5", b"DEL k"], {"watches": [b"WATCH l k", b"WATCH k"]}),
        (True, absent, [b"SET k 5"], {"own": [b"UNWATCH"]}), (True, absent, [b"SET k 5"], {"watches": [b"WATCH l"]}),
        (False, absent, [b"SET k 5 PX 1", 0.02], {}), (False, [b"SET k 5 PX 300"], [0.4], {}), (False, [b"SET k 5 PX 300"], [0.4, b"SET k 5"], {}),
        (True, BEFORE["over"], [0.02, b"GET k"], {}), (False, BEFORE["over"], [b"SET k 5", b"DEL k"], {}),
        (False, there, [b"PEXPIRE k 1", 0.02, b"SET k 5"], {}),
    ):  # fmt: skip
        assert transaction(server, before, between, **more)[0] == want, (before, between, more)
    # Whoever has begun later watches what it is then.
    first, second, other = (wire.Client(server) for _ in range(3))
    say(first, [b"DEL k", b"WATCH k"])
    say(other, [b"SET k 5", b"DEL k"])
    say(second, [b"WATCH k", b"MULTI", b"PING"])
    say(first, [b"MULTI", b"PING"])
    assert second("EXEC") == [b"PONG"] and first("EXEC") is None


@pytest.mark.parametrize("body", ["soft", "card"])
def test_by_memcached(request, body):
    """An item may have the CAS unique that it had."""
    server = request.getfixturevalue(body)

    def asks(*lines):
        def run(_):
            with socket.create_connection(server.memcached, timeout=60) as sock:
                for line in (*lines, b"mn\r\n"):
                    sock.sendall(line)
                    assert sock.recv(1000)
        return run

    put, again = b"ms k 1 E5\r\n5\r\n", b"ms k 1 E5\r\n6\r\n"
    for want, between in (
        (False, (put, again, put)), (False, (put,)), (False, (put, b"md k\r\n")), (False, (b"set k 0 0 1\r\n5\r\n", b"delete k\r\n")),
        (True, (b"get k\r\n",)), (True, (b"mg k s v\r\n",)), (False, (b"touch k 100\r\n", b"touch k 0\r\n")), (False, (b"md k x\r\n", put)),
        (True, (b"cas k 0 0 1 6\r\n6\r\n",)), (True, (b"md k C6\r\n",)), (False, (b"ma k\r\n", put)), (False, (b"ms k 0 MA E5\r\n\r\n",)),
    ):  # fmt: skip
        before = asks(put)
        compare.empty(server)
        before(None)
        watcher = wire.Client(server)
        watcher("WATCH", "k")
        asks(*between)(None)
        say(watcher, [b"MULTI", b"PING"])
        assert (watcher("EXEC") is not None) == want, between


def test_others_do_not_count(card):
    """Whatever is done to other keys, a transaction is executed; and many watch as many keys at once. Two of them may
    share an entry of the card's table and are discarded then: nobody who watches alone is."""
    compare.empty(card)
    watchers = [wire.Client(card) for _ in range(20)]
    for n, watcher in enumerate(watchers):
        say(watcher, [b"WATCH absent%d" % n] if n % 2 else [b"SET there%d 5" % n, b"WATCH there%d" % n])
    other = wire.Client(card)
    for n in range(0, 2000, 100):
        other.many([[b"SET", b"%d" % (n + i), b"v"] for i in range(100)])
    for watcher in watchers:
        say(watcher, [b"MULTI", b"PING"])
    discarded = [watcher for watcher in watchers if watcher("EXEC") is None]
    assert len(discarded) < len(watchers) // 2
    for watcher in discarded or watchers[:2]:
        say(watcher, [b"SET there0 5", b"WATCH there0"])
        other.many([[b"SET", b"%d" % i, b"w"] for i in range(100)])
        say(watcher, [b"MULTI", b"PING"])
        assert watcher("EXEC") is not None
