"""lib_commit_fifo in lockstep with a Python model: pushes, commits and rollbacks in any mixture."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from harness.size import scale


@cocotb.test()
async def lockstep(dut):
    depth = int(dut.Depth.value)
    await start(dut)
    done, pending = [], []  # committed, uncommitted
    taken = 0
    for _ in range(40):
        p_push, p_pop, p_end = random.random(), random.random(), random.choice((0.02, 0.2, 0.8))
        for _ in range(200):
            push, data = random.random() < p_push, random.getrandbits(32)
            # Something has to end a packet that fills the FIFO.
            end = random.random() < p_end or len(pending) == depth
            commit = end and random.random() < 0.6
            dut.s_valid_i.value, dut.s_data_i.value = push, data
            dut.commit_i.value, dut.rollback_i.value = commit, end and not commit
            dut.m_ready_i.value = random.random() < p_pop
            await RisingEdge(dut.clk_i)
            assert int(dut.free_o.value) == depth - len(done) - len(pending)
            if push and dut.s_ready_o.value:
                pending.append(data)
            else:
                assert not push or len(done) + len(pending) == depth, "refused with room left"
            if dut.m_valid_o.value:
                assert done, "a word that was not committed"
                assert int(dut.m_data_o.value) == done[0]
                if dut.m_ready_i.value:
                    done.pop(0)
                    taken += 1
            if end:
                if commit:
                    done += pending
                pending = []
    assert taken > 500


@pytest.mark.parametrize("depth", scale([5, 150], [2, 5, 33, 150]))
def test_lib_commit_fifo(depth):
    run(__file__, "lib_commit_fifo_tb", ["rtl/lib/lib.f", "tb/lib/lib_commit_fifo_tb.sv"], Depth=depth)
