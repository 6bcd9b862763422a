//! Requests at moments of their own, whatever the answers do.

use std::time::{Duration, Instant};

use anyhow::Result;
use mio::{Events, Poll};
use rand::rngs::SmallRng;
use rand::Rng;

use crate::tcp::{answers, Client, Thread};

/// Random (Poisson) moments, which do not know of each other, on random connections.
pub struct Schedule {
    dice: SmallRng,
    /// Mean seconds between two of them.
    pause: f64,
    next: Instant,
    until: Instant,
    clients: usize,
}

impl Schedule {
    pub fn new(thread: &Thread, dice: SmallRng, rate: f64) -> Schedule {
        let args = thread.args;
        let together = if args.rate.is_some() { args.pipeline } else { 1 };
        let until = thread.span.until.expect("a rate comes with a time");
        let pause = together as f64 / rate;
        let mut due = Schedule { dice, pause, next: Instant::now(), until, clients: args.clients };
        due.advance();
        due
    }

    fn advance(&mut self) {
        let gap = -(1.0 - self.dice.random::<f64>()).ln() * self.pause;
        self.next += Duration::from_secs_f64(gap);
    }

    fn over(&self) -> bool {
        self.next >= self.until
    }

    /// The next moment, if it has come, and a connection.
    fn take(&mut self, now: Instant, thread: &mut Thread) -> Option<(Instant, usize)> {
        let at = self.next;
        if now < at || self.over() {
            return None;
        }
        self.advance();
        if thread.span.holds(now) {
            thread.figures.late.saturating_record(((now - at).as_nanos() as u64).max(1));
        }
        Some((at, self.dice.random_range(0..self.clients)))
    }
}

/// Connections ask when it is time, however many answers they wait for.
pub fn open_loop(
    thread: &mut Thread,
    clients: &mut [Client],
    poll: &mut Poll,
    events: &mut Events,
    mut due: Schedule,
) -> Result<()> {
    let pipeline = thread.args.pipeline;
    while !due.over() {
        let now = Instant::now();
        if let Some((at, n)) = due.take(now, thread) {
            clients[n].ask(pipeline, at, thread)?;
            // When several are due at once, answers are looked for only after all are sent;
            // unless it is so late that the answers would pile up.
            if now >= due.next && now - due.next < Duration::from_millis(1) {
                continue;
            }
        }
        // Without sleeping: waking up would take longer than many an answer does.
        answers(thread, clients, poll, events, Some(Duration::ZERO))?;
    }
    while clients.iter().any(|c| c.waiting > 0) {
        answers(thread, clients, poll, events, None)?;
    }
    Ok(())
}

/// Connections ask when it is time, and when answers have made room. What is due on a connection goes
/// out in one write.
pub fn limited_loop(
    thread: &mut Thread,
    clients: &mut [Client],
    poll: &mut Poll,
    events: &mut Events,
    mut due: Schedule,
) -> Result<()> {
    let pipeline = thread.args.pipeline;
    let mut asking = Vec::new();
    while !due.over() {
        let now = Instant::now();
        while let Some((at, n)) = due.take(now, thread) {
            let client = &mut clients[n];
            if client.due.is_empty() && client.waiting < pipeline {
                asking.push(n);
            }
            client.due.push_back(at);
        }
        for n in asking.drain(..) {
            clients[n].ask_due(pipeline, thread)?;
        }
        answers(thread, clients, poll, events, Some(Duration::ZERO))?;
    }
    // A server that is too slow has more of these than it could answer in time.
    clients.iter_mut().for_each(|c| c.due.clear());
    while clients.iter().any(|c| c.waiting > 0) {
        answers(thread, clients, poll, events, None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use clap::Parser;

    use crate::progress::Seen;
    use crate::{LoadArgs, Span};

    use super::*;

    /// A server answers one request in 20 ms, and 200 are due.
    #[test]
    fn a_slow_server_has_no_more_in_flight_than_it_may_and_is_seen_to_be_late() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut room = [0; 4096];
            let (mut unanswered, mut most) = (0, 0);
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            loop {
                // Whatever comes without an answer has come when nothing more does for a while.
                match stream.read(&mut room) {
                    Ok(0) => return most,
                    Ok(n) => unanswered += room[..n].iter().filter(|b| **b == b'\n').count(),
                    Err(_) if unanswered > 0 => {
                        stream.write_all(b"END\r\n").unwrap();
                        unanswered -= 1;
                    }
                    Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::WouldBlock),
                }
                most = most.max(unanswered);
            }
        });
        let args = LoadArgs::parse_from([
            "load",
            "-p",
            &port.to_string(),
            "-c",
            "1",
            "--pipeline",
            "4",
            "--ratio",
            "0:1",
            "--rate-limiting",
            "10000",
            "--test-time",
            "0.3",
        ]);
        let ready = || {
            let from = Instant::now();
            Span { from, until: Some(from + Duration::from_secs_f64(0.3)) }
        };
        let figures =
            crate::tcp::run(&args, ([127, 0, 0, 1], port).into(), 0, &Seen::default(), &ready)
                .unwrap();
        assert_eq!(server.join().unwrap(), 4);
        // From when it was sent it would be 80 ms.
        let worst = Duration::from_nanos(figures.get.max());
        assert!(worst > Duration::from_millis(100), "{worst:?}");
        assert_eq!((figures.wrong, figures.hits), (0, 0));
    }
}
