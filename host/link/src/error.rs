//! What can go wrong, each with its place.

use std::time::Duration;

use wirekv_card::CardError;

use crate::registers::{why, MAX_FRAME};

/// Which index of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Producer of the ring up.
    Up,
    /// Consumer of the ring down.
    Down,
}

impl std::fmt::Display for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Index::Up => "the producer of the ring up",
            Index::Down => "the consumer of the ring down",
        })
    }
}

/// What is wrong with a card, or with what it has written. Slots are indices, as docs/rtl/LINK.md counts them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Registers read as nothing.
    #[error("the card has gone: register 0x{register:03x} of its link reads all ones")]
    Gone {
        /// That was read.
        register: u32,
    },
    /// It is something else.
    #[error("this is no link of WireKV: its register 0 reads 0x{id:08x}, not 0x4b4c0001")]
    WrongId {
        /// What is there.
        id: u32,
    },
    /// It is another link than this program was made for.
    #[error(
        "the link has {channels} channels and frames of up to {longest} bytes (CAPS 0x{caps:08x}); this program \
         is made for 3 and 9212"
    )]
    WrongCaps {
        /// The register.
        caps: u32,
        /// In it.
        channels: u32,
        /// In it.
        longest: u32,
    },
    /// The rings do not fit.
    #[error("rings of {bytes} bytes do not fit into {room} bytes of memory")]
    TooLarge {
        /// That they take.
        bytes: usize,
        /// That there are.
        room: usize,
    },
    /// A ring cannot be so large.
    #[error("a ring of 2^{bits} slots: there are rings of 2^3 to 2^15")]
    RingSize {
        /// That were asked for.
        bits: u8,
    },
    /// The memory stands where rings may not.
    #[error("memory at 0x{physical:x} is not at a multiple of its rings' size")]
    Unaligned {
        /// Where it is.
        physical: u64,
    },
    /// It did not begin.
    #[error("channel {channel} does not start within {within:?}: STATE reads 0x{state:08x}")]
    NoStart {
        /// Which.
        channel: usize,
        /// What it says instead.
        state: u32,
        /// So long it had.
        within: Duration,
    },
    /// It did not end.
    #[error("channel {channel} does not stop within {within:?}: STATE reads 0x{state:08x}")]
    NoStop {
        /// Which.
        channel: usize,
        /// What it says instead.
        state: u32,
        /// So long it had.
        within: Duration,
    },
    /// The card says what is wrong.
    #[error("channel {channel} has stopped at slot {place}: {}", why(*fault))]
    Fault {
        /// Which.
        channel: usize,
        /// The register `FAULT`.
        fault: u32,
        /// Where.
        place: u16,
    },
    /// It was reset, by others.
    #[error("channel {channel} has stopped, and nobody has asked for it (STATE 0x{state:08x})")]
    Stopped {
        /// Which.
        channel: usize,
        /// What it says.
        state: u32,
    },
    /// An index moved as it cannot.
    #[error("channel {channel}: {index} goes from {was} back to {is}")]
    IndexBack {
        /// Which.
        channel: usize,
        /// Which.
        index: Index,
        /// Before.
        was: u16,
        /// What the card has written.
        is: u16,
    },
    /// An index moved as it cannot.
    #[error("channel {channel}: {index} goes from {was} to {is}; it can come to {most} at most")]
    IndexBeyond {
        /// Which.
        channel: usize,
        /// Which.
        index: Index,
        /// Before.
        was: u16,
        /// What the card has written.
        is: u16,
        /// As far as it could.
        most: u16,
    },
    /// No frame is so long.
    #[error("channel {channel}: the frame at slot {slot} of the ring up has {bytes} bytes; there are frames of 1 to {MAX_FRAME}")]
    FrameLength {
        /// Which.
        channel: usize,
        /// Its first one.
        slot: u16,
        /// That it says it has.
        bytes: u32,
    },
    /// A preamble that means nothing.
    #[error("channel {channel}: the preamble at slot {slot} of the ring up, 0x{preamble:08x}, has reserved bits set")]
    Reserved {
        /// Which.
        channel: usize,
        /// Its first one.
        slot: u16,
        /// What is there.
        preamble: u32,
    },
    /// A part of a frame.
    #[error("channel {channel}: the frame of {bytes} bytes at slot {slot} of the ring up ends beyond the producer, {told}")]
    Torn {
        /// Which.
        channel: usize,
        /// Its first one.
        slot: u16,
        /// That it says it has.
        bytes: u32,
        /// The producer.
        told: u16,
    },
    /// It takes no frames.
    #[error("channel {channel}: the card has taken nothing from the ring down for {within:?}; {slots} slots wait at {at}")]
    Stands {
        /// Which.
        channel: usize,
        /// That wait.
        slots: u16,
        /// The first of them.
        at: u16,
        /// So long it had.
        within: Duration,
    },
    /// Its writes do not come.
    #[error("channel {channel}: the card is at 0x{register:08x} by its register, and its line in memory says 0x{line:08x}")]
    NotTold {
        /// Which.
        channel: usize,
        /// `INDICES` there.
        register: u32,
        /// `INDICES` here.
        line: u32,
    },
    /// It keeps failing.
    #[error(
        "channel {channel} was restarted {times} times within {within:?}; the last time: {last}"
    )]
    KeepsFailing {
        /// Which.
        channel: usize,
        /// How often.
        times: usize,
        /// Since the first of them.
        within: Duration,
        /// Why.
        last: Box<LinkError>,
    },
    /// The machine keeps it from memory.
    #[error("the card cannot be let use memory: {0}")]
    NotLetIn(String),
    /// A function-level reset could not be asked for.
    #[error("function-level reset: {0}")]
    Reset(String),
}

impl LinkError {
    /// The channel that has the fault, if a restart of it may mend it.
    pub fn channel(&self) -> Option<usize> {
        match *self {
            LinkError::Fault { channel, .. }
            | LinkError::Stopped { channel, .. }
            | LinkError::IndexBack { channel, .. }
            | LinkError::IndexBeyond { channel, .. }
            | LinkError::FrameLength { channel, .. }
            | LinkError::Reserved { channel, .. }
            | LinkError::Torn { channel, .. } => Some(channel),
            _ => None,
        }
    }
}

impl From<LinkError> for CardError {
    fn from(error: LinkError) -> CardError {
        CardError::Other(error.to_string())
    }
}
