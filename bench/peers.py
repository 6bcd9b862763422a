"""The servers that are compared: how each is started, asked for its figures, and ended."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "build" / "target")) / "release"
OUT = ROOT / "build" / "bench"
VALKEY = ROOT / "build" / "valkey" / "valkey"

# Connections that a server must take, with some to spare for the bench itself.
CONNECTIONS = 2048
START_SECONDS = 30


class BenchError(Exception):
    """Ends the bench with a message for its user."""


def memcached_command(port, megabytes, threads=1):
    return [str(ROOT / "build/memcached/memcached"), "-l", "127.0.0.1", "-p", str(port), "-U", "0",
            "-u", "root", "-m", str(megabytes), "-t", str(threads), "-c", str(CONNECTIONS)]


def redis_command(port, megabytes, policy="allkeys-lru", program="redis-server"):
    return [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "",
            "--appendonly", "no", "--io-threads", "1", "--maxclients", str(CONNECTIONS),
            "--maxmemory", f"{megabytes}mb", "--maxmemory-policy", policy,
            "--dir", str(OUT)]


def redis_lfu_command(port, megabytes):
    return redis_command(port, megabytes, "allkeys-lfu")


def valkey_command(port, megabytes):
    return redis_command(port, megabytes, program=str(VALKEY))


def soft_command(port, megabytes, threads=1):
    return [str(TARGET / "wirekv"), "serve", "--body", "soft", "-l", "127.0.0.1", "-p", str(port),
            "-u", "root", "-m", str(megabytes), "-t", str(threads), "-c", str(CONNECTIONS)]


def soft_resp_command(port, megabytes, threads=1):
    """The same server, spoken to as one speaks to Redis."""
    return [*soft_command(0, megabytes, threads), "--redis-port", str(port)]


def redis_program():
    """Redis' program goes by several names. Debian's redis-tools has it as redis-check-rdb; the
    name that it is started by makes it the server."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


def program_of(command):
    """What is run under the command's name; None: it is missing."""
    return redis_program() if command[0] == "redis-server" else command[0]


def fetch(peer):
    """Only a part of the bench needs valkey: it is not there before."""
    if peer == "valkey" and not VALKEY.exists():
        done = subprocess.run([ROOT / "tb/reference/fetch.sh", peer], capture_output=True, text=True)
        if done.returncode:
            raise BenchError(f"{peer} cannot be fetched:\n{done.stderr.strip()}")


def secured(command, authority, certificate, key):
    """The same server, with TLS on its port."""
    if "--port" not in command and "--redis-port" not in command:
        return [*command, "-Z", "-o", f"ssl_chain_cert={certificate},ssl_key={key}"]
    options = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key),
               "--tls-auth-clients", "no"]
    if "--port" in command:
        options += ["--port", "0", "--tls-ca-cert-file", str(authority)]
    ports = ("--port", "--redis-port")
    return [*("--tls-port" if word in ports else word for word in command), *options]


COMMANDS = {"memcached": memcached_command, "redis": redis_command,
            "redis-lfu": redis_lfu_command, "valkey": valkey_command, "soft": soft_command,
            "soft-resp": soft_resp_command}
# What a row of the tables calls text is each server's own text protocol.
PROTOCOLS = {"memcached": {"text": "memcache_text", "binary": "memcache_binary"},
             "redis": {"text": "redis"},
             "redis-lfu": {"text": "redis"},
             "valkey": {"text": "redis"},
             "soft": {"text": "memcache_text", "binary": "memcache_binary"},
             "soft-resp": {"text": "redis"}}
# Which of them run with a number of threads.
OURS = ("soft", "soft-resp")
THREADED = ("memcached", *OURS)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def whole_bulk(answer):
    """RESP: a string's length comes first. Anything else that ends a line is an error."""
    head, end, rest = answer.partition(b"\r\n")
    return bool(end) and (head[:1] != b"$" or len(rest) == int(head[1:]) + 2)


class Server:
    """One server on a port of its own and on these CPUs, with a thread for each; with TLS, if there are files: those of
    who signs, of the certificate and of its key. To be used in a `with`."""

    def __init__(self, peer, megabytes, *cpus, options=(), tls=None):
        self.peer = peer
        self.options = options
        self.tls = tls
        self.load_options = ["--tls", "--cacert", tls[0]] if tls else []
        self.speaks_resp = PROTOCOLS[peer]["text"] == "redis"
        self.megabytes = megabytes
        self.cpus = cpus
        self.port = free_port()
        self.log = OUT / f"{peer}.log"
        self.process = None

    def __enter__(self):
        threads = {"threads": len(self.cpus)} if self.peer in THREADED else {}
        command = [*COMMANDS[self.peer](self.port, self.megabytes, **threads), *self.options]
        if self.tls:
            command = secured(command, *self.tls)
        program = program_of(command)
        if program is None or not Path(program).exists():
            raise BenchError(f"{self.peer}: {program or command[0]} is missing; run `make setup`"
                             + (" and `make server`" if self.peer in OURS else ""))

        def prepare():
            os.sched_setaffinity(0, self.cpus)
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            # Ctrl-C is for the bench, which then ends its servers.
            os.setpgrp()

        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, executable=program, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT,
                                            preexec_fn=prepare)
        try:
            self._wait_until_up(command)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_up(self, command):
        give_up = time.monotonic() + START_SECONDS
        while True:
            if self.process.poll() is not None:
                self._failed(command, f"ended at once, with status {self.process.returncode}")
            try:
                self.stats()
                return
            except (OSError, ValueError, BenchError):
                if time.monotonic() > give_up:
                    self._failed(command, f"does not answer after {START_SECONDS} s")
            time.sleep(0.05)

    def _failed(self, command, how):
        said = self.log.read_text(errors="replace").strip().splitlines()[-10:]
        lines = "\n".join(f"    {line}" for line in said) or "    (it said nothing)"
        raise BenchError(f"{self.peer} {how}.\n  {' '.join(command)}\n{lines}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def pause(self):
        """While another server is measured on the same CPU."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def _ask(self, request, complete):
        """The answer to a request, read until it is complete."""
        with contextlib.ExitStack() as stack:
            s = stack.enter_context(socket.create_connection(("127.0.0.1", self.port), 5))
            if self.tls:
                context = ssl.create_default_context(cafile=self.tls[0])
                s = stack.enter_context(context.wrap_socket(s, server_hostname="127.0.0.1"))
            s.sendall(request)
            answer = b""
            while not complete(answer):
                more = s.recv(65536)
                if not more:
                    raise BenchError(f"{self.peer} closed the connection on {request!r}")
                answer += more
        return answer.decode()

    def stats(self):
        """Number of items held, and of items evicted so far."""
        if self.speaks_resp:
            lines = self._ask(b"*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n", whole_bulk).split("\r\n")
            evicted = dict(line.split(":", 1) for line in lines if ":" in line)
            items = self._ask(b"*1\r\n$6\r\nDBSIZE\r\n", lambda a: a.endswith(b"\r\n"))
            return {"items": int(items[1:]), "evictions": int(evicted["evicted_keys"])}
        lines = self._ask(b"stats\r\n", lambda a: a.endswith(b"END\r\n")).split("\r\n")
        values = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))
        return {"items": int(values["curr_items"]), "evictions": int(values["evictions"])}

    def resident(self):
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


def version(peer):
    """What the peer calls itself."""
    command = COMMANDS[peer](0, 64)
    program = program_of(command)
    try:
        said = subprocess.run([command[0], "--version"], executable=program, capture_output=True,
                              text=True, timeout=10).stdout
    except (OSError, TypeError):
        return "missing"
    return said.strip().splitlines()[0] if said.strip() else "unknown"
