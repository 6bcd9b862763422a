"""Frames through a part that is reset at any time: each comes out whole or not at all, in order, with its length."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource

from harness.clock import clocks, start
from harness.models import run

SIZES = [1, 60, 63, 64, 65, 127, 128, 129, 1514, 9018]


async def begin(dut, pause=0.0):
    dut.part_rst_ni.value = 0
    dut.room_i.value = 1
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk_i)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk_i)
    if pause:
        for end in (source, sink):
            end.set_pause_generator(iter(lambda: random.random() < pause, None))
    await start(dut)
    dut.part_rst_ni.value = 1
    return source, sink


def whole(frame):
    """A frame's bytes, cut at its length, which is the same in all its beats and that of as many."""
    size = frame.tuser[0] if isinstance(frame.tuser, (list, tuple)) else frame.tuser
    assert set(frame.tuser if isinstance(frame.tuser, (list, tuple)) else [size]) == {size}
    assert 0 <= len(frame.tdata) - size < 64
    return bytes(frame.tdata[:size])


def frames(count):
    return [random.randbytes(random.choice(SIZES) if random.random() < 0.5 else random.randint(1, 600)) for _ in range(count)]


async def taken(dut, sink, count, limit):
    for _ in range(limit):
        if sink.count() >= count:
            break
        await clocks(dut, 20)
    return [whole(sink.recv_nowait(compact=False)) for _ in range(sink.count())]


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4])
async def all_come(dut, pause):
    source, sink = await begin(dut, pause)
    sent = frames(80)
    for frame in sent:
        source.send_nowait(frame)
    assert await taken(dut, sink, 80, 2000) == sent


@cocotb.test()
async def resets(dut):
    """Sixty resets within frames: no part of a frame comes out, and none behind the reset is lost."""
    source, sink = await begin(dut, 0.3)
    got, sent = [], []
    for _ in range(60):
        batch = frames(6)
        sent += batch
        for frame in batch:
            source.send_nowait(frame)
        await clocks(dut, random.randrange(1, 150))
        dut.part_rst_ni.value = 0
        await clocks(dut, random.randrange(2, 20))
        dut.part_rst_ni.value = 1
        while not source.idle():
            await clocks(dut, 10)
        after = frames(1)
        sent += after
        source.send_nowait(after[0])
        got += await taken(dut, sink, 1, 200)
        for _ in range(200):
            if got and got[-1] == after[0]:
                break
            got += await taken(dut, sink, 1, 1)
        assert got[-1] == after[0]
    rest = iter(sent)
    assert all(any(frame == other for other in rest) for frame in got)
    assert 120 < len(got) < len(sent) - 10


@cocotb.test()
async def room(dut):
    """A frame begins while there is room, and then goes on without."""
    source, sink = await begin(dut)
    dut.room_i.value = 0
    sent = [random.randbytes(1000), random.randbytes(100)]
    for frame in sent:
        source.send_nowait(frame)
    await clocks(dut, 100)
    assert sink.empty()
    dut.room_i.value = 1
    while not dut.entered_o.value:
        await RisingEdge(dut.clk_i)
    dut.room_i.value = 0
    assert await taken(dut, sink, 1, 20) == sent[:1]
    await clocks(dut, 100)
    assert sink.empty()
    dut.room_i.value = 1
    assert await taken(dut, sink, 1, 20) == sent[1:]


def test_frames():
    run(__file__, "frames_tb", ["rtl/lib/lib.f", "boards/opennic/frame_gate.sv", "boards/opennic/frame_hold.sv", "tb/boards/frames_tb.sv"])
