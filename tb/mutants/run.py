"""Seeds faults into the RTL, one at a time: the test or proof that the list names must fail.

    make mutants                       every fault
    make mutants MODULE=tcp_update     one module's, a folder's, or one by its name
    make mutants LIST=1                the list of them, or of MODULE's; runs nothing

Works in copies of the tree in build/mutants. Every test is run without a fault first, and has to
pass; random tests run with the seeds of SEEDS, and each must find the fault. What was found is
kept until the RTL, the test or the fault changes, so an interrupted run goes on where it was.
Ends with 1 if a fault was not found, or the list is wrong.
"""

import argparse
import fcntl
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tb"))
from harness import faults as lists  # noqa: E402
from harness.filelist import expand  # noqa: E402
from harness.imports import closure  # noqa: E402

WORK = ROOT / "build" / "mutants"
SEEDS = os.environ.get("SEEDS", "1 2").split()
#: A test that takes so many times the processor time that it needs without a fault has found it.
PATIENCE = 10
#: What an output says about the reason, the best first.
REASONS = (r"AssertionError.*", r"Assertion failed.*", r"assertion failed.*", r".*\bFAILED\b.*")


def sources():
    """Everything that a test or proof reads, by its name from the root."""
    folders = ("rtl", "boards", "formal", "tb")
    return {str(p.relative_to(ROOT)): p.read_bytes() for d in folders
            for p in sorted((ROOT / d).rglob("*"))
            if p.is_file() and p.parts[len(ROOT.parts) + 1] not in ("mutants", "e2e", "soft")
            and "__pycache__" not in p.parts} | {"pytest.ini": (ROOT / "pytest.ini").read_bytes()}


class Tree:
    """A copy of the sources, with a build folder of its own that stays."""

    def __init__(self, name):
        self.root = WORK / name
        self.fault = self.root / "fault"

    def write(self, files):
        """Makes the copy contain `files`; what is right already keeps its date, for make."""
        have = {str(p.relative_to(self.root)): p for d in ("rtl", "boards", "formal", "tb")
                for p in (self.root / d).rglob("*") if p.is_file()}
        for name in have.keys() - files.keys():
            have[name].unlink()
        for name, data in files.items():
            path = self.root / name
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def run(self, found_by, seed, number, limit):
        """Runs a test or proof: (pass, fail or broken, reason, seconds, processor seconds)."""
        self.fault.parent.mkdir(parents=True, exist_ok=True)
        self.fault.write_text(f"{number}\n")
        report = self.root / "report.xml"
        report.unlink(missing_ok=True)
        env = {**os.environ, "WIREKV_SEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        kind, _, name = found_by.partition(" ")
        if kind == "proof":
            command = [sys.executable, "formal/prove.py", name]
        else:
            path, _, test = found_by.partition("::")
            if test.startswith("test_"):
                path = found_by
            else:
                env["COCOTB_TEST_FILTER"] = rf"\.{test}(/|$)"
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                       f"--junitxml={report}", path]
        begin = time.time()
        with open(self.root / "output", "wb") as out:
            process = subprocess.Popen(
                command, cwd=self.root, env=env, stdout=out, stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = code = os.waitstatus_to_exitcode(status)
        output = (self.root / "output").read_text(errors="replace")
        cost = usage.ru_utime + usage.ru_stime
        state = ("pass" if code == 0 else
                 "fail" if code == -signal.SIGXCPU else
                 ("fail" if code == 1 else "broken") if kind == "proof" else
                 judge(report))
        return state, reason(output) if state != "pass" else "", time.time() - begin, cost


def judge(report):
    """A test that failed has found something; one that could not be built or begun has not."""
    try:
        cases = list(xml.parse(report).iter("testcase"))
    except (FileNotFoundError, xml.ParseError):
        return "broken"
    failures = [f for case in cases for f in case.iter("failure")]
    broken = [e for case in cases for e in case.iter("error")]
    broken += [f for f in failures if "BuildError" in (f.get("message") or "") + (f.text or "")]
    return "fail" if failures and not broken else "broken"


def reason(output):
    for pattern in REASONS:
        if found := re.search(pattern, output):
            return found[0].strip()[:160]
    return "does not end"


class Run:
    def __init__(self, jobs):
        self.files, self.all = sources(), lists.load()
        texts = {f.file: self.files[f.file].decode() for f in self.all if f.file in self.files}
        problems = [f"{fault.name}: {problem}" for fault in self.all
                    if (problem := lists.wrong(fault, texts.get(fault.file, "")))]
        if problems:
            sys.exit("\n".join(problems))
        self.texts, self.numbers = lists.switched(texts, self.all)
        self.jobs, self.trees = jobs, queue.Queue()
        for job in range(jobs):
            self.trees.put(job)
        self.limits, self.store = {}, WORK / "results.json"
        self.results = json.loads(self.store.read_text()) if self.store.exists() else {}

    def keep(self, key, result):
        self.results[key] = result
        part = self.store.with_suffix(".part")
        part.write_text(json.dumps(self.results, indent=1))
        part.replace(self.store)

    def used(self, found_by):
        """The files that a test or proof reads."""
        if found_by.startswith("proof "):
            return sorted(name for name in self.files if name.startswith(("rtl/", "formal/")))
        folder = found_by.rpartition("/")[0] + "/"
        used = {name for name in self.files
                if name.startswith((folder, "rtl/lib/")) or re.fullmatch(r"(rtl|tb)/[^/]+", name)}
        used |= {name for name in self.files if folder == "tb/boards/" and name.startswith("boards/")}
        used |= {str(path.relative_to(ROOT)) for path in closure(*(ROOT / name for name in used if name.endswith(".py")))}
        used.add("tb/harness/peeked.vlt")
        designs = {design.decode() for name in used if name.endswith(".py")
                   for design in re.findall(rb"(?:rtl|boards)/[\w-]+/\w+\.f\b", self.files[name])}
        return sorted(used | {str(p.relative_to(ROOT)) for p in expand("rtl/pkg.f", *designs)[0]})

    def key(self, found_by, *more):
        """Changes with everything that the result depends on."""
        digest = hashlib.sha256(repr((found_by, SEEDS, more)).encode())
        for name in self.used(found_by):
            digest.update(f"{name} {len(self.files[name])} ".encode() + self.files[name])
        return digest.hexdigest()[:32]

    def measure(self, found_by, fault=None):
        """All seeds of a test, in a free tree; what `Tree.run` returns of them together."""
        together = not found_by.startswith("proof ") and (not fault or fault.name in self.numbers)
        job = self.trees.get()
        try:
            tree = Tree(f"{'together' if together else 'alone'}{job}")
            files = dict(self.files)
            if together:
                files |= {name: text.encode() for name, text in self.texts.items()}
                files[lists.PACKAGE] = lists.package(tree.fault).encode()
                files["rtl/pkg.f"] = f"{lists.PACKAGE}\n".encode() + files["rtl/pkg.f"]
            elif fault:
                text = files[fault.file].decode()
                files[fault.file] = lists.replaced(text, fault).encode()
            tree.write(files)
            number = self.numbers[fault.name] if fault and together else 0
            seconds = cost = 0
            limit = self.limits.get(found_by, 7200)
            for seed in SEEDS[:1] if found_by.startswith("proof ") else SEEDS:
                state, why, took, used = tree.run(found_by, seed, number, limit)
                seconds, cost = seconds + took, cost + used
                if state != ("fail" if fault else "pass"):
                    why = f"seed {seed}: {why}" if why else f"seed {seed}"
                    break
            if state != "pass" or fault:
                name = fault.name if fault else re.sub(r"\W+", "-", found_by)
                shutil.copy(tree.root / "output", WORK / f"{name}.log")
            return state, why, seconds, cost
        finally:
            self.trees.put(job)

    def clean(self, found_by):
        """A test without a fault must pass; tells how long it may take with one."""
        key = self.key(found_by, [self.texts.get(name) for name in self.used(found_by)])
        if key not in self.results:
            state, why, seconds, cost = self.measure(found_by)
            print(f"{'ok' if state == 'pass' else 'FAILED':9}{seconds:7.0f} s  without a fault: "
                  f"{found_by}  {why}", flush=True)
            if state != "pass":
                return False
            self.keep(key, {"seconds": seconds, "cost": cost})
        self.limits[found_by] = int(PATIENCE * self.results[key]["cost"]) + 120
        return True

    def seed(self, fault):
        key = self.key(fault.found_by, fault.name, fault.old, fault.new)
        if key not in self.results:
            state, why, seconds, _ = self.measure(fault.found_by, fault)
            state = {"fail": "found", "pass": "SURVIVES", "broken": "BROKEN"}[state]
            result = {"state": state, "why": why, "seconds": seconds}
            print(f"{state:9}{seconds:7.0f} s  {fault.module}: {fault.name}  {why}", flush=True)
            if state != "found":
                return result
            self.keep(key, result)
        return self.results[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("module", nargs="*", help="modules, folders or names of faults")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print them only")
    args = parser.parse_args()
    wanted = [f for f in lists.load()
              if not args.module or {f.module, f.folder, f.name} & set(args.module)]
    if not wanted:
        sys.exit(f"no fault in {' '.join(args.module)}")
    if args.list:
        return print(lists.listing(wanted), end="")
    WORK.mkdir(parents=True, exist_ok=True)
    lock = open(WORK / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another run works in build/mutants")
    run = Run(args.jobs)
    print(f"{len(wanted)} faults, seeds {' '.join(SEEDS)}, {args.jobs} at a time", flush=True)
    # One test after the other, so that a design is compiled in few trees.
    wanted.sort(key=lambda f: f.found_by)
    with ThreadPoolExecutor(args.jobs) as pool:
        checks = list(dict.fromkeys(f.found_by for f in wanted))
        # At first one of each file, so that no two jobs compile the same design at once.
        files = [check.partition("::")[0] for check in checks]
        turns = sorted(range(len(checks)), key=lambda i: files[:i].count(files[i]))
        checks = [checks[i] for i in turns]
        if not all(pool.map(run.clean, checks)):
            sys.exit("a test fails without a fault")
        results = dict(zip([f.name for f in wanted], pool.map(run.seed, wanted)))
    print()
    for fault in run.all:
        if result := results.get(fault.name):
            print(f"{result['state']:9}{result['seconds']:7.0f} s  {fault.module:14} "
                  f"{fault.name:26} {fault.found_by}")
    left = [name for name, result in results.items() if result["state"] != "found"]
    print(f"{len(results) - len(left)} of {len(results)} faults found")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
