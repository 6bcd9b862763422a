//! memcached's frame header of UDP datagrams.

/// Request id, sequence number, datagrams in the message, reserved; 16 bits each, big endian.
pub const HEADER: usize = 8;
/// Longest datagram sent, header included.
pub const DATAGRAM: usize = 1400;
