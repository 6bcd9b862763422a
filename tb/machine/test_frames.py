"""Frames of every kind into the firmware: scapy makes them and reads the answers, with a sanitizer in the firmware."""

import random

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from harness.firmware import answers, build
from harness.memcached.packets import whole
from harness.size import scale

ME, CLIENT = "02:57:4b:56:00:02", "02:00:00:00:00:01"
IP_ME, IP_CLIENT = "10.77.0.2", "10.77.0.1"
HEADER = b"\0\0\0\1\0\0"


@pytest.fixture(scope="module")
def firmware():
    return build()


def frame(*layers, dst=ME):
    made = Ether(src=CLIENT, dst=dst)
    for layer in layers:
        made = made / layer
    return bytes(made)


def request(text, ident=1, sport=40000, **ip):
    return frame(IP(src=IP_CLIENT, dst=IP_ME, **ip), UDP(sport=sport, dport=11211), Raw(ident.to_bytes(2, "big") + HEADER + text))


STATS = request(b"stats\r\n", ident=0xFFFF)


def counters(answer):
    lines = bytes(Ether(answer)[UDP].payload)[8:].split(b"\r\n")
    return {w[1].decode(): int(w[2]) for w in map(bytes.split, lines) if w[:1] == [b"STAT"]}


def right(answer):
    """An answer whose checksums are as scapy computes them."""
    got = Ether(answer)
    again = Ether(answer)
    for layer in (IP, UDP, ICMP):
        if layer in again:
            del again[layer].chksum
    assert bytes(Ether(bytes(again))) == bytes(got)
    assert (got.src, got.dst) == (ME, CLIENT)
    return got


def test_arp(firmware):
    who = Ether(src=CLIENT, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=CLIENT, psrc=IP_CLIENT, pdst=IP_ME)
    other = Ether(src=CLIENT, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=CLIENT, psrc=IP_CLIENT, pdst="10.77.0.3")
    says = Ether(src=CLIENT, dst=ME) / ARP(op=2, hwsrc=CLIENT, psrc=IP_CLIENT, pdst=IP_ME)
    answer, stats = answers(firmware, [bytes(who), bytes(other), bytes(says), bytes(who)[:41], STATS])
    got = right(answer)
    assert len(answer) == 60
    assert (got[ARP].op, got[ARP].hwsrc, got[ARP].psrc, got[ARP].hwdst, got[ARP].pdst) == (2, ME, IP_ME, CLIENT, IP_CLIENT)
    assert counters(stats) | {"arp": 1, "dropped_other": 2, "dropped_malformed": 1} == counters(stats)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 18, 56, 57, 1472, 8000])
def test_echo(firmware, size):
    data = bytes(n % 251 for n in range(size))
    ping = frame(IP(src=IP_CLIENT, dst=IP_ME, ttl=3), ICMP(type=8, id=7, seq=9), Raw(data))
    (answer,) = answers(firmware, [ping])
    got = right(answer)
    assert (got[IP].src, got[IP].dst, got[ICMP].type, got[ICMP].id, got[ICMP].seq) == (IP_ME, IP_CLIENT, 0, 7, 9)
    assert bytes(got[ICMP].payload)[:size] == data


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 195, 1360, 1500, 8000])
def test_get(firmware, size):
    value = bytes(97 + n % 26 for n in range(size))
    stored, *parts = answers(firmware, [request(b"set k 5 0 %d\r\n%s\r\n" % (size, value)), request(b"get k\r\n")])
    assert bytes(right(stored)[UDP].payload)[8:16] == b"STORED\r\n"
    text = b""
    for n, part in enumerate(parts):
        datagram = bytes(right(part)[UDP].payload)
        assert datagram[:8] == b"\0\1" + n.to_bytes(2, "big") + len(parts).to_bytes(2, "big") + b"\0\0"
        text += datagram[8:]
    assert text.rstrip(b"\0") == b"VALUE k 5 %d\r\n%s\r\nEND\r\n" % (size, value)


def test_no_checksum_of_zero(firmware):
    """Where UDP's checksum comes out as 0, which would say that there is none, it is sent as its complement."""
    (answer,) = answers(firmware, [request(b"version\r\n", ident=0)])
    # The checksum with request id 0 is what an id must be to bring the sum to all ones.
    (answer,) = answers(firmware, [request(b"version\r\n", ident=Ether(answer)[UDP].chksum)])
    assert Ether(answer)[UDP].chksum == 0xFFFF


def broken(good):
    """Frames of one that is right, each with what counts it."""
    def changed(**fields):
        packet = Ether(good)
        for name, value in fields.items():
            layer, field = name.split("_")
            setattr(packet[{"ip": IP, "udp": UDP}[layer]], field, value)
        if "ip_chksum" not in fields:
            del packet[IP].chksum
        return bytes(packet)

    def byte(at, flip):
        return good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :]

    yield good[:13], "malformed"
    yield good[:33], "malformed"
    yield good[:41], "malformed"
    yield changed(ip_chksum=0x1234), "checksum"
    yield changed(udp_chksum=0x1234), "checksum"
    yield byte(len(good) - 3, 1), "checksum"
    yield byte(30, 0), None
    yield changed(ip_len=19), "malformed"
    yield changed(ip_len=len(good)), "malformed"
    yield changed(ip_version=6), "malformed"
    yield changed(ip_ihl=4), "malformed"
    yield changed(ip_ihl=15), "malformed"
    yield changed(ip_flags="MF"), "fragments"
    yield changed(ip_frag=1), "fragments"
    yield changed(udp_len=7), "malformed"
    yield changed(udp_len=len(good)), "malformed"
    yield changed(ip_dst="10.77.0.9"), "other"
    yield changed(ip_src="224.0.0.1"), "other"
    yield changed(ip_src="255.255.255.255"), "other"
    yield changed(ip_src="127.0.0.1"), "other"
    yield changed(ip_proto=6), "other"
    yield changed(udp_dport=53), "other"
    yield byte(0, 4), "other"
    yield byte(6, 1), "malformed"
    yield good[:12] + b"\x86\xdd" + good[14:], "other"
    yield good + bytes(9019 - len(good)), "malformed"


def test_broken(firmware):
    """What is wrong is dropped and counted, and not answered; behind it all is as before."""
    good = request(b"version\r\n")
    for bad, why in broken(good):
        *rest, stats = answers(firmware, [bad, STATS])
        drops = {k: v for k, v in counters(stats).items() if k.startswith("dropped_") and v}
        assert drops == ({f"dropped_{why}": 1} if why else {}), (bad[:60].hex(), why)
        assert len(rest) == (why is None)
    # No checksum is one that is right; options of IP are passed over; what is behind the datagram is padding.
    none = Ether(good)
    none[UDP].chksum = 0
    options = request(b"version\r\n", options=b"\1\1\1\1")
    assert len(answers(firmware, [bytes(none), options, good + b"pad"])) == 3


def test_fuzzed(firmware, seed):
    """Frames with bytes changed, cut, glued and made up; the checksums of many are right again. None of them ends it, and
    an ordinary request behind them is answered."""
    rng = random.Random(seed)
    texts = [b"get k\r\n", b"gets k k2 k3\r\n", b"set k 1 0 5\r\nhello\r\n", b"incr n 5\r\n", b"set n 0 0 2\r\n99\r\n", b"delete k\r\n",
             b"cas k 0 0 1 1\r\nx\r\n", b"touch k 9\r\n", b"flush_all 5\r\n", b"\x80\0\0\1" + bytes(20) + b"k", b"\x80\1\0\1\x08" + bytes(6) + b"\x0a" + bytes(20) + b"kv",
             b"\x80\5\0\1\x14" + bytes(6) + b"\x15" + bytes(32) + b"k"]  # fmt: skip
    frames = []
    for _ in range(scale(20_000, 300_000)):
        text = bytearray(b"".join(rng.choices(texts, k=rng.randrange(1, 5))))
        for _ in range(rng.choice([0, 1, 1, 2, 8])):
            at = rng.randrange(len(text))
            text[at] = rng.choice([rng.randrange(256), text[at] ^ 1 << rng.randrange(8), 32, 10, 0, 255])
        del text[rng.choice([len(text), rng.randrange(len(text)) + 1]) :]
        length = 16 + len(text)
        made = bytearray(CHEAP)
        made[16:18] = (20 + length).to_bytes(2, "big")
        made[38:40] = length.to_bytes(2, "big")
        made += text
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            made[rng.randrange(len(made))] = rng.randrange(256)
        if rng.random() < 0.9:
            made[24:26] = bytes(2)
            total = sum(int.from_bytes(made[n : n + 2], "big") for n in range(14, 34, 2))
            total = (total & 0xFFFF) + (total >> 16)
            made[24:26] = ((total + (total >> 16)) & 0xFFFF ^ 0xFFFF).to_bytes(2, "big")
        frames.append(bytes(made[: rng.choice([len(made)] * 9 + [rng.randrange(1, len(made))])]))
    *_, last = answers(firmware, [*frames, request(b"version\r\n")])
    assert bytes(Ether(last)[UDP].payload)[8:].rstrip(b"\0") == b"VERSION 1.6.38\r\n"
    stats = counters(answers(firmware, [*frames, STATS])[-1])
    assert stats["datagrams"] > len(frames) / 2
    assert all(stats[f"dropped_{why}"] for why in ("malformed", "checksum", "other", "fragments"))


def test_errors_are_limited(firmware):
    """A thousand in a second, of both protocols together, and counted; what is no error has no limit."""
    bad, unknown, miss = request(b"nonsense\r\n"), request(whole(0x42)), request(b"get nothing\r\n")
    second = [bad, unknown] * 600 + [miss] * 1200
    *got, stats = answers(firmware, [*second, 1, *second, request(b"delete nothing\r\n"), STATS])
    assert counters(stats)["udp_errors_limited"] == 400
    kinds = [bytes(Ether(answer)[UDP].payload)[8:11] for answer in got]
    assert [kinds.count(kind) for kind in (b"ERR", b"\x81\x42\0", b"END", b"NOT")] == [1000, 1000, 2400, 1]


def cold(size, count):
    """Datagrams that store so many items of this size."""
    each = [b"set c%d 0 0 %d noreply\r\n%s\r\n" % (n, size, b"c" * size) for n in range(count)]
    together = max(1, 1300 // len(each[0]))
    return [request(b"".join(each[n : n + together])) for n in range(0, count, together)]


@pytest.mark.parametrize("size, count", [(0, 40_000), (1300, 1000)])
def test_accelerator_evictions(firmware, size, count):
    """Items give way to more than there is room for, in the index or in the log: their entries go first, or it ends."""
    keys = [b"k%d" % n for n in range(20)]
    frames = [request(text % key) for text in (b"set %s 0 0 1\r\nx\r\n", *[b"get %s\r\n"] * 5) for key in keys]
    *_, before, after = answers(firmware, [*frames, STATS, *cold(size, count), STATS], accelerator=0)
    before, after = counters(before), counters(after)
    assert before["unit_puts"] >= len(keys) and before["unit_dropped"] == before["evictions"] == 0
    assert after["unit_dropped"] == len(keys) and after["evictions"] > 100


def store_of(answer):
    """What the store has counted, of counters; another answer as it is."""
    return {k: v for k, v in counters(answer).items() if not k.startswith("unit_")} if b"STAT" in answer else answer


def test_accelerator(firmware, seed):
    """Commands on a few keys, among more items than there is room for, while time passes and goes back: an entry that is not
    the software's item, or a write that is left open, ends the program. What it answers is what it answers without one, and
    after each few commands as many items are there, have been over and have given way."""
    rng = random.Random(seed)
    keys = [b"k%d" % n * rng.choice([1, 1, 40]) for n in range(30)]
    hot, often = keys[:12], keys[12:] + keys[:12] * 3
    frames = []
    for n in range(scale(8_000, 300_000)):
        if n % 40 == 0:
            frames.append(STATS)
        key, what = rng.choice(often), rng.random()
        if 0.7 < what < 0.95 and rng.random() < 0.9:
            key = rng.choice(hot)
        value = rng.choice([b"7", b"99", b"x" * rng.randrange(1100), b"y" * rng.randrange(200)])
        flags, ends = rng.choice([0, 5, 2**32 - 1]), rng.choice([0, 0, 0, 1, 2, 9, -1])
        head = lambda verb, k=key, f=flags, e=ends, v=value: b"%s %s %d %d %d" % (verb, k, f, e, len(v))  # noqa: E731
        if what < 0.5:
            text = b"get %s\r\n" % key
        elif what < 0.7:
            text = b"".join(b"set c%d 0 0 0 noreply\r\n\r\n" % rng.randrange(10**6) for _ in range(40))
        elif what < 0.8:
            text = head(rng.choice([b"set", b"add", b"replace"])) + b"\r\n%s\r\n" % value
        elif what < 0.83:
            text = head(b"cas") + b" %d\r\n%s\r\n" % (rng.randrange(100), value)
        elif what < 0.9:
            text = rng.choice([b"incr %s 5\r\n", b"decr %s 1\r\n", b"incr %s 999999\r\n", b"delete %s\r\n"]) % key
        elif what < 0.93:
            text = b"touch %s %d\r\n" % (key, ends)
        elif what < 0.95:
            text = b"flush_all %d\r\n" % rng.choice([0, 1, 3, 5]) if rng.random() < 0.02 else b"gets %s %s\r\n" % (key, rng.choice(hot))
        elif what < 0.97:
            # A SET that is too large, in both protocols; an increment that makes an item; a delete.
            text = rng.choice([
                b"set %s 0 0 1048577\r\n" % key, whole(0x01, key, bytes(8), b"", body=1 << 20), whole(0x04, key), whole(0x14, key),
                whole(0x05, key, (3).to_bytes(8, "big") + (8).to_bytes(8, "big") + bytes(4)), whole(0x1C, key, bytes(4)),
                whole(0x11, key, bytes(8), value), whole(0x12, key, bytes(8), value), whole(0x13, key, bytes(8), value)])  # fmt: skip
        else:
            frames.append(rng.choice([1, 1, 1, -2]))
            continue
        frames.append(request(text))
    plain = answers(firmware, frames)
    with_it = answers(firmware, [*frames, STATS], accelerator=seed % 2**31 + 1)
    stats = counters(with_it.pop())
    assert [store_of(a) for a in with_it] == [store_of(a) for a in plain]
    assert all(stats[name] > 20 for name in ("evictions", "expired", "unit_puts", "unit_refused", "unit_dropped")) and stats["unit_all"] > 5, stats
    assert stats["unit_served"] > len(frames) and stats["unit_late"] == 0


#: Headers up to memcached's, without a UDP checksum.
CHEAP = request(b"")
CHEAP = CHEAP[:40] + bytes(2) + CHEAP[42:]
