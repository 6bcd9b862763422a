"""Reads the file lists of rtl/ (paths relative to the repository's root)."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: That of the whole card.
CARD = "rtl/top/card.f"
#: Which variant of it (rtl/top/config_pkg.sv), if not the default one.
VARIANT = os.environ.get("WIREKV_CONFIG") or None
#: What stands beside it on a board.
LINK = "rtl/link/link.f"


def expand(*names):
    """Absolute source files and include folders of .f and .sv files, each once, in order."""
    sources, includes = {}, {}

    def add(name):
        if not name.endswith(".f"):
            sources[ROOT / name] = True
            return
        for line in (ROOT / name).read_text().splitlines():
            words = line.split("//")[0].split()
            while words:
                word = words.pop(0)
                if word in ("-f", "-F"):
                    add(words.pop(0))
                elif word.startswith("+incdir+"):
                    includes[ROOT / word[len("+incdir+") :]] = True
                else:
                    add(word)

    for name in names:
        add(name)
    return list(sources), list(includes)
