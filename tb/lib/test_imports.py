"""Tests import from tb/harness and from the libraries of their own folder: no test from another, no folder from another."""

import ast

import pytest

from harness import imports
from harness.imports import closure, imported, nodes

#: How a file names another.
STYLE = "from tb/ on: `from harness.clock import start`, `from tcp.peers import Hand`"


def name(path):
    return str(path.relative_to(imports.TB))


def wrong(path):
    """What a file imports that it must not, and how."""
    folder = path.relative_to(imports.TB).parts[0]
    for other in sorted(imported(path)):
        if other.name.startswith("test_") or other.name == "conftest.py":
            yield f"imports {name(other)}: what both need belongs into a library"
        elif name(other).split("/")[0] not in ("harness", folder):
            yield f"imports {name(other)}: what two folders need belongs into tb/harness"
    beside = {file.stem for file in path.parent.glob("*.py")}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"imports by dots: {STYLE}"
            continue
        modules = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for module in filter(None, modules):
            if path.parent != imports.TB and module in beside:
                yield f"imports {module} as a neighbour: {STYLE}"
        if path.name.startswith(("test_", "conftest")) and isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path":
            yield "changes sys.path: pytest.ini has what it needs"


def test_imports():
    files = sorted(imports.TB.rglob("*.py"))
    assert [f"{name(path)} {what}" for path in files for what in wrong(path)] == []


@pytest.mark.parametrize("text", [
    "from lib.test_draws import test_draws", "from lib import test_draws", "import lib.test_draws", "from store.sim import Sim",
    "from store import sim", "from test_draws import draws", "import bench", "from .test_draws import draws",
    "import sys\nsys.path.insert(0, 'x')", "from soft.conftest import soft"])  # fmt: skip
def test_finds(text, tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "TB", tmp_path)
    for other in ("lib/test_draws.py", "lib/bench.py", "store/sim.py", "soft/conftest.py", "harness/clock.py"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_text("")
    path = tmp_path / "lib" / "test_this.py"
    path.write_text(f"import re\nfrom harness.clock import start\nfrom harness import clock\nfrom lib.bench import Bench\n{text}\n")
    assert len(list(wrong(path))) == 1


def test_closure():
    needed = {name(file) for file in closure(imports.TB / "tcp" / "test_sack.py")}
    assert {"tcp/test_sack.py", "tcp/congestion.py", "tcp/peers.py", "harness/clock.py", "harness/filelist.py"} <= needed
    assert not needed & {"harness/reference.py", "tcp/rto.py"}
