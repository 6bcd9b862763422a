"""Which lines and branches of the RTL its tests reach, and why they do not reach the others.

    make coverage                    all tests of the RTL with Verilator's counters, and the report
    tb/coverage/run.py tcp parse     those of these folders only, for the folders' own modules
    tb/coverage/run.py --report      what the last run has reached, in the words of today
    tb/coverage/run.py --document    the same, and the table in docs/COVERAGE.md

A point - a block of lines, or one way of an `if` or `?:` - is reached if any instance in any test
has reached it. Each that is not stands in unreached.toml with the reason; it ends with 1 where one
does not, where one that does is reached after all, and where its text is gone.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "coverage"
DOCUMENT = ROOT / "docs" / "COVERAGE.md"
#: In the order of docs/COVERAGE.md. What connects them, rtl/top, is for the tests end to end.
FOLDERS = ("lib", "mem", "net", "tcp", "conn", "parse", "store", "reply", "host", "aside", "link", "machine")
#: Folders of tests that reach a folder's modules beside its own: what is around both is one design.
BESIDE = {"conn": ("parse",), "host": ("reply",)}


@dataclass(frozen=True)
class Point:
    """As Verilator names it: `what` is block, case, if, else, elsif, cond_then or cond_else."""

    module: str
    line: int
    column: int
    what: str
    lines: tuple = field(compare=False)  # all that it stands for; none for an `else` that is not written

    def is_branch(self):
        return self.what in ("if", "else", "cond_then", "cond_else")


class Source:
    """The text of a module or package."""

    def __init__(self, path):
        self.text = path.read_text()
        self.lines = self.text.splitlines()

    def function(self, name):
        """First and last line of a function, or None."""
        found = re.search(rf"function [^;()]*\b{name}\(.*?\bendfunction", self.text, re.S)
        return found and tuple(self.text.count("\n", 0, at) + 1 for at in found.span())

    def counts(self, point):
        """Verilator counts a branch where it ends, which a `return` in it does not come to."""
        return point.what in ("block", "cond_then", "cond_else") or not any(
            re.search(r"\breturn\b", self.lines[n - 1]) for n in point.lines)

    def holds(self, text, point):
        """The point is in `text`, which is within one line."""
        line = self.lines[point.line - 1]
        return any(m.start() < point.column <= m.end() + 1
                   for m in re.finditer(re.escape(text), line))


def modules():
    """Every module and package, by name."""
    return {path.stem: Source(path) for folder in FOLDERS
            for path in sorted((ROOT / "rtl" / folder).rglob("*.sv"))}


def folder_of(module):
    return str(next((ROOT / "rtl").rglob(f"{module}.sv")).parent.relative_to(ROOT / "rtl"))


def measure(folders):
    """Runs the tests of `folders` with counters; what they leave is in WORK."""
    for old in WORK.glob("tb/*.dat"):
        old.unlink()
    env = {**os.environ, "WIREKV_SEED": "1", "WIREKV_COVERAGE": str(WORK)}
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", *sorted({f"tb/{f}" for folder in folders for f in (folder, *BESIDE.get(folder, ()))})],
                           cwd=ROOT, env=env)
    if tests.returncode:
        sys.exit("a test fails")


def ranges(text):
    """The numbers of 3-5,7."""
    ends = [part.split("-") for part in text.split(",") if part]
    return tuple(n for end in ends for n in range(int(end[0]), int(end[-1]) + 1))


def reached(sources):
    """How often each point was reached by all tests together."""
    counts = defaultdict(int)
    for path in WORK.glob("tb/*.dat"):
        for line in path.read_text(encoding="latin1").splitlines():
            if not (found := re.fullmatch("C '\1(.*)' ([0-9]+)", line)):
                continue
            fields = dict(field.split("\2", 1) for field in found[1].split("\1"))
            module = Path(fields["f"]).stem
            if "/rtl/" in fields["f"] and module in sources:
                point = Point(module, int(fields["l"]), int(fields["n"]), fields["o"],
                              ranges(fields.get("S", "")))
                if sources[module].counts(point):
                    counts[point] += int(found[2])
    return counts


# ---------------------------------------------------------------- explanations

def load():
    """Entries of unreached.toml: `module` and `reason`, and `text` within one line (of the points
    there only `what`, if given) or `functions`."""
    return tomllib.loads((ROOT / "tb" / "coverage" / "unreached.toml").read_text())["unreached"]


def gone(entry, sources):
    """What an entry names that is not in the RTL."""
    source = sources.get(entry["module"])
    if not source:
        return f"module {entry['module']}"
    if "text" in entry:
        return None if any(entry["text"] in line for line in source.lines) else entry["text"]
    return next((name for name in entry["functions"] if not source.function(name)), None)


def explains(entry, point, source):
    if entry["module"] != point.module:
        return False
    if "text" in entry:
        return entry.get("what", point.what) == point.what and source.holds(entry["text"], point)
    spans = filter(None, map(source.function, entry["functions"]))
    return any(first <= point.line <= last for first, last in spans)


def problems(counts, sources, entries):
    """Everything that is neither reached nor explained, and explanations that are wrong."""
    explained = set()
    for entry in entries:
        name = f"{entry['module']}: {entry.get('text') or ', '.join(entry['functions'])}"
        if missing := gone(entry, sources):
            yield f"{name}: not in the RTL any more ({missing}): take the entry out, or mend it"
            continue
        points = {p for p in counts if explains(entry, p, sources[p.module])}
        explained |= points
        if not points:
            yield f"{name}: no point here: take the entry out of unreached.toml"
        for point in points:
            if counts[point]:
                yield f"{name}: reached ({point.what}): take the entry out of unreached.toml"
    for point in sorted(counts.keys() - explained, key=lambda p: (p.module, p.line, p.column)):
        if not counts[point]:
            text = sources[point.module].lines[point.line - 1].strip()
            yield (f"rtl/{folder_of(point.module)}/{point.module}.sv:{point.line}:{point.column}: "
                   f"never {point.what}: {text}")


# ---------------------------------------------------------------- the report

def table(counts, entries, sources):
    """Reached and all: lines and branches of each module."""
    rows = ["| module | lines | branches | explained |", "|---|---|---|---|"]
    for module, source in sources.items():
        points = [p for p in counts if p.module == module]
        of_lines = {n: False for p in points for n in p.lines if not p.what.startswith("cond")}
        for point in points:
            if counts[point]:
                of_lines.update(dict.fromkeys(of_lines.keys() & set(point.lines), True))
        branches = [counts[p] > 0 for p in points if p.is_branch()]
        cells = [f"{sum(what)}/{len(what)}" if what else "" for what in (
            list(of_lines.values()), branches)]
        known = sum(any(explains(e, p, source) for e in entries) for p in points if not counts[p])
        rows.append(f"| `{folder_of(module)}/{module}` | {cells[0]} | {cells[1]} | {known or ''} |")
    return "\n".join(rows) + "\n"


def document(text):
    """Replaces the table in docs/COVERAGE.md."""
    head, tail = re.fullmatch(r"(.*\n)\| module \| lines [^\n]*\n(?:\|[^\n]*\n)*(.*)",
                              DOCUMENT.read_text(), re.S).groups()
    DOCUMENT.write_text(head + text + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="*", choices=[[], *FOLDERS], help="of tb/ and rtl/")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--document", action="store_true", help="write docs/COVERAGE.md, run nothing")
    args = parser.parse_args()
    if not (args.report or args.document):
        measure(args.folder or FOLDERS)
    sources = {name: source for name, source in modules().items()
               if folder_of(name).split("/")[0] in (args.folder or FOLDERS)}
    entries = [e for e in load() if e["module"] in sources or not args.folder]
    counts = reached(sources)
    text = table(counts, entries, sources)
    if args.document:
        document(text)
    print(text)
    wrong = list(problems(counts, sources, entries))
    if wrong:
        sys.exit("\n".join(wrong) + f"\n{len(wrong)} to do: a point that no test reaches wants a test;"
                 " if none can, an entry with the reason in tb/coverage/unreached.toml; or it is dead"
                 " and leaves the RTL")
    print("every line and branch is reached, or explained in tb/coverage/unreached.toml")


if __name__ == "__main__":
    main()
