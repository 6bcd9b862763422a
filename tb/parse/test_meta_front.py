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


def test_meta():
    run(__file__, "front", ["rtl/lib/lib.f", "rtl/parse/front.f"], Conns=16)
