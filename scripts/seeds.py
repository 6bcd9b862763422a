"""Runs a command with one drawn seed after the other, until it fails.

    scripts/seeds.py COUNT COMMAND...

Each seed is printed before it is used, and stands in WIREKV_SEED; that with the command is what repeats a failure.
"""

import os
import random
import shlex
import subprocess
import sys


def main(count, *command):
    for turn in range(1, int(count) + 1):
        seed = str(random.SystemRandom().randrange(1, 1 << 31))
        print(f"seed {seed}, {turn} of {count}", flush=True)
        if (code := subprocess.run(command, env={**os.environ, "WIREKV_SEED": seed}).returncode) != 0:
            print(f"failed. Again with: WIREKV_SEED={seed} {shlex.join(command)}")
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 2 else __doc__)
