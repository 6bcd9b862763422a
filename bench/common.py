"""What all sections of the bench use: the load generator, and tables of its figures."""

import json
import statistics
import subprocess

from peers import OUT, PROTOCOLS, TARGET, BenchError


def say(text=""):
    print(text, flush=True)


def drive(*command, timeout=600):
    """Runs the load generator; what it printed."""
    command = [str(TARGET / "wirekv-load"), *map(str, command)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is missing: run `make server`") from None
    except subprocess.TimeoutExpired:
        raise BenchError(f"no end after {timeout} s: {' '.join(command)}") from None
    if done.returncode:
        raise BenchError(f"{' '.join(command)}\n  {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def run_load(server, protocol, *options, refusals=False):
    """The figures. With `refusals` answers that were wrong are one of them, and not the end."""
    out = OUT / "load.json"
    out.unlink(missing_ok=True)
    try:
        drive("run", "-p", server.port, "-P", PROTOCOLS[server.peer][protocol], "--json-out-file",
              out, *server.load_options, *options)
    except BenchError:
        if not (refusals and out.exists()):
            raise
    return json.loads(out.read_text())


def store(server, first, count, key_size, value_size, expiry=0):
    """Full memcacheds refuse a SET now and then."""
    run_load(server, "text", "-c", 1, "--pipeline", 64, "--ratio", "1:0", "--key-pattern", "S:S",
             "--key-prefix", "key-", "--key-size", key_size, "-d", value_size, "-n", count,
             "--key-minimum", first, "--key-maximum", first + count - 1, "--expiry", expiry,
             refusals=server.peer == "memcached")


def calmest(figures):
    return min(figures, key=lambda f: f["windows"]["p99_us"])


def median(figures):
    """Of each number in equally built dictionaries."""
    one = figures[0]
    if isinstance(one, dict):
        return {key: median([f[key] for f in figures]) for key in one}
    return statistics.median(figures) if isinstance(one, (int, float)) else one


# With whom each protocol of ours is compared: who speaks the same.
RIVALS = {"soft": ("memcached",), "soft-resp": ("redis", "valkey")}


def table(title, rows, peers, digits, more=(), best=min):
    """Figures of each peer, and how ours compare with the best of those that speak the same."""
    rows = list(rows)
    rivals = {ours: [peer for peer in of if peer in peers] for ours, of in RIVALS.items()}
    rivals = {ours: of for ours, of in rivals.items() if ours in peers and of}
    width = max([len(title), *(len(name) for name, _ in rows)]) + 2
    ratios = [f"{ours}/{'best' if len(of) > 1 else of[0]}" for ours, of in rivals.items()]
    heads = [*peers, *ratios, *more]
    say(f"\n{title:<{width}}" + "".join(f"{h:>{max(len(h), 9) + 2}}" for h in heads))
    for name, found in rows:
        cells = [cell(found.get(peer), digits) for peer in peers]
        for ours, of in rivals.items():
            figures = [found[peer] for peer in of if found.get(peer) is not None]
            cells.append(cell(divide(found.get(ours), best(figures, default=None)), 2))
        cells += [cell(found.get(column), 2) for column in more]
        say(f"{name:<{width}}" + "".join(f"{c:>{max(len(h), 9) + 2}}"
                                         for c, h in zip(cells, heads)))


def cell(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def divide(a, b):
    return a / b if a is not None and b else None
