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
        # The parser forgets scopes between commands. What is defined in one stays; yosys-smtbmc never
        # uses a name again.
        if line.startswith("(push"):
            parser.bitwuzla().push(1)
        elif line.startswith("(pop"):
            parser.bitwuzla().pop(1)
        else:
            parser.parse("".join(text), parse_file=False)
        sys.stdout.flush()
        text = []
