"""ingress: streams of meta commands, among classic ones, cut anywhere give the requests, keys and items that memcached
would see."""

import random

import cocotb

from harness.models import run
from harness.size import scale
from harness.structs import T
from parse.ingress_bench import ITEM_MAX, at_a_glance, streams
from parse.meta_model import Meta, a_coded, a_meta, a_usual, nearly_usual
from parse.text_model import a_command, a_key

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
        flags = random.choice((b"", b" k", b" Oabc k", b" s c Oxyz T7 F9", b" MA N100 k", b" q O1", b" C77 k", b" E99 k"))
        return b"ms %s %d%s\r\n%s\r\n" % (a_key(0), size, flags, random.randbytes(size))
    sizes = [JOB - d for d in range(0, 110, 9)] + [8193, 16384, 20000, 50000, ITEM_MAX]
    data = []
    for _ in range(2):
        random.shuffle(sizes)
        data.append(b"".join(a_store(n) + a_mix(broken=False) for n in sizes) + a_store(9000))
    await streams(dut, data, lambda: random.choice((100, 1460, 8000)), Meta, pause=0.05)


@cocotb.test()
async def meta_uniques(dut):
    """CAS uniques, 0 among them, times that are given twice and opaque tokens at their limit, in every command."""
    data = b"".join(b"%s k%s%s\r\n%s" % (cmd, b" 1" * (cmd == b"ms"), flags, b"x\r\n" * (cmd == b"ms"))
                    for cmd in (b"ms", b"md", b"ma", b"mg")
                    for flags in (b" C0", b" C1", b" C18446744073709551615", b" E0 c", b" E1 C0 c", b" C0 N0 E0 J0 D0", b" T0 R0 F0", b" T7", b" q C0 k", b"",
                                  b" R30 T7", b" T7 R30", b" O" + b"o" * 31, b" O" + b"o" * 32))
    await streams(dut, [data], lambda: 500, Meta, pause=0, cut=0, long_value=0)


@cocotb.test()
async def coded_keys(dut):
    """Keys in base64, right ones and wrong ones, `b` anywhere, and values in several jobs."""
    letters = b"AZaz09+/=!\xff"
    def one():
        key = random.choice((a_coded(random.randbytes(random.randrange(1, 190)), True),
                             bytes(random.choices(letters, k=random.randrange(1, 13)))))
        flags = random.sample((b"b", b"k", b"q", b"T7", b"O1"), random.randrange(1, 6))
        size = random.choice((0, 9, 200)) if random.random() < 0.98 else 9000
        return random.choice((
            b"ms %s %d %s\r\n%s\r\n" % (key, size, b" ".join(flags), random.randbytes(size)),
            b"%s %s %s\r\n" % (random.choice((b"mg", b"md", b"ma")), key, b" ".join(flags))))
    data = [b"".join(one() for _ in range(scale(80, 150))) for _ in range(3)]
    data.append(b"".join(b"mg %s b\r\n" % four for n in range(81) for four in [bytes(b"ZZ="[n // 3**i % 3] for i in range(4))]))
    # What no text has, at each place of a key's four letters and behind it, and what is nearly that.
    data.append(b"".join(b"mg %s k b\r\nmg YWFh b\r\n" % a_coded(b"a" * n + bytes([byte]) + b"b" * (n % 3), False)
                         for n in range(8) for byte in (0, 9, 10, 11, 13, 32, 33, 0x8A, 0xA0)))
    data[-2] += b"".join(b"mg %s k b\r\n" % (head + tail) for head in (b"YWE=", b"YQ==", b"YWFh", b"Y===") for tail in (b"YWFh", b"Y===", b"Y"))
    await streams(dut, data, lambda: random.choice((5, 100, 1460, 5000)), Meta, pause=0.05)


@cocotb.test()
async def coded_far(dut):
    """A line whose `b` stands far behind its key is read again, while what follows it comes in, if it ends within
    2,560 bytes."""
    def jobs(gaps, key):
        return [b"mg %s%sb k\r\n" % (key, b" " * gap) + b"mg a k\r\n" * 300 for gap in gaps]
    near, far = (1, 100, 1000, 2000, 2400, 2550), (2551, 2600, 4000)
    await streams(dut, jobs(near + far, b"YWFh"), lambda: JOB, Meta, pause=0, cut=0, long_value=0,
                  reads=jobs(near, b"YWFh") + jobs(far, b"no"))


@cocotb.test()
async def lanes(dut):
    """The forms that the fast path reads, with keys of every length at every lane, one job a command."""
    commands = [one for n in range(1, 66) for one in (
        b"mg %s v\r\n" % (b"k" * n), b"mg %s\r\n" % (b"k" * n), b"ms %s 3\r\nabc\r\n" % (b"k" * n),
        b"ms %s 100\r\n%s\r\n" % (b"k" * n, b"v" * 100), b"mg %s k\r\n" % (b"k" * n), b"mg %s vv\r\n" % (b"k" * n),
        b"ms %s 4\r\na 12\r\n" % (b"k" * n), b"ms %s 2 q\r\nab\r\n" % (b"k" * n), b"mn\r\n")]
    sizes = iter([len(one) for one in commands])
    await streams(dut, [b"".join(commands)], lambda: next(sizes), Meta, pause=0, cut=0, long_value=0)


@cocotb.test(skip=not T.Config.fast_meta)
async def glance(dut):
    """Long jobs."""
    commands = [one % (b"k" * n) for n in range(1, 41) for one in (
        b"mg %s v\r\n", b"mg %s\r\n", b"ms %s 3\r\nabc\r\n", b"ms %s 12\r\nabc def 12\r\n\r\n",
        b"mg %s v t c f\r\n", b"ms %s 2 T9 F1 I\r\nab\r\n", b"md %s\r\n", b"ma %s v\r\n", b"ma %s\r\n", b"md %s q k Oab\r\n")]
    # The last one is the slow path's.
    await at_a_glance(dut, [*commands, b"mg  k\r\n"], JOB, Meta)


@cocotb.test(skip=not T.Config.fast_meta)
async def usual_flags(dut):
    """Usual flags in any order, at a glance, from every lane on."""
    await at_a_glance(dut, [*(a_usual() for _ in range(scale(300, 600))), b"mg  k\r\n"], JOB, Meta)


@cocotb.test()
async def nearly_usual_flags(dut):
    """Among them some with something odd, cut anywhere, and values that look like them."""
    def one():
        pick = random.random()
        if pick < 0.15:
            value = b"".join(a_usual(key=b"k") for _ in range(3))
            return b"ms k %d q F7 k\r\n%s%s" % (len(value), value, random.choice((b"\r\n", b"\r\n", b"!\n")))
        return nearly_usual() if pick < 0.6 else a_usual()
    data = [b"".join(one() for _ in range(scale(50, 100))) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 5, 20, 63, 64, 65, 100, 1000, 5000)), Meta)


@cocotb.test(skip=not T.Config.fast_meta)
async def flags_rate(dut):
    """A get with eight flags takes 8 clocks."""
    commands = [b"mg key%013d v t c f s k q O9\r\n" % i for i in range(200)]
    bench = await streams(dut, [b"".join(commands)], lambda: JOB, Meta, pause=0, cut=0, long_value=0, wait=(200,))
    times = bench.reqs.times[50:150]
    rate = (times[-1] - times[0]) / (len(times) - 1)
    cocotb.log.info("%.2f clocks a get with eight flags", rate)
    assert rate <= 8.1


def test_meta():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
