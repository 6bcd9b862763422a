"""front: streams of Redis' protocol cut anywhere give the requests, keys, items and text for the host that they hold."""

import random
import sys
from pathlib import Path

import cocotb
from common import run, start

sys.path.insert(0, str(Path(__file__).parent))
from resp_model import Resp, a_command, encode  # noqa: E402
from test_front import ITEM_MAX, NOW, Bench, Conn, check, settle, streams  # noqa: E402
from text_model import Text  # noqa: E402

JOB = 8192


async def speak(dut, data, sizes, **options):
    await streams(dut, data, sizes, Resp, redis=True, **options)


@cocotb.test()
async def whole(dut):
    """Commands in large pieces."""
    data = [b"".join(a_command(odd=False) for _ in range(150)) for _ in range(4)]
    await speak(dut, data, lambda: random.randrange(500, 3000), pause=0, cut=0, long_value=0)


@cocotb.test()
async def cut_anywhere(dut):
    """What gates run and what they do not, cut at random bytes and at random records."""
    data = [b"".join(a_command() for _ in range(50)) for _ in range(8)]
    await speak(dut, data, lambda: random.choice((1, 2, 5, 20, 100, 1000, 5000)))


@cocotb.test()
async def by_its_port(dut):
    """The port decides, not the bytes."""
    streams_ = [encode(b"GET", b"k"), b"\x80\r\n", b"get a\r\n" + encode(b"SET", b"k", b"get a\r\n"), b"get a\r\n"]
    await start(dut)
    bench, wants = Bench(dut), {}
    for number, stream in enumerate(streams_ * 2):
        model = Resp if number < 4 else Text
        if number == 5:
            continue
        wants[number] = model(ITEM_MAX, NOW).run(stream)
        cocotb.start_soon(bench.feed(number, Conn(stream, redis=number < 4), lambda: 1))
    await settle(dut, bench)
    for number, want in wants.items():
        check(bench.conns[number].ops, want)


@cocotb.test()
async def seeming_starts(dut):
    """Arguments full of what commands begin with, in commands that the byte engine reads and may read again."""
    def full(size):
        return (encode(b"GET", b"") * size)[:size]
    data = [b"".join(encode(b"MGET", *[full(n)] * 30) + encode(b"mset", full(n), full(2000)) + encode(b"ECHO", full(2000))
                     for n in (250, 249, 100, 40))] * 2
    await speak(dut, data, lambda: random.choice((1460, 5000)))


@cocotb.test()
async def long_values(dut):
    """Values around the size of a job and far beyond, and too large ones."""
    def a_store(size):
        name = random.choice((b"SET", b"SETNX", b"APPEND", b"mset"))
        return encode(name, random.randbytes(random.randrange(1, 60)), random.randbytes(size))
    sizes = [JOB - d for d in range(0, 110, 9)] + [8193, 16384, 20000, 50000, ITEM_MAX - 40]
    data = []
    for _ in range(3):
        random.shuffle(sizes)
        data.append(b"".join(a_store(n) + a_command() for n in sizes) + a_store(9000))
    await speak(dut, data, lambda: random.choice((100, 1460, 8000)), pause=0.05)


@cocotb.test()
async def many_keys(dut):
    """MGET of more keys than a job holds."""
    def an_mget(count):
        return encode(b"MGET", *(random.randbytes(random.randrange(1, 80)) for _ in range(count)))
    data = [a_command() + an_mget(n) + a_command() for n in (100, 300, 450, 900)]
    await speak(dut, data, lambda: random.choice((100, 1460, 8000)), pause=0.05, cut=0.01, long_value=0.005)


@cocotb.test()
async def slow_sender(dut):
    """What comes in small pieces: a value with an option behind it, a number that has no end."""
    data = [encode(b"SET", b"k", random.randbytes(1500), b"NX") * 3, b"*" + b"0" * 40 + b"1\r\n$4\r\nPING\r\n"]
    await speak(dut, data, lambda: random.randrange(1, 200), cut=0)


@cocotb.test()
async def longer_than_a_job(dut):
    """What gates do not run, and does not fit into a job, ends the connection."""
    data = [encode(b"GET", b"a") + one + encode(b"GET", b"b") for one in (
        encode(b"ECHO", b"x" * JOB), encode(b"SET", b"k", b"v" * JOB, b"NX"), b"x" * (JOB + 1) + b"\r\n",
        encode(*[b"DEL"] + [b"k" * 100] * 90), encode(b"MGET", *[b"k" * 100] * 40, b"x" * 251))]
    await start(dut)
    bench = Bench(dut, cut=0)
    for number, stream in enumerate(data):
        cocotb.start_soon(bench.feed(number, Conn(stream, redis=True), lambda: 3000))
    await settle(dut, bench)
    for number in range(len(data)):
        check(bench.conns[number].ops, [("get", b"a", False, None, "RfBulk"), ("reply", "RpTooLong", "")])
        assert bench.conns[number].closed


@cocotb.test()
async def databases(dut):
    """SELECT holds for what follows, also within its job; once another database than 0 was chosen FLUSHDB is the host's."""
    data = encode(b"FLUSHDB") + b"".join(
        encode(b"GET", b"a") + encode(b"select", b"%d" % n) + encode(b"SET", b"k", b"v") + encode(b"RESET") + encode(b"GETDEL", b"k")
        for n in (0, 1, 7, 15)) + encode(b"FLUSHDB")  # fmt: skip
    await start(dut)
    bench, want = Bench(dut, cut=0, choose=False), Resp(ITEM_MAX, NOW).run(data)
    want[-1] = ("host", encode(b"FLUSHDB"))
    cocotb.start_soon(bench.feed(0, Conn(data, redis=True), lambda: 5000))
    await settle(dut, bench)
    check(bench.conns[0].ops, want)
    stored = [item["db"] for item in bench.items.values()]
    assert stored == [0, 1, 7, 15], stored


@cocotb.test()
async def lanes(dut):
    """Keys of every length at every lane, one job a command."""
    commands = [one for n in range(1, 66) for one in (
        encode(b"GET", b"k" * n), encode(b"SET", b"k" * n, b"abc"), encode(b"set", b"k" * n, b""), encode(b"INCR", b"k" * n),
        encode(b"MGET", b"k" * n, b"j" * n), encode(b"EXISTS", b"k" * n), encode(b"setnx", b"k" * n, b"12345678901"))]
    sizes = iter([len(one) for one in commands])
    await speak(dut, [b"".join(commands)], lambda: next(sizes), pause=0, cut=0, long_value=0)


def test_resp():
    run(__file__, "front", ["rtl/lib/lib.f", "rtl/parse/front.f"], Conns=16)
