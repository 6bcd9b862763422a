"""Plays a recorded stream again, and finds a short one that still fails.

    python tb replay build/e2e/NAME.replay.gz [--body soft] [--kind udp] [--shrink]
"""

import argparse
import sys
import time
from dataclasses import replace

from harness import differ, reference


class Bench:
    """Both servers, emptied before each try, started anew when one of them ended."""

    def __init__(self, start, kind):
        self.start = start
        self.kind = kind
        self.servers = []

    def servers_up(self):
        if len(self.servers) != 2 or any(s.process.poll() is not None for s in self.servers):
            self.close()
            self.servers = [reference.memcached(), self.start()]
        return self.servers

    def close(self):
        for server in self.servers:
            server.kill()
        self.servers = []

    def failure(self, history):
        """What goes wrong when this history is sent, or None."""
        theirs, ours = self.servers_up()
        for server in (theirs, ours):
            reference.empty(server)
        run = self.kind(theirs, ours, label="replay")
        try:
            for burst in history:
                run.run(burst)
        except differ.Mismatch as e:
            return str(e)
        except (reference.ServerDied, OSError, TimeoutError) as e:
            return f"{type(e).__name__}: {e}"
        finally:
            run.close()
        return None


def shrink(bench, history, seconds):
    """Drops bursts, then commands, then cuts, as long as the rest still fails."""
    end = time.monotonic() + seconds

    def reduce(items, build):
        chunk = max(1, len(items) // 2)
        while chunk >= 1 and time.monotonic() < end:
            at = 0
            while at < len(items) and time.monotonic() < end:
                fewer = items[:at] + items[at + chunk :]
                if fewer and bench.failure(build(fewer)):
                    items = fewer
                    print(f"  still fails with {len(items)}", file=sys.stderr)
                else:
                    at += chunk
            chunk //= 2
        return items

    history = reduce(history, lambda bursts: bursts)
    for i in range(len(history)):
        before, burst, after = history[:i], history[i], history[i + 1 :]

        def rebuilt(commands, burst=burst, before=before, after=after):
            fewer = replace(burst, commands=list(commands))
            return before + [fewer] + after

        history = rebuilt(reduce(burst.commands, rebuilt))
        uncut = replace(history[i], cuts=[])
        if bench.failure(before + [uncut] + after):
            history = before + [uncut] + after
    return history


def show(i, burst):
    print(f"burst {i + 1}, cuts {burst.cuts}:")
    for command in burst.commands:
        print(f"    {differ.show(command)}")


def again(bench, history, seconds=None, show=show):
    """Plays it; with `seconds` a short one is looked for so long, and shown. What the process ends with."""
    try:
        why = bench.failure(history)
        if why and seconds:
            history = shrink(bench, history, seconds)
            why = bench.failure(history) or why
    finally:
        bench.close()
    for i, burst in enumerate(history if why and seconds else []):
        show(i, burst)
    print(why or f"{len(history)} bursts: no difference")
    return 1 if why else 0


def arguments(parser, silence, seconds):
    """Those of who plays a stream again."""
    parser.add_argument("--shrink", action="store_true", help="find a short failing stream")
    parser.add_argument("--seconds", type=float, default=seconds, help="time for --shrink")
    parser.add_argument("--silence", type=float, default=silence, help="seconds until a reply is missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--body", choices=["sim", "soft"], default="sim")
    parser.add_argument("--kind", choices=differ.KINDS, default="text")
    parser.add_argument("--against-memcached", action="store_true", help="memcached on both sides")
    arguments(parser, silence=5, seconds=300)
    parser.add_argument("--serve-args", nargs=argparse.REMAINDER, default=[],
                        help="more arguments of the server: all that stands behind")
    args = parser.parse_args()
    differ.SILENCE_SECONDS = args.silence

    def start():
        if args.against_memcached:
            return reference.memcached(*args.serve_args)
        return reference.wirekv(*args.serve_args, body=args.body)

    return again(Bench(start, differ.KINDS[args.kind]), differ.load(args.file), args.shrink and args.seconds)
