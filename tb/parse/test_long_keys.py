"""ingress with keys of up to 250 bytes, whose request lines have more than 64: at a glance in every protocol, and wherever
such a line may be cut, go wrong or be mistaken for another."""

import random

import cocotb

from harness.models import run
from harness.size import scale
from harness.structs import T
from parse.binary_model import Binary, packet
from parse.ingress_bench import at_a_glance, streams
from parse.meta_model import Meta
from parse.resp_model import Resp, encode
from parse.text_model import Text

JOB = 8192
TEXT = [b"get %s\r\n", b"gets %s\r\n", b"set %s 4294967295 2592001 3\r\nabc\r\n", b"add %s 0 0 100 noreply\r\n" + b"v" * 100 + b"\r\n",
        b"replace %s 1 0 1920\r\n" + b"v" * 1920 + b"\r\n", b"delete %s\r\n", b"delete %s noreply\r\n", b"touch %s 0\r\n",
        b"incr %s 4294967295\r\n", b"decr %s 1 noreply\n", b"set %s 0 0 0\n\r\n",
        b"cas %s 0 0 3 9999999999999999\r\nabc\r\n", b"cas %s 4294967295 2592001 0 0\n\r\n"]
META = [b"mg %s v\r\n", b"mg %s\r\n", b"ms %s 3\r\nabc\r\n", b"ms %s 12\r\nabc def 12\r\n\r\n"]


def key(size):
    return bytes(random.choices(b"abcdefgsxyz*$0123456789\r\t", k=size - 1)) + b"k"


def binary_key(size):
    return bytes(random.choices(b"\r\n *$\0abc\x80", k=size))


def some_lengths(count):
    """Of keys: those at which something changes, and others."""
    return [*range(1, 71), *range(120, 140), *range(185, 200), *range(245, 251), *random.choices(range(1, 251), k=count)]


@cocotb.test()
async def text(dut):
    commands = [random.choice(TEXT) % key(n) for n in some_lengths(200)]
    await at_a_glance(dut, [*commands, b"get  k\r\n"], JOB, Text)


@cocotb.test(skip=not T.Config.fast_meta)
async def meta(dut):
    commands = [random.choice(META) % key(n) for n in some_lengths(100)]
    await at_a_glance(dut, [*commands, b"mg  k\r\n"], JOB, Meta)


@cocotb.test(skip=not T.Config.fast_binary)
async def binary(dut):
    requests = [random.choice((
        packet(0x00, k), packet(0x0D, k), packet(0x01, k, bytes(8), b"v" * random.choice((0, 5, 100))), packet(0x04, k),
        packet(0x1C, k, b"\0\0\1\0"), packet(0x0E, k, b"", b"xyz"))) for k in map(binary_key, some_lengths(100))]
    await at_a_glance(dut, [*requests, packet(0x3F)], JOB, Binary)


@cocotb.test()
async def redis(dut):
    commands = [encode(*random.choice((
        (b"GET", k), (b"STRLEN", k), (b"SET", k, b"v" * random.choice((1, 9, 10, 99, 100))), (b"SETNX", k, b"v"),
        (b"APPEND", k, b"v"), (b"DEL", k), (b"INCR", k)))) for k in map(key, some_lengths(50))]
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


@cocotb.test()
async def redis_numbers(dut):
    commands = [encode(*random.choice((
        (b"INCRBY", k, b"17"), (b"DECRBY", k, b"999999999"), (b"EXPIRE", k, b"100"), (b"TTL", k),
        (b"SETEX", k, b"31536000", b"v" * random.choice((1, 9, 10, 99, 100))), (b"PSETEX", k, b"1", b"v"))))
        for k in map(key, (*range(1, 20), *range(45, 71), *range(120, 140), *range(245, 251)))]  # fmt: skip
    await at_a_glance(dut, [*commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


@cocotb.test()
async def redis_values(dut):
    """Of keys that need a tail, and of several keys, from every lane on."""
    commands = [random.choice((encode(b"SET", key(random.choice((40, 64, 128))), b"v" * random.choice((1, 10, 100))),
                               encode(b"MGET", *[b"k" * 5] * random.choice((2, 3, 12))))) for _ in range(250)]
    await at_a_glance(dut, [encode(b"GET", b"k"), *commands, encode(b"GETDEL", b"k")], JOB, Resp, redis=True)


def odd_text():
    """A line of text that is nearly one with a long key."""
    n = random.choice((50, 56, 57, 58, 60, 63, 64, 65, 100, 126, 128, 190, 200, 249, 250, 251, 252, 300, 400))
    line = random.choice(TEXT + [b"gat 10 %s\r\n", b"cas %s 0 0 1 5 noreply\r\nv\r\n", b"append %s 0 0 1\r\nv\r\n", b"get a %s\r\n",
                                 b"get %s a\r\n", b"get %s " + key(60) + b"\r\n", b"verbosity %s\r\n"])
    if random.random() < 0.5:
        return line % key(n)
    k = bytearray(key(n))
    k[random.choice((0, 1, n // 2, n - 2, random.randrange(n)))] = random.choice(b" \0\r")
    return (line.split(b"\n")[0] + b"\n" if b"%s 0" in line else line) % bytes(k)


@cocotb.test()
async def text_cut_anywhere(dut):
    data = [b"".join(random.choice(TEXT) % key(random.randrange(40, 251)) for _ in range(scale(25, 60))) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 30, 63, 64, 65, 100, 250, 1000, 5000)), Text)


@cocotb.test()
async def nearly_text(dut):
    data = [b"".join(odd_text() for _ in range(scale(40, 100))) + b"version\r\n" for _ in range(8)]
    await streams(dut, data, lambda: random.choice((40, 64, 100, 250, 1000, 5000)), Text)


@cocotb.test()
async def meta_cut_anywhere(dut):
    data = [b"".join(random.choice(META) % key(random.randrange(40, 251)) for _ in range(25)) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 30, 63, 64, 65, 100, 250, 1000, 5000)), Meta)


@cocotb.test()
async def binary_cut_anywhere(dut):
    data = [b"".join(packet(random.choice((0x00, 0x04)), binary_key(n)) + packet(0x01, binary_key(n), bytes(8), b"v" * n)
                     for n in random.choices(range(20, 251), k=15)) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 30, 63, 64, 65, 100, 250, 1000, 5000)), Binary)


@cocotb.test()
async def redis_cut_anywhere(dut):
    """Keys with what lines end in and what commands and lengths begin with; behind a key stands anything."""
    def command():
        k = random.choice((binary_key, key))(random.choice((30, 36, 37, 38, 39, 40, 41, 42, 43, 50, 64, 99, 100, 249, 250, 251)))
        words = random.choice(((b"GET", k), (b"SET", k, b"v" * random.choice((1, 10, 100, 1000))), (b"MGET", k, k),
                               (b"APPEND", k, b"\n$5"), (b"INCRBY", k, b"17"),
                               (b"SETEX", k, b"1234", b"v" * 100), (b"EXPIRE", k, random.choice((b"10", b"-1", b"123456789"))), (b"SET", k, b"\n$3\r\nGET")))
        got = encode(*words)
        if words[0] == b"SET" and random.random() < 0.2:
            got = got.replace(k + b"\r\n", k + b"xy")
        return got
    data = [b"".join(command() for _ in range(scale(25, 60))) for _ in range(8)]
    await streams(dut, data, lambda: random.choice((1, 30, 57, 58, 59, 64, 100, 250, 1000, 5000)), Resp, redis=True)


def test_long_keys():
    run(__file__, "ingress", ["rtl/lib/lib.f", "rtl/parse/ingress.f"], Conns=16)
