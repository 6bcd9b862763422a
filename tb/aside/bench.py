"""The cache in front of a machine, clock by clock: frames on both sides, instructions of its core, and what its table must have."""

import random
import struct
from collections import deque

from cocotb.triggers import Event
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from harness.clock import NEXT_CLOCK, Pins, clocks, every_clock, start, until
from harness.structs import T, Types

A = Types("rtl/pkg.f", "rtl/aside/aside_pkg.sv")
ME, CLIENT = "02:57:4b:56:00:02", "02:00:00:00:00:01"
IP_ME, IP_CLIENT, PORT = "10.77.0.2", "10.77.0.1", 11211
HEADER = b"\0\0\0\1\0\0"


def datagram(text, ident=1, sport=40000, dport=PORT, **ip):
    """The frame of a request in a datagram."""
    return bytes(Ether(src=CLIENT, dst=ME) / IP(src=IP_CLIENT, dst=IP_ME, **ip) / UDP(sport=sport, dport=dport)
                 / Raw(ident.to_bytes(2, "big") + HEADER + text))


def payload(frame):
    """A datagram's, once its checksums are what scapy computes: identity, number of the part, parts, text."""
    got, again = Ether(frame), Ether(frame)
    del again[IP].chksum, again[UDP].chksum
    assert bytes(Ether(bytes(again))) == bytes(got)
    assert (got.src, got.dst, got[IP].src, got[IP].dst, got[UDP].sport) == (ME, CLIENT, IP_ME, IP_CLIENT, PORT)
    body = bytes(got[UDP].payload)[: got[UDP].len - 8]
    ident, part, parts, zero = struct.unpack(">HHHH", body[:8])
    assert zero == 0
    return ident, part, parts, body[8:]


class Entry:
    def __init__(self, value=b"", flags=0, unique=0, deadline=0):
        self.value, self.flags, self.unique, self.deadline = value, flags, unique, deadline

    def image(self, key):
        return struct.pack("<IIQI", len(self.value) | len(key) << 16, self.flags, self.unique, self.deadline) + key + self.value


class Bench:
    """`queue`: frames from the wire; `up`: from the NIC. `passed` and `sent`: frames to the NIC and to the wire, with the clock
    of their end. `pause`: probabilities that the wire brings no beat, that the NIC takes none, and that the wire takes none."""

    def __init__(self, dut):
        self.dut, self.pins = dut, Pins(dut)
        self.queue, self.up, self.passed, self.sent = deque(), deque(), [], []
        self.pause, self.clock, self.ends = (0.0, 0.0, 0.0), 0, []
        p = self.pins
        for name in ("s_valid_i", "up_valid_i", "m_ready_i", "wire_ready_i", "cmd_valid_i", "core_rst_i", "tick_i", "seconds_i"):
            getattr(p, name).value = 0
        p.rsp_ready_i.value, p.enable_i.value = 0, 1
        p.cfg_i.value = T.net_cfg_t.pack({"mac": int(ME.replace(":", ""), 16), "ip": 0x0A4D0002, "udp_port": PORT, "mtu": 1500})
        p.nh_key_i.value = random.getrandbits(1024)
        p.mix_key_i.value = random.getrandbits(128) | 1 << 64 | 1
        every_clock(dut, self._in("s_valid_i", None, "s_data_i", self.queue, 0))
        every_clock(dut, self._in("up_valid_i", "up_ready_o", "up_i", self.up, None))
        every_clock(dut, self._out("m_valid_o", "m_ready_i", "m_data_o", self.passed, 1))
        every_clock(dut, self._out("wire_valid_o", "wire_ready_i", "wire_o", self.sent, 2))
        every_clock(dut, self._tick())

    async def _tick(self):
        while True:
            await NEXT_CLOCK
            self.clock += 1
            self.pins.tick_i.drive(self.clock % 1000 == 0)

    async def _in(self, valid, ready, data, queue, pause):
        p, beats, offered = self.pins, [], False
        while True:
            await NEXT_CLOCK
            if offered and ready and not getattr(p, ready).value:
                continue
            if not beats and queue:
                frame = queue.popleft()
                beats = [frame[at : at + 64] for at in range(0, len(frame), 64)]
            offered = bool(beats) and (pause is None or random.random() >= self.pause[pause])
            getattr(p, valid).drive(offered)
            if offered:
                beat = beats.pop(0)
                number = int.from_bytes(beat.ljust(64, b"\xee"), "little")
                getattr(p, data).value = T.axis_t.pack({"data": number, "keep": (1 << len(beat)) - 1, "last": int(not beats)})
                if pause == 0 and not beats:
                    self.ends.append(self.clock)

    async def _out(self, valid, ready, data, frames, pause):
        p, frame, taking = self.pins, b"", False
        while True:
            await NEXT_CLOCK
            if taking and getattr(p, valid).value:
                beat = T.axis_t.unpack(getattr(p, data).value)
                frame += beat["data"].to_bytes(64, "little")[: beat["keep"].bit_count()]
                if beat["last"]:
                    frames.append((frame, self.clock))
                    frame = b""
            taking = random.random() >= self.pause[pause]
            getattr(p, ready).drive(taking)

    # ------------------------------------------------------------ instructions
    async def do(self, op, a=0, b=0):
        """An instruction's result."""
        p, over, result = self.pins, Event(), None
        p.cmd_function_i.value, p.cmd_a_i.value, p.cmd_b_i.value = op << 3, a, b
        p.cmd_valid_i.value = p.rsp_ready_i.value = 1

        async def ask():
            nonlocal result
            taken = False
            for _ in range(200_000):
                await NEXT_CLOCK
                if not taken and p.cmd_ready_o.value:
                    taken = True
                    p.cmd_valid_i.value = 0
                if p.rsp_valid_o.value:
                    result = p.rsp_o.value
                    p.rsp_ready_i.value = 0
                    break
            over.set()

        every_clock(self.dut, ask())
        await over.wait()
        assert result is not None, f"instruction {op} does not end"
        return result

    async def words(self, text):
        padded = text.ljust(-(-len(text) // 8) * 8, b"\xa5")
        for at in range(0, len(padded), 8):
            assert await self.do(A.InWord, *struct.unpack_from("<II", padded, at)) == 0

    async def key(self, key):
        await self.words(key)
        return await self.do(A.InKey, len(key))

    async def put(self, key, entry, ways=255, ticket=True):
        assert await self.key(key) == 1
        if ticket:
            assert await self.do(A.InTicket) == 1
        image = entry.image(key)
        await self.words(image)
        return await self.do(A.InPut, len(image), ways)

    async def candidate(self):
        """The next one, or None."""
        length = await self.do(A.InTake)
        if not length:
            return None
        words = [await self.do(A.InTake) for _ in range(-(-length // 4))]
        return struct.pack(f"<{len(words)}I", *words)[:length]

    async def drain(self):
        """Until nothing is inside."""
        idle = [0]

        def quiet():
            idle[0] = idle[0] + 1 if self.pins.idle_o.value and not self.queue and not self.up else 0
            return idle[0] > 40

        assert await until(self.dut, quiet, 300_000), "it is not idle"

    async def answers(self, *frames):
        """What the frames are answered; those that pass instead."""
        at, through = len(self.sent), len(self.passed)
        self.queue.extend(frames)
        await self.drain()
        return [payload(frame) for frame, _ in self.sent[at:]], [frame for frame, _ in self.passed[through:]]


async def begin(dut):
    """A cache that has forgotten what its RAMs had."""
    bench = Bench(dut)
    await start(dut)
    await clocks(dut, 2 * 16384 + 100)
    return bench
