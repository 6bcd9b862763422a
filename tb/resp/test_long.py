"""Commands of Redis' protocol that are longer than the card reads at once, and that gates do not run: they come to the program
in pieces. What they do is what Redis 7.0 does; who sends half of one holds nobody up."""

import random
import threading
import time

import pytest
import redis as redis_py

from harness import reference
from harness.resp import compare, play, wire
from harness.resp.generate import Burst, Command
from harness.size import scale

MANY = b"MSET", b"MSETNX"
# Longer than a job, and done whatever is there.
VALUE = b"v" * 20_000
DONE = [[b"SET", b"a", VALUE, b"EX", b"1000"], [b"MSET", b"a", VALUE, b"b", VALUE], [b"SETRANGE", b"a", b"5", VALUE], [b"ECHO", VALUE]]


def a_command(rng, longest):
    """On a few keys; most are longer than a job."""
    size = rng.choice([100, 7000, 8192, 8193, 16_384, 20_000, rng.randrange(longest)])
    key, value = rng.choice([b"a", b"b", b"k" * 250]), rng.randbytes(size)
    name = rng.choice([b"SET", b"SET", b"MSET", b"MSETNX", b"SETRANGE", b"ECHO", b"SUM", b"BITOP", b"GETSET", b"APPEND", b"SETEX",
                       b"WRONG", b"OPTIONS", b"LINE", b"DEL", b"GET", b"GET"])  # fmt: skip
    if name == b"SET":
        words = [name, key, value, *rng.choice([[b"EX", b"1000"], [b"NX"], [b"XX", b"GET"], [b"KEEPTTL"], [b"EX"], [b"PX", b"x"]])]
    elif name in MANY:
        pieces = rng.choice([3, 10, 300])
        words = [name] + [word for i in range(pieces) for word in (b"%s%d" % (key[:200], i), value[: size // pieces])]
        words = words[: len(words) - (rng.random() < 0.1)]
    elif name == b"SETRANGE":
        words = [name, key, b"%d" % rng.choice([0, 5, 20_000]), value]
    elif name == b"SUM":
        words = [rng.choice([b"BITOP", b"LCS", b"OBJECT", b"COPY"]), *[b"a"] * (size // 8)]
    elif name == b"BITOP":
        words = [name, b"XOR", b"a", *rng.choices([b"a", b"b", b"c"], k=size // 12 + 1)]
    elif name == b"WRONG":
        words = rng.choice([[b"NOSUCH", value], [b"GET", key, value], [value[:300], value], [b"INCRBY", key, value]])
    elif name == b"OPTIONS":
        words = [b"SET", key, b"v", *[b"NX"] * (size // 8)]
    elif name == b"LINE":
        text = b"set %s %s ex 1000\r\n" % (key, bytes(rng.choices(b"abc", k=min(size, 60_000))))
        return Command(text, name=b"SET")
    elif name in (b"DEL", b"GET"):
        words = [name, key]
    else:
        words = [name, *[b"10"] * (name == b"SETEX"), value] if name == b"ECHO" else [name, key, *[b"1000"] * (name == b"SETEX"), value]
    return Command(wire.request(*words), name=words[0])


def broken(rng):
    """Against the protocol, far behind the beginning."""
    begin = wire.request(b"MSET", *[b"k", rng.randbytes(3000)] * rng.choice([2, 5, 9]))
    return begin[: -3000 - 8] + rng.choice([b"$x\r\n", b"$-1\r\n", b"$99999999\r\n", b":1\r\n", b"$\r\n", b"\r\n"])


def test_streams(redis, card, seed):
    """Long commands among short ones, cut anywhere; what breaks the protocol midway says so."""
    for server in (redis, card):
        compare.empty(server)
    rng, match = random.Random(seed), play.Play(redis, card, label=f"long_{seed}")
    match.run(Burst(0, [Command(wire.request(*words), name=words[0]) for words in rng.sample(DONE, len(DONE))]))
    want = scale(60, 6000)
    while match.commands < want:
        commands = [a_command(rng, 60_000) for _ in range(rng.choice([1, 1, 3, 6]))]
        closes = rng.random() < 0.1
        if closes:
            commands.append(Command(broken(rng), name=b"(broken)"))
        size = sum(len(c.data) for c in commands)
        cuts = sorted(rng.randrange(size) for _ in range(rng.choice([0, 0, 1, 5])))
        match.run(Burst(rng.randrange(3), commands, cuts, closes))
    match.close()
    for words in DONE:
        assert match.names[words[0]][1], words[0]


def test_redis_py(redis, card):
    """What applications do with values of their size."""
    replies, megabyte, big = [], random.Random(1).randbytes(scale(1 << 18, (1 << 20) - 400)), random.Random(2).randbytes(10 << 10)
    part = megabyte[: scale(100_000, len(megabyte))]
    for server in (redis, card):
        compare.empty(server)
        with redis_py.Redis(server.host, server.port, socket_timeout=600) as client:
            pairs = {f"k{i}": bytes([i]) + big for i in range(scale(12, 100))}
            replies.append([
                client.set("v", megabyte, ex=100_000), 90_000 < client.ttl("v") <= 100_000, client.get("v") == megabyte,
                client.mset(pairs), client.mget(*pairs) == [*pairs.values()], client.set("v", big, xx=True, keepttl=True),
                90_000 < client.ttl("v") <= 100_000, client.append("v", big), client.getset("v", big) == big + big,
                client.setrange("v", 5000, big), client.getrange("v", 4999, 5001) == big[4999:5000] + big[:2],
                client.set("v", part, get=True) == big[:5000] + big, client.strlen("v"), client.set("n", big, px=100_000_000, nx=True),
                client.set("n", big, nx=True), client.msetnx({"n": big, "m": big}), client.exists("m"),
            ])  # fmt: skip
            with client.pipeline() as pipe:  # a transaction
                pipe.set("t", megabyte[:100_000]).append("t", megabyte[100_000:200_000]).get("t")
                replies[-1].append(pipe.execute() == [True, 200_000, megabyte[:200_000]])
    assert replies[0] == replies[1], replies


def test_too_long(card):
    """What is longer than the program keeps is refused in words, before all of it has come."""
    with card.connect() as sock:
        pair = b"$1\r\nk\r\n$100\r\n" + b"v" * 100 + b"\r\n"
        assert reference.ask(sock, b"*300001\r\n$4\r\nMSET\r\n" + pair * 220, b"\r\n") == b"-ERR Protocol error: command is longer than this server takes\r\n"
        assert sock.recv(1) == b""
    with card.connect() as sock:
        assert reference.ask(sock, b"*1\r\n$9" + b"9" * 25_000, b"\r\n") == b"-ERR Protocol error: too big bulk count string\r\n"
        assert sock.recv(1) == b""


def set_ex(key, size):
    return wire.request(b"SET", key, b"v" * size, b"EX", b"1000")


def reset(sock):
    reference.resets_at_close(sock)
    sock.close()


def resident(server):
    with open(f"/proc/{server.process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("ends", ["stays", "closes", "resets"])
def test_half_sent(card, ends):
    """More connections than there are places for long commands stop in the middle of one, or end there. Others go on beside
    them; a new long command waits for a place, and is done. Those that were slow lose their connections when they go on."""
    # Who holds over 16 KiB has a place, and may lose it after ten seconds while others wait: few bytes more, so that one
    # who goes on is through by then on a slow machine, too.
    many, half, long = 24, scale(18_000 if ends == "stays" else 12_000, 30_000), scale(20_000, 40_000)
    compare.empty(card)
    good, stop, wrong = wire.Client(card, timeout=120), threading.Event(), []

    def short():
        count = 0
        while not stop.is_set():
            count += 1
            if good("SET", ends, count) != b"OK" or good("GET", ends) != b"%d" % count:
                wrong.append(count)

    beside = threading.Thread(target=short, daemon=True)
    beside.start()
    before = resident(card)
    socks = []
    for number in range(many):
        sock = card.connect()
        command = set_ex(b"half%d" % number, 2 * half)
        sock.sendall(command[:half])
        if ends == "resets" and number % 2:
            reset(sock)
        elif ends == "closes" and number % 2:
            sock.close()
        else:
            socks.append((sock, command[half:]))
    client = wire.Client(card, timeout=120)
    for number in range(3):
        assert client("SET", "long%d" % number, b"v" * long, "EX", "1000") == b"OK"
        assert client("STRLEN", "long%d" % number) == long
    assert resident(card) - before < 100 << 20
    done = 0
    for sock, rest in socks:
        sock.settimeout(60)
        try:
            sock.sendall(rest)
            done += sock.recv(5) == b"+OK\r\n"
        except (ConnectionResetError, BrokenPipeError):
            pass
        sock.close()
    stop.set()
    beside.join()
    assert not wrong and good("PING") == b"PONG"
    print(f"{done} of {len(socks)} went on")
    assert client("SET", "last", b"v" * 100_000, "EX", "1000") == b"OK"
    assert ends != "stays" or done < many


def test_slow_senders(card):
    """Commands of 20,000 bytes that come in small pieces, side by side."""
    data = [wire.request(b"SETRANGE", b"slow%d" % i, b"3", bytes([i]) * 20_000) for i in range(8)]
    socks, rng = [card.connect() for _ in data], random.Random(1)
    at = [0] * len(data)
    while any(a < len(d) for a, d in zip(at, data)):
        for i, sock in enumerate(socks):
            n = rng.choice((1, 50, 700, 3000))
            sock.sendall(data[i][at[i] : at[i] + n])
            at[i] += n
        time.sleep(0.002)
    for sock in socks:
        sock.settimeout(reference.SECONDS)
        assert sock.recv(100) == b":20003\r\n"
        sock.close()
    client = wire.Client(card)
    for i in range(len(data)):
        assert client("GET", b"slow%d" % i) == b"\0\0\0" + bytes([i]) * 20_000
