"""The unit, the flags that it starts with, and the container's steps: what can be seen without a package."""

import re
import shlex
import shutil
import subprocess

import pytest

from harness import reference
from harness.filelist import ROOT

DEPLOY = ROOT / "deploy"


def options(text):
    """Of the file with the unit's flags."""
    return shlex.split(re.search(r'^OPTIONS="(.*)"$', text, re.M)[1])


def takes(words):
    """The program's own parser takes these flags; with --help it does nothing else."""
    done = subprocess.run([reference.WIREKV, *words, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_exposure():
    """What systemd says of how much a service that is taken over could do: 0 nothing, 10 all."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not there")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", DEPLOY / "wirekv.service"],
                          capture_output=True, text=True)  # fmt: skip
    score = re.search(r"exposure level for wirekv.service: ([0-9.]+)", done.stdout)
    assert score and float(score[1]) <= 1.5, done.stdout + done.stderr


def test_flags():
    unit = (DEPLOY / "wirekv.service").read_text()
    assert re.search(r"^ExecStart=(.*)$", unit, re.M)[1] == "/usr/bin/wirekv serve $OPTIONS"
    words = options((DEPLOY / "wirekv.default").read_text())
    takes(["serve", *words])
    # Items are where the unit's own folder is, which stays over a restart.
    folder = re.search(r"^RuntimeDirectory=(.*)$", unit, re.M)[1]
    assert words[words.index("-e") + 1].startswith(f"/run/{folder}/") and "RuntimeDirectoryPreserve=yes" in unit
    # What it finishes at its end, it has the time for.
    assert int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M)[1]) > 10


def test_container():
    text = (DEPLOY / "Containerfile").read_text()
    words = [*eval(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1]), *eval(re.search(r"^CMD (.*)$", text, re.M)[1])]
    assert words[0] == "/usr/bin/wirekv"
    takes(words[1:])


def test_nothing_is_for_one_machine_alone():
    """The script's compiler has no flags of the user's, and the project has none that is for this processor."""
    script = (DEPLOY / "package.sh").read_text()
    assert "unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS" in script
    assert "soft" in script and not re.search(r"build .*\b(sim|card|trace)\b", script)
    assert not list(ROOT.glob(".cargo/config*"))
    assert "native" not in (ROOT / "Cargo.toml").read_text() + (ROOT / "host/wirekv/Cargo.toml").read_text()
