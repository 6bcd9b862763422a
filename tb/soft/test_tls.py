"""TLS on the ports of memcached's and of Redis' protocols, beside memcached 1.6.38 with TLS: with clients that we did not
write (openssl, pymemcache, redis-py), and the load generator."""

import json
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pymemcache
import pytest
import redis

from harness import certificates, reference
from harness.memcached import values

# Seconds that a handshake may take, and some more.
HANDSHAKE = 10


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.sign("server")


def flags(certificate, *more):
    return ("-Z", "-o", ",".join([f"ssl_chain_cert={certificate[0]}", f"ssl_key={certificate[1]}", *more]))


@pytest.fixture
def start(certificate):
    """Starts servers with TLS; they end well."""
    started = []

    def one(kind="soft", *options, more=()):
        if kind == "memcached":
            port = reference.free_port()
            argv = [reference.MEMCACHED, "-p", port, "-U", 0, "-l", "127.0.0.1", *reference.AS_ROOT]
            server = reference.Server(kind, [*argv, *flags(certificate, *more), *options])
            server.port = port
            server.wait_until(lambda: reference.accepts(port))
        else:
            server = reference.soft(*flags(certificate, *more), *options)
        started.append(server)
        return server

    yield one
    for server in started:
        assert server.stop() == 0, server.tail()


def connect(server, context, address=None):
    raw = socket.create_connection(address or server.address, reference.SECONDS)
    # The end of a connection is said, or it is an error.
    return context.wrap_socket(raw, server_hostname="127.0.0.1", suppress_ragged_eofs=False)


def stats(client, of=b""):
    lines = reference.ask(client, b"stats%s\r\n" % of, b"END\r\n").decode().split("\r\n")
    return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))


def receive(client, length):
    told = b""
    while len(told) < length and (piece := client.recv(1 << 16)):
        told += piece
    return told


def openssl(server, authority, *words):
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", authority.certificate, "-quiet",
         "-verify_return_error", *words], input=b"version\r\nquit\r\n", capture_output=True, timeout=reference.SECONDS)  # fmt: skip


@pytest.mark.parametrize("kind", ["memcached", "soft"])
def test_versions(start, authority, kind):
    server = start(kind)
    for version in ("-tls1_2", "-tls1_3"):
        done = openssl(server, authority, version)
        assert done.stdout == b"VERSION 1.6.38\r\n", done.stderr
    # The client itself would do it at this level of security.
    for version in ("-tls1", "-tls1_1"):
        done = openssl(server, authority, version, "-cipher", "DEFAULT@SECLEVEL=0")
        assert done.returncode and not done.stdout and b"alert" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["memcached", "soft"])
def test_least_version(start, authority, kind):
    server = start(kind, more=["ssl_min_version=3"])
    assert openssl(server, authority, "-tls1_3").stdout == b"VERSION 1.6.38\r\n"
    assert not openssl(server, authority, "-tls1_2").stdout


@pytest.mark.parametrize("kind", ["memcached", "soft"])
def test_pymemcache(start, authority, kind):
    server = start(kind)
    client = pymemcache.Client(server.address, tls_context=authority.context(), timeout=reference.SECONDS)
    many = {f"key{i}": values.make(b"key%d" % i, 0, 1 << i) for i in range(20)}
    assert client.set_many(many) == []
    assert client.get_many(many) == many
    client.set("n", b"5")
    assert client.incr("n", 4) == 9
    client.quit()


def test_redis(start, authority, certificate):
    server = start("soft", "--tls-port", port := reference.free_port(), "--tls-cert-file", certificate[0],
                   "--tls-key-file", certificate[1], "--tls-auth-clients", "no")  # fmt: skip
    client = redis.Redis(port=port, ssl=True, ssl_ca_certs=str(authority.certificate))
    with client.pipeline(transaction=True) as pipe:
        for i in range(1000):
            pipe.set(f"k{i}", values.make(b"k", i, i))
        assert all(pipe.execute())
    assert client.mget([f"k{i}" for i in range(1000)]) == [values.make(b"k", i, i) for i in range(1000)]
    assert client.client_list()[0]["addr"].startswith("127.0.0.1:")
    client.close()
    # It is the same store, and -Z is for memcached's port.
    with connect(server, authority.context()) as other:
        assert reference.ask(other, b"get k3\r\n", b"END\r\n") == b"VALUE k3 0 3\r\n%s\r\nEND\r\n" % values.make(b"k", 3, 3)


def test_without_tls_beside_it(start, authority):
    plain = reference.free_port()
    server = start("soft", "-l", f"notls:127.0.0.1:{plain}")
    ports = [int(port) for port in re.findall(r"listening on .*:(\d+)", server.log.read_text())]
    server.port = next(port for port in ports if port != plain)
    assert len(ports) == 2
    with connect(server, authority.context()) as s, socket.create_connection(("127.0.0.1", plain)) as p:
        assert reference.ask(s, b"set a 0 0 1\r\nx\r\n", b"\r\n") == b"STORED\r\n"
        assert reference.ask(p, b"get a\r\n", b"END\r\n") == b"VALUE a 0 1\r\nx\r\nEND\r\n"
        # Neither speaks the other's language.
        with pytest.raises(ssl.SSLError):
            connect(server, authority.context(), ("127.0.0.1", plain))
    with server.connect() as s:
        s.sendall(b"get a\r\nget a\r\n")
        assert b"VALUE" not in receive(s, 100)


@pytest.mark.parametrize("kind", ["memcached", "soft"])
def test_certificates_of_clients(start, authority, tmp_path, kind):
    own = authority.sign("client")
    strange = certificates.Authority(tmp_path, "stranger").sign("client")

    def comes(server, client):
        with connect(server, authority.context(client)) as s:
            return reference.ask(s, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"

    server = start(kind, more=[f"ssl_ca_cert={authority.certificate}", "ssl_verify_mode=2"])
    assert comes(server, own)
    for client in (None, strange):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            comes(server, client)
    server = start(kind, more=[f"ssl_ca_cert={authority.certificate}", "ssl_verify_mode=1"])
    assert comes(server, own) and comes(server, None)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        comes(server, strange)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_cut_anywhere(start, authority, version):
    """Requests in records of any length come to the same replies."""
    rng = random.Random(f"tls {version}")
    requests, replies = [], []
    for i in range(300):
        key, value = b"k%d" % (i % 20), values.make(b"k", i, values.size(rng, 200_000))
        requests += [b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"get %s\r\n" % key]
        replies += [b"STORED\r\n", b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)]
    context = authority.context()
    context.minimum_version = context.maximum_version = version
    # Small pieces: what comes is in many.
    server = start("soft", more=["ssl_wbuf_size=1"])
    with connect(server, context) as s:
        assert s.version() == {ssl.TLSVersion.TLSv1_2: "TLSv1.2"}.get(version, "TLSv1.3")
        for request, reply in zip(requests, replies):
            while request:
                size = min(len(request), int(2 ** rng.uniform(0, 18)))
                s.sendall(request[:size])
                request = request[size:]
            assert receive(s, len(reply)) == reply
        s.sendall(b"quit\r\n")
        # The end is said.
        assert s.recv(1) == b""


@pytest.mark.parametrize("kind", ["memcached", "soft"])
def test_who_reads_late_gets_all(start, authority, kind):
    """Replies that the kernel does not take are sent on, to their last byte, though nothing more is asked for."""
    server = start(kind)
    with connect(server, authority.context()) as s:
        value = values.make(b"long", 0, 1_000_000)
        reference.ask(s, b"set long 0 0 %d\r\n%s\r\n" % (len(value), value), b"STORED\r\n")
        reply = b"VALUE long 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
        for end in (b"", b"quit\r\n"):
            s.sendall(b"get long\r\n" * 30 + end)
            time.sleep(0.3)
            got = 0
            while got < 30 * len(reply):
                piece = s.recv(1 << 16)
                assert piece, f"{got} bytes"
                assert all(byte == reply[(got + i) % len(reply)] for i, byte in enumerate(piece[:100]))
                got += len(piece)
            assert got == 30 * len(reply)
        assert s.recv(1) == b""


def test_the_last_record_comes(start, authority):
    """Of the record that the kernel takes in part, or not at all, the rest comes when the client reads, though it asks for
    nothing more and no reply is left."""
    server, context = start("soft"), authority.context()
    value = values.make(b"k", 0, 15_000)
    reply = b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)

    def late(count):
        """A client that has asked so often and reads nothing yet."""
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        raw.settimeout(reference.SECONDS / 3)
        raw.connect(server.address)
        s = context.wrap_socket(raw, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        s.sendall(b"get k\r\n" * count)
        return s

    def settled():
        """Requests that were executed, when they are no more after a while."""
        before = None
        while (now := int(stats(control)["cmd_get"])) != before:
            before = now
            time.sleep(0.05)
        return before

    with connect(server, context) as control:
        reference.ask(control, b"set k 0 0 %d\r\n%s\r\n" % (len(value), value), b"STORED\r\n")
        before = settled()
        with late(1000):
            most = settled() - before
        assert 30 < most < 1000
        # Some replies were made that did not begin to be written.
        for count in range(most - 25, most + 2):
            with late(count) as s:
                settled()
                assert receive(s, count * len(reply)) == count * reply


def test_end_right_behind_a_request(start, authority):
    """A client's `close_notify` that comes with its last request, while its socket stays open."""
    server = start("soft")
    with server.connect() as s:
        come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = authority.context().wrap_bio(come, go, server_hostname="127.0.0.1")

        def do(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    s.sendall(go.read())
                    come.write(s.recv(1 << 16))

        do(session.do_handshake)
        session.write(b"version\r\n")
        with pytest.raises(ssl.SSLWantReadError):
            session.unwrap()
        s.sendall(go.read())
        while piece := s.recv(1 << 16):
            come.write(piece)
        assert session.read(100) == b"VERSION 1.6.38\r\n"
        session.unwrap()


def test_half_a_handshake(start, authority):
    """Who does not end it is closed after a while, and counted; others are served meanwhile."""
    server = start("soft", "-c", "50")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    held = [server.connect() for _ in range(40)]
    begin = time.monotonic()
    for i, s in enumerate(held):
        s.sendall(hello[: i % (len(hello) + 1)])
    with connect(server, authority.context()) as good:
        for s in held:
            while reference.readable(s, 0) is False:
                assert time.monotonic() < begin + HANDSHAKE + 20
                assert reference.ask(good, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
                time.sleep(0.05)
            # An end, perhaps behind an alert.
            assert len(receive(s, 1000)) < 100
        assert time.monotonic() > begin + HANDSHAKE - 1
        told = stats(good)
        assert (told["ssl_handshake_timeouts"], told["curr_connections"]) == ("40", "1")
        assert told["ssl_handshake_errors"] == "40"
    for s in held:
        s.close()


def test_nonsense_is_counted(start, authority):
    server = start("soft")
    with server.connect() as s:
        s.sendall(b"get a\r\n" * 10)
        assert receive(s, 1000)[:1] == b"\x15"  # an alert
    with connect(server, authority.context()) as s:
        before = stats(s)
        assert (before["ssl_handshake_errors"], before["ssl_proto_errors"]) == ("1", "0")
        with connect(server, authority.context()) as other:
            reference.ask(other, b"version\r\n", b"\r\n")
            raw = socket.socket(fileno=socket.dup(other.fileno()))
            raw.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))  # not what it is said to be
            with pytest.raises((ssl.SSLError, ConnectionError)):
                assert other.recv(1)
            raw.close()
        assert stats(s)["ssl_proto_errors"] == "1"


def serial(server, context):
    with connect(server, context) as s:
        return s.getpeercert()["serialNumber"]


@pytest.mark.parametrize("how", ["HUP", "refresh_certs"])
def test_new_certificates(start, authority, certificate, tmp_path, how):
    """Under load: no connection is lost, the new certificate is served. What is no certificate changes nothing."""
    files = [shutil.copy(file, tmp_path / name) for file, name in zip(certificate, ("chain", "key"))]
    server = start("soft", more=[f"ssl_chain_cert={files[0]}", f"ssl_key={files[1]}"])
    report = tmp_path / "load.json"
    load = subprocess.Popen(
        [reference.WIREKV, "load", "-p", str(server.port), "--tls", "--cacert", authority.certificate, "-c", "8",
         "--pipeline", "4", "--test-time", "4", "--key-maximum", "1000", "--json-out-file", report],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    context = authority.context()
    with connect(server, context) as control:

        def renew():
            if how == "HUP":
                said = server.log.read_text().count("SIGHUP")
                server.process.send_signal(signal.SIGHUP)
                time.sleep(0.2)
                return server.log.read_text().count("SIGHUP") == said
            return reference.ask(control, b"refresh_certs\r\n", b"\r\n") == b"OK\r\n"

        seen = [serial(server, context)]
        for i, kind in enumerate(["ec", "rsa", "ec"]):
            for new, file in zip(authority.sign(f"server{i}", kind), files):
                shutil.copy(new, file)
            assert renew()
            seen.append(serial(server, context))
        assert len(set(seen)) == 4
        with open(files[0], "w") as file:
            file.write("no certificate\n")
        assert not renew() and serial(server, context) == seen[-1]
        # A key that is another's.
        shutil.copy(certificate[0], files[0])
        assert not renew() and serial(server, context) == seen[-1]
    out, _ = load.communicate(timeout=reference.SECONDS)
    assert load.returncode == 0, out
    assert json.loads(report.read_text())


def test_with_few_system_calls(start, authority):
    """No file can be opened then: new certificates are refused, and nothing else changes."""
    server = start("soft", more=["drop_privileges"])
    with connect(server, authority.context()) as s:
        assert reference.ask(s, b"refresh_certs\r\n", b"\r\n").startswith(b"Error ")
        server.process.send_signal(signal.SIGHUP)
        server.wait_until(lambda: server.tail().count("with -o drop_privileges no file is read again") == 2)
        with connect(server, authority.context()) as other:
            for client in (s, other):
                assert reference.ask(client, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"


def test_load(start, authority, tmp_path):
    """The generator's other end is Python's, whose requests and answers are the same as without TLS."""
    server = start("soft")
    words = [reference.WIREKV, "load", "-p", server.port, "-n", 500, "-c", 4, "-d", 20_000, "--pipeline", 8, "--ratio", "1:1",
             "--key-maximum", 50, "--json-out-file", tmp_path / "load.json"]  # fmt: skip

    def load(*more):
        return subprocess.run([str(word) for word in (*words, *more)], capture_output=True, text=True)

    done = load("--tls", "--cacert", authority.certificate)
    assert done.returncode == 0, done.stderr
    assert load("--tls", "--tls-skip-verify").returncode == 0
    with connect(server, authority.context()) as s:
        told = stats(s)
        assert (told["cmd_set"], told["cmd_get"]) == ("2000", "2000")
    assert "--tls: give --cacert FILE or --tls-skip-verify" in load("--tls").stderr
    stranger = certificates.Authority(tmp_path, "stranger")
    assert "UnknownIssuer" in load("--tls", "--cacert", stranger.certificate).stderr


def test_settings(start, authority):
    """As memcached tells them."""
    said = []
    for kind in ("memcached", "soft"):
        with connect(start(kind, more=["ssl_wbuf_size=64", "ssl_session_cache"]), authority.context()) as s:
            said.append({name: value for name, value in stats(s, b" settings").items() if name.startswith("ssl_")})
    assert said[0] == said[1]


def test_earlier_sessions(start, authority):
    for cached in (False, True):
        server = start("soft", more=["ssl_session_cache"] if cached else [])
        context = authority.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with connect(server, context) as first:
            told, session = stats(first), first.session
            assert told.get("ssl_new_sessions") == ("1" if cached else None)
        raw = socket.create_connection(server.address)
        with context.wrap_socket(raw, server_hostname="127.0.0.1", session=session) as second:
            assert second.session_reused == cached
            assert stats(second).get("ssl_new_sessions") == ("1" if cached else None)


def test_one_too_many(start, authority):
    """It is told by an alert: what is not encrypted would be noise to it."""
    server = start("soft", "-c", "1")
    with connect(server, authority.context()):
        with pytest.raises(ssl.SSLError, match="ACCESS_DENIED"):
            connect(server, authority.context())


@pytest.mark.parametrize("words, why", [
    (["-Z"], "-o ssl_chain_cert=FILE names the certificate"),
    (["-Z", "-o", "ssl_chain_cert=/nowhere"], "cannot read /nowhere"),
    (["-Z", "-o", "ssl_chain_cert={key}"], "has no certificate"),
    (["-Z", "-o", "ssl_chain_cert={chain}"], "has no private key"),
    (["-Z", "-o", "ssl_chain_cert={chain},ssl_key={other}"], "do not go together"),
    (["-Z", "-o", "ssl_chain_cert={chain},ssl_key={key},ssl_verify_mode=2"], "ssl_ca_cert=FILE names who signs"),
    (["-Z", "-o", "ssl_chain_cert={chain},ssl_key={key},ssl_min_version=1"], "versions below TLS 1.2"),
    (["-Z", "-o", "ssl_chain_cert={chain},ssl_key={key},ssl_verify_mode=4"], "'4' is no value of ssl_verify_mode"),
    (["-Z", "-o", "ssl_ciphers=ALL"], "'ssl_ciphers' is not known"),
    (["-Z", "-s", "/tmp/socket", "-o", "ssl_chain_cert={chain}"], "there is no TLS without a TCP port"),
    (["-o", "ssl_chain_cert={chain}"], "of no use without -Z"),
    (["-l", "notls:127.0.0.1"], "notls: says that -Z is not for this address"),
    (["--tls-port", "1"], "--tls-cert-file FILE names the certificate"),
    (["--tls-cert-file", "{chain}"], "of no use without --tls-port"),
    (["--tls-port", "1", "--tls-cert-file", "{chain}"], "--tls-ca-cert-file FILE names who signs"),
])  # fmt: skip
def test_refused(authority, certificate, words, why):
    chain, key = certificate
    other = authority.sign("other")[1]
    words = [word.format(chain=chain, key=key, other=other) for word in words]
    argv = [reference.WIREKV, "serve", "--body", "soft", "-p", "0", *reference.AS_ROOT, *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=reference.SECONDS)
    assert done.returncode and why in done.stderr, done.stderr
