"""Sends the same random commands to Redis 7.0 and to another server and compares the replies.

    python tb resp [HOST:PORT] [--protocol 2|3] [--commands N] [--seed S]
                   [--password P] [--reference HOST:PORT]
    python tb resp [HOST:PORT] --replay NAME.replay.gz [--shrink]

Without an address `wirekv serve --body soft` is started. A difference leaves a replay file in build/e2e.
"""

import argparse
import random
import time

from harness import differ
from harness.memcached import replay
from harness.memcached.compare import Remote
from harness.resp import generate, play, servers, wire


def empty(server, password=None):
    client = wire.Client(server)
    if password:
        assert client("AUTH", password) == b"OK"
    assert client("FLUSHALL") == b"OK"
    client.close()


def run(pair, seed, commands, password=None, history=300, label="resp", first=None, **options):
    """So many commands, behind a burst that is `first`; how often each command was refused, and was not."""
    for server in pair:
        empty(server, password)
    generator = generate.Generator(seed, password=password, **options)
    match = play.Play(*pair, label=f"{label}_{seed}")
    if first:
        match.run(first)
    while match.commands < commands:
        # So that a replay file is short enough to be of use.
        if len(match.history) >= history and not any(state.multi for state in generator.states):
            for server in pair:
                empty(server, password)
            reopen(match, generator)
            match.history.clear()
        match.run(generator.burst())
    match.close()
    return match


def reopen(match, generator):
    match.close()
    generator.states = [generator.opened() for _ in generator.states]


class Bench(replay.Bench):
    """For the shrinker: servers that are there already."""

    def __init__(self, pair):
        self.pair = pair

    def close(self):
        pass

    def failure(self, history):
        for server in self.pair:
            empty(server)
        match = play.Play(*self.pair, label="replay")
        try:
            for burst in history:
                match.run(burst)
        except differ.Mismatch as e:
            return str(e)
        except OSError as e:
            return f"{type(e).__name__}: {e}"
        finally:
            match.close()
        return None


def show(_, burst):
    print(f"on connection {burst.connection}, cuts {burst.cuts}:")
    for command in burst.commands:
        print(f"    {differ.brief(command.ours or command.data, 500)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", nargs="?", help="host:port; default: the soft body is started")
    parser.add_argument("--reference", help="host:port; default: Redis is started")
    parser.add_argument("--protocol", type=int, choices=[2, 3], help="default: both")
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--connections", type=int, default=3)
    parser.add_argument("--password", help="that both servers were started with")
    parser.add_argument("--broken", type=float, default=0.15, help="share of broken commands")
    parser.add_argument("--only", help="names of commands, with blanks between them")
    parser.add_argument("--replay")
    replay.arguments(parser, silence=10, seconds=120)
    parser.add_argument("--names", action="store_true", help="how often each command was answered")
    args = parser.parse_args()
    differ.SILENCE_SECONDS = args.silence
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    theirs = Remote("redis", args.reference) if args.reference else servers.redis()
    ours = Remote("server", args.server) if args.server else servers.soft()
    try:
        if args.replay:
            return replay.again(Bench((theirs, ours)), play.load(args.replay), args.shrink and args.seconds, show)
        print(f"seed {seed}", flush=True)
        start = time.monotonic()
        password = args.password.encode() if args.password else None
        match = run((theirs, ours), seed, args.commands, password, protocol=args.protocol,
                    connections=args.connections, broken=args.broken,
                    only=args.only and args.only.upper().encode().split())  # fmt: skip
        for name, (refused, done) in sorted(match.names.items()) if args.names else ():
            print(f"{name.decode('latin-1'):<14}{done:>8}{refused:>8} refused")
        print(f"{match.commands} commands, all replies equal, {time.monotonic() - start:.0f} s")
        return 0
    except differ.Mismatch as e:
        print(e)
        return 1
    finally:
        ours.stop()
        theirs.stop()
