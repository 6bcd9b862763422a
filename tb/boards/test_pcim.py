"""What PCIM's checker finds: the link asks it for frames, and on the way something is wrong. Without a fault it finds nothing."""

import random

import cocotb

from harness.clock import until
from harness.models import run
from harness.pcim import HostMemory
from harness.rings import Bench

#: Number of the fault, and what the checker says of it. 7 is the link's 64 reads at once, where 32 are allowed.
FAULTS = {
    1: "crosses a page", 2: "is under way", 3: "a size of 32 bytes", 4: "an address waits for its data", 5: "until the last one",
    6: "strobes have holes", 7: "33 reads are under way", 8: "data of a read are not taken", 9: "was not given away",
    10: "an answer to a write is not taken"}  # fmt: skip


class Watched(HostMemory):
    """What was found does not end the test."""

    found = None

    async def _run(self):
        try:
            await super()._run()
        except AssertionError as error:
            self.found = str(error)


@cocotb.test()
@cocotb.parametrize(fault=[0, *FAULTS])
async def finds(dut, fault):
    bench = Bench(dut, memory=Watched, reads=32 if fault == 7 else 64, bits=((9, 9),) * 3,
                  latency=200, jitter=100, shuffle=True)  # fmt: skip
    dut.fault_i.value = 0
    await bench.begin()
    dut.fault_i.value = fault
    sizes = [random.randint(600, 1518) for _ in range(40)]
    for host, card in zip(bench.channels, bench.cards):
        host.send(*(random.randbytes(size) for size in sizes))
        card.send(*(random.randbytes(size) for size in sizes))
    there = lambda: bench.memory.found or all(len(c.got) == 40 == len(h.got) for h, c in zip(bench.channels, bench.cards))  # noqa: E731
    await until(dut, there, 8000)
    if fault:
        assert bench.memory.found and FAULTS[fault] in bench.memory.found, f"fault {fault}: {bench.memory.found}"
    else:
        assert bench.memory.found is None and there(), bench.describe()
        assert bench.memory.most > 32


def test_pcim():
    run(__file__, "pcim_tb", ["rtl/lib/lib.f", "rtl/link/link.f", "tb/link/link_tb.sv", "tb/boards/pcim_tb.sv"])
