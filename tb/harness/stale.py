"""Whether a cache gives old values: writers and readers at the same time, and a ledger of what a read may give.

Each key has one writer. What it writes has a version, which grows with each command and stands at the end of the value. A
read gives no version below that of the last command that was answered before the read was sent, nor below what anybody had
read by then (its *floor*). A command that was not answered, or with an error, may be executed whenever: its writer leaves
the key alone from then on, and has another one in its place. Times are the server's own: a thread asks it."""

import contextlib
import io
import itertools
import random
import re
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass

from harness import reference
from harness.memcached import packets
from harness.resp import wire
from harness.threads import together

SIZES = [0, 8, 50, 50, 200, 200, 700, 3_000]
LARGE = [9_000, 30_000, 60_000]
WRITERS = READERS = 16


class Gone(Exception):
    """The connection was closed, or is of no more use."""


@contextlib.contextmanager
def gone():
    """Of a system call: silence is no end."""
    try:
        yield
    except TimeoutError:
        raise
    except OSError as e:
        raise Gone(str(e)) from e


@dataclass
class Command:
    what: str
    key: bytes
    version: int = 0
    value: bytes = b""
    expiry: int = 0
    unique: int = 0


@dataclass
class Reply:
    status: str  # ok, absent, exists, error, lost
    value: bytes | None = None
    unique: int = 0


class Connection:
    """Sends commands, and gives their replies."""

    def __init__(self, server):
        self.socket = server.connect(timeout=reference.SECONDS)
        self.file = self.socket.makefile("rb", 1 << 16)

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, commands):
        with gone():
            self.socket.sendall(b"".join(map(self.request, commands)))

    def bytes(self, count):
        with gone():
            data = self.file.read(count)
        if len(data) != count:
            raise Gone("closed")
        return data

    def line(self):
        with gone():
            line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise Gone("closed")
        return line[:-2]


STATUS = {b"STORED": "ok", b"DELETED": "ok", b"TOUCHED": "ok", b"OK": "ok", b"HD": "ok", b"NOT_FOUND": "absent", b"NF": "absent",
          b"NOT_STORED": "absent", b"NS": "absent", b"EN": "absent", b"EXISTS": "exists", b"EX": "exists"}  # fmt: skip


class Text(Connection):
    def request(self, c):
        match c.what:
            case "get" | "several":
                return b"get %s\r\n" % c.key
            case "gets":
                return b"gets %s\r\n" % c.key
            case "cas":
                return b"cas %s 0 %d %d %d\r\n%s\r\n" % (c.key, c.expiry, len(c.value), c.unique, c.value)
            case "set" | "append":
                return b"%s %s 0 %d %d\r\n%s\r\n" % (c.what.encode(), c.key, c.expiry, len(c.value), c.value)
            case "delete":
                return b"delete %s\r\n" % c.key
            case "incr":
                return b"incr %s 1\r\n" % c.key
            case "touch":
                return b"touch %s %d\r\n" % (c.key, c.expiry)
            case "flush":
                return b"flush_all\r\n"

    def reply(self, c):
        line = self.line()
        words = line.split(b" ")
        if c.what == "several":
            found = {}
            while words[0] == b"VALUE":
                found[words[1]] = self.bytes(int(words[3]) + 2)[:-2]
                words = self.line().split(b" ")
            return Reply("ok" if words == [b"END"] else "error", found)
        if words[0] == b"VALUE":
            value = self.bytes(int(words[3]) + 2)[:-2]
            assert self.line() == b"END", line
            assert words[1] == c.key, (c, line)
            return Reply("ok", value, int(words[4]) if len(words) > 4 else 0)
        if words[0] == b"END":
            return Reply("absent")
        if words[0].isdigit():
            return Reply("ok", words[0])
        assert line in STATUS or line.startswith(b"SERVER_ERROR"), (c, line)
        return Reply(STATUS.get(line, "error"))


class Meta(Connection):
    def request(self, c):
        match c.what:
            case "get":
                return b"mg %s v\r\n" % c.key
            case "gets":
                return b"mg %s c v k\r\n" % c.key
            case "cas":
                return b"ms %s %d T%d C%d\r\n%s\r\n" % (c.key, len(c.value), c.expiry, c.unique, c.value)
            case "set":
                return b"ms %s %d T%d\r\n%s\r\n" % (c.key, len(c.value), c.expiry, c.value)
            case "append":
                return b"ms %s %d MA\r\n%s\r\n" % (c.key, len(c.value), c.value)
            case "delete":
                return b"md %s\r\n" % c.key
            case "incr":
                return b"ma %s v\r\n" % c.key
            case "touch":
                return b"mg %s T%d\r\n" % (c.key, c.expiry)
            case "flush":
                return b"flush_all\r\n"

    def reply(self, c):
        line = self.line()
        words = line.split(b" ")
        if words[0] == b"VA":
            value = self.bytes(int(words[1]) + 2)[:-2]
            return Reply("ok", value, next((int(w[1:]) for w in words[2:] if w[:1] == b"c"), 0))
        assert words[0] in STATUS or line.startswith(b"SERVER_ERROR"), (c, line)
        return Reply(STATUS.get(words[0], "error"))


class Binary(Connection):
    OPCODES = {"get": 0x00, "gets": 0x0C, "set": 0x01, "cas": 0x01, "append": 0x0E, "delete": 0x04, "incr": 0x05, "touch": 0x1C,
               "flush": 0x08}  # fmt: skip
    STATUSES = {0: "ok", 1: "absent", 2: "exists", 5: "absent"}

    def request(self, c):
        extras = b""
        match c.what:
            case "set" | "cas":
                extras = bytes(4) + c.expiry.to_bytes(4, "big")
            case "incr":
                extras = (1).to_bytes(8, "big") + bytes(8) + b"\xff" * 4
            case "touch":
                extras = c.expiry.to_bytes(4, "big")
        return packets.whole(self.OPCODES[c.what], c.key if c.what != "flush" else b"", extras, c.value,
                             cas=c.unique.to_bytes(8, "big"))  # fmt: skip

    def reply(self, c):
        head = self.bytes(24)
        assert head[0] == 0x81 and head[1] == self.OPCODES[c.what], (c, head)
        body = self.bytes(int.from_bytes(head[8:12], "big"))
        status = self.STATUSES.get(int.from_bytes(head[6:8], "big"), "error")
        value = None
        if status == "ok" and c.what in ("get", "gets", "incr"):
            value = body[int.from_bytes(head[2:4], "big") + head[4] :]
            value = b"%d" % int.from_bytes(value, "big") if c.what == "incr" else value
        return Reply(status, value, int.from_bytes(head[16:24], "big"))


class Redis(Connection):
    """RESP: a memcached's command is what does the same to a string."""

    def request(self, c):
        ttl = (b"EX", b"%d" % c.expiry) if c.expiry else ()
        match c.what:
            case "get":
                return wire.request(b"GET", c.key)
            case "several":
                return wire.request(b"MGET", *c.key.split(b" "))
            case "gets":
                return wire.request(b"WATCH", c.key) + wire.request(b"GET", c.key)
            case "cas":
                return wire.request(b"MULTI") + wire.request(b"SET", c.key, c.value, *ttl) + wire.request(b"EXEC")
            case "set":
                return wire.request(b"SET", c.key, c.value, *ttl)
            case "append":
                return wire.request(b"APPEND", c.key, c.value)
            case "delete":
                return wire.request(b"DEL", c.key)
            case "incr":
                # INCR would begin a counter anew.
                return wire.request(b"SETRANGE", c.key, b"0", b"%d" % c.version)
            case "touch":
                return wire.request(b"EXPIRE", c.key, b"%d" % c.expiry)
            case "flush":
                return wire.request(b"FLUSHALL")

    def reply(self, c):
        before = {"gets": 1, "cas": 2}.get(c.what, 0)
        for _ in range(before):
            if self.one()[0] == b"-":
                # Of the others, it is not known what they did.
                raise Gone("a transaction is not whole")
        kind, value = self.one()
        match c.what, kind:
            case _, b"-":
                return Reply("error", {} if c.what == "several" else None)
            case "several", _:
                # Behind what gates have answered, an error stands for each value that is missing.
                status = "error" if any(kind == b"-" for kind, _ in value) else "ok"
                return Reply(status, {key: None if kind == b"-" else one for key, (kind, one) in zip(c.key.split(b" "), value)})
            case "cas", _:
                return Reply("exists" if value is None else "ok")
            case "get" | "gets", _:
                return Reply("absent" if value is None else "ok", value)
            case "append" | "incr", _:
                # Of a string that was not there before, the length is that of what came.
                began = c.what == "incr" or int(value) == len(c.value)
                return Reply("absent" if began else "ok")
            case "delete" | "touch", _:
                return Reply("ok" if value == b"1" else "absent")
        return Reply("ok")

    def one(self):
        line = self.line()
        kind, count = line[:1], line[1:]
        if kind == b"$":
            return kind, None if count == b"-1" else self.bytes(int(count) + 2)[:-2]
        if kind == b"*":
            return kind, None if count == b"-1" else [self.one() for _ in range(int(count))]
        assert kind in b"+-:", line
        return kind, count


class Datagrams:
    """Text over UDP, for reads. What does not come in time is lost, with what else has not come of its turn. So is the answer for
    several keys where a message of it has several datagrams: another one may have as many, and of both some may be lost."""

    #: Of all sockets: a later one may have an earlier one's port.
    numbers = itertools.count()

    def __init__(self, server):
        self.socket = server.datagrams()

    def close(self):
        self.socket.close()

    def send(self, commands):
        """A datagram for each. The answers come in any order, and may be of two messages: of gates, and of the server."""
        self.waits = [next(self.numbers) & 0xFFFF for _ in commands]
        self.parts, self.messages, self.patience = {}, {number: [] for number in self.waits}, LOST
        for number, command in zip(self.waits, commands):
            with gone():
                self.socket.send(number.to_bytes(2, "big") + b"\0\0\0\1\0\0" + Text.request(self, command))

    def message(self, number, several):
        """None: it is lost."""
        while not self.messages[number]:
            if not reference.readable(self.socket, self.patience):
                self.patience = 0
                return None
            with gone():
                data = self.socket.recv(1 << 16)
            ident, sequence, total = (int.from_bytes(data[i : i + 2], "big") for i in (0, 2, 4))
            if ident not in self.messages:
                continue  # somebody was too late for it
            if several and total > 1:
                return None
            parts = self.parts.setdefault((ident, total), {})
            if sequence in parts:
                return None  # two messages are mixed
            parts[sequence] = data[8:]
            if len(parts) == total:
                del self.parts[ident, total]
                self.messages[ident].append(b"".join(parts[i] for i in range(total)))
        return self.messages[number].pop(0)

    def reply(self, c):
        found, number, words = {}, self.waits.pop(0), None
        while words != [b"END"]:
            message = self.message(number, c.what == "several")
            if message is None:
                return Reply("lost", {} if c.what == "several" else None)
            self.file = io.BytesIO(message)
            for line in iter(self.file.readline, b""):
                words = line.removesuffix(b"\r\n").split(b" ")
                if words[0] == b"VALUE":
                    assert words[1] in c.key.split(b" "), (c, words)
                    found[words[1]] = self.bytes(int(words[3]) + 2)[:-2]
                elif words != [b"END"]:
                    assert words[0] == b"SERVER_ERROR", (c, words)
                    return Reply("error", {} if c.what == "several" else None)
        return Reply("ok", found if c.what == "several" else found.get(c.key))

    bytes = Connection.bytes


#: Seconds, of answers over UDP.
LOST = 2


class Speech:
    """What the server speaks, and its clock."""

    def __init__(self, *kinds, reads, time):
        self.kinds, self.reads, self.time = kinds, kinds + reads, time


def memcached_time(connection):
    return int(re.search(rb"STAT time (\d+)", reference.ask(connection, b"stats\r\n", b"END\r\n"))[1])


def redis_time(connection):
    return int(re.match(rb"\*2\r\n\$\d+\r\n(\d+)", reference.ask(connection, b"TIME\r\nPING\r\n", b"+PONG\r\n"))[1])


MEMCACHED = Speech(Text, Meta, Binary, reads=(Datagrams,), time=memcached_time)
REDIS = Speech(Redis, reads=(), time=redis_time)


def version_of(value):
    return int(re.search(rb"(\d+) *$", value)[1])


class Ledger:
    """What is known of all keys."""

    def __init__(self, server, speech):
        self.server, self.speech, self.lock = server, speech, threading.Lock()
        #: By key, versions: a read's floor, the last one that was answered, the highest one that was sent.
        self.floor, self.acked, self.sent = {}, {}, {}
        #: Key -> version -> when it was told to live for how many seconds; those that are not here live for ever.
        self.expiries = {}
        self.live, self.left = [], {}  # keys by place; when one was sent what was not answered
        self.reads, self.counts = 0, Counter()
        self.old, self.late, self.clock = [], [], []
        self.began, self.stop = time.monotonic(), threading.Event()

    def watch_clock(self):
        """The server's time, again and again, asked past the proxy: time before, time behind, and what it is there."""
        connection = None
        while not self.stop.is_set():
            try:
                connection = connection or self.server.connect()
                before = time.monotonic()
                now = self.speech.time(connection)
                self.clock.append((before, time.monotonic(), now))
            except OSError:
                connection = None
            self.stop.wait(0.1)

    def more(self, reads):
        """Waits for so many. False: it is over."""
        until = self.reads + reads
        while self.reads < until and not self.stop.wait(0.05):
            pass
        return not self.stop.is_set()

    def see(self, who, key, value, floor, sent):
        """What a read gave that was sent then, when the floor was this."""
        with self.lock:
            self.reads += 1
            if value is None:
                return
            self.counts["values"] += 1
            assert key.startswith(b"n") or value.startswith(b"%s:" % key), f"{who}: {key} has another key's value {value[:60]}"
            version = version_of(value)
            if version > self.sent[key]:
                whose = set(re.findall(rb"k\d+\.\d+(?=:)", value))
                return self.wrong(who, key, version, f"which nobody has written: {len(value)} bytes, keys {whose}, {value[-60:]}")
            if version < floor:
                self.wrong(who, key, version, f"{floor} was known")
            self.floor[key] = max(self.floor.get(key, 0), version)
            until = self.expiries.get(key, {}).get(version)
            if until and sent > sum(until) + 0.5:
                self.late.append((key, version, until, sent))

    def wrong(self, who, key, version, why):
        at = time.monotonic()
        self.old.append((at, key, f"{at - self.began:.1f} s: {who} read {key} version {version}, {why}"))

    def failures(self):
        """Old values; values whose time was over for a second by the server's clock."""
        found = [what for at, key, what in self.old if at < self.left.get(key, at + 1)]
        for key, version, (acked, seconds), sent in self.late:
            at_write = next((now for before, _, now in self.clock if before >= acked), None)
            at_read = next((now for _, behind, now in reversed(self.clock) if behind <= sent), None)
            if at_write and at_read and at_read > at_write + seconds + 1:
                found.append(f"{key} version {version} was to live for {seconds} s, and was read {at_read - at_write} s later")
        return found


class Client:
    """One after another, connections of every kind."""

    @property
    def kinds(self):
        return self.ledger.speech.kinds

    def __init__(self, ledger, card, name, rng):
        self.ledger, self.card, self.name, self.rng, self.connection = ledger, card, name, rng, None

    def connect(self):
        if self.connection and self.rng.random() < 0.02:
            self.close()
        if self.connection is None:
            self.connection = self.rng.choice(self.kinds)(self.card)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def lost(self):
        self.ledger.counts["connections lost"] += 1
        self.close()

    @property
    def who(self):
        return f"{self.name} ({type(self.connection).__name__})"


class Reader(Client):
    @property
    def kinds(self):
        # Some variants have no UDP.
        return [kind for kind in self.ledger.speech.reads if kind is not Datagrams or self.card.udp_port]

    def turn(self):
        self.connect()
        ledger, rng = self.ledger, self.rng
        # Of many datagrams one is lost, and waited for.
        counts = [1, 1, 1, 4, 16, 4 if isinstance(self.connection, Datagrams) else 64]
        keys = [rng.choice(ledger.live) for _ in range(rng.choice(counts))]
        floors, sent = [ledger.floor.get(key, 0) for key in keys], time.monotonic()
        several = isinstance(self.connection, (Text, Redis, Datagrams)) and len(keys) > 1 and rng.random() < 0.5
        commands = [Command("several", b" ".join(keys))] if several else [Command("get", key) for key in keys]
        try:
            self.connection.send(commands)
            replies = [self.connection.reply(command) for command in commands]
        except Gone:
            return self.lost()
        ledger.counts["reads with an error"] += sum(reply.status == "error" for reply in replies)
        values = [replies[0].value.get(key) for key in keys] if several else [reply.value for reply in replies]
        for key, value, floor in zip(keys, values, floors):
            ledger.see(self.who, key, value, floor, sent)
        if isinstance(self.connection, Datagrams):
            with ledger.lock:
                ledger.counts["answers over UDP"] += sum(reply.status != "lost" for reply in replies)
                ledger.counts["answers lost"] += sum(reply.status == "lost" for reply in replies)


class Writer(Client):
    def __init__(self, *of_client, keys, flushes):
        super().__init__(*of_client)
        self.generation, self.flushes = 0, flushes
        self.places = range(len(self.ledger.live), len(self.ledger.live) + keys)
        self.ledger.live += [self.new_key(place) for place in self.places]
        self.unset = list(self.places)

    def new_key(self, place):
        self.generation += 1
        # Every fourth is a counter, whose value is its version.
        return b"%s%d.%d" % (b"n" if place % 4 == 0 else b"k", place, self.generation)

    def value(self, key, version):
        if key.startswith(b"n"):
            return b"%d" % version
        size = self.rng.choice(SIZES if self.rng.random() < 0.97 else LARGE)
        return b"%s:%s%d" % (key, b"_" * size, version)

    def command(self, key, version):
        rng, r = self.rng, self.rng.random()
        if r < 0.5:
            return Command("set", key, version + 1, self.value(key, version + 1), rng.choice([0] * 18 + [1, 2]))
        if r < 0.55:
            return Command("delete", key, version + 1)
        if r < 0.75:
            return Command("incr", key, version + 1) if key.startswith(b"n") else \
                Command("append", key, version + 1, b"%s:%d" % (key, version + 1))
        if r < 0.85:
            # The value stays.
            return Command("touch", key, version, expiry=rng.choice([1, 2, 100, 100, 100, 100]))
        if r < 0.85 + self.flushes:
            return Command("flush", key, version + 1)
        return Command("get", key, version)

    def turn(self):
        if self.unset:
            self.connect()
            key = self.ledger.live[self.unset.pop()]
            self.exchange(key, [Command("set", key, 1, self.value(key, 1))])
            return
        # So that a key is read some 20 times as often as written, however fast either goes.
        if not self.ledger.more(self.rng.randrange(40 * WRITERS)):
            return
        self.connect()
        place = self.rng.choice(self.places)
        key = self.ledger.live[place]
        version = self.ledger.acked.get(key, 0)
        if key.startswith(b"k") and self.rng.random() < 0.15:
            found = self.exchange(key, [Command("gets", key, version)])
            commands = [Command("cas", key, version + 1, self.value(key, version + 1), unique=found[0].unique)] \
                if found and found[0].value else []
        else:
            commands = []
            for _ in range(self.rng.choice([1, 1, 2, 4, 10])):
                commands.append(self.command(key, version))
                version = commands[-1].version
        self.exchange(key, commands)

    def exchange(self, key, commands):
        """The replies; of a key that the writer has left, none."""
        if not commands or key not in self.ledger.live:
            return None
        ledger, replies, failed = self.ledger, [], False
        expiries, last = ledger.expiries.setdefault(key, {}), {c.version: i for i, c in enumerate(commands) if c.what != "get"}
        for command in commands:
            if command.what == "touch":
                expiries.pop(command.version, None)
        acked = dict(ledger.acked) if any(c.what == "flush" for c in commands) else {}
        floor, sent = ledger.floor.get(key, 0), time.monotonic()
        ledger.sent[key] = max(ledger.sent.get(key, 0), *(command.version for command in commands))
        try:
            self.connection.send(commands)
            for i, command in enumerate(commands):
                reply = self.connection.reply(command)
                replies.append(reply)
                failed = failed or reply.status == "error"
                if failed:
                    continue
                if command.what in ("get", "gets"):
                    ledger.see(self.who, key, reply.value, floor, sent)
                else:
                    floor = self.answered(key, command, reply, floor, acked)
                    if last[command.version] == i:
                        self.expire(expiries, command, reply)
        except Gone:
            self.lost()
            failed = True
        if failed:
            with ledger.lock:
                ledger.counts["keys left"] += 1
                ledger.left[key] = sent
                place = ledger.live.index(key)
                ledger.live[place] = self.new_key(place)
            return None
        return replies

    def answered(self, key, command, reply, floor, acked):
        """The floor of a read behind it."""
        ledger = self.ledger
        with ledger.lock:
            ledger.counts[command.what] += 1
            ledger.acked[key] = command.version
            for other, version in acked.items() if command.what == "flush" else ():
                # All that was there before it.
                ledger.floor[other] = max(ledger.floor.get(other, 0), version + 0.5)
            if command.what == "incr" and reply.value:
                assert int(reply.value) == command.version, (self.who, command, reply)
            if reply.status != "exists" and command.what != "touch":
                floor = max(floor, command.version)
                ledger.floor[key] = max(ledger.floor.get(key, 0), floor)
        return floor

    def expire(self, expiries, command, reply):
        before = expiries.get(command.version - 1)
        if reply.status != "ok":
            return
        if command.what in ("append", "incr") and before:
            expiries[command.version] = before
        elif command.expiry:
            expiries[command.version] = (time.monotonic(), command.expiry)


class Weather:
    """What a proxy before the server does to bytes: most come at once, some late, and some connections end."""

    def __init__(self, seed, ends):
        self.rng, self.ends = random.Random(seed), ends

    def __call__(self, data):
        r = self.rng.random()
        if r < self.ends:
            raise ConnectionResetError
        if r > 0.97:
            time.sleep(self.rng.uniform(0, 0.3))
        elif r > 0.6:
            time.sleep(self.rng.uniform(0, 0.005))
        return data


def stops(ledger, rng, every):
    """The server's process rests each so many reads, for longer now and then than the card waits for it."""
    while ledger.more(rng.randrange(2 * every)):
        ledger.counts["stops"] += 1
        ledger.server.process.send_signal(signal.SIGSTOP)
        time.sleep(rng.choice([0.05, 0.3, 0.3, 1.2, 2.5]))
        ledger.server.process.send_signal(signal.SIGCONT)


def run(server, card, seed, reads, stop_every, seconds, speech=MEMCACHED, keys=8, flushes=0.0005):
    """So many reads, by which a ledger came about."""
    ledger, draw = Ledger(server, speech), random.Random(seed)
    own = [random.Random(f"{seed} {i}") for i in range(WRITERS + READERS)]
    clients = [Writer(ledger, card, f"writer {i}", own[i], keys=keys, flushes=flushes) for i in range(WRITERS)]
    clients += [Reader(ledger, card, f"reader {i}", own[WRITERS + i]) for i in range(READERS)]
    end = time.monotonic() + seconds

    def work(i):
        try:
            if i == len(clients):
                return ledger.watch_clock()
            if i > len(clients):
                return stops(ledger, draw, stop_every)
            while not ledger.stop.is_set():
                clients[i].turn()
                if ledger.reads >= reads or time.monotonic() > end or len(ledger.old) > 20:
                    ledger.stop.set()
            clients[i].close()
        finally:
            ledger.stop.set()

    together(len(clients) + 2, work)
    return ledger
