"""What is there for others to take: examples/, wirekv.core, the forms and jobs of .github."""

import re
import shlex
import subprocess

import pytest
import yaml

from harness import reference
from harness.filelist import CARD, ROOT, expand

EXAMPLES = ROOT / "examples"


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def test_board_top():
    """Verilator takes it without a warning."""
    sources, includes = expand(CARD, "examples/board_top.sv")
    subprocess.run(["verilator", "--lint-only", "-Wall", "--quiet", "rtl/lint.vlt", "--top-module", "board_top",
                    *(f"+incdir+{folder}" for folder in includes), *map(str, sources)], check=True)  # fmt: skip


# ---------------------------------------------------------------- the compose file

SERVICES = read("examples/compose.yaml")["services"]


def test_compose_builds_what_is_there():
    build = SERVICES["cache"]["build"]
    dockerfile = (EXAMPLES / build["context"] / build["dockerfile"]).resolve()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", dockerfile.read_text(), re.M))
    default = re.fullmatch(r"\$\{IMAGE:-(\w+)\}", build["target"])[1]
    others = re.findall(r"IMAGE=(\w+)", (EXAMPLES / "compose.yaml").read_text())
    assert {default, *others} == {"soft", "card"} <= stages
    assert set(re.findall(r"--from=(\S+)", dockerfile.read_text())) <= stages
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= SERVICES.keys()


@pytest.mark.parametrize("body", ["soft", "sim"])
def test_compose(body):
    """The cache's command and its clients', with addresses of this machine: what one stores the other reads."""
    serve, *words = shlex.split(SERVICES["cache"]["command"])
    assert serve == "serve" and words[words.index("-p") + 1] == "11211" and words[words.index("--redis-port") + 1] == "6379"
    port, redis_port = reference.free_port(), reference.free_port()
    server = reference.Server("compose", [reference.WIREKV, "serve", *words, "--body", body, "-p", port, "--redis-port", redis_port,
                                          *reference.AS_ROOT])  # fmt: skip
    try:
        server.wait_until(lambda: reference.accepts(port) and reference.accepts(redis_port))
        redis = shlex.split(SERVICES["redis-client"]["command"])
        assert redis[:5] == ["redis-cli", "-h", "cache", "-p", "6379"]
        run(["redis-cli", "-p", str(redis_port), *redis[5:]], b"OK\n")
        shell, flag, script = SERVICES["memcached-client"]["command"]
        assert script.endswith("| nc cache 11211")
        run([shell, flag, script.replace("nc cache 11211", f"nc 127.0.0.1 {port}")], b"VALUE greeting 0 5\r\nhello\r\nEND\r\n")
    finally:
        server.stop()


def run(command, prints):
    done = subprocess.run(command, check=True, capture_output=True, timeout=reference.SECONDS)
    assert done.stdout == prints


# ---------------------------------------------------------------- the core

def test_core():
    """It has the card's files in their order; `make lint` looks whether it is as it was made."""
    core = read("wirekv.core")
    files = core["filesets"]["rtl"]["files"]
    headers = [next(iter(file)) for file in files if isinstance(file, dict)]
    sources, includes = expand(CARD)
    assert [ROOT / file for file in files if isinstance(file, str)] == sources
    assert headers and {(ROOT / header).parent for header in headers} == set(includes)
    assert all((ROOT / file).is_file() for file in headers) and all(source.is_file() for source in sources)
    assert core["targets"]["default"]["toplevel"] == "card" == sources[-1].stem


# ---------------------------------------------------------------- .github

def test_jobs():
    """Together they do what .ci/run does."""
    (job,) = read(".github/workflows/ci.yml")["jobs"].values()
    assert "make ${{ matrix.targets }}" in [step.get("run") for step in job["steps"]]
    done = {word for entry in job["strategy"]["matrix"]["include"] for word in entry["targets"].split()}
    wanted = set(re.sub(r"&&|exec|make", "", (ROOT / ".ci" / "run").read_text().splitlines()[-1].partition("make")[2]).split())
    recipe = re.search(r"^test: server .*## every test.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
    parts = set(re.findall(r"test-[a-z0-9]+", recipe))
    assert "test" in wanted and len(parts) == 4
    assert wanted - {"test"} | parts | {"server"} == done


def test_issue_form():
    """As GitHub wants it: each field has a name of its own and a label."""
    form = read(".github/ISSUE_TEMPLATE/bug.yml")
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["type"] in ("input", "textarea", "dropdown") and field["attributes"]["label"] for field in fields)
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names) and "replay" in names
