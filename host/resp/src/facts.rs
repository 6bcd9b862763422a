//! What the server tells of itself to INFO, CONFIG GET and MEMORY.

use wirekv_proto::Counters;

/// As it is now.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub port: u16,
    /// Addresses that it listens on for this protocol, with blanks between.
    pub bind: String,
    pub unix_socket: String,
    pub threads: usize,
    pub backlog: i32,
    pub max_conns: usize,
    /// Seconds after which a silent connection is closed; 0: never.
    pub idle_timeout: u32,
    /// Bytes that items and their index may take.
    pub memory: usize,
    /// Largest item.
    pub item_max: usize,
    /// Items make room for others when memory is full.
    pub evicts: bool,
    /// Where clients come from is known, so that there is a protected mode.
    pub knows_peers: bool,
    /// DEBUG is allowed.
    pub debug: bool,
    /// Connections of all protocols, now and ever, and those that were refused.
    pub open: usize,
    pub opened: u64,
    pub rejected: u64,
    pub read: u64,
    pub written: u64,
    /// Microseconds of processor time, in this program and in the kernel for it.
    pub cpu_user: u64,
    pub cpu_system: u64,
    /// Bytes resident now.
    pub resident: u64,
    pub counters: Counters,
    /// What of the store is counted since the last reset.
    pub evictions: u64,
    pub reclaimed: u64,
}

impl Facts {
    /// The name that Redis has for what happens when memory is full. Items go by how often they
    /// were used.
    pub fn policy(&self) -> &'static str {
        if self.evicts {
            "allkeys-lfu"
        } else {
            "noeviction"
        }
    }
}
