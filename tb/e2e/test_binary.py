"""The binary protocol: the simulated card and memcached 1.6.38 must send the same bytes back."""

import random
import socket

import pytest

from harness import reference
from harness.memcached import compare, packets
from harness.size import scale

HEADER = b"\x00\x00\x00\x01\x00\x00"


def test_one_connection(memcached, wirekv, seed):
    """Known and unknown requests, right and wrong ones, cut anywhere."""
    for server in (memcached, wirekv):
        reference.empty(server)
    compare.run((memcached, wirekv), "binary", seed, scale(3_500, 200_000))


@pytest.mark.parametrize("protocol", ["binary", "classic"])
def test_connections_at_once(memcached, wirekv, seed, protocol):
    """Eight connections at the same time; text is not disturbed by the other protocol's."""
    servers = (memcached, wirekv)
    for server in servers:
        reference.empty(server)
    compare.together(servers, protocol, seed, scale(1_200, 50_000), 8)


def some_packets(rng, count):
    """Requests that leave nothing to chance: no CAS unique is shown."""
    made = []
    for _ in range(count):
        key = bytes([rng.choice(b"abc")]) * rng.choice([1, 20, 41, 64, 250])
        extras = rng.getrandbits(32).to_bytes(4, "big") + bytes(4)
        value = rng.randbytes(rng.choice([0, 1, 5, 16, 17, 100, 3000]))
        delta = bytes(7) + b"\5" + bytes(7) + b"\x09" + rng.choice([bytes(4), b"\xff" * 4])
        made.append(rng.choice([
            lambda: packets.packet(rng.choice([0x00, 0x09, 0x0C, 0x0D]), key),
            lambda: packets.packet(rng.choice([0x01, 0x11, 0x12, 0x03]), key, extras, value),
            lambda: packets.packet(rng.choice([0x0E, 0x1A]), key, b"", value[:20]),
            lambda: packets.packet(rng.choice([0x04, 0x14]), key),
            lambda: packets.packet(rng.choice([0x1C, 0x1D, 0x24]), key, bytes(4)),
            lambda: packets.packet(rng.choice([0x05, 0x16]), b"n", delta),
            lambda: packets.packet(rng.choice([0x0A, 0x0B, 0x1B, 0x55])),
        ])())
    return b"".join(part for one in made for part in one)


def without_uniques(data):
    """Replies with zeros instead of their CAS uniques."""
    out, at = b"", 0
    while at < len(data):
        body = int.from_bytes(data[at + 8 : at + 12], "big")
        out += data[at : at + 16] + data[at + 24 : at + 24 + body]
        at += 24 + body
    return out


def talk(server, pieces):
    """What comes back until the reply to a `noop` at the end."""
    last = b"last"
    with server.connect() as sock:
        for piece in pieces:
            sock.sendall(piece)
        sock.sendall(packets.whole(0x0A, opaque=last))
        data = b""
        while not data.endswith(last + bytes(8)) or data[-24:-22] != b"\x81\x0a":
            got = sock.recv(1 << 16)
            assert got, f"closed behind {data!r}"
            data += got
    return without_uniques(data)


def test_cut_at_every_byte(memcached, wirekv, seed):
    """The same requests in two pieces, cut at each byte."""
    data = some_packets(random.Random(seed), 12)[:1200]
    for cut in range(0, len(data), scale(29, 1)):
        replies = []
        for server in (memcached, wirekv):
            reference.empty(server)
            with server.connect() as sock:
                sock.sendall(data[:cut] or b"\x80")
                sock.sendall(data[cut:] if cut else data[1:])
                sock.shutdown(socket.SHUT_WR)  # the last one may be cut off
                replies.append(read_all(sock))
        assert len(replies[0]) > 24
        assert without_uniques(replies[0]) == without_uniques(replies[1]), f"cut at {cut}"


def read_all(sock):
    """What comes until the server closes."""
    data = b""
    try:
        while got := sock.recv(1 << 16):
            data += got
    except ConnectionResetError:
        pass
    return data


def test_two_protocols_one_cache(wirekv):
    """What one protocol stores the other reads."""
    reference.empty(wirekv)
    set_ = packets.packet(0x01, b"shared", b"\0\0\0\x07" + bytes(4), b"binary")
    talk(wirekv, set_)
    with wirekv.connect() as sock:
        sock.sendall(b"get shared\r\nset shared 9 0 4\r\ntext\r\n\x80\r\n")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"VALUE shared 7 6\r\nbinary\r\nEND\r\nSTORED\r\nERROR\r\n"
    assert talk(wirekv, packets.packet(0x0C, b"shared")).startswith(
        b"\x81\x0c\x00\x06\x04\x00\x00\x00\x00\x00\x00\x0e" + bytes(4) + b"\0\0\0\x09sharedtext")


def test_datagrams(memcached, wirekv, seed):
    """Each datagram's first byte decides; each reply is a message of its own."""
    rng = random.Random(seed)
    servers = (memcached, wirekv)
    for server in servers:
        reference.empty(server)
    lanes = [server.datagrams() for server in servers]
    for number in range(scale(150, 3000)):
        data = some_packets(rng, rng.randrange(1, 5)) if number % 4 else b"get %s\r\n" % (b"a" * rng.choice([1, 20]))
        if len(data) > 1400:
            continue
        # A noop with a known opaque follows, so that the last message is known.
        tail = packets.whole(0x0A, opaque=number.to_bytes(4, "big")) if number % 4 else b""
        replies = []
        for lane in lanes:
            lane.send(number.to_bytes(2, "big") + HEADER + data + tail)
            messages = []
            while reference.readable(lane, reference.SECONDS):
                datagram = lane.recv(65536)
                assert datagram[:2] == number.to_bytes(2, "big")
                messages.append((datagram[2:8], datagram[8:] if not number % 4 else without(datagram[8:])))
                if datagram[8:].endswith((tail[12:16] + bytes(8)) if tail else b"END\r\n"):
                    break
            # For a quiet request that says nothing memcached sends a frame header alone.
            replies.append([message for message in messages if message[1]])
        assert replies[0] == replies[1], f"datagram {number}: {data[:100]!r}"
    for lane in lanes:
        lane.close()


def without(payload):
    """A datagram that begins a reply, without the CAS unique."""
    return payload[:16] + payload[24:] if payload[:1] == b"\x81" else payload


def test_wrong_ones_close(memcached, wirekv):
    """What is wrong is answered, if at all, and the connection is closed."""
    keys = [random.randbytes(random.choice((1, 20, 41, 250))) for _ in range(scale(1, 10))]
    for data in [*packets.TEXT, *(one for key in keys for one in [*packets.closes(packets.whole, key),
                                                                  *packets.closes_after_all(packets.whole, key)])]:
        # Wrong or not, memcached waits for as many bytes of extras and key as the header says.
        data += bytes(int.from_bytes(data[2:4], "big") + data[4]) * (data[0] == 0x80)
        replies = []
        for server in (memcached, wirekv):
            with server.connect() as sock:
                # It drops replies that were not sent yet.
                sock.sendall(packets.packet(0x0A)[0] + bytes(8))
                assert len(sock.recv(24)) == 24
                sock.sendall(data)
                replies.append(read_all(sock))
        assert without_uniques(replies[0]) == without_uniques(replies[1]), data


def test_stat_is_fresh(wirekv):
    """`stat` tells of what has just been done, as `stats` does."""
    with wirekv.connect() as s, s.makefile("rb") as replies:
        def misses():
            s.sendall(bytes([0x80, 0x10, *22 * [0]]))
            found = {}
            while True:
                head = replies.read(24)
                key, body = int.from_bytes(head[2:4], "big"), replies.read(int.from_bytes(head[8:12], "big"))
                if not key:
                    return int(found[b"get_misses"])
                found[body[:key]] = body[key:]

        before = misses()
        for n in range(1, 6):
            s.sendall(bytes([0x80, 0x00, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7, *12 * [0]]) + b"nothing")
            head = replies.read(24)
            assert head[7] == 1
            replies.read(int.from_bytes(head[8:12], "big"))
            assert misses() == before + n
