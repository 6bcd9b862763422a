"""memcached and both bodies."""

import pytest

from harness import reference
from harness.fixtures import ended_well, logs_on_failure, memcached, soft  # noqa: F401

server_log_on_failure = logs_on_failure("wirekv", "before", "soft", "memcached")


@pytest.fixture(scope="module")
def wirekv():
    """The simulated card."""
    yield from ended_well(reference.wirekv())


@pytest.fixture(scope="module")
def wirekv6():
    """The same, spoken to over IPv6."""
    yield from ended_well(reference.wirekv(listen="::1"))


@pytest.fixture(scope="module")
def before():
    """The card before a memcached of its own."""
    server = reference.memcached()
    yield from ended_well(reference.before(server))
    server.stop()


@pytest.fixture(scope="module")
def bodies(wirekv, soft):  # noqa: F811
    """All that must answer as memcached does."""
    return wirekv, soft


@pytest.fixture(params=["wirekv", "soft"])
def body(request):
    """Each body in turn."""
    return request.getfixturevalue(request.param)
