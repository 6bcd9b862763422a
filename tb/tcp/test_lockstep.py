"""The connection table and all that decides about a connection (tcp_tcb with its stages, tcp_congestion,
tcp_rto, tcp_ooo, tcp_score, tcp_pick, tcp_timers) and tcp_blocks in lockstep with a model that is written
from the RFCs (tcb_model.h, whose head lists where the card differs on purpose): random segments, commands
and ticks. 1,000,000 events; 10,000,000 with WIREKV_LONG=1; WIREKV_EVENTS=n for n."""

import os
import subprocess
from pathlib import Path

from harness.filelist import ROOT
from harness.models import program
from harness.size import scale

EVENTS = int(os.environ.get("WIREKV_EVENTS", scale(1_000_000, 10_000_000)))


def test_table(seed):
    model = program("tcb_sim", "tcb_tb", ["rtl/lib/lib.f", "rtl/tcp/tcp.f", "tb/tcp/tcb_tb.sv"],
                    Path(__file__).parent / "tcb_sim.cpp", "-CFLAGS", "-std=c++17")
    result = subprocess.run([model, str(seed), str(EVENTS)], cwd=ROOT, timeout=3600, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print(result.stdout, result.stderr)
    assert result.returncode == 0, f"seed {seed}: {result.stderr.partition(chr(10))[0]}"
