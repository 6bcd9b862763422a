"""The same servers and seeds as in tb/e2e."""

from e2e.conftest import memcached, seed, server_log_on_failure, soft  # noqa: F401
