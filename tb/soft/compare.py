#!/usr/bin/env python3
"""Sends the same random requests to memcached 1.6.38 and to another server and compares the
replies byte for byte.

    python tb/soft/compare.py HOST:PORT [--protocol classic|meta|text|binary|udp] [--commands N]
                              [--seed S] [--connections N] [--reference HOST:PORT]
    python tb/soft/compare.py HOST:PORT --replay NAME.replay.gz --protocol ... [--shrink]

The address is of any server: memcached, `wirekv serve` with any body. Both servers are emptied
first. A difference leaves a replay file in build/e2e.
"""

import argparse
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e import corpus, differ, reference, replay, stream  # noqa: E402
from soft import generate  # noqa: E402


class Remote(reference.Server):
    """A server that someone else started, TCP and UDP at one port."""

    def __init__(self, name, address):
        self.name = name
        self.host, port = address.rsplit(":", 1)
        self.port = self.udp_port = int(port)

    def check_alive(self):
        try:
            self.connect(timeout=2).close()
        except OSError as e:
            raise reference.ServerDied(f"{self.name} is gone: {e}") from e

    def stop(self):
        return 0

    def kill(self):
        pass


KINDS = {
    "classic": (differ.Differ, stream.Generator, {}),
    "meta": (differ.Differ, generate.Text, {"meta": 1.0}),
    "text": (differ.Differ, generate.Text, {"meta": 0.4}),
    "binary": (differ.BinaryDiffer, generate.Binary, {}),
    "udp": (differ.UdpDiffer, generate.Text, {"meta": 0.3, "udp": True}),
}


def empty(server):
    with server.connect() as s:
        reference.ask(s, b"flush_all\r\n", b"OK\r\n")


def bursts(args, seed, prefix, flush):
    """Bursts without end."""
    _, make, options = KINDS[args.protocol]
    options = dict(options, prefix=prefix, flush=flush, broken=args.broken)
    options["value_budget"] = options["reply_budget"] = args.commands * 300
    if args.largest is not None:
        options["largest"] = args.largest
    generator = make(seed, **options)
    while True:
        yield generator.datagram() if args.protocol == "udp" else generator.burst()


def run(args, servers, seed, prefix=b"", commands=None, flush=True):
    kind = KINDS[args.protocol][0]
    play = kind(*servers, label=f"soft_{args.protocol}_{seed}")
    # A replay file of the whole run would be too long to be of use: it begins anew where both
    # servers were emptied.
    for burst in bursts(args, seed, prefix, flush):
        if flush and len(play.history) >= args.history:
            for server in servers:
                empty(server)
            play.history.clear()
        play.run(burst)
        if play.commands >= (commands or args.commands):
            break
    play.close()
    return play.commands


def play_corpus(servers):
    """The conversations that probe the corners, from `e2e.corpus`."""
    play = differ.Differ(*servers, label="soft_corpus")
    nonce = 0
    for name in ("lines", "stores", "numbers", "sizes", "overlong_gets", "long_lines"):
        for text in getattr(corpus, name)():
            play.history.clear()
            for part in (corpus.SETUP, text, b"gets a b n\r\n"):
                nonce += 1
                play.run(stream.Burst([[part]], stream.sentinel(b"", nonce)))
    for text in corpus.closing():
        play.run(stream.Burst([[text]], closes=True))
    play.close()
    return play.commands


class Bench(replay.Bench):
    """For the shrinker: servers that are there already."""

    def __init__(self, servers, kind):
        self.servers, self.kind = servers, kind

    def servers_up(self):
        return self.servers

    def close(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server")
    parser.add_argument("--reference", help="host:port; default: memcached is started")
    parser.add_argument("--protocol", choices=[*KINDS, "corpus"], default="text")
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--connections", type=int, default=1, help="at once, with keys of their own")
    parser.add_argument("--broken", type=float, default=0.15, help="share of broken requests")
    parser.add_argument("--largest", type=int, help="longest value")
    parser.add_argument("--history", type=int, default=400, help="bursts a replay file has at most")
    parser.add_argument("--replay")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--seconds", type=float, default=120, help="time for --shrink")
    parser.add_argument("--silence", type=float, default=10, help="seconds until a reply is missing")
    args = parser.parse_args()
    differ.SILENCE_SECONDS = args.silence
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    ours = Remote("server", args.server)
    theirs = Remote("memcached", args.reference) if args.reference else reference.memcached()
    servers = [theirs, ours]
    try:
        for server in servers:
            empty(server)
        if args.replay:
            return again(args, servers)
        print(f"{args.protocol}, seed {seed}", flush=True)
        start = time.monotonic()
        if args.protocol == "corpus":
            count = play_corpus(servers)
        elif args.connections > 1:
            count = together(args, servers, seed)
        else:
            count = run(args, servers, seed)
        print(f"{count} commands, all replies equal, {time.monotonic() - start:.0f} s")
        return 0
    except differ.Mismatch as e:
        print(e)
        return 1
    finally:
        theirs.stop()


def together(args, servers, seed):
    """Several connections at the same time."""
    results = []

    def client(i):
        try:
            each = args.commands // args.connections
            results.append(run(args, servers, seed + i, b"%d:" % i, each, flush=False))
        except Exception as e:
            results.append(e)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(args.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, Exception):
            raise result
    return sum(results)


def again(args, servers):
    kind = KINDS.get(args.protocol, (differ.Differ,))[0]
    bench = Bench(servers, kind)
    history = differ.load(args.replay)
    why = bench.failure(history)
    if why and args.shrink:
        history = replay.shrink(bench, history, args.seconds)
        why = bench.failure(history) or why
        for i, burst in enumerate(history):
            print(f"burst {i + 1}, cuts {burst.cuts}:")
            for command in burst.commands:
                print(f"    {differ.show(command)}")
    print(why or f"{len(history)} bursts: no difference")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
