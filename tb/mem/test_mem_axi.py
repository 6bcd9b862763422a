"""mem_axi against a memory behind AXI4: every write lands once, reads answer in order, the address
and the data of a write may be taken in any order, and nothing is lost at full rate."""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge
from common import Sink, Source, Types, run, start

T = Types("rtl/lib/wirekv_pkg.sv")


class Memory:
    """AXI4 memory of single lines: `pause` is the probability that a channel is not ready, each
    on its own; answers come `latency` clocks later."""

    def __init__(self, dut, pause, latency):
        self.dut, self.pause, self.latency = dut, pause, latency
        self.lines, self.most_reads = {}, 0
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
        clock = 0
        while True:
            await edge
            clock += 1
            if not dut.rst_ni.value:
                continue
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
            dut.m_axi_bvalid.value = int(ack)
            if not (dut.m_axi_rvalid.value and not dut.m_axi_rready.value):
                answer = bool(reads) and reads[0][0] <= clock
                dut.m_axi_rvalid.value = int(answer)
                if answer:
                    dut.m_axi_rdata.value = self.lines.get(reads.popleft()[1], 0)
            aw, w, ar = (random.random() >= self.pause for _ in range(3))
            dut.m_axi_awready.value, dut.m_axi_wready.value, dut.m_axi_arready.value = aw, w, ar


async def bench(dut, pause, latency):
    memory = Memory(dut, pause, latency)
    writes = Source(dut, "wr", {"": T.line_write_t}, pause)
    asks = Source(dut, "rd", ["addr"], pause)
    answers = Sink(dut, "rdat", [""], pause)
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


def test_mem_axi():
    run(__file__, "mem_axi", ["rtl/lib/lib.f", "rtl/mem/mem.f"])
