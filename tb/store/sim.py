"""The Verilated store_tb driven from Python through a small shim: for tests of many clocks, much
faster than a simulator interface. TRACE=1 leaves store.vcd in the current folder."""

import ctypes
import os
import subprocess
from pathlib import Path

from common import BUILD, COVERAGE, building
from filelist import ROOT, expand

FILES = ["rtl/lib/lib.f", "rtl/store/store.f", "tb/store/mem_model.sv", "tb/store/store_tb.sv"]


def build():
    """Builds the model's library and returns its path; make decides what is out of date."""
    trace = bool(os.environ.get("TRACE"))
    folder = BUILD / ("store_sim-trace" if trace else "store_sim")
    sources, includes = expand("rtl/pkg.f", *FILES)
    # Only the packages that the store knows.
    sources = [s for s in sources if not str(s).endswith("tcp_pkg.sv")]
    library = folder / "store.so"
    inputs = [Path(s) for s in sources] + [Path(__file__).parent / "shim.cpp"]
    with building(folder):
        if library.exists() and all(i.stat().st_mtime < library.stat().st_mtime for i in inputs):
            return library
        subprocess.run(
            ["verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", "store_tb", "--assert",
             "-DSIMASSERT", "-Wno-fatal", "-Wno-lint", "-Wno-style",
             *["--trace-vcd"] * trace, *["--coverage-line"] * bool(COVERAGE), "--x-initial", "unique",
             "--x-assign", "unique", "-O3", "--Mdir", str(folder), "-o", "store.so",
             "-CFLAGS", "-fPIC -O1", "-LDFLAGS", "-shared",
             "-MAKEFLAGS", "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include",
             *(f"-I{i}" for i in includes), *map(str, sources),
             str(Path(__file__).parent / "shim.cpp")],
            check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return library


class Port:
    def __init__(self, address, size):
        self.raw = (ctypes.c_ubyte * size).from_address(address)
        self.size = size

    def get(self):
        return int.from_bytes(self.raw, "little")

    def set(self, value):
        self.raw[:] = value.to_bytes(self.size, "little")


class Sim:
    closed = 0

    def __init__(self, seed, index_bits, log_lines):
        self.index_bits, self.log_lines = index_bits, log_lines
        self.lib = ctypes.CDLL(str(build()))
        self.lib.sim_port.restype = ctypes.c_void_p
        self.lib.sim_open(seed)
        self.clock = 0
        self.index_bits_i.set(index_bits)
        self.one_way_i.set(0)
        self.log_lines_i.set(log_lines)

    def __getattr__(self, name):
        size = ctypes.c_uint()
        address = self.lib.sim_port(name.encode(), ctypes.byref(size))
        if not address:
            raise AttributeError(name)
        port = Port(address, size.value)
        setattr(self, name, port)
        return port

    def settle(self):
        self.lib.sim_settle()

    def edge(self):
        self.clock += 1
        assert not self.lib.sim_edge(), f"assertion failed in clock {self.clock}"

    def close(self):
        Sim.closed += 1
        self.lib.sim_close(f"{BUILD}/store-{Sim.closed}.dat".encode())

