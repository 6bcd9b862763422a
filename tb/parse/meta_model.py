"""memcached's meta commands as a list of what the store must do, and random ones: the reference of the tests."""

import random
from base64 import b64encode

from parse.text_model import KEY_MAX, Text, number, s32, when

WORDS = 19
OPAQUE = 31
COMMANDS = b"mg", b"ms", b"md", b"ma"
#: By command, flags that the card refuses.
REFUSED = {b"mg": b"hl"}
SHOWN = {b"mg": b"kOstcf", b"ms": b"kOsc", b"md": b"kO", b"ma": b"kOtc"}
MODES = {b"": "OpSet", b"S": "OpSet", b"E": "OpAdd", b"A": "OpAppend", b"P": "OpPrepend", b"R": "OpReplace"}
SUMS = {b"": b"incr", b"I": b"incr", b"+": b"incr", b"D": b"decr", b"-": b"decr"}
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BAD = {"b": "RpBadKey", **dict.fromkeys("NTRCE", "RpBadToken"), "M": "RpBadModeLen", "J": "RpBadInitial", "D": "RpBadMetaDelta"}


class Fault(Exception):
    pass


def decoded(text):
    """A key in base64 as memcached reads it; None: it is none."""
    letters = bytes(c for c in text if c in LETTERS + b"=")
    key = b""
    for at in range(0, len(letters), 4):
        four = letters[at : at + 4]
        pads = four.count(b"=")
        if len(letters) % 4 or pads > 2:
            return None
        bits = 0
        for letter in four:
            bits = bits << 6 | max(LETTERS.find(letter), 0)
        key += bits.to_bytes(3, "big")[: 3 - pads]
        if pads:
            break
    return key or None


class Meta(Text):
    def line(self, line, rest):
        words = [w for w in line.split(b" ") if w]
        if words[:1] == [b"mn"]:
            return [("reply", "RpMetaNoop")], 0
        if words[:1] and words[0] in COMMANDS:
            return self.meta(words, rest)
        return super().line(line, rest)

    def meta(self, words, rest):
        cmd, stores = words[0], words[0] == b"ms"

        def reply(name):
            return [("reply", name)], 0

        if len(words) < 2:
            return reply("RpError")
        key, length = words[1], 0
        if len(key) > KEY_MAX or stores and len(words) == 2:
            return reply("RpBadFormat")
        if len(words) > WORDS:
            return reply("RpManyGetFlags" if cmd == b"mg" else "RpManyFlags")
        if stores:
            length = number(words[2], True)
            if length is None or not 0 <= s32(length) <= 2147483645:
                return reply("RpBadFormat")
            length = s32(length)
        try:
            flags = self.flags(cmd, key, words[3 if stores else 2 :])
        except Fault as fault:
            name = fault.args[0]
            if cmd in (b"md", b"ma") and name not in ("RpBadSumMode", "RpLongOpaque"):
                name = "RpInvalidOrDuplicate"
            return reply(name)[0], min(length + 2, len(rest)) if stores else 0
        return self.does(cmd, decoded(key) if "b" in flags else key, length, flags, rest)

    def flags(self, cmd, key, words):
        """By letter what is behind it, in their order."""
        flags, reason, bad = {}, "RpBadFormat", False
        for word in words:
            letter, behind = chr(word[0]), word[1:]
            if word[0] >= 127 or letter in flags:
                raise Fault("RpDuplicate")
            if letter not in "bNTRlhOPLkstcfvuqxIFCEMJD" or word[0] in REFUSED.get(cmd, b""):
                raise Fault("RpInvalid")
            flags[letter] = behind
            if letter in "NTRFCEJD":
                flags[letter] = number(behind, letter in "NTR")
            if letter == "b":
                flags[letter] = decoded(key)
            if flags[letter] is None or letter == "M" and len(behind) != 1:
                bad, reason = True, BAD.get(letter, reason)
        mode = flags.get("M", b"")
        if bad:
            raise Fault(reason)
        if cmd == b"ms" and mode not in MODES:
            raise Fault("RpBadSetMode")
        if cmd == b"ma" and mode not in SUMS:
            raise Fault("RpBadSumMode")
        if len(flags.get("O", b"")) > OPAQUE:
            raise Fault("RpLongOpaque")
        return flags

    def does(self, cmd, key, length, flags, rest):
        quiet, mode = "q" in flags, flags.get("M", b"")
        time = flags.get("T", 0)
        grows = cmd == b"ms" and mode in (b"A", b"P")
        last = next((f for f in reversed(flags) if f in "TN"), "")
        if "N" in flags and (grows or cmd == b"ma" and last == "N"):
            time = flags["N"]
        time = when(time, self.now)
        before = list(flags)[: list(flags).index("t")] if "t" in flags and cmd in (b"mg", b"ma") else []
        does = {}
        if cmd == b"mg" and "N" in flags:
            does |= {"vivifies": when(flags["N"], self.now), "n_last": last == "N"}
        if cmd == b"mg" and "R" in flags:
            order = list(flags)
            does |= {"recaches": when(flags["R"], self.now), "r_late": "T" in order[: order.index("R")]}
        if cmd in (b"ms", b"md") and "I" in flags:
            does["stale"] = True
        if "b" in flags:
            does["coded"] = True
            if set(key) & {0, 10, 32}:
                does["unfit"] = True
        if flags.get("E", 0) or ("E" in flags and cmd != b"ms"):
            does["chosen"] = flags["E"]
        if cmd == b"md":
            does["expiry"] = time
            if "x" in flags:
                does |= {"voids": True, "flags": flags.get("F", 0) & 0xFFFFFFFF}
        shown = [f for f in flags if f in SHOWN[cmd].decode()]
        more = (quiet, cmd == b"mg", "v" in flags and cmd in (b"mg", b"ma"), "T" in before,
                "N" in before, cmd in (b"ma", b"md") and "T" in flags,
                (cmd == b"mg" and "T" in flags) or ("N" in flags and (grows or cmd == b"ma")) or
                (cmd == b"md" and "C" in flags),
                "".join(shown), flags.get("O", b""), does)
        unique = flags.get("C", 0)
        if cmd == b"mg":
            return [("get", key, False, time if "T" in flags else None, more)], 0
        if cmd == b"md":
            return [("delete", key, quiet, unique, more)], 0
        if cmd == b"ma":
            return [("delta", SUMS[mode], key, flags.get("D", 1), quiet, flags.get("J", 0), unique, time,
                     "N" in flags, more)], 0
        client = flags.get("F", 0) & 0xFFFFFFFF
        if len(key) + length + (4 if client else 0) + 59 > self.item_max:
            return [("toobig", key, False)], min(length + 2, len(rest))
        if len(rest) < length + 2:
            return [], None
        if rest[length : length + 2] != b"\r\n":
            return [("reply", "RpBadChunk")], length + 2
        op = MODES[mode]
        if "C" in flags and op in ("OpSet", "OpReplace"):
            op = "OpCas"
        return [("store", op, key, client, time, rest[:length], quiet, unique, more)], length + 2


# ---------------------------------------------------------------- random commands

TIMES = b"0", b"-1", b"100", b"2592000", b"2592001", b"2147483647", b"+7"
ODD = (b"ZZ", b"c c", b"\xff", b"S5", b"F", b"Fx", b"T", b"Tx", b"MX", b"MEE", b"M", b"b", b"b b", b"by Tx", b"O" + b"o" * 32, b"Cx", b"C",
       b"q F", b"k F Tx", b"Tx F", b"MX O" + b"o" * 40, b"J", b"Dx", b"N", b"Rx", b"ME MR", b"I C5", b"x" * 70,
       b"O" + b"o" * 300, b" ".join(b"%c" % c for c in b"kOstcfvuqPLFCMJDTN"), b"noreply", b"M" + b"E" * 300,
       b" ".join(b"%c" % c for c in b"abcdefghijklmnopqrstuvwx"))


def a_coded(key, broken):
    """The key in base64, if that is not too long."""
    text = b64encode(key)
    if broken and random.random() < 0.3:
        at, more = random.randrange(len(text)), random.choice((b"!", b"=", b"\xff", b"==", b"A", b"=BCD", b"AAAA"))
        text = random.choice((text[:at] + more + text[at:], text[:at] + text[at + 1 :], text + more, b"=" + text[1:]))
    return text if text and len(text) <= KEY_MAX else key


def a_meta(a_key, broken=True, values=300, plain=0.4):
    cmd = random.choice((b"mg", b"mg", b"ms", b"ms", b"md", b"ma"))
    if random.random() < 0.03:
        return b"mn\r\n"
    value, words = b"", [cmd, a_key(0.05 if broken else 0)]
    if cmd == b"ms":
        n = random.choice((0, 1, random.randrange(200), random.randrange(values), 63, 64, 65))
        value = random.choice((bytes(random.choices(b"\r\n mgs", k=n)), random.randbytes(n)))
        value += b"\r\n" if not broken or random.random() > 0.05 else b"!\n"
        words.append(b"%d" % n)
        if broken and random.random() < 0.05:
            words[2] = random.choice((b"-1", b"x", b"2147483646", b"1048570", b"4294967296", b"+5", b""))
    number = lambda: b"%d" % random.getrandbits(random.choice((1, 10, 32, 63)))
    flags = {b"v": b"", b"k": b"", b"s": b"", b"t": b"", b"c": b"", b"f": b"", b"q": b"", b"u": b"",
             b"I": b"", b"x": b"", b"R": random.choice(TIMES), b"E": number(),
             b"O": random.choice((b"", b"abc", b"0123456789" * 3 + b"x")), b"F": number(), b"C": number(),
             b"T": random.choice(TIMES), b"D": number(), b"J": number(), b"N": random.choice(TIMES),
             b"M": random.choice(b"ID+-".decode() if cmd == b"ma" else "SEAPR").encode()}
    coded = random.random() < 0.3 and (broken or len(words[1]) <= KEY_MAX // 4 * 3)
    if coded:
        words[1] = a_coded(words[1], broken)
    if coded:
        some = [b"b"] + random.sample(sorted(flags), random.randrange(6))
        random.shuffle(some)
        words += [flag + flags.get(flag, b"") for flag in some]
    elif cmd == b"mg" and random.random() < plain:
        words += random.choice(([b"v"], []))
    elif random.random() > plain:
        some = random.sample(sorted(flags), random.randrange(1, 9))
        words += [flag + flags[flag] for flag in some]
        if broken and random.random() < 0.25:
            words.insert(random.randrange(3, len(words) + 1), random.choice(ODD))
    gap = lambda: b" " * (random.choice((1, 1, 1, 1, 2, 3)) if broken else 1)
    end = random.choice((b"\n", b" \r\n", b"\r\n", b"\r\n")) if broken else b"\r\n"
    return words[0] + b"".join(gap() + w for w in words[1:]) + end + value


#: By command, flags at a glance; `#` is a number, `?` a token.
USUAL = {b"mg": "k O? s t c f v q u T#", b"ms": "k O? s c q T# I F#", b"md": "k O? q I T#", b"ma": "k O? t c v q T# D# MI M+ MD M-"}


def a_usual(room=64, key=None):
    """A command with some of its usual flags, in any order, in a line of up to `room` bytes."""
    cmd = random.choice(list(USUAL))
    value = random.randbytes(random.choice((0, 1, 9, 10, 99, 100, 300))) if cmd == b"ms" else None
    flags = {word[0]: word for word in random.sample(USUAL[cmd].split(), len(USUAL[cmd].split()))}
    words = [cmd, key or bytes(random.choices(b"abkOstcfvqTI0", k=random.choice((1, 2, 5, 16, 30, 45)))),
             *([b"%d" % len(value)] if value is not None else [])]
    for word in random.sample(list(flags.values()), random.randrange(1, len(flags) + 1)):
        told = word.encode().replace(b"#", b"%d" % random.choice((0, 1, 7, 60, 2_592_000, 2_592_001, 999_999_999)))
        told = told.replace(b"?", bytes(random.choices(range(0x21, 0x7F), k=random.choice((0, 1, 8, 30, 31)))))
        if len(b" ".join(words)) + len(told) + 3 <= room:
            words.append(told)
    return b" ".join(words) + b"\r\n" + (value + b"\r\n" if value is not None else b"")


def nearly_usual():
    """Something is odd in its first line."""
    line, rest = a_usual(random.choice((64, 90))).split(b"\r\n", 1)
    words = line.split(b" ")
    at = random.randrange(min(2, len(words) - 1), len(words))
    word = words[at]
    words[at : at + 1] = random.choice((
        [word, word], [word + b"x"], [word, b""], [b"", word], [word[:1]], [word[:1] + b"-5"], [word[:1] + b"+5"],
        [word[:1] + b"0000000007"], [word[:1] + b"4294967296"], [word, b"O" + b"o" * random.choice((31, 32, 33))], [word, b"Oa\x80"],
        [word, b"O\r"], [word, b"O\0"], [word, b"x"], [word, b"b"], [word, b"MX"], [word, b"C5"], [word, b"N30"], [word, b"E9"],
        [word, b"h"], [word, b"T"], [word, b"F"], [word, b"R1"], [word], [word]))
    return b" ".join(words) + random.choice((b"\r\n", b"\n", b" \r\n")) + rest
