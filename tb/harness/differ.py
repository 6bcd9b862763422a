"""Sends one stream to memcached and to others and compares their replies byte for byte.

CAS uniques are the one thing that may differ: they must correspond one to one over the whole run.
"""

import gzip
import json
import select
import time
from collections import defaultdict

from harness import reference
from harness.memcached.stream import SENTINEL, Burst, Cas
from harness.reference import BUILD

# No bytes from either server for so long: the reply will never be complete.
SILENCE_SECONDS = 60


class Mismatch(AssertionError):
    pass


META = {b"HD", b"VA", b"EN", b"NF", b"NS", b"EX"}


def meta(words):
    """A meta reply's words, CAS unique and key, with what depends on the clock taken out."""
    unique = key = None
    for i, word in enumerate(words[1:], 1):
        if word[:1] == b"c" and word[1:].isdigit():
            unique, words[i] = word[1:], b"c<cas>"
        elif word[:1] == b"t" and word[1:].isdigit():
            words[i] = (b"t", int(word[1:]))
        elif word[:1] == b"k":
            key = word[1:]
    return words, unique, key


def tokens(reply):
    """Splits replies into (text, CAS unique or None, key): a line, or one with its data."""
    out, at = [], 0
    while at < len(reply):
        end = reply.find(b"\r\n", at)
        if end < 0:
            out.append((reply[at:], None, None))
            break
        words = reply[at:end].split(b" ")
        if words[0] == b"VALUE" and len(words) in (4, 5) and words[3].isdigit():
            stop = end + 2 + int(words[3]) + 2
            unique = words[4] if len(words) == 5 else None
            head = b" ".join(words[:4]) + (b" <cas>" if unique else b"")
            out.append((head + reply[end:stop], unique, words[1]))
        elif words[0] in META:
            stop = end + 2
            if words[0] == b"VA" and len(words) > 1 and words[1].isdigit():
                stop += int(words[1]) + 2
            words, unique, key = meta(words)
            out.append((Timed(words, reply[end:stop]), unique, key))
        elif words[0] == b"ME":
            stop = end + 2
            words = [w for w in words if not w.startswith((b"la=", b"exp=", b"cas="))]
            out.append((b" ".join(words) + b"\r\n", None, None))
        else:
            stop = end + 2
            out.append((reply[at:stop], None, None))
        at = stop
    return out


class Timed(bytes):
    """A reply with times to live, which two servers may give some seconds apart: left out of the
    bytes, and compared apart from them."""

    #: Seconds: the longest burst so far, and two. One server is through with it sooner than the other.
    apart = 2

    def __new__(cls, words, tail):
        text = b" ".join(w if isinstance(w, bytes) else b"t<time>" for w in words) + tail
        self = super().__new__(cls, text)
        self.times = [w[1] for w in words if not isinstance(w, bytes)]
        return self

    def __eq__(self, other):
        def near(a, b):
            # Beyond 2^31 it is over, since a time that counts from the server's start.
            return abs(a - b) <= Timed.apart or min(a, b) > 1 << 31

        times = getattr(other, "times", [])
        same = len(times) == len(self.times) and all(map(near, self.times, times))
        return same and bytes(self) == bytes(other)

    __hash__ = bytes.__hash__


def packets(reply):
    """The same for the binary protocol: a packet's key is its opaque."""
    out, at = [], 0
    while at < len(reply):
        stop = at + 24 + int.from_bytes(reply[at + 8 : at + 12], "big")
        head = reply[at : at + 24]
        unique = b"%d" % int.from_bytes(head[16:], "big")
        if unique == b"0":
            unique = None
        out.append((head[:16] + reply[at + 24 : stop], unique, head[12:16]))
        at = stop
    return out


def brief(text, limit=160):
    shown = repr(bytes(text))[1:]
    if len(shown) <= limit:
        return shown
    return f"{shown[: limit // 2]} ..({len(text)} bytes).. {shown[-limit // 3 :]}"


class Uniques(defaultdict):
    """A `Pairing` of each server under test, by its place among the servers."""

    def __init__(self):
        super().__init__(Pairing)

    def number(self, cas, side):
        return self[side or 1].number(cas, min(side, 1))


class Pairing:
    """The correspondence of two servers' CAS uniques, and the last ones seen of each key."""

    def __init__(self):
        self.pairs = ({}, {})
        self.seen = {}  # key -> [older pair, newest pair]

    def match(self, a, b):
        return self.pairs[0].setdefault(a, b) == b and self.pairs[1].setdefault(b, a) == a

    def note(self, key, pair):
        known = self.seen.setdefault(key, [pair, pair])
        if known[1] != pair:
            self.seen[key] = [known[1], pair]

    def number(self, cas, side):
        pair = self.seen.get(cas.key)
        text = pair[0 if cas.stale else 1][side] if pair else b"99999999999"
        return int(text).to_bytes(8, "big") if cas.binary else text


def compare(ours, theirs, pairing, split=tokens):
    """None when the replies agree, else what differs. `theirs` is the reference."""
    a, b = split(theirs), split(ours)
    for i in range(max(len(a), len(b))):
        x = a[i] if i < len(a) else (b"(nothing)", None, None)
        y = b[i] if i < len(b) else (b"(nothing)", None, None)
        if x[0] == y[0] and (x[1] is None) == (y[1] is None):
            if x[1] is None:
                continue
            if pairing.match(x[1], y[1]):
                if x[2] is not None:
                    pairing.note(x[2], (x[1], y[1]))
                continue
            why = f"CAS uniques do not correspond: {x[1].decode()} and {y[1].decode()}"
        else:
            why = f"reply {i} differs"
            at = next((j for j, (p, q) in enumerate(zip(x[0], y[0])) if p != q), None)
            if at is not None and at > 60:
                why += f" from its byte {at}: {brief(x[0][at:])} against {brief(y[0][at:])}"
        before = "".join(f"    {brief(t[0])}\n" for t in a[max(0, i - 3) : i])
        return (
            f"{why}\n  equal before:\n{before}"
            f"  memcached:  {brief(x[0])}\n  under test: {brief(y[0])}\n"
            f"  then memcached:  {[brief(t[0], 60) for t in a[i + 1 : i + 4]]}\n"
            f"  then under test: {[brief(t[0], 60) for t in b[i + 1 : i + 4]]}"
        )
    return None


class Lane:
    """One connection to one server, with a burst going out and replies coming in."""

    def __init__(self, server):
        self.server = server
        self.socket = server.connect()
        self.socket.setblocking(False)
        self.pieces = []
        self.reply = bytearray()
        self.end = b""
        self.done = True
        self.closed = False

    def start(self, data, cuts, end):
        bounds = [0, *sorted({c for c in cuts if 0 < c < len(data)}), len(data)]
        self.pieces = [memoryview(data)[a:b] for a, b in zip(bounds, bounds[1:])]
        self.pieces = [p for p in self.pieces if len(p)]
        self.reply = bytearray()
        self.end = end
        self.done = False

    def write(self):
        try:
            sent = self.socket.send(self.pieces[0])
        except BlockingIOError:
            return
        except (ConnectionResetError, BrokenPipeError):
            self.pieces.clear()
            return
        self.pieces[0] = self.pieces[0][sent:]
        if not len(self.pieces[0]):
            self.pieces.pop(0)

    def read(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        self.reply += data
        self.closed = not data
        if self.closed:
            self.done = True
        elif self.end and not self.pieces:
            self.done = self.reply.endswith(self.end)


def exchange(lanes):
    """Runs all lanes until their replies are complete. Returns the names of the silent ones."""
    began = last = time.monotonic()
    while True:
        busy = [lane for lane in lanes if not lane.done]
        if not busy:
            Timed.apart = max(Timed.apart, 2 + int(time.monotonic() - began))
            return []
        # Not select(): thousands of connections have numbers that it cannot take.
        poll = select.poll()
        for lane in busy:
            poll.register(lane.socket, select.POLLIN | (select.POLLOUT if lane.pieces else 0))
        events = dict(poll.poll(1000))
        for lane in busy:
            event = events.get(lane.socket.fileno(), 0)
            if event & select.POLLOUT and lane.pieces:
                lane.write()
            if event & ~select.POLLOUT:
                lane.read()
        if events:
            last = time.monotonic()
        elif time.monotonic() - last > SILENCE_SECONDS:
            return [lane.server.name for lane in busy]


class Differ:
    """A connection to each server, the reference first; `run` sends bursts and raises Mismatch."""

    split = staticmethod(tokens)
    kind = "text"

    def __init__(self, *servers, uniques=None, label=""):
        self.servers = servers
        self.uniques = Uniques() if uniques is None else uniques
        self.label = label
        self.history = []
        self.lanes = None
        self.commands = 0

    def connect(self):
        if self.lanes is None:
            self.lanes = [Lane(server) for server in self.servers]

    def close(self):
        for lane in self.lanes or []:
            lane.socket.close()
        self.lanes = None

    def render(self, burst, side):
        return b"".join(
            p if isinstance(p, bytes) else self.uniques.number(p, side) for p in burst.parts()
        )

    def run(self, burst):
        self.connect()
        self.history.append(burst)
        self.commands += len(burst.commands)
        for side, lane in enumerate(self.lanes):
            data = self.render(burst, side)
            end = b"" if burst.closes else self.last_reply(burst)
            lane.start(data, burst.cuts, end)
        began = time.monotonic()
        silent = exchange(self.lanes)
        replies = [bytes(lane.reply) for lane in self.lanes]
        for side in range(1, len(self.lanes)):
            why = compare(replies[side], replies[0], self.uniques[side], self.split)
            if why is None and silent:
                why = f"no more bytes from {silent}; so far {brief(replies[side][-200:])}"
            if why is None and self.lanes[0].closed != self.lanes[side].closed:
                name = self.servers[0 if self.lanes[0].closed else side].name
                why = f"only {name} closed the connection"
            if why is not None:
                state = "closed" if self.lanes[side].closed else "silent" if silent else "open"
                why += f" (connection is {state}, {time.monotonic() - began:.0f} s after the burst)"
                self.servers[side].check_alive()
                self.fail(why, burst, side)
        if self.lanes[0].closed:
            self.close()
        return replies[0]

    def last_reply(self, burst):
        # "set <key> 0 0 16\r\n<nonce>\r\nget <key>\r\n"
        return b" 0 16\r\n" + burst.tail.split(b"\r\n")[1] + b"\r\nEND\r\n"

    def fail(self, why, burst, side):
        path = save(self.history, self.label)
        shown = [show(command) for command in burst.commands]
        if len(shown) > 24:
            shown[12:-12] = [f"({len(shown) - 24} more)"]
        shown = "\n    ".join(shown)
        option = f"--body {self.servers[side].name} --kind {self.kind}"
        raise Mismatch(
            f"{self.label}, {self.servers[side].name}: {why}\n  burst {len(self.history)}, {self.commands} commands so far, "
            f"cuts {burst.cuts[:20]}:\n    {shown}\n"
            f"  replay: python tb replay {path} {option} [--shrink]"
        )


def show(command):
    parts = (p if isinstance(p, bytes) else b"<unique of %s>" % p.key for p in command)
    return brief(b"".join(parts))


class BinaryDiffer(Differ):
    """Speaks the binary protocol; a `noop` ends each burst."""

    split = staticmethod(packets)
    kind = "binary"

    def last_reply(self, burst):
        return b"\x81" + burst.tail[1:24]


class UdpDiffer(Differ):
    """Bursts are datagrams; a datagram behind each asks for the sentinel, so nothing is awaited
    longer than needed and a reply that never comes shows at once."""

    kind = "udp"
    errors = 0
    #: The server under test answers datagrams in turn, and each command by a message. If not, as much is awaited as the
    #: reference has said, however it is split; the last message may come before or between the others.
    alike = True
    pieces = staticmethod(tokens)

    def connect(self):
        if self.lanes is None:
            self.lanes = [server.datagrams() for server in self.servers]
            self.request = 1

    def close(self):
        for lane in self.lanes or []:
            lane.close()
        self.lanes = None

    def run(self, burst):
        self.connect()
        self.history.append(burst)
        self.commands += len(burst.commands)
        self.request = request = (self.request + 2) & 0xFFFF
        replies = []
        for side, lane in enumerate(self.lanes):
            data = self.render(burst, side)
            header = b"\x00\x00\x00\x01\x00\x00"
            lane.send(request.to_bytes(2, "big") + header + data)
            last = (request + 1) & 0xFFFF
            try:
                if side and not self.alike:
                    replies.append(self.mixed(lane, request, len(self.pieces(b"".join(replies[0])))))
                    continue
                lane.send(last.to_bytes(2, "big") + header + b"get %s\r\n" % SENTINEL)
                replies.append(self.collect(lane, request, last))
            except TimeoutError as e:
                self.servers[side].check_alive()
                self.fail(str(e), burst, side)
            except ValueError as e:
                self.fail(str(e), burst, side)
        if not self.alike:
            replies[1:] = [self.in_turn(units, replies[0]) for units in replies[1:]]
        theirs, *others = [[u for u in r if u] for r in replies]
        # Ours send fifty errors at once, and then one a millisecond: no more are asked for.
        self.errors += sum(u.startswith((b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")) for u in theirs)
        if self.errors > 15:
            time.sleep(self.errors / 500)
            self.errors = 0
        for side, units in enumerate(others, 1):
            why = compare(b"".join(units), b"".join(theirs), self.uniques[side], self.split)
            if why is None and self.alike and [_shape(u) for u in theirs] != [_shape(u) for u in units]:
                shown = [[brief(u, 80) for u in messages] for messages in (theirs, units)]
                why = f"messages are split otherwise: {shown[0]} and {shown[1]}"
            if why is not None:
                self.fail(why, burst, side)

    def in_turn(self, units, theirs):
        """Messages as the reference has said them, with one of them behind the others."""
        def texts(units):
            return [text for text, _, _ in self.pieces(b"".join(units))]

        orders = [units[:i] + units[i + 1 :] + [units[i]] for i in reversed(range(len(units)))]
        return next((order for order in orders if texts(order) == texts(theirs)), units)

    def mixed(self, lane, request, enough):
        """Messages that have so many pieces, by the order in which they begin."""
        parts = []
        while len(self.pieces(b"".join(b"".join(part) for part, _ in parts))) < enough or any(len(p) < of for p, of in parts):
            if not reference.readable(lane, reference.SECONDS):
                raise TimeoutError(f"no more of the answer; so far {parts}")
            data = lane.recv(65536)
            ident, seq, of, reserved = (int.from_bytes(data[i : i + 2], "big") for i in (0, 2, 4, 6))
            if ident != request or reserved != 0 or len(data) > 1400 or (seq + 1 < of and len(data) != 1400):
                raise ValueError(f"wrong datagram {data[:8].hex()} of {len(data)} bytes, request {request:04x}")
            if seq == 0:
                parts.append(([], of))
            at = next((i for i, (part, total) in enumerate(parts) if len(part) == seq and total == of), None)
            if at is None:
                raise ValueError(f"datagram {seq} of {of} is in no message")
            parts[at][0].append(data[8:])
        return [b"".join(part) for part, _ in parts]

    def collect(self, lane, request, last):
        """The messages that answer `request`, put together from their datagrams."""
        messages, expect, total = [], 0, 0
        while True:
            if not reference.readable(lane, reference.SECONDS):
                raise TimeoutError(f"no answer to the datagram behind; so far {messages}")
            data = lane.recv(65536)
            if len(data) < 8:
                raise ValueError(f"datagram of {len(data)} bytes")
            ident, seq, of, reserved = (int.from_bytes(data[i : i + 2], "big") for i in (0, 2, 4, 6))
            if ident == last:
                if expect != total:
                    raise ValueError(f"message ends after {expect} of {total} datagrams")
                return messages
            if len(data) == 8:  # memcached: an empty unit, when a get starts with a miss
                continue
            if ident != request or reserved != 0:
                raise ValueError(f"wrong header {data[:8].hex()}, request {request:04x}")
            if expect == total:
                messages.append(b"")
                expect, total = 0, of
            if seq != expect or of != total:
                raise ValueError(f"datagram {seq} of {of}, expected {expect} of {total}")
            if len(data) > 1400 or (seq + 1 < of and len(data) != 1400):
                raise ValueError(f"datagram {seq} of {of} has {len(data)} bytes")
            messages[-1] += data[8:]
            expect += 1


def _shape(unit):
    # A unit's length without its CAS unique, whose digits may differ.
    return sum(len(text) for text, _, _ in tokens(unit))


# -- replay files


def save(history, label):
    BUILD.mkdir(parents=True, exist_ok=True)
    safe = "".join(c if c.isalnum() else "_" for c in label) or "stream"
    path = BUILD / f"{safe}.replay.gz"
    with gzip.open(path, "wt", compresslevel=1) as f:
        for burst in history:
            f.write(json.dumps(to_json(burst)) + "\n")
    return path


def load(path):
    with gzip.open(path, "rt") as f:
        return [from_json(json.loads(line)) for line in f]


def to_json(burst):
    return {
        "commands": [[_part_to_json(p) for p in command] for command in burst.commands],
        "tail": burst.tail.decode("latin-1"),
        "cuts": burst.cuts,
        "closes": burst.closes,
    }


def _part_to_json(part):
    if isinstance(part, bytes):
        return part.decode("latin-1")
    return {"cas": part.key.decode("latin-1"), "stale": part.stale, "binary": part.binary}


def from_json(d):
    commands = [[_part_from_json(p) for p in command] for command in d["commands"]]
    return Burst(commands, d["tail"].encode("latin-1"), d["cuts"], d["closes"])


def _part_from_json(part):
    if isinstance(part, str):
        return part.encode("latin-1")
    return Cas(part["cas"].encode("latin-1"), part["stale"], part.get("binary", False))


KINDS = {kind.kind: kind for kind in (Differ, BinaryDiffer, UdpDiffer)}
