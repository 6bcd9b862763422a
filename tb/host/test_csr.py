"""csr: what is written is read back and stands at the outputs, whichever bytes; what cannot be written does not
change; the counters count. The bus master is cocotbext-axi's. Where all that is, the map says; what it is for, this."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from harness.clock import clocks, start
from harness.csr_map import COUNTERS, REGISTERS
from harness.models import run
from harness.structs import T

AT = {name: register.addr for name, register in REGISTERS.items()}
WRITABLE = [register.addr + 4 * word for register in REGISTERS.values() for word in range(register.words)
            if any(field.sw == "rw" for field in register.fields.values())]
#: The fields that hardware reads.
SETTINGS = {(name, field) for name, register in REGISTERS.items() for field, of in register.fields.items()
            if (of.sw, of.hw) == ("rw", "r")}
#: What stands at each output, or a member of its struct: fields, the lowest first.
OUTPUTS = {
    "enable_o": [("ENABLE", "enable")],
    "seconds_o": [("UNIX_SECONDS", "seconds")],
    "milliseconds_o": [("MILLISECONDS", "time")],
    "rx_base_o": [("RX_RING_BASE", "base")],
    "tx_base_o": [("TX_RING_BASE", "base")],
    "item_max_o": [("ITEM_MAX", "size")],
    "trace_o": [("TRACE", "port"), ("TRACE", "on")],
    "trace_record_o": [("TRACE_RECORD", "index")],
    "conn_limit_o": [("MAX_CONNS", "count")],
    "time_wait_ms_o": [("TIME_WAIT_MS", "time")],
    "keep_alive_s_o": [("KEEP_ALIVE_SECONDS", "time")],
    "idle_s_o": [("IDLE_SECONDS", "time")],
    "secret_o": [("TCP_SECRET", "key")],
    "hold_max_o": [("HOLD_MAX", "time")],
    "guard_o": [("REDIS_CLIENTS", "guard")],
    "upstream_o": [("UPSTREAM", "enable")],
    "pause_o": [("REDIS_CLIENTS", "pause")],
    "net_o.mac": [("MAC_LOW", "address"), ("MAC_HIGH", "address")],
    "net_o.ip": [("IP", "address")],
    "net_o.ip6": [("IP6_FIXED", "address"), ("IP6_AUTO", "address")],
    "net_o.tcp_port": [("TCP_PORT", "port")],
    "net_o.udp_port": [("UDP_PORT", "port")],
    "net_o.redis_port": [("REDIS_PORT", "port")],
    "net_o.mtu": [("MTU", "size")],
    "net_o.vlan": [("VLAN", "id")],
    "store_o.index_base": [("INDEX_BASE", "base")],
    "store_o.index_bits": [("INDEX_BITS", "bits")],
    "store_o.log_base": [("LOG_BASE", "base")],
    "store_o.log_lines": [("LOG_LINES", "size")],
    "store_o.item_max": [("ITEM_MAX", "size")],
    "store_o.one_way": [("ONE_WAY", "enable")],
    "store_o.upstream": [("UPSTREAM", "enable")],
    "store_o.nh_key": [("HASH_NH", "key")],
    "store_o.mix_key": [("HASH_MIX", "key")],
}
GROUPS = ("net", "tcp", "ingress", "egress", "store")
INPUTS = ("about_valid_i", "about_i", "idle_i", "timers_i", "short_i", "zeroing_i", "refused_i",
          "conns_i", "trace_clock_i", "trace_points_i", *(
    f"{group}_count_i" for group in GROUPS))


async def begin(dut):
    for name in INPUTS:
        getattr(dut, name).value = 0
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await start(dut)
    return bus


def wanted(kept, fields):
    """The number that fields make."""
    value = bits = 0
    for name, field in fields:
        register, (low, width, *_) = REGISTERS[name], REGISTERS[name].fields[field]
        for word in range(register.words):
            value |= (kept[register.addr + 4 * word] >> low & (1 << width) - 1) << bits
            bits += width
    return value


def outputs_are(dut, kept):
    seen = {name: int(getattr(dut, name).value) for name in OUTPUTS if "." not in name}
    for port, struct in (("net_o", T.net_cfg_t), ("store_o", T.store_cfg_t)):
        members = struct.unpack(int(getattr(dut, port).value))
        seen |= {f"{port}.{member}": value for member, value in members.items()}
    seen["net_o.ip6"] >>= 128  # behind the one that is made from the MAC address
    want = {name: wanted(kept, fields) for name, fields in OUTPUTS.items()}
    if not T.Config.upstream:
        want["upstream_o"] = want["store_o.upstream"] = 0
    assert seen == want


def with_fields(name, **values):
    """A register's value."""
    return sum(value << REGISTERS[name].fields[field].low for field, value in values.items())


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
            if word not in (AT["ABOUT"], AT["VARIANT"]):
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
        at = random.choice((AT["ENABLE"], AT["UNIX_SECONDS"], AT["MAC_LOW"], 0x200 + AT["UNIX_SECONDS"]))
        value = random.getrandbits(32)
        await bus.write_dword(at, value)
        await clocks(dut, 3)
        told += [value] * (at == AT["UNIX_SECONDS"])
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
        at, value = random.choice((AT["VLAN"], AT["SLEPT"], 0x200 + AT["SLEPT"])), random.randrange(1, 1001)
        await bus.write_dword(at, value)
        await clocks(dut, 3)
        told += [value] * (at == AT["SLEPT"])
        assert seen == told


@cocotb.test()
async def zeroing_is_asked_for(dut):
    """A pulse for each write of 1, and for nothing else."""
    bus = await begin(dut)
    pulses = 0

    async def watch():
        nonlocal pulses
        while True:
            await RisingEdge(dut.clk_i)
            if dut.zero_o.value:
                assert dut.busy_o.value, "the clock may stop before it is taken"
                pulses += 1

    cocotb.start_soon(watch())
    told = 0
    for _ in range(30):
        at = random.choice((AT["INDEX_ZERO"], AT["INDEX_BASE"], AT["ENABLE"], 0x200 + AT["INDEX_ZERO"]))
        value = random.getrandbits(2)
        await bus.write_dword(at, value)
        await clocks(dut, 3)
        told += at == AT["INDEX_ZERO"] and value & 1
        assert pulses == told
    assert told


@cocotb.test()
async def state(dut):
    """What the card is and does."""
    bus = await begin(dut)
    for _ in range(20):
        idle, timers, short, zeroing, refused, conns = (random.getrandbits(bits) for bits in (1, 1, 1, 1, 1, 15))
        dut.idle_i.value, dut.timers_i.value, dut.short_i.value, dut.conns_i.value = idle, timers, short, conns
        dut.zeroing_i.value, dut.refused_i.value = zeroing, refused
        assert await bus.read_dword(AT["ID"]) == REGISTERS["ID"].fields["value"].reset
        assert await bus.read_dword(AT["CONNS"]) == 1024
        has = {name: getattr(T.Config, name) for name in REGISTERS["VARIANT"].fields}
        assert await bus.read_dword(AT["VARIANT"]) == with_fields("VARIANT", **has)
        assert await bus.read_dword(AT["STATUS"]) == with_fields(
            "STATUS", idle=idle, timers=timers, due=short, zeroing=zeroing, refused=refused)
        assert await bus.read_dword(AT["OPEN_CONNS"]) == conns


@cocotb.test()
async def answers(dut):
    """The last one about a connection, and that it is another one."""
    bus = await begin(dut)
    for turn in range(20):
        answer = {"conn": random.getrandbits(14), "there": random.getrandbits(1), "left": random.getrandbits(1)}
        dut.about_i.value, dut.about_valid_i.value = T.about_t.pack(answer), 1
        await RisingEdge(dut.clk_i)
        dut.about_i.value, dut.about_valid_i.value = 0, 0
        assert await bus.read_dword(AT["ABOUT"]) == with_fields("ABOUT", **answer, toggle=1 - turn % 2)


@cocotb.test()
async def counters(dut):
    """Each group's at its place: as many as there were pulses."""
    bus = await begin(dut)
    await bus.read_dword(0)  # they begin after 128 clocks
    ports = {name: getattr(dut, f"{name}_count_i") for name in GROUPS}
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
    for name, places in COUNTERS.items():
        assert [await bus.read_dword(place) for place in places.values()] == counts[name], name


def test_every_setting():
    """Each is looked at."""
    assert {field for fields in OUTPUTS.values() for field in fields} == SETTINGS


def test_csr():
    run(__file__, "csr", ["rtl/lib/lib.f", "rtl/host/csr.sv"])
