"""egress: reply text, transmit rings, datagrams and punt queue against a model of the bytes."""

import random
from base64 import b64encode

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, Pins, every_clock, start
from harness.models import run
from harness.streams import Sink, Source, from_beats, to_beats
from harness.structs import T, stand_of

REPLIES = {
    "RpError": b"ERROR",
    "RpStored": b"STORED",
    "RpNotStored": b"NOT_STORED",
    "RpExists": b"EXISTS",
    "RpNotFound": b"NOT_FOUND",
    "RpDeleted": b"DELETED",
    "RpTouched": b"TOUCHED",
    "RpOk": b"OK",
    "RpEnd": b"END",
    "RpVersion": b"VERSION 1.6.38",
    "RpBadFormat": b"CLIENT_ERROR bad command line format",
    "RpBadChunk": b"CLIENT_ERROR bad data chunk",
    "RpBadExptime": b"CLIENT_ERROR invalid exptime argument",
    "RpBadDelta": b"CLIENT_ERROR invalid numeric delta argument",
    "RpNonNumeric": b"CLIENT_ERROR cannot increment or decrement non-numeric value",
    "RpTooLarge": b"SERVER_ERROR object too large for cache",
    "RpNoMemory": b"SERVER_ERROR out of memory storing object",
    "RpBadDelete": b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]",
    "RpMetaNoop": b"MN",
    "RpDuplicate": b"CLIENT_ERROR duplicate flag",
    "RpInvalid": b"CLIENT_ERROR invalid flag",
    "RpInvalidOrDuplicate": b"CLIENT_ERROR invalid or duplicate flag",
    "RpBadToken": b"CLIENT_ERROR bad token in command line format",
    "RpBadModeLen": b"CLIENT_ERROR incorrect length for M token",
    "RpBadInitial": b"CLIENT_ERROR invalid numeric initial value",
    "RpBadMetaDelta": b"CLIENT_ERROR invalid numeric delta value",
    "RpBadSetMode": b"CLIENT_ERROR invalid mode for ms M token",
    "RpBadSumMode": b"CLIENT_ERROR invalid mode for ma M token",
    "RpLongOpaque": b"CLIENT_ERROR opaque token too long",
    "RpManyGetFlags": b"CLIENT_ERROR options flags are too long",
    "RpManyFlags": b"CLIENT_ERROR options flags too long",
    "RpBadKey": b"CLIENT_ERROR error decoding key",
}
# Statuses of meta commands; of `mg` one is another.
META = {"RpStored": b"HD", "RpDeleted": b"HD", "RpFound": b"HD", "RpNotStored": b"NS", "RpExists": b"EX",
        "RpNotFound": b"NF"}
SHOWN = {"k": "ShKey", "O": "ShOpaque", "s": "ShSize", "t": "ShTime", "c": "ShUnique", "f": "ShFlags"}
NOW = 1_800_000_000_123
# Status and text.
BINARY = {
    "RpError": (0x81, b"Unknown command"),
    "RpStored": (0, b""),
    "RpNotStored": (5, b"Not stored."),
    "RpExists": (2, b"Data exists for key."),
    "RpNotFound": (1, b"Not found"),
    "RpDeleted": (0, b""),
    "RpTouched": (0, b""),
    "RpOk": (0, b""),
    "RpVersion": (0, b"1.6.38"),
    "RpBadFormat": (4, b"Invalid arguments"),
    "RpNonNumeric": (6, b"Non-numeric server-side value for incr or decr"),
    "RpTooLarge": (3, b"Too large."),
    "RpNoMemory": (0x82, b"Out of memory allocating item"),
}
PAYLOAD = (1392, 1216)  # of a datagram, over IPv4 and IPv6
TX_BASE = 0x1_2345_6000
RING = 65536


def number(bits):
    """Numbers of every length; powers of ten and their neighbours included."""
    pick = random.random()
    if pick < 0.3:
        value = 10 ** random.randrange(20) + random.randrange(-1, 2)
    elif pick < 0.4:
        value = (1 << bits) - 1
    else:
        value = random.getrandbits(random.randrange(bits + 1))
    return min(max(value, 0), (1 << bits) - 1)


def pieces(data, lane):
    """A value from `lane` of a line on as the reader gives it: 64 bytes of two lines at a time."""
    chunks = []
    while True:
        part, data = data[:64], data[64:]
        line = part + random.randbytes(64 - len(part))
        line = line[64 - lane :] + line[: 64 - lane]
        chunks.append({"data": int.from_bytes(line, "little"), "start": lane, "len": len(part),
                       "last": int(not data)})
        if not data:
            return chunks


REDIS_FORMS = "RfStatus", "RfInteger", "RfLength", "RfBulk", "RfTtl"
# Those that depend on the form or the version are in their place.
REDIS = {"RpDeleted": b":1\r\n", "RpOk": b"+OK\r\n", "RpPong": b"+PONG\r\n",
         "RpNonNumeric": b"-ERR value is not an integer or out of range\r\n",
         "RpTouched": b":1\r\n", "RpBadExpire": b"-ERR invalid expire time in 'getex' command\r\n",
         "RpOverflow": b"-ERR increment or decrement would overflow\r\n",
         "RpTooLarge": b"-ERR item is larger than this server takes (-I)\r\n",
         "RpNoMemory": b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
         "RpTooLong": b"-ERR Protocol error: command is longer than this server takes\r\n"}


PORTS = {"tcp_port": 11300, "redis_port": 6379, "udp_port": 40_000}
#: 11211 is where memcached is.
SERVICES = [11211, *PORTS.values()]


def random_port():
    return random.choice((*SERVICES, 1023, 1024, *(port ^ 1 << random.randrange(16) for port in SERVICES), random.getrandbits(16)))


def service(port):
    return port < 1024 or port in SERVICES


def error(text):
    """Whether a reply is an error, and no usual outcome of what was asked for."""
    if text[:1] == b"\x81":
        return int.from_bytes(text[6:8], "big") not in (0, 1, 2, 5)
    return text.startswith((b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"))


class Model:
    """Streams in, and what must come out."""

    def __init__(self):
        self.res, self.keys, self.chunks, self.uctxs, self.host = [], [], [], [], []
        self.kept, self.done, self.dgrams, self.hpieces = [], [], [], []
        self.withheld = 0  # errors to services
        self.ptr = {}

    def value(self, key, value, flags, cas=None, last_key=True, head=True, tail=True, bad=False):
        """A value record and its reply; without `head` or `tail` one part of a long value. `bad`:
        memory could not read it."""
        text = b""
        if head:
            self.keys += [int.from_bytes(key[i : i + 64].ljust(64, b"?"), "little")
                          for i in range(0, len(key), 64)]
            text += b"VALUE %s %d %d" % (key, flags, len(value))
            text += b" %d\r\n" % cas if cas is not None else b"\r\n"
        self.chunks += pieces(value, random.randrange(64))
        self.chunks[-1]["bad"] = int(bad)
        text += value + (b"\r\n" if tail else b"") + (b"END\r\n" if tail and last_key else b"")
        return {"kind": T.RsValue, "head": head, "tail": tail, "last_key": last_key and tail,
                "cas_out": cas is not None, "num": cas or 0, "flags": flags, "klen": len(key),
                "vlen": len(value), "_bad": bad}, text

    def binary(self, kind, whole=True):
        """A record of the binary protocol, of a value or with one of the fixed replies."""
        opcode, opaque, unique = random.getrandbits(8), random.randbytes(4), number(64)
        with_key = random.random() < 0.5 and kind in ("value", "RpNotFound")
        key = random.randbytes(random.choice((1, 5, 40, 64, 65, 128, 250, random.randrange(1, 251))))
        rec = {"binary": {"is": 1, "key": int(with_key), "opcode": opcode, "opaque": int.from_bytes(opaque, "little")},
               "unique_no": unique, "num": number(64), "flags": number(32), "klen": len(key),
               "vlen": random.getrandbits(21), "head": int(with_key or kind == "value")}
        flags, status, body, extras = rec["flags"].to_bytes(4, "big"), 0, b"", b""
        if kind == "value":
            value = random.randbytes(random.choice((0, 1, 15, 16, 17, 100, random.randrange(3000))))
            self.chunks += pieces(value, random.randrange(64))
            rec |= {"kind": T.RsValue, "tail": int(whole), "vlen": len(value)}
            extras, body = flags, value
        elif kind == "number":
            rec["kind"], body = T.RsNumber, rec["num"].to_bytes(8, "big")
        else:
            rec |= {"kind": T.RsReply, "reply": getattr(T, kind)}
            status, body = BINARY[kind]
            extras = flags if kind == "RpTouched" else b""
            if kind not in ("RpStored", "RpTouched"):
                unique = 0
        shown = key if with_key else b""
        if with_key:
            self.keys += [int.from_bytes(key[i : i + 64].ljust(64, b"?"), "little") for i in range(0, len(key), 64)]
            body = body if kind == "value" else b""
        size = len(extras) + len(shown) + len(body)
        return rec, (bytes([0x81, opcode]) + len(shown).to_bytes(2, "big") + bytes([len(extras), 0, 0, status])
                     + size.to_bytes(4, "big") + opaque + unique.to_bytes(8, "big") + extras + shown + body)

    def redis(self, kind, three=False):
        """A record of Redis' protocol, and its reply."""
        rec = {"resp": {"is": 1, "three": int(three)}, "klen": random.getrandbits(8), "flags": number(32),
               "last_key": random.getrandbits(1), "vlen": random.getrandbits(21)}
        null = b"_\r\n" if three else b"$-1\r\n"
        if kind == "value":
            value = random.randbytes(random.choice((0, 1, 4, 15, 16, 17, 18, 100, random.randrange(3000))))
            self.chunks += pieces(value, random.randrange(64))
            rec |= {"kind": T.RsValue, "head": 1, "tail": 1, "vlen": len(value), "num": number(64)}
            return rec, b"$%d\r\n%s\r\n" % (len(value), value)
        if kind == "number":
            rec |= {"kind": T.RsNumber, "num": number(63), "negative": random.getrandbits(1)}
            form = random.choice((T.RfInteger, T.RfLength, T.RfArray, T.RfTtl, T.RfPttl, T.RfExpiretime, T.RfPexpiretime))
            rec["resp"]["form"] = form
            rec["negative"] &= form != T.RfArray
            # Seconds, but for the numbers that are no times.
            told = rec["num"] // 1000 if form in (T.RfTtl, T.RfExpiretime) and not rec["negative"] else rec["num"]
            return rec, b"%s%s%d\r\n" % (b"*" if form == T.RfArray else b":", b"-" * rec["negative"], told)
        texts = {(form, reply): text for form in REDIS_FORMS for reply, text in REDIS.items()}
        texts |= {("RfInteger", "RpStored"): b":1\r\n", ("RfInteger", "RpNotStored"): b":0\r\n", ("RfLength", "RpNotFound"): b":0\r\n",
                  ("RfInteger", "RpNotFound"): b":0\r\n", ("RfStatus", "RpStored"): b"+OK\r\n", ("RfStatus", "RpNotStored"): null, ("RfBulk", "RpNotFound"): null,
                  ("RfBulk", "RpStored"): null, ("RfBulk", "RpNotStored"): null, ("RfType", "RpOk"): b"+string\r\n",
                  ("RfType", "RpNotFound"): b"+none\r\n"}
        (form, reply), text = random.choice(list(texts.items()))
        rec |= {"kind": T.RsReply, "reply": getattr(T, reply)}
        rec["resp"]["form"] = getattr(T, form)
        return rec, text

    def meta(self, kind, plain=False, size=None):
        """A record of a meta command, and its reply: with a value, perhaps of `size`, a number, a status, an error or
        nothing at all; `plain`: with nothing to show but that."""
        show = "" if plain else "".join(random.sample("kOstcf", random.randrange(7)))
        key = random.randbytes(random.choice((1, 39, 40, 41, 64, 65, 128, 250, random.randrange(1, 251))))
        token = random.randbytes(random.randrange(32))
        left = random.choice((0, 1, 999, 1000, 1001, 86_400_000, random.getrandbits(40)))
        expiry = random.choice((0, 1, NOW + 1 + left))
        full, get = random.random() < 0.7, random.random() < 0.5
        rec = {"meta": {"is": 1, "get": int(get), "show": sum(getattr(T, SHOWN[f]) << 3 * i for i, f in enumerate(show))},
               "opaque": {"len": len(token), "text": int.from_bytes(token, "little")}, "expiry": expiry,
               "shows": int(full), "klen": len(key), "flags": number(32), "vlen": random.getrandbits(21),
               "unique_no": number(64), "num": number(64), "reply": T.RpFound}
        value, head, tail = b"", b"", b"\r\n"
        if kind == "RpFound" and random.random() < 0.3:  # made by this get
            kind = "made"
        marks = random.choice(((0, 0, 0), (0, 1, 1), (0, 0, 1), (1, 0, 0), (1, 1, 0)))
        marked = get and (kind in ("value", "RpFound") or kind == "made")
        won, stale, wins = marks if marked and kind != "made" else (0, 0, int(kind == "made"))
        coded = int(random.random() < 0.4)
        rec |= {"marks": {"coded": coded, "won": won, "stale": stale}, "wins": wins}
        if kind == "made":
            rec |= {"kind": T.RsReply, "vlen": 0}
            rec["meta"]["value"] = random.randrange(2)
            head = b"VA 0" if rec["meta"]["value"] else b"HD"
            tail = b"\r\n\r\n" if rec["meta"]["value"] else tail
        elif kind == "value":
            value = random.randbytes(random.choice((0, 1, 15, 16, 17, 100, random.randrange(3000))) if size is None else size)
            self.chunks += pieces(value, random.randrange(64))
            rec |= {"kind": T.RsValue, "head": 1, "tail": 1, "vlen": len(value)}
            head, tail = b"VA %d" % len(value), b"\r\n" + value + b"\r\n"
        elif kind == "number":
            rec["kind"] = T.RsNumber
            head, tail = b"VA %d" % len(str(rec["num"])), b"\r\n%d\r\n" % rec["num"]
        elif kind == "nothing":
            rec["kind"] = T.RsNone
        else:
            rec |= {"kind": T.RsReply, "reply": getattr(T, kind)}
            head = META.get(kind) or REPLIES[kind]
            head = b"EN" if kind == "RpNotFound" and get else head
        rec["keyed"] = int("k" in show)
        if rec["keyed"]:
            self.keys += [int.from_bytes(key[i : i + 64].ljust(64, b"?"), "little") for i in range(0, len(key), 64)]
        if kind == "nothing":
            return rec, b""
        seconds = -1 if not expiry else -(-(expiry - NOW) // 1000) if expiry > NOW else 0xFFFFFFFF
        texts = {"k": b"k" + (b64encode(key) + b" b" if coded else key), "O": b"O" + token, "s": b"s%d" % rec["vlen"], "t": b"t%d" % seconds,
                 "c": b"c%d" % rec["unique_no"], "f": b"f%d" % rec["flags"]}
        words = [] if kind in REPLIES and kind not in META else [f for f in show if full or f in "kO"]
        told = b" Z" * won + b" X" * stale + b" W" * wins
        return rec, b"".join([head, *(b" " + texts[f] for f in words), told]) + tail

    def shown(self):
        """A record of a get with all that it may show, and a short value."""
        key, value, token = random.randbytes(16), random.randbytes(4), b"9"
        self.keys.append(int.from_bytes(key.ljust(64, b"?"), "little"))
        self.chunks += pieces(value, random.randrange(64))
        rec = {"kind": T.RsValue, "head": 1, "tail": 1, "vlen": 4, "shows": 1, "keyed": 1, "klen": 16, "flags": 5,
               "expiry": NOW + 3_600_000, "unique_no": random.getrandbits(40), "reply": T.RpFound,
               "opaque": {"len": 1, "text": token[0]},
               "meta": {"is": 1, "get": 1, "value": 1, "show": sum(getattr(T, SHOWN[f]) << 3 * i for i, f in enumerate("tcfskO"))}}
        return rec, b"VA 4 t3600 c%d f5 s4 k%s O9\r\n%s\r\n" % (rec["unique_no"], key, value)

    def record(self, udp):
        """A random record and its reply."""
        kind = random.random()
        if kind < 0.5:
            size = random.choice((0, 1, 4, random.randrange(20), random.randrange(100),
                                  random.randrange(3000), 1369))
            return self.value(
                random.randbytes(random.choice((1, 6, random.randrange(20, 48),
                                                random.randrange(1, 251)))),
                random.randbytes(size),
                number(32),
                number(64) if random.random() < 0.4 else None,
                random.random() < 0.5,
            )
        if kind < 0.55 and not udp:  # a long value's first part, which ends a job
            key, value = random.randbytes(10), random.randbytes(random.randrange(1, 300))
            return self.value(key, value, number(32), tail=False)
        if kind < 0.6 and not udp:
            return self.value(b"", random.randbytes(random.randrange(500)), 0, head=False,
                              tail=random.random() < 0.5)
        if kind < 0.7:
            value = number(64)
            return {"kind": T.RsNumber, "num": value}, b"%d\r\n" % value
        if kind < 0.8:
            return {"kind": T.RsNone}, b""
        if kind < 0.85 and not udp:
            text = random.randbytes(random.choice((0, 1, 64, 512, random.randrange(513), 2048, random.randrange(2049))))
            return self.host_piece(text)
        return self.fixed(random.choice(list(REPLIES)))

    @staticmethod
    def fixed(name):
        return {"kind": T.RsReply, "reply": getattr(T, name)}, REPLIES[name] + b"\r\n"

    def host_piece(self, text, conn=None):
        conn = random.getrandbits(14) if conn is None else conn
        final, close, three, all_, about, kill, stranger = (random.getrandbits(1) for _ in range(7))
        db = random.getrandbits(4)
        head = conn | random.getrandbits(1) << 31 | len(text) << 32
        head |= final << 48 | close << 49 | three << 50 | all_ << 51 | about << 52
        head |= kill << 53 | stranger << 54 | db << 56
        beats = [head | random.getrandbits(400) << 100]
        self.host.append(beats + ([b["data"] for b in to_beats(text)] if text else []))
        self.hpieces.append({"conn": conn, "len": len(text), "final_piece": final, "close": close, "three": three,
                             "all": all_, "db": db, "about": about, "kill": kill, "stranger": stranger})
        return {"kind": T.RsHostData, "host_len": len(text)}, text

    def job(self, records, udp=False, conn=None, end=None, six=None):
        """A job of [(record, reply)]; with `end` its end is a record of its own."""
        conn = random.choice((0, 5, 16383, random.getrandbits(14))) if conn is None else conn
        tx_ptr = (random.getrandbits(1) if six is None else six) if udp else self.ptr.get(conn, random.getrandbits(32))
        ctx = {"rx_ptr": random.getrandbits(32), "num": random.getrandbits(64),
               "mode": random.randrange(6), "off": {"pos": random.getrandbits(28)}, "rem": random.getrandbits(32),
               **{flag: random.getrandbits(1) for flag in ("noreply", "cont", "copies")},
               "binary": {"is": random.getrandbits(1)},
               "resp": {flag: random.getrandbits(1) for flag in ("is", "all", "met")}}
        rows = [dict(r) for r, _ in records]
        if end or not rows or (end is None and random.random() < 0.3):
            rows.append({"kind": T.RsEnd})
        rows[-1].update(last=1, ctx=ctx)
        bad = [row.pop("_bad", False) for row in rows]
        for i, row in enumerate(rows):
            self.res.append({"": {"udp": udp, "conn": conn, "first": i == 0,
                                  "tx_ptr": tx_ptr if i == 0 else random.getrandbits(32), **row}})
        replies = [text for (_, text), lost in zip(records, bad, strict=False) if text and not lost]
        if udp:
            peer = {"mac": random.getrandbits(48), "ip": random.getrandbits(32),
                    "port": random_port(), "vlan_valid": random.getrandbits(1)}
            reqid = random.getrandbits(16)
            self.uctxs.append({"": {"peer": peer, "reqid": reqid}})
            most = PAYLOAD[tx_ptr & 1]
            for text in replies:
                if error(text) and service(peer["port"]):
                    self.withheld += 1
                    continue
                total = -(-len(text) // most)
                for seq in range(total):
                    head = b"".join(x.to_bytes(2, "big") for x in (reqid, seq, total, 0))
                    part = text[seq * most : (seq + 1) * most]
                    self.dgrams.append((peer, head + part))
        else:
            text = b"".join(text for _, text in records)
            self.kept.append((conn, ctx))
            if any(bad):  # what is in the ring goes nowhere
                ctx = {**ctx, "mode": T.MdAbort}
            self.ptr[conn] = (tx_ptr + len(text)) & 0xFFFFFFFF
            self.done.append((conn, tx_ptr, text, ctx))


class Memory:
    """Line writes. A line can be read when it is taken."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.lines = dut, stall, {}
        self.running = every_clock(dut, self._run())

    async def _run(self):
        dut, ready = Pins(self.dut), False
        while True:
            ready = random.random() >= self.stall
            dut.wr_ready_i.value = ready
            await NEXT_CLOCK
            if ready and dut.wr_valid_o.value:
                write = T.line_write_t.unpack(dut.wr_o.value)
                line = self.lines.setdefault(write["addr"], bytearray(64))
                data = write["data"].to_bytes(64, "little")
                for lane in range(64):
                    if write["strb"] >> lane & 1:
                        line[lane] = data[lane]

    @staticmethod
    def address(conn, ptr):
        return TX_BASE + (conn * RING + ptr % RING) // 64

    def read(self, conn, ptr, size):
        return bytes(self.lines.get(self.address(conn, i), bytes(64))[i % 64]
                     for i in range(ptr, ptr + size))


async def axis_source(dut, packets, pause):
    dut = Pins(dut)
    dut.s_axis_exc_tvalid.value = 0
    for packet in packets:
        for i, beat in enumerate(packet):
            while random.random() < pause:
                await NEXT_CLOCK
            dut.s_axis_exc_tdata.value = beat
            dut.s_axis_exc_tkeep.value = (1 << 64) - 1
            dut.s_axis_exc_tlast.value = int(i == len(packet) - 1)
            dut.s_axis_exc_tvalid.value = 1
            await NEXT_CLOCK
            while not dut.s_axis_exc_tready.value:
                await NEXT_CLOCK
            dut.s_axis_exc_tvalid.value = 0


async def axis_sink(dut, packets, pause):
    dut, packet = Pins(dut), []
    while True:
        ready = random.random() >= pause
        dut.m_axis_exc_tready.value = ready
        await NEXT_CLOCK
        if ready and dut.m_axis_exc_tvalid.value:
            packet.append((dut.m_axis_exc_tdata.value, dut.m_axis_exc_tkeep.value))
            if dut.m_axis_exc_tlast.value:
                packets.append(packet)
                packet = []


class Bench:
    def __init__(self, dut, idle=0.0, stall=0.0, chunk_idle=None, key_idle=None):
        self.dut = dut
        dut.tx_base_i.value = TX_BASE
        dut.cfg_i.value = T.net_cfg_t.pack(PORTS)
        dut.tick_i.value = 1  # errors may go as fast as they can
        dut.s_axis_exc_tvalid.value = 0
        chunk_idle = idle if chunk_idle is None else chunk_idle
        self.res = Source(dut, "res", {"": T.res_t}, idle)
        self.key = Source(dut, "rkey", [""], idle if key_idle is None else key_idle)
        self.chunk = Source(dut, "chunk", {"": T.chunk_t}, chunk_idle)
        self.uctx = Source(dut, "uctx", {"": T.uctx_t}, idle)
        self.hreq = Source(dut, "hreq", {"": T.hreq_t}, idle)
        self.hkey = Source(dut, "hkey", {"": T.beat_t}, idle)
        self.kept = []
        self.keeping = every_clock(dut, self.keep())
        self.done = Sink(dut, "done", {"": T.done_t}, stall)
        self.dgram = Sink(dut, "txdgram", {"": T.dgram_t, "beat": T.beat_t}, stall)
        self.hpiece = Sink(dut, "hpiece", {"": T.hpiece_t}, stall)
        self.memory = Memory(dut, stall)
        self.idle, self.exc = idle, []
        self.exc_sink = every_clock(dut, axis_sink(dut, self.exc, stall))

    def stop(self):
        """Makes room for another one."""
        for stream in (self.res, self.key, self.chunk, self.uctx, self.hreq, self.hkey, self.done, self.dgram,
                       self.hpiece):
            stream.stop()
        self.memory.running.cancel()
        self.keeping.cancel()
        self.exc_sink.cancel()

    async def keep(self):
        """Contexts go to the scheduler's side without a word."""
        pins = Pins(self.dut)
        while True:
            await NEXT_CLOCK
            if pins.kept_valid_o.value:
                self.kept.append((int(pins.kept_conn_o.value), int(pins.kept_o.value)))

    def send(self, model):
        self.res.put(*model.res)
        self.key.put(*({"": k} for k in model.keys))
        self.chunk.put(*({"": c} for c in model.chunks))
        self.uctx.put(*model.uctxs)
        if model.host:
            every_clock(self.dut, axis_source(self.dut, model.host, self.idle))

    async def check(self, model):
        """Every job's bytes are in memory in the clock in which its end is announced."""
        seen = 0
        beats = sum(-(-len(text) // 64) for _, text in model.dgrams)
        for _ in range(200_000):
            while seen < len(self.done.items):
                conn, tx_ptr, text, ctx = model.done[seen]
                got = self.done.items[seen][""]
                assert got["conn"] == conn
                assert got["tx_ptr"] == (tx_ptr + len(text)) & 0xFFFFFFFF
                kept_conn, kept = model.kept[seen]
                assert got["stand"] == {**stand_of(kept), "mode": ctx["mode"]}
                assert self.kept[seen] == (kept_conn, T.ctx_t.pack(kept))
                ring = self.memory.read(conn, tx_ptr, len(text))
                assert ring == text, (seen, tx_ptr & 63, ring[:120], text[:120])
                seen += 1
            if seen == len(model.done) and len(self.dgram.items) >= beats:
                break
            await RisingEdge(self.dut.clk_i)
        assert seen == len(model.done) and len(self.dgram.items) == beats
        packets = from_beats([d["beat"] for d in self.dgram.items])
        heads = [d[""] for d in self.dgram.items if d["beat"]["last"]]
        for (peer, text), got, head in zip(model.dgrams, packets, heads, strict=True):
            assert got == text and head["len"] == len(text)
            assert T.peer_t.pack(head["peer"]) == T.peer_t.pack(peer)
        assert [h[""] for h in self.hpiece.items] == model.hpieces
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)
        assert self.dut.idle_o.value == 1


PAUSES = ((0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5), (0.1, 0.8), (0.8, 0.1))


@cocotb.test()
async def every_alignment(dut):
    """Key lengths, value lengths and ring offsets of every kind, in jobs of one and of several."""
    await start(dut)
    bench, model = Bench(dut), Model()
    for size in range(0, 132):
        key = random.randbytes(random.randrange(1, 70))
        model.job([model.value(key, random.randbytes(size), number(32))], udp=bool(size & 1))
    # Keys that end with a line of 64 bytes, and about that.
    for klen in (63, 64, 65, 127, 128, 129, 192):
        for size in (0, 1, 64):
            model.job([model.value(random.randbytes(klen), random.randbytes(size), number(32))], udp=bool(size & 1))
    # Around the length up to which key, numbers, value and ending stand in one line.
    for klen in range(20, 46):
        for size in range(18):
            model.job([model.value(random.randbytes(klen), random.randbytes(size), number(32),
                                   number(64) if random.random() < 0.2 else None,
                                   random.random() < 0.5) for _ in range(2)], udp=klen % 3 == 0)
    for offset in range(64):
        conn = 100 + offset
        model.ptr[conn] = RING - 200 + offset
        model.job([model.value(b"k", random.randbytes(64 + offset), 0)], conn=conn)
        model.job([model.value(random.randbytes(250), random.randbytes(offset), 0)], conn=conn)
        model.job([], conn=conn)
    bench.send(model)
    await bench.check(model)


@cocotb.test()
async def random_jobs(dut):
    await start(dut)
    for idle, stall in PAUSES:
        bench, model = Bench(dut, idle, stall), Model()
        for _ in range(60):
            udp = random.random() < 0.4
            records = []
            for _ in range(random.choice((0, 1, 1, 2, 5, 20))):
                records.append(model.record(udp))
            model.job(records, udp)
        bench.send(model)
        await bench.check(model)
        bench.stop()


@cocotb.test()
async def udp_errors(dut):
    """Fifty errors go out in datagrams at once, then one a tick; the rest, and those to services, are counted. Other
    replies among them go, whatever an error's letters or a status may be like, and so does all over TCP."""
    await start(dut)
    bench = Bench(dut)
    dut.tick_i.value = 0
    counts = [T.EgressCountErrorLimit, T.EgressCountErrorService]
    seen = [0, 0]

    async def count():
        while True:
            await NEXT_CLOCK
            for i, bit in enumerate(counts):
                seen[i] += int(dut.count_o.value) >> bit & 1

    counting = every_clock(dut, count())
    errors = [name for name, text in REPLIES.items() if error(text)] * 3
    random.shuffle(errors)
    host = [b"ERROR: shutdown not enabled\r\n", b"STAT x y\r\nEND\r\n", b"CLIENT_ERROR bad command line\r\n"]
    for ticks, room in ((0, 50), (7, 7), (60, 50)):
        for _ in range(ticks):
            dut.tick_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.tick_i.value = 0
            await RisingEdge(dut.clk_i)
        model, limited, before = Model(), 0, list(seen)
        for i, name in enumerate(errors):
            for what in (name, "RpNonNumeric", "RpNotFound", "RpEnd", "RpExists"):
                record = model.binary(what) if i % 5 == 0 and what in BINARY else model.fixed(what)
                if i % 7 == 0 and what == name:
                    record = model.host_piece(random.choice(host))
                sent = len(model.dgrams)
                model.job([record], udp=True)
                if error(record[1]) and len(model.dgrams) > sent:
                    room -= 1
                    if room < 0:
                        model.dgrams.pop()
                        limited += 1
                model.job([model.fixed(what)])
        bench.send(model)
        await bench.check(model)
        assert [n - b for n, b in zip(seen, before, strict=True)] == [limited, model.withheld] and limited and model.withheld
        assert dut.timer_o.value
        bench.kept.clear()
        bench.done.items.clear()
        bench.dgram.items.clear()
        bench.hpiece.items.clear()
    counting.cancel()


@cocotb.test()
async def redis(dut):
    """Replies of Redis' protocol, RESP2 and RESP3, in jobs of one and of several, at every place in a line."""
    await start(dut)
    for idle, stall in PAUSES:
        bench, model = Bench(dut, idle, stall), Model()
        for kind in ("value", "number", "reply") * 20:
            model.job([model.redis(kind, three=random.random() < 0.5)])
        for _ in range(60):
            three, kinds = random.random() < 0.5, ("value", "value", "number", "reply", "reply")
            model.job([model.redis(random.choice(kinds), three) for _ in range(random.randrange(2, 30))])
        bench.send(model)
        await bench.check(model)
        bench.stop()


@cocotb.test()
async def binary(dut):
    """Replies of the binary protocol, in jobs of one and of several, at every place in a line."""
    await start(dut)
    for idle, stall in PAUSES:
        bench, model = Bench(dut, idle, stall), Model()
        for kind in ("value", "number", *BINARY):
            model.job([model.binary(kind)])
            model.job([model.binary(kind)], udp=True)
        for _ in range(60):
            kinds = random.choices(("value", "value", "value", "number", *BINARY), k=random.randrange(1, 8))
            model.job([model.binary(kind) for kind in kinds], udp=random.random() < 0.3)
        # A long value goes on without a header.
        rec, text = model.binary("value", whole=False)
        model.job([(rec, text)], conn=3)
        more = {"kind": T.RsValue, "tail": 1, "vlen": 9, "binary": rec["binary"]}
        model.chunks += pieces(b"the rest.", 5)
        model.job([(more, b"the rest.")], conn=3)
        bench.send(model)
        await bench.check(model)
        bench.stop()


@cocotb.test()
async def meta(dut):
    """Replies of meta commands, in jobs of one and of several, among others, at every place in a line."""
    await start(dut)
    dut.now_i.value = NOW
    kinds = ("value", "number", "nothing", *META, "RpTooLarge", "RpInvalid")
    for idle, stall, key_idle in [*((idle, stall, idle) for idle, stall in PAUSES), (0, 0, 0.998)]:
        bench, model = Bench(dut, idle, stall, None, key_idle), Model()
        for kind in kinds:
            for plain in (True, False):
                model.job([model.meta(kind, plain)])
                model.job([model.meta(kind, plain)], udp=True)
        # What is shown makes a datagram more of them.
        for size in range(1180, 1390, 10):
            model.job([model.meta("value", size=size)], udp=True)
        for _ in range(60):
            udp = random.random() < 0.3
            model.job([model.record(udp) if random.random() < 0.2 else
                       model.meta(random.choice(("value", *kinds)), random.random() < 0.3)
                       for _ in range(random.randrange(1, 8))], udp=udp)
        # A datagram's commands that say nothing end unseen.
        model.job([model.fixed("RpStored")])
        bench.send(model)
        await bench.check(model)
        bench.stop()


@cocotb.test()
async def replies(dut):
    """Every fixed reply, over TCP and UDP, alone and behind every end of a value and of each other; the enum has no reply
    without a text."""
    others = {"RpOverflow", "RpPong", "RpTooLong", "RpBadExpire", "RpFound"}
    assert set(T.reply_e.names.values()) - {"RpNone"} == set(REPLIES) | others
    await start(dut)
    bench, model = Bench(dut, 0.2, 0.2), Model()
    records = [({"kind": T.RsReply, "reply": getattr(T, n)}, t + b"\r\n")
               for n, t in REPLIES.items()]
    silent = ({"kind": T.RsReply, "reply": T.RpNone}, b"")
    for udp in (False, True):
        for record in records:
            model.job([record], udp)
        model.job([silent, *records, silent], udp)
        model.job([silent], udp)
    for record in records:
        model.job([part for last in (False, True) for other in records for part in (
            model.value(b"k", random.randbytes(100), 1, last_key=last), record, other)])
    bench.send(model)
    await bench.check(model)


@cocotb.test()
async def numbers(dut):
    """Powers of ten and their neighbours, and numbers of every length, as counters and in lines."""
    await start(dut)
    bench, model = Bench(dut), Model()
    values = [10**n + d for n in range(20) for d in (-1, 0, 1)] + [(1 << 64) - 1]
    values += [random.getrandbits(random.randrange(65)) for _ in range(300)]
    for n in range(0, len(values), 10):
        model.job([({"kind": T.RsNumber, "num": v}, b"%d\r\n" % v) for v in values[n : n + 10]])
        model.job([model.value(b"k", b"", v & 0xFFFFFFFF, v) for v in values[n : n + 10]], udp=True)
    bench.send(model)
    await bench.check(model)


@cocotb.test()
async def datagrams(dut):
    """Values around the limits of one and two datagrams, and a large one; many keys a request."""
    await start(dut)
    bench, model = Bench(dut, 0, 0.1), Model()
    for six, payload in enumerate(PAYLOAD):
        for around in (payload, 2 * payload):
            for total in range(around - 8, around + 9):
                head = len(b"VALUE kk 1 1392\r\n\r\nEND\r\n")
                model.job([model.value(b"kk", random.randbytes(total - head), 1)], True, six=six)
        model.job([model.value(random.randbytes(250), random.randbytes(120_000), 77, 1)], True, six=six)
    model.job([model.value(b"a", random.randbytes(n), 1, last_key=n == 19)
               for n in range(20)], True)
    bench.send(model)
    await bench.check(model)


@cocotb.test()
async def refused(dut):
    """A value that memory could not read resets its connection, or makes no datagram."""
    await start(dut)
    bench, model = Bench(dut, 0.2, 0.2), Model()
    for n in range(120):
        records = [model.value(random.randbytes(random.choice((5, 60))),
                               random.randbytes(random.choice((0, 4, 16, 17, 200, 1000))), 0,
                               bad=random.random() < 0.3) for _ in range(random.randrange(1, 4))]
        records.insert(random.randrange(len(records) + 1), model.fixed("RpStored"))
        model.job(records, n % 2 == 0)
    bench.send(model)
    await bench.check(model)


@cocotb.test()
async def exception_queue(dut):
    """Requests reach the host whole; broken packets from it are counted and hurt nobody."""
    await start(dut)
    bench, model = Bench(dut, 0.3, 0.3), Model()
    texts = []
    for size in (0, 1, 63, 64, 65, 128, 250, *(random.randrange(1, 251) for _ in range(30))):
        conn, udp, text = random.getrandbits(14), random.getrandbits(1), random.randbytes(size)
        flags, db = random.getrandbits(5), random.getrandbits(4)
        texts.append((conn, udp, flags | db << 7, text))
        named = {name: flags >> i & 1 for i, name in enumerate(("resp", "more", "stranger", "begins", "all"))}
        bench.hreq.put({"": {"conn": conn, "udp": udp, "len": size, "db": db, **named}})
        bench.hkey.put(*({"": b} for b in to_beats(text)[:size]))  # none without text
    bad = 0
    for i in range(30):
        text = random.randbytes(random.randrange(2049, 2200) if i % 6 == 3 else random.randrange(513))
        record, reply = model.host_piece(text, i)
        packet = model.host[-1]
        if len(text) > 2048:  # more than a piece may have
            bad += 1
            reply = reply[:2048]
            record["host_len"] = model.hpieces[-1]["len"] = 2048
        elif i % 3 == 1:  # beats that the header does not announce
            packet += [random.getrandbits(512)] * 2
            bad += 1
        elif i % 3 == 2 and len(packet) > 1:  # a beat is missing
            packet.pop()
            bad += 1
            reply = reply[: 64 * (len(packet) - 1)]
            record["host_len"] = model.hpieces[-1]["len"] = len(reply)
        model.job([(record, reply)], conn=i)
    counted = [0]

    async def count():
        while True:
            await RisingEdge(dut.clk_i)
            counted[0] += int(dut.count_o.value) >> T.EgressCountHostBad & 1

    cocotb.start_soon(count())
    bench.send(model)
    await bench.check(model)
    assert counted[0] == bad
    while len(bench.exc) < len(texts):
        await RisingEdge(dut.clk_i)
    for (conn, udp, flags, text), packet in zip(texts, bench.exc, strict=True):
        (head, keep), *rest = packet
        head &= (1 << 64) - 1  # bytes behind it mean nothing
        assert head == conn | udp << 31 | len(text) << 32 | udp << 40 | flags << 41 and keep == (1 << 64) - 1
        assert text == b"".join(
            from_beats([{"data": d, "len": k.bit_count(), "last": i == len(rest) - 1}
                        for i, (d, k) in enumerate(rest)]))


#: What a job has, how many of them, clocks an operation (over TCP, a reply lies in 1.44 lines).
RATES = (
    ("a small hit", lambda m: [m.value(b"key%03d" % random.randrange(1000), b"abcd", 0)], 1, 1.0),
    ("16 small hits", lambda m: [m.value(b"key%03d" % i, b"abcd", 0) for i in range(16)], 16, 1.0),
    ("100 keys", lambda m: [m.value(b"key%03d" % i, b"abcd", 0, last_key=i == 99)
                            for i in range(100)], 100, 1.0),
    ("sets and small hits", lambda m: [r for i in range(8) for r in (
        m.fixed("RpStored"), m.value(b"key%03d" % i, b"abcd", 0))], 16, 1.0),
    ("sets", lambda m: [m.fixed("RpStored")] * 16, 16, 1.0),
    ("100 bytes", lambda m: [m.value(b"0123456789abcdef", random.randbytes(100), 0)
                             for _ in range(16)], 16, 3.07),
    ("sets and 100 bytes", lambda m: [r for _ in range(8) for r in (
        m.fixed("RpStored"), m.value(b"0123456789abcdef", random.randbytes(100), 0))], 16, 1.57),
    ("meta gets with six flags", lambda m: [m.shown() for _ in range(16)], 16, 8.0),
)


@cocotb.test()
async def full_rate(dut):
    """Nothing takes longer than one clock a result and one for 64 bytes of a value, or 8 for a meta command's line; a
    small hit is through in 22 clocks."""
    await start(dut)
    dut.now_i.value = NOW
    for name, records, size, most in RATES:
        for udp in (False, True) if size == 1 else (False,):
            bench, model = Bench(dut), Model()
            jobs = max(1600 // size, 30) // (2 if most > 2 else 1)
            for i in range(jobs):
                model.job(records(model), udp, conn=i, end=False)
            bench.send(model)
            before = 0
            while not int(dut.res_valid_i.value):
                await RisingEdge(dut.clk_i)
                before += 1
            await bench.check(model)
            times = bench.dgram.times if udp else bench.done.times
            rate = (times[-1] - times[9]) / (len(times) - 10) / size
            dut._log.info("%s, %s: %.2f clocks an op, first after %d clocks", name,
                          "UDP" if udp else "TCP", rate, times[0] - before)
            most = most if udp or size > 1 else 1.55
            assert rate <= most + 0.03, (name, udp, rate)
            assert size > 1 or times[0] - before <= 22, (name, udp, times[0] - before)
            bench.stop()


def test_egress():
    run(__file__, "egress", ["rtl/lib/lib.f", "rtl/reply/egress.f"])
