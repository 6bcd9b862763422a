"""What harness/models.py compiles when a system header was replaced since: such a model is built anew."""

import os
import subprocess

import cocotb
import pytest

from harness import models
from harness.clock import start

DUT = """module dut (
  input logic clk_i,
  input logic rst_ni,
  output logic [7:0] q_o
);
  assign q_o = 8'd3;
endmodule
"""
MAIN = """#include "Vdut.h"
int main() {
  Vdut dut;
  dut.eval();
  return dut.q_o;
}
"""


@cocotb.test()
async def says(dut):
    await start(dut)
    assert dut.q_o.value == 3


def bench(folder):
    models.run(__file__, "dut", [str(folder / "dut.sv")])


def program(folder):
    (folder / "main.cpp").write_text(MAIN)
    model = models.program("program", "dut", [str(folder / "dut.sv")], folder / "main.cpp")
    assert subprocess.run([model]).returncode == 3


@pytest.mark.parametrize("build", [bench, program])
def test_replaced_header(build, tmp_path, monkeypatch):
    """Of a build that was broken off the header is there and an object is not. The new file's date is its package's,
    older than the build, so that `make` does not see it."""
    monkeypatch.setattr(models, "BUILD", tmp_path)
    # Enough files that they share a precompiled header.
    monkeypatch.setattr(models, "MODEL", [*models.MODEL, "--output-split", "200"])
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    (tmp_path / "dut.sv").write_text(DUT)
    header = tmp_path / "array"
    header.write_text("#include_next <array>\n")
    build(tmp_path)
    header.write_text("#include_next <array>\n// new\n")
    os.utime(header, (1_500_000_000, 1_500_000_000))
    made = [path for path in tmp_path.glob("*/*.o") if path.with_suffix(".cpp").exists()]
    assert made and list(tmp_path.glob("*/*.gch"))
    for path in [*made, *tmp_path.glob("*/*.a")]:
        path.unlink()
    # The compiler cache would have them.
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    build(tmp_path)


@pytest.mark.parametrize("build", [bench, program])
def test_other_errors_stay(build, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(models, "BUILD", tmp_path)
    (tmp_path / "dut.sv").write_text(DUT.replace("8'd3", "nothing"))
    with pytest.raises(models.BuildError):
        build(tmp_path)
    assert "nothing" in capfd.readouterr().out
