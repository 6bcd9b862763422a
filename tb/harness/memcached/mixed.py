"""Streams for a cache before memcached: text, meta and binary on the same few keys, from several clients in turn, over TCP
and UDP. What docs/UPSTREAM.md says of the use of items is taken out of the replies, and counted."""

import random
from collections import Counter

from harness import differ
from harness.memcached import generate, stream

KEYS = 120
#: What tells of a server's memory, or changes it: the two servers do not have it alike.
LEFT_OUT = b"stats", b"cache_memlimit", b"slabs", b"lru"


class Text(generate.Text):
    def command(self):
        while (parts := super().command())[0].startswith(LEFT_OUT):
            pass
        return parts


class Reads(generate.Text):
    """Nothing but plain reads, most of few keys: what the cache is for."""

    def command(self):
        rng = self.rng
        key = rng.choice(self.hot[:4]) if rng.random() < 0.98 else self.key()
        if self.sizes.get(key, 0) > min(2000, self.reply_room):
            key = rng.choice(self.counters)
        self.reply_room -= self.sizes.get(key, 0)
        return [rng.choice([b"get %s\r\n", b"get %s\r\n", b"gets %s\r\n", b"mg %s v\r\n"]) % key]

    break_get = command


class BinaryReads(generate.Binary):
    def command(self):
        return self.read_one()

    break_get = command


class Fitting:
    """Bursts that fit into a datagram. The last command of each has an answer: behind that, all of them are executed."""

    def burst(self):
        burst = super().burst()
        while burst.size() > 1300:
            burst.commands.pop()
        return burst


class TextDatagrams(Text):
    """Of a value that is not whole, or too large, memcached takes the rest from the next datagram: there is none."""

    def break_meta(self):
        return self.break_words()

    def burst(self):
        burst = self.datagram()
        burst.commands = [command for command in burst.commands if not isinstance(command[-1], bytes) or command[-1].endswith(b"\n")]
        self.nonce += 1
        burst.tail = stream.sentinel(self.prefix, self.nonce)
        return burst


class ReadDatagrams(Reads):
    """Such that gates may answer all of one."""

    def burst(self):
        burst = super().burst()
        return stream.Burst(burst.commands)


class BinaryDatagrams(Fitting, generate.Binary):
    pass


class BinaryReadDatagrams(Fitting, BinaryReads):
    pass


def loose(token, found):
    """A reply without what tells how an item was used; `found` gets that."""
    text, unique, key = token
    head, end, rest = bytes(text).partition(b"\r\n")
    words = head.split(b" ")
    if isinstance(text, differ.Timed):
        # Whether it was asked for before; who is to make a stale item anew.
        of_use = [word for word in words[1:] if word in (b"h0", b"h1", b"W", b"Z")]
    elif words[0] == b"ME":
        of_use = [word for word in words[1:] if word.startswith(b"fetch=")]
    else:
        return token
    found.append(of_use)
    kept = differ.Timed([words[0], *(word for word in words[1:] if word not in of_use)], end + rest)
    kept.times = getattr(text, "times", [])
    return kept, unique, key


class TextDiffer(differ.Differ):
    """Counts in `use`, by name, replies that tell another use of an item, and in `told` all that tell one."""

    def __init__(self, *servers, use, told, **options):
        super().__init__(*servers, **options)
        self.use, self.told, self.found = use, told, []

    def split(self, reply):
        self.found.append([])
        return [loose(token, self.found[-1]) for token in differ.tokens(reply)]

    def run(self, burst):
        self.found.clear()
        reply = super().run(burst)
        for theirs, ours in zip(*self.found):
            for name in {word[:1] for word in theirs + ours}:
                name = "fetch=" if name == b"f" else "h" if name == b"h" else "W"
                self.told[name] += 1
                self.use[name] += theirs != ours
        return reply


class TextUdpDiffer(TextDiffer, differ.UdpDiffer):
    """Messages are put in turn by what is compared of them."""

    alike = False

    @staticmethod
    def pieces(reply):
        return [loose(token, []) for token in differ.tokens(reply)]


class BinaryUdpDiffer(differ.UdpDiffer):
    alike = False
    split = pieces = staticmethod(differ.packets)


DATAGRAMS = {TextDatagrams: TextUdpDiffer, ReadDatagrams: TextUdpDiffer, BinaryDatagrams: BinaryUdpDiffer,
             BinaryReadDatagrams: BinaryUdpDiffer}  # fmt: skip


class Clients:
    """So many clients of each kind, each with its own connection to each server; `run` has one of them send a burst."""

    def __init__(self, servers, seed, budget, each=2, largest=100_000):
        self.rng, self.uniques = random.Random(seed), differ.Uniques()
        self.use, self.told, self.history = Counter(), Counter(), []
        self.pairs, sizes = [], {}
        kinds = [(Text, {"meta": 0.1}), (Text, {"meta": 0.8}), (Text, {"pipeline": 1}), (generate.Binary, {}),
                 (Reads, {"pipeline": 16}), (Reads, {"pipeline": 1}), (Reads, {"pipeline": 4}),
                 (BinaryReads, {"broken": 0, "pipeline": 8})]  # fmt: skip
        if servers[1].udp_port:
            kinds += [(TextDatagrams, {"udp": True}), (BinaryDatagrams, {"broken": 0, "pipeline": 3, "udp": True}),
                      (ReadDatagrams, {"pipeline": 4}), (ReadDatagrams, {"pipeline": 1}),
                      (BinaryReadDatagrams, {"broken": 0, "pipeline": 4})]  # fmt: skip
        for number, (make, options) in enumerate(kinds * each):
            # The same keys for all.
            generator = make(seed, keys=KEYS, value_budget=budget, reply_budget=2 * budget, largest=largest, **options)
            generator.rng, generator.sizes = random.Random(f"{seed} {number}"), sizes
            known = {} if issubclass(make, generate.Binary) else {"use": self.use, "told": self.told}
            over = DATAGRAMS.get(make, TextDiffer if known else differ.BinaryDiffer)
            play = over(*servers, uniques=self.uniques, label=f"upstream_{seed}_{number}", **known)
            play.history = self.history
            self.pairs.append((play, generator))

    @property
    def datagrams(self):
        return sum(play.commands for play, _ in self.pairs if isinstance(play, differ.UdpDiffer))

    @property
    def commands(self):
        return sum(play.commands for play, _ in self.pairs)

    def run(self):
        """A burst of any client; then of those that only read, so that copies are asked for."""
        rng = self.rng
        writers, readers = ([pair for pair in self.pairs if isinstance(pair[1], (Reads, BinaryReads)) == reads] for reads in (False, True))
        for play, generator in [rng.choice(writers), *rng.choices(readers, k=6)]:
            del self.history[:-400]
            play.run(generator.burst())

    def over_the_limit(self, size):
        """Values that are as large as an item may be, and larger; they are read twice."""
        play, _ = self.pairs[0]
        line, key = b"set %s 0 0 %d\r\n", b"large"
        for nonce, more in enumerate((-1, 0, 1, 300_000), 1):
            length = size - stream.ITEM_OVERHEAD - len(key) + more
            text = line % (key, length) + b"v" * length + b"\r\n"
            play.run(stream.Burst([[text], [b"get large\r\n"]], stream.sentinel(b"", nonce)))
            play.run(stream.Burst([[b"get large\r\n"]], stream.sentinel(b"", nonce + 10)))

    def close(self):
        for play, _ in self.pairs:
            play.close()

    def same_uniques(self):
        """CAS uniques of both servers are the same numbers, since both have had the same writes in the same order."""
        return sum(len(pairing.pairs[0]) for pairing in self.uniques.values()), [
            pair for pairing in self.uniques.values() for pair in pairing.pairs[0].items() if pair[0] != pair[1]]
