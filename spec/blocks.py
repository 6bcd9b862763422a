"""Files of which a part is made: between two lines that say so."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100


def made_by(source):
    return f"Made by spec/gen.py from {source}: `make spec`."


def between(text, what, source, lines):
    """A file's text with new lines between the two that name `what`."""
    made = made_by(source)
    begin, end = rf"^.*\bbegin {what}: {re.escape(made)}.*\n", rf"^.*\bend {what}\b.*\n"
    new, count = re.subn(rf"({begin})(?s:.*?)({end})",
                         lambda m: m[1] + "\n".join([*lines, m[2]]), text, flags=re.M)
    if count != 1:
        sys.exit(f"no line, or more than one: begin {what}: {made} ... end {what}")
    return new
