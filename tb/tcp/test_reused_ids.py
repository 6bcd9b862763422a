"""An id that goes from one connection to the next: what was to be sent on the old one is read as it was."""

import cocotb

from harness.models import run
from tcp.peers import RING, Hand, diff, setup, stream


@cocotb.test()
async def unread_segments(dut):
    """A connection ends while segments of it are chosen and cannot leave; all other ids are in use, so a peer that
    had its SYN-ACK before gets the same id as soon as it can, and its replies fill the ring. The old peer gets none
    of their bytes, and the new one is served when the segments have left."""
    bench, net, session = await setup(dut, tick=200)
    session.auto_close = False
    old, *others = [await Hand(net, i + 1).open() for i in range(16)]
    late = Hand(net, 50)
    late.send(syn=1)
    late.seq = (late.isn + 1) & 0xFFFFFFFF
    _, seg, _ = await late.flags()
    late.ack = (seg["seq"] + 1) & 0xFFFFFFFF

    bench.tx_stop = True
    session.put(0, session.conns[0], 14_000)
    before = bench.counts["TcpCountSegsOut"]
    session.tell(0, session.conns[0])
    await bench.until(lambda: bench.counts["TcpCountSegsOut"] >= before + 9, what="chosen")
    session.key = lambda conn: 100
    opened = []
    session.on_open = lambda c: opened.append(c)
    old.send(rst=1)
    await bench.until(lambda: 0 not in session.conns, what="over")
    for _ in range(20):
        late.send(stream(100, 0, 10))
        await bench.clocks(200)
        for c in opened:
            if not c.sent:
                session.put(0, c, RING)
    bench.tx_stop = False
    await bench.clocks(1000)
    base, got = (old.syn_ack["seq"] + 1) & 0xFFFFFFFF, 0
    for seg, payload in old.seen:
        got += len(payload)
        assert payload == stream(1, diff(seg["seq"], base), len(payload)), "another connection's bytes"
    assert got == 14_000
    # Who came too early was refused; it is welcome now.
    again = await Hand(net, 51).open()
    again.send(stream(100, 0, 50))
    await bench.until(lambda: any(c.received == 50 for c in opened), 2000)


def test_reused_ids():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
