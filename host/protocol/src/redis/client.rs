//! What a connection is to Redis' commands, between them.

use super::parse::{self, Gather};
use super::Common;
use crate::request::Parsed;
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
        *self = Client { gather: self.gather, ..Client::new(self.id, common) };
    }
}
