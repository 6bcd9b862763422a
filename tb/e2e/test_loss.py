"""Frames get lost, doubled, late and damaged between network and card; the bytes stay right."""

import pytest

from e2e import differ, reference, stream
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
