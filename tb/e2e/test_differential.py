"""Every body and memcached 1.6.38 get the same bytes and must send the same bytes back, over TCP."""

import random

import pytest

from harness import differ, reference
from harness.memcached import corpus, stream
from harness.size import scale
from harness.threads import together

LOOK = b"gets a b n\r\n"


def play(run, name, conversations, cuts):
    """Each conversation from the same keys on, then a look at them."""
    run.run(stream.Burst([[corpus.SETUP]], stream.sentinel(b"", 0)))
    for nonce, text in enumerate(conversations, 1):
        run.label = f"{name}_{nonce}"
        del run.history[:-1]  # but for what sets the keys
        run.run(stream.Burst([[text]], stream.sentinel(b"", nonce), cuts(len(text))))
        run.run(stream.Burst([[LOOK], [corpus.SETUP]], stream.sentinel(b"", nonce)))


@pytest.mark.parametrize("name", corpus.OPEN)
def test_corpus(memcached, bodies, name):
    run = differ.Differ(memcached, *bodies)
    play(run, name, corpus.OPEN[name](), lambda size: [])
    run.close()


@pytest.mark.parametrize("name", ["lines", "stores", "extended", "numbers"])
def test_corpus_cut(memcached, bodies, name, seed):
    """The same in pieces: what a server may decide from half a line shows here."""
    rng = random.Random(seed)
    run = differ.Differ(memcached, *bodies)

    def cuts(size):
        return [rng.randrange(size + 1) for _ in range(rng.choice([1, 2, 5]))]

    conversations = list(corpus.OPEN[name]())
    count = scale(150, len(conversations))
    play(run, f"{name}_cut", rng.sample(conversations, min(count, len(conversations))), cuts)
    run.close()


def test_corpus_pipelined(memcached, bodies, seed):
    """All short conversations behind each other without waiting."""
    rng = random.Random(seed)
    # `decr` behind an unanswered read pads otherwise in memcached: numbers stay out.
    texts = [t for t in (*corpus.lines(), *corpus.stores()) if len(t) < 2000]
    texts = [t for t in texts if not t.startswith((b"incr", b"decr"))]
    rng.shuffle(texts)
    run = differ.Differ(memcached, *bodies, label="corpus_pipelined")
    for nonce in range(0, len(texts), 30):
        commands = [[corpus.SETUP]]
        for text in texts[nonce : nonce + 30]:
            commands += [[text], [LOOK]]
        run.run(stream.Burst(commands, stream.sentinel(b"", nonce + 1)))
    run.close()


def test_quit_closes(memcached, bodies):
    run = differ.Differ(memcached, *bodies, label="quit")
    for text in corpus.closing():
        run.run(stream.Burst([[text]], closes=True))
        assert run.lanes is None, f"{text!r} left the connection open"


def test_lines_without_end(memcached, bodies):
    """More than 2,048 bytes without a newline end the connection, unless they are a `get`."""
    for verb in (b"x", b"set ", b"\x00"):
        run = differ.Differ(memcached, *bodies, label="line_without_end")
        run.run(stream.Burst([[verb + b"q " * 1050]], closes=True))
    for verb in (b"get ", b"gets ", b"   get "):
        run = differ.Differ(memcached, *bodies, label="long_get")
        text = verb + b"q " * 5000 + b"\r\n"
        run.run(stream.Burst([[text]], stream.sentinel(b"", 1), [2100, 4000, 9000]))
        run.close()


def run_stream(run, generator, commands):
    while run.commands < commands:
        run.run(generator.burst())


def test_one_connection(memcached, bodies, seed):
    run = differ.Differ(memcached, *bodies, label=f"one_connection_{seed}")
    budget = scale(2 << 20, 24 << 20)
    generator = stream.Generator(seed, value_budget=budget, reply_budget=2 * budget)
    run_stream(run, generator, scale(2_500, 200_000))
    run.close()


def test_connections_share_keys(memcached, bodies, seed):
    """Bursts of eight connections in turn on the same keys: one sees what another wrote."""
    budget = scale(3 << 20, 8 << 20)
    generator = stream.Generator(seed, prefix=b"s:", value_budget=budget, reply_budget=2 * budget)
    uniques = differ.Uniques()
    history = []
    runs = []
    for i in range(8):
        run = differ.Differ(memcached, *bodies, uniques=uniques, label=f"share_keys_{seed}_{i}")
        run.history = history
        runs.append(run)
    rng = random.Random(seed)
    while sum(run.commands for run in runs) < scale(1_200, 50_000):
        rng.choice(runs).run(generator.burst())
    for run in runs:
        run.close()


def test_connections_at_once(memcached, bodies, seed):
    """Sixteen connections at the same time, each with keys of its own."""
    count, commands, budget = 16, scale(1_600, 100_000) // 16, scale(1 << 18, 1 << 20)

    def client(i):
        run = differ.Differ(memcached, *bodies, label=f"at_once_{seed}_{i}")
        generator = stream.Generator(
            seed + i, b"%d:" % i, flush=False, value_budget=budget, reply_budget=budget
        )
        try:
            run_stream(run, generator, commands)
        finally:
            run.close()

    together(count, client)


@pytest.mark.parametrize("pipeline", [1, 64])
def test_small_requests(memcached, bodies, seed, pipeline):
    """Nothing but valid small requests: the everyday case, one at a time and 64 in a row."""
    run = differ.Differ(memcached, *bodies, label=f"small_{pipeline}_{seed}")
    generator = stream.Generator(
        seed, b"p%d:" % pipeline, broken=0, pipeline=pipeline, value_budget=0, reply_budget=1 << 20
    )
    run_stream(run, generator, scale(150 * min(8, pipeline), 40_000))
    run.close()


def test_small_items_limit():
    """-I: the limit moves with the option, in all servers alike."""
    servers = [reference.memcached("-I", "16k", "-o", "slab_chunk_max=16")]
    try:
        servers += [reference.wirekv("-I", "16k", body=body) for body in ("sim", "soft")]
        run = differ.Differ(*servers, label="item_limit")
        for nonce, size in enumerate((16384 - 61, 16384 - 60, 16384 - 59, 16384, 20000, 40000), 1):
            text = b"set a 0 0 1\r\nx\r\nset a 0 0 %d\r\n" % size + b"v" * size + b"\r\nget a\r\n"
            run.run(stream.Burst([[text]], stream.sentinel(b"", nonce)))
        run.close()
    finally:
        for server in servers:
            server.stop()
