"""-e: items outlive an orderly end of the server, and nothing else does."""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import reference
from harness.memcached import values
from harness.size import scale

PAGE = 4096
MEGABYTES = 64


@pytest.fixture(params=["tmpfs", "disk"])
def file(request, tmp_path):
    """Where a file of items can be."""
    if request.param == "disk":
        yield tmp_path / "items"
        return
    folder = tempfile.mkdtemp(prefix="wirekv-", dir="/dev/shm")
    yield Path(folder, "items")
    shutil.rmtree(folder)


@pytest.fixture
def quick_file():
    folder = tempfile.mkdtemp(prefix="wirekv-", dir="/dev/shm")
    yield Path(folder, "items")
    shutil.rmtree(folder)


def serve(file, *options, megabytes=MEGABYTES, threads=2):
    return reference.soft("-e", file, *options, megabytes=megabytes, threads=threads)


def end(server, number=signal.SIGTERM):
    server.process.send_signal(number)
    assert server.process.wait(reference.SECONDS) == 0, server.tail()


def told(server):
    """What the server says of the file that it does not take."""
    found = re.search(r"^wirekv: -e \S+: (.*); it begins empty$", server.log.read_text(), re.M)
    return found and found[1]


def lines(server, request, count):
    """The first lines of replies to a request."""
    with server.connect() as s:
        s.sendall(request)
        file = s.makefile("rb")
        return [file.readline() for _ in range(count)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_all_that_an_item_has(file, number):
    """Value, flags, CAS unique, expiry and what is known of its use; the clock; what was flushed or deleted stays so."""
    with serve(file) as server:
        uptime = int(reference.stats(server)["uptime"])
        reference.ask(server.connect(), b"set old 0 0 3\r\nold\r\nflush_all\r\n", b"OK\r\n")
        made = lines(server, b"ms a 5 F7 c\r\nhello\r\nms b 3 T1 c\r\nbye\r\nms c 3 T1000 c\r\nsee\r\nms d 1\r\nx\r\n"
                     b"ms YSBi 1 b c\r\nz\r\nmd d\r\nset n 0 0 1\r\n5\r\nms s 1\r\n1\r\nmd s I\r\n", 9)  # fmt: skip
        assert all(line.startswith((b"HD", b"STORED")) for line in made), made
        first = lines(server, b"mg a t f c v h s\r\nmg a h\r\n", 3)
        assert first[0].startswith(b"VA 5 t-1 f7 c") and first[1:] == [b"hello\r\n", b"HD h1\r\n"]
        (stale,) = lines(server, b"mg s c\r\n", 1)
        cas = int(re.search(rb" c(\d+)", first[0])[1])
        end(server, number)
    time.sleep(1.5)
    with serve(file) as server:
        assert told(server) is None
        again = lines(server, b"mg a t f c v\r\nmg b v\r\nmg d v\r\nmg old v\r\nmg YSBi b v\r\n", 7)
        assert again[0].rstrip() == b"VA 5 t-1 f7 c%d" % cas and again[1] == b"hello\r\n"
        assert again[2:5] == [b"EN\r\n"] * 3 and again[5:7] == [b"VA 1\r\n", b"z\r\n"]
        (c,) = lines(server, b"mg c t\r\n", 1)
        assert 900 < int(c[4:]) < 1000
        assert lines(server, b"incr n 1\r\n", 1) == [b"6\r\n"]
        # It still was told that it won nothing, and the mark of what was invalidated stays.
        assert stale.startswith(b"HD c") and b" X" in stale and b" X" in lines(server, b"mg s c\r\n", 1)[0]
        newer = int(lines(server, b"ms e 1 c\r\nx\r\n", 1)[0].split(b"c")[1])
        assert newer > cas
        assert lines(server, b"cas a 0 0 1 %d\r\nx\r\ncas a 0 0 1 %d\r\nx\r\n" % (cas, cas), 2) == [b"STORED\r\n", b"EXISTS\r\n"]
        assert int(reference.stats(server)["uptime"]) > uptime
        end(server)


def test_databases(quick_file):
    """Redis' items, in all databases, two of which have changed places, with times in milliseconds."""
    def redis(server, *words):
        address = re.findall(r"listening on (\S+):(\d+)", server.log.read_text())[1]
        return subprocess.run(["redis-cli", "-p", address[1], *words], check=True, capture_output=True, text=True).stdout.strip()

    options = ("--redis-port", reference.free_port())
    with serve(quick_file, *options) as server:
        for db in range(16):
            assert redis(server, "-n", str(db), "set", "k", f"in {db}", "px", "1000000") == "OK"
        assert redis(server, "swapdb", "3", "5") == redis(server, "-n", "7", "flushdb") == "OK"
        end(server)
    with serve(quick_file, *options) as server:
        found = [redis(server, "-n", str(db), "get", "k") for db in range(16)]
        expected = {3: "in 5", 5: "in 3", 7: ""}
        assert found == [expected.get(db, f"in {db}") for db in range(16)]
        assert [redis(server, "-n", str(db), "dbsize") for db in (3, 7)] == ["1", "0"]
        assert 900_000 < int(redis(server, "pttl", "k")) < 1_000_000
        assert redis(server, "-n", "3", "keys", "*") == "k"
        end(server)


@pytest.mark.parametrize("options", [(), ("-M",), ("-C", "-o", "drop_privileges"), ("-L",)])
def test_many(file, options, seed):
    """All items, of all sizes: as many as there were, with their values; eviction goes on."""
    rng = random.Random(seed)
    count = scale(20_000, 1_000_000)
    small = count - 40
    megabytes = scale(MEGABYTES, 512)
    with serve(file, *options, megabytes=megabytes) as server:
        with server.connect() as s:
            for at in range(0, small, 1000):
                s.sendall(b"".join(b"set k%d 0 0 %d noreply\r\nv%d\r\n" % (i, len(str(i)) + 1, i) for i in range(at, at + 1000)))
            reference.ask(s, b"get nothing\r\n", b"END\r\n")
        client = values.Client(server)
        long = {}
        for i in range(40):
            key = b"long%d" % i
            long[key] = values.make(key, i, values.size(rng))
            assert client.set(key, long[key]) == b"STORED\r\n"
        before = reference.stats(server)
        assert int(before["curr_items"]) == count // 1000 * 1000 + 40 and before["evictions"] == "0"
        end(server)
    began = time.monotonic()
    with serve(file, *options, megabytes=megabytes) as server:
        assert values.Client(server).get(b"k5") == b"v5"
        print(f"{count} items: first answer after {time.monotonic() - began:.3f} s")
        after = reference.stats(server)
        assert [after[name] for name in ("curr_items", "bytes")] == [before[name] for name in ("curr_items", "bytes")]
        with server.connect() as s:
            file_ = s.makefile("rb")
            for at in range(0, small, 500):
                s.sendall(b"".join(b"get k%d\r\n" % i for i in range(at, at + 500)))
                for i in range(at, at + 500):
                    assert [file_.readline() for _ in range(3)] == [
                        b"VALUE k%d 0 %d\r\n" % (i, len(str(i)) + 1), b"v%d\r\n" % i, b"END\r\n"]  # fmt: skip
        client = values.Client(server)
        assert all(client.get(key) == value for key, value in long.items())
        # The logs go on where they were: what is stored now pushes out the oldest, and nothing is damaged.
        for i in range(2 * megabytes):
            key = b"new%d" % (i % 100)
            reply = client.set(key, values.make(key, i, 1_000_000))
            assert reply == b"STORED\r\n" or "-M" in options
            got = client.get(key)
            assert got is None or values.version(key, got) <= i
        if "-M" not in options:
            assert int(reference.stats(server)["evictions"]) > 0
        end(server)


def test_kills(file, seed):
    """However it ends: the next server has the items of one that was asked to end, and no others; never a wrong value."""
    rng = random.Random(seed)
    newest, whole = {}, False
    for turn in range(scale(12, 100)):
        server = serve(file, "-L" if turn % 5 == 4 else "-r")
        client = values.Client(server)
        found = {key: client.get(key) for key in newest}
        if whole:
            assert told(server) is None and found == newest
        elif whole is None:
            # It was killed while it ended.
            assert found == newest or not any(found.values())
        else:
            assert not any(found.values()), turn
            assert turn == 0 or "did not end as it is to" in told(server)
        newest = {key: value for key, value in found.items() if value is not None}
        written = rng.randrange(2, 300)
        for i in range(written):
            key = b"k%d" % rng.randrange(200)
            value = values.make(key, turn * 1000 + i, rng.randrange(70, 20_000))
            if i == written - 1 and turn % 3 == 0:
                # In the middle of a value.
                client.socket.sendall(b"set %s 0 0 %d\r\n" % (key, len(value)) + value[: len(value) // 2])
            else:
                assert client.set(key, value) == b"STORED\r\n"
                newest[key] = value
        if turn % 3 == 1:
            end(server, rng.choice([signal.SIGTERM, signal.SIGUSR1]))
            whole = True
        else:
            whole = False
            if turn % 3 == 2:
                server.process.send_signal(signal.SIGTERM)
                time.sleep(rng.uniform(0, 0.03))
                whole = None
            server.kill()
        client.socket.close()


def test_killed_while_it_starts(quick_file, seed):
    rng = random.Random(seed)
    with serve(quick_file) as server:
        assert values.Client(server).set(b"k", b"v") == b"STORED\r\n"
        end(server)
    for _ in range(scale(10, 100)):
        process = subprocess.Popen(server.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.wait()
        with serve(quick_file) as server:
            value = values.Client(server).get(b"k")
            assert value == (None if told(server) else b"v")
            assert values.Client(server).set(b"k", b"v") == b"STORED\r\n"
            end(server)


@pytest.mark.parametrize(("options", "more"), [
    ((), {"megabytes": 65}), ((), {"threads": 40}), (("-n", "100"), {}), (("-M",), {}), (("-C",), {})])  # fmt: skip
def test_other_flags(quick_file, options, more):
    with serve(quick_file) as server:
        assert values.Client(server).set(b"k", b"v") == b"STORED\r\n"
        end(server)
    with serve(quick_file, *options, **more) as server:
        assert told(server) == "it was made with other flags; -m, -n, -t, -M and -C are to be the same"
        client = values.Client(server)
        assert client.get(b"k") is None and client.set(b"k", b"w") == b"STORED\r\n"
        end(server)
    with serve(quick_file, *options, **more) as server:
        assert values.Client(server).get(b"k") == b"w"


def word(file, at):
    """Replaces a 64-bit word; `at` counts from the end if it is negative."""
    with open(file, "r+b") as f:
        f.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        old = f.read(8)
        f.seek(-8, os.SEEK_CUR)
        f.write(bytes(b ^ 0x5A for b in old))


def state_of(file):
    """Where the state is: the first page behind the mapping, which the last words of the head's flags tell the size of."""
    head = file.read_bytes()[-PAGE:]
    mapped = int.from_bytes(head[8 * 6 : 8 * 7], "little")
    return (mapped + PAGE - 1) // PAGE * PAGE


def a_way(file):
    """Makes each way lead somewhere else: behind the log's end."""
    data = bytearray(file.read_bytes())
    end_of = state_of(file)
    at = data.index(b"a_key_of_its_own")
    for way in range(0, end_of, 8):
        value = int.from_bytes(data[way : way + 8], "little")
        if value >> 50 and (value >> 14 & (1 << 36) - 1) * 8 == (at - 16):
            data[way : way + 8] = (value | ((1 << 36) - 1) << 14).to_bytes(8, "little")
            file.write_bytes(data)
            return
    raise LookupError("no way leads to the item")


FORMAT = "it is of a version with another format"
DAMAGED = "it is damaged"


@pytest.mark.parametrize(("spoil", "why"), [
    (lambda f: word(f, -PAGE + 8), FORMAT),
    (lambda f: word(f, state_of(f)), DAMAGED),
    (lambda f: word(f, -PAGE + 8 * 9), DAMAGED),
    (lambda f: word(f, -PAGE + 8 * 10), DAMAGED),
    (a_way, DAMAGED),
    (lambda f: f.write_bytes(bytes(f.stat().st_size)), "the server before did not end as it is to, so its items cannot be trusted"),
])  # fmt: skip
def test_spoiled(quick_file, spoil, why):
    with serve(quick_file) as server:
        assert values.Client(server).set(b"a_key_of_its_own", b"v") == b"STORED\r\n"
        end(server)
    spoil(quick_file)
    with serve(quick_file) as server:
        assert told(server) == why
        client = values.Client(server)
        assert client.get(b"a_key_of_its_own") is None and client.set(b"k", b"w") == b"STORED\r\n"


def refused(*argv):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=reference.SECONDS)
    assert done.returncode == 1 and "listening" not in done.stdout
    return done.stderr


def test_what_is_no_file_of_items(quick_file, tmp_path):
    """Somebody else's file stays as it is; so does that of a server that runs, and what it has when a start fails."""
    command = [reference.WIREKV, "serve", "--body", "soft", "-m", MEGABYTES, "-t", 2, *reference.AS_ROOT]
    for text in (b"precious", b"precious" * 2000):
        quick_file.write_bytes(text)
        assert "is not empty and no store's file; it stays as it is" in refused(*command, "-p", 0, "-e", quick_file)
        assert quick_file.read_bytes() == text
    quick_file.unlink()
    assert "-e" in refused(*command, "-p", 0, "-e", tmp_path)
    assert "-e" in refused(*command, "-p", 0, "-e", tmp_path / "no" / "file")
    with serve(quick_file) as server:
        assert quick_file.stat().st_mode & 0o777 == 0o600
        assert values.Client(server).set(b"k", b"v") == b"STORED\r\n"
        assert "another server has it" in refused(*command, "-p", 0, "-e", quick_file)
        assert values.Client(server).get(b"k") == b"v"
        settings = reference.ask(server.connect(), b"stats settings\r\n", b"END\r\n")
        assert b"STAT memory_file %s\r\n" % str(quick_file).encode() in settings
        end(server)
    with reference.soft() as other:
        assert "is in use" in refused(*command, "-p", other.port, "-e", quick_file)
    with serve(quick_file) as server:
        assert values.Client(server).get(b"k") == b"v"


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root alone")
def test_no_room(tmp_path):
    script = 'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"'
    argv = ["unshare", "-m", "sh", "-c", script, tmp_path, reference.WIREKV, "serve", "--body", "soft", "-p", 0, "-m", MEGABYTES]
    if subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("no mount namespace can be made")
    error = refused(*argv, "-e", tmp_path / "items", *reference.AS_ROOT)
    assert re.search(r"-e \S+items: no \d+ bytes for it: No space left on device", error), error
