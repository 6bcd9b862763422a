"""Clients that write all that they have to ask before they read anything, as redis-py's pipelines do. Redis keeps the
replies, and so does the soft body, in the store's memory, where they are bounded."""

import socket

from harness import reference, watch
from harness.resp import servers, wire
from harness.memory import BESIDE, EACH, MEGABYTES

VALUE = b"x" * 100
REPLY = b"$100\r\n" + VALUE + b"\r\n"


def asks(server, count, *mores):
    """A client that has written so many GETs."""
    client = wire.Client(server)
    assert client("SET", "value", VALUE) == b"OK"
    client.socket.sendall(wire.request(b"GET", b"value") * count)
    for more in mores:
        client.socket.sendall(more)
    return client


def takes(client, length):
    got = bytearray(client.data)
    while len(got) < length and (piece := client.socket.recv(1 << 20)):
        got += piece
    return bytes(got)


def test_300000_at_once(redis):
    """With memory for half of the replies beside the store's own this would be more than -m says."""
    count = 300_000
    with servers.soft(megabytes=MEGABYTES) as server:
        # What comes behind them has its turn, too, and so has the client's end.
        more = wire.request(b"SET", b"behind", b"1") + wire.request(b"GET", b"behind")
        clients = [asks(each, count, more) for each in (redis, server)]
        clients[1].socket.shutdown(socket.SHUT_WR)
        want = REPLY * count + b"+OK\r\n$1\r\n1\r\n"
        for client in clients:
            assert takes(client, len(want)) == want
        assert clients[1].socket.recv(1) == b""
        most = watch.peak(server)
        print(f"at most {most:.1f} MiB")
        assert most <= MEGABYTES + BESIDE + 2 * EACH
        for client in clients:
            client.close()


def test_more_than_half_of_the_memory():
    """Then the client is closed, which is told; the others and their items are not concerned. Their replies
    wait, too, and are taken in time."""
    with servers.soft(megabytes=MEGABYTES) as server:
        good = wire.Client(server)
        for i in range(100):
            good("SET", f"good{i}", b"%d" % i * 100)
        client = wire.Client(server)
        client("SET", "value", VALUE)
        requests = wire.request(b"GET", b"value") * 10_000
        sent = 0
        try:
            # Redis would keep 1 GB.
            while sent < 10_000_000:
                client.socket.sendall(requests)
                sent += 10_000
                asked = [(b"GET", b"good%d" % (i % 100)) for i in range(1000)]
                assert good.many(asked) == [b"%d" % (i % 100) * 100 for i in range(1000)]
        except ConnectionError:
            pass
        assert 300_000 <= sent < 2_000_000
        most = watch.peak(server)
        print(f"closed after {sent} requests; at most {most:.1f} MiB")
        assert most <= MEGABYTES + BESIDE + 2 * EACH
        server.port, port = server.memcached[1], server.port
        assert reference.stats(server)["unread_kicks"] == "1"
        server.port = port
        assert "bytes of replies wait for it" in server.tail()
        good.close()
        client.close()


def test_long_values(redis):
    """Those are where they are, and short ones between them; what was deleted since is still said."""
    server = servers.soft(megabytes=MEGABYTES)
    values = [bytes([i]) * size for i, size in enumerate((10, 1100, 9_000, 40_000, 500_000))]
    asked = [(b"GET", b"key%d" % (i % len(values))) for i in range(150)]
    with server:
        said = []
        for each in (redis, server):
            client = wire.Client(each)
            for i, value in enumerate(values):
                client("SET", f"key{i}", value)
            if each is redis:
                said.append(client.many([*asked, (b"DEL", b"key4")]))
            else:
                # A small receive buffer: the replies have to wait in the server.
                client.close()
                client.socket = socket.socket()
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.socket.settimeout(60)
                client.socket.connect(each.address)
                client.socket.sendall(b"".join(wire.request(*words) for words in [*asked, (b"DEL", b"key4")]))
                other = wire.Client(each)
                assert watch.settle(lambda: other("EXISTS", "key4"), 0) == 0
                said.append([client.reply() for _ in range(len(asked) + 1)])
                other.close()
            client.close()
        assert said[0] == said[1]
