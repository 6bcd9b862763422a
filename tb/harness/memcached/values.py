"""Values that tell what they are, and a client that reads them."""

import random
import zlib

# The longest value whose item every server takes with the keys used here.
LONGEST = (1 << 20) - 100
BLOB = random.Random(1).randbytes(3 << 20)


def make(key, version, size):
    """`size` bytes that only this version of this key has (almost: very short ones are cut)."""
    head = b"%s %d %d " % (key, version, size)
    at = zlib.crc32(head) & ((1 << 20) - 1)
    return (head + BLOB[at : at + size])[:size]


def version(key, value):
    """The version of a value of at least 64 bytes; fails where it is not one whole value of `key`."""
    name, number, size = value.split(b" ", 3)[:3]
    assert (name, int(size)) == (key, len(value)), f"{key} has {value[:60]}, {len(value)} bytes"
    assert value == make(key, int(number), int(size)), f"{key}: bytes of {value[:60]} are damaged"
    return int(number)


def size(rng, longest=LONGEST):
    """1 byte to the longest, as many below 1 KiB as above."""
    return min(longest, int(2 ** rng.uniform(0, 20.01)))


class Client:
    """Sends a request and awaits its reply."""

    def __init__(self, server):
        self.socket = server.connect(timeout=60)
        self.file = self.socket.makefile("rb")

    def line(self, request):
        self.socket.sendall(request)
        return self.file.readline()

    def set(self, key, value):
        return self.line(b"set %s 0 0 %d\r\n" % (key, len(value)) + value + b"\r\n")

    def get(self, key):
        """The value, or None."""
        self.socket.sendall(b"get %s\r\n" % key)
        return self.reply()

    def reply(self):
        """The reply to a `get` that was sent before."""
        line = self.file.readline()
        if line == b"END\r\n":
            return None
        assert line.startswith(b"VALUE "), line
        size = int(line.split()[3])
        value = self.file.read(size + 2)
        assert len(value) == size + 2 and value.endswith(b"\r\n"), f"{len(value)} of {size} bytes"
        assert self.file.readline() == b"END\r\n"
        return value[:-2]

    def close(self):
        self.file.close()
        self.socket.close()


class Others:
    """Clients that write and read keys of their own while a test does something else: what they
    read was written last, or is gone for want of memory."""

    def __init__(self, server, rng, count=4):
        self.clients = [Client(server) for _ in range(count)]
        self.rng = rng
        self.newest = {}

    def work(self, turns):
        for turn in range(turns):
            i = turn % len(self.clients)
            key = b"%d:%d" % (i, self.rng.randrange(20))
            self.newest[key] = make(key, turn, size(self.rng, 50_000))
            assert self.clients[i].set(key, self.newest[key]) == b"STORED\r\n"
            key = b"%d:%d" % (i, self.rng.randrange(20))
            assert self.clients[i].get(key) in (self.newest.get(key), None)

    def close(self):
        for client in self.clients:
            client.close()
