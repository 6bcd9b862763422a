"""ingress where hardly any stream comes: long values and lines of odd lengths, the host's last word."""

import itertools
import random

import cocotb
from cocotb.triggers import ClockCycles
from cocotb.utils import get_sim_time

from harness.clock import NEXT_CLOCK, every_clock, start, until
from harness.models import run
from parse.ingress_bench import ITEM_MAX, NOW, RING, Bench, Conn, check, settle, streams
from parse.meta_model import Meta
from parse.text_model import Text

JOB = 8192


@cocotb.test()
async def long_stores(dut):
    """Values that come in several jobs, for every command that stores."""
    def a_store(cmd):
        rest = b" %d" % random.getrandbits(60) if cmd == b"cas" else b""
        n = random.randrange(9000, 20000)
        return cmd + b" key 7 0 %d%s\r\n" % (n, rest) + random.randbytes(n) + b"\r\n"

    data = [b"".join(a_store(cmd) for cmd in random.sample((b"set", b"add", b"replace", b"cas"), 4))
            for _ in range(2)]
    await streams(dut, data, lambda: random.choice((1460, JOB)), pause=0.05)


@cocotb.test()
async def last_two_bytes(dut):
    """Values whose second job would end between the CR and the LF: they stay together."""
    line = b"set key 0 0 %d\r\n"
    full = 2 * JOB - len(line % 16000) - 2  # with its end it fills two jobs
    data = [line % n + random.randbytes(n) + b"\r\nversion\r\n" for n in range(full - 2, full + 4)]
    await streams(dut, data, lambda: 3 * JOB, pause=0, cut=0)


@cocotb.test()
async def blanks(dut):
    """A `get` whose first key is not in its first 8 KiB ends the connection, and so does a `set` in a line
    that is too long, behind which its value has not come."""
    await start(dut)
    bench = Bench(dut, cut=0)
    served = [Conn(b"get" + b" " * n + b"a\r\nversion\r\n") for n in (2100, JOB - 6)]
    ends = [Conn(b"version\r\n" * first + b"get" + b" " * n + b"a\r\nversion\r\n", fin=False)
            for first, n in ((0, JOB - 3), (1, 9000))]
    ends += [Conn(b"version\r\nset" + b" " * 2100 + b"a 0 0 500\r\n", fin=False)]
    for number, conn in enumerate(served + ends):
        every_clock(dut, bench.feed(number, conn, lambda: 3 * JOB))
    await settle(dut, bench)
    for conn in served:
        check(conn.ops, Text(ITEM_MAX, NOW).run(conn.data))
    for conn in ends:
        check(conn.ops, [("reply", "RpVersion")] * conn.data.startswith(b"version"))
        assert conn.closed


@cocotb.test()
async def cr_begins_key(dut):
    """A job ends behind the CR that a key begins with, in a line of which keys have been read already."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0, long_value=0)
    for n in (1, 2, 3):
        conn = Conn(b"get" + b" " * n + b"a " * (JOB // 2 - 3) + b"\rb c\r\nversion\r\n")
        conn.grow = 1  # no reply has a byte, so that there is always room for all of a job's
        every_clock(dut, bench.feed(n, conn, lambda: 3 * JOB))
    await settle(dut, bench)
    for conn in bench.conns.values():
        check(conn.ops, Text(ITEM_MAX, NOW).run(conn.data))


#: None of these is for the fast path.
SLOW = [b"cas key 7 0 5 99\r\nhello\r\n", b"set  " + b"k" * 70 + b" 7 0 5\r\nhello\r\n", b"append key 0  0 3 noreply\r\nabc\r\n",
        b"add key 0 0  66\r\n" + b"v" * 66 + b"\r\n", b"ms key 4 T30 k\r\nwxyz\r\n"]  # fmt: skip


@cocotb.test()
async def cut_at_every_byte(dut):
    """Items whose lines and values the slow path reads, in two pieces that do not come at once."""
    sizes = iter([size for one in SLOW for cut in range(1, len(one)) for size in (cut, len(one) - cut)])
    data = b"".join(one * (len(one) - 1) for one in SLOW)
    await streams(dut, [data], lambda: next(sizes), Meta, wait=(1, 150, 150), cut=0, long_value=0)


@cocotb.test()
async def quiet_and_wrong(dut):
    """A quiet command says what is wrong: there is no CR LF behind the value, there are too many flags."""
    data = b"".join(b"ms key %d q%s\r\n%s" % (n, more, b"v" * n + end)
                    for n in (0, 1, 64, 100) for more in (b"", b" k", b" O7") for end in (b"\r\n", b"xy", b"\rz", b"x\r\n"))
    many = b"".join(b"%s key q%s\r\n" % (cmd, b" k" * n) for cmd in (b"mg", b"md", b"ma") for n in range(15, 24))
    await streams(dut, [data + b"\r\nmn\r\n", many], lambda: random.choice((20, 300)), Meta, cut=0, long_value=0)


@cocotb.test()
async def long_host_lines(dut):
    """Commands for the host as long as it takes them, and longer, in one piece and in many."""
    words = [b"stats " + b"a" * n + b" " + b"b" * m for n in (40, 110, 200)
             for m in (*range(117, 148), 300, 600)]
    data = b"".join(word + b"\r\nversion\r\n" for word in words)
    await streams(dut, [data], lambda: random.choice((50, 1000)))


class LastWord(Bench):
    """The host's answers end their connections."""

    def execute(self, rec, op, key, ops, conn):
        super().execute(rec, op, key, ops, conn)
        if op == "OpHost":
            conn.host[-1]["close"] = 1


def good_ones(dut, bench):
    """Four connections that ask again when they have their replies."""
    async def asks(number, conn):
        bench.conns[number], whole = conn, conn.data
        bench.event("open", number)
        for conn.data in itertools.accumulate(itertools.repeat(whole, 2_500)):
            await bench.feed_on(number, len(whole))
            while conn.used < conn.sent:
                await NEXT_CLOCK

    good = [Conn(b"get key\r\n", fin=False) for n in range(4)]
    for number, conn in enumerate(good, 10):
        every_clock(dut, asks(number, conn))
    return good


def ends(conns):
    for conn in conns:
        check(conn.ops, Text(ITEM_MAX, NOW).run(conn.data))


@cocotb.test()
async def crumbs(dut):
    """A long line of which larger pieces come is read again for each; beside those of which a byte comes at a time good
    ones keep six tenths of their rate."""
    await start(dut)
    bench, starts = Bench(dut, pause=0, cut=0, long_value=0, wait=(2000,)), 0

    async def count():
        nonlocal starts
        while True:
            await NEXT_CLOCK
            starts += int(dut.u_parser.u_byte.start_i.value)

    def line(size):  # the fast path does not know it
        return b"get  " + b"key-of-20-characters " * (size // 21) + b"b\r\n"

    every_clock(dut, count())
    large = Conn(line(3000))
    large.grow = 1
    every_clock(dut, bench.feed(9, large, lambda: 400))
    assert await until(dut, lambda: large.released, 100_000)
    assert starts == 8, "each piece is read when it comes"
    ends([large])

    good = good_ones(dut, bench)

    async def rate(clocks):
        before = sum(len(conn.ops) for conn in good)
        await ClockCycles(dut.clk_i, clocks)
        return (sum(len(conn.ops) for conn in good) - before) / 2 / clocks

    alone = await rate(10_000)
    bench.wait = (400,)
    conns = [Conn(line(1100) + b"version\r\n") for _ in range(3)]
    for number, conn in enumerate(conns):
        sizes, conn.grow = itertools.chain((1000,), itertools.repeat(1)), 1
        every_clock(dut, bench.feed(number, conn, lambda sizes=sizes: next(sizes)))
    await ClockCycles(dut.clk_i, 6_000)  # all of them are read once
    beside = await rate(30_000)
    dut._log.info(f"{1000 * alone:.1f} gets in 1,000 clocks, {1000 * beside:.1f} beside long lines in crumbs")
    assert beside > 0.62 * alone
    await settle(dut, bench)
    ends(conns + good)


@cocotb.test()
async def shares(dut):
    """Those whose jobs take much have two fifths of the clocks, all of them together, beside who asks for little, who keeps
    half of his rate; alone they do not wait for each other."""
    await start(dut)
    bench, line = Bench(dut, pause=0, cut=0, long_value=0, wait=(1,)), b"get" + b" " * 1900 + b"key\r\n"

    def feed(number, data, sizes):
        conn = Conn(data)
        every_clock(dut, bench.feed(number, conn, sizes))
        return conn

    begin = get_sim_time("ns")
    slow = [feed(n, line * 10, lambda: 8000) for n in range(6)]
    await settle(dut, bench)
    ends(slow)
    alone, bytes_ = (get_sim_time("ns") - begin) / 4, 60 * len(line)
    dut._log.info(f"{bytes_} bytes of slow lines alone in {alone:.0f} clocks")
    assert alone < 1.2 * bytes_

    slow, good = [], good_ones(dut, bench)

    def count():
        return get_sim_time("ns") / 4, sum(conn.used for conn in slow), sum(len(conn.ops) for conn in good) // 2

    counts = [count()]
    assert await until(dut, lambda: count()[2] > 500, 100_000)
    counts.append(count())
    slow += [feed(n, line * 9, lambda: 8000) for n in range(6)]
    # Behind the first jobs, each of which is found to be slow.
    for bytes_ in 55_000, 75_000:
        assert await until(dut, lambda bytes_=bytes_: count()[1] > bytes_, 1_000_000)
        counts.append(count())
    (alone, _, first), _, (took, used, done) = ((y - x for x, y in zip(*pair)) for pair in itertools.pairwise(counts))
    dut._log.info(f"{first} gets in {alone:.0f} clocks, {done} beside {used} bytes of slow lines in {took:.0f}")
    assert done / took > 0.5 * first / alone and used > 0.2 * took
    await settle(dut, bench)
    ends(slow + good)


@cocotb.test()
async def little_room(dut):
    """Of a long line whose replies find little room no more is read at a time than what may fit; what needs more
    comes whole."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0, long_value=0)
    more = [b"set key 0 0 %d\r\n" % n + b"v" * n + b"\r\n" for n in (1500, 3000)] + [b"get  " + b"k" * 240 + b" a" * 200 + b"\r\n"]
    conn = Conn(b"get  " + b"key-of-20-characters " * 350 + b"b\r\n" + b"".join(more), fin=False)
    conn.reads, conn.grow = False, 2000
    every_clock(dut, bench.feed(0, conn, lambda: 8000))
    await settle(dut, bench)
    begin, jobs = get_sim_time("ns"), 0
    while conn.used < len(conn.data):
        jobs += 1
        assert jobs < 500
        conn.acked = max(conn.acked, conn.tx - RING + 4096)
        bench.event("acked", 0)
        await settle(dut, bench, quiet=16)
    took = (get_sim_time("ns") - begin) / 4
    dut._log.info(f"{took:.0f} clocks in {jobs} jobs")
    check(conn.ops, Text(ITEM_MAX, NOW).run(conn.data))
    assert jobs > 40 and took < 1500 * jobs


@cocotb.test()
async def host_closes(dut):
    """What comes behind a command whose answer closes the connection is not executed."""
    await start(dut)
    bench = LastWord(dut)
    data = b"version\r\nshutdown\r\nget a\r\n"
    for number in range(4):
        every_clock(dut, bench.feed(number, Conn(data), lambda: 20))
    await settle(dut, bench)
    for conn in bench.conns.values():
        check(conn.ops, [("reply", "RpVersion"), ("host", b"shutdown")])
        assert conn.closed and conn.released


def test_corners():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
