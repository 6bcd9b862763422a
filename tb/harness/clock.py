"""The clock of a design under cocotb: start and reset, ports as numbers, and all that a test does in each clock."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge, Timer
from cocotb.utils import get_sim_time


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
