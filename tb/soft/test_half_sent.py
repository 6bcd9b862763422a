"""Values that are announced and do not come, or come slowly: nobody else loses anything."""

import pytest

from harness import reference, watch
from harness.fixtures import ended_well
from harness.memcached import values
from harness.memory import BESIDE, EACH, MEGABYTES

ITEMS = 20_000


@pytest.fixture(params=["memcached", "soft"])
def server(request):
    yield from ended_well(getattr(reference, request.param)(megabytes=MEGABYTES))


def fill(client, size=1000):
    """20,000 items; each is stored."""
    for start in range(0, ITEMS, 500):
        keys = [b"item%d" % i for i in range(start, start + 500)]
        lines = [b"set %s 0 0 %d\r\n%s\r\n" % (k, size, values.make(k, 0, size)) for k in keys]
        client.socket.sendall(b"".join(lines))
        assert all(client.file.readline() == b"STORED\r\n" for _ in keys)


def left(client, size=1000):
    """Items that are there."""
    keys = [b"item%d" % i for i in range(ITEMS)]
    found = []
    for start in range(0, ITEMS, 100):
        client.socket.sendall(b"".join(b"get %s\r\n" % key for key in keys[start : start + 100]))
        found += [client.reply() for _ in keys[start : start + 100]]
    assert all(value in (None, values.make(key, 0, size)) for key, value in zip(keys, found))
    return sum(value is not None for value in found)


def half_sent(server, count, announced, sent, command=b"set slow%d 0 0 %d\r\n"):
    """Clients that send so many bytes of a value and then nothing more."""
    clients = [values.Client(server) for _ in range(count)]
    for i, client in enumerate(clients):
        client.socket.setblocking(False)
        data = command % (i, announced) + b"x" * sent
        while data:
            try:
                data = data[client.socket.send(data) :]
            except BlockingIOError:
                break  # it is not read: that is the server's to decide
        client.socket.settimeout(60)
    return clients


@pytest.mark.parametrize(
    "count, announced, sent", [(60, 1_048_000, 0), (260, 1_000_000, 261_000), (400, 20_000, 19_000)]
)
def test_announced(server, count, announced, sent):
    """They hold what they have sent at most, in a small part of the memory: no item is lost, and no
    value of another client is refused, be it short or long."""
    good = values.Client(server)
    fill(good)
    slow = half_sent(server, count, announced, sent)
    said = {good.set(b"new%d" % i, b"y" * 1000) for i in range(200)}
    if server.name == "soft":
        said |= {good.set(b"long%d" % i, b"y" * 300_000) for i in range(40)}
    kept = left(good)
    print(f"{server.name}: {kept} of {ITEMS} left, sets of another client: {said}")
    assert said == {b"STORED\r\n"} and kept == ITEMS
    if server.name == "soft":
        assert watch.peak(server) <= MEGABYTES + BESIDE + count * EACH
    for client in slow:
        client.close()
    # Nothing of theirs is left behind.
    assert good.set(b"last", b"z" * 1_000_000) == b"STORED\r\n"
    good.close()
