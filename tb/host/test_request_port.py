"""request_port: what the host sends becomes bytes of its connection and events, replies become packets, and a hold begins
and ends when it should. The session is a model here."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start, until
from harness.models import run
from harness.streams import Sink, Source, to_beats
from harness.structs import T

HOST = (1 << 14) - 1
RX, TX, RING = 512, 256, 65536
OPEN, CLOSE, HOLD, COMMIT, RELEASE, REDIS, MINE = 1, 2, 4, 8, 16, 32, 128


class Bench:
    """Keeps what the session keeps of the port's connection, and what comes to the host."""

    def __init__(self, dut, hold_max=1000, pause=0.2):
        self.dut, self.pause = dut, pause
        dut.hold_max_i.value = hold_max
        dut.rd_valid_i.value = dut.line_ready_i.value = dut.wr_valid_i.value = 0
        self.tcp_ev = Source(dut, "tcp_ev", {"": T.ev_t}, pause)
        self.events = Sink(dut, "ev", {"": T.ev_t}, pause)
        self.app = Source(dut, "app", {"": T.app_t}, pause)
        self.queue, self.others_in, self.others_out = [], [], []
        self.sent = 0
        self.rx = self.tx = 0                 # read and written by the session
        self.seen, self.replies = 0, b""
        self.open, self.held, self.executed = False, False, 0
        self.packets = 0
        self.stall = False  # the host takes nothing
        dut.out_valid_i.value = 0
        cocotb.start_soon(self.feed())
        cocotb.start_soon(self.listen())
        cocotb.start_soon(self.others())

    # ------------------------------------------------------------ the host's side
    def packet(self, flags, data=b""):
        head = (MINE | flags) << 48 | len(data) << 32
        at = self.sent % 64
        beats = to_beats(random.randbytes(at) + data) if data else []
        if random.random() < 0.1:  # more than it says: nobody's
            beats += to_beats(random.randbytes(64))
        self.queue.append([head | random.getrandbits(400) << 100, *(b["data"] for b in beats)])
        self.sent += len(data)

    def foreign(self):
        beats = [random.getrandbits(512) & ~(1 << 55) for _ in range(1)] + [random.getrandbits(512) for _ in range(random.randrange(9))]
        self.queue.append(beats)
        self.others_in.append(beats)

    async def feed(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk_i)
        dut.s_axis_exc_tvalid.value = 0
        while True:
            if not self.queue or random.random() < self.pause:
                await edge
                continue
            packet = self.queue[0]
            for i, beat in enumerate(packet):
                dut.s_axis_exc_tdata.value, dut.s_axis_exc_tlast.value = beat, int(i == len(packet) - 1)
                dut.s_axis_exc_tkeep.value, dut.s_axis_exc_tvalid.value = (1 << 64) - 1, 1
                await edge
                while not dut.s_axis_exc_tready.value:
                    await edge
                dut.s_axis_exc_tvalid.value = 0
            self.queue.pop(0)

    async def listen(self):
        """Packets to the host: the port's, and those of the punt queue, whole."""
        dut, edge, ready, packet = self.dut, RisingEdge(self.dut.clk_i), 0, []
        dut.m_axis_exc_tready.value = 0
        while True:
            await edge
            if ready and dut.m_axis_exc_tvalid.value:
                packet.append(int(dut.m_axis_exc_tdata.value))
                if dut.m_axis_exc_tlast.value:
                    self.take(packet)
                    packet = []
            ready = int(not self.stall and random.random() >= self.pause)
            dut.m_axis_exc_tready.value = ready

    def take(self, packet):
        head = packet[0].to_bytes(64, "little")
        if not head[5] & 0x80:
            self.others_out.append(packet)
            return
        assert int.from_bytes(head[:4], "little") == HOST
        count = int.from_bytes(head[12:14], "little")
        assert len(packet) == 1 + (count and (head[6] + count + 63) // 64)
        lines = b"".join(line.to_bytes(64, "little") for line in packet[1:])
        self.replies += lines[head[6] : head[6] + count]
        self.open, self.held = bool(head[7] & 1), bool(head[7] & 2)
        self.executed = int.from_bytes(head[8:12], "little")
        self.packets += 1

    async def others(self):
        """Packets of the punt queue, either way."""
        dut, edge, ready, packet = self.dut, RisingEdge(self.dut.clk_i), 0, []
        dut.in_ready_i.value = 0
        self.came = []
        while True:
            await edge
            if ready and dut.in_valid_o.value:
                beat = T.axis_t.unpack(int(dut.in_o.value))
                packet.append(beat["data"])
                if beat["last"]:
                    self.came.append(packet)
                    packet = []
            ready = int(random.random() >= self.pause)
            dut.in_ready_i.value = ready

    # ------------------------------------------------------------ the session's side
    async def until(self, what, limit=20_000):
        assert await until(self.dut, what, limit), "it does not come"

    def own(self):
        """Events of the port's connection that have come."""
        return [e[""] for e in self.events.items if e[""]["conn"] == HOST]

    async def read(self, count):
        """Bytes of the receive ring, as fetch reads them."""
        dut, edge, data = self.dut, RisingEdge(self.dut.clk_i), b""
        first, last = self.rx // 64, (self.rx + count - 1) // 64
        for line in range(first, last + 1):
            dut.rd_line_i.value, dut.rd_valid_i.value = line % 1024, 1
            await edge
            while not dut.rd_ready_o.value:
                await edge
            dut.rd_valid_i.value = 0
            while random.random() < self.pause:
                await edge
            dut.line_ready_i.value = 1
            await edge
            while not dut.line_valid_o.value:
                await edge
            data += int(dut.line_o.value).to_bytes(64, "little")
            dut.line_ready_i.value = 0
        skip = self.rx % 64
        self.rx += count
        return data[skip : skip + count]

    async def reply(self, data):
        """A job's replies, in lines and parts of lines, as ring_writer writes them."""
        dut, edge = self.dut, RisingEdge(self.dut.clk_i)
        while data:
            start = self.tx % 64
            part, data = data[: 64 - start], data[64 - start :]
            cut = random.randrange(1, len(part) + 1) if random.random() < 0.3 else len(part)
            part, data = part[:cut], part[cut:] + data
            dut.wr_line_i.value = self.tx // 64 % 1024
            lanes = ((1 << len(part)) - 1) << start
            word = int.from_bytes(part, "little") << 8 * start | random.getrandbits(8 * start)
            dut.wr_i.value = T.line_write_t.pack({"addr": random.getrandbits(34), "data": word, "strb": lanes})
            dut.wr_valid_i.value = 1
            await edge
            dut.wr_valid_i.value = 0
            self.tx += len(part)

    def says(self, **fields):
        self.app.put({"": {"conn": HOST, "rx_ptr": self.rx, "tx_ptr": self.tx, **fields}})

    async def opens(self, redis=REDIS):
        self.sent = self.rx = self.tx = 0
        self.packet(OPEN | redis)
        n = len(self.own())
        await self.until(lambda: len(self.own()) >= n + 2 and self.open)
        first, second = self.own()[n : n + 2]
        assert first["open"] and first["redis"] == (redis > 0) and first["rx_ptr"] == first["tx_ptr"] == 0
        assert second["acked"] and second["data"] and not second["open"] and not second["closed"]
        assert (first["tx_ptr"] - second["tx_ptr"]) % (1 << 32) == RING - 64 * TX, "room for replies"

    async def released(self):
        """The session answers `closed`."""
        await self.until(lambda: self.own()[-1]["closed"])
        self.says(release_id=1)
        await self.until(lambda: not self.open)


async def begin(dut, **options):
    await start(dut)
    bench = Bench(dut, **options)
    dut.tcp_app_ready_i.value = 1
    await clocks(dut, 3)
    return bench


@cocotb.test()
async def bytes_both_ways(dut):
    """Requests and replies of all sizes round the rings, beside packets of the punt queue and tcp's events."""
    bench = await begin(dut)
    await bench.opens()
    strangers = [{"conn": random.randrange(HOST), "data": 1, "rx_ptr": random.getrandbits(32)} for _ in range(300)]
    bench.tcp_ev.put(*({"": e} for e in strangers))
    asked = answered = b""
    for _ in range(150):
        for _ in range(random.randrange(1, 5)):
            data = random.randbytes(random.choice([0, 1, 5, 63, 64, 65, 511, 512, random.randrange(513)]))
            bench.packet(REDIS, data)
            asked += data
            if random.random() < 0.3:
                bench.foreign()
        await bench.until(lambda: not bench.queue and bench.own()[-1]["rx_ptr"] == len(asked))
        reply = random.randbytes(random.choice([0, 1, 64, random.randrange(3000)]))
        count = len(asked) - bench.rx
        if count:
            assert await bench.read(count) == asked[-count:]
        await bench.reply(reply)
        answered += reply
        bench.says()
        await bench.until(lambda: bench.executed == len(asked) and len(bench.replies) == len(answered))
        assert bench.replies == answered
        await bench.until(lambda: bench.own()[-1]["tx_ptr"] == (len(answered) - RING + 64 * TX) % (1 << 32))
    assert len(asked) > 64 * RX and len(answered) > 64 * TX, "the rings went round"
    await bench.until(lambda: len(bench.events.items) - len(bench.own()) == len(strangers))
    assert [e[""]["rx_ptr"] for e in bench.events.items if e[""]["conn"] != HOST] == [e["rx_ptr"] for e in strangers]
    await bench.until(lambda: len(bench.came) == len(bench.others_in))
    assert bench.came == bench.others_in
    await bench.until(lambda: dut.idle_o.value == 1)


@cocotb.test()
async def a_line_a_clock(dut):
    """fetch has a line of the receive ring in each clock."""
    bench = await begin(dut)
    await bench.opens()
    data = random.randbytes(64 * 64)
    for at in range(0, len(data), 512):
        bench.packet(REDIS, data[at : at + 512])
    await bench.until(lambda: not bench.queue and bench.own()[-1]["rx_ptr"] == len(data))
    edge, came, asked = RisingEdge(dut.clk_i), b"", 0
    dut.line_ready_i.value = 1
    for _ in range(64 + 2):
        dut.rd_valid_i.value, dut.rd_line_i.value = int(asked < 64), asked % 64
        await edge
        asked += int(dut.rd_valid_i.value and dut.rd_ready_o.value)
        if dut.line_valid_o.value:
            came += int(dut.line_o.value).to_bytes(64, "little")
    assert came == data


@cocotb.test()
async def between_the_queues_packets(dut):
    """The punt queue's packets to the host are never cut by the port's."""
    bench = await begin(dut)
    await bench.opens()
    out, sent = Source(dut, "out", {"": T.axis_t}, 0.3), []
    for n in range(200):
        beats = [random.getrandbits(512) & ~(0xff << 40) for _ in range(random.randrange(1, 6))]
        sent.append(beats)
        out.put(*({"": {"data": b, "keep": (1 << 64) - 1, "last": i == len(beats) - 1}} for i, b in enumerate(beats)))
        if n % 5 == 0:
            await bench.reply(random.randbytes(200))
            bench.says()
    await bench.until(lambda: len(bench.others_out) == 200 and len(bench.replies) == bench.tx)
    assert bench.others_out == sent


@cocotb.test()
async def unsent(dut):
    """Room of replies that the host has not taken is not given to others."""
    bench = await begin(dut)
    await bench.opens()
    bench.stall = True
    data = random.randbytes(3000)
    await bench.reply(data)
    bench.says()
    await clocks(dut, 100)
    bench.packet(REDIS, b"x")  # it is told of more bytes, and where replies go
    await clocks(dut, 200)
    assert (bench.own()[-1]["tx_ptr"] + RING - 64 * TX) % (1 << 32) <= 64
    bench.stall, packets = False, bench.packets
    await bench.until(lambda: bench.replies == data)
    assert bench.packets - packets == -(-len(data) // 512), "eight lines a packet"


@cocotb.test()
async def a_packet_of_before(dut):
    """A packet that a connection has left does not count for the one that is opened next."""
    bench = await begin(dut)
    await bench.opens()
    bench.stall = True
    await bench.reply(random.randbytes(500))
    bench.says()
    await clocks(dut, 50)
    bench.packet(CLOSE)
    await bench.until(lambda: bench.own()[-1]["closed"])
    bench.says(release_id=1)
    await clocks(dut, 50)
    bench.packet(OPEN)
    await bench.until(lambda: any(e["open"] for e in bench.own()[-2:]))
    bench.stall = False
    await clocks(dut, 300)
    assert (bench.own()[-1]["tx_ptr"] + RING - 64 * TX) % (1 << 32) == 0
    bench.sent = bench.rx = bench.tx = 0
    bench.replies, data = b"", random.randbytes(700)
    await bench.reply(data)
    bench.says()
    await bench.until(lambda: bench.replies == data)


@cocotb.test()
async def theirs_is_theirs(dut):
    """What the session says of peers goes to tcp, of the port's connection nowhere else."""
    bench = await begin(dut)
    await bench.opens()
    apps = Sink(dut, "tcp_app", [], 0.4)
    for n in range(100):
        near = HOST ^ 1 << n % 14  # differs in one bit
        bench.app.put({"": {"conn": HOST if n % 3 == 0 else near, "rx_ptr": 0, "tx_ptr": 0}})
    await bench.until(lambda: not bench.app.queue)
    await clocks(dut, 20)
    assert len(apps.items) == 100 - 34


@cocotb.test()
async def hold(dut):
    """It begins before the first byte is told of, and ends when the last one is executed."""
    bench = await begin(dut, hold_max=3000)
    await bench.opens()
    for _ in range(20):
        told = len(bench.own())
        data = random.randbytes(random.randrange(1, 500))
        bench.packet(HOLD | REDIS, data)
        await bench.until(lambda: bench.own()[-1]["rx_ptr"] == bench.sent)
        assert dut.hold_o.value, "held before the session hears of it"
        assert len(bench.own()) > told
        await bench.until(lambda: bench.held)
        bench.rx = bench.sent
        bench.says()
        await clocks(dut, random.randrange(200))
        assert dut.hold_o.value
        bench.packet(COMMIT | REDIS, b"abc")
        bench.packet(RELEASE | REDIS, b"defg")
        await bench.until(lambda: bench.own()[-1]["rx_ptr"] == bench.sent)
        await clocks(dut, random.randrange(100))
        assert dut.hold_o.value, "the last requests are not executed"
        bench.rx = bench.sent
        bench.says()
        await bench.until(lambda: not bench.held)
        assert not dut.hold_o.value


@cocotb.test()
async def at_once(dut):
    """A hold that ends with the packet that it begins with."""
    bench = await begin(dut)
    await bench.opens()
    for _ in range(10):
        bench.packet(HOLD | RELEASE | REDIS, b"abc")
        await bench.until(lambda: bench.own()[-1]["rx_ptr"] == bench.sent)
        assert dut.hold_o.value
        bench.rx = bench.sent
        bench.says()
        await bench.until(lambda: not dut.hold_o.value)


@cocotb.test()
async def ends_by_itself(dut):
    """After its clocks, which a commit gives once more, the connection is closed and what comes for it is dropped."""
    bench = await begin(dut, hold_max=500, pause=0)
    await bench.opens()
    for commits in range(3):
        bench.packet(HOLD | REDIS, b"abc")
        await bench.until(lambda: dut.hold_o.value)
        held = 0
        for _ in range(2000):
            await RisingEdge(dut.clk_i)
            if not dut.hold_o.value:
                break
            held += 1
            if held in [200, 400][:commits]:
                bench.packet(COMMIT | REDIS, b"x")
        wants = 700 if commits else 500
        assert wants - 10 < held < wants + 20, held
        bench.packet(REDIS, b"late")
        bench.packet(HOLD | REDIS, b"later")
        bench.packet(OPEN | REDIS, b"before it is closed")
        await clocks(dut, 50)
        assert bench.own()[-1]["closed"] and not dut.hold_o.value
        news = len(bench.own())
        await bench.released()
        bench.packet(REDIS, b"and nobody opened it")
        bench.packet(HOLD | REDIS, b"")
        await clocks(dut, 500)
        assert len(bench.own()) == news and not dut.hold_o.value
        await bench.opens(redis=0)
        bench.packet(0, b"new")
        await bench.until(lambda: bench.own()[-1]["rx_ptr"] == 3)
        assert await bench.read(3) == b"new" and not bench.own()[-1]["redis"]
        bench.says()


@cocotb.test()
async def over_when_it_is_known(dut):
    """A hold that ends by itself does so when the session has heard that the connection is closed: what it has heard of
    before, and may still begin, comes before all that others have asked for."""
    bench = await begin(dut, hold_max=300, pause=0.8)
    for _ in range(5):
        await bench.opens()
        bench.packet(HOLD | REDIS, b"abc")
        await bench.until(lambda: dut.hold_o.value)
        bench.packet(COMMIT | REDIS, b"defg")
        await bench.until(lambda: not dut.hold_o.value)
        assert bench.own()[-1]["closed"]
        await bench.released()


@cocotb.test()
async def others_have_their_time(dut):
    """As many clocks as were held pass before the next hold."""
    bench = await begin(dut, hold_max=2000, pause=0)
    await bench.opens()
    for clocks_held in (1000, 400, 1600):
        bench.packet(HOLD | REDIS, b"")
        await bench.until(lambda: dut.hold_o.value)
        await clocks(dut, clocks_held)
        bench.packet(RELEASE | REDIS, b"")
        await bench.until(lambda: not dut.hold_o.value)
        bench.packet(HOLD | REDIS, b"")
        free = 0
        while not dut.hold_o.value and free < 4000:
            await RisingEdge(dut.clk_i)
            free += 1
        assert clocks_held - 10 <= free < clocks_held + 20, free
        bench.packet(RELEASE | REDIS, b"")
        await bench.until(lambda: not dut.hold_o.value)
        await clocks(dut, 1000)


@cocotb.test()
async def never(dut):
    """Where no clocks are allowed a hold ends as it begins."""
    bench = await begin(dut, hold_max=0, pause=0)
    await bench.opens()
    bench.packet(HOLD | REDIS, b"abc")
    await bench.until(lambda: bench.own()[-1]["closed"])
    await bench.released()


@cocotb.test()
async def closed(dut):
    """By the host, or by the session: then nothing is sent any more, and the host is told."""
    bench = await begin(dut)
    bench.packet(CLOSE)
    await bench.until(lambda: bench.packets == 1)
    assert not bench.open
    for by in ("host", "close", "host", "reset"):
        await bench.opens()
        if by == "host":
            bench.packet(CLOSE)
        else:
            bench.says(**{by: 1})
        await bench.until(lambda: bench.own()[-1]["closed"])
        before = bench.replies
        await bench.reply(b"too late")
        bench.says()
        await clocks(dut, 50)
        assert bench.replies == before
        await bench.released()


def test_request_port():
    run(__file__, "request_port_tb", ["rtl/lib/lib.f", "rtl/conn/conn_mux.sv", "rtl/host/request_port.f",
                                      "tb/host/request_port_tb.sv"])
