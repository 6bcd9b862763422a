//! What all connections share, and commands can change.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wirekv_proto::users::is_equal;
use wirekv_proto::Users;

use super::args::Args;
use super::client::Client;
use super::connection::USER;
use super::kept::Kept;
use super::latency::Latency;
use super::locked;
use super::shown::Pause;
use super::slowlog::Slowlog;
use super::stats::Stats;
use super::table::Command;

/// What a client from elsewhere is told in protected mode; Redis' words.
const DENIED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is enabled \
and no password is set for the default user. In this mode connections are only accepted from the \
loopback interface. If you want to connect from external computers to Redis you may adopt one of \
the following solutions: 1) Just disable protected mode sending the command 'CONFIG SET \
protected-mode no' from the loopback interface by connecting to Redis from the same host the server \
is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use \
CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable the protected \
mode by editing the Redis configuration file, and setting the protected mode option to 'no', and \
then restarting the server. 3) If you started the server manually just for testing, restart it with \
the '--protected-mode no' option. 4) Setup a an authentication password for the default user. NOTE: \
You only need to do one of the above things in order for the server to start accepting connections \
from the outside.\r\n";

/// What happened in the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    pub commands: u64,
    pub read: u64,
    pub written: u64,
}

pub struct Common {
    has_password: AtomicBool,
    password: RwLock<Vec<u8>>,
    /// Others who may come in, by names.
    users: Option<Arc<Users>>,
    is_protected: AtomicBool,
    debug: bool,
    start: Instant,
    /// UNIX time of the start in microseconds.
    start_us: u64,
    run_id: String,
    pub stats: Stats,
    pub slowlog: Slowlog,
    pub latency: Latency,
    pub pause: Pause,
    pub(super) kept: Kept,
    /// When it was last measured, what there had been by then, and what came of it.
    rates: Mutex<(Instant, Rates, Rates)>,
}

impl Default for Common {
    fn default() -> Common {
        Common::new(b"", false, false)
    }
}

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

impl Common {
    /// Of a server with this password, an empty one is none; `is_protected`: in protected mode;
    /// `debug`: DEBUG is allowed.
    pub fn new(password: &[u8], is_protected: bool, debug: bool) -> Common {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = Instant::now();
        // The standard library seeds its hash tables from the system's randomness.
        let random = || RandomState::new().hash_one(start);
        let run_id = format!("{:016x}{:016x}{:08x}", random(), random(), random() as u32);
        Common {
            has_password: AtomicBool::new(!password.is_empty()),
            password: RwLock::new(password.to_vec()),
            users: None,
            is_protected: AtomicBool::new(is_protected),
            debug,
            start,
            start_us: unix.as_micros() as u64,
            run_id,
            stats: Stats::default(),
            slowlog: Slowlog::default(),
            latency: Latency::default(),
            pause: Pause::default(),
            kept: Kept::default(),
            rates: Mutex::new((start, Rates::default(), Rates::default())),
        }
    }

    /// These may come in, too.
    pub fn with_users(self, users: Option<Arc<Users>>) -> Common {
        Common { users, ..self }
    }

    /// From now on. Connections that are there stay as they are.
    pub fn set_password(&self, password: &[u8]) {
        let mut now = self.password.write().unwrap_or_else(PoisonError::into_inner);
        now.clear();
        now.extend_from_slice(password);
        self.has_password.store(!password.is_empty(), Relaxed);
    }

    /// Clients must give one.
    #[inline]
    pub fn has_password(&self) -> bool {
        self.has_password.load(Relaxed) || self.users.is_some()
    }

    /// An empty one is none.
    pub fn password(&self) -> Vec<u8> {
        self.password.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a client that says this may come in.
    pub fn admits(&self, user: &[u8], password: &[u8]) -> bool {
        let right = self.password.read().unwrap_or_else(PoisonError::into_inner);
        let default = match right.is_empty() {
            true => self.users.is_none(),
            false => is_equal(&right, password),
        };
        (default & (user == USER.as_bytes()))
            || self.users.as_ref().is_some_and(|users| users.admit(user, password))
    }

    /// In protected mode, while there is no password, clients of other machines are sent away.
    pub fn is_protected(&self) -> bool {
        self.is_protected.load(Relaxed)
    }

    pub fn protect(&self, on: bool) {
        self.is_protected.store(on, Relaxed);
    }

    /// Why a new client from there is to be closed.
    pub fn denies(&self, from: IpAddr) -> Option<&'static [u8]> {
        let strange = !from.to_canonical().is_loopback();
        (strange && self.is_protected() && !self.has_password()).then_some(DENIED)
    }

    pub fn allows_debug(&self) -> bool {
        self.debug
    }

    /// Of this run of the server, in hexadecimal digits as Redis has them.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    pub fn uptime_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// UNIX time in microseconds; the wall clock's jumps are not seen.
    pub fn unix_us(&self) -> u64 {
        self.start_us + self.start.elapsed().as_micros() as u64
    }

    /// A command took so long.
    pub fn took(&self, micros: u64, command: &Command, args: &Args<'_>, by: &Client) {
        if micros >= 1000 || self.times_all() {
            let second = (self.unix_us() / 1_000_000) as i64;
            self.slowlog.took(micros, command, args, by, second);
            self.latency.took(micros, command, second);
        }
    }

    /// Every call must be timed: what is slow may be quicker than what is sampled.
    #[inline]
    pub fn times_all(&self) -> bool {
        (0..1000).contains(&self.slowlog.threshold()) || self.latency.threshold() > 0
    }

    /// So many bytes were read and written by now. To be told once a second.
    pub fn measure(&self, read: u64, written: u64) {
        let now = Rates { commands: self.stats.calls(), read, written };
        let mut rates = locked(&self.rates);
        let (since, before, _) = *rates;
        let millis = since.elapsed().as_millis().max(1) as u64;
        // Statistics may have begun anew.
        let rate = |now: u64, before: u64| now.saturating_sub(before) * 1000 / millis;
        let recent = Rates {
            commands: rate(now.commands, before.commands),
            read: rate(now.read, before.read),
            written: rate(now.written, before.written),
        };
        *rates = (Instant::now(), now, recent);
    }

    /// In a second, of late.
    pub fn rates(&self) -> Rates {
        locked(&self.rates).2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_sent_away() {
        let common = Common::new(b"", true, false);
        let denied = |from: &str| common.denies(from.parse().unwrap()).is_some();
        for (from, strange) in [
            ("127.0.0.1", false),
            ("127.1.2.3", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("192.0.2.1", true),
            ("0.0.0.0", true),
            ("::", true),
            ("::2", true),
            ("fe80::1", true),
            ("::ffff:192.0.2.1", true),
        ] {
            assert_eq!(denied(from), strange, "{from}");
        }
        common.set_password(b"x");
        assert!(!denied("192.0.2.1"));
        common.set_password(b"");
        assert!(denied("192.0.2.1"));
        common.protect(false);
        assert!(!denied("192.0.2.1"));
    }
}
