"""Drives and takes the streams of a design under cocotb, and carries bytes as the card does."""

import random

from cocotb.triggers import Event

from harness.clock import NEXT_CLOCK, Pins, every_clock, until

#: Sizes in bytes that every byte stream is tried with.
SIZES = [*range(1, 129), 512, 1500, 9200]


class _Stream:
    """`fields` names the payload ports; a dict maps a name to the Struct that the port carries.

    The ports are <prefix>_valid, <prefix>_ready and <prefix>_<field> with lowRISC's direction
    suffix; for a single field "" the payload port is <prefix>_<out/in suffix>.
    """

    def __init__(self, dut, prefix, fields, pause=0.0, out=False):
        self.dut, self.pause, pins = dut, pause, Pins(dut)
        self.structs = fields if isinstance(fields, dict) else dict.fromkeys(fields)
        forward, back = ("o", "i") if out else ("i", "o")
        name = f"{prefix}_" if prefix else ""
        self.valid = getattr(pins, f"{name}valid_{forward}")
        self.ready = getattr(pins, f"{name}ready_{back}")
        self.ports = {f: getattr(pins, f"{name}{f}_{forward}" if f else f"{name}{forward}")
                      for f in self.structs}


class Source(_Stream):
    """Drives a stream. Items are dicts of the fields. `pause` is the probability of an idle clock;
    while nothing is offered the payload is random."""

    def __init__(self, dut, prefix, fields, pause=0.0):
        super().__init__(dut, prefix, fields, pause)
        self.queue, self._done = [], Event()
        self.valid.value = 0
        self._task = every_clock(dut, self._run())

    def put(self, *items):
        self._done.clear()
        self.queue.extend(items)

    async def drain(self):
        """Waits until everything was taken."""
        if self.queue:
            await self._done.wait()

    def stop(self):
        self._task.cancel()
        self.valid.value = 0

    async def _run(self):
        await NEXT_CLOCK
        while not self.dut.rst_ni.value:
            await NEXT_CLOCK
        while True:
            if not self.queue:
                await NEXT_CLOCK
                continue
            if random.random() < self.pause:
                for port in self.ports.values():
                    port.value = random.getrandbits(len(port))
                await NEXT_CLOCK
                while random.random() < self.pause:
                    await NEXT_CLOCK
            item = self.queue[0]
            for field, port in self.ports.items():
                struct = self.structs[field]
                port.value = struct.pack(item[field]) if struct else int(item[field])
            self.valid.value = 1
            await NEXT_CLOCK
            while not self.ready.value:
                await NEXT_CLOCK
            self.valid.value = 0
            self.queue.pop(0)
            if not self.queue:
                self._done.set()


class Sink(_Stream):
    """Takes a stream and keeps its items, dicts of the fields, in `items`. `pause` is the
    probability of a clock without ready."""

    def __init__(self, dut, prefix, fields, pause=0.0):
        super().__init__(dut, prefix, fields, pause, out=True)
        self.items = []
        #: Clock (counted from the first) of each item.
        self.times = []
        self.ready.value = 0
        self._task = every_clock(dut, self._run())

    async def wait(self, n, timeout=100_000):
        """Waits until `n` items have come in all; `timeout` in clocks."""
        if await until(self.dut, lambda: len(self.items) >= n, timeout):
            return self.items
        raise AssertionError(f"{len(self.items)} of {n} items after {timeout} clocks")

    def stop(self):
        self._task.cancel()
        self.ready.value = 0

    async def _run(self):
        ready, clock, structs = False, 0, self.structs
        while True:
            await NEXT_CLOCK
            clock += 1
            if ready and self.valid.value:
                self.items.append({
                    field: structs[field].unpack(port.value) if structs[field] else port.value
                    for field, port in self.ports.items()
                })
                self.times.append(clock)
            if self.pause or not ready:
                ready = random.random() >= self.pause
                self.ready.drive(ready)


def to_beats(data, size=64):
    """Byte stream as the card carries it: 64 bytes a beat; an empty packet is one empty beat."""
    cuts = range(0, max(len(data), 1), size)
    return [{"data": int.from_bytes(data[i : i + size], "little"),
             "len": len(data[i : i + size]),
             "last": int(i + size >= len(data))} for i in cuts]


def from_beats(beats):
    """Packets (bytes) of a list of beats; checks that only last beats are short."""
    packets, packet = [], b""
    for beat in beats:
        assert beat["last"] or beat["len"] == 64, "short beat inside a packet"
        packet += (beat["data"] & ((1 << (8 * beat["len"])) - 1)).to_bytes(beat["len"], "little")
        if beat["last"]:
            packets.append(packet)
            packet = b""
    assert packet == b"", "packet without an end"
    return packets
