"""Fuzzes the software body with AddressSanitizer: what `make fuzz` does.

    scripts/fuzz.py SECONDS TARGET...   each target for so long. Begins with fuzz/corpus; inputs that
                                        reach something new, and those that break something, go to
                                        build/fuzz.
    scripts/fuzz.py keep TARGET...      takes the inputs of both that reach the most code into
                                        fuzz/corpus.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITH_WORDS = ("classic", "meta", "binary", "resp", "udp", "upstream")
# A corpus is for finding what breaks later, not for reaching all that was ever reached.
KEPT = 30


def toolchain():
    """Instrumentation is a feature of nightly compilers, which stable ones have, too, but hide."""
    if shutil.which("rustup"):
        have = subprocess.run(["rustup", "toolchain", "list"], capture_output=True, text=True).stdout
        if any(line.startswith("nightly") for line in have.splitlines()):
            return ["+nightly"]
    os.environ["RUSTC_BOOTSTRAP"] = "1"
    return []


def run(target, folders, options):
    command = ["cargo", *toolchain(), "fuzz", "run", target, *map(str, folders), "--",
               "-max_len=4096", "-timeout=10", *options]  # fmt: skip
    return subprocess.run(command, cwd=ROOT).returncode == 0


def fuzz(target, seconds, corpus, found):
    (found / "corpus").mkdir(parents=True, exist_ok=True)
    (found / "broken").mkdir(exist_ok=True)
    words = ["-dict=fuzz/words"] if target in WITH_WORDS else []
    return run(target, [found / "corpus", corpus],
               [f"-max_total_time={seconds}", f"-artifact_prefix={found}/broken/", *words])  # fmt: skip


def reached(control):
    """The places in the code that each file reaches, from a control file of libFuzzer's merge."""
    lines = control.read_text().splitlines()
    files = [Path(line) for line in lines[2:2 + int(lines[0])]]
    places = {file: set() for file in files}
    for line in lines[2 + len(files):]:
        kind, *numbers = line.split()
        if kind == "FT":
            places[files[int(numbers[0])]].update(numbers[1:])
    return places


def keep(target, corpus, found):
    control, scratch = found / "control", found / "scratch"
    control.unlink(missing_ok=True)
    scratch.mkdir(exist_ok=True)
    options = ["-set_cover_merge=1", "-use_counters=0", f"-merge_control_file={control}"]
    if not run(target, [scratch, corpus, found / "corpus"], options):
        return False
    places = reached(control)
    # What once broke something stays in any case.
    kept = [file for file in places if file.name.startswith("fixed-")]
    left = set().union(*places.values()).difference(*(places[file] for file in kept))
    while left and len(kept) < KEPT:
        # The one that adds most; of several, the shortest.
        best = max(places, key=lambda file: (len(places[file] & left), -file.stat().st_size))
        left -= places.pop(best)
        kept.append(best)
    contents = {file.name: file.read_bytes() for file in kept}
    for file in corpus.iterdir():
        file.unlink()
    for name, content in contents.items():
        (corpus / name).write_bytes(content)
    shutil.rmtree(scratch)
    print(f"{target}: {len(kept)} of {len(places) + len(kept)} files, {len(left)} places left out")
    return True


def main():
    what, *targets = sys.argv[1:]
    os.environ["PATH"] = f"{ROOT}/build/cargo/bin:{os.environ['PATH']}"
    os.environ["CARGO_TARGET_DIR"] = f"{ROOT}/build/target/fuzz"
    good = True
    for target in targets:
        corpus, found = ROOT / "fuzz/corpus" / target, ROOT / "build/fuzz" / target
        corpus.mkdir(parents=True, exist_ok=True)
        good &= keep(target, corpus, found) if what == "keep" else fuzz(target, what, corpus, found)
    sys.exit(not good)


if __name__ == "__main__":
    main()
