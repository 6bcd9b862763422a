"""What the card's other variants (rtl/top/config_pkg.sv) have, and say that they lack: make test CONFIG=Small
FOLDER=tb/e2e/test_variants.py. Other tests run with them, too."""

import subprocess

import pytest

from harness import reference, watch
from harness.filelist import VARIANT
from harness.reference import WIREKV, ask
from harness.size import scale
from harness.tap import needs_tap

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


def all_at_once(card, connections):
    """Each of so many stores and reads, all while the others are open."""
    clients = [card.connect() for _ in range(connections)]
    for n, client in enumerate(clients):
        client.sendall(b"set %d 0 0 5\r\n%05d\r\n" % (n, n))
    for client in clients:
        assert ask(client, b"", b"\r\n") == b"STORED\r\n"
    for n, client in enumerate(clients):
        client.sendall(b"get %d\r\n" % n)
    for n, client in enumerate(clients):
        assert ask(client, b"", b"END\r\n") == b"VALUE %d 0 5\r\n%05d\r\nEND\r\n" % (n, n)
    return clients


@only["Small"]
def test_small_has_64_connections():
    with reference.wirekv(connections=64) as card:
        for client in all_at_once(card, 64):
            client.close()


@needs_tap
@only["Full"]
def test_full_has_16384_connections():
    """10,000 at once, all by the kernel's TCP; then many in a row that end in every way: none is left."""
    with reference.wirekv(net="tap", connections=16384) as card:
        before = int(reference.stats(card)["curr_connections"])
        clients = all_at_once(card, 10_000)
        assert int(reference.stats(card)["curr_connections"]) == before + 10_000
        for client in clients:
            client.close()
        count = scale(5_000, 100_000)
        for i in range(count):
            client = card.connect()
            assert ask(client, b"get %d\r\n" % (i % 10_000), b"END\r\n").endswith(b"\r\n%05d\r\nEND\r\n" % (i % 10_000))
            if i % 3 == 0:  # the card closes
                client.sendall(b"quit\r\n")
                assert client.recv(100) == b""
            elif i % 3 == 1:
                reference.resets_at_close(client)
            client.close()
        assert watch.settle_stat(card, "curr_connections", before) == before
        assert int(reference.stats(card)["total_connections"]) >= 10_000 + count
