"""What the benches of all boards do with the card in the middle: bring it up by its registers, and be a client of it over TCP,
host software at its punt port, and host software that answers what it punts."""

import random

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from harness.clock import clocks, until
from harness.csr_map import REGISTERS

MAC, CLIENT_MAC = "02:57:4b:56:00:01", "02:00:00:00:00:63"
ADDRESS, CLIENT = "10.0.0.2", "10.0.0.99"
PORT = 11211
WIRE, HOST, PUNTED = range(3)
INDEX_BITS, LOG_LINES = 8, 4096


class Board:
    """`got[c]`: frames that the card has given on a channel, in order. A bench has `send(c, frame)`, `read(addr)`, `write(addr,
    value)` and `dut`."""

    async def until(self, done, what, limit=20_000):
        assert await until(self.dut, done, limit, 8), what

    async def next(self, channel, what):
        await self.until(lambda: self.got[channel], what)
        return self.got[channel].pop(0)

    async def bring_up(self):
        """As host software does it (host/card/src/init.rs)."""
        assert await self.read(REGISTERS["ID"].addr) == 0x574B5631
        assert await self.read(REGISTERS["ENABLE"].addr) == 0
        conns = await self.read(REGISTERS["CONNS"].addr)
        settings = {
            "MAC_LOW": int(MAC.replace(":", ""), 16) & 0xFFFFFFFF, "MAC_HIGH": int(MAC.replace(":", ""), 16) >> 32,
            "IP": int.from_bytes(bytes(map(int, ADDRESS.split("."))), "big"), "TCP_PORT": PORT, "HOLD_MAX": 1 << 20, "MTU": 1500,
            "INDEX_BASE": 0, "LOG_BASE": 1 << 20, "RX_RING_BASE": 1 << 21, "TX_RING_BASE": 1 << 22, "INDEX_BITS": INDEX_BITS,
            "LOG_LINES": LOG_LINES, "ITEM_MAX": 1 << 20, "MAX_CONNS": conns, "TIME_WAIT_MS": 10,
            "MILLISECONDS": 0, "UNIX_SECONDS": 1_800_000_000}  # fmt: skip
        for name, value in settings.items():
            await self.write(REGISTERS[name].addr, value)
        for name in ("TCP_SECRET", "HASH_MIX", "HASH_NH"):
            for n in range(REGISTERS[name].words):
                odd = name == "HASH_MIX" and n % 2 == 0
                await self.write(REGISTERS[name].addr + 4 * n, random.getrandbits(32) | odd)
        await self.write(REGISTERS["INDEX_ZERO"].addr, 1)
        for _ in range(100):
            status = await self.read(REGISTERS["STATUS"].addr)
            if not status >> 3 & 1:
                break
        assert not status >> 3 & 3, "the index is not zero"
        await self.write(REGISTERS["ENABLE"].addr, 1)
        await clocks(self.dut, 5000)  # until the tables of a new secret are written


class Client:
    """A memcached client with a TCP of its own, which loses nothing: each segment's bytes are the next ones."""

    def __init__(self, board, port):
        self.board, self.port, self.seq, self.ack, self.bytes = board, port, random.getrandbits(32), 0, b""

    def segment(self, flags, data=b"", options=()):
        ip = Ether(src=CLIENT_MAC, dst=MAC) / IP(src=CLIENT, dst=ADDRESS)
        tcp = TCP(sport=self.port, dport=PORT, flags=flags, seq=self.seq, ack=self.ack, window=65535, options=list(options))
        self.board.send(WIRE, bytes(ip / tcp / data))
        self.seq = (self.seq + len(data) + ("S" in flags)) % (1 << 32)

    def say(self, data):
        for at in range(0, len(data), 1400):
            self.segment("PA", data[at : at + 1400])

    async def receive(self):
        """The next segment; its checksums are right."""
        raw = await self.board.next(WIRE, f"nothing came for {self.port}; so far {self.bytes}")
        assert len(raw) >= 60
        frame = Ether(raw)
        said = frame[IP].chksum, frame[TCP].chksum
        del frame[IP].chksum, frame[TCP].chksum
        again = Ether(bytes(frame))
        assert (again[IP].chksum, again[TCP].chksum) == said
        assert frame.dst == CLIENT_MAC and frame[TCP].dport == self.port and "R" not in frame[TCP].flags, frame.summary()
        return frame[TCP], bytes(frame[TCP].payload)[: frame[IP].len - 20 - 4 * frame[TCP].dataofs]

    async def open(self):
        self.segment("S", options=[("MSS", 1460)])
        tcp, _ = await self.receive()
        assert tcp.flags == "SA" and tcp.ack == self.seq
        self.ack = (tcp.seq + 1) % (1 << 32)
        self.segment("A")
        return self

    async def ask(self, request, end):
        """Sends a request and gives what the card replies up to `end`."""
        self.say(request)
        return await self.reply(end)

    async def reply(self, end):
        while not self.bytes.endswith(end):
            tcp, data = await self.receive()
            if data:
                assert tcp.seq == self.ack, "a segment is not the next one"
                self.ack = (self.ack + len(data)) % (1 << 32)
                self.bytes += data
                self.segment("A")
        reply, self.bytes = self.bytes, b""
        return reply


async def set_and_get(client, key, value):
    assert await client.ask(b"set %s 7 0 %d\r\n%s\r\n" % (key, len(value), value), b"\r\n") == b"STORED\r\n"
    assert await client.ask(b"get %s\r\n" % key, b"END\r\n") == b"VALUE %s 7 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)


async def other_frames(board):
    """What the card does not serve comes to the host, and what the host sends leaves."""
    for size in (0, 1, 22, 500, 1400):
        frame = bytes(Ether(src=CLIENT_MAC, dst=MAC) / IP(src=CLIENT, dst=ADDRESS) / UDP(sport=9, dport=53) / random.randbytes(size))
        frame = frame.ljust(60, b"\0")
        board.send(WIRE, frame)
        assert await board.next(HOST, f"no frame of {len(frame)} bytes for the host") == frame
        frame = bytes(Ether(src=MAC, dst=CLIENT_MAC, type=0x88B5)) + random.randbytes(max(size, 46))
        board.send(HOST, frame)
        assert await board.next(WIRE, f"no frame of {len(frame)} bytes of the host's") == frame


async def punted(board, client):
    """A command that the hardware does not run: its words come to the host, whose answer goes to the client."""
    client.say(b"stats nothing\r\n")
    packet = await board.next(PUNTED, "nothing was punted")
    length = packet[4]
    assert packet[64 : 64 + length] == b"stats nothing", packet
    answer = b"STAT of hosts\r\nEND\r\n"
    board.send(PUNTED, packet[:4] + len(answer).to_bytes(2, "little") + b"\1" + bytes(57) + answer)
    assert await client.reply(b"END\r\n") == answer


async def serve(board):
    """All of it, twice, with items in between that stay."""
    client = await Client(board, 40000).open()
    await set_and_get(client, b"small", b"a value")
    await other_frames(board)
    large = random.randbytes(5000)
    await set_and_get(client, b"large", large)
    await punted(board, client)
    other = await Client(board, 40001).open()
    await set_and_get(other, b"third", random.randbytes(300))
    assert await other.ask(b"get small\r\n", b"END\r\n") == b"VALUE small 7 7\r\na value\r\nEND\r\n"
    assert await client.ask(b"get absent\r\n", b"END\r\n") == b"END\r\n"
    return client
