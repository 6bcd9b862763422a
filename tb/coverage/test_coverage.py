"""The explanations in unreached.toml are about what is there, docs/COVERAGE.md has every module, and the
tool finds what it is for. What the tests reach, `make coverage` shows: it takes much longer."""

import pytest

from coverage import run as tool

SOURCES = tool.modules()
ENTRIES = tool.load()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['module']}-{e.get('text', '')}")
def test_stands(entry):
    assert entry["reason"] and ("text" in entry) != ("functions" in entry)
    assert tool.gone(entry, SOURCES) is None


def test_documented():
    listed = [line.split("`")[1] for line in tool.DOCUMENT.read_text().splitlines()
              if line.startswith("| `")]
    assert listed == [f"{tool.folder_of(name)}/{name}" for name in SOURCES], \
        "make coverage, then python tb/coverage/run.py --document"


TEXT = """module m;
  function automatic logic odd(input logic a);
    if (a) return 1'b1;
    return a;
  endfunction
  always_comb begin
    b = a ? c : d;
    if (a) e = f;
  end
endmodule
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "folder_of", lambda name: "rtl")
    (tmp_path / "m.sv").write_text(TEXT)
    return {"m": tool.Source(tmp_path / "m.sv")}


def points(**counts):
    """As Verilator has them for TEXT; each was reached so often, or once."""
    every = {"always": (6, 3, "block", (6, 7, 8)), "then": (7, 11, "cond_then", (7,)),
             "other": (7, 12, "cond_else", (7,)), "yes": (8, 5, "if", (8,)), "no": (8, 6, "else", ())}
    return {tool.Point("m", *place): counts.get(name, 1) for name, place in every.items()}


def found(module, counts, **entry):
    entries = [{"module": "m", "reason": "so it is", **entry}] if entry else []
    return list(tool.problems(counts, module, entries))


def test_finds(module):
    assert not found(module, points())
    assert "never else: if (a) e = f;" in found(module, points(no=0))[0]
    assert len(found(module, points(no=0, then=0))) == 2
    # Explained; too much; reached after all; gone.
    assert not found(module, points(no=0), text="if (a) e = f;", what="else")
    assert not found(module, points(no=0, yes=0), text="if (a) e = f;")
    assert not found(module, points(then=0), text="a ? c", what="cond_then")
    assert "reached (if)" in found(module, points(no=0), text="if (a) e = f;")[0]
    assert "reached" in found(module, points(), text="a ? c", what="cond_then")[0]
    assert "not in the RTL" in found(module, points(), text="g = h")[0]
    assert "no point here" in found(module, points(), functions=["odd"])[0]
    assert len(found(module, points(no=0), functions=["even"])) == 2


def test_functions_and_returns(module):
    source = module["m"]
    assert source.function("odd") == (2, 5) and source.function("dd") is None
    assert not source.counts(tool.Point("m", 3, 5, "if", (3,)))
    assert source.counts(tool.Point("m", 3, 6, "else", ()))
    assert source.counts(tool.Point("m", 8, 5, "if", (8,)))


def test_table(module):
    entries = [{"module": "m", "text": "if (a) e", "what": "else", "reason": "so"}]
    assert tool.table(points(no=0), entries, module).splitlines()[-1] == "| `rtl/m` | 3/3 | 3/4 | 1 |"


def test_reads(tmp_path, monkeypatch, module):
    monkeypatch.setattr(tool, "WORK", tmp_path)
    (tmp_path / "tb").mkdir()
    line = "C '\1f\2/x/rtl/y/m.sv\1l\2{}\1n\2{}\1t\2branch\1o\2{}\1S\2{}\1h\2top' {}\n"
    for name, count in (("a", 0), ("b", 2), ("c", 3)):
        (tmp_path / "tb" / f"{name}.dat").write_text(
            "# SystemC::Coverage-3\n" + line.format(8, 5, "if", "6-7,8", count))
    assert tool.reached(module) == {tool.Point("m", 8, 5, "if", (6, 7, 8)): 5}
