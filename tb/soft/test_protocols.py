"""Random streams of all that memcached speaks: the soft body must give the same bytes back."""

import random

import pytest

from harness import differ, reference
from harness.fixtures import ended_well
from harness.memcached import compare, generate, packets, values
from harness.size import scale
from harness.threads import together


@pytest.mark.parametrize("protocol", compare.KINDS)
def test_one_connection(memcached, soft, seed, protocol):
    for server in (memcached, soft):
        reference.empty(server)
    compare.run((memcached, soft), protocol, seed, scale(20_000, 180_000))


@pytest.fixture(scope="module")
def four_threads():
    yield from ended_well(reference.soft(threads=4))


@pytest.mark.parametrize("protocol", ["text", "binary"])
def test_connections_at_once(memcached, four_threads, seed, protocol):
    """Sixteen connections on four threads, each with keys of its own."""
    servers = (memcached, four_threads)
    for server in servers:
        reference.empty(server)
    compare.together(servers, protocol, seed, scale(16_000, 50_000), 16)


def test_shared_keys(four_threads, seed):
    """Sixteen connections write, read and delete the same few keys, on four threads. What is read
    is always one whole value that someone wrote, and the newest of a writer only grows."""
    keys, commands = [b"shared%d" % i for i in range(8)], scale(500, 10_000)
    reference.empty(four_threads)

    def work(me):
        rng = random.Random(seed + me)
        client = values.Client(four_threads)
        newest = {}  # (key, writer) -> the newest turn seen
        for turn in range(commands):
            key = rng.choice(keys)
            # Values in one piece, values received in pieces, values sent from the store.
            size = rng.choice([100, 1000, 3000, 30_000, 300_000])
            r = rng.random()
            if r < 0.45:
                value = values.make(key, turn << 8 | me, size)
                assert client.set(key, value) == b"STORED\r\n"
                newest[key, me] = turn
            elif r < 0.5:
                assert client.line(b"delete %s\r\n" % key) in (b"DELETED\r\n", b"NOT_FOUND\r\n")
            elif (value := client.get(key)) is not None:
                version = values.version(key, value)
                writer, of = version & 0xFF, version >> 8
                assert of >= newest.get((key, writer), 0), f"{key}: an old value is back"
                newest[key, writer] = of
        client.close()

    together(16, work)


def test_shared_counter(four_threads):
    """No increment is lost, be it of whichever protocol."""
    each = scale(500, 20_000)
    client = values.Client(four_threads)
    client.set(b"counter", b"0")
    # The binary increment of `counter` by 1: key, delta, initial value, expiry time "never made".
    binary = b"\x80\x05\0\x07\x14\0\0\0\0\0\0\x1b" + bytes(12)
    binary += (1).to_bytes(8, "big") + bytes(8) + b"\xff" * 4 + b"counter"

    def work(i):
        mine = values.Client(four_threads)
        for _ in range(each):
            if i % 3 == 0:
                assert mine.line(b"incr counter 1\r\n")[:1].isdigit()
            elif i % 3 == 1:
                assert mine.line(b"ma counter\r\n") == b"HD\r\n"
            else:
                mine.socket.sendall(binary)
                assert mine.file.read(32)[6:8] == b"\0\0"
        mine.close()

    together(6, work)
    assert client.get(b"counter") == b"%d" % (6 * each)
    client.close()


@pytest.mark.parametrize("option", ["-C", "-F", "-odrop_privileges"])
def test_options(seed, option):
    """The same streams where CAS uniques, flush_all or most system calls are switched off."""
    servers = []
    try:
        servers += [reference.memcached(option), reference.soft(option)]
        for protocol in ("text", "binary"):
            options = {"history": 1 << 30, "prefix": protocol.encode()}
            compare.run(servers, protocol, seed, scale(3000, 20_000), **options)
    finally:
        for server in servers:
            server.stop()


def test_a_difference_is_found(memcached, soft):
    """The harness: what only one server holds shows."""
    with soft.connect() as s:
        reference.ask(s, b"set only 0 0 1\r\nx\r\n", b"STORED\r\n")
    play = differ.BinaryDiffer(memcached, soft, label="soft_found")
    burst = generate.Binary(1).burst()
    burst.commands = [packets.packet(0x0C, b"only")]
    burst.cuts = []
    with pytest.raises(differ.Mismatch, match="--body soft --kind binary"):
        play.run(burst)
    play.close()
