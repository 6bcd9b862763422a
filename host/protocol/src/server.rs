//! What the protocols need to know besides the store.

use std::sync::Arc;

use crate::redis::{Common, Error, Facts, Key, Shown, Thread};
use crate::store::{Hash, Local, Reservation};
use crate::Counters;

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
    /// Items are not here but in a card: Redis' commands on them are refused.
    pub elsewhere: bool,
    /// What Redis' commands share.
    pub redis: Arc<Common>,
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
            stream_from: 16 << 10,
            place_ms: 500,
            multiget_max: 16 << 10,
            copy_max: 1 << 10,
            reply_soft: 16 << 10,
            keys_soft: 256,
            elsewhere: false,
            redis: Arc::default(),
        }
    }
}

impl Settings {
    /// Bytes that a connection's input buffer must be able to hold.
    pub fn buffer(&self) -> usize {
        self.stream_from + 2 * crate::line::MAX_LINE
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
    /// What it counts of Redis' commands.
    pub commands: Arc<Thread>,
    /// The keys that are worked on are locked, and room for them is set aside.
    pub(crate) together: bool,
    /// What a command of several keys works with, to be used again.
    pub(crate) batch: Batch,
}

/// Several keys of one command.
#[derive(Default)]
pub(crate) struct Batch {
    pub hashes: Vec<Hash>,
    /// Items that nobody sees yet.
    pub new: Vec<Reservation>,
}

impl Batch {
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.new.clear();
    }
}

impl Engine {
    pub fn new(local: Local, settings: Arc<Settings>) -> Engine {
        let commands = settings.redis.stats.join();
        let (counters, batch) = (Counters::default(), Batch::default());
        Engine { local, settings, counters, commands, together: false, batch }
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

/// A walk through the keys of a card ([`Settings::elsewhere`]), between its steps.
#[derive(Default)]
pub struct Walk {
    pub place: Place,
    /// Keys that there were, and those of them that were wanted, perhaps more than once.
    pub met: usize,
    pub found: Vec<Box<[u8]>>,
    /// It goes on whatever becomes of its connection.
    pub to_the_end: bool,
}

/// Where a walk stands.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Where it goes on; 0 at the beginning, and behind the end.
    pub cursor: u64,
    /// It looks into so many groups of buckets at once (0: at its beginning), and has looked into so many.
    pub width: usize,
    pub looks: usize,
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

    /// `stats reset`: the counters of all threads begin anew. The caller's are reset already.
    fn reset(&mut self) {}

    /// `verbosity <level>`.
    fn verbosity(&mut self, _level: u32) {}

    /// `cache_memlimit <megabytes>`: whether the store's memory is as large now.
    fn memory(&mut self, _megabytes: u32) -> bool {
        false
    }

    /// All connections that speak Redis' protocol, as they were seen last.
    fn connections(&mut self) -> Vec<Arc<Shown>> {
        Vec::new()
    }

    /// Connections were killed, or a pause has ended: their threads should look.
    fn wake(&mut self) {}

    /// What Redis' `INFO` and `CONFIG GET` tell of the server. `own` as with `stats`.
    fn facts(&mut self, own: &Counters) -> Facts {
        Facts { counters: *own, ..Facts::default() }
    }

    /// Where items are in a card ([`Settings::elsewhere`]): brings those of these keys to the engine's store, and
    /// keeps all others from changing them until they are given back. `watched`: the keys' items stay here, and one
    /// that has changed in the card when it is brought again counts as changed.
    fn bring(&mut self, _: &mut Engine, _keys: &[Key], _watched: bool) -> Result<(), Error> {
        Ok(())
    }

    /// The card gets what was changed.
    fn give_back(&mut self, _: &mut Engine) -> Result<(), Error> {
        Ok(())
    }

    /// Goes on with a walk through the card's keys of a database up to about `count` of them, or to a place that is far
    /// enough; without `count` to the end. False: it is not there yet, and others have their turn first.
    fn walk(
        &mut self,
        _: &mut Engine,
        _db: u8,
        _: &mut Walk,
        _count: Option<usize>,
        _wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        Ok(true)
    }

    /// Any of them.
    fn any_key(&mut self, _: &mut Engine, _db: u8) -> Result<Option<Box<[u8]>>, Error> {
        Ok(None)
    }

    /// Empties a database of the card, or all. False: as with `walk`.
    fn flush(&mut self, _: &mut Engine, _db: Option<u8>, _: &mut Walk) -> Result<bool, Error> {
        Ok(true)
    }

    /// `shutdown`: only called where [`Settings::shutdown`] allows it.
    fn shutdown(&mut self, graceful: bool);
}
