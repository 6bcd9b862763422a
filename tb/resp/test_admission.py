"""Who may ask the simulated card for something, whose commands wait, and who is sent away, as Redis has it: passwords,
CLIENT PAUSE, CLIENT LIST and CLIENT KILL. Also of clients whose commands gates run, so that the card's program has not
heard of them."""

import random
import re
import socket
import threading
import time

import pytest

from harness import reference
from harness.resp import compare, play, servers, sure, wire
from harness.resp.generate import Command
from harness.size import scale
from harness.resp.hosted import GATES, HOST, Hosted

#: More bytes than a stranger may send in an argument; longer than a job of the card.
LONG = b"v" * 20_000


@pytest.fixture
def guarded():
    """Redis and the card, with the password `secret`."""
    pair = []
    try:
        pair += [servers.redis("--requirepass", "secret"), servers.card("--requirepass", "secret")]
        yield pair
    finally:
        for server in pair:
            assert server.stop() == 0, server.tail()


def test_streams(guarded, seed):
    """Those who have told the password and those who have not, each in its turn: every reply is Redis'."""
    for server in guarded:
        compare.empty(server, b"secret")
    generator = Hosted(seed, only={*HOST, *GATES, b"AUTH", b"HELLO"}, long_keys=False, pipeline=20, connections=6, password=b"secret")
    match = play.Play(*guarded, label=f"guarded_{seed}")
    told = sure.burst(6, [b"GET"], [b"AUTH"])
    told.commands.insert(0, Command(wire.request(b"AUTH", b"secret"), name=b"AUTH"))
    match.run(told)
    while match.commands < scale(600, 30_000):
        match.run(generator.burst())
    match.close()
    assert all(match.names[b"AUTH"]) and match.names[b"GET"][1]


#: Of a client that has told nothing, each on a connection of its own: some of them all there is.
ATTEMPTS = {
    "line": b"GET k\r\n", "set": wire.request(b"SET", b"k", b"mine"), "upper and lower": wire.request(b"sEt", b"k", b"mine"),
    "many": wire.request(b"SET", b"k", b"mine") * 200, "long": wire.request(b"SET", b"k", b"v" * 9_000),
    "longer than may be": wire.request(b"SET", b"k", LONG), "arguments": wire.request(b"MSET", *[b"k", b"mine"] * 20),
    "ten": wire.request(b"MSET", *[b"k", b"mine"] * 4, b"k"), "mget": wire.request(b"MGET", *[b"k"] * 9),
    "append": wire.request(b"APPEND", b"k", b"x"), "del": wire.request(b"DEL", b"k"), "flush": b"FLUSHALL\r\nFLUSHDB\r\n",
    "select": wire.request(b"SELECT", b"1") + wire.request(b"SET", b"k", b"mine"), "ping": b"PING\r\n" + wire.request(b"PING"),
    "reset": wire.request(b"RESET") + wire.request(b"SET", b"k", b"mine"), "hello": b"HELLO\r\nHELLO 3\r\nHELLO 3 SETNAME x\r\n" + wire.request(b"GET", b"k"),
    "wrong": wire.request(b"AUTH", b"wrong") + wire.request(b"GET", b"k") + wire.request(b"AUTH", b"secre") + wire.request(b"AUTH", b"secrets")
    + wire.request(b"AUTH", b"") + wire.request(b"AUTH", b"default", b"x") + wire.request(b"AUTH", b"nobody", b"secret") + wire.request(b"GET", b"k"),
    "multi": b"MULTI\r\n" + wire.request(b"SET", b"k", b"mine") + b"EXEC\r\n", "quiet": b"CLIENT REPLY OFF\r\n" + wire.request(b"SET", b"k", b"mine"),
    "config": b"CONFIG SET requirepass x\r\nCONFIG GET requirepass\r\nCLIENT LIST\r\nCLIENT KILL TYPE normal\r\nINFO\r\nDEBUG SLEEP 0\r\n",
    "broken": b"*1\r\n$x\r\n" + wire.request(b"SET", b"k", b"mine"), "nothing": b"*0\r\n\r\n" + wire.request(b"SET", b"k", b"mine"),
    "expiry": wire.request(b"EXPIRE", b"k", b"1") + wire.request(b"SETEX", b"k", b"1", b"x") + wire.request(b"GETDEL", b"k") + wire.request(b"INCR", b"k"),
    "pause": b"CLIENT PAUSE 100000\r\nCLIENT UNPAUSE\r\n" + wire.request(b"GET", b"k"),
    "then the right one": wire.request(b"GET", b"k") + wire.request(b"AUTH", b"secret") + wire.request(b"GET", b"k") + wire.request(b"RESET")
    + wire.request(b"SET", b"k", b"mine") + b"HELLO 3 AUTH default secret\r\n" + wire.request(b"GET", b"nosuch") + wire.request(b"MULTI")
    + wire.request(b"GET", b"k") + wire.request(b"RESET") + wire.request(b"EXEC") + wire.request(b"GET", b"k"),
}  # fmt: skip


#: What a stranger begins with, and no more of it comes.
TOO_MUCH = (
    b"*11\r\n", b"*1000000\r\n", b"*20\r\n$4\r\nPING\r\n", b"*11\r\n$4\r\nAU", b"*2\r\n$4\r\nPING\r\n$16385\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20000\r\nvv", b"*1\r\n$16385\r\n", b"PING\r\n" + wire.request(b"PING") + b"*11\r\n",
    wire.request(b"AUTH", b"wrong") + b"*11\r\n", b"*2\r\n$16384\r\n" + b"x" * 16384 + b"\r\n$16385\r\n", b"*2147483648\r\n",
    b"*1\r\n$2000000\r\n", b"*11\r\n*11\r\n",
)  # fmt: skip
#: It has told the password by then.
LET_IN = wire.request(b"AUTH", b"secret") + wire.request(b"DEL", *[b"k"] * 11) + wire.request(b"ECHO", LONG)


@pytest.mark.parametrize("start", [servers.soft, servers.card])
def test_too_much_for_strangers(start):
    """Redis says so as soon as it has read how much it is, and closes; not of who has told the password right before."""
    pair = []
    try:
        pair += [servers.redis("--requirepass", "secret"), start("--requirepass", "secret")]
        for text in TOO_MUCH:
            said = []
            for server in pair:
                client = wire.Client(server)
                client.socket.sendall(text)
                said.append(client.rest())
                client.close()
            assert said[0] == said[1] and b"Protocol error" in said[0], (text[:100], said)
        said = []
        for server in pair:
            client = wire.Client(server)
            client.socket.sendall(LET_IN)
            said.append([client.reply() for _ in range(3)])
            client.socket.sendall(b"*11\r\n")
            assert not reference.readable(client.socket, 0.2)
            client.close()
        assert said[0] == said[1] == [b"OK", 0, LONG]
    finally:
        for server in pair:
            assert server.stop() == 0, server.tail()


def test_no_way_around(guarded):
    """Whatever a stranger sends, whole or a byte at a time: Redis' answers, and the item is as it was."""
    keepers = []
    for server in guarded:
        keepers.append(wire.Client(server))
        assert keepers[-1]("AUTH", "secret") == keepers[-1]("SET", "k", "theirs") == b"OK"
    for name, text in ATTEMPTS.items():
        for size in (len(text), 1 if len(text) < 1500 else 1460):
            answers = []
            for server in guarded:
                client = wire.Client(server)
                try:
                    for at in range(0, len(text), size):
                        client.socket.sendall(text[at : at + size])
                    client.socket.sendall(b"QUIT\r\n")
                except ConnectionError:
                    pass
                answers.append(re.sub(rb"id\r\n:\d+", b"id", client.rest()))
                client.close()
            # Redis resets the connection if more comes when it closes, and the answer may be lost on its way.
            closes = name in ("longer than may be", "arguments", "broken")
            assert answers[1] == answers[0] or (closes and answers[0] == b"" and answers[1]), (name, size)
            assert [keeper("GET", "k") for keeper in keepers] == [b"theirs"] * 2, name


def test_an_id_again(guarded):
    """A connection that has the id of one that was let in was not; nor was one whose server forgot about it."""
    _, card = guarded
    first, let_in, again = wire.Client(card), set(), set()
    assert first("AUTH", "secret") == b"OK" == first("SET", "k", "v")

    def enter(client):
        """Its id, once it is let in."""
        assert client("AUTH", "secret") == b"OK" and client("GET", "k") == b"v"
        return re.search(rb"addr=(\S+)", client("CLIENT", "INFO"))[1]

    for _ in range(30):
        client = wire.Client(card)
        let_in.add(enter(client))
        client.close()
    # Ids are given one after the other, of those that are over in the order in which they were: soon theirs.
    for _ in range(32):
        clients = [card.connect() for _ in range(30)]
        for client in clients:
            client.close()
    # A client that closes does not wait for the card, so those before may still be coming: at most once round all ids.
    for n in range(2 * 1024):
        client = wire.Client(card)
        assert str(client(*(["GET", "k"], ["SET", "k", LONG[:9000]], ["MULTI"])[n % 3])).startswith("NOAUTH")
        again.add(enter(client))
        client.close()
        if len(let_in & again) > 5:
            break
    assert len(let_in & again) > 5, (let_in, again)
    assert first("GET", "k") == b"v"
    # memcached's port asks for no password.
    with socket.create_connection(card.memcached) as text:
        assert reference.ask(text, b"get k\r\n", b"END\r\n") == b"VALUE k 0 1\r\nv\r\nEND\r\n"


def seen(client, count):
    """Waits until a server has accepted so many."""
    while len(client("CLIENT", "LIST").splitlines()) < count:
        pass


def test_a_password_at_run_time(redis, card):
    """CONFIG SET requirepass: who was there stays in, be it that it has never asked for anything; who comes later is
    asked; who was not let in while there was one is not when there is one again."""
    replies = []
    for server in (redis, card):
        compare.empty(server)
        said, clients = [], {}

        def come(name, server=server, clients=clients):
            clients[name] = wire.Client(server)
            if name != "a":
                seen(clients["a"], len(clients))

        def say(name, *words, clients=clients, said=said):
            reply = clients[name](*words)
            if isinstance(reply, dict):
                reply.pop(b"id")
            said.append((name, words, str(reply) if isinstance(reply, Exception) else reply))

        come("a")
        come("silent")
        come("gates")
        say("gates", "SET", "k", "v")
        come("waits")
        say("waits", "WATCH", "k")
        say("a", "CONFIG", "SET", "requirepass", "one")
        for name in ("a", "silent", "gates"):
            say(name, "GET", "k")
        say("waits", "MULTI")
        say("waits", "GET", "k")
        say("waits", "EXEC")
        come("late")
        for words in (("GET", "k"), ("CONFIG", "SET", "requirepass", ""), ("AUTH", "two"), ("AUTH", "one"), ("GET", "k"), ("CONFIG", "GET", "requirepass")):
            say("late", *words)
        come("never")
        say("never", "GET", "k")
        come("later")
        # In one step with what is behind it.
        say("gates", "MULTI")
        say("gates", "CONFIG", "SET", "requirepass", "")
        say("gates", "SET", "k", "w")
        say("gates", "EXEC")
        for name in ("never", "later", "silent"):
            say(name, "GET", "k")
        come("free")
        say("free", "GET", "k")
        say("free", "AUTH", "x")
        say("later", "AUTH", "default", "whatever")
        say("a", "CONFIG", "SET", "requirepass", "two")
        # `later` has logged in, when any password would do; `never` has not.
        for name in ("never", "later", "silent", "free"):
            say(name, "GET", "k")
        say("free", "RESET")
        say("free", "GET", "k")
        say("free", "HELLO", "3", "AUTH", "default", "two")
        say("free", "GET", "k")
        say("silent", "CONFIG", "SET", "requirepass", "three", "appendonly", "no")
        say("never", "AUTH", "two")
        say("never", "AUTH", "three")
        say("never", "GET", "k")
        say("a", "CONFIG", "SET", "requirepass", "")
        replies.append(said)
        for client in clients.values():
            client.close()
    for theirs, ours in zip(*replies, strict=True):
        assert ours == theirs
    assert sum("NOAUTH" in str(reply) for _, _, reply in replies[0]) == 5


@pytest.mark.parametrize("mode", ["WRITE", "ALL"])
def test_pause(redis, card, mode):
    """What has to wait does, in order, and goes on when the time is over, or when somebody says so."""
    for server in (redis, card):
        compare.empty(server)
        admin, reader, writer, other = (wire.Client(server) for _ in range(4))
        assert writer("SET", "k", "before") == b"OK" and writer("MGET", "k", "nosuch") == [b"before", None]
        begun = time.monotonic()
        assert admin("CLIENT", "PAUSE", "1500" if mode == "ALL" else "10000000", mode) == b"OK"
        writer.socket.sendall(b"".join(wire.request(*words) for words in (
            [b"SET", b"k", b"after"], [b"GET", b"k"], [b"APPEND", b"k", b"x" * 10_000], [b"SET", b"j", LONG], [b"INCR", b"n"], [b"STRLEN", b"k"])))  # fmt: skip
        other.socket.sendall(b"MULTI\r\nSET m 1\r\nEXEC\r\nPING\r\n")
        if mode == "WRITE":
            for _ in range(30):
                assert reader("GET", "k") == b"before" and reader("EXISTS", "m") == 0 == reader("STRLEN", "j")
            assert reader("MULTI") == b"OK" and reader("GET", "k") == b"QUEUED" and reader("EXEC") == [b"before"]
            assert other.reply() == b"OK"
            assert admin("CLIENT", "UNPAUSE") == b"OK"
        else:
            reader.send("GET", "n")
            reader.reply()
            assert time.monotonic() - begun >= 1.5
            assert other.reply() == b"OK"
        assert [writer.reply() for _ in range(6)] == [b"OK", b"after", 10_005, b"OK", 1, 10_005]
        assert [other.reply() for _ in range(3)] == [b"QUEUED", [b"OK"], b"PONG"]
        assert admin("GET", "m") == b"1" == reader("GET", "n")


def test_pause_of_the_rest(card):
    """memcached's clients go on, and so does what had begun; who waits can be killed, and whoever leaves does not hold its
    connection."""
    compare.empty(card)
    admin, first, second, begun = (wire.Client(card) for _ in range(4))
    assert first("SET", "k", "v") == b"OK" == second("SET", "k", "v")
    command = wire.request(b"SET", b"long", LONG)
    begun.socket.sendall(command[:10_000])
    text = socket.create_connection(card.memcached)
    # The card has read it when its window is open again: behind that, others are served.
    assert all(first("GET", "k") == b"v" for _ in range(20))
    assert admin("CLIENT", "PAUSE", "10000000", "WRITE") == b"OK"
    begun.socket.sendall(command[10_000:])
    assert begun.reply() == b"OK"
    assert reference.ask(text, b"set k 0 0 1\r\nw\r\n", b"\r\n") == b"STORED\r\n"
    assert second("GET", "k") == b"w"

    def current():
        told = reference.ask(text, b"stats\r\n", b"END\r\n")
        return int(re.search(rb"STAT curr_connections (\d+)", told)[1])

    before = current()
    for _ in range(5):
        client = wire.Client(card)
        client.send("SET", "k", "never")
        client.close()
    waits = wire.Client(card)
    assert waits("CLIENT", "SETNAME", "waits") == b"OK"
    waits.send("SET", "k", "x")
    number = admin("CLIENT", "ID")
    while len(admin("CLIENT", "LIST").splitlines()) != 5:
        pass
    assert admin("CLIENT", "KILL", "ID", str(number), "SKIPME", "yes") == 0
    told = re.search(rb"id=(\d+) .* name=waits ", admin("CLIENT", "LIST"))
    assert admin("CLIENT", "KILL", "ID", told[1]) == 1
    assert waits.rest() == b""
    waits.close()
    while current() > before:
        pass
    assert admin("CLIENT", "UNPAUSE") == b"OK" and admin("GET", "k") == b"w"


def told(server, kill):
    """Four clients, of which the last has asked for nothing and the third for what gates run; what `kill` says, and who
    is closed by it."""
    clients = [wire.Client(server)]
    for n in (2, 3, 4):
        clients.append(wire.Client(server))
        seen(clients[0], n)
    assert clients[1]("CLIENT", "SETNAME", "one") == b"OK" and clients[2]("SET", "k", "v") == b"OK"
    lines = [dict(word.split(b"=", 1) for word in line.split()) for line in clients[0]("CLIENT", "LIST").splitlines()]
    assert len(lines) == 4
    reply = clients[0](*kill(lines))
    closed = []
    for client in clients[1:]:
        try:
            closed.append(client("PING") != b"PONG")
        except ConnectionError:
            closed.append(True)
    left = wire.Client(server)
    count = len(left("CLIENT", "LIST").splitlines())
    for client in [*clients, left]:
        client.close()
    return str(reply) if isinstance(reply, Exception) else reply, closed, count - 1


KILLS = {
    "id": lambda of: ("CLIENT", "KILL", "ID", of[1][b"id"]), "gates": lambda of: ("CLIENT", "KILL", "ID", of[2][b"id"]),
    "silent": lambda of: ("CLIENT", "KILL", "ID", of[3][b"id"]), "address": lambda of: ("CLIENT", "KILL", of[1][b"addr"]),
    "silent address": lambda of: ("CLIENT", "KILL", "ADDR", of[3][b"addr"]), "all": lambda of: ("CLIENT", "KILL", "TYPE", "normal"),
    "user": lambda of: ("CLIENT", "KILL", "USER", "default", "SKIPME", "yes"), "nobody": lambda of: ("CLIENT", "KILL", "TYPE", "pubsub"),
    "listener": lambda of: ("CLIENT", "KILL", "LADDR", of[2][b"laddr"]), "both": lambda of: ("CLIENT", "KILL", "ID", of[1][b"id"], "ADDR", of[2][b"addr"]),
    "none": lambda of: ("CLIENT", "KILL", "ID", "99999999"), "unknown": lambda of: ("CLIENT", "KILL", "1.2.3.4:5"),
    "me": lambda of: ("CLIENT", "KILL", "ID", of[0][b"id"]), "wrong": lambda of: ("CLIENT", "KILL", "ID", "x"),
}  # fmt: skip


@pytest.mark.parametrize("name", KILLS)
def test_kill(redis, card, name):
    """By number, by address, and by what is true of all."""
    for server in (redis, card):
        client = wire.Client(server)
        while len(client("CLIENT", "LIST").splitlines()) > 1:
            pass
        client.close()
    assert told(card, KILLS[name]) == told(redis, KILLS[name])


def test_kill_in_the_middle(card, seed):
    """While many ask for all kinds of things some are killed: they get whole replies up to some place and then nothing; the
    others, and whoever comes in place of a killed one, go on."""
    compare.empty(card)
    rng, stop, wrong = random.Random(seed), threading.Event(), []

    def work(number):
        try:
            client, turn = wire.Client(card), 0
            while not stop.is_set():
                turn += 1
                value = b"%d.%d" % (number, turn) * (900 if turn % 9 == 0 else 1)
                words = [[b"SET", b"k%d" % number, value], [b"GET", b"k%d" % number], [b"GETRANGE", b"k%d" % number, b"0", b"-1"]]
                try:
                    replies = client.many(words)
                except ConnectionError:
                    client = wire.Client(card)
                    continue
                if replies != [b"OK", value, value]:
                    wrong.append((number, turn, replies))
        except Exception as e:  # noqa: BLE001
            wrong.append((number, e))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    admin, killed = wire.Client(card), 0
    me = b"id=%d " % admin("CLIENT", "ID")
    try:
        while killed < scale(10, 150) and not wrong:
            others = [line for line in admin("CLIENT", "LIST").splitlines() if not line.startswith(me)]
            if others:
                killed += admin("CLIENT", "KILL", "ID", re.search(rb"id=(\d+)", rng.choice(others))[1])
            admin("PING")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:3]
    # A killed one's last command may be done, but nothing of a client that is not there any more comes after.
    while len(admin("CLIENT", "LIST").splitlines()) > 1:
        pass


def test_one_too_many():
    """Who comes when all places are taken is told so in Redis' words and sent away, whatever it says first."""
    want = b"-ERR max number of clients reached\r\n"
    for server in (servers.redis("--maxclients", 5), servers.card(connections=5), servers.soft(connections=5)):
        try:
            # One of them may be that which looked whether the server is there.
            full, here = False, []
            while not full:
                s = server.connect()
                here.append(s)
                try:
                    s.sendall(b"PING\r\n")
                    first = s.recv(100)
                except ConnectionError:  # a reset behind the refusal: what it said was not read
                    first = want
                full = first == want
                assert full or first == b"+PONG\r\n", (server.name, first)
            assert len(here) <= 6
            for _ in range(3):
                with server.connect() as late:
                    got = b""
                    while part := late.recv(100):
                        got += part
                assert got == want, server.name
        finally:
            for s in here:
                s.close()
            assert server.stop() == 0, server.tail()


def test_deadlines():
    """What is left of a time that a client counts from its own clock is never more than that: the server's
    milliseconds begin when the client's do."""
    for server in (servers.redis(), servers.soft(), servers.card()):
        with server:
            with server.connect() as s:
                def ask(*words, s=s):
                    s.sendall(wire.request(*words))
                    return s.recv(100)
                assert ask(b"SET", b"k", b"v") == b"+OK\r\n"
                left = []
                for _ in range(300):
                    at = time.time_ns() // 1_000_000 + 10_000
                    s.sendall(wire.request(b"PEXPIREAT", b"k", b"%d" % at) + wire.request(b"PTTL", b"k"))
                    said = b""
                    while said.count(b"\n") < 2:
                        said += s.recv(100)
                    left.append(int(said.split(b"\r\n")[1][1:]))
                    time.sleep(random.random() / 500)
                # A busy machine may keep a simulated card from its ticks for longer than these may be late.
                assert sum(ms > 10_000 for ms in left) <= 3 * (server.name == "sim"), (server.name, max(left))
