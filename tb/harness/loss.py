"""How much longer 4 MB take over a bad link than over a good one, to and from the card and memcached
on Linux: python tb loss --seeds 20"""

import argparse
import contextlib
import json
import random
import statistics
import time
from dataclasses import replace
from pathlib import Path

from harness import badlink, reference
from harness.badlink import Quality

KINDS = {
    "clean": Quality(),
    "loss 1 %": Quality(drop=0.01),
    "loss 2 %": Quality(drop=0.02),
    "loss 5 %": Quality(drop=0.05),
    "reordering 2 %": Quality(reorder=0.02),
}
VALUES, VALUE_BYTES = 4, 1_000_000
SECONDS = 120  # at most


def upload(s, value, values):
    with_lines = b"".join(b"set v%d 0 0 %d\r\n%b\r\n" % (i, len(value), value) for i in range(values))
    stored = b"STORED\r\n" * values
    assert reference.ask(s, with_lines, stored, seconds=SECONDS) == stored


def download(s, value, values):
    request = b"get" + b"".join(b" v%d" % i for i in range(values)) + b"\r\n"
    reply = b"".join(b"VALUE v%d 0 %d\r\n%b\r\n" % (i, len(value), value) for i in range(values)) + b"END\r\n"
    s.sendall(request)
    got, end = [], time.monotonic() + SECONDS
    left = len(reply)
    while left:
        if not reference.readable(s, end - time.monotonic()):
            raise TimeoutError
        piece = s.recv(1 << 18)
        assert piece, "closed"
        got.append(piece)
        left -= len(piece)
    assert b"".join(got) == reply, "wrong bytes"


WAYS = {"upload": upload, "download": download}


def transfer(client, link, way, quality, value, values=VALUES):
    """Seconds from SYN to the last byte of the answer."""
    link.set(quality)
    begin = time.monotonic()
    with client.connect() as s:
        s.settimeout(SECONDS)
        WAYS[way](s, value, values)
        took = time.monotonic() - begin
        link.set(Quality())
        # Nothing of it is left for the next one.
        reference.resets_at_close(s)
    time.sleep(0.1)
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--servers", default="linux,card")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    value = random.Random(1).randbytes(VALUE_BYTES)
    rows = []
    with contextlib.ExitStack() as stack:
        servers = {s: stack.enter_context(badlink.behind(s)) for s in args.servers.split(",")}
        kinds = ["clean", *(k for k in args.kinds.split(",") if k != "clean")]
        for server, (client, link) in servers.items():
            transfer(client, link, "upload", Quality(), value)
        for way in args.ways.split(","):
            clean = {}
            for kind in kinds:
                row = {"way": way, "kind": kind}
                for server, (client, link) in servers.items():
                    times = [transfer(client, link, way, replace(KINDS[kind], seed=seed), value)
                             for seed in range(1, 1 + (3 if kind == "clean" else args.seeds))]
                    median = statistics.median(times)
                    clean.setdefault(server, median)
                    row[server] = {"median": median, "over_clean": median / clean[server], "times": times}
                rows.append(row)
                line = "  ".join(f"{s} {row[s]['median']:6.2f} s {row[s]['over_clean']:5.2f}x (worst {max(row[s]['times']):.2f})"
                                 for s in servers)
                if len(servers) == 2:
                    line += f"  ratio {row['card']['over_clean'] / row['linux']['over_clean']:.2f}"
                print(f"{way:9} {kind:15} {line}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
