"""Plays bursts to Redis and to another server, and compares the replies."""

import gzip
import json

from harness import differ
from harness.differ import Mismatch, brief
from harness.reference import BUILD
from harness.resp import allowed, generate, wire


class Lane(differ.Lane):
    """A connection to one server. Knows where each reply ends."""

    def start(self, data, cuts, replies):
        super().start(data, cuts, b"")
        self.awaited = replies  # None: until the server closes
        self.ends = []

    def read(self):
        super().read()
        while (stop := wire.end(self.reply, self.ends[-1] if self.ends else 0)) is not None:
            self.ends.append(stop)
        if self.awaited is not None and len(self.ends) >= self.awaited and not self.pieces:
            self.done = True

    def split(self):
        starts = [0, *self.ends]
        found = [bytes(self.reply[a:b]) for a, b in zip(starts, self.ends)]
        rest = bytes(self.reply[starts[-1] :])
        return found + [rest] if rest else found


class Play:
    """A number of connections to each of two servers, Redis first; `run` raises Mismatch."""

    def __init__(self, *servers, label="resp"):
        self.servers = servers
        self.label = label
        self.lanes = {}
        self.queues = {}  # what may differ of the commands that a transaction has queued
        self.history = []
        self.commands = 0
        self.names = {}  # command -> how often it was answered with an error, and otherwise

    def run(self, burst):
        if burst.connection not in self.lanes:
            self.lanes[burst.connection] = [Lane(server) for server in self.servers]
            self.queues[burst.connection] = []
        self.history.append(burst)
        self.commands += len(burst.commands)
        lanes = self.lanes[burst.connection]
        awaited = None if burst.closes else sum(c.replies for c in burst.commands)
        for side, lane in enumerate(lanes):
            data = b"".join(c.ours if side and c.ours else c.data for c in burst.commands)
            lane.start(data, burst.cuts, awaited)
        try:
            silent = differ.exchange(lanes)
        except (wire.Malformed, ValueError) as e:
            said = [brief(lane.reply[-300:]) for lane in lanes]
            self.fail(f"malformed: {e}; Redis {said[0]}, under test {said[1]}", burst)
        theirs, ours = (lane.split() for lane in lanes)
        why = self.compare(burst, theirs, ours)
        if why is None and silent:
            why = f"no more bytes from {silent}; so far {brief(lanes[1].reply[-200:])}"
        if why is None and lanes[0].closed != lanes[1].closed:
            why = f"only {'Redis' if lanes[0].closed else 'the server under test'} closed the connection"
        if why is not None:
            self.servers[1].check_alive()
            self.fail(why, burst)
        if lanes[0].closed:
            for lane in self.lanes.pop(burst.connection):
                lane.socket.close()

    def compare(self, burst, theirs, ours):
        asked = [c for c in burst.commands for _ in range(c.replies)]
        if burst.closes and len(theirs) > len(asked):
            asked += [burst.commands[-1]] * (len(theirs) - len(asked))
        queue = self.queues[burst.connection]
        for i, command in enumerate(asked):
            a = theirs[i] if i < len(theirs) else b"(nothing)"
            b = ours[i] if i < len(ours) else b"(nothing)"
            if a != b and not self.alike(command, a, b, queue):
                return self.differs(command, i, asked, theirs, ours)
            count = self.names.setdefault(command.name, [0, 0])
            count[a[:1] != b"-"] += 1
            if a == b"+QUEUED\r\n":
                queue.append(command.loose)
            elif command.name in (b"EXEC", b"DISCARD", b"MULTI", b"RESET"):
                if a[:1] != b"-" or a.startswith(b"-EXECABORT"):
                    queue.clear()
        extra = ours[len(asked) :]
        return f"more than Redis answers: {brief(b''.join(extra))}" if extra else None

    def alike(self, command, a, b, queue):
        try:
            x, y = wire.read(a)[0], wire.read(b)[0]
        except (ValueError, IndexError):
            return False
        if command.name == b"EXEC" and x[0] == y[0] == b"*" and x[1] and y[1]:
            if len(x[1]) == len(y[1]) == len(queue):
                return all(map(allowed.may_differ, queue, x[1], y[1]))
        return allowed.may_differ(command.loose, x, y)

    def differs(self, command, i, asked, theirs, ours):
        def show(replies, at):
            return brief(replies[at], 400) if at < len(replies) else "(nothing)"

        before = "".join(f"    {brief(asked[j].ours or asked[j].data)} -> {show(theirs, j)[:160]}\n"
                         for j in range(max(0, i - 4), i))  # fmt: skip
        return (f"reply {i} differs\n  equal before:\n{before}"
                f"  command:    {brief(command.ours or command.data, 600)}\n"
                f"  Redis:      {show(theirs, i)}\n  under test: {show(ours, i)}")  # fmt: skip

    def fail(self, why, burst):
        path = save(self.history, self.label)
        raise Mismatch(
            f"{self.label}: {why}\n  burst {len(self.history)} on connection {burst.connection}, "
            f"{self.commands} commands so far, cuts {burst.cuts[:20]}\n"
            f"  replay: python tb resp --replay {path} [--shrink]"
        )

    def close(self):
        for lanes in self.lanes.values():
            for lane in lanes:
                lane.socket.close()
        self.lanes.clear()


def save(history, label):
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{label}.replay.gz"
    with gzip.open(path, "wt", compresslevel=1) as f:
        for burst in history:
            commands = [[c.data.decode("latin-1"), c.ours.decode("latin-1") if c.ours else None, c.replies,
                         c.loose, c.name.decode("latin-1")] for c in burst.commands]  # fmt: skip
            f.write(json.dumps([burst.connection, commands, burst.cuts, burst.closes]) + "\n")
    return path


def load(path):
    history = []
    with gzip.open(path, "rt") as f:
        for line in f:
            connection, commands, cuts, closes = json.loads(line)
            commands = [generate.Command(d.encode("latin-1"), o.encode("latin-1") if o else None, n, loose,
                                         name.encode("latin-1")) for d, o, n, loose, name in commands]  # fmt: skip
            history.append(generate.Burst(connection, commands, cuts, closes))
    return history
