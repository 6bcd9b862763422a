"""Stands in for the yosys program that SymbiYosys calls: runs a script with pyosys, whose slang
front end the WebAssembly build lacks. Understands `[-q] [-l log] [-Q] [-T] script`."""

import os
import sys

args = sys.argv[1:]
log = script = None
while args:
    word = args.pop(0)
    if word in ("-V", "--version"):
        print("Yosys (pyosys)")
        sys.exit(0)
    if word.startswith("-"):
        if word.endswith("l"):
            log = args.pop(0)
    else:
        script = word
if log:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)

from pyosys import libyosys as ys  # noqa: E402

try:
    ys.run_pass(f"script {script}", ys.Design())
except Exception as error:  # noqa: BLE001 - whatever Yosys throws ends the proof
    print(error, file=sys.stderr)
    sys.exit(1)
