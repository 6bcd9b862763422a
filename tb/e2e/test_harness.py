"""The differential test itself: two memcacheds must agree, a spoiled one must be found out."""

import itertools
import re

import pytest

from harness import differ, reference
from harness.memcached import stream
from harness.proxy import Proxy
from harness.size import scale


@pytest.fixture(scope="module")
def second():
    server = reference.memcached()
    server.name = "second"
    yield server
    server.stop()


def drive(theirs, ours, seed, commands, **options):
    run = differ.Differ(theirs, ours, label="harness")
    generator = stream.Generator(seed, **options)
    try:
        while run.commands < commands:
            run.run(generator.burst())
    finally:
        run.close()
    return run


def test_memcached_equals_memcached(memcached, second, seed):
    run = drive(memcached, second, seed, scale(20_000, 200_000))
    assert len(run.uniques[1].pairs[0]) > 100, "the streams hardly use CAS"


def test_memcached_equals_memcached_udp(memcached, second, seed):
    run = differ.UdpDiffer(memcached, second, label="harness_udp")
    generator = stream.Generator(seed, udp=True, prefix=b"u:")
    for _ in range(1000):
        run.run(generator.datagram())
    run.close()


def once(pattern, replacement, at):
    """A spoiler: the `at`-th match in the replies is replaced."""
    count = itertools.count()

    def replace(match):
        return replacement if next(count) == at else match.group(0)

    return lambda data: re.sub(pattern, replace, data)


@pytest.mark.parametrize(
    "name, spoil",
    [
        ("a reply for another", once(rb"NOT_STORED\r\n", b"STORED\r\n", 5)),
        ("a reply too many", once(rb"DELETED\r\n", b"DELETED\r\nDELETED\r\n", 5)),
        ("a missing reply", once(rb"TOUCHED\r\n", b"", 5)),
        ("an old CAS unique", once(rb"(?<= )[0-9]+(?=\r\nv)", b"1", 40)),
        ("a byte of a value", once(rb"\r\nvv", b"\r\nvw", 10)),
        ("no padding after decr", once(rb"(?<=[0-9]) \r\n", b"\r\n", 2)),
        ("other words of an error", once(rb"bad data chunk", b"bad command line format", 5)),
    ],
)
def test_spoiled_replies_are_found(memcached, second, name, spoil):
    proxy = Proxy(second, spoil)
    differ_silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 2
    try:
        with pytest.raises(differ.Mismatch) as found:
            drive(memcached, proxy, 1, 20_000, prefix=name.encode().replace(b" ", b"_"))
        path = re.search(r"python tb replay (\S+)", str(found.value)).group(1)
        assert differ.load(path), "the replay file is empty"
    finally:
        differ.SILENCE_SECONDS = differ_silence
        proxy.close()


def test_replay_file_keeps_the_stream(tmp_path):
    generator = stream.Generator(7)
    bursts = [generator.burst() for _ in range(50)]
    assert differ.load(differ.save(bursts, "round trip")) == bursts
