"""Redis 7.0, the soft body and the simulated card, each with an address that speaks RESP."""

import shutil

from harness import reference

# The longest value of both: the soft body's -I, less what an item has beside its value.
LONGEST = 1 << 20


def program():
    """Debian's redis-tools has the whole server under another name."""
    found = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if found is None:
        raise FileNotFoundError("redis-tools is missing: run `make setup`")
    return found


def redis(*options, name="redis"):
    port = reference.free_port()
    argv = ["--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
            "--maxclients", "12000", "--proto-max-bulk-len", LONGEST,
            # As ours; with a limit small integers are no shared objects.
            "--maxmemory", "8gb", "--maxmemory-policy", "allkeys-lfu", *options]  # fmt: skip
    # The name that it is started by makes it the server.
    server = reference.Server(name, ["redis-server", *argv], executable=program())
    server.port = port
    server.wait_until(lambda: reference.accepts(port))
    return server


def card(*options, **more):
    """The simulated card, likewise."""
    port = reference.free_port()
    server = reference.wirekv("--redis-port", port, *options, **more)
    server.memcached, server.port = server.address, port
    server.wait_until(lambda: reference.accepts(port, server.host))
    return server


def soft(*options, **more):
    """The soft body; its `address` is that of RESP, `memcached` the address of the others."""
    port = reference.free_port()
    server = reference.soft("--redis-port", port, *options, **more)
    server.memcached, server.port = server.address, port
    server.wait_until(lambda: reference.accepts(port))
    return server
