"""The pages on the RTL name each module of their folders once; pictures of all pages are there."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "spec" / "README.md", *sorted(DOCS.rglob("*.md"))]
FOLDERS = {
    "NET.md": ["net"], "TCP.md": ["tcp"], "PARSE.md": ["conn", "parse"], "STORE.md": ["store"],
    "REPLY.md": ["reply"], "MEM.md": ["mem"], "LINK.md": ["link"], "ASIDE.md": ["aside"], "HOST.md": ["host", "top"],
    "LIB.md": ["lib"], "../MACHINE.md": ["machine"]}


def modules(folder):
    return [name for path in sorted((ROOT / "rtl" / folder).rglob("*.sv"))
            for name in re.findall(r"^module\s+(\w+)", path.read_text(), re.M)]


@pytest.mark.parametrize("page", FOLDERS)
def test_names_each_module_once(page):
    section = (DOCS / "rtl" / page).read_text().partition("\n| module" if page != "LIB.md" else "\n| cell")[2]
    rows = re.findall(r"^\| `(\w+)` \|", section.partition("\n\n")[0], re.M)
    assert Counter(rows) == Counter(name for folder in FOLDERS[page] for name in modules(folder))


def test_each_folder_has_a_page():
    assert {path.name for path in (ROOT / "rtl").iterdir() if path.is_dir()} == set(sum(FOLDERS.values(), []))
    assert {path.name for path in (DOCS / "rtl").glob("*.md")} == {page for page in FOLDERS if "/" not in page}


def test_pictures_are_there_and_shown():
    shown = {(page.parent / name).resolve() for page in PAGES
             for name in re.findall(r"\]\(([^)]*\.svg)\)", page.read_text())}
    assert shown == set((DOCS / "pictures").glob("*.svg"))


@pytest.fixture(scope="module")
def draw():
    spec = importlib.util.spec_from_file_location("draw", DOCS / "pictures" / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("fault, size, boxes, arrows", [
    ("", 300, ["[10, 10, 80, 40, 'a', 'cell']", "[150, 10, 80, 40, 'b', 'cell']"], ["a.r > b.l", "a.b5 > x,90"]),
    ("wider than", 901, ["[10, 10, 80, 40, 'a', 'cell']"], []),
    ("outside", 300, ["[250, 10, 80, 40, 'a', 'cell']"], []),
    ("outside", 300, ["[10, 10, 80, 40, 'a', 'cell']"], ["a.r > 400,30"]),
    ("across the border", 300, ["[10, 10, 80, 40, 'a', 'cell']", "[50, 20, 80, 40, 'b', 'cell']"], []),
    ("no room for", 300, ["[100, 10, 80, 40, 'too long for it', 'cell']"], []),
    ("too many lines", 300, ["[10, 10, 80, 20, 'a\\nb', 'cell']"], []),
])
def test_draw_refuses_what_cannot_be_read(draw, tmp_path, fault, size, boxes, arrows):
    def quoted(text):
        return text.replace("'", '"')

    path = tmp_path / "some.toml"
    named = ", ".join(f'["{name}", {quoted(box)[1:]}' for name, box in zip("ab", boxes))
    paths = ", ".join(f'["{arrow}"]' for arrow in arrows)
    path.write_text(f'title = "t"\nsize = [{size}, 100]\nbox = [{named}]\narrow = [{paths}]\n')
    picture = draw.Picture(path)
    svg = picture.svg()
    assert svg.count("<rect") == len(boxes) and svg.count("<polyline") == len(arrows)
    assert [fault in said for said in picture.faults] == [True] * bool(fault)
