"""lookup_ahead alone: of the first four ways of two full buckets, it hints at each entry's other bucket, once, to the
cache of the other bank."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run

WAYS = 4


def other(line, tag, mask):
    """The line of an entry's other bucket, in the other bank: the buckets' numbers are an odd f(tag) apart."""
    return line ^ (((tag & 0x1FFF) << 13 | tag >> 1) & mask)


@cocotb.test()
async def hints(dut):
    dut.valid_i.value = dut.go_i.value = 0
    await start(dut)
    edge = RisingEdge(dut.clk_i)
    for turn in range(300):
        mask = 2 ** random.randrange(1, 27) - 1
        lines = [random.getrandbits(26) & mask for _ in range(2)]
        tags = [[random.getrandbits(14) for _ in range(WAYS)] for _ in range(2)]
        dut.mask_i.value = mask
        dut.line_i.value = lines[0] | lines[1] << 26
        dut.tags_i.value = sum(tags[b][w] << 14 * (WAYS * b + w) for b in range(2) for w in range(WAYS))
        dut.valid_i.value = 1
        seen, patience, done = [[], []], random.choice((0.1, 0.5, 1)), False
        for _ in range(1000):
            ready = sum((random.random() < patience) << b for b in range(2))
            dut.hint_ready_i.value = ready
            await edge
            valid, line = dut.hint_valid_o.value.to_unsigned(), dut.hint_line_o.value.to_unsigned()
            for b in range(2):
                if valid & ready & 1 << b:
                    seen[b].append(line >> 26 * b & 2**26 - 1)
            done = done or bool(dut.done_o.value)
            if done and all(len(s) == WAYS for s in seen):
                break
        assert seen == [[other(lines[1 - b], tag, mask) for tag in tags[1 - b]] for b in range(2)]
        # It stays done until the request goes, and begins anew with the next one.
        for _ in range(random.randrange(3)):
            await edge
            assert dut.done_o.value and not dut.hint_valid_o.value.to_unsigned()
        dut.go_i.value = 1
        await edge
        dut.go_i.value = dut.valid_i.value = 0
        await edge
        assert not dut.done_o.value
        if turn % 2:
            for _ in range(5):
                await edge
                assert not dut.hint_valid_o.value.to_unsigned()


def test_lookup_ahead():
    run(__file__, "lookup_ahead", ["rtl/lib/lib.f", "rtl/store/store.f"])
