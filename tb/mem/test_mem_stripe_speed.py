"""What mem_stripe gets of four pseudo channels of HBM: lines a clock, with the timing of host/sim/shim/pseudo_channel.h,
which the simulated card has behind --mem-ways."""

import subprocess
from pathlib import Path

from harness.models import program

#: Least lines a clock. A pseudo channel alone gives .30 random ones and .47 in sequence; a port asks for one a clock in
#: each direction. Behind random ones some ways are full while others wait.
LEAST = {
    "reads_random": 0.80,
    "reads_sequential": 0.93,
    "writes_random": 0.80,
    "writes_random_parts": 0.60,
    "writes_sequential": 0.93,
    "both_random": 0.80,
    "both_sequential": 1.60,
}


def test_rates():
    model = program("stripe_speed", "mem_stripe", ["rtl/lib/lib.f", "rtl/mem/mem.f"],
                    Path(__file__).with_name("stripe_speed.cpp"))
    out = subprocess.run([model], check=True, stdout=subprocess.PIPE, text=True).stdout
    rates = dict((name, float(rate)) for name, rate in map(str.split, out.splitlines()))
    print(rates)
    assert rates.keys() == LEAST.keys()
    for name, rate in rates.items():
        assert rate >= LEAST[name], f"{name} {rate}"
