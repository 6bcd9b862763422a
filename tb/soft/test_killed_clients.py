"""Clients that are killed in the middle of a request: the others go on, nothing is left behind."""

import multiprocessing
import os
import random
import signal

from harness import reference, watch
from harness.memcached import values
from harness.size import scale

CLIENTS = 8


def victim(server, number, ready):
    """Stops at places where a server holds something for it, and waits for its end."""
    rng = random.Random(number)
    big = values.make(b"v", number, values.LONGEST)
    held = []

    def start(text):
        held.append(server.connect())
        held[-1].sendall(text)

    for _ in range(3):
        start(b"get bi")
        start(b"set v%d 0 0 100\r\nxyz" % number)
        # Received into its place in the store, up to some byte.
        start(b"set v%d 0 0 %d\r\n" % (number, len(big)) + big[: rng.randrange(len(big))])
        start(b"ms v%d %d\r\n" % (number, len(big)) + big[: rng.randrange(len(big))])
        start(b"\x80\x01\0\x01\x08\0\0\0" + (len(big) + 9).to_bytes(4, "big") + bytes(12 + 8)
              + b"v" + big[: rng.randrange(len(big))])  # fmt: skip
        start(b"get big\r\n" * 50)  # replies that nobody reads
        start(b"get big\r\n" * 5 + b"set v%d 0 0 %d\r\n" % (number, len(big)) + big[:1000])
    ready.send(len(held))
    signal.pause()


def test_half_of_the_clients_are_killed(seed):
    server = reference.soft(megabytes=64, threads=2)
    context = multiprocessing.get_context("fork")
    others = values.Others(server, random.Random(seed), CLIENTS // 2)

    def big_is_whole():
        big = values.make(b"big", 1, values.LONGEST)
        assert others.clients[0].set(b"big", big) == b"STORED\r\n"
        assert others.clients[0].get(b"big") == big

    processes = []
    try:
        others.work(100)
        fds = watch.descriptors(server)
        sizes = []
        for turn in range(scale(6, 60)):
            big_is_whole()
            processes.clear()
            for i in range(CLIENTS // 2):
                receive, send = context.Pipe(False)
                process = context.Process(target=victim, args=(server, turn * CLIENTS + i, send))
                process.start()
                processes.append(process)
                assert receive.poll(60), "a client does not get its requests sent"
            others.work(200)
            for process in processes:
                os.kill(process.pid, signal.SIGKILL)
            others.work(200)
            for process in processes:
                process.join()
            assert watch.settle(lambda: watch.descriptors(server), fds) == fds
            # What was reserved or held for them would fill the memory within a few turns.
            sizes.append(watch.resident(server))
        print(f"{fds} descriptors; resident after each turn: {[f'{s:.1f}' for s in sizes]} MiB")
        assert max(sizes) <= 64 + 12, "memory is kept for clients that are gone"
        for _ in range(200):
            big_is_whole()
    finally:
        for process in processes:
            process.kill()
        others.close()
        code = server.stop()
    assert code == 0, server.tail()
