"""A model of the retransmission timeout (RFC 6298)."""

TICK = 15
GRAIN = 25  # a timer is looked at so often (FastTicks)
SLACK = 8   # what the way through card and bench takes adds to a measured round trip


class Model:
    """The timeout in milliseconds."""

    def __init__(self):
        self.srtt = self.rttvar = None
        self.rto = 1000

    def sample(self, r):
        if self.srtt is None:
            self.srtt, self.rttvar = r, r / 2
        else:
            self.rttvar += (abs(self.srtt - r) - self.rttvar) / 4
            self.srtt += (r - self.srtt) / 8
        self.rto = min(max(self.srtt + 4 * self.rttvar, 200), 60000)

    def backoff(self):
        self.rto = min(2 * self.rto, 60000)
