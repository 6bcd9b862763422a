"""What the documents refer to is there: files, headings, targets of make."""

import re

import pytest

from docs.pages import anchors, pages, prose
from harness.filelist import ROOT

PAGES = {str(path.relative_to(ROOT)): path for path in pages()}
#: Those that tell a newcomer which file to open.
GUIDES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/TESTING.md"]
FOLDERS = "rtl|tb|host|spec|docs|formal|synth|scripts|examples|fuzz|bench"


@pytest.mark.parametrize("name", PAGES)
def test_links(name):
    page, wrong = PAGES[name], []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


@pytest.mark.parametrize("name", GUIDES)
def test_paths(name):
    """A path in backticks, but for those with a placeholder: TARGET, or what is no letter."""
    paths = re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", prose(PAGES[name]))
    assert [path for path in paths if "TARGET" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_targets(name):
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"`make ([a-z][a-z0-9-]*)", PAGES[name].read_text()))
    assert named <= targets


def test_a_dead_link_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('# One word\n## One word\n## One word\n### `make x`: [a](b.md)!\n<a id="named"></a>\n```\n# not a heading\n```\n')
    assert anchors(page) == {"one-word", "one-word-1", "one-word-2", "make-x-a", "named"}
