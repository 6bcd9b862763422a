//! memcached's meta commands: two letters, a key, and flags of one letter, some with a value
//! behind it.
//!
//! Flags are worked off in the order in which they are given, which shows in the reply.

mod arithmetic;
mod execute;
mod flags;
mod get;
mod parse;
mod show;

use wirekv_proto::Request;

pub(crate) use parse::parse;

/// What a line asks for.
type Command = (Op, Request);

/// A command whose line is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Get,
    Set,
    Delete,
    Arithmetic,
    /// `me`: all about an item, for people.
    Debug,
    Nothing,
    /// Nothing but a reply.
    Say,
}

impl Op {
    pub fn name(self) -> &'static str {
        match self {
            Op::Get => "mg",
            Op::Set => "ms",
            Op::Delete => "md",
            Op::Arithmetic => "ma",
            Op::Debug => "me",
            Op::Nothing => "mn",
            Op::Say => "other",
        }
    }
}
