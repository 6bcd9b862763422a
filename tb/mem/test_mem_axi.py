"""mem_axi against a memory behind AXI4: every write lands once, reads answer in order, the address
and the data of a write may be taken in any order, and nothing is lost at full rate. Answers that say
that they are none are marked, and those to what was asked before a reset go nowhere."""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import start, until
from harness.models import run
from harness.streams import Source
from harness.structs import T


class Memory:
    """AXI4 memory of single lines: `pause` is the probability that a channel is not ready, each
    on its own; answers come `latency` clocks later, each of them bad with the probability `bad`. A
    reset of the port is none of it."""

    def __init__(self, dut, pause, latency, bad=0.0):
        self.dut, self.pause, self.latency, self.bad = dut, pause, latency, bad
        self.lines, self.most_reads = {}, 0
        #: Places of bad reads and writes among all, and the answers outstanding.
        self.bad_reads, self.bad_writes, self.read_count, self.write_count = set(), set(), 0, 0
        self.open = 0
        for name in ("awready", "wready", "arready", "bvalid", "rvalid"):
            getattr(dut, f"m_axi_{name}").value = 0
        cocotb.start_soon(self._run())

    def write(self, addr, data, strb):
        line = self.lines.get(addr, 0)
        mask = sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)
        self.lines[addr] = line & ~mask | data & mask

    async def _run(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk_i)
        addrs, datas, acks, reads = deque(), deque(), deque(), deque()
        aw = w = ar = False
        clock = beats = 0
        dut.m_axi_rlast.value = 1
        dut.m_axi_rresp.value = dut.m_axi_bresp.value = 0
        await edge
        while True:
            await edge
            clock += 1
            if aw and dut.m_axi_awvalid.value:
                addrs.append(int(dut.m_axi_awaddr.value))
            if w and dut.m_axi_wvalid.value:
                datas.append((int(dut.m_axi_wdata.value), int(dut.m_axi_wstrb.value)))
            while addrs and datas:
                self.write(addrs.popleft(), *datas.popleft())
                acks.append(clock + self.latency)
            if ar and dut.m_axi_arvalid.value:
                addr = int(dut.m_axi_araddr.value)
                reads.append((clock + self.latency, addr))
                self.most_reads = max(self.most_reads, len(reads))
            assert dut.m_axi_bready.value == 1
            ack = bool(acks) and acks[0] <= clock
            if ack:
                acks.popleft()
                bad = random.random() < self.bad
                dut.m_axi_bresp.value = random.choice([2, 3]) if bad else 0
                if bad:
                    self.bad_writes.add(self.write_count)
                self.write_count += 1
            dut.m_axi_bvalid.value = int(ack)
            if not (dut.m_axi_rvalid.value and not dut.m_axi_rready.value):
                answer = beats > 0 or (bool(reads) and reads[0][0] <= clock)
                dut.m_axi_rvalid.value = int(answer)
                if beats:
                    # What follows a bad answer's first beat.
                    beats -= 1
                    dut.m_axi_rdata.value, dut.m_axi_rresp.value = random.getrandbits(512), random.choice([0, 2])
                elif answer:
                    dut.m_axi_rdata.value, dut.m_axi_rresp.value = self.lines.get(reads.popleft()[1], 0), 0
                    if random.random() < self.bad:
                        self.bad_reads.add(self.read_count)
                        beats = random.choice([0, 0, 1, 3])
                        if not beats or random.random() < 0.5:
                            dut.m_axi_rresp.value = random.choice([2, 3])
                    self.read_count += 1
                dut.m_axi_rlast.value = int(beats == 0)
            self.open = len(reads) + len(acks) + len(addrs) + len(datas)
            aw, w, ar = (random.random() >= self.pause for _ in range(3))
            dut.m_axi_awready.value, dut.m_axi_wready.value, dut.m_axi_arready.value = aw, w, ar


class Answers:
    """Keeps what reads are answered, and the clock of each answer."""

    def __init__(self, dut):
        self.dut, self.items, self.times = dut, [], []
        cocotb.start_soon(self._run())

    async def wait(self, n):
        done = await until(self.dut, lambda: len(self.items) >= n, 100_000)
        assert done, f"{len(self.items)} of {n} answers"

    async def _run(self):
        clock = 0
        await RisingEdge(self.dut.clk_i)  # before it there is what simulation begins with
        while True:
            await RisingEdge(self.dut.clk_i)
            clock += 1
            assert self.dut.m_axi_rready.value == 1
            if self.dut.rdat_valid_o.value:
                self.items.append({"": int(self.dut.rdat_o.value), "bad": int(self.dut.rdat_bad_o.value)})
                self.times.append(clock)


async def bench(dut, pause, latency, bad=0.0):
    memory = Memory(dut, pause, latency, bad)
    for name in ("zero_i", "zero_valid_i", "zero_addr_i"):
        getattr(dut, name).value = 0
    writes = Source(dut, "wr", {"": T.line_write_t}, pause)
    asks = Source(dut, "rd", ["addr"], pause)
    answers = Answers(dut)
    await start(dut)
    return memory, writes, asks, answers


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 1), (0.0, 40), (0.5, 40), (0.3, 3)])
async def lines(dut, pace):
    memory, writes, asks, answers = await bench(dut, *pace)
    done = 0

    async def count():
        nonlocal done
        while True:
            await RisingEdge(dut.clk_i)
            done += int(dut.wr_done_o.value)

    cocotb.start_soon(count())
    places = [random.getrandbits(34) for _ in range(50)] + [0, (1 << 34) - 1]
    want = {}
    for n in range(600):
        addr, data, strb = random.choice(places), random.getrandbits(512), random.getrandbits(64)
        strb = random.choice([strb, (1 << 64) - 1, 0])
        mask = sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)
        want[addr] = want.get(addr, 0) & ~mask | data & mask
        writes.put({"": {"addr": addr, "data": data, "strb": strb}})
    for _ in range(10_000):
        await RisingEdge(dut.clk_i)
        if done == 600:
            break
    assert done == 600
    assert memory.lines == {addr * 64: line for addr, line in want.items()}
    order = random.choices(places, k=600)
    asks.put(*({"addr": a} for a in order))
    await answers.wait(len(order))
    assert [i[""] for i in answers.items] == [want.get(a, 0) for a in order]
    if pace == (0.0, 40):
        assert answers.times[-1] - answers.times[0] == len(order) - 1, "a line each clock"
        assert memory.most_reads >= 39
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    assert done == 600 and len(answers.items) == 600


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 1), (0.0, 40), (0.4, 10)])
async def bad_answers(dut, pace):
    """SLVERR, DECERR, and more beats than one: the answer is marked, those around it are right."""
    memory, writes, asks, answers = await bench(dut, *pace, bad=0.2)
    done = []

    async def count():
        while True:
            await RisingEdge(dut.clk_i)
            if dut.wr_done_o.value:
                done.append(int(dut.wr_bad_o.value))
            else:
                assert not dut.wr_bad_o.value

    cocotb.start_soon(count())
    want = [random.getrandbits(512) for _ in range(300)]
    writes.put(*({"": {"addr": n, "data": line, "strb": (1 << 64) - 1}} for n, line in enumerate(want)))
    assert await until(dut, lambda: len(done) == len(want), 20_000)
    assert {n for n, bad in enumerate(done) if bad} == memory.bad_writes != set()
    asks.put(*({"addr": n} for n in range(len(want))))
    await answers.wait(len(want))
    for n, (answer, line) in enumerate(zip(answers.items, want)):
        bad = n in memory.bad_reads
        assert answer["bad"] == int(bad) and answer[""] == (0 if bad else line), n
    assert len(memory.bad_reads) > 20
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    assert len(done) == len(answers.items) == len(want)


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 40), (0.0, 3), (0.5, 20)])
async def reset(dut, pace):
    """A reset while reads and writes are on their way: what comes of them is nobody's answer, and nothing
    that was offered to memory is taken back."""
    memory, writes, asks, answers = await bench(dut, *pace, bad=0.1)
    done = 0

    async def count():
        nonlocal done
        while True:
            await RisingEdge(dut.clk_i)
            done += int(dut.wr_done_o.value) and int(dut.rst_ni.value)

    async def stable():
        names = {"aw": ["awaddr"], "w": ["wdata", "wstrb"], "ar": ["araddr"]}
        offered = {}
        while True:
            await RisingEdge(dut.clk_i)
            for channel, fields in names.items():
                now = [int(getattr(dut, f"m_axi_{f}").value) for f in fields]
                valid = bool(getattr(dut, f"m_axi_{channel}valid").value)
                if channel in offered:
                    assert valid and now == offered[channel], channel
                if valid and not getattr(dut, f"m_axi_{channel}ready").value:
                    offered[channel] = now
                else:
                    offered.pop(channel, None)

    cocotb.start_soon(count())
    cocotb.start_soon(stable())
    full, cut_reads = (1 << 64) - 1, 0
    for round_ in range(12):
        writes.put(*({"": {"addr": 1000 + random.randrange(50), "data": 0, "strb": full}} for _ in range(60)))
        asks.put(*({"addr": 2000 + n} for n in range(60)))
        # The last of 60 is asked for in the 60th clock, or later.
        for _ in range(random.randrange(1, 90 if round_ % 2 else 50)):
            await RisingEdge(dut.clk_i)
        assert round_ % 2 or await until(dut, lambda: memory.open, 1000)
        cut_reads += bool(memory.open)
        writes.stop()
        asks.stop()
        dut.rst_ni.value = 0
        for _ in range(random.choice([1, 2, 7, 60])):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        answers.items.clear()
        done = 0
        writes = Source(dut, "wr", {"": T.line_write_t}, pace[0])
        asks = Source(dut, "rd", ["addr"], pace[0])
        memory.bad = 0.0
        lines = [random.getrandbits(512) for _ in range(40)]
        writes.put(*({"": {"addr": n, "data": line, "strb": full}} for n, line in enumerate(lines)))
        for _ in range(3000):
            await RisingEdge(dut.clk_i)
            if done == len(lines):
                break
        assert done == len(lines) and [memory.lines[64 * n] for n in range(40)] == lines, round_
        asks.put(*({"addr": n} for n in range(40)))
        await answers.wait(40)
        assert [a[""] for a in answers.items] == lines and not any(a["bad"] for a in answers.items), round_
        memory.bad = 0.1
    assert cut_reads >= 6


def test_mem_axi():
    run(__file__, "mem_axi", ["rtl/lib/lib.f", "rtl/mem/mem.f"])
