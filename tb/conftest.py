"""What tests in every folder may ask for."""

import os
import random

import pytest

from draws import draws
from size import SEED


@pytest.fixture(autouse=True)
def seed():
    """Of all that a test draws, whether it asks for it or not; a failing test shows it."""
    print(f"seed {SEED}: again with WIREKV_SEED={SEED}")
    random.seed(SEED)
    return SEED


def pytest_ignore_collect(collection_path):
    """With WIREKV_DRAWN=1 only what another seed changes."""
    if os.environ.get("WIREKV_DRAWN") == "1" and collection_path.match("test_*.py") and not draws(collection_path):
        return True


def pytest_report_header():
    return f"seed {SEED} (WIREKV_SEED)"
