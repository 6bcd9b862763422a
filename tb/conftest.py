"""What tests in every folder may ask for."""

import os
import random
import re

import pytest

from harness.draws import draws
from harness.size import SEED


@pytest.fixture(autouse=True)
def seed():
    """Of all that a test draws, whether it asks for it or not; a failing test shows it."""
    print(f"seed {SEED}: again with WIREKV_SEED={SEED}")
    random.seed(SEED)
    return SEED


def pytest_addoption(parser):
    parser.addoption("--only", metavar="WORD", help="only what has WORD in its path or name; or else cocotb's tests that have")


def pytest_collection_modifyitems(config, items):
    only = config.getoption("--only")
    if not only:
        return
    kept = [item for item in items if only in item.nodeid]
    if not kept:
        def cocotbs(module):
            return [n for n, value in vars(module).items() if type(value).__module__.startswith("cocotb.") and only in n]

        kept = [item for item in items if cocotbs(item.module)]
        os.environ["COCOTB_TEST_FILTER"] = rf"\.[^.]*{re.escape(only)}"
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_ignore_collect(collection_path):
    """With WIREKV_DRAWN=1 only what another seed changes."""
    if os.environ.get("WIREKV_DRAWN") == "1" and collection_path.match("test_*.py") and not draws(collection_path):
        return True


def pytest_report_header():
    return f"seed {SEED} (WIREKV_SEED)"
