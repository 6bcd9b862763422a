"""What servers say on standard error: few lines of each cause, and no byte of a client as it is."""

import re
import time

import pytest

from harness import reference, watch

BAD = 100_000
LINES = 10


def lines(server):
    return [line for line in server.log.read_bytes().split(b"\n") if line.startswith(b"wirekv: ")]


def test_bad_requests_make_few_lines():
    """And the number of those that were left out is right."""
    bad = b"bad \x1b[2J\x07 \xff\xc2\x9b\r\n"
    with reference.soft("-v") as server:
        began = time.monotonic()
        with server.connect() as s:
            for _ in range(BAD // 1000):
                s.sendall(bad * 1000)
                got = 0
                while got < 1000 * len(b"ERROR\r\n"):
                    got += len(s.recv(1 << 16))

        def counted():
            shown = [line for line in lines(server) if b"a request fails" in line]
            rest = re.findall(rb"wirekv: (\d+) lines of \S+ were left out", server.log.read_bytes())
            return len(shown) + sum(map(int, rest))

        assert watch.settle(counted, BAD) == BAD
        seconds = time.monotonic() - began
        said = lines(server)
        assert len(said) <= LINES * (seconds + 1), (len(said), seconds)
        first = said[0].decode()
        assert r'request="bad \x1b[2J\x07 \xff\xc2\x9b\r\n" reply="ERROR"' in first and "peer=" in first
    text = server.log.read_bytes().replace(b"\n", b"")
    assert all(0x20 <= byte < 0x7F for byte in text)


def test_who_asks_for_more_gets_more():
    """Without -v nothing is said of clients; the command `verbosity` changes that."""
    with reference.soft("-A") as server:

        def fail():
            with server.connect() as s:
                reference.ask(s, b"bad\r\n", b"ERROR\r\n")

        def verbosity(level):
            with server.connect() as s:
                reference.ask(s, f"verbosity {level}\r\n".encode(), b"OK\r\n")

        fail()
        verbosity(1)
        assert not lines(server)
        fail()
        said = watch.settle(lambda: len(lines(server)), 1)
        assert said == 1 and b"a request fails" in lines(server)[0]
        verbosity(2)
        fail()
        found = lambda word: any(word in line for line in lines(server))  # noqa: E731
        assert watch.settle(lambda: found(b"is opened") and found(b"is closed"), True)
        verbosity(0)
        watch.settle(lambda: reference.stats(server)["curr_connections"], "1")
        time.sleep(0.2)
        before = lines(server)
        fail()
        assert lines(server) == before


def test_refusals_and_slow_requests():
    redis = reference.free_port()
    options = ("-v", "--redis-port", redis)
    with reference.soft(*options, connections=2) as server:
        with reference.socket.create_connection(("127.0.0.1", redis), timeout=reference.SECONDS) as s:
            reference.ask(s, b"PING\r\n", b"+PONG\r\n")
            with server.connect(), server.connect() as refused:
                assert refused.recv(100).startswith(b"ERROR Too many open connections")
            said = lambda: [line for line in lines(server) if b"a connection is refused" in line]  # noqa: E731
            assert watch.settle(lambda: len(said()), 1) == 1
            assert b"peer=" in said()[0] and b"Too many open connections" in said()[0]
            # Twenty tables of 121 million cells, 64 at a time, in one request.
            for key in (b"a", b"b"):
                reference.ask(s, b"*3\r\n$3\r\nSET\r\n$1\r\n%s\r\n$11000\r\n%s\r\n" % (key, key * 11000), b"+OK\r\n")
            lcs = b"*4\r\n$3\r\nLCS\r\n$1\r\na\r\n$1\r\nb\r\n$3\r\nLEN\r\n"
            asked = b"*1\r\n$5\r\nMULTI\r\n" + 20 * lcs + b"*1\r\n$4\r\nEXEC\r\n"
            reference.ask(s, asked, b"*20\r\n" + 20 * b":0\r\n")
        # On a busy machine others may be slow, too.
        slow = rb'a request is slow peer="tcp:127\.0\.0\.1:\d+" request="\*1\\r\\n\$4\\r\\nEXEC\\r\\n" time=[0-9.]+m?s$'
        assert watch.settle(lambda: any(re.search(slow, line) for line in lines(server)), True)


@pytest.mark.parametrize("verbose, said", [((), False), (("-vv",), True)])
def test_the_cards_program(verbose, said):
    with reference.wirekv(*verbose, megabytes=64) as server:
        with server.connect() as s:
            reference.ask(s, b"stats \x1b\x07\r\n", b"ERROR\r\n")
        watch.settle(lambda: any(b"is closed" in line for line in lines(server)), said)
        text = b"".join(lines(server))
        for word in (rb'punt queue: "stats \x1b\x07"', b"connection 0 is opened", b"connection 0 is closed"):
            assert (word in text) == said, text
        assert all(0x20 <= byte < 0x7F for byte in text)
