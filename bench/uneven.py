"""The section uneven: each connection sends its next request as soon as an answer is in, on servers
whose memory was used before and on freshly filled ones. See docs/BENCH.md."""

import contextlib

from common import calmest, median, run_load, say, store, table
from peers import BenchError, Server

MIXES = {"GET": "0:1", "1:1": "1:1", "SET": "1:0"}
CONNECTIONS = (50, 1000)
PIPELINES = (1, 16, 64)
KEYS, KEY, VALUE = 1_000_000, 16, 100
# Of servers all of whose memory is used before it is measured, and of those that were just filled.
USED_MEGABYTES, FRESH_MEGABYTES = 1024, 2048
SECONDS, WARMUP = 0.4, 0.15


def uneven_section(args):
    points = [(mix, connections, pipeline) for mix in MIXES for connections in CONNECTIONS
              for pipeline in PIPELINES]
    keys = KEYS
    if args.quick:
        points = [p for p in points if p[1] == 50 and p[0] != "GET"]
        keys, args.rounds = KEYS // 10, 1
    points = [p for p in points if args.points.search(name_of(p))]
    results, rates = [], {}
    with filled(args, USED_MEGABYTES, keys, again=True) as servers:
        for n, point in enumerate(points):
            say(f"[{n + 1}/{2 * len(points)}] memory used, {name_of(point)}")
            full = measure(servers, point, keys, args.rounds)
            closed = [median(figures) for figures in full]
            rates[point] = args.load * min(f["all"]["per_second"] for f in closed)
            limited = measure(servers, point, keys, args.rounds, rates[point])
            results += rows("used", point, servers, limited, closed)
    for n, point in enumerate(points):
        say(f"[{len(points) + n + 1}/{2 * len(points)}] freshly filled, {name_of(point)}")
        with filled(args, FRESH_MEGABYTES, keys) as servers:
            results += rows("fresh", point, servers,
                            measure(servers, point, keys, args.rounds, rates[point]))
    return results


def name_of(point):
    mix, connections, pipeline = point
    return f"{mix}, {connections} connections, pipelining {pipeline}"


@contextlib.contextmanager
def filled(args, megabytes, keys, again=False):
    """Servers that hold the keys, stopped until they are measured. `again`: stored as often as goes
    through all the memory."""
    times = -(-(megabytes << 20) // (keys * (KEY + VALUE))) if again else 1
    with contextlib.ExitStack() as stack:
        servers = []
        for peer in args.peers:
            server = stack.enter_context(Server(peer, megabytes, args.server_cpu))
            for _ in range(times):
                store(server, 0, keys, KEY, VALUE)
            server.pause()
            servers.append(server)
        yield servers


def measure(servers, point, keys, rounds, rate=None):
    """The figures of each server's rounds, in which the servers take turns."""
    return list(zip(*([once(s, point, keys, rate) for s in servers] for _ in range(rounds))))


def once(server, point, keys, rate):
    mix, connections, pipeline = point
    limit = ["--rate-limiting", rate / connections] if rate else []
    server.resume()
    figures = run_load(
        server, "text", "-c", connections, "--pipeline", pipeline, "--ratio", MIXES[mix],
        "--key-prefix", "key-", "--key-size", KEY, "-d", VALUE, "--key-minimum", 0,
        "--key-maximum", keys - 1, "--test-time", SECONDS, "--warmup", WARMUP,
        "--server-pid", server.pid, *limit)
    server.pause()
    if figures["misses"]:
        raise BenchError(f"{server.peer} lost keys: {figures['misses']:,} misses")
    return figures


def rows(memory, point, servers, limited, closed=None):
    found = []
    for n, server in enumerate(servers):
        row = {"memory": memory, "peer": server.peer, "limited": calmest(limited[n])}
        row |= dict(zip(("mix", "connections", "pipeline"), point))
        if closed:
            row["closed"] = closed[n]
        found.append(row)
        say(f"    {server.peer:<10}{line(row)}")
    return found


def line(row):
    limited = row["limited"]
    text = (f"at {limited['rate'] / 1e3:6.1f} K/s p50 {limited['windows']['p50_us']:6.0f}"
            f" p99 {limited['windows']['p99_us']:6.0f} us, with the machine's stalls"
            f" p99 {limited['all']['p99_us']:6.0f} p99.9 {limited['all']['p99.9_us']:6.0f};"
            f" picked up late p99 {limited['late']['p99_us']:4.0f}")
    if "closed" in row:
        closed = row["closed"]
        text += (f"; unlimited {closed['all']['per_second'] / 1e3:7.1f} K/s,"
                 f" {closed['server']['us_per_op']:5.2f} us CPU, server"
                 f" {closed['server']['share']:4.0%}, load {closed['generator']['share']:4.0%}")
    # What waits for the generator does not wait for the server.
    late = limited["late"]["p50_us"] > limited["windows"]["p50_us"] / 5
    return text + ("  (load generator is a part of it)" if late else "")


METRICS = [
    ("p50, us, at the same offered rate", 0, lambda r: r["limited"]["windows"]["p50_us"]),
    ("p99, us, at the same offered rate", 0, lambda r: r["limited"]["windows"]["p99_us"]),
    ("  the same with the machine's stalls", 0, lambda r: r["limited"]["all"]["p99_us"]),
    ("p99.9, with the machine's stalls", 0, lambda r: r["limited"]["all"]["p99.9_us"]),
    ("Unlimited: server CPU, us an operation", 2,
     lambda r: r["closed"]["server"]["us_per_op"] if "closed" in r else None),
    ("Unlimited: thousand operations a second", 1,
     lambda r: r["closed"]["all"]["per_second"] / 1e3 if "closed" in r else None),
]


def uneven_tables(results, peers):
    for title, digits, metric in METRICS:
        found = {}
        for r in results:
            value = metric(r)
            if value is not None:
                point = (r["mix"], r["connections"], r["pipeline"])
                row = found.setdefault(f"{r['memory']}: {name_of(point)}", {})
                row[r["peer"]] = value
        best = max if title.startswith("Unlimited: thousand") else min
        table(title, found.items(), peers, digits, best=best)
