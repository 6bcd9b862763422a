"""Lints everything: files made from others, Verilator -Wall, slang as Yosys has it, Verible (rules and format), Clippy,
rustfmt, cargo-deny.

    make lint       checks
    make format     scripts/lint.py --format: rewrites the SystemVerilog sources
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tb"))
from harness.boards import TOPS  # noqa: E402
from harness.filelist import CARD, expand  # noqa: E402

# Columns that an author has aligned by hand stay; the rest is Verible's layout.
FORMAT = ["--column_limit=100", "--indentation_spaces=2", "--wrap_spaces=4",
          "--try_wrap_long_lines=false"]
FORMAT += [f"--{what}_indentation=indent" for what in (
    "formal_parameters", "named_parameter", "named_port", "port_declarations")]
FORMAT += [f"--{what}_alignment=preserve" for what in (
    "assignment_statement", "case_items", "class_member_variable", "distribution_items",
    "enum_assignment_statement", "formal_parameters", "module_net_variable", "named_parameter",
    "named_port", "port_declarations", "struct_union_members")]


def sources():
    return sorted(str(p.relative_to(ROOT)) for d in ("rtl", "boards", "formal", "tb", "examples", "host")
                  for p in (ROOT / d).rglob("*.sv*"))


def run(what, command):
    """True when the command succeeds; shows its output when not."""
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    good = result.returncode == 0
    print(f"{'ok' if good else 'FAILED':8}{what}\n{'' if good else result.stdout}", end="", flush=True)
    return good


def verilator():
    """Every file list as it is served, and with the assertions of the tests."""
    for file_list in sorted(ROOT.glob("rtl/*/*.f")):
        name = str(file_list.relative_to(ROOT))
        files, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", name)
        command = ["verilator", "--lint-only", "-Wall", "--quiet", "rtl/lint.vlt",
                   *(f"+incdir+{i}" for i in includes), *map(str, files)]
        if file_list.with_suffix(".sv").exists():
            # Named: beside a second top, Verilator gives an instance its module's default widths.
            command += ["--top-module", file_list.stem]
        else:
            command += ["-Wno-MULTITOP"]
        if file_list.stem != "card":
            command += ["-Wno-UNUSEDPARAM"]  # a folder uses a part of what the packages offer
        variants = [[], ["-DSIMASSERT", "--assert"]]
        if name == CARD:
            # What a variant does not have is not read, either.
            variants += [["-DWIREKV_CONFIG=Small", "-Wno-UNUSEDSIGNAL"], ["-DWIREKV_CONFIG=Full"], ["-DWIREKV_CONFIG=Traced"]]
        for variant in variants:
            yield f"verilator {' '.join([name, *variant[:1]])}", [*command, *variant]
    for name, top in TOPS.items():
        files, includes = expand("rtl/pkg.f", "rtl/lib/lib.f", top.files, *top.models())
        yield f"verilator {top.files}", ["verilator", "--lint-only", "-Wall", "--quiet", *top.defines, "rtl/lint.vlt", "--top-module",
                                         name, *(f"+incdir+{i}" for i in includes), *map(str, files)]  # fmt: skip


def verible():
    yield "verible lint", ["verible-verilog-lint", "--rules_config=.rules.verible_lint", *sources()]
    yield "verible format", ["verible-verilog-format", *FORMAT, "--verify", "--inplace", *sources()]


def synthesis():
    """What Verilator takes and the synthesis does not."""
    for top in ("card", *TOPS):
        yield f"slang {top}", [sys.executable, "synth/report.py", top, "--read"]


def generated():
    """Files that are made from others, and were not made again."""
    yield "spec", [sys.executable, "spec/gen.py", "--check"]
    yield "figures", [sys.executable, "docs/pictures/draw.py", "--check"]
    yield "wirekv.core", [sys.executable, "scripts/core.py", "--check"]


def rust():
    # Debian's Rust has Clippy in a package of its own.
    have_clippy = subprocess.run(["cargo", "clippy", "--version"], capture_output=True).returncode == 0
    if have_clippy:
        clippy = ["cargo", "clippy", "--release", "--all-targets", "-q"]
        strict = ["--", "-D", "warnings"]
        yield "cargo clippy", [*clippy, "--workspace", *strict]
        for body in ("soft", "sim", "card", "soft,machine"):
            yield f"cargo clippy, {body} alone", [
                *clippy, "-p", "wirekv", "--no-default-features", "--features", body, *strict]
    else:
        print("skipped cargo clippy: not installed (rustup component add clippy, or Debian 12's rust-web-clippy)")
    # It takes minutes to compile, so it is not among the tools of `make setup`.
    if subprocess.run(["cargo", "deny", "--version"], capture_output=True).returncode == 0:
        yield "cargo deny", ["cargo", "deny", "check", "licenses", "bans", "sources"]
    else:
        print("skipped cargo deny: not installed (cargo install cargo-deny --locked)")
    yield "cargo fmt", ["cargo", "fmt", "--all", "--check"]
    yield "cargo fmt fuzz", ["cargo", "fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]


def main():
    os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "build" / "target"))
    if not shutil.which("verible-verilog-lint"):
        sys.exit("Verible is missing: run `make setup`, then `make lint`")
    if "--format" in sys.argv:
        subprocess.run(["verible-verilog-format", *FORMAT, "--inplace", *sources()], cwd=ROOT,
                       check=True)
        return
    # The longest first.
    commands = [*rust(), *verilator(), *synthesis(), *verible(), *generated()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda named: run(*named), commands))
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
