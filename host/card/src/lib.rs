//! A WireKV card as the host sees it, whether it is simulated in this process or sits on PCIe.

pub mod csr;
mod init;

pub use init::{init, set_time, Layout, Seeds, Settings};

/// Where frames go into and come out of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Port {
    /// The network. Ethernet frames without FCS.
    Wire = 0,
    /// Frames that are not for the data path, and frames that the host wants sent.
    Host = 1,
    /// Requests the hardware does not know, and their answers.
    Exception = 2,
}

#[derive(Debug, thiserror::Error)]
pub enum CardError {
    #[error("the card does not answer at register 0x{0:03x}")]
    NoAnswer(u32),
    #[error("this is no WireKV card: register 0 reads 0x{0:08x}")]
    NotACard(u32),
    #[error("the card has room for {has} connections, {wanted} are asked for")]
    TooManyConnections { has: u32, wanted: u32 },
    #[error("the card is built without UDP")]
    NoUdp,
    #[error("the card is built without what --upstream needs")]
    NoUpstream,
    #[error("the card's memory refuses writes to the index: it must not be used")]
    MemoryRefuses,
    #[error("the card's memory does not answer: the index has not become zero")]
    MemorySilent,
    #[error("no randomness from the system: {0}")]
    NoRandomness(getrandom::Error),
    #[error("{0}")]
    Other(String),
}

/// What every body of the card can do. Frames are queued and handed out in order per port.
pub trait Card: Send {
    fn read_csr(&mut self, addr: u32) -> Result<u32, CardError>;
    fn write_csr(&mut self, addr: u32, value: u32) -> Result<(), CardError>;

    /// Queues a frame for the card.
    fn send(&mut self, port: Port, frame: &[u8]);
    /// Bytes queued for a port that the card has not taken yet.
    fn backlog(&self, port: Port) -> usize;
    /// Lets the card work: until it is idle, or for about `clocks` clocks.
    fn advance(&mut self, clocks: u64);
    /// Hands over the frames that have come out of a port.
    fn receive(&mut self, port: Port, take: &mut dyn FnMut(&[u8]));

    /// A millisecond has passed. (A card with a clock of its own needs no telling.)
    fn tick(&mut self);
    /// Nothing is queued or in flight: the card can be left alone until there is something to do.
    fn idle(&self) -> bool;
    /// Some connection waits for a timeout, so ticks matter even while the card is idle.
    fn timers(&self) -> bool;
    /// One of these timers is short: each tick must be delivered when it is due. If not, a second's may come together
    /// at its end, or before anything else does, by `csr::SLEPT`.
    fn short_timers(&self) -> bool;
    /// Clocks since the start.
    fn clock(&self) -> u64;

    /// What went wrong while it worked, if anything did; the card is of no more use then.
    fn check(&mut self) -> Result<(), CardError> {
        Ok(())
    }
}
