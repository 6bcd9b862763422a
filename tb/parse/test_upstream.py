"""ingress before another server: gates get plain GETs of items that are here, host software all else, every byte once and in order."""

import random

import cocotb
import pytest

from harness.clock import every_clock, start
from harness.models import run
from harness.streams import to_beats
from harness.structs import T
from parse.binary_model import packet
from parse.ingress_bench import Bench, Conn, check, mod32, name, settle
from parse.resp_model import encode as resp

JOB = 8192
#: What is here.
HERE = [b"h", *(b"here%d" % n for n in range(8)), b"h" * 250]
AWAY = [b"away%d" % n for n in range(4)] + [b"a" * 250]
START, GET, GETS, MGET = range(4)


class Stream:
    """Commands of a client, and where in them gates may have a key: from where to where, and what host software must be
    told if it goes on there."""

    def __init__(self, commands):
        self.data, self.keys, self.ends, self.odd = b"", {}, {0}, 0
        for command, keys in commands:
            at = len(self.data)
            for key, begin, end, row, left in keys:
                self.keys[at + begin] = key, at + end, row, left
            self.data += command
            self.ends.add(len(self.data))


def text_get(keys, word=b"get"):
    """A line of keys. Where the first one stands the command begins."""
    line, parts = word, []
    for i, key in enumerate(keys):
        begin = len(line) + 1 if i else 0
        line += b" " + key
        parts.append((key, begin, len(line) + (2 if i == len(keys) - 1 else 1), (GETS if word == b"gets" else GET) if i else START, 0))
    return line + b"\r\n", parts


def mget(keys):
    command, parts = resp(b"MGET", *keys), []
    at = command.index(b"MGET") + 6
    for i, key in enumerate(keys):
        end = at + len(b"$%d\r\n%s\r\n" % (len(key), key))
        parts.append((key, at, end, MGET, len(keys) - i))
        at = end
    return command, parts


def a_key():
    return random.choice(HERE * 3 + AWAY)


def a_value():
    size = random.choice((0, 5, 100, 1000, 3000, 20000)) if random.random() < .3 else random.randrange(60)
    # Some that look like what gates would answer.
    return random.choice((random.randbytes(size), (b"\r\nget here1\r\n" * (size // 13 + 1))[:size]))


def a_text():
    key, value = a_key(), a_value()
    if random.random() < .6:
        return text_get([a_key() for _ in range(random.choice((1, 1, 1, 2, 5)))], random.choice((b"get", b"gets")))
    if random.random() < .3:
        flags = random.choice((b"", b" v", b" v k O1", b" s v f c q", b" t", b" v f t", b" s T30 v"))
        plain = b"t" not in flags.lower()
        return (line := b"mg " + key + flags + b"\r\n"), [(key, 0, len(line), START, 0)] * plain
    return random.choice((
        b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"cas %s 0 0 %d 7\r\n%s\r\n" % (key, len(value), value),
        b"ms %s %d\r\n%s\r\n" % (key, len(value), value), b"incr %s 1\r\n" % key, b"delete %s noreply\r\n" % key,
        b"gat 100 %s\r\n" % key, b"gat 100 %s %s\r\n" % (key, key), b"gat 100" + b" h" * 600 + b"\r\n", b"touch %s 1\r\n" % key, b"mg %s v t\r\n" % key,
        b"mg %s v T30\r\n" % key, b"mg %s N30 v\r\n" % key, b"mg aGVyZTE= b v\r\n", b"md %s\r\n" % key, b"ma %s\r\n" % key,
        b"flush_all\r\n", b"version\r\n", b"\r\n", b"bogus here1\r\n", b"get\r\n", b"get " + b"x" * 251 + b"\r\n",
        b"get here1 " + b"x" * 300 + b"\r\n",
        b"bogus " + b"here1 " * 700 + b"\r\n", b"stats\r\n", b"mn\r\n")), []


def a_binary():
    key, value = a_key(), a_value()
    if random.random() < .6:
        one = packet(random.choice((0x00, 0x09, 0x0C, 0x0D)), key)
        return one, [(key, 0, len(one), START, 0)]
    return random.choice((packet(0x01, key, bytes(8), value), packet(0x11, key, bytes(8), value), packet(0x0A), packet(0x1D, key, bytes(4)),
                          packet(0x04, key), packet(0x05, key, bytes(20)), packet(0x10), packet(0x3D, key, bytes(8), value),
                          packet(0x3F), packet(0x77, b"", b"", b"x" * 30))), []


def a_resp():
    key, value = a_key(), a_value()
    if random.random() < .5:
        # Without an option a GETEX is a GET.
        return (one := resp(random.choice((b"GET", b"get", b"GETEX")), key)), [(key, 0, len(one), START, 0)]
    if random.random() < .5:
        return mget([a_key() for _ in range(random.choice((1, 2, 5, 120)))])
    return random.choice((
        resp(b"SET", key, value), resp(b"SET", key, value, b"EX", b"100"), resp(b"DEL", key, key), resp(b"EXISTS", key), resp(b"TTL", key),
        resp(b"EXISTS", *[key] * 400), resp(b"GETEX", key, b"EX", b"100"), resp(b"GETEX", key, b"PERSIST"), resp(b"GETDEL", key), resp(b"MSET", key, value, key, value),
        resp(b"STRLEN", key), resp(b"PING"), b"PING\r\n", b"SET here1 x\r\n", resp(b"LPUSH", key, *[b"x"] * 300), resp(b"SELECT", b"1"),
        resp(b"INCR", key), b"\r\n", resp(b"GET", key, key), resp(b"GET", b"k" * 251))), []


class Upstream(Bench):
    """The store executes gets of what is here and leaves all else to host software, which answers a row of bytes at once."""

    def __init__(self, dut, **options):
        super().__init__(dut, **options)
        dut.upstream_i.value = 1

    def open(self, number, stream, redis, sizes):
        conn = Conn(stream.data, redis=redis)
        conn.stream, conn.at, conn.row, conn.stays, conn.gates, conn.host_bytes = stream, 0, b"", False, 0, 0
        every_clock(self.dut, self.feed(number, conn, sizes))
        return conn

    def record(self, rec):
        op = name(rec["op"], T.op_e)
        key = self.take_key(rec) if self.has_key(rec) else None
        if rec["udp"]:
            self.of_datagram(rec, op, key)
            return
        conn = self.conns[rec["conn"]]
        first = self.job is None
        assert rec["first"] == first
        if first:
            self.job = {"cut": False, "ctx": None, "missed": False, "again": False}
        job = self.job
        if op == "OpEnd":
            self.job = None
            ctx = job["ctx"] if job["cut"] and not job["again"] else self.context(rec, op, None)
            if job["missed"]:
                ctx = {**ctx, "again": int(job["again"]), "resp": {**ctx["resp"], "all": 1}}
            self.over.append({"conn": rec["conn"], "tx_ptr": mod32(conn.tx0 + conn.tx), "ctx": ctx})
            return
        if job["cut"]:
            return
        if op == "OpGet" and key not in HERE:
            job.update(cut=True, missed=True, again=first)
            return
        behind = mod32(rec["rx_ptr"] - conn.rx0)
        job["ctx"] = self.context(rec, op, key)
        if op == "OpGet":
            want = conn.stream.keys.get(conn.at)
            assert want, f"gates take {key} at {conn.at}: {conn.data[conn.at:conn.at + 60]}"
            assert want[:2] == (key, behind) and not rec["touch"]
            conn.at, conn.gates = behind, conn.gates + 1
        elif op == "OpReply" and rec["reply"] == T.RpNone:
            # Of an MGET how many replies follow.
            conn.at = behind
            assert conn.stream.keys[conn.at][2:] == (MGET, rec["num"])
        elif op == "OpHost" and not rec["key_stored"]:
            assert rec["resp"]["all"] and rec["resp"]["is"] == conn.redis
            if not rec["vlen"]:
                # Where a row goes on with the one before nothing else has begun.
                row, left = (START, 0) if conn.stays else conn.stream.keys.get(conn.at, (0, 0, START, 0))[2:]
                assert rec["flags"] == row and (row != MGET or rec["num"] & (1 << 32) - 1 == left)
            conn.row += key
            if rec["last_key"]:
                assert conn.row == conn.data[conn.at : conn.at + len(conn.row)] and conn.row
                conn.at += len(conn.row)
                conn.host_bytes += len(conn.row)
                conn.row, n = b"", random.randrange(1, 4)
                conn.stays = conn.at not in conn.stream.ends or random.random() < .1
                conn.host.extend({"conn": rec["conn"], "len": random.randrange(2049 if i else 513), "all": conn.stays, "db": 0,
                                  "final_piece": int(i == n - 1)} for i in range(n))
                self.pieces.put({"": conn.host[0]})
        elif op == "OpHost":
            self.pieces.put({"": conn.host[0]})
        elif op == "OpHostData":
            assert conn.host.popleft()["len"] == rec["host_len"]
            conn.tx += rec["host_len"]
        else:
            raise AssertionError(f"gates run {op} at {conn.data[conn.at:conn.at + 60]}")
        if op == "OpGet":
            conn.tx += random.randrange(200)
            job["cut"] = random.random() < self.cut


    def of_datagram(self, rec, op, key):
        """As dgram_queue, which gets what the store leaves of a job's context."""
        if self.job is None:
            assert rec["first"]
            self.job = {"at": 0, "missed": False}
            self.udp_ops[-1].append(("begin",))
        at, job = rec["rx_ptr"], self.job
        if op == "OpEnd":
            misses = job["missed"] or rec["resp"]["all"]
            self.udp_ops[-1].append(("rest", job["at"]) if job["missed"] else ("rest", at) if misses else ("end",))
            self.udp_ops.append([])
            self.udp_ends += 1
            self.job = None
        elif op == "OpGet" and not job["missed"]:
            if key not in HERE:
                job["missed"] = True
            else:
                self.udp_ops[-1].append(("get", key))
                job["at"] = at
        elif not job["missed"]:
            assert op == "OpReply" and rec["reply"] == T.RpEnd, op


async def streams(dut, datas, sizes, **options):
    """`datas` by number: their commands, and whether they are Redis'."""
    await start(dut)
    bench = Upstream(dut, **options)
    conns = [bench.open(number, Stream(commands), redis, sizes) for number, (commands, redis) in enumerate(datas)]
    await settle(dut, bench)
    for conn in conns:
        assert conn.at == len(conn.data) and conn.closed and conn.released
    return conns


def of(kind, n):
    return [kind() for _ in range(n)], kind is a_resp


@cocotb.test()
async def cut_anywhere(dut):
    """Commands of each protocol, cut at random bytes and random records."""
    conns = await streams(dut, [of(kind, 60) for kind in (a_text, a_binary, a_resp) * 3],
                          lambda: random.choice((1, 2, 5, 20, 100, 1000, 5000)), wait=(1, 5, 50, 200, 200))
    assert all(conn.host_bytes for conn in conns) and any(conn.gates for conn in conns)


@cocotb.test()
async def one_by_one(dut):
    """What comes alone, and is no plain GET of what is here, is host software's; each other one is for gates."""
    datas = [of(kind, 150) for kind in (a_text, a_binary, a_resp)]
    # Of each line of keys gates answer the first one.
    datas[0][0][:0] = [text_get([b"here1", b"away1"], word) for word in (b"get", b"gets")]
    datas[2][0].insert(0, mget([b"here1", b"away1"]))
    await start(dut)
    bench = Upstream(dut, pause=0, cut=0, wait=(400,))

    def rest(number):
        """Of the command of which something is not sent."""
        conn = bench.conns[number]
        return min(end for end in conn.stream.ends if end > conn.sent) - conn.sent

    for number, (commands, redis) in enumerate(datas):
        bench.open(number, Stream(commands), redis, lambda number=number: rest(number))
    await settle(dut, bench, quiet=1000)
    for conn, (commands, _) in zip(bench.conns.values(), datas):
        assert conn.at == len(conn.data)
        assert conn.gates > 30 and conn.host_bytes > 1000


@cocotb.test()
async def in_large_pieces(dut):
    """Jobs of many commands."""
    conns = await streams(dut, [of(kind, 120) for kind in (a_text, a_binary, a_resp) * 2], lambda: random.randrange(500, 20000), pause=0,
                          wait=(1, 200))
    assert all(conn.host_bytes for conn in conns) and any(conn.gates for conn in conns)


@cocotb.test()
@cocotb.parametrize(pieces=[(1, 7, 60, 1460), (JOB,)])
async def hits_are_for_gates_alone(dut, pieces):
    """Of plain GETs of what is here host software gets nothing, be they cut anywhere."""
    def a_hit():
        if random.random() < .3:
            line = b"mg %s%s\r\n" % (key := random.choice(HERE), random.choice((b"", b" v", b" s v f c q k Oabc")))
            return line, [(key, 0, len(line), START, 0)]
        return text_get(random.choices(HERE, k=random.randrange(1, 8)), random.choice((b"get", b"gets")))

    def a_binary_hit():
        key = random.choice(HERE)
        return (one := packet(random.choice((0x00, 0x0C)), key)), [(key, 0, len(one), START, 0)]

    def a_resp_hit():
        key = random.choice(HERE)
        one = resp(b"GET", key)
        return random.choice(((one, [(key, 0, len(one), START, 0)]), mget(random.choices(HERE, k=random.randrange(1, 8)))))

    conns = await streams(dut, [([kind() for _ in range(100)], kind is a_resp_hit) for kind in (a_hit, a_binary_hit, a_resp_hit)],
                          lambda: random.choice(pieces))
    check([conn.host_bytes for conn in conns], [0, 0, 0])


@cocotb.test()
async def others_wait_for_nobody(dut):
    """While one's answer is awaited others have their hits."""
    await start(dut)
    bench = Upstream(dut)
    waits = bench.open(0, Stream([(b"get away1\r\n", [(b"away1", 0, 11, START, 0)])] * 3), False, lambda: JOB)
    bench.pieces.put = lambda piece: held.append(piece)
    held = []
    hits = bench.open(1, Stream([text_get([b"here1"])] * 50), False, lambda: 100)
    await settle(dut, bench)
    assert hits.at == len(hits.data) and len(held) == 1 and waits.at == len(waits.data)
    del bench.pieces.put
    bench.pieces.put(held[0])
    await settle(dut, bench)
    assert waits.closed


@cocotb.test(skip=not T.Config.udp)
async def datagrams(dut):
    """Of a datagram gates answer plain GETs in front of the first one of something that is not here; where host software
    goes on is known, also if it is cut."""
    await start(dut)
    bench, wants = Upstream(dut), []
    for i in range(300):
        commands = [random.choice((a_text, a_binary))() for _ in range(random.choice((1, 1, 2, 4)))]
        commands = [one for one in commands if len(one[0]) < 700]
        if not commands or len({one[0][:1] == b"\x80" for one in commands}) > 1 or commands[0][0][:4] in (b"VALU",):
            continue
        stream = Stream(commands)
        data = stream.data[: random.choice((len(stream.data), len(stream.data), random.randrange(1, len(stream.data) + 1)))]
        at, want = 0, [("begin",)]
        # A line of keys counts when all of it is there.
        while (one := stream.keys.get(at)) and min(end for end in stream.ends if end > at) <= len(data) and one[0] in HERE:
            want.append(("get", one[0]))
            at = one[1]
        wants.append((want, at, data))
        frame = i.to_bytes(2, "big") + b"\0\0\0\1\0\0" + data
        for beat in to_beats(frame):
            bench.dgrams.put({"": {"peer": {"ip": 1, "port": 2}, "len": len(frame)}, "beat": beat})
    await settle(dut, bench)
    rests = 0
    for got, (want, at, data) in zip(bench.udp_ops, wants):
        assert got[:-1] == want, data
        # Behind the last key gates may say END.
        assert got[-1] == ("end",) if at == len(data) else got[-1] == ("rest", at), (data, at)
        rests += at < len(data)
    assert len(bench.udp_ops) == len(wants) + 1 and 50 < rests < len(wants) - 50


@pytest.mark.skipif(not T.Config.upstream, reason="this variant stands before no other server")
def test_upstream():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
