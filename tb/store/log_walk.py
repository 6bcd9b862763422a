"""Reads the log as memory has it, by its headers: what stands between a place where an item or a gap begins, and the
head."""

from dataclasses import dataclass

from harness.structs import T


@dataclass
class Stands:
    """An item in the log."""
    lap: int
    pos: int
    head: dict
    chosen_no: int | None
    key: bytes
    value: bytes
    behind: tuple[int, int]  # where what follows begins: lap, position


class LogWalk:
    """`at`, lap and position, is where an item or a gap begins: at first, where the log does."""

    def __init__(self, bench):
        self.sim, self.size, self.at = bench.sim, bench.size, (1, 0)
        self.gaps = {"lap": 0, "line": 0, "more": 0}  # met so far: at a lap's end, shorter than a line, others

    def bytes(self, pos, count):
        """Of the log, from position `pos` on."""
        lines = range(pos // 4, (16 * pos + count + 63) // 64)
        return b"".join(map(self.sim.log_line, lines))[16 * (pos % 4) :][:count]

    def head(self):
        range_ = T.log_range_t.unpack(self.sim.range_o.get())
        return range_["lap"], range_["head"]

    def distance(self):
        """Units from here to the head, which is in this lap or in the next."""
        (lap, pos), (head_lap, head) = self.at, self.head()
        return head - pos + (self.size if head_lap != lap else 0)

    def walk(self):
        """The items from here to the head, which is met. Nothing is stored meanwhile."""
        lap, pos = self.at
        head = self.head()
        chosen_no = None
        while True:
            assert pos <= self.size
            if pos == self.size:
                lap, pos = lap + 1 + (lap % 256 == 255), 0
            if (lap, pos) == head:
                break
            assert (lap, pos) < head
            unit = self.bytes(pos, 16)
            word = int.from_bytes(unit, "little")
            h = T.head_t.unpack(word)
            if h["klen"] == 0 and h["vlen"] == T.MarkChosen:
                assert chosen_no is None and word & (1 << 64) - 1 == T.MarkChosen << 8 and pos % 4 != 3
                chosen_no = word >> 64
                pos += 1
                continue
            if h["klen"] == 0:
                units = h["flags"]
                assert chosen_no is None and units > 0, (lap, pos, h)
                assert h == {**dict.fromkeys(h, 0), "marks": h["marks"], "vlen": T.MarkGap, "flags": units,
                             "lap": lap % (1 << T.LapBits)}, (lap, pos, h)  # fmt: skip
                self.gaps["lap" if pos + units == self.size else "line" if units < 4 else "more"] += 1
                pos += units
                continue
            assert h["lap"] in (0, lap % (1 << T.LapBits)) and h["chosen"] == (chosen_no is not None), (lap, pos, h)
            whole = self.bytes(pos, 16 + h["klen"] + h["vlen"])
            begin, end = pos - h["chosen"], pos + -(-len(whole) // 16)
            if h["lines"]:
                assert begin % 4 == 0
                end += -end % 4
            yield Stands(lap, pos, h, chosen_no, whole[16 : 16 + h["klen"]], whole[16 + h["klen"] :], (lap, end))
            pos, chosen_no = end, None

    def leave(self, items, units):
        """Goes on behind items until the head is no more than so many units away."""
        for item in items:
            if self.distance() <= units:
                break
            self.at = item.behind
