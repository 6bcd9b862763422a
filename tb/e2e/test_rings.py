"""The card behind rings in host memory, with its link in gates and the mover that a card on PCIe has, too: what clients get is
the same, whatever memory's latency and order, over a bad wire, and when the link has to be started anew."""

import re
import subprocess

import pytest
import redis
from pymemcache.client.base import Client

from harness import differ, reference
from harness.filelist import ROOT
from harness.memcached import stream
from harness.size import scale


def refusal(*options):
    """What a server that does not start says."""
    done = subprocess.run([reference.WIREKV, "serve", "-p", "0", *reference.AS_ROOT, *options], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1
    return done.stderr.strip()


def _lacks():
    try:
        return refusal("--link", "rings", "--card-ip", "127.0.0.1")
    except OSError as e:
        return f"--link rings: no server: {e}"


# Of a program with rings it is the address that is refused.
LACKS = _lacks()
needs_rings = pytest.mark.skipif("--link rings" in LACKS, reason=LACKS)
#: Later than PCIe, and in any order.
MEMORY = "latency=60,jitter=60,shuffle"
ANEW = "the channel is started anew"


def start(*options, memory=MEMORY):
    return reference.wirekv("--link", "rings", "--host-memory", memory, *options)


@pytest.fixture(scope="module")
def ringed():
    with start("--redis-port", str(reference.free_port())) as server:
        yield server
        assert ANEW not in server.log.read_text()


def play(memcached, server, seed, label, commands, **budgets):
    run = differ.Differ(memcached, server, label=f"{label}_{seed}")
    generator = stream.Generator(seed, prefix=label.encode() + b":", **budgets)
    while run.commands < commands:
        run.run(generator.burst())
    run.close()


@needs_rings
def test_text(memcached, ringed, seed):
    play(memcached, ringed, seed, "rings", scale(800, 20_000), value_budget=2 << 20, reply_budget=4 << 20)


@needs_rings
def test_pymemcache(ringed):
    client = Client(ringed.address, timeout=reference.SECONDS, no_delay=True, default_noreply=False)
    values = {f"key{i}": b"%d" % i * (i % 50) for i in range(100)}
    assert client.set_many(values) == [] and client.get_many(values) == values
    value, unique = client.gets("key7")
    assert client.cas("key7", b"7", unique) is True and client.cas("key7", b"8", unique) is False
    # By the punt queue.
    assert client.stats()[b"version"] == b"1.6.38"
    long_value = bytes(range(256)) * 3000
    assert client.set("long", long_value) and client.get("long") == long_value
    client.quit()


@needs_rings
def test_redis(ringed):
    port = int(ringed.argv[ringed.argv.index("--redis-port") + 1])
    client = redis.Redis(ringed.host, port, socket_timeout=reference.SECONDS)
    with client.pipeline(transaction=False) as pipe:
        for i in range(100):
            pipe.set(f"r{i}", i)
            pipe.get(f"r{i}")
        assert pipe.execute() == [word for i in range(100) for word in (True, b"%d" % i)]
    # What gates do not run, and a transaction.
    assert client.append("r1", "x") == 2 and client.getrange("r1", 0, -1) == b"1x"
    with client.pipeline() as pipe:
        assert pipe.incr("n").incr("n").execute() == [1, 2]
    assert client.dbsize() >= 100 and sorted(client.keys("r9*")) == [b"r9", *(b"r9%d" % i for i in range(10))]
    client.close()


@needs_rings
def test_loss(memcached, seed):
    """Frames lost, doubled, late and damaged."""
    silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 60
    try:
        with start("--impair", f"drop=0.01,dup=0.01,reorder=0.01,damage=0.01,seed={seed}") as server:
            play(memcached, server, seed, "ringloss", scale(200, 5_000), value_budget=1 << 18, reply_budget=1 << 19)
    finally:
        differ.SILENCE_SECONDS = silence


@needs_rings
def test_refused(memcached, seed):
    """Memory refuses some of what the card asks for: the channel stops and is started anew; clients see a wire that has lost
    frames."""
    silence, differ.SILENCE_SECONDS = differ.SILENCE_SECONDS, 60
    try:
        with start(memory="latency=20,refuse=300") as server:
            play(memcached, server, seed, "refused", scale(200, 1_000), value_budget=1 << 18, reply_budget=1 << 19)
            assert ANEW in server.log.read_text()
    finally:
        differ.SILENCE_SECONDS = silence


@needs_rings
def test_keeps_failing():
    """A link that stops all the time ends the server, which says so."""
    server = start(memory="refuse=2")
    try:
        with server.connect() as s:
            s.sendall(b"version\r\n" * 50)
            assert server.process.wait(reference.SECONDS) == 1
    finally:
        server.kill()
    assert "channel 0 was restarted 9 times within 60s" in server.tail()


def test_what_is_missing():
    """A program without the link says how to build one; a card that is not there is named."""
    assert "make server FEATURES=rings" in LACKS or "--card-ip" in LACKS
    card = refusal("--body", "card", "--pci", "0000:ff:1f.7")
    assert "there is no PCI function 0000:ff:1f.7 (no /sys/bus/pci/devices/0000:ff:1f.7)" in card


def test_flags_have_a_row():
    """Each flag of a card on PCIe, and those of the link, stand in the page on the mover."""
    told = subprocess.run([reference.WIREKV, "serve", "--help"], check=True, capture_output=True, text=True).stdout
    of_card = told.partition("With --body card:\n")[2].partition("\n\nWith")[0]
    flags = re.findall(r"^ +(--[a-z-]+)", of_card, re.M)
    rows = re.findall(r"^\| `(--[a-z-]+)", (ROOT / "docs" / "LINK_HOST.md").read_text(), re.M)
    assert "--pci" in flags and set(rows) == {*flags, "--link", "--host-memory"}
