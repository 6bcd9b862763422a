//! What a connection is to Redis' commands, between them.

use std::sync::Arc;

use super::parse::{self, Gather};
use super::shown::Shown;
use super::table::Command;
use super::Common;
use crate::request::Parsed;
use crate::store::Watch;
use crate::Engine;

/// Which replies are sent (`CLIENT REPLY`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    #[default]
    On,
    Off,
    /// That to the next command is not.
    SkipNext,
    /// That to this command is not.
    Skip,
}

/// Commands of a transaction.
#[derive(Default)]
pub struct Queue {
    /// One behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// One of them was refused, so none is done.
    pub is_broken: bool,
    /// One of them writes.
    pub writes: bool,
}

impl Queue {
    /// One more. False: they are too many.
    pub fn push(&mut self, command: &[u8], limit: usize) -> bool {
        // Those of a broken one are of no use.
        if self.is_broken {
            return true;
        }
        if self.bytes.len() + command.len() + size_of_val(&*self.ends) > limit {
            return false;
        }
        self.bytes.extend_from_slice(command);
        self.ends.push(self.bytes.len());
        true
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn commands(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// A connection's state.
#[derive(Default)]
pub struct Client {
    /// Connections are counted, beginning with 1.
    pub id: u64,
    /// Its database.
    pub db: u8,
    pub resp3: bool,
    pub name: Vec<u8>,
    /// It needs no password, or has given it.
    pub authenticated: bool,
    pub replies: Replies,
    /// It must not be closed for want of memory (`CLIENT NO-EVICT`).
    pub no_evict: bool,
    /// What others see of it, and the command that they do.
    shown: Option<Arc<Shown>>,
    last: Option<&'static Command>,
    /// When it goes on, in milliseconds after the server's start.
    pub sleeps_until: Option<u64>,
    /// A transaction's commands, from `MULTI` on.
    pub queue: Option<Box<Queue>>,
    /// How many are being done.
    pub running: Option<usize>,
    /// Keys that must not change until `EXEC`.
    pub watches: Vec<Watch>,
    gather: Option<Gather>,
    /// What has come of a command that is gathered.
    pub(super) gathered: Vec<u8>,
}

impl Client {
    /// A new connection's, with the number `id`.
    pub fn new(id: u64, common: &Common) -> Client {
        let authenticated = !common.has_password();
        Client { id, authenticated, ..Client::default() }
    }

    /// Of a connection that others can see.
    pub fn shown_as(shown: Arc<Shown>, common: &Common) -> Client {
        Client { shown: Some(shown.clone()), ..Client::new(shown.id, common) }
    }

    pub fn shown(&self) -> Option<&Arc<Shown>> {
        self.shown.as_ref()
    }

    /// A command is called.
    #[inline]
    pub fn calls(&mut self, command: &'static Command) {
        if !self.last.is_some_and(|last| std::ptr::eq(last, command)) {
            self.last = Some(command);
            if let Some(shown) = &self.shown {
                shown.calls(command);
            }
        }
    }

    /// Lets others see what has changed.
    pub fn publish(&self) {
        if let Some(shown) = &self.shown {
            let queued = self.queue.as_ref().map(|queue| queue.len()).or(self.running);
            shown.tell(self.db, self.resp3, self.no_evict, queued, &self.name);
        }
    }

    /// The peer's.
    pub fn address(&self) -> &str {
        self.shown.as_ref().map_or("", |shown| &shown.address)
    }

    #[inline]
    pub(crate) fn parse(&mut self, input: &[u8], engine: &Engine) -> Parsed {
        parse::parse(&mut self.gather, input, self.db, engine)
    }

    /// It must give the password first.
    #[inline]
    pub fn is_stranger(&self, common: &Common) -> bool {
        !self.authenticated && common.has_password()
    }

    /// As it was at first (`RESET`).
    pub fn reset(&mut self, common: &Common) {
        let (gather, shown) = (self.gather, self.shown.take());
        *self = Client { gather, shown, ..Client::new(self.id, common) };
    }
}
