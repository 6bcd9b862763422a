//! What a card gives to the program on its host, whether it is simulated in this process or sits on PCIe.

use crate::region::Region;

/// Whose registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The card's own, see docs/HOST_INTERFACE.md.
    Card,
    /// The link's, see docs/rtl/LINK.md.
    Link,
}

/// A card with a link: registers, and memory that it reads and writes.
pub trait Device: Send {
    /// A register. What does not answer reads as all ones, as on PCIe.
    fn read(&mut self, block: Block, register: u32) -> u32;
    /// Writes a register. Whatever was written to [`Device::memory`] before, the card sees before this.
    fn write(&mut self, block: Block, register: u32, value: u32);
    /// The memory that the card reads and writes.
    fn memory(&self) -> &Region;

    /// Clocks since the start; of a card with a clock of its own, about.
    fn clock(&self) -> u64;
    /// Lets the card work, for about so many clocks. One with a clock of its own needs no letting.
    fn advance(&mut self, _clocks: u64) {}
    /// Nothing is in flight. Of a card with a clock of its own that is never known.
    fn idle(&self) -> bool {
        false
    }
    /// A millisecond has passed. A card with a clock of its own knows.
    fn tick(&mut self) {}
    /// As [`wirekv_card::Card::timers`].
    fn timers(&self) -> bool {
        false
    }
    /// As [`wirekv_card::Card::short_timers`].
    fn short_timers(&self) -> bool {
        false
    }
    /// What has gone wrong at the bus itself.
    fn failure(&mut self) -> Option<String> {
        None
    }

    /// From now on the card may read and write the memory. It has begun nothing.
    ///
    /// # Errors
    ///
    /// The machine does not let it; in words.
    fn let_in(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// A function-level reset: afterwards the card has begun nothing in memory, and its channels are off.
    ///
    /// # Errors
    ///
    /// There is none, or it does not end; in words.
    fn reset(&mut self) -> Result<(), String>;
    /// From now on the card neither reads nor writes memory. False: that cannot be had.
    fn cut(&mut self) -> bool;
    /// Makes sure that the memory stays after this program, since the card may still write to it.
    fn keep_memory(&mut self);
}
