//! memcached's classic text protocol.
//!
//! A command is a line of words that end in `\r\n` or `\n`; stores have a block of data behind
//! it. The checks of a command come in memcached's order, since each has its own error text.

mod admin;
mod execute;
mod keys;
mod parse;

use wirekv_proto::Request;

use crate::ops::Mode;

pub use admin::Admin;
pub(crate) use keys::Keys;
pub(crate) use parse::{parse, parse_short_get};

/// What a line asks for.
type Command = (Op, Request);

/// A command, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `get` and `gets`, with one key or with several; `gat` and `gats` touch what they read.
    Get {
        many: bool,
        unique: bool,
        touch: bool,
    },
    /// Some of the keys of a long line.
    Keys {
        unique: bool,
    },
    /// One whose keys are too long somewhere: those before are read all the same.
    GetUntilBad {
        touch: bool,
    },
    /// A block of data for a key.
    Store(Mode),
    Delta {
        decrement: bool,
    },
    Touch,
    Delete,
    Version,
    Quit,
    Admin(Admin),
    /// Nothing but a reply.
    Say,
}

impl Op {
    pub fn name(self) -> &'static str {
        match self {
            Op::Get { touch: true, .. } | Op::GetUntilBad { touch: true } => "gat",
            Op::Get { .. } | Op::Keys { .. } | Op::GetUntilBad { .. } => "get",
            Op::Store(mode) => mode.name(),
            Op::Delta { decrement: false } => "incr",
            Op::Delta { decrement: true } => "decr",
            Op::Touch => "touch",
            Op::Delete => "delete",
            Op::Admin(Admin::Flush { .. }) => "flush_all",
            Op::Admin(Admin::Stats) => "stats",
            Op::Version | Op::Quit | Op::Admin(_) | Op::Say => "other",
        }
    }
}
