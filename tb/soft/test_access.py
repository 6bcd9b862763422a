"""Who may come in: passwords in each protocol, and lists of addresses. What memcached and Redis say is compared with what
they say."""

import os
import signal
import socket
import struct
import subprocess
import time

import pymemcache
import pytest
import redis

from harness import reference
from harness.resp import servers

TEXT = b"set x 0 0 %d\r\n%s\r\n"
LOGIN = TEXT % (7, b"foo bar")
USERS = "foo:bar\nbaaaz:quux\n"


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users"
    path.write_text(USERS)
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    return path


@pytest.fixture
def start():
    started = []

    def one(*options, kind=servers.soft, **more):
        started.append(kind(*options, **more))
        return started[-1]

    yield one
    for server in started:
        assert server.stop() == 0, server.tail()


def soft(*options, **more):
    """Without UDP, which goes with no password."""
    return servers.soft(*options, "-U", "0", **more)


def hears(address, *requests, source="127.0.0.1"):
    """All that a client is told that asks, and then asks no more."""
    with socket.create_connection(address, reference.SECONDS, (source, 0)) as s:
        told = b""
        try:
            s.sendall(b"".join(requests))
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            while piece := s.recv(1 << 16):
                told += piece
        except ConnectionResetError:
            pass
        return told


def binary(opcode, key=b"", value=b"", extras=b""):
    body = extras + key + value
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(body), 7, 0) + body


def replies(told):
    """Opcode, status and body of each."""
    found = []
    while told:
        magic, opcode, _, _, _, status, length, opaque, _ = struct.unpack(">BBHBBHIIQ", told[:24])
        assert (magic, opaque) == (0x81, 7)
        found.append((opcode, status, told[24 : 24 + length]))
        told = told[24 + length :]
    return found


GET, SET, VERSION, NOOP, LIST, AUTH, STEP = 0x00, 0x01, 0x0B, 0x0A, 0x20, 0x21, 0x22
DENIED = (0x20, b"Auth failure.")


@pytest.mark.parametrize("request_", [
    b"get a\r\n", b"x\r\n", b"abcd\r\n", b"quit\r\n", b"version\r\n", b"mn\r\n", b"stats\r\n", b"flush_all\r\n",
    b"set a 0 0 2\r\nhi\r\n", LOGIN, LOGIN + b"get a\r\n", b"set  a 0 0 7\r\nfoo bar\r\n", b"set a b c 7\r\nfoo bar\r\n",
    b" set a 0 0 7\r\nfoo bar\r\n", b"set a 0 0 7\nfoo bar\r\n", b"set a 0 0 07\r\nfoo bar\r\n", b"set a 0 0 7x\r\n",
    b"set a 0 0 -1\r\n", b"set a 0 0 0\r\n\r\n", b"set a 0 0 7 noreply\r\nfoo bar\r\nversion\r\n",
    b"set %s 0 0 7\r\nfoo bar\r\n" % (b"a" * 300), TEXT % (10, b"baaaz quux") + b"set k 0 0 1\r\nx\r\nget k\r\n",
    b"shutdown\r\n", b"\r\n", b"x" * 1500 + b"\r\n",
])  # fmt: skip
def test_text_as_memcached(start, users, request_):
    said = []
    for kind in (lambda *options: reference.memcached(*options, udp=False), soft):
        server = start("-Y", users, kind=kind)
        with socket.create_connection(getattr(server, "memcached", server.address)) as s:
            s.sendall(request_)
            told = b""
            while reference.readable(s, 0.2) and (piece := s.recv(1 << 16)):
                told += piece
            said.append(told)
    assert said[0] == said[1]


def test_text(start, users):
    """Every request has its answer; and what the reference dies of (1.6.38), or answers wrong."""
    server = start("-Y", users, kind=soft)
    for request, reply in [
        (TEXT % (7, b"foo baz"), b"CLIENT_ERROR authentication failure\r\n"),
        (TEXT % (8, b"foo bar "), b"CLIENT_ERROR authentication failure\r\n"),
        (TEXT % (6, b"foo ba"), b"CLIENT_ERROR authentication failure\r\n"),
        (TEXT % (7, b"foo:bar"), b"CLIENT_ERROR bad authentication token format\r\n"),
        (b"set x 0 0 7\r\nfoo bar\n\n", b"CLIENT_ERROR bad command line termination\r\n"),
        (b"set x 0 0 2147483646\r\n", b"CLIENT_ERROR auth token too long\r\n"),
        (b"set x 0 0 16385\r\n", b"CLIENT_ERROR auth token too long\r\n"),
        (b"x" * 5000, b""),
        (b"get a\r\n" * 3 + TEXT % (7, b"foo baz") + LOGIN + b"get a\r\n", b"CLIENT_ERROR unauthenticated\r\n" * 3
         + b"CLIENT_ERROR authentication failure\r\nSTORED\r\nEND\r\n"),
    ]:  # fmt: skip
        assert hears(server.memcached, request) == reply, request[:60]
        # Cut anywhere.
        with socket.create_connection(server.memcached) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            told = b""
            for byte in request[:200]:
                s.sendall(bytes([byte]))
            while len(told) < len(reply) and (piece := s.recv(1 << 16)):
                told += piece
            assert told == reply
    # A token of the greatest length is waited for.
    long = b"foo " + b"x" * (16384 - 4)
    assert hears(server.memcached, TEXT % (len(long), long)) == b"CLIENT_ERROR authentication failure\r\n"
    with socket.create_connection(server.memcached) as s:
        reference.ask(s, LOGIN, b"STORED\r\n")
        told = dict(line.split()[1:3] for line in reference.ask(s, b"stats\r\n", b"END\r\n").split(b"\r\n") if b"STAT" in line)
        failures = 2 * (3 + 1) + 1
        assert told[b"auth_errors"] == b"%d" % failures
        assert told[b"auth_cmds"] == b"%d" % (failures + 3)
        reference.ask(s, b"stats reset\r\n", b"RESET\r\n")
        assert b"STAT auth_cmds 0\r\n" in reference.ask(s, b"stats\r\n", b"END\r\n")
        settings = reference.ask(s, b"stats settings\r\n", b"END\r\n")
        assert b"STAT auth_enabled_ascii %s\r\n" % os.fsencode(users) in settings


def plain(user, password, wanted=b""):
    return b"\0".join((wanted, user, password))


def test_binary(start, users):
    """Before the password: its error, the end, and nothing else."""
    server = start("-Y", users, "-S", kind=soft)
    refused = [(GET, *DENIED)]
    # The second is not answered.
    assert replies(hears(server.memcached, binary(GET, b"a"), binary(GET, b"a"))) == refused
    for opcode, request in ((SET, binary(SET, b"a", b"x", bytes(8))), (NOOP, binary(NOOP)), (0x08, binary(0x08)),
                            (0x10, binary(0x10)), (0x07, binary(0x07)), (0x09, binary(0x09, b"a")), (0x99, binary(0x99))):  # fmt: skip
        assert replies(hears(server.memcached, request)) == [(opcode, *DENIED)]
    right = binary(AUTH, b"PLAIN", plain(b"foo", b"bar"))
    told = hears(server.memcached, binary(VERSION), binary(LIST), binary(AUTH, b"PLAIN", plain(b"foo", b"baz")),
                 binary(STEP, b"PLAIN", plain(b"foo", b"bar")), binary(AUTH, b"CRAM-MD5", b""), binary(AUTH, b"X" * 40, b"y"),
                 binary(AUTH, b"PLAIN", plain(b"foo", b"bar", b"baaaz")), binary(AUTH, b"PLAIN", b"foo bar"), right,
                 binary(SET, b"k", b"value", bytes(8)), binary(GET, b"k"), right, binary(NOOP))  # fmt: skip
    assert replies(told) == [
        (VERSION, 0, b"1.6.38"), (LIST, 0, b"PLAIN"), (AUTH, *DENIED), (STEP, *DENIED), (AUTH, *DENIED),
        (AUTH, 4, b"Invalid arguments"), (AUTH, *DENIED), (AUTH, *DENIED), (AUTH, 0, b"Authenticated"), (SET, 0, b""),
        (GET, 0, b"\0\0\0\0value"), (AUTH, 0, b"Authenticated"), (NOOP, 0, b""),
    ]  # fmt: skip
    # What is too long is not waited for.
    assert replies(hears(server.memcached, binary(AUTH, b"PLAIN", b"x" * 5000)[:1000])) == [(AUTH, 4, b"Invalid arguments")]


def test_without_sasl_binary_clients_stay_out(start, users):
    server = start("-Y", users, kind=soft)
    for opcode, request in ((GET, binary(GET, b"a")), (LIST, binary(LIST)), (AUTH, binary(AUTH, b"PLAIN", plain(b"foo", b"bar")))):
        assert replies(hears(server.memcached, request)) == [(opcode, *DENIED)]


def test_clients(start, users):
    server = start("-Y", users, kind=soft)
    client = pymemcache.Client(server.memcached)
    with pytest.raises(pymemcache.exceptions.MemcacheClientError):
        client.get("a")
    assert client.set("any", "foo bar", noreply=False)
    assert client.set("a", b"1", noreply=False) and client.get("a") == b"1"
    client.close()
    for user, password, comes in (("foo", "bar", True), ("baaaz", "quux", True), ("foo", "quux", False), ("default", "bar", False),
                                  (None, "bar", False), (None, None, False)):  # fmt: skip
        client = redis.Redis(port=server.port, username=user, password=password)
        if comes:
            assert client.get("a") == b"1" and client.ping()
        else:
            with pytest.raises((redis.exceptions.AuthenticationError, redis.exceptions.ResponseError)):
                client.get("a")
        client.close()


def test_redis_says_what_redis_says(start, users, tmp_path):
    """Redis with the same user; what comes before the password, and with a wrong one."""
    acl = tmp_path / "acl"
    acl.write_text("user default off\nuser foo on >bar ~* +@all\n")
    said = []
    for server in (start("--aclfile", acl, kind=servers.redis), start("-Y", users, kind=soft)):
        said.append(hears(server.address, b"GET a\r\n", b"SET a b\r\n", b"AUTH bar\r\n", b"AUTH foo baz\r\n", b"AUTH nobody bar\r\n",
                          b"FLUSHALL\r\n", b"NOSUCH\r\n", b"AUTH foo bar\r\n", b"GET a\r\n"))  # fmt: skip
    assert said[0] == said[1] and said[0].endswith(b"+OK\r\n$-1\r\n")


def test_password_of_redis_in_a_file(start, tmp_path):
    path = tmp_path / "password"
    path.write_text("se cret\n")
    server = start("--requirepass-file", path, kind=servers.soft)

    def comes(password):
        told = hears(server.address, b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(password), password), b"GET a\r\n")
        return told == b"+OK\r\n$-1\r\n" or not told.startswith(b"-WRONGPASS ") or not told.endswith(b"-NOAUTH Authentication required.\r\n")

    assert comes(b"se cret") and not comes(b"se") and not comes(b"")
    # memcached's need none.
    assert hears(server.memcached, b"get a\r\n") == b"END\r\n"
    path.write_text("new")
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + reference.SECONDS
    while not comes(b"new"):
        assert time.monotonic() < end
    assert not comes(b"se cret")


def test_users_are_read_again(start, users):
    """Who is in stays in. A file that is wrong changes nothing, and that is said."""
    server = start("-Y", users, kind=soft)

    def comes(user, password):
        token = b"%s %s" % (user, password)
        return hears(server.memcached, TEXT % (len(token), token)) == b"STORED\r\n"

    def renew(text, until):
        users.write_text(text)
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + reference.SECONDS
        while not until():
            assert time.monotonic() < end, server.tail()

    with socket.create_connection(server.memcached) as s:
        reference.ask(s, LOGIN, b"STORED\r\n")
        renew("new:word\n", lambda: comes(b"new", b"word"))
        assert not comes(b"foo", b"bar")
        renew("nonsense\n", lambda: "line 1 is not user:password" in server.tail())
        assert comes(b"new", b"word")
        assert reference.ask(s, b"get a\r\n", b"END\r\n") == b"END\r\n"
    auth = b"AUTH new word\r\n"
    assert hears(server.address, auth) == b"+OK\r\n"


@pytest.mark.parametrize("words, why", [
    (["-Y", "/nowhere"], "cannot read /nowhere"),
    (["-Y", "{empty}"], "line 1 is not user:password"),
    (["-Y", "{bad}"], "line 2 is not user:password"),
    (["-Y", "{users}", "-U", "11211"], "over UDP nobody can say who they are"),
    (["-S"], "-Y FILE says who may come in"),
    (["-S", "-Y", "{users}", "-B", "ascii"], "of no use with -B ascii"),
    (["--requirepass-file", "{users}"], "is not one line with a password"),
    (["--requirepass-file", "{empty}"], "is not one line with a password"),
    (["--requirepass-file", "{users}", "--requirepass", "x"], "cannot be used with"),
    (["--allow", "10.0.0.0/33"], "is no address or network"),
    (["--allow", "10.0.0.1/8"], "a network's address is 0"),
])  # fmt: skip
def test_refused(users, tmp_path, words, why):
    empty, bad = tmp_path / "empty", tmp_path / "bad"
    empty.write_text("")
    bad.write_text("a:b\nc\n")
    words = [word.format(users=users, empty=empty, bad=bad) for word in words]
    argv = [reference.WIREKV, "serve", "--body", "soft", "-p", "0", *reference.AS_ROOT, *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=reference.SECONDS)
    assert done.returncode and why in done.stderr, done.stderr


@pytest.mark.parametrize("kind, listen", [(servers.soft, "127.0.0.1,127.0.0.2"), (servers.card, "127.0.0.1")], ids=["soft", "sim"])
def test_addresses(start, kind, listen):
    """Who is not listed is told an error and nothing else, in each protocol; over UDP nothing at all."""
    metrics = reference.free_port()
    server = start("--allow", "127.0.0.2,10.0.0.0/8", "--allow", "127.1.0.0/16", "--metrics", f"127.0.0.1:{metrics}",
                   kind=kind, listen=listen)  # fmt: skip
    # Whoever asked whether it listens has been counted by then.
    for address in (server.memcached, server.address, ("127.0.0.1", metrics)):
        hears(address, b"")
    hears(server.memcached, b"stats reset\r\n", source="127.0.0.2")
    for source, comes in (("127.0.0.2", True), ("127.1.255.1", True), ("127.0.0.1", False), ("127.0.0.3", False)):
        told = hears(server.memcached, b"get a\r\n", source=source)
        assert told == (b"END\r\n" if comes else b"CLIENT_ERROR unauthenticated\r\n") or not comes and told == b"", source
        told = hears(server.address, b"GET a\r\n", source=source)
        denied = b"-DENIED connections from this address are not allowed\r\n"
        assert told == (b"$-1\r\n" if comes else denied) or not comes and told == b"", source
        told = hears(("127.0.0.1", metrics), b"GET / HTTP/1.0\r\n\r\n", source=source)
        assert told.startswith(b"HTTP/1.") if comes else told == b""
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            s.bind((source, 0))
            s.sendto(b"\0\1\0\0\0\1\0\0version\r\n", ("127.0.0.1", server.udp_port))
            assert reference.readable(s, 5 if comes else 0.3) == comes
    told = hears(server.memcached, b"stats\r\n", source="127.0.0.2")
    assert b"STAT not_allowed 6\r\n" in told and b"STAT udp_not_allowed 2\r\n" in told
    # The card sees nothing of them.
    assert b"STAT rejected_connections %d\r\n" % (6 if kind is servers.soft else 0) in told


@pytest.mark.parametrize("kind", [servers.soft, servers.card], ids=["soft", "sim"])
def test_who_is_not_listed_is_told(start, kind):
    """To its end, where it says nothing itself."""
    server = start("--allow", "127.0.0.2", kind=kind)
    for address, said in ((server.memcached, b"CLIENT_ERROR unauthenticated\r\n"),
                          (server.address, b"-DENIED connections from this address are not allowed\r\n")):  # fmt: skip
        assert hears(address) == said


@reference.needs_ipv6
def test_addresses_of_ipv6(start):
    for allowed, reply in (("::1", b"END\r\n"), ("fd00::/8,127.0.0.0/8", b"CLIENT_ERROR unauthenticated\r\n")):
        server = start("--allow", allowed, kind=reference.soft, listen="::1")
        with server.connect() as s:
            if reply == b"END\r\n":
                s.sendall(b"get a\r\n")
            assert s.recv(100) == reply
