"""The same servers as in tb/e2e."""

from e2e.conftest import memcached, server_log_on_failure, soft  # noqa: F401
