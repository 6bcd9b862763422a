"""What the command line and `stats` promise, as memcached has it."""

import fnmatch
import itertools
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time
from pathlib import Path

import pytest

from harness import reference, watch
from harness.memcached import packets, values


SOFT = [reference.WIREKV, "serve", "--body", "soft", *reference.AS_ROOT]


@pytest.fixture
def both():
    """Starts memcached and the soft body with the same options."""
    servers = []

    def start(*options):
        servers.extend([reference.memcached(*options), reference.soft(*options)])
        return servers[-2:]

    yield start
    for server in servers:
        server.stop()


def replies(servers, *requests):
    """What each server answers on one connection, up to the end of it."""
    found = []
    for server in servers:
        with server.connect() as s:
            s.sendall(b"".join(requests))
            s.shutdown(socket.SHUT_WR)
            reply = b""
            while piece := s.recv(1 << 16):
                reply += piece
            found.append(reply)
    return found


# A command, and as a binary packet: version.
TEXT, BINARY = b"version\r\n", b"\x80\x0b" + bytes(22)

SMALL_STATS = (
    b"stats sizes x\r\nstats reset x y\r\nstats nothing\r\nstats settingsx\r\n"
    b"stats detail on x\r\nstats detail off x\r\nstats detail\r\nstats detail x\r\n"
)


@pytest.mark.parametrize(
    "options, request_, expect",
    [
        ((), b"shutdown\r\n", b"ERROR: shutdown not enabled\r\n"),
        (("-F",), b"flush_all\r\nflush_all 5 noreply\r\n", b"CLIENT_ERROR flush_all not allowed\r\n"),
        (("-C",), b"set a 0 0 1\r\nx\r\ngets a\r\n", b"STORED\r\nVALUE a 0 1 0\r\nx\r\nEND\r\n"),
        (("-B", "ascii"), TEXT, b"VERSION 1.6.38\r\n"),
        (("-B", "ascii"), BINARY, None),
        (("-B", "binary"), BINARY, b"\x81\x0b" + bytes(9) + b"\x06" + bytes(12) + b"1.6.38"),
        (("-B", "binary"), TEXT, b""),
        (("-I", "2m"), b"set a 0 0 2000000\r\n" + b"v" * 2_000_000 + b"\r\n", b"STORED\r\n"),
        (("-F", "-F", "-B", "binary", "-B", "ascii", "-b", "0"), TEXT, b"VERSION 1.6.38\r\n"),
        (("-f", "1.08", "-D", "/", "-X", "-W"), b"stats cachedump 1 1\r\nwatch\r\n", None),
        ((), b"refresh_certs\r\nrefresh_certs noreply\r\n", b"Error TLS not enabled\r\n" * 2),
        ((), SMALL_STATS, None),
    ],
)
def test_replies(both, options, request_, expect):
    theirs, ours = replies(both(*options), request_)
    assert theirs == ours
    assert expect is None or ours == expect


def test_refused_flushes_are_counted(both):
    servers = both("-F")
    replies(servers, b"flush_all\r\nflush_all 5 noreply\r\nflush_all 5\r\n")
    theirs, ours = (reference.stats(server)["cmd_flush"] for server in servers)
    assert theirs == ours == "3"


@pytest.mark.parametrize("of", ["settings", "items", "slabs", "conns"])
def test_words_behind_stats_do_not_matter(both, of):
    request = f"set a 0 0 1\r\nx\r\nstats {of}\r\nstats {of} \r\nstats {of} x y\r\n".encode()
    for reply in replies(both(), request):
        stored, *stats, rest = re.split(rb"(?<=END\r\n)|(?<=STORED\r\n)", reply)
        assert (stored, rest) == (b"STORED\r\n", b"") and len(stats[0]) > 50
        assert stats == [stats[0]] * 3


def test_binary_settings_may_go_on(both):
    for reply in replies(both(), packets.whole(0x10, b"settings"), packets.whole(0x10, b"settings x")):
        half = len(reply) // 2
        assert reply[:half] == reply[half:] and half > 100


def test_memory_keeps_its_size(both):
    """memcached would change it; what is said to be so already is so here, too."""
    for size, reply in ((64, b"OK\r\n"), (65, b"MEMLIMIT_ADJUST_FAILED")):
        theirs, ours = replies(both("-m", "64"), b"cache_memlimit %d\r\n" % size)
        assert (theirs, ours[: len(reply)]) == (b"OK\r\n", reply)


def test_memcacheds_default_of_n_is_ours(both):
    """A command line that states it has the same index as one that does not."""
    for options in ((), ("-n", "48")):
        found = [reference.stats(server, "settings")["chunk_size"] for server in both(*options)]
        assert found == ["48", "48"], options


@pytest.mark.parametrize("options", ["-I 512k", "-I 1m -C", "-I 2m", "-I 2m -C", "-I 4m"])
def test_numbers_in_large_items(both, options):
    """memcached finds a number in an item of half a megabyte, and in no larger one."""
    requests = []
    for length in (300_000, 524_227, 524_228, 524_229, 524_236, 524_237, 900_000, 1_500_000):
        value = b"%-*d" % (length, 5)
        requests.append(b"set k 0 0 %d\r\n%b\r\nincr k 1\r\n" % (length, value))
    theirs, ours = replies(both(*options.split()), *requests)
    assert theirs == ours
    assert theirs.count(b"\r\n6\r\n") == (5 if "-C" in options else 3)


# In one piece, and received in pieces.
SHORT, LONG = 20, 25_111


def without_memory():
    """Requests that need memory. `n00` is there and is 9, `e00` is there too, `x00` is not."""
    for value in (b"v" * SHORT, b"v" * LONG):
        data = b" %d\r\n%b\r\n" % (len(value), value)
        for command in (b"set x00", b"set e00", b"add x00", b"replace e00"):
            yield command + b" 0 0" + data + b"get e00\r\n"
        for command in (b"append e00", b"prepend e00"):
            yield command + b" 0 0" + data + b"get e00\r\n"
        yield b"cas e00 0 0 %d 1\r\n%b\r\nget e00\r\n" % (len(value), value)
        for flags in (b"", b"q", b"MA", b"MP k O1", b"ME", b"MR", b"C1"):
            yield b"ms e00 %d %b\r\n%b\r\nget e00\r\n" % (len(value), flags, value)
        for opcode in (0x01, 0x02, 0x03, 0x11, 0x12, 0x13):
            yield packets.whole(opcode, b"x00", bytes(8), value)
            yield packets.whole(opcode, b"e00", bytes(8), value) + packets.whole(0x00, b"e00")
        for opcode in (0x0E, 0x0F, 0x19, 0x1A):
            yield packets.whole(opcode, b"e00", b"", value) + packets.whole(0x00, b"e00")
    yield b"incr n00 1\r\nincr n00 1 noreply\r\nget n00\r\n"
    yield b"ma n00\r\nma n00 q\r\nma x00 N0\r\nma x00 N0 q\r\n"
    for opcode in (0x05, 0x15):
        for key in (b"n00", b"x00"):
            yield packets.whole(opcode, key, struct.pack(">QQI", 1, 5, 0))


def test_replies_without_memory():
    """Under -M, when not one more item fits."""
    servers = []
    # Each has keys of its own, for who cannot replace an item may remove it.
    requests = [r.replace(b"00", b"%02d" % i) for i, r in enumerate(without_memory())]
    there = b"set n%02d 0 0 1\r\n9\r\nset e%02d 0 0 5\r\nvalue\r\n"
    setup = b"".join(there % (i, i) for i in range(len(requests)))
    try:
        servers += [reference.memcached("-M", megabytes=8), reference.soft("-M", megabytes=8)]
        stored = b"STORED\r\n" * 2 * len(requests)
        assert replies(servers, setup) == [stored, stored]
        numbers = itertools.count(0x1000)
        for request in requests:
            for server in servers:
                fill(server, numbers)
            theirs, ours = replies(servers, request)
            assert theirs == ours, request[:60]
            assert b"emory" in ours, request[:60]
        # Another expiry time needs none.
        touches = b"touch n00 100\r\ngat 100 e00\r\nmg n01 t T200\r\ntouch n00 0\r\nmg n00 t\r\n"
        theirs, ours = replies(servers, touches)
        assert theirs == ours and ours.startswith(b"TOUCHED\r\nVALUE e00")
    finally:
        for server in servers:
            server.stop()


def fill(server, numbers):
    """Until it has no place for a long item nor for a short one, which memcached keeps apart."""
    client = values.Client(server)
    for length in (LONG, SHORT, 1):
        while client.set(b"%x" % next(numbers), b"v" * length) == b"STORED\r\n":
            pass
    client.close()


def test_shutdown(both):
    for server in both("-A"):
        with server.connect() as s:
            s.sendall(b"shutdown\r\n")
            server.process.wait(reference.SECONDS)
        if server.name == "soft":
            assert server.process.returncode == 0, server.tail()


def test_graceful_end(both):
    for server in both():
        server.process.send_signal(signal.SIGUSR1)
        assert server.process.wait(reference.SECONDS) == 0, server.tail()


def test_hangup_is_no_end(both):
    for server in both():
        server.process.send_signal(signal.SIGHUP)
        with server.connect() as s:
            assert reference.ask(s, TEXT, b"\r\n") == b"VERSION 1.6.38\r\n"
        server.check_alive()


def test_unix_socket(tmp_path):
    path = tmp_path / "socket"
    server = reference.soft("-s", path, "-a", "750")
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o750
        assert server.port is None, "listens on TCP as well"
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(path))
            reply = reference.ask(s, b"set a 0 0 1\r\nx\r\nget a\r\n", b"END\r\n")
            assert reply == b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n"
            conns = reference.ask(s, b"stats conns\r\n", b"END\r\n")
            assert f"unix:{path}".encode() in conns
    finally:
        code = server.stop()
    assert code == 0 and not path.exists()


def test_unix_socket_of_a_successor(tmp_path):
    """A server that ends leaves the socket of the one that took its place."""
    path = tmp_path / "socket"
    old = reference.soft("-s", path)
    try:
        new = reference.soft("-s", path)
        try:
            assert old.stop() == 0, old.tail()
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(path))
                assert reference.ask(s, TEXT, b"\r\n") == b"VERSION 1.6.38\r\n"
        finally:
            new.stop()
        assert not path.exists()
    finally:
        old.kill()


def test_pid_file_that_cannot_be(tmp_path):
    path, missing = tmp_path / "socket", tmp_path / "no" / "pid"
    argv = [*SOFT, "-s", path, "-P", missing]
    run = subprocess.run([str(a) for a in argv], capture_output=True, timeout=60, text=True)
    assert run.returncode == 1 and f"-P: cannot write {missing}" in run.stderr
    assert not path.exists()


def test_locked_memory():
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if os.geteuid() != 0 and most != resource.RLIM_INFINITY:
        pytest.skip("ulimit -Hl allows too little")
    for options, least, below in (((), 0, 1), (("-k",), 64, 1 << 20)):
        server = reference.soft(*options, megabytes=64)
        try:
            assert least <= watch.locked(server) < below
        finally:
            server.stop()


@pytest.mark.skipif(not shutil.which("prlimit"), reason="util-linux")
def test_file_limit():
    """-c: there are as many file descriptors as that takes, or the server says that there are not."""
    capabilities = re.search(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())[1]
    may = int(capabilities, 16) >> 24 & 1  # CAP_SYS_RESOURCE: past a hard limit
    bounded = ["prlimit", "--nofile=64:1000"]
    bound = ["setpriv", "--bounding-set", "-sys_resource", *bounded] if may else bounded
    cases = [(bound, 900, True), (bound, 1001, False), (bounded, 4_000_000_000, False)]
    if may:
        cases.append((bounded, 1000, True))
    for child, connections, starts in cases:
        wirekv = [*SOFT, "-p", "0", "-t", "1", "-c", connections]
        # Root is not root any more when it serves.
        server = reference.Server("soft", [*child, *wirekv, "-u", "nobody"])
        try:
            if starts:
                server.wait_until(lambda log=server.log: "listening on" in log.read_text())
                limits = Path(f"/proc/{server.process.pid}/limits").read_text()
                limit = int(re.search(r"Max open files +(\d+)", limits)[1])
                assert limit >= connections + watch.descriptors(server)
            else:
                assert server.process.wait(reference.SECONDS) == 1, connections
                assert "failed to set rlimit for open files. Try starting as root or " \
                       "requesting smaller maxconns value." in server.tail()  # fmt: skip
        finally:
            server.stop()


def test_memory_is_there_from_the_start():
    """-L: no request waits for a page."""
    megabytes = 256
    for options, least, most in (((), 0, 64), (("-L",), megabytes - 4, megabytes + 64)):
        with reference.soft(*options, megabytes=megabytes) as server:
            assert least <= watch.resident(server) <= most


def test_silent_connections_are_closed():
    """The clock that jumps is in host/soft/tests; here it is the system's."""
    server = reference.soft("-o", "idle_timeout=1")
    try:
        with server.connect(timeout=60) as s:
            assert s.recv(10) == b""
        assert reference.stats(server)["idle_kicks"] == "1"
    finally:
        server.stop()


def test_metrics_keep_no_endless_request():
    port = reference.free_port()
    # All of the store is there before it listens.
    with reference.soft("--metrics", f"127.0.0.1:{port}", "-L", megabytes=16) as server:
        before = watch.peak(server)
        with socket.create_connection(("127.0.0.1", port), timeout=reference.SECONDS) as s:
            try:
                for _ in range(64):
                    s.sendall(b"x" * (1 << 20))
            except ConnectionError:
                pass  # answered after the first of it
        assert watch.peak(server) - before < 16
        assert reference.stats(server)["curr_connections"] == "1"


def left_out(of):
    """The names that docs/COMPATIBILITY.md says are not there, as patterns."""
    text = (reference.ROOT / "docs" / "COMPATIBILITY.md").read_text()
    table = text.split("### Statistics that are not there\n\n")[1].split("\n\n")[1]
    head, _, *rows = [line.strip("|").split("|") for line in table.splitlines()]
    columns = [title.strip() for title in head]
    cells = [row[columns.index(f"`{f'stats {of}'.strip()}`")] for row in rows]
    return re.findall(r"`([^`]+)`", " ".join(cells))


@pytest.mark.parametrize("of", ["", "settings", "items", "slabs", "sizes", "conns"])
def test_stats_have_memcached_s_names(both, of):
    """All, but for those that the documents leave out, each of which must be left out."""
    names = []
    for server in both("-o", "lru_maintainer,lru_crawler"):  # as it is by default
        with server.connect() as s:
            reference.ask(s, b"set a 0 0 1\r\nx\r\n", b"STORED\r\n")
        # Slab classes and connections have numbers of the server's choice.
        names.append({re.sub(r"\b\d+:", "", name) for name in reference.stats(server, of)})
    theirs, ours = ({n.removeprefix("items:") for n in found} for found in names)
    patterns = left_out(of) if of in ("", "settings", "items") else []
    missing = theirs - ours
    undocumented = {n for n in missing if not any(fnmatch.fnmatchcase(n, p) for p in patterns)}
    assert not undocumented, f"stats {of}: {sorted(undocumented)}"
    idle = [p for p in patterns if not fnmatch.filter(missing, p)]
    assert not idle, f"stats {of} leaves out nothing like {idle}"
    wrong = {n for n in ours & theirs if any(fnmatch.fnmatchcase(n, p) for p in patterns)}
    assert not wrong, f"stats {of} has {sorted(wrong)}"
    if of:  # There are more in general only.
        assert ours <= theirs, f"stats {of}: {sorted(ours - theirs)}"


def test_yields_are_counted(both):
    """A connection with more requests than -R lets others have their turn."""
    for server in both("-R", "5"):
        for request, yields in ((b"mn\r\n", False), (b"get a\r\n" * 100 + b"mn\r\n", True)):
            with server.connect() as s:
                reference.ask(s, request, b"MN\r\n")
            assert (int(reference.stats(server)["conn_yields"]) > 0) == yields, server.name


# Every kind of command, found and not found. Arithmetic comes before gets: memcached copies a number
# that it is still sending, and counts another item.
COMMANDS = (
    b"set a 0 0 1\r\n1\r\nincr a 1\r\nincr a 9\r\nincr b 1\r\ndecr a 2\r\ndecr b 1\r\nget a b\r\ngets a\r\n"
    b"cas a 0 0 1 99999999\r\nx\r\ncas b 0 0 1 5\r\nx\r\ntouch a 0\r\ntouch b 0\r\ngat 0 a b\r\n"
    b"set e 0 -1 1\r\nx\r\nget e\r\nadd a 0 0 1\r\nx\r\nappend a 0 0 1\r\nx\r\n"
    b"mg a v\r\nmg b v\r\nmg a T0\r\nms c 1\r\nx\r\nma n\r\nma n N0\r\nmd c\r\nmd c\r\nme a\r\n"
    b"set big 0 0 2000000\r\n" + b"v" * 2_000_000 + b"\r\n"
    b"delete a\r\ndelete b\r\nset f 0 0 1\r\nx\r\nflush_all\r\nget f\r\nmn\r\n"
)


def test_stats_count(both):
    """The counters count as memcached's do, and a reset begins anew."""
    counted = []
    for server in both():
        with server.connect() as s:

            def stats(s=s):
                text = reference.ask(s, b"stats\r\n", b"END\r\n").decode()
                return dict(line.split(" ", 2)[1:] for line in text.split("\r\n")[:-2])

            before = stats()
            reference.ask(s, COMMANDS, b"MN\r\n")
            after = stats()
            more = {name: int(after[name]) - int(before[name]) for name in after
                    if re.match(r"(cmd|get|incr|decr|cas|touch|delete|store|total)_", name)}
            # memcached unlinks what a flush_all finds among the newest, so it is not found then.
            more.pop("get_flushed")
            counted.append(more)
            assert int(after["bytes_read"]) - int(before["bytes_read"]) >= len(COMMANDS)
            reference.ask(s, b"stats reset\r\n", b"RESET\r\n")
            again = stats()
            names = ["cmd_get", "cmd_set", "get_hits", "total_items", "evictions", "bytes_read"]
            kept = {name: again[name] for name in names if int(again[name]) > 100}
            assert not kept, f"{server.name} keeps {kept}"
    theirs, ours = counted
    different = {n: (theirs[n], ours.get(n)) for n in theirs if theirs[n] != ours.get(n)}
    assert not different, f"memcached's and ours: {different}"
    assert sum(n > 0 for n in ours.values()) >= 18


def test_settings_show_options(tmp_path):
    options = {
        ("-R", "7"): ("reqs_per_event", "7"),
        ("-I", "2m"): ("item_size_max", str(2 << 20)),
        ("-b", "77"): ("tcp_backlog", "77"),
        ("-M",): ("evictions", "off"),
        ("-C",): ("cas_enabled", "no"),
        ("-F",): ("flush_enabled", "no"),
        ("-A",): ("shutdown_command", "yes"),
        ("-B", "ascii"): ("binding_protocol", "ascii"),
        ("-o", "idle_timeout=99"): ("idle_timeout", "99"),
    }
    server = reference.soft(*(word for option in options for word in option), connections=55)
    try:
        found = reference.stats(server, "settings")
        for name, value in [*options.values(), ("maxconns", "55"), ("num_threads", "1")]:
            assert found[name] == value, name
        assert found["tcpport"] == str(server.port)
    finally:
        server.stop()


# What tunes memcached, and is nothing to do here.
TUNING = """no_modern modern no_lru_maintainer lru_maintainer no_lru_crawler lru_crawler
    no_slab_reassign slab_reassign no_slab_automove slab_automove slab_automove=2
    slab_automove_ratio=0.8 slab_automove_window=30 slab_automove_freeratio=0.01 slab_chunk_max=512
    slab_sizes=100-200-300 no_hashexpand hashpower=16 hash_algorithm=xxh3 lru_crawler_sleep=100
    lru_crawler_tocrawl=0 hot_lru_pct=10 warm_lru_pct=20 hot_max_factor=0.2 warm_max_factor=2
    temporary_ttl=61 tail_repair_time=10 no_maxconns_fast maxconns_fast resp_obj_mem_limit=10
    read_buf_mem_limit=10 track_sizes no_inline_ascii_resp inline_ascii_resp worker_logbuf_size=64
    watcher_logbuf_size=256 no_drop_privileges drop_privileges no_chunked_items
    idle_timeout=0""".split()
NO_TUNING = """hashpower hashpower=5 hash_algorithm hash_algorithm=md5 slab_automove=3
    slab_automove_ratio=16 slab_automove_window=1 slab_automove_freeratio slab_chunk_max=0
    slab_sizes=200-100 lru_crawler_sleep lru_crawler_tocrawl=x hot_lru_pct=80 warm_lru_pct
    hot_max_factor=0 warm_max_factor temporary_ttl tail_repair_time=9 read_buf_mem_limit
    worker_logbuf_size watcher_logbuf_size=x idle_timeout Modern no_track_sizes modern,,track_sizes
    ext_path ssl_chain_cert""".split()


def test_tuning_is_accepted(both):
    theirs, ours = both("-o", ",".join(TUNING), "-o", "idle_timeout=77,modern")
    for server in (theirs, ours):
        assert reference.stats(server, "settings")["idle_timeout"] == "77"


def test_wrong_tuning_is_not():
    soft = [*SOFT, "-p"]
    for option in NO_TUNING:
        for argv in ([reference.MEMCACHED, "-u", "root", "-p"], soft):
            argv = [*argv, str(reference.free_port()), "-o", option]
            assert subprocess.run(argv, capture_output=True, timeout=60).returncode > 0, argv


def test_version():
    for options in (["serve", "-V"], ["serve", "--body", "soft", "-m", "64", "--version"], ["-V"]):
        argv = [reference.WIREKV, *options]
        run = subprocess.run(argv, capture_output=True, timeout=60, text=True)
        assert run.returncode == 0 and re.fullmatch(r"wirekv [0-9.]+\n", run.stdout), run


def test_long_names():
    """memcached's, but of what is not here."""
    helps = []
    for argv in ([reference.MEMCACHED, "-h"], [reference.WIREKV, "serve", "-h"]):
        run = subprocess.run(argv, capture_output=True, timeout=60, text=True)
        helps.append(dict(re.findall(r"^ *(-\w),? +(--[a-z-]+)", run.stdout, re.M)))
    theirs, ours = helps
    missing = {short for short in theirs if ours.get(short) != theirs[short]}
    assert missing == {"-i", "-N"}


def test_wrong_options_say_why(tmp_path):
    taken = socket.create_server(("127.0.0.1", 0))
    path = tmp_path / "file"
    path.write_text("not a socket")
    for options, why in (
        (["-t", "0"], "threads"),
        (["-c", "0"], "connection"),
        (["-I", "1g"], "-m"),
        (["-o", "nonsense=5"], "idle_timeout"),
        (["-o", "modern,hashpower=5"], "hashpower"),
        (["-f", "1"], "factor"),
        (["-D", ""], "-D"),
        (["-n", "0"], "slab-min-size"),
        (["-b=-1"], "-b"),
        (["-S"], "-S"),
        (["-p", taken.getsockname()[1]], "in use"),
        (["-s", path], "not a socket"),
    ):
        server = reference.Server("soft", [*SOFT, *options])
        assert server.process.wait(reference.SECONDS) != 0, options
        assert why in Path(server.log).read_text(), (options, server.tail())
    assert path.read_text() == "not a socket"
    taken.close()


@pytest.mark.parametrize("microseconds", [0, 1_000_000])
def test_busy_poll(microseconds):
    """A thread that looks for work before it sleeps does not sleep between the requests of a client."""
    server = reference.soft("-t", 1, "--busy-poll", microseconds)

    def slept():
        return watch.sleeps(server, "worker 0")

    try:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            before = slept()
            for request in range(200):
                client.sendall(b"mn\r\n")
                assert client.recv(10) == b"MN\r\n"
                if not microseconds:
                    server.wait_until(lambda: slept() > before)
                if request < 100 or not microseconds:  # then the mean of its times without work is known
                    before = slept()
                time.sleep(0.002)  # much longer than it takes to sleep, much shorter than a second
            assert not microseconds or slept() - before < 50
    finally:
        server.stop()
