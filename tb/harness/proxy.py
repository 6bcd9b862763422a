"""A proxy that spoils some replies, or is in the way of requests: what a test is worth shows where it must fail."""

import contextlib
import select
import socket
import threading

from harness import reference


class Proxy:
    """Passes TCP to `server`; `spoil(reply bytes)` may change them, `hold(request bytes)` too. Either may take its time, and
    an OSError ends the connection. Looks like a server to a test."""

    def __init__(self, server, spoil, hold=bytes, port=0):
        self.server = server
        self.spoil, self.hold = spoil, hold
        self.name = "proxy"
        self.listener = socket.create_server(("127.0.0.1", port))
        self.host, self.port = self.listener.getsockname()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def connect(self, timeout=reference.SECONDS):
        s = socket.create_connection((self.host, self.port), timeout=timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def check_alive(self):
        self.server.check_alive()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.listener.close()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = self.server.connect()
        except OSError:
            return client.close()
        with client, server:
            while True:
                for s in select.select([client, server], [], [])[0]:
                    try:
                        data = s.recv(1 << 16)
                        if not data:
                            return
                        if s is client:
                            server.sendall(self.hold(data))
                        else:
                            client.sendall(self.spoil(data))
                    except OSError:
                        return
