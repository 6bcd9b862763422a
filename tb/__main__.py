"""The tools of the tests: python tb TOOL ..., with --help what each takes."""

import importlib
import sys

TOOLS = {
    "compare": ("harness.memcached.compare", "random requests to memcached and another server: the same replies"),
    "resp": ("harness.resp.compare", "random commands to Redis and another server: the same replies"),
    "replay": ("harness.memcached.replay", "a recorded stream again, or a short one that still fails"),
    "hostile": ("harness.hostile", "a crowd of connections that do harm"),
    "loss": ("harness.loss", "how long 4 MB take over a bad link"),
}


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in TOOLS:
        # What the tool's own usage begins with.
        sys.argv[:2] = [f"python tb {name}"]
        return importlib.import_module(TOOLS[name][0]).main()
    print(__doc__, *(f"  {name:9}{text}" for name, (_, text) in TOOLS.items()), sep="\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
