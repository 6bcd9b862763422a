"""What the card's other variants (rtl/top/config_pkg.sv) have, and say that they lack: make test CONFIG=Small
FOLDER=tb/e2e/test_variants.py. Other tests run with them, too."""

import subprocess

import pytest

from harness import reference
from harness.filelist import VARIANT
from harness.reference import WIREKV, ask

only = {name: pytest.mark.skipif(VARIANT != name, reason=f"CONFIG={name}") for name in ("Small", "Full")}


def refused(*options):
    """What the program says when it does not start."""
    run = subprocess.run([WIREKV, "serve", "-p", "0", *options, *reference.AS_ROOT],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    return run.stderr


@only["Small"]
def test_small_says_what_it_lacks():
    assert refused("-U", "11211") == "wirekv: the card is built without UDP\n"
    assert refused("-l", "::1") == "wirekv: -l ::1: the card is built without IPv6\n"
    assert refused("-c", "65") == "wirekv: the card has room for 64 connections, 65 are asked for\n"


def all_at_once(connections):
    """Each of so many stores and reads, all while the others are open."""
    with reference.wirekv(connections=connections) as card:
        clients = [card.connect() for _ in range(connections)]
        for n, client in enumerate(clients):
            client.sendall(b"set %d 0 0 5\r\n%05d\r\n" % (n, n))
        for client in clients:
            assert ask(client, b"", b"\r\n") == b"STORED\r\n"
        for n, client in enumerate(clients):
            client.sendall(b"get %d\r\n" % n)
        for n, client in enumerate(clients):
            assert ask(client, b"", b"END\r\n") == b"VALUE %d 0 5\r\n%05d\r\nEND\r\n" % (n, n)
        for client in clients:
            client.close()


@only["Small"]
def test_small_has_64_connections():
    all_at_once(64)


@only["Full"]
def test_full_has_more_connections():
    """Twice as many as the default card can have."""
    all_at_once(2048)
