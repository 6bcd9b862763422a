//! The link's registers, by their bytes, as docs/rtl/LINK.md has them.

/// Channels of a link: one for each [`wirekv_card::Port`], in their order.
pub const CHANNELS: usize = 3;
/// Bytes of a slot.
pub const SLOT: usize = 64;
/// Bytes of the preamble in front of a frame.
pub const PREAMBLE: usize = 4;
/// Bytes of the longest frame, and the slots that it takes.
pub const MAX_FRAME: usize = MAX_SLOTS * SLOT - PREAMBLE;
/// See [`MAX_FRAME`].
pub const MAX_SLOTS: usize = 144;
/// Bits of a preamble that have the length; the others are 0.
pub const LENGTH: u32 = (1 << 14) - 1;

/// What a card that has gone reads as, anywhere.
pub const ALL_ONES: u32 = !0;

/// Says that it is a link.
pub const ID: u32 = 0x00;
/// What [`ID`] reads as.
pub const ID_VALUE: u32 = 0x4B4C_0001;
/// Channels, reads at once, longest frame.
pub const CAPS: u32 = 0x04;
/// A bit a channel: it is enabled.
pub const CONTROL: u32 = 0x08;
/// When the status line is written: at so many slots.
pub const BATCH_SLOTS: u32 = 0x0C;
/// ... or after so many clocks.
pub const BATCH_CLOCKS: u32 = 0x10;
/// Where the status lines are; two words.
pub const STATUS_BASE: u32 = 0x18;

/// Of a channel, from here on with [`of`]: where the ring down is; two words.
pub const DOWN_BASE: u32 = 0x00;
/// Where the ring up is; two words.
pub const UP_BASE: u32 = 0x08;
/// Slots of both, minus one.
pub const SIZES: u32 = 0x10;
/// Doorbell: how far the host has produced.
pub const DOWN_PRODUCER: u32 = 0x14;
/// Doorbell: how far the host has read.
pub const UP_CONSUMER: u32 = 0x18;
/// Producer of the ring up, consumer of the ring down.
pub const INDICES: u32 = 0x20;
/// Why it has stopped.
pub const FAULT: u32 = 0x24;
/// Place of the fault, and [`BUSY`] and [`RUNNING`].
pub const STATE: u32 = 0x28;
/// In [`STATE`]: it is not off.
pub const BUSY: u32 = 1 << 16;
/// In [`STATE`]: it moves frames.
pub const RUNNING: u32 = 1 << 17;

/// Four counters for each channel: frames down, frames up, frames dropped, faults.
pub const EVENTS: u32 = 0x100;

/// A register of a channel.
pub const fn of(channel: usize, register: u32) -> u32 {
    0x40 * (channel as u32 + 1) + register
}

/// Slots that a frame takes.
pub const fn slots(bytes: usize) -> usize {
    (bytes + PREAMBLE).div_ceil(SLOT)
}

/// Bits of [`FAULT`] in words; the first that is set.
pub fn why(fault: u32) -> &'static str {
    const WHY: [&str; 8] = [
        "a frame of 0 bytes, or of more than 9212",
        "reserved bits of a preamble are set",
        "a frame ends beyond the producer",
        "host memory refused a read",
        "host memory refused a write",
        "the doorbell of the ring down goes back, or beyond the ring",
        "the doorbell of the ring up goes back, or beyond the producer",
        "a ring's size is not 2^n, n from 3 to 15",
    ];
    WHY.get(fault.trailing_zeros() as usize).copied().unwrap_or("a fault without a name")
}
