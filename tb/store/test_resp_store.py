"""What Redis' protocol asks of the store beside text: signed numbers that count from 0, lengths in place of values,
values appended to nothing."""

import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from store_bench import T  # noqa: E402
from test_binary import Raw  # noqa: E402

INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
LOW, HIGH = -(1 << 63), (1 << 63) - 1
TEXTS = [b"0", b"1", b"-1", b"9", b"10", b"-10", b"99", b"-100", b"%d" % HIGH, b"%d" % LOW, b"%d" % (HIGH + 1), b"%d" % (LOW - 1),
         b"%d" % ((1 << 64) - 1), b"1" + b"0" * 20, b"-" + b"9" * 19, b"00", b"01", b"-0", b"-01", b"+1", b" 1", b"1 ", b"1\0", b"",
         b"-", b"--1", b"1-", b"x", b"1x", b"1.0", b"7" * 64, b"7" * 65]  # fmt: skip


class Redis(Raw):
    def do(self, op, key, form="RfStatus", **fields):
        self.seen.clear()
        self.bad = False
        named = {} if key is None else {"_key": key}
        self.job([{"op": op, **named, "resp": {"is": 1, "form": getattr(T, form)}, **fields}])
        self.idle()
        assert len(self.seen) == 1 and self.seen[0]["resp"]["is"], self.seen
        return self.seen[0]

    def says(self, reply, *args, **fields):
        res = self.do(*args, **fields)
        assert res["kind"] == T.RsReply and res["reply"] == getattr(T, reply), (res, reply)

    def tells(self, number, *args, **fields):
        res = self.do(*args, **fields)
        assert res["kind"] == T.RsNumber, res
        assert (-res["num"] if res["negative"] else res["num"]) == number, (res, number)

    def value(self, value, key):
        res = self.do(T.OpGet, key, "RfBulk")
        assert res["kind"] == T.RsValue and res["value"] == value, res


def test_sums(small):
    bench = Redis(small, random.choice((0, 0.3)), random.choice((0, 0.3)))
    for text in TEXTS + [b"%d" % random.randint(LOW, HIGH) for _ in range(8)]:
        for by in (1, -1, 0, HIGH, LOW, random.randint(LOW, HIGH)):
            key, op = random.choice((b"n", b"n" * 70)), random.choice((T.OpIncr, T.OpDecr))
            if op == T.OpDecr and by == LOW:
                continue
            total = (-by if op == T.OpDecr else by) + (int(text) if INTEGER.fullmatch(text) else 0)
            bench.says("RpStored", T.OpSet, key, _value=text, flags=5)
            number = {"num": by & ((1 << 64) - 1)}
            if not INTEGER.fullmatch(text) or not LOW <= int(text) <= HIGH:
                bench.says("RpNonNumeric", op, key, "RfInteger", **number)
                bench.value(text, key)
            elif not LOW <= total <= HIGH:
                bench.says("RpOverflow", op, key, "RfInteger", **number)
                bench.value(text, key)
            else:
                bench.tells(total, op, key, "RfInteger", **number)
                bench.value(b"%d" % total, key)


def test_append_too_much(small):
    """Bytes that fit by themselves, but not behind those that are there."""
    bench = Redis(small)
    most = 4000
    bench.limit(most)
    bench.tells(5, T.OpAppend, b"k", "RfLength", _value=b"abcde")
    bench.says("RpTooLarge", T.OpAppend, b"k", "RfLength", _value=bytes(most - 62))
    bench.value(b"abcde", b"k")
    bench.tells(9, T.OpAppend, b"k", "RfLength", _value=b"four")


def test_from_nothing(small):
    bench = Redis(small)
    for n, key in enumerate((b"k", random.randbytes(64), random.randbytes(250))):
        for op, sign in ((T.OpIncr, 1), (T.OpDecr, -1)):
            if n:
                bench.says("RpStored", T.OpSet, key, _value=b"41", expiry=bench.model.now + 1)
                bench.sleep(2)
            bench.tells(7 * sign, op, key, "RfInteger", num=7, hash=99)
            bench.value(b"%d" % (7 * sign), key)
            bench.says("RpDeleted", T.OpDelete, key, "RfInteger")
        bench.says("RpNotFound", T.OpGet, key, "RfBulk")
        bench.says("RpNotFound", T.OpGet, key, "RfLength")
        bench.says("RpNotFound", T.OpGet, key, "RfInteger")
        bench.tells(3, T.OpAppend, key, "RfLength", _value=b"abc")
        bench.tells(5, T.OpAppend, key, "RfLength", _value=b"de")
        bench.value(b"abcde", key)
        bench.tells(5, T.OpGet, key, "RfLength")
        bench.tells(1, T.OpGet, key, "RfInteger")
        bench.says("RpNotStored", T.OpAdd, key, "RfInteger", _value=b"x")
        bench.says("RpStored", T.OpReplace, key, _value=b"y" * 100)
        bench.tells(100, T.OpGet, key, "RfLength")
        bench.tells(12, T.OpReply, None, "RfArray", num=12)
    assert not bench.rkey.items
