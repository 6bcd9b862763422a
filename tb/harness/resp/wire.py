"""RESP: requests as bytes, replies cut apart and read, and a client that waits for each."""

from harness import reference


class Malformed(ValueError):
    pass


def request(*words):
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(w), w) for w in words)])


def end(data, at):
    """Where the reply that begins at `at` ends; None: not all of it is there."""
    left = 1
    while left:
        stop = data.find(b"\r\n", at)
        if stop < 0:
            return None
        kind, left = data[at : at + 1], left - 1
        at_size = at + 1
        at = stop + 2
        if kind in (b"$", b"=", b"!"):
            size = int(data[at_size:stop])
            if size >= 0:
                at += size + 2
        elif kind in (b"*", b"~", b">"):
            left += max(0, int(data[at_size:stop]))
        elif kind == b"%":
            left += 2 * int(data[at_size:stop])
        elif kind not in (b"+", b"-", b":", b"_", b",", b"#", b"("):
            raise Malformed(f"no reply begins with {bytes(data[stop - 20 : stop + 20])!r}")
        if at > len(data):
            return None
    return at


def read(data, at=0):
    """The reply that begins at `at`, and where it ends. A reply is a pair: its kind, and a list for
    an array, a set, a map (keys and values in turn), else the bytes."""
    stop = data.index(b"\r\n", at)
    kind, head, at = data[at : at + 1], bytes(data[at + 1 : stop]), stop + 2
    if kind in (b"$", b"=", b"!"):
        size = int(head)
        if size < 0:
            return (kind, None), at
        return (kind, bytes(data[at : at + size])), at + size + 2
    if kind in (b"*", b"~", b">", b"%"):
        count = int(head) * (2 if kind == b"%" else 1)
        if count < 0:
            return (kind, None), at
        found = []
        for _ in range(count):
            reply, at = read(data, at)
            found.append(reply)
        return (kind, found), at
    return (kind, head), at


class Error(Exception):
    pass


def plain(reply):
    """A reply as Python's values: bytes, int, None, list, dict, or an `Error`."""
    kind, value = reply
    if kind == b"-":
        return Error(value.decode())
    if kind == b":":
        return int(value)
    if value is None or kind == b"_":
        return None
    if kind == b"%":
        return {plain(k): plain(v) for k, v in zip(value[::2], value[1::2])}
    return list(map(plain, value)) if isinstance(value, list) else value


class Client:
    """Sends a request and waits for its reply."""

    def __init__(self, server, timeout=60):
        self.socket = server.connect(timeout=timeout)
        self.data = bytearray()

    def send(self, *words):
        self.socket.sendall(request(*(w if isinstance(w, bytes) else str(w).encode() for w in words)))

    def raw(self):
        """The next reply's bytes."""
        while (stop := end(self.data, 0)) is None:
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise ConnectionError(f"closed; so far {bytes(self.data[-100:])!r}")
            self.data += piece
        reply = bytes(self.data[:stop])
        del self.data[:stop]
        return reply

    def reply(self):
        return plain(read(self.raw())[0])

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def many(self, requests):
        """All in one write; the replies in order."""
        self.socket.sendall(b"".join(request(*words) for words in requests))
        return [self.reply() for _ in requests]

    def rest(self, seconds=reference.SECONDS):
        """All that comes until the server closes."""
        while reference.readable(self.socket, seconds):
            try:
                piece = self.socket.recv(1 << 18)
            except ConnectionResetError:
                piece = b""
            if not piece:
                return bytes(self.data)
            self.data += piece
        raise TimeoutError(f"not closed; so far {bytes(self.data[-100:])!r}")

    def close(self):
        self.socket.close()
