// Made by spec/gen.py from spec/card.rdl: `make spec`.

use super::Counter;

/// On every WireKV card "WKV1".
pub const ID: u32 = 0x000;
pub const ID_VALUE: u32 = 0x574B_5631;

/// Connections that this build of the card has room for.
pub const CONNS: u32 = 0x004;

/// What goes on.
pub const STATUS: u32 = 0x008;
/// Nothing is in flight.
pub const STATUS_IDLE: u32 = 1 << 0;
/// A timer runs.
pub const STATUS_TIMERS: u32 = 1 << 1;
/// One for which each tick has to come when it is due, see sleep.
pub const STATUS_DUE: u32 = 1 << 2;
/// The index is being made zero, see `INDEX_ZERO`.
pub const STATUS_ZEROING: u32 = 1 << 3;
/// Memory has refused a line of it: the index may hold anything.
pub const STATUS_REFUSED: u32 = 1 << 4;

/// Open connections.
pub const OPEN_CONNS: u32 = 0x00C;

/// The card answers. Set last.
pub const ENABLE: u32 = 0x010;

/// UNIX time. A write tells the card the time, with `MILLISECONDS`. In s.
pub const UNIX_SECONDS: u32 = 0x014;

/// MAC address, low 32 bits.
pub const MAC_LOW: u32 = 0x018;

/// MAC address, high 16 bits.
pub const MAC_HIGH: u32 = 0x01C;

/// IPv4 address.
pub const IP: u32 = 0x020;

/// TCP port of memcached's protocols.
pub const TCP_PORT: u32 = 0x024;

/// UDP port, 0: off.
pub const UDP_PORT: u32 = 0x028;

/// Largest IP packet that the card sends, at least 576. In bytes, at most 9,000.
pub const MTU: u32 = 0x02C;
pub const MTU_MAX: u32 = 9000;

/// Where the index starts in the card's memory: an even line. In lines of 64 bytes.
pub const INDEX_BASE: u32 = 0x030;

/// Where the log starts. In lines of 64 bytes.
pub const LOG_BASE: u32 = 0x034;

/// Where the receive rings start, a multiple of 1,024. In lines of 64 bytes.
pub const RX_RING_BASE: u32 = 0x038;

/// Where the transmit rings start, a multiple of 1,024. In lines of 64 bytes.
pub const TX_RING_BASE: u32 = 0x03C;

/// log2 of the number of 64-byte buckets.
pub const INDEX_BITS: u32 = 0x040;

/// Size of the log. In lines of 64 bytes.
pub const LOG_LINES: u32 = 0x044;

/// Limit of an item's size, memcached's `-I`. In bytes.
pub const ITEM_MAX: u32 = 0x048;

/// Connections accepted at once, at most `CONNS`.
pub const MAX_CONNS: u32 = 0x04C;

/// Milliseconds of the present second, written before `UNIX_SECONDS`. In ms.
pub const MILLISECONDS: u32 = 0x050;

/// How long a connection stays in TIME_WAIT. In ms.
pub const TIME_WAIT_MS: u32 = 0x054;

/// Silence before the first keep-alive probe, 0: none is sent. In s.
pub const KEEP_ALIVE_SECONDS: u32 = 0x058;

/// Time without a request after which a connection is closed, 0: it stays. In s, at most 65,000.
pub const IDLE_SECONDS: u32 = 0x05C;
pub const IDLE_SECONDS_MAX: u32 = 65000;

/// Secret of connection lookup, initial sequence numbers and SYN cookies; segments wait for 4,608
/// clocks behind a new one, while the tables of the lookup's hash are written. 4 words.
pub const TCP_SECRET: u32 = 0x060;

/// Two odd 64-bit multipliers of the hash's finaliser, low word first. 4 words.
pub const HASH_MIX: u32 = 0x080;

/// IPv6 address beside that of the link, low word first, 0: none. 4 words.
pub const IP6_FIXED: u32 = 0x090;

/// One more, in a router's network; to set it later, the highest word last. 4 words.
pub const IP6_AUTO: u32 = 0x0A0;

/// TCP port of Redis' protocol, 0: off.
pub const REDIS_PORT: u32 = 0x0B0;

/// How long the request port may hold the store, twice at most, 0: never. In clocks.
pub const HOLD_MAX: u32 = 0x0B4;

/// Entries of the index move from even buckets to odd ones only, see walks.
pub const ONE_WAY: u32 = 0x0B8;

/// How the card treats Redis' clients, see passwords and pauses.
pub const REDIS_CLIENTS: u32 = 0x0BC;
/// Those that come have to be let in by host software.
pub const REDIS_CLIENTS_GUARD: u32 = 1 << 0;
/// Commands are for host software, too.
pub const REDIS_CLIENTS_PAUSE: u32 = 1 << 1;

/// The answer to the last question about a connection.
pub const ABOUT: u32 = 0x0C0;
/// Which.
pub const ABOUT_CONN: u32 = 0x3fff;
/// It is there.
pub const ABOUT_THERE: u32 = 1 << 16;
/// Its peer will send no more.
pub const ABOUT_LEFT: u32 = 1 << 17;
/// Flips with each answer.
pub const ABOUT_TOGGLE: u32 = 1 << 31;

/// VLAN of which the card is a member beside the untagged network, 0: none.
pub const VLAN: u32 = 0x0C4;

/// So much time, at least 1 ms, has passed without ticks, see sleep. In ms, at most 1,000.
pub const SLEPT: u32 = 0x0C8;
pub const SLEPT_MAX: u32 = 1000;

/// What this build of the card has, see `config_pkg`.
pub const VARIANT: u32 = 0x0CC;
/// The fast path reads meta commands.
pub const VARIANT_FAST_META: u32 = 1 << 0;
/// The fast path reads memcached's binary protocol.
pub const VARIANT_FAST_BINARY: u32 = 1 << 1;
/// The fast path reads Redis' protocol.
pub const VARIANT_FAST_REDIS: u32 = 1 << 2;
/// Datagrams are served.
pub const VARIANT_UDP: u32 = 1 << 3;
/// The card has IPv6 addresses.
pub const VARIANT_IPV6: u32 = 1 << 4;
/// Its items can be copies of another server's, see `UPSTREAM`.
pub const VARIANT_UPSTREAM: u32 = 1 << 5;
/// What a connection passes can be recorded, see `TRACE`.
pub const VARIANT_TRACE: u32 = 1 << 6;

/// A write of 1 makes the memory of the index zero, of `INDEX_BASE` and `INDEX_BITS`. Only before
/// the first `ENABLE`, which waits for it; later a write does nothing.
pub const INDEX_ZERO: u32 = 0x0D0;

/// The card's items are copies of another server's: what is no plain GET of one that is there is
/// for host software, see upstream.
pub const UPSTREAM: u32 = 0x0D4;

/// Marks a connection, see trace.
pub const TRACE: u32 = 0x0D8;
/// The peer's port, to be set before the connection opens.
pub const TRACE_PORT: u32 = 0xffff;
/// Record; 0: forget the records.
pub const TRACE_ON: u32 = 1 << 16;

/// Which record `TRACE_CLOCK` and `TRACE_POINTS` are of. At most 63.
pub const TRACE_RECORD: u32 = 0x0DC;
pub const TRACE_RECORD_MAX: u32 = 63;

/// When that was, from `TRACE.on` on. In clocks.
pub const TRACE_CLOCK: u32 = 0x0E0;

/// What happened in that clock. 0: there is no such record.
pub const TRACE_POINTS: u32 = 0x0E4;
/// A frame of the peer comes from the wire.
pub const TRACE_POINTS_FRAME: u32 = 1 << 0;
/// `net` has checked the segment, and gives it to `tcp`.
pub const TRACE_POINTS_SEGMENT: u32 = 1 << 1;
/// Its bytes are in the receive ring, which `tcp` tells the scheduler.
pub const TRACE_POINTS_ARRIVED: u32 = 1 << 2;
/// A request comes out of the parser.
pub const TRACE_POINTS_REQUEST: u32 = 1 << 3;
/// An item begins to go to the log.
pub const TRACE_POINTS_LOG: u32 = 1 << 4;
/// The hash is known, and lookup begins.
pub const TRACE_POINTS_HASH: u32 = 1 << 5;
/// What lookup has found is known, and execute takes the request.
pub const TRACE_POINTS_EXECUTE: u32 = 1 << 6;
/// The result goes to `reply`.
pub const TRACE_POINTS_RESULT: u32 = 1 << 7;
/// Bytes of the value come from the log's reader.
pub const TRACE_POINTS_VALUE: u32 = 1 << 8;
/// The job is over, its reply in the transmit ring.
pub const TRACE_POINTS_REPLY: u32 = 1 << 9;
/// The scheduler has `tcp` send it.
pub const TRACE_POINTS_SEND: u32 = 1 << 10;
/// `tcp` gives a segment to `net`.
pub const TRACE_POINTS_SENT: u32 = 1 << 11;
/// A frame to the peer goes to the wire.
pub const TRACE_POINTS_FRAMED: u32 = 1 << 12;

/// NH key of the hash. 32 words.
pub const HASH_NH: u32 = 0x100;

/// All counters, in the order of their addresses.
#[rustfmt::skip]
pub static COUNTERS: &[Counter] = &[
    Counter { name: "NetRxFrames", addr: 0x200, what: "frames from the wire" },
    Counter { name: "NetRxTcp", addr: 0x204, what: "segments, and what routers say of ours, given to tcp" },
    Counter { name: "NetRxUdp", addr: 0x208, what: "datagrams given to parse" },
    Counter { name: "NetRxReply", addr: 0x20c, what: "ARP, echo requests and neighbour solicitations taken for an answer" },
    Counter { name: "NetRxHost", addr: 0x210, what: "frames given to the host" },
    Counter { name: "NetRxBadIp", addr: 0x214, what: "dropped: IP version; of IPv4 header length below 5 or header checksum" },
    Counter { name: "NetRxBadTcp", addr: 0x218, what: "dropped: TCP checksum" },
    Counter { name: "NetRxBadUdp", addr: 0x21c, what: "dropped: UDP checksum; over IPv6 also none" },
    Counter { name: "NetRxBadIcmp", addr: 0x220, what: "dropped: checksum of what is read of ICMP and ICMPv6" },
    Counter { name: "NetRxBadLength", addr: 0x224, what: "dropped: lengths that contradict each other or the frame" },
    Counter { name: "NetRxFullTcp", addr: 0x228, what: "dropped: no room, tcp was too slow" },
    Counter { name: "NetRxFullUdp", addr: 0x22c, what: "dropped: no room, parse was too slow" },
    Counter { name: "NetRxFullReply", addr: 0x230, what: "dropped: no room, the wire was too slow for the answers" },
    Counter { name: "NetRxFullHost", addr: 0x234, what: "dropped: no room, the host was too slow" },
    Counter { name: "NetRxDisabled", addr: 0x238, what: "dropped: came before `enable`" },
    Counter { name: "NetTxFrames", addr: 0x23c, what: "frames to the wire" },
    Counter { name: "NetTxTcp", addr: 0x240, what: "of these: segments" },
    Counter { name: "NetTxUdp", addr: 0x244, what: "of these: datagrams" },
    Counter { name: "NetTxReply", addr: 0x248, what: "of these: ARP and echo replies, neighbour advertisements" },
    Counter { name: "NetTxHost", addr: 0x24c, what: "of these: from the host" },
    Counter { name: "NetTxHostLong", addr: 0x250, what: "dropped: frame from the host longer than 9,088 bytes" },
    Counter { name: "NetRxFromUs", addr: 0x254, what: "dropped: source is the card's own address" },
    Counter { name: "NetRxFromBroadcast", addr: 0x258, what: "dropped: source 255.255.255.255" },
    Counter { name: "NetRxFromMulticast", addr: 0x25c, what: "dropped: source in 224.0.0.0/4, or in ff00::/8" },
    Counter { name: "NetRxFromReserved", addr: 0x260, what: "dropped: source in 240.0.0.0/4, in ::/96 or ::ffff:0:0/96" },
    Counter { name: "NetRxFromZero", addr: 0x264, what: "dropped: source in 0.0.0.0/8, or ::" },
    Counter { name: "NetRxFromLoopback", addr: 0x268, what: "dropped: source in 127.0.0.0/8, or ::1" },
    Counter { name: "NetRxFromPort0", addr: 0x26c, what: "dropped: source port 0" },
    Counter { name: "NetRxFromGroupMac", addr: 0x270, what: "dropped: source MAC is a group's" },
    Counter { name: "NetRxToGroupMac", addr: 0x274, what: "dropped: for the card's address, but to a group's MAC" },
    Counter { name: "NetRxBadFlags", addr: 0x278, what: "dropped: SYN with FIN or RST, or none of SYN, ACK and RST" },
    Counter { name: "NetRxEchoLimit", addr: 0x27c, what: "dropped: echo requests beyond 1,000 a second" },
    Counter { name: "TcpSegsIn", addr: 0x280, what: "segments from peers" },
    Counter { name: "TcpSegsOut", addr: 0x284, what: "segments to peers" },
    Counter { name: "TcpOpened", addr: 0x288, what: "handshakes completed, and given a place" },
    Counter { name: "TcpClosed", addr: 0x28c, what: "connections over, however" },
    Counter { name: "TcpFullLimit", addr: 0x290, what: "connection refused: connection limit" },
    Counter { name: "TcpFullNoId", addr: 0x294, what: "connection refused: no id free" },
    Counter { name: "TcpFullNoWay", addr: 0x298, what: "connection refused: both buckets of the lookup full" },
    Counter { name: "TcpStrays", addr: 0x29c, what: "segments of no connection answered with RST" },
    Counter { name: "TcpResetsIn", addr: 0x2a0, what: "connections ended by the peer's RST" },
    Counter { name: "TcpResetsOut", addr: 0x2a4, what: "connections ended by our RST" },
    Counter { name: "TcpTimeouts", addr: 0x2a8, what: "retransmission timeouts" },
    Counter { name: "TcpFastRexmits", addr: 0x2ac, what: "retransmissions after duplicate ACKs" },
    Counter { name: "TcpProbes", addr: 0x2b0, what: "zero-window probes" },
    Counter { name: "TcpKeepAlives", addr: 0x2b4, what: "keep-alive probes" },
    Counter { name: "TcpGiveUps", addr: 0x2b8, what: "connections given up: no answer" },
    Counter { name: "TcpShut", addr: 0x2bc, what: "connections given up: the peer's window stayed shut" },
    Counter { name: "TcpIdle", addr: 0x2c0, what: "connections closed: no request for too long" },
    Counter { name: "TcpUnread", addr: 0x2c4, what: "connections ended by our RST: data came after we had closed" },
    Counter { name: "TcpChallenges", addr: 0x2c8, what: "challenge ACKs, for segments that do not fit the connection" },
    Counter { name: "TcpDropped", addr: 0x2cc, what: "segments with payload that was not (wholly) taken" },
    Counter { name: "TcpRecycled", addr: 0x2d0, what: "TIME_WAIT cut short because ids were wanted" },
    Counter { name: "TcpChallengesHeld", addr: 0x2d4, what: "challenge ACKs not sent: the connection's or the card's limit" },
    Counter { name: "TcpStraysHeld", addr: 0x2d8, what: "RSTs to segments of no connection not sent: the card's limit" },
    Counter { name: "TcpMoved", addr: 0x2dc, what: "peers that are behind another MAC address or VLAN than before" },
    Counter { name: "TcpSyns", addr: 0x2e0, what: "SYNs answered" },
    Counter { name: "TcpEarly", addr: 0x2e4, what: "dropped: of a handshake of which an earlier segment has not come" },
    Counter { name: "TcpOooKept", addr: 0x2e8, what: "segments kept though bytes before them are missing" },
    Counter { name: "TcpOooFull", addr: 0x2ec, what: "dropped: would be an interval more than a connection can have" },
    Counter { name: "TcpPathMtu", addr: 0x2f0, what: "MSS lowered: a router said \"fragmentation needed\"" },
    Counter { name: "TcpPathMtuStrays", addr: 0x2f4, what: "... which quoted nothing that is unacknowledged: late, or forged" },
    Counter { name: "TcpBlackHoles", addr: 0x2f8, what: "MSS lowered: three timeouts in a row, or more" },
    Counter { name: "TcpTailProbes", addr: 0x2fc, what: "tail-loss probes" },
    Counter { name: "IngressJobs", addr: 0x300, what: "visits to a TCP connection" },
    Counter { name: "IngressUdpJobs", addr: 0x304, what: "datagrams taken" },
    Counter { name: "IngressUdpBad", addr: 0x308, what: "datagrams ignored: no room for frame header and request, or no request" },
    Counter { name: "IngressLines", addr: 0x30c, what: "request lines finished" },
    Counter { name: "IngressErrors", addr: 0x310, what: "of these: answered with an error without reaching the store" },
    Counter { name: "IngressRollbacks", addr: 0x314, what: "lines put back until more of them has come" },
    Counter { name: "IngressSetBytes", addr: 0x318, what: "beats of item data handed to the log" },
    Counter { name: "IngressHost", addr: 0x31c, what: "lines left to host software" },
    Counter { name: "IngressCloses", addr: 0x320, what: "connections closed by `quit`, bad lines or after the peer's FIN" },
    Counter { name: "IngressWaitRoom", addr: 0x324, what: "clocks in which requests waited for the store" },
    Counter { name: "IngressWaitBytes", addr: 0x328, what: "clocks in which a job waited for its bytes" },
    Counter { name: "IngressBadReads", addr: 0x32c, what: "reads of receive rings that memory refused; the connection is reset" },
    Counter { name: "IngressBadWrites", addr: 0x330, what: "writes to rings that memory refused; the connection is reset" },
    Counter { name: "IngressLostDatagrams", addr: 0x334, what: "datagrams for host software that found no room, see `UPSTREAM`" },
    Counter { name: "EgressJobs", addr: 0x338, what: "jobs begun" },
    Counter { name: "EgressValues", addr: 0x33c, what: "VALUE lines begun" },
    Counter { name: "EgressReplies", addr: 0x340, what: "fixed replies" },
    Counter { name: "EgressNumbers", addr: 0x344, what: "results of incr and decr" },
    Counter { name: "EgressLines", addr: 0x348, what: "writes to the transmit rings" },
    Counter { name: "EgressDatagrams", addr: 0x34c, what: "UDP datagrams sent" },
    Counter { name: "EgressHostReqs", addr: 0x350, what: "requests handed to the host program" },
    Counter { name: "EgressHostPieces", addr: 0x354, what: "pieces of its answers" },
    Counter { name: "EgressHostBad", addr: 0x358, what: "bytes of such a piece missing or too many" },
    Counter { name: "EgressWaitChunk", addr: 0x35c, what: "clocks in which a reply waited for the value's bytes" },
    Counter { name: "EgressWaitRing", addr: 0x360, what: "clocks in which reply text waited for the transmit-ring writer" },
    Counter { name: "EgressWaitUdp", addr: 0x364, what: "clocks in which reply text waited for room for datagrams" },
    Counter { name: "EgressErrorLimit", addr: 0x368, what: "errors not sent in a datagram: beyond 50 at once and 1,000 a second" },
    Counter { name: "EgressErrorService", addr: 0x36c, what: "... to a service's port" },
    Counter { name: "StoreGetHits", addr: 0x370, what: "reads that found an item" },
    Counter { name: "StoreGetMisses", addr: 0x374, what: "reads that found none" },
    Counter { name: "StoreExpired", addr: 0x378, what: "of the misses and the failed stores: the item had expired" },
    Counter { name: "StoreTouchHits", addr: 0x37c, what: "touch, gat, gats that found an item" },
    Counter { name: "StoreTouchMisses", addr: 0x380, what: "... that found none" },
    Counter { name: "StoreSets", addr: 0x384, what: "set, add, replace, cas, append, prepend executed" },
    Counter { name: "StoreStored", addr: 0x388, what: "of these: stored" },
    Counter { name: "StoreDeleteHits", addr: 0x38c, what: "delete that found an item" },
    Counter { name: "StoreDeleteMisses", addr: 0x390, what: "... that found none" },
    Counter { name: "StoreIncrHits", addr: 0x394, what: "incr that found an item" },
    Counter { name: "StoreIncrMisses", addr: 0x398, what: "... that found none" },
    Counter { name: "StoreDecrHits", addr: 0x39c, what: "decr that found an item" },
    Counter { name: "StoreDecrMisses", addr: 0x3a0, what: "... that found none" },
    Counter { name: "StoreCasHits", addr: 0x3a4, what: "cas with the unique number that the item has" },
    Counter { name: "StoreCasMisses", addr: 0x3a8, what: "cas that found no item" },
    Counter { name: "StoreCasBadval", addr: 0x3ac, what: "cas with another number than the item has" },
    Counter { name: "StoreFlushes", addr: 0x3b0, what: "flush_all" },
    Counter { name: "StoreTooLarge", addr: 0x3b4, what: "values refused because of their size" },
    Counter { name: "StoreNoMemory", addr: 0x3b8, what: "items that the log refused" },
    Counter { name: "StoreInserts", addr: 0x3bc, what: "index entries made" },
    Counter { name: "StoreRemovals", addr: 0x3c0, what: "index entries cleared by delete" },
    Counter { name: "StoreMoves", addr: 0x3c4, what: "entries moved to their other bucket" },
    Counter { name: "StoreEvictions", addr: 0x3c8, what: "entries evicted from two full buckets" },
    Counter { name: "StoreItems", addr: 0x3cc, what: "items appended to the log" },
    Counter { name: "StoreLaps", addr: 0x3d0, what: "times the log wrapped" },
    Counter { name: "StoreSlow", addr: 0x3d4, what: "requests whose item was not the prefetched one" },
    Counter { name: "StoreCut", addr: 0x3d8, what: "records skipped because their replies had no room" },
    Counter { name: "StoreWaitIndex", addr: 0x3dc, what: "clocks in which execute waited for what lookup finds of a request" },
    Counter { name: "StoreWaitLines", addr: 0x3e0, what: "clocks in which execute waited for lines of the next request's item" },
    Counter { name: "StoreWaitLog", addr: 0x3e4, what: "clocks in which execute waited for an item's data to be written" },
    Counter { name: "StoreWaitBack", addr: 0x3e8, what: "clocks in which execute waited for the way back" },
    Counter { name: "StoreBadReads", addr: 0x3ec, what: "reads that memory refused; what stands in these lines is gone" },
    Counter { name: "StoreBadWrites", addr: 0x3f0, what: "writes that memory refused; likewise" },
    Counter { name: "NetRxNeighbour", addr: 0x400, what: "dropped: solicits a neighbour whose address only ends like ours" },
    Counter { name: "NetRxQuote", addr: 0x404, what: "dropped: ICMPv6 \"packet too big\" that quotes no segment" },
    Counter { name: "NetRxVlan", addr: 0x408, what: "dropped: from a VLAN of which the card is no member" },
    Counter { name: "TcpTwins", addr: 0x420, what: "dropped: of an IPv6 address with the name and port of a connection's" },
    Counter { name: "TcpPaws", addr: 0x424, what: "dropped: older than what has come, by its timestamp" },
    Counter { name: "TcpCrowded", addr: 0x428, what: "dropped: its connection's segments hold up others" },
    Counter { name: "TcpBadReads", addr: 0x42c, what: "segments memory could not read in the ring; the connection is reset" },
];
