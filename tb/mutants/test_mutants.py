"""The list of seeded faults is not stale, and can be read. That the faults are found, `make mutants` shows:
it takes much longer."""

import re
import subprocess
import sys

import pytest

from harness.faults import PACKAGE, load, package, switched, wrong
from harness.boards import TOPS
from harness.filelist import CARD, LINK, ROOT, expand

FAULTS = load()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_applies(fault):
    assert wrong(fault, (ROOT / fault.file).read_text()) is None


def test_names():
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 40


def test_variants():
    """What finds a fault with certain parameters is run with them, not in long runs alone."""
    wanted = {fault.found_by for fault in FAULTS if fault.found_by.endswith("]")}
    files = sorted({test.partition("::")[0] for test in wanted})
    have = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", *files], check=True, cwd=ROOT,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()  # fmt: skip
    assert wanted and wanted <= {line.strip() for line in have}


def shown(*arguments):
    """What `make mutants LIST=1` prints, as lines of columns."""
    run = subprocess.run([sys.executable, "tb/mutants/run.py", "--list", *arguments], cwd=ROOT, capture_output=True,
                         text=True)  # fmt: skip
    return run.returncode, [re.split(r"  +", line) for line in run.stdout.splitlines()], run.stderr


def test_listed():
    """All of them or a module's, each with what it is and what finds it; a module without any is an error."""
    def rows(faults):
        return [[f.module, f.name, f.what, f.found_by.removeprefix("tb/")] for f in faults]

    assert shown() == (0, rows(FAULTS), "")
    some = [fault for fault in FAULTS if fault.module == "tcp_rto"]
    assert some and shown("tcp_rto") == (0, rows(some), "")
    code, lines, error = shown("tcp_rot")
    assert code and not lines and "tcp_rot" in error


def test_switched():
    """All faults in one text: each is there, as one of two choices."""
    texts = {fault.file: (ROOT / fault.file).read_text() for fault in FAULTS}
    together, numbers = switched(texts, FAULTS)
    text = "".join(together.values())
    for fault in FAULTS:
        if fault.name in numbers:
            assert text.count(f"fault_pkg::id == {numbers[fault.name]} ") + text.count(
                f"fault_pkg::id == {numbers[fault.name]})") == 1
            assert fault.new in text and fault.old in text
    assert len(numbers) > len(FAULTS) / 2


def test_compiles(tmp_path):
    """All faults in one text: the whole card is still a design, and what stands beside it on a board."""
    sources, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", CARD, LINK, "rtl/machine/machine_top.f",
                               *(top.files for top in TOPS.values()))
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sources}
    faults = [fault for fault in FAULTS if fault.file in texts]
    assert faults == FAULTS
    for name, text in ({PACKAGE: package(tmp_path / "fault")} | switched(texts, faults)[0]).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for top in ("card", "link", "aside", "machine_top", "axil_windows", "axil_cross", "frame_gate",
                "frame_hold"):
        subprocess.run(
            ["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", top,
             *(f"-I{i}" for i in includes), PACKAGE, *texts], check=True, cwd=tmp_path)
