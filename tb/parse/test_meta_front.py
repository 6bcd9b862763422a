"""front: streams of meta commands, among classic ones, cut anywhere give the requests, keys and items that memcached
would see."""

import random
import sys
from pathlib import Path

import cocotb
from common import run

sys.path.insert(0, str(Path(__file__).parent))
from meta_model import Meta, a_meta  # noqa: E402
from test_front import ITEM_MAX, a_command, a_key, streams  # noqa: E402

JOB = 8192


def a_mix(**options):
    return a_meta(a_key, **options) if random.random() < 0.8 else a_command(host=False, broken=False)


@cocotb.test()
async def whole_metas(dut):
    """Valid commands in large pieces."""
    data = [b"".join(a_mix(broken=False) for _ in range(100)) for _ in range(4)]
    await streams(dut, data, lambda: random.randrange(500, 3000), Meta, pause=0, cut=0, long_value=0)


@cocotb.test()
async def metas_cut_anywhere(dut):
    """Right and wrong ones, cut at random bytes and at random records."""
    data = [b"".join(a_mix() for _ in range(60)) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 2, 5, 20, 100, 1000, 5000)), Meta)


@cocotb.test()
async def long_metas(dut):
    """Values around the size of a job and far beyond, and too large ones, with what their replies show."""
    def a_store(size):
        flags = random.choice((b"", b" k", b" Oabc k", b" s c Oxyz T7 F9", b" MA N100 k", b" q O1", b" C77 k"))
        return b"ms %s %d%s\r\n%s\r\n" % (a_key(0), size, flags, random.randbytes(size))
    sizes = [JOB - d for d in range(0, 110, 9)] + [8193, 16384, 20000, 50000, ITEM_MAX]
    data = []
    for _ in range(2):
        random.shuffle(sizes)
        data.append(b"".join(a_store(n) + a_mix(broken=False) for n in sizes) + a_store(9000))
    await streams(dut, data, lambda: random.choice((100, 1460, 8000)), Meta, pause=0.05)


@cocotb.test()
async def meta_uniques(dut):
    """CAS uniques, 0 among them, and times that are given twice, in every command that has them."""
    data = b"".join(b"%s k%s%s\r\n%s" % (cmd, b" 1" * (cmd == b"ms"), flags, b"x\r\n" * (cmd == b"ms"))
                    for cmd in (b"ms", b"md", b"ma", b"mg")
                    for flags in (b" C0", b" C1", b" C18446744073709551615", b" T7", b" q C0 k", b""))
    await streams(dut, [data], lambda: 500, Meta, pause=0, cut=0, long_value=0)


@cocotb.test()
async def lanes(dut):
    """The forms that the line engine reads, with keys of every length at every lane, one job a command."""
    commands = [one for n in range(1, 66) for one in (
        b"mg %s v\r\n" % (b"k" * n), b"mg %s\r\n" % (b"k" * n), b"ms %s 3\r\nabc\r\n" % (b"k" * n),
        b"ms %s 100\r\n%s\r\n" % (b"k" * n, b"v" * 100), b"mg %s k\r\n" % (b"k" * n), b"mg %s vv\r\n" % (b"k" * n),
        b"ms %s 2 q\r\nab\r\n" % (b"k" * n), b"mn\r\n")]
    sizes = iter([len(one) for one in commands])
    await streams(dut, [b"".join(commands)], lambda: next(sizes), Meta, pause=0, cut=0, long_value=0)


def test_meta():
    run(__file__, "front", ["rtl/lib/lib.f", "rtl/parse/front.f"], Conns=16)
