"""The firmware as a program of this machine, with the address and undefined-behaviour sanitizers."""

import subprocess

from harness import reference
from harness.filelist import ROOT

SOURCES = ["host.c", "frame.c", "server.c", "store.c", "policy.c", "accel.c", "unit.c"]
FLAGS = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=undefined"]  # fmt: skip


def build():
    """Compiles it; the program's path."""
    program = ROOT / "build" / "tb" / "firmware"
    program.parent.mkdir(parents=True, exist_ok=True)
    # Beside it first, so that another worker never starts half a program.
    made = program.with_name(f"firmware-{reference.free_port()}")
    subprocess.run(["gcc", *FLAGS, "-o", made, *SOURCES], cwd=ROOT / "firmware", check=True)
    made.rename(program)
    return program


def serve(program, megabytes=64, accelerator=None):
    """It as a server of datagrams; with an accelerator, of this seed."""
    port = reference.free_port()
    server = reference.Server("firmware", [program, *_unit(accelerator), megabytes, port])
    server.udp_port = server.port = port
    server.wait_until(lambda: "listening" in server.tail())
    return server


def _unit(seed):
    return [] if seed is None else ["-a", seed]


def answers(program, frames, megabytes=1, accelerator=None):
    """What it answers to these frames, in order; a number among them moves its clock by so many seconds."""
    data = b"".join(f.to_bytes(3, "big", signed=True)[2:].rjust(3, b"\0") if isinstance(f, int) else
                    len(f).to_bytes(2, "little") + f for f in frames)  # fmt: skip
    run = subprocess.run([str(word) for word in (program, *_unit(accelerator), megabytes)], input=data, capture_output=True, timeout=reference.SECONDS)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    out, found = run.stdout, []
    while out:
        length = int.from_bytes(out[:2], "little")
        found.append(out[2 : 2 + length])
        out = out[2 + length :]
    return found
