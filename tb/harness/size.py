"""How much tests do, and what their random numbers begin with."""

import os

LONG = os.environ.get("WIREKV_LONG") == "1"

#: Everybody's, if WIREKV_SEED names no other: a test that fails here fails there.
SEED = int(os.environ.get("WIREKV_SEED") or 1)


def scale(quick, long):
    """A test's size: `quick` in every run, `long` with WIREKV_LONG=1."""
    return long if LONG else quick
