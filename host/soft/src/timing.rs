//! Times the requests of some groups, and says what they were.

use std::time::Instant;

use wirekv_memcache::udp::is_error_text;
use wirekv_metrics::{HotKeys, Label, Latencies, Sampler};
use wirekv_proto::{Counters, Out};

use crate::dialect::Request;
use crate::shared::Shared;

/// What is known of the requests that were timed.
#[derive(Default)]
pub struct Timed {
    pub latencies: Latencies,
    pub keys: HotKeys,
}

/// A thread's: the group that is timed now, if there is one.
pub struct Timing {
    sampler: Sampler,
    began: Option<(Instant, u64)>,
    /// Its requests, each with its key if it has one.
    done: Vec<(Label, Option<Box<[u8]>>)>,
}

/// What was so before a request was executed.
pub struct Before {
    /// Where that is wanted.
    pub began: Option<Instant>,
    pub position: usize,
    counters: Counters,
}

impl Before {
    pub fn new(is_watched: bool, counters: &Counters, out: &Out) -> Before {
        Before {
            began: is_watched.then(Instant::now),
            position: out.position(),
            counters: *counters,
        }
    }
}

impl Timing {
    pub fn new() -> Timing {
        Timing { sampler: Sampler::default(), began: None, done: Vec::new() }
    }

    /// A group begins.
    #[inline]
    pub fn begin(&mut self) {
        self.began = self.sampler.begin();
    }

    /// Whether it is timed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.began.is_some()
    }

    /// A request was executed, which began `input`. Of one that begins a long value that is not known yet.
    pub fn note(
        &mut self,
        before: &Before,
        request: &Request,
        input: &[u8],
        counters: &Counters,
        out: &Out,
    ) {
        let Some(op) = request.op.filter(|_| self.is_on() && !request.streams) else { return };
        let key = request.hash.map(|_| request.key.of(input));
        let (protocol, command) = op.names();
        let mut reply = [0; 16];
        let len = out.peek(before.position, &mut reply);
        let status = status(&before.counters, counters, &reply[..len]);
        self.done.push((Label { protocol, command, status }, key.map(Box::from)));
    }

    #[inline]
    pub fn served(&mut self, requests: usize) {
        self.sampler.served(requests);
    }

    /// The group's replies are written.
    #[inline]
    pub fn end(&mut self, shared: &Shared, number: usize) {
        if let Some((began, share)) = self.began.take() {
            let time = began.elapsed();
            shared.took(number, |timed| {
                timed.keys.cool(began);
                for (label, key) in self.done.drain(..) {
                    timed.latencies.record(label, time, share);
                    if let Some(key) = key {
                        timed.keys.count(&key, share);
                    }
                }
            });
        }
    }
}

/// What became of a request, from what it has counted and from how its reply begins.
fn status(before: &Counters, now: &Counters, reply: &[u8]) -> &'static str {
    let hits = |c: &Counters| {
        c.get_hits + c.delete_hits + c.incr_hits + c.decr_hits + c.cas_hits + c.touch_hits
    };
    let misses = |c: &Counters| {
        c.get_misses
            + c.delete_misses
            + c.incr_misses
            + c.decr_misses
            + c.cas_misses
            + c.touch_misses
    };
    if is_error(reply) {
        "error"
    } else if now.cas_badval > before.cas_badval {
        "badval"
    } else if hits(now) > hits(before) {
        "hit"
    } else if misses(now) > misses(before) {
        "miss"
    } else if is_not_stored(reply) {
        "not_stored"
    } else {
        "ok"
    }
}

/// Whether a reply that begins so tells of an error, in any protocol.
pub fn is_error(reply: &[u8]) -> bool {
    reply.first() == Some(&b'-') || is_error_text(reply)
}

/// Of a text, meta or binary reply.
fn is_not_stored(reply: &[u8]) -> bool {
    let binary = reply.first() == Some(&0x81) && reply.get(6..8) == Some(&[0, 5]);
    binary || reply.starts_with(b"NOT_STORED") || reply.starts_with(b"NS")
}
