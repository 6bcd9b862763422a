"""-m beside what there is: a server that starts is not killed for its memory, and one that cannot fit says so."""

import contextlib
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import reference, watch
from harness.memcached import values
from harness.size import scale
from harness.threads import together

MIB = 1 << 20
LIMIT = 150
SOFT = [reference.WIREKV, "serve", "--body", "soft", "-p", "0", *reference.AS_ROOT]


def memory_cgroup():
    """Where a cgroup with a limit of memory can be made, and the limit's file: of version 2, or of version 1."""
    two, one = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
    if (one / "memory.limit_in_bytes").exists():
        return one, "memory.limit_in_bytes"
    controllers = two / "cgroup.subtree_control"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return two, "memory.max"
    return None


@pytest.fixture(scope="module")
def cgroup():
    """A cgroup with 150 MB."""
    found = memory_cgroup()
    if not found:
        pytest.skip("no cgroup with a limit of memory can be made: there is no controller of memory")
    above, file = found
    try:
        group = Path(tempfile.mkdtemp(prefix="wirekv-", dir=above))
    except OSError as e:
        pytest.skip(f"no cgroup can be made: {e}")
    try:
        (group / file).write_text(str(LIMIT * MIB))
        yield group
    finally:
        group.rmdir()


def within(group, *options):
    """The command that starts a server in the cgroup."""
    return ["sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', group, *map(str, (*SOFT, *options))]


def killed(group):
    """How often the kernel has killed for want of memory; None where it does not say."""
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            found = re.search(r"^oom_kill (\d+)", (group / name).read_text(), re.M)
            return int(found[1]) if found else None
    return None


def crowd(server, total, seed):
    """Stores `total` bytes, of all sizes, in 8 connections at once."""

    def work(i):
        rng = values.random.Random(seed + i)
        client = values.Client(server)
        written, turn = 0, 0
        while written < total // 8:
            turn += 1
            size = values.size(rng)
            assert client.set(b"%d:%d" % (i, turn), values.make(b"k", turn, size)) in (
                b"STORED\r\n", b"SERVER_ERROR out of memory storing object\r\n")  # fmt: skip
            written += size
        client.close()

    together(8, work)


@pytest.mark.parametrize("run", range(scale(4, 100)))
def test_refused_or_served(cgroup, run, seed):
    """In 150 MB, whatever -m, -t, -c and the flags are: it is refused with the figures, or it serves when all is full."""
    rng = values.random.Random(seed * 1000 + run)
    first = [("-m", 256), ("-m", "80%", "-c", 64), ("-m", "100m", "-t", 2, "-c", 256), ("-m", 134, "-t", 1, "-c", 64, "-L")]
    drawn = ("-m", rng.randrange(40, 200), "-t", rng.randrange(1, 9), "-c", rng.randrange(16, 1024), *rng.choice([[], ["-L"]]))
    options = first[run] if run < len(first) else drawn
    server = reference.Server("fits", within(cgroup, *options))
    try:
        reference.listen_address(server)
    except reference.ServerDied:
        assert server.process.returncode == 1
        told = server.log.read_text()
        assert re.search(rf"-m {options[1]}: it does not fit\. \d+ MB for items and \d+ MB for the program, its threads and "
                         rf"-c connections are more than the {LIMIT} MB that this cgroup \(\S+\) has\.", told), told  # fmt: skip
        assert options != first[1] and options != first[2]
        return
    with server:
        assert options != first[0]
        crowd(server, 200 * MIB, seed + run)
        assert values.Client(server).set(b"k", b"v") == b"STORED\r\n"
        print(f"{options}: at most {watch.peak(server):.1f} MiB")
    assert not killed(cgroup)


@pytest.mark.parametrize(("megabytes", "threads", "connections"), [(32, 1, 64), (64, 8, 512)])
def test_bound(megabytes, threads, connections, seed):
    """What docs/OPERATING.md says is the most that is resident: -m, 12 MB, a MB a thread, 32 KB a connection."""
    with reference.soft(megabytes=megabytes, threads=threads, connections=connections) as server:
        idle = [values.Client(server) for _ in range(connections - 16)]
        for client in idle:
            # Each with an incomplete request, which it keeps.
            client.socket.sendall(b"get " + b"k" * 200 + b" ")
        crowd(server, 4 * megabytes * MIB, seed)
        most = watch.peak(server)
        print(f"at most {most:.1f} MiB")
        assert most <= megabytes + 12 + threads + connections / 32
        assert most > megabytes * 0.9


@pytest.mark.parametrize("text", ["0%", "101%", "1.5g", "12q", "-1", ""])
def test_no_amount(text):
    done = subprocess.run([*SOFT, f"-m{text}" if text else "-m="], capture_output=True, text=True)
    assert done.returncode == 2 and "is neither megabytes, nor a size such as 512m or 1g, nor a share such as 80%" in done.stderr


@pytest.mark.parametrize(("text", "megabytes"), [("48", 48), ("49152k", 48), ("48m", 48), ("1g", 1024)])
def test_units(text, megabytes):
    with reference.soft(megabytes=text) as server:
        assert int(reference.stats(server)["limit_maxbytes"]) == megabytes * MIB


def test_a_share_of_the_cgroup(cgroup):
    with reference.Server("fits", within(cgroup, "-m", "50%", "-c", "64")) as server:
        reference.listen_address(server)
        assert int(reference.stats(server)["limit_maxbytes"]) == LIMIT // 2 * MIB


def test_more_than_the_machine():
    done = subprocess.run([*SOFT, "-m", "400g"], capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"-m 400g: it does not fit\. 409600 MB .* more than the \d+ MB that this", done.stderr)
