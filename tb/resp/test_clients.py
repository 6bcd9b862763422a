"""Clients that others wrote, unchanged: redis-py, go-redis, redis-cli, redis-benchmark. What they expect
of Redis they get from WireKV."""

import fcntl
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import termios
import time
from datetime import timedelta

import pytest
import redis as redis_py

from harness import reference
from harness.size import scale
from harness.threads import together

GO = reference.ROOT / "build" / "go"


@pytest.fixture(params=[2, 3])
def client(either, request):
    client = redis_py.Redis(either.host, either.port, protocol=request.param, socket_timeout=reference.SECONDS)
    client.flushall()
    yield client
    client.close()


def test_redis_py_strings(client):
    assert client.ping() is True and client.echo("x") == b"x"
    assert client.set("a", "1") is True and client.get("a") == b"1"
    assert client.get("nothing") is None
    assert client.set("a", "2", nx=True) is None
    assert client.set("a", "2", xx=True, get=True) == b"1"
    assert client.set("a", b"\x00\xff", ex=1000) and 900 < client.ttl("a") <= 1000
    assert client.set("a", "x", keepttl=True) and 900 < client.ttl("a") <= 1000
    assert client.getex("a", persist=True) == b"x" and client.ttl("a") == -1
    assert client.setnx("n", 5) is True and client.incr("n") == 6 and client.decr("n", 10) == -4
    assert client.incrbyfloat("f", 0.1) == 0.1 and client.incrbyfloat("f", 2) == 2.1
    assert client.append("text", "hello ") == 6 and client.append("text", "world") == 11
    assert client.getrange("text", 0, 4) == b"hello" and client.setrange("text", 6, "redis") == 11
    assert client.strlen("text") == 11 and client.getdel("text") == b"hello redis"
    assert client.mset({"x": 1, "y": 2}) is True and client.mget("x", "z", "y") == [b"1", None, b"2"]
    assert client.msetnx({"y": 1, "z": 2}) is False
    assert client.getset("x", "3") == b"1"
    with pytest.raises(redis_py.ResponseError, match="value is not an integer or out of range"):
        client.incr("a")
    with pytest.raises(redis_py.ResponseError, match="wrong number of arguments for 'get' command"):
        client.execute_command("GET")
    large = random.randbytes(700_000)
    assert client.set("large", large) and client.get("large") == large
    assert client.lcs("x", "y", len=True) in (0, b"0")


def test_redis_py_bits(client):
    assert client.setbit("bits", 7, 1) == 0 and client.getbit("bits", 7) == 1
    assert client.bitcount("bits") == 1 and client.bitpos("bits", 1) == 7
    client.set("other", b"\xf0")
    assert client.bitop("or", "both", "bits", "other") == 1 and client.get("both") == b"\xf1"
    assert client.bitfield("field").set("u8", 0, 200).incrby("u8", 0, 100, "SAT").get("i4", 0).execute() == [0, 255, -1]


def test_redis_py_keys(client):
    wanted = {b"key%d" % i for i in range(500)}
    pipe = client.pipeline(transaction=False)
    for key in wanted:
        pipe.set(key, key)
    assert pipe.execute() == [True] * 500
    assert set(client.scan_iter(count=17)) == wanted == set(client.keys("key*"))
    assert set(client.scan_iter("key1?")) == {b"key1%d" % i for i in range(10)}
    assert client.dbsize() == 500 and client.randomkey() in wanted
    assert client.exists("key1", "key2", "no") == 2 and client.delete("key1", "no") == 1
    assert client.unlink("key2") == 1 and client.touch("key3", "no") == 1
    assert client.rename("key3", "new") is True and client.get("new") == b"key3"
    assert client.renamenx("new", "key4") is False
    assert client.expire("new", timedelta(hours=1)) is True and 3500 < client.ttl("new") <= 3600
    assert client.expire("new", 10, gt=True) in (False, 0)
    assert client.expireat("new", 4102444800) is True and client.expiretime("new") == 4102444800
    assert client.pexpireat("new", 4102444800123) and client.pexpiretime("new") == 4102444800123
    assert client.persist("new") is True and client.pttl("new") == -1 and client.ttl("no") == -2
    assert client.copy("new", "copy") is True and client.type("copy") == b"string"
    assert client.object("encoding", "copy") in (b"embstr", "embstr")
    assert client.move("copy", 5)
    client.set("short", "x", px=20)
    time.sleep(0.04)
    assert client.get("short") is None and client.flushdb() is True and client.dbsize() == 0


def test_redis_py_transactions(client):
    client.set("n", 1)
    with client.pipeline() as pipe:
        assert pipe.incr("n").get("n").set("m", "x").execute() == [2, b"2", True]
    # Someone else comes in between.
    with client.pipeline() as pipe:
        pipe.watch("n")
        client.set("n", 7)
        pipe.multi()
        pipe.set("n", 0)
        with pytest.raises(redis_py.WatchError):
            pipe.execute()
    assert client.get("n") == b"7"
    # Each of several threads adds one again and again.
    client.set("sum", 0)
    rounds = scale(20, 500)

    def add(pipe):
        count = int(pipe.get("sum"))
        pipe.multi()
        pipe.set("sum", count + 1)

    def work(_):
        for _ in range(rounds):
            client.transaction(add, "sum")

    together(4, work)
    assert client.get("sum") == b"%d" % (4 * rounds)
    with client.pipeline() as pipe:
        pipe.set("a", 1).execute_command("SET", "a")
        with pytest.raises(redis_py.ResponseError):
            pipe.execute()
    assert client.get("a") is None


def test_redis_py_server(client):
    assert client.client_setname("me") is True
    assert client.client_getname() in (b"me", "me")
    assert client.client_id() > 0 and client.client_info()["name"] == "me"
    assert any(entry["name"] == "me" for entry in client.client_list())
    info = client.info()
    assert info["redis_version"].startswith("7.0") and info["connected_clients"] >= 1
    client.set("k", "v")
    assert client.info("keyspace")["db0"]["keys"] == 1
    assert int(client.config_get("maxmemory")["maxmemory"]) >= 0
    assert client.command_count() > 50 and "get" in client.command()
    assert client.memory_usage("k") > 0 and client.time()[0] > 1_700_000_000
    assert client.slowlog_reset() and client.slowlog_len() == 0
    assert client.config_resetstat() is True and client.wait(0, 10) == 0


def go_client():
    """The path of the client, which the first call compiles."""
    if (go := shutil.which("go")) is None:
        pytest.fail("go is missing: install golang-go (`make setup` does)")
    env = {**os.environ, "GOPATH": str(GO), "GOFLAGS": "-mod=readonly -modcacherw", "CGO_ENABLED": "0"}
    source = os.path.join(os.path.dirname(__file__), "goclient")
    done = subprocess.run([go, "build", "-o", GO / "client", "."], cwd=source, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"go-redis cannot be fetched or compiled:\n{done.stderr}"
    return GO / "client"


@pytest.mark.parametrize("protocol", [2, 3])
def test_go_redis(either, protocol):
    done = subprocess.run([go_client(), f"{either.host}:{either.port}", str(protocol)],
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ checks\n", done.stdout)


def cli(server, *words, given="", program="redis-cli", seconds=120):
    """What redis-cli or redis-benchmark prints, without an error."""
    if shutil.which(program) is None:
        pytest.fail(f"{program} is missing: install redis-tools (`make setup` does)")
    done = subprocess.run([program, "-p", str(server.port), *map(str, words)], input=given,
                          capture_output=True, text=True, timeout=seconds)  # fmt: skip
    assert done.returncode == 0 and "rror" not in done.stdout + done.stderr, f"{words}: {done}"
    return done.stdout


def fill(server):
    client = redis_py.Redis(server.host, server.port)
    client.flushall()
    pipe = client.pipeline(transaction=False)
    for i in range(2000):
        pipe.set(f"key:{i}", "v" * (i % 700))
    pipe.set("the largest", "x" * 5000).execute()
    client.close()


def test_redis_cli(either):
    fill(either)
    assert cli(either, "GET", "key:3") == "vvv\n"
    assert cli(either, "-3", "SET", "a", "1", "EX", "100", "GET") == "\n"
    assert cli(either, given="set b 'x y'\nget b\nincr n\nexists b nothing\nmget b nothing\n").split("\n") == [
        "OK", "x y", "1", "1", "x y", "", ""]  # fmt: skip
    keys = set(cli(either, "--scan").split("\n")[:-1])
    assert len(keys) == 2004 and "the largest" in keys
    assert set(cli(either, "--scan", "--pattern", "key:19?9").split()) == {f"key:19{i}9" for i in range(10)}
    largest = cli(either, "--bigkeys")
    assert re.search(r'Biggest string found [\'"]+the largest[\'"]+ has 5000 bytes', largest), largest
    assert "Sampled 2004 keys in the keyspace!" in largest
    assert "Sampled 2004 keys in the keyspace!" in cli(either, "--memkeys")
    piped = "".join(f"SET piped:{i} {i}\r\n" for i in range(1000))
    assert "errors: 0, replies: 1000" in cli_pipe(either, piped)
    stat(either, 3004)
    assert re.fullmatch(r"\d+ \d+ [\d.]+ \d+\n", cli(either, "--latency", "-i", "1")), "--latency"
    assert "keys" in cli(either, "INFO", "keyspace")


def cli_pipe(server, given):
    """Its summary says `errors: 0`."""
    done = subprocess.run(["redis-cli", "-p", str(server.port), "--pipe"], input=given, capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout


def stat(server, keys):
    """`redis-cli --stat` goes on until it is ended: a heading, and then lines of numbers."""
    with subprocess.Popen(["redis-cli", "-p", str(server.port), "--stat", "-i", "0.01"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:  # fmt: skip
        lines = [process.stdout.readline() for _ in range(8)]
        process.kill()
    assert re.match(r"keys +mem +clients +blocked +requests +connections", lines[1]), lines
    for line in lines[2:]:
        assert re.match(rf"{keys} +[\d.]+[BKMG] +\d+ +0 +\d+ \(\+\d+\) +\d+", line), lines


def test_redis_cli_interactive(either):
    """As someone sits before it: a terminal, prompts, hints from COMMAND DOCS."""
    fill(either)
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        os.execvpe("redis-cli", ["redis-cli", "-p", str(either.port)], {**os.environ, "TERM": "xterm"})
    said = b""

    def until(text):
        nonlocal said
        end = time.monotonic() + reference.SECONDS
        while text not in said:
            assert reference.readable(terminal, end - time.monotonic()), said
            said += os.read(terminal, 65536)
        found, said = said[: said.index(text)], said[said.index(text) + len(text) :]
        return found

    prompt = b"127.0.0.1:%d" % either.port
    for line, answer in ((b"set k v", b"OK"), (b"get k", b'"v"'), (b"incr n", b"(integer) 1"),
                         (b"get nothing", b"(nil)"), (b"incr k", b"(error) ERR value is not an integer or out of range"),
                         (b"mget k nothing", b"2) (nil)"), (b"multi", b"OK"), (b"get k", b"QUEUED"),
                         (b"exec", b'1) "v"'), (b"select 3", b"OK"), (b"hello 3", b'"proto"'),
                         (b"help get", b"group:")):  # fmt: skip
        # What is typed ahead of the prompt is thrown away.
        until(prompt)
        until(b"> ")
        os.write(terminal, line + b"\r")
        until(answer)
    until(b"> ")
    os.write(terminal, b"quit\r")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


@pytest.mark.parametrize("pipeline", [1, 16])
def test_redis_benchmark(either, pipeline):
    # The simulated card takes its time.
    count = scale(500, 20_000) if either.name == "before" else scale(20_000, 1_000_000)
    words = ["-t", "ping,set,get,incr,mset", "-P", pipeline, "-r", 1_000_000, "-n", count, "-q"]
    said = cli(either, *words, program="redis-benchmark", seconds=600)
    assert len(re.findall(r"requests per second", said)) == 6, said
