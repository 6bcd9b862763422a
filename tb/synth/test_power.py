"""Power and operations for a dollar, from files whose answer is known by hand; toggles of a Verilated model."""

import json
import subprocess
import sys

import pytest

import dollars
import power
from harness.models import program
from power import Activity, Ram, activity, area, parts, scaled, shown, sums

SIZE = {"lut": 1000, "ff": 100, "bram": 2, "uram": 0, "dsp": 4}
#: Each constant is easily seen in a product.
CONSTANTS = {"memory": (50, 100), "register": (1, 2), "clock": (3, 4), "bram": (10, 20), "uram": (30, 40), "ram_clock": (0, 5),
             "dsp": (0, 7), "glitches": (1, 2), "regulators": (1, 2), "rest": (19, 41), "port": (0, 7)}
WATT = 4000  # pJ a clock, at 250 MHz


def net(name, high, toggles, of=100):
    return f"   ({name} (T0 {of - high}) (T1 {high}) (TZ 0) (TX 0) (TB 0) (TC {toggles}))\n"


def number(name, value):
    return "".join(net(rf"{name}\[{bit}\]", 100 * (value >> bit & 1), value >> bit & 1) for bit in range(32))


def ram(name, width, depth, ultra, writes, reads):
    nets = number("Width", width) + number("Depth", depth) + net("Ultra", 100 * ultra, int(ultra))
    nets += net("we_i", writes, 2) + net("re_i", reads, 2) + "".join(net(rf"rdata_o\[{n}\]", 50, 3) for n in range(width))
    return f"  (INSTANCE {name}\n   (NET\n{nets}   )\n  )\n"


def saif(*scopes, nets=""):
    return ('// Generated\n(SAIFILE\n(SAIFVERSION "2.0")\n(DIRECTION "backward")\n(DIVIDER / )\n(TIMESCALE 1ps)\n(DURATION 100)\n'
            f" (INSTANCE top\n  (NET\n{nets}  )\n{''.join(scopes)} )\n)\n")


@pytest.fixture
def constants(monkeypatch):
    monkeypatch.setattr(power, "CONSTANTS", {name: {"range": pair} for name, pair in CONSTANTS.items()})


def test_reads_registers_and_rams(tmp_path):
    path = tmp_path / "hand.saif"
    nets = net("clk_i", 0, 0) + net("some_q", 50, 100) + net(r"bus_q\[0\]", 50, 25) + net(r"bus_q\[1\]", 100, 1)
    nets += net(r"pipe_q[1]\[0\]", 1, 2) + net("wire", 50, 99) + net("some_q_i", 50, 99) + net(r"mem_q[3]\[0\]", 50, 99)
    path.write_text(saif(ram("u_block", 72, 512, False, 25, 50), ram("u_small", 4, 16, False, 100, 100),
                         ram("u_ultra", 512, 4096, True, 0, 10), nets=nets))
    found = activity(path)
    # some_q, two of bus_q, pipe_q; the four of the small RAM's output.
    assert (found.clocks, found.bits, found.toggles) == (100, 4 + 4, 100 + 25 + 0 + 2 + 4 * 3)
    assert found.rams == [Ram(72, 512, False, 0.75), Ram(512, 4096, True, 0.1)]


@pytest.mark.parametrize("text", ["", "nonsense\n", saif(), saif(nets=net("wire", 1, 1))])
def test_refuses_what_has_no_toggles(tmp_path, text):
    path = tmp_path / "empty.saif"
    path.write_text(text)
    with pytest.raises(SystemExit, match="no registers"):
        activity(path)


@pytest.mark.parametrize("width, depth, ultra, kind, across", [
    (72, 512, False, "bram", 1), (73, 512, False, "bram", 2), (72, 513, False, "bram", 2), (512, 2048, False, "bram", 29),
    (8, 64, False, "bram", 1), (8, 63, False, "lutram", 1), (72, 9000, True, "uram", 1), (512, 64, True, "uram", 8)])
def test_blocks_of_a_ram(width, depth, ultra, kind, across):
    assert Ram(width, depth, ultra, 1).kind == kind
    if kind != "lutram":
        assert Ram(width, depth, ultra, 1).across() == across


def test_parts_by_hand(constants):
    found = Activity(100, bits=200, toggles=2000, rams=[Ram(36, 512, False, 0.5), Ram(144, 4096, True, 2)])
    assert found.rate() == 0.1  # 20 toggles a clock in the RTL, 10 in the netlist
    told = parts(found, SIZE, 40, 0.5, 250)
    by_hand = {
        "external memory": (40 * 50, 40 * 100),
        "block RAM": (0.5 * 0.5 * 10, 2 * 0.5 * 1 * 20),
        "UltraRAM": (2 * 2 * 30, 2 * 2 * 2 * 40),
        "registers' toggles": (10 * 1, 2 * 20 * 2),
        "clock": (100 * 3, 2 * (100 * 4 + 2 * 5)),
        "LUTs": (1000 * 0.1 * 1, 2 * 1000 * 0.1 * 2 * 2),
        "DSPs": (0, 2 * 4 * 0.5 * 7),
    }
    for part, pair in by_hand.items():
        assert told[part] == pytest.approx([end / WATT for end in pair]), part
    assert told["network port"] == (0, 7) and told["board at rest"] == (19, 41)
    assert set(told) == {*by_hand, "network port", "board at rest"}


def test_idle_has_clock_and_rest(constants):
    told = parts(Activity(100, bits=200), SIZE, 0, 0, 250)
    assert {part for part, (_, high) in told.items() if high} == {"clock", "network port", "board at rest"}


def test_ranges():
    assert scaled((2, 3), 10) == (20, 30) and scaled((2, 3), (1, 2), 5) == (10, 30)
    assert sums([(1, 2), (10, 20)]) == (11, 22)
    assert [shown(pair) for pair in ((0, 0), (1.234, 12.34), (123.4, 1234))] == ["0.00", "1.23 to 12.3", "123 to 1,234"]


def test_constants_are_ranges_with_sources():
    for name, constant in power.CONSTANTS.items():
        low, high = constant["range"]
        assert 0 <= low < high and constant["unit"] and len(constant["source"]) > 30, name


def test_area(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("| card | 163,079 | 11,923 | 116,659 | 328.5 | 365 | 60 | 14 | 7.48 |\n")
    by_page = {"lut": 163079, "ff": 116659, "bram": 328.5, "uram": 365, "dsp": 60}
    assert area(tmp_path / "none.json", page) == (by_page, page)
    report = tmp_path / "synth.json"
    report.write_text(json.dumps({**SIZE, "top": "card"}))
    assert area(report, page) == (SIZE, report)
    page.write_text("")
    with pytest.raises(SystemExit):
        area(tmp_path / "none.json", page)


def bench(folder, name, memory=[{"read": 6400, "written": 0}, {"read": 0, "written": 64000}]):
    row = {"name": name, "op_per_clock": 0.5, "mops": 125.0, "ops": 50, "clocks": 100, "memory_bytes": memory,
           "wire_bytes_in_per_op": 50.0, "wire_bytes_out_per_op": 100.0, "counters": {"NetRxFrames": 5, "NetTxFrames": 4}}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"clock_mhz": 250.0, "scenarios": [row]}))
    return path


def test_program_prints_sums(tmp_path, monkeypatch, capsys, constants):
    for constant in power.CONSTANTS.values():
        constant.update(unit="u", source="s")
    (tmp_path / "synth.json").write_text(json.dumps(SIZE))
    bench(tmp_path, "some")
    (tmp_path / "some.saif").write_text(saif(nets=net("some_q", 50, 50)))
    (tmp_path / "some-idle.saif").write_text(saif(nets=net("some_q", 0, 0)))
    monkeypatch.setattr(sys, "argv", ["power.py", "some", "--folder", str(tmp_path), "--area", str(tmp_path / "synth.json")])
    power.main()
    said = capsys.readouterr().out
    assert "some: 100 clocks, 704.0 bytes of memory a clock, 1 bits of registers, of which 50.00 % toggle" in said
    # pJ a clock, low: memory 704 x 50, the register's toggles 0.5, clock 300, LUTs 500. High: 70,400, 50 x 2 x 2 for as many
    # registers as the netlist has, 820, 4,000, DSPs 28. A clock is half a request.
    low, high = 36_000.5 / WATT, 75_448 / WATT
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("| some |")]
    assert rows == [
        ["some", "the board", shown((low + 19, high + 48)), "125.0", shown((8 * (low + 19), 8 * (high + 48))),
         shown((125 / (high + 48), 125 / (low + 19)))],
        ["some", "above the board at rest", "9.00 to 18.9", "125.0", "72.0 to 151", "6.63 to 13.9"]]
    idle = next(line for line in said.splitlines() if line.startswith("| some-idle | above"))
    assert f"{300 / WATT:.2f} to" in idle and idle.endswith("|  |  |  |")


def test_program_says_what_is_missing(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="make power"):
        power.load(tmp_path, "some")
    bench(tmp_path, "some", memory=None)
    (tmp_path / "some.saif").write_text(saif(nets=net("some_q", 50, 50)))
    with pytest.raises(SystemExit, match="memory"):
        power.load(tmp_path, "some")


@pytest.mark.parametrize("mpackets, least, limit", [
    (0.5, 5, "packets"),  # 10 operations in a frame of the direction with more of them
    (2, 12.5, "Gb/s"),  # 10 Gb/s of 800 bits
    (100, 12.5, "Gb/s")])
def test_dollars_by_hand(tmp_path, mpackets, least, limit):
    row = json.loads(bench(tmp_path, "some").read_text())["scenarios"][0]
    instance = {"cards": 2, "gbps": 10, "price": 2}
    assert dollars.limits(row, instance, mpackets) == {"card": 250, "Gb/s": 12.5, "packets": 10 * mpackets}
    assert dollars.cell(row, instance, mpackets) == f"{least / 2:.2f} ({limit})"
    assert dollars.cell(row, {**instance, "gbps": 1000}, 1000) == "125.00 (card)"


def test_dollars_program(tmp_path, monkeypatch, capsys):
    report = bench(tmp_path, "some")
    monkeypatch.setattr(sys, "argv", ["dollars.py", str(report), "--scenario", "some", "--packets", "0.1"])
    dollars.main()
    said = capsys.readouterr().out
    assert "| 0.1 | 0.51 (packets) | 0.25 (packets) | 0.06 (packets) |" in said
    assert "| 11.2 | 1.65 | 6.79 |" in said
    monkeypatch.setattr(sys, "argv", ["dollars.py", str(report)])
    with pytest.raises(SystemExit, match="no scenario tcp-mixed"):
        dollars.main()


def test_toggles_of_a_model(tmp_path):
    """What toggles in each clock counts as such, whatever Verilator has made of it."""
    model = program("power", "saif_tb", ["rtl/lib/lib.f", "tb/synth/saif_tb.sv"], "tb/synth/saif_sim.cpp",
                    "--prefix", "Vsaif_tb", "--trace-saif")
    path = tmp_path / "model.saif"
    subprocess.run([str(model), str(path), "1000"], check=True)
    found = activity(path)
    # every_q, fourth_q, never_q, count_q and the small RAM's output.
    assert (found.clocks, found.bits) == (1000, 1 + 2 + 1 + 2 + 8)
    assert found.toggles == pytest.approx(1000 + 2 * 500 + 0 + (1000 + 500), abs=6)
    block, ultra = sorted(found.rams, key=lambda ram: ram.ultra)
    assert (block.width, block.depth, block.kind) == (72, 512, "bram") and block.accesses == pytest.approx(1.5, abs=0.01)
    assert (ultra.width, ultra.depth, ultra.kind) == (72, 4096, "uram") and ultra.accesses == pytest.approx(0.25, abs=0.01)
