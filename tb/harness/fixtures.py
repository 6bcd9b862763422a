"""Servers as fixtures: conftest.py of a folder has those that its tests ask for. Each test module gets fresh ones; a
test that breaks a server does not take the others with it."""

import pytest

from harness import reference


def ended_well(server):
    """Gives a server and ends it; it must be there until then, and end well."""
    yield server
    alive = server.process.poll() is None
    code = server.stop()
    assert alive and code == 0, f"wirekv ended with {code}:\n{server.tail()}"


def logs_on_failure(*names):
    """A fixture: where a test fails, what these servers printed is part of the report."""

    @pytest.fixture(autouse=True)
    def server_log_on_failure(request):
        yield
        for name in names:
            if name in request.fixturenames:
                server = request.getfixturevalue(name)
                print(f"--- {name} ({server.log}):\n{server.tail()}")

    return server_log_on_failure


@pytest.fixture(scope="module")
def memcached():
    server = reference.memcached()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def soft():
    """The soft body, with memcached's protocols."""
    yield from ended_well(reference.soft())
