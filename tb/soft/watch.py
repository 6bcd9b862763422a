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


def first_touches(server, thread):
    """Pages that a thread, named so, found not resident so far."""
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        name, rest = (task / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        if name == thread:
            return int(rest.split()[7])
    raise LookupError(f"{server.name} has no thread '{thread}'")


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
