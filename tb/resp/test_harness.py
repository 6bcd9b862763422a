"""The differential test itself: two Redises must agree, a spoiled one must be found out."""

import itertools
import re

import pytest

from harness import differ
from harness.proxy import Proxy
from harness.resp import compare, generate, play, servers
from harness.size import scale


@pytest.fixture(scope="module")
def second():
    server = servers.redis(name="second")
    yield server
    server.stop()


@pytest.mark.parametrize("protocol", [2, 3, None])
def test_redis_equals_redis(redis, second, seed, protocol):
    # A key that only ours refuses is refused by no Redis.
    compare.run((redis, second), seed, scale(6_000, 200_000), protocol=protocol, long_keys=False)


def test_redis_equals_redis_with_password(seed):
    pair = [servers.redis("--requirepass", "secret", name=name) for name in ("redis", "second")]
    try:
        compare.run(pair, seed, scale(3_000, 50_000), password=b"secret", connections=6, long_keys=False)
    finally:
        for server in pair:
            server.stop()


def once(pattern, replacement, at):
    """A spoiler: the `at`-th match in the replies is replaced."""
    count = itertools.count()
    return lambda data: re.sub(pattern, lambda m: replacement if next(count) == at else m.group(0), data)


@pytest.mark.parametrize(
    "spoil",
    [
        once(rb"\+OK\r\n", b"+QUEUED\r\n", 20),
        once(rb":1\r\n", b":0\r\n", 20),
        once(rb":1\r\n", b":1\r\n:1\r\n", 20),
        once(rb"\+OK\r\n", b"", 20),
        once(rb"\$-1\r\n", b"$0\r\n\r\n", 20),
        once(rb"value1", b"value2", 20),
        once(rb"ERR syntax error", b"ERR syntax", 5),
        once(rb":41([0-9]{8})\r\n", b":4100000000\r\n", 1),
        once(rb":-1\r\n", b":-2\r\n", 5),
        once(rb"embstr", b"raw", 0),
        once(rb"\*-1\r\n", b"*0\r\n", 0),
    ],
    ids=["another reply", "an integer", "one too many", "one is missing", "nothing is empty", "a byte of a value",
         "words of an error", "when it ends", "no time to live", "an encoding", "a watched key has not changed"],
)  # fmt: skip
def test_spoiled_replies_are_found(redis, second, monkeypatch, spoil):
    monkeypatch.setattr(differ, "SILENCE_SECONDS", 2)
    proxy = Proxy(second, spoil)
    try:
        with pytest.raises(differ.Mismatch) as found:
            compare.run((redis, proxy), 5, 40_000, protocol=2, long_keys=False)
        path = re.search(r"python tb resp --replay (\S+)", str(found.value)).group(1)
        assert play.load(path), "the replay file is empty"
    finally:
        proxy.close()


def test_replay_file_keeps_the_stream():
    generator = generate.Generator(7)
    bursts = [generator.burst() for _ in range(50)]
    assert play.load(play.save(bursts, "round_trip")) == bursts
