//! What a thread works with.

use std::borrow::{Borrow, BorrowMut};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use wirekv_proto::Settings;
use wirekv_store::{Hash, Local, Reservation};

use super::{Common, Thread};

/// A thread's side: that of every protocol, and what Redis' commands have besides.
pub struct Engine {
    pub base: wirekv_proto::Engine,
    /// What all threads share.
    pub common: Arc<Common>,
    /// What it counts of commands.
    pub commands: Arc<Thread>,
    /// Items are not here but in a card: commands reach them through [`Server::card`](super::Server::card).
    pub elsewhere: bool,
    /// The keys that are worked on are locked, and room for them is set aside.
    pub(crate) together: bool,
    /// What a command of several keys works with, to be used again.
    pub(crate) batch: Batch,
}

/// Several keys of one command.
#[derive(Default)]
pub(crate) struct Batch {
    pub hashes: Vec<Hash>,
    /// Items that nobody sees yet.
    pub new: Vec<Reservation>,
}

impl Batch {
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.new.clear();
    }
}

impl Engine {
    pub fn new(local: Local, settings: Arc<Settings>, common: Arc<Common>) -> Engine {
        let (base, commands) = (wirekv_proto::Engine::new(local, settings), common.stats.join());
        let (elsewhere, together, batch) = (false, false, Batch::default());
        Engine { base, common, commands, elsewhere, together, batch }
    }
}

impl Deref for Engine {
    type Target = wirekv_proto::Engine;

    #[inline]
    fn deref(&self) -> &wirekv_proto::Engine {
        &self.base
    }
}

impl DerefMut for Engine {
    #[inline]
    fn deref_mut(&mut self) -> &mut wirekv_proto::Engine {
        &mut self.base
    }
}

impl Borrow<wirekv_proto::Engine> for Engine {
    #[inline]
    fn borrow(&self) -> &wirekv_proto::Engine {
        &self.base
    }
}

impl BorrowMut<wirekv_proto::Engine> for Engine {
    #[inline]
    fn borrow_mut(&mut self) -> &mut wirekv_proto::Engine {
        &mut self.base
    }
}
