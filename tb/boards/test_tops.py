"""Verilator takes the boards' tops without a warning, and Tcl the scripts that build them: each file that these read is there."""

import os
import re
import shutil
import subprocess

import pytest

from harness.boards import TOPS
from harness.filelist import ROOT, expand

#: Vivado's commands: each says what it was called with.
VIVADO = """
foreach command {read_verilog read_ip read_xdc set_property update_compile_order synth_design create_ip generate_target} {
    proc $command args "puts \\"$command \\$args\\""
}
proc get_files args {return $args}
proc get_ips args {return $args}
proc current_fileset {} {return fileset}
proc get_property args {return "__synthesis__"}
"""


@pytest.mark.parametrize("top", TOPS)
def test_lint(top):
    sources, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", TOPS[top].files, *TOPS[top].models())
    subprocess.run(["verilator", "--lint-only", "-Wall", "--quiet", *TOPS[top].defines, "rtl/lint.vlt", "--top-module", top,
                    *(f"+incdir+{folder}" for folder in includes), *map(str, sources)], check=True, cwd=ROOT)  # fmt: skip


def tcl(before, script, folder, **environment):
    """What the script asks of Vivado, as (command, words)."""
    file = folder / "run.tcl"
    file.write_text(f"{VIVADO}\n{before}\nsource {ROOT / script}\n")
    done = subprocess.run(["tclsh", file], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, [line.split(" ", 1) for line in done.stdout.splitlines()], done.stderr


needs_tcl = pytest.mark.skipif(shutil.which("tclsh") is None, reason="no tclsh")


def read(calls, top):
    """The sources that were read, which must be the file list's, in its order."""
    names = [name for command, words in calls if command == "read_verilog" for name in re.findall(r"[^ {}]+\.sv", words)]
    assert names == [str(path) for path in expand(TOPS[top].files)[0]]
    for command, words in calls:
        for name in re.findall(r"[^ {}]+\.xdc", words) if command == "read_xdc" else ():
            assert (ROOT / name).is_file()


@needs_tcl
@pytest.mark.parametrize("variant", [{}, {"WIREKV_CONFIG": "Small"}])
def test_f2_script(tmp_path, variant):
    scripts = tmp_path / "build" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("header", "footer"):
        (scripts / f"synth_cl_{name}.tcl").write_text(f"puts {{{name} -}}\n")
    before = f"set HDK_SHELL_DIR {tmp_path}\nset HDK_IP_SRC_DIR /kit/ip\nset CL cl_wirekv\nset DEVICE_TYPE xcvu47p-fsvh2892-2-e"
    code, calls, error = tcl(before, "boards/aws-f2/synth_cl_wirekv.tcl", tmp_path, WIREKV=str(ROOT), **variant)
    assert code == 0, error
    read(calls, "cl_wirekv")
    assert calls[0] == ["header", "-"] and calls[-1] == ["footer", "-"]
    assert ["read_ip", "/kit/ip/cl_hbm/cl_hbm.xci"] in calls
    synth = dict(calls)["synth_design"]
    assert "-top cl_wirekv" in synth and "WIREKV_HBM_MONITOR" in synth and ("WIREKV_CONFIG=Small" in synth) == bool(variant)
    assert [str(folder) for folder in expand(TOPS["cl_wirekv"].files)[1]] == re.search(r"-include_dirs (\S+)", synth)[1].split()


@needs_tcl
def test_f2_script_without_its_folder(tmp_path):
    environment = {"WIREKV": ""}
    file = tmp_path / "run.tcl"
    file.write_text(f"source {ROOT}/boards/aws-f2/synth_cl_wirekv.tcl\n")
    environment = {name: value for name, value in os.environ.items() if name != "WIREKV"}
    done = subprocess.run(["tclsh", file], capture_output=True, text=True, env=environment)
    assert done.returncode and "WIREKV must be set" in done.stderr


SHELL = {"board": "au55c", "use_phys_func": 1, "num_phys_func": 2, "num_cmac_port": 1, "num_qdma": 1, "include_dirs": "{}"}


@needs_tcl
@pytest.mark.parametrize("board, gib", [("au50", 8), ("au280", 8), ("au55c", 16)])
def test_opennic_script(tmp_path, board, gib):
    before = "\n".join(f"set {name} {value}" for name, value in {**SHELL, "board": board}.items())
    code, calls, error = tcl(before, "boards/opennic/build_box_250mhz.tcl", tmp_path)
    assert code == 0, error
    read(calls, "wirekv_250mhz")
    assert any(command == "create_ip" and "-module_name cl_hbm" in words for command, words in calls)
    assert any(command == "set_property" and f"CONFIG.USER_HBM_DENSITY {gib}GB" in words for command, words in calls)


@needs_tcl
@pytest.mark.parametrize("wrong, said", [({"board": "au250"}, "no memory on au250"), ({"num_phys_func": 1}, "-num_phys_func 2, not 1"),
                                         ({"num_cmac_port": 2}, "-num_cmac_port 1, not 2")])  # fmt: skip
def test_opennic_script_refuses(tmp_path, wrong, said):
    before = "\n".join(f"set {name} {value}" for name, value in {**SHELL, **wrong}.items())
    code, _, error = tcl(before, "boards/opennic/build_box_250mhz.tcl", tmp_path)
    assert code and said in error


def test_opennic_box_has_all_ports():
    """The text that stands in the shell's box connects each port of the plugin, and nothing else."""
    plugin = (ROOT / "boards/opennic/wirekv_250mhz.sv").read_text()
    ports = re.findall(r"^  (?:input|output) +logic +(?:\[[^]]*\] +)?(\w+)", plugin.partition(");\n")[0], re.M)
    text = re.sub(r"//.*", "", (ROOT / "boards/opennic/box_250mhz/user_plugin_250mhz_inst.vh").read_text())
    assert sorted(ports) == sorted(re.findall(r"^  \.([a-z]\w+)", text, re.M)) and len(ports) == 53
