"""memcached's text protocol as a list of what the store must do: the reference of the tests; and random commands."""

import random
import re

from harness.command_map import TEXT

NUMBER = re.compile(rb"[\t\v\f\r]*([+-]?)([0-9]+)(?:[\t\v\f\r].*)?", re.S)
KEY_MAX = 250


def number(word, signed):
    """The word's value, None if it is bad."""
    m = NUMBER.fullmatch(word)
    if not m:
        return None
    value = int(m[2])
    if signed:
        value = -value if m[1] == b"-" else value
        return value if -(1 << 63) <= value < 1 << 63 else None
    if value >= 1 << 64 or (m[1] == b"-" and value):
        return None
    return value


def s32(value):
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def when(value, now):
    """Absolute expiry time in milliseconds."""
    value = s32(value)
    if value <= 0:
        return -value and 1
    return 1000 * (now + value if value <= 2592000 else value)


STORES = {b"set": "OpSet", b"add": "OpAdd", b"replace": "OpReplace", b"cas": "OpCas",
          b"append": "OpAppend", b"prepend": "OpPrepend"}
HOST = {name for name, (cmd, _) in TEXT.items() if cmd == "CmdHost"}


class Text:
    """`run` returns the operations of a byte stream, `closed` tells that it ended with quit."""

    def __init__(self, item_max, now, udp=False):
        self.item_max, self.now, self.udp = item_max, now, udp

    def run(self, data):
        ops, at, self.closed = [], 0, False
        while not self.closed:
            end = data.find(b"\n", at)
            if end < 0:
                break
            line = data[at:end]
            if line.endswith(b"\r"):
                line = line[:-1]
            got, extra = self.line(line.split(b"\0")[0], data[end + 1 :])
            if extra is None:  # the data is not complete
                break
            ops += got
            at = end + 1 + extra
        return ops

    def line(self, line, rest):
        words = [w for w in line.split(b" ") if w]
        error = [("reply", "RpError")], 0
        if not words:
            return error
        cmd, n = words[0], len(words)
        noreply = words[-1] == b"noreply"

        def reply(name):
            return ([] if noreply else [("reply", name)]), 0

        if cmd in (b"get", b"gets", b"gat", b"gats", b"bget"):
            if n < 2:
                return error
            keys, exptime = words[1:], None
            if cmd.startswith(b"gat"):
                exptime, keys = number(words[1], True), words[2:]
                if exptime is None:
                    return [("reply", "RpBadExptime")], 0
                exptime = when(exptime, self.now)
            if any(len(k) > KEY_MAX for k in keys):
                return [("reply", "RpBadFormat")], 0
            return [("get", k, cmd.endswith(b"s"), exptime) for k in keys] + [("end",)], 0

        if cmd in STORES:
            if n - (cmd == b"cas") not in (5, 6):
                return error
            flags, exptime, length = number(words[2], False), number(words[3], True), \
                number(words[4], True)
            unique = number(words[5], False) if cmd == b"cas" else 0
            if len(words[1]) > KEY_MAX or None in (flags, exptime, length, unique):
                return reply("RpBadFormat")
            length = s32(length)
            if not 0 <= length <= 2147483645:
                return reply("RpBadFormat")
            if len(words[1]) + length + (4 if flags & 0xFFFFFFFF else 0) + 59 > self.item_max:
                if cmd == b"set":
                    ops = [("toobig", words[1], noreply)]
                else:
                    ops = reply("RpTooLarge")[0]
                return ops, min(length + 2, len(rest))
            if len(rest) < length + 2:
                return [], None
            if rest[length : length + 2] != b"\r\n":
                return reply("RpBadChunk")[0], length + 2
            return [("store", STORES[cmd], words[1], flags & 0xFFFFFFFF, when(exptime, self.now),
                     rest[:length], noreply, unique)], length + 2

        if cmd in (b"incr", b"decr"):
            if n not in (3, 4):
                return error
            if len(words[1]) > KEY_MAX:
                return reply("RpBadFormat")
            delta = number(words[2], False)
            if delta is None:
                return reply("RpBadDelta")
            return [("delta", cmd, words[1], delta, noreply)], 0

        if cmd == b"touch":
            if n not in (3, 4):
                return error
            if len(words[1]) > KEY_MAX:
                return reply("RpBadFormat")
            exptime = number(words[2], True)
            if exptime is None:
                return reply("RpBadExptime")
            return [("touch", words[1], when(exptime, self.now), noreply)], 0

        if cmd == b"delete":
            if n not in (2, 3, 4):
                return error
            zero = n > 2 and words[2] == b"0"
            noreply = noreply and n > 2
            if n == 3 and not (zero or noreply) or n == 4 and not (zero and noreply):
                return reply("RpBadDelete")
            if len(words[1]) > KEY_MAX:
                return reply("RpBadFormat")
            return [("delete", words[1], noreply)], 0

        if cmd == b"flush_all":
            if n > 3:
                return error
            exptime = 0
            if n != (2 if noreply else 1):
                exptime = number(words[1], True)
                if exptime is None:
                    return reply("RpBadExptime")
            return [("flush", 0 if s32(exptime) <= 0 else when(exptime, self.now), noreply)], 0

        if cmd == b"verbosity":
            if n not in (2, 3):
                return error
            return reply("RpOk" if number(words[1], False) is not None else "RpBadFormat")

        if cmd == b"version":
            return [("reply", "RpVersion")], 0
        if cmd == b"quit":
            self.closed = True
            return [], 0
        if cmd in HOST and not self.udp:
            text = b" ".join(words)
            return [("host", text)] if len(text) <= KEY_MAX else error[0], 0
        # Of 23 words the last one, where the first begins like no command.
        if len(cmd) > 1 and cmd[0] not in b"gsacidt" and cmd not in HOST | {b"replace", b"prepend"} \
                and not (len(cmd) == 2 and cmd[0] == b"m"[0]) and words[:23][-1].startswith(b"HTTP/"):
            self.closed = True
            return [], 0
        return error


def a_key(bad=0.03):
    pick = random.random()
    if pick < bad:
        n = random.choice((251, 252, 255, 256, 257, 300, 400))
    elif pick < 0.6:
        n = random.randrange(1, 12)
    elif pick < 0.8:
        n = random.choice((63, 64, 65, 127, 128, 129, 191, 192, 193, 249, 250))
    else:
        n = random.randrange(1, 251)
    return bytes(random.choices(b"abcdefghijklmnopqrstuvwxyz0123456789\t\r\x01\xff", k=n))


def a_number(bad=0.08):
    pick = random.random()
    if pick < bad:
        return random.choice((b"x", b"-1", b"1x", b"0x10", b"", b"18446744073709551616", b"-", b"+",
                              b"9223372036854775808", b"99999999999999999999999", b"\t", b"1.5"))
    if pick < bad + 0.1:
        return random.choice((b"+5", b"007", b"\t5", b"5\tjunk", b"4294967296", b"4294967297",
                              b"18446744073709551615", b"9223372036854775807", b"-0", b"2592000",
                              b"2592001", b"2147483648", b"0000000000000000000000000012", b"5\r"))
    return b"%d" % random.randrange(10 ** random.randrange(1, 10))


def a_command(values=300, host=True, broken=True):
    bad = 0.05 if broken else 0
    gap = lambda: b" " * (random.choice((1, 1, 1, 1, 2, 3)) if broken else 1)
    end = b"\n" if broken and random.random() < 0.1 else b"\r\n"
    pick = random.random()
    tail = [b"noreply"] if random.random() < 0.15 else []
    if broken and random.random() < 0.05:
        tail += [random.choice((b"x", b"0", b"noreply", b"noreply\t"))]
    body = b""
    if pick < 0.35:
        words = [random.choice((b"get", b"gets", b"bget"))] + [a_key(bad / 3) for _ in
                                                     range(random.choice((1, 1, 1, 2, 3, 30)))]
    elif pick < 0.4:
        words = [random.choice((b"gat", b"gats")), a_number(bad)] + \
                [a_key(bad / 3) for _ in range(random.choice((0, 1, 1, 2, 5)))]
    elif pick < 0.7:
        cmd = random.choice((b"set", b"set", b"set", b"add", b"replace", b"cas", b"append",
                             b"prepend"))
        n = random.choice((0, 1, random.randrange(200), random.randrange(values), 62, 63, 64, 65,
                           126, 127, 128, 129))
        length = b"%d" % n
        if random.random() < bad:
            length = a_number(0.5)
        elif random.random() < bad:
            length = b"%d" % random.choice((1048517, 1048518, 1048570, 2147483645, 2147483646,
                                            4294967296 + n, 100000000))
        words = [cmd, a_key(bad), a_number(bad), a_number(bad), length]
        if cmd == b"cas":
            words.append(a_number(bad))
        words += tail
        body = random.choice((bytes(random.choices(b"\r\n ab", k=n)), random.randbytes(n))) + \
            (b"\r\n" if random.random() >= bad else b"!\n")
    elif pick < 0.78:
        words = [random.choice((b"incr", b"decr")), a_key(bad), a_number(bad)] + tail
    elif pick < 0.83:
        words = [b"touch", a_key(bad), a_number(bad)] + tail
    elif pick < 0.89:
        words = [b"delete", a_key(bad)] + random.choice(([], [b"0"], [b"5"])) * (not tail) + tail
    elif pick < 0.92:
        words = [b"flush_all"] + random.choice(([], [a_number(bad)])) + tail
    elif pick < 0.94:
        words = [b"verbosity", a_number(bad)] + tail
    elif pick < 0.95:
        words = [b"version"] + tail
    elif pick < 0.97 and host:
        words = [random.choice((b"stats", b"shutdown", b"refresh_certs", b"cache_memlimit"))] + \
            [a_key(0) for _ in range(random.choice((0, 0, 1, 2, 6)))]
    else:
        words = [random.choice((b"getx", b"ge", b"g", b"", b"GET", b"setx a 0 0 1", b"get\ta",
                                b"get", b"set a 0 0", b"a\0b", b"x" * 70, b"incr a", b"mget"))]
    if broken and random.random() < 0.02:
        words.insert(random.randrange(len(words) + 1), b"\0")
    lead = b" " * random.choice((0, 0, 0, 0, 0, 1, 2)) if broken else b""
    trail = b" " * random.choice((0, 0, 0, 0, 1, 2)) if broken else b""
    line = lead + words[0] + b"".join(gap() + w for w in words[1:]) + trail + end
    return line.replace(b"\n", b"", line.count(b"\n") - 1) + body
