"""Frames get lost, doubled, late and damaged between network and card; the bytes stay right."""

import contextlib
import random
import socket
import threading
import time
from dataclasses import replace

import pytest

from harness import badlink, differ, loss, reference
from harness.memcached import stream
from harness.size import scale
from harness.tap import needs_tap

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
        while run.commands < scale(400, 20_000):
            run.run(generator.burst())
        run.close()
    finally:
        differ.SILENCE_SECONDS = silence
        code = server.stop()
    assert code == 0, server.tail()


def test_long_values(seed):
    """Long values there and back through losses."""
    with reference.wirekv("--impair", f"{DAMAGE['everything']},seed={seed}") as server:
        value = stream.Generator(seed).blob[: scale(200_000, 1_000_000)]
        with server.connect() as s:
            for _ in range(scale(1, 10)):
                line = b"set v 0 0 %d\r\n" % len(value)
                reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=120)
                reply = reference.ask(s, b"get v\r\n", b"\r\nEND\r\n", seconds=120)
                assert reply == b"VALUE v 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n"


@needs_tap
@pytest.mark.parametrize("kind", ("loss", "order"))
def test_kernel(seed, kind):
    """4 MB from the kernel's TCP and back: what comes early is kept, so not all of it is sent again."""
    with reference.wirekv("--impair", f"{DAMAGE[kind]},seed={seed}", net="tap") as server:
        value = stream.Generator(seed, value_budget=1 << 20).blob[:1_000_000]
        with server.connect() as s:
            for i in range(4):
                line = b"set v%d 0 0 %d\r\n" % (i, len(value))
                reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=120)
            for i in range(4):
                reply = reference.ask(s, b"get v%d\r\n" % i, b"\r\nEND\r\n", seconds=120)
                assert reply == b"VALUE v%d 0 %d\r\n" % (i, len(value)) + value + b"\r\nEND\r\n"
            assert int(reference.stats(server, "card")["TcpOooKept"]) > 0


@needs_tap
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


def take(slow, enough, most):
    """Reads up to so many bytes of each that has some and not yet enough; whether anybody had."""
    some = False
    for s, got in slow:
        if len(got) < enough and reference.readable(s, 0):
            piece = s.recv(most)
            assert piece, f"closed behind {len(got)} bytes"
            got += piece
            some = True
    return some


def test_crowd(memcached, seed):
    """All of the card's connections at once over a wire that loses, doubles, delays and damages frames; one in sixteen asks for
    megabytes and reads them slowly. Each has keys of its own, so that every reply of everybody is known."""
    server = reference.wirekv("--impair", f"{DAMAGE['everything']},seed={seed}")
    silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 120
    count, threads = scale(64, 1024), 16
    value = stream.Generator(seed).blob[:100_000]
    failures, commands, lock = [], [], threading.Lock()
    slow = []

    def some(number):
        """A thread's share of the connections, in turn."""
        rng, runs = random.Random(f"{seed} {number}"), []
        try:
            for i in range(count // 16 + number, count, threads):
                runs.append(differ.Differ(memcached, server, label=f"crowd_{seed}_{i}"))
                runs[-1].generator = stream.Generator(seed + i, b"%d:" % i, flush=False, pipeline=32,
                                                      value_budget=20_000, reply_budget=20_000)  # fmt: skip
                # Whose ACK is lost and who says nothing for two minutes is reset: all speak at once.
                runs[-1].run(runs[-1].generator.burst())
            ready.wait()
            while sum(run.commands for run in runs) < scale(600, 200_000) / threads and not failures:
                run = rng.choice(runs)
                run.run(run.generator.burst())
        except BaseException as e:
            failures.append(e)
            ready.abort()  # so that nobody waits for it
        finally:
            with lock:
                commands.append(sum(run.commands for run in runs))
            for run in runs:
                run.close()

    ready = threading.Barrier(threads + 1)
    try:
        with server.connect(timeout=120) as s:
            line = b"set huge 0 0 %d\r\n" % len(value)
            reference.ask(s, line + value + b"\r\n", b"STORED\r\n", seconds=120)
        expect = (b"VALUE huge 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n") * scale(2, 10)
        for _ in range(count // 16):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(120)
            s.connect(server.address)
            s.sendall(b"get huge\r\n" * scale(2, 10))
            slow.append((s, bytearray()))
        crowd = [threading.Thread(target=some, args=(n,)) for n in range(threads)]
        for thread in crowd:
            thread.start()
        with contextlib.suppress(threading.BrokenBarrierError):
            ready.wait()
        # A little of each, now and then; in the end, all.
        while any(thread.is_alive() for thread in crowd):
            take(slow, len(expect), 1_000)
            time.sleep(0.1)
        last = time.monotonic()
        while any(len(got) < len(expect) for _, got in slow):
            if take(slow, len(expect), 1 << 16):
                last = time.monotonic()
            assert time.monotonic() - last < 120, "all who read slowly wait"
            time.sleep(0.001)
        assert all(got == expect for _, got in slow)
    finally:
        for s, _ in slow:
            s.close()
        differ.SILENCE_SECONDS = silence
        code = server.stop()
    print(f"{sum(commands)} commands on {count} connections")
    if failures:
        raise failures[0]
    assert code == 0, server.tail()
