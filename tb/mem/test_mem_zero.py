"""mem_zero: exactly the lines of the index become zero, whatever memory's pace; enabling waits for it, a refusal is told,
nothing is begun once the card was enabled, and a reset in the middle leaves nothing behind."""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import NEXT_CLOCK, Pins, every_clock, start, until
from harness.models import run
from harness.structs import T

FULL = (1 << 64) - 1


class Memory:
    """Memory of both ports: what was written, `refuse` is the probability that it was not."""

    def __init__(self, dut, pause, latency, refuse=0.0):
        self.dut, self.pin, self.pause, self.latency, self.refuse = dut, Pins(dut), pause, latency, refuse
        self.lines, self.open, self.dones, self.refused = {}, 0, 0, 0
        for name in ("awready", "wready", "bvalid", "bresp"):
            getattr(self.pin, f"m_axi_{name}").value = 0
        every_clock(dut, self._run())

    async def _run(self):
        pin, now = self.pin, 0
        addrs, datas, acks = ([deque(), deque()] for _ in range(3))
        ready = {"aw": 0, "w": 0}
        await NEXT_CLOCK
        while True:
            await NEXT_CLOCK
            now += 1
            bvalid = bresp = 0
            took = {name: getattr(pin, f"m_axi_{name}valid").value & ready[name] for name in ready}
            for p in range(2):
                if took["aw"] >> p & 1:
                    addrs[p].append(pin.m_axi_awaddr.value >> 40 * p & (1 << 40) - 1)
                if took["w"] >> p & 1:
                    datas[p].append((pin.m_axi_wdata.value >> 512 * p & (1 << 512) - 1,
                                     pin.m_axi_wstrb.value >> 64 * p & FULL))
                while addrs[p] and datas[p]:
                    addr, (data, strb) = addrs[p].popleft(), datas[p].popleft()
                    assert addr >> 6 & 1 == p and strb == FULL
                    assert addr >> 6 not in self.lines or data, "written twice"
                    self.lines[addr >> 6] = data
                    acks[p].append(now + self.latency)
                if acks[p] and acks[p][0] <= now and random.random() >= self.pause:
                    acks[p].popleft()
                    bvalid |= 1 << p
                    if random.random() < self.refuse:
                        self.refused += 1
                        bresp |= random.choice([2, 3]) << 2 * p
            self.open = sum(map(len, addrs + datas + acks)) + bvalid.bit_count()
            self.dones += int(pin.wr_done_o.value).bit_count()
            pin.m_axi_bvalid.value, pin.m_axi_bresp.value = bvalid, bresp
            for name in ready:
                ready[name] = sum((random.random() >= self.pause) << p for p in range(2))
                getattr(pin, f"m_axi_{name}ready").value = ready[name]


async def begin(dut, pause, latency, refuse=0.0):
    memory = Memory(dut, pause, latency, refuse)
    for name in ("start_i", "enable_i", "wr_valid_i", "wr_i", "base_i", "bits_i"):
        getattr(dut, name).value = 0
    await start(dut)
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    return memory


async def zero(dut, base, bits):
    dut.base_i.value, dut.bits_i.value, dut.start_i.value = base, bits, 1
    await RisingEdge(dut.clk_i)
    dut.start_i.value = 0
    await RisingEdge(dut.clk_i)


async def over(dut, limit=20_000):
    assert await until(dut, lambda: not dut.busy_o.value, limit)


@cocotb.test()
@cocotb.parametrize(pace=[(0.0, 1), (0.0, 40), (0.5, 20)])
async def ranges(dut, pace):
    """Ranges of any size at any place, one after the other."""
    memory = await begin(dut, *pace)
    for bits in (1, 2, 5, 9, 4):
        base = random.getrandbits(33) * 2
        memory.lines.clear()
        await zero(dut, base, bits)
        begun = 1
        while dut.busy_o.value:
            await RisingEdge(dut.clk_i)
            begun += 1
        assert memory.open == 0, "it ends when all is answered"
        assert memory.lines == {(base + n) % (1 << 34): 0 for n in range(1 << bits)}
        assert not dut.refused_o.value and memory.dones == 0
        if pace == (0.0, 40):
            assert begun <= (1 << bits) // 2 + 50, "two lines a clock"


@cocotb.test()
async def refused(dut):
    """A refusal of any line is told until the next start."""
    memory = await begin(dut, 0.2, 10, refuse=0.05)
    for _ in range(20):
        memory.refused = 0
        memory.lines.clear()
        await zero(dut, 64, 5)
        await over(dut)
        assert dut.refused_o.value == (memory.refused > 0)
    memory.refuse = 0.0
    memory.lines.clear()
    await zero(dut, 64, 5)
    await over(dut)
    assert not dut.refused_o.value


@cocotb.test()
async def enabled(dut):
    """Enabling waits until all is zero; from then on a start does nothing, also when the card is disabled again."""
    memory = await begin(dut, 0.0, 30)
    dut.base_i.value, dut.bits_i.value, dut.start_i.value = 128, 7, 1
    await RisingEdge(dut.clk_i)
    dut.start_i.value, dut.enable_i.value = 0, 1
    for _ in range(60):
        await RisingEdge(dut.clk_i)
        assert dut.busy_o.value and not dut.enable_o.value
    await over(dut)
    assert memory.open == 0
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    assert dut.enable_o.value
    for enable in (1, 0):
        dut.enable_i.value = enable
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        await zero(dut, 1 << 20, 4)
        for _ in range(60):
            await RisingEdge(dut.clk_i)
            assert not dut.busy_o.value
    assert len(memory.lines) == 128


@cocotb.test()
async def reset(dut):
    """A reset while lines are on their way: it is over, it can be begun anew, and the store's writes have their own
    answers."""
    memory = await begin(dut, 0.1, 30)
    for turn in range(8):
        await zero(dut, 0, 9)
        for _ in range(random.randrange(5, 100)):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 0
        for _ in range(random.randrange(1, 10)):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        assert not dut.busy_o.value
        memory.dones = 0
        if turn % 2:
            dut.enable_i.value = 1
            for n in range(20):
                dut.wr_i.value = T.line_write_t.pack({"addr": 2 * n, "data": n + 1, "strb": FULL})
                dut.wr_valid_i.value = 1
                await RisingEdge(dut.clk_i)
                while not int(dut.wr_ready_o.value) & 1:
                    await RisingEdge(dut.clk_i)
            dut.wr_valid_i.value = 0
            assert await until(dut, lambda: memory.open == 0, 2000)
            for _ in range(3):
                await RisingEdge(dut.clk_i)
            assert memory.dones == 20
            assert [memory.lines[2 * n] for n in range(20)] == list(range(1, 21))
            dut.enable_i.value = 0
            dut.rst_ni.value = 0
            await RisingEdge(dut.clk_i)
            dut.rst_ni.value = 1
        else:
            assert await until(dut, lambda: memory.open == 0, 2000)
        memory.lines.clear()
        await zero(dut, 0, 6)
        await over(dut)
        assert memory.lines == dict.fromkeys(range(64), 0)
        memory.lines.clear()


def test_mem_zero():
    run(__file__, "zero_tb", ["rtl/lib/lib.f", "rtl/mem/mem.f", "tb/mem/zero_tb.sv"])
