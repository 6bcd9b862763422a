"""Ten thousand connections, one too many, and what the system does not allow."""

import contextlib
import random
import resource
import socket

import pytest

from harness import reference, watch
from harness.memcached import values

CONNECTIONS = 10_000


def test_10000_at_once(seed):
    """All open at the same time, each writes and reads; then nothing is left of them."""
    if watch.raise_file_limit() < CONNECTIONS + 100:
        pytest.skip("ulimit -Hn allows fewer descriptors")
    server = reference.soft("-b", 4096, connections=CONNECTIONS + 1, megabytes=64)
    rng = random.Random(seed)
    keys = [b"key%d" % i for i in range(CONNECTIONS)]
    with server:
        client = values.Client(server)
        # Every page of the index that the test needs is resident from now on.
        for key in keys:
            client.set(key, values.make(key, 0, 100))
        fds = watch.descriptors(server) - 1
        client.close()
        watch.populated(server)
        before = watch.resident(server)
        after = []
        for turn in (1, 2):
            clients = [values.Client(server) for _ in keys]
            for _ in range(2):
                order = rng.sample(range(CONNECTIONS), CONNECTIONS)
                sent = {}
                for i in order:
                    sent[i] = values.make(keys[i], rng.randrange(1 << 30), rng.randrange(64, 100))
                    clients[i].socket.sendall(
                        b"set %s 0 0 %d noreply\r\n" % (keys[i], len(sent[i])) + sent[i] + b"\r\n"
                        b"get %s\r\n" % keys[i]
                    )
                for i in order:
                    assert clients[i].reply() == sent[i]
            assert watch.descriptors(server) == fds + CONNECTIONS
            most = watch.resident(server)
            for client in clients:
                client.close()
            assert watch.settle(lambda: watch.descriptors(server), fds) == fds
            after.append(watch.resident(server))
            print(f"turn {turn}: {fds + CONNECTIONS} descriptors, {most:.1f} MiB; "
                  f"after it {fds} and {after[-1]:.1f} MiB, before it {before:.1f} MiB")  # fmt: skip
        # 1 KiB for each connection, and the log that the writes filled.
        assert after[0] - before <= 12, "memory of closed connections is kept"
        assert after[1] - after[0] <= 4, "memory of closed connections is lost"


def test_one_too_many():
    """Beyond -c: memcached's words, the others go on, and there is room again when one leaves."""
    limit, refusals = 20, []
    for server in (reference.memcached(connections=limit), reference.soft(connections=limit)):
        try:
            clients = [values.Client(server) for _ in range(2 * limit)]
            served, refused = [], set()
            for client in clients:
                # Words that came before it was sent away are read all the same.
                said = client.line(b"version\r\n")
                if said == b"VERSION 1.6.38\r\n":
                    served.append(client)
                    continue
                refused.add(said)
                with contextlib.suppress(ConnectionResetError):
                    assert client.file.read() == b""
            refusals.append(refused)
            if server.name == "soft":
                assert len(served) == limit
            served.pop().close()

            def again():
                with server.connect() as s:
                    s.sendall(b"version\r\n")
                    try:
                        return s.recv(100) == b"VERSION 1.6.38\r\n"
                    except ConnectionResetError:
                        return False

            assert watch.settle(again, True), "no room where one left"
        finally:
            server.stop()
    assert refusals[0] == refusals[1] and len(refusals[0]) == 1, refusals


def test_no_descriptor_left():
    """Clients wait until there is one: the server forgets none and rests meanwhile."""
    with reference.soft() as server:
        first = values.Client(server)

        def stats(*names):
            reply = reference.ask(first.socket, b"stats\r\n", b"END\r\n").decode()
            found = dict(line.split()[1:] for line in reply.splitlines()[:-1])
            return [int(found[name]) for name in names]

        stats()  # The first one has its descriptor.
        limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        few = watch.descriptors(server) + 5
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (few, limit[1]))
        waiting = [values.Client(server) for _ in range(20)]
        for client in waiting:
            client.socket.sendall(b"version\r\n")

        def served():
            return [client for client in waiting if reference.readable(client.socket, 0)]

        assert watch.settle(lambda: len(served()), 5) == 5
        assert watch.settle(lambda: stats("accepting_conns", "listen_disabled_num"), [0, 1]) == [0, 1]
        assert watch.share(server) < 0.3, "busy with nothing"
        assert len(served()) == 5
        while waiting:
            assert watch.settle(lambda: len(served()) > 0, True), "forgotten"
            for client in served():
                assert client.file.readline() == b"VERSION 1.6.38\r\n"
                client.close()
                waiting.remove(client)
        assert watch.settle(lambda: stats("accepting_conns"), [1]) == [1]
        assert stats("time_in_listen_disabled_us")[0] > 900_000


def test_half_closed_and_reset_are_no_leak(soft):
    """A client that says it is done, in the middle of a value, is gone."""
    client = values.Client(soft)
    client.get(b"a")
    fds = watch.descriptors(soft)
    for text in (b"", b"get a", b"set a 0 0 100\r\nxyz", b"set a 0 0 1000000\r\n" + b"x" * 300_000):
        with soft.connect() as s:
            s.sendall(text)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(100) == b""
    assert watch.settle(lambda: watch.descriptors(soft), fds) == fds
    client.close()
