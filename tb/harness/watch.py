"""What the system knows of a server process."""

import os
import re
import resource
import time
from pathlib import Path

from harness import reference


def _status(server, field):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":")) / 1024


def resident(server):
    """MiB that are resident."""
    return _status(server, "VmRSS")


def peak(server):
    """Most MiB that ever were."""
    return _status(server, "VmHWM")


def locked(server):
    """MiB that cannot be paged out."""
    return _status(server, "VmLck")


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def seconds(server):
    """Of processor time so far."""
    with open(f"/proc/{server.process.pid}/stat") as f:
        user, system = f.read().rsplit(") ", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def share(server):
    """Of one processor's time, what it takes in a second or more."""
    began, before = time.monotonic(), seconds(server)
    time.sleep(1)
    return (seconds(server) - before) / (time.monotonic() - began)


def _thread(server, thread):
    """Where /proc tells of a thread, named so."""
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        if (task / "comm").read_text() == f"{thread}\n":
            return task
    raise LookupError(f"{server.name} has no thread '{thread}'")


def _stat(server, thread):
    """Its figures, from its state on."""
    return (_thread(server, thread) / "stat").read_text().rsplit(") ", 1)[1].split()


def first_touches(server, thread):
    """Pages that a thread, named so, found not resident so far."""
    return int(_stat(server, thread)[7])


def sleeps(server, thread):
    """How often it had nothing to do so far."""
    return int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", (_thread(server, thread) / "status").read_text(), re.M)[1])


def populated(server):
    """Waits until all memory is resident that is to be ahead of use: the thread that sees to it sleeps."""

    def done():
        try:
            return _stat(server, "populate")[0] == "S"
        except LookupError:
            return False  # it has not begun

    assert settle(done, True), "memory becomes resident for ever"


def settle(read, value, seconds=reference.SECONDS, every=0.02):
    """Waits until `read()` gives `value`; returns what it gives in the end."""
    end = time.monotonic() + seconds
    while (now := read()) != value and time.monotonic() < end:
        time.sleep(every)
    return now


def raise_file_limit():
    """This process may hold as many connections as the system allows; returns how many."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def settle_stat(server, field, value):
    """Waits until a field of `stats` has come (back) to `value`; returns what it is then."""
    return settle(lambda: int(reference.stats(server)[field]), value, every=0.1)
