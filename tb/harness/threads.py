"""Clients at the same time."""

import threading


def together(count, work):
    """Calls work(0), work(1), ... at the same time; fails when one does."""
    failures = []

    def one(i):
        try:
            work(i)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
