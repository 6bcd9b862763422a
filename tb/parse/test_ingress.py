"""ingress: byte streams cut anywhere give the requests, keys and items that memcached would see."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, clocks, every_clock, start, until
from harness.csr_map import COUNTERS
from harness.models import run
from harness.size import scale
from harness.streams import to_beats
from harness.structs import T
from parse.ingress_bench import ITEM_MAX, M32, NOW, RING, Bench, Conn, check, settle, streams
from parse.text_model import Text, a_command, a_key


@cocotb.test()
async def whole_lines(dut):
    """Valid commands, in large pieces, without cuts."""
    data = [b"".join(a_command(host=False, broken=False) for _ in range(60)) for _ in range(4)]
    await streams(dut, data, lambda: random.randrange(500, 3000), pause=0, cut=0, long_value=0)


@cocotb.test()
async def cut_anywhere(dut):
    """Broken and valid commands, cut at random bytes and at random records."""
    data = [b"".join(a_command() for _ in range(scale(20, 40))) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 2, 5, 20, 100, 1000, 5000)))


@cocotb.test()
async def short_memory(dut):
    """The same with a memory that answers at once."""
    data = [b"".join(a_command() for _ in range(scale(15, 25))) for _ in range(6)]
    await streams(dut, data, lambda: random.choice((1, 64, 1460, 1460)), latency=1, cut=0.1)


@cocotb.test()
async def long_values(dut):
    """Values around the size of a job and far beyond."""
    def a_set(n, cmd=b"set"):
        return cmd + b" %s %d 0 %d\r\n" % (a_key(0), random.randrange(3), n) + \
            random.randbytes(n) + random.choice((b"\r\n", b"\r\n", b"\r\n", b"xx"))
    sizes = [8192 - d for d in range(0, 60, 7)] + [8100, 8192, 8193, 16384, 20000, 50000, 100000]
    stores = b"set", b"add", b"append", b"prepend"
    data = []
    for _ in range(4):
        random.shuffle(sizes)
        data.append(b"".join(a_set(n, random.choice(stores)) + a_command(broken=False)
                             for n in sizes) + a_set(9000))  # nothing comes behind the last one
    await streams(dut, data, lambda: random.choice((100, 1460, 8000)), pause=0.05)


@cocotb.test()
async def slow_log(dut):
    """The log takes an item's bytes when it likes to, and the record waits for them: also of a last part that is short."""
    data = [b"".join(b"set k 0 0 %d\r\n%s\r\n" % (n, random.randbytes(n)) for n in range(8180, 8250, 7)) for _ in range(2)]
    await streams(dut, data, lambda: 8192, pause=0.8, cut=0)


@cocotb.test()
async def ends_at_a_job(dut):
    """Requests, and their last parts, that end about where a job of the largest size does: between CR and
    LF, too."""
    data = []
    for jobs in (1, 2):
        text = b""
        for extra in random.sample(range(-3, 5), 8):
            digits = b"%d" % (jobs * 8000)
            head = b"%s key 3 0 " % random.choice((b"set", b"add", b"append"))
            n = jobs * 8192 + extra - len(head) - len(digits) - 4
            text += head + b"%d\r\n" % n + random.randbytes(n) + b"\r\n"
        data.append(text + a_command(broken=False))
    await streams(dut, data, lambda: random.choice((8192, 8193, 30000)), pause=0)


@cocotb.test()
async def long_lines(dut):
    """`get` lines of many keys, with and without a key too long; others are closed. What begins like no
    command, and has no line's end in all the lines that are kept."""
    keys = [b"%d" % random.randrange(10 ** random.randrange(1, 30)) for _ in range(scale(600, 1000))]
    many = b"gets " + b" ".join(keys) + b"\r\nversion\r\n"
    bad = b"get " + b"x" * 9000 + b" y\r\nversion\r\n"
    short_bad = b"get a b " + b"x" * 400 + b" y\r\nget b\r\n"
    timed = b"".join(b"%s 100 %s\r\n" % (word, b" ".join(keys[:100])) for word in (b"gat", b"gats") * 8) + b"version\r\n"
    tiny = b"gets" + b" a" * scale(2000, 3000) + b"\r\nversion\r\n"
    odd = (b"delete a\r\n   gets " + b" ".join(keys)[:6000] + b"\r\n") * scale(2, 4) + b"version\r\n"
    await streams(dut, [many, timed, bad, short_bad, tiny, odd, *scale([], [many, tiny + tiny])],
                  lambda: random.choice((700, 1460, 5000)), cut=0.002, long_value=0.001)


@cocotb.test()
async def limits(dut):
    """Numbers, keys, items and words as long as they may be, and a little longer."""
    keys = [b"k" * n for n in (249, 250, 251, 252, 256)]
    numbers = [b"%d" % (n + d) for n in (0, 1 << 31, 1 << 32, 1 << 63, 1 << 64, 10**31, 2592000)
               for d in (-1, 0, 1)]
    numbers += [b"-" + n for n in numbers if n[0] != b"-"[0]] + [b"+0", b"-0", b"0" * 31, b"0" * 32]
    lines = [b"%s %s %s" % (cmd, key, rest) for key in keys for cmd, rest in (
        (b"get", b"a"), (b"gets", b""), (b"gat 5", b""), (b"set", b"0 0 0"), (b"incr", b"1"),
        (b"touch", b"5"), (b"delete", b""))]
    lines += [line % n for n in numbers for line in (
        b"incr a %s", b"touch a %s", b"gat %s a", b"set a %s 0 0", b"set a 0 %s 0", b"flush_all %s",
        b"cas a 0 0 0 %s", b"verbosity %s")]
    lines += [b"delete" + rest for rest in (
        b"", b" noreply", b" a noreply", b" a 0", b" a 0 noreply", b" a noreply 0", b" a 5",
        b" a 0 noreply x")]
    lines += [b"delete" + b" " * n + b"noreply" for n in (2, 60, 70)]
    lines += [b"touch a 5 " + b"x" * n + b"noreply" for n in range(130)]
    random.shuffle(lines)
    data = b"".join(line + b"\r\n" * (1 + line.startswith((b"set", b"cas"))) for line in lines)
    # A small limit of the items' size; what is too large is swallowed to its end.
    sets = b"".join(b"set key %d 0 %d\r\n" % (flags, size) + b"y" * size + b"\r\n"
                    for size in range(332, 341) for flags in (0, 1))
    await start(dut)
    bench = Bench(dut)
    dut.item_max_i.value = 400
    for number, stream in enumerate((data, sets)):
        every_clock(dut, bench.feed(number, Conn(stream), lambda: random.randrange(1, 3000)))
    await settle(dut, bench)
    for number, stream in enumerate((data, sets)):
        check(bench.conns[number].ops, Text(400, NOW).run(stream))
        assert bench.conns[number].closed and bench.conns[number].released


@cocotb.test()
async def lanes(dut):
    """Words that end in every lane of what is read at once, and behind it; one line after the other."""
    lines = [line % (b"k" * n) + b"\r\n" for n in range(1, 64) for line in (
        b"get %s", b"gets %s b", b"gat 1234567890 %s", b"set %s 12 3456789 3\r\nabc",
        b"set %s 4234567890 1987654321 3\r\nabc",
        b"add %s 1 2 0003 noreply\r\nabc", b"incr %s 9876543210", b"delete %s", b"delete %s noreply",
        b"touch %s 8 noreply", b"cas %s 12 3456789 3 1234567890123456\r\nabc", b"cas %s 1 2 3 0\r\nabc",
        b"cas %s 1 2 3 98765432109876543\r\nabc", b"cas %s 1 2 3 77 noreply\r\nabc", b"cas %s 1 2 3\r\nabc",
        b"cas %s 1 2 3 -7\r\nabc", b"cas %s 1 2 3  7\r\nabc", b"cas %s 1 2 03 007\r\nabc")]
    sizes = iter([len(line) for line in lines])
    await streams(dut, [b"".join(lines)], lambda: next(sizes), pause=0, cut=0, long_value=0)


@cocotb.test()
async def cas_and_rests(dut):
    """Jobs that go on with a value half sent, behind such that end with a cas."""
    one = b"cas a 0 0 1 77\r\nx\r\n"
    data = [(one + b"get b\r\n" + one) * 40] * 4
    sizes = lambda: random.choice((len(one), 2 * len(one) + 7, 60, 1000))  # noqa: E731
    await streams(dut, data, sizes, pause=0, cut=0.2, long_value=0.5)


@cocotb.test()
async def values(dut):
    """SETs of all sizes, one behind another, most of them larger than what has come when they are read;
    some have no CR LF behind their data."""
    def a_set():
        n = random.choice((0, 1, 63, 64, 65, 126, 500, 1000, 1900, 1920, random.randrange(1921)))
        return b"set %d 1 0 %d\r\n" % (random.getrandbits(30), n) + random.randbytes(n) + \
            random.choice((b"\r\n", b"\r\n", b"\r\n", b"xx"))
    data = [b"".join(a_set() for _ in range(60)) for _ in range(3)]
    await streams(dut, data, lambda: random.randrange(500, 8000), cut=0, long_value=0)


@cocotb.test()
async def key_and_cr(dut):
    """A line's LF comes by itself, behind keys about as long as they may be."""
    # What has come is looked at only where the line is longer than 2,048 bytes.
    lines = [b"get " + b"%d " % random.getrandbits(300) * keys + b"k" * size + b"\r\n"
             for keys in (1, 25) for size in (248, 249, 250, 251, 252)]
    await start(dut)
    bench = Bench(dut, cut=0)
    conns = [Conn(line[:-1], fin=False) for line in lines]
    for i, conn in enumerate(conns):
        every_clock(dut, bench.feed(i, conn, lambda: RING))
    await settle(dut, bench)
    for i, (conn, line) in enumerate(zip(conns, lines)):
        assert not conn.ops or len(line) > 2048
        conn.data = line
        every_clock(dut, bench.feed_on(i, 1))
    await settle(dut, bench)
    for conn, line in zip(conns, lines):
        check(conn.ops, Text(ITEM_MAX, NOW).run(line))


@cocotb.test()
async def line_ends(dut):
    """What a client sends last ends with a line of memory, or one byte before or behind it."""
    await start(dut)
    bench = Bench(dut, cut=0)
    data = b"version\r\n" * 9 + b"get abc\r\n"
    for i in range(9):
        conn = Conn(data)
        conn.rx0 = conn.rx0 - (conn.rx0 + len(data)) % 64 + i % 3 - 1 & M32
        every_clock(dut, bench.feed(i, conn, lambda: len(data)))
    await settle(dut, bench)
    for conn in bench.conns.values():
        check(conn.ops, Text(ITEM_MAX, NOW).run(data))
        assert conn.closed and conn.released


@cocotb.test()
async def endless_line(dut):
    """A line that is no `get`, nor `gets`, and has no end closes the connection, and so does quit."""
    await start(dut)
    bench = Bench(dut)
    ends = [b"version\r\n" + b"x" * 5000, b"get a\r\nquit\r\nget b\r\n" + b"y" * 70000,
            b"version\r\nset a 0 0 10\r\nabc", b"get a\r\nget unfinished", b"stats\r\nquit\r\n",
            b"bget b\r\nbget a" + b" " * 3000]
    wants = [[("reply", "RpVersion")], [("get", b"a", False, None), ("end",)],
             [("reply", "RpVersion")], [("get", b"a", False, None), ("end",)],
             [("host", b"stats")], [("get", b"b", False, None), ("end",)]]
    for i, data in enumerate(ends):
        every_clock(dut, bench.feed(i, Conn(data), lambda: 1000))
    await settle(dut, bench)
    for i, want in enumerate(wants):
        check(bench.conns[i].ops, want)
        assert bench.conns[i].closed and bench.conns[i].released, i


@cocotb.test()
async def browsers(dut):
    """HTTP/ at a line's end closes the connection, where the line begins like no command."""
    ends = [b"HTTP/1.1", b"GET / HTTP/1.1", b"xx HTTP/", b"  xx   HTTP/1.0  ", b"xx HTTP/" + b"1" * 100,
            b"x" * 100 + b" HTTP/1.1", b"xx" + b" " * 70 + b"HTTP/1.1", b"xx HTTP/\0 a",
            b"xx" + b" a" * 21 + b" HTTP/1.0", b"xx" + b" a" * 21 + b" HTTP/1.0 b", b"mxx HTTP/1.1"]
    stays = [b"x HTTP/1.1", b"gett HTTP/1.1", b"set HTTP/1.1", b"mx HTTP/1.1", b"xx HTTP", b"xx /HTTP/",
             b"xx HTTP/1.1 a", b"xx" + b" a" * 22 + b" HTTP/1.0", b"xx a\0 HTTP/1.1", b"verbosity HTTP/",
             b"replace HTTP/1.1", b"flush_all a b HTTP/", b"xx " + b"1" * 64 + b"HTTP/1.1", b"version HTTP/"]
    datas = [b"get a\r\n" + line + b"\r\nget b\r\n" for line in ends] + \
        [b"".join(line + b"\r\nget a\r\n" for line in stays)]
    bench = await streams(dut, datas, lambda: random.choice((1, 20, 1000)), cut=0)
    for i in range(len(ends)):
        assert len(bench.conns[3 * i % 16].ops) == 2, ends[i]


@cocotb.test(skip=not T.Config.udp)
async def datagrams(dut):
    """UDP and TCP together; datagrams that are no requests are ignored, those that begin as replies do among them."""
    await start(dut)
    bench = Bench(dut, pause=0.1)
    want, peers, families = [], [], []
    data = b"".join(a_command() for _ in range(60))
    every_clock(dut, bench.feed(5, Conn(data), lambda: random.randrange(1, 2000)))
    firsts = [first for first in range(256) if first != 0x80]
    replies = *range(ord("A"), ord("Z") + 1), *range(ord("0"), ord("9") + 1), 0x81
    for turn in range(len(firsts) + scale(100, 300)):
        body = b"".join(a_command(host=False) for _ in range(random.choice((1, 1, 2, 5))))[:8900]
        if random.random() < 0.1:
            body = body[: random.randrange(len(body))]
        if turn < len(firsts):
            body = bytes([firsts[turn]]) + b"\r\n"
        total = 1 if random.random() < 0.95 else random.choice((0, 2, 256))
        reqid = random.getrandbits(16)
        frame = reqid.to_bytes(2, "big") + random.randbytes(2) + total.to_bytes(2, "big") + \
            random.randbytes(2) + body
        if random.random() < 0.05:
            frame = frame[: random.randrange(1, 9)]
        peer = {"mac": random.getrandbits(48), "ip": random.getrandbits(32), "ours": random.getrandbits(2),
                "port": random.getrandbits(16)}
        for beat in to_beats(frame):
            bench.dgrams.put({"": {"peer": peer, "len": len(frame)}, "beat": beat})
        if len(frame) > 8 and total == 1 and body[0] not in replies:
            text = Text(ITEM_MAX, NOW, udp=True)
            want.append(text.run(body))
            peers.append((peer["ip"], peer["port"], reqid))
            families.append(int(peer["ours"] > 0))
    await settle(dut, bench)
    assert len(bench.udp_ops) == len(want) + 1
    assert bench.udp_six == families
    for got, ops in zip(bench.udp_ops, want):
        check(got, ops)
    got = [(u[""]["peer"]["ip"], u[""]["peer"]["port"], u[""]["reqid"]) for u in bench.uctxs.items]
    assert got == peers
    check(bench.conns[5].ops, Text(ITEM_MAX, NOW).run(data))


@cocotb.test()
async def slow_reader(dut):
    """A connection that does not acknowledge waits alone, and goes on where it was."""
    await start(dut)
    bench = Bench(dut, cut=0.02)
    datas = [b"".join(a_command() for _ in range(n)) for n in (0, *scale((25, 25, 25), (80, 80, 80)))]
    wants = [Text(ITEM_MAX, NOW).run(data) for data in datas]
    while len(wants[0]) < 100:  # the replies to the slow one's are more than its ring holds
        datas[0] = b"".join(a_command() for _ in range(200))
        wants[0] = Text(ITEM_MAX, NOW).run(datas[0])
    slow = Conn(datas[0])
    slow.reads, slow.grow = False, 3000
    every_clock(dut, bench.feed(0, slow, lambda: 3000))
    for i in (1, 2, 3):
        every_clock(dut, bench.feed(i, Conn(datas[i]), lambda: random.randrange(1, 3000)))
    await settle(dut, bench)
    for i in (1, 2, 3):
        check(bench.conns[i].ops, wants[i])
    assert 0 < len(slow.ops) < len(wants[0])
    assert RING - 4096 < slow.tx - slow.acked <= RING
    slow.reads = True
    slow.acked = slow.tx
    bench.event("data", 0, "acked")
    await settle(dut, bench)
    check(slow.ops, wants[0])
    assert slow.closed and slow.released


@cocotb.test()
async def slow_host_reader(dut):
    """The host's answers to a connection that does not acknowledge keep nobody else's waiting."""
    await start(dut)
    bench = Bench(dut, cut=0.02)
    data = b"stats\r\n" * 300
    want = Text(ITEM_MAX, NOW).run(data)
    slow = Conn(data)
    slow.reads, slow.grow = False, 700
    others = [Conn(data[: len(data) // 10]) for _ in range(3)]
    every_clock(dut, bench.feed(0, slow, lambda: 3000))
    await settle(dut, bench)
    assert 0 < len(slow.ops) < len(want) and not slow.asked
    for i, conn in enumerate(others, 1):
        every_clock(dut, bench.feed(i, conn, lambda: random.randrange(1, 300)))
    await settle(dut, bench)
    for conn in others:
        check(conn.ops, want[: len(want) // 10])
        assert conn.closed and conn.released
    slow.reads = True
    slow.acked = slow.tx
    bench.event("acked", 0)
    await settle(dut, bench)
    check(slow.ops, want)


@cocotb.test()
async def lost_connections(dut):
    """Connections end at any time, with jobs and host answers on their way; ids are used again."""
    await start(dut)
    bench = Bench(dut)
    done = [0]

    async def life(number):
        for _ in range(12):
            data = b"".join(random.choice((b"stats\r\n", a_command())) for _ in range(20))
            conn = Conn(data, fin=False)
            task = every_clock(dut, bench.feed(number, conn, lambda: random.randrange(1, 900)))
            await clocks(dut, 1 + random.randrange(1500))  # it has begun
            task.cancel()
            conn.open = False
            bench.event("closed", number)
            assert await until(dut, lambda: conn.released, 20_000), "the id is not given back"
            assert not conn.asked
            want = Text(ITEM_MAX, NOW).run(data)
            check(conn.ops, want[: len(conn.ops)])
            done[0] += len(conn.ops)

    lives = [cocotb.start_soon(life(number)) for number in range(8)]
    for task in lives:
        await task
    await settle(dut, bench)
    assert dut.idle_o.value and done[0] > 100


@cocotb.test()
async def value_gone(dut):
    """A value that was overwritten while it was sent resets its connection."""
    await start(dut)
    bench = Bench(dut, cut=0, long_value=0)
    conn = Conn(b"version\r\nget a\r\nget b\r\n" * 50, fin=False)
    conn.abort = True
    every_clock(dut, bench.feed(9, conn, lambda: 100))
    await settle(dut, bench)
    assert conn.reset and not conn.released
    check(conn.ops, [("reply", "RpVersion"), ("get", b"a", False, None), ("end",)])
    conn.open = False
    bench.event("closed", 9)
    await settle(dut, bench)
    assert conn.released


@cocotb.test(skip=not T.Config.udp)
async def rates(dut):
    """Clocks per request with nothing in the way: of the best 30 in a row, since connections and jobs have to begin."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0, long_value=0)

    def clocks_of(times):
        return min(end - begin for begin, end in zip(times, times[30:])) / 30

    async def over_tcp(data, number, n):
        conn = Conn(data, fin=False)
        every_clock(dut, bench.feed(number, conn, lambda: len(data)))
        await settle(dut, bench)
        assert len(conn.ops) >= n
        return clocks_of(bench.reqs.times[-n:])

    get = await over_tcp(b"get abcdef\r\n" * 200, 1, 200)
    put = await over_tcp(b"set abcdef 0 0 100\r\n" + (b"x" * 100 + b"\r\nset abcdef 0 0 100\r\n") *
                         60 + b"x" * 100 + b"\r\n", 2, 60)
    frame = b"\0\1\0\0\0\1\0\0get abcdef\r\n"
    n = len(bench.reqs.times)
    for _ in range(100):
        for beat in to_beats(frame):
            bench.dgrams.put({"": {"len": len(frame)}, "beat": beat})
    await settle(dut, bench)
    udp = clocks_of(bench.reqs.times[n:][::2])
    dut._log.info(f"clocks: get {get:.2f}, set of 100 bytes {put:.2f}, UDP get {udp:.2f}")
    assert get <= 1.1 and put <= 2.5 and udp <= 2.1

    async def latency(valid):
        edge, count = RisingEdge(dut.clk_i), 0
        while not valid.value:
            await edge
        while not dut.req_valid_o.value:
            await edge
            count += 1
        return count

    task = cocotb.start_soon(latency(dut.dgram_valid_i))
    for beat in to_beats(frame):
        bench.dgrams.put({"": {"len": len(frame)}, "beat": beat})
    udp = await task
    await settle(dut, bench)
    task = cocotb.start_soon(latency(dut.ev_valid_i))
    conn = bench.conns[1]
    conn.data += b"get abcdef\r\n"
    for i in range(conn.sent, len(conn.data)):
        conn.ring[(conn.rx0 + i) % RING] = conn.data[i]
    conn.sent = len(conn.data)
    bench.event("data", 1)
    tcp = await task
    dut._log.info(f"latency: UDP {udp}, TCP {tcp} of which memory {bench.latency}")
    assert udp <= 22 and tcp <= 34 + bench.latency


@cocotb.test()
@cocotb.parametrize(refuse=[0.01, 0.2])
async def bad_reads(dut, refuse):
    """Lines that memory could not read: their job is named until it is over, and only its connection
    is reset; what came before it counts."""
    await start(dut)
    bench = Bench(dut, refuse=refuse, cut=0)
    wants = []
    for i in range(16):
        data = b"".join(a_command(host=False, broken=False) for _ in range(40))
        wants.append(Text(ITEM_MAX, NOW).run(data))
        every_clock(dut, bench.feed(i, Conn(data), lambda: random.randrange(100, 3000)))
    await settle(dut, bench)
    for i, want in enumerate(wants):
        conn = bench.conns[i]
        assert conn.abort == conn.reset and (conn.reset or conn.closed)
        check(conn.ops, want[: len(conn.ops)] if conn.abort else want)
    assert any(conn.abort for conn in bench.conns.values())


@cocotb.test()
async def bad_behind_the_end(dut):
    """A job ends in front of a value that goes on beyond it. What memory can't read of that value then, and can when
    it is read for the next job, harms nobody."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0, long_value=0)
    data = b"".join(b"set k 0 0 1500\r\n" + random.randbytes(1500) + b"\r\n" for _ in range(6)) + b"get b\r\n"
    for i in range(4):
        conn = Conn(data)
        bench.refused.add((i, (conn.rx0 + 8191) % RING // 64))
        every_clock(dut, bench.feed(i, conn, lambda: RING))
    await settle(dut, bench)
    assert not bench.refused
    for conn in bench.conns.values():
        assert not conn.abort and conn.closed
        check(conn.ops, Text(ITEM_MAX, NOW).run(data))


@cocotb.test()
async def refused_writes(dut):
    """Writes to the rings that memory refuses are counted, and nobody's jobs are named for them."""
    await start(dut)
    bench, named = Bench(dut, cut=0), []
    every_clock(dut, watch(dut, named))
    for i in range(4):
        data = b"".join(a_command(host=False, broken=False) for _ in range(20))
        every_clock(dut, bench.feed(i, Conn(data), lambda: random.randrange(100, 3000)))
    for _ in range(3):
        dut.wr_bad_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.wr_bad_i.value = 0
        await RisingEdge(dut.clk_i)
    await settle(dut, bench)
    assert named.count("write") == 3 and "job" not in named
    assert all(conn.closed and not conn.reset for conn in bench.conns.values())


async def watch(dut, seen):
    """Of each clock: a write is counted as refused, a job is named as bad."""
    index = list(COUNTERS["ingress"]).index("IngressCountBadWrites")
    while True:
        await NEXT_CLOCK
        if int(dut.count_o.value) >> index & 1:
            seen.append("write")
        if dut.bad_valid_o.value:
            seen.append("job")


def test_ingress():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
