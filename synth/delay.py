"""Time from register to register by a model of delays: docs/SYNTHESIS.md says where it comes from.

The model knows cells and the fan-out of nets, not places: it is for finding and comparing paths.
Every figure is in nanoseconds.
"""

import csv
from math import log

#: Of the clock that the card is made for.
PERIOD = 4.0
#: Clock-to-out and set-up of every path, together.
REGISTER = 0.15
LUT = 0.10
#: With the wire from the LUT or multiplexer before it, which is its own.
MUXF = 0.10
#: Into or out of a chain, and each bit that the carry passes.
CARRY, CARRY_BIT = 0.15, 0.01
#: Out of a block RAM, and out of its output register.
RAM, RAM_REGISTERED = 1.0, 0.4
#: Through all of a DSP, or the part of it that lies before or behind its registers.
DSP = 1.5
#: Of a net with one sink, and of one with MANY.
NET, NET_MANY, MANY = 0.25, 0.9, 500

CLOCKS = ("C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK")


def net(fanout):
    """Of a net with so many sinks: with the logarithm, as repeaters make it. Replicas are cells (replicas.py)."""
    return min(NET_MANY, NET + (NET_MANY - NET) * log(max(fanout, 1)) / log(MANY))


class Delays:
    """Arrival times in a `Netlist` that was analysed."""

    def __init__(self, netlist):
        self.netlist = netlist
        #: Of every bit that a cell drives: when it comes out of the cell, the bit before it on the
        #: latest path (None at its start), and where that path starts.
        self.at, self.back, self.start = {}, {}, {}
        logic = set(netlist.order)
        for name in netlist.cells:
            if name not in logic:
                for port, bit in netlist.outputs(name):
                    self._set(bit, REGISTER + self._out(name, port), None)
        for name in netlist.order:
            self._through(name)

    def _set(self, bit, at, back):
        self.at[bit], self.back[bit] = at, back
        self.start[bit] = bit if back is None else self.start.get(back, back)

    def _parameter(self, name, key):
        value = str(self.netlist.cells[name]["parameters"].get(key, "0"))
        return value == "TRUE" or (value.strip("01") == "" and int(value, 2) > 0)

    def _out(self, name, port):
        """From the clock edge to an output of what begins a path, without REGISTER."""
        kind = self.netlist.kind(name)
        if kind.startswith("RAMB"):
            side = "DOA_REG" if "A" in port.removeprefix("DOUT")[:1] else "DOB_REG"
            return RAM_REGISTERED if self._parameter(name, side) else RAM
        if kind.startswith("URAM"):
            side = "OREG_" + port.removeprefix("DOUT_")[:1]
            return RAM_REGISTERED if self._parameter(name, side) else RAM
        if kind.startswith("DSP"):
            return 0 if self._parameter(name, "PREG") else DSP
        return 0

    def _in(self, name, port):
        """From an input of what ends a path to its register, without REGISTER."""
        kind = self.netlist.kind(name)
        if kind.startswith("DSP") and port in ("A", "B", "C", "D"):
            return 0 if self._parameter(name, f"{port}REG") else DSP
        return 0

    def arrival(self, bit, name, port):
        """When a bit is at an input of a cell."""
        kind = self.netlist.kind(name)
        own = (kind.startswith("MUXF") and port != "S") or self._chained(bit, name, port)
        wire = 0 if own else net(len(self.netlist.sinks[bit]))
        # What no cell drives is a port of the module: from a register on its other side.
        return self.at.get(bit, REGISTER) + wire

    def _chained(self, bit, name, port):
        driver = self.netlist.driver.get(bit, ("",))[0]
        return (port == "CI" and self.netlist.kind(name).startswith("CARRY") and driver
                and self.netlist.kind(driver).startswith("CARRY"))

    def _through(self, name):
        kind = self.netlist.kind(name)
        if kind.startswith("CARRY"):
            return self._through_carry(name)
        # The content of a distributed RAM comes from the clock edge of a write, too.
        at, back = (REGISTER, None) if self.netlist.is_ram(name) else (0, None)
        for port, bit in self.netlist.inputs(name):
            if self.netlist.arc(name, port) is not None:
                here = self.arrival(bit, name, port)
                if here > at:
                    at, back = here, bit
        for _, bit in self.netlist.outputs(name):
            self._set(bit, at + self._delay(name), back)

    def _delay(self, name):
        """Through a cell that is no carry chain."""
        kind = self.netlist.kind(name)
        if kind.startswith("MUXF"):
            return MUXF
        if kind.startswith("DSP"):
            return DSP
        return 0 if self.netlist.is_free(name) else LUT

    def _through_carry(self, name):
        """Carries go upwards: output i sees the inputs up to i."""
        connections = self.netlist.cells[name]["connections"]
        at, back = 0, None
        for bit in connections.get("CI", []):
            if not isinstance(bit, str):
                into = 0 if self._chained(bit, name, "CI") else CARRY
                at, back = self.arrival(bit, name, "CI") + into, bit
        for i in range(len(connections["S"])):
            at += CARRY_BIT
            for port in ("S", "DI"):
                bit = connections[port][i]
                if not isinstance(bit, str):
                    here = self.arrival(bit, name, port) + CARRY
                    if here > at:
                        at, back = here, bit
            for port in ("O", "CO"):
                out = connections.get(port, [])
                if i < len(out) and not isinstance(out[i], str):
                    self._set(out[i], at, back)

    def tails(self):
        """Of each bit that leads to an endpoint: the time from when it is driven to the latest of these."""
        tails = {}

        def note(name, pins):
            for port, bit, more in pins:
                wire = self.arrival(bit, name, port) - self.at.get(bit, REGISTER)
                tails[bit] = max(tails.get(bit, 0), wire + more)

        for name in self.netlist.cells:
            note(name, self._ends(name))
        for name in reversed(self.netlist.order):
            note(name, self._leads(name, tails))
        return tails

    def behind(self, name, tails):
        """(port, bit, time from there to the latest endpoint) of a cell's inputs that are one or lead to one."""
        yield from self._ends(name)
        yield from self._leads(name, tails)

    def _ends(self, name):
        """The same of inputs that are endpoints."""
        for port, bit in self.netlist.inputs(name):
            if self.netlist.arc(name, port) is None and port not in CLOCKS:
                yield port, bit, self._in(name, port)

    def _leads(self, name, tails):
        """The same of inputs from which a path goes on."""
        if self.netlist.kind(name).startswith("CARRY"):
            yield from self._leads_carry(name, tails)
            return
        ends = [tails[bit] for _, bit in self.netlist.outputs(name) if bit in tails]
        for port, bit in self.netlist.inputs(name) if ends else ():
            if self.netlist.arc(name, port) is not None:
                yield port, bit, self._delay(name) + max(ends)

    def _leads_carry(self, name, tails):
        connections = self.netlist.cells[name]["connections"]
        last = None
        for i in reversed(range(len(connections["S"]))):
            outs = (connections.get(port, [])[i:i + 1] for port in ("O", "CO"))
            ends = [tails[bit] for (bit,) in filter(None, outs) if bit in tails]
            ends += [] if last is None else [last + CARRY_BIT]
            last = max(ends, default=None)
            for port in ("S", "DI") if ends else ():
                if not isinstance(connections[port][i], str):
                    yield port, connections[port][i], CARRY + last
        for bit in connections.get("CI", []) if last is not None else ():
            if not isinstance(bit, str):
                into = 0 if self._chained(bit, name, "CI") else CARRY
                yield "CI", bit, into + CARRY_BIT + last

    def endpoints(self):
        """(ns, bit, cell, port) of every input of a register or RAM that a cell drives."""
        for name in self.netlist.cells:
            for port, bit, more in self._ends(name):
                if bit in self.at:
                    yield self.arrival(bit, name, port) + more, bit, name, port

    def path(self, bit, name):
        """Named nets on the way to an endpoint, each with its time."""
        nets = [self.netlist.label(name)]
        while bit is not None:
            if bit in self.netlist.names:
                nets.append(f"{self.netlist.names[bit]} {self.at.get(bit, REGISTER):.2f}")
            bit = self.back.get(bit)
        return nets[::-1]

    def fanouts(self, count):
        """The nets with the most sinks, clocks left out: (sinks, what drives it, its name)."""
        found = []
        for bit, sinks in self.netlist.sinks.items():
            if len(sinks) > MANY / 10 and not self.netlist.is_clock(bit):
                driver = self.netlist.driver.get(bit)
                kind = self.netlist.kind(driver[0]) if driver else "port"
                found.append((len(sinks), kind, self.netlist.names.get(bit, "")))
        return sorted(found, reverse=True)[:count]

    def write(self, ends, file):
        """Every endpoint, the latest first, as CSV."""
        with open(file, "w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(("ns", "slack", "levels", "to", "input", "from"))
            for ns, bit, name, port in ends:
                start = self.start.get(bit, bit)
                rows.writerow((f"{ns:.2f}", f"{PERIOD - ns:.2f}", self.netlist.level.get(bit, 0),
                               self.netlist.label(name), port,
                               self.netlist.names.get(start, "")))
