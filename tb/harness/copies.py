"""How many GETs a cache has answered itself: its server's hits, less those of reads for copies, are the others. Redis counts
two hits for such a read."""

import re

#: memcached's answer to such a read; Redis'.
COPY = re.compile(rb"VA \d+ f\d+ c\d+ t-?\d+ ?(?:k|\r\n)|\+QUEUED\r\n\*2\r\n\$\d")


class Copies:
    """Stands in a `Proxy` before the server, and counts what it gives for copies."""

    def __init__(self, then=bytes):
        self.count, self.then = 0, then

    def __call__(self, reply):
        self.count += len(COPY.findall(reply))
        return self.then(reply)
