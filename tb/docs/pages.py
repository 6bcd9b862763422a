"""The project's documents: code blocks, headings, links."""

import os
import re
from functools import cache
from pathlib import Path

from harness.filelist import ROOT

#: Folders of what is not the project's.
OTHERS = {"build", "target", ".git", ".pytest_cache"}
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)


@cache
def pages():
    """Every document; what was built or installed is none."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = set(folders) - OTHERS
        found += [Path(folder, file) for file in files if file.endswith(".md")]
    return sorted(found)


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
