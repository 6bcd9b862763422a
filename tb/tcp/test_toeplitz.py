"""tcp_toeplitz against the definition, under one secret after another."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run
from tcp.peers import key_bits

HASH = 32
CLOCKS = 256 * 18


async def written(dut):
    """Until the tables are those of the secret that was just put in."""
    for _ in range(2):
        await RisingEdge(dut.clk_i)
    for _ in range(CLOCKS + 10):
        if dut.ready_o.value:
            return
        await RisingEdge(dut.clk_i)
    raise AssertionError("the tables are not written")


def parities(bits, value, width, first):
    """Bit i is the parity of the value under the key's bits first + i and on."""
    return sum((sum(bits[first + i + k] & value >> k for k in range(width)) & 1) << i
               for i in range(HASH))


@cocotb.test()
async def as_defined(dut):
    dut.valid_i.value = 0
    dut.secret_i.value = 0
    await start(dut)
    for secret in (0, 1, 1 << 127, random.getrandbits(128), random.getrandbits(128)):
        bits = key_bits(secret)
        dut.secret_i.value = secret
        await written(dut)
        ips = [random.getrandbits(random.choice((32, 128))) for _ in range(40)]
        ips += [1 << random.randrange(128) for _ in range(10)]
        for ip in ips:
            port = random.getrandbits(16)
            dut.ip_i.value, dut.port_i.value, dut.valid_i.value = ip, port, 1
            await RisingEdge(dut.clk_i)
            # What is not asked changes nothing.
            dut.ip_i.value, dut.port_i.value = random.getrandbits(128), random.getrandbits(16)
            dut.valid_i.value = 0
            for _ in range(random.randrange(1, 3)):
                await RisingEdge(dut.clk_i)
            assert dut.ip_o.value == parities(bits, ip, 128, 16)
            assert dut.port_o.value == parities(bits, port, 16, 0)
    # A new one in the middle of the last one's tables.
    dut.secret_i.value = random.getrandbits(128)
    for _ in range(random.randrange(3, 3000)):
        await RisingEdge(dut.clk_i)
    assert not dut.ready_o.value
    secret = random.getrandbits(128)
    dut.secret_i.value = secret
    await written(dut)
    dut.ip_i.value, dut.port_i.value, dut.valid_i.value = 0x0a000001, 1234, 1
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    assert dut.ip_o.value == parities(key_bits(secret), 0x0a000001, 128, 16)
    assert dut.port_o.value == parities(key_bits(secret), 1234, 16, 0)


def test_toeplitz():
    run(__file__, "tcp_toeplitz", ["rtl/lib/lib.f", "rtl/tcp/tcp.f"])
