//! What the protocols need to know besides the store.

use std::sync::Arc;

use wirekv_store::Local;

use crate::events::{Events, Refused};
use crate::{Counters, Prefixes, Users};

/// Which protocol a connection may speak (`-B`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The first byte decides: 0x80 is binary.
    #[default]
    Auto,
    Ascii,
    Binary,
}

/// What is set at start and the same for every thread.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As `version` gives it.
    pub version: String,
    /// UNIX time of the store clock's second 0.
    pub epoch: i64,
    /// Largest item in memcached's measure (`-I`): key, value and memcached's own header count.
    pub item_max: usize,
    pub protocol: Protocol,
    /// CAS uniques are in use (no `-C`).
    pub cas: bool,
    /// Items make room for others (no `-M`).
    pub evict: bool,
    /// `shutdown` ends the server (`-A`).
    pub shutdown: bool,
    /// `lru_crawler` lists keys (no `-o no_lru_crawler`).
    pub crawler: bool,
    /// `flush_all` is allowed (no `-F`).
    pub flush: bool,
    /// What `stats detail` counts (`-D`).
    pub prefixes: Arc<Prefixes>,
    /// Who watches what clients do.
    pub events: Arc<Events>,
    /// Clients of memcached's protocols must be one of these (`-Y`); and may say so in the binary one (`-S`).
    pub users: Option<Arc<Users>>,
    pub sasl: bool,
    /// Values from this length on are taken in pieces instead of waiting for the whole block in
    /// the input buffer, which must hold this and a command line.
    pub stream_from: usize,
    /// Milliseconds for which a connection may keep much of a command that is not complete while others wait for
    /// their turn to, and a second more for each 4 MiB.
    pub place_ms: u64,
    /// Longest line of a `get` of many keys that is waited for: of a longer one the keys are
    /// executed as they come. Any other line may have 2,048 bytes.
    pub multiget_max: usize,
    /// Values up to this length are copied into the reply buffer, longer ones gathered from the
    /// store.
    pub copy_max: usize,
    /// After so many bytes of replies a `get` of many keys lets them be written first; sixteen times
    /// as many where they are gathered from the store.
    pub reply_soft: usize,
    /// And after so many keys it lets others have their turn: a miss has no reply, but takes time.
    pub keys_soft: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            version: crate::MEMCACHED_VERSION.into(),
            epoch: 0,
            item_max: 1 << 20,
            protocol: Protocol::Auto,
            cas: true,
            evict: true,
            shutdown: false,
            crawler: true,
            flush: true,
            prefixes: Arc::default(),
            events: Arc::default(),
            users: None,
            sasl: false,
            stream_from: 16 << 10,
            place_ms: 500,
            multiget_max: 16 << 10,
            copy_max: 1 << 10,
            reply_soft: 16 << 10,
            keys_soft: 256,
        }
    }
}

impl Settings {
    /// Bytes that a connection's input buffer must be able to hold.
    pub fn buffer(&self) -> usize {
        self.stream_from + 2 * crate::limits::MAX_LINE
    }

    /// Bytes of the longest command of Redis' protocol.
    pub fn gather_max(&self) -> usize {
        (64 << 10) + self.item_max
    }
}

/// A thread's side: its handle of the store, its counters, the settings.
pub struct Engine {
    pub local: Local,
    pub settings: Arc<Settings>,
    pub counters: Counters,
    /// The number of the connection that is served, as `stats conns` and `watch` tell it.
    pub conn: usize,
}

impl Engine {
    pub fn new(local: Local, settings: Arc<Settings>) -> Engine {
        Engine { local, settings, counters: Counters::default(), conn: 0 }
    }
}

/// What a [`Server`] told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There are no such statistics.
    Nothing,
    All,
    /// Some; the rest from this number on.
    Part(u64),
}

/// What the server answers for itself: rare requests, none of them on the hot path.
pub trait Server {
    /// Calls `line` with name and value of each statistic of `stats <args>`. `stats` alone has empty `args`. `own` are this thread's counters, which
    /// the server need not have seen yet. It may tell some, and go on when called again with the
    /// number that it gave as `from`, which is 0 at first.
    fn stats(
        &mut self,
        args: &[u8],
        from: u64,
        own: &Counters,
        line: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Told;

    /// `stats reset`: the counters of all threads begin anew, `own` among them.
    fn reset(&mut self, own: &mut Counters) {
        *own = Counters::default();
    }

    /// `refresh_certs`: whether certificates were read again. `None`: there are none.
    fn refresh_certs(&mut self) -> Option<bool> {
        None
    }

    /// `verbosity <level>`.
    fn verbosity(&mut self, _level: u32) {}

    /// `watch`, MONITOR: the connection gets the lines of these kinds of events from now on.
    fn watch(&mut self, _kinds: u32) -> Result<(), Refused> {
        Err(Refused::Forbidden)
    }

    /// And no more.
    fn unwatch(&mut self) {}

    /// `cache_memlimit <megabytes>`: whether the store's memory is as large now.
    fn memory(&mut self, _megabytes: u32) -> bool {
        false
    }

    /// `shutdown`: only called where [`Settings::shutdown`] allows it.
    fn shutdown(&mut self, graceful: bool);
}
