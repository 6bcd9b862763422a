"""machine_axil: an access to a register is one of AXI4-Lite, whichever channel takes how long."""

import itertools
import random

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteRam

from harness.clock import start
from harness.models import run
from harness.size import scale


def pauses(share):
    return itertools.cycle([random.random() < share for _ in range(997)])


@cocotb.test()
async def accesses(dut):
    """Reads and writes, some behind each other, on registers that are memory; each reaches it once."""
    dut.valid_i.value = 0
    ram = AxiLiteRam(AxiLiteBus.from_prefix(dut, "m_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False, size=4096)
    await start(dut)
    content = random.randbytes(4096)
    ram.write(0, content)
    words = [int.from_bytes(content[n : n + 4], "little") for n in range(0, 4096, 4)]
    channels = ram.write_if.aw_channel, ram.write_if.w_channel, ram.write_if.b_channel, ram.read_if.ar_channel, ram.read_if.r_channel
    taken = {"aw": 0, "w": 0, "ar": 0}

    async def count():
        while True:
            await RisingEdge(dut.clk_i)
            for name in taken:
                taken[name] += bool(getattr(dut, f"m_axil_{name}valid").value and getattr(dut, f"m_axil_{name}ready").value)

    cocotb.start_soon(count())
    reads = writes = 0
    for share in (0, 0.2, 0.7, 0.95):
        for channel in channels:
            channel.set_pause_generator(pauses(random.choice([share, 0])))
        for _ in range(scale(60, 3000)):
            word, write, value = random.randrange(1024), random.random() < 0.5, random.getrandbits(32)
            dut.req_i.value = 1 << 43 | write << 42 | word << 32 | value
            dut.valid_i.value = 1
            for _ in range(1000):
                await RisingEdge(dut.clk_i)
                if dut.ready_o.value:
                    break
            else:
                raise AssertionError(f"no answer to word {word}")
            dut.valid_i.value = 0
            if write:
                words[word] = value
                writes += 1
            else:
                assert int(dut.rdata_o.value) == words[word], word
                reads += 1
            for _ in range(random.choice([0, 0, 1, 5])):
                await RisingEdge(dut.clk_i)
                assert not dut.ready_o.value
    assert ram.read(0, 4096) == b"".join(w.to_bytes(4, "little") for w in words)
    await RisingEdge(dut.clk_i)
    assert taken == {"aw": writes, "w": writes, "ar": reads}


def test_machine_axil():
    run(__file__, "axil_tb", ["rtl/lib/lib.f", "rtl/machine/machine_pkg.sv", "rtl/machine/machine_axil.sv", "tb/machine/axil_tb.sv"])
