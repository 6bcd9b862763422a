"""lib_reset_tree: each copy is the reset of Depth clocks ago. Synthesis keeps the registers of all copies, and they are
active from configuration on."""

import json
import random
import subprocess
import sys

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from harness.filelist import ROOT
from harness.models import run


@cocotb.test()
async def copies(dut):
    depth, copies = int(dut.Depth.value), int(dut.Copies.value)
    dut.rst_ni.value = 0
    await Timer(1, "ns")
    Clock(dut.clk_i, 4, unit="ns").start()
    for _ in range(depth):
        await RisingEdge(dut.clk_i)
    was = [0] * depth
    for _ in range(300):
        now = random.getrandbits(1)
        dut.rst_ni.value = now
        await RisingEdge(dut.clk_i)
        # Before this edge the outputs are of Depth edges ago.
        assert dut.rst_no.value == was[0] * ((1 << copies) - 1)
        was = [*was[1:], now]


@pytest.mark.parametrize("depth, copies", [(1, 3), (2, 8)])
def test_lib_reset_tree(depth, copies):
    run(__file__, "lib_reset_tree", ["rtl/lib/lib_reset_chain.sv", "rtl/lib/lib_reset_tree.sv"], Depth=depth, Copies=copies)


def test_registers_stay(tmp_path):
    """Of five copies, each as good as the others, all have their three registers, which begin as 0."""
    files = " ".join(str(ROOT / "rtl" / "lib" / f"lib_reset_{name}.sv") for name in ("chain", "tree"))
    script = (
        "from pyosys import libyosys as ys; d = ys.Design(); "
        f"ys.run_pass('read_slang --best-effort-hierarchy --top lib_reset_tree -G Depth=3 -G Copies=5 {files}', d); "
        "ys.run_pass('synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top lib_reset_tree', d); "
        f"ys.run_pass('write_json {tmp_path}/net.json', d)")
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
    modules = json.loads((tmp_path / "net.json").read_text())["modules"]
    chains = [cell["type"] for cell in modules["lib_reset_tree"]["cells"].values()]
    assert len(chains) == 5
    for chain in chains:
        cells = modules[chain]["cells"].values()
        assert [(cell["type"], cell["parameters"]["INIT"]) for cell in cells] == [("FDRE", "0")] * 3
