"""How much tests do."""

import os

LONG = os.environ.get("WIREKV_LONG") == "1"


def scale(quick, long):
    """A test's size: `quick` in every run, `long` with WIREKV_LONG=1."""
    return long if LONG else quick
