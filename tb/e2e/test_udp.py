"""Every body and memcached 1.6.38 get the same datagrams and must answer with the same messages."""

import select
import socket
import time

import pytest

from harness import differ, reference
from harness.memcached import stream
from harness.size import scale

# Reply lengths around what one, two and three datagrams carry (1,392 bytes each).
SIZES = [0, 1, 1366, 1367, 1368, 1369, 1370, 1375, 1376, 2758, 2759, 2760, 2761, 2762, 20_000, 50_000]


@pytest.fixture(scope="module")
def servers(memcached, bodies):
    """All servers hold values that do not fit into a request datagram."""
    for server in (memcached, *bodies):
        with server.connect() as s:
            for size in SIZES:
                line = b"set big%d %d 0 %d\r\n" % (size, size, size)
                reference.ask(s, line + b"v" * size + b"\r\n", b"STORED\r\n")
    return memcached, *bodies


def send(run, *commands):
    run.run(stream.Burst([[c] for c in commands]))


@pytest.mark.parametrize("size", SIZES)
def test_long_replies(servers, size):
    run = differ.UdpDiffer(*servers, label=f"udp_long_{size}")
    key = b"big%d" % size
    send(run, b"get " + key + b"\r\n")
    send(run, b"gets " + key + b"\r\n")
    send(run, b"get " + key + b" nothing\r\n")
    send(run, b"get big0 " + key + b" big1\r\n", b"version\r\n")
    run.close()


def test_commands(servers):
    run = differ.UdpDiffer(*servers, label="udp_commands")
    for commands in (
        [b"set u 5 0 1\r\nx\r\n"],
        [b"get u\r\n", b"gets u\r\n", b"get nothing\r\n", b"get u nothing\r\n", b"get nothing u\r\n"],
        [b"set u 0 0 1 noreply\r\ny\r\n", b"get u\r\n"],
        [b"set u 0 0 1 noreply\r\nz\r\n"],
        [b"version\r\n"] * 8,
        [b"incr u 1\r\n", b"touch u 0\r\n", b"delete u\r\n", b"delete u\r\n"],
        [b"set n 0 0 1\r\n9\r\n", b"incr n 1\r\n", b"decr n 1 noreply\r\n", b"get n\r\n"],
        [b"add n 0 0 1\r\nx\r\n", b"replace n 0 0 1\r\ny\r\n", b"gat 0 n u\r\n", b"gats -1 n\r\n"],
        [b"set u 0 0 3\r\nabcdef\r\n", b"foo\r\n", b"\r\n", b"get\r\n"],
        [b"get " + b"l" * 251 + b"\r\n", b"version\r\n"],
        [b"set u x 0 1\r\nx\r\n", b"set u 0 0 -1\r\n", b"verbosity x\r\n", b"flush_all x\r\n"],
        [b"version\r\n", b"get u"],
        [b"get u"],
        [b"version"],
        [b""],
        [b"set u 0 0 1360\r\n" + b"q" * 1360 + b"\r\n", b"get u\r\n"],
        [b"flush_all\r\n", b"get u\r\n"],
    ):
        send(run, *commands)
    run.close()


def test_header(servers):
    """A datagram that is not one whole request is ignored; sequence and reserved do not matter."""

    def answer(server, datagram):
        with server.datagrams() as s:
            s.send(datagram)
            s.send(b"\x12\x34\0\0\0\1\0\0version\r\n")
            replies = []
            while not replies or replies[-1][:2] != b"\x12\x34":
                assert select.select([s], [], [], reference.SECONDS)[0], f"{server.name} is silent"
                replies.append(s.recv(2048))
            return replies[:-1]

    header = b"\xab\xcd\0\0\0\1\0\0"
    cases = [header[:n] for n in range(9)] + [
        b"\xab\xcd\0\5\0\1\xff\xffversion\r\n",
        b"\xab\xcd\0\0\0\0\0\0version\r\n",
        b"\xab\xcd\0\0\0\2\0\0version\r\n",
        b"\xab\xcd\0\1\0\2\0\0version\r\n",
        b"\0\0\0\0\0\1\0\0version\r\n",
        b"\xff\xff\0\0\0\1\0\0version\r\n",
    ]
    for case in cases:
        theirs, *others = (answer(server, case) for server in servers)
        for ours in others:
            assert theirs == ours, f"datagram {case!r}"


def test_quit_ends_the_datagram(body):
    with body.datagrams() as s:
        s.send(b"\0\1\0\0\0\1\0\0version\r\nquit\r\nversion\r\n")
        s.send(b"\0\2\0\0\0\1\0\0version\r\n")
        replies = []
        while select.select([s], [], [], reference.SECONDS if len(replies) < 2 else 0.2)[0]:
            replies.append(s.recv(2048))
    assert [r[:2] for r in replies] == [b"\0\1", b"\0\2"]


def test_incomplete_data_is_dropped(body):
    """memcached would wait for it in the next datagram of whomever. Here it leaves no trace."""
    with body.datagrams() as s:
        s.send(b"\0\1\0\0\0\1\0\0set half 0 0 100\r\nabc")
        s.send(b"\0\2\0\0\0\1\0\0get half\r\n")
        assert select.select([s], [], [], reference.SECONDS)[0], "no answer behind incomplete data"
        assert s.recv(2048) == b"\0\2\0\0\0\1\0\0END\r\n"


def test_random_streams(servers, seed):
    run = differ.UdpDiffer(*servers, label=f"udp_{seed}")
    generator = stream.Generator(seed, prefix=b"u:", udp=True)
    generator.cold += [b"big%d" % size for size in SIZES[:-2]] * 40
    while run.commands < scale(3_000, 50_000):
        run.run(generator.datagram())
    run.close()


# -- what nobody asked for, and errors: the sender's address may be a lie

HEADER = b"\0\0\0\1\0\0"
#: Of any memcached, in both protocols: text of every kind, meta commands', statistics, a number.
REPLIES = [b"ERROR", b"CLIENT_ERROR bad data chunk", b"SERVER_ERROR out of memory storing object", b"STORED", b"NOT_FOUND",
           b"END", b"VALUE k 0 1\r\nx\r\nEND", b"17", b"HD", b"EN", b"MN", b"OK", b"RESET", b"VERSION 1.6.38", b"STAT pid 1"]


def answers(s, *texts):
    """The replies to datagrams with `texts`, each with the number of its datagram."""
    for number, text in enumerate((*texts, b"version\r\n")):
        s.send(number.to_bytes(2, "big") + HEADER + text)
    replies = []
    while not replies or replies[-1][0] != len(texts):
        assert reference.readable(s, reference.SECONDS), "no answer to the datagram behind"
        data = s.recv(2048)
        replies.append((int.from_bytes(data[:2], "big"), data[8:]))
    return replies[:-1]


def counted(server, *names):
    sub = b" card" if server.name == "sim" else b""
    with server.connect() as s:
        lines = reference.ask(s, b"stats%s\r\n" % sub, b"END\r\n").split(b"\r\n")
    rows = dict(line.split()[1:] for line in lines[:-2])
    return [int(rows[name]) for name in names]


IGNORED = {"sim": b"IngressUdpBad", "soft": b"udp_ignored"}
LIMITED = {"sim": b"EgressErrorLimit", "soft": b"udp_errors_limited"}
SERVICES = {"sim": b"EgressErrorService", "soft": b"udp_errors_to_services"}


def test_replies_are_no_requests(body):
    """A reply that comes as a request is answered by none, or two servers would go on for ever: neither one of ours,
    nor what another one says. An error that comes back is the end of it."""
    name, = IGNORED[body.name],
    binary = [bytes([0x81, 0, 0, 0, 0, 0, 0, status, *16 * [0]]) for status in (0, 1, 0x81)]
    before, = counted(body, name)
    with body.datagrams() as s:
        assert answers(s, *(reply + b"\r\n" for reply in REPLIES), *binary) == []
        back = [b"foo\r\n", b"get nothing\r\n", b"set x\r\n", b"incr x y\r\n", b"mn\r\n", bytes([0x80, 0x55, *22 * [0]])]
        said = [text for _, text in answers(s, *back)]
        assert len(said) == len(back) and said[0] == b"ERROR\r\n" and said[-1][:1] == b"\x81"
        assert answers(s, *said) == []
        # What begins like no reply is a request, right or wrong.
        assert [text for _, text in answers(s, b"\r\n", b"@\r\n", b"[\r\n", b"/\r\n", b":\r\n")] == [b"ERROR\r\n"] * 5
    assert counted(body, name)[0] - before == len(REPLIES) + len(binary) + len(said)


def test_errors_are_limited(body):
    """Of errors some go at once, then one a millisecond; the others are counted. Other answers are not limited."""
    name, sent, said, begin = LIMITED[body.name], 0, 0, time.monotonic()
    before, = counted(body, name)
    with body.datagrams() as s:
        for _ in range(20):
            texts = [b"foo\r\n", b"get nothing\r\n"] * 50
            replies = answers(s, *texts)
            assert [n for n, text in replies if text == b"END\r\n"] == list(range(1, 100, 2))
            sent, said = sent + 50, said + sum(text == b"ERROR\r\n" for _, text in replies)
    limited = counted(body, name)[0] - before
    assert said + limited == sent
    # An idle card hears of some milliseconds later.
    assert said <= 50 + 1000 * (time.monotonic() - begin) + 25, (said, limited)


def test_services_get_no_errors(body):
    """To a port where a service may be goes no error: below 1,024, memcached's, and the server's own. What else is
    asked from there is answered."""
    name = SERVICES[body.name]
    ports = [body.udp_port, body.port, 11211, 1023]
    for port in (*ports, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                s.bind(("127.0.0.2", port))
            except PermissionError:
                assert port == 1023
                continue
            s.connect((body.host, body.udp_port))
            before, = counted(body, name)
            replies = answers(s, b"foo\r\n", b"get nothing\r\n", bytes([0x80, 0x55, *22 * [0]]), b"set x\r\n")
            wanted = [1] if port else [0, 1, 2, 3]
            assert [n for n, _ in replies] == wanted, port
            assert counted(body, name)[0] - before == 4 - len(wanted)
