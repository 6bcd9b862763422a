"""Bench around `tcp`: both ring memories, a session, a network that damages, and TCP peers.

Everything runs in one coroutine, clock by clock. Bytes of a stream are a function of the stream and
the place in it, so that every byte received can be checked wherever it turns up.
"""

import random

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.csr_map import COUNTERS
from harness.streams import to_beats
from harness.structs import T

RING = 65536
M32 = 0xFFFFFFFF
PORT = 11211
# One in 32 data segments of no connection looks like what overtook a handshake's last ACK, and is not
# answered. With this secret those of a peer whose isn is 1 do not, nor what the tests that name it send.
SECRET = 0xCD613E30D8F16ADF91B7584A2265B1F5
COUNTS = list(COUNTERS["tcp"])
_NOISE = random.Random(1).randbytes(1 << 17)


def stream(key, start, n):
    """Bytes start .. start+n-1 of stream `key`."""
    out = bytearray()
    while n:
        at = (start + key * 7919) % (1 << 17)
        part = _NOISE[at : at + n]
        out += part
        start, n = start + len(part), n - len(part)
    return bytes(out)


def agreed_mss(mss, own):
    """What a cookie keeps of the MSS that a SYN offers (None: not at all)."""
    mss = 536 if mss is None else mss
    return own if mss >= own else max((size for size in (536, 1220, 1360, 1400, 1440, 1460) if size <= mss), default=64)


#: Peers' addresses begin behind these, of IPv4 and of IPv6.
ADDRESS = (0x0A000000, 0xFD574B56_00010002_00030004_0A000000)


def whose(addr):
    """Who stands behind an address, seen from the card."""
    return addr["ip"], addr["port"], addr["ours"], addr["redis"]


def diff(a, b):
    """a - b of sequence numbers, signed."""
    d = (a - b) & M32
    return d - (1 << 32) if d >> 31 else d


class Bench:
    """The design, its memories and what is not TCP. `tick` is the number of clocks between ticks."""

    running = None

    def __init__(self, dut, tick=20, latency=(5, 40), stall=0.0, mtu=1500, time_wait=100, limit=16384,
                 keep_alive=300, idle=0, secret=None):
        self.dut, self.tick, self.latency, self.stall = dut, tick, latency, stall
        self.clock = 0
        self.rx_ring, self.tx_ring = {}, {}
        self.segs, self.apps = [], []       # to be sent: beats; commands
        self.on_segment = self.on_event = lambda *_: None
        self.on_clock = []
        self.counts = dict.fromkeys(COUNTS, 0)
        self.opened = {}                    # connection: whether it came by the port for Redis' protocol
        self.ev_stall = False               # the session takes no events
        self.tx_stop = False                # no segment can leave
        self.unreadable, self.spoilt = set(), []  # connections whose transmit rings are; segments marked for that
        self.refused = []                   # (ring memory, connection) that it refuses a write
        self.times = {}                     # clock of the first seg in, write, app, read, txseg
        secret = random.getrandbits(128) if secret is None else secret
        for port, value in dict(tick_i=0, slept_i=0, secret_i=secret, lport_i=PORT, mtu_i=mtu, conn_limit_i=limit,
                                time_wait_ms_i=time_wait,
                                keep_alive_s_i=keep_alive, idle_s_i=idle, rx_base_i=0x1000,
                                tx_base_i=0x2000000, seg_valid_i=0, txseg_ready_i=0, ev_ready_i=0,
                                app_valid_i=0, wr_ready_i=0, rd_ready_i=0, rdat_valid_i=0,
                                rdat_bad_i=0, refused_valid_i=0, refused_conn_i=0, busy_i=0,
                                earlier_i=0).items():
            getattr(dut, port).value = value

    async def run(self):
        """Resets the design and lets it run."""
        await start(self.dut)
        await self.until(lambda: int(self.dut.seg_ready_o.value) and int(self.dut.idle_o.value))
        if Bench.running:
            Bench.running.cancel()  # of one before, in the same test
        Bench.running = every_clock(self.dut, self._run())

    async def clocks(self, n):
        await clocks(self.dut, n)

    async def until(self, done, limit=200_000, what="", every=1):
        if not await until(self.dut, done, limit, every):
            raise AssertionError(f"after {limit} clocks still not: {what or done}")

    def send(self, seg, payload=b""):
        """A segment from a peer, perhaps with `options`."""
        seg = dict(seg)
        options = seg.pop("options", b"")
        assert len(options) % 4 == 0 and len(options) <= 40
        word = T.seg_t.pack({**seg, "len": len(payload), "opt_len": len(options)})
        for beat in to_beats(options + payload):
            self.segs.append((word, T.beat_t.pack(beat), beat["last"]))

    def app(self, **command):
        self.apps.append(T.app_t.pack(command))

    def ring(self, rings, conn):
        if conn not in rings:
            rings[conn] = bytearray(random.randbytes(RING))
        return rings[conn]

    def _stalled(self):
        return self.stall and random.random() < self.stall

    async def _run(self):
        d = Pins(self.dut)
        reads = []                 # (clock when done, address, lanes)
        seg_on = app_on = rdat_on = False
        refused_on = 0
        beats = []
        while True:
            await NEXT_CLOCK
            self.clock += 1
            now = self.clock
            # ---- what happened in the clock that ends here
            if seg_on and d.seg_ready_o.value:
                self.times.setdefault("seg", now)
                self.segs.pop(0)
                seg_on = False
            if app_on and d.app_ready_o.value:
                self.times.setdefault("app", now)
                self.apps.pop(0)
                app_on = False
            if rdat_on and d.rdat_ready_o.value:
                reads.pop(0)
                rdat_on = False
            if d.wr_valid_o.value:
                self.times.setdefault("wr", now)
                if wr_ready:
                    self._write(T.line_write_t.unpack(d.wr_o.value))
            if d.rd_valid_o.value:
                self.times.setdefault("rd", now)
                if rd_ready:
                    reads.append((now + random.randint(*self.latency), d.rd_addr_o.value,
                                  T.lanes_t.unpack(d.rd_lanes_o.value)))
            if refused_on and d.refused_ready_o.value:
                self.refused.pop(0)
                refused_on = 0
            if d.txseg_valid_o.value:
                self.times.setdefault("txseg", now)
                if tx_ready:
                    beat = T.beat_t.unpack(d.txseg_beat_o.value)
                    beats.append(beat["data"].to_bytes(64, "little")[: beat["len"]])
                    assert beat["last"] or beat["len"] == 64
                    if beat["last"]:
                        seg, payload = T.txseg_t.unpack(d.txseg_o.value), b"".join(beats)
                        assert seg["len"] == len(payload), (seg, len(payload))
                        beats = []
                        if d.txseg_bad_o.value:  # leaves with a wrong checksum
                            self.spoilt.append((seg, payload))
                        else:
                            self.on_segment(seg, payload)
            if d.ev_valid_o.value and ev_ready:
                ev = T.ev_t.unpack(d.ev_o.value)
                news = [kind for kind in ("open", "acked", "data", "fin", "closed") if ev[kind]]
                assert news and (not ev["open"] or len(news) == 1), ev
                if ev["open"]:
                    self.opened[ev["conn"]] = ev["redis"]
                for kind in news:
                    self.on_event(kind, ev["conn"], ev["rx_ptr"], ev["tx_ptr"])
            if count := d.count_o.value:
                for i, name in enumerate(COUNTS):
                    self.counts[name] += count >> i & 1
            for hook in self.on_clock:
                hook()
            # ---- what is offered in the next one
            if self.segs and not seg_on and not self._stalled():
                word, beat, _ = self.segs[0]
                d.seg_i.value, d.seg_beat_i.value = word, beat
                seg_on = True
            d.seg_valid_i.drive(seg_on)
            if self.apps and not app_on and not self._stalled():
                d.app_i.value = self.apps[0]
                app_on = True
            d.app_valid_i.drive(app_on)
            if self.refused and not refused_on:
                ring, conn = self.refused[0]
                d.refused_conn_i.value, refused_on = conn << 14 * ring, 1 << ring
            d.refused_valid_i.drive(refused_on)
            if reads and not rdat_on and reads[0][0] <= now:
                bad = (reads[0][1] - 0x2000000) // 1024 in self.unreadable
                d.rdat_i.value, d.rdat_bad_i.value = 0 if bad else self._read(*reads[0][1:]), int(bad)
                rdat_on = True
            d.rdat_valid_i.drive(rdat_on)
            wr_ready, rd_ready = not self._stalled(), not self._stalled()
            tx_ready = not self.tx_stop and not self._stalled()
            ev_ready = not self.ev_stall and not self._stalled()
            d.wr_ready_i.drive(wr_ready)
            d.rd_ready_i.drive(rd_ready)
            d.txseg_ready_i.drive(tx_ready)
            d.ev_ready_i.drive(ev_ready)
            d.tick_i.drive(bool(self.tick) and now % self.tick == 0)

    def _write(self, write):
        line = write["addr"] - 0x1000
        ring, at = self.ring(self.rx_ring, line // 1024), line % 1024 * 64
        data = write["data"].to_bytes(64, "little")
        assert write["strb"], "write of nothing"
        for i in range(64):
            if write["strb"] >> i & 1:
                ring[at + i] = data[i]

    def _read(self, addr, lanes):
        """What was not asked for is anything."""
        line = addr - 0x2000000
        at, data = line % 1024 * 64, bytearray(random.randbytes(64))
        for i in range(lanes["first"], lanes["last"] + 1):
            data[i] = self.ring(self.tx_ring, line // 1024)[at + i]
        return int.from_bytes(data, "little")


class Session:
    """Keeps what conn/scheduler keeps: checks received bytes, sends as many as `want(conn)` says.

    A connection's streams are numbered by `key(conn)`: key receives, key + 1 sends.
    """

    class Conn:
        def __init__(self, key, rx_ptr, tx_ptr):
            self.key = key
            self.rx_first = self.rx_read = self.rx_have = rx_ptr
            self.tx_first = self.tx_ptr = self.tx_acked = tx_ptr
            self.want = 0            # bytes to send in all
            self.hold = False        # do not read
            self.fin = self.closing = self.closed = False

        @property
        def received(self):
            return (self.rx_have - self.rx_first) & M32

        @property
        def sent(self):
            return (self.tx_ptr - self.tx_first) & M32

    def __init__(self, bench, key=lambda conn: 2 * conn, on_open=lambda c: None, chunk=9000):
        self.bench, self.key, self.on_open, self.chunk = bench, key, on_open, chunk
        self.conns, self.log = {}, []
        self.idle = bool(bench.dut.idle_s_i.value)  # silent peers' halves are closed for them
        self.auto_close = True       # answer the peer's FIN when everything is sent
        self.auto_release = True
        bench.on_event = self.event
        bench.on_clock.append(self.step)

    def event(self, kind, conn, rx_ptr, tx_ptr):
        self.log.append((kind, conn))
        if kind == "open":
            assert conn not in self.conns, "id in use was opened"
            self.conns[conn] = c = self.Conn(self.key(conn), rx_ptr, tx_ptr)
            self.on_open(c)
            return
        c = self.conns[conn]
        assert not c.closed, f"{kind} after closed"
        if kind == "data":
            n = diff(rx_ptr, c.rx_have)
            assert n > 0 and (not c.fin or self.idle) and not c.closing, (kind, n)
            assert diff(rx_ptr, c.rx_read) <= RING, "more than the ring holds"
            ring, at = self.bench.ring(self.bench.rx_ring, conn), c.rx_have % RING
            got = bytes((ring + ring)[at : at + n])
            assert got == stream(c.key, c.received, n), f"conn {conn}: wrong bytes at {c.received}"
            c.rx_have = rx_ptr
        elif kind == "acked":
            assert diff(tx_ptr, c.tx_acked) >= 0 and diff(tx_ptr, c.tx_ptr) <= 0
            c.tx_acked = tx_ptr
        elif kind == "fin":
            assert not c.fin or self.idle
            c.fin = True
        else:
            c.closed = True
            if self.auto_release:
                del self.conns[conn]
                self.bench.app(conn=conn, release_id=1)

    def step(self):
        for conn, c in self.conns.items():
            if c.closed or c.closing or random.random() < 0.9:
                continue
            tell = False
            if not c.hold and c.rx_read != c.rx_have and random.random() < 0.5:
                step = random.choice((diff(c.rx_have, c.rx_read), 1 + random.randrange(diff(c.rx_have, c.rx_read))))
                c.rx_read = (c.rx_read + step) & M32
                tell = True
            room = min(RING - diff(c.tx_ptr, c.tx_acked), c.want - c.sent)
            if room > 0:
                n = random.randint(1, min(room, self.chunk))
                self.put(conn, c, n)
                tell = True
            if self.auto_close and c.fin and c.sent >= c.want:
                c.closing = tell = True
            if tell:
                self.tell(conn, c)

    def put(self, conn, c, n):
        """n bytes into the transmit ring."""
        ring = self.bench.ring(self.bench.tx_ring, conn)
        for i, byte in enumerate(stream(c.key + 1, c.sent, n)):
            ring[(c.tx_ptr + i) % RING] = byte
        c.tx_ptr = (c.tx_ptr + n) & M32

    def tell(self, conn, c, **flags):
        self.bench.app(conn=conn, rx_ptr=c.rx_read, tx_ptr=c.tx_ptr, close=int(c.closing), **flags)


class Peer:
    """A TCP client, simple but whole: sends `total` bytes of stream `key`, keeps out-of-order data,
    retransmits, closes when it has sent everything and received `expect` bytes."""

    def __init__(self, net, index, key, total=0, expect=0, isn=None, mss=1460, ws=7, ring=RING,
                 piece=None, port=None, tag=None, ours=0, times=False):
        # Timestamps: what our clock is ahead of the bench's, the card's last TSval in order.
        self.times, self.clock, self.echo = times, random.getrandbits(32), None
        self.net, self.key, self.total, self.expect = net, key, total, expect
        # Every other peer speaks to the card's port for Redis' protocol.
        self.addr = {"ours": ours, "redis": index & 1, "ip": ADDRESS[ours > 0] + index, "port": port or 1024 + index,
                     "mac": 0x020000000000 + index,
                     "vlan_valid": int(tag is not None), "vlan_tci": tag or 0}
        self.isn = random.getrandbits(32) if isn is None else isn
        self.mss, self.ws, self.ring = mss, ws, ring
        self.piece = piece or (lambda: self.mss)
        self.una = self.nxt = self.top = self.isn   # top: the highest nxt ever
        self.rcv_nxt = self.rcv_isn = None
        self.wnd = 0
        self.dups = 0
        self.stored = {}            # out of order: seq -> bytes
        self.state = "closed"       # syn, open, done, reset
        self.fin_at = None          # peer's FIN
        self.fin_sent = False
        self.may_close = True
        self.hold = False           # do not read: the window shrinks
        self.unread = 0
        self.heard = 0              # clock of the last progress
        self.seen = []              # headers received
        self.rto = net.rto
        self.tell_ack = False
        net.peers[whose(self.addr)] = self

    # ---- sending
    def segment(self, seq, payload=b"", **flags):
        window = max(self.ring - self.unread, 0)
        flags.setdefault("ack", int(self.rcv_nxt is not None))
        seg = {"peer": self.addr, "seq": seq & M32, "ack": (self.rcv_nxt or 0),
               "flags": flags, "wnd": min(window >> (0 if flags.get("syn") or not self.scaled else self.ws), 65535)}
        if flags.get("syn"):
            seg |= {"mss_valid": 1, "mss": self.mss}
            if self.ws is not None:
                seg |= {"ws_valid": 1, "ws": self.ws}
            if self.times:
                seg |= {"times_ok": 1, "ack": self.now}
        elif self.times:
            seg["options"] = times_option(self.now, self.echo or 0)
        self.tell_ack = False
        end = seq + len(payload) + flags.get("fin", 0) + flags.get("syn", 0)
        if diff(end, self.top) > 0:
            self.top = end & M32
        self.net.to_card(seg, payload)

    @property
    def now(self):
        return (self.clock + self.net.bench.clock // (self.net.bench.tick or 20)) & M32

    @property
    def scaled(self):
        return self.ws is not None and getattr(self, "ws_ok", False)

    def open(self):
        self.state = "syn"
        self.segment(self.isn, syn=1)
        self.nxt = (self.isn + 1) & M32
        self.heard = self.net.bench.clock

    def reset(self, seq=None):
        self.segment(self.nxt if seq is None else seq, rst=1)
        self.state = "reset"

    @property
    def base(self):
        return (self.isn + 1) & M32

    @property
    def received(self):
        return diff(self.rcv_nxt, self.rcv_isn) - 1 - (1 if self.fin_at == "done" else 0)

    def step(self):
        """Sends what may be sent."""
        clock = self.net.bench.clock
        if self.state == "syn":
            if clock - self.heard > self.rto:
                self.heard = clock
                self.segment(self.isn, syn=1)
            return
        if self.state != "open":
            return
        for _ in range(4):
            at = diff(self.nxt, self.base)
            n = min(self.total - at, self.piece(), self.mss, self.wnd - diff(self.nxt, self.una))
            if n <= 0:
                break
            self.segment(self.nxt, stream(self.key, at, n), psh=1)
            self.nxt = (self.nxt + n) & M32
        if not self.fin_sent and self.may_close and diff(self.nxt, self.base) == self.total and \
                self.received >= self.expect:
            self.fin_sent = True
            self.segment(self.nxt, fin=1)
            self.nxt = (self.nxt + 1) & M32
        if self.tell_ack:
            self.segment(self.nxt)
        waits = self.una != self.nxt or (diff(self.nxt, self.base) < self.total and self.wnd == 0)
        if waits and clock - self.heard > self.rto:
            # start again behind what is acknowledged
            self.heard = clock
            self.nxt, self.fin_sent = self.una, False
            if self.wnd == 0 and diff(self.una, self.base) < self.total:
                self.resend()  # one byte as a probe

    def resend(self):
        at = diff(self.una, self.base)
        n = max(0, min(self.total - at, self.mss, max(self.wnd, 1)))
        fin = int(self.fin_sent and at + n >= self.total)
        self.segment(self.una, stream(self.key, at, n), fin=fin)

    # ---- receiving
    def receive(self, seg, payload):
        self.seen.append(seg)
        flags = seg["flags"]
        assert seg["wnd"] <= (512 if self.scaled and not flags["syn"] else 65535)
        if flags["rst"]:
            if self.state != "closed":
                self.state = "reset"
            return
        if self.state in ("closed", "reset"):
            return
        if flags["syn"]:
            if self.state != "syn":
                self.tell_ack = True
                return
            assert seg["ack"] == self.base and flags["ack"] and seg["mss_valid"]
            self.card_mss = seg["mss"]
            self.ws_ok = bool(seg["ws_valid"])
            assert self.ws_ok == (self.ws is not None) and (not self.ws_ok or seg["ws"] == 7)
            assert not seg["sack_ok"] and seg["times"]["valid"] == self.times
            assert not self.times or 0 <= diff(self.now, seg["times"]["echo"])
            self.echo = seg["times"]["value"]
            self.rcv_isn, self.rcv_nxt = seg["seq"], (seg["seq"] + 1) & M32
            self.una, self.wnd, self.state = seg["ack"], seg["wnd"], "open"
            self.tell_ack = True
            self.heard = self.net.bench.clock
            return
        if self.state == "syn":
            return
        assert len(payload) <= min(self.mss, self.net.mtu - 40) - 12 * self.times
        assert seg["times"]["valid"] == self.times and (not self.times or 0 <= diff(self.now, seg["times"]["echo"]))
        if self.times and diff(seg["times"]["value"], self.echo) < 0:
            return                  # PAWS
        if self.times and diff(seg["seq"], self.rcv_nxt) <= 0:
            self.echo = seg["times"]["value"]
        # the ACK
        new = diff(seg["ack"], self.una)
        assert diff(seg["ack"], self.top) <= 0, "ACK of something never sent"
        if new >= 0:
            shift = 7 if self.scaled else 0
            if new == 0 and not payload and not flags["fin"] and self.una != self.nxt and \
                    seg["wnd"] << shift == self.wnd:
                self.dups += 1
                if self.dups == 3:
                    self.resend()
            elif new:
                self.dups = 0
                self.heard = self.net.bench.clock
            self.una = seg["ack"]
            self.wnd = seg["wnd"] << shift
            if diff(self.una, self.nxt) > 0:
                self.nxt = self.una
                self.fin_sent = diff(self.una, self.base) > self.total
        # the data
        end = len(payload) + flags["fin"]
        at = diff(seg["seq"], self.rcv_nxt)
        if payload:
            place = diff(seg["seq"], self.rcv_isn) - 1
            if place >= 0:
                assert payload == stream(self.key + 1, place, len(payload)), f"wrong bytes at {place}"
        if at > 0:
            if end:
                self.stored[seg["seq"]] = (payload, flags["fin"])
                self.tell_ack = True
                self.segment(self.nxt)  # a duplicate ACK for each, at once
            return
        if end or at < 0:
            self.tell_ack = True
        self.take(seg["seq"], payload, flags["fin"])
        for seq in sorted(self.stored, key=lambda s: diff(s, self.rcv_nxt)):
            if diff(seq, self.rcv_nxt) <= 0:
                self.take(seq, *self.stored.pop(seq))

    def take(self, seq, payload, fin):
        if self.fin_at == "done":
            return
        new = diff(seq + len(payload), self.rcv_nxt)
        new = min(new, self.ring - self.unread)
        if new > 0:
            self.rcv_nxt = (self.rcv_nxt + new) & M32
            if self.hold:
                self.unread += new
        if fin and diff(seq + len(payload), self.rcv_nxt) == 0:
            self.fin_at = "done"
            self.rcv_nxt = (self.rcv_nxt + 1) & M32
            self.tell_ack = True

    def read(self):
        self.unread, self.hold = 0, False
        self.tell_ack = True

    @property
    def finished(self):
        """Both directions are closed and acknowledged."""
        return self.fin_sent and self.una == self.nxt and self.fin_at == "done"


def times_option(value, echo, front=b"\1\1"):
    """Timestamps, behind two NOPs."""
    option = front + b"\x08\x0a" + (value & M32).to_bytes(4, "big") + (echo & M32).to_bytes(4, "big")
    return option + bytes(-len(option) % 4)


def sack_option(*blocks, form="nops"):
    """A SACK option with these blocks: behind two NOPs, as most send it, or as `form` says."""
    option = bytes([5, 2 + 8 * len(blocks)]) + b"".join(edge.to_bytes(4, "big") for block in blocks for edge in block)
    front = {"nops": b"\1\1", "first": b"", "stamped": b"\1\1\x08\x0a" + random.randbytes(8) + b"\1\1"}[form]
    return front + option + bytes(-len(front + option) % 4)


def blocks(seg):
    """What a segment's SACK option says, low bits only."""
    assert not seg["len"] or not seg["sack"][0]["valid"]
    return [(b["from"], b["to"]) for b in seg["sack"] if b["valid"]]


class Hand:
    """A peer that does only what the test says; segments that come are kept in `seen`."""

    def __init__(self, net, index, isn=None, port=None, ours=0, clock=None, **options):
        # With a clock: timestamps in each segment, and the one of the card that is echoed.
        self.clock, self.echo = clock, 0
        self.net, self.isn = net, random.getrandbits(32) if isn is None else isn
        # Every other peer speaks to the card's port for Redis' protocol.
        self.addr = {"ours": ours, "redis": index & 1, "ip": ADDRESS[ours > 0] + index, "port": port or 1024 + index,
                     "mac": 0x020000000000 + index,
                     "vlan_valid": 0, "vlan_tci": 0}
        self.options = {"mss_valid": 1, "mss": 1460} | options
        self.seen = []
        self.seq, self.ack, self.wnd = self.isn, 0, 65535
        net.peers[whose(self.addr)] = self

    def step(self):
        pass

    def receive(self, seg, payload):
        self.seen.append((seg, payload))

    def send(self, payload=b"", seq=0, ack=0, wnd=None, bare=None, link={}, options=b"", stamp=True, value=None,
             echo=None, **flags):
        """A segment `seq` bytes behind what was sent, acknowledging `ack` bytes behind what was
        taken (`bare`: acknowledging nothing), from another MAC or VLAN with `link`. Moves neither."""
        flags["ack"] = int(not flags.get("syn") if bare is None else not bare)
        if self.clock is not None and not flags.get("syn") and stamp:
            options = times_option(self.clock if value is None else value, self.echo if echo is None else echo) + options
        self.net.to_card({"peer": self.addr | link, "seq": (self.seq + seq) & M32, "ack": (self.ack + ack) & M32,
                          "flags": flags, "wnd": self.wnd if wnd is None else wnd, "options": options,
                          **(self.options if flags.get("syn") else {}),
                          **({"times_ok": 1, "ack": self.clock} if flags.get("syn") and self.clock is not None else {})},
                         payload)

    async def answer(self, limit=2000):
        """The next segment that comes."""
        await self.net.bench.until(lambda: self.seen, limit, "an answer")
        return self.seen.pop(0)

    async def flags(self, limit=2000):
        seg, payload = await self.answer(limit)
        return "".join(f[0] for f, on in seg["flags"].items() if on), seg, payload

    async def quiet(self, clocks=150):
        """Waits until for so many clocks no segment has come."""
        seen = -1
        while seen != len(self.seen):
            seen = len(self.seen)
            await self.net.bench.clocks(clocks)

    async def silence(self, clocks=400):
        await self.net.bench.clocks(clocks)
        assert not self.seen, self.seen

    async def open(self):
        """The handshake."""
        self.send(syn=1)
        self.seq = (self.isn + 1) & M32
        flags, seg, _ = await self.flags()
        assert flags == "as" and seg["ack"] == self.seq, (flags, seg)
        self.syn_ack = seg
        self.ack = (seg["seq"] + 1) & M32
        self.echo = seg["times"]["value"]
        self.send()
        await self.net.bench.clocks(60)
        return self

    def took(self, n):
        self.ack = (self.ack + n) & M32

    def gave(self, n):
        self.seq = (self.seq + n) & M32


class Net:
    """Carries segments both ways; drops, doubles and delays them with the given probabilities."""

    def __init__(self, bench, mtu=1500, drop=0.0, dup=0.0, late=0.0, rto=6000):
        self.bench, self.mtu, self.drop, self.dup, self.late, self.rto = bench, mtu, drop, dup, late, rto
        self.peers, self.queue, self.strays = {}, [], []
        bench.on_segment = self.from_card
        bench.on_clock.append(self.step)

    def carry(self, item):
        for _ in range(1 + (random.random() < self.dup)):
            if random.random() < self.drop:
                continue
            delay = random.randrange(2000) if random.random() < self.late else 0
            self.queue.append((self.bench.clock + delay, item))

    def to_card(self, seg, payload):
        self.carry((None, seg, payload))

    def from_card(self, seg, payload):
        peer = self.peers.get(whose(seg["peer"]))
        if peer is None:
            self.strays.append(seg)
            return
        assert seg["peer"] == peer.addr, "the connection's numbers go to somebody else"
        self.carry((peer, seg, payload))

    def step(self):
        clock = self.bench.clock
        if self.queue:
            due = [item for at, item in self.queue if at <= clock]
            if due:
                self.queue = [entry for entry in self.queue if entry[0] > clock]
                for peer, seg, payload in due:
                    if peer:
                        peer.receive(seg, payload)
                    else:
                        self.bench.send(seg, payload)
        if clock % 4 == 0:
            for peer in self.peers.values():
                peer.step()


async def connect(bench, session, conn, peer):
    """The peer opens its connection, which has this id; the session sends what it expects. It does not close yet."""
    peer.may_close = False
    peer.open()
    await bench.until(lambda: conn in session.conns, what="open")
    session.conns[conn].want = peer.expect


async def setup(dut, mtu=1500, net={}, session={}, **bench):
    """Everything around the design; the design is reset."""
    bench = Bench(dut, mtu=mtu, **bench)
    await bench.run()
    return bench, Net(bench, mtu=mtu, **net), Session(bench, **session)


class Wire(Net):
    """Its peers do nothing by themselves, and are not asked."""

    def step(self):
        peers, self.peers = self.peers, {}
        super().step()
        self.peers = peers


class Busy(Session):
    """Looks at those connections alone that have something to do."""

    def __init__(self, bench, **options):
        super().__init__(bench, **options)
        self.busy = set()

    def event(self, kind, conn, rx_ptr, tx_ptr):
        super().event(kind, conn, rx_ptr, tx_ptr)
        if kind in ("data", "fin"):
            self.busy.add(conn)

    def step(self):
        self.busy = {conn for conn in self.busy if conn in self.conns and not self.idles(self.conns[conn])}
        everyone, self.conns = self.conns, {conn: self.conns[conn] for conn in self.busy}
        super().step()
        self.conns = everyone

    def idles(self, c):
        return c.closing or (c.rx_read == c.rx_have and c.sent == c.want and not c.fin)


async def open_all(bench, session, hands):
    """The handshakes of a wave."""
    before = len(session.conns)
    for hand in hands:
        hand.send(syn=1)
    await bench.until(lambda: all(hand.seen for hand in hands), what="SYN-ACKs")
    for hand in hands:
        seg, _ = hand.seen.pop()
        assert seg["flags"]["syn"] and seg["ack"] == (hand.isn + 1) & M32 and not hand.seen
        hand.seq, hand.ack = (hand.isn + 1) & M32, (seg["seq"] + 1) & M32
        hand.send()
    await bench.until(lambda: len(session.conns) == before + len(hands), what="opened")


def key_bits(secret):
    """The key of the lookup's hash: bit i of the name is the parity of the address under bits i + 16 on."""
    bits = [secret >> (64 + i) % 128 & 1 for i in range(128)]
    while len(bits) < 16 + 32 + 128:
        bits.append(bits[-128] ^ bits[-127] ^ bits[-126] ^ bits[-121])
    return bits


def table(dut, conn):
    return T.tcb_t.unpack(int(dut.u_tcb.u_table.u_tcb.mem_q[conn].value))


async def nothing_left(dut, bench, session):
    """All ids are back and nothing is under way."""
    await bench.until(lambda: not session.conns and not bench.apps)
    bench.tick = 0  # never idle between ticks that come each clock
    await bench.until(lambda: not session.conns and not bench.apps and int(dut.idle_o.value), what="end")
    assert int(dut.conns_o.value) == 0
    assert bench.counts["TcpCountOpened"] == bench.counts["TcpCountClosed"]


async def refused(peer):
    """memcached's words, or Redis', and FIN, whose ACK is not answered; what comes then is."""
    flags, seg, payload = await peer.flags()
    assert set(flags) == set("fpa") and payload == REFUSAL[peer.addr["redis"]]
    assert seg["seq"] == peer.ack and seg["ack"] == peer.seq
    peer.took(len(payload) + 1)
    peer.send()
    await peer.silence(200)
    for options in ({"fin": 1}, {"payload": b"get x\r\n"}):
        peer.send(**options)
        flags, seg, _ = await peer.flags()
        assert flags == "r" and seg["seq"] == peer.ack


REFUSAL = b"ERROR Too many open connections\r\n", b"-ERR max number of clients reached\r\n"
