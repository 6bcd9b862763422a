"""`lru_crawler metadump` and `mgdump`: memcached's lines, and each key that is there all the time."""

import base64
import re
import socket
import struct
import threading
from urllib.parse import quote

import pytest

from harness import reference
from harness.memcached import values
from harness.resp import servers, wire
from harness.size import scale

STORE = [
    b"set plain 0 0 1\r\nx\r\n",
    b"set a%20\xc3~._-+/ 4294967295 2000000000 3\r\nxyz\r\n",
    b"set " + b"k" * 250 + b" 7 0 600\r\n" + b"v" * 600 + b"\r\n",
    b"set long 0 0 500000\r\n" + b"v" * 500_000 + b"\r\n",
    b"set over 0 -1 1\r\nx\r\n",
    b"set read 0 0 0\r\n\r\n",
    b"get read\r\n",
    b"ms AP8KYmlu 2 b F5\r\nhi\r\n",
    b"set touched 0 0 2\r\nxy\r\n",
    b"touch touched 2000000000\r\n",
]
COMMANDS = [b"all", b"hash", b"1", b"2", b"10", b"1,10", b"63", b"9,,10", b"0", b"64", b"x", b"1,x", b"-1", b""]


def dump(connection, command):
    """Sends one, and returns the lines of the reply, in order."""
    connection.sendall(command + b"\r\n")
    reply = b""
    while not re.search(rb"(^|\n)(END|EN|ERROR|BADCLASS [^\r]*|CLIENT_ERROR [^\r]*)\r\n$", reply):
        piece = connection.recv(1 << 20)
        assert piece, reply
        reply += piece
    return sorted(reply.split(b"\n"))


@pytest.mark.parametrize("body", ["soft", "sim"])
def test_as_memcached(body):
    """All fields but the time of the last access and the unique, which are the server's own; of the card but whether it
    was read, too."""
    told = []
    own = rb" la=\d+ cas=\d+ " + (rb"fetch=\w+ " if body == "sim" else b"")
    for server in (reference.memcached("-o", "lru_crawler"), reference.wirekv(body=body, megabytes=64)):
        try:
            with server.connect() as s:
                said = [dump(s, b"lru_crawler metadump all"), dump(s, b"lru_crawler mgdump hash")]
                for request in STORE:
                    end = b"END\r\n" if request.startswith(b"get") else b"\r\n"
                    reference.ask(s, request, end)
                uniques = {}
                for line in dump(s, b"lru_crawler metadump all"):
                    fields = dict(word.split(b"=", 1) for word in line.split() if b"=" in word)
                    if b"%00" not in fields.get(b"key", b"%00"):
                        key = re.sub(rb"%(..)", lambda hex: bytes([int(hex[1], 16)]), fields[b"key"])
                        uniques[key] = fields[b"cas"]
                for key, unique in uniques.items():
                    reply = reference.ask(s, b"mg " + key + b" c t k\r\n", b"\r\n")
                    assert reply.split()[1] == b"c" + unique
                assert len(uniques) == 6
                stats = reference.stats(server)
                began = int(stats["time"]) - int(stats["uptime"]) - 3
                for command in (b"metadump", b"mgdump"):
                    for what in COMMANDS:
                        lines = dump(s, b"lru_crawler " + command + b" " + what)
                        for line in lines:
                            accessed = re.search(rb" la=(\d+) ", line)
                            if accessed and server.name != "sim":
                                assert began <= int(accessed[1]) <= int(stats["time"]) + 60
                            assert server.name != "sim" or not accessed or b" la=0 " in line and b" fetch=no " in line
                        said.append([re.sub(own, b" ", line) for line in lines])
                told.append(said)
        finally:
            server.stop()
    assert told[1] == told[0]


#: What memcached's text cannot say, and what it can and a terminal would obey.
ODD = [b"evil\r\nflush_all", b"a b", b"\n", b"z\0z", b"tail\n", b" ", b"two\r\nset x 0 0 1\r\ny"]
CONTROLS = [b"tab\tx", b"\x1b[2J", b"cr\rx", b"cr\r", b"del\x7f", b"\x01"]
PLAIN = [b"plain", b"caf\xc3\xa9", b"\xff\x80", b"100%"]


def coded(key):
    return base64.b64encode(key) + b" b"


@pytest.mark.parametrize("protocol", ["redis", "binary"])
@pytest.mark.parametrize("kind", [servers.soft, servers.card], ids=["soft", "sim"])
def test_keys_stay_keys(kind, protocol):
    """Whoever stores them: each is one line, which as a command gets the item; a reply that shows one is one line."""
    server = kind(megabytes=64)
    try:
        if protocol == "redis":
            with server.connect() as s:
                for key in ODD + CONTROLS + PLAIN:
                    assert reference.ask(s, wire.request(b"SET", key, b"1"), b"\r\n") == b"+OK\r\n"
        server.port = server.memcached[1]
        if protocol == "binary":
            with server.connect() as s:
                for key in ODD + CONTROLS + PLAIN:
                    head = struct.pack(">BBHBBHIIQ", 0x80, 1, len(key), 8, 0, 0, len(key) + 9, 0, 0)
                    s.sendall(head + bytes(8) + key + b"1")
                    assert s.recv(24, socket.MSG_WAITALL)[6:8] == bytes(2)
        with server.connect() as s:
            lines = dump(s, b"lru_crawler mgdump all")
            expect = [b"mg " + coded(key) for key in ODD + CONTROLS] + [b"mg " + key for key in PLAIN]
            assert lines == sorted([*(line + b"\r" for line in expect), b"EN\r", b""])
            for line in expect:
                assert reference.ask(s, line + b" v\r\n", b"1\r\n") == b"VA 1\r\n1\r\n"
            names = {re.search(rb"key=(\S*) ", line)[1] for line in dump(s, b"lru_crawler metadump all") if b"key=" in line}
            assert names == {quote(key, safe="-._~").encode() for key in ODD + CONTROLS + PLAIN}
            for key in ODD:
                assert reference.ask(s, b"mg %s k\r\n" % coded(key), b"\r\n") == b"HD k%s\r\n" % coded(key)
                if kind is servers.soft:
                    reply = reference.ask(s, b"me %s\r\n" % coded(key), b"\r\n")
                    assert reply.startswith(b"ME %s exp=" % coded(key)[:-2]) and reply.count(b"\n") == 1
            # As memcached, which shows a key in text if that is how it came.
            for key in CONTROLS + PLAIN:
                assert reference.ask(s, b"mg %s k\r\n" % key, b"\r\n") == b"HD k%s\r\n" % key
    finally:
        server.stop()


def test_disabled():
    for server in (reference.memcached(), reference.soft("-o", "no_lru_crawler", megabytes=64)):
        try:
            with server.connect() as s:
                reply = dump(s, b"lru_crawler metadump all")
                assert reply == [b"", b"CLIENT_ERROR lru crawler disabled\r"]
        finally:
            server.stop()


@pytest.mark.parametrize("body", ["soft", "sim"])
def test_not_over_udp(body):
    """Where a small question would have an answer of any length."""
    server = reference.wirekv(body=body, megabytes=64)
    try:
        with server.datagrams() as s:
            for command in b"metadump", b"mgdump":
                s.send(b"\0\1\0\0\0\1\0\0lru_crawler " + command + b" all\r\n")
                assert reference.readable(s, reference.SECONDS)
                assert s.recv(65536)[8:] == (b"ERROR\r\n" if body == "sim" else b"CLIENT_ERROR lru crawler disabled\r\n")
            if body == "soft":
                s.send(b"\0\1\0\0\0\1\0\0refresh_certs\r\n")
                assert reference.readable(s, reference.SECONDS)
    finally:
        assert server.stop() == 0, server.tail()


def test_slow_reader():
    """Of the card: what a client does not take is not looked for yet; others are served meanwhile, and it gets the rest."""
    server = reference.wirekv(megabytes=64)
    try:
        with server.connect() as slow, server.connect() as other:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            names = {b"%s%d" % (b"n" * 200, i) for i in range(3000)}
            for name in names:
                other.sendall(b"set %s 0 0 1 noreply\r\nx\r\n" % name)
            reference.ask(other, b"mn\r\n", b"MN\r\n")
            slow.sendall(b"lru_crawler mgdump all\r\nget %s\r\n" % min(names))
            for _ in range(20):
                assert reference.ask(other, b"get %s\r\n" % max(names), b"END\r\n").endswith(b"x\r\nEND\r\n")
            reply = b""
            while not reply.endswith(b"x\r\nEND\r\n"):
                assert (piece := slow.recv(1 << 16)), len(reply)
                reply += piece
            listed, rest = reply.split(b"EN\r\n", 1)
            assert {line[3:] for line in listed.split(b"\r\n")[:-1]} == names
            assert rest == b"VALUE %s 0 1\r\nx\r\nEND\r\n" % min(names)
    finally:
        assert server.stop() == 0, server.tail()


@pytest.mark.parametrize(["body", "megabytes", "keys"],
                         [("soft", 128, scale(20_000, 500_000)), ("sim", 8, scale(500, 20_000))], ids=["soft", "sim"])  # fmt: skip
def test_each_key_that_stays(body, megabytes, keys):
    """While four connections write and remove others, which moves entries of the index."""
    server = reference.wirekv(body=body, megabytes=megabytes, threads=4)
    stop = threading.Event()
    failures = []

    def churn(i):
        try:
            client, turn = values.Client(server), 0
            while not stop.is_set():
                turn += 1
                key = b"other%d:%d" % (i, turn % 5000)
                assert client.set(key, values.make(key, turn, 50)) == b"STORED\r\n"
            client.close()
        except BaseException as e:
            failures.append(e)

    writers = [threading.Thread(target=churn, args=(i,)) for i in range(4)]
    try:
        with server.connect() as s:
            names = {b"stay%d" % i for i in range(keys)}
            for name in names:
                s.sendall(b"set %s 0 0 1 noreply\r\nx\r\n" % name)
            for writer in writers:
                writer.start()
            for command, head in ((b"metadump", b"key="), (b"mgdump", b"mg ")):
                found = [line[len(head) :].split()[0] for line in dump(s, b"lru_crawler %s all" % command)
                         if line.startswith(head)]  # fmt: skip
                assert not names - set(found)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
        code = server.stop()
    assert code == 0 and not failures, (server.tail(), failures)
