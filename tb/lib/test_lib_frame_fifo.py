"""lib_frame_fifo: a beat is taken in each clock; frames come out whole, in order, or not at all; of each it is told which."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start, until
from harness.models import run
from harness.size import scale
from harness.streams import Sink

LINES = 64


@cocotb.test()
async def whole_or_not_at_all(dut):
    kept, dropped = [], 0

    async def told():
        nonlocal dropped
        while True:
            await RisingEdge(dut.clk_i)
            dropped += int(dut.lost_o.value)
            if dut.s_valid_i.value and int(dut.s_data_i.value) & 1:
                kept.append(bool(dut.kept_o.value))
            else:
                assert not dut.kept_o.value

    dut.s_valid_i.value = 0
    await start(dut)
    cocotb.start_soon(told())
    for stall in (0, 0.5, 0.95):
        sink = Sink(dut, "m", ["data"], stall)
        sent, dropped = [], 0
        kept.clear()
        for ident in range(scale(300, 5000)):
            beats = random.choice([1, 1, 2, 3, 10, LINES, LINES + 1, 150])
            frame = [(ident << 100 | n << 80 | n) << 65 | (n == beats - 1) for n in range(beats)]
            for beat in frame:
                dut.s_data_i.value = beat
                dut.s_valid_i.value = 1
                await RisingEdge(dut.clk_i)
                dut.s_valid_i.value = 0
                if random.random() < 0.2:
                    await RisingEdge(dut.clk_i)
            sent.append(frame)
            if random.random() < 0.5:
                await clocks(dut, random.randrange(200))
        assert await until(dut, lambda: dut.empty_o.value, 20_000)
        await clocks(dut, 10)
        got, left, whole = [w["data"] for w in sink.items], [], []
        sink.stop()
        # Those that came out, in the order in which they went in.
        for frame in sent:
            whole.append(got[: len(frame)] == frame)
            if whole[-1]:
                del got[: len(frame)]
            else:
                left.append(frame)
        assert not got and kept == whole
        assert len(left) == dropped
        assert all(frame in left for frame in sent if len(frame) > LINES)
        assert dropped < len(sent) / 2 or stall


def test_lib_frame_fifo():
    run(__file__, "lib_frame_fifo", ["rtl/lib/lib.f"], Depth=LINES)
