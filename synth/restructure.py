"""LUTs of late paths made anew, as vendors' tools restructure what turns out late when the nets are known.

Where the latest input of a LUT comes from another one, that stays for its other sinks, if it has any, and the later
one takes it in: as a LUT of all of their inputs, if these are six at most; else its own latest input chooses between
what both say with it and without it. So the path is a level shorter.
"""

from delay import LUT, PERIOD, REGISTER, Delays, net

#: So many ns it has to bring.
WORTH = 0.02
INPUTS = 6


def restructure(netlist):
    """Changes a netlist that was analysed, and analyses it again: how many LUTs took in another."""
    made, late = 0, float("inf")
    while True:
        delays = Delays(netlist)
        # What one path gains another may lose: a round that does not bring anything is the last one.
        before, late = late, sum(max(ns - PERIOD, 0) for ns, *_ in delays.endpoints())
        if late > before - WORTH:
            return made
        tails = delays.tails()
        # By the times before the round: what has to do with a LUT that has changed waits for the next.
        chosen, changed = 0, set()
        for name in list(netlist.order):
            if name in netlist.cells and is_late(netlist, delays, tails, name) and taken_in(
                    netlist, delays, tails, name, changed):
                chosen += 1
        netlist.analyse()
        made += chosen


def is_lut(netlist, name):
    return bool(name) and netlist.kind(name).startswith("LUT")


def output(netlist, name):
    (bit,) = (bit for _, bit in netlist.outputs(name))
    return bit


def is_late(netlist, delays, tails, name):
    if not is_lut(netlist, name):
        return False
    bit = output(netlist, name)
    return bit in tails and delays.at[bit] + tails[bit] > PERIOD


def taken_in(netlist, delays, tails, name, changed):
    """The LUT takes in the one before it on its latest path, if that helps, and nothing else becomes late."""
    pair = Pair(netlist, delays, tails, name)
    if not is_lut(netlist, pair.before) or changed & {name, pair.before}:
        return False
    few = len(pair.own | pair.theirs) <= INPUTS
    return pair.merge(changed) if few else pair.choose(changed)


class Pair:
    """A LUT, and the one before it on its latest path."""

    def __init__(self, netlist, delays, tails, name):
        self.netlist, self.delays, self.tails, self.name = netlist, delays, tails, name
        bits = {bit for _, bit in netlist.inputs(name)}
        #: The bit between the two, the LUT's other inputs, and whether the one before it has no other sink.
        self.middle = max(bits, key=lambda bit: (self.there(bit), bit))
        self.own, self.alone = bits - {self.middle}, set(netlist.sinks[self.middle]) == {name}
        self.before, _ = netlist.driver.get(self.middle, ("", ""))
        #: The inputs of the one before.
        self.theirs = {bit for _, bit in netlist.inputs(self.before)} if self.before else set()

    def at(self, bit):
        return self.delays.at.get(bit, REGISTER)

    def there(self, bit, more=0):
        """When a bit is at its sinks, if these are so many more."""
        return self.at(bit) + net(len(self.netlist.sinks[bit]) + more)

    def worth_it(self, more, behind):
        """Its inputs are there soon enough, with so many sinks more and so many ns behind them; and of their other
        sinks none that is in time becomes late by that."""
        if max(self.there(bit, more[bit]) + behind.get(bit, 0) for bit in more) > self.there(self.middle) - WORTH:
            return False
        for bit, n in more.items():
            ends, sinks = self.at(bit) + self.tails.get(bit, 0), len(self.netlist.sinks[bit])
            if n > 0 and ends <= PERIOD < ends + net(sinks + n) - net(sinks):
                return False
        return True

    def merge(self, changed):
        """One LUT of all inputs."""
        own, theirs = self.own, self.theirs
        if not self.worth_it(dict.fromkeys(own, 0) | {bit: (bit not in own) - self.alone for bit in theirs}, {}):
            return False
        self.become(own | theirs, lambda value: self.end({**value, self.middle: self.first(value)}), changed)
        return True

    def choose(self, changed):
        """The latest input of the LUT before chooses between what both say with it and without it."""
        netlist, own, rest = self.netlist, self.own, set(self.theirs)
        late = max(rest, key=lambda bit: (self.there(bit), bit))
        if late in own:
            return False
        rest.remove(late)
        # Two LUTs more for what it chooses between, and two more where these do not see all of it at once.
        direct = len(own | rest) <= INPUTS
        more = {bit: (2 if direct else 2 * (bit in own) + 2 * (bit in rest)) - (bit in own)
                - (self.alone and bit in rest) for bit in own | rest} | {late: 1 - self.alone}
        behind = {bit: (1 if direct or bit not in rest else 2) * (LUT + net(1)) for bit in own | rest}
        if not self.worth_it(more, behind):
            return False

        def half(says_late):
            def both(value):
                return self.end({**value, self.middle: self.first({**value, late: says_late})})

            if direct:
                return add(netlist, self.name, f"$half{says_late}", own | rest, both)
            inner = add(netlist, self.before, f"$inner{says_late}", rest,
                        lambda value: self.first({**value, late: says_late}))
            return add(netlist, self.name, f"$half{says_late}", own | {inner},
                       lambda value: self.end({**value, self.middle: value[inner]}))

        halves = half(0), half(1)
        self.become({late, *halves}, lambda value: value[halves[value[late]]], changed)
        return True

    def first(self, value):
        return says(self.netlist, self.before, value)

    def end(self, value):
        return says(self.netlist, self.name, value)

    def become(self, inputs, function, changed):
        """The LUT changes, the one before it goes if it has no other sink; notes whose times are no longer true."""
        netlist = self.netlist
        become(netlist, self.name, inputs, function)
        changed |= {self.name, self.before}
        changed |= {netlist.driver[bit][0] for bit in self.own | self.theirs if bit in netlist.driver}
        if self.alone:
            for _, bit in netlist.inputs(self.before):
                netlist.sinks[bit].remove(self.before)
            del netlist.cells[self.before], netlist.driver[self.middle]


def says(netlist, name, value):
    """What a LUT says where its inputs have these values, by bit."""
    cell = netlist.cells[name]
    index = 0
    for port, (bit,) in cell["connections"].items():
        if port != "O":
            index |= (int(bit == "1") if isinstance(bit, str) else value[bit]) << int(port[1:])
    return int(str(cell["parameters"]["INIT"]), 2) >> index & 1


def lut(cell, inputs, function, out):
    """A cell like this one, but a LUT of these bits that says `function` of their values."""
    inputs = sorted(inputs)
    rows = range((1 << len(inputs)) - 1, -1, -1)
    init = "".join(str(function({bit: row >> i & 1 for i, bit in enumerate(inputs)})) for row in rows)
    ports = {f"I{i}": [bit] for i, bit in enumerate(inputs)} | {"O": [out]}
    return {**cell, "type": f"LUT{len(inputs)}", "parameters": {**cell["parameters"], "INIT": init},
            "connections": ports, "port_directions": {p: "output" if p == "O" else "input" for p in ports}}


def become(netlist, name, inputs, function):
    new = lut(netlist.cells[name], inputs, function, output(netlist, name))
    for _, bit in netlist.inputs(name):
        netlist.sinks[bit].remove(name)
    netlist.cells[name] = new
    for bit in inputs:
        netlist.sinks[bit].append(name)


def add(netlist, like, suffix, inputs, function):
    """A new LUT; the bit that it drives."""
    netlist.last = out = netlist.last + 1
    name = f"{like}{suffix}_{out}"
    netlist.cells[name] = lut(netlist.cells[like], inputs, function, out)
    netlist.driver[out] = name, "O"
    for bit in inputs:
        netlist.sinks[bit].append(name)
    return out
