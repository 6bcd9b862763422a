"""The firmware's memcached gets the same datagrams as memcached 1.6.38 and answers with the same messages, with a
sanitizer in it; without an accelerator and with one, which ends it when its entries are not the software's."""

import base64
import random
import socket
import time

import pytest

from harness.firmware import build, serve
from harness import differ, reference
from harness.memcached import stream
from harness.memcached.packets import closes, whole
from harness.size import scale

#: What it has of memcached's text commands.
COMMANDS = (b"get ", b"gets ", b"set ", b"add ", b"replace ", b"cas ", b"delete ", b"touch ", b"incr ", b"decr ",
            b"flush_all", b"version", b"mg ", b"mn")  # fmt: skip


@pytest.fixture(scope="module", params=[None, 1], ids=["alone", "accelerator"])
def servers(request):
    memcached = reference.memcached(*reference.ALL_OF_A_DATAGRAM)
    firmware = serve(build(), accelerator=request.param)
    yield memcached, firmware
    firmware.kill()
    memcached.stop()
    assert "Sanitizer" not in firmware.tail(400), firmware.tail(400)


@pytest.fixture
def run(servers, request):
    run = differ.UdpDiffer(*servers, label=request.node.name)
    yield run
    run.close()
    for server in servers:
        server.check_alive()


def send(run, *commands):
    run.run(stream.Burst([[c] for c in commands]))


@pytest.mark.parametrize("size", [0, 1, 36, 195, 1360, 1367, 1368, 1375, 1376, 2758, 2761, 8000])
def test_sizes(run, size):
    send(run, b"set k 7 0 %d\r\n" % size + b"v" * size + b"\r\n")
    send(run, b"get k\r\n")
    send(run, b"gets k nothing k\r\n", b"get nothing k\r\n", b"get k  k   \r\n")


def test_commands(run):
    for commands in (
        [b"set u 5 0 1\r\nx\r\n", b"get u\r\n", b"gets u\r\n", b"get nothing\r\n", b"get u nothing\r\n"],
        [b"set u 0 0 1 noreply\r\ny\r\n", b"get u\r\n", b"touch u 0\r\n", b"touch v 0\r\n", b"touch u x\r\n"],
        [b"incr u 1\r\n", b"delete u\r\n", b"delete u\r\n", b"delete u 0\r\n", b"delete\r\n"],
        [b"set n 3 0 1\r\n9\r\n", b"incr n 1\r\n", b"decr n 1 noreply\r\n", b"gets n\r\n", b"incr n x\r\n"],
        [b"set n 0 0 20\r\n18446744073709551615\r\n", b"incr n 1\r\n", b"get n\r\n", b"decr n 5\r\n", b"incr n 18446744073709551615\r\n"],
        [b"add n 0 0 1\r\nx\r\n", b"replace n 0 0 1\r\ny\r\n", b"replace m 0 0 1\r\ny\r\n", b"add m 0 0 1\r\nz\r\n"],
        [b"set u 0 0 3\r\nabcdef\r\n", b"foo\r\n", b"\r\n", b"get\r\n", b" get u\r\n", b"get"],
        [b"get " + b"l" * 251 + b"\r\n"],
        [b"get u " + b"l" * 251 + b"\r\n"],
        [b"delete " + b"l" * 251 + b"\r\n", b"incr " + b"l" * 251 + b" 1\r\n", b"touch " + b"l" * 251 + b" 0\r\n"],
        [b"set " + b"l" * 251 + b" 0 0 1\r\nx\r\n", b"set " + b"l" * 250 + b" 0 0 1\r\nx\r\n", b"get " + b"l" * 250 + b"\r\n"],
        [b"set u x 0 1\r\nx\r\n", b"set u 0 x 1\r\nx\r\n", b"set u 0 0 x\r\n", b"set u 0 0 -1\r\n", b"set u 0 0\r\n"],
        [b"cas n 0 0 1 999\r\nq\r\n", b"cas none 0 0 1 1\r\nq\r\n", b"cas n 0 0 1\r\nq\r\n", b"cas n 0 0 1 x\r\nq\r\n"],
        [b"set t 0 -1 1\r\nx\r\n", b"get t\r\n", b"set t 0 2592001 1\r\nx\r\n", b"get t\r\n", b"set t 0 100000 1\r\nx\r\n", b"get t\r\n"],
        [b"set t 0 2000000000 1\r\nx\r\n", b"touch t -1\r\n", b"get t\r\n"],
        [b"flush_all x\r\n", b"flush_all\r\n", b"get n\r\n", b"set n 0 0 1\r\n1\r\n", b"get n\r\n", b"flush_all noreply\r\n", b"get n\r\n"],
        [b"set a 0 0 1\r\n1\r\n", b"flush_all 0\r\n", b"get a\r\n", b"flush_all -1\r\n"],
        [b"get a"],
        [b""],
    ):  # fmt: skip
        send(run, *commands)


def test_meta(run):
    """`mg` with each flag of a read, of an item and of none."""
    long, unfit = b"l" * 250, base64.b64encode(b"a b").rstrip(b"=")
    send(run, b"set m 7 0 3\r\nabc\r\n", b"set t 0 100000 1\r\nx\r\n", b"set big 0 0 3000\r\n" + b"v" * 3000 + b"\r\n", b"mn\r\n")
    send(run, b"set %s 0 0 0\r\n\r\n" % long)
    for key in b"m", b"t", b"no", b"big", long, b"l" * 251:
        for flags in (b"", b" v", b" k", b" f", b" s", b" q", b" v q k f s", b" Oabc v", b" v O", b" O" + b"o" * 31, b" O" + b"o" * 32,
                      b" v v", b" k Oa k", b" v Z", b" S1", b" v\xff", b" u v", b" x I L1 P v", b" v  k ", b" v " + b" ".join([b"k"] * 30)):  # fmt: skip
            send(run, b"mg " + key + flags + b"\r\n")
    send(run, b"mg m\r\n", b"mg no q\r\n", b"mg no v k\r\n", b"mg m v c\r\n", b"mn\r\n", b"mg\r\n", b"mn x\r\n")
    send(run, b"mg t t v\r\n", b"mg m t\r\n")
    for code in b"bQ==", b"bm8=", b"bQ", b"b", b"====", b"bQ==bQ==", b"b-Q-=-=", b"!!!!", b"YQ=a", b"A" * 248, b"A" * 250, unfit:
        send(run, b"mg " + code + b" b k v\r\n", b"mg " + code + b" k b\r\n", b"mg " + code + b" b b\r\n", b"mg " + code + b" b q Oa\r\n")


@pytest.mark.parametrize("flag", [b"N30", b"R30", b"T30", b"E5", b"C5", b"D1", b"F1", b"J1", b"ME", b"h", b"l"])
def test_meta_refused(servers, flag):
    """What would change the item, and what only memcached knows, changes nothing."""
    error = b"CLIENT_ERROR invalid flag\r\n"
    requests = [b"set r 0 0 1\r\nx\r\n", b"mg r v %s\r\n" % flag, b"mg r t v\r\n", b"delete r\r\n", b"mg r %s\r\n" % flag, b"mg r v\r\n"]
    assert answers(servers[1], *requests) == [b"STORED\r\n", error, b"VA 1 t-1\r\nx\r\n", b"DELETED\r\n", error, b"EN\r\n"]


def test_time(run):
    """TTLs of a second or two, and a flush to come, as memcached's clock has them."""
    send(run, b"set t1 0 1 1\r\nx\r\n", b"set t9 0 9 1\r\nx\r\n", b"get t1 t9\r\n")
    send(run, b"touch t9 1\r\n")
    time.sleep(3)
    send(run, b"get t1\r\n", b"get t9\r\n")
    send(run, b"set f 0 0 1\r\nx\r\n", b"flush_all 2\r\n", b"get f\r\n")
    time.sleep(4)
    send(run, b"get f\r\n", b"set f 0 0 1\r\nx\r\n", b"get f\r\n")


def test_random_streams(run, seed):
    generator = stream.Generator(seed, prefix=b"u:", udp=True)
    while run.commands < scale(3_000, 50_000):
        burst = generator.datagram()
        # Of what it does not have, the data line would be another command.
        if all(known(c) for c in burst.commands):
            run.run(burst)


def known(command):
    first = command[0]
    first = first if isinstance(first, bytes) else b""
    return first.startswith(COMMANDS)


# -- the binary protocol

HEADER = b"\0\0\0\1\0\0"


def messages(server, *datagrams):
    """What a server answers to each of these, as lists of replies whose CAS unique only says whether there is one."""
    found = []
    with server.datagrams() as s:
        for n, datagram in enumerate(datagrams):
            s.send(bytes([0, 2 * n]) + HEADER + datagram)
            s.send(bytes([0, 2 * n + 1]) + HEADER + b"version\r\n")
            replies = []
            while reply := collect(s, 2 * n):
                replies.append(reply[:16] + bytes([reply[16:24] != bytes(8)]) + reply[24:])
            found.append(replies)
    return found


def collect(s, ident):
    """One message of a request; None where the next one's begins."""
    whole = b""
    while True:
        assert reference.readable(s, 10), f"no answer to {ident // 2}"
        data = s.recv(65536)
        if data[1] != ident:
            return None
        if len(data) == 8:  # memcached: an empty one of a quiet miss
            continue
        whole += data[8:]
        if data[3] + 1 == data[5]:
            return whole


def answers(server, *requests):
    """What it answers to each of these, in a datagram."""
    found = []
    with server.datagrams() as s:
        for request in requests:
            s.send(bytes(2) + HEADER + request)
            assert reference.readable(s, reference.SECONDS)
            found.append(s.recv(65536)[8:])
    return found


def same(servers, *datagrams):
    theirs, ours = (messages(s, *datagrams) for s in servers)
    for datagram, a, b in zip(datagrams, theirs, ours, strict=True):
        assert b == a, f"{datagram[:80]!r}: memcached says {a}, the firmware {b}"


def number(n):
    return n.to_bytes(8, "big")


def test_binary(servers):
    k, extras = b"b:key", bytes(8)
    flags = b"\0\0\1\7" + bytes(4)
    counter = number(5) + number(100) + bytes(4)
    none = number(5) + number(100) + b"\xff" * 4
    missing = number(999)
    same(
        servers,
        whole(0x08), whole(0x0A, opaque=b"abcd"), whole(0x0B),
        whole(0x01, k, flags, b"value"), whole(0x00, k), whole(0x0C, k), whole(0x09, k), whole(0x0D, k),
        whole(0x00, b"b:no"), whole(0x0C, b"b:no"), whole(0x09, b"b:no") + whole(0x0A), whole(0x0D, b"b:no") + whole(0x0A),
        whole(0x02, k, extras, b"x"), whole(0x03, k, extras, b"y"), whole(0x03, b"b:no", extras, b"y"),
        whole(0x02, b"b:new", extras, b"x"), whole(0x01, k, extras, b"z", cas=missing), whole(0x01, b"b:no", extras, b"z", cas=missing),
        whole(0x11, k, extras, b"q") + whole(0x00, k), whole(0x12, k, extras, b"q") + whole(0x0A),
        whole(0x05, b"b:n", none), whole(0x05, b"b:n", counter), whole(0x05, b"b:n", counter), whole(0x06, b"b:n", counter),
        whole(0x15, b"b:n", counter) + whole(0x00, b"b:n"), whole(0x06, b"b:n", number(10**6) + bytes(12)), whole(0x05, k, counter),
        whole(0x05, b"b:n", counter, cas=missing), whole(0x1C, b"b:n", bytes(4)), whole(0x1C, b"b:no", bytes(4)),
        whole(0x04, b"b:n", cas=missing), whole(0x04, b"b:n"), whole(0x04, b"b:n"), whole(0x14, b"b:n") + whole(0x0A),
        whole(0x01, k, bytes(4) + b"\xff" * 4, b"t"), whole(0x00, k), whole(0x01, k, bytes(4) + number(2592001)[4:], b"t") + whole(0x00, k),
        whole(0x01, k, extras, b"v" * 8000), whole(0x00, k), whole(0x0C, k), whole(0x18) + whole(0x00, k),
        whole(0x42), b"\x80", whole(0x00, k)[:-1],
    )  # fmt: skip


#: Binary commands that the firmware does not have: quit, append and prepend, get and touch, SASL.
MISSING = {0x07, 0x17, 0x0E, 0x0F, 0x1D, 0x20, 0x21}


def test_binary_closes(servers):
    """What would close a connection, each in a datagram of its own."""
    wrong = [b"".join(p) for p in closes(packet_of, b"k")]
    same(servers, whole(0x01, b"k", bytes(8), b"v"), *(p for p in wrong if p[1] not in MISSING))


def packet_of(*args, **more):
    return [whole(*args, **more)]


def test_cut(servers):
    """A store whose data does not end is dropped, whole, in both protocols."""
    cut = [whole(0x01, b"cut", bytes(8), b"short")[:-1], b"set cut 0 0 5\r\nshort\r", b"set cut 0 0 5\r\n", b"set cut 0 0 5"]
    *nothing, [reply] = messages(servers[1], *cut, b"get cut\r\n")
    assert nothing == [[]] * 4
    assert reply.startswith(b"END")


def test_too_large(servers):
    """The error, as memcached says it over TCP, and the old item is gone. Over UDP memcached says it when it has taken so
    many bytes of datagrams behind it, so it is not asked here."""
    firmware = servers[1]
    line = b"%s big 0 0 1048577\r\n"
    say = b"SERVER_ERROR object too large for cache\r\n"

    def texts(*datagrams):
        return messages(firmware, *datagrams)

    requests = [b"set big 0 0 1\r\nx\r\n", line % b"add", b"get big\r\n", line % b"set", b"get big\r\n"]
    assert answers(firmware, *requests) == [b"STORED\r\n", say, b"VALUE big 0 1\r\nx\r\nEND\r\n", say, b"END\r\n"]
    large = whole(0x01, b"big", bytes(8), b"", body=11 + (1 << 20))
    assert texts(large) == [[whole(0x01, b"", b"", b"Too large.", magic=0x81)[:6] + b"\0\3" + whole(0x01, b"", b"", b"Too large.")[8:16] + b"\0Too large."]]


# -- what nobody asked for

def test_replies_are_not_answered(servers):
    """What looks like a reply gets nothing, nor does a part of a message, nor what is too short."""
    firmware = servers[1]
    with firmware.datagrams() as s:
        for datagram in (b"\0\1" + HEADER + b"ERROR\r\n", b"\0\1" + HEADER + b"17\r\n", b"\0\1" + HEADER + b"\x81" + bytes(30),
                         b"\0\1\0\0\0\2\0\0get a\r\n", b"\0\1\0\0\0\1\0\0", b"", b"get a\r\n"):  # fmt: skip
            s.send(datagram)
        s.send(b"\0\2" + HEADER + b"version\r\n")
        assert reference.readable(s, reference.SECONDS)
        assert s.recv(65536)[:2] == b"\0\2"


@pytest.mark.parametrize("port", [11211, 999])
def test_no_errors_to_services(servers, port):
    """An error for a port where a service may be could go to and fro for ever; values are no errors."""
    firmware = servers[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError as e:
            pytest.skip(f"port {port}: {e}")
        s.connect((firmware.host, firmware.udp_port))
        for text in (b"nonsense\r\n", b"set a b c d\r\n", b"get nothing\r\n"):
            s.send(b"\0\1" + HEADER + text)
        assert reference.readable(s, reference.SECONDS)
        assert s.recv(65536)[8:] == b"END\r\n"


@pytest.mark.parametrize("accelerator", [None, 1])
def test_full(accelerator):
    """Twice what fits: the newest items are there, each with its own value."""
    firmware = serve(build(), megabytes=1, accelerator=accelerator)
    rng = random.Random(1)
    keys = [b"f:%d" % n for n in range(4000)]
    value = {k: bytes([97 + n % 26]) * rng.randrange(1, 900) for n, k in enumerate(keys)}
    with firmware.datagrams() as s:
        for k in keys:
            s.send(b"\0\1" + HEADER + b"set %s 0 0 %d\r\n%s\r\n" % (k, len(value[k]), value[k]))
            assert reference.readable(s, reference.SECONDS)
            assert s.recv(65536)[8:] == b"STORED\r\n"
        there = []
        for k in keys:
            s.send(b"\0\1" + HEADER + b"get %s\r\n" % k)
            assert reference.readable(s, reference.SECONDS)
            reply = s.recv(65536)[8:]
            there.append(reply != b"END\r\n")
            assert reply in (b"END\r\n", b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (k, len(value[k]), value[k]))
        s.send(b"\0\1" + HEADER + b"stats\r\n")
        assert reference.readable(s, reference.SECONDS)
        stats = s.recv(65536)
    firmware.kill()
    assert b"STAT curr_items %d\r\nSTAT evictions %d\r\n" % (sum(there), len(keys) - sum(there)) in stats
    assert all(there[-1000:]) and not any(there[:1000])
    assert 1500 < sum(there) < 2500
