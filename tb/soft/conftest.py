"""memcached and the soft body."""

from harness.fixtures import logs_on_failure, memcached, soft  # noqa: F401

server_log_on_failure = logs_on_failure("soft", "memcached")
