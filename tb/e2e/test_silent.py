"""Clients that connect and say nothing: who comes next is answered at once, and after the time that is
set for it the silent ones are gone."""

import contextlib
import itertools
import os
import socket
import subprocess
import time

import pytest
from scapy.layers.inet import TCP

from harness.segments import Connection, Wire
from harness.watch import settle_stat
from harness.tap import interface_of, needs_tap
from harness import reference

CONNECTIONS = 1024


@contextlib.contextmanager
def silent_clients(*options, body):
    """A server, and so many clients as it may have, each of which has been answered once."""
    server = reference.wirekv(*options, body=body, connections=CONNECTIONS)
    silent = []
    try:
        for _ in range(CONNECTIONS):
            silent.append(socket.create_connection(server.address, reference.SECONDS))
            silent[-1].sendall(b"verbosity 1\r\n")
            assert silent[-1].recv(100) == b"OK\r\n"
        yield server, silent
    finally:
        for s in silent:
            s.close()
        assert server.stop() == 0, server.tail()


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_all_places_taken(body):
    """All that the server has: the next one is refused at once, in memcached's words."""
    with silent_clients(body=body) as (server, _), server.connect() as s:
        begin = time.monotonic()
        assert s.recv(100) == b"ERROR Too many open connections\r\n"
        print(f"refused after {time.monotonic() - begin:.3f} s")


@pytest.mark.parametrize("body", ["sim", "soft"])
def test_silent_ones_make_room(body):
    """When the idle timeout is over they are closed, and the next one is served."""
    with silent_clients("-o", "idle_timeout=10", body=body) as (server, silent):
        for s in silent:
            assert s.recv(1) == b""
            s.close()
        assert settle_stat(server, "curr_connections", 1) == 1
        assert int(reference.stats(server)["idle_kicks"]) == CONNECTIONS


@pytest.mark.parametrize("net", ["user", pytest.param("tap", marks=needs_tap)])
def test_cost_nothing(net):
    """While nobody says anything the card's clock stands, but for what it takes to look at each connection once in
    eight seconds. A look each second would be 2,000 clocks a second, a tick each millisecond 7,000."""
    with reference.wirekv(net=net) as server:
        with contextlib.ExitStack() as silent:
            for _ in range(1000):
                s = silent.enter_context(server.connect())
                assert reference.ask(s, b"verbosity 1\r\n", b"\r\n") == b"OK\r\n"

            def clocks():
                lines = reference.ask(s, b"stats card\r\n", b"END\r\n").decode().split("\r\n")
                return int(next(line.split()[2] for line in lines if line.startswith("STAT HostClocks ")))

            time.sleep(3)
            begin = clocks()
            time.sleep(10)
            took = clocks() - begin
            print(f"{took} clocks in 10 s")
            assert 1000 < took < 10_000


@needs_tap
def test_dead_hosts():
    """Hosts that have gone do not answer a probe: they make room when places are short, and the one
    that answers keeps its own."""
    with reference.wirekv("--tcp-keepalive", "2", net="tap", connections=4) as server:
        wire = Wire(interface_of(server.host), server.host, server.port).find()
        *dead, alive = [Connection(wire, 42000 + i).open() for i in range(4)]
        late = Connection(wire, 42004)
        late.seq = 0x20000000
        probes, served = {c.sport: 0 for c in (alive, *dead)}, False
        acks = {c.sport: c.ack for c in (alive, *dead)}
        end = time.monotonic() + 60
        while not (served and all(probes.values())) and time.monotonic() < end:
            # Some may have come while the others were opened.
            aside, wire.aside = wire.aside, []
            for frame in itertools.chain(aside, wire.frames(0.5)):
                tcp = frame[TCP]
                if tcp.dport == late.sport and tcp.flags == "SA":
                    late.ack = tcp.seq + 1
                    wire.send(late.sport, late.seq + 1, late.ack, "PA", b"version\r\n")
                elif tcp.dport == late.sport:
                    served = served or b"VERSION" in bytes(tcp.payload)
                elif tcp.flags == "A" and tcp.seq == (acks[tcp.dport] - 1) & 0xFFFFFFFF:
                    probes[tcp.dport] += 1
                    if tcp.dport == alive.sport:
                        alive.send()
            if not served:
                late.send("S", options=[("MSS", 1460)])
        assert served and all(probes.values()), probes
        alive.talk()


def test_what_a_card_cannot_do():
    for options, why in ((["-o", "idle_timeout=65001"], "65000"), (["-o", "drop_privileges"], "--body soft"),
                         (["--tcp-keepalive", "40000"], "32767")):
        done = subprocess.run([reference.WIREKV, "serve", "-u", os.environ.get("USER", "root"), "-p", "0", *options],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode and why in done.stderr, done.stderr
