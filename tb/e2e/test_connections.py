"""Many connections: at once, in a row, half closed, reset, and none left behind."""

import errno
import re
import resource
import socket
import time

import pytest

from harness import differ, reference, watch
from harness.memcached import stream
from harness.resp import servers
from harness.size import scale

CONNECTIONS = 1024


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_1024_at_once(memcached, seed, body):
    """All open at the same time; each writes and reads its own keys, some of them more than once."""
    server = reference.wirekv(body=body, connections=CONNECTIONS)
    prefix = body.encode() + b"%d:"
    runs = []
    try:
        for i in range(CONNECTIONS):
            runs.append(differ.Differ(memcached, server, label=f"at_once_{seed}_{i}"))
            runs[-1].connect()
        for turn in range(scale(2, 10)):
            for i in range(0, CONNECTIONS, scale(16 if turn else 3, 1)):
                generator = stream.Generator.small(seed + i, prefix % i)
                burst = generator.burst()
                burst.tail = stream.sentinel(prefix % i, turn + 1)
                runs[i].run(burst)
        # One more than allowed must not disturb the others.
        with socket.socket() as extra:
            extra.settimeout(2)
            try:
                extra.connect(server.address)
                extra.sendall(b"version\r\n")
                extra.recv(100)
            except OSError:
                pass
        runs[0].run(stream.Burst([[b"version\r\n"]], stream.sentinel(prefix % 0, 99)))
    finally:
        for run in runs:
            run.close()
        code = server.stop()
    assert code == 0, server.tail()


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_one_too_many(body):
    """Silent clients have all places: the next ones are told so in memcached's words, and sent away.
    Who leaves makes room."""
    server = reference.wirekv(body=body, connections=5)
    silent = [socket.create_connection(server.address, reference.SECONDS) for _ in range(5)]
    try:
        for connection in silent:
            connection.sendall(b"verbosity 1\r\n")
            assert connection.recv(100) == b"OK\r\n"
        for _ in range(3):
            with socket.create_connection(server.address, reference.SECONDS) as late:
                got = b""
                while part := late.recv(100):
                    got += part
                assert got == b"ERROR Too many open connections\r\n"
        silent.pop().close()
        end = time.monotonic() + reference.SECONDS
        while True:
            with socket.create_connection(server.address, reference.SECONDS) as late:
                try:
                    late.sendall(b"verbosity 1\r\n")
                    if late.recv(100) == b"OK\r\n":
                        break
                except ConnectionError:
                    pass
            assert time.monotonic() < end
        silent[0].sendall(b"verbosity 1\r\n")
        assert silent[0].recv(100) == b"OK\r\n"
        if body == "sim":
            lines = reference.ask(silent[0], b"stats card\r\n", b"END\r\n").split(b"\r\n")
            counts = {name: int(n) for _, name, n in (line.split() for line in lines[:-2])}
            assert counts[b"TcpFullLimit"] >= 3 and counts[b"TcpSyns"] >= counts[b"TcpOpened"] >= 6
    finally:
        for connection in silent:
            connection.close()
        code = server.stop()
    assert code == 0, server.tail()


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_opened_and_closed_in_a_row(body):
    """Every way to end a connection, thousands of times: no entry stays."""
    with reference.wirekv(body=body) as server:
        before = int(reference.stats(server)["curr_connections"])
        count = scale(2_000, 50_000)
        for i in range(count):
            s = server.connect()
            if i % 5 == 0:
                reference.ask(s, b"version\r\n", b"\r\n")
            if i % 5 == 1:
                s.sendall(b"quit\r\n")
                assert s.recv(100) == b"", "quit did not close"
            if i % 5 == 2:  # with an unfinished command
                s.sendall(b"set half 0 0 100\r\nabc")
            if i % 50 == 3:  # a reset instead of a close
                reference.resets_at_close(s)
            s.close()
        assert watch.settle_stat(server, "curr_connections", before) == before
        total = int(reference.stats(server)["total_connections"])
        assert total >= count, f"{total} connections counted, {count} opened"


def test_half_close(memcached, body):
    """`printf ... | nc`: the end of the input comes with or before the reply."""
    for server in (memcached, body):
        reference.empty(server)
    for text in (b"get a\r\n", b"version\r\n" * 100, b"set a 0 0 1\r\nx\r\nget a\r\n", b"get a", b""):
        replies = []
        for server in (memcached, body):
            with server.connect() as s:
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)
                reply = b""
                while piece := s.recv(65536):
                    reply += piece
                replies.append(reply)
        assert replies[0] == replies[1], f"after {text!r}"


def test_long_reply_then_close(body):
    """A client that goes away in the middle of a long reply disturbs nobody."""
    with body.connect() as s:
        reference.ask(s, b"set long 0 0 1000000\r\n" + b"v" * 1000000 + b"\r\n", b"STORED\r\n")
        for _ in range(20):
            t = body.connect()
            t.sendall(b"get long\r\n")
            t.recv(1000)
            reference.resets_at_close(t)
            t.close()
        reply = reference.ask(s, b"get long\r\n", b"END\r\n", seconds=60)
        assert reply == b"VALUE long 0 1000000\r\n" + b"v" * 1000000 + b"\r\nEND\r\n"
    # The one that asks. (How many were there before, nobody knows: who closed then may have been among them.)
    assert watch.settle_stat(body, "curr_connections", 1) == 1


def test_stats_count(body):
    """`stats` knows what happened."""
    before = reference.stats(body)
    assert before["version"] == "1.6.38" and before["limit_maxbytes"].isdigit()
    with body.connect() as s:
        requests = b"set c 0 0 1\r\nx\r\nget c\r\nget c nothing\r\ntouch c 0\r\nflush_all\r\nversion\r\n"
        reference.ask(s, requests, b"1.6.38\r\n")
    after = reference.stats(body)

    def more(name):
        return int(after[name]) - int(before[name])

    assert more("cmd_set") == 1
    assert more("get_hits") == 2
    assert more("get_misses") == 1
    assert more("cmd_get") == 3
    assert more("cmd_touch") == 1
    assert more("cmd_flush") == 1
    assert more("total_connections") >= 1


def test_stats_of_nothing(memcached, body):
    for text in (b"stats nonsense\r\n", b"shutdown\r\n", b"stats reset\r\n"):
        replies = []
        for server in (memcached, body):
            with server.connect() as s:
                # Replies keep their order around one that software answers.
                request = b"version\r\n" + text + b"get nothing\r\n"
                replies.append(reference.ask(s, request, b"END\r\n"))
        assert replies[0] == replies[1], f"after {text!r}"


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_summary_at_the_end(body):
    """SIGTERM ends the server, cleanly, with its counters."""
    server = reference.wirekv(body=body)
    with server.connect() as s:
        reference.ask(s, b"get a\r\n", b"END\r\n")
    assert server.stop() == 0
    assert re.search(r"(?i)requests|get_misses", server.tail()), f"no summary:\n{server.tail()}"


def test_no_descriptor_left():
    """Where the process may open no more, clients of both ports wait until it may: none is forgotten, others are
    served meanwhile, and the server rests."""
    card = servers.card()
    try:
        with socket.create_connection(card.memcached) as first:
            assert reference.ask(first, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
            at_rest = watch.share(card)  # simulated clocks go on, and take what they take here
            limit = resource.prlimit(card.process.pid, resource.RLIMIT_NOFILE)
            few = watch.descriptors(card) + 5
            resource.prlimit(card.process.pid, resource.RLIMIT_NOFILE, (few, limit[1]))
            waiting = [card.connect() for _ in range(10)] + [socket.create_connection(card.memcached) for _ in range(10)]
            for client in waiting:
                client.sendall(b"PING\r\n")

            def served():
                return [client for client in waiting if reference.readable(client, 0)]

            assert watch.settle(lambda: len(served()), 5) == 5
            assert watch.share(card) < at_rest + 0.3, "busy with nothing"
            assert len(served()) == 5
            assert reference.ask(first, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
            while waiting:
                assert watch.settle(lambda: len(served()) > 0, True), "forgotten"
                for client in served():
                    assert client.recv(100) in (b"+PONG\r\n", b"ERROR\r\n")
                    client.close()
                    waiting.remove(client)
            assert reference.ask(first, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
    finally:
        code = card.stop()
    # Once of each port.
    assert code == 0 and card.tail().count("no connection can be accepted for now") == 2, card.tail()


@pytest.mark.parametrize("kind", ["memcached", "sim"])
def test_write_behind_the_end(kind):
    """What a client writes when the server has closed is answered with a reset at once, as by Linux; what the server
    said before is there."""
    with reference.memcached() if kind == "memcached" else reference.wirekv() as server:
        with server.connect() as s:
            s.sendall(b"version\r\nquit\r\n")
            said = b""
            while part := s.recv(100):
                said += part
            assert said == b"VERSION 1.6.38\r\n"
            s.sendall(b"version\r\n")
            end, error = time.monotonic() + reference.SECONDS, 0
            while not error and time.monotonic() < end:
                error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                time.sleep(0.01)
            assert error in (errno.EPIPE, errno.ECONNRESET), error
