"""Random streams of Redis' commands: the soft body must give Redis 7.0's bytes back."""

import pytest

from harness.resp import compare, servers, sure, wire
from harness.size import scale

# What a stream of some thousand commands holds: each of these is done, not only refused.
COMMANDS = """
    GET SET SETNX SETEX PSETEX GETSET GETDEL GETEX MGET MSET MSETNX APPEND STRLEN GETRANGE SUBSTR SETRANGE
    INCR DECR INCRBY DECRBY INCRBYFLOAT SETBIT GETBIT BITCOUNT BITPOS BITOP BITFIELD BITFIELD_RO LCS
    DEL UNLINK EXISTS TOUCH TYPE EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME PEXPIRETIME PERSIST
    RENAME RENAMENX COPY KEYS SCAN RANDOMKEY DBSIZE OBJECT FLUSHDB FLUSHALL SELECT MOVE SWAPDB
    MULTI EXEC DISCARD WATCH UNWATCH PING ECHO HELLO CLIENT COMMAND CONFIG INFO MEMORY LATENCY SLOWLOG
    WAIT TIME LOLWUT
""".split()
NAMES = [name.encode() for name in [*COMMANDS, "AUTH", "DEBUG"]]


@pytest.mark.parametrize("protocol", [2, 3, None])
def test_three_connections(redis, soft, seed, protocol):
    """1,000,000 commands with WIREKV_LONG=1, 200,000 of them in RESP3."""
    share = {2: scale(16_000, 700_000), 3: scale(8_000, 200_000), None: scale(6_000, 100_000)}
    done = [name.encode() for name in COMMANDS]
    match = compare.run((redis, soft), seed, share[protocol], first=sure.burst(3, done), protocol=protocol, only=NAMES)
    assert [name for name in done if not match.names[name][1]] == []


def test_four_threads(redis, seed):
    """Twelve connections, so that transactions meet those of other threads."""
    ours = servers.soft(threads=4)
    try:
        compare.run((redis, ours), seed, scale(4_000, 50_000), connections=12, only=NAMES)
    finally:
        assert ours.stop() == 0, ours.tail()


def test_password(seed):
    """--requirepass: who has not told it, and who is wrong."""
    pair = []
    try:
        pair += [servers.redis("--requirepass", "secret"), servers.soft("--requirepass", "secret")]
        compare.run(pair, seed, scale(3_000, 30_000), password=b"secret", connections=6, only=NAMES)
    finally:
        for server in pair:
            server.stop()


# Newer clients send these, and 7.0 refuses them: answered as Redis 7.2 does.
NEWER = {b"client|setinfo", b"client|no-touch"}


def test_other_commands_are_refused(redis, soft):
    """What Redis has and this does not: each gets an error, and changes nothing."""
    theirs, ours = wire.Client(redis), wire.Client(soft)
    known, served = set(theirs("COMMAND", "LIST")), set(ours("COMMAND", "LIST"))
    assert served - known <= NEWER and len(served) > 30
    assert ours("FLUSHALL") == ours("SET", "k", "v") == b"OK"
    for name in sorted(known - served):
        reply = ours(*name.split(b"|"), *[b"k"] * 6)
        assert isinstance(reply, wire.Error), f"{name}: {reply!r}"
    assert ours("GET", "k") == b"v" and ours("UNLINK", "k") == 1


# One mistake of each kind, and where it is counted.
MISTAKES = [
    ["GET"], ["NOSUCH", "x"], ["CLIENT", "NOSUCH"], ["SELECT", "16"], ["SWAPDB", "0", "16"], ["SWAPDB", "0", "x"], ["INCR", "text"], ["MSET", "a"],
    ["SET", "a", "b", "EX", "0"], ["PING", "a", "b"], ["HELLO", "3", "x"], ["HELLO", "9"], ["EXEC"],
    ["CLIENT", "KILL", "TYPE", "x"], ["CLIENT", "REPLY", "x"], ["CONFIG", "SET", "nosuch", "1"],
    ["AUTH", "x"], ["OBJECT", "HELP", "x"], ["SETRANGE", "a", "-1", "x"], ["GETEX", "text", "EX", "x"],
    ["MULTI"], ["INCR", "text"], ["GET"], ["EXEC"], ["MULTI"], ["INCR", "text"], ["GET", "text"], ["EXEC"],
]  # fmt: skip


def test_errors_are_counted(redis, soft):
    """INFO's errorstats, and what of each command failed or was rejected."""
    told = []
    for server in (redis, soft):
        client = wire.Client(server)
        assert client("SET", "text", "x") == b"OK"
        assert client("CONFIG", "RESETSTAT") == b"OK"
        replies = [repr(client(*words)) for words in MISTAKES]
        counts = {}
        for line in client("INFO", "errorstats", "commandstats").decode().splitlines():
            name, _, fields = line.partition(":")
            fields = dict(field.split("=") for field in fields.split(",") if "=" in field)
            wanted = ("count", "rejected_calls", "failed_calls")
            counts[name] = {field: fields[field] for field in wanted if field in fields}
        told.append((replies, counts))
        client.close()
    assert told[1][0] == told[0][0]
    names = told[0][1].keys() & told[1][1].keys()
    assert {n: told[1][1][n] for n in names} == {n: told[0][1][n] for n in names}
    # Redis counts a call when it has ended.
    assert told[0][1].keys() - names == {"cmdstat_config|resetstat"}
