"""The parser in gates against the one of host/protocol: generated request lines, valid and broken, of
every length and number form, at every lane, cut anywhere, pipelined. Both must give the same
requests, the same numbers, the same lengths. WIREKV_LINES=10000000 for a long run."""

import os
import random
import subprocess
from pathlib import Path

from common import BUILD, COVERAGE
from filelist import ROOT, expand

HERE = Path(__file__).parent
LINES = int(os.environ.get("WIREKV_LINES", 2_000_000 if os.environ.get("WIREKV_LONG") else 100_000))


def simulation():
    """Compiles the parser; make decides what is out of date."""
    folder = BUILD / "parser_sim"
    sources, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", "rtl/parse/front.f", "tb/parse/parser_tb.sv")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", "parser_tb", "--assert",
         "-DSIMASSERT", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-initial", "unique",
         "--x-assign", "unique", "-O3", *["--coverage-line"] * bool(COVERAGE), "--Mdir", str(folder), "-o", "parser_sim",
         "-CFLAGS", "-O1", "-MAKEFLAGS", "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include",
         *(f"-I{i}" for i in includes), *map(str, sources), str(HERE / "parser_sim.cpp")],
        check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return folder / "parser_sim"


def test_lines():
    seed = os.environ.get("WIREKV_SEED") or str(random.SystemRandom().randrange(1, 1 << 31))
    subprocess.run(
        ["cargo", "run", "--release", "-q", "-p", "wirekv-protocol", "--example", "lines", "--",
         str(simulation()), str(LINES), seed], check=True, cwd=ROOT, timeout=7200)
