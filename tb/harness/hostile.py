"""A crowd of connections that do harm: for test_hostile.py and for bench/hostile.py.

    python tb hostile HOST:PORT [--metrics PORT] [--count 2000] [--ticks 5] [--seed 1]

Says `ready` when all connections are open and each has made its first move, then lets each make one
move a second, says `done` after so many seconds, and holds the connections until its input ends. Its
last line is what was done, as JSON."""

import argparse
import itertools
import json
import random
import resource
import socket
import struct
import sys
import time

# What the good client has stored, so that there is something to ask for.
ITEMS = 10_000


def key(number):
    return b"key-%012d" % number


# Each of these makes one connection's moves: what it sends, and at the end it is silent but for `drop`.


def half_sent(rng, _):
    yield b"set half%d 0 0 1048000\r\n" % rng.randrange(1 << 30) + bytes(rng.randrange(200_000))


def byte_a_second(rng, _):
    text = b"set slow%d 0 0 100000\r\n" % rng.randrange(1 << 30)
    # Some are in the line when it begins, some in the value, some have no value to end.
    start = rng.choice([b"g", b"get " + key(0), text, text + bytes(5000), b"mg " + key(0)])
    yield start
    for _ in itertools.count():
        yield b"x"


def never_reads(rng, _):
    keys = b" ".join(key(rng.randrange(ITEMS)) for _ in range(100))
    while True:
        yield (b"get " + keys + b"\r\n") * 200


def endless_line(rng, piece):
    word = rng.choice([b"x ", key(1) + b" ", b"k" * 250 + b" "])
    yield rng.choice([b"get ", b"gets ", b"mg ", b"gat 0 ", b"nonsense "]) + word * (4 * piece // len(word))
    while True:
        yield word * (piece // len(word))


def lying_lengths(rng, _):
    op = rng.choice([0x00, 0x01, 0x05, 0x0E, 0x11, 0x1C])
    length, extras, body = rng.choice(
        [(5, 8, 0x7FFFFFFF), (5, 8, 0xFFFFFFFF), (250, 8, 1 << 20), (65535, 255, 65535),
         (100, 0, 3), (5, 8, 900_000), (0, 0, 900_000)]  # fmt: skip
    )
    yield struct.pack(">BBHBBHIIQ", 0x80, op, length, extras, 0, 0, body, 0, 0) + bytes(1000)


def drops(rng, _):
    yield rng.choice([b"", b"get " + key(1), b"get " + key(1) + b"\r\n", b"set d 0 0 500000\r\nxyz", b"\x80\x01"])


def half_a_handshake(rng, _):
    # A ClientHello that would be 508 bytes long.
    yield b"\x16\x03\x01\x01\xfc\x01\x00\x01\xf8\x03\x03" + rng.randbytes(100)


def holds_metrics(rng, _):
    yield rng.choice([b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: x\r\n"])
    while True:
        yield b"x"


KINDS = [half_sent, byte_a_second, never_reads, endless_line, lying_lengths, drops, half_a_handshake,
         holds_metrics]  # fmt: skip


class Hostile:
    """One connection, opened again when the server has closed it."""

    def __init__(self, kind, address, rng, piece):
        self.kind, self.address, self.rng, self.piece = kind, address, rng, piece
        self.opened = self.closed = self.sent = 0
        self.open()

    def open(self):
        self.socket = socket.socket()
        if self.kind is never_reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self.socket.connect_ex(self.address)
        self.moves, self.left = self.kind(self.rng, self.piece), b""
        self.opened += 1

    def close(self):
        # A reset, for what has come is not read.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def move(self):
        try:
            if not self.left:
                self.left = next(self.moves)
            count = self.socket.send(self.left) if self.left else 0
            self.sent += count
            self.left = self.left[count:]
            if self.kind is not never_reads and self.socket.recv(4096) == b"":
                raise ConnectionError
        except BlockingIOError:
            pass
        except StopIteration:
            if self.kind is drops:
                self.close()
                self.open()
        except OSError:
            self.closed += 1
            self.socket.close()
            self.open()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("server", metavar="HOST:PORT")
    p.add_argument("--metrics", type=int, metavar="PORT")
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--ticks", type=int, default=5)
    p.add_argument("--kinds", default="", metavar="LIST", help="all, without a word")
    p.add_argument("--piece", type=int, default=64 << 10, metavar="BYTES",
                   help="of an endless line, in a move")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, port = args.server.rsplit(":", 1)
    kinds = [kind for kind in KINDS if not args.kinds or kind.__name__ in args.kinds.split(",")]
    if args.metrics is None:
        kinds = [kind for kind in kinds if kind is not holds_metrics]
    rng = random.Random(args.seed)
    crowd = []
    for i in range(args.count):
        kind = kinds[i % len(kinds)]
        to = args.metrics if kind is holds_metrics else int(port)
        crowd.append(Hostile(kind, (host, to), random.Random(rng.random()), args.piece))
        # The kernel's queue of connections not accepted yet is not what this is about.
        if i % 50 == 49:
            time.sleep(0.02)
    for said in ["ready", *[""] * (args.ticks - 1), "done"]:
        # Spread over the second, but for the first move.
        for i, hostile in enumerate(crowd):
            hostile.move()
            if said != "ready" and i % 100 == 0:
                time.sleep(100 / args.count)
        if said:
            print(said, flush=True)
    sys.stdin.read()
    for hostile in crowd:
        hostile.close()
    told = {}
    for kind in kinds:
        of = [hostile for hostile in crowd if hostile.kind is kind]
        told[kind.__name__] = {"connections": len(of), "opened": sum(h.opened for h in of),
                               "closed": sum(h.closed for h in of), "sent": sum(h.sent for h in of)}  # fmt: skip
    print(json.dumps(told))
