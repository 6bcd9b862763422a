"""Sends the same random requests to memcached 1.6.38 and to another server and compares the
replies byte for byte.

    python tb compare HOST:PORT [--protocol classic|meta|text|binary|udp] [--commands N]
                          [--seed S] [--connections N] [--reference HOST:PORT]
    python tb compare HOST:PORT --replay NAME.replay.gz --protocol ... [--shrink]

The address is of any server: memcached, `wirekv serve` with any body. Both servers are emptied
first. A difference leaves a replay file in build/e2e.
"""

import argparse
import random
import time

from harness import differ, reference, threads
from harness.memcached import corpus, generate, replay, stream


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


def run(servers, protocol, seed, commands, history=400, flush=True, **options):
    """So many commands on one connection; `options` are the generator's."""
    kind, make, more = KINDS[protocol]
    budget = commands * 300
    generator = make(
        seed, flush=flush, **{"value_budget": budget, "reply_budget": budget, **more, **options}
    )
    play = kind(*servers, label=f"soft_{protocol}_{seed}")
    while play.commands < commands:
        # A replay file of the whole run would be too long to be of use: it begins anew where both
        # servers were emptied.
        if flush and len(play.history) >= history:
            for server in servers:
                reference.empty(server)
            play.history.clear()
        play.run(generator.datagram() if protocol == "udp" else generator.burst())
    play.close()
    return play.commands


def together(servers, protocol, seed, commands, connections, **options):
    """So many commands on several connections at the same time, each with keys of its own."""
    done = [0] * connections

    def client(i):
        each = commands // connections
        done[i] = run(servers, protocol, seed + i, each, flush=False, prefix=b"%d:" % i, **options)

    threads.together(connections, client)
    return sum(done)


def play_corpus(servers):
    """The conversations that probe the corners, from `corpus`."""
    play = differ.Differ(*servers, label="soft_corpus")
    nonce = 0
    for conversations in corpus.OPEN.values():
        for text in conversations():
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
    replay.arguments(parser, silence=10, seconds=120)
    args = parser.parse_args()
    differ.SILENCE_SECONDS = args.silence
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    ours = Remote("server", args.server)
    theirs = Remote("memcached", args.reference) if args.reference else reference.memcached()
    servers = [theirs, ours]
    try:
        for server in servers:
            reference.empty(server)
        if args.replay:
            bench = Bench(servers, KINDS.get(args.protocol, (differ.Differ,))[0])
            return replay.again(bench, differ.load(args.replay), args.shrink and args.seconds)
        print(f"{args.protocol}, seed {seed}", flush=True)
        start = time.monotonic()
        options = {"broken": args.broken}
        if args.largest is not None:
            options["largest"] = args.largest
        work = (servers, args.protocol, seed, args.commands)
        if args.protocol == "corpus":
            count = play_corpus(servers)
        elif args.connections > 1:
            count = together(*work, args.connections, **options)
        else:
            count = run(*work, args.history, **options)
        print(f"{count} commands, all replies equal, {time.monotonic() - start:.0f} s")
        return 0
    except differ.Mismatch as e:
        print(e)
        return 1
    finally:
        theirs.stop()
