"""What the store's tests share: a Python model of it, and the driver of store_tb.

Jobs go in as ingress would send them - an item's data to the log first, then the record - and
results are compared with the model job by job when the job's end comes: by then it is known how
many of its records were executed, and the model executes just these.
"""

import random

from harness.csr_map import COUNTERS
from harness.streams import to_beats
from harness.structs import T
from store.hash_model import keys as hash_keys

PIECE, REPLY_MAX = 8192, 512
#: Bytes of what the tests see of them.
REPLY_BYTES = {T.RpStored: 8, T.RpNotStored: 12, T.RpExists: 8, T.RpNotFound: 11, T.RpDeleted: 9,
               T.RpTouched: 9, T.RpOk: 4, T.RpEnd: 5, T.RpError: 7, T.RpNonNumeric: 62,
               T.RpTooLarge: 41, T.RpNoMemory: 44, T.RpBadDelete: 70}
EXTENDS = (T.OpAppend, T.OpPrepend)
STORES = (T.OpSet, T.OpAdd, T.OpReplace, T.OpCas, *EXTENDS)
COUNTS = [name.removeprefix("StoreCount") for name in COUNTERS["store"]]


def numeric(value):
    """memcached's reading of a stored number, or None; the card's where the value is long."""
    import re
    m = re.match(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)([ \t\n\v\f\r\0]|$)", value, re.S)
    if not m or not re.fullmatch(rb"[ \t\n\v\f\r]*[+-]?[0-9]+([ \t\n\v\f\r\0].*)?", value, re.S):
        return None
    if len(value) >= 8192 or (len(value) > 64 and m.end(2) > 64):
        return None
    number = int(m[2])
    if number >= 1 << 64:
        return None
    if m[1] == b"-":
        number = -number % (1 << 64)
        if number >> 63:
            return None
    return number


def padded(number, value):
    """What a number becomes in the place of `value`: it keeps a length of less than 64 bytes."""
    return b"%d" % number if len(value) >= 64 else (b"%d" % number).ljust(len(value))


class Item:
    def __init__(self, value, flags, expiry, off, chosen_no=None):
        self.value, self.flags, self.expiry, self.off = value, flags, expiry, off
        self.chosen_no = chosen_no  # its CAS unique, if a client chose it
        self.unread = False  # memory could not read its number


def name_of(r):
    """What a record's key is called in the model: the same key is another one in another database."""
    key = r.get("_key")
    return (r["db"], key) if r.get("db") else key


class Model:
    """What the requests should do; `lost` says whether a missing item may be gone from the log."""

    def __init__(self, bench):
        self.bench, self.items, self.now = bench, {}, 1_800_000_000_123

    def alive(self, key):
        item = self.items.get(key)
        return item if item and (item.expiry == 0 or item.expiry > self.now) else None

    def extends(self, item, r):
        """append or prepend `r` has an item that may grow so long."""
        return item and len(item.value) + len(r["_value"]) + len(r["_key"]) + 4 * bool(item.flags) + 59 \
            <= self.bench.item_max

    def run(self, r):
        """Executes record `r` (a dict) and returns the expected result, or None."""
        key, op, name = r.get("_key"), r["op"], name_of(r)
        item = self.alive(name) if key is not None else None

        def reply(text):
            return None if r.get("noreply") else ("reply", getattr(T, text))

        def store():
            if r["off"]["lap"] == 0:
                if op == T.OpSet:
                    self.items.pop(name, None)
                return reply("RpNoMemory")
            chosen_no = r["chosen_no"] if r.get("meta", {}).get("chosen") else None
            self.items[name] = Item(r["_value"], r["flags"], r["expiry"], r["off"], chosen_no)
            return reply("RpStored")

        if op == T.OpGet:
            if not item:
                return ("reply", T.RpEnd) if r.get("last_key") else None
            if r.get("touch"):
                item.expiry = r["expiry"]
            return ("value", item, key)
        if op == T.OpSet:
            return store()
        if op == T.OpAdd:
            return reply("RpNotStored") if item else store()
        if op == T.OpReplace:
            return store() if item else reply("RpNotStored")
        if op == T.OpCas:
            if not item:
                return reply("RpNotFound")
            return store() if item.off and self.bench.unique_of(item) == r["num"] \
                else reply("RpExists")
        if op in EXTENDS:
            if r["off"]["lap"] == 0:
                return reply("RpNoMemory")
            if not self.extends(item, r):
                return reply("RpNotStored")
            both = (item.value, r["_value"]) if op == T.OpAppend else (r["_value"], item.value)
            self.items[name] = Item(b"".join(both), item.flags, item.expiry, None)
            return reply("RpStored")
        if op == T.OpDelete:
            if item:
                del self.items[name]
            return reply("RpDeleted" if item else "RpNotFound")
        if op == T.OpTouch:
            if item:
                item.expiry = r["expiry"]
            return reply("RpTouched" if item else "RpNotFound")
        if op in (T.OpIncr, T.OpDecr):
            if not item:
                return reply("RpNotFound")
            number = numeric(item.value)
            if number is None:
                return reply("RpNonNumeric")
            delta = r["num"]
            number = (number + delta) % (1 << 64) if op == T.OpIncr else max(number - delta, 0)
            self.items[name] = Item(padded(number, item.value), item.flags, item.expiry, None)
            return None if r.get("noreply") else ("number", number)
        if op == T.OpFlush:
            if r["expiry"] == 0:
                self.items.clear()
            return reply("RpOk")
        if op == T.OpTooBig:
            self.items.pop(name, None)
            return reply("RpTooLarge")
        if op == T.OpReply:
            return None if r.get("noreply") else ("reply", r["reply"])
        if op == T.OpCont:
            return ("more", r["_data"], r["cont_start"])
        if op == T.OpHostData:
            return ("host", r["host_len"])
        assert op in (T.OpPart, T.OpEnd, T.OpHost), op
        return None


class Source:
    """Offers a queue of integers; `pause` is the chance of an idle clock."""

    def __init__(self, sim, name, pause):
        self.valid, self.ready = getattr(sim, f"{name}_valid_i"), getattr(sim, f"{name}_ready_o")
        self.data, self.pause = getattr(sim, f"{name}_i"), pause
        self.queue, self.offers = [], False
        self.valid.raw[0] = 0

    def drive(self):
        self.valid.raw[0] = self.offers
        if not self.offers and self.queue and not (self.pause and random.random() < self.pause):
            self.data.set(self.queue[0])
            self.valid.raw[0] = 1
            self.offers = True

    def sample(self):
        if self.offers and self.ready.raw[0]:
            self.queue.pop(0)
            self.offers = False
            return True
        return False


class Sink:
    """Takes a stream into `items`, as numbers if there is no struct; `pause` is the chance of a clock
    without ready."""

    def __init__(self, sim, name, struct, pause):
        self.sim = sim
        self.valid, self.ready = getattr(sim, f"{name}_valid_o"), getattr(sim, f"{name}_ready_i")
        self.data, self.struct, self.pause = getattr(sim, f"{name}_o"), struct, pause
        self.items, self.times = [], []

    def drive(self):
        self.ready.raw[0] = not (self.pause and random.random() < self.pause)

    def sample(self):
        if self.valid.raw[0] and self.ready.raw[0]:
            data = self.data.get()
            self.items.append(self.struct.unpack(data) if self.struct else data)
            self.times.append(self.sim.clock)


class Bench:
    COUNTED = ["GetHits", "GetMisses", "TouchHits", "TouchMisses", "Sets", "Stored", "DeleteHits",
               "DeleteMisses", "IncrHits", "IncrMisses", "DecrHits", "DecrMisses", "CasHits",
               "CasMisses", "CasBadval", "Flushes", "TooLarge", "Cut"]

    def __init__(self, sim, pause=0.0, out_pause=0.0, latency=40, jitter=0, mem_pause=0):
        self.sim = sim
        self.model = Model(self)
        self.jobs, self.results, self.head = [], 0, 0
        self.limit(20000)
        self.size = 4 * sim.log_lines
        self.margin = min(self.size // 4, 69632)
        self.misses_by_age, self.cuts, self.splits, self.lost, self.aborts, self.pieces = 0, 0, 0, 0, 0, 0
        self.allow_evict = False
        # Memory refuses: in the clocks in which all items are given up, one may still be found, under a
        # CAS unique that no item has; and what cannot be read is not changed.
        self.gives_up, self.unread, self.marked = False, 0, 0
        # Copies may be more than what is free, and a datagram's is refused then.
        self.copies_much = False
        # The log may pass bytes that are to be stored; how often that was refused.
        self.overtakes, self.refused = False, 0
        #: Nothing falls out of the store, so the counters are known, too.
        self.exact, self.expected = False, dict.fromkeys(self.COUNTED, 0)
        self.lap = 1  # the head's, with all its bits
        self.pending, self.checked, self.chunks_read, self.put_offs = [], 0, 0, []
        sim.now_i.set(self.model.now)
        sim.latency_i.set(latency)
        sim.jitter_i.set(jitter)
        sim.pause_i.set(mem_pause)
        sim.tick_i.set(1)  # what has a budget a minute may have it again in 60,000 clocks
        for name in ("bad_reads_i", "bad_writes_i", "bad_valid_i"):
            getattr(sim, name).set(0)
        self.use_keys(*hash_keys(random))
        sim.enable_i.set(1)
        self.req, self.key, self.putk, self.putb, self.puts = self.sources = [
            Source(sim, n, pause) for n in ("req", "key", "putk", "putb", "put")]
        self.res, self.rkey, self.chunk, self.hreq, self.hkey = self.sinks = [
            Sink(sim, n, t, out_pause) for n, t in (
                ("res", T.res_t), ("rkey", None), ("chunk", T.chunk_t), ("hreq", T.hreq_t),
                ("hkey", T.beat_t))]
        sim.rst_ni.set(0)
        for _ in range(4):
            sim.settle()
            sim.edge()
        sim.rst_ni.set(1)
        for _ in range(140):
            self.tick()

    def use_keys(self, nh, mix):
        """Keys of the hash."""
        self.nh, self.mix = nh, mix
        self.sim.nh_key_i.set(sum(k << (32 * i) for i, k in enumerate(nh)))
        self.sim.mix_key_i.set(mix[0] | mix[1] << 64)

    def tick(self):
        for s in self.sources:
            s.drive()
        for s in self.sinks:
            s.drive()
        self.sim.settle()
        for s in self.sinks:
            s.sample()
        for s in self.sources:
            s.sample()
        if self.sim.put_off_valid_o.raw[0]:
            self.put_offs.append(T.off_t.unpack(self.sim.put_off_o.get()))
        self.sim.edge()
        if self.checked < len(self.res.items) or self.pending:
            self.collect()

    # ------------------------------------------------------------ in
    def full_lap(self, off):
        """The lap of a place, which has its low byte only: an item made within may have begun the next one."""
        return self.lap + ((off["lap"] - self.lap + 128) & 0xFF) - 128

    def place(self, off):
        """Linear place: comparable across laps. Laps with low byte 0 are left out."""
        lap = self.full_lap(off)
        return (lap - 1 - (lap >> 8)) * self.size + off["pos"]

    def unique(self, off):
        return self.full_lap(off) << 28 | off["pos"]

    def unique_of(self, item):
        return self.unique(item.off) if item.chosen_no is None else item.chosen_no

    def limit(self, item_max):
        """Largest item as memcached counts it."""
        self.item_max = item_max
        self.sim.item_max_i.set(item_max)

    def sleep(self, ms):
        """The clock moves on."""
        self.model.now += ms
        self.sim.now_i.set(self.model.now)

    def put(self, beats, **put):
        """Offers item data; returns the item's place, of a part lap 0 if it goes nowhere."""
        self.puts.queue.append(T.put_t.pack(put))
        keys = -(-put["klen"] // 64) if put["start"] else 0
        self.putk.queue.extend(map(T.beat_t.pack, beats[:keys]))
        self.putb.queue.extend(map(T.beat_t.pack, beats[keys:]))
        for _ in range(5_000):
            self.tick()
            if self.put_offs:
                break
        else:
            raise AssertionError("put not taken")
        off = self.put_offs.pop()
        assert not self.put_offs
        if not put["start"]:
            return off
        if off["lap"]:
            self.lap += (off["lap"] - self.lap) & 0xFF
            units = -(-(16 + put["klen"] + put["vlen"]) // 16)
            self.head = max(self.head, self.place(off) + units)
        return off

    def send(self, record, key=None):
        if key is not None:
            for beat in to_beats(key):
                beat["data"] |= random.getrandbits(512 - 8 * beat["len"]) << (8 * beat["len"]) \
                    if beat["len"] < 64 else 0
                self.key.queue.append(T.beat_t.pack(beat))
        self.req.queue.append(T.req_t.pack({k: v for k, v in record.items() if k[0] != "_"}))

    def job(self, records, conn=0, udp=0, tx_space=65536, **context):
        """Sends a job; `records` are dicts with "_key" and, for stores, "_value";
        `context` are fields of the OpEnd."""
        sent = []
        merged = records and not context and random.randrange(2)
        for n, r in enumerate(records):
            r = {"udp": udp, "conn": conn, "first": int(n == 0), "rx_ptr": n + 1, **r}
            if merged and n == len(records) - 1:
                r |= {"last": 1, "rx_ptr": n + 2}
                end = r
            r["mode"] = r.get("mode", T.MdLine)
            if n == 0:
                r |= {"tx_ptr": random.getrandbits(32), "tx_space": tx_space}
            r.setdefault("ctx_op", r["op"])
            key = r.get("_key")
            if key is not None:
                r["klen"] = len(key)
            if r["op"] in STORES and not r.get("key_stored"):
                value = r["_value"]
                r["vlen"] = len(value)
                r.setdefault("flags", 0)
                r.setdefault("expiry", 0)
                r["off"] = self.put(
                    to_beats(key) + to_beats(value), start=1, own_lines=random.randrange(8) == 0,
                    ends=1, conn=conn, klen=len(key), vlen=len(value), flags=r["flags"], expiry=r["expiry"],
                    db=r.get("db", 0), marks={"coded": r.get("meta", {}).get("coded", 0)},
                    chosen=r.get("meta", {}).get("chosen", 0), chosen_no=r.get("chosen_no", 0))
            if r["op"] in STORES:
                r["_place"] = self.place(r["off"])
            self.send(r, None if r.get("key_stored") else key)
            sent.append(r)
        if not merged:
            end = {"op": T.OpEnd, "udp": udp, "conn": conn, "rx_ptr": len(records) + 1,
                   "first": int(not records), "tx_space": tx_space, **context}
            self.send(end)
        job = {"records": sent, "end": end, "conn": conn, "udp": udp, "space": tx_space,
               "done": False}
        self.jobs.append(job)
        return job

    # ------------------------------------------------------------ out
    def collect(self):
        """Takes results; checks a job when it is complete, the pieces of its values included."""
        while True:
            if self.pending and self.pending[-1]["last"]:
                if not self.pieces_there(self.pending):
                    return
                self.check(self.jobs.pop(0), self.pending)
                self.pending = []
            if self.checked == len(self.res.items):
                return
            self.pending.append(self.res.items[self.checked])
            self.checked += 1

    def pieces_there(self, results):
        at = self.chunks_read
        for p in results:
            while p["kind"] == T.RsValue:
                if at >= len(self.chunk.items):
                    return False
                at += 1
                if self.chunk.items[at - 1]["last"]:
                    break
        return True

    def bytes(self, klen=0):
        """Key of `klen` bytes and value of the next result; the key comes no later than the value."""
        key, value = b"", b""
        for at in range(0, klen, 64):
            line = self.rkey.items.pop(0).to_bytes(64, "little")
            key += line[: klen - at]
        while True:
            c = self.chunk.items[self.chunks_read]
            self.chunks_read += 1
            self.bad |= bool(c["bad"])
            assert c["len"] == 64 or c["len"] < 64 and c["last"], c
            line = c["data"].to_bytes(64, "little")
            value += (line[c["start"] :] + line[: c["start"]])[: c["len"]]
            if c["last"]:
                return key, value

    def check(self, job, results):
        end = results[-1]
        if end["kind"] == T.RsEnd:
            results.pop()
        ctx = job["ctx"] = end["ctx"]
        records, executed = job["records"], ctx["rx_ptr"]
        assert 0 <= executed <= len(records) + 1
        cut = executed <= len(records) or (records and ctx["cont"])
        executed = min(executed, len(records))
        if cut:
            assert not job["udp"] and executed >= 1
            self.cuts += 1
        room = job["space"]
        for n, r in enumerate(records[:executed]):
            if n == executed - 1 and ctx["cont"] and r["op"] in EXTENDS:
                # A piece of the new item is made: nothing to be seen yet.
                assert not job["udp"] and ctx["cont_start"] % PIECE == 0
                got = results.pop(0) if n == 0 or results[:1] == [end] else {"kind": T.RsNone}
                assert got["kind"] == T.RsNone, got
                job["cont"] = r, None, ctx
                self.pieces += 1
                continue
            was = self.model.items.get(name_of(r))
            self.count(r)
            if (self.gives_up or self.copies_much) and r["op"] in EXTENDS and not r.get("noreply") and self.fits(
                    ("reply", T.RpNoMemory), results[0]):
                # Its pieces have left the log before the last one was made, or were never made; the item is as it was.
                results.pop(0)
                continue
            if self.overtakes and results and self.passed(r, results[0]):
                results.pop(0)
                self.refused += 1
                continue
            if self.gives_up and results and self.unchanged(r, results[0]):
                results.pop(0)
                self.unread += 1
                continue
            want = self.model.run(r)
            if r["op"] == T.OpPart:
                job["hash"] = ctx["hash"]
            if want is None and n != 0 and not (n == len(records) - 1 and results[:1] == [end]):
                continue
            got = results.pop(0)
            assert got["last"] == int(got is end), got
            assert got["first"] == int(n == 0) and got["udp"] == job["udp"]
            assert got["conn"] == job["conn"]
            assert n or got["tx_ptr"] == r["tx_ptr"]
            if r["op"] == T.OpCont and got["kind"] == T.RsNone:
                # The rest of the value is gone from the log: the connection cannot go on.
                assert ctx["mode"] == T.MdAbort
                assert self.allow_evict or self.head - self.place(r["off"]) > self.size - self.margin - 64
                self.aborts += 1
                continue
            if not self.fits(want, got):
                if self.gives_up and r["op"] == T.OpCas and self.fits(("reply", T.RpExists), got):
                    self.model.items.pop(name_of(r), None)
                    continue
                # Right if the item has fallen out of the store.
                assert was, f"record {n}, {r}: want {want}, got {got}"
                self.forgive(was, r, want, got)
                self.model.items.pop(name_of(r), None)
                want = self.model.run(r)
                assert self.fits(want, got), f"record {n}, {r}: want {want}, got {got}, was {was}"
            where = f"record {n} {r}: want {want}, got {got}"
            self.bad = False  # the reply has bytes that memory could not read: it will not be sent
            if want is None:
                continue
            if want[0] == "reply":
                assert (got["kind"], got["reply"]) == (T.RsReply, want[1]), where
                room -= REPLY_BYTES[want[1]]
            elif want[0] == "number":
                assert (got["kind"], got["num"]) == (T.RsNumber, want[1]), where
                room -= len(b"%d\r\n" % want[1])
            elif want[0] == "host":
                room -= want[1]
            elif want[0] == "more":
                value, begin = want[1], want[2]
                assert got["head"] == 0, where
                _, data = self.bytes()
                assert self.bad or data == value[begin : begin + len(data)], where
                assert got["tail"] == int(begin + len(data) == len(value))
                assert ctx["cont"] == 1 - got["tail"]
                if not got["tail"]:
                    assert ctx["cont_start"] == begin + len(data)
                    job["cont"] = (None, value, ctx)
                room -= len(data) + got["tail"] * (2 + 5 * got["last_key"])
                self.splits += 1
            else:
                item, key = want[1], want[2]
                assert got["kind"] == T.RsValue and got["head"] == 1, where
                assert (got["flags"], got["vlen"]) == (item.flags, len(item.value)), where
                if item.off:
                    assert self.gives_up or got["num"] == self.unique_of(item), where
                else:
                    item.off = {"lap": got["num"] >> 28 & 0xFF, "pos": got["num"] & 0xFFFFFFF}
                name, data = self.bytes(len(key))
                assert name == key or self.bad
                assert self.bad or not item.unread, where
                self.marked += self.bad
                assert self.bad or data == item.value[: len(data)], (where, data, item.value)
                assert got["tail"] == int(len(data) == len(item.value))
                room -= len(b"VALUE %s %d %d\r\n" % (key, item.flags, len(item.value))) + len(data)
                room -= got["cas_out"] * len(b" %d" % got["num"])
                room -= got["tail"] * (2 + 5 * got["last_key"])
                if job["udp"]:
                    assert got["tail"]
                if not got["tail"]:
                    assert n == executed - 1 and ctx["cont"] == 1
                    assert ctx["cont_start"] == len(data) and ctx["vlen"] == len(item.value)
                    assert len(data) == PIECE or room < REPLY_MAX + 130 * (n + 1)
                    job["cont"] = (key, item.value, ctx)
                    self.splits += 1
                else:
                    assert n < executed - 1 or not ctx["cont"]
        assert not results, results
        assert room >= 0 or job["udp"]
        # What the connection goes on with: where the record executed last has left it.
        last = records[executed - 1] if cut else job["end"]
        for field in ("db", "noreply", "cas_out", "touch", "last_key", "klen", "expiry", "num"):
            if field in ("expiry", "num") and last["op"] in EXTENDS and ctx["cont"]:
                continue
            assert ctx[field] == last.get(field, 0), (field, ctx, last)
        assert ctx["op"] == last.get("ctx_op", 0)
        assert ctx["mode"] in (last.get("mode", 0), T.MdAbort)
        self.expected["Cut"] += len(records) - executed
        self.results += executed
        job["done"] = True

    def passed(self, r, got):
        """What record `r` was to store, or to make a copy of, is gone: nothing is stored, and a SET has deleted what
        there is."""
        if r.get("key_stored") and r["op"] in STORES and self.fits(("reply", T.RpNoMemory), got):
            if r["op"] == T.OpSet:
                self.model.items.pop(name_of(r), None)
            return True
        item = self.model.alive(name_of(r)) if r["op"] in EXTENDS else None
        return item and self.model.extends(item, r) and self.fits(("reply", T.RpNotStored), got)

    def unchanged(self, r, got):
        """Record `r` was to change an item that is there, and could not read its value, or its own key: as in passed.
        A number that could not be read stays unreadable."""
        item = self.model.alive(name_of(r)) if r["op"] in (T.OpIncr, T.OpDecr) else None
        if item and self.fits(("reply", T.RpNotFound), got):
            item.unread = True
            return True
        return self.passed(r, got)

    def count(self, r):
        """Counts what record `r` will do."""
        op, expected = r["op"], self.expected
        alive = self.model.alive(name_of(r)) if "_key" in r else None
        hit = "Hits" if alive else "Misses"
        if op == T.OpGet:
            expected[f"Get{hit}"] += 1
        if op == T.OpTouch or r.get("touch"):
            expected[f"Touch{hit}"] += 1
        for name in ("Delete", "Incr", "Decr"):
            if op == getattr(T, f"Op{name}"):
                expected[f"{name}{hit}"] += 1
        if op in STORES:
            equal = bool(alive and alive.off and self.unique_of(alive) == r.get("num"))
            expected["Sets"] += 1
            expected["Stored"] += r["off"]["lap"] != 0 and {
                T.OpSet: True, T.OpAdd: not alive, T.OpReplace: bool(alive), T.OpCas: equal,
                **dict.fromkeys(EXTENDS, bool(self.model.extends(alive, r)))}[op]
            if op == T.OpCas:
                expected["CasHits" if equal else "CasBadval" if alive else "CasMisses"] += 1
        expected["Flushes"] += op == T.OpFlush
        expected["TooLarge"] += op == T.OpTooBig

    @staticmethod
    def fits(want, got):
        if want is None:
            return got["kind"] == T.RsNone
        if want[0] == "reply":
            return (got["kind"], got["reply"]) == (T.RsReply, want[1])
        if want[0] == "number":
            return (got["kind"], got["num"]) == (T.RsNumber, want[1])
        if want[0] == "host":
            return (got["kind"], got["host_len"]) == (T.RsHostData, want[1])
        return got["kind"] == T.RsValue

    def forgive(self, item, r, want, got):
        """An item may be missing if the log has gone past it, or if the index was full."""
        age = self.head - self.place(item.off) if item.off else self.size
        # The head has moved on for items that are made within: by those of append and prepend, too.
        if age > self.size - self.margin - 64 - 4 * self.item_max // 16:
            self.misses_by_age += 1
        else:
            self.lost += 1
            assert self.allow_evict, (age, self.size, item.value, r, want, got)

    def room(self, jobs, clocks=5_000):
        """Waits until at most `jobs` jobs are in flight."""
        for _ in range(clocks):
            if len(self.jobs) <= jobs:
                return
            self.tick()
        raise AssertionError(f"stuck with {len(self.jobs)} jobs: {self.jobs[0]}")

    def idle(self, clocks=5_000):
        self.room(0, clocks)
        for _ in range(2000):
            self.tick()
            if self.sim.idle_o.raw[0]:
                return
        raise AssertionError("never idle")

    #: Who met what memory has refused: kinds of refusals_o.
    REFUSALS = ["bucket read", "bucket written", "compared at once", "compared in steps", "stored key", "number",
                "sent", "copied", "header written", "log written", "known"]

    def refusals(self):
        word = self.sim.refusals_o.get()
        return {n: word >> (32 * i) & 0xFFFFFFFF for i, n in enumerate(self.REFUSALS)}

    def counts(self):
        word = self.sim.counts_o.get()
        return {n: word >> (32 * i) & 0xFFFFFFFF for i, n in enumerate(COUNTS)}


class Raw(Bench):
    """Keeps the results; nothing is cut here."""

    def __init__(self, *args):
        self.seen = []
        super().__init__(*args)

    def check(self, job, results):
        job["done"], job["ctx"] = True, results[-1]["ctx"]
        for res in results:
            if res["kind"] == T.RsValue:
                klen = res["klen"] if res["binary"]["key"] else 0
                res["key"], res["value"] = self.bytes(klen)
        self.seen += [res for res in results if res["kind"] not in (T.RsNone, T.RsEnd)]

    def do(self, op, key, quiet=0, with_key=0, **fields):
        """One request: the only result, if there is one, and the record."""
        self.seen.clear()
        self.bad = False
        record = {"op": op, "_key": key, "noreply": quiet, **fields,
                  "binary": {"is": 1, "key": with_key, "opcode": random.getrandbits(8), "opaque": random.getrandbits(32)}}
        job = self.job([record])
        self.idle()
        assert len(self.seen) <= 1
        for res in self.seen:
            assert res["binary"] == record["binary"]
        assert job["ctx"]["known"]
        return self.seen[0] if self.seen else None, job["records"][0]

    def says(self, reply, *args, **fields):
        """The request has this reply, or none; its result."""
        res, record = self.do(*args, **fields)
        if reply is None:
            assert res is None, res
        else:
            assert res["kind"] == T.RsReply and res["reply"] == getattr(T, reply), (res, reply)
        return res, record

    def value(self, value, key):
        res, _ = self.do(T.OpGet, key)
        assert res["kind"] == T.RsValue and res["value"] == value, res
        return res


def do(bench, *records):
    """One job, to its end."""
    bench.job(list(records))
    bench.idle()


def get(key):
    return {"op": T.OpGet, "_key": key, "last_key": 1}


def put(key, value=b"", **fields):
    return {"op": T.OpSet, "_key": key, "_value": value, **fields}
