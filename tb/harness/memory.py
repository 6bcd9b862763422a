"""How much memory the soft body may take, and clients that do not read."""

# -m of the tests under pressure.
MEGABYTES = 64
# What the process has beside -m: program, stacks, buffers of connections being served.
BESIDE = 12
# And for each connection.
EACH = 32 / 1024


def fill(connection, bytes_, piece):
    """Sends `bytes_` again and again until the kernel takes no more of it, or `piece` bytes went."""
    connection.setblocking(False)
    sent = 0
    try:
        while sent < piece:
            at = sent % len(bytes_)
            sent += connection.send(bytes_[at : at + 65536])
    except BlockingIOError:
        pass
    connection.settimeout(60)
