"""ingress: streams of the binary protocol cut anywhere give the requests, keys and items that memcached
would see."""

import random

import cocotb

from harness.clock import every_clock, start
from harness.models import run
from harness.streams import to_beats
from harness.structs import T
from parse.binary_model import FILL, STORES, VERSION, WALK, Binary, a_close, a_key, a_request, closes, packet
from parse.ingress_bench import HOST, ITEM_MAX, NOW, Bench, Conn, at_a_glance, check, settle, streams
from parse.text_model import Text

JOB = 8192


@cocotb.test()
async def whole(dut):
    """Requests in large pieces."""
    data = [b"".join(a_request(broken=False, host=False) for _ in range(150)) for _ in range(4)]
    await streams(dut, data, lambda: random.randrange(500, 3000), Binary, pause=0, cut=0, long_value=0)


@cocotb.test()
async def cut_anywhere(dut):
    """Known and unknown ones, cut at random bytes and at random records; the last one may be wrong."""
    data = [b"".join(a_request() for _ in range(50)) + a_close() + packet(0x0A) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 2, 5, 20, 100, 1000, 5000)), Binary)


@cocotb.test()
async def first_byte_alone(dut):
    """The first byte of a connection decides, also if nothing else comes with it; neighbours speak text."""
    data = [packet(0x00, b"k" * n) + packet(0x01, b"k" * n, bytes(8), b"v") for n in (1, 40, 41, 250)]
    await start(dut)
    bench, wants = Bench(dut), {}
    for number, stream in enumerate(data + [b"get a\r\nset b 0 0 1\r\n\x80\r\n"] * 4):
        wants[number] = (Binary if number < 4 else Text)(ITEM_MAX, NOW).run(stream)
        every_clock(dut, bench.feed(number, Conn(stream), lambda: 1))
    await settle(dut, bench)
    for number, want in wants.items():
        check(bench.conns[number].ops, want)


@cocotb.test()
async def walks(dut):
    """A walk is the request port's: to it the place goes on as it came, to peers it is unknown, and nothing to be
    discarded follows. So is the question for a key's version, and a set that says the item's CAS unique."""
    def one():
        fill = packet(FILL, a_key(), bytes(8), random.randbytes(random.randrange(200)), random.getrandbits(64))
        return random.choice((packet(WALK), packet(VERSION, a_key()), fill, a_request(host=False, broken=False)))
    data = {number: b"".join(one() for _ in range(60)) for number in (0, 5, HOST)}
    await start(dut)
    bench = Bench(dut)
    for number, stream in data.items():
        every_clock(dut, bench.feed(number, Conn(stream), lambda: random.choice((1, 24, 100, 1460, 5000))))
    await settle(dut, bench)
    for number, stream in data.items():
        check(bench.conns[number].ops, Binary(ITEM_MAX, NOW, number == HOST).run(stream))
    wants = [op[7] for op in bench.conns[HOST].ops if op[0] == "store" and op[8] == FILL]
    # A job that was cut stores again.
    chosen = [item for item in bench.items.values() if item["chosen"]]
    assert wants and {item["chosen_no"] for item in chosen} == set(wants) and {item["conn"] for item in chosen} == {HOST}
    assert {"walk", "version"} <= {op[0] for op in bench.conns[HOST].ops}


@cocotb.test()
@cocotb.parametrize(turn=(0, 1, 2))
async def closing(dut, turn):
    """What is wrong ends the connection, and what is behind it is not read."""
    data = [packet(0x0A) + a_request(host=False) + close + packet(0x0B) for close in closes(b"key")[turn::3]]
    await streams(dut, data, lambda: random.choice((30, 5000)), Binary, cut=0)


@cocotb.test()
async def long_values(dut):
    """Values around the size of a job and far beyond, and too large ones."""
    def a_store(size):
        op = random.choice((0x01, 0x11, 0x02, 0x13, 0x0E, 0x1A))
        cas = random.choice((0, random.getrandbits(64)))
        return packet(op, random.randbytes(random.randrange(1, 60)), bytes(8) if op < 0x0E or op in (0x11, 0x13) else b"",
                      random.randbytes(size), cas)
    sizes = [JOB - d for d in range(0, 110, 9)] + [8193, 16384, 20000, 50000, ITEM_MAX]
    data = []
    for _ in range(3):
        random.shuffle(sizes)
        data.append(b"".join(a_store(n) + a_request(broken=False) for n in sizes) + a_store(9000))
    await streams(dut, data, lambda: random.choice((100, 1460, 8000)), Binary, pause=0.05)


@cocotb.test()
async def too_large(dut):
    """What is larger than any item may be: only a set's key is somebody's business."""
    most = 2000
    data = b"".join(packet(op, b"k%d" % op, bytes(8), bytes(most)) for op in STORES) + packet(0x0A)
    await start(dut)
    bench = Bench(dut)
    dut.item_max_i.value = most
    every_clock(dut, bench.feed(0, Conn(data), lambda: random.choice((100, 1460, 5000))))
    await settle(dut, bench)
    check(bench.conns[0].ops, Binary(most, NOW).run(data))


@cocotb.test()
async def last_two_bytes(dut):
    """Values of which two bytes are left for the last job: no line's end, but data."""
    full = 2 * JOB - 24 - 8 - 3 + 1
    data = [packet(0x01, b"key", bytes(8), random.randbytes(n)) + packet(0x0B) for n in range(full - 3, full + 4)]
    await streams(dut, data, lambda: 3 * JOB, Binary, pause=0, cut=0)


@cocotb.test()
async def empty_value(dut):
    """A value without bytes behind the last byte of a line: nothing is waited for."""
    await start(dut)
    bench = Bench(dut)
    conn = Conn(packet(0x01, b"key", bytes(8)), fin=False)
    conn.rx0 = 6400 - len(conn.data)
    want = Binary(ITEM_MAX, NOW).run(conn.data)
    every_clock(dut, bench.feed(1, conn, lambda: JOB))
    await settle(dut, bench)
    check(conn.ops, want)


@cocotb.test()
async def lanes(dut):
    """Keys of every length at every lane, one job a request."""
    requests = [one for n in range(1, 66) for one in (
        packet(0x00, b"k" * n), packet(0x01, b"k" * n, bytes(8), b"abc"), packet(0x1D, b"k" * n, bytes(4)),
        packet(0x01, b"k" * n, bytes(8)), packet(0x04, b"k" * n), packet(0x05, b"k" * n, bytes(20)), packet(0x0A))]
    sizes = iter([len(one) for one in requests])
    await streams(dut, [b"".join(requests)], lambda: next(sizes), Binary, pause=0, cut=0, long_value=0)


@cocotb.test(skip=not T.Config.fast_binary)
async def glance(dut):
    """Long jobs: gets that change a time, and gets that do not, and stores, one after the other; at last an opcode that there
    is none of, for the slow path."""
    requests = [one for n in range(1, 33) for one in (
        packet(0x1D, b"k" * n, bytes(4)), packet(0x00, b"k" * n), packet(0x0C, b"k" * n), packet(0x24, b"k" * n, b"\0\0\0\5"),
        packet(0x01, b"k" * n, bytes(8), b"v" * n), packet(0x04, b"k" * n), packet(0x0A))]  # fmt: skip
    await at_a_glance(dut, [*requests, packet(0x3F)], JOB, Binary)


@cocotb.test()
async def long_keys(dut):
    """Keys as long as they may be, between short ones."""
    requests = [one for n in range(230, 251) for one in (packet(0x00, b"k"), packet(0x01, b"k" * n, bytes(8), b"v"))]
    await streams(dut, [b"".join(requests)], lambda: JOB // 4, Binary, pause=0, cut=0, long_value=0)


@cocotb.test(skip=not T.Config.udp)
async def datagrams(dut):
    """Requests in datagrams, among others with text; what is not complete is dropped."""
    await start(dut)
    bench, wants = Bench(dut), []
    peer = {"ip": 1, "port": 2}
    for i in range(60):
        data = b"".join(a_request(values=100, broken=False, host=False) for _ in range(random.randrange(1, 6)))
        data = data[: random.choice((len(data), len(data), random.randrange(len(data))))] or b"\x80"
        model = Binary(ITEM_MAX, NOW) if i % 3 else Text(ITEM_MAX, NOW, udp=True)
        data = data if i % 3 else b"get \x80\r\n"
        want = model.run(data)
        # What goes beyond the datagram is not there.
        wants.append(want)
        frame = i.to_bytes(2, "big") + b"\0\0\0\1\0\0" + data
        for beat in to_beats(frame):
            bench.dgrams.put({"": {"peer": peer, "len": len(frame)}, "beat": beat})
    await settle(dut, bench)
    for got, want in zip(bench.udp_ops, wants):
        check(got, want)
    assert len(bench.udp_ops) == len(wants) + 1


def test_binary():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
