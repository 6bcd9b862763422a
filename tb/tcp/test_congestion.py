"""How much tcp sends, segment for segment, against a model of RFC 3042, 5681, 6582 and 6928: slow
start, congestion avoidance, limited transmit, fast retransmit and recovery, timeouts."""

import random

import cocotb

from harness.models import run
from harness.structs import T
from tcp.congestion import MSS, Flow
from tcp.peers import M32, RING, stream


@cocotb.test()
async def slow_start(dut):
    """Ten segments at first, then two more for each one or two acknowledged."""
    flow = await Flow().open(dut)
    for n in (1, 2, 1, 3, 5, 2, 2, 1, 1, 4, 2, 2, 2):
        await flow.ack(flow.model.una + n * MSS)
    assert flow.model.cwnd == 32 * MSS


@cocotb.test()
async def after_timeout(dut):
    """One segment, slow start to half of what was in flight, then one segment more a window."""
    flow = await Flow().open(dut)
    for _ in range(10):
        await flow.ack(flow.model.una + 2 * MSS)
    assert flow.model.top - flow.model.una == 30 * MSS
    await flow.timeout()
    assert flow.model.ssthresh == 15 * MSS
    await flow.timeout(first=False)
    assert flow.model.ssthresh == 15 * MSS
    grown = []
    for _ in range(60):
        await flow.ack(flow.model.una + MSS)
        grown.append(flow.model.cwnd // MSS)
    assert grown[:14] == [*range(2, 16)] and grown[-1] == 17, grown
    assert flow.bench.counts["TcpCountTimeouts"] == 2


@cocotb.test()
async def recovery(dut):
    """The third duplicate ACK brings the lost segment, each further one makes room for a new one; a
    partial ACK brings the next lost one, whatever it acknowledges; the last one leaves half."""
    flow = await Flow().open(dut)
    for _ in range(10):
        await flow.ack(flow.model.una + 2 * MSS)
    for _ in range(2):
        await flow.dup()
    await flow.ack(flow.model.una + MSS)      # it was only late
    for _ in range(3 + 20):
        await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 1
    await flow.ack(flow.model.una + MSS)
    await flow.ack(flow.model.una + 4 * MSS)
    await flow.dup()
    await flow.ack(flow.model.recover)
    assert flow.model.cwnd == flow.model.ssthresh == 15 * MSS + MSS // 2
    await flow.ack(flow.model.una + 3 * MSS)
    assert flow.bench.counts["TcpCountTimeouts"] == 0


@cocotb.test()
async def counts_anew(dut):
    """What was counted towards a larger window before a loss does not count after it: not more than a
    segment a round trip."""
    flow = await Flow().open(dut)
    for _ in range(10):
        await flow.ack(flow.model.una + 2 * MSS)
    await flow.timeout()
    await flow.ack(flow.model.top)
    while flow.model.counted < 14 * MSS:
        await flow.ack(flow.model.una + MSS)
    assert flow.model.cwnd == flow.model.ssthresh == 15 * MSS
    for _ in range(3):
        await flow.dup()
    await flow.ack(flow.model.recover)
    assert flow.model.cwnd == 7500
    for _ in range(7):
        await flow.ack(flow.model.una + MSS)
    assert flow.model.cwnd == 7500
    await flow.ack(flow.model.una + MSS)
    assert flow.model.cwnd == 8500


@cocotb.test()
async def again_within_the_window(dut):
    """What is sent again is what was sent, however much more there is: not beyond the peer's window."""
    flow = await Flow().open(dut)
    una = flow.model.top
    flow.peer.took(una)
    flow.peer.send(wnd=500)
    await flow.bench.until(lambda: flow.peer.seen, 1000, "500 bytes")
    for _ in range(3):
        flow.peer.send(wnd=500)
    await flow.bench.until(lambda: len(flow.peer.seen) == 2, 1000, "a fast retransmit")
    assert [(seg["seq"] - flow.first - una & M32, len(payload)) for seg, payload in flow.peer.seen] == [(0, 500)] * 2


@cocotb.test()
async def large_partial_ack(dut):
    """A partial ACK of more than cwnd leaves one segment of it, not a huge window."""
    flow = await Flow().open(dut)
    for _ in range(15):
        await flow.ack(flow.model.una + 2 * MSS)
    for _ in range(3):
        await flow.dup()
    before = flow.model.cwnd
    await flow.ack(flow.model.una + before + 4 * MSS)
    assert flow.model.cwnd == MSS and flow.model.recovers


@cocotb.test()
async def window_updates(dut):
    """ACKs that change the window are no duplicates; neither are those that carry data."""
    flow = await Flow().open(dut)
    for wnd in (60000, 50000, 40000, 30000, 65535):
        flow.peer.send(wnd=wnd)
        await flow.sends([], "window update")
    for at in range(4):
        flow.peer.send(stream(0, at, 1), seq=at)
        await flow.sends([], "data")
    flow.peer.gave(4)
    for _ in range(2):
        await flow.dup()
    flow.peer.send(wnd=65000)
    await flow.sends([], "window update")
    assert flow.bench.counts["TcpCountFastRexmits"] == 0
    flow.peer.send(wnd=65000)                   # now the third one
    await flow.sends(flow.model.dup(), "duplicate ACK")
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def duplicates_of_a_timeout(dut):
    """What was sent again after a timeout causes duplicate ACKs: no loss until beyond it."""
    flow = await Flow().open(dut)
    await flow.timeout()
    await flow.ack(4 * MSS)
    for _ in range(4):
        await flow.dup()
    await flow.ack(10 * MSS)                    # all that was out at the timeout
    for _ in range(4):
        await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 0
    await flow.ack(11 * MSS)
    for _ in range(3):
        await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def long_without_loss(dut):
    """Fast retransmit works after any amount without a loss, around the numbers' wrap as well."""
    flow = await Flow().open(dut)
    for turn in range(1, 5):
        for _ in range(10 * turn):
            await flow.ack(flow.model.una + 10 * MSS)
        for _ in range(3):
            await flow.dup()
        assert flow.bench.counts["TcpCountFastRexmits"] == turn
        await flow.ack(flow.model.recover)


@cocotb.test()
async def two_gigabytes(dut):
    """The same after so much that half of all numbers are gone; they are set in the table."""
    flow = await Flow().open(dut)
    await flow.ack(10 * MSS)
    table, gone = dut.u_tcb.u_table.u_tcb.mem_q[0], 1 << 31
    tcb = T.tcb_t.unpack(int(table.value))
    for field in ("snd_una", "snd_nxt", "snd_max", "tx_end"):
        tcb[field] = (tcb[field] + gone) & M32
    table.value = T.tcb_t.pack(tcb)
    flow.c.tx_ptr, flow.c.tx_acked = (flow.c.tx_ptr + gone) & M32, (flow.c.tx_acked + gone) & M32
    flow.first = (flow.first + gone) & M32
    flow.peer.took(gone)
    await flow.ack(12 * MSS)
    for _ in range(3):
        await flow.dup()
    assert flow.bench.counts["TcpCountFastRexmits"] == 1


@cocotb.test()
async def any_order(dut):
    """ACKs of any number of segments, duplicates and timeouts, as they come."""
    flow = await Flow().open(dut)
    timeouts = 0
    for _ in range(100):
        model = flow.model
        # All that may be sent must be in the ring, and what an ACK makes room for comes behind what it lets go.
        most = min(model.top - model.una, RING - model.cwnd - 2 * MSS) // MSS
        what = random.random()
        if what < 0.35 or most < 1:
            for _ in range(random.choice((1, 2, 3, 3, 4, 8))):
                await flow.dup()
        elif what < 0.97 or timeouts == 4:
            await flow.ack(model.una + MSS * random.randint(1, most))
        else:
            timeouts += 1
            await flow.timeout()
    dut._log.info(f"{flow.bench.counts['TcpCountFastRexmits']} fast retransmits, {timeouts} timeouts")


def test_congestion():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
