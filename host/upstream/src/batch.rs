//! What commands of a client come to: bytes for the server, and what is to be known of them.

use std::collections::VecDeque;

/// What a command may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    Keys(Vec<Vec<u8>>),
    All,
}

/// A reply that has a place in the row of replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The server's goes to the client.
    Server,
    /// The client gets this instead, which may be nothing.
    Host(Vec<u8>),
}

/// Who wants an answer, should the server give none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Text,
    /// The binary protocol's opcode, and the opaque.
    Binary(u8, [u8; 4]),
}

/// Commands that go to the server together.
#[derive(Debug, Default)]
pub struct Batch {
    pub send: Vec<u8>,
    /// So much of it is commands that are complete, with those that have begun before.
    pub whole: usize,
    /// What the commands change, in their order.
    pub effects: Vec<Effect>,
    /// The last one has an effect, and is not complete.
    pub open: bool,
    /// Keys that plain GETs ask for.
    pub gets: Vec<Vec<u8>>,
    /// Of the complete commands. Where replies cannot be counted, of those that can.
    pub marks: VecDeque<Mark>,
    pub wants: Vec<Want>,
    /// Seconds after which the server empties itself.
    pub delays: Vec<u32>,
    /// A command may wait for long.
    pub blocks: bool,
    /// Behind the answer the connection is closed.
    pub closes: bool,
}
