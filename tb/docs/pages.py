"""The project's documents: code blocks, headings, links."""

import re
import subprocess
from functools import cache

from filelist import ROOT

FENCE = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)


@cache
def pages():
    """Every document that is under version control, or about to be."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                            capture_output=True, text=True)  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def blocks(path):
    """Its code blocks, as lines."""
    return [block.splitlines() for block in FENCE.findall(path.read_text())]


def prose(path):
    """All but its code blocks."""
    return FENCE.sub("", path.read_text())


@cache
def anchors(path):
    """What a link may name behind `#`: headings as GitHub makes names of them, and those that are named by hand."""
    text, names = prose(path), []
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, re.M):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        names.append(re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-"))
    numbered = {f"{name}-{names[:at].count(name)}" for at, name in enumerate(names) if name in names[:at]}
    return {*names, *numbered, *re.findall(r'<a id="([^"]+)"', text)}
