"""memcached's own tests (t/*.t of its newest sources in Debian: tb/reference/fetch.sh memcached-source) against both bodies.

Which pass whole, which leave themselves out, and which do not pass, each for a reason: memcached_suite.toml."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from harness.reference import ROOT, WIREKV
from harness.size import LONG

PLAN = tomllib.loads((Path(__file__).parent / "memcached_suite.toml").read_text())
BODIES = ("soft", "sim")
# What is started in memcached's place. The card has no UNIX domain sockets, which the tests take where --help says that there
# are any, no threads, and nothing in -o that tunes memcached.
SHIM = """#!/bin/sh
if [ "$*" = -h ]; then {wirekv} serve --help | {shown}; exit; fi
{prepare}
exec {wirekv} serve --body {body} "$@"
"""
WITHOUT = """
while [ $# -gt $((kept)) ]; do
  case "$1 $2" in
    -t\\ * | -o\\ *) case $2 in idle_timeout=*) set -- "$@" "$1" "$2"; kept=$((kept + 2)) ;; esac; shift 2 ;;
    *) set -- "$@" "$1"; kept=$((kept + 1)); shift ;;
  esac
done"""


@pytest.fixture(scope="module")
def source():
    subprocess.run([ROOT / "tb" / "reference" / "fetch.sh", "memcached-source"], check=True)
    there = ROOT / "build" / "memcached-source"
    version = (there / "fetched").read_text().strip()
    if version != PLAN["version"] and not LONG:
        pytest.skip(f"Debian's newest memcached is {version}; the list is of {PLAN['version']}")
    return there / "root"


@pytest.fixture(scope="module", params=BODIES)
def suite(request, source, tmp_path_factory):
    """A copy of the tests in which a body is started in memcached's place; and that body."""
    copy, body = tmp_path_factory.mktemp("memcached"), request.param
    for folder in ("t", "doc"):
        shutil.copytree(source / folder, copy / folder)
    library = copy / "t" / "lib" / "MemcachedTest.pm"
    text = library.read_text()
    for there, instead in (
        # Of a build that these tests are run with alone.
        ('    $args .= " -o relaxed_privileges";\n', ""),
        ('    print $sock "debugtime $move\\r\\n";\n    <$sock>;\n', "    MemcachedTest::sleep($move + 1);\n"),
    ):
        assert text.count(there) == 1, there
        text = text.replace(there, instead)
    library.write_text(text)
    watcher, one = copy / "t" / "watcher.t", "    print $client \"set bfoo 0 0 11000 noreply\\r\\n$value\\r\\n\";\n"
    text = watcher.read_text()
    assert text.count(one) == 1
    # Items are not evicted one by one: one store more need not evict any. Later watchers see none of these.
    many = "    for (1 .. 200) {\n" + one.replace("bfoo", "bfoo$_") + '    }\n    print $client "version\\r\\n"; $res = <$client>;\n'
    watcher.write_text(text.replace(one, many))
    card = body == "sim"
    # Some listen on all addresses, with UDP.
    words = body if card else f"{body} --udp-public"
    shim = SHIM.format(wirekv=WIREKV, body=words, shown="grep -v unix-socket" if card else "cat", prepare=WITHOUT if card else ":")
    for name, script in (("memcached-debug", shim), ("timedrun", '#!/bin/sh\nshift\nexec "$@"\n')):
        (copy / name).write_text(script)
        (copy / name).chmod(0o755)
    return copy, body


def expected(body):
    """What each file of the list is to do against a body: `passes`, `left out` or `fails`."""
    of_body = [entry for entry in (*PLAN["left_out"], *PLAN["fails"]) if body in entry.get("bodies", BODIES)]
    told = dict.fromkeys(PLAN["passes"], "passes")
    for entry in of_body:
        what = "left out" if entry in PLAN["left_out"] else "fails"
        told |= dict.fromkeys(entry["tests"], what)
    return told


def run(copy, name, seconds, tls=False):
    """`passes`, `fails` or `left out`, and what was said. With TLS all of its connections are by that."""
    environment = os.environ | ({"SSL_TEST": "1"} if tls else {})
    process = subprocess.Popen(["perl", "-I.", f"t/{name}"], cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True, env=environment)
    out = said = ""
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        out = f"\nnothing more after {seconds} seconds"
    # Some leave servers behind.
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    if out:
        said = process.communicate()[0] + out
    if re.search(r"^1\.\.0 ?# *skip", said, re.M | re.I):
        return "left out", said
    return "passes" if process.wait() == 0 else "fails", said


@pytest.mark.parametrize("suite, name", [
    pytest.param(body, name, id=f"{name[:-2]}-{body}") for body in BODIES for name in sorted(expected(body))
    if LONG or body == "soft" and name in PLAN["quick"]], indirect=["suite"])  # fmt: skip
def test_memcached(suite, name):
    copy, body = suite
    expect = expected(body)[name]
    tls = body == "soft" and name.startswith("ssl_")
    if tls and subprocess.run(["perl", "-MIO::Socket::SSL", "-e1"], capture_output=True).returncode:
        pytest.skip("Perl's IO::Socket::SSL is not installed: `make setup`")
    # What does not pass may wait for what does not come.
    became, said = run(copy, name, 40 if expect == "fails" else 3600, tls)
    assert became == expect, said[-5000:]


@pytest.mark.skipif(not LONG, reason="in make test-long")
def test_list_is_whole(source):
    assert set(expected("soft")) == set(expected("sim")) == {path.name for path in (source / "t").glob("*.t")}
