"""`watch` beside memcached, MONITOR beside Redis: the same lines for the same commands. Who does not take the lines loses
some, and gets their count."""

import re
import socket
import struct
import time

import pytest

from harness import reference, watch
from harness.resp import servers, wire

#: Of an item that is there throughout, in seconds: its `ttl` is compared in hundreds.
LONG = 100_000
COMMANDS = [
    b"get a\r\n", b"set a 5 0 3\r\nabc\r\n", b"set a 5 %d 3\r\nabc\r\n" % LONG, b"get a\r\n", b"gets a b\r\n",
    b"add a 0 0 1\r\nx\r\n", b"add b 0 0 1\r\nx\r\n", b"replace no 0 0 1\r\nx\r\n", b"append a 0 0 2\r\nde\r\n",
    b"append no 0 0 2\r\nde\r\n", b"prepend a 0 0 1\r\nz\r\n", b"cas a 0 0 1 1\r\nq\r\n", b"cas no 0 0 1 1\r\nq\r\n",
    b"incr a 1\r\n", b"set n 0 0 1\r\n9\r\n", b"incr n 1\r\n", b"incr n 1\r\n", b"decr n 1\r\n", b"incr no 1\r\n",
    b"touch a %d\r\n" % LONG, b"touch no 5\r\n", b"gat %d a\r\n" % LONG, b"gat %d a no\r\n" % LONG,
    b"delete a\r\n", b"delete a\r\n", b"set b 0 0 3 noreply\r\nabc\r\n", b"set long 0 0 9000\r\n" + b"v" * 9000 + b"\r\n",
    b"set longer 0 0 300000\r\n" + b"v" * 300_000 + b"\r\n", b"get longer\r\n",
    b"mg b v\r\n", b"mg b s t\r\n", b"mg q N30 v\r\n", b"mg q v\r\n", b"mg b T%d\r\n" % LONG, b"mg no v\r\n", b"mg b q k\r\n",
    b"ms m 3 T%d\r\nabc\r\n" % LONG, b"ms m 3 MA\r\nabc\r\n", b"ms mm 3 MA N%d\r\nabc\r\n" % LONG, b"ms m 3 ME\r\nabc\r\n",
    b"ms m 3 C1 I\r\nabc\r\n", b"ms m 3 C99999999 I\r\nabc\r\n", b"ms m 3 C99999999\r\nabc\r\n", b"md m q\r\n",
    b"md mm I T%d\r\n" % LONG, b"mg mm v\r\n", b"md mm x\r\n", b"md mm C1\r\n", b"md mm\r\n", b"md no\r\n",
    b"ma c\r\n", b"ma c N0 J13\r\n", b"ma c\r\n", b"ma c D99\r\n", b"md c\r\n", b"ms YmI= 2 b\r\nab\r\n", b"mg YmI= b v\r\n",
    b"set k%#\xc3\xa4~-._ 0 0 1\r\nx\r\n", b"set " + b"#" * 250 + b" 0 0 1\r\nx\r\n", b"me b\r\n", b"mn\r\n", b"version\r\n",
    b"set e 0 -1 1\r\nx\r\n", b"get e\r\n", b"nonsense\r\n", b"set bad\r\n",
]  # fmt: skip


def binary(opcode, key=b"", extras=b"", value=b"", unique=0):
    lengths = (len(key), len(extras), 0, 0, len(key) + len(extras) + len(value))
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, *lengths, 0, unique) + extras + key + value


BINARY = [
    binary(0, b"z"), binary(1, b"z", bytes(8), b"val"), binary(2, b"z", bytes(8), b"val"), binary(0, b"z"),
    binary(0xC, b"z"), binary(5, b"ctr", struct.pack(">QQI", 1, 5, 0)), binary(5, b"ctr", struct.pack(">QQI", 1, 5, 0)),
    binary(5, b"cty", struct.pack(">QQI", 1, 5, 0xFFFFFFFF)), binary(1, b"z", bytes(8), b"val", 7),
    binary(0xE, b"z", b"", b"val"), binary(0x1C, b"z", struct.pack(">I", LONG)), binary(0x1D, b"z", struct.pack(">I", LONG)),
    binary(4, b"z"), binary(4, b"z"),
]  # fmt: skip


def without_own(line):
    """A line without what is each server's own: time, number, connection, and how far a time is gone."""
    line = re.sub(r"^ts=\d+\.\d+ gid=\d+ ", "", line)
    line = re.sub(r"\b(cfd|rport)=\d+", r"\1=", line)
    return re.sub(r"ttl=(\d+)", lambda ttl: f"ttl={min(round(int(ttl[1]) / 100), 1 << 20)}", line)


class Watcher:
    def __init__(self, server, words=b"watch fetchers mutations deletions\n"):
        self.socket = server.connect()
        self.file = self.socket.makefile("rb")
        self.socket.sendall(words)
        assert self.file.readline() == b"OK\r\n"

    def until(self, end):
        """The lines up to that in which this is found."""
        lines = []
        while end not in (lines[-1] if lines else ""):
            line = self.file.readline()
            assert line.endswith(b"\n"), lines
            lines.append(line.decode())
        return lines

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture(scope="module")
def both():
    # Without the threads that remove what has expired before anybody sees it.
    theirs = reference.memcached()
    ours = reference.soft(megabytes=64, threads=1)
    try:
        yield theirs, ours
    finally:
        codes = [theirs.stop(), ours.stop()]
    assert codes == [0, 0]


def told(server, commands, end):
    watcher = Watcher(server)
    with server.connect() as s:
        for command in commands:
            s.sendall(command)
        s.sendall(end)
        lines = watcher.until("key=the_end")
    watcher.close()
    return [without_own(line) for line in lines]


@pytest.mark.parametrize("commands, end", [(COMMANDS, b"get the_end\r\n"), (BINARY, binary(0, b"the_end"))], ids=["text", "binary"])
def test_commands(both, commands, end):
    theirs, ours = (told(server, commands, end) for server in both)
    assert len(theirs) > len(commands) / 2
    assert ours == theirs


def test_kinds(both):
    """Each watcher gets its kinds alone, in the order of their numbers."""
    for server in both:
        watchers = [Watcher(server, words) for words in (b"watch\r\n", b"watch mutations\n", b"watch deletions fetchers\n")]
        with server.connect() as s:
            for n in range(5):
                reference.ask(s, b"set k%d 0 0 1\r\nx\r\n" % n, b"\r\n")
                reference.ask(s, b"delete k%d\r\n" % n, b"\r\n")
            s.sendall(b"set last 0 0 1\r\nx\r\ndelete last\r\n")
            for watcher, kinds, end in zip(watchers, ["item_get", "item_store", "item_get deleted"], ["last", "last", "cmd=delete"]):
                lines = watcher.until(f"key=last {end}" if end == "cmd=delete" else "key=last")
                assert {re.search(r"type=(\S+)", line)[1] for line in lines} == set(kinds.split())
                numbers = [int(re.search(r"gid=(\d+)", line)[1]) for line in lines]
                assert numbers == sorted(set(numbers))
                watcher.close()


ENDS = {
    "quit": lambda s: s.sendall(b"quit\r\n"),
    "end": lambda s: s.close(),
    "half": lambda s: s.shutdown(socket.SHUT_WR),
    "within": lambda s: (s.sendall(b"set a 0 0 10\r\nabc"), s.close()),
    "browser": lambda s: s.sendall(b"GET / HTTP/1.1\r\n"),
    "long": lambda s: s.sendall(b"x" * 3000),
    "reset": lambda s: (s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)), s.close()),
    "binary": lambda s: s.sendall(binary(7)),
}


@pytest.mark.parametrize("how", ENDS)
def test_connections(both, how):
    lines = []
    for server in both:
        watcher = Watcher(server, b"watch connevents\n")
        s = server.connect()
        port = s.getsockname()[1]
        lines.append(watcher.until("conn_new"))
        ENDS[how](s)
        lines[-1] += watcher.until("conn_close")
        assert all(f" rport={port} " in line for line in lines[-1])
        watcher.close()
        s.close()
        # Its own end is nobody's to see.
    theirs, ours = ([without_own(line) for line in told] for told in lines)
    assert ours == theirs


@pytest.mark.parametrize("words", [
    b"watch nonsense", b"watch fetch", b"watch FETCHERS", b"watch fetchers x", b"watch x noreply", b"watch noreply", b"watch proxycmds",
    b"watch rawcmds sysevents proxyreqs proxyevents proxyuser", b"watch  fetchers  ", b"watch connevents evictions deletions mutations",
    b"watch " + b"fetchers " * 30])  # fmt: skip
def test_words(both, words):
    """What is behind it in a packet is not looked at, if it is right."""
    said = []
    for server in both:
        with server.connect() as s:
            s.sendall(words + b"\r\nversion\r\n")
            said.append(s.recv(100))
            if not said[-1].startswith(b"OK"):
                while not said[-1].endswith(b"VERSION 1.6.38\r\n"):
                    said[-1] += s.recv(100)
    assert said[0] == said[1]


def test_too_many(both):
    for server in both:
        assert watch.settle(lambda: reference.stats(server)["log_watchers"], "0", seconds=10) == "0"
        watchers = [Watcher(server) for _ in range(20)]
        with server.connect() as s:
            assert reference.ask(s, b"watch\r\n", b"\r\n") == b"WATCHER_TOO_MANY log watcher limit reached\r\n"
            assert reference.ask(s, b"version\r\n", b"\r\n") == b"VERSION 1.6.38\r\n"
        watchers[0].close()
        # memcached looks every second at the latest.
        assert watch.settle(lambda: reference.stats(server)["log_watchers"], "19", seconds=10) == "19"
        watchers[0] = Watcher(server)
        for watcher in watchers:
            watcher.close()


def test_evictions():
    with reference.soft(megabytes=16, threads=1) as server:
        watcher = Watcher(server, b"watch evictions\n")
        with server.connect() as s:
            for n in range(400):
                value = b"v" * 100_000
                reference.ask(s, b"set key%d 0 %d 100000\r\n" % (n, LONG * (n % 2)) + value + b"\r\n", b"STORED\r\n")
            evicted = int(reference.stats(server)["evictions"])
            assert evicted > 200
            lines = [watcher.file.readline().decode() for _ in range(evicted)]
            for line in lines:
                form = r"ts=\d+\.\d+ gid=\d+ type=eviction key=key(\d+) fetch=no ttl=(-1|\d+) la=\d+ clsid=(\d+) size=100000\n"
                number, ttl, size_class = re.fullmatch(form, line).groups()
                assert (ttl == "-1") == (int(number) % 2 == 0) and size_class != "0"
                assert reference.ask(s, f"get key{number}\r\n".encode(), b"END\r\n") == b"END\r\n"
        watcher.close()


def test_the_slow_lose_lines():
    """And others do not wait for them. All that there was is there or counted."""
    asked = 40_000
    with reference.soft("-o", "watcher_logbuf_size=8", megabytes=64, threads=2) as server:
        slow = [Watcher(server) for _ in range(3)]
        watch.populated(server)
        memory = watch.resident(server)
        with server.connect() as s:
            key = b"k" * 240
            for _ in range(asked // 100):
                reference.ask(s, b"get %s\r\n" % key * 100 + b"mn\r\n", b"MN\r\n")
            assert watch.resident(server) < memory + 8
            more = 0
            for watcher in slow:
                # Lines that it has, and how many it was told it has not.
                seen = skipped = 0
                data = b""
                while b"key=more%d " % more not in data:
                    if not reference.readable(watcher.socket, 0.05):
                        # A count comes with the next line for which there is room.
                        more += 1
                        reference.ask(s, b"get more%d\r\n" % more, b"END\r\n")
                    else:
                        piece = data + watcher.socket.recv(1 << 16)
                        *lines, data = piece.split(b"\n")
                        skipped += sum(int(line[8:]) for line in lines if line.startswith(b"skipped="))
                        seen += sum(b" type=item_get key=" in line for line in lines)
                        assert all(line.startswith((b"ts=", b"skipped=")) for line in lines)
                        if more and b"key=more%d " % more in piece:
                            break
                assert skipped > 0 and seen > 0 and seen + skipped == asked + more
        for watcher in slow:
            watcher.close()
        assert int(reference.stats(server)["log_watcher_skipped"]) > 0
        assert watch.settle(lambda: reference.stats(server)["log_watchers"], "0") == "0"


def test_who_may_not(tmp_path):
    users = tmp_path / "users"
    users.write_text("foo:bar\n")
    tmp_path.chmod(0o755)
    users.chmod(0o644)
    with servers.soft("-Y", users, "-U", "0") as server:
        with socket.create_connection(server.memcached, reference.SECONDS) as s:
            assert reference.ask(s, b"watch\r\n", b"\r\n") == b"CLIENT_ERROR unauthenticated\r\n"
            assert reference.ask(s, b"set x 0 0 7\r\nfoo bar\r\n", b"\r\n") == b"STORED\r\n"
            assert reference.ask(s, b"watch\r\n", b"\r\n") == b"OK\r\n"
        with server.connect() as s:
            assert reference.ask(s, b"MONITOR\r\n", b"\r\n") == b"-NOAUTH Authentication required.\r\n"
            assert reference.ask(s, b"AUTH foo bar\r\nMONITOR\r\n", b"+OK\r\n+OK\r\n") == b"+OK\r\n+OK\r\n"
    with servers.soft("-W") as server:
        with socket.create_connection(server.memcached, reference.SECONDS) as s:
            assert reference.ask(s, b"watch\r\n", b"\r\n") == b"CLIENT_ERROR watch commands not allowed\r\n"
        with server.connect() as s:
            assert reference.ask(s, b"MONITOR\r\n", b"\r\n") == b"-ERR MONITOR is not allowed\r\n"


def test_not_over_udp(both):
    with both[1].datagrams() as s:
        s.settimeout(reference.SECONDS)
        s.sendall(b"\0\1\0\0\0\1\0\0watch\r\n")
        assert s.recv(1400)[8:] == b"CLIENT_ERROR watch commands not allowed\r\n"


REDIS = [
    b"set a 1\r\n", wire.request(b"SET", b'a\x00\x01\xff"\\\n\r\t\a\b\'~ ', b"x y", b"EX", b"100"), b"GET a\r\n", b"incr a\r\n",
    b"incr no x\r\n", b"nonsense 1\r\n", b"AUTH foo\r\n", b"AUTH u p\r\n", b"HELLO 3 AUTH default x SETNAME n\r\n", b"HELLO 2\r\n",
    b"SELECT 3\r\n", b"SELECT 99\r\n", b"get a\r\n", b"MULTI\r\n", b"SET x 1\r\n", b"GET x\r\n", b"EXEC\r\n", b"MULTI\r\n",
    b"SET x 1\r\n", b"DISCARD\r\n", b"EXEC\r\n", b"MULTI\r\n", b"MONITOR\r\n", b"EXEC\r\n", b"CONFIG GET maxmemory\r\n",
    b"CONFIG SET requirepass secret\r\n", b"CONFIG SET requirepass \"\"\r\n", b"CLIENT LIST\r\n", b"CLIENT GETNAME\r\n",
    b"CLIENT SETNAME x\r\n", b"INFO server\r\n", b"PING\r\n", b'ECHO ""\r\n', b"DBSIZE\r\n", b"SLOWLOG LEN\r\n", b"TIME\r\n",
    b"COMMAND COUNT\r\n", b"FLUSHDB\r\n", b"SETEX a -1 x\r\n", b"WATCH q\r\n", b"UNWATCH\r\n", b"RESET\r\n", b"SCAN 0\r\n",
    b"OBJECT HELP\r\n", b"OBJECT NO\r\n", b"KEYS *\r\n", b"set int 0012\r\n", b"append int 5\r\n", b"mset a 1 b 2\r\n", b"mget a b\r\n",
    wire.request(b"SET", b"long", bytes(range(256)) * 80), b"CLIENT REPLY SKIP\r\n", b"get a\r\n", b"get\r\n", b"SLOWLOG RESET\r\n",
]  # fmt: skip


def monitored(server, commands):
    """The lines of MONITOR without times and addresses. Each is there before the next command."""
    with server.connect() as monitor, server.connect() as s:
        lines = monitor.makefile("rb")
        monitor.sendall(b"MONITOR\r\n")
        assert lines.readline() == b"+OK\r\n"
        s.sendall(b"".join(commands) + b"ECHO the_end\r\n")
        address = "%s:%d" % s.getsockname()
        told = []
        while not told or b'"the_end"' not in told[-1]:
            line = lines.readline()
            times, rest = line.split(b" ", 1)
            assert re.fullmatch(rb"\+\d{10}\.\d{6}", times) and line.endswith(b"\r\n")
            told.append(rest.replace(address.encode(), b"ADDRESS"))
        return told


@pytest.fixture(scope="module")
def redises():
    both = servers.redis(), servers.soft(threads=1)
    try:
        yield both
    finally:
        codes = [server.stop() for server in both]
    assert codes == [0, 0]


def test_monitor(redises):
    theirs, ours = (monitored(server, REDIS) for server in redises)
    assert len(theirs) > 35
    assert ours == theirs


def test_monitors_themselves(redises):
    """What they may not do, and how they end."""
    said = []
    for server in redises:
        with server.connect() as monitor, server.connect() as s:
            told = []
            for request in (b"MONITOR\r\nMONITOR\r\n", b"GET a\r\n", b"SET a 1\r\n", b"APPEND a 1\r\n"):
                told.append(reference.ask(monitor, request, b"\r\n"))
            flags = re.findall(rb"flags=(\S+)", reference.ask(s, b"CLIENT LIST\r\n", b"\n\r\n"))
            told += [sorted(flags), reference.ask(monitor, b"RESET\r\n", b'"RESET"\r\n' if server is None else b"+RESET\r\n")]
            reference.ask(s, b"SET a 1\r\n", b"+OK\r\n")
            told.append(reference.ask(monitor, b"GET a\r\n", b"\r\n1\r\n"))
            # In any protocol a line is a line.
            told.append(reference.ask(monitor, b"HELLO 3\r\n", b"*0\r\n")[:3])
            reference.ask(monitor, b"MONITOR\r\n", b"+OK\r\n")
            s.sendall(b"PING\r\n")
            told.append(monitor.makefile("rb").readline().split(b"] ")[1])
            # Who wants no replies gets no lines.
            monitor.sendall(b"CLIENT REPLY OFF\r\n")
            time.sleep(0.1)
            reference.ask(s, b"ECHO unseen\r\n", b"unseen\r\n")
            time.sleep(0.1)
            monitor.sendall(b"CLIENT REPLY ON\r\n")
            told.append(b"unseen" in reference.ask(monitor, b"ECHO seen\r\n", b'"ECHO" "seen"\r\n'))
            said.append(told)
    assert said[0] == said[1]


def test_too_much_for_a_monitor():
    """It loses lines; one that looks like a command says how many."""
    with servers.soft("-o", "watcher_logbuf_size=8", threads=1) as server, server.connect() as monitor, server.connect() as s:
        lines = monitor.makefile("rb")
        monitor.sendall(b"MONITOR\r\n")
        assert lines.readline() == b"+OK\r\n"
        for _ in range(3):
            reference.ask(s, wire.request(b"ECHO", b"x" * 10_000), b"x\r\n")
        reference.ask(s, b"ECHO short\r\n", b"short\r\n")
        assert re.fullmatch(rb'\+\d+\.\d{6} \[0 wirekv:0\] "skipped" "3"\r\n', lines.readline())
        assert lines.readline().endswith(b'"ECHO" "short"\r\n')


def test_many_monitors():
    with servers.soft(threads=2) as server:
        monitors = [server.connect() for _ in range(20)]
        for monitor in monitors:
            assert reference.ask(monitor, b"MONITOR\r\n", b"\r\n") == b"+OK\r\n"
        with server.connect() as s:
            assert reference.ask(s, b"MONITOR\r\n", b"\r\n") == b"-ERR too many clients use MONITOR\r\n"
            reference.ask(s, b"PING\r\n" * 1000, b"+PONG\r\n" * 1000)
        for monitor in monitors:
            file = monitor.makefile("rb")
            for _ in range(1000):
                assert file.readline().endswith(b'"PING"\r\n')
            file.close()
            monitor.close()
        with server.connect() as s:
            assert watch.settle(lambda: reference.ask(s, b"MONITOR\r\n", b"\r\n"), b"+OK\r\n") == b"+OK\r\n"
