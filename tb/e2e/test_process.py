"""What the command line says about the process: as whom, where, and what is not for this body."""

import os
import pwd
import re
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from harness import reference, watch
from harness.resp import wire

BODIES = ["sim", "soft"]
root = pytest.mark.skipif(os.geteuid() != 0, reason="for root")


def command(body, *options):
    serve = [reference.WIREKV, "serve", "--body", body, "-p", reference.free_port()]
    return [str(word) for word in [*serve, *options]]


def run(argv):
    """Of a server that does not start: its exit status and what it says."""
    done = subprocess.run(argv, capture_output=True, timeout=60, text=True)
    return done.returncode, done.stderr.strip().removeprefix("wirekv: ")


def status(pid, field):
    text = Path(f"/proc/{pid}/status").read_text()
    return re.search(rf"^{field}:\s+(.*)$", text, re.M)[1].split()


def test_log_lines_are_the_servers_own():
    """-vv: what clients say is in the log, and neither ends a line, nor fills it, nor gets to a terminal as it is."""
    port = reference.free_port()
    server = reference.wirekv("-vv", "--redis-port", port, megabytes=64)
    try:
        with server.connect() as s:
            reference.ask(s, b"stats \x1b[2J\x07\rwirekv: forged\xff\r\n", b"\r\n")
        with socket.create_connection((server.host, port), reference.SECONDS) as s:
            reference.ask(s, wire.request(b"ECHO", b"first\nwirekv: forged\n" + b"y" * 500), b"y\r\n")
    finally:
        assert server.stop() == 0
    log = server.log.read_bytes()
    assert rb"stats \x1b[2J\x07\rwirekv: forged\xff" in log and rb"first\nwirekv: forged" in log
    assert all(byte == 10 or 32 <= byte < 127 for byte in log)
    assert not [line for line in log.split(b"\n") if line.startswith(b"wirekv: forged") or len(line) > 600]


@root
@pytest.mark.parametrize("user", [[], ["-u", "nobody-of-this-name"]], ids=["none", "unknown"])
def test_root_says_as_whom(user):
    """memcached's words and exit status."""
    port = reference.free_port()
    theirs = run([reference.MEMCACHED, "-l", "127.0.0.1", "-p", str(port), *user])
    assert theirs[0] > 0
    assert [run(command(body, *user)) for body in BODIES] == [theirs, theirs]


@root
@pytest.mark.parametrize("body", BODIES)
def test_root_serves_as_another(body):
    nobody = pwd.getpwnam("nobody")
    with reference.wirekv("-u", "nobody", body=body, megabytes=64) as server:
        assert status(server.process.pid, "Uid") == [str(nobody.pw_uid)] * 4
        assert status(server.process.pid, "Gid") == [str(nobody.pw_gid)] * 4
        assert status(server.process.pid, "Groups") == [str(nobody.pw_gid)]
        assert status(server.process.pid, "CapEff") == ["0" * 16]
        assert reference.stats(server)["curr_connections"] == "1"


@pytest.mark.parametrize("body", BODIES)
def test_pid_file(body, tmp_path):
    path = tmp_path / "pid"
    server = reference.wirekv("-P", path, body=body, megabytes=64)
    try:
        # The program says that it listens before others can see the file.
        assert watch.settle(lambda: path.exists() and path.read_text(), f"{server.process.pid}\n")
        assert int(path.read_text()) == server.process.pid
    finally:
        server.stop()
    assert not path.exists()


@pytest.mark.parametrize("body", BODIES)
def test_pid_file_that_cannot_be(body, tmp_path):
    missing = tmp_path / "no" / "pid"
    status, says = run(command(body, *reference.AS_ROOT, "-P", missing))
    assert status == 1 and f"-P: cannot write {missing}" in says


@pytest.mark.parametrize("body", BODIES)
def test_daemon(body, tmp_path):
    """In the background: the command is over, the server is in a session of its own."""
    path = tmp_path / "pid"
    argv = command(body, *reference.AS_ROOT, "-d", "-P", path)
    port = int(argv[argv.index("-p") + 1])
    # A descriptor that the server kept would make this wait for the server's end.
    done = subprocess.run(argv, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert watch.settle(lambda: path.exists() and path.read_text().endswith("\n"), True)
    pid = int(path.read_text())
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=reference.SECONDS) as s:
            assert b"STAT pid %d\r\n" % pid in reference.ask(s, b"stats\r\n", b"END\r\n")
        assert os.getsid(pid) == pid != os.getsid(0)
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)} == {"/dev/null"}
        os.kill(pid, signal.SIGTERM)
        assert watch.settle(path.exists, False) is False
    finally:
        if path.exists():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("body", BODIES)
def test_core_limit(body):
    """-r: up to the hard limit, or past it with the right to do so."""

    def bounded():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 1_000_000))

    for options, limits in (([], [("0", "1000000")]),
                            (["-r"], [("1000000", "1000000"), ("unlimited", "unlimited")])):  # fmt: skip
        argv = command(body, *reference.AS_ROOT, *options)
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              preexec_fn=bounded) as server:  # fmt: skip
            assert b"listening on" in server.stdout.readline()
            text = Path(f"/proc/{server.pid}/limits").read_text()
            assert re.search(r"Max core file size +(\w+) +(\w+)", text).groups() in limits
            server.terminate()
        assert server.returncode == 0


@pytest.mark.parametrize(
    "body, flag",
    [("sim", flag) for flag in "-s/x -F -M -t1 -omodern -A -k".split()]
    + [("soft", flag) for flag in "--net=user --pcap=/x --trace=/x --mtu=1500".split()],
)
def test_a_flag_of_the_other_body(body, flag):
    """Each flag there is is tried in host/wirekv/src/args.rs; these, whether the program says so."""
    status, says = run(command(body, *reference.AS_ROOT, flag))
    other = "soft" if body == "sim" else "sim"
    assert status == 2 and f"is a flag of --body {other}" in says
