"""LUTs of late paths made anew, as vendors' tools restructure what turns out late when the nets are known.

Where the latest input of a LUT comes from another one, that stays for its other sinks, if it has any, and the later
one takes it in: as a LUT of all of their inputs, if these are six at most; else its own latest input chooses between
what both say with it and without it. So the path is a level shorter.
"""

from itertools import chain

from delay import LUT, PERIOD, REGISTER, Delays, net

#: So many ns it has to bring.
WORTH = 0.02
INPUTS = 6


def restructure(netlist):
    """Changes a netlist that was analysed, and analyses it again: how many LUTs took in another."""
    made = 0
    while True:
        delays = Delays(netlist)
        tails = delays.tails()
        # By the times before the round: what has to do with a LUT that has changed waits for the next.
        chosen, changed = 0, set()
        for name in list(netlist.order):
            if name in netlist.cells and is_late(netlist, delays, tails, name) and taken_in(
                    netlist, delays, tails, name, changed):
                chosen += 1
        netlist.analyse()
        if not chosen:
            return made
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
    bits = {bit for _, bit in netlist.inputs(name)}
    middle = max(bits, key=lambda bit: (delays.at.get(bit, REGISTER) + net(len(netlist.sinks[bit])), bit))
    before, _ = netlist.driver.get(middle, ("", ""))
    if not is_lut(netlist, before) or changed & {name, before}:
        return False
    theirs = {bit for _, bit in netlist.inputs(before)}
    own, alone = bits - {middle}, set(netlist.sinks[middle]) == {name}

    def there(bit, more):
        return delays.at.get(bit, REGISTER) + net(len(netlist.sinks[bit]) + more)

    def bear(more):
        """The nets have other sinks, too: none that is in time becomes late by so many more."""
        for bit, n in more.items():
            ends, sinks = delays.at.get(bit, REGISTER) + tails.get(bit, 0), len(netlist.sinks[bit])
            if n > 0 and ends <= PERIOD < ends + net(sinks + n) - net(sinks):
                return False
        return True

    was = there(middle, 0)
    if len(own | theirs) <= INPUTS:
        more = {bit: (bit not in own) - alone for bit in theirs}
        if max(there(bit, more.get(bit, 0)) for bit in own | theirs) > was - WORTH or not bear(more):
            return False
        become(netlist, name, own | theirs, lambda value: says(
            netlist, name, {**value, middle: says(netlist, before, value)}))
    else:
        late = max(theirs, key=lambda bit: (there(bit, 0), bit))
        if late in own:
            return False
        rest = theirs - {late}
        # Two LUTs more for what it chooses between, and two more where these do not see all of it at once.
        direct = len(own | rest) <= INPUTS
        more = {bit: (2 if direct else 2 * (bit in own) + 2 * (bit in rest)) - (bit in own) - (alone and bit in rest)
                for bit in own | rest} | {late: 1 - alone}
        behind = {bit: (1 if direct or bit not in rest else 2) * (LUT + net(1)) for bit in own | rest} | {late: 0}
        if max(there(bit, more[bit]) + behind[bit] for bit in behind) > was - WORTH or not bear(more):
            return False
        halves = []
        for half in (0, 1):
            if direct:
                halves.append(add(netlist, name, f"$half{half}", own | rest, lambda value, half=half: says(
                    netlist, name, {**value, middle: says(netlist, before, {**value, late: half})})))
            else:
                inner = add(netlist, before, f"$inner{half}", rest, lambda value, half=half: says(
                    netlist, before, {**value, late: half}))
                halves.append(add(netlist, name, f"$half{half}", own | {inner}, lambda value, inner=inner: says(
                    netlist, name, {**value, middle: value[inner]})))
        become(netlist, name, {late, *halves}, lambda value: value[halves[value[late]]])
    changed |= {name, before}
    for bit in chain(own, theirs):
        changed.add(netlist.driver.get(bit, ("",))[0])
    changed.discard("")
    if not netlist.sinks[middle]:
        for _, bit in netlist.inputs(before):
            netlist.sinks[bit].remove(before)
        del netlist.cells[before], netlist.driver[middle]
    return True


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
