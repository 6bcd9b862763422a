"""The Verilated store_tb driven from Python through a small shim: for tests of many clocks, much
faster than a simulator interface. TRACE=1 leaves store.vcd in the current folder."""

import ctypes
import os
from pathlib import Path

from harness.models import BUILD, program

FILES = ["rtl/lib/lib.f", "rtl/store/store.f", "tb/store/mem_model.sv", "tb/store/store_tb.sv"]


def build():
    """Builds the model's library and returns its path."""
    trace = bool(os.environ.get("TRACE"))
    return program("store_sim-trace" if trace else "store_sim", "store_tb", FILES,
                   Path(__file__).parent / "shim.cpp", *["--trace-vcd"] * trace,
                   "-CFLAGS", "-fPIC", "-LDFLAGS", "-shared")


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
        self.lib.sim_log_line.restype = ctypes.c_void_p
        self.lib.sim_open(seed)
        self.clock = 0
        self.index_bits_i.set(index_bits)
        self.one_way_i.set(0)
        self.upstream_i.set(0)
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

    def log_line(self, line):
        """A line of the log, as memory has it."""
        return ctypes.string_at(self.lib.sim_log_line(line), 64)

    def close(self):
        Sim.closed += 1
        self.lib.sim_close(f"{BUILD}/store-{Sim.closed}.dat".encode())

