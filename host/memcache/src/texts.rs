//! Replies that several of memcached's protocols give.

pub const ERROR: &[u8] = b"ERROR\r\n";
pub const OK: &[u8] = b"OK\r\n";
pub const END: &[u8] = b"END\r\n";
pub const BAD_EXPTIME: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
pub const BAD_FORMAT: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub const BAD_CHUNK: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
pub const NOT_NUMBER: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
pub const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
pub const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
pub const NO_MEMORY_DELTA: &[u8] = b"SERVER_ERROR out of memory\r\n";
