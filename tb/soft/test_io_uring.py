"""Where io_uring is forbidden, as in many containers, the server says so once and serves as well."""

import random
import stat
import sys

from harness import reference
from harness.memcached import values

#: A program that forbids itself io_uring_setup (seccomp(2): it fails with EPERM), and goes on as the server.
FORBIDS = """#!{python}
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN, SETUP, ALLOW, EPERM = 0x20, 0x15, 0x06, 425, 0x7FFF0000, 0x00050001
program = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, SETUP), (RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
libc = ctypes.CDLL(None, use_errno=True)
filter = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and libc.prctl(SECCOMP, FILTER, filter) == 0
os.execv({wirekv!r}, sys.argv)
"""


def test_forbidden(tmp_path):
    program = tmp_path / "wirekv"
    program.write_text(FORBIDS.format(python=sys.executable, wirekv=str(reference.WIREKV)))
    program.chmod(stat.S_IRWXU)
    with reference.soft(binary=program, threads=4) as server:
        others = values.Others(server, random.Random(1))
        others.work(200)
        others.close()
        assert server.tail(400).count("io_uring cannot be used (Operation not permitted") == 1
