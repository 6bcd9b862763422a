"""Redis and both bodies, with RESP, for the tests of a module."""

import pytest

from harness import reference
from harness.fixtures import ended_well, logs_on_failure
from harness.resp import servers

server_log_on_failure = logs_on_failure("soft", "before", "card", "card6", "redis")


@pytest.fixture(scope="module")
def redis():
    server = servers.redis()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def soft():
    yield from ended_well(servers.soft())


@pytest.fixture(scope="module")
def card():
    yield from ended_well(servers.card())


@pytest.fixture(scope="module")
def card6():
    """The same, spoken to over IPv6."""
    yield from ended_well(servers.card(listen="::1"))


@pytest.fixture(scope="module")
def before():
    """The simulated card before a Redis of its own."""
    server = servers.redis()
    yield from ended_well(reference.before(server, redis=True))
    server.stop()


@pytest.fixture(params=["redis", "soft", "before"])
def either(request):
    """Each in turn: what a test expects of ours is what Redis does."""
    return request.getfixturevalue(request.param)
