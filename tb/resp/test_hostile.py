"""Clients that mean harm, in RESP: Redis' answer where it has one; where it would wait or queue without
limit, an error and the end of the connection. The others go on, and memory holds."""

import random
import socket
import time

import pytest

from harness import reference, watch
from harness.memcached import values
from harness.resp import servers, wire
from harness.size import scale
from harness.memory import BESIDE, EACH, MEGABYTES, fill

CONNECTIONS = 10_000
# What all connections together may keep of requests and transactions, in MiB.
KEPT = MEGABYTES // 8

ANSWERED = {
    "inline": b"a" * 66_000,
    "inline line": b"PING " + b"a" * 63_000 + b"\r\nQUIT\r\n",
    "inline words": b"DEL " + b"k " * 30_000 + b"\r\nQUIT\r\n",
    "multibulk count": b"*" + b"1" * 66_000,
    "bulk count": b"*1\r\n$" + b"1" * 66_000,
    "bulk": b"*2\r\n$3\r\nGET\r\n$2147483647\r\n",
    "huge bulk": b"*2\r\n$3\r\nGET\r\n$9223372036854775807\r\n",
    "many": b"*2147483648\r\n",
    "nested": b"*1\r\n" * 100_000,
    "deep": b"*2\r\n$3\r\nGET\r\n*1\r\n*1\r\n$1\r\nk\r\n",
    "map": b"%1\r\n$3\r\nGET\r\n$1\r\nk\r\nQUIT\r\n",
    "zero": b"\x00" * 70_000,
    # Behind a CR may be anything.
    "line ends": b"*2\rx$6\ryExists\r\n$1\r\nk\r\n*1\r\r$3\rxNO!zz*1\rx$4\rxQUITxx",
    "quotes": b'"' * 1001 + b"\r\n",
    "empty": b"*0\r\n" * 20_000 + b"QUIT\r\n",
    "blank": b"\r\n" * 20_000 + b"QUIT\r\n",
}


@pytest.mark.parametrize("name", ANSWERED)
def test_redis_has_an_answer(redis, soft, name):
    answers = []
    for server in (redis, soft):
        client = wire.Client(server)
        try:
            client.socket.sendall(ANSWERED[name])
        except ConnectionError:
            pass
        answers.append(client.rest())
        client.close()
    # Redis resets the connection if more comes when it closes, and then the answer may be lost on its way.
    more_comes = name in ("inline", "multibulk count", "bulk count", "nested", "zero")
    assert answers[1] == answers[0] or (more_comes and answers[0] == b"" and answers[1]), answers


class Good:
    """Someone whose keys must be as they were left, whatever the others do."""

    def __init__(self, server):
        self.client = wire.Client(server)
        self.turn = 0
        self.write()

    def write(self):
        self.turn += 1
        for i in range(50):
            assert self.client("SET", f"good{i}", values.make(b"good%d" % i, self.turn, 1000)) == b"OK"

    def read(self):
        for i in range(50):
            assert values.version(b"good%d" % i, self.client("GET", f"good{i}")) == self.turn

    def write_long(self):
        """What does not fit into a connection's input: a value, many arguments, a transaction."""
        value = values.make(b"long", self.turn, 1_000_000)
        assert self.client("SET", "long", value) == b"OK"
        assert len(self.client("MGET", *["good1"] * 5_000)) == 5_000
        many = [(b"SET", b"long%d" % i, value[:10_000]) for i in range(60)]
        replies = self.client.many([(b"MULTI",), *many, (b"EXEC",)])
        assert replies == [b"OK"] + [b"QUEUED"] * 60 + [[b"OK"] * 60]


SET = wire.request(b"SET", b"queued", b"x")
HOLDING = {
    "count": b"*100000\r\n",
    "arguments": b"*100000\r\n$3\r\nDEL\r\n" + b"$1\r\na\r\n" * 8_000,
    "long argument": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000\r\n" + b"v" * 59_000,
    "value": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"v" * 16_000,
    "key": b"*2\r\n$3\r\nGET\r\n$60000\r\n" + b"k" * 59_000,
    "inline": b"SET k " + b"v" * 60_000,
    "multi": b"MULTI\r\n" + SET * 1_500,
    "values in multi": b"MULTI\r\n" + wire.request(b"SET", b"queued", b"v" * 500_000),
    "watch": b"".join(wire.request(b"WATCH", b"w%d" % i) for i in range(2_000)),
    "name": wire.request(b"CLIENT", b"SETNAME", b"n" * 60_000),
    "unread": wire.request(b"MGET", *[b"good1"] * 1_000) * 10,
    "unread list": wire.request(b"CLIENT", b"LIST") * 100,
    "unread docs": wire.request(b"COMMAND", b"DOCS") * 100,
    "unread info": wire.request(b"INFO") * 1_000,
    "unread exec": (b"MULTI\r\n" + wire.request(b"GETRANGE", b"good1", b"0", b"999") * 900 + b"EXEC\r\n") * 8,
    "scans": wire.request(b"SCAN", b"0", b"COUNT", b"1000") * 500,
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDING)
def test_hostile_connections_hold_little(name):
    """Two thousand of each hold little, and have to make room for others' long commands."""
    watch.raise_file_limit()
    count = 300 if name.startswith("unread") else scale(1000, 2000)
    server = servers.soft(megabytes=MEGABYTES, threads=2, connections=count + 10)
    text = HOLDING[name]
    hostile = []
    with server:
        good = Good(server)
        for i in range(count):
            if i == 50:
                # Each of those who came before has its turn.
                good.write_long()
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(server.address)
            try:
                fill(s, text, len(text))
            except ConnectionError:
                # It had to make room.
                pass
            hostile.append(s)
        good.read()
        good.write()
        good.read()
        most = watch.peak(server)
        print(f"{name}: at most {most:.1f} MiB")
        # The replies of an EXEC, 1 MB here, stand three times in each thread while they are put into the store.
        copies = 2 * 3 if name == "unread exec" else 0
        assert most <= MEGABYTES + KEPT + BESIDE + copies + count * EACH
        for s in hostile:
            s.close()
        left = watch.settle(lambda: len(good.client("CLIENT", "LIST").splitlines()), 1)
        assert left == 1
        good.read()
        good.client.close()


ENDLESS = {
    "arguments": (b"*1000000\r\n$3\r\nDEL\r\n", b"$5\r\ngood1\r\n"),
    "watch": (b"", b"".join(wire.request(b"WATCH", b"%0200d" % i) for i in range(3000))),
}


def push(s, left, said, i):
    """Sends what goes of `left[i]`, and reads what has come. False: the server has closed."""
    try:
        sent = s.send(left[i], socket.MSG_DONTWAIT)
        left[i] = left[i][sent:]
    except (BlockingIOError, ConnectionError):
        # Its last words may be there all the same.
        pass
    try:
        while reference.readable(s, 0):
            piece = s.recv(1 << 18)
            if not piece:
                return False
            said[i] = (said[i] + piece)[-300:]
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize("name", ENDLESS)
def test_what_redis_would_keep_without_limit(name):
    """A million arguments, watched keys without end: an error, and the end."""
    server = servers.soft(megabytes=MEGABYTES, connections=100)
    begin, more = ENDLESS[name]
    with server:
        good = Good(server)
        before = watch.resident(server)
        many = []
        for _ in range(20):
            client = wire.Client(server)
            client.socket.sendall(begin)
            many.append(client)
        said, open_ = {i: b"" for i in range(20)}, set(range(20))
        left = {i: more * (1 + (8 << 20) // len(more)) for i in open_}
        end = time.monotonic() + 120
        while open_ and any(left[i] for i in open_) and time.monotonic() < end:
            for i in sorted(open_):
                if not push(many[i].socket, left, said, i):
                    open_.discard(i)
            good.read()
        most = watch.peak(server)
        print(f"{name}: {len(open_)} still open, at most {most:.1f} MiB; {said[0][-100:]}")
        assert not open_, "it takes more and more"
        assert most - before <= KEPT + BESIDE
        good.read()
        for client in many:
            client.close()


@pytest.mark.parametrize("value", [b"", b"v" * 10_000])
def test_transactions_without_end(value):
    """They are refused, and hold nothing then; EXEC says so."""
    with servers.soft(megabytes=MEGABYTES, connections=100) as server:
        good = Good(server)
        before = watch.resident(server)
        clients = [wire.Client(server) for _ in range(20)]
        command = (b"SET", b"good1", value)
        count = (8 << 20) // len(wire.request(*command))
        for client in clients:
            assert client("MULTI") == b"OK"
            said = [reply for _ in range(0, count, 100) for reply in client.many([command] * 100)]
            refused = [str(reply) for reply in said if isinstance(reply, wire.Error)]
            assert refused == ["ERR the transaction is longer than this server takes"]
        assert watch.peak(server) - before <= KEPT + BESIDE
        good.read()
        for client in clients:
            said = client("EXEC")
            assert str(said) == "EXECABORT Transaction discarded because of previous errors."
            client.close()
        good.read()
        good.client.close()


def test_10000_at_once(seed):
    """All open at the same time, each watches a key and has a transaction open; then nothing is
    left of them."""
    if watch.raise_file_limit() < CONNECTIONS + 100:
        pytest.fail("ulimit -Hn allows fewer than 10,100 descriptors")
    server = servers.soft("-b", 4096, connections=CONNECTIONS + 2, megabytes=64)
    rng = random.Random(seed)
    with server:
        first = wire.Client(server)
        for i in range(CONNECTIONS):
            first("SET", f"key{i}", values.make(b"key", i, 100))
        watch.populated(server)
        before, fds = watch.resident(server), watch.descriptors(server)
        for _ in (1, 2):
            clients = [wire.Client(server) for _ in range(CONNECTIONS)]
            order = rng.sample(range(CONNECTIONS), CONNECTIONS)
            for i in order:
                key = b"key%d" % i
                clients[i].socket.sendall(b"".join(wire.request(*words) for words in (
                    [b"WATCH", key], [b"MULTI"], [b"INCR", b"all"], [b"SET", key, b"v%d" % i])))  # fmt: skip
            for i in order:
                assert [clients[i].reply() for _ in range(4)] == [b"OK", b"OK", b"QUEUED", b"QUEUED"]
            most = watch.resident(server)
            for i in order:
                clients[i].send("EXEC")
            for i in order:
                assert (reply := clients[i].reply()) and reply[1] == b"OK", reply
            print(f"{len(clients)} transactions open: {most:.1f} MiB, before {before:.1f} MiB")
            assert most - before <= 16 + CONNECTIONS * 4 / 1024
            for client in clients:
                client.close()
            assert watch.settle(lambda: watch.descriptors(server), fds) == fds
        assert first("GET", "all") == b"%d" % (2 * CONNECTIONS)
        assert watch.resident(server) - before <= 24, "memory of closed connections is kept"
        first.close()
