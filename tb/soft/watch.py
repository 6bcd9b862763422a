"""What the system knows of a server process."""

import os
import resource
import time
from pathlib import Path


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
    """What /proc tells of a thread, named so."""
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        name, rest = (task / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        if name == thread:
            return rest.split()
    raise LookupError(f"{server.name} has no thread '{thread}'")


def first_touches(server, thread):
    """Pages that a thread, named so, found not resident so far."""
    return int(_thread(server, thread)[7])


def populated(server):
    """Waits until all memory is resident that is to be ahead of use: the thread that sees to it sleeps."""

    def sleeps():
        try:
            return _thread(server, "populate")[0] == "S"
        except LookupError:
            return False  # it has not begun

    assert settle(sleeps, True), "memory becomes resident for ever"


def settle(read, value, seconds=60):
    """Waits until `read()` gives `value`; returns what it gives in the end."""
    end = time.monotonic() + seconds
    while (now := read()) != value and time.monotonic() < end:
        time.sleep(0.02)
    return now


def raise_file_limit():
    """This process may hold as many connections as the system allows; returns how many."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
