"""Conversations that probe the corners of the text protocol, one by one.

Each is what a client sends on a connection; keys a, b and n hold "x", nothing and "10" before it.
"""

from itertools import product

from harness.memcached.stream import BAD_LENGTHS, BAD_SIGNED, BAD_UNSIGNED, MAX_ITEM, UNKNOWN
from harness.size import scale

K250 = b"k" * 250
K251 = b"l" * 251

SETUP = b"flush_all\r\nset a 5 0 1\r\nx\r\nset b 6 0 0\r\n\r\nset n 7 0 2\r\n10\r\n"


def lines():
    """Single lines, each followed by a look at the keys."""
    yield from (w + b"\r\n" for w in UNKNOWN)
    yield from (w + b"\n" for w in UNKNOWN)
    yield from (
        b"get a\n", b"get a\r\r\n", b"\rget a\r\n", b"get a\rb\r\n", b"get a\x00b\r\n",
        b"get a b\x00 a\r\n", b"get\x00 a\r\n", b"g\x00et a\r\n", b"version\x00foo\r\n",
        b"   get a\r\n", b"get   a   b  \r\n", b"get a\tb\r\n", b"get b a a\r\n", b"gets a b\r\n",
        b"get \x01\r\n", b"get \x7f\xff\r\n", b"get noreply\r\n", b"version\r\n", b"version x y\r\n",
        b" version \r\n", b"get " + K250 + b"\r\n", b"get " + K250 + b"\x00x\r\n",
        b"delete a\x00b\r\n", b"touch a\x00b 0\r\n", b"set\r\n", b"append\r\n",
    )  # fmt: skip
    for count in (21, 22, 23, 24, 25, 45, 46, 47, 48, 49, 70, 500):
        yield b"get " + b"a " * count + b"\r\n"
        yield b"gets" + b" b" * count + b"\r\n"
        yield b"bget" + b" a" * count + b"\r\n"
        if count < 500:
            yield b"gat 0" + b" a" * count + b"\r\n"
    for tail in (b"", b" 0", b" 5", b" x", b" noreply", b" 0 noreply", b" 5 noreply", b" 0 x",
                 b" 00", b" -0", b"  0 ", b" noreply 0", b" noreply noreply", b" x noreply",
                 b" b c d", b" 0 noreply x"):  # fmt: skip
        yield b"delete a" + tail + b"\r\n"
        yield b"delete nothing" + tail + b"\r\n"
        yield b"delete " + K251 + tail + b"\r\n"
    yield b"delete noreply\r\n"
    for verb in (b"incr n ", b"decr n ", b"incr a ", b"incr nothing ", b"incr b "):
        for delta in [b"0", b"1", b"9", b"10", b"11", b"90", b"+1", b"007", b"5\tx", b"-0",
                      b"18446744073709551615", b"18446744073709551606"] + BAD_UNSIGNED:  # fmt: skip
            yield verb + delta + b"\r\n"
            yield verb + delta + b" noreply\r\n"
        yield verb + b"\r\n"
        yield verb + b"1 x\r\n"
        yield verb + b"1 2 3\r\n"
        yield verb + b"noreply\r\n"
    for time in [b"0", b"-1", b"100000", b"2592000", b"2592001", b"2147483647", b"2147483648",
                 b"4294967295", b"4294967296", b"+100000", b"-0", b"0\tx", b"noreply"] + BAD_SIGNED:
        for form in (b"touch a %s\r\n", b"touch a %s noreply\r\n", b"touch nothing %s\r\n",
                     b"touch a %s x\r\n", b"gat %s a\r\n", b"gats %s a b a\r\n", b"gat %s\r\n"):
            if b"\x00" not in time:
                yield form % time
    for words in (b"", b" 0", b" -1", b" -5", b" 100000", b" 0 noreply", b" noreply", b" x",
                  b" x noreply", b" noreply noreply", b" noreply x", b" 0 0", b" 0 x", b" +0",
                  b" 0 0 0", b" 4294967296", b" \t", b" 0\tz", b" 9223372036854775808",
                  b" 100000 noreply", b" 2592001"):  # fmt: skip
        yield b"flush_all" + words + b"\r\n"
    for words in (b"", b" 0", b" +0", b" x", b" -1", b" noreply", b" 0 noreply", b" x noreply",
                  b" 0 0", b" 0 0 0", b" 0 0 noreply", b" 4294967296", b" 18446744073709551616",
                  b" 0x", b" 0 "):  # fmt: skip
        yield b"verbosity" + words + b"\r\n"
    for verb in (b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"delete", b"incr", b"decr", b"touch"):
        for tail in (b"", b" 0", b" 1 2", b" 0 0 1", b" 0 0 1 5", b" noreply", b" 0 0 1 noreply",
                     b" 1 noreply", b" 0 0 1 5 noreply", b" x y z"):  # fmt: skip
            yield verb + b" " + K251 + tail + b"\r\n"


def stores():
    """Storage commands, well formed and not."""
    for verb in (b"set", b"add", b"replace", b"append", b"prepend"):
        for key in (b"a", b"nothing", K250):
            yield verb + b" " + key + b" 0 0 2\r\nyz\r\n"
            yield verb + b" " + key + b" 1 0 2 noreply\r\nyz\r\n"
            yield verb + b" " + key + b" 1 -1 2\r\nyz\r\n"
    for words in (b"a", b"a 0", b"a 0 0", b"a 0 0 1 x", b"a 0 0 1 noreplyx", b"a 0 0 1 NOREPLY",
                  b"a 0 0 1 noreply x", b"a 0 0 1 2 3", b"a 0 0 noreply", b"a 0 noreply",
                  b"noreply 0 0 1", b" a  0  0  1 ", b"a 0 0 1  noreply ", b"a 0 0 1 noreply\t",
                  b"a 0 0 1 \t", b"a 0 0 1\x00 zz", b"a\x00 0 0 1", b"a 0 0 01", b"a 0 0 +1",
                  b"a 0 0 4294967297", b"a 0 0 1\tx"):  # fmt: skip
        yield b"set " + words + b"\r\nz\r\n"
        yield b"set " + words + b"\nz\r\n"
    for words in (b"a 0 0 1", b"a 0 0 1 0", b"a 0 0 1 99999999999", b"nothing 0 0 1 99999999999",
                  b"a 0 0 1 noreply", b"a 0 0 1 0 noreply", b"a 0 0 1 0 x", b"a 0 0 1 0 0 noreply",
                  b"a 0 0 1 +99999999999", b"a 0 0 1 -0", b"a 0 0 1 0099999999999", b"a 0 0 1 0\tx"):
        yield b"cas " + words + b"\r\nz\r\n"
    for bad in BAD_UNSIGNED:
        yield b"set a " + bad + b" 0 1\r\nz\r\n"
        yield b"cas a 0 0 1 " + bad + b"\r\nz\r\n"
        yield b"cas a 0 0 1 " + bad + b" noreply\r\nz\r\n"
    for bad in BAD_SIGNED:
        yield b"set a 0 " + bad + b" 1\r\nz\r\n"
        yield b"add nothing 0 " + bad + b" 1 noreply\r\nz\r\n"
    for bad in BAD_LENGTHS:
        yield b"set a 0 0 " + bad + b"\r\nz\r\n"
        yield b"replace a 0 0 " + bad + b" noreply\r\nz\r\n"
        yield b"append a 0 0 " + bad + b"\r\nz\r\n"
        yield b"cas a 0 0 " + bad + b" 1\r\nz\r\n"
    for flags in (b"4294967295", b"4294967296", b"18446744073709551615", b"+5", b"007", b"5\tx",
                  b"0000000000000000000000000000012", b"\x0b5", b"5\rjunk"):  # fmt: skip
        yield b"set a " + flags + b" 0 1\r\nz\r\n"
    for time in (b"-1", b"2592001", b"1000000000", b"2147483648", b"4294967295", b"4294967296",
                 b"2147483647", b"-2147483649", b"9223372036854775807", b"-0", b"+100000"):
        yield b"set a 9 " + time + b" 1\r\nz\r\n"
        yield b"set a 9 " + time + b" 1\r\nz\r\nadd a 0 0 1\r\ny\r\n"
        yield b"set a 9 " + time + b" 1\r\nz\r\nreplace a 0 0 1\r\ny\r\ndelete a\r\ntouch a 0\r\n"
    # the data block
    for size in (0, 1, 5, 61, 62, 63, 64, 65, 126, 127, 128, 129, 500, 1000, 1447, 8191, 8192):
        head = b"set a 0 0 %d\r\n" % size
        body = b"d" * size
        yield head + body + b"\r\n"
        for tail in (b"\n\r\n", b"X\nversion\r\n", b"\rXversion\r\n", b"XXversion\r\n", b"X\r\n",
                     b"extra\r\nversion\r\n", b"\n\n"):  # fmt: skip
            yield head + body + tail
            yield head.replace(b"\r\n", b" noreply\r\n") + body + tail
        if size > 4:
            yield head + body[:3] + b"\r\n" + b"f" * size + b"\r\nversion\r\n"
            yield head.replace(b"set", b"append") + body[:3] + b"\r\n" + b"f" * size + b"\r\nversion\r\n"
            yield head.replace(b"set", b"add") + body[:3] + b"\r\n" + b"f" * size + b"\r\nversion\r\n"


def extended():
    """What append and prepend make of lengths that meet lines and units of the log in every way, and that
    they leave flags, time and other keys alone."""
    for verb in (b"append", b"prepend"):
        for first in (0, 1, 13, 14, 15, 16, 17, 45, 61, 62, 63, 64, 65, 127, 128, 129, 1000, 8191, 9000):
            for more in (0, 1, 31, 64, 65, 300):
                yield (b"set a 7 100000 %d\r\n%s\r\n" % (first, b"1" * first)
                       + b"%s a 9 -1 %d\r\n%s\r\nget a b\r\n" % (verb, more, b"2" * more))
        for noreply in (b"", b" noreply"):
            yield b"set a 3 -1 1\r\nx\r\n%s a 0 0 1%s\r\ny\r\nget a\r\n" % (verb, noreply)
            yield b"delete a\r\n%s a 0 0 1%s\r\ny\r\nget a\r\n" % (verb, noreply)
            yield b"set a 0 0 1\r\n8\r\n%s a 0 0 1%s\r\n9\r\nincr a 1\r\nget a\r\n" % (verb, noreply)
        yield b"set a 0 0 0\r\n\r\n" + b"%s a 0 0 1 noreply\r\nz\r\n" % verb * 100 + b"get a\r\n"
        yield b"flush_all\r\n%s a 0 0 1\r\nz\r\nadd a 5 0 1\r\ny\r\n%s a 0 0 1\r\nz\r\nget a\r\n" % (verb, verb)


def numbers():
    """What counts as a number, and what incr and decr leave behind."""
    values = [
        b"", b"0", b"9", b"99", b"100", b" 5", b"  5", b"5 ", b"5  ", b"007", b"+5", b"-5", b"-0",
        b"5x", b"x", b"0x5", b"1.5", b"1e3", b"+", b"5 x", b"5\tx", b"\t5", b"5\t", b"5\r", b"5\n",
        b"5\r\n", b"5\r\nx", b"5\x00", b"5\x00x", b"\x00", b"5\x0bz", b"5\x85", b"000012", b"12    ",
        b"18446744073709551615\x00", b"18446744073709551614\x00", b"18446744073709551616",
        b"9223372036854775807", b"9223372036854775808\x00", b"99999999999999999999",
        b"123456789012345678901", b"000000000000000000001", b"0" * 29 + b"5", b"1" + b" " * 40,
    ]  # fmt: skip
    for value in values:
        yield (
            b"set n 3 0 %d\r\n%s\r\nincr n 1\r\n" % (len(value), value)
            # Reads come last: a read before would change how memcached pads.
            + b"decr n 2\r\ndecr n 1 noreply\r\nincr n 95\r\nincr n 900\r\ndecr n 999\r\n"
        )
        yield b"set n 3 100000 %d\r\n%s\r\ndecr n 1\r\n" % (len(value), value)
        yield b"set n 3 -1 %d\r\n%s\r\nincr n 1\r\n" % (len(value), value)
    yield b"set n 0 0 20\r\n18446744073709551615\r\nincr n 1\r\nincr n 100\r\n"
    yield b"set n 0 0 1\r\n9\r\nincr n 1\r\ndecr n 1\r\nincr n 18446744073709551615\r\n"


def sizes():
    """At the largest item's edge, where the reference's header counts too."""
    every = tuple(product((b"a", b"k" * 8, b"k" * 9, K250), (b"0", b"5")))
    for key, flags in scale(((K250, b"5"),), every):
        most = MAX_ITEM - 59 - len(key) - (4 if flags != b"0" else 0)
        for size in (most, most + 1):
            yield b"set %s %s 0 %d\r\n" % (key, flags, size) + b"v" * size + b"\r\n"
            # Both values together, of an item whose flags count and of one whose do not.
            for verb in (b"append", b"prepend"):
                first = b"v" * (size - 10)
                yield (b"set %s %s 0 %d\r\n%s\r\n" % (key, flags, len(first), first)
                       + b"%s %s 7 0 10\r\n0123456789\r\nget %s\r\n" % (verb, key, key))
                yield (b"set %s %s 0 2\r\n89\r\n" % (key, flags)
                       + b"%s %s 0 0 %d\r\n" % (verb, key, size - 2) + b"v" * (size - 2) + b"\r\n"
                       + b"get %s\r\n" % key)
    big = b"v" * MAX_ITEM
    for verb, usual, more in ((b"append", b"a", b""), (b"set", b"a", b" noreply"),
                              *scale((), ((b"add", b"nothing", b""), (b"replace", b"a", b""), (b"cas", b"a", b" 5")))):
        for key in scale((usual,), (b"a", b"nothing")):
            line = b"%s %s 0 0 %d%s\r\n" % (verb, key, MAX_ITEM, more)
            yield line + big + b"\r\nversion\r\n"
            yield line + big + b"yyversion\r\n"  # swallowed whatever it is
            yield line + big + b"yyzzversion\r\n"


def overlong_gets():
    """Each alone on its connection, see stream.py."""
    for keys in (b"%s", b"a %s", b"%s a", b"a %s b", b"a a a a a a a a a a a a a a a a a a a a a a %s",
                 b"a a a a a a a a a a a a a a a a a a a a a a a %s a"):  # fmt: skip
        # memcached touches the keys before the bad one, WireKV does not: no time that would show it.
        for verb in (b"get ", b"gets ", b"bget ", b"gat 0 ", b"gats 100000 "):
            for length in (251, 256, 1000):
                yield verb + keys % (b"l" * length) + b"\r\n"


def long_lines():
    yield b"get " + b" ".join(b"a%d" % i for i in range(3000)) + b" a b\r\n"
    yield b"gets " + b" ".join(b"a" for _ in range(3000)) + b"\r\n"
    yield b"get " + b" ".join(b"%0250d" % i for i in range(400)) + b" a\r\n"  # 100 KB


def closing():
    """The server closes at the end."""
    # Alone: memcached drops the replies before them that it has not sent.
    yield from (b"GET / HTTP/1.1\r\n", b"HTTP/\n", b"xx" + b" a" * 21 + b" HTTP/1.0 b\r\n")
    for word in (b"quit\r\n", b"quit\n", b"quit x\r\n", b"  quit  \r\n", b"quit noreply\r\n"):
        yield word
        yield b"version\r\nget a\r\n" + word
        yield b"set a 0 0 1 noreply\r\ny\r\nget a\r\n" + word + b"version\r\n"


#: By name, those that leave the connection open.
OPEN = {made.__name__: made for made in (lines, stores, extended, numbers, overlong_gets, long_lines, sizes)}
