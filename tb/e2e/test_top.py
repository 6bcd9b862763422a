"""`wirekv top`: what it shows of either body, and whom it cannot ask."""

import re
import subprocess

import pytest

from harness import reference


def top(*words):
    return subprocess.run([reference.WIREKV, "top", *map(str, words)], capture_output=True, text=True,
                          timeout=reference.SECONDS)


@pytest.mark.parametrize("body", ["soft", "sim"])
def test_top(body):
    port = reference.free_port()
    with reference.wirekv("--metrics", f"127.0.0.1:{port}", body=body, megabytes=64, connections=64) as server:
        with server.connect() as client:
            for n in range(10):
                reference.ask(client, b"set key%d 0 0 5\r\nvalue\r\n" % n, b"STORED\r\n")
            for _ in range(3):
                reference.ask(client, b"get key1 key2 absent\r\n", b"END\r\n")
            views = top(f"127.0.0.1:{port}", "-n", "1.2", "-c", 2)
    assert (views.returncode, views.stderr) == (0, "")
    # Nobody looks at it as it goes: no control characters, one view below the other.
    heads = re.findall(rf"^WireKV \S+, {body}, 127.0.0.1:{port}, up \d+ s$", views.stdout, re.M)
    assert len(heads) == 2 and "\x1b" not in views.stdout
    for row in (r"items +10 ", r"connections +1 ", r"get hit +\S+ +6$", r"get miss +\S+ +3$", r"set hit +\S+ +10$"):
        assert len(re.findall(rf"^{row}", views.stdout, re.M)) == 2, (row, views.stdout)
    assert ("the card: " in views.stdout) == ("StoreWaitIndex" in views.stdout) == (body == "sim")
    assert ("p99.9" in views.stdout) == (body == "soft")


def test_whom_it_cannot_ask():
    free = reference.free_port()
    with reference.soft() as server:
        for address, why in ((f"127.0.0.1:{free}", "Connection refused"), (f"127.0.0.1:{server.port}", "no HTTP")):
            asked = top(address)
            assert asked.returncode == 1 and asked.stdout == ""
            assert asked.stderr.startswith(f"wirekv: --metrics of {address}: ") and why in asked.stderr
    for words in (("-n", "0", "a:1"), ("-n", "x", "a:1"), ()):
        assert top(*words).returncode == 2
