"""What tests in every folder may ask for."""

import os
import random

import pytest


@pytest.fixture
def seed():
    """WIREKV_SEED, or a new one each run; a failing test shows it."""
    value = int(os.environ.get("WIREKV_SEED") or random.SystemRandom().randrange(1, 1 << 31))
    print(f"seed {value}: again with WIREKV_SEED={value}")
    random.seed(value)
    return value
