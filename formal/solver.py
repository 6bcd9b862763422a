"""Stands in for the bitwuzla program that yosys-smtbmc talks to: reads SMT-LIB from stdin with
Bitwuzla's Python package, which comes without a program."""

import sys

from bitwuzla import Option, Options, Parser, TermManager

if "--help" in sys.argv:
    print("--lang smt2")  # what yosys-smtbmc tells versions by
    sys.exit(0)

options = Options()
options.set(Option.PRODUCE_MODELS, True)
parser = Parser(TermManager(), options)
text, depth = [], 0
for line in sys.stdin:
    text.append(line)
    code = "".join(line.split("|")[::2]).split(";")[0]
    depth += code.count("(") - code.count(")")
    if line.startswith("(exit"):
        break
    if depth == 0:  # a command is complete
        parser.parse("".join(text), parse_file=False)
        sys.stdout.flush()
        text = []
