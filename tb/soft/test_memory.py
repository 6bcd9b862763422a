"""-m holds: under pressure, and for clients that do not read their replies."""

import random
import socket

import pytest

from harness import reference, watch
from harness.memcached import values
from harness.memory import BESIDE, EACH, MEGABYTES, fill
from harness.size import scale
from harness.threads import together


def test_memory_comes_ahead_of_use():
    """Memory grows with what is stored, and no request waits for a page of it to be zeroed."""
    megabytes, stored = 1024, 96
    with reference.soft(megabytes=megabytes) as server:
        # An index of 7.5 % and a part of the log.
        watch.populated(server)
        fresh = watch.resident(server)
        assert megabytes * 0.08 < fresh < megabytes / 8, f"{fresh:.1f} MiB"
        client = values.Client(server)
        before = watch.first_touches(server, "worker 0")
        value = b"x" * 8192
        for done in range(stored):
            # It may run away from the thread that populates, but not in this test: half of the 16 MiB
            # that are to be ahead are there.
            assert watch.settle(lambda: watch.resident(server) > fresh + done - 8, True)
            for i in range(128):
                assert client.set(b"key%d" % (done * 128 + i), value) == b"STORED\r\n"
        touched = watch.first_touches(server, "worker 0") - before
        resident = watch.resident(server)
        print(f"{resident:.1f} MiB resident; {touched} first touches by requests")
        assert stored < resident < megabytes / 8 + stored
        # Of the worker's own buffers.
        assert touched < 32
        client.close()


def test_pressure(seed):
    """1 GB of items in 64 MB: a read gives what was written last, or nothing."""
    server = reference.soft(megabytes=MEGABYTES, threads=2)
    total = scale(1 << 30, 10 << 30)
    hits = [0] * 4

    def work(i):
        rng = random.Random(seed + i)
        client = values.Client(server)
        newest, written, turn = {}, 0, 0
        while written < total // 4:
            turn += 1
            key = b"%d:%d" % (i, rng.randrange(400))
            size = values.size(rng)
            newest[key] = values.make(key, turn, size)
            assert client.set(key, newest[key]) == b"STORED\r\n"
            written += size
            key = b"%d:%d" % (i, rng.randrange(400))
            value = client.get(key)
            if value is not None:
                hits[i] += 1
                assert value == newest.get(key), f"{key} is not what was written last"
        client.close()

    with server:
        together(4, work)
        stats = reference.stats(server)
        print(f"{stats['cmd_set']} items, {stats['evictions']} evicted, {sum(hits)} hits; "
              f"at most {watch.peak(server):.1f} MiB resident")  # fmt: skip
        assert int(stats["evictions"]) > 0 and min(hits) > 0
        assert watch.peak(server) <= MEGABYTES + BESIDE


def test_without_evictions(seed):
    """-M: memcached's words when memory is full, and all that was stored is there."""
    rng = random.Random(seed)
    replies = []
    for server in (
        reference.memcached("-M", megabytes=MEGABYTES),
        reference.soft("-M", megabytes=MEGABYTES),
    ):
        with server:
            client = values.Client(server)
            stored, said = {}, set()
            for i in range(40_000):
                key = b"key%d" % i
                value = values.make(key, i, rng.randrange(1000, 8000))
                said.add(reply := client.set(key, value))
                if reply == b"STORED\r\n":
                    stored[key] = value
            # A value that is received in pieces, and one that is not.
            said.add(client.set(b"long", b"x" * 500_000))
            replies.append(said)
            bytes_stored = sum(map(len, stored.values())) >> 20
            print(f"{server.name}: {len(stored)} stored, {bytes_stored} MiB, {said}")
            assert all(client.get(key) == value for key, value in stored.items())
            assert bytes_stored > MEGABYTES // 2
            if server.name == "soft":
                assert watch.peak(server) <= MEGABYTES + BESIDE
                assert int(reference.stats(server)["evictions"]) == 0
                # Removed items make room.
                for key in stored:
                    assert client.line(b"delete %s\r\n" % key) == b"DELETED\r\n"
                again = [client.set(key, value) for key, value in list(stored.items())[:5000]]
                assert set(again) == {b"STORED\r\n"}
            client.close()
    assert replies[0] == replies[1] == {
        b"STORED\r\n", b"SERVER_ERROR out of memory storing object\r\n"}  # fmt: skip


def test_long_lines_keep_no_memory():
    """One thread looks up millions of keys that are not there: the other one goes on storing, for
    which the first must let go of memory now and then."""
    server = reference.soft(megabytes=MEGABYTES, threads=2)
    keys = b"get" + b" m" * 7_000_000
    lines = [keys, keys + b" " + b"k" * 300]
    with server:
        # The threads are given connections in turn.
        clients = [values.Client(server) for _ in range(8)]
        writer, asking = clients[1], clients[0::2]
        value = b"x" * 20_000
        for i in range(2 * MEGABYTES * 50):
            assert writer.set(b"%d" % i, value) == b"STORED\r\n"
        together(len(asking), lambda i: asking[i].socket.sendall(lines[i % 2]))
        for client in asking:
            client.socket.sendall(b"\r\n")
        said = set()
        while not all(reference.readable(client.socket, 0) for client in asking):
            said.update(writer.set(b"%d" % i, value) for i in range(100))
        assert said == {b"STORED\r\n"}
        replies = [client.file.readline() for client in asking]
        assert replies == [b"END\r\n", b"CLIENT_ERROR bad command line format\r\n"] * 2
        for client in clients:
            client.close()


def test_slow_readers(seed):
    """Many ask for a 1 MiB value again and again and read nothing; the others go on. Then all of it
    is read. A reply being sent holds its item; when half of the memory is held, few are copied, and
    who waits longest for a copy loses the connection."""
    readers, count = scale(48, 100), scale(20, 100)
    with reference.soft(megabytes=MEGABYTES) as server:
        client = values.Client(server)
        slow = []
        for i in range(readers):
            key = b"big%d" % i
            assert client.set(key, values.make(key, 0, values.LONGEST)) == b"STORED\r\n"
            # A small receive buffer: the replies have to wait in the server.
            reader = values.Client.__new__(values.Client)
            reader.socket = socket.socket()
            reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.socket.settimeout(60)
            reader.socket.connect(server.address)
            reader.file = reader.socket.makefile("rb", 1 << 20)
            reader.socket.sendall(b"get %s\r\n" % key * count)
            slow.append(reader)
        others = values.Others(server, random.Random(seed))
        others.work(scale(2000, 20_000))
        others.close()
        # Newer values push out what is not held.
        for i in range(2 * MEGABYTES):
            assert client.set(b"push%d" % (i % 50), values.make(b"p", i, values.LONGEST)) == b"STORED\r\n"
        waiting = watch.resident(server)

        found, cut = [0] * readers, []

        def read(i):
            slow[i].socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            for _ in range(count):
                try:
                    value = slow[i].reply()
                except (AssertionError, ConnectionError):
                    assert slow[i].file.read(1) == b"", "damaged, and not cut off"
                    cut.append(i)
                    break
                if value is not None:
                    found[i] += 1
                    values.version(b"big%d" % i, value)
            slow[i].close()

        for first in range(0, readers, 4):
            together(4, lambda i, first=first: read(first + i))
        print(f"{readers} readers: {waiting:.1f} MiB while they wait, at most "
              f"{watch.peak(server):.1f} MiB; {sum(found)} of {readers * count} values were there, {len(cut)} were cut off")  # fmt: skip
        assert watch.peak(server) <= MEGABYTES + BESIDE + readers * EACH
        assert readers - len(set(cut)) >= MEGABYTES // 2 - 4, "memory that may be held is not used"
        assert all(found[i] > 0 or i in cut for i in range(readers)), "a reply must come whole"
        client.close()


HOSTILE = 2000


@pytest.mark.parametrize(
    "kind", ["get", "gets, blanks", "one key", "miss", "value", "packet", "unread", "unread long", "stats"]
)
def test_hostile_connections_hold_little(kind):
    """Endless lines, half-sent requests, lying lengths and replies that nobody reads: up to 2,000
    of each hold no more than -m, 12 MiB and 32 KiB each. memcached keeps whole lines: 200 of them, 3 MB
    each, took 630 MB there."""
    watch.raise_file_limit()
    server = reference.soft(megabytes=MEGABYTES, threads=2, connections=HOSTILE + 10)
    long = values.make(b"long", 0, values.LONGEST)
    # What it sends, and how much of it.
    request, size, *count = {
        "get": (b"get" + (b" " + b"k" * 200) * 300, 200_000),
        "gets, blanks": (b"gets" + b" " * 60_000, 200_000),
        "one key": (b"get " + b"k" * 60_000, 200_000),
        "miss": (b"get m\r\n" * 10_000 + b"get ", 70_004),
        "value": (b"set v 0 0 16383\r\n" + b"v" * 16_382, 16_399),
        "packet": (b"\x80\x00\xff\xff\xff\x00\0\0\x7f\xff\xff\xff" + bytes(8000), 8_000),
        "unread": (b"get" + b" short" * 1000 + b"\r\n", 60_050, 500),
        "unread long": (b"get long\r\n" * 5000, 50_000, 300),
        "stats": (b"stats conns\r\n" * 1000, 13_000, 1000),
    }[kind]
    hostile = []
    with server:
        good = values.Client(server)
        short = values.make(b"short", 0, 1000)
        assert good.set(b"short", short) == good.set(b"long", long) == b"STORED\r\n"
        for _ in range(*count or [HOSTILE]):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(server.address)
            fill(s, request, size)
            hostile.append(s)
            if kind == "unread long":
                # The next one asks for another.
                assert good.set(b"long", long) == b"STORED\r\n"
        assert good.get(b"short") == short
        most = watch.peak(server)
        print(f"{kind}: at most {most:.1f} MiB")
        assert most <= MEGABYTES + BESIDE + len(hostile) * EACH
        for s in hostile:
            s.close()
        assert watch.settle(lambda: reference.stats(server)["curr_connections"], "2") == "2"
        assert good.set(b"short", short) == b"STORED\r\n"
        good.close()
