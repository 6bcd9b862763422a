"""The connection table and all that decides about a connection (tcp_tcb with its stages, tcp_congestion,
tcp_rto, tcp_ooo, tcp_score, tcp_pick, tcp_timers) and tcp_blocks in lockstep with a model that is written
from the RFCs (tcb_model.h, whose head lists where the card differs on purpose): random segments, commands
and ticks. 1,000,000 events; 10,000,000 with WIREKV_LONG=1; WIREKV_EVENTS=n for n."""

import os
import random
import subprocess
from pathlib import Path

from common import BUILD, COVERAGE
from filelist import ROOT, expand

HERE = Path(__file__).parent
EVENTS = int(os.environ.get("WIREKV_EVENTS", 10_000_000 if os.environ.get("WIREKV_LONG") else 1_000_000))


def simulation():
    """Compiles table and model; make decides what is out of date."""
    folder = BUILD / "tcb_sim"
    sources, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", "rtl/tcp/tcp.f", "tb/tcp/tcb_tb.sv")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", "tcb_tb", "--assert",
         "-DSIMASSERT", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-initial", "unique",
         "--x-assign", "unique", "-O3", *["--coverage-line"] * bool(COVERAGE), "--Mdir", str(folder), "-o", "tcb_sim",
         "-CFLAGS", "-O1 -std=c++17",
         "-MAKEFLAGS", "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include",
         *(f"-I{i}" for i in includes), *map(str, sources), str(HERE / "tcb_sim.cpp")],
        check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return folder / "tcb_sim"


def test_table():
    seed = os.environ.get("WIREKV_SEED") or str(random.SystemRandom().randrange(1, 1 << 31))
    program = simulation()
    result = subprocess.run([program, seed, str(EVENTS)], cwd=ROOT, timeout=3600, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print(f"seed {seed}", result.stdout, result.stderr)
    assert result.returncode == 0, f"seed {seed}: {result.stderr.partition(chr(10))[0]}"
