"""The parser in gates against the one of host/memcache: generated request lines, valid and broken, of
every length and number form, at every lane, cut anywhere, pipelined. Both must give the same
requests, the same numbers, the same lengths. WIREKV_LINES=10000000 for a long run."""

import os
import subprocess
from pathlib import Path

from harness.filelist import ROOT
from harness.models import program
from harness.size import scale

LINES = int(os.environ.get("WIREKV_LINES", scale(25_000, 2_000_000)))


def test_fast_path(seed):
    simulation = program("parser_sim", "parser_tb", ["rtl/lib/lib.f", "rtl/parse/ingress.f", "tb/parse/parser_tb.sv"],
                         Path(__file__).parent / "parser_sim.cpp")
    subprocess.run(
        ["cargo", "run", "--release", "-q", "-p", "wirekv-memcache", "--example", "lines", "--",
         str(simulation), str(LINES), str(seed)], check=True, cwd=ROOT, timeout=7200)
