"""Host memory behind AXI4, as a cloud's shell has it: many reads under way, answered in any order, late; writes that are
seen when they are answered, and not before. Whatever the master does that such a shell forbids is an AssertionError."""

import heapq
import random
from collections import deque

from harness.clock import NEXT_CLOCK, Pins, every_clock

#: Eight microseconds: what a shell waits for data, and for a ready of answers.
BOUND = 2000
ONES = (1 << 64) - 1


class HostMemory:
    """`slots` has the lines by address / 64. `latency` is in clocks, from an address to the first beat, and from the last
    beat of a write to its answer; `jitter` is what is added to it at most, drawn for each. `pause` is the probability that
    a channel is not ready, or gives nothing, each on its own. `shuffle`: what could be given is given in any order, and
    beats of several reads mixed. `refuses(addr, write)` says which lines are refused. Addresses of `early` lines are seen as
    soon as they are written. `given(addr, end)`: whether the master has anything to do there."""

    def __init__(self, dut, reads, latency=100, jitter=0, pause=0.0, shuffle=False):
        self.latency, self.jitter, self.pause, self.shuffle, self.reads = latency, jitter, pause, shuffle, reads
        self.slots, self.refuses, self.early, self.given = {}, lambda addr, write: False, set(), lambda addr, end: True
        self.pins, self.dut, self.clock = Pins(dut), dut, 0
        #: What was under way at most, and what was moved.
        self.most, self.beats_read, self.beats_written, self.bursts_read, self.bursts_written = 0, 0, 0, 0, 0
        #: Of what was written, slots of rings.
        self.slots_written = 0
        self._forget()
        for name in ("awready", "wready", "arready", "bvalid", "rvalid", "bid", "bresp", "rid", "rresp", "rlast", "rdata"):
            getattr(self.pins, f"m_axi_{name}").value = 0
        self.task = every_clock(dut, self._run())

    def _forget(self):
        """What is under way: a reset is the bus' as well."""
        self.open_ids, self.coming, self.here = {}, [], []
        self.addresses, self.data, self.burst, self.answers, self.last_answer = deque(), deque(), [], [], {}
        self.waits = 0
        self.offered = {}

    @property
    def busy(self):
        """Something is under way."""
        return bool(self.open_ids or self.addresses or self.data or self.burst or self.answers)

    def _stable(self, channel, valid, ready, *fields):
        """What is offered stays."""
        if channel in self.offered:
            assert valid and self.offered[channel] == fields, f"{channel} was offered and changed"
        if valid and not ready:
            self.offered[channel] = fields
        else:
            self.offered.pop(channel, None)

    def _legal(self, addr, beats, size, burst):
        assert size == 6, f"a size of {1 << size} bytes"
        assert burst == 1 and addr % 64 == 0 and 1 <= beats <= 8, (hex(addr), beats, burst)
        end = addr + 64 * beats
        assert addr // 4096 == (end - 1) // 4096, f"{hex(addr)} with {beats} beats crosses a page"
        assert self.given(addr, end), f"{hex(addr)} was not given away"

    def _when(self):
        return self.clock + self.latency + (random.randrange(self.jitter + 1) if self.jitter else 0)

    async def _run(self):
        p, rng = self.pins, random
        ar = aw = w = r = b = False
        b_wait = r_wait = 0
        await NEXT_CLOCK
        while True:
            if not p.rst_ni.value:
                self._forget()
                ar = aw = w = r = b = False
                b_wait = r_wait = 0
                p.m_axi_rvalid.drive(0)
                p.m_axi_bvalid.drive(0)
                while not p.rst_ni.value:
                    await NEXT_CLOCK
            self.clock += 1
            clock = self.clock
            # ---- addresses of reads
            valid = p.m_axi_arvalid.value
            if valid or "ar" in self.offered:
                addr, beats, number = p.m_axi_araddr.value, p.m_axi_arlen.value + 1, p.m_axi_arid.value
                self._stable("ar", valid, ar, addr, beats, number)
                if ar:
                    self._legal(addr, beats, p.m_axi_arsize.value, p.m_axi_arburst.value)
                    assert number not in self.open_ids, f"read {number} is under way"
                    self.open_ids[number] = clock
                    self.most = max(self.most, len(self.open_ids))
                    assert len(self.open_ids) <= self.reads, f"{len(self.open_ids)} reads are under way"
                    heapq.heappush(self.coming, (self._when(), clock, [addr, beats, number]))
                    self.bursts_read += 1
            # ---- addresses and data of writes
            valid = p.m_axi_awvalid.value
            if valid or "aw" in self.offered:
                addr, beats, number = p.m_axi_awaddr.value, p.m_axi_awlen.value + 1, p.m_axi_awid.value
                self._stable("aw", valid, aw, addr, beats, number)
                if aw:
                    self._legal(addr, beats, p.m_axi_awsize.value, p.m_axi_awburst.value)
                    self.addresses.append((addr, beats, number))
                    self.bursts_written += 1
            valid = p.m_axi_wvalid.value
            if valid:
                line, last = p.m_axi_wdata.value, p.m_axi_wlast.value
                self._stable("w", valid, w, line, last)
                if w:
                    assert p.m_axi_wstrb.value == ONES, "strobes have holes"
                    self.burst.append(line)
                    self.beats_written += 1
                    if last:
                        self.data.append(self.burst)
                        self.burst = []
                    assert len(self.data) <= len(self.addresses) + 2, "data run ahead of their addresses"
                self.waits = 0
            else:
                assert "w" not in self.offered, "data were offered and vanished"
                # Data of a write are there when its address is.
                self.waits = self.waits + 1 if len(self.addresses) > len(self.data) else 0
                assert self.waits < 8, "an address waits for its data"
            while self.addresses and self.data:
                (addr, beats, number), lines = self.addresses.popleft(), self.data.popleft()
                assert beats == len(lines), f"{len(lines)} beats of {beats} until the last one"
                self.slots_written += beats if addr not in self.early else 0
                bad = any(self.refuses(addr + 64 * n, True) for n in range(beats))
                if addr in self.early and not bad:
                    self.slots[addr // 64] = lines[0]
                    lines = []
                # Answers to writes of one id keep their order.
                when = max(self._when(), self.last_answer.get(number, 0) + 1)
                self.last_answer[number] = when
                heapq.heappush(self.answers, (when, clock, number, addr // 64, lines, bad))
            # ---- answers
            if b:
                b_wait = 0 if p.m_axi_bready.value else b_wait + 1
            if r:
                r_wait = 0 if p.m_axi_rready.value else r_wait + 1
            assert b_wait < BOUND, "an answer to a write is not taken"
            assert r_wait < BOUND, "data of a read are not taken"
            if not b_wait:
                b = bool(self.answers) and self.answers[0][0] <= clock and not (self.pause and rng.random() < self.pause)
                if b:
                    _, _, number, at, lines, bad = heapq.heappop(self.answers)
                    if not bad:
                        for n, line in enumerate(lines):
                            self.slots[at + n] = line
                    p.m_axi_bid.value, p.m_axi_bresp.value = number, rng.choice((2, 3)) if bad else 0
                p.m_axi_bvalid.drive(b)
            if not r_wait:
                while self.coming and self.coming[0][0] <= clock:
                    self.here.append(heapq.heappop(self.coming)[2])
                r = bool(self.here) and not (self.pause and rng.random() < self.pause)
                if r:
                    n = rng.randrange(len(self.here)) if self.shuffle else 0
                    read = self.here[n]
                    addr, beats, number = read
                    bad = self.refuses(addr, False)
                    p.m_axi_rdata.value = rng.getrandbits(512) if bad else self.slots.get(addr // 64, 0)
                    p.m_axi_rid.value, p.m_axi_rlast.value = number, beats == 1
                    p.m_axi_rresp.value = rng.choice((2, 3)) if bad else 0
                    read[0], read[1] = addr + 64, beats - 1
                    self.beats_read += 1
                    if beats == 1:
                        del self.here[n], self.open_ids[number]
                p.m_axi_rvalid.drive(r)
            # ---- readies
            if self.pause:
                ar, aw, w = (rng.random() >= self.pause for _ in range(3))
            else:
                ar = aw = w = True
            p.m_axi_arready.drive(ar)
            p.m_axi_awready.drive(aw)
            p.m_axi_wready.drive(w)
            await NEXT_CLOCK
