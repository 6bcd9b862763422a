"""Frames get lost, doubled, late and damaged between network and card; the bytes stay right."""

from dataclasses import replace

import pytest

from e2e import badlink, differ, loss, reference, stream, test_tap
from e2e.conftest import scale

DAMAGE = {
    "loss": "drop=0.01",
    "doubles": "dup=0.02",
    "order": "reorder=0.02",
    "damage": "damage=0.01",
    "everything": "drop=0.01,dup=0.01,reorder=0.01,damage=0.01",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_streams(memcached, seed, kind):
    impair = f"{DAMAGE[kind]},seed={seed}"
    server = reference.wirekv("--impair", impair)
    silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 60
    try:
        run = differ.Differ(memcached, server, label=f"{kind}_{seed}")
        generator = stream.Generator(
            seed, prefix=kind.encode() + b":", value_budget=1 << 20, reply_budget=2 << 20
        )
        while run.commands < scale(600, 20_000):
            run.run(generator.burst())
        run.close()
    finally:
        differ.SILENCE_SECONDS = silence
        code = server.stop()
    assert code == 0, server.tail()


def test_long_values(seed):
    """Long values there and back through losses."""
    server = reference.wirekv("--impair", f"{DAMAGE['everything']},seed={seed}")
    try:
        value = stream.Generator(seed).blob[: scale(200_000, 1_000_000)]
        with server.connect() as s:
            for _ in range(scale(1, 10)):
                line = b"set v 0 0 %d\r\n" % len(value)
                reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=120)
                reply = reference.ask(s, b"get v\r\n", b"\r\nEND\r\n", seconds=120)
                assert reply == b"VALUE v 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n"
    finally:
        assert server.stop() == 0, server.tail()


@pytest.mark.skipif(test_tap._why_not is not None, reason=test_tap._why_not or "")
@pytest.mark.parametrize("kind", ("loss", "order"))
def test_kernel(seed, kind):
    """4 MB from the kernel's TCP and back: what comes early is kept, so not all of it is sent again."""
    server = reference.wirekv("--impair", f"{DAMAGE[kind]},seed={seed}", net="tap")
    try:
        value = stream.Generator(seed, value_budget=1 << 20).blob[:1_000_000]
        with server.connect() as s:
            for i in range(4):
                line = b"set v%d 0 0 %d\r\n" % (i, len(value))
                reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=120)
            for i in range(4):
                reply = reference.ask(s, b"get v%d\r\n" % i, b"\r\nEND\r\n", seconds=120)
                assert reply == b"VALUE v%d 0 %d\r\n" % (i, len(value)) + value + b"\r\nEND\r\n"
            assert int(reference.stats(server, "card")["TcpOooKept"]) > 0
    finally:
        assert server.stop() == 0, server.tail()


@pytest.mark.skipif(test_tap._why_not is not None, reason=test_tap._why_not or "")
@pytest.mark.parametrize("kind", loss.KINDS)
def test_long_way(seed, kind):
    """Megabytes each way over 20 ms and 20 Mb/s, to the card and to Linux. How long that takes is noise in a
    test: loss.py measures it."""
    if not badlink.possible():
        pytest.skip("no network namespace")
    value = stream.Generator(seed).blob[: loss.VALUE_BYTES]
    for server in ("card", "linux") if kind == "clean" else ("card",):
        with badlink.behind(server) as (client, link):
            for way in loss.WAYS:
                quality = replace(loss.KINDS[kind], seed=seed)
                loss.transfer(client, link, way, quality, value, scale(1, loss.VALUES))
