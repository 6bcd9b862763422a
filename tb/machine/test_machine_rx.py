"""machine_rx: a beat is taken in each clock; frames come out whole, in order, or not at all, and are counted."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import clocks, start
from harness.models import run
from harness.size import scale
from harness.streams import Sink

LINES = 64


@cocotb.test()
async def whole_or_not_at_all(dut):
    await start(dut)
    for stall in (0, 0.5, 0.95):
        sink = Sink(dut, "m", ["data"], stall)
        before, sent = int(dut.dropped_o.value), []
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
        while not dut.empty_o.value:
            await RisingEdge(dut.clk_i)
        await clocks(dut, 10)
        got, left = [w["data"] for w in sink.items], []
        sink.stop()
        # Those that came out, in the order in which they went in.
        for frame in sent:
            if got[: len(frame)] == frame:
                del got[: len(frame)]
            else:
                left.append(frame)
        assert not got
        dropped = int(dut.dropped_o.value) - before
        assert len(left) == dropped
        assert all(frame in left for frame in sent if len(frame) > LINES)
        assert dropped < len(sent) / 2 or stall


def test_machine_rx():
    run(__file__, "machine_rx", ["rtl/lib/lib.f", "rtl/machine/machine_rx.sv"], Lines=LINES)
