"""line_cache alone, so small that every line is fetched again and again and its set renewed: who has
acquired a line keeps its slot, alone, and reads what was written or what memory said last, or that it
could not, or that it is known to be bad. A hint only has a line fetched."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from harness.clock import start
from harness.models import run

CLASSES, LINES, MOST = 2, 8, 6


@cocotb.test()
async def pinned(dut):
    for name in ("base_i", "acq_valid_i", "acq_line_i", "acq_fresh_i", "acq_hint_i", "rel_i", "rd_en_i", "rd_slot_i",
                 "wr_valid_i", "wr_slot_i", "wr_line_i", "wr_data_i", "wr_strb_i", "mem_wr_done_i", "mem_rdat_valid_i",
                 "mem_rdat_i", "mem_rdat_bad_i", "mem_wr_bad_i", "bad_i"):  # fmt: skip
        getattr(dut, name).value = 0
    dut.rsp_ready_i.value = 2**CLASSES - 1
    dut.mem_wr_ready_i.value = dut.mem_rd_ready_i.value = dut.go_i.value = 1
    await start(dut)
    rng = random.Random(random.getrandbits(32))
    asked = [deque() for _ in range(CLASSES)]  # lines
    held = [deque() for _ in range(CLASSES)]  # lines and their slots
    reads = deque()  # lines that memory is asked for
    said, bad = {}, {}  # by line: what memory answered last
    offer, answer, looked = [None] * CLASSES, None, None  # offers: line, and whether it is a hint
    slot_bits = len(dut.rd_slot_i)  # one read port
    hints = dut.HintWays.value.to_unsigned() != 0
    hinted = set()  # lines that a hint had fetched, and nobody has asked for since
    fetched = served = written = open_writes = ahead = known = 0
    for clock in range(30_000):
        # Phases: one class holds its lines for long, both hurry, both hold.
        patience = [[(0.02, 0.5), (0.5, 0.5), (0.05, 0.05)][clock // 500 % 3][c] for c in range(CLASSES)]
        rel = [int(bool(h) and rng.random() < p) for h, p in zip(held, patience)]
        for c in range(CLASSES):
            if offer[c] is None and len(asked[c]) + len(held[c]) < MOST and rng.random() < 0.7:
                offer[c] = rng.randrange(LINES), hints and rng.random() < 0.3
        # Memory answers now and then, or all that is outstanding in a row.
        if answer is None and reads and rng.random() < (0.4, 0.05, 1)[clock // 16 % 3]:
            is_bad = rng.random() < 0.2
            answer = (reads[0], 0 if is_bad else rng.getrandbits(512), is_bad)
        # A slot that is held, and not given back now.
        readable = [entry for c in range(CLASSES) for entry in list(held[c])[rel[c] :]]
        look = rng.choice(readable) if readable else None
        # Memory is slow to acknowledge at times, then nothing is let go.
        put = (*rng.choice(readable), rng.getrandbits(512)) if readable and rng.random() < 0.15 else None
        done = open_writes and rng.random() < (0.5, 0.15)[clock // 2000 % 2]
        dut.acq_valid_i.value = sum((o is not None) << c for c, o in enumerate(offer))
        dut.acq_line_i.value = sum((o[0] if o else 0) << 26 * c for c, o in enumerate(offer))
        dut.acq_hint_i.value = sum((o[1] if o else 0) << c for c, o in enumerate(offer))
        dut.rel_i.value = sum(n << 4 * c for c, n in enumerate(rel))
        dut.rd_en_i.value, dut.rd_slot_i.value = int(look is not None), look[1] if look else 0
        dut.wr_valid_i.value, dut.wr_strb_i.value = int(put is not None), 2**64 - 1
        if put:
            dut.wr_line_i.value, dut.wr_slot_i.value, dut.wr_data_i.value = put
        dut.mem_wr_done_i.value = int(done)
        # Each order is kept back for a while, and is for a line that is known to be bad, or not.
        knows = rng.random() < 0.1
        dut.go_i.value, dut.bad_i.value = int(rng.random() < 0.5), int(knows)
        dut.mem_rdat_valid_i.value = int(answer is not None)
        if answer:
            dut.mem_rdat_i.value, dut.mem_rdat_bad_i.value = answer[1], int(answer[2])
        await RisingEdge(dut.clk_i)
        if looked is not None:
            line, is_bad, data = looked
            assert dut.rd_bad_o.value == is_bad, f"line {line}"
            assert int(dut.rd_data_o.value) == data, f"line {line}"
        looked = look and (look[0], bad[look[0]], said[look[0]])
        open_writes -= done
        if put and dut.wr_ready_o.value:
            said[put[0]], bad[put[0]] = put[2], False
            open_writes += 1
            written += 1
        for c in range(CLASSES):
            for _ in range(rel[c]):
                held[c].popleft()
            if dut.rsp_valid_o.value.to_unsigned() >> c & 1:
                slot = dut.rsp_slot_o.value.to_unsigned() >> slot_bits * c & 2**slot_bits - 1
                held[c].append((asked[c].popleft(), slot))
                served += 1
            if offer[c] is not None and dut.acq_ready_o.value.to_unsigned() >> c & 1:
                line, hint = offer[c]
                if not hint:
                    asked[c].append(line)
                    ahead += line in hinted
                    hinted.discard(line)
                offer[c] = None
        slots = {}
        for line, slot in (entry for h in held for entry in h):
            assert slots.setdefault(slot, line) == line, f"lines {slots[slot]} and {line} in slot {slot}"
        assert len(set(slots.values())) == len(slots), "a line in two slots"
        if answer:
            said[answer[0]], bad[answer[0]] = answer[1:]
            reads.popleft()
            answer = None
        if dut.gone_o.value and knows:
            assert not reads
            line = dut.ask_line_o.value.to_unsigned()
            said[line], bad[line] = 0, True
            known += 1
        if dut.mem_rd_valid_o.value:
            reads.append(dut.mem_rd_addr_o.value.to_unsigned())
            fetched += 1
            if all(reads[-1] not in a for a in asked):
                hinted.add(reads[-1])
    enough = 2000 if dut.Avoid.value.to_unsigned() else 3000  # a way each: they wait more
    assert fetched > 1000 and known > 50 and served > enough and written > 1000, (fetched, served, written)
    assert ahead > 50 if hints else ahead == 0, ahead
    # Everything comes back, and it is idle.
    dut.acq_valid_i.value = dut.rd_en_i.value = dut.wr_valid_i.value = dut.bad_i.value = 0
    dut.go_i.value = 1
    for clock in range(300):
        rel = [int(bool(h)) for h in held]
        dut.rel_i.value = sum(n << 4 * c for c, n in enumerate(rel))
        dut.mem_rdat_valid_i.value = int(clock % 8 == 0 and bool(reads))
        dut.mem_wr_done_i.value = int(open_writes > 0)
        await RisingEdge(dut.clk_i)
        assert not (dut.idle_o.value and (reads or open_writes or any(held) or any(asked)))
        open_writes -= open_writes > 0
        if clock % 8 == 0 and reads:
            reads.popleft()
        for c in range(CLASSES):
            for _ in range(rel[c]):
                held[c].popleft()
            if dut.rsp_valid_o.value.to_unsigned() >> c & 1:
                held[c].append(asked[c].popleft())
        if dut.mem_rd_valid_o.value:
            reads.append(None)
    assert dut.idle_o.value
    if hints:
        await dropped(dut)


async def dropped(dut):
    """A hint that finds each way pinned is forgotten; one that is fetched keeps the cache from being idle."""
    edge = RisingEdge(dut.clk_i)
    dut.mem_wr_done_i.value = dut.mem_rdat_valid_i.value = 0

    async def offer(line, hint):
        dut.acq_valid_i.value, dut.acq_line_i.value, dut.acq_hint_i.value = 1, line, hint
        await edge
        while not dut.acq_ready_o.value.to_unsigned() & 1:
            await edge
        dut.acq_valid_i.value = 0

    async def reads(clocks):
        """The lines that memory is asked for meanwhile; it answers in the last clock."""
        lines = []
        for _ in range(clocks):
            await edge
            if dut.mem_rd_valid_o.value:
                lines.append(dut.mem_rd_addr_o.value.to_unsigned())
            assert not (lines and dut.idle_o.value)
        for _ in lines:
            dut.mem_rdat_valid_i.value = 1
            await edge
            dut.mem_rdat_valid_i.value = 0
        return lines

    base = 100  # lines that nobody has asked for; those that are even share a set
    for line in (base, base + 2):
        await offer(line, 0)
    await offer(base + 4, 1)
    assert await reads(20) == [base, base + 2]
    assert await reads(20) == []
    dut.rel_i.value = 2
    await edge
    dut.rel_i.value = 0
    assert await reads(40) == []
    await offer(base + 4, 1)
    assert await reads(20) == [base + 4]
    assert await reads(20) == [] and dut.idle_o.value


@pytest.mark.parametrize("spread, split", ((0, 0), (1, 0), (0, 1)))
def test_line_cache(spread, split):
    run(__file__, "line_cache", ["rtl/lib/lib.f", "rtl/store/store.f"], Sets=2, Ways=2, Reads=1, RenewEvery=4,
        Spread=spread, Split=split)


def test_line_cache_moves():
    """Each class has one way, and takes lines of the other along into its own."""
    run(__file__, "line_cache", ["rtl/lib/lib.f", "rtl/store/store.f"], Sets=2, Ways=2, Reads=1, RenewEvery=4,
        OwnWays=0b1001, Avoid=0b0110)


@pytest.mark.parametrize("split", (0, 1))
def test_line_cache_hints(split):
    run(__file__, "line_cache", ["rtl/lib/lib.f", "rtl/store/store.f"], Sets=2, Ways=2, Reads=1, RenewEvery=4,
        Split=split, HintWays=0b01)
