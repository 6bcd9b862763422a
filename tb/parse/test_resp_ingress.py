"""ingress: streams of Redis' protocol cut anywhere give the requests, keys, items and text for the host that they hold."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, clocks, every_clock, start, until
from harness.models import run
from harness.size import scale
from harness.streams import to_beats
from harness.structs import T
from parse.ingress_bench import HOST, ITEM_MAX, NOW, Bench, Conn, at_a_glance, check, settle, streams
from parse.resp_model import INLINE, Resp, a_command, a_key, cased, encode
from parse.text_model import Text

JOB = 8192
#: What an inline command's words may have.
PRINTS = sorted({*range(0x21, 0x100)} - {*b"\"'"})


async def speak(dut, data, sizes, **options):
    await streams(dut, data, sizes, Resp, redis=True, **options)


@cocotb.test()
async def whole(dut):
    """Commands in large pieces."""
    data = [b"".join(a_command(odd=False) for _ in range(scale(80, 150))) for _ in range(4)]
    await speak(dut, data, lambda: random.randrange(500, 3000), pause=0, cut=0, long_value=0)


@cocotb.test()
async def glance(dut):
    """Long jobs, names in any case."""
    commands = [encode(cased(words[0]), *words[1:]) for key in (b"k" * n for n in range(1, 41)) for words in (
        (b"GET", key), (b"STRLEN", key), (b"EXISTS", key), (b"SET", key, b"v" * len(key)), (b"SETNX", key, b"v"),
        (b"APPEND", key, b"v"), (b"DEL", key), (b"UNLINK", key), (b"INCR", key), (b"DECR", key), (b"MGET", key, b"l"),
        (b"TTL", key), (b"PTTL", key), (b"PING",))]
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


@cocotb.test()
async def glance_at_numbers(dut):
    """Numbers of one to nine digits behind the key, and values behind them, as long as all but the value has 64 bytes."""
    commands = [encode(cased(words[0]), *words[1:]) for n in range(1, 28) for key in (b"k" * n,)
                for number in (b"%d" % random.randrange(1, 10 ** random.randrange(1, 10)),) for words in (
        (b"INCRBY", key, number), (b"DECRBY", key, number), (b"EXPIRE", key, number),
        (b"SETEX", key, number[:4], b"v" * 9 * n), (b"PSETEX", key, number[:3], b"v" * n))]
    # Or but for the value's length, too.
    commands += [encode(b"SETEX", b"k" * n, b"%d" % random.randrange(1, 10**5), b"v" * random.choice((1, 60, 100, 1000)))
                 for n in range(28, 48) for _ in range(2)]
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


@cocotb.test()
async def glance_at_options(dut):
    """An option of SET behind a value, if that ends 58 bytes behind the command's beginning or later."""
    commands = [encode(cased(b"SET"), b"k" * n, b"v" * size, *map(cased, options)) for n in range(1, 33)
                for size in (50, 60 + n, random.randrange(60, 400), random.choice((64, 1000, 1920)))
                for options in ((random.choice((b"EX", b"PX")), b"%d" % random.randrange(1, 10 ** random.randrange(1, 10))),
                                (random.choice((b"NX", b"XX")),))]
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


def an_inline(most=20):
    """An inline command that gates run."""
    count = random.choice((0, 1, 1, 1, 2))
    words = [random.choice(sorted(INLINE[count]))]
    for _ in range(count):
        words.append(bytes(random.choices(PRINTS, k=random.choice((1, 2, random.randrange(1, most))))))
    return b" ".join([cased(words[0]), *words[1:]]) + (b"\n" if count < 2 and random.random() < .2 else b"\r\n")


@cocotb.test()
async def glance_at_inline(dut):
    """Inline commands of up to 64 bytes, alone and among others."""
    commands = [b"%s %s\r\n" % (cased(name), b"k" * n) for n in range(1, 56) for name in INLINE[1]]
    commands += [b"%s %s %s\r\n" % (cased(name), b"k" * n, b"v" * size) for n in range(1, 26) for size in (1, n, 50 - n)
                 for name in INLINE[2]]  # fmt: skip
    commands += [an_inline() for _ in range(400)] + [b"PING\r\n"] * 40
    commands += [encode(b"SET", b"a", random.choice((b"v" * 9, b"\nGET b\r\n", b"$3\r\nGET a\r\n"))) for _ in range(100)]
    # Behind a dollar that stands where an argument's length would no inline command is looked for.
    commands = [one.replace(b"$", b"_") if one[:1] != b"*" else one for one in commands]
    random.shuffle(commands)
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


@cocotb.test()
async def nearly_inline(dut):
    """Quotes, blanks and controls that part words otherwise, words too many or too few, names that are nearly one, lines
    that are too long, at any lane and cut anywhere; and commands of other forms that look as if they had such in them."""
    def bent():
        line = an_inline(70)
        at, pick = random.randrange(len(line)), random.random()
        if pick < .3:
            return line[:at] + random.choice((b'"', b"'", b"\t", b"\v", b"\f", b"\r", b"\0", b" ", b"  ", b"\x1f", b"\\", b"$3")) + line[at:]
        if pick < .4:
            return line[:at] + line[at + 1 :] if line[at] != 10 else line
        return random.choice((
            b"PING a\r\n", b"GET\r\n", b"GET a b\r\n", b"SET a\r\n", b"SET a b c\r\n", b"PING \r\n", b" PING\r\n", b"GETS a\r\n", b"GE a\r\n",
            b"get " + b"k" * 300 + b"\r\n", b"SET a b\n", b"SET a \r\n", b"SET a b \r\n", b"SET a  b\r\n", b"\r\n", b"PING\r\r\n", b"TTLS\r\n", b"set k v\0\r\n", b"QUITE\r\n", b"EXISTS 'a'\r\n"))  # fmt: skip
    data = []
    for _ in range(6):
        stream = []
        for _ in range(scale(60, 200)):
            pick = random.random()
            stream.append(bent() if pick < .3 else an_inline(70) if pick < .7 else a_command(odd=False) if pick < .8 else
                          encode(b"SET", a_key(), b"".join(an_inline() for _ in range(random.randrange(4)))))
        data.append(b"".join(stream))
    await speak(dut, data, lambda: random.choice((5, 30, 100, 1000, 5000)), pause=0, cut=0, long_value=0)


@cocotb.test()
async def nearly_options(dut):
    """What is nearly an option behind a value, values with what looks like options and commands, and ends in any place."""
    options = [b"$2\r\nEX\r\n$3\r\n123\r\n", b"$2\r\npX\r\n$1\r\n1\r\n", b"$2\r\nEX\r\n$1\r\n0\r\n", b"$2\r\nEX\r\n$2\r\n07\r\n",
               b"$2\r\nGT\r\n$2\r\n17\r\n", b"$2\r\nEX\r\n$2\r\n-1\r\n", b"$2\r\nNX\r\n$2\r\nXX\r\n", b"$2\r\nNX\r\n$3\r\nGET\r\n",
               b"$4\r\nEXAT\r\n$2\r\n17\r\n", b"$2\r\nEX\r\n$2\r\nNX\r\n", b"$2\r\nEXab$2\r\n17\r\n", b"$02\r\nEX\r\n$2\r\n17\r\n"]  # fmt: skip
    single = [b"$2\r\nNX\r\n", b"$2\r\nxx\r\n", b"$2\r\nEX\r\n", b"$3\r\nGET\r\n", b"$7\r\nKEEPTTL\r\n", b"$2\r\nNXab"]
    data = []
    for _ in range(4):
        stream = []
        for n in (*range(1, 40), *range(45, 62), 128):
            k = random.choice((b"k" * n, random.randbytes(n)))
            value = random.choice((b"v", options[0], b"\r\n" + options[0], b"\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n", b"\r\n"))
            value = (b"v" * random.choice((0, 20, 40, 60, 130)) + value * random.choice((1, 3)))[-random.randrange(40, 400) :]
            end = b"xy" if random.random() < .1 else b"\r\n"
            two = random.random() < .6
            option = random.choice(options) if two else random.choice(single)
            if random.random() < .3:
                option = options[0] if two else single[0]
            count = 4 + two if random.random() < .9 else random.choice((3, 4, 5, 6))
            stream.append(b"*%d\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s%s%s" % (count, n, k, len(value), value, end, option))
        kept = [one for one in stream if (Resp(ITEM_MAX, NOW).run(one) or [("host",)])[-1][0] != "host" or random.random() < .3]
        data.append(b"".join(kept))
    await speak(dut, data, lambda: random.choice((30, 100, 1000, 5000)), pause=0, cut=0, long_value=0)


@cocotb.test()
async def nearly_numbers(dut):
    """What is nearly a number behind a key of any length, at any lane, nearly its length, nearly a line's end."""
    tails = [b"$4\r\n1234\r\n", b"$1\r\n0\r\n", b"$1\r\n9\r\n", b"$2\r\n07\r\n", b"$2\r\n-7\r\n", b"$2\r\n+7\r\n", b"$9\r\n999999999\r\n",
             b"$10\r\n9999999999\r\n", b"$3\r\n1x3\r\n", b"$3\r\n12\r\r\n", b"$2\r\n1234\r\n", b"$4\r\n1\r\n2\r\n", b"$2\r\n12xx", b"$3\r\n 12\r\n",
             b"$3\r\n123\r\r", b"$3\r\n123\n\n", b"$01\r\n1\r\n", b"$4\r\r1234\r\n", b"$4ab1234\r\n"]  # fmt: skip
    behind = [b"$3\r\nabc\r\n", b"$0\r\n\r\n", b"$5\r\n$1\r\nx\r\n", b"$12\r\n*1\r\n$4\r\nPING\r\n", b"$03\r\nabc\r\n", b"$\r\n$5\r\nabcde\r\n",
              b"x\r\n$3\r\nabc\r\n", b"$12x\r\n$1\r\na\r\n"]
    data = []
    for end in (b"\r\n", b"xy", b"\r\r", b"$1", b"\n\n"):
        stream = []
        for n in (*range(1, 30), *range(45, 62), 128, 250):
            key = random.choice((b"k" * n, (b"\r\n$4\r\n1234" * n)[-n:], (b"\r\n$4" * n)[-n:], (b"\r\n$" * n)[-n:], random.randbytes(n)))
            for name, count in ((b"INCRBY", 3), (b"EXPIRE", 3), (b"SETEX", 4), (b"SET", 3)):
                tail = random.choice(tails) if random.random() < .6 else tails[0]
                value = random.choice(behind) if random.random() < .6 else behind[0]
                arguments = (tail if name != b"SET" else b"") + (value if name in (b"SETEX", b"SET") else b"")
                stream.append(b"*%d\r\n$%d\r\n%s\r\n$%d\r\n%s%s%s" % (count, len(name), name, n, key, end, arguments))
        # Of what the host gets it is some.
        kept = [one for one in stream if Resp(ITEM_MAX, NOW).run(one)[-1][0] != "host" or random.random() < .3]
        data.append(b"".join(kept))
    # A key's end, the two bytes behind it and one more as a length.
    data.append(b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$123\r\nabc\r\n" % (n + 3, b"k" * n) for n in range(1, 30)))
    await speak(dut, data, lambda: random.choice((30, 100, 1000, 5000)), pause=0, cut=0, long_value=0)


@cocotb.test()
async def cut_anywhere(dut):
    """What gates run and what they do not, cut at random bytes and at random records."""
    data = [b"".join(a_command() for _ in range(scale(25, 50))) + encode(b"PING") * 20 for _ in range(8)]
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
        every_clock(dut, bench.feed(number, Conn(stream, redis=number < 4), lambda: 1))
    await settle(dut, bench)
    for number, want in wants.items():
        ops = bench.conns[number].ops
        check([*Resp(ITEM_MAX, NOW).settled(ops)] if number < 4 else ops, want)


@cocotb.test()
async def all_for_the_host(dut):
    """From the host's word on it gets every command as it is, be it one that gates run, until it has enough; what others
    ask for in between changes nothing."""
    commands = [encode(b"ECHO", b"begin")] + [a_command(odd=False) for _ in range(20)]
    commands = [one for one in commands if len(one) < 3000] + [encode(b"GET", b"a"), encode(b"SET", b"a", b"b")]
    await start(dut)
    bench, many = Bench(dut, cut=0), len(commands) - 2
    for number in range(4):
        conn = Conn(b"".join(commands), redis=True)
        conn.wants_all = lambda answered: int(answered < many)
        every_clock(dut, bench.feed(number, conn, lambda: random.choice((5, 100, 3000))))
    every_clock(dut, bench.feed(5, Conn(encode(b"RESET") * 60, redis=True), lambda: len(encode(b"RESET"))))
    await settle(dut, bench)
    want = [("host", one) for one in commands[:many]] + Resp(ITEM_MAX, NOW).run(b"".join(commands[many:]))
    for number in range(4):
        check(bench.conns[number].ops, want)


@cocotb.test()
async def guarded(dut):
    """Who begins while strangers are not let in has nothing run by gates before the host says so; whoever
    was there before, memcached's clients and the request port are not concerned."""
    commands = [encode(b"GET", b"a"), encode(b"ECHO", b"x" * 9000), b"PING\r\n", encode(b"SET", b"k", b"v" * 20000),
                encode(b"SELECT", b"1"), encode(b"MGET", *[b"k"] * 100), encode(b"AUTH", b"x"), encode(b"RESET")]  # fmt: skip
    data, text = b"".join(commands), b"get a\r\nset k 0 0 1\r\nx\r\n"
    sizes = lambda: random.choice((5, 100, 1460, 5000))  # noqa: E731
    await start(dut)
    bench = Bench(dut, cut=0)
    conns = {0: Conn(data, redis=True), 1: Conn(data, redis=True), 2: Conn(data, redis=True), 3: Conn(text), HOST: Conn(data, redis=True)}
    for number in (1, 2):
        # Until it has had the fifth answer; for ever.
        conns[number].wants_all = lambda answered, number=number: int(number == 2 or answered < 5)
    every_clock(dut, bench.feed(0, conns[0], sizes))
    # It is open then, and the host has not heard of it.
    assert await until(dut, lambda: conns[0].sent, 10_000)
    await clocks(dut, 50)
    dut.guard_i.value = 1
    for number in (1, 2, 3, HOST):
        conns[number].all = int(number in (1, 2))
        every_clock(dut, bench.feed(number, conns[number], sizes))
    await settle(dut, bench)
    for number, hosted in ((0, 0), (1, 5), (2, len(commands)), (HOST, 0)):
        want = [("host", one) for one in commands[:hosted]]
        ops = conns[number].ops
        check(ops[:hosted], want)
        check([*Resp(ITEM_MAX, NOW).settled(ops[hosted:])], Resp(ITEM_MAX, NOW).run(b"".join(commands[hosted:])))
    check(conns[3].ops, Text(ITEM_MAX, NOW).run(text))


@cocotb.test()
async def large_for_strangers(dut):
    """Where gates run nothing the host hears at once that more than ten arguments come, or more than 16 KiB in one, for
    it may have to refuse that; all else, and of those who were let in, when it is complete."""
    large = [encode(b"PING", *[b"x"] * 10), encode(b"PING", *[b"y"] * 11), encode(b"PING", b"x" * 16385), encode(b"SET", b"k", b"x" * 20000)]
    begin = [b"*11\r\n", b"*12\r\n$4\r\nPI", b"*2\r\n$4\r\nPING\r\n$16385\r\n", large[3][:40]]
    begin += [b"*11\r", b"*10\r\n$4\r\nPING\r\n$", b"*2\r\n$4\r\nPING\r\n$16384\r\n", b"*11\r\n$4\r\nPING\r\n"]
    rest = large + [large[0], encode(b"PING", *[b"123456789"] * 9), encode(b"PING", b"x" * 16384), large[0]]
    await start(dut)
    bench = Bench(dut, cut=0)
    dut.guard_i.value = 1
    conns = [Conn(text, fin=False, redis=True) for text in begin]
    for number, conn in enumerate(conns):
        conn.all = int(number < 7)
        conn.wants_all = lambda answered, conn=conn: conn.all
        dut.guard_i.value = conn.all
        every_clock(dut, bench.feed(number, conn, lambda: 1000))
        assert await until(dut, lambda conn=conn: conn.sent == len(conn.data), 10_000)
        await clocks(dut, 50)
    assert await until(dut, lambda: all(conn.leaves for conn in conns[:4]), 10_000)
    await clocks(dut, 3000)
    assert [conn.text for conn in conns] == begin[:4] + [b""] * 4
    assert not any(conn.leaves for conn in conns[4:])
    for number, (conn, text) in enumerate(zip(conns, rest)):
        assert text.startswith(conn.data)
        conn.data = text
        every_clock(dut, bench.feed_on(number, 1460))
    assert await until(dut, lambda: all(conn.ops for conn in conns), 200_000)
    for conn, text in zip(conns, rest):
        check(conn.ops, [("host", text)])


@cocotb.test()
async def paused(dut):
    """In a pause each command is the host's, but for what has begun; then gates run them again. memcached's
    clients and the request port go on."""
    one = lambda: random.choice([encode(b"GET", b"a"), encode(b"SET", b"k", b"v" * random.randrange(300)), encode(b"INCR", b"n"),
                                 encode(b"MGET", b"a", b"b"), encode(b"ECHO", b"x"), encode(b"MSET", b"a", b"b")])  # fmt: skip
    streams_ = [[one() for _ in range(60)] for _ in range(5)]
    long = encode(b"SET", b"k", b"v" * 20000) + encode(b"MGET", *[b"k" * 100] * 500)
    text = b"get a\r\n" * 200
    await start(dut)
    bench = Bench(dut, cut=0, long_value=0)
    numbers = (0, 1, 2, 3, HOST)
    for number, stream in zip(numbers, streams_, strict=True):
        data = (b"" if number else long) + b"".join(stream)
        conn = Conn(data, redis=True)
        every_clock(dut, bench.feed(number, conn, lambda: random.choice((5, 100, 400))))
    every_clock(dut, bench.feed(7, Conn(text), lambda: 50))
    # The first command has begun, and does not become text midway.
    assert await until(dut, lambda: 0 in bench.conns and bench.conns[0].used, 10_000)
    for _ in range(12):
        dut.pause_i.value = 1
        await clocks(dut, random.randrange(20, 2000))
        dut.pause_i.value = 0
        await clocks(dut, random.randrange(20, 500))
    await settle(dut, bench)
    left = 0
    for number, stream in zip(numbers, streams_, strict=True):
        ops = list(bench.conns[number].ops)
        if number == 0:
            want = Resp(ITEM_MAX, NOW).run(long[: long.index(b"*501")])
            check(ops[: len(want)], want)
            ops = ops[len(want) :]
            stream = [long[long.index(b"*501") :], *stream]
        for command in stream:
            want = Resp(ITEM_MAX, NOW).run(command)
            if ops[0] == ("host", command):
                left += want != [ops[0]]
                assert number != HOST or want == [ops[0]]
                ops.pop(0)
            else:
                check(ops[: len(want)], want)
                ops = ops[len(want) :]
        assert not ops
    check(bench.conns[7].ops, Text(ITEM_MAX, NOW).run(text))
    assert left > 5


@cocotb.test()
async def replies_share_segments(dut):
    """tcp is told of host software's replies when no command follows at once, where there is 1 KiB of them, and when host
    software asks about the connection, as it does when an answer takes longer."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0)
    conn = Conn(b"".join(b"PING %d\r\n" % n for n in range(30)), fin=False, redis=True)
    conn.answers, asked = False, []

    async def answer():
        while True:
            while not (conn.host and len(conn.ops) > len(asked) and len(asked) != 40):
                await NEXT_CLOCK
            asked.append(conn.ops[-1])
            conn.host.clear()
            conn.host.append({"conn": 0, "len": 100, "final_piece": 1, "db": conn.db, "three": 0, "all": 0, "close": 0})
            bench.pieces.put({"": conn.host[0]})

    def told():
        return sum(app[""]["conn"] == 0 for app in bench.apps.items)

    every_clock(dut, answer())
    every_clock(dut, bench.feed(0, conn, lambda: JOB))
    assert await until(dut, lambda: len(conn.ops) == 30 and conn.tx == 3000, 20_000)
    # The ends of each KiB, and, when nothing follows, all.
    assert await until(dut, lambda: told() >= 3, 1000) and told() <= 5, told()
    check(conn.ops, Resp(ITEM_MAX, NOW).run(conn.data))
    # Of these ten are answered.
    conn.data += b"PING x\r\n" * 20
    every_clock(dut, bench.feed_on(0, JOB))
    assert await until(dut, lambda: len(conn.ops) == 41, 20_000)
    assert conn.tx == 4000
    for _ in range(2):  # the job has not ended; it has
        before = told()
        bench.pieces.put({"": {"conn": 0, "about": 1}})
        assert await until(dut, lambda: told() == before + 1, 1000)
        await clocks(dut, 200)
        assert told() == before + 1


@cocotb.test()
async def asked_about(dut):
    """The host asks which connections there are, and has some closed: those it means, once all that was asked
    for before is done, and whoever has an id of another one since is not meant."""
    await start(dut)
    bench, told = Bench(dut, cut=0), []

    async def listen():
        while True:
            await NEXT_CLOCK
            if dut.about_valid_o.value:
                about = T.about_t.unpack(int(dut.about_o.value))
                told.append((about["conn"], about["there"]))

    every_clock(dut, listen())

    async def ask(number, kill=0, stranger=0, again=0):
        count = len(told)
        bench.pieces.put({"": {"conn": number, "about": 1, "kill": kill, "stranger": stranger, "three": again}})
        assert await until(dut, lambda: len(told) > count, 20_000) and told[-1][0] == number
        return told[-1][1]

    # Of five: one that never asked, one that was answered, one of memcached's, one whose answer has not come,
    # and one that was left in the middle of an answer.
    quiet, met, text, waits, slow = (Conn(b"", fin=False, redis=n != 2) for n in range(5))
    quiet.data, text.data = encode(b"GET", b"a") * 20, b"get a\r\n"
    met.data = waits.data = slow.data = encode(b"ECHO", b"x") + encode(b"GET", b"b")
    waits.answers = False
    for number, conn in enumerate((quiet, met, text, waits, slow)):
        every_clock(dut, bench.feed(number, conn, lambda: 1000))
    done = await until(dut, lambda: len(met.ops) == 2 and text.ops and len(slow.ops) == 2 and
                       len(quiet.ops) == 20 and waits.ops, 20_000)  # fmt: skip
    assert done, [len(c.ops) for c in (quiet, met, text, waits, slow)]
    await clocks(dut, 100)
    # Who was not told of is not one who was.
    assert [await ask(n, stranger=1, again=1) for n in (0, 3)] == [0, 0]
    assert [await ask(n, stranger=1) for n in (0, 1, 2, 3, 4, 9)] == [1, 0, 0, 1, 0, 0]
    assert [await ask(n, stranger=1, again=1) for n in (0, 1, 2, 3, 4, 9)] == [1, 0, 0, 1, 0, 0]
    assert [await ask(n) for n in (0, 1, 2, 3, 4, 9)] == [0, 1, 0, 0, 1, 0]
    # Who is not meant is not closed; nor is the request port.
    assert [await ask(n, kill=1) for n in (0, 2, 3, 9, HOST)] == [0] * 5
    assert await ask(1, kill=1, stranger=1) == 0
    await clocks(dut, 100)
    assert not any(conn.closed for conn in (quiet, met, text, waits, slow))
    assert await ask(1, kill=1) == 1 and await ask(0, kill=1, stranger=1) == 1
    # The answer comes first, and all that follows it is dropped.
    assert await ask(3, kill=1, stranger=1) == 1
    await clocks(dut, 200)
    assert met.closed and quiet.closed and not waits.closed and not slow.closed
    assert [await ask(n, stranger=s) for n in (0, 1, 3) for s in (0, 1)] == [0] * 6
    bench.pieces.put({"": waits.host[0]})
    await settle(dut, bench)
    assert waits.closed and len(waits.ops) == 1
    # Right behind the first answer.
    fresh = Conn(encode(b"ECHO", b"x"), fin=False, redis=True)
    fresh.answers = False
    every_clock(dut, bench.feed(6, fresh, lambda: 1000))
    assert await until(dut, lambda: fresh.ops, 20_000)
    await clocks(dut, 20)  # then a piece is awaited
    fresh.host[0]["final_piece"] = 1
    bench.pieces.put({"": fresh.host[0]})
    assert await ask(6) == 1
    # Behind many requests in one go, of which none is lost in the middle.
    slow.data += encode(b"GET", b"b") * 2500
    every_clock(dut, bench.feed_on(4, 3000))
    assert await until(dut, lambda: len(slow.ops) >= 60, 20_000)
    assert await ask(4, kill=1) == 1
    await settle(dut, bench)
    assert slow.closed and 60 <= len(slow.ops) < 2502
    # What comes afterwards is read and forgotten.
    for number in (0, 1, 3, 4):
        bench.event("closed", number)
    await settle(dut, bench)
    assert all(conn.released for conn in (quiet, met, waits, slow)) and not text.released
    # Another one has its id.
    for number in (0, 1):
        again = Conn(encode(b"GET", b"b"), fin=False, redis=True)
        every_clock(dut, bench.feed(number, again, lambda: 1000))
        await settle(dut, bench)
        assert await ask(number, kill=1) == 0 == await ask(number, kill=1, stranger=1, again=1)
        assert await ask(number, stranger=1) == 1
    await settle(dut, bench)
    assert not again.closed and await ask(1, stranger=1) == 1


@cocotb.test(skip=not T.Config.udp)
async def held(dut):
    """While the request port holds the store nobody else's bytes become a job and no datagram's: neither of those who have
    sent much, nor of those who begin then, be there a queue or none. It begins first, and when its turn is wanted by the
    next one, too, bytes become a job as soon as they come."""
    data = {number: b"".join(a_command(odd=False) for _ in range(40)) for number in range(4)}
    idle = {number: [a_command(odd=False) for _ in range(9)] for number in (HOST, *range(4, 14))}
    await start(dut)
    bench, job, edge = Bench(dut, pause=0, cut=0), dut.u_scheduler.u_job_size, RisingEdge(dut.clk_i)
    frame = bytes([0, 1, 0, 0, 0, 1, 0, 0]) + b"get a\r\n"
    for number, stream in data.items():
        every_clock(dut, bench.feed(number, Conn(stream, redis=True), lambda: 400))
    for number, commands in idle.items():
        every_clock(dut, bench.feed(number, Conn(commands[0], fin=False, redis=True), lambda: 400))

    def datagrams():
        for beat in to_beats(frame) * 10:
            bench.dgrams.put({"": {"len": len(frame)}, "beat": beat})

    for turn in range(8):
        datagrams()
        await (settle(dut, bench) if turn % 2 else clocks(dut, random.randrange(20, 300)))
        dut.hold_i.value = 1
        await clocks(dut, 4)
        datagrams()
        for number, commands in idle.items():
            bench.conns[number].data += commands[1 + turn]
            every_clock(dut, bench.feed_on(number, len(commands[1 + turn])))
        for _ in range(200):
            await edge
            begins = job.valid_i.value and not job.host_i.value
            assert not (begins and not dut.u_scheduler.act_host_q.value) and not dut.u_fetch.udp_o.value
        dut.hold_i.value = 0
    await settle(dut, bench)
    for number, stream in (data | {number: b"".join(commands) for number, commands in idle.items()}).items():
        check(bench.conns[number].ops, Resp(ITEM_MAX, NOW).run(stream))
    assert len(bench.udp_ops) == 1 + 8 * 20


@cocotb.test()
async def options(dut):
    """Each two options behind each other, times and numbers of every kind, keys at the limit."""
    times = [b"5", b"0", b"-1", b"05", b"x", b"", b"9" * 19, b"9" * 20]
    set_, getex = [[b"NX"], [b"XX"], [b"GET"], [b"KEEPTTL"]], [[b"PERSIST"]]
    units = [[unit, time] for unit in (b"EX", b"PX", b"EXAT", b"PXAT") for time in times[: 2 if unit != b"EX" else None]] + [[b"EX"]]
    when = [[b"NX"], [b"XX"], [b"GT"], [b"LT"]]
    both = lambda kinds: [[], *kinds, *(a + b for a in kinds for b in kinds)]  # noqa: E731
    data = [
        [encode(b"SET", b"k", b"v", *words) for words in both(set_ + units)],
        [encode(b"GETEX", b"k", *words) for words in both(getex + units)],
        [encode(name, b"k", time, *words) for name in (b"EXPIRE", b"PEXPIREAT") for time in times[:3] for words in both(when)]
        + [encode(name, b"k", time, *[b"v"] * (b"SET" in name)) for name in (b"SETEX", b"PSETEX", b"PEXPIRE", b"EXPIREAT", b"INCRBY", b"DECRBY")
           for time in [*times, b"-0", b"+1", b"1 ", b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808"]],
        [encode(*words) for size in (249, 250, 251) for key in [b"k" * size] for words in (
            (b"GET", key), (b"SET", key, b"v"), (b"INCRBY", key, b"1"), (b"SET", key, b"v", b"EX", b"5"), (b"TTL", key), (b"PERSIST", key), (b"GETDEL", key))],
    ]  # fmt: skip
    for stream in data:
        random.shuffle(stream)
    await speak(dut, [b"".join(stream) for stream in data], lambda: random.choice((100, 1460, 5000)), pause=0, cut=0)


@cocotb.test()
async def request_port(dut):
    """The request port's connection is one as all others, beside one whose id has the same low bits, and goes on while it
    holds the store."""
    data = {number: b"".join(a_command() for _ in range(60)) for number in (0, HOST % 16, HOST)}
    await start(dut)
    bench = Bench(dut, cut=0)
    for number, stream in data.items():
        every_clock(dut, bench.feed(number, Conn(stream, redis=True), lambda: random.choice((1, 100, 1460, 5000))))
    for _ in range(6):
        await clocks(dut, random.randrange(20, 500))
        dut.hold_i.value = 1
        await clocks(dut, random.randrange(20, 2000))
        dut.hold_i.value = 0
    await settle(dut, bench)
    for number, stream in data.items():
        model = Resp(ITEM_MAX, NOW)
        check([*model.settled(bench.conns[number].ops)], model.run(stream))
    assert bench.conns[HOST].used == len(data[HOST])


@cocotb.test()
async def seeming_starts(dut):
    """Arguments full of what commands begin with, in commands that the slow path reads and may read again."""
    def full(size):
        return (encode(b"GET", b"") * size)[:size]
    data = [b"".join(encode(b"MGET", *[full(n)] * 30) + encode(b"mset", full(n), full(2000)) + encode(b"ECHO", full(2000))
                     for n in (250, 249, 100, 40))] * scale(1, 2)
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
async def long_options_and_numbers(dut):
    """Options beyond a job, numbers beyond what any counts, a job that ends within a length."""
    get = encode(b"GET", b"b")
    data = [encode(b"SET", b"k", b"v", *[b"NX"] * (JOB // 8)) + get, encode(b"GETEX", b"k", *[b"persist"] * (JOB // 13)) + get]
    data += [get + b"*%s\r\n" % (b"1" * n) for n in (17, JOB + 1)]
    data += [encode(b"ECHO", b"a")[:-7] + b"$%s\r\n" % (b"1" * 17)]
    head = len(encode(b"PFADD", b"x" * JOB, b"")) - JOB - len(b"$0\r\n\r\n")
    data.append(b"".join(encode(b"PFADD", b"x" * (JOB - head - n), b"y" * 1234) + get for n in (0, 3, 4, 7)))
    await speak(dut, data, lambda: JOB, pause=0, cut=0)


@cocotb.test()
async def long_replies(dut):
    """Whatever shows a value that is longer than a job goes on with it in the connection's next ones."""
    commands = [encode(*words) for words in ((b"GET", b"k"), (b"GETDEL", b"k"), (b"GETSET", b"k", b"v"), (b"MGET", b"k", b"l"),
                                             (b"SET", b"k", b"v", b"NX", b"GET"), (b"GETEX", b"k", b"PERSIST"))]
    data = [b"".join(random.choices(commands, k=40)) for _ in range(3)]
    await speak(dut, data, lambda: random.choice((20, 500)), long_value=0.5)


@cocotb.test()
async def many_keys(dut):
    """MGET, DEL of more keys than a job holds."""
    def an_mget(count):
        return encode(random.choice((b"MGET", b"DEL", b"EXISTS")), *(random.randbytes(random.randrange(1, 80)) for _ in range(count)))
    data = [a_command() + an_mget(n) + a_command() for n in (100, 300, 450, 900)]
    await speak(dut, data, lambda: random.choice((100, 1460, 8000)), pause=0.05, cut=0.01, long_value=0.005)


@cocotb.test()
async def sums(dut):
    """A command with several keys counts from 0 whatever number the connection's last one had."""
    data = [b"".join(encode(b"INCRBY", b"n", b"%d" % -random.randrange(1, 1 << 60)) +
                     encode(random.choice((b"DEL", b"EXISTS")), *[b"k"] * random.choice((2, 9))) for _ in range(10))]  # fmt: skip
    await speak(dut, data, lambda: random.randrange(1, 200), cut=0)


@cocotb.test()
async def slow_sender(dut):
    """What comes in small pieces: a value with an option behind it, a number that has no end."""
    data = [encode(b"SET", b"k", random.randbytes(1500), b"NX") * 3, b"*" + b"0" * 40 + b"1\r\n$4\r\nPING\r\n"]
    await speak(dut, data, lambda: random.randrange(1, 200), cut=0)


@cocotb.test()
async def longer_than_a_job(dut):
    """What gates do not run, and does not fit into a job, is the host's, in as many jobs as it takes."""
    def a_long_one():
        n = random.choice((JOB - 40, JOB, JOB + 1, 2 * JOB, random.randrange(JOB, 20000)))
        return random.choice((
            encode(b"ECHO", random.randbytes(n)), encode(b"SET", b"k", random.randbytes(n), b"NX"), b"x" * n + b"\r\n",
            encode(b"SUNION", *(random.randbytes(random.randrange(90)) for _ in range(n // 40))),
            encode(b"MSET", *(random.randbytes(random.choice((1, 30, 300, 3000))) for _ in range(n // 500 + 3))),
            encode(b"SET", b"k", b"v", *[b"NX"] * (n // 8)), encode(b"GETEX", b"k", *[b"persist"] * (n // 13)),
            # What breaks the protocol far behind the beginning, a number without end.
            encode(*[b"PFCOUNT"] + [b"k" * 50] * (n // 57))[:-7] + b"\r\n:12345678\r\n",
            encode(b"MSET", *[b"k", b"v" * 3000] * 5)[:-3000] + b"$x\r\n", b"*%s\r\n" % (b"1" * n),
            encode(b"DECR", b"k")[:-7] + b"$%s\r\n" % (b"9" * n)))
    data = [b"".join(a_command() + a_long_one() for _ in range(2)) + encode(b"GET", b"b") for _ in range(scale(2, 4))]
    await speak(dut, data, lambda: random.choice((1, 100, 1460, 8000)), pause=0.05)


@cocotb.test()
async def about_a_job(dut):
    """A command of nearly as many bytes as a job may have, all of which are there, waits for nobody, though there was less
    room for replies than that; nor does a longer one when a job's bytes have come."""
    gets = encode(b"GET", b"a") * 8
    whole = [gets + encode(b"GET", b"a") + encode(b"ECHO", random.randbytes(8130)) for _ in range(3)]
    parts = [encode(b"ECHO", random.randbytes(12000)) for _ in range(3)]
    await start(dut)
    bench, rest = Bench(dut, pause=0, cut=0, wait=(3000,)), [0]

    def sizes(first):
        pieces = iter(first)
        return lambda: next(pieces, rest[0])

    for number, data in enumerate(whole + parts):
        conn = Conn(data, redis=True)
        conn.reads, conn.grow = number > 2, 1000  # what the first ones are answered stays in their rings
        every_clock(dut, bench.feed(number, conn, sizes((8000, 300) if number > 2 else (len(gets), len(data)))))
    conns = bench.conns
    assert await until(dut, lambda: len(conns) == 6 and all(conns[n].used == len(whole[n]) for n in range(3)), 20_000)
    assert await until(dut, lambda: all(conns[n].text for n in range(3, 6)), 20_000)
    rest[0] = 12000
    for number in range(3):
        conn = conns[number]
        assert conn.tx - conn.acked > 8 * 100
        conn.reads, conn.acked = True, conn.tx
        bench.event("data", number, "acked")
    assert await until(dut, lambda: all(conn.closed for conn in conns.values()), 60_000)
    await settle(dut, bench)
    for number, data in enumerate(whole + parts):
        check(conns[number].ops, Resp(ITEM_MAX, NOW).run(data))


@cocotb.test()
async def text_by_lines(dut):
    """Arguments that go to host software are not read byte by byte, whatever they have and where they stand; also if their
    end comes later."""
    data = [encode(b"ECHO", random.randbytes(n)) + encode(b"GET", b"a") for n in (5000, 7900)]
    data.append(encode(b"LCS", b"\r\n*1\r\n$4\r\nPING\r\n" * 70, random.randbytes(random.randrange(60, 70))) +
                encode(b"SUBSTR", *(random.randbytes(random.choice((63, 64, 65, 192, 2000))) for _ in range(6))))
    await speak(dut, data, lambda: random.choice((100, 1460, 8000)), pause=0.05)


@cocotb.test()
async def text_in_few_clocks(dut):
    """A job of an argument that goes to host software takes a fraction of its bytes in clocks."""
    await start(dut)
    bench = Bench(dut, pause=0, cut=0)
    conn = Conn(encode(b"ECHO", random.randbytes(7900)), redis=True)
    every_clock(dut, bench.feed(0, conn, lambda: JOB))
    assert await until(dut, lambda: conn.ops, 1000)
    check(conn.ops, Resp(ITEM_MAX, NOW).run(conn.data))


@cocotb.test()
async def long_refused(dut):
    """The host closes the connection of a long command midway; what it does not close goes on after it."""
    data = encode(b"GET", b"a") + encode(b"ECHO", b"x" * 3 * JOB) + encode(b"GET", b"b")
    await start(dut)
    bench = Bench(dut, cut=0)
    for number in range(3):
        conn = Conn(data, redis=True)
        conn.most_leaves = number or None
        every_clock(dut, bench.feed(number, conn, lambda: 3000))
    await settle(dut, bench)
    want = Resp(ITEM_MAX, NOW).run(data)
    for number in range(3):
        check(bench.conns[number].ops, want[: 1 if number else None])
        assert bench.conns[number].closed and bench.conns[number].leaves == (number or 3)


@cocotb.test()
async def keys_then_broken(dut):
    """Keys that are looked for as they come, and what is none behind them: the connection ends."""
    key = b"k" * 100
    data = [encode(b"GET", b"a") + encode(b"MGET", *[key] * 40, b"x" * 251) + encode(b"GET", b"b"),
            encode(b"GET", b"a") + encode(b"DEL", *[key] * 200, b"")]
    await start(dut)
    bench = Bench(dut, cut=0)
    for number, stream in enumerate(data):
        every_clock(dut, bench.feed(number, Conn(stream, redis=True), lambda: 3000))
    await settle(dut, bench)
    for number in range(len(data)):
        ops = bench.conns[number].ops
        assert ops[0] == ("get", b"a", False, None, "RfBulk") and ops[-1] == ("reply", "RpTooLong", ""), ops[-1]
        assert bench.conns[number].closed


@cocotb.test()
async def empty_line(dut):
    """Nothing stands where an argument should begin: that is known with the line's end."""
    data = [encode(b"GET", b"a") + broken + encode(b"GET", b"b")
            for broken in (b"*1\r\n\r\n", b"*2\r\n$3\r\nGET\r\n\r\n", b"*1\r\n\rx")]
    await speak(dut, data, lambda: random.choice((1, 2, 100)))


@cocotb.test()
async def zeros_in_front(dut):
    """No number of the framing has one."""
    get = encode(b"GET", b"a")
    whole = encode(b"SET", b"k" * 12, b"v" * 12)
    data = [get * 2 + whole.replace(number, number[:1] + b"0" + number[1:], 1) + get for number in (b"*3", b"$3", b"$12")]
    data.append(get * 2 + b"$012".join(whole.rsplit(b"$12", 1)) + get)
    await speak(dut, data, lambda: JOB, pause=0, cut=0)


@cocotb.test()
async def databases(dut):
    """SELECT holds for what follows, also within its job; once another database than 0 was chosen FLUSHDB is the host's."""
    data = encode(b"FLUSHDB") + b"".join(
        encode(b"GET", b"a") + encode(b"select", b"%d" % n) + encode(b"SET", b"k", b"v") + encode(b"RESET") + encode(b"GETDEL", b"k")
        for n in (0, 1, 7, 15)) + encode(b"FLUSHDB")  # fmt: skip
    await start(dut)
    bench, want = Bench(dut, cut=0, choose=False), Resp(ITEM_MAX, NOW).run(data)
    want[-1] = ("host", encode(b"FLUSHDB"))
    every_clock(dut, bench.feed(0, Conn(data, redis=True), lambda: 5000))
    await settle(dut, bench)
    check(bench.conns[0].ops, want)
    stored = [item["db"] for item in bench.items.values()]
    assert stored == [0, 1, 7, 15] and bench.reset_to == [0] * 4, (stored, bench.reset_to)


@cocotb.test()
async def pairs(dut):
    """MSET: all of it or nothing, however it comes; what is too long, or lacks a value, is the host's."""
    def an_mset(count, most, lacks=0):
        words = [word for _ in range(count) for word in (random.randbytes(random.randrange(1, 40)), random.randbytes(random.randrange(most)))]
        return encode(b"mset", *words[: len(words) - lacks])
    sizes = [(2, 9), (3, 600), (40, 9), (9, 200), (2, 1100), (9, 400), (60, 60), (5, 2000)]
    data = [b"".join(an_mset(*random.choice(sizes), lacks=random.random() < 0.1) + encode(b"GET", b"k") for _ in range(scale(10, 20))) for _ in range(3)]
    # What breaks the protocol behind the first pair.
    data.append(an_mset(3, 100)[:-10] + b"$x\r\n" + encode(b"GET", b"k"))
    data.append(encode(b"MSET", b"a", b"1", b"b", b"2").replace(b"$1\r\nb", b":1\r\nb") + encode(b"GET", b"k"))
    await speak(dut, data, lambda: random.choice((1, 20, 100, 1460, 5000)), pause=0.05)


@cocotb.test()
async def lanes(dut):
    """Keys of every length at every lane, one job a command."""
    commands = [one for n in range(1, 66) for one in (
        encode(b"GET", b"k" * n), encode(b"SET", b"k" * n, b"abc"), encode(b"set", b"k" * n, b""), encode(b"INCR", b"k" * n),
        encode(b"MGET", b"k" * n, b"j" * n), encode(b"EXISTS", b"k" * n), encode(b"setnx", b"k" * n, b"12345678901"))]
    sizes = iter([len(one) for one in commands])
    await speak(dut, [b"".join(commands)], lambda: next(sizes), pause=0, cut=0, long_value=0)


def test_resp():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
