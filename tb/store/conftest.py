"""Stores of a few sizes."""

import pytest

from store.sim import Sim


@pytest.fixture
def make(seed):
    """A store of so many index bits and lines of log."""
    sims = []

    def sim(index_bits, log_lines):
        sims.append(Sim(seed, index_bits, log_lines))
        return sims[-1]

    yield sim
    for one in sims:
        one.close()


@pytest.fixture
def small(make):
    """256 buckets, 512 KiB of log."""
    return make(8, 8192)


@pytest.fixture
def tiny(make):
    """16 buckets, 64 KiB of log."""
    return make(4, 1024)
