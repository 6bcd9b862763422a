//! Redis 7.0's protocol, RESP2 and RESP3, over the same items: what is a string there.
//!
//! A command's way: [`parse`] finds its end and its first arguments, [`table`] the command,
//! [`dispatch`](execute) checks what does not depend on the command, then calls its handler with a
//! [`Call`]. A handler is a `fn(&mut Call) -> Result<(), Error>`; to add one, write it in the file of
//! its topic and name it in that file's `COMMANDS`. It has
//!
//! - `call.args`: the arguments, its name being argument 0;
//! - `call.reply`: where its one reply goes; an `Err` is replied instead of what was written;
//! - `call.engine`: store, settings, counters; items are changed through [`items`];
//! - `call.client`: the connection's database, name, protocol and so on;
//! - `call.server`: what only the server knows;
//! - `call.next`: how it goes on, be it with another call of the same command.

mod args;
mod call;
mod client;
mod connection;
mod execute;
mod expiry;
mod items;
mod keys;
mod line;
pub mod number;
mod parse;
pub mod range;
mod reply;
mod strings;
pub mod table;
pub mod word;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::RwLock;

pub use call::Call;
pub use client::Client;
pub(crate) use execute::Spoken;
pub use parse::Op;

/// The Redis whose commands these are.
pub const VERSION: &str = "7.0.15";

/// What a command is refused with: the line that the client gets, without its `-`.
pub type Error = &'static str;

pub const SYNTAX: Error = "ERR syntax error";
pub const LONG_KEY: Error = "ERR key is longer than 250 bytes";
pub const LONG_VALUE: Error = "ERR item is larger than this server takes (-I)";
pub const NO_MEMORY: Error = "OOM command not allowed when used memory > 'maxmemory'.";

/// What all connections share, and commands can change.
#[derive(Debug, Default)]
pub struct Common {
    has_password: AtomicBool,
    password: RwLock<Vec<u8>>,
}

impl Common {
    /// Of a server with this password; an empty one is none.
    pub fn new(password: &[u8]) -> Common {
        let common = Common::default();
        common.set_password(password);
        common
    }

    /// From now on. Connections that are there stay as they are.
    pub fn set_password(&self, password: &[u8]) {
        let mut now = self.password.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        now.clear();
        now.extend_from_slice(password);
        self.has_password.store(!password.is_empty(), Relaxed);
    }

    /// Clients must give one.
    #[inline]
    pub fn has_password(&self) -> bool {
        self.has_password.load(Relaxed)
    }

    /// Whether a client that says this may come in.
    pub fn admits(&self, password: &[u8]) -> bool {
        let right = self.password.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Every byte is looked at, so that the time says nothing of where they differ.
        let differ = right.iter().zip(password).fold(0, |sum, (a, b)| sum | (a ^ b));
        right.is_empty() || (differ == 0 && right.len() == password.len())
    }
}
