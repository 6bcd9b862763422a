//! What a connection is to Redis' commands, between them.

use std::sync::Arc;

use wirekv_proto::{Next, Parsed};
use wirekv_store::{Local, Watch};

use super::kept::{terms, Answer, Share};
use super::parse::{self, Gather};
use super::shown::Shown;
use super::table::Command;
use super::Common;
use crate::{Engine, Server, Walk};

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
    /// How many there are, or were until one was refused.
    len: usize,
    /// One of them was refused, so none is done.
    pub is_broken: bool,
    /// One of them writes; swaps databases.
    pub writes: bool,
    pub swaps: bool,
}

impl Queue {
    pub fn push(&mut self, command: &[u8]) {
        // Those of a broken one are of no use.
        if !self.is_broken {
            extend(&mut self.bytes, command);
            self.ends.push(self.bytes.len());
            self.len += 1;
        }
    }

    /// None of the commands will be done.
    pub fn refuse(&mut self) {
        (self.bytes, self.ends) = (Vec::new(), Vec::new());
        self.is_broken = true;
    }

    /// Bytes that it takes, about.
    pub fn size(&self) -> usize {
        self.bytes.len() + 2 * size_of_val(&*self.ends)
    }

    /// What a command adds to that.
    pub fn size_of(command: &[u8]) -> usize {
        command.len() + 2 * size_of::<usize>()
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn commands(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// Appends without room for as much again: many may do that at once.
pub(super) fn extend(bytes: &mut Vec<u8>, more: &[u8]) {
    if bytes.capacity() - bytes.len() < more.len() {
        bytes.reserve_exact(more.len().max(bytes.len() / 8));
    }
    bytes.extend_from_slice(more);
}

/// Keys that must not change until `EXEC`.
#[derive(Default)]
pub struct Watched {
    list: Vec<Watch>,
    size: usize,
}

impl Watched {
    /// Bytes that a key takes here and in the store's list, about.
    pub fn size_of(key: &[u8]) -> usize {
        200 + 2 * key.len()
    }

    pub fn has(&self, db: u8, key: &[u8]) -> bool {
        self.list.iter().any(|watch| watch.db() == db && watch.key() == key)
    }

    pub fn push(&mut self, local: &Local, db: u8, key: &[u8]) {
        self.list.push(local.watch(db, key));
        self.size += Watched::size_of(key);
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Watch> {
        self.list.iter()
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
    /// What it said with `CLIENT NO-EVICT`. It counts for nothing: any client may say so.
    pub no_evict: bool,
    /// What others see of it, and the command that they do.
    shown: Option<Arc<Shown>>,
    last: Option<&'static Command>,
    /// It gets the lines of MONITOR.
    pub monitors: bool,
    /// When it goes on, in milliseconds after the server's start.
    pub sleeps_until: Option<u64>,
    /// A transaction's commands, from `MULTI` on.
    pub queue: Option<Box<Queue>>,
    /// How many are being done.
    pub running: Option<usize>,
    pub watches: Watched,
    gather: Option<Gather>,
    /// What has come of a command that is gathered.
    pub(super) gathered: Vec<u8>,
    /// Where a command that is not in the input goes on.
    pub(super) goes_on: u64,
    /// A walk through a card's keys that lets others have their turn.
    pub(super) walk: Option<Box<Walk>>,
    /// Of the memory that all connections keep.
    share: Option<Share>,
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

    /// Every request is for this program, be it of those that a card runs: a transaction is open,
    /// replies are not sent, or it was not let in.
    pub fn wants_all(&self) -> bool {
        // Who was not let in stays out if a password is set again.
        self.queue.is_some() || self.replies != Replies::On || !self.authenticated
    }

    /// It wants no replies until it says so.
    pub fn is_mute(&self) -> bool {
        self.replies == Replies::Off
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
            shown.monitors(self.monitors);
        }
    }

    /// The peer's.
    pub fn address(&self) -> &str {
        self.shown.as_ref().map_or("", |shown| &shown.address)
    }

    #[inline]
    pub fn parse<O: From<parse::Op>>(&mut self, input: &[u8], engine: &Engine) -> Parsed<O> {
        let stranger = self.is_stranger(&engine.common);
        parse::parse(&mut self.gather, input, (self.db, stranger), engine)
    }

    /// It has a part of a command, and more is to come.
    pub fn is_within(&self) -> bool {
        self.gather.is_some()
    }

    /// Bytes that it keeps.
    fn keeps(&self) -> usize {
        let queue = self.queue.as_ref().map_or(0, |queue| queue.size());
        self.gathered.len() + queue + self.watches.size
    }

    /// Whether it may keep so many bytes more. `Err`: it is to be closed, or has to wait.
    pub fn keep(
        &mut self,
        more: usize,
        engine: &Engine,
        server: &mut dyn Server,
    ) -> Result<(), Next> {
        let bytes = self.keeps() + more;
        if bytes > engine.settings.gather_max() {
            return Err(Next::Close);
        }
        if self.share.is_none() && Share::is_small(bytes) {
            return Ok(());
        }
        let common = &engine.common;
        let share = self.share.get_or_insert_with(|| Share::new(common, self.shown.as_ref()));
        match share.grow(bytes, terms(engine)) {
            Answer::Granted => return Ok(()),
            Answer::Wait => {}
            Answer::Killed => server.wake(),
        }
        Err(Next::Wait)
    }

    /// Its command has begun to write: it is done to its end, be it for nobody.
    pub fn must_end(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.to_the_end)
    }

    /// Whether what it waits for may be there.
    pub fn may_go_on(&self, engine: &Engine) -> bool {
        let share = self.share.as_ref();
        share.is_none_or(|share| share.may_grow(terms(engine)))
    }

    /// In how many milliseconds it goes on.
    pub fn sleeps(&self, common: &Common) -> u64 {
        let now = common.uptime_ms();
        let until = self.sleeps_until.unwrap_or_else(|| common.pause.until());
        until.saturating_sub(now)
    }

    /// Gives back what it does not keep any more.
    #[inline]
    pub fn settle(&mut self) {
        if self.share.is_some() {
            self.give_back();
        }
    }

    #[cold]
    fn give_back(&mut self) {
        if Share::is_small(self.keeps()) {
            self.share = None;
        }
    }

    /// It must give the password first. What may be parsed behind a command depends on whether it does.
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
