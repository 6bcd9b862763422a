"""scheduler_queue by itself: who owes comes in his turn."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale

CONNS = 16


def order(waiting, quantum):
    """The connections in the order in which they go: who owes one quantum and a half goes to the end."""
    ring, out = deque(), []
    for conn, cost, known in waiting:
        ring.append((conn, 0 if not known else min(2 * cost, 4095) if cost > 2 * quantum else cost))
    while ring:
        conn, owes = ring.popleft()
        if owes < quantum + quantum // 2:
            out.append(conn)
        else:
            ring.append((conn, max(owes - quantum, 0)))
    return out


@cocotb.test()
async def debts(dut):
    """Those that are there when there is room go as deficit round robin says; without room nobody goes in front of who
    owes, nor does he."""
    for pin in ("push", "crumbs", "begin", "end", "copies", "late", "empty", "alone", "room", "ready", "raw"):
        getattr(dut, f"{pin}_i").value = 0
    dut.bar_i.value = 4096
    await start(dut)
    for _ in range(scale(40, 400)):
        quantum = random.choice((4, 4, 7, 30, 300))
        dut.quantum_i.value = quantum
        waiting = [(conn, min(random.choice((1, 2, 2, 3, 5, 20)) * quantum + random.choice((-1, 0, 1)), 4095),
                    random.random() < 0.8) for conn in random.sample(range(CONNS), random.randrange(1, CONNS + 1))]
        waiting[0] = (waiting[0][0], 2 * quantum, True)
        for conn, cost, known in waiting:
            dut.push_i.value, dut.conn_i.value, dut.cost_i.value, dut.known_i.value = 1, conn, cost, known
            await RisingEdge(dut.clk_i)
        dut.push_i.value = 0
        for _ in range(50):
            await RisingEdge(dut.clk_i)
            assert not dut.valid_o.value
        dut.room_i.value = dut.ready_i.value = 1
        out = []
        for _ in range(20_000):
            await RisingEdge(dut.clk_i)
            if dut.valid_o.value:
                assert not dut.dear_o.value
                out.append(int(dut.conn_o.value))
            if len(out) == len(waiting):
                break
        dut.room_i.value = dut.ready_i.value = 0
        assert out == order(waiting, quantum), (waiting, quantum)
        await ClockCycles(dut.clk_i, 2)
        assert dut.idle_o.value


@cocotb.test()
async def raws(dut):
    """Those of whom gates run nothing come when there are no others, and when eight times as many clocks
    have passed as the one before takes, which is said of each."""
    for pin in ("push", "crumbs", "begin", "end", "copies", "late", "empty", "alone", "raw"):
        getattr(dut, f"{pin}_i").value = 0
    dut.known_i.value, dut.quantum_i.value, dut.bar_i.value = 0, 4, 6
    await start(dut)
    beside = alone = 0
    for _ in range(scale(60, 600)):
        ids = random.sample(range(CONNS), CONNS)
        raw, others = ids[:random.randrange(CONNS)], ids[-random.randrange(1, CONNS + 1):]
        raw = [conn for conn in raw if conn not in others]
        dut.room_i.value = dut.ready_i.value = 0
        waiting = [(conn, 1) for conn in raw] + [(conn, 0) for conn in others]
        random.shuffle(waiting)
        # Such a one is never dear.
        costs = {conn: random.choice((2, 5, 13, 60) if conn in raw else (2, 5)) for conn in ids}
        for conn, is_raw in waiting:
            dut.push_i.value, dut.conn_i.value, dut.raw_i.value, dut.cost_i.value = 1, conn, is_raw, costs[conn]
            await RisingEdge(dut.clk_i)
        dut.push_i.value = 0
        await ClockCycles(dut.clk_i, 500)
        order = {kind: deque(conn for conn, is_raw in waiting if is_raw == kind) for kind in (0, 1)}
        since, wait = 1 << 20, 0
        dut.room_i.value = 1
        for _ in range(20_000):
            # Nobody waits longer than for the first of his ring to come to the front.
            dut.ready_i.value = 0
            clocks = random.choice((3, 4, 9))
            await ClockCycles(dut.clk_i, clocks)
            dut.ready_i.value = 1
            await RisingEdge(dut.clk_i)
            since += clocks + 1
            assert dut.valid_o.value and not dut.dear_o.value
            conn = int(dut.conn_o.value)
            is_raw = conn in order[1]
            assert conn == order[is_raw].popleft()
            where = (conn, since, wait, waiting)
            if is_raw:
                assert since > wait or not order[0], where
                beside += bool(order[0])
                alone += not order[0]
                since, wait = 0, 8 * costs[conn]
            else:
                assert since <= wait + 3 or not order[1], where
            if not order[0] and not order[1]:
                break
        dut.ready_i.value = 0
        await ClockCycles(dut.clk_i, 2)
        assert dut.idle_o.value
    assert min(beside, alone) > 20, (beside, alone)


def test_queue():
    run(__file__, "scheduler_queue", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=CONNS)
