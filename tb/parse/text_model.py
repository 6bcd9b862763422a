"""memcached's text protocol as a list of what the store must do: the reference of the tests."""

import re

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
HOST = {b"stats", b"shutdown", b"slabs", b"lru", b"lru_crawler", b"watch", b"cache_memlimit",
        b"refresh_certs", b"me"}


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
        self.consumed = at
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
