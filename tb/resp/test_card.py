"""The simulated card on its port for Redis: what it runs, and what host software answers, is what Redis 7.0 says.

What is not there with --body sim stands in docs/COMPATIBILITY.md; streams here are made of the rest."""

import random
import re
import shutil
import socket
import subprocess
import threading

import pytest
import redis as redis_py

from harness import reference
from harness.resp import allowed, compare, play, sure, wire
from harness.resp.generate import Burst, Command
from harness.resp.hosted import GATES, HOST, Hosted
from harness.size import scale

NUMBERS = [b"0", b"1", b"-1", b"17", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"01", b"+1",
           b" 1", b"1 ", b"", b"-0", b"-", b"x", b"99999999999999999999", b"18446744073709551616"]  # fmt: skip
BROKEN = [b"*x\r\n", b"*1\r\n!\r\n", b"*1\r\n\r\n", b"*1\r\n$x\r\n", b"*1\r\n$-1\r\n", b"*2\r\n$3\r\nGET\r\n:1\r\n", b"*1\r\n$01\r\nx\r\n",
          b"*2\r\n$3\r\nGET\r\n$00\r\n", b"*9999999999\r\n", b"GET \"a\r\n", b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$99999999\r\n"]  # fmt: skip


# What tells when something expires: to within what passes between Redis and the card.
TELLS = {b"TTL": "seconds", b"PTTL": "milliseconds", b"EXPIRETIME": "seconds", b"PEXPIRETIME": "milliseconds"}
SECONDS = b"EX", b"EXAT", b"SETEX", b"EXPIRE", b"EXPIREAT"
DATES = b"EXAT", b"PXAT", b"EXPIREAT", b"PEXPIREAT"


class Streams:
    """Random bursts of commands that the card runs, or leaves to the host."""

    def __init__(self, seed, timed=0.0):
        self.rng, self.timed = random.Random(seed), timed

    def key(self):
        return self.rng.choice([b"a", b"b", b"c", b"k" * self.rng.choice([9, 10, 30, 41, 44, 60, 65, 250])])

    def value(self):
        rng = self.rng
        size = rng.choice([0, 1, 5, 16, 17, 18, 64, 100, 100, 300, 2000, rng.randrange(9000), rng.randrange(30_000)])
        return rng.choice([rng.randbytes(size), rng.choice(NUMBERS), (wire.request(b"GET", b"a") * size)[:size]])

    def time(self, unit, over=True):
        """One that does not come within the test, or is over, or none."""
        rng, scale = self.rng, 1 if unit in SECONDS else 1000
        if over and rng.random() < 0.1:
            return rng.choice([b"-1", b"0", b"-9000000000000"] + [b"1"] * (unit in DATES))
        if rng.random() < 0.1:
            return rng.choice([b"", b"x", b"1x", b"01", b"+5", b"9" * 19, b"9" * 22, b"-" + b"9" * 19])
        at = allowed.DATES if unit in DATES else range(100_000, 100_000_000)
        return b"%d" % (rng.choice(at) * scale + rng.randrange(scale))

    def options(self, *kinds):
        rng = self.rng
        units = rng.choices((b"EX", b"PX", b"EXAT", b"PXAT"), k=rng.choice([0, 1, 1, 1, 2]))
        picked = [[unit, self.time(unit)] for unit in units] + [[kind] for kind in rng.choices(kinds, k=rng.choice([0, 1, 1, 2]))]
        rng.shuffle(picked)
        words = [rng.choice([word, word.lower()]) for option in picked for word in option]
        return words + [rng.choice([b"EX", b"x", b"XX", b"PERSIST"])] * (rng.random() < 0.05)

    def times(self, key):
        """A command about expiry, or about what was there."""
        rng = self.rng
        name = rng.choice([b"SET"] * 5 + [b"GETEX", b"GETEX", b"SETEX", b"PSETEX", b"GETSET", b"GETDEL", b"PERSIST", b"TYPE", b"TOUCH",
                          b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT", b"SELECT", b"RESET", *TELLS, *TELLS])  # fmt: skip
        if name == b"SET":
            return [name, key, self.value()[:1900], *self.options(b"NX", b"XX", b"GET", b"KEEPTTL")]
        if name == b"GETEX":
            words = [name, key, *self.options(b"PERSIST")]
            return words if all(len(word) < 19 for word in words[2:]) else [name, key]
        if name in (b"SETEX", b"PSETEX"):
            time, value = self.time(name, over=False), self.value()
            return [name, key, time, value if re.fullmatch(b"[1-9][0-9]{,17}", time) else value[:3000]]
        if name == b"GETSET":
            return [name, key, self.value()]
        if b"EXPIRE" in name and name not in TELLS:
            only = rng.choices([b"NX", b"XX", b"GT", b"LT", b"lt", b"gt"], k=rng.choice([0, 0, 1, 1, 1, 2]))
            return [name, key, self.time(name), *only, *[b"GTX"] * (rng.random() < 0.03)]
        if name == b"SELECT":
            return [name, rng.choice([b"0", b"0", b"1", b"15", b"16", b"-1", b"x", b"01", b""])]
        return [name] if name == b"RESET" else [name, key]

    def words(self):
        rng, key = self.rng, self.key()
        if rng.random() < self.timed:
            return self.times(key)
        name = rng.choice([b"GET"] * 4 + [b"SET"] * 4 + [b"MGET", b"MGET", b"MSET", b"SETNX", b"NX", b"DEL", b"UNLINK", b"EXISTS", b"INCR",
                          b"DECR", b"INCRBY", b"DECRBY", b"APPEND", b"STRLEN", b"PING", b"ECHO", b"HOST", b"WRONG"])  # fmt: skip
        if name in (b"DEL", b"UNLINK", b"EXISTS", b"TOUCH") and rng.random() < 0.5:
            return [name] + [self.key() for _ in range(rng.choice([2, 2, 3, 9, 60]))]
        if name == b"SET" or name in (b"SETNX", b"APPEND"):
            words = [name, key, self.value()]
        elif name == b"NX":
            words = [b"SET", key, self.value()[:1900], rng.choice([b"NX", b"XX", b"nx"])]
        elif name == b"MSET":
            words = [name]
            for _ in range(rng.choice([1, 2, 3, 9])):
                pair = [self.key(), self.value()[: rng.choice([20, 150, 300])]]
                words += pair if sum(map(len, words + pair)) < 2000 else []
        elif name == b"MGET":
            words = [name] + [self.key() for _ in range(rng.choice([1, 2, 9, 10, 16, 60]))]
        elif name in (b"INCRBY", b"DECRBY"):
            words = [name, key, rng.choice(NUMBERS)]
        elif name == b"PING":
            words = [name] + [b"x"] * rng.choice([0, 0, 1, 2])
        elif name == b"ECHO":
            words = [name, self.value()[:3000]]
        elif name == b"HOST":
            words = rng.choice([[b"CLIENT", b"SETNAME", b"abc"], [b"CLIENT", b"GETNAME"], [b"SELECT", b"0"], [b"WAIT", b"0", b"0"],
                                [b"CLIENT", b"NOSUCH"], [b"HELLO", b"9"], [b"UNWATCH"]])  # fmt: skip
        elif name == b"WRONG":
            words = rng.choice([[b"GET"], [b"GET", key, key], [b"SET", key], [b"INCR", key, b"1"], [b"NOSUCH", key], [b"MGET"],
                                [b"DEL"], [b"STRLEN"], [b"", key], [b"g\0et", key], [b"GET" * 30, key]])  # fmt: skip
        else:
            words = [name, key]
        if rng.random() < 0.3:
            words[0] = words[0].lower()
        return words

    def burst(self, connection):
        rng, commands = self.rng, []
        for _ in range(rng.choice([1, 1, 4, 16, 40])):
            words = self.words()
            name = words[0].upper()
            commands.append(Command(wire.request(*words), name=name, loose=TELLS.get(name)))
        closes = rng.random() < 0.05
        if closes:
            commands.append(Command(rng.choice(BROKEN), name=b"(broken)"))
        size = sum(len(c.data) for c in commands)
        cuts = sorted(rng.randrange(size) for _ in range(rng.choice([0, 0, 1, 3]))) if size else []
        return Burst(connection, commands, cuts, closes)


def stream(redis, card, seed, commands, done, refused=(), timed=0.0):
    """Three connections; each now and then asks for RESP3, or breaks the protocol and is closed. A fourth has each
    command of `done` done, and each of `refused` refused."""
    for server in (redis, card):
        compare.empty(server)
    streams, match = Streams(seed, timed), play.Play(redis, card, label=f"card_{seed}")
    match.run(sure.burst(3, done, refused))
    fresh = set()
    while match.commands < commands:
        connection = streams.rng.randrange(3)
        if connection not in match.lanes:
            fresh.add(connection)
        burst = streams.burst(connection)
        if connection in fresh and streams.rng.random() < 0.5:
            burst.commands.insert(0, Command(wire.request(b"HELLO", b"3"), loose="hello", name=b"HELLO"))
        fresh.discard(connection)
        match.run(burst)
    match.close()
    assert all(match.names[name][1] for name in done) and all(match.names[name][0] for name in refused), match.names


def test_times(redis, card, seed):
    """Commands about expiry, about what was there, and databases, among the others."""
    done = (b"SET", b"SETEX", b"PSETEX", b"GETSET", b"GETDEL", b"GETEX", b"EXPIRE", b"PEXPIREAT", b"TTL", b"PTTL",
            b"EXPIRETIME", b"PEXPIRETIME", b"PERSIST", b"TYPE", b"TOUCH", b"SELECT")  # fmt: skip
    stream(redis, card, seed, scale(3_000, 60_000), done, (b"SET", b"SETEX", b"EXPIRE", b"GETEX", b"SELECT"), timed=0.7)


def test_streams(redis, card, seed):
    done = (b"GET", b"SET", b"MGET", b"MSET", b"SETNX", b"DEL", b"EXISTS", b"INCR", b"DECRBY", b"APPEND", b"STRLEN", b"PING", b"ECHO")
    stream(redis, card, seed, scale(2_000, 60_000), done)


def test_one_cache(card):
    """What one protocol stores the other reads."""
    compare.empty(card)
    client = wire.Client(card)
    with socket.create_connection(card.memcached) as text:
        assert reference.ask(text, b"set k 7 0 2\r\n41\r\n", b"\r\n") == b"STORED\r\n"
        assert client("GET", "k") == b"41" and client("INCR", "k") == 42
        assert reference.ask(text, b"get k\r\n", b"END\r\n") == b"VALUE k 7 2\r\n42\r\nEND\r\n"
        assert client("SET", "k", "v") == b"OK"
        assert reference.ask(text, b"get k\r\n", b"END\r\n") == b"VALUE k 0 1\r\nv\r\nEND\r\n"


@pytest.mark.parametrize("size", [8_000, 8_192, 20_000, 700_000])
def test_long_values(redis, card, size):
    """Values about as long as a job, and far longer, stored, appended to, and read beside others."""
    replies = []
    for server in (redis, card):
        compare.empty(server)
        client = wire.Client(server)
        value = random.Random(size).randbytes(size)
        replies.append([client("SET", "v", value), client("APPEND", "v", value[:100]), client("STRLEN", "v"),
                        client("MGET", "v", "x", "v"), client("APPEND", "new", value), client("GET", "new") == value])  # fmt: skip
    assert replies[0] == replies[1]


def test_too_large(card):
    """An item over -I is refused; a length over -I breaks the protocol."""
    client = wire.Client(card)
    assert str(client("SET", "k", b"v" * ((1 << 20) - 10))).startswith("ERR item is larger")
    assert client("PING") == b"PONG"
    with card.connect() as sock:
        assert reference.ask(sock, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n", b"\r\n") == \
            b"-ERR Protocol error: invalid bulk length\r\n"
        assert sock.recv(1) == b""


def test_what_is_not_there(card):
    """It says so, and the connection goes on."""
    client = wire.Client(card)
    assert client("SELECT", "1") == b"OK" and client("SELECT", "0") == b"OK"
    for words in (["SWAPDB", "0", "1"], ["OBJECT", "FREQ", "k"], ["OBJECT", "IDLETIME", "k"]):
        reply = client(*words)
        assert isinstance(reply, wire.Error) and "not there with --body sim" in str(reply), (words, reply)
    assert client("GET", "k") in (None, b"v") and client("GET", "k" * 251) != b""


def test_host_commands(redis, card, seed):
    """On items of the card, one and several, in transactions, with watched keys, between commands that gates run."""
    for server in (redis, card):
        compare.empty(server)
    generator = Hosted(seed, only=set(HOST + GATES), long_keys=False, pipeline=20)
    match = play.Play(redis, card, label=f"host_{seed}")
    wanted = (b"SETRANGE", b"BITFIELD", b"INCRBYFLOAT", b"MSET", b"RENAME", b"EXEC", b"GET")
    match.run(sure.burst(3, wanted))
    while match.commands < scale(800, 60_000):
        match.run(generator.burst())
    match.close()
    for name in wanted:
        assert match.names[name][1], name


@pytest.mark.parametrize("size", [8_193, 100_000, *scale([], [1_000_000])])
def test_long_values_by_the_host(redis, card, size):
    """Values longer than the request port's rings."""
    replies = []
    for server in (redis, card):
        compare.empty(server)
        client = wire.Client(server)
        value = random.Random(size).randbytes(size)
        replies.append([client("SET", "v", value), client("GETRANGE", "v", "-9", "-1"), client("SETRANGE", "v", size - 5, b"end"),
                        client("RENAME", "v", "w"), client("GET", "v"), client("GET", "w"), client("COPY", "w", "v"),
                        client("BITOP", "XOR", "x", "v", "w"), client("BITCOUNT", "x"), client("STRLEN", "x")])  # fmt: skip
    assert replies[0] == replies[1]


def test_subcommands_in_transactions(redis, card):
    """What has its key behind a subcommand's name finds it in a transaction, too."""
    replies = []
    for server in (redis, card):
        compare.empty(server)
        client = wire.Client(server)
        client("SET", "kind", "abc")
        client("MULTI")
        for words in (["OBJECT", "ENCODING", "kind"], ["object", "refcount", "kind"], ["OBJECT", "ENCODING", "x"], ["MEMORY", "USAGE", "x"]):
            client(*words)
        replies.append(client("EXEC"))
    assert replies[0] == replies[1] == [b"embstr", 1, None, None]


def test_all_or_nothing(card):
    """While some move a sum between keys in transactions, others who read all keys at once always see the whole of it, by
    both protocols; and what is watched is not changed unnoticed."""
    compare.empty(card)
    keys, stop, wrong = [b"sum%d" % i for i in range(4)], threading.Event(), []
    wire.Client(card)("MSET", *(word for key in keys for word in (key, b"100")))

    def move(seed):
        rng, client = random.Random(seed), wire.Client(card)
        for _ in range(scale(40, 400)):
            a, b = rng.sample(keys, 2)
            client("MULTI")
            client("DECRBY", a, 7)
            client("INCRBY", b, 7)
            if client("EXEC") is None:
                wrong.append("EXEC")

    def add(_):
        client, done = wire.Client(card), 0
        while done < scale(20, 200):
            client("WATCH", "counter")
            value = int(client("GET", "counter") or 0)
            client("MULTI")
            client("SET", "counter", value + 1)
            done += client("EXEC") is not None

    def look():
        client = wire.Client(card)
        while not stop.is_set():
            values = client("MGET", *keys)
            if sum(map(int, values)) != 400:
                wrong.append(values)

    looks = threading.Thread(target=look)
    threads = [threading.Thread(target=what, args=(i,)) for i, what in enumerate((move, move, add, add))]
    for thread in [looks, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    looks.join()
    assert not wrong, wrong[:3]
    assert int(wire.Client(card)("GET", "counter")) == 2 * scale(20, 200)


@pytest.fixture(params=["card", "card6"])
def either_ip(request):
    """Over IPv4 and IPv6."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(either_ip, protocol):
    card = either_ip
    client = redis_py.Redis(card.host, card.port, protocol=protocol, socket_timeout=reference.SECONDS)
    client.flushall()
    assert client.ping() is True and client.echo("x") == b"x"
    assert client.set("a", "1") is True and client.get("a") == b"1" and client.get("nothing") is None
    assert client.set("a", "2", nx=True) is None and client.set("a", "2", xx=True) is True
    assert client.setnx("n", 5) is True and client.incr("n") == 6 and client.decr("n", 10) == -4
    assert client.append("text", "hello ") == 6 and client.append("text", "world") == 11
    assert client.strlen("text") == 11 and client.exists("text") == 1 and client.delete("text") == 1
    assert client.mget("a", "z", "n") == [b"2", None, b"-4"]
    with pytest.raises(redis_py.ResponseError, match="value is not an integer or out of range"):
        client.set("a", "x") and client.incr("a")
    with client.pipeline(transaction=False) as pipe:
        for i in range(500):
            pipe.set(f"p{i}", i)
            pipe.get(f"p{i}")
        assert pipe.execute()[1::2] == [b"%d" % i for i in range(500)]
    client.close()


def run(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120)


def test_redis_cli(either_ip):
    card, cli = either_ip, shutil.which("redis-cli")
    done = run(cli, "-h", card.host, "-p", card.port, "SET", "cli", "works")
    assert done.stdout == "OK\n", done
    assert run(cli, "-h", card.host, "-p", card.port, "GET", "cli").stdout == "works\n"
    assert run(cli, "-h", card.host, "-p", card.port, "INCR", "cli").stdout.startswith("ERR value is not an integer")
    assert run(cli, "-h", card.host, "-p", card.port, "-3", "GET", "nothing").stdout == "\n"


def test_redis_benchmark(either_ip):
    card = either_ip
    done = run("redis-benchmark", "-h", card.host, "-p", card.port, "-t", "ping_mbulk,set,get,incr", "-n", scale(2000, 20_000),
               "-c", 20, "-P", 16, "-q")  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("requests per second") == 4, done
    assert "error" not in (done.stdout + done.stderr).lower(), done
