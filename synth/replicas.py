"""Replicas of registers and LUTs whose net is late, as vendors' tools make them: the sinks that are late get a driver
of their own, so their net has few of them. Replicas are cells as all others and count in the area; what a replica
costs is one more sink of every net that leads into it.
"""

from collections import Counter

from delay import PERIOD, REGISTER, Delays, net
from netlist import FLOPS

#: So many ns a replica has to bring, in round after round: first those behind which much is late, so that what lies
#: further behind needs none.
WORTH = (0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.08, 0.06, 0.06, 0.05, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02, 0.01, 0.01,
         0.005, 0.005, 0.002, 0.001)


def replicate(netlist):
    """Adds replicas to a netlist that was analysed, and analyses it again: how many of each kind of cell."""
    made = Counter()
    late = late_parts(netlist)
    for worth in WORTH:
        # All of a round is chosen by the times before it.
        parts = ((bit, late_part(pins, count, cost + worth)) for bit, (pins, count, cost) in late.items())
        chosen = [(bit, part) for bit, part in parts if part]
        for bit, part in chosen:
            kind = netlist.kind(netlist.driver[bit][0])
            made["FF" if kind in FLOPS else "LUT"] += 1
            netlist.replicate(bit, part)
        if chosen:
            netlist.analyse()
            late = late_parts(netlist)
    return made


def late_parts(netlist):
    """Of each bit that is late and can be replicated: its sorted pins (slack, cell, port), the count of its sinks, and
    the ns that a replica costs."""
    delays = Delays(netlist)
    tails = delays.tails()
    slack = {bit: PERIOD - delays.at.get(bit, REGISTER) - tail for bit, tail in tails.items()}
    pins = {bit: [] for bit in slack if slack[bit] < 0 and can_be_replicated(netlist, bit)}
    for sink in netlist.cells:
        for port, bit, more in delays.behind(sink, tails):
            if bit in pins:
                here = delays.arrival(bit, sink, port)
                if here > delays.at[bit]:  # else the sink lies beside the driver, without a net
                    pins[bit].append((PERIOD - here - more, sink, port))
    late = {}
    for bit in pins:
        # What comes before the driver gets later by the replica's inputs, as far as there is no slack.
        driver, _ = netlist.driver[bit]
        cost = 0
        for _, source in netlist.inputs(driver):
            if source in slack and not netlist.is_clock(source):
                sinks = len(netlist.sinks[source])
                cost = max(cost, net(sinks + 1) - net(sinks) - max(slack[source], 0))
        late[bit] = sorted(pins[bit]), len(netlist.sinks[bit]), cost
    return late


def can_be_replicated(netlist, bit):
    kind = netlist.kind(netlist.driver[bit][0]) if bit in netlist.driver else ""
    return (kind.startswith("LUT") or kind in FLOPS) and len(netlist.sinks[bit]) > 1 and not netlist.is_clock(bit)


def late_part(pins, count, cost):
    """Of a net's sorted (slack, cell, port), of `count` sinks in all, those for a replica; none if it brings no more
    than it costs."""
    late = [pin for pin in pins if pin[0] < 0]
    if not late:
        return []
    worst, wire = late[0][0], net(count)
    sizes = {len(late), count // 2, *(sum(slack < share * worst for slack, *_ in late) for share in (.25, .5, .75))}
    best, size = 0, 0
    for part in sorted(sizes - {0}):
        if part < count and part <= len(late):
            rest = late[part][0] if part < len(late) else 0
            gain = min(worst + wire - net(part), rest + wire - net(count - part), 0) - worst - cost
            if gain > best:
                best, size = gain, part
    return [(sink, port) for _, sink, port in late[:size]]
