"""What Yosys made of a module: its cells and nets, whose they are, and levels of logic."""

import json
from collections import defaultdict

# LUTs that a distributed RAM or shift register takes.
LUTRAM = {"RAM32X1S": 1, "RAM32X1D": 2, "RAM64X1S": 1, "RAM64X1D": 2, "RAM128X1S": 2,
          "RAM128X1D": 4, "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4,
          "RAM32M16": 8, "RAM64M8": 8, "RAM64X8SW": 8, "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1}
BRAM = {"RAMB18E2": 0.5, "RAMB36E2": 1, "RAMB18E1": 0.5, "RAMB36E1": 1}
FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
LATCHES = ("LDCE", "LDPE", "$_DLATCH", "$dlatch", "$_SR_", "$sr")
FREE = ("INV", "BUF", "IBUF", "OBUF", "BUFG", "BUFGCTRL")  # an inverter merges into its neighbours


class Netlist:
    def __init__(self, path, top, modules):
        module = json.load(open(path))["modules"][top]
        self.modules, self.top = modules, top
        self.cells = module["cells"]
        self.names = self._names(module["netnames"])
        self.driver, self.sinks = {}, defaultdict(list)
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                out = cell["port_directions"][port] == "output"
                for i, bit in enumerate(bits):
                    if isinstance(bit, str):
                        continue  # a constant
                    if out:
                        self.driver[bit] = name, port
                    else:
                        self.sinks[bit].append(name)
        self.last = max([*self.driver, *self.sinks], default=0)

    def replicate(self, bit, pins):
        """A second cell of the one that drives the bit alone, which drives these (cell, port) instead."""
        name, port = self.driver[bit]
        cell = self.cells[name]
        self.last = new = self.last + 1
        copy = f"{name}$replica{new}"
        self.cells[copy] = {**cell, "connections": {**cell["connections"], port: [new]}}
        self.driver[new] = copy, port
        for _, source in self.inputs(copy):
            self.sinks[source].append(copy)
        for sink, to in pins:
            bits = self.cells[sink]["connections"][to]
            self.cells[sink]["connections"][to] = [new if b == bit else b for b in bits]
            for _ in range(bits.count(bit)):
                self.sinks[bit].remove(sink)
                self.sinks[new].append(sink)
        if bit in self.names:
            self.names[new] = self.names[bit]

    @staticmethod
    def _names(netnames):
        """Name of each bit; registers are called *_q, ports of inner modules only borrow it."""
        def rank(name):
            field = name.rsplit("[", 1)[0]
            return field.endswith("_q") or "_q." in field, name.count(".")

        names = {}
        for name, net in netnames.items():
            if net["hide_name"]:
                continue
            key = rank(name)
            for i, bit in enumerate(net["bits"]):
                label = f"{name}[{i}]" if len(net["bits"]) > 1 else name
                if bit not in names or key > names[bit][0]:
                    names[bit] = key, label
        return {bit: label for bit, (_, label) in names.items()}

    def kind(self, name):
        return self.cells[name]["type"]

    def outputs(self, name):
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                yield from ((port, b) for b in bits if not isinstance(b, str))

    def inputs(self, name):
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                yield from ((port, b) for b in bits if not isinstance(b, str))

    # ------------------------------------------------------------ what belongs to whom
    def instance(self, name):
        """Innermost instance that a named thing lies in."""
        parts = name.removeprefix("$flatten").replace("\\", "").split(".")
        for n in range(len(parts) - 1, 0, -1):
            path = ".".join(parts[:n])
            if path in self.modules:
                return path
        return ""

    def owners(self):
        """Instance of every cell: registers and RAMs by name, logic by what it drives."""
        owner = {}
        for name in self.cells:
            if self.kind(name) in FLOPS:
                nets = (self.names[b] for _, b in self.outputs(name) if b in self.names)
                owner[name] = self.instance(next(nets, ""))
            elif self.is_ram(name) or self.kind(name).startswith("DSP"):
                owner[name] = self.instance(name)
        for name in reversed(self.order):
            if name not in owner:
                sinks = (s for _, b in self.outputs(name) for s in self.sinks[b] if s in owner)
                owner[name] = owner.get(next(sinks, ""), "")
        return {name: owner.get(name, "") for name in self.cells}

    def is_ram(self, name):
        kind = self.kind(name)
        return kind in LUTRAM or kind in BRAM or kind.startswith("URAM")

    def is_free(self, name):
        return self.kind(name) in FREE

    def is_clock(self, bit):
        name = self.names.get(bit, "")
        return name.rsplit(".", 1)[-1] == "clk_i"

    def label(self, name):
        """What a cell is called: a net that it drives, if one has a name."""
        return next((self.names[b] for _, b in self.outputs(name) if b in self.names), name)

    # ------------------------------------------------------------ depth
    def arc(self, name, port):
        """Levels from an input port through the cell, or None where a path ends there."""
        kind = self.kind(name)
        if kind.startswith(("LUT", "$lut")):
            return 1
        if kind.startswith("MUXF") or kind in FREE:
            return 0
        if kind in ("CARRY4", "CARRY8"):
            return 0 if port.startswith("CI") else 1
        if kind in LUTRAM:  # reading is a look-up; with one address of several there is only writing
            if port.startswith("ADDR") and f"DO{port[4:]}" not in self.cells[name]["connections"]:
                return None
            return 1 if port.startswith(("A", "DPRA")) else None
        if kind.startswith("DSP48"):
            registers = ("AREG", "BREG", "MREG", "PREG")
            parameters = self.cells[name]["parameters"]
            registered = any(int(str(parameters.get(r, "1")), 2) for r in registers)
            return None if registered or port == "CLK" else 2
        return None

    def analyse(self):
        """Finds the level of every bit that logic drives; returns the cells of loops."""
        self.order, self.level, self.back = [], {}, {}
        # In an order that does not change from run to run.
        logic = dict.fromkeys(n for n in self.cells if any(self.arc(n, p) is not None for p, _ in self.inputs(n)))
        pending = {
            name: {bit for port, bit in self.inputs(name) if self.arc(name, port) is not None
                   and self.driver.get(bit, ("",))[0] in logic}
            for name in logic
        }
        ready = [name for name, bits in pending.items() if not bits]
        while ready:
            name = ready.pop()
            self.order.append(name)
            level, last = (1 if self.kind(name) in LUTRAM else 0), None
            for port, bit in self.inputs(name):
                arc = self.arc(name, port)
                if arc is not None and (last is None or self.level.get(bit, 0) + arc > level):
                    level, last = max(level, self.level.get(bit, 0) + arc), bit
            for _, bit in self.outputs(name):
                self.level[bit], self.back[bit] = level, last
                for sink in dict.fromkeys(s for s in self.sinks[bit] if bit in pending.get(s, ())):
                    pending[sink].discard(bit)
                    if not pending[sink]:
                        ready.append(sink)
        return [name for name, bits in pending.items() if bits]

    def endpoints(self):
        """(level, bit, cell) of every register and RAM input."""
        for name in self.cells:
            for port, bit in self.inputs(name):
                if self.arc(name, port) is None and bit in self.level:
                    yield self.level.get(bit, 0), bit, name

    def path(self, bit, cell):
        """Named nets on the way to an endpoint."""
        nets = [self.label(cell)]
        while bit is not None:
            if bit in self.names:
                nets.append(self.names[bit])
            bit = self.back.get(bit)
        return nets[::-1]
