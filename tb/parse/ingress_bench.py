"""What is around ingress in its tests: tcp, the ring memory, the store and the way back at once.

It executes the records, cuts jobs at random places as the store may, and sends each connection's context back.
"""

import random
from collections import deque
from itertools import chain, repeat

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start
from harness.streams import Sink, Source
from harness.structs import T, stand_of
from parse.text_model import Text

EXTENDS = "OpAppend", "OpPrepend"
STORES = "OpSet", "OpAdd", "OpReplace", "OpCas", *EXTENDS

RX_BASE = 0x2_0000_0040
RING = 65536
ITEM_MAX = 1048576
REPLY_MAX = 512
#: Seconds. The card's clock says milliseconds, and not the first of these.
NOW = 1_800_000_000
M32 = 0xFFFFFFFF


def mod32(value):
    return value & M32


def name(value, enum):
    return enum.names[value]


#: The request port's connection.
HOST = (1 << 14) - 1


class Conn:
    """A connection: what its client sends, and what has been made of it."""

    def __init__(self, data, fin=True, redis=False):
        self.data, self.fin, self.redis = data, fin, redis
        self.text = b""         # for the host, so far
        self.leaves, self.most_leaves = 0, None  # what it gave to go on with that; with the last one it closes
        self.met = self.three = self.all = self.answered = 0
        self.wants_all = lambda answered: 0  # what the host asks for with its answers
        self.answers = True    # the host does
        self.rx0 = random.getrandbits(32)
        self.tx0 = random.getrandbits(32)
        self.sent = 0          # bytes in the ring
        self.used = 0          # bytes consumed as app says
        self.tx = self.acked = 0
        self.feeding = False   # more data will come
        self.owes = False      # what was acknowledged is told with them
        self.ops = []
        self.value = None      # parts of a long SET
        self.closed = self.released = False
        self.host = deque()    # pieces of the host's answer that have not come yet
        self.asked = False     # the first of them is on its way
        self.ring = bytearray(random.randbytes(RING))
        self.reads = True      # acknowledges what it is sent
        self.grow = 200        # most reply bytes of a request
        self.abort = False     # the store loses its next value half sent
        self.reset = False
        self.open = True
        self.db = 0            # as its context says
        self.sum = 0           # likewise, of a command with several keys


class Bench:
    """Everything around ingress."""

    def __init__(self, dut, latency=40, pause=0.2, cut=0.04, long_value=0.02, refuse=0, choose=True,
                 wait=(1, 1, 5, 50, 200)):
        self.dut, self.pins, self.latency, self.pause = dut, Pins(dut), latency, pause
        self.choose = choose  # databases are chosen at random
        self.wait = wait      # clocks between pieces
        self.cut, self.long_value, self.refuse = cut, long_value, refuse
        self.refused = set()  # of connections: lines that memory can't read once, and says so late
        self.conns = {}
        self.events = Source(dut, "ev", {"": T.ev_t}, pause)
        self.dones = Source(dut, "done", {"": T.done_t}, pause)
        self.pieces = Source(dut, "hpiece", {"": T.hpiece_t}, pause)
        self.dgrams = Source(dut, "dgram", {"": T.dgram_t, "beat": T.beat_t}, pause)
        self.apps = Sink(dut, "app", {"": T.app_t}, pause)
        self.reqs = Sink(dut, "req", {"": T.req_t}, pause)
        self.keys = Sink(dut, "key", {"": T.beat_t}, pause)
        self.uctxs = Sink(dut, "uctx", {"": T.uctx_t}, pause)
        self.putks = Sink(dut, "putk", {"": T.beat_t}, pause)
        self.putbs = Sink(dut, "putb", {"": T.beat_t}, pause)
        self.puts = deque()          # accepted and not complete
        self.items = {}              # by offset: dict of header, key, value
        self.parts = {}
        self.next_off = 1 << 28
        self.rests = {}              # by connection: bytes that its value lacks
        self.parts_told = self.parts_named = 0
        self.udp_ops = [[]]
        self.udp_ends = 0  # jobs whose end is to be told
        self.over = deque()  # likewise, of connections
        self.udp_six = []  # of each job: over IPv6
        self.reset_to = []  # databases, by RESET
        self.job = None
        self.n_req = self.n_key = self.n_app = self.n_putk = self.n_putb = 0
        self.ended = 0
        dut.item_max_i.value = ITEM_MAX
        dut.now_i.value = T.now_t.pack({"ms": 1000 * NOW + 123, "second": 1000 * NOW})
        dut.rx_base_i.value = RX_BASE
        dut.hold_i.value = dut.host_rd_ready_i.value = dut.host_line_valid_i.value = 0
        dut.guard_i.value = dut.pause_i.value = dut.late_i.value = dut.udp_end_i.value = 0
        dut.upstream_i.value = dut.lost_i.value = 0
        every_clock(dut, self.memory())
        every_clock(dut, self.host_ring())
        every_clock(dut, self.log())
        every_clock(dut, self.loop())

    # ------------------------------------------------------------ receive rings
    async def memory(self):
        dut, waiting, clock = self.pins, deque(), 0
        dut.rd_ready_i.value = 0
        dut.rdat_valid_i.value = dut.rdat_bad_i.value = dut.job_over_i.value = dut.wr_bad_i.value = 0
        dut.kept_valid_i.value = 0
        ready = offered = 0
        while True:
            await NEXT_CLOCK
            clock += 1
            if ready and dut.rd_valid_o.value:
                addr = int(dut.rd_addr_o.value)
                conn, line = divmod(addr - RX_BASE, RING // 64)
                lanes = T.lanes_t.unpack(int(dut.rd_lanes_o.value))
                bad, data = random.random() < self.refuse, bytearray(random.randbytes(64))
                late = (conn, line) in self.refused
                if late:
                    self.refused.remove((conn, line))
                    bad = True
                if not bad:  # what was not asked for is anything
                    at = slice(lanes["first"], lanes["last"] + 1)
                    data[at] = self.conns[conn].ring[64 * line : 64 * line + 64][at]
                waiting.append((clock + self.latency + 300 * late, int.from_bytes(data, "little"), int(bad)))
            if offered and dut.rdat_ready_o.value:
                waiting.popleft()
                offered = 0
                dut.rdat_valid_i.value = 0
            if not offered and waiting and waiting[0][0] <= clock:
                offered = 1
                dut.rdat_i.value, dut.rdat_bad_i.value = waiting[0][1:]
                dut.rdat_valid_i.value = 1
            ready = random.random() >= self.pause and len(waiting) < 96
            dut.rd_ready_i.drive(ready)

    async def host_ring(self):
        """The same of the request port's connection, which are in its module."""
        dut, lines = self.pins, deque()
        ready = offered = 0
        while True:
            await NEXT_CLOCK
            if ready and dut.host_rd_valid_o.value:
                at = 64 * int(dut.host_rd_line_o.value)
                lines.append(int.from_bytes(self.conns[HOST].ring[at : at + 64], "little"))
            if offered and dut.host_line_ready_o.value:
                lines.popleft()
                offered = 0
                dut.host_line_valid_i.value = 0
            if not offered and lines and random.random() >= self.pause:
                offered = 1
                dut.host_line_i.value = lines[0]
                dut.host_line_valid_i.value = 1
            ready = random.random() >= self.pause
            dut.host_rd_ready_i.drive(ready)

    # ------------------------------------------------------------ item log
    async def log(self):
        dut = self.pins
        ready, given, offs = False, False, deque()
        dut.put_ready_i.value = dut.put_off_valid_i.value = 0
        while True:
            await NEXT_CLOCK
            if ready and dut.put_valid_o.value:
                put = T.put_t.unpack(int(dut.put_o.value))
                if put["start"]:
                    put["off"] = T.off_t.unpack(self.next_off)
                    self.next_off += 1
                offs.append((T.off_t.pack(put["off"]), not put["start"]))
                self.puts.append(put)
            if dut.req_valid_o.value and dut.req_ready_i.value:
                self.named(T.req_t.unpack(int(dut.req_o.value)))
            given = bool(offs) and random.random() >= self.pause
            dut.put_off_valid_i.drive(given)
            if given:
                dut.put_off_i.value, part = offs.popleft()
                self.parts_told += part
            ready = random.random() >= self.pause
            dut.put_ready_i.drive(ready)
            self.take_puts()

    def named(self, rec):
        """A record leaves: if it ends a later part of a value, the log has taken that part before."""
        op = name(rec["op"], T.op_e)
        value = op in ("OpSet", "OpAdd", "OpReplace", "OpCas", "OpPart") or \
            (op == "OpReply" and name(rec["mode"], T.mode_e) == "MdLine")
        if value and rec["key_stored"] and self.rests.get(rec["conn"], 0) > tail_of(rec):
            self.parts_named += 1
            assert self.parts_named <= self.parts_told, "a record before its bytes"
            del self.rests[rec["conn"]]

    def take_puts(self):
        while self.puts:
            put = self.puts[0]
            beats = self.putbs.items[self.n_putb :]
            last = next((i for i, b in enumerate(beats) if b[""]["last"]), None)
            nkeys = -(-put["klen"] // 64) if put["start"] else 0
            keys = [b[""] for b in self.putks.items[self.n_putk : self.n_putk + nkeys]]
            if last is None or len(keys) < nkeys:
                return
            beats = [b[""] for b in beats[: last + 1]]
            self.n_putk += nkeys
            self.n_putb += last + 1
            self.puts.popleft()
            data = b"".join(self.bytes_of(b) for b in beats)
            assert all(b["len"] == 64 for b in beats[:-1]), "short beat inside a value"
            off = T.off_t.pack(put["off"])
            if put["start"]:
                key = b"".join(self.bytes_of(b) for b in keys)
                assert len(key) == put["klen"] and all(b["len"] == 64 for b in keys[:-1])
                self.items[off] = dict(put, key=key, value=data)
            else:
                item = self.items[off]
                assert put["done"] == len(item["value"]), "part does not go on where it should"
                assert put["vlen"] == item["vlen"] and put["klen"] == item["klen"]
                item["value"] += data
            if put["own_lines"] or not put["start"]:
                item = self.items[off]
                assert put["ends"] == int(len(item["value"]) == item["vlen"])
                assert put["conn"] == item["conn"], "a part of another connection's item"

    @staticmethod
    def bytes_of(beat):
        data = beat["data"].to_bytes(64, "little")
        assert not any(data[beat["len"] :]), "bytes beyond the beat's length"
        return data[: beat["len"]]

    # ------------------------------------------------------------ tcp
    async def feed(self, number, conn, sizes):
        """Opens the connection and sends its bytes in pieces, as the ring has room."""
        self.conns[number] = conn
        finished = False
        conn.feeding = True
        self.event("open", number)
        while conn.sent < len(conn.data) and not conn.closed:
            n = min(sizes(), len(conn.data) - conn.sent, RING - (conn.sent - conn.used))
            if n:
                for i in range(conn.sent, conn.sent + n):
                    conn.ring[(conn.rx0 + i) % RING] = conn.data[i]
                conn.sent += n
                conn.feeding = conn.sent < len(conn.data)
                if conn.fin and conn.sent == len(conn.data) and random.random() < 0.5:
                    self.event("data", number, "fin")
                    finished = True
                else:
                    self.event("data", number)
            elif conn.owes:
                self.event("acked", number)
            for _ in range(random.choice(self.wait)):
                await NEXT_CLOCK
        if conn.fin and not finished:
            self.event("fin", number)
        while not (conn.closed or not conn.fin):
            await NEXT_CLOCK
        if conn.fin:
            self.event("closed", number)

    async def feed_on(self, number, size):
        """More that its client sends, in pieces of `size`."""
        conn = self.conns[number]
        while conn.sent < len(conn.data):
            n = min(size, len(conn.data) - conn.sent)
            for i in range(conn.sent, conn.sent + n):
                conn.ring[(conn.rx0 + i) % RING] = conn.data[i]
            conn.sent += n
            self.event("data", number)
            await NEXT_CLOCK

    def event(self, kind, number, *more):
        conn = self.conns[number]
        if conn.owes and kind != "open":
            more, conn.owes = (*more, "acked"), False
        self.events.put({"": {**dict.fromkeys((kind, *more), 1), "conn": number,
                              "redis": int(conn.redis and (kind == "open" or number == HOST)),
                              "rx_ptr": mod32(conn.rx0 + conn.sent),
                              "tx_ptr": mod32(conn.tx0 + conn.acked)}})

    # ------------------------------------------------------------ records and commands
    async def loop(self):
        while True:
            await NEXT_CLOCK
            self.dut.udp_end_i.value = int(self.udp_ends > 0)
            self.udp_ends -= self.udp_ends > 0
            self.dut.job_over_i.value = int(bool(self.over))
            self.dut.kept_valid_i.value = int(bool(self.over))
            if self.over:  # their ends are told later
                done = self.over.popleft()
                self.dut.job_over_conn_i.value = self.dut.kept_conn_i.value = done["conn"]
                ctx = done.pop("ctx")
                self.dut.kept_i.value = T.ctx_t.pack(ctx)
                self.dones.put({"": {**done, "stand": stand_of(ctx)}})
            while self.n_app < len(self.apps.items):
                self.app(self.apps.items[self.n_app][""])
                self.n_app += 1
            while self.n_req < len(self.reqs.items) and self.complete():
                rec = self.reqs.items[self.n_req][""]
                self.n_req += 1
                self.record(rec)

    def app(self, app):
        conn = self.conns[app["conn"]]
        if app["release_id"]:
            assert not conn.released
            conn.released = True
            return
        assert not conn.released
        used = mod32(app["rx_ptr"] - conn.rx0)
        assert conn.used <= used <= conn.sent, "consumes what has not come"
        conn.used = used
        assert app["tx_ptr"] == mod32(conn.tx0 + conn.tx)
        if app["reset"]:
            assert conn.abort
            conn.reset = True
        if app["close"]:
            conn.closed = True
        if not (conn.reads and conn.open):
            return
        if conn.acked < conn.tx and random.random() < 0.9 or conn.tx - conn.acked > 20000:
            conn.acked = conn.tx
            # Alone, or with the next data.
            conn.owes = conn.feeding and random.random() < 0.5
            if not conn.owes:
                self.event("acked", app["conn"])

    def has_key(self, rec):
        return name(rec["op"], T.op_e) in (
            "OpGet", *STORES, "OpDelete", "OpIncr", "OpDecr", "OpTouch", "OpTooBig", "OpHost",
            "OpPart", "OpVersion") and not rec["key_stored"]

    def complete(self):
        """The first record's key and item data have come, too."""
        rec = self.reqs.items[self.n_req][""]
        op = name(rec["op"], T.op_e)
        if op in (*STORES, "OpPart") and not rec["cont_start"]:
            item = self.items.get(T.off_t.pack(rec["off"]))
            missing = max(rec["rem"] - tail_of(rec), 0) if op == "OpPart" else 0
            if not item or len(item["value"]) < item["vlen"] - missing:
                return False
        if not self.has_key(rec):
            return True
        return len(self.keys.items) - self.n_key >= -(-rec["klen"] // 64)

    def take_key(self, rec):
        n = -(-rec["klen"] // 64)
        beats = [b[""] for b in self.keys.items[self.n_key : self.n_key + n]]
        self.n_key += n
        assert [b["last"] for b in beats] == [0] * (n - 1) + [1], "key beats out of step"
        assert all(b["len"] == 64 for b in beats[:-1])
        key = b"".join(self.bytes_of(b) for b in beats)
        assert len(key) == rec["klen"]
        return key

    def record(self, rec):
        op = name(rec["op"], T.op_e)
        key = self.take_key(rec) if self.has_key(rec) else None
        first = self.job is None
        assert rec["first"] == first, f"first is wrong at {op}"
        if first:
            self.job = {"cut": False, "ctx": None, "n": 0, "ops": 0 if rec["udp"] else
                        len(self.conns[rec["conn"]].ops)}
        job = self.job
        if rec["udp"]:
            assert rec["db"] == 0
            if first:
                self.udp_six.append(rec["tx_ptr"])
            if op == "OpEnd":
                self.udp_ops.append([])
                self.udp_ends += 1
                self.job = None
            else:
                self.execute(rec, op, key, self.udp_ops[-1], None)
            return
        conn = self.conns[rec["conn"]]
        assert not conn.released
        if op == "OpHostData":
            conn.db = conn.host[0]["db"]
        chooses = conn.redis and (op == "OpHost" or op == "OpReply" and rec["reply"] == T.RpOk)
        assert rec["db"] == conn.db or chooses or op == "OpEnd" and job["cut"]
        if first:
            assert rec["tx_ptr"] == mod32(conn.tx0 + conn.tx)
            assert rec["tx_space"] <= RING - (conn.tx - conn.acked)
            job["room"] = rec["tx_space"]
        if op == "OpEnd":
            self.finish(rec, job, conn)
            return
        job["cut"] |= not first and job["room"] < REPLY_MAX
        if job["cut"]:
            return
        self.execute(rec, op, key, conn.ops, conn)
        if chooses:
            # SELECT, or RESET.
            last = conn.ops[-1] if conn.ops else ("", b"")
            resets = last[0] == "host" and last[1].upper() == b"*1\r\n$5\r\nRESET\r\n"
            if op == "OpHost" and (conn.text or not resets):
                assert rec["db"] == conn.db
            elif op == "OpHost" and not rec["key_stored"]:
                self.reset_to.append(rec["db"])
            conn.db = rec["db"]
        job["n"] += 1
        job["ctx"] = self.context(rec, op, key)
        grow = rec["host_len"] if op == "OpHostData" else 0 if op == "OpHost" else random.randrange(conn.grow)
        # Of an MSET only the last pair has a reply, and the store never leaves it between two of them.
        pair = conn.redis and rec["noreply"] and op in STORES
        grow = 0 if pair else min(grow, job["room"])
        job["room"] -= grow
        conn.tx += grow
        if conn.abort and op == "OpGet":
            job["ctx"]["mode"] = T.MdAbort
            job["cut"] = True
            return
        # A value too long for one piece, also that which GETDEL and SET with GET show, or no room for the next reply.
        shows = op == "OpGet" or conn.redis and op in ("OpDelete", *STORES) and rec["resp"]["form"] == T.RfBulk
        if shows and random.random() < self.long_value:
            job["ctx"].update(cont=1, cont_start=random.randrange(1 << 20), off=T.off_t.unpack(77))
            job["cut"] = True
        elif op == "OpCont" and random.random() < 0.5:
            job["ctx"].update(cont=1, cont_start=rec["cont_start"] + 100)
            job["cut"] = True
        elif (op in EXTENDS or op == "OpDelete" and rec["meta"]["stale"]) and random.random() < (0.5 if rec["cont_start"] else 10 * self.long_value):
            # It goes on as it likes to.
            conn.copying = {"cont_start": random.randrange(1, 1 << 20), "num": random.getrandbits(64),
                            "expiry": random.getrandbits(48), "off": T.off_t.unpack(random.getrandbits(36))}
            job["ctx"].update(cont=1, **conn.copying)
            conn.copying |= {f: job["ctx"][f] for f in ("op", "noreply", "klen", "vlen", "hash")}
            job["cut"] = True
        elif random.random() < self.cut and not (conn.text and op == "OpHost") and not pair:
            job["cut"] = True

    def context(self, rec, op, key):
        ctx = {f: rec[f] for f in ("rx_ptr", "mode", "rem", "noreply", "cas_out", "touch",
                                   "last_key", "klen", "vlen", "expiry", "num", "off", "hash", "db")}
        ctx["op"] = rec["ctx_op"]
        ctx["known"], ctx["binary"], ctx["resp"] = 1, rec["binary"], rec["resp"]
        ctx["meta"], ctx["opaque"], ctx["chosen_no"] = rec["meta"], rec["opaque"], rec["chosen_no"]
        if op == "OpHost":
            ctx["resp"] = {**rec["resp"], "met": 1}
        if not rec["key_stored"] and key:
            ctx["hash"] = hash_of(key)
        return ctx

    def finish(self, rec, job, conn):
        self.job = None
        self.ended += 1
        if not job["cut"]:
            ctx = self.context(rec, "OpEnd", None)
            if not rec["key_stored"] and job["ctx"]:
                ctx["hash"] = job["ctx"]["hash"]
        else:
            ctx = job["ctx"]
        if self.dut.bad_valid_o.value and int(self.dut.bad_conn_o.value) == rec["conn"]:
            # The store drops what bytes say that nobody knows, and resets the connection.
            del conn.ops[job["ops"]:]
            conn.abort = True
            ctx = {**(ctx or self.context(rec, "OpEnd", None)), "mode": T.MdAbort}
        if self.choose and ctx["mode"] == T.MdLine and not ctx.get("cont"):
            # As if the last request had chosen another one.
            ctx["db"] = conn.db = random.randrange(16)
        if conn.redis and ctx["mode"] == T.MdKeys and name(ctx["resp"]["form"], T.resp_form_e) == "RfSum":
            # What the store has counted.
            conn.sum = random.getrandbits(32)
            ctx["num"] = conn.sum << 32 | ctx["num"] & M32
        self.rests[rec["conn"]] = ctx["rem"] if ctx["mode"] == T.MdValue else 0
        self.over.append({"conn": rec["conn"], "tx_ptr": mod32(conn.tx0 + conn.tx), "ctx": ctx})

    def execute(self, rec, op, key, ops, conn):
        count, binary = len(ops), rec["binary"]
        if op == "OpHostData":
            conn.piece = conn.host.popleft()
        self.execute_one(rec, op, key, ops, conn)
        assert rec["resp"]["is"] == int(conn is not None and conn.redis)
        if rec["resp"]["is"]:
            if op == "OpHostData":
                conn.met, conn.three, conn.all = 1, conn.piece["three"], conn.piece["all"]
            told = rec["resp"]["met"], rec["resp"]["three"], rec["resp"]["all"]
            assert told == (conn.met, conn.three, conn.all), op
            form = "" if rec["reply"] == T.RpTooLong else name(rec["resp"]["form"], T.resp_form_e)
            ops[count:] = [one if one[0] == "host" else (*one, form) for one in ops[count:]]
            if form == "RfSum" and op in ("OpGet", "OpDelete"):
                assert rec["num"] >> 32 == conn.sum
                ops[-1] = (*ops[-1], bool(rec["last_key"]))
                if rec["last_key"]:
                    conn.sum = 0
        if binary["is"]:
            assert binary["key"] == (binary["opcode"] in (0x0C, 0x0D, 0x23, 0x24))
            ops[count:] = [(*one, binary["opcode"], binary["opaque"]) for one in ops[count:]]

        if rec["meta"]["is"]:
            ops[count:] = [(*one, meta_of(rec)) if one[0] in ("get", "delete", "delta", "store") else one
                           for one in ops[count:]]

    def execute_one(self, rec, op, key, ops, conn):
        binary = rec["binary"]["is"] or rec["meta"]["is"]
        reply = name(rec["reply"], T.reply_e)
        noreply = bool(rec["noreply"])
        if op == "OpReply":
            if reply == "RpEnd":
                ops.append(("end",))
            elif reply == "RpOk" and rec["resp"]["is"]:
                ops.append(("select", rec["db"]))
            elif reply != "RpNone":
                ops.append(("reply", reply))
            elif rec["resp"]["is"] and rec["resp"]["form"] == T.RfArray:
                ops.append(("array", rec["num"]))
        elif op == "OpGet":
            assert not noreply or binary
            fault = [reply] if rec["resp"]["is"] and reply != "RpNone" else []
            ops.append(("get", key, bool(rec["cas_out"]), rec["expiry"] if rec["touch"] and not fault else None, *fault))
            if rec["last_key"] and not rec["resp"]["is"]:
                ops.append(("end",))
        elif op in (*EXTENDS, "OpDelete") and rec["cont_start"]:
            got = {f: rec[f] for f in conn.copying}
            assert rec["key_stored"] and got == conn.copying, (got, conn.copying)
        elif op in STORES:
            item = self.items[T.off_t.pack(rec["off"])]
            if rec["key_stored"]:
                key = item["key"]
                assert rec["hash"] == hash_of(key)
            assert item["key"] == key, "key of the item"
            assert (item["vlen"], rec["vlen"]) == (len(item["value"]),) * 2
            assert (rec["expiry"], rec["db"]) == (item["expiry"], item["db"])
            assert (rec["meta"]["chosen"], rec["chosen_no"]) == (item["chosen"], item["chosen_no"])
            assert item["marks"] == {"coded": rec["meta"]["coded"], "won": 0, "stale": 0}
            ops.append(("store", op, key, item["flags"], item["expiry"], item["value"], noreply,
                        rec["num"] if op == "OpCas" or binary else 0, *[bool(rec["touch"])] * rec["resp"]["is"]))
        elif op == "OpPart":
            item = self.items[T.off_t.pack(rec["off"])]
            assert item["own_lines"] and item["vlen"] == rec["vlen"]
            assert rec["rem"] == item["vlen"] + tail_of(rec) - len(item["value"])
        elif op == "OpTooBig":
            assert reply == ("RpNone" if noreply else "RpTooLarge")
            ops.append(("toobig", key, noreply))
        elif op in ("OpIncr", "OpDecr"):
            more = [rec["hash"], rec["unique_no"], rec["expiry"], bool(rec["touch"])] if binary else []
            ops.append(("delta", b"incr" if op == "OpIncr" else b"decr", key, rec["num"], noreply, *more))
        elif op == "OpTouch":
            ops.append(("touch", key, rec["expiry"], noreply, *[rec["flags"]] * rec["resp"]["is"]))
        elif op == "OpDelete":
            ops.append(("delete", key, noreply, *[rec["num"]] * binary))
        elif op == "OpWalk":
            assert rec["klen"] == 0 and not noreply
            ops.append(("walk",))
        elif op == "OpVersion":
            assert not noreply
            ops.append(("version", key))
        elif op == "OpFlush":
            ops.append(("flush", rec["expiry"], noreply))
        elif op == "OpHost":
            if rec["key_stored"] and conn.text:
                # A long command may go on, or not.
                conn.leaves += 1
                conn.host.append({"conn": rec["conn"], "len": 0, "all": conn.all, "db": rec["db"], "final_piece": 1,
                                  "three": conn.three, "close": int(conn.leaves == conn.most_leaves)})
            assert not conn.asked and bool(conn.host) == bool(rec["key_stored"])
            if conn.redis and not rec["key_stored"]:
                assert bool(rec["vlen"]) == bool(conn.text)
                key = conn.text = conn.text + key
                if not rec["last_key"]:
                    return
                conn.text = b""
            conn.asked = True
            if not rec["key_stored"]:
                ops.append(("host", key))
                n, conn.answered = random.randrange(1, 4), conn.answered + 1
                all_, db = conn.wants_all(conn.answered), random.getrandbits(4) if conn.redis else 0
                conn.host.extend({"conn": rec["conn"], "len": random.randrange(2049 if i else 513), "all": all_, "db": db,
                                  "final_piece": int(i == n - 1), "three": random.getrandbits(1)} for i in range(n))
            if conn.answers:
                self.pieces.put({"": conn.host[0]})
        elif op == "OpHostData":
            assert conn.asked and conn.piece["len"] == rec["host_len"]
            conn.asked = False
        elif op == "OpCont":
            shows = ("OpGet", "OpDelete", *STORES) if conn.redis else ("OpGet",)
            assert name(rec["ctx_op"], T.op_e) in shows and T.off_t.pack(rec["off"]) == 77
        else:
            raise AssertionError(op)


def meta_of(rec):
    """What a record says beside the operation, for the reply to a meta command."""
    meta, opaque = rec["meta"], rec["opaque"]
    shown = [meta["show"] >> 3 * i & 7 for i in range(T.Shows)]
    letters = {T.ShKey: "k", T.ShOpaque: "O", T.ShSize: "s", T.ShTime: "t", T.ShUnique: "c", T.ShFlags: "f"}
    token = opaque["text"].to_bytes(31, "little")[: opaque["len"]] if T.ShOpaque in shown else b""
    touch = rec["touch"]
    does = {f: bool(meta[f]) for f in ("vivifies", "recaches", "stale", "voids", "coded", "unfit") if meta[f]}
    if meta["chosen"]:
        does["chosen"] = rec["chosen_no"]
    if meta["vivifies"]:
        does |= {"vivifies": rec["num"], "n_last": bool(meta["n_last"])}
    if meta["recaches"]:
        does |= {"recaches": rec["unique_no"], "r_late": bool(meta["r_late"])}
    if name(rec["op"], T.op_e) == "OpDelete":
        does |= {"expiry": rec["expiry"]} | ({"flags": rec["flags"]} if meta["voids"] else {})
    return (bool(rec["noreply"]), *(bool(meta[f]) for f in ("get", "value", "retimed", "made", "sets_time")),
            bool(touch), "".join(letters[s] for s in shown if s), token, does)


def tail_of(rec):
    """Bytes behind a value."""
    return 0 if rec["binary"]["is"] else 2


def hash_of(key):
    return hash(key) & ((1 << 64) - 1)


async def settle(dut, bench, quiet=400, stuck=50_000, every=16):
    """Until nothing has moved for a while, here or in ingress; looks every so many clocks."""
    last, still, stands, idle = None, 0, 0, Pins(dut).idle_o
    while stands < stuck:
        await clocks(dut, every)
        now = (bench.n_req, bench.n_app, len(bench.events.queue), len(bench.dones.queue),
               len(bench.dgrams.queue), len(bench.pieces.queue), len(bench.over),
               sum(c.sent for c in bench.conns.values()))
        stands = stands + every if now == last else 0
        still = still + every if stands and idle.value else 0
        last = now
        if still >= quiet and not any(now[2:7]):
            return
    for n, c in bench.conns.items():
        dut._log.info(f"{n}: {len(c.data)} sent {c.sent} used {c.used} closed {c.closed} "
                      f"{c.released} next {c.data[c.used:c.used + 50]}")
    for item in bench.reqs.items[-6:]:
        rec = item[""]
        dut._log.info(f"{name(rec['op'], T.op_e)} {name(rec['mode'], T.mode_e)} {rec}")
    raise AssertionError("does not come to rest")


def check(got, want):
    for i, (g, w) in enumerate(zip(got, want)):
        assert g == w, f"operation {i}: {g!r:.300} instead of {w!r:.300}"
    assert len(got) == len(want), f"{len(got)} operations, not {len(want)}: {want[len(got):][:3]}"


async def streams(dut, datas, sizes, model=Text, redis=False, reads=None, **options):
    """Gives `datas` to the design; what must come of each is what the model says, of its `reads` if there are such. Where
    gates may leave a request to the host, the model says what it is that was asked for."""
    await start(dut)
    bench = Bench(dut, **options)
    wants = {}
    for i, data in enumerate(datas):
        text = model(ITEM_MAX, NOW)
        number = 3 * i % 16
        wants[number] = text.run(reads[i] if reads else data)
        every_clock(dut, bench.feed(number, Conn(data, redis=redis), sizes))
    await settle(dut, bench)
    for number, want in wants.items():
        ops = bench.conns[number].ops
        check([*model(ITEM_MAX, NOW).settled(ops)] if redis else ops, want)
        assert bench.conns[number].closed and bench.conns[number].released
    assert dut.idle_o.value
    return bench


async def at_a_glance(dut, commands, size, model, redis=False):
    """Of jobs of `size` in the forms that the fast path reads the slow path reads no more than where they begin and
    end. The first command comes alone: what it speaks is known then."""
    async def count():
        while True:
            await RisingEdge(dut.u_parser.u_byte.start_i)
            starts.append(1)
    starts = []
    cocotb.start_soon(count())
    sizes = chain((len(commands[0]),), repeat(size))
    await streams(dut, [b"".join(commands)], sizes.__next__, model, redis=redis, pause=0, cut=0, long_value=0, wait=(200,))
    cocotb.log.info("the slow path began %d times in %d commands", len(starts), len(commands))
    assert 0 < len(starts) < 20
