"""The package in a bare Debian 12: install, serve as the unit does, upgrade, remove. Part of `make test-long`
(`make test-package`): it compiles the program twice and fetches a root."""

import os
import re
import shlex
import shutil
import subprocess
import time

import pytest

from harness import reference
from harness.filelist import ROOT
from harness.memcached import values
from harness.size import LONG

pytestmark = [
    pytest.mark.skipif(not LONG, reason="part of make test-long: make test-package"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a root of its own takes root"),
]

OUT = ROOT / "build" / "package"
VERSIONS = "0.0.1", "0.0.2"
#: The commands of the guide that are for a machine with the package.
GUIDE = re.findall(r"^(?:dpkg|printf|make package) *.*$", (ROOT / "docs" / "OPERATING.md").read_text(), re.M)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Both versions' package and tarball."""
    folder, made = tmp_path_factory.mktemp("packages"), []
    for version in VERSIONS:
        done = subprocess.run([ROOT / "deploy" / "package.sh"], env=os.environ | {"VERSION": version}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (deb,) = OUT.glob(f"wirekv_{version}_*.deb")
        tarball = next(OUT.glob(f"wirekv-{version}-*.tar.gz"), None)
        made.append([shutil.copy(file, folder) if file else done.stderr for file in (deb, tarball)])
    return made


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Debian 12 that has what every Debian has and no more."""
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not there")
    tar = tmp_path_factory.mktemp("bare") / "root.tar"
    subprocess.run(["mmdebstrap", "--variant=minbase", "bookworm", tar], check=True, capture_output=True)
    return tar


@pytest.fixture
def root(bare, tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    subprocess.run(["tar", "-xf", bare, "-C", folder, "--exclude=./dev/*"], check=True)
    (folder / "dev").mkdir(exist_ok=True)
    # The scripts of packages write there.
    subprocess.run(["mknod", "-m", "666", folder / "dev" / "null", "c", "1", "3"], check=True)
    return folder


def within(root, *command, user=None):
    as_user = [f"--userspec={user}:{user}"] if user else []
    return ["chroot", *as_user, str(root), *map(str, command)]


def run(root, *command, **more):
    done = subprocess.run(within(root, *command, **more), capture_output=True, text=True,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(root, deb, command="dpkg -i build/package/wirekv_*.deb"):
    """By the guide's command, where `make package` has put it."""
    folder = root / "tmp" / "build" / "package"
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    shutil.copy(deb, folder)
    return run(root, "sh", "-ec", f"cd /tmp && {command}")


def start(root):
    """As the unit says: its program, its flags, its user, its folder."""
    unit = dict(re.findall(r"^(\w+)=(.*)$", (root / "lib/systemd/system/wirekv.service").read_text(), re.M))
    flags = re.search(r'^OPTIONS="(.*)"$', (root / unit["EnvironmentFile"].lstrip("-/")).read_text(), re.M)[1]
    user = unit["User"]
    folder = root / "run" / unit["RuntimeDirectory"]
    folder.mkdir(mode=0o700, exist_ok=True)
    run(root, "chown", f"{user}:{user}", f"/run/{unit['RuntimeDirectory']}")
    words = shlex.split(unit["ExecStart"].replace("$OPTIONS", flags))
    server = reference.Server("packaged", within(root, *words, user=user))
    reference.listen_address(server)
    uid = int(run(root, "id", "-u", user))
    assert uid != 0 and os.stat(f"/proc/{server.process.pid}").st_uid == uid
    assert os.readlink(f"/proc/{server.process.pid}/exe").endswith("/usr/bin/wirekv")
    return server


def test_install_upgrade_remove(root, packages):
    before = set(run(root, "find", "/", "-xdev", "-not", "-path", "/var/*", "-not", "-path", "/tmp/*").splitlines())
    (old, _), (new, _) = packages
    make, first, version_, again, remove, purge = GUIDE
    assert make == "make package"
    install(root, old, first)
    version = lambda: run(root, "dpkg-query", "-W", "-f", "${Version}", "wirekv")  # noqa: E731
    assert version() == VERSIONS[0]
    for file in ("usr/share/man/man1/wirekv-serve.1.gz", "usr/share/bash-completion/completions/wirekv",
                 "usr/share/zsh/vendor-completions/_wirekv", "usr/share/fish/vendor_completions.d/wirekv.fish",
                 "usr/share/doc/wirekv/OPERATING.md", "usr/share/doc/wirekv/copyright"):  # fmt: skip
        assert (root / file).stat().st_size > 0
    page = run(root, "sh", "-c", "zcat /usr/share/man/man1/wirekv-serve.1.gz")
    assert "memory\\-limit" in page and "redis\\-port" in page and "pages" not in run(root, "wirekv", "--help")
    log = run(root, "sh", "-c", "zcat /usr/share/doc/wirekv/changelog.gz")
    assert log.startswith(f"wirekv ({VERSIONS[0]}) unstable; urgency=medium\n\n  * ")
    assert len(re.findall(r"^ -- .* <.*>  \w{3}, \d+ \w{3} \d{4} ", log, re.M)) == len(re.findall(r"^wirekv \(", log, re.M)) > 1

    # What an operator writes stays.
    default = root / "etc/default/wirekv"
    port = reference.free_port()
    default.write_text(default.read_text().replace("-p 11211", f"-p {port}"))
    with start(root) as server:
        assert server.port == port
        said = subprocess.run(version_.replace("11211", str(port)), shell=True, check=True, capture_output=True).stdout
        assert said == b"VERSION 1.6.38\r\n"
        client = values.Client(server)
        stored = {b"key%d" % i: values.make(b"key%d" % i, i, 1 + i * 37 % 5000) for i in range(2000)}
        assert all(client.set(key, value) == b"STORED\r\n" for key, value in stored.items())
        # As with the unit: the files are new when the old program is asked to end.
        install(root, new, again)
        assert version() == VERSIONS[1] and str(port) in default.read_text()
        assert client.get(b"key1999") == stored[b"key1999"]
    with start(root) as server:
        client = values.Client(server)
        assert all(client.get(key) == value for key, value in stored.items())
        assert (root / "run/wirekv/items").exists()
    run(root, "sh", "-ec", remove)
    assert default.exists() and not (root / "run/wirekv").exists() and not (root / "usr/bin/wirekv").exists()
    run(root, "sh", "-ec", purge)
    after = set(run(root, "find", "/", "-xdev", "-not", "-path", "/var/*", "-not", "-path", "/tmp/*").splitlines())
    # Of a user that was made.
    assert {path for path in after - before if not re.fullmatch(r"/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|/etc/\.pwd\.lock", path)} == set()


def test_tarball(packages, tmp_path):
    """The program runs where nothing else is."""
    tarball = packages[0][1]
    if not str(tarball).endswith(".tar.gz"):
        pytest.skip(tarball.strip())
    root = tmp_path / "empty"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text("cache:x:4711:4711::/:/bin/false\n")
    subprocess.run(["tar", "-xf", tarball, "-C", root, "--strip-components=1"], check=True)
    words = ["/bin/wirekv", "serve", "-u", "cache", "-l", "127.0.0.1", "-p", reference.free_port(), "-m", "64"]
    with reference.Server("static", within(root, *words)) as server:
        reference.listen_address(server)
        client = values.Client(server)
        assert client.set(b"k", b"v") == b"STORED\r\n" and client.get(b"k") == b"v"
        assert os.stat(f"/proc/{server.process.pid}").st_uid == 4711
        client.socket.close()


def test_container(root, packages):
    """Each step of deploy/Containerfile, in order."""
    words, user, ran = [], None, 0
    for line in (ROOT / "deploy" / "Containerfile").read_text().splitlines():
        step, _, rest = line.partition(" ")
        if step == "FROM":
            assert rest == "debian:12-slim" and (root / "etc/debian_version").read_text().startswith("12.")
        elif step == "COPY":
            pattern, target = rest.split()
            deb = packages[0][0]
            assert re.fullmatch(pattern.replace("*", ".*"), os.path.basename(deb))
            shutil.copy(deb, root / target.lstrip("/"))
        elif step == "RUN":
            run(root, "sh", "-ec", rest)
            ran += 1
        elif step == "USER":
            user = rest
        elif step in ("ENTRYPOINT", "CMD"):
            words += eval(rest)
        else:
            assert step in ("#", "EXPOSE", "STOPSIGNAL"), line
    assert ran and user
    began = time.monotonic()
    with reference.Server("container", within(root, *words, "-p", reference.free_port(), user=user)) as server:
        reference.listen_address(server)
        server.host = "127.0.0.1"
        print(f"listens after {time.monotonic() - began:.2f} s")
        client = values.Client(server)
        assert client.set(b"k", b"v") == b"STORED\r\n" and client.get(b"k") == b"v"
        client.socket.close()
