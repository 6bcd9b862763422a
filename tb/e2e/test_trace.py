"""The trace of a connection's requests, told by `--demo`, against the waves of the card: the same points in the same clocks.
For a card that has both: make test CONFIG=Traced FEATURES=trace FOLDER=tb/e2e/test_trace.py."""

import contextlib
import urllib.error
import urllib.request
from collections import deque

import pytest

from harness import reference
from harness.filelist import VARIANT
from harness.reference import ask
from harness.structs import T

pytestmark = pytest.mark.skipif(VARIANT != "Traced", reason="CONFIG=Traced")

#: The user network gives its first eight clients port 1024, of addresses of their own; this is the ninth's.
PORT = 1025
#: What the card hands on, and when.
HANDED = {
    "segment": ("seg_valid", "seg_ready", "seg", "seg_beat"),
    "arrived": ("tcp_ev_valid", "tcp_ev_ready", "tcp_ev"),
    "request": ("req_valid", "req_ready", "req"),
    "log": ("put_valid", "put_ready", "put"),
    "result": ("res_valid", "res_ready", "res"),
    "chunk": ("chunk_valid", "chunk_ready", "chunk"),
    "reply": ("done_valid", "done_ready", "done"),
    "send": ("tcp_app_valid", "tcp_app_ready", "app"),
    "sent": ("txseg_valid", "txseg_ready", "txseg", "txseg_beat"),
    "frame": ("s_axis_rx_tvalid", "s_axis_rx_tready", "s_axis_rx_tdata", "s_axis_rx_tlast"),
    "framed": ("m_axis_tx_tvalid", "m_axis_tx_tready", "m_axis_tx_tdata", "m_axis_tx_tlast"),
    "enter": ("u_store.enter", "u_store.last_beat", "req"),
    "hash": ("u_store.hashed_valid", "u_store.hashed_ready"),
    "execute": ("u_store.reqs_valid", "u_store.reqs_pop", "u_store.reqs"),
    "value": ("u_store.out_valid", "u_store.out_ready", "u_store.out"),
    "open": ("open", "open", "open_conn", "u_tcp.open_port_o"),
}


def cycles(waves, names):
    """Of each clock, what the signals are when its edge comes: numbers, by name."""
    import pylibfst

    fst = pylibfst.lib.fstReaderOpen(str(waves).encode())
    assert fst != pylibfst.ffi.NULL
    _, signals = pylibfst.get_scopes_signals2(fst)
    handles = {}
    for name, signal in signals.by_name.items():
        handles[name.split(" [")[0].removeprefix("card.card.")] = signal.handle
    wanted = {name: handles[name] for name in names}
    pylibfst.lib.fstReaderClrFacProcessMaskAll(fst)
    for handle in wanted.values():
        pylibfst.lib.fstReaderSetFacProcessMask(fst, handle)
    changes, at = [], {}

    def change(_, time, handle, value):
        changes.append((time, handle, pylibfst.string(value)))

    pylibfst.fstReaderIterBlocks(fst, change)
    pylibfst.lib.fstReaderClose(fst)
    # Two dumps a clock, 2 ns apart: before the edge, and behind it.
    changes.sort(key=lambda c: c[0])
    changes = deque(changes)
    last = changes[-1][0]
    for cycle in range(last // 4 + 1):
        while changes and changes[0][0] <= 4 * cycle:
            _, handle, value = changes.popleft()
            at[handle] = value
        yield cycle, {name: at.get(handle, "0") for name, handle in wanted.items()}


def port_of(data, which):
    """In a frame's first beat, over IPv4 and without a tag."""
    frame = int(data, 2).to_bytes(64, "little")
    return int.from_bytes(frame[34 + which : 36 + which], "big") if frame[12:14] == b"\x08\x00" else None


def points_in(waves):
    """What happened of the connection from `PORT`, by clock, from the beginning on."""
    names = {name for signals in HANDED.values() for name in signals}
    ours, known = None, []
    first = dict.fromkeys(("frame", "segment", "sent", "framed"), True)
    entered, values = deque(), deque()
    for cycle, now in cycles(waves, names):
        handed = {what: now for what, (valid, ready, *_) in HANDED.items() if now[valid] == now[ready] == "1"}

        def word(what, struct):
            return struct.unpack(int(now[HANDED[what][2]], 2))  # noqa: B023

        points = set()
        for what, port in (("frame", lambda: port_of(now["s_axis_rx_tdata"], 0)),  # noqa: B023
                           ("framed", lambda: port_of(now["m_axis_tx_tdata"], 2)),  # noqa: B023
                           ("segment", lambda: word("segment", T.seg_t)["peer"]["port"]),  # noqa: B023
                           ("sent", lambda: word("sent", T.txseg_t)["peer"]["port"])):  # noqa: B023
            if what in handed:
                if first[what] and port() == PORT:
                    points.add(what)
                last = now[HANDED[what][3]]
                first[what] = last == "1" if len(last) == 1 else last[-1] == "1"
        for what, struct in (("arrived", T.ev_t), ("reply", T.done_t), ("send", T.app_t)):
            if what in handed and word(what, struct)["conn"] == ours:
                points.add(what)
        for what, struct in (("request", T.req_t), ("result", T.res_t), ("log", T.put_t)):
            if what in handed:
                record = word(what, struct)
                if record["conn"] == ours and not record["udp"] and record.get("start", True):
                    points.add(what)
        if "hash" in handed and entered.popleft():
            points.add("hash")
        if "enter" in handed:
            record = word("enter", T.req_t)
            entered.append(record["conn"] == ours and not record["udp"])
        if "execute" in handed:
            record = T.req_t.unpack(int(now["u_store.reqs"], 2) >> len(now["u_store.reqs"]) - T.req_t.width)
            if record["conn"] == ours and not record["udp"]:
                points.add("execute")
        if "chunk" in handed:
            if values[0]:
                points.add("value")
            if word("chunk", T.chunk_t)["last"]:
                values.popleft()
        if "value" in handed:
            record = word("value", T.res_t)
            if record["kind"] == T.RsValue:
                values.append(record["conn"] == ours and not record["udp"])
        if "open" in handed and int(now["u_tcp.open_port_o"], 2) == PORT:
            ours = int(now["open_conn"], 2)
        if points:
            known.append((cycle, points))
    return known


class Demo:
    """`/trace` of a server."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/trace"

    def post(self, port, **headers):
        """Status and text."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.url}?port={port}", b"", {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=reference.SECONDS) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def records(self):
        with urllib.request.urlopen(self.url, timeout=reference.SECONDS) as reply:
            lines = [line.split() for line in reply.read().decode().splitlines()]
        return [(int(clock), set(points)) for clock, *points in lines]


def test_as_the_waves(tmp_path):
    """A store, reads of a short and a long value, a miss, a delete; another connection between them."""
    port, waves = reference.free_port(), tmp_path / "waves.fst"
    options = ("--metrics", f"127.0.0.1:{port}", "--demo", "--trace", waves)
    told = []
    with reference.wirekv(*options, megabytes=64, connections=16) as server:
        demo = Demo(port)
        assert demo.post(PORT) == (200, "")
        with contextlib.ExitStack() as clients:
            other, *_, client = (clients.enter_context(server.connect()) for _ in range(9))
            for request, end in ((b"set key 0 0 5\r\nvalue\r\n", b"STORED\r\n"), (b"get key\r\n", b"END\r\n"),
                                 (b"set long 0 0 3000\r\n" + bytes(3000) + b"\r\n", b"STORED\r\n"),
                                 (b"get long\r\n", b"END\r\n"), (b"get absent\r\n", b"END\r\n"),
                                 (b"delete key\r\n", b"DELETED\r\n")):
                assert demo.post(PORT) == (200, "")
                ask(client, request, end)
                ask(other, b"set other 0 0 1\r\nx\r\n", b"STORED\r\n")
                told.append(demo.records())
    known = dict(points_in(waves))
    for records in told:
        assert 8 <= len(records) <= 64
        start = {clock - records[0][0] for clock in known if known[clock] == records[0][1]}
        # Where it began is not told: one beginning fits, and then all does.
        fits = [begin for begin in start if all(known.get(begin + clock) == points for clock, points in records)]
        assert len(fits) == 1, records
        begin = fits[0]
        between = [clock for clock in known if begin + records[0][0] <= clock <= begin + records[-1][0]]
        assert len(between) == len(records)
    of_get = [points for _, points in told[1]]
    for point in ("frame", "segment", "arrived", "request", "hash", "execute", "result", "value", "reply", "send",
                  "sent", "framed"):
        assert any(point in points for points in of_get), point
    assert any("log" in points for _, points in told[0]) and not any("log" in points for points in of_get)


def test_no_other_site():
    """Who asks for another site is refused, and so is what marks nobody."""
    port = reference.free_port()
    with reference.wirekv("--metrics", f"127.0.0.1:{port}", "--demo", megabytes=64, connections=16):
        demo = Demo(port)
        own = f"http://127.0.0.1:{port}"
        for status, headers in ((200, {}), (200, {"Origin": own}), (200, {"Sec_Fetch_Site": "same-origin"}),
                                (403, {"Origin": "http://example.com"}), (403, {"Origin": "null"}),
                                (403, {"Sec_Fetch_Site": "cross-site"}), (403, {"Sec_Fetch_Site": "same-site"}),
                                (403, {"Content_Type": "text/plain"})):
            assert demo.post(PORT, **headers)[0] == status, headers
        for bad in ("", "0", "65536", "-1", "1&port=2", "9" * 6000):
            assert demo.post(bad)[0] == 400, bad
