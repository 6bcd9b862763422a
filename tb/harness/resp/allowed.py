"""Where Redis' own reply is not determined, or ours is another for a reason: what may differ.

Each entry is a reason and a function of both replies, as `wire.read` gives them, Redis' first. All
other replies, and errors in any case, must be equal to the byte."""

from harness.differ import Timed

# Absolute times of generate.py lie in this range, below 2^32; all others depend on when a command came.
DATES = range(4_100_000_000, 4_290_000_000)


def _kind(a, b):
    return a[0] == b[0]


def _sorted(a, b):
    return _kind(a, b) and sorted(a[1]) == sorted(b[1])


def _near(unit, more=0):
    """Times in units of so many to the second, as near as two servers' are; and so many units more."""

    def near(a, b):
        if a[0] != b":" or b[0] != b":":
            return a == b
        x, y = int(a[1]), int(b[1])
        if x < 0 or y < 0 or x // unit in DATES:
            return x == y
        return abs(x - y) <= Timed.apart * unit + more

    return near


def _key_or_none(a, b):
    """Both are a key, or both none."""
    return _kind(a, b) and (a[1] is None) == (b[1] is None)


def _scan(a, b):
    def good(reply):
        cursor, keys = reply[1]
        return cursor[0] == b"$" and cursor[1].isdigit() and keys[0] == b"*"

    return _kind(a, b) and len(b[1]) == 2 and good(a) and good(b)


def _time(a, b):
    seconds = [int(reply[1][0][1]) for reply in (a, b)]
    return _kind(a, b) and len(b[1]) == 2 and b[1][1][1].isdigit() and abs(seconds[0] - seconds[1]) <= Timed.apart


# Of HELLO: what must be equal.
def _hello(a, b):
    def fields(reply):
        found = [tuple(pair) for pair in zip(reply[1][::2], reply[1][1::2])]
        return [(k, None if k[1] == b"id" else v) for k, v in found]

    return _kind(a, b) and fields(a) == fields(b)


# What CLIENT LIST tells of a connection that both servers must tell alike.
TOLD = (b"name", b"db", b"sub", b"psub", b"ssub", b"multi", b"cmd", b"user", b"redir", b"resp")


def _client(a, b):
    def fields(reply):
        lines = [line for line in reply[1].split(b"\n") if line]
        found = [[tuple(word.split(b"=", 1)) for word in line.split(b" ")] for line in lines]
        return sorted([(k, v if k in TOLD else b"") for k, v in of] for of in found)

    return _kind(a, b) and fields(a) == fields(b)


def _info(a, b):
    """The same sections, and the same keys in each database."""

    def shape(reply):
        lines = reply[1].split(b"\r\n")
        return [line.split(b",avg_ttl")[0] for line in lines if line[:2] in (b"# ", b"db")]

    return _kind(a, b) and shape(a) == shape(b)


def _nothing_or(a, b):
    return _kind(a, b) or (a[1] is None and b[1] is None)


def _refused_key(_, b):
    return b == (b"-", b"ERR key is longer than 250 bytes")


def _encoding(a, b):
    """What APPEND, SETRANGE, INCRBYFLOAT or the like made is raw or embstr in Redis even where a SET of
    the same would have made it embstr or int, as it is here."""
    made = [b"raw", b"embstr", b"int"]
    return a[1] in made and b[1] in made[made.index(a[1]) :]


def _refused(a, b):
    """Both tell which option of theirs allows it."""
    return all(reply[0] == b"-" and reply[1].startswith(b"ERR DEBUG command not allowed.") for reply in (a, b))


ALLOWED = {
    "keys": ("KEYS gives keys in no order", _sorted),
    "random": ("RANDOMKEY gives any key", _key_or_none),
    "scan": ("SCAN's cursors, and how much a call gives, are the server's; test_scan.py has the rest", _scan),
    "seconds": ("what is left, or when it ends, depends on when the command came", _near(1)),
    "milliseconds": ("the same", _near(1000)),
    "idle": ("the same", _near(1, 3)),
    "uses": ("how often is counted, is the server's", _kind),
    "shared": ("what Redis holds twice, such as a value and the command that brought it", _kind),
    "encoding": ("how a string was made is not kept", _encoding),
    "time": ("TIME is the clock", _time),
    "hello": ("the connection's id is the server's", _hello),
    "id": ("connections' ids are the server's", _kind),
    "client": ("addresses, ages and buffers are the connection's", _client),
    "info": ("INFO tells of the server", _info),
    "memory": ("MEMORY tells of how items are stored", _nothing_or),
    "count": ("COMMAND COUNT counts what there is", _kind),
    "list": ("COMMAND LIST and CONFIG GET name what there is", _kind),
    "log": ("SLOWLOG and LATENCY tell what was slow", _kind),
    "debug": ("DEBUG's refusal names an option of the server", _refused),
    "art": ("LOLWUT draws at random", _kind),
    "long key": ("keys have at most 250 bytes; Redis gets a command that it refuses instead", _refused_key),
}


def may_differ(name, theirs, ours):
    if theirs == ours:
        return True
    if name is None:
        return False
    if b"-" in (theirs[0], ours[0]) and name not in ("long key", "debug"):
        return False
    return ALLOWED[name][1](theirs, ours)
