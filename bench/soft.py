"""Compares `wirekv serve --body soft` with memcached, Redis and Valkey: see docs/BENCH.md.

    make bench-soft
    make bench-soft ARGS='--only cpu --quick'
"""

import argparse
import contextlib
import json
import lzma
import os
import platform
import re
import signal
import sys
import time
from pathlib import Path

from common import calmest, drive, median, run_load, say, store, table
from hostile import hostile_section, hostile_tables
from peers import OUT, PROTOCOLS, ROOT, THREADED, BenchError, Server, fetch, version
from plots import plot
from redis_benchmark import redis_benchmark_section, redis_benchmark_tables
from uneven import uneven_section, uneven_tables

sys.path.append(str(ROOT / "tb"))
from harness import certificates  # noqa: E402

SECTIONS = ["cpu", "tls", "uneven", "redis-benchmark", "hostile", "threads", "memory", "miss"]
PEERS = ["memcached", "soft", "redis", "valkey", "soft-resp"]
# Who takes part without --peers, where it is not all.
DEFAULT_PEERS = {"hostile": ["memcached", "soft"], "threads": ["memcached", "soft"],
                 "redis-benchmark": ["redis", "valkey", "soft-resp"],
                 "miss": ["memcached", "soft", "redis"]}
MIXES = {"GET": "0:1", "1:1": "1:1"}

CPU_MEGABYTES = 1024
CPU_KEY, CPU_VALUE = 16, 100

MEMORY_MEGABYTES = 256
ITEM_SIZES = [(16, 32), (36, 195), (64, 1024)]
# Seconds: a day, within which nothing ends here.
MEMORY_EXPIRY = 86_400

MISS_MEGABYTES = 64
MISS_KEYS, MISS_REQUESTS, MISS_WARMUP = 1_000_000, 5_000_000, 2_000_000
# Of the scan: keys in a row, and in all. More than fit.
SCAN_RUN, SCANNED = 100_000, 1_000_000
WORKLOADS = {
    "Zipf 0.9": ["-w", "zipf", "--exponent", "0.9"],
    "Zipf 0.99": ["-w", "zipf", "--exponent", "0.99"],
    # So few keys come at all that smaller values would all fit.
    "Zipf 1.2, 1 KiB": ["-w", "zipf", "--exponent", "1.2", "-d", "1024"],
    "ETC sizes, Zipf 0.99": ["-w", "zipf", "--exponent", "0.99", "--etc-sizes"],
    "Zipf 0.99, 20 % one-hit": ["-w", "one-hit", "--exponent", "0.99", "--share", "0.2"],
    "Zipf 0.99, 20 % scan": ["-w", "scan", "--exponent", "0.99", "--share", "0.2"],
}
TRACE_MEGABYTES = 32
TRACE_FRACTIONS = [0.05, 0.1]
TRACE_KEY = 16
# Traces' objects are large: what a batch of them has in buffers counts as memory used in Redis.
TRACE_BATCH = 16


def arguments():
    p = argparse.ArgumentParser(prog="make bench-soft ARGS=...", description=__doc__.split("\n")[0])
    names = lambda allowed: lambda text: check_names(text.split(","), allowed)
    p.add_argument("--only", type=names(SECTIONS), default=SECTIONS, metavar="LIST",
                   help=f"sections, of {','.join(SECTIONS)}")
    p.add_argument("--peers", type=names(PEERS), metavar="LIST",
                   help=f"servers, of {','.join(PEERS)} (those of each section)")
    p.add_argument("--points", type=regex, default="", metavar="REGEX",
                   help="cpu, tls, uneven: only points in whose name, as printed, this is found")
    p.add_argument("--quick", action="store_true", help="few points, short: figures are rough")
    p.add_argument("--traces", type=Path, metavar="DIR",
                   help="miss: also these, *.xz of 32-bit keys, big end first")
    p.add_argument("--seconds", type=float, default=1, help="cpu, tls: of each measurement (1)")
    p.add_argument("--rounds", type=int, default=5,
                   help="cpu, tls, uneven: measurements of each server, in turn (5)")
    p.add_argument("--load", type=float, default=0.5, metavar="SHARE",
                   help="cpu, tls, uneven: offered load for latency, of the slowest peer's throughput (0.5)")
    p.add_argument("--server-cpu", type=int, default=0)
    p.add_argument("--load-cpu", type=int, default=1)
    p.add_argument("--json", type=Path, default=OUT / "soft.json", metavar="FILE")
    return p.parse_args()


def check_names(names, allowed):
    for name in names:
        if name not in allowed:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(allowed)}")
    # In the order of the tables.
    return [name for name in allowed if name in names]


def regex(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None


# ---- Throughput, latency, CPU time ----

def cpu_section(args):
    return throughput(args, ("text", "binary"), (50, 1000))


def tls_section(args):
    """The same with TLS: 1.3, with a certificate on P-256 that the load generator checks."""
    authority = certificates.Authority(OUT)
    return throughput(args, ("text",), (50,), (authority.certificate, *authority.sign("server")))


def throughput(args, protocols, connections, tls=None):
    keys = 100_000 if args.quick else 1_000_000
    points = [(protocol, mix, count, pipeline) for protocol in protocols for mix in MIXES
              for count in connections for pipeline in (1, 16, 64)]
    if args.quick:
        points = [p for p in points if p[2] == 50]
        args.rounds = 1
    points = [p for p in points if args.points.search(point_name(p))]
    results = []
    with contextlib.ExitStack() as stack:
        servers = []
        for peer in args.peers:
            servers.append(stack.enter_context(loaded(peer, keys, args.server_cpu, tls=tls)))
        for n, point in enumerate(points):
            protocol = point[0]
            here = [s for s in servers if protocol in PROTOCOLS[s.peer]]
            if not here:
                continue
            say(f"[{n + 1}/{len(points)}] {point_name(point)}")
            closed = measure(here, point, keys, args)
            slowest = min(figures["all"]["per_second"] for figures in closed)
            opened = measure(here, point, keys, args, slowest * args.load)
            for s, at_full, at_rate in zip(here, closed, opened):
                found = {"closed": at_full, "open": at_rate}
                say(f"    {s.peer:<10}{cpu_line(found)}")
                results.append(dict(zip(("protocol", "mix", "connections", "pipeline"), point),
                                    peer=s.peer, **found))
    return results


@contextlib.contextmanager
def loaded(peer, keys, *cpus, tls=None):
    """A server that holds the keys, stopped until it is measured."""
    say(f"{peer}: starting, storing {keys:,} keys")
    with Server(peer, CPU_MEGABYTES, *cpus, tls=tls) as server:
        # As often as goes through all its memory: a cache that runs for a while has touched it.
        for _ in range(-(-(CPU_MEGABYTES << 20) // (keys * (CPU_KEY + CPU_VALUE)))):
            store(server, 0, keys, CPU_KEY, CPU_VALUE)
        held = server.stats()["items"]
        if held < keys:
            raise BenchError(f"{peer} holds {held:,} of {keys:,} keys in {CPU_MEGABYTES} MB")
        server.pause()
        yield server


def point_name(point):
    protocol, mix, connections, pipeline = point
    return f"{protocol}, {mix}, {connections} connections, pipelining {pipeline}"


def measure(servers, point, keys, args, rate=None):
    """Each server's figures in closed loop: medians of the rounds, in which the servers take turns.
    With a rate in an open one: those of the calmest round, as the machine's bad moments are longer
    than any server's tail."""
    rounds = [[measure_once(s, point, keys, args, rate) for s in servers]
              for _ in range(args.rounds)]
    of_rounds = calmest if rate else median
    return [of_rounds(figures) for figures in zip(*rounds)]


def measure_once(server, point, keys, args, rate, *options):
    protocol, mix, connections, pipeline = point
    server.resume()
    figures = run_load(
        server, protocol, "-c", connections, "--pipeline", pipeline, "--ratio", MIXES[mix],
        "--key-prefix", "key-", "--key-size", CPU_KEY, "-d", CPU_VALUE, "--key-minimum", 0,
        "--key-maximum", keys - 1, "--test-time", args.seconds, "--warmup", 0.3,
        "--server-pid", server.pid, *(["--rate", rate] if rate else ["--lockstep"]), *options)
    server.pause()
    if figures["misses"]:
        raise BenchError(f"{server.peer} lost keys: {figures['misses']:,} misses")
    return figures


def cpu_line(found):
    closed, rated = found["closed"], found["open"]
    server, generator = closed["server"], closed["generator"]
    return (f"{closed['all']['per_second'] / 1e3:7.1f} K/s,"
            f" {server['user_us_per_op']:5.2f} + {server['system_us_per_op']:5.2f} us CPU,"
            f" p99 {closed['all']['p99_us']:8.0f} us; at {rated['rate'] / 1e3:6.1f} K/s"
            f" p50 {rated['windows']['p50_us']:5.0f} p99 {rated['windows']['p99_us']:6.0f} us,"
            f" stalls included {rated['all']['p99_us']:6.0f} us; CPUs: server {server['share']:4.0%},"
            f" load {generator['share']:4.0%}{bound(closed)}")


def bound(closed):
    """A generator at its limit hides what the server can do."""
    busy = closed["generator"]["share"] > 0.95 and closed["server"]["share"] < 0.95
    return "  (load generator is the limit)" if busy else ""


CPU_METRICS = [
    ("Thousand operations a second", 1, lambda r: r["closed"]["all"]["per_second"] / 1e3),
    ("Server CPU, us an operation", 2, lambda r: r["closed"]["server"]["us_per_op"]),
    ("  of these in user mode", 2, lambda r: r["closed"]["server"]["user_us_per_op"]),
    ("p50, us, at the same offered rate", 0, lambda r: r["open"]["windows"]["p50_us"]),
    ("p99, us, at the same offered rate", 0, lambda r: r["open"]["windows"]["p99_us"]),
    ("  the same with the machine's stalls", 0, lambda r: r["open"]["all"]["p99_us"]),
    ("p99.9, with the machine's stalls", 0, lambda r: r["open"]["all"]["p99.9_us"]),
    ("p99, us, closed loop at saturation", 0, lambda r: r["closed"]["all"]["p99_us"]),
]


def cpu_tables(results, peers):
    points = {}
    for r in results:
        point = (r["protocol"], r["mix"], r["connections"], r["pipeline"])
        points.setdefault(point, {})[r["peer"]] = r
    for title, digits, metric in CPU_METRICS:
        rows = [(point_name(point), {peer: metric(r) for peer, r in found.items()})
                for point, found in points.items()]
        table(title, rows, peers, digits, best=max if title.startswith("Thousand") else min)


# ---- Threads ----

def threads_section(args):
    """One thread on one CPU against two on two. The load generator has as many threads and the same
    CPUs: what it takes of them is taken out by counting operations per second of the server's own
    time."""
    keys = 100_000 if args.quick else 1_000_000
    both = (args.server_cpu, args.load_cpu)
    results = []
    for peer in [p for p in args.peers if p in THREADED]:
        with loaded(peer, keys, *both[:1]) as one, loaded(peer, keys, *both) as two:
            for mix in MIXES:
                for pipeline in (16, 64):
                    point = ("text", mix, 50, pipeline)
                    rounds = [[on_cpus(s, point, keys, args) for s in (one, two)]
                              for _ in range(args.rounds)]
                    name = point_name(point)
                    alone, beside = (median(figures) for figures in zip(*rounds))
                    results.append({"peer": peer, "point": name, "one": alone, "two": beside,
                                    "ratio": 2 * alone["server"]["us_per_op"]
                                    / beside["server"]["us_per_op"],
                                    "wall_ratio": beside["all"]["per_second"]
                                    / alone["all"]["per_second"]})
                    say(f"    {peer:<10}{name}: {results[-1]['ratio']:.2f}")
    return results


def on_cpus(server, point, keys, args):
    """Figures with the load generator on the server's CPUs."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, server.cpus)
    try:
        return measure_once(server, point, keys, args, None, "--threads", len(server.cpus))
    finally:
        os.sched_setaffinity(0, mine)


def threads_tables(results, peers):
    for title, key in (("Two threads' operations a second of server time, of one's", "ratio"),
                       ("  the same of wall time, load generator included", "wall_ratio")):
        rows = {}
        for r in results:
            rows.setdefault(r["point"], {})[r["peer"]] = r[key]
        table(title, rows.items(), [p for p in peers if p in THREADED], 2, best=max)


# ---- Memory ----

def memory_section(args):
    results = []
    for key_size, value_size in ITEM_SIZES[1:2] if args.quick else ITEM_SIZES:
        for expiry in (0, MEMORY_EXPIRY):
            say(memory_name(key_size, value_size, expiry))
            for peer in args.peers:
                with Server(peer, MEMORY_MEGABYTES, args.server_cpu) as server:
                    fill(server, key_size, value_size, expiry)
                    stats = server.stats()
                    resident = server.resident()
                results.append({"peer": peer, "key_size": key_size, "value_size": value_size,
                                "expiry": expiry, "megabytes": MEMORY_MEGABYTES,
                                "resident": resident, **stats,
                                "bytes_per_item": resident / stats["items"]})
                say(f"    {peer:<10}{resident / 2**20:7.1f} MiB resident, {stats['items']:,} items:"
                    f" {resident / stats['items']:.1f} bytes each")
    return results


def memory_name(key_size, value_size, expiry):
    return (f"keys of {key_size}, values of {value_size} bytes"
            + (", with expiry" if expiry else ""))


def fill(server, key_size, value_size, expiry):
    """Stores until the cache evicts, then half as much again: what is freed and used again has
    found its place then."""
    chunk = (MEMORY_MEGABYTES << 20) // (key_size + value_size) // 8
    stored, full_at = 0, None
    while full_at is None or stored < 1.5 * full_at:
        store(server, stored, chunk, key_size, value_size, expiry)
        stored += chunk
        if full_at is None and server.stats()["evictions"]:
            full_at = stored
        if full_at is None and stored > 32 * chunk:
            raise BenchError(f"{server.peer} does not evict: {server.stats()} after storing"
                             f" {stored:,} items in {MEMORY_MEGABYTES} MB")


def memory_tables(results, peers):
    rows = {}
    for r in results:
        name = memory_name(r["key_size"], r["value_size"], r["expiry"])
        rows.setdefault(name, {})[r["peer"]] = r["bytes_per_item"]
    table("Bytes of resident memory an item, caches full", rows.items(), peers, 1)


# ---- Miss ratio ----

def miss_peers(peers):
    """Redis' LRU knows ages by the second, in which a workload replayed at full speed goes far. Its
    LFU depends less on the clock."""
    return [p for peer in peers for p in ([peer, "redis-lfu"] if peer == "redis" else [peer])]


def miss_section(args):
    results = []
    # A quarter of everything, the memory included: what does not fit still does not.
    scale = 4 if args.quick else 1
    common = [f"--{name}={number // scale}" for name, number in (
        ("keys", MISS_KEYS), ("requests", MISS_REQUESTS), ("warmup", MISS_WARMUP),
        ("run", SCAN_RUN), ("scanned", SCANNED))]
    for name, options in WORKLOADS.items():
        results += miss(args, name, MISS_MEGABYTES // scale, [*common, *options])
    if args.traces:
        for name, path, requests, keys in read_traces(args.traces):
            for fraction in TRACE_FRACTIONS:
                # So large that the memory has room for this share of the objects, if for nothing
                # else.
                size = int((TRACE_MEGABYTES << 20) / (fraction * keys))
                if not 100 <= size <= 1_000_000:
                    say(f"{name}: skipped, {keys:,} keys are too few or too many")
                    break
                value = size - TRACE_KEY
                results += miss(args, f"{name}, room for {fraction:.0%}", TRACE_MEGABYTES,
                                ["-w", "trace", "--trace", path, "-n", requests, "--batch",
                                 TRACE_BATCH, "--key-size", TRACE_KEY, "-d", value])
                for r in results[-len(miss_peers(args.peers)):]:
                    r["fraction"], r["trace_keys"] = fraction, keys
    return results


def miss(args, name, megabytes, options):
    results = []
    say(name)
    for peer in miss_peers(args.peers):
        with Server(peer, megabytes, args.server_cpu) as server:
            figures = json.loads(drive("miss", "-p", server.port, "-P", PROTOCOLS[peer]["text"],
                                       *options))
            figures |= {"peer": peer, "workload": name, "megabytes": megabytes,
                        "items": server.stats()["items"], "resident": server.resident()}
        figures["exact"] = json.loads(drive("miss", *options, "--exact", figures["items"]))
        say(f"    {peer:<10}{figures['miss_ratio']:7.2%} missed, {figures['items']:,} items,"
            f" {figures['resident'] / 2**20:.1f} MiB resident; with as many items LRU"
            f" {figures['exact']['lru']:.2%}, S3-FIFO {figures['exact']['s3fifo']:.2%}"
            + (f"; {figures['refused_ratio']:.2%} of SETs refused" if figures["refused_ratio"]
               else ""))
        results.append(figures)
    return results


def read_traces(folder):
    """Name, unpacked file, requests and number of different keys of each trace."""
    paths = sorted(folder.glob("*.xz"))
    if not paths:
        raise BenchError(f"no *.xz in {folder}")
    for path in paths:
        try:
            content = lzma.decompress(path.read_bytes())
        except lzma.LZMAError as e:
            raise BenchError(f"{path}: {e}") from None
        unpacked = OUT / f"{path.stem}.keys"
        unpacked.write_bytes(content)
        keys = len(set(memoryview(content[:len(content) // 4 * 4]).cast("I")))
        yield path.name.split(".")[0], unpacked, len(content) // 4, keys
        unpacked.unlink()


def miss_tables(results, peers):
    rows = {}
    for r in results:
        row = rows.setdefault(r["workload"], {})
        row[r["peer"]] = 100 * r["miss_ratio"]
        if r["peer"] == "memcached":
            row["LRU*"], row["S3-FIFO*"] = 100 * r["exact"]["lru"], 100 * r["exact"]["s3fifo"]
    exact = ["LRU*", "S3-FIFO*"] if "memcached" in peers else []
    table("Miss ratio, %, at equal -m", rows.items(), miss_peers(peers), 2, exact)
    if exact:
        say("* exact, with as many items as memcached held")


def machine(args):
    """What the figures depend on."""
    model = next((line.split(":", 1)[1].strip()
                  for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    siblings = Path(f"/sys/devices/system/cpu/cpu{args.server_cpu}/topology/thread_siblings_list")
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(),
            "server_cpu_siblings": siblings.read_text().strip() if siblings.exists() else None,
            "load_average_before": os.getloadavg()[0]}


def main():
    args = arguments()
    # Ends the servers too, some of which may be stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench-soft: terminated"))
    OUT.mkdir(parents=True, exist_ok=True)
    have = os.sched_getaffinity(0)
    if args.server_cpu == args.load_cpu or not {args.server_cpu, args.load_cpu} <= have:
        raise BenchError(f"server and load need a CPU each (--server-cpu, --load-cpu), of "
                         f"{', '.join(map(str, sorted(have)))}")
    # The load generator inherits this; servers are pinned as they start.
    os.sched_setaffinity(0, {args.load_cpu})
    report = {"machine": machine(args), "quick": args.quick, "seconds": args.seconds,
              "versions": {}}
    sections = {section: args.peers or DEFAULT_PEERS.get(section, PEERS) for section in args.only}
    for peer in PEERS:
        if any(peer in peers for peers in sections.values()):
            fetch(peer)
            report["versions"][peer] = version(peer)
    for peer, name in report["versions"].items():
        say(f"{peer}: {name}")
    if report["machine"]["load_average_before"] > 0.5:
        say(f"The machine is busy (load average {report['machine']['load_average_before']:.1f}):"
            " times will be wrong.")
    began = time.monotonic()
    run = {"cpu": cpu_section, "tls": tls_section, "uneven": uneven_section,
           "redis-benchmark": redis_benchmark_section, "hostile": hostile_section,
           "threads": threads_section, "memory": memory_section, "miss": miss_section}
    show = {"cpu": cpu_tables, "tls": cpu_tables, "uneven": uneven_tables,
            "redis-benchmark": redis_benchmark_tables, "hostile": hostile_tables,
            "threads": threads_tables, "memory": memory_tables, "miss": miss_tables}
    for section, args.peers in sections.items():
        say(f"\n== {section}")
        report[section] = run[section](args)
        # Written after each section: what was measured stays when a later one fails.
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    for section, peers in sections.items():
        show[section](report[section], peers)
    plots = plot(report, PEERS, args.json.parent)
    files = ", ".join(os.path.relpath(path) for path in [args.json, *plots])
    say(f"\n{(time.monotonic() - began) / 60:.1f} minutes; {files}")


if __name__ == "__main__":
    try:
        main()
    except BenchError as e:
        sys.exit(f"bench-soft: {e}")
    except KeyboardInterrupt:
        sys.exit("bench-soft: interrupted")
