"""What tcp does after minutes and hours of silence, with a grain of 100 ticks instead of 10,000."""

import cocotb
from common import run
from tcp.peers import M32, Bench, Hand, Net, Session


async def opened(dut):
    bench = Bench(dut, tick=1)
    await bench.run()
    net = Net(bench)
    session = Session(bench)
    return bench, session, await Hand(net, 1).open()


@cocotb.test()
async def keep_alive(dut):
    """Two hours of silence bring a probe; an answer, two more hours; nine without one, the end."""
    bench, session, peer = await opened(dut)
    for _ in range(2):
        begin = bench.clock
        flags, seg, _ = await peer.flags(90_000)
        assert 72_000 <= bench.clock - begin <= 81_000  # a visit takes a few clocks of its own
        assert flags == "a" and seg["seq"] == (peer.ack - 1) & M32 and not seg["len"]
        peer.send()
        await bench.clocks(100)
    for i in range(9):
        flags, seg, _ = await peer.flags(90_000 if i == 0 else 1000)
        assert flags == "a"
    flags, _, _ = await peer.flags(1000)
    assert set(flags) == set("ra")
    await bench.until(lambda: not session.conns)
    assert bench.counts["TcpCountKeepAlives"] == 11 and bench.counts["TcpCountGiveUps"] == 1


@cocotb.test()
async def peer_never_closes(dut):
    """FIN_WAIT_2 ends after a minute."""
    bench, session, peer = await opened(dut)
    session.conns[0].closing = True
    session.tell(0, session.conns[0])
    await peer.flags()
    peer.took(1)
    peer.send()
    begin = bench.clock
    await peer.flags()
    assert 500 <= bench.clock - begin <= 900
    await bench.until(lambda: not session.conns)


def test_slow():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16, SlowTicks=100)
