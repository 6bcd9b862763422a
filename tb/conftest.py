"""What tests in every folder may ask for."""

import random

import pytest

from size import SEED


@pytest.fixture(autouse=True)
def seed():
    """Of all that a test draws, whether it asks for it or not; a failing test shows it."""
    print(f"seed {SEED}: again with WIREKV_SEED={SEED}")
    random.seed(SEED)
    return SEED


def pytest_report_header():
    return f"seed {SEED} (WIREKV_SEED)"
