"""Each command in a code block of the guides is one that is run here, or names what is there: targets and variables of
make, folders, crates, features, scripts, flags of the server. A line of any other kind fails: it wants a check here."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from docs.pages import blocks
from harness import faults, reference
from harness.filelist import ROOT
from harness.resp import servers

GUIDES = ["README.md", "CONTRIBUTING.md", "docs/TESTING.md", "docs/OPERATING.md"]
MAKEFILE = (ROOT / "Makefile").read_text()


def lines(guide):
    """Commands of its blocks, without what stands behind three blanks; sessions, which begin with `$`, are run below."""
    for block in blocks(ROOT / guide):
        if not block[0].startswith("$ "):
            yield from (re.split(r"   +", line)[0] for line in block)


def sessions(guide):
    """(command, what it prints) of a guide's sessions, in their order."""
    for block in blocks(ROOT / guide):
        if block[0].startswith("$ "):
            for part in re.split(r"^\$ ", "\n".join(block) + "\n", flags=re.M)[1:]:
                yield tuple(part.split("\n", 1))


# ---------------------------------------------------------------- what a command names

def make(*words):
    targets = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    assert all(re.search(rf"^{target}:(?!=)", MAKEFILE, re.M) for target in targets), targets
    assert all(name.startswith("WIREKV_") or re.search(rf"\$\({name}\)", MAKEFILE) for name in given), given
    target = targets[0] if targets else "help"
    if target == "test" and "FOLDER" in given:
        assert (ROOT / given["FOLDER"]).exists()
    if target == "coverage":
        assert all((ROOT / "rtl" / folder).is_dir() for folder in given.get("FOLDER", "").split())
    if target == "mutants" and "MODULE" in given:
        assert [fault for fault in faults.load() if given["MODULE"] in (fault.module, fault.folder, fault.name)]
    if target == "formal" and "PROOF" in given:
        assert f'("{given["PROOF"]}"' in (ROOT / "formal" / "prove.py").read_text()
    if target == "synth" and "TOP" in given:
        assert list((ROOT / "rtl").rglob(f"{given['TOP']}.sv"))
    if target == "serve":
        wirekv("serve", *shlex.split(given.get("ARGS", "")))


def wirekv(*words):
    """The program's own parser takes them; with --help it does nothing else."""
    done = subprocess.run([reference.WIREKV, *words, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def cargo(action, *words):
    """The crate and its features are there; what stands behind `--` is for the program."""
    words, program = list(words), []
    if "--" in words:
        words, program = words[: words.index("--")], words[words.index("--") + 1 :]
    crates = {tomllib.loads(path.read_text())["package"]["name"]: tomllib.loads(path.read_text())
              for path in ROOT.glob("host/*/Cargo.toml")}  # fmt: skip
    assert action in ("build", "run", "test")
    crate = crates[words[words.index("-p") + 1]]
    if "--features" in words:
        assert words[words.index("--features") + 1] in crate["features"]
    if "--example" in words:
        folder = next(p.parent for p in ROOT.glob("host/*/Cargo.toml") if f'"{crate["package"]["name"]}"' in p.read_text())
        assert (folder / "examples" / f"{words[words.index('--example') + 1]}.rs").exists()
    if program:
        assert crate["package"]["name"] == "wirekv"
        wirekv(*program)


def python(script, *words):
    """The script, or a tool of `python tb`, knows the flags; those behind --serve-args are the server's."""
    if "--serve-args" in words:
        at = words.index("--serve-args")
        wirekv("serve", *words[at + 1 :])
        words = words[: at + 1]
    name, words = ([script, words[0]], words[1:]) if script == "tb" else ([script], words)
    told = subprocess.run([sys.executable, *name, "--help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert all(re.search(rf"(^|[\s\[]){word}\b", told) for word in words if word.startswith("--")), words


def fuzz(*words):
    """Of cargo-fuzz, or what keeps its inputs: TARGET stands for one that is there."""
    assert words[-1] == "TARGET" or words[-2] == "TARGET"
    assert (ROOT / "scripts" / "fuzz.py").exists() and (ROOT / "fuzz" / "Cargo.toml").exists()


def package(*words):
    """Those of the guide that tb/deploy/test_package.py runs in a bare Debian."""
    assert "GUIDE" in (ROOT / "tb" / "deploy" / "test_package.py").read_text()
    assert words[0] in ("-i", "-r", "-P")


def unit(action, name):
    """The unit is there."""
    assert action == "restart" and (ROOT / "deploy" / f"{name}.service").exists()


CHECKS = {
    "dpkg": package, "systemctl": unit, "wirekv": wirekv, "printf": lambda *words: None,
    "make": make, "cargo": cargo, "python": python, "build/target/release/wirekv": wirekv, "cargo +nightly fuzz": fuzz,
    "scripts/fuzz.py keep": fuzz,
    # Others' programs, which tests of their own start.
    "git clone": lambda *words: None, "memccapable": lambda *words: None,
    # What `serve` prints: see test_sessions.
    "listening on": lambda *words: None,
}  # fmt: skip


def check(line):
    for command in line.split(" && "):
        command = re.sub(r"(^| )WIREKV_\w+=\S+ |( &$)|^cd \S+$", "", command)
        if not command:
            continue
        begin = max((begin for begin in CHECKS if f"{command} ".startswith(f"{begin} ")), key=len, default=None)
        assert begin, f"no check knows {command!r}"
        CHECKS[begin](*shlex.split(command.removeprefix(begin)))


@pytest.mark.parametrize(("guide", "line"), [(guide, line) for guide in GUIDES for line in lines(guide)])
def test_command(guide, line):
    check(line)


@pytest.mark.parametrize("line", [
    "make tset", "make test FOLDR=tb/tcp", "make test FOLDER=tb/pct", "make mutants MODULE=tcp_rot", "make synth TOP=no_such",
    "make serve ARGS='--redis-prot 1'", "cargo run -p wirekv --features no-such", "cargo run -p wirekv -- srve",
    "python tb replay x --srink", "python tb replay x --serve-args --pcpa y", "python tb repaly x", "rm x",
])  # fmt: skip
def test_a_wrong_one_is_seen(line):
    with pytest.raises((AssertionError, KeyError, subprocess.CalledProcessError)):
        check(line)


# ---------------------------------------------------------------- what is run

@pytest.mark.parametrize("body", [servers.soft, servers.card], ids=["soft", "card"])
def test_sessions(body):
    """README's sessions on either body: they print what it shows. (nc shows CR LF as LF; redis-cli's numbers are those of
    a terminal.)"""
    server = body()
    try:
        host, port = server.memcached
        said = (ROOT / "README.md").read_text()
        assert f"listening on {host}:{port}".replace(str(port), "11211") in said
        assert f"listening on {host}:{port}\n" in server.log.read_text()
        shown = list(sessions("README.md"))
        assert {command.split()[0] for command, _ in shown} == {"printf", "redis-cli"}
        for command, prints in shown:
            mine = re.sub(r"127\.0\.0\.1 11211", f"{host} {port}", command)
            mine = re.sub(r"^redis-cli ", f"redis-cli --no-raw -p {server.port} ", mine)
            assert mine != command
            done = subprocess.run(mine, shell=True, check=True, capture_output=True, timeout=reference.SECONDS)
            assert done.stdout.replace(b"\r\n", b"\n").decode() == prints, command
    finally:
        server.stop()
