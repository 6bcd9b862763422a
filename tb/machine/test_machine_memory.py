"""machine_bus, machine_dma, machine_ram: the core's buses and the NIC at once on one RAM, each in memory of its own and
in what the others have written; registers; what is refused."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

from harness.clock import clocks, start
from harness.models import run
from harness.size import scale

RAM, ROM = 65536, 4096


class Core:
    """Both Wishbone buses of the core, as it drives them."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("i_stb_i", "d_stb_i", "d_we_i", "io_ready_i", "load_valid_i"):
            getattr(dut, name).value = 0

    async def _transfer(self, bus, address, words, data=None, sel=15):
        """A word, or a burst; what was read, or None for an error."""
        dut, read = self.dut, []
        for n in range(words):
            getattr(dut, f"{bus}_adr_i").value = (address >> 2) + n
            getattr(dut, f"{bus}_stb_i").value = 1
            if bus == "d":
                dut.d_we_i.value = data is not None
                dut.d_sel_i.value = sel
                dut.d_dat_i.value = data or 0
                dut.d_more_i.value = words > 1 and n != words - 1
            ack, err = getattr(dut, f"{bus}_ack_o"), getattr(dut, f"{bus}_err_o")
            for _ in range(1000):
                await RisingEdge(dut.clk_i)
                if ack.value or err.value:
                    break
            else:
                raise AssertionError(f"{bus}: no answer to {address:#x}")
            if err.value:
                read = None
                break
            read.append(int(dut.dat_o.value))
        getattr(dut, f"{bus}_stb_i").value = 0
        await RisingEdge(dut.clk_i)
        return read

    async def fetch(self, address):
        return await self._transfer("i", address, 8)

    async def read(self, address, words=1):
        return await self._transfer("d", address, words)

    async def write(self, address, data, sel=15):
        return await self._transfer("d", address, 1, data, sel)


async def begin(dut):
    core = Core(dut)
    axi = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await start(dut)
    return core, axi


def words(data):
    return [int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)]


async def load(dut, address, data):
    for n in range(0, len(data), 64):
        dut.load_addr_i.value = (address + n) // 64
        dut.load_data_i.value = int.from_bytes(data[n : n + 64], "little")
        dut.load_valid_i.value = 1
        await RisingEdge(dut.clk_i)
        while not dut.load_ready_o.value:
            await RisingEdge(dut.clk_i)
    dut.load_valid_i.value = 0


@cocotb.test()
async def all_at_once(dut):
    """Instructions from the program, data and frames in thirds of the RAM of their own; then each sees the others'."""
    core, axi = await begin(dut)
    program = random.randbytes(ROM)
    await load(dut, 0, program)
    data, frames = {}, bytearray(16384)
    await axi.write(32768, bytes(frames))

    async def instructions():
        for _ in range(scale(300, 3000)):
            at = random.randrange(ROM // 32) * 32
            assert await core.fetch(at) == words(program[at : at + 32])
            await clocks(dut, random.randrange(3))

    async def stores():
        for _ in range(scale(300, 3000)):
            at = 16384 + 4 * random.randrange(256)
            alias = random.choice([0, 1 << 31])
            if random.random() < 0.5:
                value, sel = random.getrandbits(32), random.choice([15, 15, 3, 12, 1, 2, 4, 8])
                mask = sum(255 << 8 * n for n in range(4) if sel >> n & 1)
                if at not in data:
                    await core.write(at, 0)
                assert await core.write(at | alias, value, sel) is not None
                data[at] = data.get(at, 0) & ~mask | value & mask
            elif data:
                at = random.choice(list(data))
                assert await core.read(at | alias) == [data[at]]
                line = at & ~31
                burst = await core.read(line, 8)
                assert all(data.get(line + 4 * n, w) == w for n, w in enumerate(burst))

    async def nic():
        for _ in range(scale(200, 2000)):
            at = 64 * random.randrange(256)
            length = 64 * random.randrange(1, min(9, (16384 - at) // 64 + 1))
            if random.random() < 0.5:
                new = random.randbytes(length)
                assert (await axi.write(32768 + at, new)).resp == AxiResp.OKAY
                frames[at : at + length] = new
            else:
                assert (await axi.read(32768 + at, length)).data == bytes(frames[at : at + length])

    tasks = [cocotb.start_soon(t()) for t in (instructions, stores, nic)]
    for task in tasks:
        await task
    for at in range(0, 16384, 32):
        assert await core.read(32768 + at, 8) == words(frames[at : at + 32])
    for at, value in data.items():
        assert words((await axi.read(at, 4)).data) == [value]
    await clocks(dut, 4)
    assert dut.idle_o.value


@cocotb.test()
async def refused(dut):
    """Nobody writes to the program but the loader; beyond the RAM there is nothing."""
    core, axi = await begin(dut)
    program = random.randbytes(ROM)
    await load(dut, 0, program)
    assert await core.write(ROM - 4, 1) is None
    assert await core.write(0x80000000 | 20, 1) is None
    assert await core.read(RAM) is None
    assert await core.write(0x40000000, 1) is None
    assert await core.fetch(RAM) is None
    assert await core.read(0xF0002000) is None
    assert (await axi.write(ROM - 64, bytes(64))).resp == AxiResp.SLVERR
    assert (await axi.write(RAM, bytes(64))).resp == AxiResp.SLVERR
    assert (await axi.read(RAM, 64)).resp == AxiResp.SLVERR
    assert (await axi.write(ROM, bytes(64))).resp == AxiResp.OKAY
    assert (await axi.read(0, ROM)).data == program


@cocotb.test()
async def registers(dut):
    """An access to a register stands, with what it was, until it is answered; part of a word is none."""
    core, _ = await begin(dut)
    for address, link in ((0xF0000000, 1), (0xF0001000, 0)):
        for n in random.sample(range(1024), 20):
            wait, value = random.randrange(20), random.getrandbits(32)
            write = random.random() < 0.5
            access = cocotb.start_soon(core.write(address + 4 * n, value) if write else core.read(address + 4 * n))
            while not dut.io_valid_o.value:
                await RisingEdge(dut.clk_i)
            for _ in range(wait):
                await RisingEdge(dut.clk_i)
                io = int(dut.io_o.value)
                assert (io >> 43, io >> 42 & 1, io >> 32 & 1023) == (link, write, n)
                assert not write or io & 0xFFFFFFFF == value
            dut.io_rdata_i.value = value
            dut.io_ready_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.io_ready_i.value = 0
            answer = await access
            assert answer is not None and (write or answer == [value])
    assert await core.write(0xF0001000, 1, sel=1) is None


@cocotb.test()
async def clocks_of_an_access(dut):
    """What the header of machine_bus says: 2 a word written, 3 a word read, 10 a burst of eight."""
    core, _ = await begin(dut)
    await core.write(8192, 5)

    async def measure(access):
        before = get_sim_time("ns")
        await access
        return (get_sim_time("ns") - before) / 4 - 1  # behind it is one without a request

    assert await measure(core.write(8192, 7)) == 2
    assert await measure(core.read(8192)) == 3
    assert await measure(core.read(8192, 8)) == 10
    assert await measure(core.fetch(8192)) == 10


def test_machine_memory():
    run(__file__, "memory_tb", ["rtl/lib/lib.f", "rtl/machine/machine_pkg.sv", "rtl/machine/machine_bus.sv",
                                "rtl/machine/machine_dma.sv", "rtl/machine/machine_ram.sv", "tb/machine/memory_tb.sv"])  # fmt: skip
