"""A read may end before all is read that has come: behind a byte of urgent data, and, on a UNIX domain socket,
behind a descriptor. What stands behind it is served all the same."""

import array
import signal
import socket
import time

import pytest

from harness import reference
from harness.resp import servers, wire

# Read one by one, or, where there is io_uring, a group with one system call.
COUNTS = (1, 16)


def stopped(server, work):
    """While `work` is done the server does nothing: it finds all that has come at once."""
    server.pause()
    try:
        work()
        # It has come.
        time.sleep(0.05)
    finally:
        server.process.send_signal(signal.SIGCONT)


def urgent(connection):
    connection.sendall(b"get a\r\n")
    connection.send(b"!", socket.MSG_OOB)
    connection.sendall(b"get b\r\nversion\r\n")


def descriptor(connection):
    """Without a reply to the first command: whoever takes one wakes the server."""
    with open("/dev/null") as file:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))
        connection.sendmsg([b"set a 0 0 1 noreply\r\n1\r\n"], [rights])
    connection.sendall(b"get a\r\nversion\r\n")


def answers(server, connections, send):
    """What each is answered, up to the version."""
    stopped(server, lambda: [send(connection) for connection in connections])
    return [reference.ask(connection, b"", b"VERSION 1.6.38\r\n", 20) for connection in connections]


@pytest.mark.parametrize("count", COUNTS)
def test_urgent_data(count):
    """memcached leaves out the urgent byte, and so does this server; more of it comes later."""
    said = []
    for server in (reference.memcached(), reference.soft()):
        with server:
            connections = [server.connect() for _ in range(count)]
            for connection in connections:
                reference.ask(connection, b"set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\n", b"STORED\r\nSTORED\r\n")
            said.append([answers(server, connections, urgent) for _ in range(3)])
            for connection in connections:
                connection.close()
    assert said[0] == said[1]
    assert said[0][0] == [b"VALUE a 0 1\r\n1\r\nEND\r\nVALUE b 0 1\r\n2\r\nEND\r\nVERSION 1.6.38\r\n"] * count


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("start", [servers.redis, servers.soft])
def test_urgent_data_to_redis(start, count):
    with start() as server:
        clients = [wire.Client(server) for _ in range(count)]

        def send(client):
            client.socket.sendall(wire.request(b"ECHO", b"a"))
            client.socket.send(b"!", socket.MSG_OOB)
            client.socket.sendall(wire.request(b"ECHO", b"b"))

        for _ in range(3):
            stopped(server, lambda: [send(client) for client in clients])
            assert [(client.reply(), client.reply()) for client in clients] == [(b"a", b"b")] * count
        for client in clients:
            client.close()


@pytest.mark.parametrize("count", COUNTS)
def test_descriptors(count, tmp_path):
    path = tmp_path / "socket"
    with reference.soft("-s", path) as server:
        connections = []
        for _ in range(count):
            connections.append(socket.socket(socket.AF_UNIX))
            connections[-1].connect(str(path))
            reference.ask(connections[-1], b"version\r\n", b"VERSION 1.6.38\r\n")
        for _ in range(3):
            assert answers(server, connections, descriptor) == [b"VALUE a 0 1\r\n1\r\nEND\r\nVERSION 1.6.38\r\n"] * count
        for connection in connections:
            connection.close()
