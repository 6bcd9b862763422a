"""The section redis-benchmark: what Redis' own load generator says of each server. See docs/BENCH.md."""

import contextlib
import csv
import io
import shutil
import subprocess

from common import median, say, table
from peers import PROTOCOLS, BenchError, Server

MEGABYTES = 1024
TESTS = "ping,set,get,incr,mset"
KEYS, VALUE, CONNECTIONS = 1_000_000, 100, 50
PIPELINES = (1, 16, 64)
# Of each test: a second and more.
REQUESTS = {1: 200_000, 16: 2_000_000, 64: 4_000_000}


def redis_benchmark_section(args):
    rounds = 1 if args.quick else args.rounds
    results = []
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(peer, MEGABYTES, args.server_cpu))
                   for peer in args.peers if PROTOCOLS[peer]["text"] == "redis"]
        for server in servers:
            server.pause()
        for pipeline in PIPELINES:
            requests = REQUESTS[pipeline] // (10 if args.quick else 1)
            found = {server.peer: [] for server in servers}
            for _ in range(rounds):
                for server in servers:
                    server.resume()
                    found[server.peer].append(once(server, pipeline, requests))
                    server.pause()
            for peer, of_rounds in found.items():
                for test, figures in median(of_rounds).items():
                    say(f"    {peer:<10}{name_of(test, pipeline)}: {figures['rps'] / 1e3:8.1f} K/s,"
                        f" p99 {figures['p99_latency_ms'] * 1000:7.0f} us")
                    results.append({"peer": peer, "test": test, "pipeline": pipeline, **figures})
    return results


def name_of(test, pipeline):
    return f"{test}, -P {pipeline}"


def once(server, pipeline, requests):
    """Test -> its figures."""
    program = shutil.which("redis-benchmark")
    if program is None:
        raise BenchError("redis-benchmark is missing: run `make setup`")
    command = [program, "-p", server.port, "-t", TESTS, "-P", pipeline, "-r", KEYS, "-d", VALUE,
               "-c", CONNECTIONS, "-n", requests, "--csv"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=600)
    if done.returncode or "rror" in done.stdout + done.stderr:
        raise BenchError(f"{server.peer}: {' '.join(map(str, command))}\n"
                         f"  {(done.stderr or done.stdout).strip()[-500:]}")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    return {row.pop("test"): {name: float(value) for name, value in row.items()} for row in rows}


METRICS = [
    ("redis-benchmark: thousand requests a second", 1, max, lambda r: r["rps"] / 1e3),
    ("redis-benchmark: p50, us", 0, min, lambda r: r["p50_latency_ms"] * 1000),
    ("redis-benchmark: p99, us", 0, min, lambda r: r["p99_latency_ms"] * 1000),
]


def redis_benchmark_tables(results, peers):
    for title, digits, best, metric in METRICS:
        rows = {}
        for r in results:
            rows.setdefault(name_of(r["test"], r["pipeline"]), {})[r["peer"]] = metric(r)
        table(title, rows.items(), peers, digits, best=best)
