"""Which test files another seed changes."""

import pytest

from harness.draws import draws
from harness.imports import TB


@pytest.mark.parametrize("name", [
    "parse/test_ingress.py",        # names random
    "tcp/test_slow.py",           # the contents of registers, by harness/models.py
    "store/test_evictions.py",    # what memory holds, by a neighbour
    "resp/test_streams.py",       # asks for the seed
])  # fmt: skip
def test_draws(name):
    assert draws(TB / name)


@pytest.mark.parametrize("name", ["soft/test_closing.py", "resp/test_paused.py", "synth/test_delay.py"])
def test_draws_nothing(name):
    """Ports that the system chooses do not count."""
    assert not draws(TB / name)
