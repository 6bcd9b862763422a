"""memcached's meta commands: the simulated card and memcached 1.6.38 must send the same bytes back. What the card
does not have is left out here, see docs/TESTING.md, and its answers to that are looked at."""

import random

import pytest

from e2e import differ, reference, stream
from e2e.conftest import scale
from soft import compare, generate

#: By command, flags that the card refuses.
REFUSED = {b"mg": b"bhl", b"ms": b"b", b"md": b"b", b"ma": b"b"}
HEADER = b"\x00\x00\x00\x01\x00\x00"


class Meta(generate.Text):
    """Commands as for the software body, without what the card refuses."""

    def command(self):
        if self.rng.random() < self.meta:
            return self.break_meta() if self.rng.random() < self.broken else self.meta_command()
        while True:
            parts = stream.Generator.command(self)
            words = parts[0].split() if isinstance(parts[0], bytes) else []
            # Of a `gat` with a key that is too long memcached touches those in front of it, which `t` would show. So
            # there is none in `break_get`, either.
            if not (words[:1] in ([b"gat"], [b"gats"]) and max(map(len, words)) > 250):
                return parts

    def break_get(self):
        while (made := super().break_get())[0].startswith(b"gat"):
            pass
        return made

    def shown(self, key):
        return key, []

    def put(self, head, flags, cas, tail=b""):
        refused = REFUSED[head[0]]
        flags = [flag for flag in flags if flag[0] not in refused]
        return super().put(head, flags, cas, tail=tail)

    def me(self):
        return self.mn()

    def break_meta(self):
        """What is refused in one of the words is not for here; nor is a token that is too long, whose command
        memcached executes before it complains, or does not, as it comes."""
        while True:
            parts = super().break_meta()
            line = parts[0].split(b"\r\n")[0]
            words = [word for word in line.split(b"\0")[0].split(b" ") if word]
            flags = words[3 if words[:1] == [b"ms"] else 2 :]
            if len(words) > 19 or not any(
                word[0] in REFUSED.get(words[0], b"") or len(word) > 32 and word[:1] == b"O" for word in flags
            ) and words[:1] != [b"me"]:
                return parts


compare.KINDS["card"] = (differ.Differ, Meta, {"meta": 0.8})


def test_one_connection(memcached, wirekv, seed):
    """Right and wrong ones, among classic commands, cut anywhere."""
    for server in (memcached, wirekv):
        reference.empty(server)
    compare.run((memcached, wirekv), "card", seed, scale(6_000, 200_000))


def test_connections_at_once(memcached, wirekv, seed):
    """Eight connections at the same time."""
    for server in (memcached, wirekv):
        reference.empty(server)
    compare.together((memcached, wirekv), "card", seed, scale(2_500, 50_000), 8)


def test_datagrams(memcached, wirekv, seed):
    for server in (memcached, wirekv):
        reference.empty(server)
    commands = scale(1_000, 30_000)
    budget = commands * 300
    make = Meta(seed, meta=0.7, udp=True, value_budget=budget, reply_budget=budget)
    play = differ.UdpDiffer(memcached, wirekv, label=f"meta_udp_{seed}")
    while play.commands < commands:
        play.run(make.datagram())
    play.close()


def ask(server, text):
    """The reply to `text`, up to that of an `mn`."""
    with server.connect(timeout=10) as sock:
        sock.sendall(text + b"mn\r\n")
        data = b""
        while not data.endswith(b"MN\r\n"):
            got = sock.recv(1 << 16)
            assert got, f"closed behind {data!r}"
            data += got
    return data[:-4]


@pytest.mark.parametrize("size", [0, 16, 17, 100, 8_000, 8_192, 20_000, 300_000])
def test_sizes(memcached, wirekv, size):
    """Values of any length, with key and opaque token, whole and in parts."""
    key, value = b"k" * 200 + b"%d" % size, bytes(range(1, 101)) * (size // 100 + 1)
    value = value[:size]
    text = (b"ms %s %d k Oabc s F7\r\n%s\r\n" % (key, size, value) + b"mg %s k v Oxyz f s t\r\n" % key +
            b"ms %s 5 MA k O1 s\r\nhello\r\n" % key + b"mg %s s v\r\n" % key +
            b"ms %s 5 MP k O2 s N100 q\r\nhello\r\n" % key + b"mg %s s k v\r\n" % key +
            b"md %s q k\r\nmg %s k O3\r\n" % (key, key) + b"ms %s %d MA k N100\r\n%s\r\nmg %s s\r\n" % (
                key, size, value, key))
    assert ask(wirekv, text) == ask(memcached, text)


def test_other_commands_meet(wirekv):
    """Classic text, and meta commands, of the same item."""
    reference.empty(wirekv)
    assert ask(wirekv, b"set a 5 0 3\r\nabc\r\nmg a v f k\r\n") == b"STORED\r\nVA 3 f5 ka\r\nabc\r\n"
    assert ask(wirekv, b"ms a 2 F9\r\nxy\r\nget a\r\n") == b"HD\r\nVALUE a 9 2\r\nxy\r\nEND\r\n"


def test_times(wirekv):
    """Seconds to live: what was set is what is shown, by whom it came."""
    reference.empty(wirekv)
    assert ask(wirekv, b"ms a 1 T100\r\nx\r\nmg a t\r\n") in (b"HD\r\nHD t100\r\n", b"HD\r\nHD t99\r\n")
    assert ask(wirekv, b"mg a t T500 s\r\nmg a T0 t\r\nmg a t\r\n") in (
        b"HD t100 s1\r\nHD t-1\r\nHD t-1\r\n", b"HD t99 s1\r\nHD t-1\r\nHD t-1\r\n")
    assert ask(wirekv, b"ma n t N3600 J5 v\r\nma n D7 v t\r\n") in (
        b"VA 1 t-1\r\n5\r\nVA 2 t3600\r\n12\r\n", b"VA 1 t-1\r\n5\r\nVA 2 t3599\r\n12\r\n")


def test_refused(wirekv):
    """What the card does not have, it says so, and nothing is changed by it."""
    reference.empty(wirekv)
    ask(wirekv, b"ms a 3\r\nabc\r\n")
    for command, flags in REFUSED.items():
        for flag in flags:
            line = b"%s a %s%c\r\n" % (command, b"2 " if command == b"ms" else b"", flag)
            got = ask(wirekv, line + (b"xy\r\n" if command == b"ms" else b""))
            assert got == (b"CLIENT_ERROR invalid flag\r\n" if command in (b"mg", b"ms") else
                           b"CLIENT_ERROR invalid or duplicate flag\r\n"), line
    assert ask(wirekv, b"mg a v\r\n") == b"VA 3\r\nabc\r\n"
