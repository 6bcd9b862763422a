"""Commands on the card's items, most of which the program executes for it."""

import re

from harness.resp import generate

#: What the card leaves to the program, on the card's items; and what gates run, between them.
HOST = [b"GETRANGE", b"SUBSTR", b"SETRANGE", b"SETBIT", b"GETBIT", b"BITCOUNT", b"BITPOS", b"BITOP", b"BITFIELD", b"BITFIELD_RO",
        b"LCS", b"INCRBYFLOAT", b"MSET", b"MSETNX", b"RENAME", b"RENAMENX", b"COPY", b"DEL", b"UNLINK", b"EXISTS",
        b"MULTI", b"EXEC", b"DISCARD", b"WATCH", b"UNWATCH", b"OBJECT", b"MOVE", b"CLIENT"]  # fmt: skip
GATES = [b"GET", b"SET", b"STRLEN", b"MGET", b"APPEND", b"INCR", b"DECR", b"INCRBY", b"DECRBY", b"SETNX", b"SETEX", b"GETSET", b"GETDEL",
         b"GETEX", b"EXPIRE", b"PEXPIREAT", b"TTL", b"PEXPIRETIME", b"PERSIST", b"TYPE", b"TOUCH", b"SELECT"]  # fmt: skip


def far(words):
    """Whether it names a time that the card's items have no room for."""
    return words[0].upper() in generate.TIMED and any(re.fullmatch(b"-?[0-9]{15,}", word) for word in words[2:])


class Hosted(generate.Generator):
    """Without what the card does not have."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.hot.remove(b"")

    def broken_words(self, words):
        while b"" in (made := super().broken_words(words))[1:] or far(made):
            pass
        return made

    def draw(self):
        while True:
            words = super().draw()
            there = words[1:2] not in ([b"FREQ"], [b"IDLETIME"], [b"LIST"], [b"INFO"])
            if there and not far(words) and sum(map(len, words)) < 1900:
                return words
            self.pending.clear()
