"""Redis and the soft body, with RESP, for the tests of a module."""

import pytest

from resp import servers


@pytest.fixture(scope="module")
def redis():
    server = servers.redis()
    yield server
    server.stop()


def _ours(server):
    """Ends it; it must be there until then, and end well."""
    yield server
    alive = server.process.poll() is None
    code = server.stop()
    assert alive and code == 0, f"wirekv ended with {code}:\n{server.tail()}"


@pytest.fixture(scope="module")
def soft():
    yield from _ours(servers.soft())


@pytest.fixture(scope="module")
def card():
    yield from _ours(servers.card())


@pytest.fixture(scope="module")
def card6():
    """The same, spoken to over IPv6."""
    yield from _ours(servers.card(listen="::1"))


@pytest.fixture(params=["redis", "soft"])
def either(request):
    """Each in turn: what a test expects of ours is what Redis does."""
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def server_log_on_failure(request):
    yield
    for name in ("soft", "card", "card6", "redis"):
        if name in request.fixturenames:
            server = request.getfixturevalue(name)
            print(f"--- {name} ({server.log}):\n{server.tail()}")
