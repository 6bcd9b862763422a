"""A client that means well, and a crowd of hostile ones (hostile.py), for tests."""

import json
import subprocess
import sys
import threading

from harness import hostile
from harness.imports import TB
from harness.memcached import values

BATCH = 100


class Good:
    """Stores and reads items, and knows what the replies must be."""

    def __init__(self, server, items, size):
        self.client = values.Client(server)
        self.items, self.size, self.version = items, size, 0

    def value(self, i):
        return values.make(hostile.key(i), self.version, self.size)

    def store(self):
        self.version += 1
        for first in range(0, self.items, BATCH):
            some = range(first, first + BATCH)
            sets = (b"set %b 0 0 %d\r\n%b\r\n" % (hostile.key(i), self.size, self.value(i)) for i in some)
            self.client.socket.sendall(b"".join(sets))
            said = [self.client.file.readline() for _ in some]
            assert set(said) == {b"STORED\r\n"}

    def read(self):
        for first in range(0, self.items, BATCH):
            some = range(first, first + BATCH)
            self.client.socket.sendall(b"get " + b" ".join(map(hostile.key, some)) + b"\r\n")
            for i in some:
                line = self.client.file.readline()
                expect = b"VALUE %b 0 %d\r\n" % (hostile.key(i), self.size)
                assert line == expect, f"item {i}: {line}"
                assert self.client.file.read(self.size + 2) == self.value(i) + b"\r\n", f"item {i}"
            assert self.client.file.readline() == b"END\r\n"


class Crowd:
    """hostile.py in a process of its own."""

    def __init__(self, *args):
        argv = [sys.executable, TB, "hostile", *map(str, args)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.done = threading.Event()
        threading.Thread(target=self._await).start()

    def _await(self):
        self.said = self.process.stdout.readline()
        self.done.set()

    def end(self):
        """What each kind did."""
        said, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return json.loads(said)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
