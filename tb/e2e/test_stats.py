"""The card's `stats` beside memcached's."""

import fnmatch
import re

import pytest

from harness import reference

TEXT = (reference.ROOT / "docs" / "COMPATIBILITY.md").read_text().split("### Statistics that are not there\n\n")[1]


@pytest.fixture(scope="module")
def both():
    servers = [reference.memcached("-o", "lru_maintainer,lru_crawler"), reference.wirekv(megabytes=64)]
    try:
        yield servers
    finally:
        codes = [server.stop() for server in servers]
    assert codes == [0, 0]


def left_out(of):
    """The names that docs/COMPATIBILITY.md says the card does not have, as patterns: those of both tables."""
    names = []
    for table in (part for part in TEXT.split("\n\n") if part.startswith("|")):
        head, _, *rows = [line.strip("|").split("|") for line in table.splitlines()]
        columns = [title.strip() for title in head]
        title = f"`{f'stats {of}'.strip()}`"
        if title in columns:
            names += re.findall(r"`([^`]+)`", " ".join(row[columns.index(title)] for row in rows))
        if "slabs" in table.splitlines()[0]:
            break
    return names


@pytest.mark.parametrize("of", ["", "settings", "items", "slabs", "sizes"])
def test_stats_have_memcached_s_names(both, of):
    """All, but for those that the documents leave out, each of which must be left out."""
    names = []
    for server in both:
        with server.connect() as s:
            reference.ask(s, b"set a 0 0 1\r\nx\r\n", b"STORED\r\n")
        found = reference.stats(server, of)
        names.append({re.sub(r"^(items:)?\d+:", "", name) for name in found})
    theirs, ours = names
    patterns, missing = left_out(of), theirs - ours
    undocumented = {n for n in missing if not any(fnmatch.fnmatchcase(n, p) for p in patterns)}
    assert not undocumented, f"stats {of}: {sorted(undocumented)}"
    idle = [p for p in patterns if not fnmatch.filter(missing, p)]
    assert not idle, f"stats {of} leaves out nothing like {idle}"
    assert ours - theirs <= {"idle_kicks", "not_allowed", "udp_not_allowed"}


def test_bytes(both):
    """What clients send and get, once where nothing is repeated."""
    with both[1].connect() as s:
        before = reference.stats(both[1])
        reference.ask(s, b"set b 0 0 1000\r\n" + b"x" * 1000 + b"\r\n", b"STORED\r\n")
        for _ in range(10):
            reference.ask(s, b"get b\r\n", b"END\r\n")
        after = reference.stats(both[1])
        read, written = (int(after[n]) - int(before[n]) for n in ("bytes_read", "bytes_written"))
        assert 1000 < read < 3000 and 10_000 < written < 20_000
        reference.ask(s, b"stats reset\r\n", b"RESET\r\n")
        again = reference.stats(both[1])
        assert int(again["bytes_read"]) < 100 and int(again["bytes_written"]) < 100
