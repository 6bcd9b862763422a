"""csr: what is written is read back and stands at the outputs, whichever bytes; what cannot be written does not
change; the counters count. The bus master is cocotbext-axi's."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from common import clocks, run, start

WRITABLE = [*range(0x010, 0x070, 4), *range(0x080, 0x0C0, 4), 0x0C4, 0x0C8, *range(0x100, 0x180, 4)]
#: Port, its bits, and where they stand.
OUTPUTS = (
    ("enable_o", 1, (0x010,)),
    ("seconds_o", 32, (0x014,)),
    ("rx_base_o", 32, (0x038,)),
    ("tx_base_o", 32, (0x03C,)),
    ("item_max_o", 21, (0x048,)),
    ("conn_limit_o", 15, (0x04C,)),
    ("milliseconds_o", 10, (0x050,)),
    ("time_wait_ms_o", 16, (0x054,)),
    ("keep_alive_s_o", 16, (0x058,)),
    ("idle_s_o", 16, (0x05C,)),
    ("secret_o", 128, (0x060, 0x064, 0x068, 0x06C)),
    ("hold_max_o", 24, (0x0B4,)),
)
INPUTS = ("about_valid_i", "about_i", "idle_i", "timers_i", "short_i", "conns_i", *(
    f"{folder}_count_i" for folder in ("net", "tcp", "front", "back", "store")))


async def begin(dut):
    for name in INPUTS:
        getattr(dut, name).value = 0
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await start(dut)
    return bus


def outputs_are(dut, kept):
    for name, bits, words in OUTPUTS:
        value = sum(kept[word] << 32 * i for i, word in enumerate(words))
        assert int(getattr(dut, name).value) == value & ((1 << bits) - 1), name
    assert (int(dut.guard_o.value), int(dut.pause_o.value)) == (kept[0x0BC] & 1, kept[0x0BC] >> 1 & 1)


@cocotb.test()
async def settings(dut):
    """Any bytes of any word, some of which are for reading or nothing at all; then the whole map. And once more
    after a reset, from zero."""
    bus = await begin(dut)
    for _ in range(2):
        kept = dict.fromkeys(WRITABLE, 0)
        outputs_are(dut, kept)
        for _ in range(600):
            at, size = random.randrange(0x200), random.randrange(1, 5)
            size = min(size, 4 - at % 4)
            data = random.randbytes(size)
            await bus.write(at, data)
            word = at & ~3
            if word in kept:
                old = bytearray(kept[word].to_bytes(4, "little"))
                old[at % 4 : at % 4 + size] = data
                kept[word] = int.from_bytes(old, "little")
            if random.random() < 0.3:
                word = random.choice(WRITABLE)
                assert await bus.read_dword(word) == kept[word], hex(word)
            await RisingEdge(dut.clk_i)
            outputs_are(dut, kept)
        for word in range(0x010, 0x200, 4):
            if word != 0x0C0:
                assert await bus.read_dword(word) == kept.get(word, 0), hex(word)
        dut.rst_ni.value = 0
        await clocks(dut, 5)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert dut.busy_o.value == 1
        await Timer(1, "ns")


@cocotb.test()
async def together(dut):
    """A read of one word and a write of a byte of another that are asked for at once."""
    bus = await begin(dut)
    kept = {word: bytearray(4) for word in WRITABLE}
    for _ in range(400):
        first, second = random.sample(WRITABLE, 2)
        lane, data = random.randrange(4), random.randbytes(1)
        kept[first][lane : lane + 1] = data
        read = cocotb.start_soon(bus.read(second, 4))
        await clocks(dut, random.randrange(4))
        await bus.write(first + lane, data)
        assert (await read).data == kept[second]
        assert (await bus.read(first, 4)).data == kept[first]


@cocotb.test()
async def time_is_told(dut):
    """One pulse for each write of the seconds, when they stand there already."""
    bus = await begin(dut)
    pulses = []

    async def watch():
        while True:
            await RisingEdge(dut.clk_i)
            if dut.time_o.value:
                assert dut.busy_o.value, "the clock may stop before it is taken"
                pulses.append(int(dut.seconds_o.value))

    cocotb.start_soon(watch())
    told = []
    for _ in range(20):
        at = random.choice((0x010, 0x014, 0x018, 0x214))
        value = random.getrandbits(32)
        await bus.write_dword(at, value)
        await clocks(dut, 3)
        told += [value] * (at == 0x014)
        assert pulses == told


@cocotb.test()
async def sleep_is_told(dut):
    """What is written, for one clock, and nothing at any other time."""
    bus = await begin(dut)
    seen = []

    async def watch():
        while True:
            await RisingEdge(dut.clk_i)
            if int(dut.slept_o.value):
                assert dut.busy_o.value, "the clock may stop before it is taken"
                seen.append(int(dut.slept_o.value))

    cocotb.start_soon(watch())
    told = []
    for _ in range(20):
        at, value = random.choice((0x0C4, 0x0C8, 0x2C8)), random.randrange(1, 1001)
        await bus.write_dword(at, value)
        await clocks(dut, 3)
        told += [value] * (at == 0x0C8)
        assert seen == told


@cocotb.test()
async def state(dut):
    """What the card is and does."""
    bus = await begin(dut)
    for _ in range(20):
        idle, timers, short, conns = (random.getrandbits(bits) for bits in (1, 1, 1, 15))
        dut.idle_i.value, dut.timers_i.value, dut.short_i.value, dut.conns_i.value = idle, timers, short, conns
        assert await bus.read_dword(0x000) == 0x574B5631
        assert await bus.read_dword(0x004) == 1024
        assert await bus.read_dword(0x008) == short << 2 | timers << 1 | idle
        assert await bus.read_dword(0x00C) == conns


@cocotb.test()
async def counters(dut):
    """Each group's at its place: as many as there were pulses."""
    bus = await begin(dut)
    await bus.read_dword(0)  # they begin after 128 clocks
    ports = {name: getattr(dut, f"{name}_count_i") for name in ("net", "tcp", "front", "back", "store")}
    counts = {name: [0] * len(port) for name, port in ports.items()}
    for _ in range(500):
        for name, port in ports.items():
            value = random.getrandbits(len(port))
            port.value = value
            for i in range(len(port)):
                counts[name][i] += value >> i & 1
        await RisingEdge(dut.clk_i)
    for port in ports.values():
        port.value = 0
    await clocks(dut, 3)
    word, places = 128, {}
    for name, wide in (("net", 32), ("tcp", 32), ("front", 14), ("back", 14), ("store", 36)):
        places |= {(name, i): word + i for i in range(min(wide, len(counts[name])))}
        word += wide
    places |= {("net", 32 + i): 256 + i for i in range(len(counts["net"]) - 32)}
    places |= {("tcp", 32 + i): 264 + i for i in range(len(counts["tcp"]) - 32)}
    for (name, i), place in places.items():
        assert await bus.read_dword(4 * place) == counts[name][i], (name, i)


def test_csr():
    run(__file__, "csr", ["rtl/lib/lib.f", "rtl/card/csr.sv"])
