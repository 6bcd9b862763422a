"""Writes wirekv.core: the card as a core of FuseSoC (CAPI2), made from the file list of the card.

    make core               writes it
    scripts/core.py --check fails when it is not what this writes: `make lint`
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "wirekv.core"
sys.path.insert(0, str(ROOT / "tb"))
from harness.filelist import CARD, expand  # noqa: E402

TEMPLATE = """CAPI=2:
# Made by scripts/core.py from {list}: `make core`.
name: ::wirekv:{version}
description: A memcached- and Redis-compatible cache, from Ethernet frames to Ethernet frames

filesets:
  rtl:
    file_type: systemVerilogSource
    files:
{files}
  waivers:
    files:
      - rtl/lint.vlt: {{file_type: vlt}}

parameters:
  Conns:
    datatype: int
    paramtype: vlogparam
    description: Connections that can be open at once, a power of two from 16 to 16384
  WIREKV_CONFIG:
    datatype: str
    paramtype: vlogdefine
    description: A variant of the card, Default, Small, Full or Traced, see rtl/top/config_pkg.sv

targets:
  default: &default
    filesets: [rtl, waivers]
    toplevel: card
    parameters: [Conns, WIREKV_CONFIG]
  lint:
    <<: *default
    flow: lint
    flow_options:
      tool: verilator
"""


def files():
    """Headers first, each with the folder that it is included from; then the sources in their order."""
    sources, includes = expand(CARD)
    for folder in includes:
        for header in sorted(folder.glob("*.svh")):
            yield f"{header.relative_to(ROOT)}: {{is_include_file: true, include_path: {folder.relative_to(ROOT)}}}"
    yield from (str(source.relative_to(ROOT)) for source in sources)


def core():
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    return TEMPLATE.format(list=CARD, version=version, files="\n".join(f"      - {file}" for file in files()))


if __name__ == "__main__":
    if "--check" not in sys.argv:
        CORE.write_text(core())
    elif not CORE.exists() or CORE.read_text() != core():
        sys.exit("wirekv.core is not what the card's file list says: `make core`")
