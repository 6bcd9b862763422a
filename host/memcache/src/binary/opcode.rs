// Made by spec/gen.py from spec/commands.toml: `make spec`.

/// What a request is, quiet or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Get,
    Getk,
    Gat,
    Gatk,
    Touch,
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Delete,
    Increment,
    Decrement,
    Flush,
    Noop,
    Version,
    Stat,
    Quit,
}

/// What stands behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// So many bytes of extras, and a key.
    Key(usize),
    /// So many bytes of extras, a key, and perhaps a value.
    Value(usize),
    /// 4 bytes of extras, or none.
    Flush,
    /// Nothing.
    None,
    /// Perhaps a key, and a value.
    Stat,
}

pub const GET: u8 = 0x00;
pub const GET_QUIET: u8 = 0x09;
pub const GETK: u8 = 0x0c;
pub const GETK_QUIET: u8 = 0x0d;
pub const GAT: u8 = 0x1d;
pub const GAT_QUIET: u8 = 0x1e;
pub const GATK: u8 = 0x23;
pub const GATK_QUIET: u8 = 0x24;
pub const TOUCH: u8 = 0x1c;
pub const SET: u8 = 0x01;
pub const SET_QUIET: u8 = 0x11;
pub const ADD: u8 = 0x02;
pub const ADD_QUIET: u8 = 0x12;
pub const REPLACE: u8 = 0x03;
pub const REPLACE_QUIET: u8 = 0x13;
pub const APPEND: u8 = 0x0e;
pub const APPEND_QUIET: u8 = 0x19;
pub const PREPEND: u8 = 0x0f;
pub const PREPEND_QUIET: u8 = 0x1a;
pub const DELETE: u8 = 0x04;
pub const DELETE_QUIET: u8 = 0x14;
pub const INCREMENT: u8 = 0x05;
pub const INCREMENT_QUIET: u8 = 0x15;
pub const DECREMENT: u8 = 0x06;
pub const DECREMENT_QUIET: u8 = 0x16;
pub const FLUSH: u8 = 0x08;
pub const FLUSH_QUIET: u8 = 0x18;
pub const NOOP: u8 = 0x0a;
pub const VERSION: u8 = 0x0b;
pub const STAT: u8 = 0x10;
pub const QUIT: u8 = 0x07;
pub const QUIT_QUIET: u8 = 0x17;

/// What an opcode means, what stands behind the header, and whether it is quiet. None: not known.
#[inline]
pub const fn find(opcode: u8) -> Option<(Command, Lengths, bool)> {
    Some(match opcode {
        GET => (Command::Get, Lengths::Key(0), false),
        GET_QUIET => (Command::Get, Lengths::Key(0), true),
        GETK => (Command::Getk, Lengths::Key(0), false),
        GETK_QUIET => (Command::Getk, Lengths::Key(0), true),
        GAT => (Command::Gat, Lengths::Key(4), false),
        GAT_QUIET => (Command::Gat, Lengths::Key(4), true),
        GATK => (Command::Gatk, Lengths::Key(4), false),
        GATK_QUIET => (Command::Gatk, Lengths::Key(4), true),
        TOUCH => (Command::Touch, Lengths::Key(4), false),
        SET => (Command::Set, Lengths::Value(8), false),
        SET_QUIET => (Command::Set, Lengths::Value(8), true),
        ADD => (Command::Add, Lengths::Value(8), false),
        ADD_QUIET => (Command::Add, Lengths::Value(8), true),
        REPLACE => (Command::Replace, Lengths::Value(8), false),
        REPLACE_QUIET => (Command::Replace, Lengths::Value(8), true),
        APPEND => (Command::Append, Lengths::Value(0), false),
        APPEND_QUIET => (Command::Append, Lengths::Value(0), true),
        PREPEND => (Command::Prepend, Lengths::Value(0), false),
        PREPEND_QUIET => (Command::Prepend, Lengths::Value(0), true),
        DELETE => (Command::Delete, Lengths::Key(0), false),
        DELETE_QUIET => (Command::Delete, Lengths::Key(0), true),
        INCREMENT => (Command::Increment, Lengths::Key(20), false),
        INCREMENT_QUIET => (Command::Increment, Lengths::Key(20), true),
        DECREMENT => (Command::Decrement, Lengths::Key(20), false),
        DECREMENT_QUIET => (Command::Decrement, Lengths::Key(20), true),
        FLUSH => (Command::Flush, Lengths::Flush, false),
        FLUSH_QUIET => (Command::Flush, Lengths::Flush, true),
        NOOP => (Command::Noop, Lengths::None, false),
        VERSION => (Command::Version, Lengths::None, false),
        STAT => (Command::Stat, Lengths::Stat, false),
        QUIT => (Command::Quit, Lengths::None, false),
        QUIT_QUIET => (Command::Quit, Lengths::None, true),
        _ => return None,
    })
}

/// Of the request port of a card alone.
pub mod port {
    /// Tells the next item of the index, see execute_walk.
    pub const WALK: u8 = 0x3f;
    /// Tells the key's version, see execute_versions.
    pub const VERSION: u8 = 0x3e;
    /// Tells that an item is stored, with the CAS unique that the request names.
    pub const FILL: u8 = 0x3d;
}
