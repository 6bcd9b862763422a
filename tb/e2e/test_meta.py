"""memcached's meta commands: the simulated card and memcached 1.6.38 must send the same bytes back. What the card
does not have is left out here, see docs/COMPATIBILITY.md, and its answers to that are looked at."""

import random
import re
import struct
from base64 import b64encode

import pytest

from harness import differ, reference
from harness.memcached import compare, generate, packets, stream
from harness.size import scale

#: By command, flags that the card refuses.
REFUSED = {b"mg": b"hl"}
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

    def put(self, head, flags, cas, tail=b""):
        refused = REFUSED.get(head[0], b"")
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
    compare.run((memcached, wirekv), "card", seed, scale(2_500, 200_000))


def test_connections_at_once(memcached, wirekv, seed):
    """Eight connections at the same time."""
    for server in (memcached, wirekv):
        reference.empty(server)
    compare.together((memcached, wirekv), "card", seed, scale(1_500, 50_000), 8)


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
    with server.connect() as sock:
        sock.sendall(text + b"mn\r\n")
        data = b""
        while not data.endswith(b"MN\r\n"):
            got = sock.recv(1 << 16)
            assert got, f"closed behind {data!r}"
            data += got
    return data[:-4]


@pytest.mark.parametrize("size", [0, 16, 17, 100, 8_000, 8_192, 20_000, *scale([], [300_000])])
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


CODED = (
    # Who stored it so is shown it so, whoever asks; who asks so is shown it so if there is nothing.
    b"ms Zm9v 3 b\r\nabc\r\nmg foo k v\r\nmg Zm9v b k v\r\nmg Zm9v k b Oabc f\r\nmd Zm9v b k q\r\nmg Zm9v b k\r\n",
    b"ms foo 3\r\nabc\r\nmg Zm9v b k v\r\nma Zm9v b k\r\nmd Zm9v k O1 b\r\nmg foo k\r\nmd Zm9v b k O2 q\r\nma Zm9v k b\r\n",
    b"ms Zm9v 3 b k\r\nabc\r\nms Zm9v 3 b MA k\r\nabc\r\nmg foo k v\r\nset foo 0 0 1\r\nx\r\nmg Zm9v k b\r\n",
    b"ms Zm9v 3 b c k O7 s\r\nabc\r\nms foo 3 ME k\r\nabc\r\nms Zm9v 3 b ME k O8\r\nabc\r\nappend foo 0 0 1\r\nx\r\nmg foo k v\r\n",
    # What a get, a sum, an append makes.
    b"mg YmFy b N30 k\r\nmg YmFy b k\r\nmd bar\r\nma YmFy b N30 J7 k v\r\nmg bar k\r\nma YmFy b k D1\r\nmd bar\r\n"
    b"ms YmFy 3 b MA N30 k\r\nabc\r\nmg bar k t\r\n",
    # A number that gets longer is another item.
    b"ms bnVt 2 b\r\n97\r\nma bnVt b k\r\nincr num 1\r\nmg num k v\r\n", b"ms bnVt 2 b\r\n98\r\nma num\r\nma bnVt b k v\r\nmg num k v\r\n",
    # Stale, without a value, touched.
    b"ms bnVt 3 b T100\r\n997\r\nmd num I\r\nmg num k v\r\nmg bnVt b k v\r\ntouch num 200\r\nmg num k t\r\nmg num k T90\r\n"
    b"mg num k t R95\r\nmd num x\r\nmg num k v\r\nms bnVt 0 b\r\n\r\nmd num I\r\nmg num k v\r\n",
    b"ms num 3\r\nabc\r\nms bnVt 3 b I C1 T100 k\r\nabc\r\nmg num k v\r\nms num 3 I C1\r\nabc\r\nmg num k v\r\n",
    # No base64, and the order in which that is said.
    b"mg Y=== b k\r\nmg YWE b\r\nmd YWE b q\r\nma YWE b\r\nms YWE 2 b\r\nab\r\nmg YWE= b b\r\nmg YWE b Tx\r\nmg YWE Tx b\r\n"
    b"mg YWE b Z\r\nmg YWE Z b\r\nms YWE x b\r\nms YW 2 q b\r\nabc\r\nmg !!! b k\r\nmg YWEb k\r\n",
    # What passes for it.
    b"mg Y=WE b k\r\nmg =YWE b k\r\nmg YWE=Y=== b k\r\nmg YW==YWFh b k\r\nmg Y!W\xffE= b k\r\nmg Y=W= b k\r\nmg ==WE b k\r\n"
    b"mg YWFhYW== b k\r\nmg YWE= bxyz k\r\nmg YWE= k bxyz Oabc\r\nmg ++// b k\r\nmg YW=F b k q\r\nmg YWE=YWE b k\r\n",
    # Keys of every byte: what ends a line, a word, and a text.
    b"mg AAAA b k\r\nms IA0K 1 b k O1 c\r\nx\r\nmg IA0K b v k\r\nmg /w== b N9 k\r\nms /w== 1 b\r\nx\r\nmg /w== b k v\r\n",
    b"mg %s b k\r\nmg %s b k\r\nmg %s b k\r\nmg %s!! b k\r\n" % (b"Z" * 248, b"Z" * 250, b"Z" * 252, b"Z" * 248),
    b"ms %s 2 b k\r\nab\r\nmg %s b k s v t f O%s\r\n" % (b"Z" * 248, b"Z" * 248, b"o" * 31),
    b"ms YWE= 3 b\r\nabc\r\nms YWE= 2000000 b\r\n%s\r\nmg aa v\r\nms YW 2000000 b\r\n%s\r\n" % (b"x" * 2_000_000, b"x" * 2_000_000),
    b"mg %sYWE=%sb k\r\n" % (b" " * 90, b" " * 2000),
)  # fmt: skip


def timeless(reply):
    """A reply without its times to live, and these: a second may pass at any moment."""
    return re.sub(rb" t\d+", b" t", reply), [int(left) for left in re.findall(rb" t(\d+)", reply)]


@pytest.mark.parametrize("text", CODED, ids=range(len(CODED)))
def test_base64(memcached, wirekv, text):
    for server in (memcached, wirekv):
        reference.empty(server)
    # Uniques differ from server to server.
    (got, left), (want, expect) = (timeless(re.sub(rb" c\d+", b" c", ask(server, text))) for server in (wirekv, memcached))
    assert got == want and all(abs(a - b) < 60 for a, b in zip(left, expect, strict=True)), (left, expect)


@pytest.mark.parametrize("size", [0, 16, 17, 8_000, 8_192, 20_000, *scale([], [300_000])])
def test_base64_sizes(memcached, wirekv, size):
    """Values of any length under keys in base64, whole and in parts, and keys of any length under 250 letters."""
    value = (bytes(range(1, 101)) * (size // 100 + 1))[:size]
    for server in (memcached, wirekv):
        reference.empty(server)
    for length in (1, 2, 3, 47, 48, 64, 65, 128, 150, 185, 186):
        key = bytes(range(256 - length, 256))
        text = b64encode(key)
        lines = (b"ms %s %d b k Oabc s F7\r\n%s\r\n" % (text, size, value) + b"mg %s b k v Oxyz f s t\r\n" % text
                 + b"mg %s v k b\r\n" % text + b"md %s b k I T99\r\nmg %s b k O3 v\r\n" % (text, text)
                 + b"ms %s 5 b MP k O2 s q\r\nhello\r\n" % text + b"mg %s b s k v\r\n" % text)  # fmt: skip
        assert ask(wirekv, lines) == ask(memcached, lines), length


def test_base64_and_binary(memcached, wirekv):
    """The binary protocol, and datagrams, have the same items."""
    key, value = bytes(range(32)), b"value"
    for server in (memcached, wirekv):
        reference.empty(server)
        # How keys are shown that no text has, and no text stored: in memcached as they are.
        odd, made = (b" \n", b"\0a") if server is memcached else (b"IAo= b", b"AGE= b")
        assert ask(server, b"ms %s 5 b F9\r\n%s\r\n" % (b64encode(key), value)) == b"HD\r\n"
        with server.connect() as sock, sock.makefile("rb") as replies:
            sock.sendall(packets.whole(0x0C, key) + packets.whole(0x01, b" \n", bytes(8), b"x"))
            head = replies.read(24)
            assert head[6:8] == bytes(2) and replies.read(int.from_bytes(head[8:12], "big")) == b"\0\0\0\x09" + key + value
            assert replies.read(24)[6:8] == bytes(2)
        assert ask(server, b"mg IAo= b v k\r\n") == b"VA 1 k%s\r\nx\r\n" % odd
        assert ask(server, b"mg AGE= b k N0\r\nmg AGE= b k\r\n") == b"HD k%s W\r\nHD k%s Z\r\n" % (made, made)


def test_base64_cut(memcached, wirekv, seed):
    """However the bytes come."""
    rng = random.Random(seed)
    for server in (memcached, wirekv):
        reference.empty(server)
    lines = b"".join(b"ms %s %d%s k b O%d\r\n%s\r\nmg %s b k v\r\nmd %s k%s b\r\n" % (
        text, n, b" " * rng.randrange(1, 90), n, b"v" * n, text, text, b" " * rng.choice((1, 300)))
        for n in (1, 100, 3000) for text in (b64encode(rng.randbytes(rng.randrange(1, 187))) for _ in range(20)))  # fmt: skip
    want = ask(memcached, lines)
    with wirekv.connect() as sock:
        at, got = 0, b""
        while at < len(lines):
            n = rng.choice((1, 7, 100, 1460, 5000))
            sock.sendall(lines[at : at + n])
            at += n
        while len(got) < len(want):
            more = sock.recv(1 << 16)
            assert more, got
            got += more
    assert got == want


def test_base64_far(wirekv):
    """The card reads a line again whose `b` ends within 2,560 bytes."""
    reference.empty(wirekv)
    line = lambda gap: ask(wirekv, b"mg YWE=%sb k\r\n" % (b" " * gap))  # noqa: E731
    assert line(2500) == b"EN kYWE= b\r\n"
    assert line(2600) == b"CLIENT_ERROR error decoding key\r\n"


def test_other_commands_meet(wirekv):
    """Classic text, and meta commands, of the same item."""
    reference.empty(wirekv)
    assert ask(wirekv, b"set a 5 0 3\r\nabc\r\nmg a v f k\r\n") == b"STORED\r\nVA 3 f5 ka\r\nabc\r\n"
    assert ask(wirekv, b"ms a 2 F9\r\nxy\r\nget a\r\n") == b"HD\r\nVALUE a 9 2\r\nxy\r\nEND\r\n"


#: What gives a key the CAS unique 0, another one or an ordinary one, and what it is looked at with.
GIVEN = (b"", b"set a 0 0 1\r\n5\r\n", b"ma a N0 E0 c\r\n", b"mg a N0 E0 c\r\n", b"ma a N0 E9876543210 c\r\nma a E0 c\r\n", b"ms a 1\r\n5\r\nma a E0 c\r\n",
         b"ms a 1\r\n5\r\nmd a x E0\r\n", b"ms a 1\r\n5\r\nmd a I E0\r\n", b"ma a N0 E0\r\nmd a x\r\n", b"ma a N0 E0\r\nmd a I\r\n",
         b"ma a N0 E0\r\ntouch a 0\r\n", b"ma a N0 E0\r\nms a 1 MA c\r\n7\r\n", b"ma a N0 E18446744073709551615\r\n",
         b"ms a 1 E9876543210\r\n5\r\n", b"ms a 1 E0 c\r\n5\r\n", b"ms a 1 ME E0 c\r\n5\r\n", b"ms a 1 MA N0 E0 c\r\n5\r\n",
         b"ms a 1\r\n5\r\nms a 1 MA E0 c\r\n7\r\n", b"ms a 1\r\n5\r\nms a 1 MR E0 c\r\n7\r\n")  # fmt: skip
NAMED = (*(one % unique for unique in (b"0", b"9876543210") for one in (
            b"cas a 0 0 1 %s\r\n9\r\n", b"ms a 1 C%s\r\n9\r\n", b"ms a 1 C%s MR\r\n9\r\n", b"ms a 1 C%s ME\r\n9\r\n",
            b"ms a 1 C%s MA\r\n9\r\n", b"ms a 1 C%s MP N0\r\n9\r\n", b"md a C%s\r\n", b"md a C%s x\r\n", b"md a C%s I\r\n",
            b"ma a C%s\r\n", b"ma a C%s MD D0\r\n")),
         b"ms a 1 C0 I\r\n9\r\n", b"ms a 1 C0 E0 c\r\n9\r\n", b"ms a 1 F0 T0 E0 c\r\n9\r\n", b"ms a 0 E0 C0 I c\r\n\r\n", b"md a C0 I x E0\r\n",
         b"ma a N0 E0 C0 c\r\n", b"ma a T0 D0 J0 c t v\r\n", b"mg a N0 T0 E0 c t\r\n", b"mg a R0 t c\r\n")  # fmt: skip
BINARY = [struct.pack(">BBHBBHIIQ", 0x80, opcode, 1, len(extras), 0, 0, len(extras) + 1 + len(value), 7, unique) + extras + b"a" + value
          for unique in (0, 9876543210) for opcode, extras, value in (
              (0x01, bytes(8), b"9"), (0x02, bytes(8), b"9"), (0x03, bytes(8), b"9"), (0x04, b"", b""), (0x05, bytes(7) + b"\1" + bytes(12), b""),
              (0x06, bytes(16) + b"\xff" * 4, b""), (0x0e, b"", b"9"), (0x0f, b"", b"9"), (0x14, b"", b""), (0x11, bytes(8), b"9"),
              (0x1c, bytes(4), b""))]  # fmt: skip


@pytest.mark.parametrize("given", GIVEN, ids=range(len(GIVEN)))
def test_unique_zero(memcached, bodies, given):
    """0 is a CAS unique like others where an item has it, and none where memcached takes it for none: in each command,
    each mode and in the binary protocol. One after the other: memcached copies an item that it is just sending."""
    def one_by_one(server, text):
        lines, replies = text.split(b"\r\n")[:-1], b""
        while lines:
            line = lines.pop(0) + b"\r\n"
            replies += ask(server, line + lines.pop(0) + b"\r\n" if line[:2] in (b"ms", b"se", b"ca") else line)
        # Which one an ordinary unique is does not matter.
        return re.sub(rb"( c|VALUE a \d+ \d+ )([1-9]\d*)", lambda m: m[0] if m[2] in (b"9876543210", b"18446744073709551615") else m[1] + b"*", replies)

    def says(server, request):
        one_by_one(server, b"md a q\r\n" + given)
        with server.connect() as sock:
            sock.sendall(request + bytes([0x80, 0x0A]) + bytes(22))
            replies = read_all(sock, 0x0A)
        return [(head[:16], struct.unpack(">Q", head[16:])[0] in (0, 9876543210) and head[16:], body) for head, body in replies], \
            one_by_one(server, b"mg a c v t s\r\n")

    for server in (memcached, *bodies):  # nothing of tests before
        one_by_one(server, b"md a\r\n")
    for named in NAMED:
        text = b"md a q\r\n" + given + b"mg a c t s\r\n" + named + b"mg a c v t s\r\ngets a\r\n"
        want = one_by_one(memcached, text)
        for server in bodies:
            assert one_by_one(server, text) == want, (server.name, named)
    for request in BINARY:
        want = says(memcached, request)
        for server in bodies:
            assert says(server, request) == want, (server.name, request)


def read_all(sock, last):
    """Binary replies in front of the one with the opcode `last`, as headers and bodies."""
    data, replies = b"", []
    while True:
        while len(data) >= 24 and len(data) >= (size := 24 + int.from_bytes(data[8:12], "big")):
            if data[1] == last:
                return replies
            replies.append((data[:24], data[24:size]))
            data = data[size:]
        got = sock.recv(1 << 16)
        assert got, data
        data += got


def test_times(wirekv):
    """Seconds to live: what was set is what is shown, by whom it came."""
    reference.empty(wirekv)
    for text, reply, time in (
        (b"ms a 1 T100\r\nx\r\nmg a t\r\n", b"HD\r\nHD t\r\n", 100),
        (b"mg a t T500 s\r\nmg a T0 t\r\nmg a t\r\n", b"HD t s1\r\nHD t-1\r\nHD t-1\r\n", 100),
        (b"ma n t N3600 J5 v\r\nma n D7 v t\r\n", b"VA 1 t-1\r\n5\r\nVA 2 t\r\n12\r\n", 3600),
    ):
        said, [left] = timeless(ask(wirekv, text))
        assert said == reply and time - 60 < left <= time, (said, left)


def test_refused(wirekv):
    """What the card does not have, it says so, and nothing is changed by it."""
    reference.empty(wirekv)
    ask(wirekv, b"ms a 3\r\nabc\r\n")
    for flag in REFUSED[b"mg"]:
        assert ask(wirekv, b"mg a T9 %c\r\n" % flag) == b"CLIENT_ERROR invalid flag\r\n"
    assert ask(wirekv, b"mg a v t\r\n") == b"VA 3 t-1\r\nabc\r\n"
