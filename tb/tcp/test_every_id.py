"""A card with 16,384 connections, the most that it can be built for: all of them at once."""

import random

import cocotb
import pytest

from harness.models import run
from harness.size import LONG
from tcp.peers import M32, Bench, Busy, Hand, Wire, open_all, stream

CONNS = 16384
IDS = CONNS - 1  # the last one is the request port's
WAVE = 64


async def use_all(bench, hands):
    """Each sends some bytes and gets others."""
    for hand in hands:
        hand.got = b""
        hand.send(stream(hand.key, 0, hand.size), psh=1)
        hand.gave(hand.size)

    def whole():
        for hand in hands:
            while hand.seen:
                seg, payload = hand.seen.pop(0)
                assert not seg["flags"]["rst"]
                if payload:
                    assert seg["seq"] == hand.ack
                    hand.got += payload
                    hand.took(len(payload))
                    hand.send()
        return all(len(hand.got) == hand.want for hand in hands)

    await bench.until(whole, what="used", every=10)
    assert all(hand.got == stream(hand.key + 1, 0, hand.want) for hand in hands)


async def end_all(bench, session, hands):
    """By turns with RST, and with FIN in both directions."""
    before = len(session.conns)
    for i, hand in enumerate(hands):
        hand.send(**{"rst" if i % 2 else "fin": 1})

    def over():
        for hand in hands:
            while hand.seen:
                seg, _ = hand.seen.pop(0)
                assert not seg["flags"]["rst"]
                if seg["flags"]["fin"]:
                    hand.gave(1)
                    hand.took(1)
                    hand.send()
        return len(session.conns) == before - len(hands)

    await bench.until(over, what="ended", every=10)


@cocotb.test()
async def every_id(dut):
    bench = Bench(dut)
    await bench.run()
    net = Wire(bench)
    by_isn = {}

    def opened(c):
        c.hand = by_isn[c.rx_first]
        c.key, c.want = c.hand.key, c.hand.want

    session = Busy(bench, on_open=opened)

    def wave(first):
        hands = []
        for i in range(first, min(first + WAVE, first // CONNS * CONNS + IDS)):
            hand = Hand(net, i + 1, isn=random.getrandbits(16) << 16 | i)
            hand.key, hand.size, hand.want = 2 * i, random.randrange(1, 300), random.randrange(1, 300)
            by_isn[(hand.isn + 1) & M32] = hand
            hands.append(hand)
        return hands

    for turn in range(2):
        waves = [wave(first) for first in range(turn * 2 * CONNS, turn * 2 * CONNS + CONNS, WAVE)]
        for hands in waves:
            await open_all(bench, session, hands)
        assert set(session.conns) == set(range(IDS)) and int(dut.conns_o.value) == IDS
        late = await Hand(net, CONNS + turn + 1).open()
        assert (await late.answer())[1] == b"ERROR Too many open connections\r\n"
        random.shuffle(waves)
        for hands in waves:
            await use_all(bench, hands)
            bench.rx_ring.clear()         # of these nothing is read again
            bench.tx_ring.clear()
        for hands in waves:
            await end_all(bench, session, hands)
        assert not session.conns
        await bench.until(lambda: int(dut.conns_o.value) == 0, what="free", every=100)
        net.peers.clear()
    assert bench.counts["TcpCountOpened"] == bench.counts["TcpCountClosed"] == 2 * IDS


@pytest.mark.skipif(not LONG, reason="takes minutes: make test-long")
def test_every_id():
    run(__file__, "tcp", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"], Conns=CONNS)
