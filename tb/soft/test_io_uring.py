"""Where io_uring is forbidden, as in many containers, the software body says so once and serves without it."""

import sys

from harness import reference
from harness.reference import ask

#: Forbids system call 425, io_uring_setup, with EPERM; then becomes the program. By seccomp(2)'s filter of cBPF:
#: load the call's number; is it that one; the error, or go on.
FORBIDS = """
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *i) for i in ((0x20, 0, 0, 0), (0x15, 0, 1, 425), (6, 0, 0, 0x50001),
                                                  (6, 0, 0, 0x7fff0000)))
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
for call in ((38, 1, 0, 0, 0), (22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0)):
    if prctl(*call):
        sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_forbidden():
    argv = [sys.executable, "-c", FORBIDS, reference.WIREKV, "serve", "--body", "soft", "-l", "127.0.0.1", "-p", 0, "-t", 4]
    server = reference.Server("no-io-uring", argv + reference.AS_ROOT)
    reference.listen_address(server)
    try:
        clients = [server.connect() for _ in range(40)]
        for client in clients:
            client.sendall(b"set key 0 0 5\r\nvalue\r\nget key\r\n")
        for client in clients:
            assert ask(client, b"", b"END\r\n") == b"STORED\r\nVALUE key 0 5\r\nvalue\r\nEND\r\n"
            client.close()
    finally:
        server.stop()
    said = [line for line in server.log.read_text().splitlines() if "io_uring" in line]
    assert len(said) == 1 and "no io_uring (Operation not permitted (os error 1))" in said[0], said
