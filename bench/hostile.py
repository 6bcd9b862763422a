"""The section hostile: what 2,000 hostile connections (tb/harness/hostile.py) do to the requests of a client
that means well, at the same offered rate without them and with them. See docs/BENCH.md."""

import contextlib
import os
import subprocess
import sys

from common import median, run_load, say, store, table
from peers import ROOT, Server, free_port

MEGABYTES = 64
HOSTILE = 2000
# As in tb/harness/hostile.py, which asks for these.
ITEMS, KEY, VALUE = 10_000, 16, 1000
CONNECTIONS, PIPELINES = 50, (1, 16)
# While the crowd comes and makes its first moves, all at once, and behind that.
SITUATIONS = {"alone": PIPELINES, "arriving": PIPELINES[:1], "hostile": PIPELINES}
RATE = 20_000
SECONDS, WARMUP = 2, 0.3


def hostile_section(args):
    rounds = 1 if args.quick else args.rounds
    results = []
    for peer in (peer for peer in args.peers if peer in ("memcached", "soft")):
        options = ["-c", str(2 * HOSTILE)]
        metrics = free_port() if peer == "soft" else None
        if metrics:
            options += ["--metrics", f"127.0.0.1:{metrics}"]
        # Two threads; the other CPU is for the clients.
        with Server(peer, MEGABYTES, args.server_cpu, args.server_cpu, options=options) as server:
            store(server, 0, ITEMS, KEY, VALUE)
            found = {situation: {} for situation in SITUATIONS}
            for _ in range(rounds):
                for situations, around in ((("alone",), contextlib.nullcontext()),
                                           (("arriving", "hostile"), crowd(server, metrics))):
                    points = [(s, pipeline) for s in situations for pipeline in SITUATIONS[s]]
                    with around:
                        for situation, pipeline in points:
                            figures = once(server, pipeline)
                            found[situation].setdefault(pipeline, []).append(figures)
                            row = {"situation": situation, "pipeline": pipeline, "peer": peer}
                            say(f"    {peer:<10}{line(row | figures)}")
        for situation, of in found.items():
            for pipeline, figures in of.items():
                row = {"situation": situation, "pipeline": pipeline, "peer": peer}
                results.append(row | median(figures))
    return results


@contextlib.contextmanager
def crowd(server, metrics):
    """Hostile connections, as long as the context."""
    argv = [sys.executable, ROOT / "tb", "hostile", f"127.0.0.1:{server.port}", "--ticks", 1000]
    argv += ["--count", HOSTILE, *(["--metrics", metrics] if metrics else [])]
    with subprocess.Popen([str(word) for word in argv], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, preexec_fn=lambda: os.nice(19)) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


def once(server, pipeline):
    figures = run_load(
        server, "text", "-c", CONNECTIONS, "--pipeline", pipeline, "--ratio", "1:1",
        "--key-prefix", "key-", "--key-size", KEY, "-d", VALUE, "--key-minimum", 0,
        "--key-maximum", ITEMS - 1, "--test-time", SECONDS, "--warmup", WARMUP, "--rate", RATE,
        refusals=True)
    return {"p50": figures["windows"]["p50_us"], "p99": figures["windows"]["p99_us"],
            "misses": figures["misses"], "wrong": figures["wrong"],
            "resident": server.resident() / (1 << 20)}


def line(row):
    return (f"{row['situation']:<8} pipelining {row['pipeline']:>2}: p50 {row['p50']:6.0f}"
            f" p99 {row['p99']:6.0f} us, {row['misses']:,} misses, {row['wrong']:,} wrong,"
            f" {row['resident']:.1f} MiB")


def hostile_tables(results, peers):
    for title, digits, name in (("p50, us", 0, "p50"), ("p99, us", 0, "p99"), ("misses", 0, "misses"),
                                ("wrong, or refused", 0, "wrong"), ("resident, MiB", 1, "resident")):
        found = {}
        for r in results:
            row = found.setdefault(f"{r['situation']}, pipelining {r['pipeline']}", {})
            row[r["peer"]] = r[name]
        table(f"{HOSTILE:,} hostile connections: {title}", found.items(), peers, digits)
    rates = {}
    for r in results:
        rates.setdefault(f"pipelining {r['pipeline']}", {}).setdefault(r["peer"], {})[
            r["situation"]] = r["p99"]
    table("p99, hostile to alone", [
        (name, {peer: p["hostile"] / p["alone"] for peer, p in of.items()})
        for name, of in rates.items()], peers, 2)
