"""What one client does is not felt by the others: hostile or clumsy ones beside good ones. What they
hold in all is in test_memory.py."""

import collections
import re
import select
import socket
import subprocess
import urllib.request

import pytest

from harness import reference, watch
from harness.memcached import values

VALUE = 1_000_000
# At most so many datagrams answer one, and one more says that they were not enough.
ANSWER = 1024
TOO_LARGE = b"SERVER_ERROR reply too large for UDP\r\n"


def datagram(number, text):
    return number.to_bytes(2, "big") + bytes([0, 0, 0, 1, 0, 0]) + text


def messages(port, until):
    """Payloads that came, by request, until one is `until`."""
    found, said = collections.defaultdict(list), b""
    while said != until:
        assert select.select([port], [], [], reference.SECONDS)[0], "no answer"
        packet = port.recv(2048)
        said = packet[8:]
        found[int.from_bytes(packet[:2], "big")].append(said)
    return found


def test_udp_answers_are_bounded(memcached, soft):
    """Up to the bound as memcached; then whole messages, and a word."""
    head = b"VALUE big 0 %d\r\n" % VALUE
    for server in (memcached, soft):
        client = values.Client(server)
        assert client.set(b"big", b"v" * VALUE) == b"STORED\r\n"
        client.close()
        for keys, rest in ((1, b"END\r\n"), (5, TOO_LARGE if server is soft else b"END\r\n")):
            with server.datagrams() as port:
                port.send(datagram(7, b"get" + b" big" * keys + b"\r\nversion\r\n"))
                if server is soft and keys > 1:
                    came = messages(port, TOO_LARGE)[7]
                    assert len(came) <= ANSWER + 1
                else:
                    came = messages(port, b"VERSION 1.6.38\r\n")[7]
            value = head + b"v" * VALUE + b"\r\n"
            # The kernel may lose some where there are more than its buffer has room for.
            if len(came) <= ANSWER + 1:
                assert b"".join(came).startswith(value) and rest in b"".join(came)
    with soft.datagrams() as port:
        port.send(datagram(8, b"version\r\n" * 3000))
        came = messages(port, TOO_LARGE)[8]
        assert set(came) == {b"VERSION 1.6.38\r\n", TOO_LARGE}
        assert ANSWER * 0.9 < len(came) <= ANSWER + 1


def test_one_datagram_is_nobody_else_s_matter():
    """A get of 30,000 times a long value: its thread serves on, the other one's writes find memory,
    and the server ends when it is told to."""
    server = reference.soft(megabytes=64, threads=2)
    # On both threads.
    clients = [values.Client(server) for _ in range(4)]
    assert clients[0].set(b"b", b"v" * VALUE) == b"STORED\r\n"
    attack = datagram(1, b"get" + b" b" * 30_000 + b"\r\n")
    # Nobody answers a sender that was made up.
    with server.datagrams() as port, server.datagrams() as good:
        for turn in range(20):
            port.send(attack)
            # More than there is memory for: what is dropped must be let go of by all threads.
            for client in clients:
                for i in range(20):
                    assert client.set(b"%d" % i, b"x" * 50_000) == b"STORED\r\n"
            good.send(datagram(turn, b"version\r\n"))
            messages(good, b"VERSION 1.6.38\r\n")
        for _ in range(20):
            port.send(attack)
        for client in clients:
            client.close()
        code = server.stop()
    assert code == 0, server.tail()


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_udp_for_all_needs_a_word(body):
    """memcached serves UDP to anybody when told -U."""
    argv = [reference.WIREKV, "serve", "--body", body, "-l", "0.0.0.0", "-p", "0", "-m", "64"]
    argv += reference.AS_ROOT
    for port, more in (("0", []), (reference.free_port(), ["--udp-public"])):
        server = reference.Server(body, [*argv, "-U", port, *more])
        server.wait_until(lambda server=server: "listening on" in server.tail())
        assert server.stop() == 0, server.tail()
    refused = subprocess.run([*argv, "-U", "11211"], capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0 and "--udp-public" in refused.stderr
    shown = subprocess.run([argv[0], "serve", "--help"], capture_output=True, text=True).stdout
    assert "amplification" in re.sub(r"\s+", " ", shown)


def test_stats_of_many_connections_come_in_pieces(memcached):
    """`stats conns` names all, as memcached's. How little a piece holds, test_memory.py shows."""
    with reference.soft(threads=1) as server:
        lists = {}
        for peer in (memcached, server):
            idle = [peer.connect() for _ in range(900)]
            found = reference.stats(peer, "conns")
            lists[peer] = {s.getsockname()[1] for s in idle} - {
                int(value.rsplit(":", 1)[1]) for name, value in found.items()
                if name.endswith(":addr") and value.startswith("tcp:")
            }  # fmt: skip
        assert lists[memcached] == lists[server] == set()


def test_silent_metrics_clients_do_not_block():
    """Hundreds that say nothing, or read nothing, and one that scrapes; then nothing is left."""
    port = reference.free_port()
    with reference.soft("--metrics", f"127.0.0.1:{port}") as server:
        good = values.Client(server)
        assert good.get(b"nothing") is None
        before = watch.descriptors(server)
        for words in (b"", b"GET /", b"GET / HTTP/1.1\r\n\r\n"):
            silent = [socket.create_connection(("127.0.0.1", port), timeout=reference.SECONDS) for _ in range(300)]
            for client in silent:
                client.sendall(words)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=reference.SECONDS) as reply:
                assert b"memcached_uptime_seconds" in reply.read()
            assert watch.descriptors(server) - before <= 64 + 1
            for client in silent[1:]:
                client.close()
            # The first one's time is up.
            assert watch.settle(lambda: watch.descriptors(server), before) == before
            silent[0].close()
