"""Commands of the simulated card on all keys of a database: what Redis 7.0 says, alone and in transactions, and what they
promise while others store. The card's index is small, so that entries move."""

import random
import re
import socket
import struct
import threading
import time
from collections import Counter

import pytest

from harness import reference
from harness.fixtures import ended_well
from harness.resp import compare, servers, wire
from harness.size import scale

# Each is done once in a stream, whatever else is drawn.
SURE = [[["KEYS", "*"]], [["SCAN", "0", "COUNT", "4000"]], [["DBSIZE"]], [["RANDOMKEY"]], [["FLUSHDB"]], [["FLUSHALL"]],
        [["MULTI"], ["DBSIZE"], ["EXEC"]]]  # fmt: skip


@pytest.fixture(scope="module")
def little():
    """2,048 buckets."""
    yield from ended_well(servers.card("-I", "16k", megabytes=1))


def scan(client, *options):
    """Each call's keys, from the beginning to the end."""
    cursor, calls = b"0", []
    while True:
        cursor, keys = client("SCAN", cursor, *options)
        calls.append(keys)
        if cursor == b"0":
            return calls
        assert len(calls) < 5000


def plain(words, reply):
    """What must be equal: the order of keys is a server's own."""
    name = words[0].upper()
    if isinstance(reply, wire.Error):
        return str(reply)
    if name == "KEYS":
        return sorted(reply)
    if name == "RANDOMKEY":
        return reply is None
    return reply


class Streams:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def words(self):
        rng = self.rng
        key = rng.choice(["a", "b", "c", "key:%d" % rng.randrange(60), "k" * rng.choice([9, 44, 65, 250])])
        what = rng.choice(["SET"] * 6 + ["DEL", "SETEX", "KEYS", "KEYS", "DBSIZE", "DBSIZE", "RANDOMKEY", "RANDOMKEY", "FLUSH", "SELECT", "GET", "SCAN",
                          "RENAME", "WRONG"])  # fmt: skip
        if what == "SET":
            return ["SET", key, "v" * rng.choice([1, 20, 3000])]
        if what == "SETEX":
            return ["SETEX", key, "1000", "v"] if rng.random() < 0.5 else ["PEXPIREAT", key, "1"]
        if what == "KEYS":
            return ["KEYS", rng.choice(["*", "*", "key:*", "?", "[a-b]", "k*k", "nothing*", ""])]
        if what == "FLUSH":
            return [rng.choice(["FLUSHDB", "FLUSHDB", "FLUSHALL"]), *rng.choice([[], ["SYNC"], ["async"], ["x"]])] if rng.random() < 0.5 else ["GET", key]
        if what == "SELECT":
            return ["SELECT", rng.choice(["0", "0", "1", "15"])]
        if what == "SCAN":
            return ["SCAN", "0", "COUNT", "4000", *rng.choice([[], ["MATCH", "key*"], ["TYPE", "string"], ["TYPE", "list"]])]
        if what == "RENAME":
            return ["RENAME", key, "c"]
        if what == "WRONG":
            return rng.choice([["SCAN", "x"], ["SCAN", "0", "COUNT", "0"], ["SCAN", "0", "COUNT", "x"], ["SCAN", "0", "MATCH"], ["KEYS"], ["DBSIZE", "x"]])
        return [what] if what in ("DBSIZE", "RANDOMKEY") else [what, key]


def test_as_redis(redis, little, seed):
    """One client, in several databases, every third command in a transaction."""
    clients = []
    for server in (redis, little):
        compare.empty(server)
        clients.append(wire.Client(server))
    streams, seen, rng = Streams(seed), Counter(), random.Random(seed + 1)
    steps = scale(150, 8000)
    sure = dict(zip(rng.sample(range(steps), len(SURE)), SURE, strict=True))
    for step in range(steps):
        queue = sure.get(step) or [streams.words()]
        if step not in sure and rng.random() < 0.15:
            queue = [["MULTI"], *(streams.words() for _ in range(rng.randrange(1, 9))), ["EXEC"]]
        replies = [[client(*words) for words in queue] for client in clients]
        if len(queue) > 1 and isinstance(replies[0][-1], list):
            inner = [w for w, r in zip(queue[1:-1], replies[0][1:-1], strict=True) if r == b"QUEUED"]
            both = [[plain(w, r) for w, r in zip(inner, reply[-1], strict=True)] for reply in replies]
            seen.update(w[0].upper() for w in inner)
            for words, reply in zip(inner, zip(*both, strict=True), strict=True):
                if words[0] != "SCAN":
                    assert reply[0] == reply[1], (queue, words, reply)
        else:
            for words, ours in zip(queue, zip(*replies, strict=True), strict=True):
                if words[0] == "SCAN" and isinstance(ours[0], list):
                    sets = [{key for call in scan(client, *words[2:]) for key in call} for client in clients]
                    assert sets[0] == sets[1], words
                else:
                    assert plain(words, ours[0]) == plain(words, ours[1]), (words, ours)
        seen.update(w[0].upper() for w, reply in zip(queue, replies[0], strict=True) if not isinstance(reply, wire.Error))
        if seen["EXEC"] % 8 == 0:
            assert sorted(clients[0]("KEYS", "*")) == sorted(clients[1]("KEYS", "*"))
    assert all(seen[queue[-1][0]] for queue in SURE), seen


def test_other_databases(little):
    """A flush of one empties no other; what expires is not told."""
    compare.empty(little)
    client = wire.Client(little, 300)  # RANDOMKEY looks through the whole index for what is not there
    for db in range(16):
        client("SELECT", db)
        client("MSET", *(word for n in range(20) for word in (f"{db}.{n}", "v")))
    client("SELECT", 5)
    assert client("FLUSHDB", "ASYNC") == b"OK" and client("DBSIZE") == 0 and client("KEYS", "*") == [] and client("RANDOMKEY") is None
    for db in scale((0, 4, 6, 15), set(range(16)) - {5}):
        client("SELECT", db)
        assert sorted(client("KEYS", "*")) == sorted(b"%d.%d" % (db, n) for n in range(20))
        assert client("RANDOMKEY").startswith(b"%d." % db)
    assert client("PEXPIRE", "15.3", 1) == 1
    while client("EXISTS", "15.3"):
        pass
    assert client("DBSIZE") == 19 and b"15.3" not in client("KEYS", "*")
    assert client("FLUSHALL", "SYNC") == b"OK" and client("DBSIZE") == 0


def test_random_key(little):
    """Most keys are drawn now and then, and none far more often than another, wherever the gaps of the index are."""
    compare.empty(little)
    client = wire.Client(little)
    client("MSET", *(word for n in range(30) for word in (f"key{n}", "v")))
    draws = scale(400, 2000)
    drawn = Counter(client("RANDOMKEY") for _ in range(draws))
    assert len(drawn) >= 25 and max(drawn.values()) < draws / 4, drawn


def counted(server, name):
    with socket.create_connection(server.memcached) as text:
        told = reference.ask(text, b"stats card\r\n", b"END\r\n")
    return int(re.search(rb"STAT %b (\d+)" % name, told)[1])


def moves(server):
    """Entries of the index that have moved since it began."""
    return counted(server, b"StoreMoves")


def walks(server):
    """Exchanges with the card that walks took since it began."""
    return counted(server, b"HostWalks")


def test_scan_while_others_store(little, seed):
    """What is there from the first call to the last is met, though the index is full and entries move: others store and
    remove keys and rewrite these meanwhile, a walk pauses, and one with a foreign cursor ends."""
    compare.empty(little)
    stop, rng, client = threading.Event(), random.Random(seed), wire.Client(little)
    # Of 16,384 ways.
    stay = [b"s%d" % n for n in range(14_000)]

    def store(keys):
        for i in range(0, len(keys), 50):
            client("MSET", *(word for key in keys[i : i + 50] for word in (key, "v")))

    def alive(keys):
        parts = [keys[i : i + 500] for i in range(0, len(keys), 500)]
        return {key for part in parts for key, value in zip(part, client("MGET", *part), strict=True) if value is not None}

    store(stay)

    def others(number):
        rng, client, n = random.Random(number), wire.Client(little), 0
        while not stop.is_set():
            n += 1
            client("SET", f"new{number}.{n}", "x")
            client("DEL", f"new{number}.{n - 200}")
            client("SET", rng.choice(stay), "again", "XX")

    threads = [threading.Thread(target=others, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    rounds = 0
    try:
        # So that enough entries move under a walk, however fast the others are.
        while rounds < scale(1, 20) or (moves(little) <= 20 and rounds < 20):
            rounds += 1
            if rounds > 1:
                store(stay)  # what others store takes their room
            count = rng.choice(scale([2000], [200, 500, 2000]))
            met = {key for call in scan(client, "COUNT", count) for key in call}
            there = alive(stay)
            assert there <= met, (count, sorted(there - met)[:5])
            assert len(there) > len(stay) // 2
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert moves(little) > 20
    compare.empty(little)
    client("MSET", *(word for key in stay[:50] for word in (key, "v")))
    for cursor in scale(((1 << 64) - 1,), (1, 7 << 31, (1 << 64) - 1, 3 << 29)):
        for _ in range(3000):
            cursor, _keys = client("SCAN", cursor, "COUNT", "100")
            if cursor == b"0":
                break
        assert cursor == b"0"


def test_not_from_the_wire(little):
    """What the request port asks for is unknown to peers."""
    with socket.create_connection(little.memcached) as sock:
        for opcode in (0x3F, 0x0A):
            sock.sendall(struct.pack(">BBHBBHIIQ", 0x80, opcode, 0, 0, 0, 0, 0, 0, 0))
        reply = b""
        while len(reply) < 24 + 15 + 24:
            reply += sock.recv(1000)
        assert reply[6:8] == b"\0\x81" and reply[24:39] == b"Unknown command" and reply[39 + 1] == 0x0A


@pytest.mark.parametrize("asked", [("GET", "k"), ("GETRANGE", "k", "0", "-1")], ids=["gates", "program"])
@pytest.mark.parametrize("walk", ["DBSIZE", "KEYS"])
def test_others_go_on(walk, asked):
    """While the program goes through an index, which takes thousands of exchanges, what others ask of the gates is
    answered, and what they ask of the program between two of these."""
    card = servers.card(megabytes=16)
    try:
        walker, other = wire.Client(card), wire.Client(card)
        assert other("SET", "k", "v") == b"OK"
        for n in range(0, 2000, 50):  # what gates answer is soon there, what the program does takes a while
            other("MSET", *(word for key in range(n, n + 50) for word in (b"k%d" % key, b"v")))
        answered, end = 0, time.monotonic() + reference.SECONDS
        # Whoever asks may not get the processor for as long as one of them takes.
        while answered <= 5 and time.monotonic() < end:
            walker.send(walk, *["*"] * (walk == "KEYS"))
            answered = 0
            while not reference.readable(walker.socket, 0):
                assert other(*asked) == b"v"
                answered += 1
            reply = walker.reply()
            assert (reply if walk == "DBSIZE" else len(reply)) == 2001
        assert answered > 5
    finally:
        assert card.stop() == 0, card.tail()


def filled(server, keys=2000):
    """A client, of a store of so many keys."""
    compare.empty(server)
    client = wire.Client(server, 300)
    for n in range(0, keys, 50):
        client("MSET", *(word for key in range(n, n + 50) for word in (b"k%d" % key, b"v")))
    return client


def leave(clients):
    for client in clients:
        reference.resets_at_close(client.socket)
        client.close()


def test_who_has_left_is_not_walked_for(little):
    """36 clients ask for all keys and reset. They are there when the first of these commands begins; what another client
    asks for then waits for a few walks, not for 36."""
    client = filled(little)
    before = walks(little)
    assert len(client("KEYS", "*")) == 2000
    one, before = walks(little) - before, walks(little)
    leaving = [wire.Client(little) for _ in range(36)]
    for other in leaving:
        # When the first is answered the second is in the card.
        other.socket.sendall(wire.request(b"GET", b"k1") + wire.request(b"KEYS", b"*"))
    assert all(other.reply() == b"v" for other in leaving)
    leave(leaving)
    assert client("DBSIZE") == 2000
    took = walks(little) - before
    print(f"{one} exchanges a walk, {took} for 36 who leave and one who stays")
    assert one > 100 and took < 12 * one


def test_a_flush_is_whole(little):
    """Its client leaves when some keys are gone, of more than are looked for at once. Others have their turn meanwhile."""
    client = filled(little, 10_000)
    leaves = wire.Client(little)
    leaves.send("FLUSHDB", "SYNC")
    while None not in client("MGET", *(b"k%d" % n for n in range(0, 10_000, 1000))):
        pass
    leave([leaves])
    end = time.monotonic() + reference.SECONDS
    while client("DBSIZE") != 0:
        assert time.monotonic() < end


def test_who_sends_no_more_waits(little):
    """What clients have asked for that have closed their side is done, however long others' commands take before: as with
    Redis they get their replies, and the end."""
    client = filled(little)
    client.send("KEYS", "*")
    asked = [(b"DBSIZE",), (b"KEYS", b"k1999"), (b"SETRANGE", b"k7", b"0", b"seven"), (b"DBSIZE",)]
    halves = [wire.Client(little, 300) for _ in asked]
    for half, words in zip(halves, asked, strict=True):
        half.socket.sendall(wire.request(*words))
        half.socket.shutdown(socket.SHUT_WR)
    assert len(client.reply()) == 2000
    want = [b":2000\r\n", b"*1\r\n$5\r\nk1999\r\n", b":5\r\n", b":2000\r\n"]
    assert [half.rest(300) for half in halves] == want
    assert client("GET", "k7") == b"seven"


@pytest.mark.parametrize("command", ["BITCOUNT", "DBSIZE"])
def test_an_end_in_between(command):
    """A server that is told to end does so though commands of the program wait in a row."""
    card = servers.card(megabytes=16)
    client = wire.Client(card)
    assert client("SET", "v", bytes(300_000)) == b"OK"
    client.socket.sendall(wire.request(*[command.encode(), b"v"][: 1 + (command == "BITCOUNT")]) * 1000)
    client.reply()
    assert card.stop() == 0, card.tail()
