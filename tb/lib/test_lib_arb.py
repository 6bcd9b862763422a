"""lib_arb: packets arrive whole, in each source's order, and nobody waits for ever."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale


@cocotb.test()
async def whole_and_fair(dut):
    n = int(dut.N.value)
    await start(dut)
    # source i offers the words i << 24 | count; a packet ends where `last` says so
    count, last, offered = [0] * n, [False] * n, [False] * n
    waiting = [0] * n  # packets of others since source i asked
    owner = None
    for p_valid, p_ready in ((1, 1), (0.3, 1), (1, 0.5), (0.6, 0.6)):
        before, moved = list(count), 0
        for _ in range(3000):
            for i in range(n):
                if not offered[i] and random.random() < p_valid:
                    offered[i], last[i] = True, random.random() < 0.4
            dut.s_valid_i.value = sum(v << i for i, v in enumerate(offered))
            dut.s_last_i.value = sum(v << i for i, v in enumerate(last))
            dut.s_data_i.value = sum((i << 24 | c) << 32 * i for i, c in enumerate(count))
            dut.m_ready_i.value = random.random() < p_ready
            await RisingEdge(dut.clk_i)
            ready, idx = int(dut.s_ready_o.value), int(dut.m_idx_o.value)
            if not dut.m_valid_o.value:
                assert owner is not None or not any(offered), "nobody granted"
                continue
            assert offered[idx] and owner in (None, idx), "packet interrupted"
            assert int(dut.m_data_o.value) == idx << 24 | count[idx]
            assert bool(dut.m_last_o.value) == last[idx]
            if dut.m_ready_i.value:
                assert ready == 1 << idx
                moved += 1
                count[idx] = (count[idx] + 1) & 0xFFFFFF
                offered[idx] = False
                owner = None if last[idx] else idx
                if last[idx]:
                    waiting = [w + 1 if offered[i] and i != idx else 0
                               for i, w in enumerate(waiting)]
                    assert max(waiting) < n, "starved"
            else:
                assert ready == 0
        share = [now - then for now, then in zip(count, before)]
        assert moved > 500 and min(share) > moved / n / 3
        waiting = [0] * n


@pytest.mark.parametrize("n", scale([5], [2, 5]))
def test_lib_arb(n):
    run(__file__, "lib_arb_tb", ["rtl/lib/lib.f", "tb/lib/lib_arb_tb.sv"], N=n)
