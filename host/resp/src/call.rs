//! One call of a command: what its handler works with.

use wirekv_proto::Next;
use wirekv_store::{Hash, Item};

use super::args::Args;
use super::client::Client;
use super::items;
use super::reply::Reply;
use super::table::Command;
use crate::{Engine, Server};

/// What a handler is given. It writes one reply, or returns an error in its place.
pub struct Call<'a> {
    pub command: &'static Command,
    pub args: Args<'a>,
    pub reply: Reply<'a>,
    pub engine: &'a mut Engine,
    pub client: &'a mut Client,
    pub server: &'a mut dyn Server,
    /// Of argument 1, if that is a key.
    pub hash: Option<Hash>,
    /// What follows. A handler that says [`Next::Again`] or [`Next::Full`] is called once more, with
    /// what it leaves in `from`: 0 the first time.
    pub next: Next,
    pub from: u64,
}

impl<'a> Call<'a> {
    /// Argument `i`, which must be there.
    #[inline]
    pub fn arg(&self, i: usize) -> &'a [u8] {
        self.args.get(i)
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.engine.local.store().now_ms()
    }

    /// The hash of argument `i`, a key.
    #[inline]
    pub fn hash_of(&self, i: usize) -> Hash {
        match self.hash {
            Some(hash) if i == 1 => hash,
            _ => self.engine.local.hash_in(self.client.db, self.arg(i)),
        }
    }

    /// The item of argument `i`, a key, as one that is used.
    #[inline]
    pub fn get(&mut self, i: usize) -> Option<Item<'_>> {
        let (key, hash) = (self.arg(i), self.hash_of(i));
        items::get(self.engine, key, hash)
    }
}
