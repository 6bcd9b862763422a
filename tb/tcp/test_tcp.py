"""tcp against Python peers: handshake, data both ways, windows, losses, every way to end."""

import random

import cocotb
from common import run
from tcp.peers import Bench, Net, Peer, Session


@cocotb.test()
async def one_connection(dut):
    """Open, a few bytes each way, close from the peer's side."""
    bench = Bench(dut)
    await bench.run()
    net = Net(bench)
    session = Session(bench, on_open=lambda c: setattr(c, "want", 100))
    peer = Peer(net, 1, 0, total=1000, expect=100)
    peer.open()
    await bench.until(lambda: peer.finished, what="closed")
    await bench.until(lambda: not session.conns, what="released")
    await bench.until(lambda: int(dut.idle_o.value), what="idle")
    assert int(dut.conns_o.value) == 0
    assert [kind for kind, _ in session.log if kind != "EvAcked"][0] == "EvOpen"
    dut._log.info(f"times {bench.times}")


def test_tcp():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=16)
