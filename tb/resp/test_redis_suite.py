"""Redis 7.0's own tests of strings and keys, from its sources (tb/reference/fetch.sh redis-source), against both bodies.

Which files, and which of their tests not, each for a reason: redis_suite.toml. All others must pass."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from harness import reference
from harness.reference import ROOT
from harness.resp import servers
from harness.size import LONG

SOURCE = ROOT / "build" / "redis-source" / "root"
PLAN = tomllib.loads((Path(__file__).parent / "redis_suite.toml").read_text())
START = {
    # The longest value of these tests has 4,000,000 bytes.
    "soft": lambda: servers.soft("-I", "8m", "--enable-debug-command"),
    # FLUSHDB goes through the whole index; the values that a test has at once take 25 MB.
    "card": lambda: servers.card(megabytes=64),
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A copy in which `FUNCTION FLUSH`, with which each file begins, may fail: there are no functions here."""
    subprocess.run([ROOT / "tb" / "reference" / "fetch.sh", "redis-source"], check=True)
    copy = tmp_path_factory.mktemp("redis")
    shutil.copytree(SOURCE / "tests", copy / "tests")
    (copy / "tests" / "tmp").mkdir(exist_ok=True)
    start = copy / "tests" / "support" / "server.tcl"
    text = start.read_text()
    assert text.count("    r function flush\n") == 1
    start.write_text(text.replace("    r function flush\n", "    catch {r function flush}\n"))
    return copy


def left_out(body, unit):
    """The names of a file's tests that are not for this body."""
    return {name for entry in PLAN["skip"] if body in entry.get("bodies", START) for name in entry.get(unit, ())}


def play(suite, body, unit, *options):
    """What became of each test: its name and `ok`, `err`, `skip`, `ignore` or `punt_queue`; and all that was said."""
    server = START[body]()
    without = left_out(body, unit)
    skips = suite / f"skips-{body}"
    skips.write_text("\n".join(sorted(without)))
    try:
        done = subprocess.run(
            ["tclsh", "tests/test_helper.tcl", "--host", server.host, "--port", str(server.port), "--single", unit, "--durable",
             "--baseport", str(reference.free_port() + 32), "--skipfile", str(skips), "--timeout", "1200", "--ignore-digest", *options], cwd=suite, env={**os.environ, "LC_ALL": "C.UTF-8"}, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3600)
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        server.check_alive()
    finally:
        server.stop()
    found = re.findall(r"^\[(ok|err|skip|ignore|exception)\]: (.*?)(?: \(\d+ ms\)| in tests/.*)?$", said, re.M)
    return [(name, what) for what, name in found], said


@pytest.mark.parametrize("unit, body", [(unit, body) for unit, bodies in PLAN["passes"].items() for body in bodies
                                        if LONG or unit in PLAN["quick"] and body == "soft"])  # fmt: skip
def test_redis(suite, unit, body):
    tags = [f"-{tag}" for entry in PLAN["tags"] if body in entry.get("bodies", START) for tag in entry["tags"]]
    told, said = play(suite, body, unit, "--tags", " ".join(tags))
    became = dict(told)
    passed = sum(what == "ok" for _, what in told)
    print(f"{unit}, {body}: {passed} pass, {sum(what == 'skip' for _, what in told)} are left out")
    assert not any(what in ("err", "exception") for _, what in told) and f"done]: {unit}" in said, said
    # The list names tests that there are.
    assert {name for name in left_out(body, unit) if became.get(name) != "skip"} == set()
    assert passed == PLAN["passes"][unit][body]
