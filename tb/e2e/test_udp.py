"""Every body and memcached 1.6.38 get the same datagrams and must answer with the same messages."""

import select

import pytest

from e2e import differ, reference, stream
from e2e.conftest import scale

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
