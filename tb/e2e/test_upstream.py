"""`wirekv serve --upstream`: the simulated card before memcached 1.6.38 and Redis 7.0, against these alone."""

import random
import signal
import socket
import time

import pytest

from harness import differ, reference, stale, watch
from harness.copies import Copies
from harness.memcached import corpus, mixed, packets, stream
from harness.proxy import Proxy
from harness.resp import compare, servers, wire
from harness.size import scale
from harness.structs import T
from harness.threads import together

needs_udp = pytest.mark.skipif(not T.Config.udp, reason="this card has no UDP")


@pytest.fixture
def alone(make):
    server = make()
    yield server
    server.stop()


@pytest.fixture
def behind(make):
    """The server behind the card."""
    server = make()
    yield server
    server.stop()


@pytest.fixture
def make():
    """What the servers are."""
    return reference.memcached


def hits(server):
    return int(reference.stats(server)["get_hits"])


def memcached():
    return reference.memcached(*reference.ALL_OF_A_DATAGRAM)


@pytest.mark.parametrize(["make", "admit", "count"], [
    pytest.param(memcached, "all", scale(8_000, 400_000), id="all"),
    pytest.param(memcached, "twice", scale(8_000, 400_000), id="twice"),
    pytest.param(reference.soft, "twice", scale(2_000, 200_000), id="soft"),
])  # fmt: skip
def test_equal_to_the_server_alone(alone, behind, admit, count, seed):
    """Text, meta and binary clients in turn, over TCP and UDP, on few keys: every byte, CAS uniques too."""
    copies = Copies()
    proxy = Proxy(behind, copies)
    with reference.before(proxy, "--upstream-admit", admit, udp=True) as card:
        clients = mixed.Clients((alone, card), seed, count * 100)
        clients.over_the_limit(stream.MAX_ITEM)
        while clients.commands < count:
            clients.run()
        uniques, others = clients.same_uniques()
        clients.close()
        share = 1 - (hits(behind) - copies.count) / hits(alone)
    proxy.close()
    print(f"{clients.commands} commands, {clients.datagrams} of them over UDP, {uniques} CAS uniques, {share:.0%} of the hits by gates, "
          f"{copies.count} copies; told another use of items: {dict(clients.use)} of {dict(clients.told)}")
    assert uniques > count / 50 and not others, others[:5]
    assert share > 0.05
    assert clients.datagrams > count / 20 or not card.udp_port


def card_stats(client):
    lines = reference.ask(client, b"stats card\r\n", b"END\r\n").decode().splitlines()
    return {name: int(count) for _, name, count in map(str.split, lines[:-1])}


def redis_hits(server):
    return int(wire.Client(server)("INFO", "stats").split(b"keyspace_hits:")[1].split()[0])


@pytest.mark.parametrize(["make", "speech", "reads"], [
    pytest.param(reference.memcached, stale.MEMCACHED, scale(20_000, 2_000_000), id="memcached"),
    pytest.param(servers.redis, stale.REDIS, scale(10_000, 2_000_000), id="redis"),
])  # fmt: skip
def test_never_stale(behind, speech, reads, seed):
    """16 writers and 16 readers, these over UDP, too; frames get lost and late. The server's answers come late, in another
    order across connections, and sometimes not at all. The card is so small that it evicts meanwhile."""
    weather = stale.Weather(seed, ends=0.0003)
    copies, redis = Copies(weather), speech is stale.REDIS
    proxy = Proxy(behind, copies, weather)
    impair = ("--impair", f"drop=0.01,reorder=0.01,seed={seed}")
    with reference.before(proxy, "--upstream-admit", "all", *impair, redis=redis, udp=not redis, megabytes=4) as card:
        try:
            ledger = stale.run(behind, card, seed, reads, stop_every=scale(3_000, 20_000), seconds=scale(1200, 40_000), speech=speech)
        finally:
            proxy.close()
        if redis:
            by_gates = ledger.counts["values"] - redis_hits(behind) + 2 * copies.count
        else:
            with card.connect() as client:
                by_gates = card_stats(client)["StoreGetHits"]
    print(f"{ledger.reads} reads, {by_gates} hits by gates, {copies.count} copies, {dict(ledger.counts)}, {len(ledger.late)} reads looked at by the clock")
    assert not ledger.failures(), ledger.failures()[:10]
    assert ledger.reads >= reads and ledger.counts["values"] > reads / 4
    assert ledger.counts["answers over UDP"] > reads / 50 or not card.udp_port
    # Where the server's answers are late for want of a processor, the card is emptied again and again.
    assert by_gates > reads / 100


def test_keys_in_base64(alone, behind):
    """Who stored a key so has it shown so to everybody, also where a copy was asked for."""
    look = [b"mg foo k v\r\n", b"get foo\r\n", b"mg Zm9v b k v\r\n", b"mg foo v\r\n"]
    with reference.before(behind, "--upstream-admit", "all") as card, alone.connect() as theirs, card.connect() as ours:
        for text in (b"ms Zm9v 3 b\r\nabc\r\n", *look * 10, b"ms foo 1\r\nx\r\n", *look * 10):
            expected = reference.ask(theirs, text + b"mn\r\n", b"MN\r\n")
            assert reference.ask(ours, text + b"mn\r\n", b"MN\r\n") == expected


#: Of Redis' commands, those that a stream has; the others are as likely, and show that gates stand aside.
OFTEN = [name.encode() for name in "GET SET MGET MSET DEL APPEND INCR INCRBY SETRANGE STRLEN GETRANGE EXPIRE PERSIST GETDEL GETEX".split()]
NAMES = OFTEN + [name.encode() for name in """SETNX SETEX PSETEX GETSET MSETNX SUBSTR DECR DECRBY INCRBYFLOAT SETBIT GETBIT BITCOUNT
    BITPOS BITOP BITFIELD BITFIELD_RO LCS UNLINK EXISTS TOUCH TYPE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME PEXPIRETIME RENAME
    RENAMENX COPY KEYS SCAN RANDOMKEY DBSIZE FLUSHDB FLUSHALL SELECT MOVE SWAPDB MULTI EXEC DISCARD WATCH UNWATCH PING ECHO
    WAIT TIME""".split()]


@pytest.mark.parametrize(["make", "names", "count"], [
    pytest.param(servers.redis, OFTEN, scale(3_000, 200_000), id="strings"),
    pytest.param(servers.redis, NAMES, scale(3_000, 200_000), id="all"),
    pytest.param(servers.soft, OFTEN, scale(1_000, 100_000), id="soft"),
])  # fmt: skip
def test_equal_to_redis_alone(alone, behind, names, count, seed):
    """Three clients in turn; with `all`, transactions and databases, too."""
    with reference.before(behind, "--upstream-admit", "all", redis=True) as card:
        match = compare.run((alone, card), seed, count, only=names, broken=0, exact=True, long_keys=False, label="upstream")
        client, before = wire.Client(card), redis_hits(behind)
        assert client("SET", "last", "1") == b"OK" and {client("GET", "last") for _ in range(200)} == {b"1"}
        asked = redis_hits(behind) - before
        client.close()
    print(f"{match.commands} commands; of 200 GETs of a key behind them the server has answered {asked}, for copies too")
    assert asked < 100


class Text:
    error = b"SERVER_ERROR upstream server does not answer\r\n"
    stored, none = b"STORED\r\n", b"END\r\n"
    nonsense = [b"VALUE x 0 99999999999\r\n", b"x" * 70_000, b"\r\n" * 9, b"VALUE a 0 1\r\n", b"\x81" + bytes(23), b"\xff" * 99, b"MN\r\n" * 50]
    server = staticmethod(reference.memcached)

    @staticmethod
    def set(key, value):
        return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)

    @staticmethod
    def get(key):
        return b"get %s\r\n" % key

    @staticmethod
    def value(key, value):
        return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)


class Redis:
    error = b"-ERR upstream server does not answer\r\n"
    stored, none = b"+OK\r\n", b"$-1\r\n"
    nonsense = [b"$99999999999\r\n", b"x" * 70_000, b"*1000000000\r\n", b"+" * 99, b"\r\n", b"*1\r\n" * 20_000, b":x\r\n$-5\r\n"]
    server = staticmethod(servers.redis)

    @staticmethod
    def set(key, value):
        return wire.request(b"SET", key, value)

    @staticmethod
    def get(key):
        return wire.request(b"GET", key)

    @staticmethod
    def value(_, value):
        return b"$%d\r\n%s\r\n" % (len(value), value)


@pytest.fixture(params=[Text, Redis])
def speech(request):
    return request.param


def hear(connection, *expected):
    """One of these replies; each is as long as the first, or begins otherwise."""
    reply = b""
    while not any(reply == one for one in expected):
        piece = connection.recv(1 << 16)
        assert piece and any(one.startswith(reply + piece) for one in expected), (reply + piece, expected)
        reply += piece
    return reply


class Stand:
    """A server that can be made ill, the card before it, and clients."""

    def __init__(self, speech):
        self.speech, self.server = speech, speech.server()
        self.proxy = Proxy(self.server, lambda data: self.spoil(data))
        self.spoil = bytes
        self.card = reference.before(self.proxy, "--upstream-admit", "all", "--upstream-timeout", 1, redis=speech is Redis)
        self.keys = {b"key%d" % i: b"value%d" % i for i in range(20)}

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        self.proxy.close()
        self.server.process.send_signal(signal.SIGCONT)
        self.server.stop()
        code = self.card.stop()
        assert failed or code == 0, self.card.tail()

    def fill(self, client):
        for key, value in self.keys.items():
            client.sendall(self.speech.set(key, value) + self.speech.get(key))
            hear(client, self.speech.stored + self.speech.value(key, value))
        for key in [*self.keys] * 5:
            client.sendall(self.speech.get(key))
            hear(client, self.speech.value(key, self.keys[key]))

    def refused(self, client):
        """A write is told an error in bounded time; of the same connection, more than once."""
        for _ in range(2):
            began = time.monotonic()
            client.sendall(self.speech.set(b"unknown", b"new"))
            hear(client, self.speech.error)
            assert time.monotonic() - began < 30

    def well(self, client):
        """The server is answering again."""
        end = time.monotonic() + reference.SECONDS
        while True:
            client.sendall(self.speech.set(b"well", b"1"))
            if hear(client, self.speech.stored, self.speech.error) == self.speech.stored:
                return
            assert time.monotonic() < end
            time.sleep(0.05)


def test_server_rests(speech):
    """Clients of a stopped server are told so and keep their connections, however much they send; it goes on."""
    with Stand(speech) as stand, stand.card.connect() as first, stand.card.connect() as second:
        stand.fill(first)
        before = watch.resident(stand.card)
        stand.server.pause()
        stand.refused(first)
        stand.refused(second)

        def press(i):
            """Of a value that is not all at the server, a client may be closed."""
            for _ in range(3):
                with stand.card.connect() as client:
                    try:
                        client.sendall(speech.set(b"large%d" % i, b"v" * 900_000))
                        client.recv(100)
                    except OSError:
                        pass

        together(8, press)
        grown = watch.resident(stand.card) - before
        stand.server.process.send_signal(signal.SIGCONT)
        stand.well(first)
        for client in (first, second):
            for key, value in stand.keys.items():
                client.sendall(speech.get(key))
                hear(client, speech.value(key, value))
    print(f"the card's process has grown by {grown:.0f} MiB")
    assert grown < 80


def test_server_is_another(speech):
    """It is killed and started anew, empty: nothing of the old one is answered."""
    with Stand(speech) as stand, stand.card.connect() as first:
        stand.fill(first)
        stand.server.kill()
        stand.proxy.close()
        with stand.card.connect() as late:
            stand.refused(late)
        stand.server = speech.server()
        stand.proxy = Proxy(stand.server, bytes, port=stand.proxy.port)
        # Those whose connection the server has closed are closed, as by the server; they come again.
        with stand.card.connect() as client, stand.card.connect() as other:
            stand.well(client)
            for one in (client, other):
                for key in stand.keys:
                    one.sendall(speech.get(key))
                    hear(one, speech.none)
            stand.fill(other)


def test_server_talks_nonsense(speech, seed):
    """Clients are told something or closed, and the card is there for what comes later."""
    rng = random.Random(seed)
    with Stand(speech) as stand:
        with stand.card.connect() as client:
            stand.fill(client)
        before = watch.resident(stand.card)
        for nonsense in [*speech.nonsense, None]:
            stand.spoil = lambda data, n=nonsense: rng.randbytes(len(data)) if n is None else n
            for request in (speech.get(b"no such key"), speech.set(b"key1", b"value1"), speech.get(b"key2") * 20):
                with stand.card.connect() as client:
                    client.sendall(request)
                    client.recv(100)  # until SECONDS
        stand.spoil = bytes
        with stand.card.connect() as client:
            stand.well(client)
            stand.fill(client)
        grown = watch.resident(stand.card) - before
    print(f"the card's process has grown by {grown:.0f} MiB")
    assert grown < 80


def test_server_is_slow(speech, seed):
    """Each piece of an answer comes late, and all answers are right."""
    rng = random.Random(seed)

    def late(data):
        time.sleep(rng.uniform(0, 0.3))
        return data

    with Stand(speech) as stand, stand.card.connect() as client:
        stand.spoil = late
        for key, value in stand.keys.items():
            client.sendall(speech.set(key, value) + speech.get(key) * 3)
            hear(client, speech.stored + speech.value(key, value) * 3)
        client.sendall(b"".join(map(speech.get, stand.keys)) * 3)
        hear(client, b"".join(speech.value(*item) for item in stand.keys.items()) * 3)


@needs_udp
def test_lost_datagrams(behind):
    """Of datagrams that wait for the server there are so many; the others are lost, and counted where a client sees it."""
    with reference.before(behind, udp=True) as card, card.connect() as client, card.datagrams() as s:
        assert card_stats(client)["HostLostDatagrams"] == 0
        # Within a value the words are the server's.
        reference.ask(client, b"set a 0 0 12\r\n", b"")
        reference.ask(client, b"stats card\r\n", b"")
        assert reference.ask(client, b"\r\nget a\r\n", b"END\r\n") == b"STORED\r\nVALUE a 0 12\r\nstats card\r\n\r\nEND\r\n"
        behind.pause()
        try:
            end, lost = time.monotonic() + reference.SECONDS, 0
            while not lost and time.monotonic() < end:
                for number in range(100):
                    s.send(number.to_bytes(2, "big") + b"\0\0\0\1\0\0get b\r\n")
                lost = card_stats(client)["HostLostDatagrams"]
        finally:
            behind.process.send_signal(signal.SIGCONT)
        assert lost
        assert reference.ask(client, b"get a\r\n", b"END\r\n").startswith(b"VALUE a")


def test_large_values_are_read_once(behind):
    """What the card has no room for, the server is asked for by clients alone."""
    proxy = Proxy(behind, bytes)
    with reference.before(proxy, "--upstream-admit", "all", "-I", "64k") as card, card.connect() as client:
        for length in (65_536 - 59 - 4 - 1, 65_536 - 59 - 4, 300_000):
            value = b"v" * length
            reference.ask(client, b"set a 0 0 %d\r\n%s\r\n" % (length, value), b"STORED\r\n")
            before = hits(behind)
            for _ in range(20):
                assert reference.ask(client, b"get a\r\n", b"\r\nEND\r\n") == b"VALUE a 0 %d\r\n%s\r\nEND\r\n" % (length, value)
            asked = hits(behind) - before
            print(f"{length} bytes: the server was asked {asked} times")
            assert asked == 21 if length > 65_536 - 64 else asked < 20
    proxy.close()


LONG = b"k" * 251
BAD = [
    b"get " + LONG + b"\r\n", b"get a " + LONG + b" a\r\n", b"gets a a " + LONG + b"\r\n", b"set " + LONG + b" 0 0 1\r\nx\r\n",
    b"delete " + LONG + b"\r\n", b"mg " + LONG + b" v\r\n", b"ms " + LONG + b" 1\r\nx\r\n", b"incr " + LONG + b" 1\r\n",
    b"nonsense\r\n", b"GET a\r\n", b"\r\n", b"get\r\n", b"get  \r\n", b"set a\r\n", b"set a 0 0 x\r\n", b"set a 0 0 -1\r\n",
    b"set a 0 0 3\r\nabcdef\r\n", b"ms a 3\r\nabcdef\r\n", b"mg\r\n", b"mx a\r\n", b"\x00\x01\x02\r\n", b"get a\x00b\r\n", b"get a\n",
    b"set a 0 0 22\r\nVALUE a 0 1\r\nx\r\nEND\r\n\r\nget a\r\nget a\r\n", b"set v 0 0 18\r\nEND\r\nSERVER_ERROR x\r\nget v v v\r\nmg v v\r\n",
    b"set b 0 0 13\r\nVA 1\r\n1\r\nMN\r\n\r\nmg b v\r\nget b\r\nmg b v\r\n",
]
CUT = [b"get a", b"set a 0 0 10\r\nabc", b"set a 0 0 1", b"get a\r\nget a\r\nge", b"mg a", b"ms a 5\r\nab", packets.whole(0x00, b"a")[:20],
       packets.whole(0x01, b"a", bytes(8), b"x" * 50)[:60], packets.whole(0x00, b"a") * 2 + b"\x80"]  # fmt: skip


def all_of(server, text):
    """What comes until the server closes, of a client that has said all."""
    reply = b""
    with server.connect() as s:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        while piece := s.recv(1 << 16):
            reply += piece
    return reply


def without_uniques(reply):
    return [text for text, _, _ in differ.packets(reply)]


def test_bad_input(alone, behind):
    """Each on a connection of its own; a neighbour is not disturbed."""
    with reference.before(behind, "--upstream-admit", "all") as card, card.connect() as neighbour:
        for server in (alone, card):
            with server.connect() as s:
                reference.ask(s, b"set mine 0 0 4\r\nmine\r\nset a 0 0 1\r\nx\r\nget a\r\n", b"END\r\n")
        for text in [*BAD, *CUT, *corpus.closing()] * 2:
            # memcached counts uniques on for some values with a bad end, and not for others.
            shown = without_uniques if text[:1] == b"\x80" else bytes
            expected = shown(all_of(alone, text))
            assert shown(all_of(card, text)) == expected, text
            assert reference.ask(neighbour, b"get mine\r\n", b"END\r\n") == b"VALUE mine 0 4\r\nmine\r\nEND\r\n"
