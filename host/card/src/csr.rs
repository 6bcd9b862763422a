//! The card's register map: byte addresses on its AXI4-Lite port, every register 32 bits wide.
//! `rtl/card/csr.sv` is the other end of this list.

/// Reads `ID_VALUE` on every WireKV card.
pub const ID: u32 = 0x000;
pub const ID_VALUE: u32 = 0x574B_5631; // "WKV1"
/// Connections this build of the card has room for.
pub const CONNS: u32 = 0x004;
/// Bit 0: nothing in flight. Bit 1: some connection has a timer running.
pub const STATUS: u32 = 0x008;
/// Bit 0: the card answers. Set last.
pub const ENABLE: u32 = 0x010;
/// UNIX time, written by the host once a second.
pub const UNIX_SECONDS: u32 = 0x014;
pub const MAC_LOW: u32 = 0x018;
pub const MAC_HIGH: u32 = 0x01C;
pub const IP: u32 = 0x020;
pub const TCP_PORT: u32 = 0x024;
/// 0: UDP off.
pub const UDP_PORT: u32 = 0x028;
/// Largest IP packet the card sends.
pub const MTU: u32 = 0x02C;
/// Where the four regions of the card's memory start, in lines of 64 bytes.
pub const INDEX_BASE: u32 = 0x030;
pub const LOG_BASE: u32 = 0x034;
pub const RX_RING_BASE: u32 = 0x038;
pub const TX_RING_BASE: u32 = 0x03C;
/// log2 of the number of 64-byte buckets.
pub const INDEX_BITS: u32 = 0x040;
pub const LOG_LINES: u32 = 0x044;
/// Largest value accepted, in bytes.
pub const MAX_VALUE: u32 = 0x048;
/// Connections accepted at once (at most `CONNS`).
pub const MAX_CONNS: u32 = 0x04C;
pub const VERBOSITY: u32 = 0x050;
pub const TIME_WAIT_MS: u32 = 0x054;
/// Four words: the secret behind initial sequence numbers and SYN cookies.
pub const TCP_SECRET: u32 = 0x060;
/// Two odd 64-bit multipliers of the hash's finaliser, low word first.
pub const HASH_MIX: u32 = 0x080;
/// The 32 words of the hash's NH key.
pub const HASH_NH: u32 = 0x100;
/// The counters, `Counter` in order. They wrap.
pub const COUNTERS: u32 = 0x200;

macro_rules! counters {
    ($($name:ident $text:literal $what:literal,)*) => {
        /// Events the card counts; a counter's register is `COUNTERS + 4 * (counter as u32)`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $(#[doc = $what] $name,)* }

        impl Counter {
            pub const ALL: &'static [Counter] = &[$(Counter::$name,)*];

            /// The name shown to people and used in reports.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$name => $text,)* }
            }
        }
    };
}

counters! {
    // frames
    RxFrames "rx_frames" "frames received",
    TxFrames "tx_frames" "frames sent",
    RxLines "rx_lines" "64-byte beats received",
    TxLines "tx_lines" "64-byte beats sent",
    HostFrames "host_frames" "received frames passed to the host port",
    DropOverflow "drop_overflow" "frames dropped because an input buffer was full",
    DropEthernet "drop_ethernet" "frames too short, too long, or for another MAC",
    DropIpHeader "drop_ip_header" "IPv4 header malformed or its checksum wrong",
    DropIpOther "drop_ip_other" "IPv4 fragments and packets for another address",
    DropIcmp "drop_icmp" "ICMP with a wrong checksum or not an echo request",
    DropUdp "drop_udp" "UDP with a wrong length or checksum, or for another port",
    DropTcp "drop_tcp" "TCP with a wrong header or checksum",
    ArpReplies "arp_replies" "ARP requests answered",
    IcmpReplies "icmp_replies" "echo requests answered",
    // tcp
    TcpOpened "tcp_opened" "connections established",
    TcpClosed "tcp_closed" "connections whose table entry was freed",
    TcpOpen "tcp_open" "connections in the table now",
    TcpRefused "tcp_refused" "SYNs refused: the table was full",
    TcpSegments "tcp_segments" "segments received",
    TcpOutOfOrder "tcp_out_of_order" "segments dropped because bytes before them are missing",
    TcpDuplicate "tcp_duplicate" "segments that brought nothing new",
    TcpResetIn "tcp_reset_in" "connections reset by the peer",
    TcpResetOut "tcp_reset_out" "RSTs sent",
    TcpTimeouts "tcp_timeouts" "retransmissions by timeout",
    TcpFastRetransmits "tcp_fast_retransmits" "retransmissions by duplicate ACKs",
    TcpProbes "tcp_probes" "zero-window probes sent",
    // requests
    UdpRequests "udp_requests" "requests over UDP",
    Requests "requests" "requests decoded, all kinds",
    BadRequests "bad_requests" "requests answered with an error line by the decoder",
    Exceptions "exceptions" "requests handed to the exception queue",
    CmdGet "cmd_get" "keys asked for by get and gets",
    CmdSet "cmd_set" "set, add, replace and cas that reached the store",
    CmdTouch "cmd_touch" "keys of touch, gat and gats",
    CmdFlush "cmd_flush" "flush_all",
    GetHits "get_hits" "get and gets that found their key",
    GetMisses "get_misses" "get and gets that did not",
    GetExpired "get_expired" "of the misses, those whose item had expired",
    GetFlushed "get_flushed" "of the misses, those whose item had been flushed",
    DeleteHits "delete_hits" "",
    DeleteMisses "delete_misses" "",
    IncrHits "incr_hits" "",
    IncrMisses "incr_misses" "",
    DecrHits "decr_hits" "",
    DecrMisses "decr_misses" "",
    CasHits "cas_hits" "",
    CasMisses "cas_misses" "",
    CasBadval "cas_badval" "",
    TouchHits "touch_hits" "",
    TouchMisses "touch_misses" "",
    TooLarge "store_too_large" "values refused because of their size",
    // store
    TotalItems "total_items" "items written to the log",
    IndexUsed "curr_items" "ways of the index in use",
    Evictions "evictions" "entries evicted from a full pair of buckets",
    LogLaps "log_laps" "times the log wrapped",
    IndexMoves "index_moves" "entries moved to their other bucket",
    BytesRead "bytes_read" "request bytes, TCP and UDP payload",
    BytesWritten "bytes_written" "reply bytes, TCP and UDP payload",
}

/// The address of a counter.
pub const fn counter(c: Counter) -> u32 {
    COUNTERS + 4 * c as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_fit_their_window() {
        assert!(Counter::ALL.len() <= 128);
        assert_eq!(counter(Counter::RxFrames), 0x200);
        for (n, c) in Counter::ALL.iter().enumerate() {
            assert_eq!(*c as usize, n);
        }
    }
}
