"""Servers for the end-to-end tests. Each test module gets fresh ones; a test that breaks a server
does not take the others with it."""

import pytest

from e2e import reference
from size import LONG, scale  # noqa: F401 - of other tests, too


@pytest.fixture(scope="module")
def memcached():
    server = reference.memcached()
    yield server
    server.stop()


def _wirekv(body, **more):
    server = reference.wirekv(body=body, **more)
    yield server
    alive = server.process.poll() is None
    code = server.stop()
    assert alive and code == 0, f"wirekv ended with {code}:\n{server.tail()}"


@pytest.fixture(scope="module")
def wirekv():
    """The simulated card."""
    yield from _wirekv("sim")


@pytest.fixture(scope="module")
def wirekv6():
    """The same, spoken to over IPv6."""
    yield from _wirekv("sim", listen="::1")


@pytest.fixture(scope="module")
def soft():
    yield from _wirekv("soft")


@pytest.fixture(scope="module")
def bodies(wirekv, soft):
    """All that must answer as memcached does."""
    return wirekv, soft


@pytest.fixture(params=["wirekv", "soft"])
def body(request):
    """Each body in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def server_log_on_failure(request):
    """Where a test fails, what the servers printed is part of the report."""
    yield
    for name in ("wirekv", "soft", "memcached"):
        if name in request.fixturenames:
            server = request.getfixturevalue(name)
            print(f"--- {name} ({server.log}):\n{server.tail()}")
